//! Records that wait for each other all the time: one worker takes over, and the state is the same (Taurus,
//! section 3.5).

use std::sync::Arc;

use hyades_engine::config::{Config, RecoveryMode};
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::databases::Databases;

use super::*;

/// Every transaction follows those before it, now in this log and now in that.
fn write_a_chain(written: &mut HandWritten, table: u64, transactions: i64) -> i64 {
    let mut ends = [table, 0];
    for number in 0..transactions {
        let log = (number.wrapping_mul(7) / 3 % 2) as usize;
        ends[log] = written.append(log, &ends, &[put(number % 3, number)]);
        if number % 1000 == 999 {
            written.write(0);
            written.write(1);
        }
    }
    written.sync_all();
    transactions
}

#[test]
fn a_chain_through_two_logs_is_left_to_one_worker_and_the_state_is_the_same() {
    let (mut written, table) = database(2);
    let last = write_a_chain(&mut written, table, 70_000) - 1;
    let mut hashes = Vec::new();
    for (recovery_mode, was_serial) in
        [(RecoveryMode::Parallel, false), (RecoveryMode::Serial, true), (RecoveryMode::Auto, true)]
    {
        let databases = Arc::new(Databases::new());
        let config = Config { recovery_workers: 3, recovery_mode, ..written.config.clone() };
        let report = recover(&config, None, &databases).unwrap().report;
        assert_eq!((report.was_serial, report.transactions), (was_serial, 70_001), "{recovery_mode:?}");
        hashes.push(state_hash(&databases).unwrap());
    }
    assert!(hashes.iter().all(|hash| *hash == hashes[0]));
    let found = after_power_cut(&written).unwrap();
    assert_eq!(found.rows, rows(&[(0, last), (1, last - 2), (2, last - 1)]));
}
