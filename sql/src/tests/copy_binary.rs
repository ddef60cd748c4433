//! Binary COPY: what is copied out can be copied in again, wherever the data is split. Damaged data is
//! refused as a whole. Errors and contexts are those of PostgreSQL 15.

use std::sync::Arc;

use hyades_types::error::{Error, Result};
use hyades_types::value::Value;
use proptest::prelude::*;

use super::engine::{TestEngine, Trouble};
use super::golden::done;
use crate::session::{Completion, Database, Notice, Output, Session, SessionOptions};

/// Keeps the data of COPY, and rows as text.
#[derive(Default)]
struct Kept {
    data: Vec<u8>,
    rows: Vec<String>,
}

impl Output for Kept {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.rows.push(format!("{values:?}"));
        Ok(())
    }
    fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.data.extend_from_slice(bytes);
        Ok(())
    }
    fn notice(&mut self, _: Notice) {}
    fn restart(&mut self) {}
}

fn database() -> Database {
    Database::with_engine(Arc::new(TestEngine::with(Trouble::None)))
}

fn session(database: &Database) -> Session {
    database.session(SessionOptions::default()).expect("a session")
}

fn begin(session: &mut Session, sql: &str, kept: &mut Kept) -> Result<Completion> {
    let prepared = done(|| session.prepare(sql, &[]))?;
    done(|| session.execute(&prepared, &[], kept))
}

fn run(session: &mut Session, sql: &str) -> Kept {
    let mut kept = Kept::default();
    begin(session, sql, &mut kept).expect(sql);
    done(|| session.end_implicit()).expect("it commits");
    kept
}

/// Feeds this data in pieces of this many bytes.
fn feed(session: &mut Session, copy: &str, data: &[u8], piece: usize) -> Result<Completion> {
    assert_eq!(begin(session, copy, &mut Kept::default())?, Completion::CopyIn);
    let outcome = data.chunks(piece).try_for_each(|chunk| done(|| session.copy_feed(chunk)));
    let completion = outcome.and_then(|()| done(|| session.copy_finish()));
    done(|| session.end_implicit())?;
    completion
}

const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const TRAILER: [u8; 2] = [0xff; 2];

/// A row with these fields.
fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
    let mut bytes = (fields.len() as i16).to_be_bytes().to_vec();
    for field in fields {
        let length = field.map_or(-1, |field| field.len() as i32);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(field.unwrap_or_default());
    }
    bytes
}

fn number(number: i32) -> [u8; 4] {
    number.to_be_bytes()
}

const COLUMNS: &str = "k int primary key, b boolean, s smallint, l bigint, r real, d float8, n numeric, \
    n2 numeric(12, 3), t text, v varchar(10), c char(5), y bytea, dt date, tm time, ts timestamp, \
    tz timestamptz, u uuid, j json, jb jsonb, iv interval, o oid, nm name, ch \"char\", \
    ia int[], ta text[], na numeric[]";

const ROWS: &str = "insert into every values
    (1, true, -32768, -9223372036854775808, '-Infinity', 'NaN', 'NaN', -123456789.123, '', '', '', '',
     '-infinity', '00:00', '-infinity', 'infinity', '00000000-0000-0000-0000-000000000000', 'null', 'null',
     '-1 year -2 days -03:04:05.678901', 0, '', '', '{}', '{}', '{}'),
    (2, false, 32767, 9223372036854775807, 'Infinity', '-0', '-Infinity', 999999999.999, 'tab\té', '0123456789',
     'é', '\\x00ff10', '4713-01-01 BC', '24:00', '2020-02-29 12:34:56.789012', '4714-11-24 00:00:00+00 BC',
     'ffffffff-ffff-ffff-ffff-ffffffffffff', ' { \"b\" : 1, \"a\": [1, 2.50] , \"a\":1}',
     '{\"b\": {}, \"a\": [1, 2.50, null, 1e20, \"\\u00e9\"]}', '178000000 years', 4294967295, 'abc', '\\201',
     '[0:1][3:4]={{1,2},{3,null}}', '{null,\"\",\"NULL\"}', '{1.50,NaN,-Infinity,1e100}'),
    (3, null, 0, 0, 1e-45, 5e-324, 1e-1000, 0, 'x', 'a b', 'a', '\\xdeadbeef', null, null, null, null, null,
     null, null, null, null, null, null, null, null, null)";

/// A table with all types, an empty table like it, and the data of the first.
fn every_type() -> (Session, Vec<u8>) {
    let mut session = session(&database());
    run(&mut session, &format!("create table every ({COLUMNS})"));
    run(&mut session, &format!("create table other ({COLUMNS})"));
    run(&mut session, ROWS);
    run(&mut session, "insert into every values (4)");
    let data = run(&mut session, "copy every to stdout binary").data;
    (session, data)
}

#[test]
fn data_may_be_cut_anywhere() {
    let (mut session, data) = every_type();
    assert!(data.starts_with(HEADER) && data.ends_with(&TRAILER));
    let rows = run(&mut session, "select * from every order by k").rows;
    for piece in [1, 2, 3, 7, 64, data.len()] {
        run(&mut session, "delete from other");
        let completion = feed(&mut session, "copy other from stdin binary", &data, piece);
        assert_eq!(completion.unwrap(), Completion::Tag("COPY 4".into()));
        assert_eq!(run(&mut session, "select * from other order by k").rows, rows);
        assert_eq!(run(&mut session, "copy other to stdout (format binary)").data, data);
    }
}

#[test]
fn a_query_and_some_columns_are_copied() {
    let mut session = session(&database());
    run(
        &mut session,
        "create table t (a int primary key, b text default 'x', c int generated always as (a) stored)",
    );
    let none = run(&mut session, "copy (select a, b from t) to stdout with (format binary)").data;
    assert_eq!(none, [HEADER, &TRAILER].concat());
    let one = [HEADER, &row(&[Some(&number(7))]), &TRAILER].concat();
    feed(&mut session, "copy binary t (a) from stdin", &one, 5).unwrap();
    let copied = run(&mut session, "copy binary t to stdout").data;
    assert_eq!(copied, [HEADER, &row(&[Some(&number(7)), Some(b"x")]), &TRAILER].concat());
    let reversed = run(&mut session, "copy t (b, a) to stdout binary").data;
    assert_eq!(reversed, [HEADER, &row(&[Some(b"x"), Some(&number(7))]), &TRAILER].concat());
}

/// The SQLSTATE, message and context that this data causes.
fn refusal(data: &[u8], piece: usize) -> (&'static str, String, Option<String>) {
    let mut session = session(&database());
    run(&mut session, "create table t (a int primary key, b text not null)");
    let outcome = feed(&mut session, "copy t from stdin binary", data, piece);
    assert_eq!(run(&mut session, "select * from t").rows.len(), 0);
    match outcome {
        Err(Error::Input(error)) => (error.state.0, error.message, error.context),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_wrong_is_said_as_postgresql_says_it() {
    let long = |value: i32| number(value).to_vec();
    let good = row(&[Some(&number(1)), Some(b"x")]);
    let signature = &HEADER[..11];
    let header = |parts: &[&[u8]]| [&[signature], parts].concat().concat();
    let rows = |parts: &[&[u8]]| [&[HEADER], parts].concat().concat();
    let (flag, critical) = (long(1 << 16), long(1 << 17));
    for (data, state, message, context) in [
        (Vec::new(), "22P04", "COPY file signature not recognized", ""),
        (b"PGCOPY\r\n".to_vec(), "22P04", "COPY file signature not recognized", ""),
        (header(&[]), "22P04", "invalid COPY file header (missing flags)", ""),
        (header(&[&[0; 3]]), "22P04", "invalid COPY file header (missing flags)", ""),
        (header(&[&flag]), "22P04", "invalid COPY file header (WITH OIDS)", ""),
        (header(&[&critical]), "22P04", "unrecognized critical flags in COPY file header", ""),
        (header(&[&long(0)]), "22P04", "invalid COPY file header (missing length)", ""),
        (header(&[&long(0), &long(-1)]), "22P04", "invalid COPY file header (missing length)", ""),
        (header(&[&long(0), &long(5), b"abc"]), "22P04", "invalid COPY file header (wrong length)", ""),
        (rows(&[&TRAILER, b"x"]), "22P04", "received copy data after EOF marker", ", line 1"),
        (rows(&[&good, &TRAILER, b"x"]), "22P04", "received copy data after EOF marker", ", line 2"),
        (rows(&[&row(&[None])]), "22P04", "row field count is 1, expected 2", ", line 1"),
        (rows(&[&good, &row(&[None; 3])]), "22P04", "row field count is 3, expected 2", ", line 2"),
        (rows(&[&[0xff, 0xfe]]), "22P04", "row field count is -2, expected 2", ", line 1"),
        (rows(&[&good[..4]]), "22P04", "unexpected EOF in COPY data", ", line 1, column a"),
        (rows(&[&good, &good[..14]]), "22P04", "unexpected EOF in COPY data", ", line 2, column b"),
        (rows(&[&[0, 2], &long(-2)]), "22P04", "invalid field size", ", line 1, column a"),
        (rows(&[&[0, 2], &long(i32::MAX)]), "54000", "out of memory", ", line 1, column a"),
        (
            rows(&[&row(&[Some(b"abc"), None])]),
            "08P01",
            "insufficient data left in message",
            ", line 1, column a",
        ),
        (
            rows(&[&row(&[Some(b"abcde"), None])[..11]]),
            "22P03",
            "incorrect binary data format",
            ", line 1, column a",
        ),
        (
            rows(&[&row(&[Some(&number(1)), Some(b"\xc3(")])]),
            "22021",
            "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28",
            ", line 1, column b",
        ),
        (
            rows(&[&row(&[Some(&number(1)), None])]),
            "23502",
            "null value in column \"b\" of relation \"t\" violates not-null constraint",
            ", line 1",
        ),
        (
            rows(&[&good, &good]),
            "23505",
            "duplicate key value violates unique constraint \"t_pkey\"",
            ", line 2",
        ),
    ] {
        let context = Some(context).filter(|context| !context.is_empty());
        let expected = (state, message.to_owned(), context.map(|context| format!("COPY t{context}")));
        for piece in [1, 3, 1000] {
            assert_eq!(refusal(&data, piece), expected, "{data:?}");
        }
    }
}

/// A missing trailer, or half a number in its place, is accepted. So are the lower flags and what they
/// announce.
#[test]
fn what_does_not_matter() {
    let good = row(&[Some(&number(1)), Some(b"x")]);
    let extended = [&HEADER[..11], &number(0xffff), &number(3), b"abc"].concat();
    for data in [[HEADER, &good].concat(), [HEADER, &good, &[0]].concat(), [&extended, &good[..]].concat()] {
        for piece in [1, 4, 1000] {
            let mut session = session(&database());
            run(&mut session, "create table t (a int primary key, b text not null)");
            let completion = feed(&mut session, "copy t from stdin binary", &data, piece).unwrap();
            assert_eq!(completion, Completion::Tag("COPY 1".into()));
        }
    }
}

/// A table may change until the first row is inserted.
#[test]
fn a_row_is_read_again_for_the_table_as_it_is() {
    let database = database();
    let (mut first, mut second) = (session(&database), session(&database));
    run(&mut first, "create table t (a int primary key, b text)");
    assert_eq!(
        begin(&mut first, "copy t from stdin binary", &mut Kept::default()).unwrap(),
        Completion::CopyIn
    );
    run(&mut second, "alter table t alter column b type varchar(3)");
    let data = [HEADER, &row(&[Some(&number(1)), Some(b"abc")]), &TRAILER].concat();
    done(|| first.copy_feed(&data)).unwrap();
    assert_eq!(done(|| first.copy_finish()).unwrap(), Completion::Tag("COPY 1".into()));
    done(|| first.end_implicit()).unwrap();
    assert_eq!(run(&mut first, "select * from t").rows.len(), 1);
}

/// Truncated data either loads the complete rows, or loads nothing and causes an error.
#[test]
fn data_may_end_anywhere() {
    let (mut session, data) = every_type();
    let rows = run(&mut session, "select * from every").rows;
    let mut counts = Vec::new();
    for end in 0..data.len() {
        run(&mut session, "delete from other");
        let outcome = feed(&mut session, "copy other from stdin binary", &data[..end], 50);
        let loaded = run(&mut session, "select * from other").rows;
        match outcome {
            Ok(Completion::Tag(tag)) => {
                assert_eq!(tag, format!("COPY {}", loaded.len()));
                assert_eq!(loaded, rows[..loaded.len()]);
                counts.push(loaded.len());
            }
            Ok(Completion::CopyIn) => panic!("COPY does not end"),
            Err(_) => assert!(loaded.is_empty()),
        }
    }
    // The end of a row, and a byte after it.
    assert_eq!(counts, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Modified bytes cause at most an error: no panic, and no part of refused data.
    #[test]
    fn damage_does_no_harm(seed in any::<u64>()) {
        let (mut session, data) = every_type();
        let mut state = seed | 1;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..60 {
            let mut damaged = data.clone();
            for _ in 0..=random(3) {
                let at = random(damaged.len());
                match random(4) {
                    0 => damaged[at] = random(256) as u8,
                    1 => drop(damaged.remove(at)),
                    2 => damaged.insert(at, random(256) as u8),
                    _ => damaged[at] ^= 1 << random(8),
                }
            }
            run(&mut session, "delete from other");
            let outcome = feed(&mut session, "copy other from stdin binary", &damaged, 1 + random(300));
            let loaded = run(&mut session, "select * from other").rows.len();
            match outcome {
                Ok(Completion::Tag(tag)) => prop_assert_eq!(tag, format!("COPY {loaded}")),
                Ok(Completion::CopyIn) => panic!("COPY does not end"),
                Err(error) => {
                    prop_assert_eq!(loaded, 0);
                    prop_assert!(matches!(error, Error::Input(_)), "{error:?}");
                }
            }
        }
    }
}
