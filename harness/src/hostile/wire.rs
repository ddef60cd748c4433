//! Bytes that no proper client sends, made from a seed that the report prints.
//!
//! What must hold: the server lives and has not panicked, answers with an error or hangs up, and no lock is
//! left behind.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::client::{self, Client, bind, connect, execute, message, parse, startup, sync};
use super::ground::{Attack, Ground, Host};
use super::report::{Observed, Verdict};

const ATTACKS: [Attack; 9] = [
    Attack { name: "malformed startup packets", brief: true, work: malformed_startups },
    Attack { name: "random startup packets", brief: true, work: random_startups },
    Attack { name: "sessions of random messages", brief: true, work: random_messages },
    Attack { name: "sessions with changed bytes", brief: true, work: mutated },
    Attack { name: "messages cut off, connections cut", brief: true, work: cut },
    Attack { name: "parameters that are no values", brief: true, work: bad_parameters },
    Attack { name: "COPY broken off in every way", brief: true, work: broken_copies },
    Attack { name: "requests to cancel with wrong keys", brief: true, work: wrong_keys },
    Attack { name: "answers wider than they can be described", brief: true, work: wide },
];

const SETUP: [&str; 2] = [
    "create table t (id integer primary key, v text)",
    "insert into t select g, 'x' from generate_series(1, 100) g",
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("wire", &ATTACKS, report);
}

fn host(ground: &Ground) -> Result<Host> {
    let host = ground.host(&["--max-connections", "500"])?;
    let mut client = host.connect()?;
    for sql in SETUP {
        client.value(sql).context("setup")?;
    }
    Ok(host)
}

/// Checks that the server lives, and that no lock is held.
fn expect_well(host: &mut Host) -> Result<()> {
    host.expect_alive()?;
    let mut client = host.connect()?;
    client.value("set lock_timeout = '5s'")?;
    client.value("begin; update t set v = v; rollback").context("a lock was left behind")?;
    Ok(())
}

/// Sends bytes on a fresh socket, and reads the reply.
fn shout(host: &Host, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut stream = connect(host.port())?;
    // The server may have hung up in the middle.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Ok(answer)
}

fn malformed_startups(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut packets: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\0".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03".to_vec(),
        vec![0xFF; 64],
        startup(&[]),
        startup(&[("user", "")]),
        startup(&[("user", "hyades"), ("options", "-c")]),
        startup(&[("user", "hyades"), ("replication", "true")]),
        startup(&[("user", &"u".repeat(20_000))]),
        startup(&[("user", "hyades"), ("nothing_of_the_kind", "1")]),
    ];
    for length in [0_u32, 1, 3, 4, 7, 8, 9, 10_001, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
        packets.push([&length.to_be_bytes()[..], &[0, 3, 0, 0], b"user\0hyades\0\0"].concat());
    }
    for version in
        [0_u32, 1 << 16, 2 << 16, (3 << 16) + 9, 4 << 16, 80_877_102, 80_877_103, 80_877_104, 80_877_105]
    {
        packets.push([&9_u32.to_be_bytes()[..], &version.to_be_bytes(), b"\0"].concat());
    }
    for packet in &packets {
        let answer = shout(&host, packet)?;
        if answer.first().is_some_and(|first| !b"ENRv".contains(first)) {
            bail!("{packet:?} was answered with {:?}", String::from_utf8_lossy(&answer));
        }
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{} packets", packets.len())))
}

fn random_startups(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut random = StdRng::seed_from_u64(ground.seed);
    let tries = ground.tries(300, 50);
    for _ in 0..tries {
        let mut packet = startup(&[("user", "hyades"), ("options", "-c statement_timeout=7")]);
        match random.random_range(0..3) {
            0 => packet = (0..random.random_range(0..200)).map(|_| random.random()).collect(),
            1 => change(&mut packet, &mut random),
            _ => packet.truncate(random.random_range(0..packet.len())),
        }
        shout(&host, &packet)?;
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{tries} packets")))
}

fn change(bytes: &mut [u8], random: &mut StdRng) {
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..bytes.len());
        bytes[at] = random.random();
    }
}

/// Connects, sends, then hangs up or waits for the end of the reply.
fn session(host: &Host, bytes: &[u8], random: &mut StdRng) -> Result<()> {
    let mut client = host.connect()?;
    // The server may have hung up in the middle.
    let _ = client.stream.write_all(bytes);
    if random.random_bool(0.5) {
        client.vanish();
        return Ok(());
    }
    let _ = client.stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    client.set_patience(Duration::from_secs(10))?;
    match client.stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => bail!("the connection hangs"),
        _ => Ok(()),
    }
}

fn random_messages(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut random = StdRng::seed_from_u64(ground.seed ^ 1);
    let tries = ground.tries(750, 60);
    for _ in 0..tries {
        let mut bytes = Vec::new();
        for _ in 0..random.random_range(1..25) {
            let kind = b"QPBDECSHdcfFXp\0"[random.random_range(0..15)];
            let length = random.random_range(0..60);
            let body: Vec<u8> =
                (0..length).map(|_| if random.random_bool(0.3) { 0 } else { random.random() }).collect();
            bytes.extend(message(kind, &body));
        }
        session(&host, &bytes, &mut random)?;
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{tries} sessions")))
}

/// A conversation that uses every message.
fn conversation() -> Vec<u8> {
    [
        client::query("begin; update t set v = 'y' where id = 1; select * from t where id < 5"),
        parse("s", "select v from t where id = $1"),
        bind("p", "s", &[(0, b"3")]),
        message(b'D', b"Ss\0"),
        message(b'D', b"Pp\0"),
        execute("p", 1),
        message(b'H', b""),
        message(b'C', b"Pp\0"),
        sync(),
        client::query("copy t from stdin"),
        message(b'd', b"1000\tcopied\n"),
        message(b'c', b""),
        client::query("copy t to stdout; rollback"),
        message(b'X', b""),
    ]
    .concat()
}

fn mutated(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut random = StdRng::seed_from_u64(ground.seed ^ 2);
    let tries = ground.tries(750, 60);
    for _ in 0..tries {
        let mut bytes = conversation();
        change(&mut bytes, &mut random);
        session(&host, &bytes, &mut random)?;
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{tries} sessions")))
}

fn cut(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut random = StdRng::seed_from_u64(ground.seed ^ 3);
    let whole = conversation();
    let step = if ground.brief { 7 } else { 1 };
    let ends: Vec<usize> = (0..whole.len()).step_by(step).collect();
    for end in &ends {
        session(&host, &whole[..*end], &mut random)?;
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("cut at {} places", ends.len())))
}

fn bad_parameters(ground: &Ground) -> Result<Observed> {
    const TYPES: [&str; 16] = [
        "smallint",
        "integer",
        "bigint",
        "real",
        "double precision",
        "numeric",
        "boolean",
        "text",
        "varchar(3)",
        "char(3)",
        "date",
        "timestamp",
        "timestamptz",
        "integer[]",
        "text[]",
        "bytea",
    ];
    let mut host = host(ground)?;
    let mut random = StdRng::seed_from_u64(ground.seed ^ 4);
    let tries = ground.tries(200, 15);
    let mut states = std::collections::BTreeMap::new();
    let mut client = host.connect()?;
    for sql_type in TYPES {
        for _ in 0..tries {
            let bytes: Vec<u8> = (0..random.random_range(0..40)).map(|_| random.random()).collect();
            let format = random.random_range(0..3);
            let statement = [parse("", &format!("select $1::{sql_type}")), bind("", "", &[(format, &bytes)])];
            client.send(&[statement.concat(), execute("", 0), sync()].concat())?;
            let answer = client.answer()?;
            if answer.closed {
                bail!("the connection ended: {:?}, {sql_type}, {bytes:?}", answer.error);
            }
            if answer.state() == "XX000" {
                bail!("{:?}: {sql_type}, {bytes:?}", answer.error);
            }
            *states.entry(answer.state().to_owned()).or_insert(0_u32) += 1;
        }
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{states:?}")))
}

fn broken_copies(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let endings: [(&str, Vec<u8>); 7] = [
        ("CopyFail", message(b'f', b"enough\0")),
        ("Query", client::query("select 1")),
        ("Terminate", message(b'X', b"")),
        ("nothing", Vec::new()),
        ("a cut message", vec![b'd', 0, 0, 1, 0, b'x']),
        ("a bad row", [message(b'd', b"not a number\tx\n"), message(b'c', b"")].concat()),
        ("Sync", sync()),
    ];
    for (name, ending) in &endings {
        let mut client = host.connect()?;
        client.send(&client::query("copy t from stdin"))?;
        let response = client.read()?.context("an answer to COPY")?;
        if response.kind != b'G' {
            bail!("COPY was answered with {}", char::from(response.kind));
        }
        client.send(&message(b'd', b"500\tcopied\n"))?;
        client.send(ending)?;
        client.vanish();
        expect_well(&mut host).context(*name)?;
    }
    let rows = host.connect()?.value("select count(*) from t where id = 500")?;
    if rows != "0" {
        bail!("a row of a COPY that was never completed is there");
    }
    Ok(Observed::note(format!("{} endings", endings.len())))
}

fn wrong_keys(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut victim = host.connect()?;
    let mut random = StdRng::seed_from_u64(ground.seed ^ 5);
    let tries = ground.tries(3000, 200);
    victim.send(&client::query("select count(*) from generate_series(1, 3000000) g"))?;
    for number in 0..tries {
        let secret: [u8; 4] = random.random();
        let process_id = if number % 2 == 0 { victim.process_id } else { random.random() };
        if secret != victim.secret[..] {
            client::cancel(host.port(), process_id, &secret)?;
        }
    }
    victim.set_patience(Duration::from_secs(60))?;
    let answer = victim.answer()?;
    if !answer.state().is_empty() {
        bail!("the victim got {}", answer.state());
    }
    expect_well(&mut host)?;
    Ok(Observed::note(format!("{tries} requests")))
}

fn wide(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut client: Client = host.connect()?;
    let widths = if ground.brief { &[1665, 66_000][..] } else { &[1665, 32_768, 65_536, 70_000] };
    for width in widths {
        let list = vec!["1"; *width].join(",");
        for sql in
            [format!("select {list}"), format!("copy (select {list}) to stdout"), format!("values ({list})")]
        {
            let answer = client.query(&sql)?;
            if answer.state() != "54011" {
                bail!("{width} columns: {:?}", answer.error);
            }
        }
    }
    expect_well(&mut host)?;
    Ok(Observed::default())
}
