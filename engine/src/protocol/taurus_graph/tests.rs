//! What a record names, what its answer waits for, and what is settled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::config::Config;
use crate::disk::Disk;
use crate::disk::controlled::ControlledDisk;
use crate::log::record::{Commit, RecordBody};
use crate::log::set::LogSource;
use crate::log::store::LogReader;

struct Fixture {
    memory: ControlledDisk,
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    graph: TaurusGraph,
}

fn fixture(logs: usize, predecessors: usize) -> Fixture {
    let (memory, disk) = ControlledDisk::shared();
    let mut config = Config::new("data");
    config.disk = Arc::clone(&disk);
    config.logs = logs;
    config.predecessors = predecessors;
    config.log_buffer_bytes = 64 << 10;
    config.segment_bytes = 256 << 10;
    let mut manifest = Manifest::create();
    let graph = TaurusGraph::start(&config, &mut manifest).expect("started");
    Fixture { memory, disk, manifest, graph }
}

/// What a record names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    id: RecordId,
    ids: Vec<RecordId>,
    positions: Vec<(usize, Lsn)>,
}

impl Fixture {
    /// A transaction that follows these. Returns what it has collected.
    fn after(&self, worker: usize, marks: &[&[AtomicU64]]) -> Dependencies {
        self.commit(worker, marks, false)
    }

    fn commit(&self, worker: usize, marks: &[&[AtomicU64]], is_barrier: bool) -> Dependencies {
        let mut dependencies = self.graph.new_dependencies();
        self.graph.begin(&mut dependencies);
        marks.iter().for_each(|mark| self.graph.follow(mark, &mut dependencies));
        let commit = Commit { is_barrier, ..Commit::default() };
        let payload = CommitPayload { operations: b"operations", commit };
        let mut progress = AppendProgress::default();
        loop {
            match self.graph.log_commit(worker, &mut dependencies, &payload, &mut progress) {
                Ok(Append::Done(())) => return dependencies,
                Ok(Append::Wait(ticket)) => ticket.wait(),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn mark(&self, dependencies: &Dependencies) -> Box<[AtomicU64]> {
        let mark = self.graph.new_mark();
        self.graph.write_mark(dependencies, &mark);
        mark
    }

    /// A transaction that follows nothing, and its mark.
    fn alone(&self, worker: usize) -> (RecordId, Box<[AtomicU64]>) {
        let dependencies = self.after(worker, &[]);
        (dependencies.own.expect("it has a place"), self.mark(&dependencies))
    }

    fn is_durable(&self, dependencies: &Dependencies) -> bool {
        self.graph.durability(&self.graph.watch(), dependencies).is_durable()
    }

    fn wait(&self, dependencies: &Dependencies) {
        self.graph.durability(&self.graph.watch(), dependencies).wait().expect("durable");
    }

    /// What the records of a log name. Ends the run.
    fn records(&self, log: usize) -> Vec<Record> {
        self.graph.shutdown().expect("nothing failed");
        let incarnation = self.manifest.incarnations.last().expect("one");
        let files = self.manifest.log_files(Path::new("data"), incarnation, log);
        let mut reader = LogReader::open(&self.disk, &files).expect("a log");
        let mut fields = TaurusGraph::recovery(self.graph.logs.count()).expect("it has logs").reader();
        let mut found = Vec::new();
        while let Some(chunk) = reader.next_chunk().expect("undamaged") {
            for record in chunk.records() {
                let record = record.expect("well-formed");
                match record.body {
                    RecordBody::Control(control) => fields.control(&control),
                    RecordBody::Transaction { content, .. } => {
                        let length = fields.field_bytes(content).expect("it ends");
                        assert_eq!(&content[length..], b"operations");
                        fields.read(&content[..length]).expect("it makes sense");
                        let follows = fields.follows();
                        follows.check(log, record.start).expect("it names nothing later");
                        let Follows::Predecessors(named) = follows else { panic!("{follows:?}") };
                        found.push(Record {
                            id: RecordId::new(log, record.end),
                            ids: named.ids().to_vec(),
                            positions: named.positions().collect(),
                        });
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

/// The example of the paper's figure 4: T1 in log 0, T2 after it and T3 after that in log 1.
#[test]
fn an_answer_waits_for_what_the_predecessors_wait_for() {
    let fixture = fixture(2, 16);
    fixture.memory.hold_durable_writes_in(Some("log-0"));
    let first = fixture.after(0, &[]);
    let second = fixture.after(1, &[&fixture.mark(&first)]);
    let third = fixture.after(1, &[&fixture.mark(&second)]);
    let alone = fixture.after(1, &[]);
    fixture.wait(&alone);
    assert!(!fixture.is_durable(&second) && !fixture.is_durable(&third), "T1 is not durable");
    assert_eq!(
        third.vector.get(0),
        first.own.expect("a place").end(),
        "T3 does not name T1, but waits for it"
    );
    // What only reads waits, too (pitfall 7).
    let mut reader = fixture.graph.new_dependencies();
    fixture.graph.begin(&mut reader);
    fixture.graph.follow(&fixture.mark(&third), &mut reader);
    fixture.graph.read_only_commit(&mut reader);
    assert!(!fixture.is_durable(&reader));
    fixture.memory.hold_durable_writes(false);
    [&first, &second, &third, &reader].into_iter().for_each(|one| fixture.wait(one));
    let [in_0, in_1] = [0, 1].map(|log| fixture.records(log));
    assert_eq!(in_0[0].ids, [], "T1 follows nothing");
    assert_eq!(in_1[0].ids, [first.own.expect("a place")]);
    assert_eq!(in_1[1].ids, [second.own.expect("a place")], "T3 names T2 alone");
    assert_eq!(in_1[2].ids, [], "what comes before it in its log does not matter");
}

/// Row 24 of the design: an id is left when its place is known, so every id that is followed is in a log.
#[test]
fn a_mark_without_a_place_names_nobody() {
    let fixture = fixture(2, 16);
    let (_, first) = fixture.alone(0);
    let mut rolled_back = fixture.graph.new_dependencies();
    fixture.graph.begin(&mut rolled_back);
    fixture.graph.follow(&first, &mut rolled_back);
    fixture.graph.read_only_commit(&mut rolled_back);
    let mark = fixture.mark(&rolled_back);
    assert_eq!(mark[0].load(Ordering::Relaxed), 0);
    let later = fixture.after(1, &[&mark]);
    assert!(later.vector.get(0) > Lsn::ZERO, "but it waits for what that one saw");
    assert_eq!(fixture.records(1)[0].positions.len(), 1, "and says so");
}

/// A record is durable before what it follows: neither it nor what follows it is settled.
#[test]
fn what_is_durable_is_not_settled_before_what_it_follows() {
    let fixture = fixture(3, 16);
    fixture.memory.hold_durable_writes_in(Some("log-1"));
    let lost = fixture.after(1, &[]);
    let second = fixture.after(0, &[&fixture.mark(&lost)]);
    let mark = fixture.mark(&second);
    let end = second.own.expect("a place").end();
    // Many anchors later.
    while fixture.graph.watch().durable(0) <= end || fixture.graph.logs.reserved(2).0 < 200_000 {
        [0, 2].into_iter().for_each(|worker| drop(fixture.after(worker, &[])));
    }
    assert!(!fixture.graph.is_forgettable(&mark));
    assert!(fixture.graph.anchors.published(2)[0].load(Ordering::Acquire) < end.0);
    let third = fixture.after(2, &[&mark]);
    assert!(!fixture.is_durable(&third));
    fixture.memory.hold_durable_writes(false);
    fixture.wait(&third);
    let records = fixture.records(2);
    assert_eq!(records.last().expect("the third").ids, [second.own.expect("a place")], "it is named");
}

/// While one log stands still, the others go on, and nothing is settled.
#[test]
fn what_has_become_durable_is_forgotten_while_a_log_stands_still() {
    let fixture = fixture(2, 16);
    fixture.memory.hold_durable_writes_in(Some("log-0"));
    let held = fixture.after(0, &[]);
    let mark = fixture.mark(&held);
    let mut last = fixture.after(1, &[&mark]);
    for number in 0..100_000 {
        last = fixture.after(1, &[]);
        if number % 1000 == 0 {
            fixture.wait(&last);
        }
    }
    fixture.wait(&last);
    let left = fixture.graph.table.len();
    let waits = !fixture.is_durable(&fixture.after(1, &[&mark]));
    // Otherwise the logs cannot end.
    fixture.memory.hold_durable_writes(false);
    assert!(left < 30_000, "{left} of 100,000");
    assert!(waits, "what is not durable is still known");
}

/// A stop while transactions go on: one log ends, and another one takes what follows a transaction that comes
/// too late for the first.
#[test]
fn a_stop_that_leaves_something_out_does_not_say_that_all_counts() {
    let fixture = fixture(2, 16);
    fixture.wait(&fixture.after(1, &[]));
    fixture.memory.hold_durable_writes_in(Some("log-1"));
    drop(fixture.after(1, &[]));
    let late = std::thread::scope(|threads| {
        let stop = threads.spawn(|| fixture.graph.shutdown());
        // Nothing tells when the logger of log 0 has ended. If it has not, the test checks less.
        std::thread::sleep(Duration::from_millis(100));
        let late = fixture.after(0, &[]);
        drop(fixture.after(1, &[&fixture.mark(&late)]));
        fixture.memory.hold_durable_writes(false);
        stop.join().expect("no panic").expect("nothing failed");
        late.own.expect("a place")
    });
    let manifest = Manifest::load(fixture.disk.as_ref(), Path::new("data")).expect("readable");
    let incarnation = manifest.expect("there is one").incarnations.remove(0);
    let end = incarnation.frozen_end().expect("it has ended");
    assert!(end.get(0) >= late.end() || incarnation.up_to_end.is_unknown, "{incarnation:?}");
}

#[test]
fn too_long_lists_are_refused() {
    let config = Config { predecessors: MOST_NAMED + 1, ..Config::new("data") };
    let error = TaurusGraph::check(&config).expect_err("refused");
    assert_eq!(error.sqlstate(), sqlstate::INVALID_PARAMETER_VALUE);
    // However many a record names, there is room for it beside a piece of a large transaction.
    for length in (6_600..8_200).step_by(40) {
        let fixture = fixture(2, MOST_NAMED);
        fixture.memory.hold_durable_writes(true);
        let marks: Vec<_> = (0..MOST_NAMED).map(|number| fixture.alone(number % 2).1).collect();
        let mut dependencies = fixture.graph.new_dependencies();
        fixture.graph.begin(&mut dependencies);
        marks.iter().for_each(|mark| fixture.graph.follow(mark, &mut dependencies));
        let operations = vec![1; length];
        let payload = CommitPayload { operations: &operations, commit: Commit::default() };
        let mut progress = AppendProgress::default();
        let appended = catch_unwind(AssertUnwindSafe(|| {
            fixture.graph.log_commit(0, &mut dependencies, &payload, &mut progress).map(drop)
        }));
        // Otherwise the logs cannot end.
        fixture.memory.hold_durable_writes(false);
        appended.expect("no panic").expect("there is room");
    }
}

/// When everything has come to rest, all is settled, forgotten and left out.
#[test]
fn what_is_settled_is_forgotten_and_not_named() {
    let fixture = fixture(2, 16);
    let first = fixture.after(0, &[]);
    let mark = fixture.mark(&first);
    fixture.wait(&first);
    let end = first.own.expect("a place").end();
    // A record leaves out what the anchor of its own log covers, which each logger appends in its own time.
    let is_covered = || fixture.graph.anchors.published(1)[0].load(Ordering::Acquire) >= end.0;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !fixture.graph.is_forgettable(&mark) || fixture.graph.table.len() > 0 || !is_covered() {
        assert!(Instant::now() < deadline, "{} entries", fixture.graph.table.len());
        // A logger at rest appends its last anchor after a second, and wakes no thread then.
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(fixture.after(1, &[&mark]));
    let records = fixture.records(1);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].ids, []);
}

/// A transaction that does not find the mark of another one follows it all the same, in whatever log: the
/// replay of a call comes after all that it may have seen (pitfall 19).
#[test]
fn what_was_forgotten_is_named_in_a_log_whose_anchor_is_old() {
    let fixture = fixture(3, 16);
    let (id, mark) = fixture.alone(0);
    // Log 2 has no traffic at all, and does not hold the floor back.
    let deadline = Instant::now() + Duration::from_secs(10);
    while !fixture.graph.is_forgettable(&mark) {
        assert!(Instant::now() < deadline, "the floor stands still");
        [0, 1].into_iter().for_each(|worker| drop(fixture.after(worker, &[])));
    }
    drop(fixture.after(2, &[]));
    let records = fixture.records(2);
    let known = LsnVector::from_slice(&[u64::MAX; 3]);
    // Either its anchor says it or the record.
    let named = records[0].positions.iter().any(|(log, position)| *log == 0 && *position >= id.end());
    let anchor = fixture.graph.anchors.published(2)[0].load(Ordering::Acquire);
    assert!(named || anchor >= id.end().0, "{records:?} {known:?}");
}

#[test]
fn each_predecessor_is_named_once_in_order() {
    let fixture = fixture(2, 1000);
    let (ids, marks): (Vec<RecordId>, Vec<_>) = (0..400).map(|number| fixture.alone(number % 2)).unzip();
    let twice: Vec<&[AtomicU64]> = marks.iter().chain(marks.iter().rev()).map(|mark| &**mark).collect();
    drop(fixture.after(1, &twice));
    let named = fixture.records(1).pop().expect("a record").ids;
    assert!(named.is_sorted() && named.iter().all(|id| ids.contains(id)), "{named:?}");
    // Anchors cover some of them.
    assert!(named.len() <= ids.len() && named.last() == ids.iter().max());
}

/// The paper's section 6.6 keeps the largest id of each log. Whether another one counts is then unknown. Here
/// a list that is too long becomes a predecessor vector.
#[test]
fn a_list_that_is_too_long_becomes_everything_up_to_its_predecessor_vector() {
    let fixture = fixture(3, 2);
    fixture.memory.hold_durable_writes(true);
    let (root, root_mark) = fixture.alone(2);
    let first = fixture.after(0, &[&root_mark]);
    let others = [1, 1, 0].map(|worker| fixture.alone(worker));
    let mut marks: Vec<&[AtomicU64]> = others.iter().map(|(_, mark)| &**mark).collect();
    let mark = fixture.mark(&first);
    marks.push(&mark);
    let last = fixture.after(1, &marks);
    let short = fixture.after(1, &marks[..2]);
    fixture.memory.hold_durable_writes(false);
    fixture.wait(&last);
    let records = fixture.records(1);
    let [.., folded, listed] = &records[..] else { panic!("{records:?}") };
    assert_eq!(folded.id, last.own.expect("a place"));
    assert_eq!(folded.ids, []);
    let expected = [(0, others[2].0.end()), (1, others[1].0.end()), (2, root.end())];
    assert_eq!(folded.positions, expected, "also up to what a predecessor follows, in log 2");
    assert_eq!(listed.id, short.own.expect("a place"));
    assert_eq!((listed.ids.len(), listed.positions.len()), (2, 0));
}

#[test]
fn a_barrier_follows_all_that_has_a_place_and_what_that_follows() {
    let fixture = fixture(3, 16);
    fixture.memory.hold_durable_writes(true);
    let ids = [0, 1, 2].map(|worker| fixture.alone(worker).0);
    let barrier = fixture.commit(1, &[], true);
    assert!(ids.iter().all(|id| barrier.vector.get(id.log()) >= id.end()));
    fixture.memory.hold_durable_writes(false);
    let record = fixture.records(1).pop().expect("the barrier");
    assert!(ids.iter().all(|id| record.positions.contains(&(id.log(), id.end()))), "{record:?}");
}

/// What a mark does not name may be left over from another one.
#[test]
fn joined_marks_are_followed_as_both() {
    let fixture = fixture(3, 16);
    fixture.memory.hold_durable_writes(true);
    let joined = fixture.graph.new_mark();
    joined[2..].iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
    assert!(fixture.graph.is_forgettable(&joined));
    let (root, root_mark) = fixture.alone(0);
    let second = fixture.after(1, &[&root_mark]);
    let (third, third_mark) = fixture.alone(2);
    [&fixture.mark(&second), &third_mark].iter().for_each(|mark| fixture.graph.join(mark, &joined));
    let after = fixture.after(2, &[&joined]);
    assert!(after.vector.get(0) >= root.end() && after.vector.get(2) >= third.end());
    assert!(after.vector.get(1) >= second.own.expect("a place").end());
    assert!(!fixture.graph.is_forgettable(&joined));
    fixture.memory.hold_durable_writes(false);
}

#[test]
fn a_field_that_makes_no_sense_is_refused() {
    let mut reader = TaurusGraph::recovery(2).expect("it has logs").reader();
    let field = |head: u64, rest: &[u64]| {
        let mut field = Vec::new();
        write_varint(&mut field, head);
        rest.iter().for_each(|number| write_varint(&mut field, *number));
        field
    };
    reader.read(&field(0, &[])).expect("it follows nothing");
    let (in_log_5, nobody) = (RecordId::new(5, Lsn(80)).word(), 0);
    for wrong in
        [field(2, &[in_log_5]), field(2, &[nobody]), field(4, &[64, u64::MAX]), field(1, &[0b100, 1])]
    {
        assert!(reader.read(&wrong).is_err(), "{wrong:?}");
    }
    assert!(reader.field_bytes(&field(4, &[64])).is_err(), "an id is missing");
    let of = |log, end| RecordId::new(log, Lsn(end));
    reader.read(&field(2, &[of(1, 800).word()])).expect("it makes sense");
    assert!(reader.follows().check(1, Lsn(792)).is_err(), "it names what was appended after it");
    assert!(reader.follows().check(1, Lsn(800)).is_ok() && reader.follows().check(0, Lsn(8)).is_ok());
}

proptest! {
    #[test]
    fn a_field_comes_back(
        named in vec((0_usize..4, 1_u64..1 << 40), 0..20),
        positions in vec(0_u64..1 << 40, 4),
        anchor in vec(0_u64..1 << 40, 4),
    ) {
        let aligned = |words: Vec<u64>| words.into_iter().map(|word| word * Lsn::ALIGNMENT).collect::<Vec<_>>();
        let (positions, anchor) = (aligned(positions), aligned(anchor));
        let mut ids: Vec<RecordId> =
            named.into_iter().map(|(log, end)| RecordId::new(log, Lsn(end * Lsn::ALIGNMENT))).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut content = Vec::new();
        write_field(&positions, &ids, &anchor, &mut content);
        let length = content.len();
        content.extend_from_slice(b"operations");
        let mut reader = TaurusGraph::recovery(4).expect("it has logs").reader();
        prop_assert_eq!(reader.field_bytes(&content).expect("it ends"), length);
        reader.read(&content[..length]).expect("it makes sense");
        let Follows::Predecessors(read) = reader.follows() else { panic!("other things") };
        prop_assert_eq!(read.ids(), &ids);
        let above = positions.iter().zip(&anchor).enumerate().filter(|(_, (position, anchor))| position > anchor);
        let above: Vec<(usize, Lsn)> = above.map(|(log, (position, _))| (log, Lsn(*position))).collect();
        prop_assert_eq!(read.positions().collect::<Vec<_>>(), above);
    }

    #[test]
    fn an_id_is_one_word(log in 0_usize..64, end in 1_u64..1 << 50) {
        let id = RecordId::new(log, Lsn(end * Lsn::ALIGNMENT));
        prop_assert_eq!((id.log(), id.end()), (log, Lsn(end * Lsn::ALIGNMENT)));
        prop_assert_eq!(RecordId::of_word(id.word()), Some(id));
    }
}
