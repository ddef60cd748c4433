//! Secondary indexes across crashes, with calls logged as commands and as data; copies of databases with
//! such indexes; and schema changes in their history.

mod answers;
mod lives;
mod scripts;

use std::sync::Arc;

use hyades::Database;
use hyades::engine::config::ProtocolKind;
use hyades::engine::db::create_copy;
use hyades::engine::recovery::{recover, state_hash};
use hyades::engine::storage::databases::Databases;
use hyades_sim::disk::SimulatedDisk;

use lives::{config, lose_power};
use scripts::{AT_ONCE, LATER, LATER_KEYS, Script, TOLD};

const PROTOCOLS: [ProtocolKind; 2] = [ProtocolKind::Taurus, ProtocolKind::Serial];

#[test]
fn what_is_recovered_is_found_by_indexes_and_unique() {
    lose_power_often(&AT_ONCE);
}

#[test]
fn what_is_recovered_is_unique_where_that_is_checked_later() {
    lose_power_often(&LATER);
    lose_power_often(&LATER_KEYS);
}

/// So `lives` has both kinds of logging in the mix.
#[test]
fn calls_that_may_defer_a_check_are_data() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    connection.execute("set hyades.logging = command", &[]).expect("it can be set");
    for sql in [TOLD].iter().chain(LATER.setup) {
        connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let data = "data (it changes rows with constraints that can be deferred)";
    for (call, expected) in [("look", "command"), ("give", "command"), ("take", data)] {
        let rows = connection.query(&format!("explain call {call}(1, 1)"), &[]).expect("an explanation");
        let text = format!("{rows:?}");
        assert!(text.contains(&format!("Logging: {expected}")), "{call}: {text}");
    }
}

fn lose_power_often(script: &Script) {
    for protocol in PROTOCOLS {
        for logging in ["command", "data"] {
            for operation in (0..80).step_by(13) {
                lose_power(script, protocol, logging, operation + 1, Some(operation)).unwrap_or_else(
                    |wrong| panic!("{protocol:?}, {logging}, power lost at operation {operation}: {wrong}"),
                );
            }
            lose_power(script, protocol, logging, 99, None)
                .unwrap_or_else(|wrong| panic!("{protocol:?}, {logging}: {wrong}"));
        }
    }
}

/// Indexes that are created, renamed and dropped between changes of their rows.
#[test]
fn indexes_that_come_and_go_are_replayed() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    for sql in [
        "create table t (id int primary key, a int, b text)",
        "insert into t select i, i % 5, 'b' || i from generate_series(1, 50) i",
        "create index t_a on t (a)",
        "update t set a = a + 1 where a = 2",
        "create unique index t_b on t (b desc nulls last)",
        "insert into t values (60, null, null), (61, null, null)",
        "alter table t add constraint both unique nulls not distinct (b, id)",
        "alter index t_a rename to t_aa",
        "drop index t_aa",
        "delete from t where b > 'b3'",
        "create index t_a on t (a desc)",
        "create table h (a int unique, b int)",
        "insert into h select i, i from generate_series(1, 20) i",
        "update h set a = a + 100 where b > 10",
        "truncate t",
        "insert into t values (1, 1, 'one'), (2, 2, 'two')",
        "begin",
        "alter table t drop constraint both",
        "rollback",
        "create table g (a int, b int)",
        "create index g_b on g (b)",
        "insert into g values (2, 1), (1, 2)",
        "alter table g add primary key (a)",
    ] {
        connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    disk.crash_now();
    let found = disk.after_power_cut(1);
    let databases = Arc::new(Databases::new());
    recover(&config(&found, ProtocolKind::Taurus), None, &databases).expect("it recovers");
    for table in databases.tables() {
        table.shared_state().check_indexes().unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    let copied = SimulatedDisk::new(2);
    create_copy(&config(&copied, ProtocolKind::Serial), &databases).expect("a copy");
    let copy = Arc::new(Databases::new());
    recover(&config(&copied, ProtocolKind::Serial), None, &copy).expect("the copy opens");
    assert_eq!(state_hash(&copy).expect("a hash"), state_hash(&databases).expect("a hash"));
    for table in copy.tables() {
        table.shared_state().check_indexes().unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    let database = Database::open(config(&found, ProtocolKind::Taurus)).expect("it opens again");
    let mut connection = database.connect().expect("a connection");
    let refused = connection.execute("insert into t values (3, 3, 'one')", &[]).expect_err("a duplicate");
    assert_eq!(refused.to_string(), "duplicate key value violates unique constraint \"t_b\"");
    let rows = connection.query("select b from g where b = 2", &[]).expect("rows");
    assert_eq!(rows.len(), 1);
}
