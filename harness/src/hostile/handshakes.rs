//! Connections that are never completed.
//!
//! What must hold: others get in, cancel requests get through, the last places are free for superusers, and
//! clients that take too long are disconnected.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::client::{self, Client, cancel, connect, startup};
use super::ground::{Attack, Ground, Host, until};
use super::ping::Pingers;
use super::report::{Observed, Verdict};

const ATTACKS: [Attack; 10] = [
    Attack { name: "1,200 silent connections: others get in", brief: true, work: silent },
    Attack { name: "1,200 silent connections: a request to cancel", brief: true, work: canceled },
    Attack { name: "400 silent connections, 256 file descriptors", brief: true, work: out_of_descriptors },
    Attack { name: "a flood of new connections: others get in", brief: false, work: flood },
    Attack { name: "a byte at a time: sent away in time", brief: false, work: drip },
    Attack { name: "one role takes all places: superusers get in", brief: true, work: reserved },
    Attack { name: "40,000 requests for encryption", brief: false, work: encryption },
    Attack { name: "1,200 handshakes of TLS that stop half way", brief: true, work: tls_half_open },
    Attack { name: "garbage in the place of TLS, from a seed", brief: true, work: tls_garbage },
    Attack { name: "a storm of whole handshakes of TLS", brief: false, work: tls_storm },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("handshakes", &ATTACKS, report);
}

fn silent_connections(host: &Host, count: usize) -> Result<Vec<TcpStream>> {
    (0..count).map(|_| connect(host.port())).collect()
}

/// A new client gets in.
fn gets_in(ground: &Ground, host: &Host) -> Result<Duration> {
    let start = Instant::now();
    host.connect().context("no client gets in")?.value("select 1")?;
    let (took, bound) = (start.elapsed(), ground.within(Duration::from_secs(1)));
    if took > bound {
        bail!("getting in took {:.1} s", took.as_secs_f64());
    }
    Ok(took)
}

fn silent(ground: &Ground) -> Result<Observed> {
    let mut host = ground.host(&[])?;
    let pingers = Pingers::start(host.port())?;
    let silent = silent_connections(&host, 1200)?;
    let took = gets_in(ground, &host)?;
    let pings = pingers.finish()?;
    drop(silent);
    host.expect_alive()?;
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    let note = format!("in after {:.0} ms", took.as_secs_f64() * 1e3);
    Ok(Observed { pings: Some(pings), note, ..Observed::default() })
}

fn canceled(ground: &Ground) -> Result<Observed> {
    let host = ground.host(&[])?;
    let mut victim = host.connect()?;
    victim.send(&client::query("select count(*) from generate_series(1, 1000000000000) g"))?;
    let _silent = silent_connections(&host, 1200)?;
    let start = Instant::now();
    cancel(host.port(), victim.process_id, &victim.secret)?;
    let answer = victim.answer().context("the canceled statement")?;
    let took = start.elapsed();
    if answer.state() != "57014" || took > ground.within(Duration::from_secs(1)) {
        bail!("{:?} after {:.1} s", answer.state(), took.as_secs_f64());
    }
    Ok(Observed::note(format!("57014 after {:.0} ms", took.as_secs_f64() * 1e3)))
}

/// A silent client loses its descriptor to a new one.
fn out_of_descriptors(ground: &Ground) -> Result<Observed> {
    let mut host =
        ground.host_with_prefix(&["prlimit", "--nofile=256:256", "--"], &["--max-connections", "20"])?;
    let _silent = silent_connections(&host, 400)?;
    let start = Instant::now();
    host.connect().context("no client gets in")?.value("select 1")?;
    let took = start.elapsed();
    if took > ground.within(Duration::from_secs(5)) {
        bail!("getting in took {:.1} s", took.as_secs_f64());
    }
    host.expect_alive()?;
    Ok(Observed::note(format!("in after {:.0} ms", took.as_secs_f64() * 1e3)))
}

/// Opens silent connections all the time, faster than they time out.
fn flood(ground: &Ground) -> Result<Observed> {
    let host = ground.host(&[])?;
    let port = host.port();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let mut open = std::collections::VecDeque::new();
            let mut count = 0_u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                open.push_back(connect(port));
                count += 1;
                if open.len() > 2000 {
                    open.pop_front();
                }
            }
            count
        });
        let mut longest = Duration::ZERO;
        let mut outcome = Ok(());
        for _ in 0..30 {
            std::thread::sleep(Duration::from_millis(100));
            match gets_in(ground, &host) {
                Ok(took) => longest = longest.max(took),
                Err(error) => outcome = Err(error),
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let count = flooding.join().unwrap_or_default();
        outcome?;
        let note = format!("in after {:.0} ms at most, beside {count} others", longest.as_secs_f64() * 1e3);
        Ok(Observed::note(note))
    })
}

fn drip(ground: &Ground) -> Result<Observed> {
    ground.needs("--authentication-timeout")?;
    let host = ground.host(&["--authentication-timeout", "2"])?;
    let mut stream = connect(host.port())?;
    let start = Instant::now();
    for byte in startup(&[("user", "hyades"), ("database", &"x".repeat(1000))]) {
        if stream.write_all(&[byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        if start.elapsed() > Duration::from_secs(15) {
            bail!("still there after 15 s");
        }
    }
    let took = start.elapsed();
    if stream.read(&mut [0; 64]).is_ok_and(|count| count > 0) {
        bail!("it was let in");
    }
    Ok(Observed::note(format!("sent away after {:.1} s", took.as_secs_f64())))
}

/// The places that there are unless an option says otherwise, and those of superusers among them.
const PLACES: (usize, usize) = (200, 3);

fn reserved(ground: &Ground) -> Result<Observed> {
    ground.needs("--superuser-reserved-connections")?;
    let mut host = ground.host(&[])?;
    let mut superuser = host.connect()?;
    superuser.value("create role mal login")?;
    let connect = || Client::connect_with(host.port(), &[("user", "mal"), ("database", "hyades")]);
    let left = PLACES.0 - PLACES.1 - 1;
    // The probe of the start may still be leaving.
    let mut crowd: Vec<Client> = Vec::new();
    let filled = until(Duration::from_secs(10), || {
        while crowd.len() < left
            && let Ok(client) = connect()
        {
            crowd.push(client);
        }
        Ok(crowd.len() == left)
    })?;
    filled.with_context(|| format!("there are no {left} places for everybody, but {}", crowd.len()))?;
    match connect() {
        Ok(_) => bail!("the role took a place that is reserved"),
        Err(error) if error.to_string().contains("53300 remaining connection slots are reserved") => {}
        Err(error) => return Err(error.context("one client too many")),
    }
    let others = (0..PLACES.1).map(|_| host.connect()).collect::<Result<Vec<_>>>().context("superusers")?;
    match host.connect() {
        Ok(_) => bail!("a superuser got in beyond the limit"),
        Err(error) if error.to_string().contains("53300 sorry, too many clients already") => {}
        Err(error) => return Err(error.context("one superuser too many")),
    }
    drop((crowd, others, superuser));
    until(Duration::from_secs(10), || Ok(connect().is_ok()))?.context("places do not return")?;
    host.expect_alive()?;
    Ok(Observed::default())
}

fn encryption(ground: &Ground) -> Result<Observed> {
    let mut host = ground.host(&[])?;
    let pingers = Pingers::start(host.port())?;
    let request = [0, 0, 0, 8, 4, 210, 22, 47];
    for _ in 0..40_000 {
        let mut stream = connect(host.port())?;
        stream.write_all(&request)?;
        let mut answer = [0];
        stream.read_exact(&mut answer).context("no answer to a request for encryption")?;
        if answer != *b"N" {
            bail!("answered with {answer:?}");
        }
    }
    let pings = pingers.finish()?;
    host.expect_alive()?;
    Ok(Observed { pings: Some(pings), ..Observed::default() })
}

/// SSLRequest.
const ENCRYPT: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// The beginning of a ClientHello of 512 bytes.
const HELLO: [u8; 11] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3];

/// A server with a certificate made here.
fn encrypting_host(ground: &Ground) -> Result<Host> {
    ground.needs("--tls-certificate")?;
    let (certificate, key) = (ground.directory.join("tls.pem"), ground.directory.join("tls.key"));
    if !key.exists() {
        let mut openssl = std::process::Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
        openssl
            .args(["-subj", "/CN=localhost", "-days", "2", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&certificate);
        let output = openssl.output().context("openssl is needed to make a certificate")?;
        if !output.status.success() {
            bail!("openssl: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let [certificate, key] = [&certificate, &key].map(|path| path.to_str().unwrap_or_default());
    ground.host(&["--tls-certificate", certificate, "--tls-key", key, "--authentication-timeout", "5"])
}

/// A socket on which the server waits for a TLS handshake.
fn begin_tls(host: &Host) -> Result<TcpStream> {
    let mut stream = connect(host.port())?;
    stream.write_all(&ENCRYPT)?;
    let mut answer = [0];
    stream.read_exact(&mut answer).context("no answer to a request for encryption")?;
    if answer != *b"S" {
        bail!("answered with {answer:?}");
    }
    Ok(stream)
}

fn tls_half_open(ground: &Ground) -> Result<Observed> {
    let mut host = encrypting_host(ground)?;
    let pingers = Pingers::start(host.port())?;
    let mut half = Vec::new();
    for _ in 0..1200 {
        let mut stream = begin_tls(&host)?;
        // A client that has lost its place already cannot send.
        let _ = stream.write_all(&HELLO);
        half.push(stream);
    }
    let took = gets_in(ground, &host)?;
    let pings = pingers.finish()?;
    drop(half);
    host.expect_alive()?;
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    let note = format!("in after {:.0} ms", took.as_secs_f64() * 1e3);
    Ok(Observed { pings: Some(pings), note, ..Observed::default() })
}

fn tls_garbage(ground: &Ground) -> Result<Observed> {
    let mut host = encrypting_host(ground)?;
    let mut seed = ground.seed | 1;
    let tries = ground.tries(3000, 200);
    for _ in 0..tries {
        let mut stream = begin_tls(&host)?;
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut bytes = HELLO.to_vec();
        bytes.truncate((seed >> 60) as usize);
        bytes.extend((0..(seed >> 32) % 700).map(|at| (seed.rotate_left((at % 64) as u32) >> 7) as u8));
        // It may be disconnected before it has sent everything.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    host.expect_alive()?;
    Ok(Observed::note(format!("{tries} tries")))
}

/// Clients that do nothing but handshakes, the most expensive computation that a stranger can cause.
fn tls_storm(ground: &Ground) -> Result<Observed> {
    let mut host = encrypting_host(ground)?;
    let port = host.port().to_string();
    let pingers = Pingers::start(host.port())?;
    let deadline = Instant::now() + Duration::from_secs(5);
    let counts: Vec<u32> = std::thread::scope(|scope| {
        let storm = || {
            let mut count = 0;
            while Instant::now() < deadline {
                let mut client = std::process::Command::new("openssl");
                client.args(["s_client", "-starttls", "postgres", "-connect"]);
                client.arg(format!("127.0.0.1:{port}")).stdin(std::process::Stdio::null());
                let output = client.output().context("openssl is needed")?;
                count += u32::from(String::from_utf8_lossy(&output.stdout).contains("TLSv1.3"));
            }
            Ok(count)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(storm)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Ok(0))).collect::<Result<_>>()
    })?;
    let pings = pingers.finish()?;
    host.expect_alive()?;
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    let count: u32 = counts.iter().sum();
    if count == 0 {
        bail!("no handshake was completed");
    }
    Ok(Observed { pings: Some(pings), note: format!("{count} handshakes"), ..Observed::default() })
}
