//! Which GSN a transaction has, what its answer waits for, and what the logs say.

use std::path::Path;

use hyades_types::definition::TableId;

use super::*;
use crate::disk::Disk;
use crate::disk::controlled::ControlledDisk;
use crate::log::record::{Commit, OperationsWriter, RecordBody};
use crate::log::set::LogSource;
use crate::log::store::LogReader;
use crate::protocol::Follows;

const LOGS: usize = 2;

struct Fixture {
    memory: ControlledDisk,
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    plover: Plover,
}

fn fixture() -> Fixture {
    let (memory, disk) = ControlledDisk::shared();
    let config = Config {
        disk: Arc::clone(&disk),
        protocol: ProtocolKind::Plover,
        logs: LOGS,
        log_buffer_bytes: 64 << 10,
        segment_bytes: 256 << 10,
        ..Config::new("data")
    };
    let mut manifest = Manifest::create();
    let plover = Plover::start(&config, &mut manifest).expect("started");
    Fixture { memory, disk, manifest, plover }
}

/// A change of a row in each of these logs.
fn operations(logs: &[usize], row_bytes: usize) -> Vec<u8> {
    let mut writer = OperationsWriter::new();
    for wanted in logs {
        let key_of = |writer: &mut OperationsWriter, key: u64| {
            writer.put(TableId(1), &key.to_be_bytes(), &vec![1; row_bytes]);
        };
        let key = (0_u64..).find(|key| {
            let (mut one, mut division) = (OperationsWriter::new(), Division::default());
            key_of(&mut one, *key);
            division.divide(one.as_bytes(), LOGS, false);
            division.parts(one.as_bytes())[0].0 == *wanted
        });
        key_of(&mut writer, key.expect("there are enough"));
    }
    writer.as_bytes().to_vec()
}

impl Fixture {
    /// Commits what follows this GSN. Returns its own.
    fn commit(&self, follows: u64, operations: &[u8]) -> u64 {
        self.commit_payload(follows, CommitPayload { operations, commit: Commit::default() })
    }

    fn commit_payload(&self, follows: u64, payload: CommitPayload<'_>) -> u64 {
        let mut dependencies = Dependencies { gsn: follows, ..Dependencies::default() };
        let mut progress = AppendProgress::default();
        loop {
            let appended = self.plover.log_commit(0, &mut dependencies, &payload, &mut progress);
            match appended.expect("nothing fails") {
                Append::Done(()) => return dependencies.gsn,
                Append::Wait(ticket) => ticket.wait(),
            }
        }
    }

    fn durability(&self, gsn: u64) -> Durability {
        let dependencies = Dependencies { gsn, ..Dependencies::default() };
        self.plover.durability(&self.plover.watch(), &dependencies)
    }

    fn wait(&self, gsn: u64) {
        self.durability(gsn).wait().expect("nothing fails");
    }

    /// The GSNs in a log, in its order, and the one up to which it is complete. Ends the run.
    fn sequence(&self, log: usize) -> (Vec<u64>, u64) {
        self.plover.shutdown().expect("nothing failed");
        let incarnation = self.manifest.incarnations.last().expect("one");
        let files = self.manifest.log_files(Path::new("data"), incarnation, log);
        let mut reader = LogReader::open(&self.disk, &files).expect("a log");
        let mut fields = StampOrder.reader();
        let mut found = Vec::new();
        while let Some(chunk) = reader.next_chunk().expect("undamaged") {
            for record in chunk.records() {
                match record.expect("well-formed").body {
                    RecordBody::Control(control) => fields.control(&control),
                    RecordBody::Transaction { content, .. }
                    | RecordBody::Fragment { commit: Some(_), content, .. } => {
                        let field = &content[..fields.field_bytes(content).expect("it has an end")];
                        fields.read(field).expect("it comes after the milestone");
                        let Follows::Stamp(gsn) = fields.follows() else { panic!("it has a GSN") };
                        found.push(gsn);
                    }
                    _ => {}
                }
            }
        }
        (found, fields.complete())
    }
}

#[test]
fn all_parts_have_one_number_and_each_log_has_the_order_of_its_numbers() {
    let fixture = fixture();
    let [both, first, second] = [&[0, 1][..], &[0], &[1]].map(|logs| operations(logs, 10));
    let one = fixture.commit(0, &first);
    let next = fixture.commit(0, &first);
    // It has read what the first one wrote, and nothing else orders it with the other log.
    let reader = fixture.commit(one, &second);
    assert!(next > one && reader > one);
    assert!(fixture.commit(0, &both) > next.max(reader));
    std::thread::scope(|scope| {
        for operations in [&both, &first, &second] {
            let fixture = &fixture;
            scope.spawn(move || {
                let last = (0..500).fold(0, |last, _| {
                    let gsn = fixture.commit(last, operations);
                    assert!(gsn > last);
                    gsn
                });
                fixture.wait(last);
            });
        }
    });
    let (first, complete) = fixture.sequence(0);
    let (second, other) = fixture.sequence(1);
    assert_eq!((first.len(), second.len(), complete), (1003, 1002, other));
    assert!([&first, &second].into_iter().all(|log| log.is_sorted_by(|one, next| one < next)));
}

#[test]
fn a_log_without_traffic_holds_up_nothing() {
    let fixture = fixture();
    let operations = operations(&[1], 10);
    let last = (0..10).fold(0, |_, _| fixture.commit(0, &operations));
    fixture.wait(last);
    assert_eq!(fixture.sequence(0), (Vec::new(), last));
}

/// A transaction that has taken a change of the catalog back is still a barrier, which is replayed alone.
#[test]
fn a_barrier_is_not_divided() {
    let fixture = fixture();
    let operations = operations(&[0, 1], 10);
    let commit = Commit { is_barrier: true, ..Commit::default() };
    fixture.wait(fixture.commit_payload(0, CommitPayload { operations: &operations, commit }));
    assert_eq!((fixture.sequence(0).0.len(), fixture.sequence(1).0.len()), (1, 0));
}

#[test]
fn an_answer_waits_for_all_logs() {
    let fixture = fixture();
    fixture.memory.hold_durable_writes(true);
    let gsn = fixture.commit(0, &operations(&[0, 1], 10));
    assert!(!fixture.durability(gsn).is_durable() && fixture.durability(0).is_durable());
    let mark = fixture.plover.new_mark();
    fixture.plover.write_mark(&Dependencies { gsn, ..Dependencies::default() }, &mark);
    assert!(!fixture.plover.is_forgettable(&mark));
    let mut reader = fixture.plover.new_dependencies();
    fixture.plover.follow(&mark, &mut reader);
    fixture.plover.read_only_commit(&mut reader);
    assert_eq!(reader.gsn, gsn);
    fixture.memory.hold_durable_writes(false);
    fixture.wait(gsn);
    assert!(fixture.plover.is_forgettable(&mark));
}

#[test]
fn a_large_transaction_has_fragments_in_each_log() {
    let fixture = fixture();
    let large = operations(&[0, 1, 0, 1], 30 << 10);
    let last = (0..5).fold(0, |last, _| fixture.commit(last, &large));
    fixture.wait(last);
    for log in 0..LOGS {
        assert_eq!(fixture.sequence(log), ((1..=5).collect(), 5));
    }
}
