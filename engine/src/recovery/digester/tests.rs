//! Digests of logs at work: they say what a reading of the logs says, and with them only the rest is read.

use std::path::Path;
use std::sync::Arc;

use hyades_types::definition::{CatalogChange, SequenceId, SequenceState, TableId};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Reading, Work};
use crate::config::{Config, RestartMode};
use crate::disk::Disk;
use crate::disk::controlled::ControlledDisk;
use crate::log::durable::Durability;
use crate::log::manifest::{Checkpoint, Incarnation, LogShape, Manifest, UpToEnd};
use crate::log::record::{Commit, OperationsWriter};
use crate::log::{Append, AppendProgress, Logs, RunningLogs};
use crate::lsn::{Lsn, LsnVector};
use crate::protocol::compress_all;
use crate::recovery::cut;
use crate::recovery::digest::{self, Digest};
use crate::recovery::last_positions::Last;
use crate::recovery::log_summary::{LogSummary, Said};
use crate::recovery::tail;
use crate::storage::databases::Databases;

const LOGS: usize = 2;

/// Logs whose digest only the test keeps.
struct Subject {
    disk: ControlledDisk,
    config: Config,
    running: RunningLogs,
    work: Work,
    random: StdRng,
    /// The end of the last transaction in each log.
    ends: Vec<u64>,
}

impl Subject {
    fn start(seed: u64) -> Subject {
        let (disk, shared) = ControlledDisk::shared();
        let config = Config {
            disk: shared,
            logs: LOGS,
            log_buffer_bytes: 64 << 10,
            segment_bytes: 256 << 10,
            restart: RestartMode::OnDemand,
            recovery_workers: 1,
            ..Config::new("data")
        };
        let shape = LogShape { logs: LOGS, stripes: 1 };
        let running = Logs::start(&config, shape, &mut Manifest::create(), |_| Box::new(()));
        let running = running.expect("an empty disk");
        let work = Work::new(&config, &running);
        let (random, ends) = (StdRng::seed_from_u64(seed), vec![0; LOGS]);
        Subject { disk, config, running, work, random, ends }
    }

    /// Appends a transaction that names these positions.
    fn append(&mut self, log: usize, operations: &[u8], named: &[u64]) {
        let mut progress = AppendProgress::default();
        let field = |header: &mut Vec<u8>| _ = compress_all(named, |_| 0, header);
        let end = loop {
            let fragments = self.running.append_fragments(log, log, &mut progress, operations);
            let ticket = match fragments.expect("nothing fails") {
                Append::Wait(ticket) => ticket,
                Append::Done(()) => {
                    let commit = Commit::default();
                    let place =
                        self.running.reserve_commit(log, log, &mut progress, commit, field, operations);
                    match place.expect("nothing fails") {
                        Append::Done(mut place) => {
                            place.write(operations);
                            break place.publish();
                        }
                        Append::Wait(ticket) => ticket,
                    }
                }
            };
            ticket.wait();
        };
        self.ends[log] = end.0;
    }

    /// The first piece of a transaction that is never complete.
    fn append_unfinished(&mut self, log: usize, operations: &[u8]) {
        let mut progress = AppendProgress::default();
        let mut append = || self.running.append_fragments(log, log, &mut progress, operations);
        while let Append::Wait(ticket) = append().expect("nothing fails") {
            ticket.wait();
        }
    }

    /// Transactions of all kinds.
    fn append_some(&mut self, count: usize) {
        for _ in 0..count {
            let log = self.random.random_range(0..LOGS);
            let operations = self.operations();
            let named = if self.random.random_bool(0.5) { self.ends.clone() } else { vec![0; LOGS] };
            self.append(log, &operations, &named);
        }
    }

    fn operations(&mut self) -> Vec<u8> {
        let mut writer = OperationsWriter::new();
        let large = if self.random.random_bool(0.05) { 300 } else { 3 };
        for _ in 0..self.random.random_range(1..=large) {
            let number = self.random.random_range(1..10);
            match self.random.random_range(0..20) {
                0 => writer.delete(TableId(number), b"key"),
                1 => {
                    let (epoch, value) = (u64::from(number), self.random.random_range(-50..50));
                    let state = SequenceState { epoch, value, is_called: true };
                    writer.sequence(SequenceId(number), state);
                }
                2 if self.random.random_bool(0.1) => {
                    let change = CatalogChange::Truncate { id: TableId(number) };
                    writer.change_catalog(&change).expect("it can be written");
                }
                _ => writer.put(TableId(number), b"key", &vec![7; self.random.random_range(0..400)]),
            }
        }
        writer.as_bytes().to_vec()
    }

    fn wait_until_durable(&self) {
        for log in 0..LOGS {
            let end = self.running.reserved(log);
            let watch = Arc::clone(self.running.watch());
            Durability::in_log(&watch.into(), log, end).wait().expect("nothing fails");
            // The logger notes it a moment later.
            while self.running.whole(log) < end {
                std::thread::yield_now();
            }
        }
    }

    fn look(&mut self) {
        self.wait_until_durable();
        // As if their segments were full.
        (0..LOGS).for_each(|log| self.running.note_settled(log));
        self.work.look(&|| false);
    }

    /// The manifest as a crash would leave it.
    fn manifest(&self) -> Manifest {
        self.running.manifest()
    }

    fn find(&self, manifest: &Manifest) -> Option<Digest> {
        digest::find(&self.config, manifest, running(manifest))
    }

    /// Summaries that begin with the digest, if there is one, read up to the end; where they began.
    fn read(&self, manifest: &Manifest) -> (Vec<u64>, Vec<Said>) {
        let databases = Arc::new(Databases::new());
        let summaries = LogSummary::of_each(&self.config, manifest, running(manifest), &databases);
        let summaries = summaries.expect("the protocol is known");
        let begun = summaries.iter().map(|summary| summary.position().0).collect();
        let place = manifest.incarnations.len() - 1;
        let (cut, _, summaries) =
            cut::find_end(&self.config, manifest, place, 1, summaries).expect("nothing is damaged");
        assert_eq!(cut.limit.entries(), self.ends_of_logs().entries());
        let said = summaries.into_iter().map(|summary| summary.conclude(&cut).expect("few wait"));
        (begun, said.collect())
    }

    fn ends_of_logs(&self) -> LsnVector {
        let ends: Vec<u64> = (0..LOGS).map(|log| self.running.reserved(log).0).collect();
        LsnVector::from_slice(&ends)
    }

    fn remove_digests(&self) {
        for name in self.disk.list(Path::new("data/digests")).expect("it is there") {
            self.disk.remove(&Path::new("data/digests").join(name)).expect("it is there");
        }
    }

    fn checkpoint(&self, number: u64) -> Checkpoint {
        let ends = self.ends_of_logs().entries().to_vec();
        Checkpoint {
            number,
            incarnation: 1,
            from: ends.clone(),
            raised: ends.clone(),
            settled: ends,
            stamp: None,
            time: None,
            is_phase_odd: number % 2 == 1,
            contents_crc32c: 0,
        }
    }
}

fn running(manifest: &Manifest) -> &Incarnation {
    manifest.incarnations.last().expect("it has begun")
}

fn digest_path() -> &'static Path {
    Path::new("data/digests/00000001.digest")
}

#[test]
fn digest_and_the_rest_say_what_the_whole_logs_do() {
    for seed in 0..5 {
        let mut subject = Subject::start(seed);
        let mut before = vec![0; LOGS];
        for _ in 0..4 {
            subject.append_some(40);
            subject.look();
            let digest = subject.find(&subject.manifest()).expect("it was written");
            assert_eq!(digest.durable.entries(), subject.ends_of_logs().entries());
            subject.append_some(5);
            subject.wait_until_durable();
            let (begun, said) = subject.read(&subject.manifest());
            let positions: Vec<u64> = digest.logs.iter().map(|log| log.position).collect();
            assert_eq!((&begun, begun > before), (&positions, true), "they go on where it ends");
            subject.remove_digests();
            let (from, whole) = subject.read(&subject.manifest());
            assert_eq!((from, said), (vec![0; LOGS], whole));
            before = begun;
        }
        subject.running.shutdown().expect("nothing failed");
    }
}

#[test]
fn digest_of_logs_that_have_ended_is_used() {
    let mut subject = Subject::start(7);
    subject.append_some(60);
    subject.look();
    subject.append_some(5);
    subject.running.shutdown().expect("nothing failed");
    let manifest = subject.manifest();
    let read = || {
        let databases = Arc::new(Databases::new());
        tail::read_ended(&subject.config, &manifest, running(&manifest), 1, &databases).expect("it is there")
    };
    assert!(subject.find(&manifest).is_some());
    let said = read();
    subject.remove_digests();
    assert_eq!(said, read());
}

#[test]
fn digest_of_an_incarnation_that_ended_before_it_is_not_used() {
    let mut subject = Subject::start(8);
    subject.append_some(60);
    subject.look();
    let mut manifest = subject.manifest();
    let mut end = subject.ends_of_logs();
    end.lower(&[end.get(0).0, end.get(1).0 - 8]);
    manifest.incarnations[0].freeze(&end, UpToEnd::default());
    assert_eq!(subject.find(&manifest), None);
    manifest.incarnations[0].freeze(&subject.ends_of_logs(), UpToEnd::default());
    assert!(subject.find(&manifest).is_some());
}

#[test]
fn digest_that_is_damaged_or_foreign_is_not_used() {
    let mut subject = Subject::start(9);
    subject.append_some(60);
    subject.look();
    let manifest = subject.manifest();
    let whole = subject.disk.content(digest_path());
    for place in 0..whole.len() {
        for bit in [0, 3, 7] {
            subject.disk.edit(digest_path(), |bytes| bytes[place] ^= 1 << bit);
            assert_eq!(subject.find(&manifest), None, "bit {bit} of byte {place}");
            subject.disk.edit(digest_path(), |bytes| bytes.clone_from(&whole));
        }
        subject.disk.edit(digest_path(), |bytes| bytes.truncate(place));
        assert_eq!(subject.find(&manifest), None, "cut to {place} bytes");
        subject.disk.edit(digest_path(), |bytes| bytes.clone_from(&whole));
    }
    assert!(subject.find(&manifest).is_some());
    let other = Manifest::create();
    assert_eq!(digest::find(&subject.config, &other, running(&manifest)), None);
    let of_serial = Incarnation { protocol: "serial".to_owned(), ..running(&manifest).clone() };
    assert_eq!(digest::find(&subject.config, &manifest, &of_serial), None);
    let next = Incarnation { number: 2, ..running(&manifest).clone() };
    subject.disk.rename(digest_path(), Path::new("data/digests/00000002.digest")).expect("it is there");
    assert_eq!(digest::find(&subject.config, &manifest, &next), None);
    // An incarnation of this number is still to begin.
    digest::remove_foreign(&subject.config, &manifest);
    assert!(subject.disk.list(Path::new("data/digests")).expect("it is there").is_empty());
}

#[test]
fn digest_forgets_what_a_checkpoint_holds() {
    let mut subject = Subject::start(10);
    subject.append_some(60);
    subject.look();
    let old = subject.find(&subject.manifest()).expect("it was written");
    assert!(!old.logs[0].last.tables.is_empty());
    let checkpoint = subject.checkpoint(1);
    subject.running.publish(checkpoint.clone()).expect("nothing fails");
    // Nothing of it is needed any more.
    assert_eq!(subject.find(&subject.manifest()), None);
    let operations = {
        let mut writer = OperationsWriter::new();
        writer.put(TableId(77), b"key", b"row");
        writer.as_bytes().to_vec()
    };
    subject.append(0, &operations, &[0; LOGS]);
    subject.look();
    let digest = subject.find(&subject.manifest()).expect("it was written");
    let end = subject.ends[0];
    assert_eq!((digest.checkpoint, digest.logs[0].from), (1, checkpoint.from[0]));
    assert_eq!(digest.logs[0].last, Last { tables: [(TableId(77), end)].into(), ..Last::default() });
    assert_eq!(digest.logs[1].last, Last::default());
    // A restart without this checkpoint must read the logs.
    let mut before = subject.manifest();
    before.checkpoints.clear();
    assert_eq!(subject.find(&before), None);
}

#[test]
fn digest_ends_where_a_large_transaction_begins_that_is_not_complete() {
    let mut subject = Subject::start(11);
    subject.append_some(20);
    let begin = subject.running.reserved(0).0;
    let mut writer = OperationsWriter::new();
    writer.put(TableId(5), b"key", &[1; 100_000]);
    subject.append_unfinished(0, writer.as_bytes());
    subject.append_some(20);
    subject.look();
    let digest = subject.find(&subject.manifest()).expect("it was written");
    assert_eq!(digest.logs[0].position, begin);
    assert!(digest.logs[0].last.tables.values().any(|end| *end > begin), "it also tells of what comes later");
    let (_, said) = subject.read(&subject.manifest());
    subject.remove_digests();
    assert_eq!(said, subject.read(&subject.manifest()).1);
    // No unfinished transaction has pieces before the checkpoint.
    subject.running.publish(subject.checkpoint(1)).expect("nothing fails");
    subject.append_some(20);
    subject.look();
    let digest = subject.find(&subject.manifest()).expect("it was written");
    assert_eq!(digest.logs[0].position, subject.running.reserved(0).0);
}

#[test]
fn digest_is_not_written_before_all_of_it_counts() {
    let mut subject = Subject::start(12);
    subject.append_some(20);
    let mut writer = OperationsWriter::new();
    writer.sequence(SequenceId(5), SequenceState { epoch: 1, value: 5, is_called: true });
    let named = [0, subject.running.reserved(1).0];
    subject.append(0, writer.as_bytes(), &named);
    subject.wait_until_durable();
    let manifest = subject.manifest();
    let mut reading = Reading::begin(&manifest).expect("the protocol is known");
    let durable = subject.work.durable();
    // As if the other log were not durable yet.
    let earlier = LsnVector::from_slice(&[durable.get(0).0, named[1] - 8]);
    reading
        .read(&subject.config, &manifest, (&earlier, &earlier), &|| false)
        .expect_err("it ends inside a record");
    let mut reading = Reading::begin(&manifest).expect("the protocol is known");
    let earlier = LsnVector::from_slice(&[durable.get(0).0, 0]);
    reading.read(&subject.config, &manifest, (&earlier, &earlier), &|| false).expect("nothing is damaged");
    reading.store(&subject.config, &manifest, &earlier).expect("nothing fails");
    assert_eq!((reading.is_stored, subject.find(&manifest)), (false, None));
    reading.store(&subject.config, &manifest, &durable).expect("nothing fails");
    assert!(reading.is_stored);
    let digest = subject.find(&manifest).expect("it was written");
    assert!(digest.logs[0].draws.contains_key(&SequenceId(5)));
}

#[test]
fn digest_is_of_no_use_where_a_segment_is_missing_or_cut() {
    let mut subject = Subject::start(13);
    let mut writer = OperationsWriter::new();
    writer.put(TableId(5), b"key", &[1; 5000]);
    let operations = writer.as_bytes().to_vec();
    // Four segments and more.
    (0..300).for_each(|_| subject.append(0, &operations, &[0; LOGS]));
    subject.look();
    let manifest = subject.manifest();
    assert!(subject.find(&manifest).is_some());
    let second = Path::new("data/logs/log-0/00000001-00000002.segment");
    let whole = subject.disk.content(second);
    for length in [0, 4096, whole.len() - 1] {
        subject.disk.edit(second, |bytes| bytes.truncate(length));
        assert_eq!(subject.find(&manifest), None, "{length} bytes");
        subject.disk.edit(second, |bytes| bytes.clone_from(&whole));
    }
    subject.disk.edit(second, |bytes| bytes[100] ^= 1);
    assert_eq!(subject.find(&manifest), None);
    subject.disk.edit(second, |bytes| bytes.clone_from(&whole));
    assert!(subject.find(&manifest).is_some());
    subject.disk.rename(second, Path::new("data/elsewhere")).expect("it is there");
    assert_eq!(subject.find(&manifest), None);
}

#[test]
fn digest_bounds_the_ends_of_the_logs() {
    let mut subject = Subject::start(14);
    subject.append_some(60);
    subject.wait_until_durable();
    // In a block of its own.
    let mut writer = OperationsWriter::new();
    writer.put(TableId(5), b"key", b"row");
    subject.append(0, writer.as_bytes(), &[0; LOGS]);
    subject.look();
    let manifest = subject.manifest();
    // The last block is gone: without the digest, it might never have been written.
    let path = Path::new("data/logs/log-0/00000001-00000001.segment");
    subject.disk.edit(path, |bytes| {
        let last = bytes.iter().rposition(|byte| *byte != 0).expect("something is there");
        bytes[last / 4096 * 4096..].fill(0);
    });
    let databases = Arc::new(Databases::new());
    let summaries = LogSummary::of_each(&subject.config, &manifest, running(&manifest), &databases);
    let found = cut::find_end(&subject.config, &manifest, 0, 1, summaries.expect("it is known"));
    let error = found.err().expect("something is lost").to_string();
    assert!(error.contains("although it was durable up to") || error.contains("was durable"), "{error}");
}

#[test]
fn a_digest_that_cannot_be_made_stops_nothing() {
    let mut subject = Subject::start(15);
    subject.append_some(60);
    subject.disk.limit_space(1);
    subject.look();
    assert_eq!(subject.find(&subject.manifest()), None);
    assert!(subject.work.has_warned && subject.work.not_before.is_some());
    subject.disk.limit_space(0);
    subject.work.not_before = None;
    subject.look();
    assert!(subject.find(&subject.manifest()).is_some());
    assert!(subject.running.watch().failure().is_none());
    assert_eq!(Lsn(subject.ends[0]), subject.running.reserved(0));
}
