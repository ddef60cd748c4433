//! The lock table with Taurus' vectors, in every interleaving: whoever gets a tuple after somebody in whose way he is follows him.
//!
//! Here, because only `db` knows both. A model of the logs stands in for the real ones: a place is reserved by one atomic add and counts as filled and durable at once, and a
//! logger raises the floor to what is durable, at any time. So entries are evicted and defaulted wherever that may happen. What each
//! transaction did is kept in plain cells behind the locks; a transaction that is refused a lock gives up.
//!
//! Checked of every record: its LV covers the ends of those that it must follow (pitfalls 3, 19, 22, 23), and nothing that had not been
//! reserved before it (pitfall 2).

use super::lock_model::{LOGS, ModelLogs};
use crate::lsn::LsnVector;
use crate::protocol::{AccessMode, Protocol, Trace};
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering};
use crate::txn::lock_table::{Acquired, LockTable, Resource, TransactionId};

/// What stands behind the lock of a row or a gap: the ends of the records of those who touched it, by log.
#[derive(Default)]
struct Touched {
    written: [AtomicU64; LOGS],
    read: [AtomicU64; LOGS],
}

impl Touched {
    fn must_be_covered(ends: &[AtomicU64; LOGS], vector: &LsnVector) {
        for (log, end) in ends.iter().enumerate() {
            let end = end.load(Ordering::Relaxed);
            assert!(
                vector.get(log).0 >= end,
                "it does not follow the record that ends at {end} in log {log}"
            );
        }
    }
}

struct Model {
    logs: ModelLogs,
    locks: LockTable<ModelLogs>,
    touched: Touched,
    is_divided: AtomicBool,
}

const ROW: Resource = Resource(1 << 20);
/// The gap behind all keys, and what becomes of its lower part and the new key.
const GAP: Resource = Resource(2 << 20);
const PART: Resource = Resource(3 << 20);
const KEY: Resource = Resource(4 << 20);

impl Model {
    fn new(buckets: usize) -> Arc<Model> {
        Arc::new(Model {
            logs: ModelLogs::default(),
            locks: LockTable::new(buckets),
            touched: Touched::default(),
            is_divided: AtomicBool::new(false),
        })
    }

    /// Locks one resource as transaction number `log`, which appends to that log; nothing if it would have to wait.
    fn lock(&self, log: usize, resource: Resource, mode: AccessMode, vector: &mut LsnVector) -> bool {
        let transaction = TransactionId(log as u64);
        matches!(
            self.locks.try_acquire(&self.logs, vector, transaction, resource, mode),
            Some(Acquired::New(_) | Acquired::Held(_))
        )
    }

    fn release(&self, log: usize, resource: Resource, token: &LsnVector, trace: Trace) {
        self.locks.release(&self.logs, TransactionId(log as u64), resource, |mode, meta| {
            self.logs.released(mode, meta, token, trace);
        });
    }

    /// A transaction that locks `resource` and does nothing else, logged as a command.
    fn touch(&self, log: usize, resource: Resource, mode: AccessMode) -> bool {
        let mut vector = self.logs.new_dependencies();
        if !self.lock(log, resource, mode, &mut vector) {
            return false;
        }
        let token = self.logs.commit(log, &mut vector);
        Touched::must_be_covered(&self.touched.written, &vector);
        match mode {
            AccessMode::Read => self.touched.read[log].store(token.get(log).0, Ordering::Relaxed),
            _ => {
                Touched::must_be_covered(&self.touched.read, &vector);
                self.touched.written[log].store(token.get(log).0, Ordering::Relaxed);
            }
        }
        self.release(log, resource, &token, Trace::Command);
        true
    }

    /// An insert that divides the gap and is rolled back or not.
    fn insert(&self, log: usize, is_kept: bool) {
        let mut vector = self.logs.new_dependencies();
        let is_free = self.lock(log, KEY, AccessMode::Write, &mut vector)
            && self.lock(log, GAP, AccessMode::IntentWrite, &mut vector);
        if is_free {
            self.locks.divide(&self.logs, GAP, [PART, KEY]);
            self.is_divided.store(true, Ordering::Release);
        }
        let (token, trace) = match is_free && is_kept {
            true => (self.logs.commit(log, &mut vector), Trace::Data),
            false => (vector.clone(), Trace::None),
        };
        if trace == Trace::Data {
            Touched::must_be_covered(&self.touched.read, &vector);
        }
        for resource in [GAP, KEY] {
            self.release(log, resource, &token, trace);
        }
    }

    /// A scan of the whole gap: of its parts, too, where it finds it divided.
    fn scan(&self, log: usize) {
        let mut vector = self.logs.new_dependencies();
        let mut is_free = self.lock(log, GAP, AccessMode::Read, &mut vector);
        if is_free && self.is_divided.load(Ordering::Acquire) {
            is_free = self.lock(log, PART, AccessMode::Read, &mut vector)
                && self.lock(log, KEY, AccessMode::Read, &mut vector);
        }
        let (token, trace) = match is_free {
            true => (self.logs.commit(log, &mut vector), Trace::Command),
            false => (vector.clone(), Trace::None),
        };
        if is_free {
            self.touched.read[log].store(token.get(log).0, Ordering::Relaxed);
        }
        for resource in [GAP, PART, KEY] {
            self.release(log, resource, &token, trace);
        }
    }
}

fn spawn(model: &Arc<Model>, work: impl FnOnce(&Model) + 'static) -> loom::thread::JoinHandle<()> {
    let model = Arc::clone(model);
    loom::thread::spawn(move || work(&model))
}

#[test]
fn loom_writers_follow_each_other_also_through_the_floor() {
    loom::model(|| {
        let model = Model::new(1);
        let other = spawn(&model, |model| {
            model.touch(1, ROW, AccessMode::Write);
        });
        let logger = spawn(&model, |model| model.logs.raise_floor());
        model.touch(0, ROW, AccessMode::Write);
        other.join().expect("it ends");
        logger.join().expect("it ends");
        assert!(model.touch(2, ROW, AccessMode::Write), "nobody is left");
    });
}

#[test]
fn loom_a_writer_follows_all_command_readers() {
    loom::model(|| {
        let model = Model::new(1);
        let reader = spawn(&model, |model| {
            model.touch(1, ROW, AccessMode::Read);
        });
        let writer = spawn(&model, |model| {
            model.touch(2, ROW, AccessMode::Write);
        });
        model.touch(0, ROW, AccessMode::Read);
        reader.join().expect("it ends");
        writer.join().expect("it ends");
        assert!(model.touch(2, ROW, AccessMode::Write), "nobody is left");
    });
}

#[test]
fn loom_both_parts_of_a_divided_gap_follow_its_readers() {
    for is_kept in [true, false] {
        loom::model(move || {
            let model = Model::new(1);
            let inserter = spawn(&model, move |model| model.insert(1, is_kept));
            let logger = spawn(&model, |model| model.logs.raise_floor());
            model.scan(0);
            inserter.join().expect("it ends");
            logger.join().expect("it ends");
            // Later inserts lock only the part that they land in.
            let parts = if model.is_divided.load(Ordering::Acquire) { vec![PART, KEY] } else { vec![GAP] };
            for part in parts {
                let mut vector = model.logs.new_dependencies();
                assert!(model.lock(2, part, AccessMode::IntentWrite, &mut vector), "nobody is left");
                let token = model.logs.commit(2, &mut vector);
                Touched::must_be_covered(&model.touched.read, &vector);
                model.release(2, part, &token, Trace::None);
            }
        });
    }
}
