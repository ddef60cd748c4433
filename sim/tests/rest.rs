//! A database without clients comes to rest: nothing is left to purge, and nothing more is written.

use std::time::{Duration, Instant};

use hyades_engine::db::Engine;
use hyades_sim::client::{Client, create_tables};
use hyades_sim::crash::Scenario;
use hyades_sim::disk::SimulatedDisk;
use hyades_types::definition::IndexKind;

const LIMIT: Duration = Duration::from_secs(60);
/// Longer than the interval between any two automatic actions.
const QUIET: Duration = Duration::from_secs(3);

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the disk has had nothing to do for a while.
fn wait_for_quiet(disk: &SimulatedDisk) {
    let end = Instant::now() + LIMIT;
    let (mut operations, mut since) = (disk.operations(), Instant::now());
    while since.elapsed() < QUIET {
        assert!(Instant::now() < end, "the disk never rests: {operations} operations");
        std::thread::sleep(Duration::from_millis(10));
        if disk.operations() != operations {
            (operations, since) = (disk.operations(), Instant::now());
        }
    }
}

fn burst(engine: &dyn Engine, keys: u64) {
    let mut clients: Vec<Client> = (0..2).map(|_| Client::new(engine).expect("a client")).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let own = (0..keys).map(|key| key * 2 + number as u64);
        client.begin();
        own.clone().for_each(|key| client.put_number(key, 1).expect("put"));
        client.commit().expect("commits");
        for key in own {
            client.begin();
            client.delete_number(key).expect("deleted");
            client.commit().expect("commits");
        }
    }
}

#[test]
fn after_a_burst_of_deletes_an_idle_database_comes_to_rest() {
    for scenario in [
        Scenario::taurus(2),
        Scenario::taurus(4),
        Scenario::serial(),
        Scenario::silor(2),
        Scenario::plover(2),
        Scenario::taurus_graph(2),
    ] {
        let disk = SimulatedDisk::new(1);
        let engine = scenario.open(&disk).expect("opens");
        // Schema changes leave vectors with positions in all logs.
        create_tables(&*engine, IndexKind::Ordered).expect("tables");
        for keys in [50, 3] {
            burst(&*engine, keys);
            wait_until("nothing is left to purge", || engine.tombstones() == 0);
            wait_for_quiet(&disk);
        }
        engine.shutdown().expect("nothing failed");
    }
}
