//! Indexes are built, used and dropped, one after the other, while sessions write their table, call
//! procedures and roll back. Checkpoints are taken, and the machine loses power in the end. Lookups by an
//! index must find what lookups without it find, and every recovery must build the same indexes from the
//! logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyades::engine::config::{ProtocolKind, RecoveryMode};
use hyades::engine::recovery::{recover, state_hash};
use hyades::engine::storage::databases::Databases;
use hyades::types::error::sqlstate;
use hyades::{Config, Connection, Database, Result, Value};
use hyades_sim::disk::SimulatedDisk;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const WRITERS: i32 = 3;
const ROWS: i32 = 1500;
const BUILDS: u32 = 12;

type Outcome<T> = std::result::Result<T, String>;

fn config(disk: &SimulatedDisk, protocol: ProtocolKind) -> Config {
    Config {
        protocol,
        segment_bytes: 1 << 20,
        log_buffer_bytes: 1 << 20,
        logs: 3,
        shared_block_bytes: 0,
        recovery_workers: 3,
        recovery_mode: RecoveryMode::Parallel,
        disk: Arc::new(disk.clone()),
        ..Config::new("/data")
    }
}

const SETUP: [&str; 4] = [
    "create table t (id int primary key, a int, b int)",
    "create procedure fill(n int) language plpgsql as $$ begin \
       for i in 1..n loop insert into t values (i, i * 10, i % 7); end loop; end $$",
    "create procedure move(k int, v int) language plpgsql as $$ begin \
       for i in 0..40 loop update t set a = v + i where id = k + i * 3; end loop; \
       delete from t where id = k; \
       insert into t values (k, v, 0) on conflict (id) do update set a = v; end $$",
    "create procedure turn(k int) language plpgsql as $$ declare n int; begin \
       select count(*) into n from t where id between k and k + 20; \
       update t set b = n, a = a + 1 where id between k and k + 20; end $$",
];

/// The next statement of a session, mostly on rows of its own.
fn statement(random: &mut StdRng, writer: i32) -> String {
    let key = random.random_range(0..ROWS / WRITERS) * WRITERS + writer;
    let value = random.random_range(0..100_000) * WRITERS + writer;
    match random.random_range(0..8) {
        0 | 1 => format!("call move({key}, {value})"),
        2 => format!("call turn({key})"),
        3 => format!("update t set a = {value} + id where b = {} and id % 3 = {writer}", key % 7),
        4 => format!("delete from t where id = {key}"),
        5 => format!("insert into t values ({key}, {value}, 1) on conflict do nothing"),
        6 => {
            format!("insert into t values ({key}, {value}, 2) on conflict (id) do update set a = excluded.a")
        }
        _ => format!("update t set b = b + 1 where id between {key} and {key} + 30"),
    }
}

/// Whether another session was in the way, so that nothing was changed.
fn is_refused(error: &hyades::Error) -> bool {
    let refusals = [sqlstate::UNIQUE_VIOLATION, sqlstate::DEADLOCK_DETECTED, sqlstate::SERIALIZATION_FAILURE];
    refusals.contains(&error.sqlstate())
}

/// Writes until the builder is done, or the power is lost.
fn write(connection: &mut Connection, writer: i32, seed: u64, is_over: &AtomicBool) {
    let mut random = StdRng::seed_from_u64(seed + writer as u64);
    while !is_over.load(Ordering::SeqCst) {
        let done = if random.random_range(0..100) == 0 {
            connection.execute("checkpoint", &[]).map(drop)
        } else if random.random_range(0..4) == 0 {
            let statements: Vec<String> = (0..3).map(|_| statement(&mut random, writer)).collect();
            let gives_up = random.random_range(0..3) == 0;
            connection.transaction(|transaction| {
                transaction.execute(&statements[0], &[])?;
                transaction.execute("savepoint here", &[])?;
                transaction.execute(&statements[1], &[])?;
                transaction.execute("rollback to here", &[])?;
                transaction.execute(&statements[2], &[])?;
                let last = if gives_up { "select 1 / 0" } else { "select 1" };
                transaction.execute(last, &[]).map(drop)
            })
        } else {
            connection.execute(&statement(&mut random, writer), &[]).map(drop)
        };
        match done {
            Err(error) if !is_refused(&error) && error.sqlstate() != sqlstate::DIVISION_BY_ZERO => return,
            _ => {}
        }
    }
}

/// Asks the same question by an index and over all rows, at one snapshot.
fn agrees(connection: &mut Connection) -> Outcome<()> {
    let question = "select (select count(*) from t where a >= 0), (select count(*) from t where a + 0 >= 0), \
                    (select sum(id) from t where a between 0 and 90000), \
                    (select sum(id) from t where a + 0 between 0 and 90000)";
    let Ok(rows) = connection.query(question, &[]) else { return Ok(()) };
    let [count, of_all, sum, sum_of_all] = rows[0].as_slice() else {
        return Err("four numbers were asked for".to_owned());
    };
    if count != of_all || sum != sum_of_all {
        let shown = [count, of_all, sum, sum_of_all];
        return Err(format!("an index leads to other rows than there are: {shown:?}"));
    }
    Ok(())
}

/// Builds one index after the other. Some of the unique ones find duplicates.
fn build(connection: &mut Connection) -> Outcome<()> {
    for number in 0..BUILDS {
        let what = ["index", "index concurrently", "unique index concurrently"][number as usize % 3];
        match connection.execute(&format!("create {what} built on t (a)"), &[]) {
            Err(error) if error.sqlstate() == sqlstate::UNIQUE_VIOLATION => continue,
            Err(_) => return Ok(()),
            Ok(_) => {}
        }
        agrees(connection)?;
        let is_last = number + 1 == BUILDS;
        if !is_last && connection.execute("drop index concurrently built", &[]).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// The hash of the state that a start would find, after a check of its indexes.
fn recovered(disk: &SimulatedDisk, config: Config) -> Outcome<u64> {
    let databases = Arc::new(Databases::new());
    recover(&Config { disk: Arc::new(disk.clone()), ..config }, Some(hyades::routine_compiler()), &databases)
        .map_err(|error| format!("the database does not open again: {error}"))?;
    for table in databases.tables() {
        table.shared_state().check_indexes()?;
    }
    state_hash(&databases).map_err(|error| error.to_string())
}

fn as_text<T>(result: Result<T>) -> Outcome<T> {
    result.map_err(|error| error.to_string())
}

/// Loses power at this disk operation after the setup, or when all is done. Returns what is wrong.
pub(crate) fn lose_power(
    protocol: ProtocolKind,
    logging: &str,
    seed: u64,
    operation: Option<u64>,
) -> Outcome<()> {
    let disk = SimulatedDisk::new(seed);
    let database = as_text(Database::open(config(&disk, protocol)))?;
    let mut first = as_text(database.connect())?;
    for sql in SETUP {
        as_text(first.execute(sql, &[]))?;
    }
    as_text(first.execute("call fill($1)", &[Value::Integer(ROWS)]))?;
    if let Some(operation) = operation {
        disk.crash_at(disk.operations() + operation);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (database, is_over) = (&database, &is_over);
            scope.spawn(move || {
                let Ok(mut connection) = database.connect() else { return };
                if connection.execute(&format!("set hyades.logging = {logging}"), &[]).is_ok() {
                    write(&mut connection, writer, seed * 10, is_over);
                }
            });
        }
        /// Also stops the writers when something is wrong.
        struct Over<'o>(&'o AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let _over = Over(&is_over);
        build(&mut first)
    })?;
    drop(first);
    disk.crash_now();
    let found = disk.after_power_cut(seed);
    let one = recovered(&found, Config { recovery_workers: 1, ..config(&found, protocol) })?;
    for _ in 0..3 {
        if one != recovered(&found, config(&found, protocol))? {
            return Err("two recoveries find different states".to_owned());
        }
    }
    let database = as_text(Database::open(config(&found, protocol)))?;
    let mut connection = as_text(database.connect())?;
    agrees(&mut connection)?;
    as_text(connection.execute("drop index if exists built", &[]))?;
    as_text(connection.execute("create index concurrently built on t (a, b)", &[]))?;
    agrees(&mut connection)
}
