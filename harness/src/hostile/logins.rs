//! Clients that do not know the password: broken, forged and replayed SCRAM messages, and very many of them.
//!
//! What must hold: no client gets in without the password, each gets PostgreSQL's error (08P01 for a
//! malformed message, 28P01 for a wrong one), the log reports failed logins without growing with them, and
//! others work and log in meanwhile.
//!
//! The answers are those of PostgreSQL 15 to the same messages, except for messages that are too long, which
//! it calls a wrong password.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};

use super::client::{Client, connect, field, message, startup};
use super::ground::{Attack, Ground, Host};
use super::ping::{self, Pingers};
use super::report::{Observed, Verdict};
use crate::server::PASSWORD;

const ATTACKS: [Attack; 5] = [
    Attack { name: "first messages that are malformed", brief: true, work: first_messages },
    Attack { name: "last messages that are malformed or forged", brief: true, work: last_messages },
    Attack { name: "a login that was listened to, replayed", brief: true, work: replayed },
    Attack { name: "messages cut off at each byte", brief: true, work: cut_off },
    Attack { name: "failed logins all the time: others are served", brief: true, work: stormed },
];

const USER: &str = "hyades";
const MECHANISM: &str = "SCRAM-SHA-256";
const NONCE: &str = "n,,n=,r=rOprNGfwEbeRWgbNEkqO";
/// Base64 of 32 zeroes: as long as a proof.
const NO_PROOF: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("logins", &ATTACKS, report);
}

/// A server that asks for passwords.
fn host(ground: &Ground) -> Result<Host> {
    ground.host_with_prefix(&["env", &format!("HYADES_PASSWORD={PASSWORD}")], &[])
}

/// A client that has been asked for its SASL messages.
fn begin(host: &Host, user: &str) -> Result<Client> {
    let mut client = Client { stream: connect(host.port())?, process_id: 0, secret: Vec::new() };
    client.send(&startup(&[("user", user), ("database", USER)]))?;
    let asked = client.read()?.context("nothing is asked")?;
    if asked.kind != b'R' || !asked.body.starts_with(&[0, 0, 0, 10]) {
        bail!("the server does not ask for SASL: {}", asked.kind);
    }
    Ok(client)
}

fn initial_response(mechanism: &str, length: i32, bytes: &[u8]) -> Vec<u8> {
    let mut body = format!("{mechanism}\0").into_bytes();
    body.extend_from_slice(&length.to_be_bytes());
    body.extend_from_slice(bytes);
    message(b'p', &body)
}

fn first(bytes: &[u8]) -> Vec<u8> {
    initial_response(MECHANISM, bytes.len() as i32, bytes)
}

/// The server's answer: the type of its message, and its text or SQLSTATE.
fn answered(client: &mut Client) -> Result<(u8, String)> {
    let Some(answer) = client.read()? else { bail!("closed without a word") };
    Ok(match answer.kind {
        b'E' => (b'E', field(&answer.body, b'C')),
        kind => (kind, String::from_utf8_lossy(answer.body.get(4..).unwrap_or_default()).into_owned()),
    })
}

/// Sends a message in place of the first.
fn refused_with(host: &Host, expected: &str, bytes: &[u8], what: &str) -> Result<()> {
    let mut client = begin(host, USER)?;
    client.send(bytes)?;
    expect(&mut client, expected, what)
}

fn expect(client: &mut Client, expected: &str, what: &str) -> Result<()> {
    let (kind, state) = answered(client).with_context(|| what.to_owned())?;
    if kind != b'E' || state != expected {
        bail!("{what}: {} {state} instead of {expected}", char::from(kind));
    }
    // FATAL: nothing follows it.
    if client.read()?.is_some() {
        bail!("{what}: the server goes on");
    }
    Ok(())
}

/// A client with the password gets in, and the server has not panicked.
fn expect_well(host: &mut Host) -> Result<()> {
    if !host.server.is_running() {
        bail!("the server ended by itself");
    }
    if let Some(panic) = host.log().lines().find(|line| line.contains("panic: ")) {
        bail!("the server panicked: {panic}");
    }
    login(host, PASSWORD).context("the right password")?.value("select 1").map(drop)
}

/// Logs in as a proper client does.
fn login(host: &Host, password: &str) -> Result<Client> {
    let mut client = begin(host, USER)?;
    let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    client.send(&first(scram.message()))?;
    let challenge = answered(&mut client)?;
    scram.update(challenge.1.as_bytes()).context("the server's challenge")?;
    client.send(&message(b'p', scram.message()))?;
    let outcome = answered(&mut client)?;
    if outcome.0 != b'R' {
        bail!("refused: {}", outcome.1);
    }
    scram.finish(outcome.1.as_bytes()).context("the server does not know the password")?;
    if client.answer()?.closed {
        bail!("the connection ended");
    }
    Ok(client)
}

fn first_messages(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let good = NONCE.as_bytes();
    let long = |bytes: usize| first(format!("n,,n=,r={}", "a".repeat(bytes)).as_bytes());
    let tries = [
        ("another mechanism", "08P01", initial_response("PLAIN", good.len() as i32, good)),
        (
            "channel binding's mechanism",
            "08P01",
            initial_response("SCRAM-SHA-256-PLUS", good.len() as i32, good),
        ),
        ("a plain password", "08P01", message(b'p', format!("{PASSWORD}\0").as_bytes())),
        ("longer than its message", "08P01", initial_response(MECHANISM, 5000, good)),
        ("a negative length", "08P01", initial_response(MECHANISM, -5, good)),
        ("bytes after it", "08P01", initial_response(MECHANISM, good.len() as i32 - 2, good)),
        ("empty", "08P01", first(b"")),
        ("not UTF-8", "08P01", first(b"n,,n=,r=\xff\xfe")),
        ("no header", "08P01", first(b"n=,r=abc")),
        ("an unknown flag", "08P01", first(b"x,,n=,r=abc")),
        ("channel binding required", "08P01", first(b"p=tls-server-end-point,,n=,r=abc")),
        ("another identity", "0A000", first(b"n,a=root,n=,r=abc")),
        ("an extension", "0A000", first(b"n,,m=x,n=,r=abc")),
        ("no nonce", "08P01", first(b"n,,n=")),
        ("a nonce with a blank", "08P01", first(b"n,,n=,r=a b")),
        ("a nonce with a zero", "08P01", first(b"n,,n=,r=a\0b")),
        // PostgreSQL: 28P01 for these three. It cannot read them.
        ("1,500 bytes", "08P01", long(1500)),
        ("3,000 bytes", "08P01", long(3000)),
        ("1 GiB announced", "08P01", vec![b'p', 0x40, 0, 0, 0]),
        ("a query", "08P01", message(b'Q', b"select 1\0")),
    ];
    for (what, expected, bytes) in &tries {
        refused_with(&host, expected, bytes, what)?;
    }
    host.wait_for_line("login failed")?;
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{} refused", tries.len())))
}

/// Makes a client's last message from the combined nonce.
type Last = fn(&str) -> String;

fn last_messages(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let tries: [(&str, &str, &str, Last); 16] = [
        ("a proof of zeroes", NONCE, "28P01", |nonce| format!("c=biws,r={nonce},p={NO_PROOF}")),
        ("with an extension", NONCE, "28P01", |nonce| format!("c=biws,r={nonce},x=1,p={NO_PROOF}")),
        ("another nonce", NONCE, "08P01", |nonce| format!("c=biws,r={nonce}x,p={NO_PROOF}")),
        ("half of the nonce", NONCE, "08P01", |nonce| format!("c=biws,r={},p={NO_PROOF}", &nonce[..20])),
        ("no nonce", NONCE, "08P01", |_| format!("c=biws,p={NO_PROOF}")),
        ("a short proof", NONCE, "08P01", |nonce| format!("c=biws,r={nonce},p=AAAA")),
        ("a long proof", NONCE, "08P01", |nonce| format!("c=biws,r={nonce},p={}", "A".repeat(88))),
        ("a proof that is not base64", NONCE, "08P01", |nonce| format!("c=biws,r={nonce},p=!!!")),
        ("an empty proof", NONCE, "08P01", |nonce| format!("c=biws,r={nonce},p=")),
        ("no proof", NONCE, "08P01", |nonce| format!("c=biws,r={nonce}")),
        ("something after the proof", NONCE, "08P01", |nonce| format!("c=biws,r={nonce},p={NO_PROOF},x=1")),
        ("another header", NONCE, "08P01", |nonce| format!("c=eSws,r={nonce},p={NO_PROOF}")),
        ("no header", NONCE, "08P01", |nonce| format!("c=,r={nonce},p={NO_PROOF}")),
        ("empty", NONCE, "08P01", |_| String::new()),
        // The client could bind channels, and believes that the server cannot.
        ("flag y", "y,,n=,r=abcdefgh", "28P01", |nonce| format!("c=eSws,r={nonce},p={NO_PROOF}")),
        ("flag y taken back", "y,,n=,r=abcdefgh", "08P01", |nonce| format!("c=biws,r={nonce},p={NO_PROOF}")),
    ];
    for (what, opening, expected, last) in &tries {
        for user in [USER, "nobody"] {
            let mut client = begin(&host, user)?;
            client.send(&first(opening.as_bytes()))?;
            let (kind, challenge) = answered(&mut client)?;
            let nonce = challenge.split(',').next().and_then(|nonce| nonce.strip_prefix("r="));
            let nonce = nonce.filter(|_| kind == b'R').context("no challenge")?;
            client.send(&message(b'p', last(nonce).as_bytes()))?;
            expect(&mut client, expected, &format!("{what}, {user}"))?;
        }
    }
    for password in ["", "Secret", "secret ", PASSWORD.repeat(100).as_str()] {
        match login(&host, password) {
            Ok(_) => bail!("\"{password}\" lets a client in"),
            Err(error) if error.to_string() == "refused: 28P01" => {}
            Err(error) => return Err(error.context(format!("\"{password}\""))),
        }
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{} refused", tries.len() * 2 + 4)))
}

/// A client that does not know the password repeats all messages of a good one.
fn replayed(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut scram = ScramSha256::new(PASSWORD.as_bytes(), ChannelBinding::unsupported());
    let opening = first(scram.message());
    let mut client = begin(&host, USER)?;
    client.send(&opening)?;
    let challenge = answered(&mut client)?;
    scram.update(challenge.1.as_bytes())?;
    let last = message(b'p', scram.message());
    client.send(&last)?;
    scram.finish(answered(&mut client)?.1.as_bytes())?;
    for _ in 0..50 {
        let mut thief = begin(&host, USER)?;
        thief.send(&opening)?;
        let (kind, again) = answered(&mut thief)?;
        if kind != b'R' || again == challenge.1 {
            bail!("the server repeats its nonce");
        }
        thief.send(&last)?;
        expect(&mut thief, "08P01", "a replay")?;
    }
    // Once a client is in, it is not asked again.
    let mut client = login(&host, PASSWORD)?;
    client.send(&last)?;
    let answer = client.answer()?;
    if answer.state() != "08P01" || !answer.closed {
        bail!("a password after the login: {answer:?}");
    }
    expect_well(&mut host)?;
    Ok(Observed::note("50 replays refused"))
}

/// Clients that go away in the middle of the exchange.
fn cut_off(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let opening = first(NONCE.as_bytes());
    for bytes in 0..opening.len() {
        let mut client = begin(&host, USER)?;
        client.send(&opening[..bytes])?;
        client.vanish();
    }
    let last = message(b'p', format!("c=biws,r=abc,p={NO_PROOF}").as_bytes());
    for bytes in 0..last.len() {
        let mut client = begin(&host, USER)?;
        client.send(&opening)?;
        answered(&mut client)?;
        client.send(&last[..bytes])?;
        client.vanish();
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{} cut off", opening.len() + last.len())))
}

/// The number of threads that try passwords.
const GUESSERS: usize = 8;
/// The log reports failed logins only now and then.
const MOST_LINES: usize = 200;

fn stormed(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let time = Duration::from_secs(if ground.brief { 1 } else { 5 });
    let session = |_| Ok((login(&host, PASSWORD)?, ping::USUAL.to_owned()));
    let pingers = Pingers::with((0..4).map(session).collect::<Result<_>>()?);
    let (stop, failed) = (AtomicBool::new(false), AtomicU64::new(0));
    let guess = || -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            let mut client =
                begin(&host, if failed.load(Ordering::Relaxed) % 2 == 0 { USER } else { "nobody" })?;
            client.send(&first(NONCE.as_bytes()))?;
            let (_, challenge) = answered(&mut client)?;
            let nonce = challenge.split(',').next().unwrap_or_default();
            client.send(&message(b'p', format!("c=biws,{nonce},p={NO_PROOF}").as_bytes()))?;
            expect(&mut client, "28P01", "a guess")?;
            failed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let longest = std::thread::scope(|scope| -> Result<Duration> {
        let guessers: Vec<_> = (0..GUESSERS).map(|_| scope.spawn(guess)).collect();
        let (start, mut longest) = (Instant::now(), Duration::ZERO);
        let mut outcome = Ok(());
        while start.elapsed() < time && outcome.is_ok() {
            let began = Instant::now();
            outcome = login(&host, PASSWORD).map(drop).context("who knows the password");
            longest = longest.max(began.elapsed());
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
        for guesser in guessers {
            guesser.join().map_err(|_| anyhow::anyhow!("a guessing thread panicked"))??;
        }
        outcome.map(|()| longest)
    })?;
    let pings = pingers.finish()?;
    let lines = host.log().lines().filter(|line| line.contains("login failed")).count();
    if !(1..=MOST_LINES).contains(&lines) {
        bail!("{lines} lines in the log");
    }
    if longest > ground.within(Duration::from_secs(1)) {
        bail!("a login took {:.1} s", longest.as_secs_f64());
    }
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    expect_well(&mut host)?;
    let count = failed.load(Ordering::Relaxed);
    let note =
        format!("{count} failed, {lines} lines; in after {:.0} ms at most", longest.as_secs_f64() * 1e3);
    Ok(Observed { pings: Some(pings), note, ..Observed::default() })
}
