//! Recovery from logs written by hand on a simulated disk: the cut, zombies, corruption, incarnations.
//!
//! Each test says which bytes are durable and what must therefore be found. The parts: `cut` (what counts),
//! `damage` (what is refused), `incarnations` (restarts, crashes during recovery), `contention` (records that
//! wait for each other), `graph` (records that name others), `calls` (routines that are gone or have another
//! version), `dumps` (what each reader of logs sees).

#[path = "recovery/calls.rs"]
mod calls;
#[path = "recovery/contention.rs"]
mod contention;
#[path = "recovery/cut.rs"]
mod cut;
#[path = "recovery/damage.rs"]
mod damage;
#[path = "recovery/dumps.rs"]
mod dumps;
#[path = "recovery/graph.rs"]
mod graph;
#[path = "recovery/incarnations.rs"]
mod incarnations;

use std::collections::BTreeMap;

use hyades_engine::config::ProtocolKind;
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::hand_written::{Change, Found, HandWritten};

/// A new database with this many Taurus logs, whose table is durable in log 0. The second value is the end of
/// its record.
fn database(logs: usize) -> (HandWritten, u64) {
    let disk = SimulatedDisk::new(1);
    let (mut written, _) = HandWritten::open(&disk, ProtocolKind::Taurus, logs).expect("an empty disk");
    let end = written.append(0, &vec![0; logs], &[Change::CreateTable]);
    written.sync_all();
    (written, end)
}

fn put(key: i64, value: i64) -> Change {
    Change::Put { key, value }
}

fn rows(expected: &[(i64, i64)]) -> BTreeMap<i64, i64> {
    expected.iter().copied().collect()
}

/// What is found when everything unsynced is lost.
fn after_power_cut(written: &HandWritten) -> hyades_types::Result<Found> {
    HandWritten::recover(&written.disk.after(PowerCut::LoseUnsynced))
}

fn refused(result: hyades_types::Result<Found>) -> String {
    match result {
        Ok(found) => panic!("accepted, with rows {:?}", found.rows),
        Err(error) => error.to_string(),
    }
}
