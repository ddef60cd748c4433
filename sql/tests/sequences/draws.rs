//! Sessions draw numbers concurrently until their machine loses power. Afterwards no number may be drawn
//! that a client has been given.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyades::engine::config::ProtocolKind;
use hyades::{Config, Connection, Database, Result, Value};
use hyades_sim::disk::SimulatedDisk;

pub(crate) fn config(disk: &SimulatedDisk, protocol: ProtocolKind) -> Config {
    Config {
        protocol,
        segment_bytes: 1 << 20,
        log_buffer_bytes: 1 << 20,
        recovery_workers: 2,
        disk: Arc::new(disk.clone()),
        ..Config::new("/data")
    }
}

pub(crate) fn number(connection: &mut Connection, sql: &str) -> Result<i64> {
    let rows = connection.query(sql, &[])?;
    Ok(rows[0][0].as_i64().unwrap_or_default())
}

fn shown(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// Draws in all ways until one fails or enough are done. Returns the numbers it was given.
fn draw(connection: &mut Connection, session: usize) -> Vec<i64> {
    let mut told = Vec::new();
    for round in 0..30 {
        let drawn = match (round + session) % 4 {
            0 => connection.query("select nextval('s')", &[]),
            1 => connection.query("insert into t (a) values (1), (2) returning id", &[]),
            2 => connection
                .query("insert into t (a) select x from generate_series(1, 3) as g(x) returning id", &[]),
            _ => connection.transaction(|transaction| {
                transaction.query("select nextval('s')", &[])?;
                transaction.query("select add(7)", &[])
            }),
        };
        match drawn {
            Ok(rows) => told.extend(rows.iter().map(|row| shown(&row[0]))),
            Err(_) => return told,
        }
        if round % 5 == 0 {
            // Numbers of a rolled back transaction are lost, but no client was given them for good.
            let undone: Result<()> = connection.transaction(|transaction| {
                transaction.query("insert into t (a) values (0) returning id", &[])?;
                transaction.execute("select 1 / 0", &[]).map(drop)
            });
            debug_assert!(undone.is_err());
        }
    }
    told
}

pub(crate) const SETUP: [&str; 3] = [
    "create sequence s",
    "create table t (id bigint default nextval('s') primary key, a integer)",
    "create function add(a integer) returns bigint language plpgsql as $$ declare number bigint; begin \
     insert into t (a) values (add.a) returning id into number; return number; end $$",
];

/// Loses power at this disk operation after the setup, or when all is done. Returns what is wrong with the
/// numbers drawn afterwards.
pub(crate) fn lose_power(
    protocol: ProtocolKind,
    seed: u64,
    operation: Option<u64>,
) -> std::result::Result<(), String> {
    let disk = SimulatedDisk::new(seed);
    let database = Database::open(config(&disk, protocol)).map_err(|error| error.to_string())?;
    let mut first = database.connect().map_err(|error| error.to_string())?;
    for sql in SETUP {
        first.execute(sql, &[]).map_err(|error| format!("{sql}: {error}"))?;
    }
    if let Some(operation) = operation {
        disk.crash_at(disk.operations() + operation);
    }
    let told: Vec<i64> = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..3)
            .map(|session| {
                let database = &database;
                scope.spawn(move || {
                    database.connect().map_or(Vec::new(), |mut connection| draw(&mut connection, session))
                })
            })
            .collect();
        sessions.into_iter().flat_map(|session| session.join().expect("no panic")).collect()
    });
    disk.crash_now();
    let distinct: BTreeSet<i64> = told.iter().copied().collect();
    if distinct.len() != told.len() {
        return Err(format!("a number was given twice: {told:?}"));
    }
    let found = disk.after_power_cut(seed);
    let database = Database::open(config(&found, protocol)).map_err(|error| error.to_string())?;
    let mut connection = database.connect().map_err(|error| error.to_string())?;
    let next = number(&mut connection, "select nextval('s')").map_err(|error| error.to_string())?;
    let highest = connection.query("select max(id) from t", &[]).map_err(|error| error.to_string())?;
    let highest = shown(&highest[0][0]).max(distinct.last().copied().unwrap_or_default());
    if next <= highest {
        return Err(format!("{next} is drawn again after {highest}"));
    }
    Ok(())
}
