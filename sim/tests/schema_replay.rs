//! Schema changes of some tables beside data of others, replayed by several workers at once.
//!
//! A schema change is a barrier for what came before it. Later, unrelated records may be replayed beside it,
//! and must not be disturbed: the catalog is copied and exchanged, states are exchanged, tables come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyades_engine::config::{Config, RecoveryMode};
use hyades_engine::db::{Engine, Logging};
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::catalog::NewId;
use hyades_engine::storage::databases::Databases;
use hyades_sim::client::{Client, big, blocking, create_tables};
use hyades_sim::crash::{Observed, Scenario, within};
use hyades_sim::disk::SimulatedDisk;
use hyades_sim::routines::{create_routines, public, replace_routine, test_compiler};
use hyades_types::definition::{CatalogChange, IndexKind, TableDefinition, TableId};
use hyades_types::error::Result;

const LIMIT: Duration = Duration::from_secs(120);
const WRITERS: u64 = 3;
const TRANSACTIONS: u64 = 400;

/// Empties the ledger, and creates and drops another table, under names and ids of its own.
fn change_schema(engine: &dyn Engine, round: usize) -> Result<()> {
    let ledger = engine.table(&public("ledger")).expect("it is there");
    let mut worker = engine.worker();
    let mut commit = |change: CatalogChange| {
        worker.begin();
        blocking(|| worker.change_catalog(change.clone()))?;
        blocking(|| worker.commit()).map(drop)
    };
    commit(CatalogChange::Truncate { id: ledger.id() })?;
    // Calls that began with the other one are logged as data.
    replace_routine(engine, "copy", 3, if round.is_multiple_of(2) { "copy twice" } else { "copy" })?;
    let id = TableId(engine.worker().new_id(NewId::Object));
    let name = public(&format!("passing_{round}"));
    let mut definition = TableDefinition { name, ..TableDefinition::clone(&ledger.definition()) };
    definition.primary_key.iter_mut().for_each(|key| key.name = format!("passing_{round}_pkey"));
    commit(CatalogChange::CreateTable { id, definition })?;
    // Every third one stays.
    if round.is_multiple_of(3) { Ok(()) } else { commit(CatalogChange::DropTable { id }) }
}

/// Rows of `numbers` and of the ledger, as statements and as calls.
fn write(engine: &dyn Engine, writer: u64) -> Result<()> {
    let mut client = Client::new(engine)?;
    for number in 0..TRANSACTIONS {
        let key = number * 31 % 100 * WRITERS + writer;
        if number.is_multiple_of(4) {
            let arguments = [key, 1_000 + key, 1].map(|argument| big(argument as i64));
            client.call("copy", &arguments, Logging::Command)?;
            continue;
        }
        client.begin();
        if number.is_multiple_of(3) {
            client.note(number * WRITERS + writer)?;
        }
        client.add_number(key, number as i64)?;
        client.commit()?;
    }
    Ok(())
}

fn work(engine: &Arc<dyn Engine>) -> Result<()> {
    let at_work = AtomicUsize::new(WRITERS as usize);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (engine, at_work) = (&**engine, &at_work);
                scope.spawn(move || {
                    let written = write(engine, writer);
                    at_work.fetch_sub(1, Ordering::Relaxed);
                    written
                })
            })
            .collect();
        let mut round = 0;
        while at_work.load(Ordering::Relaxed) > 0 || round < 20 {
            change_schema(&**engine, round)?;
            round += 1;
        }
        writers.into_iter().try_for_each(|writer| writer.join().expect("no panic"))
    })
}

fn replayed_alike(scenario: Scenario, seed: u64) -> std::result::Result<(), String> {
    let as_text = |error: hyades_types::Error| error.to_string();
    let disk = SimulatedDisk::new(seed);
    let engine = scenario.open(&disk).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    create_routines(&*engine).map_err(as_text)?;
    work(&engine).map_err(as_text)?;
    let tables = engine.tables().len();
    let before = Observed::read(&*engine).map_err(as_text)?;
    engine.shutdown().map_err(as_text)?;
    drop(engine);
    let hash = |recovery_workers, recovery_mode| {
        let config = Config { recovery_workers, recovery_mode, ..scenario.config(&disk) };
        let databases = Arc::new(Databases::new());
        recover(&config, test_compiler(), &databases).map_err(as_text)?;
        if databases.tables().len() != tables {
            return Err(format!("{} tables, not {tables}", databases.tables().len()));
        }
        state_hash(&databases).map_err(as_text)
    };
    let expected = hash(1, RecoveryMode::Serial)?;
    for round in 0..8 {
        let found = hash(4, RecoveryMode::Parallel)?;
        if found != expected {
            return Err(format!("round {round}: state {found:x} instead of {expected:x}"));
        }
    }
    let engine = scenario.open(&disk).map_err(as_text)?;
    let after = Observed::read(&*engine).map_err(as_text)?;
    if before == after { Ok(()) } else { Err(format!("before {before:?}, after {after:?}")) }
}

#[test]
fn replay_beside_schema_changes_finds_one_state() {
    let others = [
        Scenario::taurus_graph(4),
        Scenario::silor(4),
        Scenario::plover(4),
        Scenario::serial(),
        Scenario::striped(2),
    ];
    let of_taurus = (0..6).map(|seed| (Scenario::taurus(4), seed));
    for (scenario, seed) in of_taurus.chain(others.map(|scenario| (scenario, 0))) {
        let replayed = within(LIMIT, move || replayed_alike(scenario, seed));
        assert_eq!(replayed, Ok(()), "seed {seed}, {scenario:?}");
    }
}
