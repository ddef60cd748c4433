//! Sessions share the values of indexes until their machine loses power. These conditions must hold while
//! they run and for what is recovered afterwards: no unique value exists twice, a lookup by an index finds
//! what a scan of all rows finds, calls replay to what they did, and everything acknowledged is there.
//!
//! Calls read ranges of an index and write what they have found. So a replay that finds anything else
//! diverges, and the database does not open.

use std::sync::Arc;

use hyades::engine::config::ProtocolKind;
use hyades::engine::recovery::{recover, state_hash};
use hyades::engine::storage::databases::Databases;
use hyades::types::error::sqlstate;
use hyades::{Config, Connection, Database, Result, Value};
use hyades_sim::disk::SimulatedDisk;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::scripts::{Script, TOLD};

const SESSIONS: i32 = 3;

pub(crate) fn config(disk: &SimulatedDisk, protocol: ProtocolKind) -> Config {
    Config {
        protocol,
        segment_bytes: 1 << 20,
        log_buffer_bytes: 1 << 20,
        recovery_workers: 3,
        disk: Arc::new(disk.clone()),
        ..Config::new("/data")
    }
}

/// Whether another session has the value or is in the way, so that nothing was changed.
fn is_refused(error: &hyades::Error) -> bool {
    let refusals = [sqlstate::UNIQUE_VIOLATION, sqlstate::DEADLOCK_DETECTED, sqlstate::SERIALIZATION_FAILURE];
    refusals.contains(&error.sqlstate())
}

/// Runs statements until one fails or enough are done. Returns the numbers of the calls that were
/// acknowledged.
fn live(
    connection: &mut Connection,
    script: &Script,
    session: i32,
    seed: u64,
) -> std::result::Result<Vec<i32>, String> {
    let mut random = StdRng::seed_from_u64(seed + session as u64);
    let mut told = Vec::new();
    for round in 0..60 {
        let number = (round * SESSIONS + session) * 10 + 1;
        let statements = (script.next)(&mut random, number);
        let done = match statements.as_slice() {
            [one] => connection.execute(one, &[]).map(drop),
            several => connection.transaction(|transaction| {
                several.iter().try_for_each(|sql| transaction.execute(sql, &[]).map(drop))
            }),
        };
        match done {
            Ok(()) if statements[0].starts_with("call") => told.push(number),
            Ok(()) => {}
            Err(error) if is_refused(&error) => {}
            Err(_) => break,
        }
        if round % 7 == 0 {
            // A rollback leaves its index entries behind for a while.
            let undone: Result<()> = connection.transaction(|transaction| {
                transaction.execute("update t set a = a + 100, b = b - 100", &[])?;
                transaction.execute("select 1 / 0", &[]).map(drop)
            });
            debug_assert!(undone.is_err());
            agrees(connection)?;
        }
    }
    Ok(told)
}

/// Asks the same question by an index and over all rows, at one snapshot.
fn agrees(connection: &mut Connection) -> std::result::Result<(), String> {
    let question = "select (select count(*) from t where a >= 0), (select count(*) from t where a + 0 >= 0), \
                    (select sum(id) from t where b < 5), (select sum(id) from t where b + 0 < 5), \
                    (select count(distinct a) from t)";
    let Ok(rows) = connection.query(question, &[]) else { return Ok(()) };
    let [by_index, of_all, sum, sum_of_all, distinct] = rows[0].as_slice() else {
        return Err("five numbers were asked for".to_owned());
    };
    if distinct != of_all {
        return Err(format!("{of_all:?} rows have {distinct:?} unique values"));
    }
    if by_index != of_all || sum != sum_of_all {
        let shown = [by_index, of_all, sum, sum_of_all];
        return Err(format!("an index leads to other rows than there are: {shown:?}"));
    }
    Ok(())
}

/// The hash of the state that a start would find, after a check of its indexes.
fn recovered(disk: &SimulatedDisk, config: Config) -> std::result::Result<u64, String> {
    let databases = Arc::new(Databases::new());
    recover(&Config { disk: Arc::new(disk.clone()), ..config }, Some(hyades::routine_compiler()), &databases)
        .map_err(|error| format!("the database does not open again: {error}"))?;
    for table in databases.tables() {
        table.shared_state().check_indexes()?;
    }
    state_hash(&databases).map_err(|error| error.to_string())
}

/// Loses power at this disk operation after the setup, or when all is done. Returns what is wrong.
pub(crate) fn lose_power(
    script: &Script,
    protocol: ProtocolKind,
    logging: &str,
    seed: u64,
    operation: Option<u64>,
) -> std::result::Result<(), String> {
    let disk = SimulatedDisk::new(seed);
    let database = Database::open(config(&disk, protocol)).map_err(|error| error.to_string())?;
    let mut first = database.connect().map_err(|error| error.to_string())?;
    for sql in [TOLD].iter().chain(script.setup) {
        first.execute(sql, &[]).map_err(|error| format!("{sql}: {error}"))?;
    }
    if let Some(operation) = operation {
        disk.crash_at(disk.operations() + operation);
    }
    let told: Vec<std::result::Result<Vec<i32>, String>> = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|session| {
                let database = &database;
                scope.spawn(move || {
                    let Ok(mut connection) = database.connect() else { return Ok(Vec::new()) };
                    if connection.execute(&format!("set hyades.logging = {logging}"), &[]).is_err() {
                        return Ok(Vec::new());
                    }
                    live(&mut connection, script, session, seed * 10)
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().expect("no panic")).collect()
    });
    let told: Vec<i32> = told.into_iter().collect::<std::result::Result<Vec<_>, _>>()?.concat();
    disk.crash_now();
    let found = disk.after_power_cut(seed);
    let one = recovered(&found, Config { recovery_workers: 1, ..config(&found, protocol) })?;
    if one != recovered(&found, config(&found, protocol))? {
        return Err("two recoveries find different states".to_owned());
    }
    let database = Database::open(config(&found, protocol)).map_err(|error| error.to_string())?;
    let mut connection = database.connect().map_err(|error| error.to_string())?;
    agrees(&mut connection)?;
    for number in told {
        let rows = connection
            .query("select note from told where id = $1", &[Value::Integer(number)])
            .map_err(|error| error.to_string())?;
        let Some(note) = rows.first().map(|row| row[0].clone()) else {
            return Err(format!("call {number} was acknowledged and is gone"));
        };
        let by_note = connection
            .query("select id from told where note = $1", &[note])
            .map_err(|error| error.to_string())?;
        if by_note != [[Value::Integer(number)]] {
            return Err(format!("call {number} is not found by its note: {by_note:?}"));
        }
    }
    // The values still belong to their rows.
    let taken = connection.query("select a from t where a is not null limit 1", &[]);
    if let Some([value]) = taken.map_err(|error| error.to_string())?.first().map(Vec::as_slice) {
        let again = connection.execute("insert into t values (-1, $1, 0, '')", std::slice::from_ref(value));
        if again.is_ok() {
            return Err(format!("{value:?} is taken twice"));
        }
    }
    Ok(())
}
