//! COPY whose data is divided into pieces: whatever the pieces and the threads that read them, the outcome is
//! that of a session that reads everything itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyades_engine::helpers::Helpers;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::Value;
use proptest::prelude::*;

use super::engine::{TestEngine, Trouble};
use super::golden::done;
use crate::copy::pieces::Sharing;
use crate::session::{Completion, Database, Notice, Output, Session, SessionOptions};

#[derive(Default)]
struct Rows(Vec<String>);

impl Output for Rows {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.0.push(format!("{values:?}"));
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn notice(&mut self, _: Notice) {}
    fn restart(&mut self) {}
}

fn database(sharing: Sharing) -> Database {
    Database::sharing(Arc::new(TestEngine::with(Trouble::None)), sharing)
}

fn session(database: &Database) -> Session {
    database.session(SessionOptions::default()).expect("a session")
}

fn begin(session: &mut Session, sql: &str) -> Result<Vec<String>> {
    let mut rows = Rows::default();
    let prepared = done(|| session.prepare(sql, &[]))?;
    done(|| session.execute(&prepared, &[], &mut rows))?;
    Ok(rows.0)
}

fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let rows = begin(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    done(|| session.end_implicit()).expect("it commits");
    rows
}

/// The session alone.
fn alone() -> Sharing {
    Sharing::of(Helpers::new(0), 1)
}

/// SQLSTATE, message, detail and context.
type Failed = (&'static str, String, Option<String>, Option<String>);

/// What a COPY leaves: its tag or its error, and the rows of the table.
#[derive(Debug, PartialEq)]
struct Outcome {
    tag: std::result::Result<Completion, Failed>,
    rows: Vec<String>,
    /// The next number of the sequence from which a default is drawn.
    drawn: Vec<String>,
}

/// How a table takes rows: as bytes that were made elsewhere, or as values.
const TABLES: [&str; 5] = [
    "create table t (a int primary key, b text not null, c char(3), n int)",
    "create table t (a int primary key, b text not null, c char(3), n int default nextval('s'))",
    "create table t (a int primary key, b text not null check (b <> 'no'), c char(3), n int)",
    "create table t (a int, b text, c char(3) default 'x', n int);
     create function f() returns trigger language plpgsql as 'begin if new.a = 7 then return null; end if;
     new.b := new.b || nextval(''s''); return new; end';
     create trigger g before insert on t for each row execute function f()",
    "create table t (a int primary key, b text generated always as (c || 'y') stored, c char(3), n int)",
];

/// Creates a sequence and the table.
fn create(session: &mut Session, table: usize) {
    run(session, "create sequence s");
    let mut rest = TABLES[table];
    while !rest.is_empty() {
        // No statement but the function has a semicolon in it.
        let end = match rest.trim_start().starts_with("create function") {
            true => rest.find("end';").map(|at| at + 4),
            false => rest.find(';'),
        };
        let (statement, next) = rest.split_at(end.unwrap_or(rest.len()));
        run(session, statement);
        rest = next.trim_start_matches(';');
    }
}

fn outcome(sharing: Sharing, table: usize, copy: &str, data: &[u8], chunk: usize) -> Outcome {
    let database = database(sharing);
    let mut session = session(&database);
    create(&mut session, table);
    begin(&mut session, copy).expect("COPY begins");
    let fed = data.chunks(chunk).try_for_each(|chunk| done(|| session.copy_feed(chunk)));
    let tag = fed.and_then(|()| done(|| session.copy_finish()));
    done(|| session.end_implicit()).expect("an end");
    let tag = tag.map_err(|error| match error {
        Error::Input(error) => (error.state.0, error.message, error.detail, error.context),
        other => panic!("{other:?}"),
    });
    let rows = run(&mut session, "select a, b, c, n from t order by a, b, c, n");
    Outcome { tag, rows, drawn: run(&mut session, "select nextval('s')") }
}

/// All ways to read the data end as that of the session alone.
fn expect_same(table: usize, copy: &str, data: &[u8], (piece, chunk): (usize, usize)) -> Outcome {
    let expected = outcome(alone(), table, copy, data, chunk);
    for helpers in [Helpers::at_once(1), Helpers::new(1), Helpers::new(3)] {
        let shown = String::from_utf8_lossy(data);
        let got = outcome(Sharing::of(helpers, piece), table, copy, data, chunk);
        assert_eq!(got, expected, "{copy} into table {table}, pieces {piece}, chunks {chunk}:\n{shown}");
    }
    expected
}

/// The columns of the data, which leave out a generated column.
fn columns(table: usize) -> &'static str {
    if table == 4 { "(a, c)" } else { "(a, b)" }
}

/// A line of text, by number: most are rows, some are special.
fn line(kind: u8, number: usize, is_csv: bool) -> Vec<u8> {
    let comma = if is_csv { "," } else { "\t" };
    let text = match kind {
        0 => format!("{number}{comma}a\\\nb"),
        1 if is_csv => format!("{number}{comma}\"x\n\"\"y\r\n\""),
        1 => format!("{number}{comma}\\\\"),
        2 if is_csv => format!("{number}{comma}\"q\\\"\n\""),
        2 => format!("{number}{comma}\\\\\\\n"),
        3 => format!("{number}{comma}x\r"),
        4 => format!("{number}{comma}"),
        5 => format!("{number}{comma}{}", "w".repeat(number % 50)),
        6 => format!("7{comma}x"),
        _ => format!("{number}{comma}é{number}"),
    };
    let mut bytes = text.into_bytes();
    bytes.push(b'\n');
    bytes
}

/// A line that no table takes, or that ends the data.
fn bad_line(kind: u8, is_csv: bool) -> Vec<u8> {
    let comma = if is_csv { "," } else { "\t" };
    let text = match kind {
        0 => return b"\\.\n".to_vec(),
        1 => return [b"5", comma.as_bytes(), b"\xff\n"].concat(),
        2 => "999999999999".to_owned() + comma + "x",
        3 => "12".to_owned(),
        4 => format!("1{comma}2{comma}3"),
        5 => format!("1{comma}no"),
        6 if is_csv => format!("1{comma}\"unterminated"),
        6 => format!("\\N{comma}x"),
        7 if is_csv => "1".to_owned() + comma,
        7 => format!("1{comma}\\N"),
        8 => String::new(),
        _ => "\\.x".to_owned(),
    };
    (text + "\n").into_bytes()
}

#[derive(Clone, Debug)]
struct Data {
    lines: Vec<u8>,
    bad: Option<(usize, u8)>,
    is_csv: bool,
    has_end: bool,
    table: usize,
    piece: usize,
    chunk: usize,
}

fn any_data() -> impl Strategy<Value = Data> {
    (
        prop::collection::vec(0_u8..20, 0..40),
        prop::option::of((0_usize..40, 0_u8..10)),
        (any::<bool>(), any::<bool>()),
        0..TABLES.len(),
        1_usize..60,
        1_usize..90,
    )
        .prop_map(|(lines, bad, (is_csv, has_end), table, piece, chunk)| Data {
            lines,
            bad,
            is_csv,
            has_end,
            table,
            piece,
            chunk,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pieces_of_any_length_end_as_the_whole(data in any_data()) {
        let mut bytes = Vec::new();
        for (number, kind) in data.lines.iter().enumerate() {
            if let Some((_, kind)) = data.bad.filter(|(at, _)| *at == number) {
                bytes.extend(bad_line(kind, data.is_csv));
            }
            bytes.extend(line(*kind, number + 10, data.is_csv));
        }
        if !data.has_end {
            bytes.pop();
        }
        let format = if data.is_csv { "csv" } else { "text" };
        let copy = format!("copy t {} from stdin (format {format})", columns(data.table));
        expect_same(data.table, &copy, &bytes, (data.piece, data.chunk));
    }
}

/// Where rows depend on nothing but the data, helpers make their bytes; elsewhere, the values of columns.
#[test]
fn helpers_do_as_much_as_the_table_allows() {
    let rows: Vec<u8> = (1..40).flat_map(|number| format!("{number}\tx\n").into_bytes()).collect();
    for (table, makes_rows) in [(0, true), (1, false), (2, true), (3, false), (4, true)] {
        for (helpers, is_helped) in [(0, false), (1, true)] {
            let engine = Arc::new(TestEngine::with(Trouble::None));
            let offered_rows = Arc::clone(&engine.offered_rows);
            let database = Database::sharing(engine, Sharing::of(Helpers::at_once(helpers), 30));
            let mut session = session(&database);
            create(&mut session, table);
            begin(&mut session, &format!("copy t {} from stdin", columns(table))).expect("COPY begins");
            rows.chunks(40).for_each(|chunk| done(|| session.copy_feed(chunk)).expect("rows"));
            done(|| session.copy_finish()).expect("all rows");
            let offered_rows = offered_rows.load(Ordering::Relaxed);
            assert_eq!(offered_rows > 20, makes_rows && is_helped, "table {table}: {offered_rows}");
        }
    }
}

/// Every place of the error relative to the ends of pieces.
#[test]
fn an_error_has_its_line_wherever_a_piece_ends() {
    let rows: Vec<u8> = (1..30).flat_map(|number| format!("{number}\tx{number}\n").into_bytes()).collect();
    let broken = [&rows[..], b"abc\ty\n", b"40\tz\n"].concat();
    for piece in 1..40 {
        let outcome = expect_same(0, "copy t (a, b) from stdin", &broken, (piece, 11));
        let error = outcome.tag.expect_err("an error");
        assert_eq!(error.3.as_deref(), Some("COPY t, line 30, column a: \"abc\""));
        let duplicate = [&rows[..], b"29\ty\n"].concat();
        let outcome = expect_same(0, "copy t (a, b) from stdin", &duplicate, (piece, 1000));
        assert_eq!(outcome.tag.expect_err("an error").3.as_deref(), Some("COPY t, line 30"));
    }
}

#[test]
fn options_hold_in_every_piece() {
    let rows: String = (1..40).map(|number| format!("{number}|'a''{number}'|''\n")).collect();
    let data = format!("a|b|c\n{rows}");
    for (piece, chunk) in [(1, 1), (9, 4), (25, 1000), (70, 30)] {
        let csv = "format csv, delimiter '|', quote ''''";
        for options in ["header", "header match, force_null (c)", "header, force_not_null (b)"] {
            let copy = format!("copy t (a, b, c) from stdin ({csv}, {options}) where a <> 20");
            let outcome = expect_same(0, &copy, data.as_bytes(), (piece, chunk));
            assert_eq!(outcome.tag, Ok(Completion::Tag("COPY 38".into())));
        }
        let escaped: String = (1..40).map(|number| format!("{number},\"\\\"\n{number}\\\\\"\n")).collect();
        let copy = "copy t (a, b) from stdin (format csv, escape '\\')";
        let outcome = expect_same(0, copy, escaped.as_bytes(), (piece, chunk));
        assert_eq!(outcome.rows.len(), 39);
    }
}

#[test]
fn binary_rows_come_whole_from_every_piece() {
    let field = |bytes: &[u8]| [&(bytes.len() as i32).to_be_bytes(), bytes].concat();
    let row = |number: i32| {
        let text = "t".repeat(number as usize % 9);
        [vec![0, 2], field(&number.to_be_bytes()), field(text.as_bytes())].concat()
    };
    let header = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
    let good = [header.to_vec(), (1..60).flat_map(row).collect()].concat();
    let copy = "copy t (a, b) from stdin binary";
    for (piece, chunk) in [(1, 1), (15, 7), (40, 1000), (100, 64), (33, 500)] {
        for table in 0..4 {
            let whole = [&good[..], &[0xff, 0xff]].concat();
            let outcome = expect_same(table, copy, &whole, (piece, chunk));
            assert_eq!(
                outcome.tag,
                Ok(Completion::Tag(if table == 3 { "COPY 58" } else { "COPY 59" }.into()))
            );
            for more in [&b"\xff\xffx"[..], b"\0", b"\0\x02\0", b"\0\x03", &row(1)[..], &row(1)[..8]] {
                expect_same(table, copy, &[&good[..], more].concat(), (piece, chunk));
            }
            let middle = good.len() / 2;
            for damage in 0..20 {
                let mut damaged = whole.clone();
                damaged[middle + damage] ^= 0x81;
                expect_same(table, copy, &damaged, (piece, chunk));
            }
        }
    }
}

#[test]
fn rows_longer_than_pieces_and_nothing_at_all() {
    for length in [0, 1, 30, 64, 65, 500] {
        let text = "l".repeat(length);
        let rows: String = (1..20).map(|number| format!("{number}\t{text}\n{}\ts\n", number + 100)).collect();
        for (piece, chunk) in [(1, 1), (64, 10), (64, 5000), (200, 300)] {
            let outcome = expect_same(0, "copy t (a, b) from stdin", rows.as_bytes(), (piece, chunk));
            assert_eq!(outcome.rows.len(), 38);
        }
    }
    for copy in ["copy t from stdin", "copy t from stdin csv header", "copy t from stdin (header match)"] {
        expect_same(0, copy, b"", (1, 1));
    }
}

/// The rows of a divided COPY, of which the session has inserted some.
fn many_rows() -> Vec<u8> {
    (1..2000).flat_map(|number| format!("{number}\ttext {number}\n").into_bytes()).collect()
}

/// Begins a COPY and feeds it many rows.
fn in_the_middle(database: &Database) -> Session {
    let mut session = session(database);
    run(&mut session, "create table t (a int primary key, b text)");
    begin(&mut session, "copy t from stdin").expect("COPY begins");
    for chunk in many_rows().chunks(700) {
        done(|| session.copy_feed(chunk)).expect("rows");
    }
    session
}

#[test]
fn a_copy_that_is_given_up_leaves_nothing() {
    for helpers in [Helpers::at_once(2), Helpers::new(2)] {
        let database = database(Sharing::of(helpers, 300));
        let mut copying = in_the_middle(&database);
        let error = copying.copy_fail("COPY from stdin failed: enough");
        assert_eq!(error.sqlstate(), sqlstate::QUERY_CANCELED);
        done(|| copying.end_implicit()).expect("an end");
        assert_eq!(run(&mut copying, "select * from t").len(), 0);
        // And again, to the end.
        begin(&mut copying, "copy t from stdin").expect("COPY begins");
        done(|| copying.copy_feed(&many_rows())).expect("rows");
        assert_eq!(done(|| copying.copy_finish()).unwrap(), Completion::Tag("COPY 1999".into()));
        done(|| copying.end_implicit()).expect("a commit");
        // A session that is dropped in the middle.
        run(&mut copying, "drop table t");
        drop(in_the_middle(&database));
    }
}

#[test]
fn a_cancelled_copy_stops() {
    let database = database(Sharing::of(Helpers::new(2), 300));
    let mut copying = in_the_middle(&database);
    copying.stop_request().cancel();
    // It looks now and then while it computes.
    let rows: String = (10_000..20_000).map(|number| format!("{number}\tx\n")).collect();
    let outcome = done(|| copying.copy_feed(rows.as_bytes()));
    assert_eq!(outcome.expect_err("cancelled").sqlstate(), sqlstate::QUERY_CANCELED);
}

/// Rows that a condition leaves out lock nothing, so the table may change in the middle. What was read ahead
/// for the table as it was is read again.
#[test]
fn a_table_may_change_while_pieces_are_in_flight() {
    for helpers in [Helpers::new(0), Helpers::at_once(2), Helpers::new(2)] {
        let database = database(Sharing::of(helpers, 300));
        let (mut copying, mut other) = (session(&database), session(&database));
        run(&mut other, "create table t (a int, b text)");
        begin(&mut copying, "copy t from stdin where a > 1000").expect("COPY begins");
        let rows: Vec<u8> =
            (1..1200).flat_map(|number| format!("{number}\t{number}\n").into_bytes()).collect();
        let (first, second) = rows.split_at(5000);
        for chunk in first.chunks(100) {
            done(|| copying.copy_feed(chunk)).expect("rows");
        }
        run(&mut other, "alter table t alter column b type int using b::int");
        for chunk in second.chunks(100) {
            done(|| copying.copy_feed(chunk)).expect("rows");
        }
        assert_eq!(done(|| copying.copy_finish()).unwrap(), Completion::Tag("COPY 199".into()));
        done(|| copying.end_implicit()).expect("a commit");
        assert_eq!(run(&mut other, "select sum(b) from t"), ["[BigInt(218900)]"]);
    }
}

/// Rows that are in flight when the function of a trigger is replaced are inserted by one of the two.
#[test]
fn a_trigger_function_may_be_replaced_while_pieces_are_in_flight() {
    let database = database(Sharing::of(Helpers::new(2), 300));
    let (mut copying, mut other) = (session(&database), session(&database));
    let function = |word: &str| {
        format!(
            "create or replace function f() returns trigger language plpgsql as 'begin new.b := ''{word}''; \
                 return new; end'"
        )
    };
    run(&mut other, "create table t (a int, b text)");
    run(&mut other, &function("old"));
    run(&mut other, "create trigger g before insert on t for each row execute function f()");
    begin(&mut copying, "copy t from stdin").expect("COPY begins");
    let rows = many_rows();
    let (first, second) = rows.split_at(20_000);
    done(|| copying.copy_feed(first)).expect("rows");
    run(&mut other, &function("new"));
    done(|| copying.copy_feed(second)).expect("rows");
    done(|| copying.copy_finish()).expect("all rows");
    done(|| copying.end_implicit()).expect("a commit");
    let summary = "select count(*), count(distinct a), max(a) filter (where b = 'old') < \
                   min(a) filter (where b = 'new'), count(distinct b) from t";
    assert_eq!(run(&mut other, summary), ["[BigInt(1999), BigInt(1999), Boolean(true), BigInt(2)]"]);
}
