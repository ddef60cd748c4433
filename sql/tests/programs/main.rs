//! Replay programs: what is left of a procedure for the replay of its calls (`hyades_engine`'s
//! `procedure::analysis`) writes what the call has written.
//!
//! Procedures are generated from numbers and called; the machine loses power, and recovery must find what was
//! there. Each replayed call compares a hash of what it writes with that of the run, so that the call is
//! named which writes something else. `HYADES_PROGRAMS=10000` makes more of them.

mod generator;

use std::sync::Arc;

use hyades::engine::config::Slicing;
use hyades::engine::mutant::{Mutant, activate};
use hyades::engine::procedure::analysis::Slices;
use hyades::engine::procedure::ir::Procedure;
use hyades::engine::recovery::{recover, tables_hash};
use hyades::engine::storage::databases::Databases;
use hyades::{Config, ControlKind, Database, Error};
use hyades_sim::disk::SimulatedDisk;

use generator::{FUNCTIONS, Generator, SETUP};

/// What must be found. The switch is for the whole process.
const MUTANTS: [Mutant; 6] = [
    Mutant::DecidersForgotten,
    Mutant::DrawsSkipped,
    Mutant::HandlersPruned,
    Mutant::HandlersCut,
    Mutant::RowNumbersApart,
    Mutant::TakesUndecided,
];

/// Procedures of a database, and calls of each.
const PROGRAMS: usize = 40;
const CALLS: usize = 5;

/// Under the concurrency controls by turns.
fn config(disk: &SimulatedDisk, seed: u64) -> Config {
    let (segment_bytes, log_buffer_bytes) = (1 << 20, 1 << 20);
    Config {
        control: ControlKind::ALL[seed as usize % ControlKind::ALL.len()],
        segment_bytes,
        log_buffer_bytes,
        recovery_workers: 2,
        disk: Arc::new(disk.clone()),
        ..Config::new("/data")
    }
}

/// What became of the calls.
#[derive(Debug, Default)]
struct Tally {
    programs: usize,
    committed: usize,
    failed: usize,
}

/// The slices of a procedure, as text.
fn slices(databases: &Databases, name: &str, slicing: Slicing) -> Option<String> {
    let routine = databases.routines().into_iter().find(|routine| routine.definition.name.name == name)?;
    let catalog = databases.catalog_of_routine(routine.id)?;
    let procedure = routine.procedure(Some(&*hyades::routine_compiler()), &*catalog).ok()?;
    let program = Procedure::replay_program(&procedure);
    Some(format!("{program}\n{}", Slices::of_call(&program, slicing)))
}

/// Runs the programs of one seed, and recovers.
fn round(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let disk = SimulatedDisk::new(seed);
    let text = |error: Error| error.to_string();
    let database = Database::open(config(&disk, seed)).map_err(text)?;
    let mut connection = database.connect().map_err(text)?;
    for sql in SETUP.iter().chain(&FUNCTIONS) {
        connection.execute(sql, &[]).map_err(|error| format!("{error}: {sql}"))?;
    }
    let mut generator = Generator::new(seed);
    let mut all = Vec::new();
    for number in 0..PROGRAMS {
        let (create, calls) = generator.program(&format!("p{number}"), CALLS);
        connection.execute(&create, &[]).map_err(|error| format!("{error}: {create}"))?;
        tally.programs += 1;
        for call in calls.into_iter().chain(generator.recursions()) {
            match connection.execute(&call, &[]) {
                Ok(_) => tally.committed += 1,
                Err(_) => tally.failed += 1,
            }
        }
        all.push(create);
    }
    let live = tables_hash(&database.engine().tables()).map_err(text)?;
    disk.crash_now();
    let found = disk.after_power_cut(seed);
    for replays_slices in [None, Some(Slicing::AllTables), Some(Slicing::OwnTables)] {
        let databases = Arc::new(Databases::new());
        let config = Config { replays_slices, ..config(&found, seed) };
        recover(&config, Some(hyades::routine_compiler()), &databases).map_err(|error| {
            let number = (0..all.len()).find(|at| error.to_string().contains(&format!("p{at}(")));
            let source = number.map_or("", |number| &all[number]);
            let slices = number.zip(replays_slices).map(|(number, slicing)| {
                slices(&databases, &format!("p{number}"), slicing).unwrap_or_default()
            });
            format!("seed {seed}, {replays_slices:?}: {error}\n{source}\n{}", slices.unwrap_or_default())
        })?;
        if tables_hash(&databases.tables()).map_err(text)? != live {
            return Err(format!(
                "seed {seed}, {replays_slices:?}: recovery finds another state than was there"
            ));
        }
    }
    Ok(())
}

fn wanted() -> usize {
    std::env::var("HYADES_PROGRAMS").ok().and_then(|value| value.parse().ok()).unwrap_or(400)
}

/// One test, because the switch of the mutants is for the whole process.
#[test]
fn replay_programs_write_what_the_calls_have_written() {
    let mut tally = Tally::default();
    let mut seed = 1;
    while tally.programs < wanted() {
        round(seed, &mut tally).unwrap_or_else(|wrong| panic!("{wrong}"));
        seed += 1;
    }
    println!("{tally:?}");
    assert!(tally.committed > tally.failed && tally.failed > 0, "{tally:?}");

    for mutant in MUTANTS {
        activate(Some(mutant));
        let caught = (1..60).find_map(|seed| round(seed, &mut Tally::default()).err());
        activate(None);
        let caught = caught.unwrap_or_else(|| panic!("{mutant:?} is not found"));
        println!("{mutant:?}: {}", caught.lines().next().unwrap_or_default());
    }
}
