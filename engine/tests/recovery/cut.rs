//! Which transactions count: LV and end covered by the ELV, record by record.

use super::*;

#[test]
fn an_empty_directory_is_an_empty_database() {
    let found = HandWritten::recover(&SimulatedDisk::new(0)).unwrap();
    assert_eq!((found.recovered.report.transactions, found.recovered.report.tables), (0, 0));
    assert_eq!(found.recovered.report.incarnations, 0);
}

#[test]
fn what_was_synced_is_recovered_and_reported() {
    let (mut written, table) = database(2);
    let first = written.append(0, &[table, 0], &[put(1, 10), put(2, 20)]);
    written.append(1, &[first, 0], &[put(1, 11), Change::Delete { key: 2 }]);
    written.sync_all();
    let found = after_power_cut(&written).unwrap();
    assert_eq!(found.rows, rows(&[(1, 11)]));
    let report = &found.recovered.report;
    assert_eq!((report.logs, report.incarnations, report.transactions), (2, 1, 3));
    assert_eq!((report.tables, report.rows, report.discarded), (1, 1, 0));
    assert_eq!(report.log_bytes, written.end(0) + written.end(1));
}

#[test]
fn an_unrelated_lost_predecessor_in_the_same_log_takes_nothing_with_it() {
    // Pitfall 8: X in log 0 depends on a record of log 1 that is lost. P and T come after X in log 0 and do
    // not depend on it. T may have been acknowledged, since its LV is durable.
    let (mut written, table) = database(2);
    let lost = written.append(1, &[table, 0], &[put(9, 9)]);
    written.append(0, &[table, lost], &[put(8, 8)]);
    let predecessor = written.append(0, &[table, 0], &[put(1, 10)]);
    written.append(0, &[predecessor, 0], &[put(1, 11)]);
    written.write(0);
    written.sync(0);
    let found = after_power_cut(&written).unwrap();
    assert_eq!(found.rows, rows(&[(1, 11)]));
    assert_eq!(found.recovered.report.discarded, 1);
}

#[test]
fn a_transaction_goes_with_what_it_depends_on_through_any_number_of_logs() {
    let (mut written, table) = database(3);
    let first = written.append(2, &[table, 0, 0], &[put(1, 1)]);
    let second = written.append(1, &[table, 0, first], &[put(1, 2)]);
    written.append(0, &[table, second, first], &[put(1, 3)]);
    for log in [0, 1] {
        written.write(log);
        written.sync(log);
    }
    assert_eq!(after_power_cut(&written).unwrap().rows, rows(&[]));
    written.write(2);
    written.sync(2);
    assert_eq!(after_power_cut(&written).unwrap().rows, rows(&[(1, 3)]));
}

#[test]
fn a_torn_tail_ends_the_log_at_the_last_whole_record() {
    let (mut written, table) = database(1);
    let first = written.append(0, &[table], &[put(1, 1)]);
    let second = written.append(0, &[first], &[put(2, 2)]);
    // The block holds the first record and a part of the second. The rest is never written.
    written.write_part(0, (second - table) as usize - 8);
    written.sync(0);
    let found = after_power_cut(&written).unwrap();
    assert_eq!(found.rows, rows(&[(1, 1)]));
    assert_eq!(found.recovered.manifest.incarnations[0].end, Some(vec![first]));
}

#[test]
fn every_way_to_lose_unsynced_blocks_leaves_a_closed_set() {
    let (mut written, table) = database(2);
    let mut ends = [table, 0];
    for value in 0..20 {
        let log = value as usize % 2;
        ends[log] = written.append(log, &ends, &[put(1, value), put(100 + value, value)]);
        written.write(log);
    }
    for seed in 0..100 {
        let disk = written.disk.after_power_cut(seed);
        let found = HandWritten::recover(&disk);
        // Lost blocks before kept ones are a hole. Here nothing was acknowledged, but no real log writes that
        // way.
        let Ok(found) = found else { continue };
        let count = found.rows.keys().filter(|key| **key >= 100).count() as i64;
        let mut expected: BTreeMap<i64, i64> = (0..count).map(|value| (100 + value, value)).collect();
        if count > 0 {
            expected.insert(1, count - 1);
        }
        assert_eq!(found.rows, expected, "seed {seed}");
    }
}

#[test]
fn anchors_compress_vectors_and_may_lie_inside_a_record() {
    let (mut written, table) = database(2);
    let first = written.append(1, &[table, 0], &[put(1, 1)]);
    let second = written.append(1, &[table, first], &[put(2, 2)]);
    // Log 1 is durable into the middle of its second record.
    let durable = second - 8;
    written.write_part(1, durable as usize);
    written.sync(1);
    written.append_anchor(0, &[table, durable]);
    // Compressed: both entries are covered by the anchor. It depends on the first record only.
    written.append(0, &[table, first], &[put(3, 3)]);
    written.write(0);
    written.sync(0);
    let found = after_power_cut(&written).unwrap();
    assert_eq!(found.rows, rows(&[(1, 1), (3, 3)]));
    assert_eq!(found.recovered.report.discarded, 0);
}

#[test]
fn fragments_count_only_with_their_last_one() {
    let (mut written, table) = database(2);
    let operations = hyades_sim::hand_written::encode_changes(&[put(1, 1), put(2, 2), put(3, 3)]);
    let (one, rest) = operations.split_at(10);
    let (two, three) = rest.split_at(10);
    written.append_fragment(0, 7, None, one);
    written.append(0, &[table, 0], &[put(4, 4)]);
    written.append_fragment(0, 8, None, &operations);
    written.append_fragment(0, 7, None, two);
    let end = written.append_fragment(0, 7, Some(&[table, 0]), three);
    written.append(1, &[end, 0], &[Change::Delete { key: 2 }]);
    written.sync_all();
    let found = after_power_cut(&written).unwrap();
    assert_eq!(found.rows, rows(&[(1, 1), (3, 3), (4, 4)]));
    let report = &found.recovered.report;
    assert_eq!((report.transactions, report.discarded), (4, 1));
}

#[test]
fn schema_changes_are_ordered_with_the_rows() {
    let (mut written, table) = database(2);
    let mut ends = [table, 0];
    ends[1] = written.append(1, &ends, &[put(1, 1)]);
    ends[0] = written.append(0, &ends, &[Change::Truncate]);
    written.append_filler(0, 64);
    ends[1] = written.append(1, &ends, &[put(2, 2)]);
    written.sync_all();
    assert_eq!(after_power_cut(&written).unwrap().rows, rows(&[(2, 2)]));
    ends[0] = written.append(0, &ends, &[Change::DropTable]);
    written.sync_all();
    assert_eq!(after_power_cut(&written).unwrap().recovered.report.tables, 0);
    written.append(1, &ends, &[put(3, 3)]);
    written.sync_all();
    let message = refused(after_power_cut(&written));
    assert!(message.contains("does not exist"), "{message}");
}

#[test]
fn logs_larger_than_a_segment_and_a_chunk_come_back_whole() {
    let (mut written, table) = database(2);
    let mut ends = [table, 0];
    for value in 0..20_000 {
        let log = (value % 7 % 2) as usize;
        let vector = if value % 5 == 0 { ends } else { [table, 0] };
        ends[log] = written.append(log, &vector, &[put(value, value), put(-1 - value, value)]);
        if value % 100 == 99 {
            written.sync_all();
            written.append_anchor(0, &ends);
            ends[0] = written.end(0);
        }
    }
    written.sync_all();
    let found = after_power_cut(&written).unwrap();
    assert_eq!(found.rows.len(), 40_000);
    assert_eq!(found.recovered.report.transactions, 20_001);
}

#[test]
fn a_serial_log_needs_no_vectors() {
    let disk = SimulatedDisk::new(1);
    let (mut written, _) = HandWritten::open(&disk, ProtocolKind::Serial, 3).unwrap();
    written.append(0, &[], &[Change::CreateTable]);
    for value in 0..50 {
        written.append(0, &[], &[put(1, value), put(value, value)]);
    }
    written.write(0);
    written.sync(0);
    let found = after_power_cut(&written).unwrap();
    assert_eq!((found.rows.len(), found.rows[&1]), (50, 49));
    assert_eq!(found.recovered.report.logs, 1);
}

/// A backup copies logs that grow, one after another. An anchor in the second one calls durable what was
/// appended to the first one after that was copied, and a record after it leaves that out of its vector.
#[test]
fn what_follows_something_that_was_not_copied_does_not_count() {
    use hyades_engine::log::manifest::{Manifest, UpToEnd};
    use hyades_engine::lsn::LsnVector;

    for protocol in [ProtocolKind::Taurus, ProtocolKind::TaurusGraph] {
        let (mut written, _) = HandWritten::open(&SimulatedDisk::new(1), protocol, 2).unwrap();
        written = written.dated();
        let append =
            |written: &mut HandWritten, log: usize, vector: &[u64], changes: &[Change]| match protocol {
                ProtocolKind::Taurus => written.append(log, vector, changes),
                _ => written.append_naming(log, (&[], vector), changes),
            };
        let table = append(&mut written, 0, &[0, 0], &[Change::CreateTable]);
        let kept = append(&mut written, 1, &[table, 0], &[put(2, 2)]);
        let missing = append(&mut written, 0, &[table, 0], &[put(1, 1)]);
        written.append_anchor(1, &[missing, kept]);
        append(&mut written, 1, &[missing, kept], &[put(1, 2), put(3, 3)]);
        written.sync_all();
        let (disk, directory) = (written.disk.clone(), written.config.data_directory.clone());
        let mut manifest = Manifest::load(&disk, &directory).unwrap().expect("there is one");
        let copied = LsnVector::from_slice(&[table, written.end(1)]);
        manifest.incarnations[0].freeze(&copied, UpToEnd::unknown());
        manifest.store(&disk, &directory).unwrap();
        let found = HandWritten::recover(&disk).unwrap();
        assert_eq!(found.rows, rows(&[(2, 2)]), "{protocol:?}");
        assert!(found.recovered.manifest.incarnations[0].end < Some(copied.entries().to_vec()));
    }
}
