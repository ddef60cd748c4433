//! Sessions that write their logs themselves (docs/decisions/2026-11-29-lone-writers.md), beside the end of
//! the database.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyades_engine::db::Engine;
use hyades_sim::client::{Client, create_tables};
use hyades_sim::crash::{Observed, Scenario, within};
use hyades_sim::disk::SimulatedDisk;
use hyades_types::definition::IndexKind;
use hyades_types::error::Result;

const LIMIT: Duration = Duration::from_secs(120);
const ROUNDS: u64 = 60;

/// Commits rows of its own until the database is shut down, each acknowledged before the next.
fn commit_rows(engine: &dyn Engine, acknowledged: &AtomicU64) -> Result<()> {
    let mut client = Client::new(engine)?;
    client.worker().promise_to_wait(true);
    for key in 0.. {
        client.begin();
        client.put_number(key, 1)?;
        let durability = client.commit()?;
        client.worker().hasten();
        durability.wait()?;
        acknowledged.store(key + 1, Ordering::Release);
    }
    Ok(())
}

/// A session commits while the database is shut down: what was acknowledged is there at the next start, which
/// finds nothing after the recorded ends.
fn stop_beside(scenario: Scenario, round: u64) {
    let disk = SimulatedDisk::new(round);
    let engine = scenario.open(&disk).expect("an empty disk");
    create_tables(&*engine, IndexKind::Ordered).expect("the disk works");
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|threads| {
        let session = threads.spawn(|| commit_rows(&*engine, &acknowledged));
        while acknowledged.load(Ordering::Acquire) < 3 + round % 7 {
            std::thread::yield_now();
        }
        engine.shutdown().expect("the disk works");
        assert!(session.join().expect("it does not panic").is_err(), "the database has ended");
    });
    drop(engine);
    let engine = scenario.open(&disk).unwrap_or_else(|error| panic!("round {round}: {error}"));
    let rows = Observed::read(&*engine).expect("it is open").rows;
    for key in 0..acknowledged.load(Ordering::Acquire) {
        assert!(rows.contains_key(&key), "round {round}: row {key} was acknowledged");
    }
}

#[test]
fn a_stop_beside_a_lone_session_loses_nothing() {
    let run = || {
        for round in 0..ROUNDS {
            stop_beside(Scenario::serial(), round);
            stop_beside(Scenario::taurus(2), round);
            stop_beside(Scenario::silor(2), round);
            stop_beside(Scenario::plover(2), round);
            stop_beside(Scenario::taurus_graph(2), round);
            stop_beside(Scenario { stripes: 2, ..Scenario::serial() }, round);
        }
        Ok(())
    };
    assert_eq!(within(LIMIT, run), Ok(()));
}
