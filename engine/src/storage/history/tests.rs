//! Versions against a model that keeps every state of every row, and readers beside racing writers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crossbeam_epoch::pin;
use hyades_types::value::{SqlType, Value};
use proptest::prelude::*;

use super::chunks::CHUNK_WORDS;
use super::writer::Left;
use super::{Forgettable, Handle, Histories, HistoryWriter, Snapshot};
use crate::commit_clock::CommitClock;
use crate::storage::read_at_time::AtTime;
use crate::storage::record::OwnedRecord;
use crate::storage::row::{RowCopy, RowLayout, RowPatch};
use crate::storage::versions::Look;

struct Always;

impl Forgettable for Always {
    fn is_forgettable(&self, _mark: &[AtomicU64]) -> bool {
        true
    }
}

fn no_mark(_mark: &[AtomicU64]) {}

/// What a snapshot sees of a record, and the first word of the mark that it must follow.
fn seen(
    histories: &Histories,
    record: &OwnedRecord,
    snapshot: &Snapshot,
    own: &HistoryWriter,
) -> (Option<Vec<u8>>, Option<u64>) {
    let (mut row, mut followed) = (Vec::new(), None);
    let follow = |mark: &[AtomicU64]| followed = mark.first().map(|word| word.load(Ordering::Relaxed));
    let is_there = histories.read(record, snapshot, own, RowCopy::whole(&mut row), follow, &pin());
    (is_there.expect("the snapshot is in use").then_some(row), followed)
}

fn patch(offset: usize, bytes: &[u8]) -> RowPatch {
    let mut patch = RowPatch::default();
    patch.put(offset, bytes);
    patch
}

fn commit(writer: &mut HistoryWriter, write_mark: impl FnOnce(&[AtomicU64])) {
    let time = writer.draw_time();
    writer.commit(time, write_mark);
}

fn write(record: &OwnedRecord, row: Option<&[u8]>, writer: &mut HistoryWriter) -> Handle {
    record.write(row, writer, &pin()).expect("it is in its index").0
}

#[test]
fn a_reader_of_a_version_follows_its_writer_and_no_later_one() {
    let histories = Arc::new(Histories::new(1, CommitClock::new()));
    let mut writer = HistoryWriter::new(&histories);
    let reader = HistoryWriter::new(&histories);
    let record = OwnedRecord::empty();
    let mut snapshots = vec![(reader.snapshot(), (None, None))];
    for number in 1..4_u64 {
        write(&record, Some(&number.to_le_bytes()), &mut writer);
        commit(&mut writer, |mark| mark[0].store(number, Ordering::Relaxed));
        let reader = HistoryWriter::new(&histories);
        snapshots.push((reader.snapshot(), (Some(number.to_le_bytes().to_vec()), Some(number))));
    }
    for (snapshot, expected) in &snapshots {
        assert_eq!(seen(&histories, &record, snapshot, &reader), *expected);
    }
    // The marks of what is forgotten need not be named.
    let oldest = snapshots.drain(..3).map(|(snapshot, _)| snapshot).next();
    histories.forget_all(&Always);
    assert!(!histories.is_old(record.writer()), "the first snapshot is in use");
    drop(oldest);
    histories.forget_all(&Always);
    assert!(histories.is_old(record.writer()));
    let (snapshot, (row, _)) = &snapshots[0];
    assert_eq!(seen(&histories, &record, snapshot, &reader), (row.clone(), None));
}

#[test]
fn a_read_at_an_expired_snapshot_fails() {
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    let mut writer = HistoryWriter::new(&histories);
    let reader = HistoryWriter::new(&histories);
    let record = OwnedRecord::with_row(b"before");
    let snapshot = reader.snapshot();
    assert!(!histories.expire_oldest(), "it holds nothing back");
    write(&record, Some(b"latest"), &mut writer);
    commit(&mut writer, no_mark);
    let left = histories.forget_all(&Always);
    assert!(left.bytes > 0 && left.is_for_snapshots);
    assert!(histories.expire_oldest());
    assert_eq!(histories.forget_all(&Always), Left::default());
    let read = histories.read(&record, &snapshot, &reader, RowCopy::whole(&mut Vec::new()), no_mark, &pin());
    assert_eq!(read.expect_err("the version is gone").sqlstate().0, "72000");
    drop(snapshot);
    assert_eq!(seen(&histories, &record, &reader.snapshot(), &reader).0, Some(b"latest".to_vec()));
}

#[test]
fn the_history_of_a_worker_that_has_gone_serves_the_next() {
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    let reader = HistoryWriter::new(&histories);
    let record = OwnedRecord::empty();
    let snapshot = reader.snapshot();
    for round in 0..20_u64 {
        let mut writer = HistoryWriter::new(&histories);
        write(&record, Some(&round.to_le_bytes()), &mut writer);
        commit(&mut writer, no_mark);
        drop(writer);
        histories.forget_all(&Always);
    }
    assert_eq!(histories.all().count(), 21, "each is still needed");
    assert_eq!(seen(&histories, &record, &snapshot, &reader).0, None);
    drop(snapshot);
    for round in 0..20_u64 {
        histories.forget_all(&Always);
        let mut writer = HistoryWriter::new(&histories);
        write(&record, Some(&round.to_be_bytes()), &mut writer);
        commit(&mut writer, no_mark);
    }
    assert_eq!(histories.all().count(), 21);
}

/// The contents of a chunk are freed by the thread that forgets it, after its positions were forgotten. Until
/// then its slot in the directory is not used again.
#[test]
fn a_chunk_keeps_its_place_until_it_is_given_back() {
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    let mut writer = HistoryWriter::new(&histories);
    let record = OwnedRecord::with_row(&[0; 900]);
    let mut fill = |chunks: u64| {
        for _ in 0..5 * chunks {
            let patch = patch(0, &[1; 880]);
            #[allow(unsafe_code)] // Nothing that was read in place is in use.
            // SAFETY: one thread.
            unsafe { record.patch(patch.bytes(), &mut writer, &pin()) }.expect("there is a row");
            commit(&mut writer, no_mark);
        }
    };
    fill(6);
    let history = histories.all().next().expect("that of the writer");
    let (first, ended) = (history.given_back.load(Ordering::Relaxed), history.ended.load(Ordering::Relaxed));
    let positions = (first..ended).step_by(CHUNK_WORDS as usize);
    let before: Vec<_> = positions.clone().map(|position| history.chunks.at(position, &pin())).collect();
    // A thread forgets, and is interrupted before it gives back.
    history.forgotten.store(ended, Ordering::Release);
    fill(20);
    let after: Vec<_> = positions.map(|position| history.chunks.at(position, &pin())).collect();
    assert_eq!(before, after);
    history.forgotten.store(first, Ordering::Release);
}

#[test]
fn a_row_within_its_record_counts_while_a_snapshot_sees_it() {
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    let mut writer = HistoryWriter::new(&histories);
    let record = OwnedRecord::with_row(&[7; 1000]);
    let reader = HistoryWriter::new(&histories);
    let snapshot = reader.snapshot();
    write(&record, None, &mut writer);
    commit(&mut writer, no_mark);
    assert!(histories.forget_all(&Always).bytes > 1000);
    drop(snapshot);
    assert_eq!(histories.forget_all(&Always), Left::default());
}

/// A reader of the first column, while and after the last one is written.
#[test]
fn what_is_copied_in_part_is_as_the_snapshot_sees_it() {
    let layout = RowLayout::new(&[SqlType::Text, SqlType::Text]);
    let row = |first: &str, second: &str| {
        let mut row = Vec::new();
        layout.encode(&[first, second].map(|text| Value::text(text.repeat(200))), &mut row);
        row
    };
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    let (mut writer, reader) = (HistoryWriter::new(&histories), HistoryWriter::new(&histories));
    let record = OwnedRecord::with_row(&row("a", "b"));
    let read = |snapshot: &Snapshot| {
        let mut bytes = Vec::new();
        let copy = RowCopy { bytes: &mut bytes, leading: layout.leading(0) };
        let is_there = histories.read(&record, snapshot, &reader, copy, no_mark, &pin());
        (is_there.expect("the snapshot is in use"), layout.value(&bytes, 0), bytes.len())
    };
    let (old, end) = (reader.snapshot(), layout.header_bytes() + 200);
    let (first, whole) = (Value::text("a".repeat(200)), row("a", "b").len());
    assert_eq!(read(&old), (true, first.clone(), end));
    write(&record, Some(&row("c", "")), &mut writer);
    assert_eq!(read(&old), (true, first.clone(), whole));
    commit(&mut writer, no_mark);
    assert_eq!(read(&old), (true, first, whole));
    drop(old);
    assert_eq!(read(&reader.snapshot()).1, Value::text("c".repeat(200)));
}

/// One step of one of three workers.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, Option<Vec<u8>>),
    Patch(usize, usize, Vec<u8>),
    Savepoint,
    RollBackTo,
    Commit,
    RollBack,
    TakeSnapshot,
    DropSnapshot,
    Forget,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let row = prop::option::weighted(0.8, prop::collection::vec(any::<u8>(), 0..40));
    let step = prop_oneof![
        4 => (0..4_usize, row).prop_map(|(record, row)| Step::Write(record, row)),
        4 => (0..4_usize, 0..12_usize, prop::collection::vec(any::<u8>(), 1..20))
            .prop_map(|(record, offset, bytes)| Step::Patch(record, offset, bytes)),
        1 => (0..4_usize, prop::collection::vec(any::<u8>(), 1500..1600))
            .prop_map(|(record, bytes)| Step::Patch(record, 0, bytes)),
        1 => (0..4_usize, prop::collection::vec(any::<u8>(), 1600))
            .prop_map(|(record, row)| Step::Write(record, Some(row))),
        2 => Just(Step::Savepoint),
        1 => Just(Step::RollBackTo),
        3 => Just(Step::Commit),
        1 => Just(Step::RollBack),
        2 => Just(Step::TakeSnapshot),
        1 => Just(Step::DropSnapshot),
        2 => Just(Step::Forget),
    ];
    prop::collection::vec((0..3_usize, step), 1..120)
}

type Rows = BTreeMap<usize, Vec<u8>>;

struct Worker {
    writer: HistoryWriter,
    /// Records, their versions, and the rows before.
    undo: Vec<(usize, Handle, Option<Vec<u8>>)>,
    savepoint: usize,
    snapshot: Option<(Snapshot, Rows)>,
}

/// Three workers over four records, each of which has one owner at a time.
struct Model {
    histories: Arc<Histories>,
    records: Vec<OwnedRecord>,
    owners: Vec<Option<usize>>,
    committed: Rows,
    workers: Vec<Worker>,
}

impl Model {
    fn new() -> Model {
        let histories = Arc::new(Histories::new(2, CommitClock::new()));
        let worker = |_| Worker {
            writer: HistoryWriter::new(&histories),
            undo: Vec::new(),
            savepoint: 0,
            snapshot: None,
        };
        Model {
            workers: (0..3).map(worker).collect(),
            records: (0..4).map(|_| OwnedRecord::empty()).collect(),
            owners: vec![None; 4],
            committed: Rows::new(),
            histories,
        }
    }

    fn row(&self, record: usize) -> Option<Vec<u8>> {
        self.records[record].row(&pin()).map(<[u8]>::to_vec)
    }

    fn write(&mut self, number: usize, record: usize, row: Option<&[u8]>) {
        if *self.owners[record].get_or_insert(number) == number {
            let before = self.row(record);
            let version = write(&self.records[record], row, &mut self.workers[number].writer);
            self.workers[number].undo.push((record, version, before));
        }
    }

    #[allow(unsafe_code)] // One thread, and nothing that was read in place is in use.
    fn patch(&mut self, number: usize, record: usize, (offset, bytes): (usize, &[u8])) {
        let Some(before) = self.row(record).filter(|row| row.len() >= offset + bytes.len()) else { return };
        if *self.owners[record].get_or_insert(number) == number {
            let patch = patch(offset, bytes);
            let writer = &mut self.workers[number].writer;
            // SAFETY: as above.
            let version = unsafe { self.records[record].patch(patch.bytes(), writer, &pin()) };
            self.workers[number].undo.push((record, version.expect("there is a row"), Some(before)));
        }
    }

    #[allow(unsafe_code)] // As above.
    fn roll_back_to(&mut self, number: usize, length: usize) {
        while self.workers[number].undo.len() > length {
            let worker = &mut self.workers[number];
            let (record, version, before) = worker.undo.pop().expect("it is longer");
            // SAFETY: as above.
            let taken = unsafe { self.records[record].take_back(version, &mut worker.writer, &pin()) };
            assert_eq!(taken.has_row, before.is_some());
            assert_eq!(self.row(record), before);
        }
    }

    fn end(&mut self, number: usize, is_committed: bool) {
        if is_committed {
            for (record, ..) in std::mem::take(&mut self.workers[number].undo) {
                match self.row(record) {
                    Some(row) => drop(self.committed.insert(record, row)),
                    None => drop(self.committed.remove(&record)),
                }
            }
            commit(&mut self.workers[number].writer, no_mark);
        } else {
            self.roll_back_to(number, 0);
            self.workers[number].writer.roll_back(no_mark);
        }
        self.workers[number].savepoint = 0;
        self.owners.iter_mut().filter(|owner| **owner == Some(number)).for_each(|owner| *owner = None);
    }

    fn step(&mut self, number: usize, step: Step) {
        match step {
            Step::Write(record, row) => self.write(number, record, row.as_deref()),
            Step::Patch(record, offset, bytes) => self.patch(number, record, (offset, &bytes)),
            Step::Savepoint => self.workers[number].savepoint = self.workers[number].undo.len(),
            Step::RollBackTo => self.roll_back_to(number, self.workers[number].savepoint),
            Step::Commit => self.end(number, true),
            Step::RollBack => self.end(number, false),
            Step::TakeSnapshot => {
                let worker = &mut self.workers[number];
                worker.snapshot = None;
                worker.snapshot = Some((worker.writer.snapshot(), self.committed.clone()));
            }
            Step::DropSnapshot => self.workers[number].snapshot = None,
            Step::Forget => {
                self.histories.forget_all(&Always);
            }
        }
    }

    fn check(&self) {
        for worker in &self.workers {
            let Some((snapshot, rows)) = &worker.snapshot else { continue };
            for (at, record) in self.records.iter().enumerate() {
                let is_own = worker.undo.iter().any(|(written, ..)| *written == at);
                let expected = if is_own { self.row(at) } else { rows.get(&at).cloned() };
                assert_eq!(seen(&self.histories, record, snapshot, &worker.writer).0, expected);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every snapshot sees what was committed when it was taken, and the writes of its own worker, whatever
    /// the others write, take back and forget.
    #[test]
    fn snapshots_see_what_was_committed(steps in steps()) {
        let mut model = Model::new();
        for (number, step) in steps {
            model.step(number, step);
            model.check();
        }
        for number in 0..model.workers.len() {
            model.end(number, false);
            model.workers[number].snapshot = None;
        }
        prop_assert_eq!(model.histories.forget_all(&Always), Left::default());
    }
}

/// Writers move amounts between records, in place and by new rows, commit and roll back. The amounts that a
/// reader sees at one snapshot always add up.
#[test]
#[allow(unsafe_code)] // Each writer has its records to itself.
fn what_a_snapshot_sees_adds_up() {
    const RECORDS: usize = 4;
    const TOTAL: u64 = 1000 * RECORDS as u64;
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    // So long that they are copied in chunks, and in words after those.
    let row = |amount: u64| {
        let pair = [amount.to_le_bytes(), (!amount).to_le_bytes()].concat();
        [pair.repeat(9), amount.to_le_bytes()[..4].to_vec()].concat()
    };
    let records: Vec<OwnedRecord> = (0..2 * RECORDS).map(|_| OwnedRecord::with_row(&row(1000))).collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for own in records.chunks(RECORDS) {
            let histories = &histories;
            let is_over = &is_over;
            scope.spawn(move || {
                let mut writer = HistoryWriter::new(histories);
                let mut round = 0_usize;
                while !is_over.load(Ordering::Relaxed) {
                    round += 1;
                    let mut versions = Vec::new();
                    for (at, change) in [(round, -1_i64), (round + 1, 1)] {
                        let guard = pin();
                        let record = &own[at % RECORDS];
                        let bytes = record.row(&guard).expect("there is a row");
                        let amount = u64::from_le_bytes(bytes[..8].try_into().expect("16 bytes"));
                        let new = row(amount.wrapping_add_signed(change));
                        let version = if round.is_multiple_of(3) {
                            record.write(Some(&new), &mut writer, &guard).expect("it stays").0
                        } else {
                            let patch = patch(0, &new);
                            // SAFETY: no other thread writes it, and `bytes` is not used any more.
                            unsafe { record.patch(patch.bytes(), &mut writer, &guard) }
                                .expect("there is a row")
                        };
                        versions.push((record, version));
                    }
                    if round.is_multiple_of(5) {
                        while let Some((record, version)) = versions.pop() {
                            // SAFETY: as above.
                            unsafe { record.take_back(version, &mut writer, &pin()) };
                        }
                        writer.roll_back(no_mark);
                    } else {
                        commit(&mut writer, no_mark);
                    }
                    writer.forget_some(&Always);
                }
            });
        }
        let reader = HistoryWriter::new(&histories);
        for _ in 0..30_000 {
            let snapshot = reader.snapshot();
            for own in records.chunks(RECORDS) {
                let mut total = 0;
                for record in own {
                    let bytes = seen(&histories, record, &snapshot, &reader).0.expect("there is a row");
                    let amount = u64::from_le_bytes(bytes[..8].try_into().expect("16 bytes"));
                    assert_eq!(bytes, row(amount), "a row is not torn");
                    total += amount;
                }
                assert_eq!(total, TOTAL);
            }
            drop(snapshot);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    histories.forget_all(&Always);
}

#[test]
fn a_checkpoint_reads_the_rows_of_its_time_while_others_commit() {
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    let own = HistoryWriter::new(&histories);
    let (mut early, mut later) = (HistoryWriter::new(&histories), HistoryWriter::new(&histories));
    let [changed, gone, new] = [Some("old"), Some("old"), None].map(|row| match row {
        Some(row) => OwnedRecord::with_row(row.as_bytes()),
        None => OwnedRecord::with_row(b""),
    });
    write(&changed, Some(b"now"), &mut early);
    write(&gone, None, &mut early);
    let time = early.draw_time();
    // It is not before the time that is drawn, and waits for the one that has drawn it.
    let at = own.snapshot();
    assert_eq!(time, at.time());
    early.commit(time, no_mark);
    write(&changed, Some(b"new"), &mut later);
    write(&new, Some(b"new"), &mut later);
    let drawn = later.draw_time();
    let mut row = Vec::new();
    let mut read = |record: &OwnedRecord| {
        let found = histories.read_at_time(record, &at, &mut row, &pin()).expect("in use");
        (found, String::from_utf8_lossy(&row).into_owned())
    };
    // The later one has not committed yet, and does not keep the reader waiting.
    assert_eq!(read(&changed), (AtTime::Row, "now".to_owned()));
    assert_eq!(read(&gone).0, AtTime::Gone);
    later.commit(drawn, no_mark);
    assert_eq!(read(&changed), (AtTime::Row, "now".to_owned()));
}

#[test]
fn only_commits_that_have_begun_are_waited_for() {
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    let waiting = HistoryWriter::new(&histories);
    let mut committing = HistoryWriter::new(&histories);
    committing.begin_commit();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            waiting.wait_for_others();
            is_done.store(true, Ordering::SeqCst);
        });
        // Whenever it looks, the slot is in use.
        while !is_done.load(Ordering::SeqCst) {
            committing.leave_commit();
            committing.begin_commit();
        }
    });
    committing.leave_commit();
}

/// The newest version of a row is later than the look, and so does not say whether there was an earlier one.
#[test]
fn a_look_finds_what_came_before_its_time_below_what_came_after() {
    let histories = Arc::new(Histories::new(0, CommitClock::new()));
    let [mut earlier, mut later, own] = [(); 3].map(|()| HistoryWriter::new(&histories));
    let [both, one] = [(); 2].map(|()| OwnedRecord::with_row(b"old"));
    let snapshot = own.snapshot();
    let [seen_both, seen_one] = [&both, &one].map(|record| (Some(record.writer()), 0, true));
    write(&both, Some(b"earlier"), &mut earlier);
    commit(&mut earlier, no_mark);
    let at = own.draw_time();
    for record in [&both, &one] {
        write(record, Some(b"later"), &mut later);
    }
    commit(&mut later, no_mark);
    let look = Look { at, since: snapshot.kept_from(), own: &own, fails_beside_writers: false };
    assert!(!histories.is_still_seen(&both, seen_both, look, &pin()));
    assert!(histories.is_still_seen(&one, seen_one, look, &pin()));
    let pass = |record: &OwnedRecord| histories.pass(record, look, None, |_| true, &pin());
    assert_eq!((pass(&both), pass(&one)), (Some((at - 1, true)), Some((0, true))));
}

/// A writer that has drawn an earlier time is awaited, and then its mark is there; a later one is not.
#[test]
fn readers_and_looks_wait_for_earlier_times_alone() {
    for commits in [true, false] {
        let histories = Arc::new(Histories::new(1, CommitClock::new()));
        let [mut writer, reader, old] = [(); 3].map(|()| HistoryWriter::new(&histories));
        let record = OwnedRecord::with_row(b"old");
        let before = old.snapshot();
        let seen_before = (Some(record.writer()), 0, true);
        write(&record, Some(b"new"), &mut writer);
        let time = writer.draw_time();
        let after = reader.snapshot();
        assert_eq!(seen(&histories, &record, &before, &old).0, Some(b"old".to_vec()), "it does not wait");
        let finished = AtomicU64::new(0);
        thread::scope(|scope| {
            let reads = scope.spawn(|| {
                let found = seen(&histories, &record, &after, &reader);
                finished.fetch_add(1, Ordering::SeqCst);
                found
            });
            let looks = scope.spawn(|| {
                let (at, since) = (after.time(), before.kept_from());
                let look = Look { at, since, own: &old, fails_beside_writers: false };
                let is_still_seen = histories.is_still_seen(&record, seen_before, look, &pin());
                finished.fetch_add(1, Ordering::SeqCst);
                is_still_seen
            });
            thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!(finished.load(Ordering::SeqCst), 0);
            if commits {
                writer.commit(time, |mark| mark[0].store(7, Ordering::Relaxed));
            } else {
                writer.give_up_time();
            }
            let (row, mark) = if commits { (b"new", Some(7)) } else { (b"old", None) };
            assert_eq!(reads.join().expect("no panic"), (Some(row.to_vec()), mark));
            assert_eq!(looks.join().expect("no panic"), !commits);
        });
    }
}
