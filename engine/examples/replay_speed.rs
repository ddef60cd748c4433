//! How fast transfers over two logs are replayed: key by key, and in the order in which they follow each
//! other, by one worker, by several, and by as many as the contention allows.
//!
//! `cargo run --release -p hyades-engine --example replay_speed [TRANSFERS]`
//!
//! A million transfers, or so many, are generated onto a simulated disk, over many accounts and over few, and
//! recovered from there. Every replay must end in the same state. This is an example and not a test because
//! the result depends on the machine.

use std::sync::Arc;

use hyades_engine::config::{Config, ProtocolKind, RecoveryMode};
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::free_dropped;
use hyades_sim::disk::SimulatedDisk;
use hyades_sim::hand_written::{Change, HandWritten};

/// The server's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ACCOUNTS: u64 = 1_000_000;
const TRANSFERS: u64 = 1_000_000;
/// After this many transfers of one log a block is written and an anchor follows: about what a log collects
/// during one sync.
const GROUP: u64 = 500;

/// A generator good enough to scatter keys (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Transfers over two logs, with the dependencies that two-phase locking would find: the last writers of both
/// accounts.
fn write_transfers(hot_accounts: u64, transfers: u64) -> HandWritten {
    let disk = SimulatedDisk::new(1);
    let (written, _) = HandWritten::open(&disk, ProtocolKind::Taurus, 2).expect("an empty disk");
    let mut written = written.dated();
    let mut created = written.append(0, &[0, 0], &[Change::CreateTable]);
    for first in (0..hot_accounts).step_by(1000) {
        let load: Vec<Change> = (first..hot_accounts.min(first + 1000))
            .map(|key| Change::Put { key: key as i64, value: 0 })
            .collect();
        created = written.append(0, &[created, 0], &load);
    }
    written.sync_all();
    let mut anchor = [written.end(0), written.end(1)];
    let mut last_writer = vec![[0_u64; 2]; hot_accounts as usize];
    let mut random = Random(42);
    for number in 0..transfers {
        let log = (number % 2) as usize;
        let (from, to) = (random.next(hot_accounts), random.next(hot_accounts));
        let mut vector = [created, 0];
        for account in [from, to] {
            for (entry, other) in vector.iter_mut().zip(last_writer[account as usize]) {
                *entry = (*entry).max(other);
            }
        }
        let amount = random.next(1000) as i64;
        let puts =
            [Change::Put { key: from as i64, value: -amount }, Change::Put { key: to as i64, value: amount }];
        let end = written.append(log, &vector, &puts);
        vector[log] = end;
        last_writer[from as usize] = vector;
        last_writer[to as usize] = vector;
        if number % (2 * GROUP) == 2 * GROUP - 1 {
            written.write(0);
            written.write(1);
            written.append_anchor(0, &anchor);
            written.append_anchor(1, &anchor);
            anchor = [written.end(0), written.end(1)];
        }
    }
    written.sync_all();
    written
}

/// On a machine that does other work this says more than wall-clock time.
fn processor_seconds() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

fn main() {
    let transfers = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(TRANSFERS);
    for hot_accounts in [ACCOUNTS, 10_000, 1000, 10] {
        let written = write_transfers(hot_accounts, transfers);
        let bytes = written.end(0) + written.end(1);
        let mut hashes = Vec::new();
        let by_key = ("key by key", false, RecoveryMode::Auto);
        let serial = ("one after the other", true, RecoveryMode::Serial);
        let parallel = ("as they follow", true, RecoveryMode::Parallel);
        let auto = ("as they follow, or one", true, RecoveryMode::Auto);
        let runs = [(1, by_key), (2, by_key), (1, serial), (2, parallel), (2, auto)];
        let more = [(4, by_key), (4, parallel)];
        for (workers, (name, replays_by_position, recovery_mode)) in runs.into_iter().chain(runs).chain(more)
        {
            // The catalog of the run before.
            free_dropped();
            let databases = Arc::new(Databases::new());
            let config = Config {
                recovery_workers: workers,
                recovery_mode,
                replays_by_position,
                ..written.config.clone()
            };
            let processor_before = processor_seconds();
            let report = recover(&config, None, &databases).expect("a sound log").report;
            let processor = processor_seconds() - processor_before;
            println!(
                "{hot_accounts} accounts, {workers} workers, {name}{}: {:.2} s, {:.2} M transactions/s, {:.0} ns of processor and {} bytes each",
                if report.was_serial && recovery_mode == RecoveryMode::Auto {
                    " (one worker took over)"
                } else {
                    ""
                },
                report.seconds,
                report.transactions as f64 / report.seconds / 1e6,
                processor * 1e9 / transfers as f64,
                bytes / transfers
            );
            hashes.push(state_hash(&databases).expect("sound rows"));
        }
        assert!(hashes.iter().all(|hash| *hash == hashes[0]));
    }
}
