//! Which transactions depend on which, and what the record and the token say about it.

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::config::Config;
use crate::disk::Disk;
use crate::disk::controlled::ControlledDisk;
use crate::log::manifest::Manifest;
use crate::log::record::{Anchor, Commit, MAX_LOGS, RecordBody};
use crate::log::set::LogSource;
use crate::log::store::LogReader;
use crate::protocol::compress_all;

struct Fixture {
    memory: ControlledDisk,
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    taurus: Taurus,
}

fn fixture(logs: usize) -> Fixture {
    let (memory, disk) = ControlledDisk::shared();
    let mut config = Config::new("data");
    config.disk = Arc::clone(&disk);
    config.logs = logs;
    config.log_buffer_bytes = 64 << 10;
    config.shared_block_bytes = 0;
    config.segment_bytes = 256 << 10;
    let mut manifest = Manifest::create();
    let taurus = Taurus::start(&config, &mut manifest).expect("started");
    Fixture { memory, disk, manifest, taurus }
}

impl Fixture {
    fn commit(&self, worker: usize, dependencies: &mut Dependencies, is_barrier: bool) -> LsnVector {
        let commit = Commit { is_barrier, ..Commit::default() };
        self.commit_payload(worker, dependencies, &CommitPayload { operations: b"operations", commit })
    }

    fn commit_payload(
        &self,
        worker: usize,
        dependencies: &mut Dependencies,
        payload: &CommitPayload<'_>,
    ) -> LsnVector {
        let mut progress = AppendProgress::default();
        loop {
            match self.taurus.log_commit(worker, dependencies, payload, &mut progress).expect("room comes") {
                Append::Done(()) => return dependencies.vector.clone(),
                Append::Wait(ticket) => ticket.wait(),
            }
        }
    }

    /// One transaction after the one with this mark. It replaces the mark.
    fn touch(&self, worker: usize, mark: &[AtomicU64]) -> LsnVector {
        let mut dependencies = self.taurus.new_dependencies();
        self.taurus.begin(&mut dependencies);
        self.taurus.follow(mark, &mut dependencies);
        let token = self.commit(worker, &mut dependencies, false);
        self.taurus.write_mark(&dependencies, mark);
        token
    }

    /// What a transaction after the one with this mark depends on.
    fn dependencies(&self, mark: &[AtomicU64]) -> LsnVector {
        let mut dependencies = self.taurus.new_dependencies();
        self.taurus.begin(&mut dependencies);
        self.taurus.follow(mark, &mut dependencies);
        self.taurus.read_only_commit(&mut dependencies);
        dependencies.vector
    }

    /// A handle to wait for this vector.
    fn durability(&self, vector: &LsnVector) -> Durability {
        Durability::new(&self.taurus.watch(), vector, !0)
    }

    fn reader(&self, log: usize) -> LogReader {
        let incarnation = self.manifest.incarnations.last().expect("one");
        let files = self.manifest.log_files(Path::new("data"), incarnation, log);
        LogReader::open(&self.disk, &files).expect("a log")
    }

    /// End, decompressed pre-append LV and barrier flag of every transaction in a log. Ends the run.
    fn records(&self, log: usize) -> Vec<(Lsn, LsnVector, bool)> {
        self.taurus.shutdown().expect("nothing failed");
        let mut reader = self.reader(log);
        let mut fields = reader_after(&vec![0; self.taurus.logs.count()]);
        let mut found = Vec::new();
        while let Some(chunk) = reader.next_chunk().expect("undamaged") {
            for record in chunk.records() {
                let record = record.expect("well-formed");
                match record.body {
                    RecordBody::Control(control) => fields.control(&control),
                    RecordBody::Transaction { commit, content } => {
                        let vector = whole_vector(&mut fields, content);
                        assert!(vector.get(log) <= record.start, "pre-append (pitfall 1)");
                        found.push((record.end, vector, commit.is_barrier));
                    }
                    RecordBody::Fragment { commit: Some(commit), .. } => {
                        found.push((record.end, LsnVector::default(), commit.is_barrier));
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

/// The LV that is encoded in the field at the beginning of the content.
fn whole_vector(reader: &mut VectorReader, content: &[u8]) -> LsnVector {
    let field = &content[..reader.field_bytes(content).expect("well-formed")];
    reader.read(field).expect("it fits");
    reader.follows().vector().expect("it is one")
}

fn reader_after(anchor: &[u64]) -> VectorReader {
    let mut reader = VectorReader { positions: Positions::zero(anchor.len()) };
    let anchor = Anchor { durable: LsnVector::from_slice(anchor), time: None };
    reader.control(&Control::Anchor(anchor));
    reader
}

fn compressed(vector: &[u64], anchor: &[u64]) -> Vec<u8> {
    let mut field = Vec::new();
    compress_all(vector, |log| anchor.get(log).copied().unwrap_or(0), &mut field);
    field
}

fn positions(logs: usize) -> impl Strategy<Value = Vec<u64>> {
    vec((0_u64..1 << 40).prop_map(|units| units * 8), logs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_vector_comes_back_raised_to_the_anchor(
        (anchor, vector) in (1_usize..=MAX_LOGS).prop_flat_map(|logs| (positions(logs), positions(logs))),
        operations in vec(any::<u8>(), 0..200),
    ) {
        let mut content = compressed(&vector, &anchor);
        let field_bytes = content.len();
        content.extend_from_slice(&operations);
        let mut reader = reader_after(&anchor);
        prop_assert_eq!(reader.field_bytes(&content), Ok(field_bytes));
        let mut expected = LsnVector::from_slice(&vector);
        expected.raise(&anchor);
        prop_assert_eq!(whole_vector(&mut reader, &content), expected);
    }

    #[test]
    fn hostile_fields_never_panic(content in vec(any::<u8>(), 0..100), logs in 1_usize..=MAX_LOGS) {
        let mut reader = reader_after(&vec![0; logs]);
        if let Ok(length) = reader.field_bytes(&content) {
            let _ = reader.read(&content[..length]);
        }
    }
}

#[test]
fn entries_up_to_the_anchor_take_no_bytes() {
    let of = |vector: &[u64]| compressed(vector, &[800, 800]).len();
    assert_eq!((of(&[]), of(&[800, 0])), (1, 1));
    assert!(of(&[800, 8000]) <= 4);
}

#[test]
fn a_record_after_a_newer_anchor_decompresses_upwards() {
    // Compressed against (80, 80), replayed after (160, 80): nothing may be lost (pitfall 18).
    let field = compressed(&[80, 88], &[80, 80]);
    let mut reader = reader_after(&[160, 80]);
    assert_eq!(whole_vector(&mut reader, &field).entries(), &[160, 88]);
    let read = reader_after(&[0]).read(&field);
    assert!(read.is_err(), "log 1 does not exist");
}

fn covers(later: &LsnVector, earlier: &LsnVector) -> bool {
    earlier.is_covered_by(later.entries())
}

#[test]
fn dependencies_travel_through_marks_across_logs() {
    let fixture = fixture(2);
    let mark = fixture.taurus.new_mark();
    let first = fixture.touch(0, &mark);
    let second = fixture.touch(1, &mark);
    let third = fixture.touch(2, &mark);
    assert!(covers(&second, &first) && covers(&third, &second));
    assert!(second.get(1) > first.get(1) && third.get(0) > second.get(0));
    let (log_0, log_1) = (fixture.records(0), fixture.records(1));
    assert_eq!((log_0.len(), log_1.len()), (2, 1));
    assert!(covers(&log_1[0].1, &first), "the second's record names the first");
    assert!(covers(&log_0[1].1, &second), "the third's record names the second");
    assert!(!covers(&log_0[1].1, &third), "but no record names itself");
}

/// What a mark does not name may be left over from another one.
#[test]
fn joined_marks_are_followed_as_both() {
    let fixture = fixture(3);
    let (joined, marks) = (fixture.taurus.new_mark(), [fixture.taurus.new_mark(), fixture.taurus.new_mark()]);
    joined[1..].iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
    assert!(fixture.taurus.is_forgettable(&joined));
    assert_eq!(fixture.dependencies(&joined), LsnVector::zero(3));
    let tokens = [fixture.touch(0, &marks[0]), fixture.touch(2, &marks[1])];
    marks.iter().for_each(|mark| fixture.taurus.join(mark, &joined));
    let mut expected = tokens[0].clone();
    expected.raise(tokens[1].entries());
    assert_eq!(fixture.dependencies(&joined), expected);
}

#[test]
fn a_transaction_without_a_record_waits_for_what_it_saw() {
    let fixture = fixture(1);
    fixture.memory.hold_durable_writes(true);
    let mark = fixture.taurus.new_mark();
    let token = fixture.touch(0, &mark);
    let seen = fixture.dependencies(&mark);
    let durability = fixture.durability(&seen);
    assert!(!durability.is_durable(), "what it saw is not durable (pitfall 7)");
    fixture.memory.hold_durable_writes(false);
    durability.wait().expect("durable");
    assert!(fixture.durability(&token).is_durable());
    let nothing = fixture.dependencies(&fixture.taurus.new_mark());
    assert!(fixture.durability(&nothing).is_durable());
}

#[test]
fn a_barrier_follows_everything_appended_before() {
    let fixture = fixture(3);
    let tokens: Vec<LsnVector> =
        (0..3).map(|worker| fixture.touch(worker, &fixture.taurus.new_mark())).collect();
    let mut dependencies = fixture.taurus.new_dependencies();
    fixture.taurus.begin(&mut dependencies);
    let barrier = fixture.commit(1, &mut dependencies, true);
    assert!(tokens.iter().all(|token| covers(&barrier, token)));
    let records = fixture.records(1);
    let (_, vector, is_barrier) = records.last().expect("the barrier");
    assert!(*is_barrier && tokens.iter().all(|token| covers(vector, token)));
    assert!(records.iter().rev().skip(1).all(|(_, _, is_barrier)| !is_barrier));
}

#[test]
fn marks_are_forgotten_only_below_the_floor_and_nothing_is_lost() {
    let fixture = fixture(2);
    let taurus = &fixture.taurus;
    let mark = taurus.new_mark();
    assert!(taurus.is_forgettable(&mark), "nothing to forget");
    let token = fixture.touch(0, &mark);
    assert!(!taurus.is_forgettable(&mark), "the floor lags behind");
    // Traffic makes both logs append anchors above the token.
    let other = taurus.new_mark();
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut worker = 0;
    while !taurus.is_forgettable(&mark) {
        assert!(Instant::now() < deadline, "the floor stands still");
        fixture.touch(worker, &other);
        worker += 1;
    }
    // A later transaction on the tuple finds an absent one. Its record must still be ordered after the token.
    for worker in 0..2 {
        fixture.touch(worker, &taurus.new_mark());
    }
    for log in 0..2 {
        let records = fixture.records(log);
        let (_, vector, _) = records.last().expect("records");
        assert!(covers(vector, &token), "log {log}: {vector:?} does not cover {token:?}");
    }
}

#[test]
fn a_large_transaction_keeps_its_log_and_carries_its_flags_on_the_last_fragment() {
    let fixture = fixture(2);
    let taurus = &fixture.taurus;
    let operations = vec![5; 200_000];
    let payload =
        CommitPayload { operations: &operations, commit: Commit { is_barrier: true, ..Commit::default() } };
    let mut dependencies = taurus.new_dependencies();
    taurus.begin(&mut dependencies);
    let mut progress = AppendProgress::default();
    loop {
        match taurus.log_commit(1, &mut dependencies, &payload, &mut progress).expect("room comes") {
            Append::Done(()) => break,
            Append::Wait(ticket) => ticket.wait(),
        }
    }
    taurus.durability(&taurus.watch(), &dependencies).wait().expect("durable");
    let records = fixture.records(1);
    assert_eq!(records.len(), 1);
    assert!(records[0].2 && records[0].0 == dependencies.vector.get(1));
}

/// The anchors of a log. Ends the run.
fn anchors(fixture: &Fixture, log: usize) -> Vec<LsnVector> {
    fixture.taurus.shutdown().expect("nothing failed");
    let mut reader = fixture.reader(log);
    let mut anchors = Vec::new();
    while let Some(chunk) = reader.next_chunk().expect("undamaged") {
        for record in chunk.records() {
            if let RecordBody::Control(Control::Anchor(anchor)) = record.expect("well-formed").body {
                anchors.push(anchor.durable);
            }
        }
    }
    anchors
}

#[test]
fn anchors_hold_durable_positions_only_and_the_floor_follows() {
    let fixture = fixture(2);
    let taurus = &fixture.taurus;
    let floor = || Lsn(taurus.anchors.floor()[0].load(Ordering::Acquire));
    let payload = CommitPayload { operations: &[1; 400], commit: Commit::default() };
    let mut last = Lsn::ZERO;
    for number in 0..3000 {
        let mut dependencies = taurus.new_dependencies();
        taurus.begin(&mut dependencies);
        fixture.commit_payload(0, &mut dependencies, &payload);
        if number % 50 == 0 {
            taurus.durability(&taurus.watch(), &dependencies).wait().expect("durable");
            let floor = floor();
            assert!(
                floor <= taurus.logs.watch().durable(0) && floor >= last,
                "it is durable, and only rises"
            );
            last = floor;
        }
    }
    // Log 1 has no traffic of its own, and does not hold the floor back.
    let deadline = Instant::now() + Duration::from_secs(10);
    while floor().0 < 100_000 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(floor().0 >= 100_000, "the floor stands still");
    let (own, other) = (anchors(&fixture, 0), anchors(&fixture, 1));
    for anchors in [&own, &other] {
        let grows = anchors.is_sorted_by(|a, b| a.is_covered_by(b.entries()));
        assert!(!anchors.is_empty() && grows, "they only grow");
    }
    assert!((10..500).contains(&own.len()), "paced by size: {}", own.len());
}

/// The first record of a log that was idle while the others went on: nothing names what was forgotten, so the
/// record names the floor (pitfall 19).
#[test]
fn a_record_in_a_log_whose_anchor_lags_is_raised_by_the_floor() {
    let fixture = fixture(3);
    let taurus = &fixture.taurus;
    let anchors = &taurus.anchors;
    for (log, named) in [(0, [800, 1600, 0]), (1, [1600, 800, 0])] {
        anchors.publish_among(log, &named, &[0, 1], &[2]);
    }
    assert_eq!((anchors.lagging(0), anchors.lagging(1), anchors.lagging(2)), (0, 0, 0b11));
    let field_of = |log: usize, dependencies: &Dependencies| {
        let mut field = Vec::new();
        taurus.write_field(log, dependencies, &mut field);
        let mut reader = reader_after(&[0, 0, 0]);
        whole_vector(&mut reader, &field)
    };
    let mut dependencies = taurus.new_dependencies();
    taurus.begin(&mut dependencies);
    taurus.freeze(&mut dependencies, false);
    assert_eq!(field_of(2, &dependencies).entries(), &[800, 800, 0]);
    assert_eq!(field_of(0, &dependencies).entries(), &[0, 0, 0], "its anchor covers the floor");
    // What it follows is kept where it is above the floor.
    let mark = taurus.new_mark();
    mark[0].store(0b11, Ordering::Relaxed);
    mark[1].store(400, Ordering::Relaxed);
    mark[2].store(2400, Ordering::Relaxed);
    taurus.follow(&mark, &mut dependencies);
    taurus.freeze(&mut dependencies, false);
    assert_eq!(dependencies.above, 0b10);
    assert_eq!(field_of(2, &dependencies).entries(), &[800, 2400, 0]);
    // Its own anchor catches up, at first in part.
    anchors.publish_among(2, &[800, 400, 0], &[0, 1, 2], &[]);
    assert_eq!(anchors.lagging(2), 0b10);
    anchors.publish_among(2, &[800, 1600, 0], &[0, 1, 2], &[]);
    assert_eq!(anchors.lagging(2), 0);
    taurus.begin(&mut dependencies);
    assert_eq!(dependencies.vector, LsnVector::zero(3));
}

#[test]
fn an_idle_log_writes_nothing() {
    let fixture = fixture(2);
    let token = fixture.touch(0, &fixture.taurus.new_mark());
    fixture.durability(&token).wait().expect("durable");
    std::thread::sleep(Duration::from_millis(20));
    let writes = fixture.memory.durable_writes();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(fixture.memory.durable_writes(), writes);
    assert!(writes <= 4, "{writes}");
}
