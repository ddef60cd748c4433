//! Known bugs put back into the whole engine, one by one: a bounded search of crashes must find each.
//!
//! | bug | caught here by | also by |
//! |---|---|---|
//! | 1 own end in the stored LV, 2 reserve before freeze | crash points: recovery refuses the log | `engine/tests/mutants.rs` |
//! | 3 release before raise | crashed histories: a predecessor is lost | |
//! | 7 reads do not wait, 8 commit in log order, 9 durable before sync | one log held back | `engine/tests/mutants.rs`, `engine/tests/recovery_mutants.rs` (8) |
//! | 11 fragments of another COMMIT | a COMMIT that is given up while it waits for room, and what is committed instead | |
//! | 15 zombies revived | one log held back, and a second crash | `engine/tests/recovery_mutants.rs` |
//! | 16 no sync before the cut | crash points: what a start has shown is gone | `engine/tests/recovery_mutants.rs` |
//! | 19 tuple LVs read as zero | a writer in log 1 that is forgotten while log 0 hangs, then one in log 0 | `engine/tests/mutants.rs` |
//! | 21 idle workers hold back nothing, a log is taken for known as far as another one is | a late writer and its early successor, replayed | `engine/tests/recovery_mutants.rs` |
//! | 24 a replay reads the newest rows | calls in log 1, then a writer in log 0 that overtakes them in replay | `engine/src/txn/replay_access/tests.rs` |
//! | 9 ends recorded before they are durable, 14 segments prepared too early | a crash while closing, a kill at rest: the next start is refused | |
//! | 14 a gap is the end | `sim/tests/single_faults.rs` | |
//! | 26 nothing captured, 29 schema changes are no barriers | calls in log 1, and a replacement of their routine in log 0 | |
//! | the whole table locked by one stripe | a row that its writer's own lock on the table is to hide | `histories.rs` |
//! | the lock of a changed row given up | a row that its writer has met in a scan that skips locked rows | |
//! | hindered by the janitor | NOWAIT in a table without other users, while its deleted rows are purged | |
//! | 27 stragglers forgotten, a checkpoint before it is durable, what it holds replayed again | crashed histories beside checkpoints | |
//! | 28 segments that go too early | the last checkpoint is gone, and the one before is used | |
//! | a table that opens before its log records are replayed | a start whose replay is held back, and a reader | |
//! | a digest that is ahead | the same, after a change in the log of which little is new | |
//! | removals without a note | crash points beside checkpoints | |
//!
//! One test, because the switch is for the whole process. Every search first passes without a bug.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use hyades_engine::config::{Config, ControlKind, ProtocolKind};
use hyades_engine::db::{Engine, Interrupt, Isolation, Logging};
use hyades_engine::disk::Disk;
use hyades_engine::mutant::{Mutant, activate};
use hyades_sim::client::{Client, Operation, big, blocking, create_tables};
use hyades_sim::crash::{
    Calls, DATA, Life, Observed, Scenario, live, live_and_kill, recover_and_check, script, take_checkpoint,
    try_point, try_reuse, wait_until_idle, within, without_the_lost,
};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::given_up::commit_instead;
use hyades_sim::restarts::{self, Held};

use hyades_sim::routines::{create_routines, replace_routine, test_compiler};
use hyades_sim::script::{Script, ScriptTransaction, Step};
use hyades_sim::wanted_first;
use hyades_sim::workload;
use hyades_types::definition::IndexKind;
use hyades_types::error::Error;

/// Longer than any search step takes, even with a bug that makes it wait for nothing.
const LIMIT: Duration = Duration::from_secs(20);

type Outcome = Result<(), String>;
/// One step of a search, by its number.
type Search = fn(u64) -> Outcome;

fn as_text(error: Error) -> String {
    error.to_string()
}

/// Two logs, cut anywhere.
fn crash_point(attempt: u64) -> Outcome {
    try_point(Scenario::taurus(2), &script(attempt), 20 + attempt * 7 % 100).map(drop)
}

/// A start whose replay is held back, while a client wants to read.
fn restart_on_demand(attempt: u64) -> Outcome {
    let scenario = Scenario::taurus(2).with(Calls::Mixed).on_demand();
    restarts::wait_for_what_they_touch(scenario, attempt, Held::Replay)
}

fn a_table_first(attempt: u64) -> Outcome {
    wanted_first::what_is_wanted_comes_first(Scenario::taurus(2), attempt)
}

fn a_key_first(attempt: u64) -> Outcome {
    wanted_first::a_key_opens_before_its_table(Scenario::taurus(2), attempt)
}

/// A COMMIT that is given up, and a longer one.
fn given_up_commit(_attempt: u64) -> Outcome {
    commit_instead(Scenario::taurus(2), 30, 40)
}

/// A transaction has locked the table after a few rows. No other transaction sees what it does to the
/// remaining ones.
fn escalated_writer_is_alone(attempt: u64) -> Outcome {
    let config =
        Config { row_locks_before_table: 4, ..Scenario::taurus(2).config(&SimulatedDisk::new(attempt)) };
    let engine = hyades_engine::db::open(config, test_compiler()).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    let mut writer = Client::new(&*engine).map_err(as_text)?;
    let mut reader = Client::new(&*engine).map_err(as_text)?;
    writer.begin();
    (0..40).try_for_each(|key| writer.put_number(key, 1)).map_err(as_text)?;
    reader.begin();
    match reader.attempt(Operation::GetNumber, &[big(39)]) {
        Err(Interrupt::Wait(_)) => Ok(()),
        Err(Interrupt::Failed(error)) => Err(as_text(error)),
        Ok(rows) => Err(format!("a reader finds {rows:?}")),
    }
}

/// A scan with SKIP LOCKED visits rows that its transaction changes, and returns none of them.
fn changed_rows_stay_locked(attempt: u64) -> Outcome {
    let engine = Scenario::taurus(2).open(&SimulatedDisk::new(attempt)).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    let mut writer = Client::new(&*engine).map_err(as_text)?;
    let mut reader = Client::new(&*engine).map_err(as_text)?;
    writer.begin();
    (0..3).try_for_each(|key| writer.put_number(key, 1)).map_err(as_text)?;
    writer.commit().map_err(as_text)?;
    writer.begin();
    blocking(|| writer.attempt(Operation::SkipAndPutNumbers, &[big(2)])).map_err(as_text)?;
    reader.begin();
    match reader.attempt(Operation::GetNumber, &[big(1)]) {
        Err(Interrupt::Wait(_)) => Ok(()),
        Err(Interrupt::Failed(error)) => Err(as_text(error)),
        Ok(rows) => Err(format!("a reader finds {rows:?}")),
    }
}

/// The table is used only by a transaction with NOWAIT, and by the janitor.
fn the_janitor_delays_no_transaction(attempt: u64) -> Outcome {
    const ROWS: u64 = 1000;
    let engine = Scenario::taurus(2).open(&SimulatedDisk::new(attempt)).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    let mut client = Client::new(&*engine).map_err(as_text)?;
    client.begin();
    (0..ROWS).try_for_each(|key| client.put_number(key, 1)).map_err(as_text)?;
    client.commit().map_err(as_text)?;
    client.begin();
    (0..ROWS).try_for_each(|key| client.delete_number(key).map(drop)).map_err(as_text)?;
    client.commit().map_err(as_text)?;
    let end = Instant::now() + Duration::from_millis(200);
    while engine.tombstones() > 0 && Instant::now() < end {
        client.begin();
        blocking(|| client.attempt(Operation::ScanNumbersAtOnce, &[])).map_err(as_text)?;
        client.commit().map_err(as_text)?;
    }
    Ok(())
}

/// Concurrent sessions, two crashes.
fn crashed_history(attempt: u64) -> Outcome {
    workload::crash_twice(Scenario::taurus(2), attempt).map(drop)
}

/// The same with calls, and checkpoints one after the other.
fn checkpointed_history(attempt: u64) -> Outcome {
    let scenario = Scenario::taurus(2).with(Calls::Mixed).checkpointing();
    workload::crash_twice(scenario, attempt).map(drop)
}

/// Checkpoints one after the other, cut anywhere.
fn checkpointed_crash_point(attempt: u64) -> Outcome {
    let scenario = Scenario::taurus(2).checkpointing();
    try_point(scenario, &script(attempt), 20 + attempt * 37 % 400).map(drop)
}

/// A segment becomes another one.
fn crash_while_a_segment_is_used_again(attempt: u64) -> Outcome {
    try_reuse(Scenario::taurus(1).checkpointing(), "rename", attempt % 10).map(drop)
}

/// A deleted row's key has left the index when the next checkpoint is taken, and another row has changed.
fn a_key_leaves_between_checkpoints(attempt: u64) -> Outcome {
    const ROWS: u64 = 2000;
    let (scenario, disk) = (Scenario::taurus(2), SimulatedDisk::new(attempt));
    let engine = scenario.open(&disk).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    let mut client = Client::new(&*engine).map_err(as_text)?;
    client.begin();
    (0..ROWS).try_for_each(|key| client.put_number(key, 1)).map_err(as_text)?;
    client.commit().map_err(as_text)?;
    take_checkpoint(&*engine).map_err(as_text)?;
    client.begin();
    client.delete_number(attempt % ROWS).map_err(as_text)?;
    client.put_number((attempt + 1) % ROWS, 2).map_err(as_text)?;
    client.commit().map_err(as_text)?;
    let end = Instant::now() + Duration::from_secs(30);
    while engine.tombstones() > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    take_checkpoint(&*engine).map_err(as_text)?;
    drop(client);
    engine.shutdown().map_err(as_text)?;
    drop(engine);
    let engine = scenario.open(&disk).map_err(|error| format!("does not open: {error}"))?;
    // With an earlier one and the logs nothing would be missed.
    if engine.recovery_report().checkpoint != Some(2) {
        return Err("the last checkpoint cannot be used".to_owned());
    }
    let mut client = Client::new(&*engine).map_err(as_text)?;
    client.begin();
    let found = client.numbers().map_err(as_text)?;
    let is_right = found.len() as u64 == ROWS - 1 && found.iter().all(|(key, _)| *key != attempt % ROWS);
    if is_right { Ok(()) } else { Err(format!("found {} rows", found.len())) }
}

/// The last checkpoint is gone: the previous one serves, with all logs after it.
fn previous_checkpoint(attempt: u64) -> Outcome {
    let scenario = Scenario::taurus(2);
    let script = script(attempt);
    let disk = SimulatedDisk::new(1);
    let engine = scenario.open(&disk).map_err(as_text)?;
    let mut life = Life::begin(&*engine, attempt).map_err(as_text)?;
    for quarter in 0..4 {
        life.run(&script, quarter * 50..(quarter + 1) * 50).map_err(as_text)?;
        take_checkpoint(&*engine).map_err(as_text)?;
    }
    let acknowledged = life.acknowledged();
    engine.shutdown().map_err(as_text)?;
    drop(engine);
    let directory = Path::new(DATA).join("checkpoints");
    let mut contents = disk.list(&directory).map_err(|error| error.to_string())?;
    contents.retain(|name| name.ends_with(".contents"));
    contents.sort();
    let [_, .., last] = contents.as_slice() else { return Err("too few checkpoints were taken".to_owned()) };
    disk.remove(&directory.join(last)).map_err(|error| error.to_string())?;
    let engine = scenario.open(&disk).map_err(as_text)?;
    let observed = Observed::read(&*engine).map_err(as_text)?;
    engine.shutdown().map_err(as_text)?;
    drop(engine);
    observed.check(&script, &acknowledged)?;
    recover_and_check(&disk, scenario, &script, &acknowledged).map(drop)
}

/// The same, with every second session at this level.
fn crashed_reader_at_snapshots(attempt: u64) -> Outcome {
    workload::crash_twice(Scenario::taurus(2).at(Isolation::ReadCommitted), attempt).map(drop)
}

/// The same with sessions that read without locks and check that.
fn crashed_reader_without_locks(attempt: u64) -> Outcome {
    workload::crash_twice(Scenario::taurus(2).under(ControlKind::Optimistic), attempt).map(drop)
}

/// A row is read twice at one snapshot, and changed often in between.
fn one_snapshot_for_all_reads(attempt: u64) -> Outcome {
    let scenario = Scenario { protocol: ProtocolKind::None, ..Scenario::taurus(1) };
    let engine = scenario.open(&SimulatedDisk::new(attempt)).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    let mut writer = Client::new(&*engine).map_err(as_text)?;
    let mut reader = Client::new(&*engine).map_err(as_text)?;
    let mut put = |number: i64| {
        writer.begin();
        writer.put_number(1, number).map_err(as_text)?;
        writer.commit().map(drop).map_err(as_text)
    };
    put(0)?;
    reader.begin();
    reader.worker().isolate(Isolation::RepeatableRead);
    let mut get = || blocking(|| reader.attempt(Operation::GetNumber, &[big(1)])).map_err(as_text);
    let first = get()?;
    (1..2000).try_for_each(put)?;
    let second = get()?;
    if first == second { Ok(()) } else { Err(format!("first {first:?}, then {second:?}")) }
}

/// Sessions 0 and 2 append to log 0, sessions 1 and 3 to log 1: workers 0 and 1 have created tables and
/// routines.
const IN_LOG_0: usize = 0;
const IN_LOG_1: usize = 1;

fn transaction(session: usize, step: Step) -> ScriptTransaction {
    ScriptTransaction { session, steps: vec![step], is_rolled_back: false }
}

/// The number of transactions in [`held_log_script`] before the power cut, and of those after it.
const HELD: usize = 7;
const BEYOND: usize = 40;

/// Log 1 hangs. What depends on it must be neither acknowledged nor recovered, and everything else must be
/// both.
///
/// ```text
///   0: put in log 1, durable    1: put in log 0, durable    -- log 1 hangs --
///   2: put in log 1    3, 4: after 2, in log 0 (zombies)    5: in log 0, alone    6: reads what 2 wrote
///   -- power cut --    7...: in both logs, beyond the end of 2    -- power cut --
/// ```
fn held_log_script() -> Script {
    let put = |session, key| transaction(session, Step::Put { key, value: key as i64 });
    let mut transactions = vec![
        put(IN_LOG_1, 1),
        put(IN_LOG_0, 2),
        put(IN_LOG_1, 10),
        transaction(IN_LOG_0, Step::Add { key: 10, amount: 5 }),
        transaction(IN_LOG_0, Step::Add { key: 10, amount: 7 }),
        put(IN_LOG_0, 4),
        transaction(IN_LOG_0, Step::Read { key: 10 }),
    ];
    for key in 0..BEYOND as u64 / 2 {
        transactions.extend([put(IN_LOG_1, 20 + key), put(IN_LOG_0, 40 + key)]);
    }
    Script { transactions }
}

fn held_log(attempt: u64) -> Outcome {
    hold_log(Scenario::taurus(2), &held_log_script(), &[0, 1, 5], attempt)
}

/// A row is deleted in the log that hangs, and put again in the other one: that follows the tombstone
/// (Taurus, section 3.4, where the deleter takes the key out of the index, and nothing says who it was).
fn held_delete(attempt: u64) -> Outcome {
    let mut script = held_log_script();
    let put = |session, key| transaction(session, Step::Put { key, value: key as i64 });
    let delete = transaction(IN_LOG_1, Step::Delete { key: 10 });
    let first = [put(IN_LOG_1, 10), put(IN_LOG_0, 2), delete, put(IN_LOG_0, 10), put(IN_LOG_0, 11)];
    script.transactions.splice(..HELD, first);
    [Scenario::taurus(2), Scenario::taurus_graph(2)]
        .into_iter()
        .try_for_each(|scenario| hold_log(scenario, &script, &[0, 1, 4], attempt))
}

/// Epochs go on, but none becomes durable.
fn held_log_of_epochs(attempt: u64) -> Outcome {
    hold_log(Scenario::silor(2), &held_log_script(), &[0, 1], attempt)
}

/// `independent`: which of the transactions do not wait for the log that hangs.
fn hold_log(scenario: Scenario, script: &Script, independent: &[usize], attempt: u64) -> Outcome {
    // What the script has before those in both logs.
    let held = script.transactions.len() - BEYOND;
    let disk = SimulatedDisk::new(attempt);
    let engine = scenario.open(&disk).map_err(as_text)?;
    let mut life = Life::begin(&*engine, attempt).map_err(as_text)?;
    let mut answers = Vec::new();
    for number in 0..held {
        if number == 2 {
            disk.hold_writes_under(Some(&Path::new(DATA).join("logs/log-1")));
        }
        let answer = life.run_one(script, number).map_err(as_text)?;
        if independent.contains(&number) {
            let waiting = answer.clone();
            within(LIMIT, || waiting.wait().map_err(as_text))?;
        }
        answers.push(answer);
    }
    std::thread::sleep(Duration::from_millis(10));
    let acknowledged = (0..held).filter(|number| answers[*number].is_durable()).collect();
    disk.crash_now();
    drop(engine);

    let found = disk.after(PowerCut::LoseUnsynced);
    let mut ledger = recover_and_check(&found, scenario, script, &acknowledged)?;
    let script = without_the_lost(script, held, &ledger);
    ledger.extend(live(&found, scenario, &script, held..script.transactions.len(), attempt)?);
    recover_and_check(&found.after(PowerCut::LoseUnsynced), scenario, &script, &ledger).map(drop)
}

/// One of the two directories hangs over which the only log is striped, and then the power fails.
fn held_stripe(attempt: u64) -> Outcome {
    const COUNT: usize = 6;
    let scenario = Scenario::striped(2);
    let put = |key| transaction(IN_LOG_0, Step::Put { key, value: key as i64 });
    let script = Script { transactions: (0..COUNT as u64).map(put).collect() };
    let disk = SimulatedDisk::new(attempt);
    let engine = scenario.open(&disk).map_err(as_text)?;
    let mut life = Life::begin(&*engine, attempt).map_err(as_text)?.without_ballast();
    wait_until_idle(&disk);
    disk.hold_writes_under(Some(&scenario.places()[attempt as usize % 2]));
    let mut answers = Vec::new();
    for number in 0..COUNT {
        answers.push(life.run_one(&script, number).map_err(as_text)?);
        std::thread::sleep(Duration::from_millis(2));
    }
    let acknowledged = (0..COUNT).filter(|number| answers[*number].is_durable()).collect();
    disk.crash_now();
    drop(engine);
    let found = disk.after(PowerCut::LoseUnsynced);
    recover_and_check(&found, scenario, &script, &acknowledged).map(drop)
}

/// Log 0 is long, and ends with the last write but one of a row. The last write is the first record of log 1.
/// If they are replayed out of order, the row is wrong.
fn late_writer_and_early_successor(scenario: Scenario, attempt: u64) -> Outcome {
    const LONG: usize = 1500;
    const KEY: u64 = 1_000_000;
    let put = |key: u64, value| transaction(IN_LOG_0, Step::Put { key, value });
    let mut transactions: Vec<_> = (0..LONG).map(|number| put(number as u64 % 50, number as i64)).collect();
    transactions.push(put(KEY, 1));
    transactions.push(transaction(IN_LOG_0, Step::Read { key: KEY }));
    transactions.push(transaction(IN_LOG_1, Step::Put { key: KEY, value: 2 }));
    let script = Script { transactions };

    let disk = SimulatedDisk::new(attempt);
    let engine = scenario.open(&disk).map_err(as_text)?;
    let mut life = Life::begin(&*engine, attempt).map_err(as_text)?;
    for number in 0..script.transactions.len() {
        let answer = life.run_one(&script, number).map_err(as_text)?;
        if number >= LONG {
            // Once the commit is durable, the reader allows the row's lock entry to be forgotten.
            answer.wait().map_err(as_text)?;
        }
    }
    engine.shutdown().map_err(as_text)?;
    drop(engine);
    let all: BTreeSet<usize> = script.writing();
    for _ in 0..5 {
        recover_and_check(&disk.after(PowerCut::LoseUnsynced), scenario, &script, &all)?;
    }
    Ok(())
}

fn late_writer_by_key(attempt: u64) -> Outcome {
    late_writer_and_early_successor(Scenario::taurus(2), attempt)
}

fn late_writer_by_position(attempt: u64) -> Outcome {
    late_writer_and_early_successor(Scenario::taurus(2).replaying_by_position(), attempt)
}

/// Calls in log 1, then something in log 0 that must not overtake them: one worker replays log 0 first
/// wherever it may. Nothing becomes durable meanwhile, so no floor stands in for what the lock table
/// remembers.
fn overtaken(attempt: u64, work: impl FnOnce(&dyn Engine, [&mut Client; 2]) -> Result<(), Error>) -> Outcome {
    replayed_as_before(Scenario::taurus(2), attempt, |disk, engine, clients| {
        disk.hold_writes_under(Some(&Path::new(DATA).join("logs")));
        work(engine, clients)
    })
}

/// Replay, by one worker and by two, reproduces the work's state. The work may hold writes back.
fn replayed_as_before(
    scenario: Scenario,
    attempt: u64,
    work: impl FnOnce(&SimulatedDisk, &dyn Engine, [&mut Client; 2]) -> Result<(), Error>,
) -> Outcome {
    let scenario = scenario.replaying_by_position();
    let disk = SimulatedDisk::new(attempt);
    let engine = scenario.open(&disk).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    create_routines(&*engine).map_err(as_text)?;
    // Workers from 2 on.
    let mut clients = [Client::new(&*engine).map_err(as_text)?, Client::new(&*engine).map_err(as_text)?];
    let [in_log_0, in_log_1] = &mut clients;
    for key in 0..CALLS {
        put_durably(in_log_0, key * 10).map_err(as_text)?;
    }
    let worked = work(&disk, &*engine, [in_log_0, in_log_1]);
    disk.hold_writes_under(None);
    worked.map_err(as_text)?;
    let before = Observed::read(&*engine).map_err(as_text)?;
    engine.shutdown().map_err(as_text)?;
    drop((engine, clients));
    for recovery_workers in [1, 2] {
        let copy = disk.after(PowerCut::LoseUnsynced);
        let config = Config { recovery_workers, ..scenario.config(&copy) };
        let engine = hyades_engine::db::open(config, test_compiler()).map_err(as_text)?;
        let after = Observed::read(&*engine).map_err(as_text)?;
        if before != after {
            return Err(format!("before {before:?}, after {after:?} ({recovery_workers} recovery workers)"));
        }
    }
    Ok(())
}

/// Log 0 hangs, so its last anchor stays old. Meanwhile a row is written in log 1, farther from that anchor
/// than a batch of replay reaches. Then so much more is written, all of it durable, that the row's version is
/// forgotten. Finally the row is written in log 0.
fn forgotten_writers_are_followed(attempt: u64) -> Outcome {
    const KEY: u64 = 1_000_000;
    const BEFORE: u64 = 2000;
    const AFTER: u64 = 1000;
    replayed_as_before(Scenario::taurus(2), attempt, |disk, _, [in_log_0, in_log_1]| {
        disk.hold_writes_under(Some(&Path::new(DATA).join("logs/log-0")));
        put(in_log_0, 0)?;
        (0..BEFORE).try_for_each(|number| put_durably(in_log_1, KEY + 10 + number % 10))?;
        put_durably(in_log_1, KEY)?;
        (0..AFTER).try_for_each(|number| put_durably(in_log_1, KEY + 10 + number % 10))?;
        put(in_log_0, KEY)
    })
}

const CALLS: u64 = 100;

fn command(client: &mut Client, name: &str, arguments: [u64; 3]) -> Result<(), Error> {
    let arguments = arguments.map(|argument| big(argument as i64));
    let parameters = if name == "surroundings" { 1 } else { 3 };
    client.call(name, &arguments[..parameters], Logging::Command).map(drop)
}

fn put_durably(client: &mut Client, key: u64) -> Result<(), Error> {
    client.begin();
    client.put_number(key, 1)?;
    client.commit()?.wait()
}

fn put(client: &mut Client, key: u64) -> Result<(), Error> {
    client.begin();
    client.put_number(key, 2)?;
    client.commit().map(drop)
}

/// A transaction that overwrites what calls have read follows them, whether it is logged as data or as a
/// call.
fn calls_read_what_was_overwritten(attempt: u64) -> Outcome {
    overtaken(attempt, |_, [in_log_0, in_log_1]| {
        (0..CALLS).try_for_each(|key| command(in_log_1, "copy", [key * 10, 5_000 + key, 1]))?;
        (0..CALLS).try_for_each(|key| match key % 2 {
            0 => put(in_log_0, key * 10),
            _ => command(in_log_0, "copy", [6_000, key * 10, 7]),
        })
    })
}

/// The writer of what a call reads without a lock has not committed yet, so the call comes before it.
fn calls_pass_a_writer_that_has_not_committed(attempt: u64) -> Outcome {
    let scenario = Scenario::taurus(2).under(ControlKind::Optimistic);
    replayed_as_before(scenario, attempt, |disk, _, [in_log_0, in_log_1]| {
        disk.hold_writes_under(Some(&Path::new(DATA).join("logs")));
        (0..CALLS).try_for_each(|key| {
            in_log_0.begin();
            in_log_0.put_number(key * 10, 2)?;
            command(in_log_1, "copy", [key * 10, 5_000 + key, 1])?;
            in_log_0.commit().map(drop)
        })
    })
}

/// Calls have found nothing between two keys. One insert divides the gap, and another lands in the new part.
fn calls_miss_later_inserts(attempt: u64) -> Outcome {
    overtaken(attempt, |_, [in_log_0, in_log_1]| {
        (0..CALLS).try_for_each(|key| command(in_log_1, "sum", [2_000, 3_000, 5_000 + key]))?;
        put(in_log_1, 2_500)?;
        put(in_log_0, 2_250)
    })
}

/// Calls have found nothing where an insert is then rolled back. Its key is left behind, and the next insert
/// needs no gap.
fn calls_miss_later_inserts_of_known_keys(attempt: u64) -> Outcome {
    overtaken(attempt, |_, [in_log_0, in_log_1]| {
        (0..CALLS).try_for_each(|key| command(in_log_1, "sum", [2_000, 3_000, 5_000 + key]))?;
        in_log_0.begin();
        in_log_0.put_number(2_500, 1)?;
        in_log_0.rollback();
        put(in_log_0, 2_500)
    })
}

/// A call has found a row while others changed its columns; then the row is deleted.
fn calls_find_rows_that_were_deleted(attempt: u64) -> Outcome {
    overtaken(attempt, |_, [in_log_0, in_log_1]| {
        (0..CALLS).try_for_each(|key| command(in_log_1, "refer", [key * 10, 5_000 + key, 1]))?;
        (0..CALLS).try_for_each(|key| command(in_log_0, "copy", [6_000, key * 10, 2]))?;
        (0..CALLS).try_for_each(|key| {
            in_log_0.begin();
            in_log_0.delete_number(key * 10)?;
            in_log_0.commit().map(drop)
        })
    })
}

fn surroundings_are_captured(attempt: u64) -> Outcome {
    overtaken(attempt, |_, [_, in_log_1]| {
        in_log_1.environment().transaction_time = 1 + attempt as i64;
        command(in_log_1, "surroundings", [7, 0, 0])
    })
}

fn schema_changes_are_barriers(attempt: u64) -> Outcome {
    overtaken(attempt, |engine, [_, in_log_1]| {
        (0..CALLS).try_for_each(|key| command(in_log_1, "copy", [key * 10, 5_000 + key, 1]))?;
        // Worker 4.
        replace_routine(engine, "copy", 3, "copy twice").map(drop)
    })
}

/// A routine is replaced between a call of it and the call's commit.
fn names_change_under_a_call(attempt: u64) -> Outcome {
    overtaken(attempt, |engine, [_, in_log_1]| {
        in_log_1.begin();
        in_log_1.call_inside("copy", &[0, 5_000, 1].map(big), Logging::Command)?;
        replace_routine(engine, "copy", 3, "copy twice")?;
        in_log_1.commit().map(drop)
    })
}

/// The power fails while the database is closed, before or after its ends are recorded.
fn closing(attempt: u64) -> Outcome {
    let scenario = Scenario::taurus(2);
    let script = script(attempt);
    let disk = SimulatedDisk::new(attempt);
    let engine = scenario.open(&disk).map_err(as_text)?;
    let mut life = Life::begin(&*engine, attempt).map_err(as_text)?;
    life.run(&script, 0..20).map_err(as_text)?;
    wait_until_idle(&disk);
    // What the logs still have to write is written while the database closes, not before.
    disk.hold_writes_under(Some(&Path::new(DATA).join("logs")));
    for number in 20..30 {
        let durability = life.run_one(&script, number).map_err(as_text)?;
        life.expect(number, &durability);
    }
    disk.crash_at(disk.operations() + attempt % 16);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(Duration::from_millis(10));
            disk.hold_writes_under(None);
        });
        drop(engine.shutdown());
    });
    let acknowledged = life.acknowledged();
    recover_and_check(&disk.after_power_cut(attempt), scenario, &script, &acknowledged).map(drop)
}

/// A process is killed when nothing is left to do.
fn killed_at_rest(attempt: u64) -> Outcome {
    let scenario = Scenario::taurus(2);
    let script = script(attempt);
    let count = 1 + attempt as usize % 60;
    let (disk, acknowledged) = live_and_kill(&SimulatedDisk::new(1), scenario, &script, 0..count, 1)?;
    recover_and_check(&disk, scenario, &script, &acknowledged).map(drop)
}

/// The step of the search that found something, and what it found.
fn search(step: Search, attempts: u64) -> Option<(u64, String)> {
    (0..attempts).find_map(|attempt| Some((attempt, within(LIMIT, move || step(attempt)).err()?)))
}

/// Which search finds which bug, and in how many attempts at most.
const SEARCHES: [(Mutant, Search, u64); 45] = [
    (Mutant::OwnEndInStoredLv, crash_point, 10),
    (Mutant::ReserveBeforeFreeze, crash_point, 10),
    (Mutant::ReleaseBeforeRaise, crashed_history, 100),
    (Mutant::ReadOnlyNoWait, held_log, 10),
    (Mutant::NoVersionMark, crashed_reader_at_snapshots, 100),
    (Mutant::NoVersionMark, held_delete, 3),
    (Mutant::NoVersionMark, crashed_reader_without_locks, 100),
    (Mutant::SnapshotsForgotten, one_snapshot_for_all_reads, 1),
    (Mutant::CommitInLogOrder, held_log, 10),
    (Mutant::DurableBeforeSync, held_log, 20),
    (Mutant::ZombiesRevived, held_log, 10),
    (Mutant::NoSyncBeforeCut, crash_point, 200),
    (Mutant::ZeroTupleLv, forgotten_writers_are_followed, 3),
    (Mutant::IdleWorkerInfinity, late_writer_by_position, 20),
    (Mutant::BoundOfTheFurthest, late_writer_by_key, 20),
    (Mutant::ReplayReadsNewest, calls_read_what_was_overwritten, 10),
    (Mutant::ReplayReadsNewest, calls_pass_a_writer_that_has_not_committed, 10),
    (Mutant::ReplayReadsNewest, calls_miss_later_inserts, 10),
    (Mutant::ReplayReadsNewest, calls_miss_later_inserts_of_known_keys, 10),
    (Mutant::ReplayReadsNewest, calls_find_rows_that_were_deleted, 10),
    (Mutant::NothingCaptured, surroundings_are_captured, 1),
    (Mutant::NoBarrier, schema_changes_are_barriers, 10),
    (Mutant::CallsOfOldNames, names_change_under_a_call, 1),
    (Mutant::EndsBeforeDurable, closing, 40),
    (Mutant::PreparedTooEarly, killed_at_rest, 10),
    (Mutant::FragmentsOfAnother, given_up_commit, 1),
    (Mutant::EscalateOneStripe, escalated_writer_is_alone, 1),
    (Mutant::LetGoOfUsedLock, changed_rows_stay_locked, 1),
    (Mutant::StripesOutOfOrder, held_stripe, 10),
    (Mutant::HinderedByJanitor, the_janitor_delays_no_transaction, 400),
    (Mutant::StragglersForgotten, checkpointed_history, 400),
    (Mutant::SettledEarly, checkpointed_history, 400),
    (Mutant::TimeBeforePlace, checkpointed_history, 400),
    (Mutant::CheckpointBeforeDurable, checkpointed_crash_point, 400),
    (Mutant::CheckpointedReplayed, checkpointed_history, 20),
    (Mutant::RemovalsUnnoted, a_key_leaves_between_checkpoints, 10),
    (Mutant::SegmentsGoTooEarly, previous_checkpoint, 10),
    (Mutant::OpenedTooEarly, restart_on_demand, 20),
    (Mutant::EarlyPassForgotten, a_table_first, 20),
    (Mutant::RangeOpenedTooEarly, a_key_first, 20),
    (Mutant::MergedRangeForgotten, a_key_first, 20),
    (Mutant::SpareNamedUnsynced, crash_while_a_segment_is_used_again, 40),
    (Mutant::DigestAhead, restarts::digests_leave_nothing_out, 10),
    (Mutant::StampOfTheFurthest, held_log_of_epochs, 10),
    (Mutant::ZombiesRevived, held_log_of_epochs, 10),
];

/// Each of them once.
const STEPS: [Search; 35] = [
    crash_point,
    crashed_history,
    held_log,
    held_log_of_epochs,
    held_delete,
    held_stripe,
    late_writer_by_position,
    late_writer_by_key,
    forgotten_writers_are_followed,
    calls_read_what_was_overwritten,
    calls_pass_a_writer_that_has_not_committed,
    calls_miss_later_inserts,
    calls_miss_later_inserts_of_known_keys,
    calls_find_rows_that_were_deleted,
    surroundings_are_captured,
    schema_changes_are_barriers,
    names_change_under_a_call,
    closing,
    killed_at_rest,
    given_up_commit,
    escalated_writer_is_alone,
    changed_rows_stay_locked,
    the_janitor_delays_no_transaction,
    crashed_reader_at_snapshots,
    crashed_reader_without_locks,
    one_snapshot_for_all_reads,
    checkpointed_history,
    checkpointed_crash_point,
    a_key_leaves_between_checkpoints,
    previous_checkpoint,
    restart_on_demand,
    a_table_first,
    a_key_first,
    crash_while_a_segment_is_used_again,
    restarts::digests_leave_nothing_out,
];

#[test]
fn every_mutant_is_found() {
    for step in STEPS {
        assert_eq!(search(step, 10), None, "a search must find nothing without a bug");
    }
    for (mutant, step, attempts) in SEARCHES {
        let started = Instant::now();
        activate(Some(mutant));
        let found = search(step, attempts);
        activate(None);
        let Some((attempt, violation)) = found else {
            panic!("{mutant:?} was not found in {attempts} attempts");
        };
        let first_line = violation.lines().next().unwrap_or_default();
        println!("{mutant:?}: attempt {attempt}, {} ms: {first_line}", started.elapsed().as_millis());
    }
}
