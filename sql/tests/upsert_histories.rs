//! Histories of lists to which sessions append through SQL, above all by ON CONFLICT on secondary unique
//! indexes, under REPEATABLE READ: it must be snapshot isolation. A cycle of dependencies with fewer than two
//! read-write edges is an update that was lost, or a read that is newer than its snapshot (Adya's G0, G1 and
//! G-single). What remains is write skew.
//!
//! A row is found by its number, by a unique column, and by a unique index on an expression; its primary key
//! changes now and then. Each third session runs single statements outside a block, at the levels that those
//! have, and each history has rows that a foreign key's actions change.
//!
//! `HYADES_UPSERTS=1000000 cargo test --release -p hyades --test upsert_histories -- --nocapture` judges that
//! many transactions, which takes minutes. The known bug comes last, because its switch is for the whole
//! process.

use std::sync::Arc;

use hyades::engine::config::ProtocolKind;
use hyades::engine::db::Isolation;
use hyades::engine::mutant::{Mutant, activate};
use hyades::types::error::sqlstate;
use hyades::{Config, Connection, Database, Error, Result, Value};
use hyades_sim::disk::SimulatedDisk;
use hyades_sim::history::{History, Outcome, Recorder, Recording};
use hyades_sim::serializability::{AnomalyKind, CheckOptions, check, explain};
use hyades_sim::workload;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Few, so that the sessions meet.
const LISTS: i64 = 6;
const SESSIONS: u32 = 4;
/// Transactions of one session in one history.
const TRANSACTIONS: u32 = 120;

/// The parent of list `n` is `n`, and moves to `n + 1000` and back.
const SCHEMA: [&str; 4] = [
    "create table parents (id bigint primary key)",
    "create table lists (id bigint primary key, u bigint unique, name text not null, list text not null default '', \
     parent bigint references parents on update cascade on delete set null)",
    "create unique index lists_name on lists (lower(name))",
    "create index lists_parent on lists (parent)",
];

/// What one step of a transaction does.
#[derive(Clone, Copy)]
enum Step {
    Read,
    ReadByScan,
    Lock,
    UpsertByColumn,
    UpsertByExpression,
    UpsertReturning,
    Update,
    /// Gives the row another primary key.
    Move,
    /// Changes the key that the row refers to, and so the row.
    MoveParent,
}

const STEPS: [Step; 12] = [
    Step::Read,
    Step::Read,
    Step::ReadByScan,
    Step::Lock,
    Step::UpsertByColumn,
    Step::UpsertByColumn,
    Step::UpsertByColumn,
    Step::UpsertByExpression,
    Step::UpsertReturning,
    Step::Update,
    Step::Move,
    Step::MoveParent,
];

fn list_of(value: &Value) -> Vec<u64> {
    let text = value.as_str().expect("a list is text");
    text.split(',')
        .filter(|element| !element.is_empty())
        .map(|element| element.parse().expect("a number"))
        .collect()
}

/// Runs a step and records what it has done and seen.
fn step(
    connection: &mut Connection,
    recording: &mut Recording<'_>,
    recorder: &Recorder,
    (kind, list): (Step, i64),
) -> Result<()> {
    let (element, key) = (recorder.new_element(), list as u64);
    let fresh = Value::BigInt(10_000 + element as i64);
    let text = Value::text(format!(",{element}"));
    let read = |rows: &[Vec<Value>]| rows.first().map(|row| list_of(&row[0])).unwrap_or_default();
    let of_list = [Value::BigInt(list)];
    match kind {
        Step::Read => {
            let rows = connection.query("select list from lists where u = $1", &of_list)?;
            recording.read(key, read(&rows));
        }
        Step::ReadByScan => {
            let rows = connection.query("select list from lists where u + 0 = $1", &of_list)?;
            recording.read(key, read(&rows));
        }
        Step::Lock => {
            let sql = "select list from lists where u = $1 for no key update";
            let rows = connection.query(sql, &of_list)?;
            recording.read(key, read(&rows));
        }
        Step::UpsertByColumn | Step::UpsertReturning => {
            let sql = "insert into lists values ($1, $2, $3, $4, $2) \
                       on conflict (u) do update set list = lists.list || excluded.list returning list";
            let name = Value::text(format!("n{list}"));
            let rows = connection.query(sql, &[fresh, Value::BigInt(list), name, text])?;
            recording.append(key, element);
            if matches!(kind, Step::UpsertReturning) {
                recording.read(key, read(&rows));
            }
        }
        Step::UpsertByExpression => {
            let sql = "insert into lists values ($1, $2, $3, $4, $2) \
                       on conflict (lower(name)) do update set list = lists.list || excluded.list";
            let name = Value::text(format!("N{list}"));
            connection.execute(sql, &[fresh, Value::BigInt(list), name, text])?;
            recording.append(key, element);
        }
        Step::Update => {
            let sql = "update lists set list = list || $2 where u = $1";
            if connection.execute(sql, &[Value::BigInt(list), text])? > 0 {
                recording.append(key, element);
            } else {
                recording.read(key, Vec::new());
            }
        }
        Step::Move => {
            connection.execute("update lists set id = $2 where u = $1", &[Value::BigInt(list), fresh])?;
        }
        Step::MoveParent => {
            let sql = "update parents set id = case when id < 1000 then id + 1000 else id - 1000 end \
                       where id in ($1, $2)";
            connection.execute(sql, &[Value::BigInt(list), Value::BigInt(list + 1000)])?;
        }
    }
    Ok(())
}

/// Several steps in a block.
fn block(
    connection: &mut Connection,
    recording: &mut Recording<'_>,
    recorder: &Recorder,
    random: &mut StdRng,
) -> Result<()> {
    connection.execute("begin isolation level repeatable read", &[])?;
    for _ in 0..random.random_range(1..=4) {
        let drawn = (STEPS[random.random_range(0..STEPS.len())], random.random_range(0..LISTS));
        step(connection, recording, recorder, drawn)?;
        if random.random_bool(0.4) {
            std::thread::yield_now();
        }
    }
    connection.execute("commit", &[]).map(drop)
}

fn is_conflict(error: &Error) -> bool {
    let conflicts = [
        sqlstate::SERIALIZATION_FAILURE,
        sqlstate::DEADLOCK_DETECTED,
        // The parent has moved, or another index has the row first.
        sqlstate::FOREIGN_KEY_VIOLATION,
        sqlstate::UNIQUE_VIOLATION,
    ];
    matches!(error, Error::Abort(_)) || conflicts.contains(&error.sqlstate())
}

/// The transactions of one session.
fn session(database: &Database, recorder: &Recorder, number: u32, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed * 100 + u64::from(number));
    let mut connection = database.connect().expect("a connection");
    for _ in 0..TRANSACTIONS {
        let mut recording = recorder.begin(number);
        let outcome = if number % 3 == 2 {
            let kind = [Step::UpsertByColumn, Step::UpsertByExpression, Step::Update, Step::Read];
            let drawn = (kind[random.random_range(0..kind.len())], random.random_range(0..LISTS));
            step(&mut connection, &mut recording, recorder, drawn)
        } else {
            block(&mut connection, &mut recording, recorder, &mut random)
        };
        match outcome {
            Ok(()) => recording.end(Outcome::Committed),
            Err(error) => {
                assert!(is_conflict(&error), "{error}");
                // Outside a block there is nothing to roll back, which is a warning.
                connection.execute("rollback", &[]).expect("it is rolled back");
                recording.end(Outcome::Aborted);
            }
        }
    }
}

/// One history of an empty database.
fn record(seed: u64) -> History {
    let config = Config {
        protocol: if seed.is_multiple_of(4) { ProtocolKind::Taurus } else { ProtocolKind::None },
        segment_bytes: 1 << 20,
        log_buffer_bytes: 1 << 20,
        // In every fifth history transactions lock the table as soon as they can.
        row_locks_before_table: if seed.is_multiple_of(5) { 2 } else { u32::MAX },
        disk: Arc::new(SimulatedDisk::new(seed)),
        ..Config::new("/data")
    };
    let database = Database::open(config).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    for sql in SCHEMA {
        connection.execute(sql, &[]).expect("a table");
    }
    let parents = format!("insert into parents select generate_series(0, {})", LISTS - 1);
    connection.execute(&parents, &[]).expect("parents");
    let recorder = Recorder::default();
    std::thread::scope(|scope| {
        for number in 0..SESSIONS {
            let (database, recorder) = (&database, &recorder);
            scope.spawn(move || session(database, recorder, number, seed));
        }
    });
    let mut recording = recorder.begin(SESSIONS);
    for list in 0..LISTS {
        step(&mut connection, &mut recording, &recorder, (Step::Read, list)).expect("it is read");
    }
    recording.end(Outcome::Committed);
    recorder.history()
}

#[test]
fn repeatable_read_is_snapshot_isolation_through_on_conflict() {
    let wanted = std::env::var("HYADES_UPSERTS").ok().and_then(|value| value.parse().ok());
    let wanted: usize = wanted.unwrap_or(5_000);
    let (mut committed, mut aborted, mut skewed, mut seed) = (0, 0, 0, 0);
    while committed < wanted {
        let history = record(seed);
        if let Err(anomalies) = workload::judge(&history, Isolation::RepeatableRead) {
            panic!("seed {seed}: {}", explain(&anomalies));
        }
        let all = check(&history, CheckOptions::default()).err().unwrap_or_default();
        skewed += usize::from(all.iter().any(|anomaly| anomaly.kind == AnomalyKind::G2));
        let is_committed =
            history.transactions.iter().filter(|one| one.outcome == Outcome::Committed).count();
        committed += is_committed;
        aborted += history.transactions.len() - is_committed;
        seed += 1;
    }
    println!(
        "{committed} committed and {aborted} aborted transactions in {seed} histories, {skewed} with write skew"
    );
    assert!(aborted * 20 > committed, "the sessions hardly met");
    assert!(skewed > 0, "no history shows what only this level permits");
    activate(Some(Mutant::NewerRowOverwritten));
    let is_found = (0..200).any(|seed| workload::judge(&record(seed), Isolation::RepeatableRead).is_err());
    activate(None);
    assert!(is_found, "rows are overwritten that the snapshot does not see, and nobody notices");
}
