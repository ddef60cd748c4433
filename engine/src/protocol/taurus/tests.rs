//! Who depends on whom, and what the record and the token say about it.

use std::path::Path;

use super::*;
use crate::config::Config;
use crate::disk::Disk;
use crate::disk::controlled::ControlledDisk;
use crate::log::Logs;
use crate::log::manifest::Manifest;
use crate::log::record::RecordBody;
use crate::log::store::LogReader;

use AccessMode::{IntentRead, IntentWrite, Read, Write};

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
    let taurus = Taurus::new(Logs::start(&config, &mut manifest).expect("started"));
    Fixture { memory, disk, manifest, taurus }
}

impl Fixture {
    fn commit(&self, worker: usize, dependencies: &mut Dependencies, is_barrier: bool) -> LsnVector {
        let payload = CommitPayload { operations: b"operations", is_barrier };
        let mut progress = AppendProgress::default();
        loop {
            match self.taurus.log_commit(worker, dependencies, &payload, &mut progress).expect("room comes") {
                Append::Done(token) => return token,
                Append::Wait(ticket) => ticket.wait(),
            }
        }
    }

    /// One transaction that touches one tuple.
    fn touch(&self, worker: usize, mode: AccessMode, meta: &mut TupleVectors) -> LsnVector {
        let mut dependencies = self.taurus.new_dependencies();
        self.taurus.begin(&mut dependencies);
        self.taurus.acquired(mode, meta, &mut dependencies);
        let token = self.commit(worker, &mut dependencies, false);
        self.taurus.released(mode, meta, &token, Trace::Data);
        token
    }

    /// What a transaction that acquires the tuple depends on.
    fn dependencies(&self, mode: AccessMode, meta: &TupleVectors) -> LsnVector {
        let mut dependencies = self.taurus.new_dependencies();
        self.taurus.begin(&mut dependencies);
        self.taurus.acquired(mode, meta, &mut dependencies);
        self.taurus.read_only_commit(&dependencies)
    }

    /// End, decompressed pre-append LV and barrier flag of every transaction in a log. Ends the run.
    fn records(&self, log: usize) -> Vec<(Lsn, LsnVector, bool)> {
        self.taurus.shutdown().expect("nothing failed");
        let incarnation = self.manifest.incarnations.last().expect("one");
        let directory = incarnation.log_directory(Path::new("data"), log);
        let identity = self.manifest.identity(incarnation.number, log);
        let mut reader = LogReader::open(&self.disk, &directory, identity, 1).expect("a log");
        let (mut found, mut anchor) = (Vec::new(), vec![0; incarnation.logs]);
        while let Some(chunk) = reader.next_chunk().expect("undamaged") {
            for record in chunk.records() {
                let record = record.expect("well-formed");
                match record.body {
                    RecordBody::Anchor(vector) => anchor = vector.entries().to_vec(),
                    RecordBody::Transaction { commit, .. } => {
                        let mut vector = LsnVector::default();
                        commit.vector.decompress(&anchor, &mut vector).expect("it fits");
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

fn covers(later: &LsnVector, earlier: &LsnVector) -> bool {
    earlier.is_covered_by(later.entries())
}

#[test]
fn conflicting_accesses_order_each_other_and_others_do_not() {
    let fixture = fixture(2);
    for (earlier, later) in [
        (Write, Write),
        (Write, Read),
        (Write, IntentWrite),
        (Write, IntentRead),
        (IntentWrite, Read),
        (IntentWrite, Write),
        (IntentWrite, IntentWrite),
        (IntentWrite, IntentRead),
        (Read, Write),
        (Read, Read),
        (IntentRead, Write),
    ] {
        let mut meta = fixture.taurus.new_tuple_meta();
        let token = fixture.touch(0, earlier, &mut meta);
        let is_followed = covers(&fixture.dependencies(later, &meta), &token);
        // Data-logged readers leave no trace.
        let expected = !earlier.is_compatible(later) && !matches!(earlier, Read | IntentRead);
        assert_eq!(is_followed, expected, "{earlier:?} then {later:?}");
    }
}

#[test]
fn a_command_logged_reader_would_hold_later_writers_back() {
    let fixture = fixture(2);
    let mut meta = fixture.taurus.new_tuple_meta();
    meta.leave(Read, &LsnVector::from_slice(&[800, 8]), Trace::Command);
    for (mode, expected) in [(Write, true), (IntentWrite, true), (Read, false), (IntentRead, false)] {
        let dependencies = fixture.dependencies(mode, &meta);
        assert_eq!(covers(&dependencies, &LsnVector::from_slice(&[800, 8])), expected, "{mode:?}");
    }
}

#[test]
fn dependencies_travel_through_tuples_across_logs() {
    let fixture = fixture(2);
    let mut meta = fixture.taurus.new_tuple_meta();
    let first = fixture.touch(0, Write, &mut meta);
    let second = fixture.touch(1, Write, &mut meta);
    let third = fixture.touch(2, Write, &mut meta);
    assert!(covers(&second, &first) && covers(&third, &second));
    assert!(second.get(1) > first.get(1) && third.get(0) > second.get(0));
    let (log_0, log_1) = (fixture.records(0), fixture.records(1));
    assert_eq!((log_0.len(), log_1.len()), (2, 1));
    assert!(covers(&log_1[0].1, &first), "the second's record names the first");
    assert!(covers(&log_0[1].1, &second), "the third's record names the second");
    assert!(!covers(&log_0[1].1, &third), "but no record names itself");
}

#[test]
fn a_transaction_without_a_record_leaves_no_trace_but_waits_for_what_it_saw() {
    let fixture = fixture(1);
    fixture.memory.hold_durable_writes(true);
    let mut meta = fixture.taurus.new_tuple_meta();
    let token = fixture.touch(0, Write, &mut meta);
    let seen = fixture.dependencies(Read, &meta);
    let mut rolled_back = meta.clone();
    fixture.taurus.released(Write, &mut rolled_back, &LsnVector::from_slice(&[1 << 40]), Trace::None);
    assert_eq!(fixture.dependencies(Read, &rolled_back), seen);
    let durability = fixture.taurus.durability(&fixture.taurus.watch(), &seen);
    assert!(!durability.is_durable(), "what it saw is not durable (pitfall 7)");
    fixture.memory.hold_durable_writes(false);
    durability.wait().expect("durable");
    assert!(fixture.taurus.durability(&fixture.taurus.watch(), &token).is_durable());
    let nothing = fixture.dependencies(Read, &fixture.taurus.new_tuple_meta());
    assert!(fixture.taurus.durability(&fixture.taurus.watch(), &nothing).is_durable());
}

#[test]
fn a_barrier_follows_everything_appended_before() {
    let fixture = fixture(3);
    let tokens: Vec<LsnVector> =
        (0..3).map(|worker| fixture.touch(worker, Write, &mut fixture.taurus.new_tuple_meta())).collect();
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
fn tuples_are_forgotten_only_below_the_floor_and_nothing_is_lost() {
    let fixture = fixture(2);
    let taurus = &fixture.taurus;
    let mut meta = taurus.new_tuple_meta();
    assert!(taurus.can_evict(&meta), "nothing to forget");
    let token = fixture.touch(0, Write, &mut meta);
    assert!(!taurus.can_evict(&meta), "the floor is behind");
    // Traffic makes both logs append anchors above the token.
    let mut other = taurus.new_tuple_meta();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let mut worker = 0;
    while !taurus.can_evict(&meta) {
        assert!(std::time::Instant::now() < deadline, "the floor stands still");
        fixture.touch(worker, Write, &mut other);
        worker += 1;
    }
    // Whoever meets the tuple afterwards meets an absent one; its record must still be ordered behind the
    // token.
    for worker in 0..2 {
        fixture.touch(worker, Write, &mut taurus.new_tuple_meta());
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
    let payload = CommitPayload { operations: &operations, is_barrier: true };
    let mut dependencies = taurus.new_dependencies();
    taurus.begin(&mut dependencies);
    let mut progress = AppendProgress::default();
    let token = loop {
        match taurus.log_commit(1, &mut dependencies, &payload, &mut progress).expect("room comes") {
            Append::Done(token) => break token,
            Append::Wait(ticket) => ticket.wait(),
        }
    };
    taurus.durability(&taurus.watch(), &token).wait().expect("durable");
    let records = fixture.records(1);
    assert_eq!(records.len(), 1);
    assert!(records[0].2 && records[0].0 == token.get(1));
}
