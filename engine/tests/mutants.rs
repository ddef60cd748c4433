//! Puts known bugs into the logs and Taurus, and checks that each is noticed.
//!
//! In a process of its own, because the switch is process-wide: `cargo test -p hyades-engine --features
//! mutants --test mutants`. Bugs whose damage shows only after a crash (pitfalls 8, 15, 16, 21) or in a race
//! of the lock table (pitfall 3) are left to the crash suites.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::disk::{Disk, File, MemoryDisk, RealDisk};
use hyades_engine::inspect::{Entry, EntryBody, Inspection};
use hyades_engine::log::durable::Durability;
use hyades_engine::log::manifest::Manifest;
use hyades_engine::log::record::{Commit, Control, OperationsWriter, RecordBody};
use hyades_engine::log::set::LogSource;
use hyades_engine::log::store::LogReader;
use hyades_engine::lsn::{Lsn, LsnVector};
use hyades_engine::mutant::{Mutant, activate};
use hyades_engine::protocol::plover::Plover;
use hyades_engine::protocol::taurus::{Dependencies, Taurus};
use hyades_engine::protocol::taurus_graph::TaurusGraph;
use hyades_engine::protocol::{Append, AppendProgress, CommitPayload, Follows, Protocol};
use hyades_sim::disk::SimulatedDisk;
use hyades_types::definition::TableId;
use parking_lot::{Condvar, Mutex};

/// The real disk, with durable writes that can be made to hang.
#[derive(Clone, Default)]
struct HoldingDisk(Arc<(Mutex<bool>, Condvar)>);

struct HoldingFile(Box<dyn File>, HoldingDisk);

impl HoldingDisk {
    fn hold(&self, is_held: bool) {
        *self.0.0.lock() = is_held;
        self.0.1.notify_all();
    }

    fn wrap(&self, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(HoldingFile(file, self.clone()))
    }
}

impl Disk for HoldingDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_directory(path)
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(directory)
    }
    fn exists(&self, path: &Path) -> bool {
        RealDisk.exists(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        RealDisk.create(path).map(|file| self.wrap(file))
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        RealDisk.open(path).map(|file| self.wrap(file))
    }
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>> {
        RealDisk.open_read(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        RealDisk.sync_directory(directory)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        RealDisk.lock(path)
    }
}

impl File for HoldingFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }
    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (lock, released) = &*self.1.0;
        let mut is_held = lock.lock();
        while *is_held {
            released.wait(&mut is_held);
        }
        drop(is_held);
        self.0.write_durable(offset, bytes)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

type Mark = [AtomicU64];

struct Fixture {
    disk: HoldingDisk,
    data: PathBuf,
    manifest: Manifest,
    taurus: Taurus,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.disk.hold(false);
        let _ = self.taurus.shutdown();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

fn fixture() -> Fixture {
    fixture_with(64 << 10, 1 << 20)
}

fn fixture_with(log_buffer_bytes: usize, segment_bytes: u64) -> Fixture {
    let disk = HoldingDisk::default();
    let data = std::env::temp_dir().join(format!("hyades-mutants-{}", std::process::id()));
    let mut config = Config::new(&data);
    config.disk = Arc::new(disk.clone());
    config.log_buffer_bytes = log_buffer_bytes;
    config.shared_block_bytes = 0;
    config.segment_bytes = segment_bytes;
    std::fs::create_dir_all(&data).expect("a directory");
    let mut manifest = Manifest::create();
    let taurus = Taurus::start(&config, &mut manifest).expect("started");
    Fixture { disk, data, manifest, taurus }
}

impl Fixture {
    fn begin(&self) -> Dependencies {
        let mut dependencies = self.taurus.new_dependencies();
        self.taurus.begin(&mut dependencies);
        dependencies
    }

    fn commit(&self, worker: usize, dependencies: Dependencies, is_barrier: bool) -> Dependencies {
        let commit = Commit { is_barrier, ..Commit::default() };
        self.append(worker, dependencies, &CommitPayload { operations: &[7; 64], commit })
    }

    fn append(
        &self,
        worker: usize,
        mut dependencies: Dependencies,
        payload: &CommitPayload<'_>,
    ) -> Dependencies {
        let mut progress = AppendProgress::default();
        loop {
            match self
                .taurus
                .log_commit(worker, &mut dependencies, payload, &mut progress)
                .expect("room comes")
            {
                Append::Done(()) => return dependencies,
                Append::Wait(ticket) => ticket.wait(),
            }
        }
    }

    /// A transaction that writes what the one with this mark has written.
    fn write(&self, worker: usize, mark: &Mark) -> Dependencies {
        let mut dependencies = self.begin();
        self.taurus.follow(mark, &mut dependencies);
        let committed = self.commit(worker, dependencies, false);
        self.taurus.write_mark(&committed, mark);
        committed
    }

    /// One of the logs, once they have been shut down.
    fn reader(&self, log: usize) -> LogReader {
        self.taurus.shutdown().expect("nothing failed");
        let incarnation = self.manifest.incarnations.last().expect("one");
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let files = self.manifest.log_files(&self.data, incarnation, log);
        LogReader::open(&disk, &files).expect("a log")
    }

    /// Where the records of a log end (and the first begins), and its anchors.
    fn ends_and_anchors(&self, log: usize) -> (Vec<Lsn>, Vec<LsnVector>) {
        let mut reader = self.reader(log);
        let (mut ends, mut anchors) = (vec![Lsn::ZERO], Vec::new());
        while let Some(chunk) = reader.next_chunk().expect("undamaged") {
            for record in chunk.records().map(|record| record.expect("well-formed")) {
                ends.push(record.end);
                if let RecordBody::Control(Control::Anchor(anchor)) = record.body {
                    anchors.push(anchor.durable);
                }
            }
        }
        (ends, anchors)
    }

    /// Start and LV of the last transaction in a log.
    fn last_record(&self, log: usize) -> (Lsn, LsnVector) {
        self.taurus.shutdown().expect("nothing failed");
        let inspection = Inspection::open_on(Arc::new(self.disk.clone()), &self.data).expect("it is there");
        let incarnation = inspection.incarnation(None).expect("one");
        let mut last = (Lsn::ZERO, LsnVector::zero(incarnation.logs));
        let read = inspection.read(incarnation, log, |entry| {
            if let EntryBody::Transaction(transaction) = &entry.body {
                last = (entry.start, transaction.follows.vector().expect("Taurus has one"));
            }
            Ok(ControlFlow::Continue(()))
        });
        read.expect("undamaged");
        last
    }
}

/// Pitfalls 1 and 2: a record depends on nothing after its own start.
fn records_depend_on_earlier_places(is_barrier: bool) -> bool {
    let fixture = fixture();
    fixture.commit(0, fixture.begin(), false);
    fixture.commit(0, fixture.begin(), is_barrier);
    let (start, vector) = fixture.last_record(0);
    vector.get(0) <= start
}

/// Pitfall 7: a reader's answer waits for what it saw.
fn readers_wait() -> bool {
    let fixture = fixture();
    fixture.disk.hold(true);
    let mark = fixture.taurus.new_mark();
    fixture.write(0, &mark);
    let mut reader = fixture.begin();
    fixture.taurus.follow(&mark, &mut reader);
    fixture.taurus.read_only_commit(&mut reader);
    !fixture.taurus.durability(&fixture.taurus.watch(), &reader).is_durable()
}

/// Pitfall 9: nothing is durable before its write has returned.
fn writes_come_before_acknowledgements() -> bool {
    let fixture = fixture();
    fixture.disk.hold(true);
    let written = fixture.write(0, &fixture.taurus.new_mark());
    std::thread::sleep(Duration::from_millis(50));
    !fixture.taurus.durability(&fixture.taurus.watch(), &written).is_durable()
}

/// Pitfall 19: a transaction that finds a forgotten tuple still follows its last writer.
fn forgotten_tuples_are_followed() -> bool {
    let fixture = fixture();
    let mut mark = fixture.taurus.new_mark();
    let written = fixture.write(0, &mark);
    fixture.taurus.durability(&fixture.taurus.watch(), &written).wait().expect("durable");
    if fixture.taurus.is_forgettable(&mark) {
        mark = fixture.taurus.new_mark();
    }
    fixture.write(1, &mark);
    written.vector().is_covered_by(fixture.last_record(1).1.entries())
}

/// A block, and with it the durable position, may end inside a record. No anchor holds such a position.
fn anchors_hold_ends_of_records() -> bool {
    let fixture = fixture_with(1 << 20, 128 << 10);
    let long = CommitPayload { operations: &[7; 5000], commit: Commit::default() };
    let mut last = fixture.begin();
    // Faster than they are written, so that blocks fill segments, and anchors follow the first block of each.
    for _ in 0..1500 {
        last = fixture.append(0, fixture.begin(), &long);
    }
    fixture.taurus.durability(&fixture.taurus.watch(), &last).wait().expect("durable");
    let (ends, anchors) = fixture.ends_and_anchors(0);
    assert!(anchors.iter().any(|anchor| anchor.get(0) > Lsn::ZERO), "one after the first block");
    anchors.iter().all(|anchor| ends.contains(&anchor.get(0)))
}

/// A transaction that comes after an anchor has a later time.
fn anchors_are_earlier_than_what_follows() -> bool {
    let fixture = fixture();
    for _ in 0..20 {
        let mut dependencies = fixture.begin();
        let commit = Commit { time: Some(0), ..Commit::default() };
        // So long that every few blocks have an anchor.
        let payload = CommitPayload { operations: &[7; 6_000], commit };
        let mut progress = AppendProgress::default();
        let reserved = fixture.taurus.reserve(0, &mut dependencies, &payload, &mut progress);
        let Ok(Append::Done(mut place)) = reserved else { panic!("there is room") };
        place.write(&payload);
        place.publish(Some(fixture.taurus.clock().draw()));
        fixture.taurus.durability(&fixture.taurus.watch(), &dependencies).wait().expect("durable");
    }
    let mut reader = fixture.reader(0);
    let (mut bound, mut anchors) = (0, 0);
    while let Some(chunk) = reader.next_chunk().expect("undamaged") {
        for record in chunk.records().map(|record| record.expect("well-formed")) {
            match record.body {
                RecordBody::Control(Control::Anchor(anchor)) => {
                    bound = anchor.time.expect("it has one");
                    anchors += 1;
                }
                RecordBody::Transaction { commit, .. } if commit.time <= Some(bound) => return false,
                _ => {}
            }
        }
    }
    assert!(anchors > 1, "between transactions");
    true
}

/// A transaction of Plover that has seen one with a large number, in a log to which it writes nothing, has a
/// larger one itself.
fn numbers_exceed_what_was_seen() -> bool {
    const SEEN: u64 = 1000;
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    let (protocol, segment_bytes) = (ProtocolKind::Plover, 1 << 20);
    let config = Config { disk: Arc::clone(&disk), protocol, segment_bytes, ..Config::new("data") };
    let mut manifest = Manifest::create();
    let plover = Plover::start(&config, &mut manifest).expect("started");
    let mark = plover.new_mark();
    mark[0].store(SEEN, Ordering::Relaxed);
    let mut dependencies = plover.new_dependencies();
    plover.follow(&mark, &mut dependencies);
    let mut operations = OperationsWriter::new();
    operations.put(TableId(1), b"key", b"row");
    let payload = CommitPayload { operations: operations.as_bytes(), commit: Commit::default() };
    let mut progress = AppendProgress::default();
    while let Append::Wait(ticket) =
        plover.log_commit(0, &mut dependencies, &payload, &mut progress).expect("room comes")
    {
        ticket.wait();
    }
    plover.shutdown().expect("nothing failed");
    let inspection = Inspection::open_on(disk, Path::new("data")).expect("logs");
    let incarnation = inspection.incarnation(None).expect("one");
    let mut exceeds = false;
    for log in 0..incarnation.logs {
        let see = |entry: Entry<'_>| {
            if let EntryBody::Transaction(transaction) = entry.body {
                exceeds |= matches!(transaction.follows, Follows::Stamp(stamp) if stamp > SEEN);
            }
            Ok(ControlFlow::Continue(()))
        };
        inspection.read(incarnation, log, see).expect("no damage");
    }
    exceeds
}

/// The dependency graph with three logs.
struct Graph {
    disk: SimulatedDisk,
    protocol: TaurusGraph,
}

impl Graph {
    /// Whose records name at most so many.
    fn naming(predecessors: usize) -> Graph {
        let disk = SimulatedDisk::new(1);
        let (protocol, segment_bytes) = (ProtocolKind::TaurusGraph, 1 << 20);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let config =
            Config { disk: shared, protocol, segment_bytes, predecessors, logs: 3, ..Config::new("/data") };
        let protocol = TaurusGraph::start(&config, &mut Manifest::create()).expect("started");
        Graph { disk, protocol }
    }

    /// This log does not become durable any more.
    fn hold(&self, log: usize) {
        self.disk.hold_writes_under(Some(&Path::new("/data/logs").join(format!("log-{log}"))));
    }

    /// A transaction in this log that follows these. Returns its mark, and what its answer waits for.
    fn after(&self, log: usize, marks: &[&[AtomicU64]]) -> (Box<[AtomicU64]>, Durability) {
        let mut dependencies = self.protocol.new_dependencies();
        self.protocol.begin(&mut dependencies);
        marks.iter().for_each(|mark| self.protocol.follow(mark, &mut dependencies));
        let payload = CommitPayload { operations: b"operations", commit: Commit::default() };
        let mut progress = AppendProgress::default();
        while let Append::Wait(ticket) =
            self.protocol.log_commit(log, &mut dependencies, &payload, &mut progress).expect("room comes")
        {
            ticket.wait();
        }
        let mark = self.protocol.new_mark();
        self.protocol.write_mark(&dependencies, &mark);
        (mark, self.protocol.durability(&self.protocol.watch(), &dependencies))
    }

    /// How many the last record of a log names by id, and of how many logs it names positions. Ends the run.
    fn named_last(self, log: usize) -> (usize, usize) {
        self.disk.hold_writes_under(None);
        self.protocol.shutdown().expect("nothing failed");
        let inspection = Inspection::open_on(Arc::new(self.disk), Path::new("/data")).expect("logs");
        let incarnation = inspection.incarnation(None).expect("one");
        let mut last = (0, 0);
        let see = |entry: Entry<'_>| {
            if let EntryBody::Transaction(transaction) = entry.body
                && let Follows::Predecessors(named) = transaction.follows
            {
                last = (named.ids().len(), named.positions().count());
            }
            Ok(ControlFlow::Continue(()))
        };
        inspection.read(incarnation, log, see).expect("no damage");
        last
    }
}

/// An answer waits for what is not durable of all that its transaction follows, named or not.
fn answers_wait_for_all_that_is_followed() -> bool {
    let graph = Graph::naming(16);
    graph.hold(0);
    let (first, _) = graph.after(0, &[]);
    let (second, _) = graph.after(1, &[&first]);
    let (_, third) = graph.after(1, &[&second]);
    graph.after(1, &[]).1.wait().expect("durable");
    let waits = !third.is_durable();
    graph.disk.hold_writes_under(None);
    waits
}

/// A record names another one that is durable before what that one follows.
fn what_is_not_settled_is_named() -> bool {
    let graph = Graph::naming(16);
    graph.hold(1);
    let (lost, _) = graph.after(1, &[]);
    let (mark, _) = graph.after(0, &[&lost]);
    // Many blocks, with anchors between them.
    for _ in 0..20 {
        for log in [0, 2] {
            (0..500).for_each(|_| drop(graph.after(log, &[])));
            graph.after(log, &[]).1.wait().expect("durable");
        }
    }
    graph.after(2, &[&mark]);
    graph.named_last(2) == (1, 0)
}

/// A record that follows too many names positions that also cover what those follow.
fn positions_are_closed() -> bool {
    let graph = Graph::naming(1);
    // So that no anchor covers it.
    graph.hold(2);
    let (root, _) = graph.after(2, &[]);
    let (first, _) = graph.after(0, &[&root]);
    let (second, _) = graph.after(0, &[]);
    graph.after(1, &[&first, &second]);
    graph.named_last(1) == (0, 2)
}

#[test]
fn every_mutant_is_caught() {
    let checks: [(Mutant, fn() -> bool); 11] = [
        (Mutant::AnswerOfOwnRecord, answers_wait_for_all_that_is_followed),
        (Mutant::DurableIsSettled, what_is_not_settled_is_named),
        (Mutant::LargestOfEachLog, positions_are_closed),
        (Mutant::GsnOfOwnLogs, numbers_exceed_what_was_seen),
        (Mutant::AnchorDatedLate, anchors_are_earlier_than_what_follows),
        // Whether blocks fill segments is a race between worker and logger.
        (Mutant::AnchorsInsideRecords, || (0..12).all(|_| anchors_hold_ends_of_records())),
        (Mutant::OwnEndInStoredLv, || records_depend_on_earlier_places(false)),
        (Mutant::ReserveBeforeFreeze, || records_depend_on_earlier_places(true)),
        (Mutant::ReadOnlyNoWait, readers_wait),
        (Mutant::DurableBeforeSync, writes_come_before_acknowledgements),
        (Mutant::ZeroTupleLv, forgotten_tuples_are_followed),
    ];
    for (mutant, check) in checks {
        activate(None);
        assert!(check(), "{mutant:?}: the check fails without the bug");
        activate(Some(mutant));
        assert!(!check(), "{mutant:?} was not caught");
    }
    activate(None);
}
