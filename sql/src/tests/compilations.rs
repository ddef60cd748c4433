//! Statements that are compiled while other sessions change the objects that they use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::engine::{TestEngine, Trouble};
use crate::{Connection, Database};

/// Runs statements of a session one after the other until the other sessions have ended.
fn until(is_over: &AtomicBool, connection: &mut Connection, statement: impl Fn(u32) -> String) -> u32 {
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        number += 1;
        // Each text is different, so that none is found in the cache.
        connection.execute(&statement(number), &[]).expect("it fits some definition of the table");
    }
    number
}

/// An index on an expression adds a hidden column to its table, and dropping the index removes it.
#[test]
fn a_statement_is_compiled_for_one_definition_of_its_tables() {
    let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::None)));
    let mut changing = database.connect().expect("a connection");
    changing.execute("create table t (a int primary key, b int)", &[]).expect("a table");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let inserts = scope.spawn(|| {
            let mut connection = database.connect().expect("a connection");
            until(&is_over, &mut connection, |number| format!("insert into t values ({number}, {number})"))
        });
        let updates = scope.spawn(|| {
            let mut connection = database.connect().expect("a connection");
            until(&is_over, &mut connection, |number| format!("update t set b = b + 1 where a = {number}"))
        });
        for _ in 0..100 {
            for change in ["create index e on t ((b + 1))", "drop index e"] {
                changing.execute(change, &[]).expect("a change");
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let compiled = [inserts, updates].map(|thread| thread.join().expect("no panic"));
        assert!(compiled.iter().all(|&count| count > 0), "{compiled:?} were compiled meanwhile");
    });
    let broken = changing.query("select count(*) from t where b is null or a is null", &[]).expect("a row");
    assert_eq!(broken, [[hyades_types::value::Value::BigInt(0)]]);
}
