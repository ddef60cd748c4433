//! Statements that are too deep, too wide or broken in the middle: refused in time, without exhausting the stack.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_engine::db::Interrupt;

use super::engine::{TestEngine, Trouble};
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

#[test]
fn long_chains_of_conditions_work() {
    assert_eq!(outcome(&format!("select 1 where {}", vec!["1 = 1"; 1000].join(" or "))), None);
    assert_eq!(outcome(&format!("select 1 where 1 in ({})", vec!["1"; 20_000].join(", "))), None);
    assert_eq!(outcome(&format!("values {}", vec!["(1, 2)"; 5_000].join(", "))), None);
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
