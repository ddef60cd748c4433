//! Logged calls: each is replayed from the source it ran with, or refused with the routine's name.

use std::sync::Arc;

use hyades_engine::config::{Config, RestartMode};
use hyades_engine::db::open;
use hyades_engine::log::manifest::Manifest;
use hyades_engine::log::record::OperationsWriter;
use hyades_engine::log::record::command::{Captured, WriteSetHash, write_arguments, write_command_head};
use hyades_engine::procedure::compiled_routine::{CatalogView, RoutineCompiler};
use hyades_engine::procedure::ir::{Procedure, Replayability};
use hyades_engine::recovery::recover;
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{
    CatalogChange, Returns, RoutineDefinition, RoutineId, RoutineKind, TableName,
};
use hyades_types::error::Result;
use parking_lot::Mutex;

use super::*;

/// Compiles every source to nothing, and keeps the sources.
#[derive(Default)]
struct Sources(Mutex<Vec<String>>);

impl RoutineCompiler for Sources {
    fn compile(&self, routine: &RoutineDefinition, _: &dyn CatalogView) -> Result<Procedure> {
        self.0.lock().push(routine.body.clone());
        Ok(Procedure { replay: Replayability::PURE, ..Procedure::default() })
    }
}

fn definition(body: &str) -> RoutineDefinition {
    RoutineDefinition {
        name: TableName { schema: "public".to_owned(), name: "touch".to_owned() },
        kind: RoutineKind::Procedure,
        parameters: Vec::new(),
        returns: Returns::Nothing,
        language: "test".to_owned(),
        body: body.to_owned(),
        path: None,
        is_strict: false,
        traits: Default::default(),
        uses: None,
        aggregate: None,
        cast: None,
        declared: None,
    }
}

fn create(id: u32, body: &str, replaces: Option<u32>) -> Vec<u8> {
    let definition = definition(body);
    let change =
        CatalogChange::CreateRoutine { id: RoutineId(id), definition, replaces: replaces.map(RoutineId) };
    changed(&change)
}

fn changed(change: &CatalogChange) -> Vec<u8> {
    let mut operations = OperationsWriter::new();
    operations.change_catalog(change).expect("it has a JSON form");
    operations.as_bytes().to_vec()
}

/// A call that writes nothing, logged by a program for which the routine of this number had this source.
fn call(id: u32, body: &str) -> Vec<u8> {
    let version = Routine::new(RoutineId(id), definition(body)).version_hash();
    let mut head = Vec::new();
    write_command_head(&mut head, RoutineId(id), version, &Captured::default());
    write_arguments(&mut head, &[]);
    let mut operations = OperationsWriter::new();
    operations.begin_command(&head);
    operations.finish_command(head.len(), &[], WriteSetHash::default());
    operations.as_bytes().to_vec()
}

/// Recovers a log with these transactions in turn. Returns the sources that were compiled.
fn replay(transactions: &[Vec<u8>]) -> Result<Vec<String>> {
    replay_of(transactions, |_| {})
}

/// As [`replay`], for a directory whose manifest has been changed.
fn replay_of(transactions: &[Vec<u8>], change: impl FnOnce(&mut Manifest)) -> Result<Vec<String>> {
    let (mut written, mut end) = database(1);
    for (id, operations) in transactions.iter().enumerate() {
        end = written.append_fragment(0, id as u64, Some(&[end]), operations);
    }
    written.sync_all();
    let data = &written.config.data_directory;
    let mut manifest = Manifest::load(&written.disk, data)?.expect("it has been written");
    change(&mut manifest);
    manifest.store(&written.disk, data)?;
    let sources = Arc::new(Sources::default());
    recover(&written.config, Some(Arc::clone(&sources) as _), &Arc::new(Databases::new()))?;
    Ok(sources.0.lock().clone())
}

/// A large transaction has begun early, and never ends. After many changes of rows come many calls: from
/// there on, records are replayed in another way, and none of those before twice.
#[test]
fn nothing_is_replayed_twice_where_calls_begin() {
    let (mut written, _) = HandWritten::open(&SimulatedDisk::new(1), ProtocolKind::Serial, 1).unwrap();
    written.append(0, &[], &[Change::CreateTable]);
    written.append_fragment(0, 1, None, &[]);
    for (id, operations) in [(2, create(9, "one", None)), (3, create(10, "two", Some(9)))] {
        written.append_fragment(0, id, Some(&[]), &operations);
    }
    for number in 0..10_000 {
        written.append(0, &[], &[put(number % 7, number)]);
    }
    for id in 0..400 {
        written.append_fragment(0, 4 + id, Some(&[]), &call(10, "two"));
    }
    written.sync_all();
    let sources = Arc::new(Sources::default());
    let databases = Arc::new(Databases::new());
    let report = recover(&written.config, Some(Arc::clone(&sources) as _), &databases).unwrap().report;
    assert_eq!((report.transactions, report.discarded), (1 + 2 + 10_000 + 400, 1));
}

fn refusal(transactions: &[Vec<u8>]) -> String {
    replay(transactions).expect_err("it must be refused").to_string()
}

#[test]
fn a_call_is_replayed_by_the_source_it_ran_with() {
    let dropped = changed(&CatalogChange::DropRoutine { id: RoutineId(10) });
    let sources = replay(&[
        create(9, "one", None),
        call(9, "one"),
        create(10, "two", Some(9)),
        call(10, "two"),
        call(10, "two"),
        dropped,
        create(11, "three", None),
        call(11, "three"),
    ]);
    assert_eq!(sources.unwrap(), ["one", "two", "three"]);
}

#[test]
fn a_call_of_what_is_gone_is_refused_with_its_name() {
    let replaced = refusal(&[create(9, "one", None), create(10, "two", Some(9)), call(9, "one")]);
    assert!(replaced.contains("it calls procedure touch() (routine 9), which has been dropped or replaced"));
    let dropped = changed(&CatalogChange::DropRoutine { id: RoutineId(9) });
    let dropped = refusal(&[create(9, "one", None), dropped, call(9, "one")]);
    assert!(dropped.contains("it calls procedure touch() (routine 9), which has been dropped or replaced"));
    assert!(dropped.contains("log 0 is damaged") && dropped.contains("in the record that ends at position"));
    let unknown = refusal(&[create(9, "one", None), call(12, "one")]);
    assert!(unknown.contains("it calls routine 12, which does not exist"), "{unknown}");
}

#[test]
fn a_call_of_another_version_is_refused_with_its_name() {
    let changed = refusal(&[create(9, "one", None), call(9, "what this program makes of it")]);
    assert!(changed.contains("a call of procedure touch() that ran under another version"), "{changed}");
    // Also after the correct one has been replayed.
    let changed = refusal(&[create(9, "one", None), call(9, "one"), call(9, "another")]);
    assert!(changed.contains("a call of procedure touch() that ran under another version"), "{changed}");
}

#[test]
fn a_refusal_says_what_has_changed_since() {
    let transactions = [create(9, "one", None), call(9, "as another program would run it")];
    let with = |name: &'static str, version: &'static str| {
        move |manifest: &mut Manifest| {
            for incarnation in &mut manifest.incarnations {
                incarnation.foundations.insert(name.to_owned(), version.to_owned());
            }
        }
    };
    let refused =
        replay_of(&transactions, with("time zones", "2019a")).expect_err("it must be refused").to_string();
    assert!(
        refused.contains("a call of procedure touch() that ran with time zones 2019a (here: "),
        "{refused}"
    );
    assert!(
        refused.contains("To keep the data, open the directory with the program that wrote it"),
        "{refused}"
    );
    let refused =
        replay_of(&transactions, with("new things", "3")).expect_err("it must be refused").to_string();
    assert!(refused.contains("that ran with new things 3 (here: none); it cannot be replayed"), "{refused}");
    // The difference does not matter to calls of the same version.
    let same = [create(9, "one", None), call(9, "one")];
    assert_eq!(replay_of(&same, with("time zones", "2019a")).expect("it can be replayed"), ["one"]);
}

#[test]
fn a_restart_on_demand_refuses_a_call_of_another_version_before_it_admits_transactions() {
    let (mut written, mut end) = database(1);
    // The catalog is recovered long before the call that must be refused.
    let mut transactions = vec![create(9, "one", None)];
    transactions.extend(std::iter::repeat_n(call(9, "one"), 20_000));
    transactions.extend([call(9, "what this program makes of it"), call(9, "one")]);
    for (id, operations) in transactions.iter().enumerate() {
        end = written.append_fragment(0, id as u64, Some(&[end]), operations);
    }
    written.sync_all();
    let disk = written.disk.after(PowerCut::KeepUnsynced);
    let config =
        Config { disk: Arc::new(disk.clone()), restart: RestartMode::OnDemand, ..written.config.clone() };
    let files = || -> Vec<_> {
        let paths = disk.paths().into_iter().filter(|path| !path.ends_with("lock"));
        paths.map(|path| (disk.content(&path).ok(), path)).collect()
    };
    let before = files();
    for compiler in [Some(Arc::new(Sources::default()) as _), None] {
        let refused = open(config.clone(), compiler).map(drop).expect_err("it must be refused").to_string();
        assert!(refused.contains("a call of procedure touch()"), "{refused}");
        assert!(files() == before, "a file was changed");
    }
}
