//! The operator's HTTP port: requests that never end, never begin, or are too large.
//!
//! What must hold: clients of the database are served meanwhile, the port recovers, memory stays small.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::client::PATIENCE;
use super::ground::{Attack, Ground, Host, until};
use super::ping::Pingers;
use super::report::{Observed, Verdict};

const ATTACKS: [Attack; 4] = [
    Attack { name: "64 slow clients at a time, and a health check", brief: true, work: slow },
    Attack { name: "300 connections that ask for nothing", brief: true, work: silent },
    Attack { name: "heads without an end", brief: true, work: endless },
    Attack { name: "garbage, from a seed", brief: true, work: garbage },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("http", &ATTACKS, report);
}

/// A server with HTTP, and the port.
fn host(ground: &Ground) -> Result<(Host, u16)> {
    ground.needs("--http")?;
    let host = ground.host(&["--http", "127.0.0.1:0"])?;
    host.wait_for_line("metrics and status are at http://")?;
    let log = host.log();
    let address = log.split("http://127.0.0.1:").nth(1).context("no address in the log")?;
    let digits: String = address.chars().take_while(char::is_ascii_digit).collect();
    Ok((host, digits.parse().context("a port")?))
}

fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn is_healthy(port: u16) -> Result<bool> {
    let mut stream = connect(port)?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")?;
    let mut answer = String::new();
    // A client that waited too long was cut off.
    let _ = stream.read_to_string(&mut answer);
    Ok(answer.starts_with("HTTP/1.1 200"))
}

fn opens_again(port: u16) -> Result<Duration> {
    let opened = until(Duration::from_secs(20), || is_healthy(port))?;
    opened.context("the door stays shut")
}

fn silent(ground: &Ground) -> Result<Observed> {
    let (mut host, port) = host(ground)?;
    let pingers = Pingers::start(host.port())?;
    let silent: Vec<TcpStream> = (0..300).map(|_| connect(port)).collect::<Result<_>>()?;
    host.connect()?.value("select 1")?;
    drop(silent);
    let took = opens_again(port)?;
    let pings = pingers.finish()?;
    host.expect_alive()?;
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    let note = format!("open again after {:.1} s", took.as_secs_f64());
    Ok(Observed { pings: Some(pings), note, ..Observed::default() })
}

/// Clients that begin a request and do not end it, again and again.
fn slow(ground: &Ground) -> Result<Observed> {
    let (mut host, port) = host(ground)?;
    let mut longest = Duration::ZERO;
    for _ in 0..ground.tries(20, 3) {
        let slow: Vec<TcpStream> = (0..64).map(|_| connect(port)).collect::<Result<_>>()?;
        for mut stream in &slow {
            // It may have lost its place already.
            let _ = stream.write_all(b"GET /health HTTP/1.1\r\n");
        }
        let start = Instant::now();
        if !is_healthy(port)? {
            bail!("a health check beside slow clients has failed");
        }
        longest = longest.max(start.elapsed());
    }
    host.expect_alive()?;
    if longest > ground.within(Duration::from_millis(500)) {
        bail!("a health check took {:.1} s", longest.as_secs_f64());
    }
    Ok(Observed::note(format!("health checks took {:.0} ms at most", longest.as_secs_f64() * 1e3)))
}

fn endless(ground: &Ground) -> Result<Observed> {
    let (mut host, port) = host(ground)?;
    host.reset_peak();
    let before = host.peak_kib().unwrap_or_default();
    let start = Instant::now();
    for _ in 0..ground.tries(40, 8) {
        let mut stream = connect(port)?;
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n");
        for number in 0.. {
            let line = format!("X-{number}: {}\r\n", "y".repeat(4000));
            if stream.write_all(line.as_bytes()).is_err() {
                break;
            }
            if number > 5000 {
                bail!("a head of 20 MB is taken");
            }
        }
    }
    let grown = host.peak_kib().unwrap_or_default().saturating_sub(before);
    if grown > 64 << 10 {
        bail!("{} MiB of memory for heads", grown >> 10);
    }
    opens_again(port)?;
    host.expect_alive()?;
    Ok(Observed::note(format!("refused in {:.1} s", start.elapsed().as_secs_f64())))
}

fn garbage(ground: &Ground) -> Result<Observed> {
    let (mut host, port) = host(ground)?;
    let mut seed = ground.seed | 1;
    let tries = ground.tries(2000, 200);
    for _ in 0..tries {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = (seed >> 40) % 600;
        let bytes = (0..length).map(|at| (seed.rotate_left((at * 7 % 64) as u32) >> 11) as u8);
        let mut stream = connect(port)?;
        let _ = stream.write_all(&bytes.collect::<Vec<u8>>());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    opens_again(port)?;
    host.expect_alive()?;
    Ok(Observed::note(format!("{tries} tries")))
}
