//! Statements that are too deep, too wide or incomplete are refused in time, without exhausting the stack.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_engine::config::Config;
use hyades_engine::db::{Interrupt, open};
use hyades_sim::disk::SimulatedDisk;
use hyades_types::memory::Limits;
use hyades_types::value::Value;

use super::engine::{TestEngine, Trouble};
use crate::Connection;
use crate::session::{Database, Session, SessionOptions};

fn session() -> Session {
    let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::None)));
    database.session(SessionOptions::default()).expect("a session")
}

/// The SQLSTATE with which compiling fails, if it does.
fn outcome(sql: &str) -> Option<&'static str> {
    match session().prepare(sql, &[]) {
        Ok(_) => None,
        Err(Interrupt::Failed(error)) => Some(error.sqlstate().0),
        Err(Interrupt::Wait(_)) => panic!("compiling never waits"),
    }
}

/// Nothing but its timeout would end a statement that is planned anew for ever.
#[test]
fn statements_that_nothing_fits_give_up() {
    let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::NothingFits)));
    let mut connection = database.connect().expect("a connection");
    connection.execute("create table t (id int primary key)", &[]).expect("DDL has no plan that runs");
    connection
        .execute("create procedure p() language plpgsql as 'begin insert into t values (1); end'", &[])
        .expect("DDL");
    for sql in ["select * from t", "insert into t values (1)", "call p()", "do $$ begin perform 1; end $$"] {
        let error = connection.execute(sql, &[]).expect_err(sql);
        assert_eq!(error.sqlstate().0, "XX000", "{sql}: {error}");
    }
}

#[test]
fn long_chains_of_conditions_work() {
    assert_eq!(outcome(&format!("select 1 where {}", vec!["1 = 1"; 1000].join(" or "))), None);
    assert_eq!(outcome(&format!("select 1 where 1 in ({})", vec!["1"; 20_000].join(", "))), None);
    assert_eq!(outcome(&format!("values {}", vec!["(1, 2)"; 5_000].join(", "))), None);
}

/// The single value of a query.
fn value_of(sql: &str) -> Value {
    let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::None)));
    let mut connection = database.connect().expect("a connection");
    let mut rows = connection.query(sql, &[]).unwrap_or_else(|error| panic!("{error:?}: {}", &sql[..100]));
    rows.remove(0).remove(0)
}

#[test]
fn what_postgresql_takes_nests_as_deep_here() {
    let nested = |before: &str, inner: &str, after: &str, levels: usize| {
        value_of(&format!("select {}{inner}{}", before.repeat(levels), after.repeat(levels)))
    };
    assert_eq!(nested("(", "1", ")", 9_000), Value::Integer(1));
    assert_eq!(nested("not (", "true", ")", 3_000), Value::Boolean(true));
    assert_eq!(nested("not ", "true", "", 3_000), Value::Boolean(true));
    assert_eq!(nested("- ", "1", "", 3_000), Value::Integer(1));
    assert_eq!(nested("abs(", "-1", ")", 3_000), Value::Integer(1));
    assert_eq!(nested("coalesce(", "2", ")", 3_000), Value::Integer(2));
    assert_eq!(nested("cast(", "2", " as int)", 3_000), Value::Integer(2));
    assert_eq!(nested("case when true then ", "3", " end", 1_000), Value::Integer(3));
    assert_eq!(nested("1 + (", "1", ")", 3_000), Value::Integer(3_001));
    assert_eq!(nested("true and (", "false", ")", 3_000), Value::Boolean(false));
    assert_eq!(nested("1 + ", "1", "", 4_000), Value::Integer(4_001));
    assert_eq!(nested("'x' || ", "'y'", "", 4_000), Value::text(format!("{}y", "x".repeat(4_000))));
    // The value is not known at compile time, so the expression is evaluated at its full depth.
    assert_eq!(nested("random() * 0 + (", "1", ")", 2_000), Value::Double(1.0));
    let sum = "g + ".repeat(3_000);
    let listed = format!("select {sum}g from generate_series(1, 1) g");
    assert_eq!(value_of(&listed), Value::Integer(3_001));
    assert_eq!(
        value_of(&format!("select g from generate_series(1, 1) g where {sum}g > 0")),
        Value::Integer(1)
    );
}

#[test]
fn a_long_list_of_joins_is_planned_in_time() {
    let start = Instant::now();
    let names = |from: usize| (from..200).map(|at| format!("generate_series(1, 1) t{at}"));
    let chain: String = (1..200).map(|at| format!(" and t{at} = t{}", at - 1)).collect();
    let listed = format!("select 1 from {} where true{chain}", names(0).collect::<Vec<_>>().join(", "));
    assert_eq!(value_of(&listed), Value::Integer(1));
    let joined: String =
        (1..200).map(|at| format!(" join generate_series(1, 1) t{at} on t{at} = t{}", at - 1)).collect();
    assert_eq!(value_of(&format!("select 1 from generate_series(1, 1) t0{joined}")), Value::Integer(1));
    // This takes milliseconds. The time used to grow with the fourth power of the number of joins.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn many_windows_do_not_exhaust_the_stack() {
    // Each window sorts by one key less, so none but the first needs a sort of its own.
    let keys = |count: usize| (0..count).map(|at| format!("c{at}")).collect::<Vec<_>>().join(", ");
    let windows = (0..300).rev().map(|count| format!("count(*) over (order by {})", keys(count + 1)));
    let columns = (0..300).map(|at| format!("1 as c{at}")).collect::<Vec<_>>().join(", ");
    let sum = windows.collect::<Vec<_>>().join(" + ");
    assert_eq!(value_of(&format!("select {sum} from (select {columns}) t")), Value::BigInt(300));
}

#[test]
fn a_long_script_is_split_in_time() {
    let start = Instant::now();
    let statements = session().split(&"select 'ä';".repeat(200_000)).expect("statements");
    assert_eq!(statements.len(), 200_000);
    assert_eq!(statements[199_999], (199_999 * 11, "select 'ä';".to_owned()));
    // The time used to grow with the square of the length, to minutes.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn a_name_of_many_parts_is_refused_in_time() {
    let start = Instant::now();
    assert_eq!(outcome(&format!("select {}a", "a.".repeat(100_000))), Some("42601"));
    assert_eq!(outcome("select a.b.c.d.e.f.g"), Some("42601"));
    assert_eq!(
        outcome(&format!(
            "select 1 from generate_series(1, 1) g where true{}",
            " and g.g is null".repeat(500)
        )),
        None
    );
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn what_is_too_deep_is_refused_in_time() {
    for repeated in [
        "(",
        "-",
        " - ",
        "not ",
        "1 + ",
        "1 = ",
        "case when true then ",
        "case ",
        "f(",
        "abs(",
        "coalesce(",
        "cast(",
        "substring(",
        "position(",
        "trim(",
        "extract(",
        "interval ",
        "interval (",
        "array[",
        "1 in (",
        "(select ",
        "(select * from ",
        "exists (select ",
        "1 between ",
        "'x' || ",
        "row(",
        "date ",
        "numeric(",
        "x::",
        "a.",
        "$1 + ",
        "1 is not distinct from ",
        "overlay(",
        "ceil(",
        "floor(",
        "convert(",
        "any(",
        "x like ",
        "{",
        "[",
        "x[",
        "values (",
    ] {
        for count in [8, 30, 2_000] {
            for text in [
                format!("select {}", repeated.repeat(count)),
                format!("select {}1{}", repeated.repeat(count), ")".repeat(count)),
                format!("select * from {}", repeated.repeat(count)),
                format!("select 1 where {}1 end", repeated.repeat(count)),
            ] {
                let start = Instant::now();
                let _ = outcome(&text);
                let taken = start.elapsed();
                assert!(taken < Duration::from_secs(5), "{taken:?}: {}", &text[..text.len().min(200)]);
            }
        }
    }
}

/// A database whose sessions have this much memory each.
fn narrow_database(mebibytes: usize) -> Database {
    let memory = Limits { server_bytes: 1 << 40, connection_bytes: mebibytes << 20 };
    let disk = Arc::new(SimulatedDisk::new(7));
    let config = Config { disk: disk as _, memory, ..Config::new("/data") };
    Database::with_engine(open(config, Some(crate::routine_compiler())).expect("an empty disk"))
}

/// Runs statements, which are separated by `; `; returns the first error's code.
fn first_error(connection: &mut Connection, sql: &str) -> Option<&'static str> {
    let outcomes = sql.split("; ").map(|statement| connection.execute(statement, &[]));
    outcomes.filter_map(Result::err).map(|error| error.sqlstate().0).next()
}

/// Each row counts with its own bytes, each entry of an index with its own.
#[test]
fn rows_of_temporary_tables_count_with_their_bytes() {
    let database = narrow_database(8);
    let mut connection = database.connect().expect("a connection");
    let table = "create temp table t (a int primary key, b text)";
    assert_eq!(first_error(&mut connection, table), None);
    // Many small rows are no licence for large ones.
    let small = "insert into t select g, 'x' from generate_series(1, 20000) g; delete from t";
    assert_eq!(first_error(&mut connection, small), None);
    let large = "insert into t select g, repeat('x', 1000000) from generate_series(1, 9) g";
    assert_eq!(first_error(&mut connection, large), Some("53200"));
    // A small row in the place of a large one does not give back the memory of the large one, which stays
    // with its record.
    let large = "insert into t select g, repeat('x', 1000000) from generate_series(1, 4) g";
    assert_eq!(first_error(&mut connection, "truncate t"), None);
    assert_eq!(first_error(&mut connection, large), None);
    assert_eq!(first_error(&mut connection, "update t set b = 'x'"), None);
    let more = "insert into t select g, repeat('x', 1000000) from generate_series(11, 15) g";
    assert_eq!(first_error(&mut connection, more), Some("53200"));
    assert_eq!(first_error(&mut connection, "truncate t"), None);
    assert_eq!(first_error(&mut connection, more), None);

    // Old versions stay until the transaction ends.
    let update = "update t set b = repeat(chr(97 + g % 26), 100000) where a = 1";
    let all = format!("do $$ begin for g in 1..1000 loop {update}; end loop; end $$");
    assert_eq!(first_error(&mut connection, "truncate t; insert into t values (1, 'x')"), None);
    assert_eq!(connection.execute(&all, &[]).unwrap_err().sqlstate().0, "53200");
    let each = format!("do $$ begin for g in 1..1000 loop {update}; commit; end loop; end $$");
    assert!(connection.execute(&each, &[]).is_ok());
    // Unless it takes them back.
    let caught = format!(
        "do $$ begin for g in 1..1000 loop begin {update}; raise division_by_zero; exception when \
         division_by_zero then null; end; end loop; end $$"
    );
    assert!(connection.execute(&caught, &[]).is_ok());

    // Entries, which hold the values, in rows that move, too.
    let entries = "truncate t; insert into t select g, repeat('x', 10000) from generate_series(1, 150) g; \
                   create index i on t (b); alter table t add c int default 1; insert into t values (0, 'x')";
    assert_eq!(first_error(&mut connection, entries), None);
    let copies = "create index j on t (b); create index k on t (b); create index l on t (b)";
    assert_eq!(first_error(&mut connection, copies), None);
    assert_eq!(first_error(&mut connection, "create index m on t (b)"), Some("53200"));
    let rewritten = "drop index k, l; alter table t add d int default 1";
    assert_eq!(first_error(&mut connection, rewritten), Some("53200"));
    let more = "insert into t select g, repeat('x', 10000) from generate_series(1001, 1150) g";
    assert_eq!(first_error(&mut connection, more), Some("53200"));
    assert_eq!(first_error(&mut connection, "drop index i, j"), None);
    assert_eq!(first_error(&mut connection, more), None);
}

/// Names take memory, too.
#[test]
fn temporary_objects_are_paid_for_by_their_session() {
    let database = narrow_database(2);
    let mut connection = database.connect().expect("a connection");
    let mut run = |body: &str| {
        let each = format!("do $$ begin for g in 1..600 loop {body}; commit; end loop; end $$");
        let outcome = connection.execute(&each, &[]).err().map(|error| error.sqlstate().0);
        assert_eq!(first_error(&mut connection, "discard temp"), None);
        outcome
    };
    assert_eq!(run("execute format('create temp table t%s (a int)', g)"), Some("53200"));
    assert_eq!(run("execute format('create temp view v%s as select 1', g)"), Some("53200"));
    assert_eq!(run("create temp table t (a int); drop table t"), None);
    let commented =
        "create temp table if not exists t (a int); execute format('comment on table t is %L', g)";
    assert_eq!(run(commented), None);
    assert_eq!(run("create temp sequence s; alter sequence s increment 5; drop sequence s"), None);
}

/// Rows of temporary tables count as their session's memory, until they are gone.
#[test]
fn temporary_tables_are_paid_for_by_their_session() {
    let database = narrow_database(8);
    let mut connection = database.connect().expect("a connection");
    let mut run = |sql: &str| first_error(&mut connection, sql);
    let fill = "insert into t select g, repeat('x', 1000) from generate_series(1, 4000) g";
    assert_eq!(run("create temp table t (a int primary key, b text)"), None);
    assert_eq!(run(fill), None);
    let more = "insert into t select g, repeat('x', 1000) from generate_series(5000, 9000) g";
    assert_eq!(run(more), Some("53200"));
    // What was taken back does not count.
    assert_eq!(run("insert into t select g, 'x' from generate_series(5000, 5100) g"), None);
    assert_eq!(run("delete from t where a > 1000"), None);
    assert_eq!(run("insert into t select g, repeat('x', 1000) from generate_series(5000, 7000) g"), None);
    assert_eq!(run("truncate t"), None);
    assert_eq!(run(fill), None);
    assert_eq!(run("begin; insert into t values (0, 'x'); rollback"), None);
    assert_eq!(run("drop table t"), None);
    assert_eq!(run("create temp table t (a int primary key, b text)"), None);
    assert_eq!(run(fill), None);
    // Permanent tables are not charged to a session.
    assert_eq!(run("drop table t; create table t (a int primary key, b text)"), None);
    assert_eq!(run(fill), None);
    assert_eq!(run(more), None);
}
