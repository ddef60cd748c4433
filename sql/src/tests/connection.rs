//! The blocking API.

use std::sync::Arc;

use hyades_types::value::Value;

use super::engine::{TestEngine, Trouble};
use crate::{Database, Error};

fn database() -> Database {
    let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::Waits)));
    let mut connection = database.connect().expect("a connection");
    connection.execute("create table t (a int primary key, b bigint, c text)", &[]).expect("a table");
    let inserted = connection.execute("insert into t values (1, 10, 'x'), (2, 20, null)", &[]);
    assert_eq!(inserted.expect("rows"), 2);
    database
}

#[test]
fn statements_take_values_and_answer_rows() {
    let mut connection = database().connect().expect("a connection");
    let rows = connection.query("select b, c from t where a = $1", &[Value::BigInt(1)]).expect("a row");
    assert_eq!(rows, [[Value::BigInt(10), Value::text("x")]]);
    // Values are converted to the types of the parameters.
    let parameters = [Value::text("5"), Value::Integer(2)];
    assert_eq!(connection.execute("update t set b = b + $1 where a = $2", &parameters).expect("one"), 1);
    let prepared = connection.prepare("select b from t where a = $1").expect("a statement");
    for _ in 0..2 {
        let rows = connection.query_prepared(&prepared, &[Value::Integer(2)]).expect("a row");
        assert_eq!(rows, [[Value::BigInt(25)]]);
    }
}

#[test]
fn bad_input_changes_nothing() {
    let mut connection = database().connect().expect("a connection");
    let state = |error: Error| error.sqlstate().0;
    assert_eq!(connection.execute("selct 1", &[]).map_err(state), Err("42601"));
    assert_eq!(connection.execute("insert into t values (1)", &[]).map_err(state), Err("23505"));
    assert_eq!(connection.execute("select $1::int", &[]).map_err(state), Err("08P01"));
    assert_eq!(connection.execute("select $1::int", &[Value::text("x")]).map_err(state), Err("22P02"));
    assert_eq!(connection.execute("copy t from stdin", &[]).map_err(state), Err("0A000"));
    assert_eq!(connection.query("select count(*) from t", &[]).expect("a row"), [[Value::BigInt(2)]]);
}

#[test]
fn a_transaction_commits_or_leaves_no_trace() {
    let mut connection = database().connect().expect("a connection");
    let moved = connection.transaction(|transaction| {
        transaction.execute("update t set b = b - 1 where a = 1", &[])?;
        transaction.execute("update t set b = b + 1 where a = 2", &[])
    });
    assert_eq!(moved.expect("it commits"), 1);
    let failed = connection.transaction(|transaction| {
        transaction.execute("delete from t", &[])?;
        transaction.query("select 1/0", &[])
    });
    assert_eq!(failed.map_err(|error| error.sqlstate().0), Err("22012"));
    // An error that the body ignores is not lost.
    let ignored = connection.transaction(|transaction| {
        transaction.execute("delete from t", &[])?;
        let _ = transaction.query("select 1/0", &[]);
        Ok(())
    });
    assert_eq!(ignored.map_err(|error| error.sqlstate().0), Err("25P02"));
    let rows = connection.query("select b from t order by a", &[]).expect("rows");
    assert_eq!(rows, [[Value::BigInt(9)], [Value::BigInt(21)]]);
}

#[test]
fn conflicting_transactions_are_run_again() {
    let database = database();
    let mut first = database.connect().expect("a connection");
    first.execute("insert into t values (3, 0, null)", &[]).expect("a row");
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let database = database.clone();
            std::thread::spawn(move || {
                let mut connection = database.connect().expect("a connection");
                // Half of them lock the rows in the reverse order.
                let (one, other) = if number % 2 == 0 { (1, 3) } else { (3, 1) };
                for _ in 0..25 {
                    let update = "update t set b = b + 1 where a = $1";
                    connection
                        .transaction(|transaction| {
                            transaction.execute(update, &[Value::Integer(one)])?;
                            transaction.execute(update, &[Value::Integer(other)])
                        })
                        .expect("it commits in the end");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let rows = first.query("select b from t where a in (1, 3) order by a", &[]).expect("rows");
    assert_eq!(rows, [[Value::BigInt(110)], [Value::BigInt(100)]]);
}

#[test]
fn a_join_is_planned_again_when_its_tables_have_grown() {
    let mut connection = database().connect().expect("a connection");
    connection.execute("create table u (a int)", &[]).expect("a table");
    let prepared = connection.prepare("select count(*) from t join u on t.b = u.a").expect("a statement");
    let mut run = |change: &str| {
        connection.execute(change, &[]).expect("a change");
        let before = prepared.plan();
        connection.query_prepared(&prepared, &[]).expect("a count");
        !Arc::ptr_eq(&before, &prepared.plan())
    };
    assert!(!run("insert into u select generate_series(1, 600)"), "too few to matter");
    assert!(run("insert into u select generate_series(1, 600)"));
    assert!(!run("insert into u select generate_series(1, 600)"));
    assert!(run("delete from u"));
}
