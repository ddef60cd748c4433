//! Restarts that go on in the background, held back at chosen points: transactions that touch what is not
//! restored yet wait for it, and what is done meanwhile survives the next crash.
//!
//! The database has a checkpoint followed by logs in which nothing changes the catalog, so that transactions
//! are let in at once. The disk holds back the reads of the threads that do the rest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_engine::config::RestartMode;
use hyades_engine::db::{Engine, Interrupt, Logging, open};
use hyades_engine::recovery::{recover, tables_hash};
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, IndexKind};
use hyades_types::error::{Error, sqlstate};
use hyades_types::value::Value;

use crate::client::{Client, Operation, big, blocking, create_tables};
use crate::crash::{
    Calls, DATA, FIRST, Life, Observed, Scenario, live_and_kill, script, take_checkpoint, wait_until_idle,
};
use crate::disk::{HeldReads, SimulatedDisk};
use crate::routines::test_compiler;
use crate::script::{Recovered, Script, check_recovered};

/// The part of a restart that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The rows of the checkpoint, and so everything that follows.
    Load,
    /// The log records, once the rows are there.
    Replay,
}

impl Held {
    pub(crate) fn reads(self, after: u64) -> HeldReads {
        match self {
            Held::Load => HeldReads { ending: "part", threads: "hyades-", after },
            // Threads of the restart and of the replay.
            Held::Replay => HeldReads { ending: "segment", threads: "hyades-re", after },
        }
    }
}

/// Stops holding reads back. Must be dropped before the engine, which waits for its threads.
pub(crate) struct Release<'a>(pub(crate) &'a SimulatedDisk);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.hold_reads(None);
    }
}

pub(crate) type Outcome<T = ()> = Result<T, String>;

pub(crate) fn as_text(error: Error) -> String {
    error.to_string()
}

/// A database that was killed when everything was durable.
pub(crate) struct Killed {
    pub(crate) disk: SimulatedDisk,
    script: Script,
    acknowledged: BTreeSet<usize>,
}

/// Longer than any load takes.
const LOAD_LIMIT: Duration = Duration::from_secs(60);
/// Texts that every database has from the beginning.
pub(crate) const TEXTS: u64 = 20;
/// Repeated to make up the long texts.
pub(crate) const LONG: &str = "a long text; ";
pub(crate) const LONG_REPEATED: usize = 600;
/// The number of long texts: much more data than the logs that are replayed.
pub(crate) const MANY: u64 = 40;
/// The script changes no numbers from this key on.
pub(crate) const MORE_NUMBERS: u64 = 1 << 20;

/// Runs the script with two checkpoints in it. After the last one only calls may touch the texts. With every
/// second seed, the server keeps a digest of its logs.
fn prepare(scenario: Scenario, seed: u64) -> Outcome<Killed> {
    prepare_with(scenario, seed, 0)
}

/// As [`prepare`], with this many long texts. If there are any, calls that do not touch them follow at the
/// end.
pub(crate) fn prepare_with(scenario: Scenario, seed: u64, long_texts: u64) -> Outcome<Killed> {
    let after = |engine: &dyn Engine| {
        if long_texts > 0 { call_without_texts(engine) } else { Ok(()) }
    };
    prepare_and(scenario, seed, (long_texts, 0), after)
}

/// As [`prepare`], with so many long texts and more numbers, from [`MORE_NUMBERS`] on, and something more
/// after the script.
pub(crate) fn prepare_and(
    scenario: Scenario,
    seed: u64,
    (long_texts, more_numbers): (u64, u64),
    after: impl Fn(&dyn Engine) -> Result<(), Error>,
) -> Outcome<Killed> {
    let disk = SimulatedDisk::new(seed);
    let script = script(seed);
    let restart = if seed.is_multiple_of(2) { RestartMode::OnDemand } else { RestartMode::Complete };
    let engine = Scenario { restart, ..scenario }.open(&disk).map_err(as_text)?;
    let mut life = Life::begin_with(&*engine, seed, scenario.calls).map_err(as_text)?.without_ballast();
    let mut client = Client::new(&*engine).map_err(as_text)?;
    client.begin();
    (0..TEXTS).try_for_each(|key| client.append_list(key, 0)).map_err(as_text)?;
    let mut long_texts = TEXTS..TEXTS + long_texts;
    long_texts.try_for_each(|key| client.put_text(key, &LONG.repeat(LONG_REPEATED))).map_err(as_text)?;
    let mut more_numbers = MORE_NUMBERS..MORE_NUMBERS + more_numbers;
    more_numbers.try_for_each(|key| client.put_number(key, 0)).map_err(as_text)?;
    client.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
    drop(client);
    let (half, most) = (FIRST / 2, FIRST * 3 / 4);
    life.run(&script, 0..half).map_err(as_text)?;
    take_checkpoint(&*engine).map_err(as_text)?;
    life.run(&script, half..most).map_err(as_text)?;
    take_checkpoint(&*engine).map_err(as_text)?;
    life.run(&script, most..FIRST).map_err(as_text)?;
    let acknowledged = life.acknowledged();
    after(&*engine).map_err(as_text)?;
    wait_until_idle(&disk);
    let killed = disk.after_process_kill(seed);
    engine.shutdown().map_err(as_text)?;
    Ok(Killed { disk: killed, script, acknowledged })
}

/// Calls, logged as commands, whose effect differs when they are replayed twice, or in another order.
fn call_without_texts(engine: &dyn Engine) -> Result<(), Error> {
    let mut client = Client::new(engine)?;
    for number in 1..5 {
        for (name, arguments) in
            [("bump", &[number][..]), ("copy", &[number, number + 1, 10]), ("journal", &[number])]
        {
            let arguments: Vec<Value> = arguments.iter().copied().map(big).collect();
            client.call(name, &arguments, Logging::Command)?.1.wait()?;
        }
    }
    Ok(())
}

/// The hash of the state that a complete restart makes of this disk.
pub(crate) fn hash_of_complete(disk: &SimulatedDisk, scenario: Scenario) -> Outcome<u64> {
    let databases = Arc::new(Databases::new());
    recover(&scenario.config(disk), test_compiler(), &databases).map_err(as_text)?;
    tables_hash(&databases.tables()).map_err(as_text)
}

pub(crate) fn wait_until_complete(engine: &dyn Engine) -> Outcome {
    while let Some(ticket) = engine.wait_for_restart().map_err(as_text)? {
        ticket.wait();
    }
    Ok(())
}

fn wait_until_loaded(engine: &dyn Engine) -> Outcome {
    let deadline = Instant::now() + LOAD_LIMIT;
    loop {
        let status = engine.restart_status();
        if status.loaded_bytes >= status.bytes_to_load {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("the checkpoint is not loaded while the replay is held back: {status:?}"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn expect_wait<T>(what: &str, outcome: Result<T, Interrupt>) -> Outcome {
    match outcome {
        Err(Interrupt::Wait(_)) => Ok(()),
        Err(Interrupt::Failed(error)) => Err(format!("{what} fails: {error}")),
        Ok(_) => Err(format!("{what} does not wait for the restart")),
    }
}

fn table(engine: &dyn Engine, name: &str) -> Outcome<Arc<Table>> {
    let tables = engine.tables();
    let found = tables.into_iter().find(|table| table.definition().name.name == name);
    found.ok_or_else(|| format!("there is no table {name}"))
}

/// While the restart is held back, transactions that read one of its tables, change the catalog or ask for a
/// checkpoint wait, and go on when it does. The state is that of a complete restart.
pub fn wait_for_what_they_touch(scenario: Scenario, seed: u64, held: Held) -> Outcome {
    let killed = prepare(scenario, seed)?;
    let expected = hash_of_complete(&killed.disk.after_process_kill(seed), scenario)?;
    let disk = killed.disk.after_process_kill(seed);
    disk.hold_reads(Some(held.reads(0)));
    let engine = scenario.on_demand().open(&disk).map_err(as_text)?;
    let _release = Release(&disk);
    if held == Held::Replay {
        // From here on only the replay keeps tables closed.
        wait_until_loaded(&*engine)?;
    }
    let status = engine.restart_status();
    if status.is_complete || status.closed_tables == 0 || status.open_seconds.is_none() {
        return Err(format!("it is not in its middle: {status:?}"));
    }
    let mut reader = Client::new(&*engine).map_err(as_text)?;
    reader.begin();
    expect_wait("a scan", reader.attempt(Operation::ScanLedger, &[big(i64::MIN), big(i64::MAX)]))?;
    reader.rollback();
    reader.begin();
    expect_wait("a read", reader.attempt(Operation::GetNumber, &[big(1)]))?;
    let mut changer = engine.worker();
    changer.begin();
    let truncate = CatalogChange::Truncate { id: table(&*engine, "journal")?.id() };
    expect_wait("a change of the catalog", changer.change_catalog(truncate))?;
    drop(changer.rollback());
    let request = engine.request_checkpoint().map_err(as_text)?;
    if request.ticket().is_ready() {
        return Err("a checkpoint is taken in the middle of a restart".to_owned());
    }
    disk.hold_reads(None);
    blocking(|| reader.attempt(Operation::GetNumber, &[big(1)])).map_err(as_text)?;
    reader.rollback();
    wait_until_complete(&*engine)?;
    if tables_hash(&engine.tables()).map_err(as_text)? != expected {
        return Err("a restart on demand finds another state than a complete one".to_owned());
    }
    let report = engine.recovery_report();
    let status = engine.restart_status();
    if report.transactions == 0 || !status.is_complete || status.percent() < 100.0 {
        return Err(format!("it is not complete: {report:?}, {status:?}"));
    }
    request.ticket().wait();
    request.outcome().unwrap_or(Ok(())).map_err(as_text)?;
    let mut observed = Observed::read(&*engine).map_err(as_text)?;
    observed.texts.clear();
    let found =
        Recovered { acknowledged: &killed.acknowledged, ledger: &observed.ledger, rows: &observed.rows };
    check_recovered(&killed.script, &found)?;
    engine.shutdown().map_err(as_text)
}

/// The contents of each text, as numbers.
type Lists = Vec<Vec<u64>>;

/// Appends to texts until the process is killed in the middle. The last appends may be lost, in their order.
/// Returns what was acknowledged, and what was attempted.
fn append_and_die(
    engine: Arc<dyn Engine>,
    disk: &SimulatedDisk,
    (seed, round): (u64, u64),
    before: &Lists,
) -> Outcome<(Lists, Lists)> {
    let release = Release(disk);
    let mut client = Client::new(&*engine).map_err(as_text)?;
    let (mut acknowledged, mut attempted) = (before.clone(), before.clone());
    if round == 1 {
        client.begin();
        expect_wait("a read", client.attempt(Operation::GetList, &[big(1)]))?;
        client.rollback();
    }
    for number in (0..10).filter(|_| round != 1) {
        let key = (seed * 7 + round * 5 + number * 3) % TEXTS;
        let element = round * 100 + number + 1;
        client.begin();
        let found = client.get_list(key).map_err(as_text)?;
        if found != attempted[key as usize] {
            return Err(format!("list {key} is {found:?} in round {round}, not {attempted:?}"));
        }
        client.append_list(key, element).map_err(as_text)?;
        attempted[key as usize].push(element);
        let answer = client.commit().map_err(as_text)?;
        if number < 8 {
            answer.wait().map_err(as_text)?;
            acknowledged.clone_from(&attempted);
        }
    }
    if round < 2 && engine.restart_status().is_complete {
        return Err("the restart is not held back".to_owned());
    }
    disk.crash_now();
    drop(release);
    Ok((acknowledged, attempted))
}

/// Starts, looks at everything, and compares with a complete restart. Returns what the texts hold.
fn look(disk: &SimulatedDisk, scenario: Scenario, expected: &Observed) -> Outcome<Lists> {
    let engine = scenario.on_demand().open(&disk.after_process_kill(1)).map_err(as_text)?;
    let mut observed = Observed::read(&*engine).map_err(as_text)?;
    let lists = Client::new(&*engine).and_then(|mut client| {
        client.begin();
        (0..TEXTS).map(|key| client.get_list(key)).collect::<Result<Lists, _>>()
    });
    let lists = lists.map_err(as_text)?;
    observed.texts.clone_from(&expected.texts);
    if observed != *expected {
        return Err(format!("something has changed that nobody touched: {observed:?}"));
    }
    wait_until_complete(&*engine)?;
    let state = tables_hash(&engine.tables()).map_err(as_text)?;
    engine.shutdown().map_err(as_text)?;
    if state != hash_of_complete(&disk.after_process_kill(2), scenario)? {
        return Err("a restart on demand finds another state than a complete one".to_owned());
    }
    Ok(lists)
}

/// While replay is held back, transactions work on tables that it does not concern. Then the process is
/// killed, or the power fails, again and again. Neither their work nor the earlier state is lost.
pub fn work_in_the_middle(scenario: Scenario, seed: u64) -> Outcome {
    let mut disk = prepare(scenario, seed)?.disk;
    let expected = {
        let engine = scenario.open(&disk.after_process_kill(seed)).map_err(as_text)?;
        let observed = Observed::read(&*engine).map_err(as_text)?;
        engine.shutdown().map_err(as_text)?;
        observed
    };
    let mut lists: Lists = vec![vec![0]; TEXTS as usize];
    for round in 0..4 {
        let found = disk.after_process_kill(round);
        // After the first round the logs concern the texts, too.
        found.hold_reads((round < 2).then(|| Held::Replay.reads(0)));
        let engine = scenario.on_demand().open(&found).map_err(as_text)?;
        let (acknowledged, attempted) = append_and_die(engine, &found, (seed, round), &lists)?;
        disk = match (seed + round).is_multiple_of(2) {
            true => found.after_process_kill(round),
            false => found.after_power_cut(round),
        };
        // The next round begins with what is there.
        lists = look(&disk, scenario, &expected).map_err(|error| format!("{error}, in round {round}"))?;
        for (key, list) in lists.iter().enumerate() {
            if !list.starts_with(&acknowledged[key]) || !attempted[key].starts_with(list) {
                return Err(format!("list {key} is {list:?}, acknowledged {:?}", acknowledged[key]));
            }
        }
    }
    Ok(())
}

/// The logs change the catalog, and are replayed before transactions are let in, perhaps wholly. After that
/// the catalog can be changed, and checkpoints are taken.
pub fn changes_follow_those_of_the_logs(scenario: Scenario, seed: u64) -> Outcome {
    let script = script(seed);
    let (killed, acknowledged) = live_and_kill(&SimulatedDisk::new(seed), scenario, &script, 0..FIRST, seed)?;
    let expected = hash_of_complete(&killed.after_process_kill(seed), scenario)?;
    let engine = scenario.on_demand().open(&killed).map_err(as_text)?;
    Observed::read(&*engine).map_err(as_text)?.check(&script, &acknowledged)?;
    wait_until_complete(&*engine)?;
    if tables_hash(&engine.tables()).map_err(as_text)? != expected {
        return Err("a restart on demand finds another state than a complete one".to_owned());
    }
    let mut worker = engine.worker();
    worker.begin();
    let truncate = CatalogChange::Truncate { id: table(&*engine, "journal")?.id() };
    blocking(|| worker.change_catalog(truncate.clone())).map_err(as_text)?;
    drop(worker.rollback());
    take_checkpoint(&*engine).map_err(as_text)?;
    engine.shutdown().map_err(as_text)
}

/// Damages a part of the last checkpoint, which the previous one does not share. Returns its name.
fn damage_last_part(disk: &SimulatedDisk) -> Outcome<String> {
    let parts =
        disk.paths().into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "part"));
    let part = parts.max().ok_or("there is no part of a checkpoint")?;
    disk.flip_bit(&part, 13, 3).map_err(|error| error.to_string())?;
    Ok(part.display().to_string())
}

/// Asserts that an error names the damaged file and the way out.
fn check_refusal(what: &str, error: &Error, file: &str) -> Outcome {
    let hint = match error {
        Error::Input(input) => input.hint.clone().unwrap_or_default(),
        _ => return Err(format!("{what} fails as if the database were poisoned: {error}")),
    };
    let names_both = error.to_string().contains(file) && hint.contains("--previous-checkpoint");
    if error.sqlstate() == sqlstate::DATA_CORRUPTED && names_both {
        return Ok(());
    }
    Err(format!("{what} fails with \"{error}\" and the hint \"{hint}\", where {file} is damaged"))
}

/// A session that waits for a table.
type Waiting = (Operation, Vec<Value>, Client);

/// Uses a database whose restart has found this file damaged. Returns how many of three tables are open.
fn use_what_is_open(engine: &dyn Engine, waiting: Vec<Waiting>, file: &str) -> Outcome<usize> {
    let mut open = 0;
    for (operation, arguments, mut client) in waiting {
        let what = format!("{operation:?}");
        match blocking(|| client.attempt(operation, &arguments)) {
            Ok(_) => {
                open += 1;
                client.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
            }
            Err(error) => check_refusal(&what, &error, file)?,
        }
    }
    let mut worker = engine.worker();
    worker.begin();
    let truncate = CatalogChange::Truncate { id: table(engine, "journal")?.id() };
    match blocking(|| worker.change_catalog(truncate.clone())) {
        Ok(()) => return Err("the catalog is changed although a table is lost".to_owned()),
        Err(error) => check_refusal("a change of the catalog", &error, file)?,
    }
    drop(worker.rollback());
    match take_checkpoint(engine) {
        Ok(()) => return Err("a checkpoint is taken that lacks a table".to_owned()),
        Err(error) => check_refusal("a checkpoint", &error, file)?,
    }
    Ok(open)
}

/// A part of the checkpoint is damaged, and a restart on demand finds it after it has let transactions in.
/// Tables that are whole open and can be changed. Transactions that need a lost table get the name of the
/// file, and none waits for ever. The next start begins with the checkpoint before and has everything.
pub fn damage_closes_what_it_concerns(scenario: Scenario, seed: u64) -> Outcome {
    let killed = prepare(scenario, seed)?;
    let disk = killed.disk.after_process_kill(seed);
    let file = damage_last_part(&disk)?;
    disk.hold_reads(Some(Held::Load.reads(0)));
    let engine = scenario.on_demand().open(&disk).map_err(as_text)?;
    let release = Release(&disk);
    let mut waiting = Vec::new();
    let (one, scan) = (vec![big(1)], vec![big(i64::MIN), big(i64::MAX)]);
    for (operation, arguments) in
        [(Operation::GetNumber, one.clone()), (Operation::GetList, one), (Operation::ScanLedger, scan)]
    {
        let mut client = Client::new(&*engine).map_err(as_text)?;
        client.begin();
        expect_wait("a read", client.attempt(operation, &arguments))?;
        waiting.push((operation, arguments, client));
    }
    drop(release);
    let restart = wait_until_complete(&*engine);
    if !restart.as_ref().is_err_and(|error| error.contains(&file)) {
        return Err(format!("the damage is not found: {restart:?}"));
    }
    let (all, open) = (waiting.len(), use_what_is_open(&*engine, waiting, &file)?);
    // Calls in the logs may connect all tables.
    if open == all || (open == 0 && scenario.calls == Calls::Never) {
        return Err(format!("{open} of {all} tables are open"));
    }
    let written = append_if_open(&*engine, seed)?;
    let crashed = disk.after_power_cut(seed);
    engine.shutdown().map_err(as_text)?;
    drop(engine);
    for found in [crashed, disk.after_process_kill(seed)] {
        let engine = scenario.on_demand().open(&found).map_err(as_text)?;
        if !engine.restart_status().is_complete {
            return Err("clients are let in before the damaged checkpoint is read".to_owned());
        }
        check_everything(&*engine, &killed, written)?;
        take_checkpoint(&*engine).map_err(as_text)?;
        engine.shutdown().map_err(as_text)?;
        drop(engine);
        let engine = scenario.on_demand().open(&found).map_err(as_text)?;
        wait_until_complete(&*engine)?;
        check_everything(&*engine, &killed, written)?;
        engine.shutdown().map_err(as_text)?;
    }
    Ok(())
}

/// Appends to a list, if its table is not lost. Returns what.
fn append_if_open(engine: &dyn Engine, seed: u64) -> Outcome<Option<u64>> {
    let mut client = Client::new(engine).map_err(as_text)?;
    client.begin();
    if client.append_list(1, seed).is_err() {
        client.rollback();
        return Ok(None);
    }
    client.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
    Ok(Some(seed))
}

/// Checks that everything that was acknowledged before the kill is there, and this element of a list.
fn check_everything(engine: &dyn Engine, killed: &Killed, written: Option<u64>) -> Outcome {
    let mut client = Client::new(engine).map_err(as_text)?;
    client.begin();
    let list = client.get_list(1).map_err(as_text)?;
    let ledger = client.ledger().map_err(as_text)?.into_iter().map(|number| number as usize).collect();
    let rows = client.numbers().map_err(as_text)?.into_iter().collect();
    client.rollback();
    let expected: Vec<u64> = [0].into_iter().chain(written).collect();
    if list != expected {
        return Err(format!("the list is {list:?}, not {expected:?}"));
    }
    let found = Recovered { acknowledged: &killed.acknowledged, ledger: &ledger, rows: &rows };
    check_recovered(&killed.script, &found)
}

/// A part of the last checkpoint is damaged: a complete restart begins with the one before and has the same
/// state. If the files of both are damaged, it is refused, and changes nothing.
pub fn a_damaged_checkpoint_is_replaced_by_the_one_before(scenario: Scenario, seed: u64) -> Outcome {
    let killed = prepare(scenario, seed)?;
    let expected = hash_of_complete(&killed.disk.after_process_kill(seed), scenario)?;
    let disk = killed.disk.after_process_kill(seed);
    let file = damage_last_part(&disk)?;
    let engine = scenario.open(&disk).map_err(as_text)?;
    if tables_hash(&engine.tables()).map_err(as_text)? != expected {
        return Err(format!("without {file} there is another state"));
    }
    engine.shutdown().map_err(as_text)?;
    let disk = killed.disk.after_process_kill(seed);
    for path in disk.paths() {
        if path.extension().is_some_and(|ending| ending == "part") {
            disk.flip_bit(&path, 13, 3).map_err(|error| error.to_string())?;
        }
    }
    let contents = || -> Vec<_> { disk.paths().iter().map(|path| disk.content(path).ok()).collect() };
    let before = contents();
    match scenario.open(&disk) {
        Ok(_) => return Err("it opens although both checkpoints are damaged".to_owned()),
        Err(error) if error.to_string().contains(".part") => {}
        Err(error) => return Err(format!("it is refused with {error}")),
    }
    if contents() == before { Ok(()) } else { Err("a refused start changes files".to_owned()) }
}

/// The last checkpoint and the one before it are damaged. A restart on demand opens what can be read, as
/// often as it is tried, and everything once the files are whole again.
pub fn damage_in_both_checkpoints_closes_what_it_concerns(scenario: Scenario, seed: u64) -> Outcome {
    let killed = prepare(scenario, seed)?;
    let disk = killed.disk.after_process_kill(seed);
    let flip_all = || -> Outcome {
        let is_part = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "part");
        let mut parts = disk.paths().into_iter().filter(is_part);
        parts.try_for_each(|path| disk.flip_bit(&path, 13, 3)).map_err(|error| error.to_string())
    };
    flip_all()?;
    for start in 1..=3 {
        let engine = scenario.on_demand().open(&disk).map_err(|error| format!("start {start}: {error}"))?;
        let restart = wait_until_complete(&*engine);
        if !restart.as_ref().is_err_and(|error| error.contains(".part")) {
            return Err(format!("start {start}: the damage is not found: {restart:?}"));
        }
        engine.shutdown().map_err(as_text)?;
    }
    flip_all()?;
    let engine = scenario.on_demand().open(&disk).map_err(as_text)?;
    wait_until_complete(&*engine)?;
    check_everything(&*engine, &killed, None)?;
    engine.shutdown().map_err(as_text)
}

/// The logs hold calls that this program cannot replay. No client is let in, and no file is changed.
pub fn what_cannot_be_replayed_is_refused(scenario: Scenario, seed: u64) -> Outcome {
    let disk = prepare(scenario, seed)?.disk;
    let files =
        || -> Vec<_> { disk.paths().into_iter().map(|path| (disk.content(&path).ok(), path)).collect() };
    let before = files();
    match open(scenario.on_demand().config(&disk), None) {
        Ok(_) => return Err("clients are let in".to_owned()),
        Err(error) if error.to_string().contains("has no compiler for routines") => {}
        Err(error) => return Err(format!("it is refused with {error}")),
    }
    let after = files();
    if after != before {
        let changed: Vec<_> =
            after.iter().filter(|one| !before.contains(one)).map(|one| one.1.clone()).collect();
        let gone: Vec<_> =
            before.iter().filter(|one| !after.contains(one)).map(|one| one.1.clone()).collect();
        return Err(format!("a refused start changes files: {changed:?}, before {gone:?}"));
    }
    scenario.on_demand().open(&disk).and_then(|engine| engine.shutdown()).map_err(as_text)
}

/// Writes with this client until the digest has been replaced this many times.
fn write_until_digested(busy: &mut Client, disk: &SimulatedDisk, times: usize) -> Outcome {
    let path = Path::new(DATA).join("digests/00000001.digest");
    let digest = || disk.content(&path).ok();
    let deadline = Instant::now() + LOAD_LIMIT;
    for _ in 0..times {
        let before = digest();
        while digest().is_none_or(|found| Some(found) == before) {
            if Instant::now() > deadline {
                return Err("the logs have no new digest".to_owned());
            }
            busy.begin();
            (0..10).try_for_each(|key| busy.put_number(key, 1)).map_err(as_text)?;
            busy.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
        }
    }
    Ok(())
}

/// A database that was killed after its digest had been replaced because one log had grown. The other log,
/// which has grown little, contains the last change of a table.
fn digested(scenario: Scenario, seed: u64) -> Outcome<SimulatedDisk> {
    let disk = SimulatedDisk::new(seed);
    let engine = scenario.open(&disk).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    take_checkpoint(&*engine).map_err(as_text)?;
    // Workers take turns with the logs, so each of these two has its own.
    let mut busy = Client::new(&*engine).map_err(as_text)?;
    let mut quiet = Client::new(&*engine).map_err(as_text)?;
    write_until_digested(&mut busy, &disk, 1)?;
    quiet.begin();
    quiet.append_list(1, seed).map_err(as_text)?;
    quiet.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
    write_until_digested(&mut busy, &disk, 2)?;
    wait_until_idle(&disk);
    let killed = disk.after_process_kill(seed);
    drop((busy, quiet));
    engine.shutdown().map_err(as_text)?;
    Ok(killed)
}

/// A log is damaged before the end of its digest. Clients are let in, and the replay finds the damage. The
/// next start reads the log before it lets any client in, and refuses.
pub fn damage_before_a_digest_is_refused_the_next_time(seed: u64) -> Outcome {
    let scenario = Scenario::taurus(2).on_demand();
    let disk = digested(scenario, seed)?;
    let is_first = |path: &PathBuf| path.ends_with("00000001-00000001.segment");
    for path in disk.paths().into_iter().filter(is_first) {
        let content = disk.content(&path).map_err(|error| error.to_string())?;
        // In the log that has grown, this is in the middle of what is replayed.
        let place = content.len() as u64 / 2;
        disk.flip_bit(&path, place, 3).map_err(|error| error.to_string())?;
    }
    let engine = scenario.open(&disk).map_err(as_text)?;
    if wait_until_complete(&*engine).is_ok() {
        return Err("the damage is not found".to_owned());
    }
    let killed = disk.after_process_kill(seed);
    drop(engine);
    match scenario.open(&killed) {
        Ok(_) => Err("clients are let in although the logs are damaged".to_owned()),
        Err(error) if error.to_string().contains("damaged") => Ok(()),
        Err(error) => Err(format!("it is refused with {error}")),
    }
}

/// After a kill, a transaction that reads a table waits until its last change has been replayed, although its
/// log record comes after the end of the digest.
pub fn digests_leave_nothing_out(seed: u64) -> Outcome {
    let scenario = Scenario::taurus(2).on_demand();
    let killed = digested(scenario, seed)?;
    killed.hold_reads(Some(Held::Replay.reads(0)));
    let engine = scenario.open(&killed).map_err(as_text)?;
    let _release = Release(&killed);
    wait_until_loaded(&*engine)?;
    let mut reader = Client::new(&*engine).map_err(as_text)?;
    reader.begin();
    expect_wait("a read", reader.attempt(Operation::GetList, &[big(1)]))?;
    reader.rollback();
    killed.hold_reads(None);
    wait_until_complete(&*engine)?;
    reader.begin();
    let found = reader.get_list(1).map_err(as_text)?;
    reader.rollback();
    drop(reader);
    engine.shutdown().map_err(as_text)?;
    if found == [seed] { Ok(()) } else { Err(format!("the list is {found:?}")) }
}

/// The number of files, and their bytes.
fn extent(disk: &SimulatedDisk) -> (usize, usize) {
    let contents = disk.paths().into_iter().filter_map(|path| disk.content(&path).ok());
    contents.fold((0, 0), |(files, bytes), content| (files + 1, bytes + content.len()))
}

/// Several processes in a row are killed before their restart is complete. Each frees what the one before the
/// last had prepared.
pub fn interrupted_starts_do_not_fill_the_disk(scenario: Scenario, seed: u64) -> Outcome {
    let mut disk = prepare(scenario, seed)?.disk;
    let mut extents = Vec::new();
    for round in 0..6 {
        disk.hold_reads(Some(Held::Load.reads(0)));
        let engine = scenario.on_demand().open(&disk).map_err(as_text)?;
        let release = Release(&disk);
        if engine.restart_status().is_complete {
            return Err("the restart is not held back".to_owned());
        }
        wait_until_idle(&disk);
        let killed = disk.after_process_kill(round);
        drop(release);
        drop(engine);
        extents.push(extent(&killed));
        disk = killed;
    }
    // Each leaves its first segment, cut to what it holds.
    let grown = (extents[5].1 - extents[2].1) / 3;
    let segment = scenario.config(&disk).segment_bytes as usize;
    if grown >= segment {
        return Err(format!("each start leaves {grown} bytes more: {extents:?}"));
    }
    Ok(())
}
