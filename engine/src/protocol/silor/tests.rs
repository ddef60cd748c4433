//! Which epoch a transaction is in, what its answer waits for, and what the logs say.

use std::path::Path;

use super::*;
use crate::disk::Disk;
use crate::disk::controlled::ControlledDisk;
use crate::log::record::{Commit, RecordBody};
use crate::log::set::LogSource;
use crate::log::store::LogReader;
use crate::protocol::Follows;

struct Fixture {
    memory: ControlledDisk,
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    silor: SiloR,
}

/// With two logs.
fn fixture() -> Fixture {
    let (memory, disk) = ControlledDisk::shared();
    let config = Config {
        disk: Arc::clone(&disk),
        protocol: ProtocolKind::SiloR,
        logs: 2,
        epoch: Duration::from_millis(1),
        log_buffer_bytes: 64 << 10,
        segment_bytes: 256 << 10,
        ..Config::new("data")
    };
    let mut manifest = Manifest::create();
    let silor = SiloR::start(&config, &mut manifest).expect("started");
    Fixture { memory, disk, manifest, silor }
}

impl Fixture {
    fn reserve(&self, worker: usize) -> Result<Append<u64>> {
        let payload = CommitPayload { operations: &[1; 100], commit: Commit::default() };
        let (mut epoch, mut progress) = (0, AppendProgress::default());
        let appended = self.silor.log_commit(worker, &mut epoch, &payload, &mut progress)?;
        Ok(match appended {
            Append::Done(()) => Append::Done(epoch),
            Append::Wait(ticket) => Append::Wait(ticket),
        })
    }

    /// Commits one transaction. Returns its epoch.
    fn commit(&self, worker: usize) -> u64 {
        loop {
            match self.reserve(worker).expect("nothing fails") {
                Append::Done(epoch) => return epoch,
                Append::Wait(ticket) => ticket.wait(),
            }
        }
    }

    fn durability(&self, epoch: u64) -> Durability {
        self.silor.durability(&self.silor.watch(), &epoch)
    }

    fn wait(&self, epoch: u64) {
        self.durability(epoch).wait().expect("nothing fails");
    }

    /// The epochs in a log: of each transaction, and of the last milestone before it. Ends the run.
    fn epochs(&self, log: usize) -> (Vec<(u64, u64)>, u64) {
        self.silor.shutdown().expect("nothing failed");
        let incarnation = self.manifest.incarnations.last().expect("one");
        let files = self.manifest.log_files(Path::new("data"), incarnation, log);
        let mut reader = LogReader::open(&self.disk, &files).expect("a log");
        let mut fields = StampOrder.reader();
        let mut found = Vec::new();
        while let Some(chunk) = reader.next_chunk().expect("undamaged") {
            for record in chunk.records() {
                match record.expect("well-formed").body {
                    RecordBody::Control(control) => fields.control(&control),
                    RecordBody::Transaction { content, .. } => {
                        let field = &content[..fields.field_bytes(content).expect("it has an end")];
                        fields.read(field).expect("it comes after the milestone");
                        let Follows::Stamp(epoch) = fields.follows() else { panic!("it has an epoch") };
                        found.push((epoch, fields.complete()));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        (found, fields.complete())
    }
}

#[test]
fn an_epoch_is_durable_when_all_logs_have_it() {
    let fixture = fixture();
    // Nothing is ever appended to the other log.
    let first = fixture.commit(0);
    fixture.wait(first);
    fixture.memory.hold_durable_writes(true);
    let second = fixture.commit(0);
    assert!(second > first, "a new epoch has begun");
    assert!(!fixture.durability(second).is_durable() && fixture.durability(first).is_durable());
    fixture.memory.hold_durable_writes(false);
    fixture.wait(second);
    assert!(!fixture.silor.epochs.is_used(), "no epoch goes on in which nothing is");
    let (other, complete) = fixture.epochs(1);
    assert_eq!((other, complete), (Vec::new(), second), "its milestones say that nothing is missing");
}

#[test]
fn a_reader_waits_for_the_epochs_of_what_it_has_seen() {
    let fixture = fixture();
    let silor = &fixture.silor;
    let reader = |mark: &[AtomicU64]| {
        let mut epoch = silor.new_dependencies();
        silor.begin(&mut epoch);
        silor.follow(mark, &mut epoch);
        silor.read_only_commit(&mut epoch);
        epoch
    };
    fixture.memory.hold_durable_writes(true);
    let epoch = fixture.commit(1);
    let (mark, nothing) = (silor.new_mark(), silor.new_mark());
    silor.write_mark(&epoch, &mark);
    assert_eq!((reader(&mark), reader(&nothing)), (epoch, 0));
    assert!(fixture.durability(reader(&nothing)).is_durable());
    assert!(!fixture.durability(reader(&mark)).is_durable() && !silor.is_forgettable(&mark));
    silor.join(&nothing, &mark);
    assert_eq!(reader(&mark), epoch);
    silor.join(&mark, &nothing);
    assert_eq!(reader(&nothing), epoch);
    fixture.memory.hold_durable_writes(false);
    fixture.wait(epoch);
    assert!(silor.is_forgettable(&mark));
}

#[test]
fn whoever_comes_later_is_in_no_earlier_epoch() {
    let fixture = fixture();
    let last = std::sync::Mutex::new(0);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (fixture, last) = (&fixture, &last);
            scope.spawn(move || {
                for _ in 0..2000 {
                    // The lock of the only row there is.
                    let mut last = last.lock().expect("nobody panicked");
                    let epoch = fixture.commit(worker);
                    assert!(epoch >= *last);
                    *last = epoch;
                }
            });
        }
    });
    fixture.wait(*last.lock().expect("nobody panicked"));
    let (first, complete) = fixture.epochs(0);
    let (second, other) = fixture.epochs(1);
    assert_eq!((first.len() + second.len(), complete), (8000, other));
    for (epoch, closed) in first.iter().chain(&second) {
        assert!(epoch > closed && *epoch <= complete, "{epoch}: {closed}, {complete}");
    }
}

#[test]
fn milestones_have_room_on_a_full_disk() {
    let fixture = fixture();
    fixture.wait(fixture.commit(0));
    fixture.memory.limit_space(fixture.memory.used_bytes());
    let mut last = 0;
    let error = loop {
        match fixture.reserve(0) {
            Ok(Append::Done(epoch)) => last = epoch,
            Ok(Append::Wait(ticket)) => ticket.wait(),
            Err(error) => break error,
        }
    };
    assert_eq!(error.sqlstate(), sqlstate::DISK_FULL);
    fixture.wait(last);
    // Those that are refused are in no epoch, and need no further milestones.
    assert!(!matches!(fixture.reserve(0), Ok(Append::Done(_))));
    assert_eq!(fixture.silor.epochs.last_used(), last);
}

#[test]
fn what_comes_after_the_last_epoch_has_ended_does_not_count() {
    let fixture = fixture();
    let last = fixture.commit(0);
    fixture.wait(last);
    fixture.silor.ticker.stop();
    // A session that has not ended yet. Its record becomes durable, but no milestone ever names its epoch.
    assert!(fixture.commit(1) > last);
    fixture.silor.shutdown().expect("nothing failed");
    let stored = Manifest::load(fixture.disk.as_ref(), Path::new("data")).expect("readable").expect("there");
    assert_eq!(stored.incarnations[0].up_to_end.stamp, Some(last));
}

#[test]
fn nothing_is_acknowledged_after_a_failure() {
    let fixture = fixture();
    fixture.wait(fixture.commit(0));
    fixture.memory.fail_durable_writes();
    // Unless the failure is known already.
    if let Ok(Append::Done(epoch)) = fixture.reserve(1) {
        assert!(fixture.durability(epoch).wait().is_err());
    }
    assert!(fixture.silor.shutdown().is_err());
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let checked = |logs, epoch| SiloR::check(&Config { logs, epoch, ..Config::new("data") });
    assert!(checked(64, Duration::from_millis(40)).is_ok());
    assert!(checked(0, Duration::from_millis(40)).is_err() && checked(65, Duration::MAX).is_err());
    assert!(checked(2, Duration::ZERO).is_err());
}
