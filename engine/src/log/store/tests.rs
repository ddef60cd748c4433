//! Writing segments and reading them back, whole and damaged: every row of the table in `reader`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};
use proptest::prelude::*;
use uuid::Uuid;

use super::block::{
    BLOCK_HEADER_BYTES, BlockHeader, MAX_BLOCK_BYTES, MAX_PAYLOAD_BYTES, check_block, decode_block_header,
    encode_block_header,
};
use super::block_buffer::BlockBuffer;
use super::old_set::FileLogs;
use super::preparer::Preparer;
use super::room::Room;
use super::segment::{Prepared, SegmentSupply};
use super::striped::StripedLogStore;
use super::trim::trim_log;
use super::writer::{BlockWriter, FileLogStore};
use super::*;
use crate::disk::controlled::ControlledDisk;
use crate::disk::{Disk, LEAST_SECTOR_BYTES, SECTOR_BYTES};
use crate::log::buffer::{LogBuffer, MIN_BUFFER_BYTES};
use crate::log::record::{RECORD_FORMAT_VERSION, RecordBody, filler_header};
use crate::log::set::{LogEnd, LogSet, LogSource, LogStore, Tail};
use crate::lsn::Lsn;

const SECTOR: u64 = SECTOR_BYTES as u64;

fn identity() -> LogIdentity {
    LogIdentity { database: Uuid::from_u128(42), incarnation: 3, log: 1 }
}

fn directory() -> PathBuf {
    PathBuf::from("logs/log-1")
}

struct Written {
    disk: ControlledDisk,
    shared: Arc<dyn Disk>,
    files: LogFiles,
    /// Of the first stripe.
    supply: Arc<SegmentSupply>,
    store: Box<dyn LogStore>,
    block: BlockBuffer,
    position: u64,
}

fn stripe_directory(stripe: usize) -> PathBuf {
    if stripe == 0 { directory() } else { directory().join(format!("stripe-{stripe}")) }
}

/// A log whose segments have room for four sectors each.
fn new_log() -> Written {
    striped_log(1)
}

fn supply(
    disk: &Arc<dyn Disk>,
    identity: LogIdentity,
    room: &Arc<Room>,
    stripe: usize,
) -> Arc<SegmentSupply> {
    let sizes = (5 * SECTOR, 2 * 5 * SECTOR);
    Arc::new(SegmentSupply::new(disk, stripe_directory(stripe), identity, sizes, room, stripe))
}

/// The same with several stripes.
fn striped_log(stripes: usize) -> Written {
    log_on(ControlledDisk::shared(), stripes)
}

/// The same on a device with sectors of 512 bytes.
fn log_of_small_sectors(stripes: usize) -> Written {
    let (disk, shared) = ControlledDisk::shared();
    disk.make_sectors_small();
    log_on((disk, shared), stripes)
}

fn log_on((disk, shared): (ControlledDisk, Arc<dyn Disk>), stripes: usize) -> Written {
    let (buffer, _reader) = LogBuffer::new(MIN_BUFFER_BYTES);
    let room = Arc::new(Room::new(&buffer, stripes));
    let supplies: Vec<_> = (0..stripes).map(|stripe| supply(&shared, identity(), &room, stripe)).collect();
    supplies.iter().try_for_each(|supply| supply.prepare_first()).expect("an empty disk");
    let preparer = Arc::new(Preparer::new(supplies.clone()));
    let writer = |supply: &Arc<SegmentSupply>| {
        let sector_bytes = supply.sector_bytes(None).expect("a size");
        BlockWriter::new(supply, &preparer, sector_bytes)
    };
    let store: Box<dyn LogStore> = match supplies.as_slice() {
        [supply] => Box::new(FileLogStore::new(writer(supply))),
        _ => {
            let writers = supplies.iter().map(writer).collect();
            Box::new(StripedLogStore::start(1, writers, &buffer).expect("threads"))
        }
    };
    let files = LogFiles {
        identity: identity(),
        directories: (0..stripes).map(stripe_directory).collect(),
        first_segments: vec![1; stripes],
        start: Lsn::ZERO,
        prepared_ahead: None,
    };
    let (supply, block) = (Arc::clone(&supplies[0]), BlockBuffer::default());
    Written { disk, shared, files, supply, store, block, position: 0 }
}

impl Written {
    /// Appends one filler record of `length` bytes in as many blocks as needed, with at most `payload` bytes
    /// in each.
    fn append(&mut self, length: usize, payload: usize) {
        let mut bytes = filler_header(length as u32).to_vec();
        bytes.resize(length, 0xab);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let Some(room) = self.store.room().expect("room") else {
                self.store.wait_for_durable().expect("written");
                continue;
            };
            let piece = rest.len().min(room).min(payload);
            self.block.payload_mut(piece).copy_from_slice(&rest[..piece]);
            self.store.submit(&mut self.block, Lsn(self.position)).expect("written");
            self.position += piece as u64;
            rest = &rest[piece..];
        }
    }

    /// Waits until everything appended is durable.
    fn finish(&mut self) {
        let mut durable = 0;
        while let Ok(block) = self.store.wait_for_durable() {
            assert!(block.end.0 > durable, "in the order of the stream");
            durable = block.end.0;
        }
        assert_eq!(durable, self.position);
    }

    fn path(&self, sequence: u64) -> PathBuf {
        segment_path(&directory(), identity().incarnation, sequence)
    }

    fn open(&self) -> Result<LogReader> {
        LogReader::open(&self.shared, &self.files)
    }

    /// Record lengths, and the end.
    fn read(&self) -> Result<(Vec<u64>, LogEnd)> {
        let mut reader = self.open()?;
        let mut lengths = Vec::new();
        let mut position = Lsn::ZERO;
        while let Some(chunk) = reader.next_chunk()? {
            assert_eq!(chunk.start, position);
            for record in chunk.records() {
                let record = record.expect("well-formed");
                assert_eq!(record.body, RecordBody::Filler);
                lengths.push(record.end.0 - record.start.0);
            }
            position = chunk.end();
        }
        let end = reader.end().expect("it has ended").clone();
        assert_eq!(end.whole_records, position);
        Ok((lengths, end))
    }

    fn damage(&self, sequence: u64, offset: u64) {
        self.disk.edit(&self.path(sequence), |bytes| bytes[offset as usize] ^= 0x10);
    }
}

fn message(error: &Error) -> String {
    assert!(matches!(error, Error::Fatal(_)), "{error:?}");
    error.to_string()
}

#[test]
fn records_cross_blocks_and_segments() {
    let mut log = new_log();
    let lengths = [16, 4000, 8, 9000, 40_000, 64];
    for length in lengths {
        log.append(length, 3000);
    }
    let (read, end) = log.read().expect("undamaged");
    assert_eq!(read, lengths.map(|length| length as u64));
    assert_eq!(end.position, Lsn(log.position));
    assert_eq!(end.tail, Tail::Clean);
    assert!(log.disk.exists(&log.path(4)), "several segments were used");
    end.check(Lsn(log.position)).expect("all there");
    assert!(end.check(Lsn(log.position + 8)).is_err(), "an anchor claims more");
}

#[test]
fn a_stretch_is_read_from_the_block_in_which_it_begins() {
    let mut log = new_log();
    for length in [16, 4000, 8, 9000, 40_000, 64, 8, 8, 2000] {
        log.append(length, 3000);
    }
    let (mut reader, mut stream, mut places) = (log.open().expect("a log"), Vec::new(), Vec::new());
    while let Some(chunk) = reader.next_chunk().expect("undamaged") {
        let starts = chunk.records().map(|record| record.expect("well-formed").start);
        places.extend(starts.map(|start| (start.0, chunk.block_with(start).expect("it is in a block"))));
        stream.extend_from_slice(&chunk.bytes);
    }
    let set = FileLogs { disk: Arc::clone(&log.shared), logs: vec![log.files.clone()] };
    let end = stream.len() as u64;
    for (place, (start, block)) in places.iter().enumerate() {
        let ends = places[place + 1..].iter().map(|(next, _)| *next).chain([end]);
        for end in ends {
            let read = set.read_stretch(0, *block, *start..end).expect("undamaged");
            assert_eq!(read, stream[*start as usize..end as usize], "{start} to {end}");
        }
    }
    let (start, block) = places[4];
    assert!(block.segment < 3 && log.disk.exists(&log.path(4)), "it goes on in other segments");
    log.damage(3, SECTOR + 100);
    let error = set.read_stretch(0, block, start..end).expect_err("a block is damaged");
    assert!(message(&error).contains("a block is not what it was"), "{error}");
}

#[test]
fn an_empty_log_and_a_closed_one_end_cleanly() {
    let mut log = new_log();
    let (read, end) = log.read().expect("undamaged");
    assert_eq!((read.len(), end.position, end.tail), (0, Lsn::ZERO, Tail::Clean));
    log.append(16, 16);
    let before = log.disk.used_bytes();
    log.store.close();
    assert_eq!(log.disk.used_bytes(), before, "the manifest does not know yet where the log ends");
    log.supply.give_back_unused();
    assert!(log.disk.used_bytes() < before, "unused space was given back");
    let (read, end) = log.read().expect("undamaged");
    assert_eq!((read, end.tail), (vec![16], Tail::Clean));
}

#[test]
fn a_lone_record_takes_one_sector_of_the_device() {
    for (mut log, sector) in [(new_log(), SECTOR), (log_of_small_sectors(1), LEAST_SECTOR_BYTES as u64)] {
        let mut lengths = Vec::new();
        for length in [64, 456, 464] {
            log.append(length, MAX_PAYLOAD_BYTES);
            lengths.push(length as u64);
        }
        let (read, end) = log.read().expect("undamaged");
        let taken = 2 + (BLOCK_HEADER_BYTES as u64 + 464).div_ceil(sector);
        assert_eq!((read, end.tail, end.offset), (lengths, Tail::Clean, SECTOR + taken * sector));
    }
}

/// A segment has room for 32 small sectors, and the last ones are used, too.
#[test]
fn small_sectors_are_read_back_across_segments_and_stripes() {
    for stripes in [1, 3] {
        let mut log = log_of_small_sectors(stripes);
        let lengths = [16, 440, 456, 464, 4000, 9000, 40_000, 64, 8];
        for _ in 0..5 {
            lengths.into_iter().for_each(|length| log.append(length, 3000));
        }
        log.finish();
        let (read, end) = log.read().expect("undamaged");
        assert_eq!(read, lengths.map(|length| length as u64).repeat(5));
        assert_eq!((end.position, end.tail), (Lsn(log.position), Tail::Clean));
    }
    let mut log = log_of_small_sectors(1);
    (0..32).for_each(|_| log.append(64, MAX_PAYLOAD_BYTES));
    let first = log.disk.content(&log.path(1));
    assert!(first[SECTOR_BYTES..].chunks(LEAST_SECTOR_BYTES).all(|sector| sector[0] != 0));
    assert!(!log.disk.exists(&log.path(2)) || log.disk.content(&log.path(2)).iter().all(|byte| *byte == 0));
}

#[test]
fn damage_of_small_sectors_is_told_apart_as_that_of_large_ones() {
    let small = LEAST_SECTOR_BYTES as u64;
    let mut log = log_of_small_sectors(1);
    (0..40).for_each(|_| log.append(64, MAX_PAYLOAD_BYTES));
    // In the middle of a sector of 4096 bytes, the last block of a file, in a segment header.
    for (sequence, offset) in [(1, SECTOR + 3 * small + 7), (1, 5 * SECTOR - small + 60), (2, 9)] {
        log.damage(sequence, offset);
        let (_, end) = log.read().expect("classified");
        assert!(matches!(end.tail, Tail::Hole(..)), "{sequence} {offset}: {:?}", end.tail);
        log.damage(sequence, offset);
    }
    // The last block. Its neighbours are undamaged.
    let last = SECTOR + 7 * small;
    log.damage(2, last + 60);
    let (read, end) = log.read().expect("a crash explains it");
    assert_eq!((read.len(), end.offset), (39, last));
    assert!(matches!(end.tail, Tail::Torn(_)), "{:?}", end.tail);
    log.damage(2, last + 60);
    log.disk.edit(&log.path(2), |bytes| bytes[last as usize..].fill(0));
    assert_eq!(log.read().expect("a crash explains it").1.tail, Tail::Clean);
    // Everything that ended logs do not need is given back.
    assert_eq!(trim_log(&log.shared, &log.files, 0).expect("trimmed"), 1);
    let (read, end) = log.read().expect("undamaged");
    assert_eq!((read.len(), end.tail), (39, Tail::Clean));
}

/// Two are kept, the others are removed. A spare that becomes a segment again holds nothing of its old
/// content.
#[test]
fn segments_that_are_given_up_become_segments_again() {
    let mut log = new_log();
    let spare = |sequence| directory().join(format!("00000003-{sequence:08}.spare"));
    let append =
        |log: &mut Written, blocks: usize| (0..blocks).for_each(|_| log.append(64, MAX_PAYLOAD_BYTES));
    append(&mut log, 4 * 5);
    while log.supply.prepare() != Prepared::Enough {}
    let whole = log.disk.content(&log.path(4));
    log.supply.give_up_before(4);
    let names = |log: &Written| {
        let mut names = log.disk.list(&directory()).expect("listed");
        names.sort();
        names
    };
    let kept = names(&log).iter().filter(|name| name.ends_with(".spare")).count();
    assert_eq!(kept, 2);
    assert!((1..4).all(|sequence| !log.disk.exists(&log.path(sequence))));
    let before = log.disk.used_bytes();
    append(&mut log, 4 * 2);
    while log.supply.prepare() != Prepared::Enough {}
    assert_eq!(log.disk.used_bytes(), before, "of the spares");
    assert!((1..4).all(|sequence| !log.disk.exists(&spare(sequence))));
    let ahead = names(&log).pop().expect("some");
    assert!(log.disk.content(&directory().join(ahead)).iter().all(|byte| *byte == 0));
    assert_eq!(log.disk.content(&log.path(4)), whole);
    (log.files.first_segments, log.files.start) = (vec![4], Lsn(3 * 4 * 64));
    let mut reader = log.open().expect("undamaged");
    while reader.next_block().expect("undamaged") {}
    let end = reader.end().expect("it has ended");
    assert_eq!((end.position, &end.tail), (Lsn(log.position), &Tail::Clean));
    // The process ends and leaves none. The next start finds what a killed process has left.
    append(&mut log, 4 * 2);
    log.supply.give_up_before(6);
    let left =
        names(&log).into_iter().filter(|name| name.ends_with(".spare")).map(|name| directory().join(name));
    let left: Vec<_> = left.collect();
    assert!(!left.is_empty());
    let next = LogIdentity { incarnation: 4, ..identity() };
    let (buffer, _reader) = LogBuffer::new(MIN_BUFFER_BYTES);
    let next = supply(&log.shared, next, &Arc::new(Room::new(&buffer, 1)), 0);
    assert_eq!(next.examine(|_| false).expect("nothing stands in the way"), left);
    log.supply.give_back_unused();
    assert!(left.iter().all(|path| !log.disk.exists(path)));
}

#[test]
fn spares_are_segments_although_the_disk_is_full() {
    let mut log = new_log();
    (0..4 * 5).for_each(|_| log.append(64, MAX_PAYLOAD_BYTES));
    log.supply.give_up_before(3);
    log.disk.limit_space(1);
    let is_spare = |name: &String| name.ends_with(".spare");
    let spares =
        |log: &Written| log.disk.list(&directory()).expect("listed").into_iter().filter(is_spare).count();
    assert_eq!(spares(&log), 2);
    assert_eq!(log.supply.prepare(), Prepared::Piece, "it takes no more space");
    assert_eq!(spares(&log), 1);
    log.supply.take().expect("there is one");
}

#[test]
fn a_torn_last_block_is_a_torn_tail() {
    let mut log = new_log();
    log.append(100 * 8, MAX_PAYLOAD_BYTES);
    log.append(100 * 8, MAX_PAYLOAD_BYTES);
    // Any damage in header or payload, and a block of which nothing arrived.
    for offset in [0, 5, 10, 20, 35, 45, BLOCK_HEADER_BYTES as u64 + 700] {
        log.damage(1, 2 * SECTOR + offset);
        let (read, end) = log.read().expect("a crash explains it");
        assert_eq!((read, end.position, end.offset), (vec![800], Lsn(800), 2 * SECTOR), "{offset}");
        assert!(matches!(end.tail, Tail::Torn(_)), "{offset}: {:?}", end.tail);
        end.check(Lsn(800)).expect("only what was not durable is lost");
        let refused = message(&end.check(Lsn(808)).expect_err("it was durable"));
        assert!(refused.contains("-00000001.segment\" is damaged at byte 8192"), "{refused}");
        log.damage(1, 2 * SECTOR + offset);
    }
    log.disk.edit(&log.path(1), |bytes| bytes[2 * SECTOR_BYTES..].fill(0));
    assert_eq!(log.read().expect("a crash explains it").1.tail, Tail::Clean);
}

#[test]
fn a_record_cut_by_the_torn_tail_is_not_whole() {
    let mut log = new_log();
    log.append(64, 64);
    log.append(6000, 4000);
    log.damage(1, 3 * SECTOR);
    let (read, end) = log.read().expect("a crash explains it");
    assert_eq!((read, end.position, end.whole_records), (vec![64], Lsn(4064), Lsn(64)));
}

#[test]
fn damage_before_valid_blocks_is_a_hole() {
    let mut log = new_log();
    for _ in 0..12 {
        log.append(2000, MAX_PAYLOAD_BYTES);
    }
    // In a file that goes on, in the last block of a file, in a segment header, and a block that vanished.
    for (sequence, offset) in [(1, SECTOR + 7), (1, 4 * SECTOR + 7), (2, 9), (2, 100)] {
        log.damage(sequence, offset);
        let (_, end) = log.read().expect("classified");
        assert!(matches!(end.tail, Tail::Hole(..)), "{sequence} {offset}: {:?}", end.tail);
        assert!(message(&end.check(Lsn::ZERO).expect_err("no crash")).contains("goes on after it"));
        log.damage(sequence, offset);
    }
    log.disk.edit(&log.path(1), |bytes| bytes[2 * SECTOR_BYTES..3 * SECTOR_BYTES].fill(0));
    let (_, end) = log.read().expect("classified");
    assert_eq!(end.tail, Tail::Hole("a block is missing", Lsn(4000)));
}

#[test]
fn a_segment_that_is_missing_in_the_middle_is_a_hole() {
    let whole = || {
        let mut log = new_log();
        for _ in 0..12 {
            log.append(2000, MAX_PAYLOAD_BYTES);
        }
        log
    };
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("emptied", |bytes| bytes.clear()),
        ("blank", |bytes| bytes.fill(0)),
        ("without its first sector", |bytes| bytes[..SECTOR_BYTES].fill(0)),
        ("cut", |bytes| bytes.truncate(100)),
    ];
    for (name, damage) in damages {
        let log = whole();
        log.disk.edit(&log.path(2), damage);
        let (_, end) = log.read().expect("classified");
        assert!(matches!(end.tail, Tail::Hole(..)), "{name}: {:?}", end.tail);
        let refused = message(&end.check(Lsn::ZERO).expect_err("no crash"));
        assert!(refused.contains("-00000002.segment\" is damaged at byte 0"), "{name}: {refused}");
    }
    let log = whole();
    log.shared.remove(&log.path(2)).expect("removed");
    let (_, end) = log.read().expect("classified");
    assert_eq!(end.tail, Tail::Hole("the file is missing", Lsn(16_000)));
}

/// The last segments that were used are gone, while those prepared after them exist.
#[test]
fn what_was_prepared_shows_that_a_segment_was_used() {
    let mut log = new_log();
    let ahead = log.supply.ahead();
    for _ in 0..6 {
        log.append(2000, MAX_PAYLOAD_BYTES);
        while log.supply.prepare() == Prepared::Piece {}
    }
    let read = |log: &Written| {
        let files = LogFiles { prepared_ahead: Some(ahead), ..log.files.clone() };
        let mut reader = LogReader::open(&log.shared, &files).expect("a log");
        while reader.next_chunk().expect("classified").is_some() {}
        reader.end().expect("ended").tail
    };
    assert_eq!(read(&log), Tail::Clean);
    assert!(log.disk.exists(&log.path(2 + ahead)) && !log.disk.exists(&log.path(3 + ahead)));
    let two = log.disk.content(&log.path(2));
    for damage in ["blank", "without its first sector", "cut at its end", "missing"] {
        match damage {
            "blank" => log.disk.edit(&log.path(2), |bytes| bytes.fill(0)),
            "without its first sector" => log.disk.edit(&log.path(2), |bytes| bytes[..SECTOR_BYTES].fill(0)),
            "cut at its end" => log.disk.edit(&log.path(2), |bytes| bytes.truncate(2 * SECTOR_BYTES)),
            _ => log.shared.remove(&log.path(2)).expect("removed"),
        }
        let tail = read(&log);
        assert!(matches!(tail, Tail::Lost(_) | Tail::Hole(..)), "{damage}: {tail:?}");
        if damage != "missing" {
            log.disk.edit(&log.path(2), |bytes| *bytes = two.clone());
        }
    }
}

/// A trim removes what was prepared, from the end on. A power cut may undo some of that.
#[test]
fn segments_that_were_never_used_are_not_missed() {
    let mut log = new_log();
    for _ in 0..6 {
        log.append(2000, MAX_PAYLOAD_BYTES);
        while log.supply.prepare() == Prepared::Piece {}
    }
    assert!(log.disk.exists(&log.path(4)));
    let set = FileLogs { disk: Arc::clone(&log.shared), logs: vec![log.files.clone()] };
    log.shared.remove(&log.path(3)).expect("removed");
    assert_eq!(set.missing(), None);
    log.shared.remove(&log.path(1)).expect("removed");
    assert_eq!(set.missing(), Some(log.path(1)));
}

#[test]
fn a_segment_that_could_not_be_removed_is_made_again() {
    for is_still_failing in [true, false] {
        let log = new_log();
        log.disk.limit_space(log.disk.used_bytes() + 2 * SECTOR);
        log.disk.fail_removals(true);
        assert_eq!(log.supply.prepare(), Prepared::Failed);
        let failure = log.supply.failure().expect("it says why");
        assert_eq!(failure.sqlstate(), sqlstate::DISK_FULL, "{failure}");
        assert!(log.disk.exists(&log.path(2)), "half of it stays");
        log.disk.fail_removals(is_still_failing);
        log.disk.limit_space(0);
        while log.supply.prepare() == Prepared::Piece {}
        assert!(log.supply.failure().is_none(), "{:?}", log.supply.failure());
        let made = log.disk.content(&log.path(2));
        assert!(made.len() == 5 * SECTOR_BYTES && made.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn missing_foreign_and_future_files_are_refused() {
    let mut log = new_log();
    log.append(16, 16);
    let refused = |identity: LogIdentity, first: u64| {
        let files = LogFiles { identity, first_segments: vec![first], ..log.files.clone() };
        let opened = LogReader::open(&log.shared, &files);
        message(&opened.map(|_| ()).expect_err("refused"))
    };
    assert!(refused(identity(), 7).contains("log 1 of incarnation 3 is missing"));
    let stranger = LogIdentity { database: Uuid::from_u128(43), ..identity() };
    assert!(refused(stranger, 1).contains("belongs to another database"));
    let other = LogIdentity { log: 0, ..identity() };
    assert!(refused(other, 1).contains("another log's segment"));
    log.disk.edit(&log.path(1), |bytes| {
        bytes[12] = 9;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..8]), &bytes[12..SECTOR_BYTES]);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    });
    let version = format!("log format version 9.{RECORD_FORMAT_VERSION}");
    assert!(refused(identity(), 1).contains(&version));
    log.disk.edit(&log.path(1), |bytes| bytes[..SECTOR_BYTES].fill(0));
    assert!(refused(identity(), 1).contains("its header is missing"));
}

#[test]
fn a_valid_block_with_impossible_records_is_corruption() {
    let mut log = new_log();
    log.block.payload_mut(16).copy_from_slice(&[0xff; 16]);
    log.store.submit(&mut log.block, Lsn::ZERO).expect("written");
    let error = log.read().expect_err("no crash writes that");
    assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED);
}

#[test]
fn a_leftover_of_a_first_start_is_replaced_and_real_data_is_not() {
    let mut log = new_log();
    let (buffer, _reader) = LogBuffer::new(MIN_BUFFER_BYTES);
    log.append(16, 16);
    let room = Arc::new(Room::new(&buffer, 1));
    let again = supply(&log.shared, identity(), &room, 0);
    assert!(message(&again.examine(|_| false).expect_err("data")).contains("manifest does not know of"));
    log.disk.edit(&log.path(1), |bytes| bytes[SECTOR_BYTES..].fill(0));
    let leftovers = again.examine(|_| false).expect("nothing was ever written to it");
    assert_eq!(leftovers, [log.path(1)]);
    again.create_directory().expect("it is there");
    again.prepare_first().expect("out of the way");
    let newer = LogIdentity { incarnation: 4, ..identity() };
    let next = supply(&log.shared, newer, &room, 0);
    assert_eq!(next.examine(|_| false).expect("older incarnations may stand there"), [] as [PathBuf; 0]);
}

/// Blocks of 1000 bytes each, in turn in two stripes.
fn striped_blocks(count: usize) -> Written {
    let mut log = striped_log(2);
    for _ in 0..count {
        log.append(1000, 1000);
    }
    log.finish();
    log
}

impl Written {
    /// As if the block with this number had never arrived.
    fn lose_block(&self, block: usize) {
        let (stripe, place) = (block % 2, block / 2);
        let (sequence, sector) = (place as u64 / 4 + 1, place % 4 + 1);
        let path = segment_path(&stripe_directory(stripe), identity().incarnation, sequence);
        self.disk.edit(&path, |bytes| bytes[sector * SECTOR_BYTES..][..SECTOR_BYTES].fill(0));
    }
}

#[test]
fn stripes_take_blocks_by_turns_and_are_read_as_one_log() {
    let mut log = striped_log(3);
    let lengths = [16, 4000, 8, 9000, 40_000, 64];
    for length in lengths {
        log.append(length, 3000);
    }
    log.finish();
    log.store.close();
    let (read, end) = log.read().expect("undamaged");
    assert_eq!(read, lengths.map(|length| length as u64));
    assert_eq!((end.position, end.tail), (Lsn(log.position), Tail::Clean));
    for stripe in 0..3 {
        let used = segment_path(&stripe_directory(stripe), identity().incarnation, 2);
        assert!(log.disk.exists(&used), "all stripes were used");
    }
    for stripe in 0..3 {
        trim_log(&log.shared, &log.files, stripe).expect("trimmed");
    }
    assert_eq!(log.read().expect("undamaged").0.len(), lengths.len(), "only zeroes went");
}

#[test]
fn a_crash_may_leave_a_block_after_the_one_that_was_under_way_with_it() {
    for count in [2, 7, 8, 10, 17] {
        let log = striped_blocks(count);
        log.lose_block(count - 2);
        let (read, end) = log.read().expect("a crash explains it");
        assert_eq!(read.len(), count - 2);
        assert!(matches!(end.tail, Tail::Torn(_)), "{:?}", end.tail);
        end.check(Lsn(1000 * (count as u64 - 2))).expect("nothing durable is missing");
    }
}

#[test]
fn a_missing_block_that_was_durable_before_another_began_is_a_hole() {
    for count in [3, 8, 9, 10, 17] {
        let log = striped_blocks(count);
        log.lose_block(count - 3);
        let (read, end) = log.read().expect("read");
        assert_eq!(read.len(), count - 3);
        assert!(matches!(end.tail, Tail::Hole(..)), "{count}: {:?}", end.tail);
        // What follows can still be read on request.
        let mut reader = log.open().expect("a log");
        while reader.next_chunk().expect("read").is_some() {}
        assert!(reader.skip_damage().expect("read"), "two blocks follow");
        let chunk = reader.next_chunk().expect("read").expect("records");
        assert_eq!((chunk.start, chunk.bytes.len()), (Lsn(1000 * (count as u64 - 2)), 2000));
    }
}

#[test]
fn a_block_in_another_stripe_than_its_own_is_no_end() {
    for count in [1, 2, 3, 5] {
        let log = striped_blocks(count);
        let path = |stripe| segment_path(&stripe_directory(stripe), identity().incarnation, 1);
        let (first, second) = (log.disk.content(&path(0)), log.disk.content(&path(1)));
        log.disk.edit(&path(0), |bytes| *bytes = second);
        log.disk.edit(&path(1), |bytes| *bytes = first);
        let end = log.read().expect("read").1;
        assert!(matches!(end.tail, Tail::Hole(..) | Tail::Lost(_)), "{count}: {:?}", end.tail);
    }
}

#[test]
fn segment_names_are_read_back() {
    let path = segment_path(Path::new("x"), 12, 345);
    assert_eq!(path, Path::new("x/00000012-00000345.segment"));
    assert_eq!(parse_segment_name("00000012-00000345.segment"), Some((12, 345)));
    assert_eq!(parse_segment_name("00000012.segment"), None);
}

/// Blocks once had a header of 48 bytes, and so eight more bytes of payload in a full one.
#[test]
fn a_full_block_of_an_older_program_is_read() {
    for (header_bytes, magic) in [(48, b"HyBk"), (BLOCK_HEADER_BYTES, b"HyBT")] {
        for (too_many, is_read) in [(0, true), (1, false)] {
            let payload_bytes = MAX_BLOCK_BYTES - header_bytes + too_many;
            let mut block = vec![0; BLOCK_HEADER_BYTES + payload_bytes];
            encode_block_header(
                &mut block,
                &identity(),
                &BlockHeader::new(0, payload_bytes, SECTOR_BYTES, 0),
            );
            block[..4].copy_from_slice(magic);
            block.truncate(header_bytes + payload_bytes);
            let checksum = crc32c::crc32c_append(crc32c::crc32c(&block[..4]), &block[8..]);
            block[4..8].copy_from_slice(&checksum.to_le_bytes());
            let header = decode_block_header(&block, &identity());
            assert_eq!(header.map(|header| header.length()).ok(), is_read.then_some(MAX_BLOCK_BYTES));
            assert!(check_block(&block));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_lengths_come_back(lengths in proptest::collection::vec(1_usize..3000, 1..30), payload in 8_usize..9000) {
        let mut log = new_log();
        let payload = payload / 8 * 8;
        for length in &lengths {
            log.append(length * 8, payload);
        }
        let (read, end) = log.read().expect("undamaged");
        prop_assert_eq!(read, lengths.iter().map(|length| *length as u64 * 8).collect::<Vec<_>>());
        prop_assert_eq!(end.tail, Tail::Clean);
    }

    #[test]
    fn any_damage_is_found_or_harmless(
        offset in any::<proptest::sample::Index>(),
        bytes in proptest::collection::vec(any::<u8>(), 1..200),
    ) {
        let mut log = new_log();
        for _ in 0..6 {
            log.append(1600, 1600);
        }
        let whole = log.read().expect("undamaged").0;
        let offset = offset.index(5 * SECTOR_BYTES - 200);
        log.disk.edit(&log.path(1), |file| file[offset..offset + bytes.len()].copy_from_slice(&bytes));
        // Never a panic, never wrong records: a prefix, or an error.
        if let Ok((read, end)) = log.read() {
            prop_assert!(whole.starts_with(&read));
            prop_assert!(read.len() == whole.len() || end.check(Lsn(6 * 1600)).is_err());
        }
    }

    #[test]
    fn hostile_blocks_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(header) = decode_block_header(&bytes, &identity()) {
            prop_assert!(header.store_bytes() > 0);
        }
        let _ = block::SegmentHeader::decode(&bytes);
        for sector_bytes in [LEAST_SECTOR_BYTES, SECTOR_BYTES] {
            let taken = BlockHeader::new(0, bytes.len(), sector_bytes, 0).store_bytes() as usize;
            prop_assert!(taken > bytes.len() && taken.is_multiple_of(sector_bytes));
        }
    }
}

#[test]
fn the_times_in_blocks_never_fall_although_stripes_have_memory_of_their_own() {
    let mut log = striped_log(3);
    for _ in 0..6 {
        log.append(8, 8);
    }
    let future = crate::sync::microseconds_since_1970() + (1 << 50);
    // As if the clock had been set back after the next block.
    log.block.time_us = future;
    for _ in 0..6 {
        log.append(8, 8);
        assert!(log.block.time_us >= future);
    }
    log.finish();
    let mut reader = log.open().expect("a log");
    let (mut before, mut times) = (0, 0);
    while reader.next_block().expect("undamaged") {
        assert!(reader.block_time_us() >= before);
        before = reader.block_time_us();
        times += u32::from(before >= future);
    }
    assert_eq!(times, 6);
}
