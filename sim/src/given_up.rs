//! A COMMIT that is given up while it waits for room in the log, and what its transaction commits instead.
//!
//! A transaction larger than the log's buffer is appended in pieces. If it gives up waiting (after a cancel
//! or a timeout) and rolls back to a savepoint, the log contains pieces that must never take effect. The next
//! COMMIT of the same transaction begins a new series.

use std::path::Path;

use hyades_engine::db::Interrupt;
use hyades_types::definition::IndexKind;

use crate::client::{Client, create_tables};
use crate::crash::{DATA, Scenario, wait_until_idle};
use crate::disk::{PowerCut, SimulatedDisk};

/// The size of one row's text. The buffer of a log holds about a dozen.
const TEXT_BYTES: usize = 4000;

fn fill(client: &mut Client, letter: char, rows: u64) -> Result<(), String> {
    let text = letter.to_string().repeat(TEXT_BYTES);
    (0..rows).try_for_each(|key| client.put_text(key, &text)).map_err(|error| error.to_string())
}

/// Inserts `first` rows and gives up their COMMIT, then commits `second` rows of another letter instead. The
/// error says how the state after a crash differs from that.
pub fn commit_instead(scenario: Scenario, first: u64, second: u64) -> Result<(), String> {
    let as_text = |error: hyades_types::Error| error.to_string();
    let disk = SimulatedDisk::new(first);
    let engine = scenario.open(&disk).map_err(as_text)?;
    create_tables(&*engine, IndexKind::Ordered).map_err(as_text)?;
    let mut client = Client::new(&*engine).map_err(as_text)?;
    client.begin();
    client.put_number(1, 1).map_err(as_text)?;
    let savepoint = client.worker().savepoint();
    fill(&mut client, 'a', first)?;
    // By then room is prepared, so that the first pieces fit.
    wait_until_idle(&disk);
    disk.hold_writes_under(Some(&Path::new(DATA).join("logs")));
    match client.worker().commit() {
        Err(Interrupt::Wait(_)) => {}
        Err(Interrupt::Failed(error)) => return Err(error.to_string()),
        Ok(_) => return Err("the log had room for all of it".to_owned()),
    }
    drop(client.worker().rollback_to(savepoint));
    fill(&mut client, 'b', second)?;
    disk.hold_writes_under(None);
    client.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
    disk.crash_now();
    drop(client);
    drop(engine);

    let engine = scenario.open(&disk.after(PowerCut::LoseUnsynced)).map_err(as_text)?;
    let mut client = Client::new(&*engine).map_err(as_text)?;
    client.begin();
    let numbers = client.numbers().map_err(as_text)?;
    let texts = client.texts().map_err(as_text)?;
    let expected: Vec<(u64, String)> = (0..second).map(|key| (key, "b".repeat(TEXT_BYTES))).collect();
    if numbers != [(1, 1)] {
        return Err(format!("numbers {numbers:?}"));
    }
    if texts != expected {
        let letters: Vec<_> = texts.iter().map(|(key, text)| (key, text.chars().next())).collect();
        return Err(format!("found {letters:?}"));
    }
    Ok(())
}
