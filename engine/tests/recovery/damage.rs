//! What is refused, with file, offset and reason, while nothing is touched.

use std::path::Path;

use hyades_engine::disk::Disk;

use super::*;

/// Three synced blocks in each of two logs, with an anchor that calls the first two durable.
fn three_blocks() -> HandWritten {
    let (mut written, table) = database(2);
    for value in 0..2 {
        written.append(0, &[table, 0], &[put(value, value)]);
        written.append(1, &[table, 0], &[put(10 + value, value)]);
        written.sync_all();
    }
    let durable = [written.end(0), written.end(1)];
    written.append_anchor(1, &durable);
    written.append(0, &[table, 0], &[put(3, 3)]);
    written.append(1, &[table, 0], &[put(13, 3)]);
    written.sync_all();
    written
}

/// Asserts that recovery refuses with these words and leaves every byte as it was.
fn assert_refused(disk: &SimulatedDisk, words: &[&str]) {
    let before: Vec<_> = disk.paths().into_iter().map(|path| (disk.content(&path).ok(), path)).collect();
    let message = refused(HandWritten::recover(disk));
    for word in words {
        assert!(message.contains(word), "{message:?} lacks {word:?}");
    }
    let after: Vec<_> = disk.paths().into_iter().map(|path| (disk.content(&path).ok(), path)).collect();
    assert!(before == after, "the disk was changed");
}

#[test]
fn a_corrupt_byte_in_the_middle_is_refused_with_its_place() {
    let written = three_blocks();
    for log in 0..2 {
        let (path, next) = written.next_block(log);
        let disk = written.disk.after(PowerCut::LoseUnsynced);
        // The block before the last one.
        let offset = next - 2 * 4096;
        disk.flip_bit(&path, offset + 60, 3).unwrap();
        assert_refused(&disk, &[&path.display().to_string(), &offset.to_string(), "checksum"]);
    }
}

#[test]
fn a_lost_tail_is_corruption_if_an_anchor_of_another_log_calls_it_durable() {
    let (mut written, table) = database(2);
    written.append(0, &[table, 0], &[put(1, 1)]);
    written.write(0);
    // Never synced, but the other log says so.
    let durable = [written.end(0), 0];
    written.append_anchor(1, &durable);
    written.write(1);
    written.sync(1);
    let disk = written.disk.after(PowerCut::LoseUnsynced);
    assert_refused(&disk, &["log-0", "durable"]);
    let kept = HandWritten::recover(&written.disk.after(PowerCut::KeepUnsynced)).unwrap();
    assert_eq!(kept.rows, rows(&[(1, 1)]));
}

#[test]
fn a_torn_last_block_that_nothing_calls_durable_is_accepted() {
    let written = three_blocks();
    let (path, next) = written.next_block(0);
    let disk = written.disk.after(PowerCut::LoseUnsynced);
    disk.flip_bit(&path, next - 4096 + 60, 0).unwrap();
    let found = HandWritten::recover(&disk).unwrap();
    assert_eq!(found.rows, rows(&[(0, 0), (1, 1), (10, 0), (11, 1), (13, 3)]));
}

#[test]
fn a_damaged_block_of_an_ended_incarnation_is_refused() {
    let written = three_blocks();
    let disk = written.disk.after(PowerCut::LoseUnsynced);
    let (path, next) = written.next_block(0);
    HandWritten::open(&disk, ProtocolKind::Taurus, 2).unwrap();
    // The last block could be a torn tail, but the manifest says that it counts.
    disk.flip_bit(&path, next - 4096 + 60, 0).unwrap();
    assert_refused(&disk, &[&path.display().to_string(), "checksum"]);
}

#[test]
fn every_flipped_bit_is_noticed_or_harmless() {
    let written = three_blocks();
    let expected = after_power_cut(&written).unwrap().rows;
    let whole = written.disk.after(PowerCut::LoseUnsynced);
    for log in 0..2 {
        let (path, end) = written.next_block(log);
        for offset in (0..end).step_by(29) {
            let disk = whole.after(PowerCut::KeepUnsynced);
            disk.flip_bit(&path, offset, (offset % 8) as u32).unwrap();
            if let Ok(found) = HandWritten::recover(&disk) {
                let is_last_block = offset >= end - 4096;
                let lost_last = found.rows.len() == expected.len() - 1;
                assert!(found.rows == expected || (is_last_block && lost_last), "log {log}, byte {offset}");
            }
        }
    }
}

#[test]
fn a_missing_log_is_named() {
    let written = three_blocks();
    let disk = written.disk.after(PowerCut::LoseUnsynced);
    let (path, _) = written.next_block(1);
    disk.remove(&path).unwrap();
    assert_refused(&disk, &["missing", "log-1"]);
}

#[test]
fn foreign_files_and_directories_are_refused() {
    let disk = three_blocks().disk.after(PowerCut::LoseUnsynced);
    disk.create(Path::new("/data/logs/log-0/letter.txt")).unwrap();
    assert_refused(&disk, &["letter.txt", "no log file"]);

    let other = SimulatedDisk::new(2);
    other.create_directory(Path::new("/data")).unwrap();
    other.create(Path::new("/data/photo.jpg")).unwrap();
    assert_refused(&other, &["photo.jpg"]);
}

#[test]
fn a_segment_of_another_database_is_refused() {
    let (one, other) = (three_blocks(), three_blocks());
    let disk = one.disk.after(PowerCut::LoseUnsynced);
    let (path, _) = one.next_block(1);
    disk.remove(&path).unwrap();
    let copy = disk.create(&path).unwrap();
    copy.write_at(0, &other.disk.content(&path).unwrap()).unwrap();
    assert_refused(&disk, &["another database", "log-1"]);
}

#[test]
fn another_number_of_logs_than_the_manifest_says_is_refused() {
    let (mut written, _) = database(2);
    written.append_anchor(0, &[0, 0, 0]);
    written.sync_all();
    assert_refused(&written.disk.after(PowerCut::LoseUnsynced), &["3 logs", "manifest says 2"]);
}

#[test]
fn a_transaction_that_depends_on_itself_is_refused() {
    let (mut written, table) = database(2);
    let end = written.end(0);
    let record = written.append(0, &[table, 0], &[put(1, 1)]) - end;
    let own_end = written.end(0) + record;
    written.append(0, &[own_end, 0], &[put(1, 1)]);
    written.sync_all();
    assert_refused(&written.disk.after(PowerCut::LoseUnsynced), &["log 0", "appended after it"]);
}

#[test]
fn changes_of_a_table_that_does_not_exist_are_refused() {
    let disk = SimulatedDisk::new(1);
    let (mut written, _) = HandWritten::open(&disk, ProtocolKind::Taurus, 1).unwrap();
    written.append(0, &[0], &[put(1, 1)]);
    written.sync_all();
    assert_refused(&disk, &["table 16384", "does not exist"]);
}
