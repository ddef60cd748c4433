//! Logs whose records name those that they follow: what is dead, and what is replayed. The rows of the table
//! in the design are named as they are numbered there; those of the paper are "Taurus: A Parallel Transaction
//! Recovery Method Based on Fine-Granularity Dependency Tracking", 2016.

use std::sync::Arc;

use hyades_engine::inspect::Inspection;
use hyades_engine::log::manifest::{Checkpoint, Manifest};
use hyades_engine::lsn::Lsn;
use hyades_engine::protocol::RecordId;

use super::*;

/// As [`database`], with records that name others. Of the times that they have, too.
fn graph(logs: usize) -> (HandWritten, u64) {
    graph_of(logs, true)
}

/// Records without times are replayed after those that they name, others key by key.
fn graph_of(logs: usize, has_times: bool) -> (HandWritten, u64) {
    let disk = SimulatedDisk::new(1);
    let (written, _) = HandWritten::open(&disk, ProtocolKind::TaurusGraph, logs).expect("an empty disk");
    let mut written = if has_times { written.dated() } else { written };
    let end = written.append_naming(0, (&[], &vec![0; logs]), &[Change::CreateTable]);
    written.sync_all();
    (written, end)
}

/// Writes and syncs these logs, and no others.
fn sync(written: &mut HandWritten, logs: &[usize]) {
    for log in logs {
        written.write(*log);
        written.sync(*log);
    }
}

const NOTHING: &[u64] = &[];

/// Algorithm 3 waits for ever for a predecessor that never counts; row 20. Those after it are replayed.
#[test]
fn what_has_overwritten_something_lost_is_dead_and_stops_nothing() {
    for has_times in [true, false] {
        let (mut written, table) = graph_of(2, has_times);
        let kept = written.append_naming(0, (&[(0, table)], NOTHING), &[put(1, 1)]);
        let lost = written.append_naming(1, (&[(0, table)], NOTHING), &[put(2, 2)]);
        written.append_naming(0, (&[(1, lost)], NOTHING), &[put(2, 3)]);
        written.append_naming(0, (&[(0, kept)], NOTHING), &[put(1, 4)]);
        sync(&mut written, &[0]);
        let found = after_power_cut(&written).unwrap();
        assert_eq!(found.rows, rows(&[(1, 4)]));
        assert_eq!(found.recovered.report.discarded, 1);
    }
}

/// What it names is there, but that follows something that is not.
#[test]
fn death_is_passed_on_through_any_number_of_logs() {
    let (mut written, table) = graph(4);
    let lost = written.append_naming(3, (&[(0, table)], NOTHING), &[put(1, 1)]);
    let second = written.append_naming(2, (&[(3, lost)], NOTHING), &[put(1, 2)]);
    let third = written.append_naming(1, (&[(2, second)], NOTHING), &[put(1, 3)]);
    written.append_naming(0, (&[(0, table), (1, third)], NOTHING), &[put(1, 4)]);
    written.append_naming(1, (&[(0, table)], NOTHING), &[put(5, 5)]);
    sync(&mut written, &[0, 1, 2]);
    let found = after_power_cut(&written).unwrap();
    assert_eq!(found.rows, rows(&[(5, 5)]));
    assert_eq!(found.recovered.report.discarded, 3);
    sync(&mut written, &[3]);
    assert_eq!(after_power_cut(&written).unwrap().rows, rows(&[(1, 4), (5, 5)]));
}

/// Pitfall 8: it is of no concern that something else is lost, or dead, before what a record names.
#[test]
fn what_lies_before_a_predecessor_does_not_matter() {
    for has_times in [true, false] {
        let (mut written, table) = graph_of(3, has_times);
        let lost = written.append_naming(2, (&[(0, table)], NOTHING), &[put(9, 9)]);
        written.append_naming(1, (&[(2, lost)], NOTHING), &[put(8, 8)]);
        let named = written.append_naming(1, (&[(0, table)], NOTHING), &[put(1, 1)]);
        written.append_naming(0, (&[(1, named)], NOTHING), &[put(1, 2)]);
        sync(&mut written, &[0, 1]);
        assert_eq!(after_power_cut(&written).unwrap().rows, rows(&[(1, 2)]));
    }
}

/// Positions are closed, and count if the logs reach them.
#[test]
fn positions_count_if_the_logs_reach_them() {
    let (mut written, table) = graph(2);
    let first = written.append_naming(1, (&[(0, table)], NOTHING), &[put(1, 1)]);
    let second = written.append_naming(1, (&[(0, table)], NOTHING), &[put(2, 1)]);
    written.append_naming(0, (&[], &[table, first]), &[put(1, 2)]);
    written.append_naming(0, (&[], &[table, second]), &[put(2, 2)]);
    written.write_part(1, first as usize);
    written.sync(1);
    sync(&mut written, &[0]);
    let found = after_power_cut(&written).unwrap();
    assert_eq!((found.rows, found.recovered.report.discarded), (rows(&[(1, 2)]), 1));
}

/// What an anchor calls settled is not looked for.
#[test]
fn what_is_settled_counts_whether_it_is_named_or_not() {
    let (mut written, table) = graph(2);
    let first = written.append_naming(1, (&[(0, table)], NOTHING), &[put(1, 1)]);
    sync(&mut written, &[1]);
    written.append_anchor(0, &[table, first]);
    written.append_naming(0, (&[(1, first)], NOTHING), &[put(1, 2)]);
    written.append_naming(0, (&[], NOTHING), &[put(2, 2)]);
    sync(&mut written, &[0]);
    assert_eq!(after_power_cut(&written).unwrap().rows, rows(&[(1, 2), (2, 2)]));
}

/// Pitfall 15: the dead stay dead, because the manifest has them. The logs of the next incarnation may be as
/// long as those before it ever were.
#[test]
fn the_dead_stay_dead_after_more_crashes() {
    let (mut written, table) = graph(2);
    let lost = written.append_naming(1, (&[(0, table)], NOTHING), &[put(2, 2)]);
    let dead = written.append_naming(0, (&[(1, lost)], NOTHING), &[put(3, 3)]);
    sync(&mut written, &[0]);
    let disk = written.disk.after(PowerCut::LoseUnsynced);
    let (second, found) = HandWritten::open(&disk, ProtocolKind::TaurusGraph, 2).unwrap();
    assert_eq!(found.rows, rows(&[]));
    let incarnation = &found.recovered.manifest.incarnations[0];
    assert_eq!(incarnation.up_to_end.dead, [(0, dead)]);
    let mut second = second.dated();
    while second.end(1) <= lost {
        second.append_naming(1, (&[], NOTHING), &[put(4, 4)]);
    }
    second.sync_all();
    for _ in 0..2 {
        let found = after_power_cut(&second).unwrap();
        assert_eq!((found.rows, found.recovered.report.discarded), (rows(&[(4, 4)]), 1));
    }
}

/// A checkpoint's positions are what had a place when it was taken: they are not closed. X is below that of
/// its log, although Y, which it follows, is above that of its own and lost.
#[test]
fn what_had_a_place_when_a_checkpoint_was_taken_may_be_dead() {
    let (mut written, table) = graph(2);
    let lost = written.append_naming(0, (&[(0, table)], NOTHING), &[put(1, 1)]);
    let x = written.append_naming(1, (&[(0, lost)], NOTHING), &[put(1, 2)]);
    let z = written.append_naming(1, (&[(1, x)], NOTHING), &[put(1, 3)]);
    let w = written.append_naming(1, (&[(1, z)], NOTHING), &[put(1, 4)]);
    sync(&mut written, &[1]);
    let disk = written.disk.after(PowerCut::LoseUnsynced);
    let mut manifest = Manifest::load(&disk, &written.config.data_directory).unwrap().expect("there is one");
    manifest.checkpoints.push(Checkpoint {
        number: 1,
        incarnation: manifest.incarnations[0].number,
        from: vec![table, 0],
        raised: vec![table, 0],
        settled: vec![table, x],
        stamp: None,
        time: Some(2),
        is_phase_odd: false,
        contents_crc32c: 0,
    });
    manifest.store(&disk, &written.config.data_directory).unwrap();
    let inspection = Inspection::open_on(Arc::new(disk), &written.config.data_directory).unwrap();
    let cut = inspection.cut(inspection.incarnation(None).unwrap()).unwrap();
    assert_eq!(*cut.dead, [x, z, w].map(|end| RecordId::new(1, Lsn(end))));
}

#[test]
fn every_way_to_lose_unsynced_blocks_leaves_a_closed_graph() {
    let (mut written, table) = graph(3);
    let (mut last, mut ends) = ((0, table), Vec::new());
    for value in 0..30_i64 {
        let log = value as usize * 7 % 3;
        // A chain of all that set row 1, and beside it rows of their own, which only the chain's writer sets.
        last =
            (log, written.append_naming(log, (&[last], NOTHING), &[put(1, value), put(100 + value, value)]));
        ends.push(RecordId::new(last.0, Lsn(last.1)));
        written.write(log);
    }
    for seed in 0..100 {
        // Lost blocks before kept ones are a hole, as no real log has them.
        let Ok(found) = HandWritten::recover(&written.disk.after_power_cut(seed)) else { continue };
        let newest = found.rows.get(&1).copied().unwrap_or(-1);
        let expected: Vec<(i64, i64)> =
            std::iter::once((1, newest)).chain((0..=newest).map(|value| (100 + value, value))).collect();
        assert_eq!(found.rows, if newest < 0 { rows(&[]) } else { rows(&expected) }, "seed {seed}");
    }
}

#[test]
fn a_log_that_does_not_exist_is_damage_and_a_place_that_does_not_is_a_loss() {
    let naming = |named: (usize, u64)| {
        let (mut written, table) = graph(2);
        written.append_naming(0, (&[(0, table), named], NOTHING), &[put(1, 1)]);
        sync(&mut written, &[0]);
        after_power_cut(&written)
    };
    let error = naming((7, 8)).err().expect("refused");
    assert_eq!(error.sqlstate(), hyades_types::error::sqlstate::DATA_CORRUPTED, "{error}");
    let found = naming((1, 1 << 30)).unwrap();
    assert_eq!((found.rows, found.recovered.report.discarded), (rows(&[]), 1));
}
