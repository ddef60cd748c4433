//! Bytes that no proper client sends.

use std::io::{Read, Write};

use crate::process::Server;
use crate::raw::{Client, kinds, message, parse, read_answer, startup, state, sync};

/// Asserts that the server still serves.
fn assert_alive(server: &Server) {
    assert_eq!(kinds(&Client::connect(server).query("select 1")), "TDCZ");
}

#[test]
fn garbage_instead_of_a_startup_packet() {
    let server = Server::start(&[]);
    let packets: [&[u8]; 7] = [
        b"",
        b"\0",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &[0xFF; 64],
        &[0, 0, 0, 8, 0, 0, 0, 0],
        &startup(196_608, &[("database", "no user")]),
    ];
    for packet in packets {
        let mut stream = server.connect();
        stream.write_all(packet).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // A reset is as acceptable as an error.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer[0] == b'E', "{answer:?}");
    }
    assert_alive(&server);
}

#[test]
fn encryption_is_declined() {
    let server = Server::start(&[]);
    let mut stream = server.connect();
    for code in [80_877_103_u32, 80_877_104] {
        stream.write_all(&message(0, &code.to_be_bytes())[1..]).unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"N");
    }
    stream.write_all(&startup(196_608, &[("user", "hyades")])).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().kind, b'R');
}

#[test]
fn impossible_lengths_and_kinds_end_the_connection() {
    let server = Server::start(&["--message-limit-mib", "1"]);
    for bytes in [
        vec![b'Q', 0xFF, 0xFF, 0xFF, 0xFF],
        vec![b'Q', 0, 0, 0, 3],
        vec![b'Q', 0, 0x10, 0, 1],
        vec![b'S', 0, 0x01, 0, 0],
        vec![b'!', 0, 0, 0, 4],
        vec![0; 100],
        message(b'p', b"password"),
    ] {
        let mut client = Client::connect(&server);
        client.send(&[bytes]);
        let answer = client.answer();
        assert_eq!((answer.kind, answer.field(b'S').as_deref()), (b'E', Some("FATAL")));
        assert_eq!(answer.field(b'C').as_deref(), Some("08P01"));
        assert_eq!(read_answer(&mut client.stream), None);
    }
    assert_alive(&server);
}

#[test]
fn bad_bodies_are_errors_and_the_connection_goes_on() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    for (bytes, expected) in [
        (message(b'Q', b"select '\xC3\x28'\0"), "22021"),
        (message(b'Q', b"select 1"), "08P01"),
        (message(b'Q', b"select 1\0rest\0"), "08P01"),
        (message(b'F', b"\0\0\0\x01\0\0\0\0\0\0"), "0A000"),
    ] {
        let answers = client.ask(&[bytes]);
        assert_eq!((kinds(&answers), state(&answers)), ("EZ".to_owned(), expected.to_owned()));
    }
    for (bytes, expected) in [
        (message(b'B', b""), "08P01"),
        (message(b'B', b"\0\0\0\0\xFF\xFF\0\0"), "08P01"),
        (message(b'D', b"?\0"), "08P01"),
        (message(b'E', b"\0\0"), "08P01"),
        (message(b'P', b"\0select $1\0\0\x01\0\0\x02\x58"), "0A000"),
    ] {
        let answers = client.ask(&[bytes, sync()]);
        assert_eq!((kinds(&answers), state(&answers)), ("EZ".to_owned(), expected.to_owned()));
    }
    assert_eq!(kinds(&client.query("select 1")), "TDCZ");
}

#[test]
fn a_thousand_random_conversations() {
    let server = Server::start(&[]);
    // A linear congruential generator: the same bytes in each run.
    let mut seed = 1_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32
    };
    for _ in 0..200 {
        let mut client = Client::connect(&server);
        for _ in 0..5 {
            let kind = b"QPBDECSHdcf"[random() as usize % 11];
            let body: Vec<u8> =
                (0..random() % 40).map(|_| if random() % 3 == 0 { 0 } else { random() as u8 }).collect();
            client.send(&[message(kind, &body)]);
        }
        client.send(&[sync()]);
        client.until_ready();
    }
    assert_alive(&server);
}

#[test]
fn an_answer_is_never_wider_than_its_description_can_say() {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)", "insert into t values (1)"]);
    let mut client = Client::connect(&server);
    let list = |width: usize| vec!["1"; width].join(",");
    assert_eq!(kinds(&client.query(&format!("select {}", list(1664)))), "TDCZ");
    let columns: Vec<String> = (0..1000).map(|column| format!("c{column} integer")).collect();
    assert_eq!(kinds(&client.query(&format!("create table wide ({})", columns.join(",")))), "CZ");
    for sql in [
        format!("select {}", list(1665)),
        format!("select {}", list(70_000)),
        format!("values ({})", list(1665)),
        format!("copy (select {}) to stdout", list(1665)),
        format!("insert into t values (2) returning {}", list(1665)),
        format!("update t set id = 3 returning {}", list(1664) + ", *"),
        "select * from wide a, wide b".to_owned(),
    ] {
        let answers = client.query(&sql);
        assert_eq!((kinds(&answers), state(&answers)), ("EZ".to_owned(), "54011".to_owned()));
        let message = answers[0].field(b'M').unwrap();
        assert_eq!(message, "target lists can have at most 1664 entries");
    }
    for number in [65_536, 70_000, 4_294_967_297_u64] {
        let answers = client.ask(&[parse("", &format!("select ${number}::integer")), sync()]);
        assert_eq!((kinds(&answers), state(&answers)), ("EZ".to_owned(), "42P02".to_owned()));
    }
    assert_eq!(server.query(&["select id from t"]), "1");
}
