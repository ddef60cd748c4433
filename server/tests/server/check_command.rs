//! `hyades check`: databases whose rows break a constraint.

use std::path::Path;
use std::sync::Arc;

use hyades::engine::db::create_copy;
use hyades::engine::recovery::recover;
use hyades::engine::storage::databases::Databases;
use hyades::{Config, Database};

use crate::process::{Directory, hyades};

/// Returns the exit code, and what the command prints.
fn check(data: &Path) -> (Option<i32>, String) {
    let output = hyades().arg("check").arg("--data").arg(data).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn rows_that_break_a_constraint_are_named_and_the_exit_code_says_so() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let database = Database::open(Config::new(&data)).unwrap();
    let mut connection = database.connect().unwrap();
    for statement in [
        "create table t (id int primary key, a int)",
        "insert into t values (1, 10), (2, null), (3, null)",
        "create table other (id int primary key, t int references t check (t > 0))",
        "insert into other values (1, 1)",
    ] {
        connection.execute(statement, &[]).unwrap();
    }
    drop(connection);
    database.shutdown().unwrap();
    drop(database);
    let (code, said) = check(&data);
    assert!(code == Some(0) && said.contains(" constraints hold"), "{code:?}: {said}");

    // A copy in which the column is declared NOT NULL without a check of its rows.
    let databases = Arc::new(Databases::new());
    recover(&Config::new(&data), Some(hyades::routine_compiler()), &databases).unwrap();
    let table = databases.tables().into_iter().find(|table| table.definition().name.name == "t").unwrap();
    let mut definition = (*table.definition()).clone();
    definition.columns[1].is_nullable = false;
    let state = table.shared_state().with_definition(definition);
    table.replace_state(Arc::new(state), &crossbeam_epoch::pin());
    let damaged = directory.path().join("damaged");
    create_copy(&Config::new(&damaged), &databases).unwrap();
    let (code, said) = check(&damaged);
    let sentence =
        "table \"public.t\": column \"a\" is NULL in the row with (id) = (3), although it is NOT NULL";
    assert!(
        code == Some(1) && said.contains(sentence) && said.contains("2 violations of"),
        "{code:?}: {said}"
    );
}
