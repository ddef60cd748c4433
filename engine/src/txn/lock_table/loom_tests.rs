//! The traces in the lock table, in every interleaving: a transaction that gets a tuple after a conflicting
//! one follows it.
//!
//! The logs are those of `model`, with a logger that raises the floor at any time. What each transaction did
//! is kept in plain cells behind the locks. Some transactions give up where they are refused a lock. Others
//! wait, and are granted it, cancel, claim it while they already want another one, or are the victim of a
//! deadlock.
//!
//! Checked of every record: its LV covers the ends of those that it must follow (pitfalls 3, 19, 22, 23), and
//! nothing that had not been reserved before it (pitfall 2).

use super::model::{LOGS, ModelLogs, leaver};
use super::{Acquired, LockTable, Resource, Trace, TransactionId};
use crate::lsn::LsnVector;
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering};
use crate::txn::lock_mode::LockMode;

/// What the lock of a row or a gap protects: the ends of the records of those that touched it, by log.
#[derive(Default)]
struct Touched {
    /// Whether the row is there.
    made: [AtomicU64; LOGS],
    written: [AtomicU64; LOGS],
    read: [AtomicU64; LOGS],
    key_read: [AtomicU64; LOGS],
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

impl Touched {
    /// A command with this vector and token has touched the row in this mode.
    fn touch(&self, log: usize, mode: LockMode, vector: &LsnVector, token: &LsnVector) {
        use LockMode::{IntentRead, IntentWrite, KeyRead, NoKeyWrite, Read, Write};
        let (follows, leaves): (&[_], &[_]) = match mode {
            KeyRead => (&[&self.made], &[&self.key_read]),
            Read => (&[&self.written, &self.made], &[&self.read]),
            NoKeyWrite => (&[&self.written, &self.made, &self.read], &[&self.written]),
            Write => (&[&self.written, &self.made, &self.read, &self.key_read], &[&self.written, &self.made]),
            IntentRead | IntentWrite => unreachable!("rows have no intents"),
        };
        follows.iter().for_each(|ends| Touched::must_be_covered(ends, vector));
        leaves.iter().for_each(|ends| ends[log].store(token.get(log).0, Ordering::Relaxed));
    }
}

struct Model {
    logs: ModelLogs,
    locks: LockTable<ModelLogs>,
    touched: Touched,
    is_divided: AtomicBool,
}

const ROW: Resource = Resource(1 << 20);
/// The gap after all keys, and what becomes of its lower part and the new key.
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

    /// Locks one resource as transaction number `log`, which appends to that log; nothing if it would have to
    /// wait.
    fn lock(&self, log: usize, resource: Resource, mode: LockMode, vector: &mut LsnVector) -> bool {
        let transaction = TransactionId(log as u64);
        matches!(
            self.locks.try_acquire(&self.logs, vector, transaction, resource, mode),
            Some(Acquired::New(_) | Acquired::Held(_))
        )
    }

    fn release(&self, log: usize, resource: Resource, token: &LsnVector, trace: Trace) {
        self.locks.release(&self.logs, TransactionId(log as u64), resource, leaver(token, trace));
    }

    /// Locks one resource and waits for it; false if that would be a deadlock.
    fn lock_waiting(&self, log: usize, resource: Resource, mode: LockMode, vector: &mut LsnVector) -> bool {
        let transaction = TransactionId(log as u64);
        loop {
            match self.locks.acquire(&self.logs, vector, transaction, resource, mode) {
                Acquired::New(_) | Acquired::Held(_) => return true,
                Acquired::Deadlock => return false,
                Acquired::Wait(ticket) => {
                    while !ticket.is_ready() {
                        loom::thread::yield_now();
                    }
                }
            }
        }
    }

    /// The end of a command that has done this to `ROW`.
    fn finish(&self, log: usize, mode: LockMode, mut vector: LsnVector) {
        let token = self.logs.commit(log, &mut vector);
        self.touched.touch(log, mode, &vector, &token);
        self.release(log, ROW, &token, Trace::Command);
        self.locks.forget_waits(TransactionId(log as u64));
    }

    /// A transaction that locks `ROW` and does nothing else, logged as a command.
    fn touch(&self, log: usize, mode: LockMode) -> bool {
        let mut vector = LsnVector::zero(LOGS);
        let is_locked = self.lock(log, ROW, mode, &mut vector);
        if is_locked {
            self.finish(log, mode, vector);
        }
        is_locked
    }

    /// The same, waiting.
    fn touch_waiting(&self, log: usize, mode: LockMode) {
        let mut vector = LsnVector::zero(LOGS);
        assert!(
            self.lock_waiting(log, ROW, mode, &mut vector),
            "it holds nothing that anybody could wait for"
        );
        self.finish(log, mode, vector);
    }

    /// A transaction that has `ROW` in one mode and requests a stronger one. If it would have to wait, it
    /// cancels that request, and goes on with what it has.
    fn upgrade_or_cancel(&self, log: usize, from: LockMode, to: LockMode) {
        let mut vector = LsnVector::zero(LOGS);
        if !self.lock(log, ROW, from, &mut vector) {
            return;
        }
        let transaction = TransactionId(log as u64);
        let mode = match self.locks.acquire(&self.logs, &mut vector, transaction, ROW, to) {
            Acquired::New(mode) | Acquired::Held(mode) => mode,
            Acquired::Deadlock => from,
            Acquired::Wait(_) => {
                loom::thread::yield_now();
                self.locks.withdraw(transaction, ROW);
                from
            }
        };
        self.finish(log, mode, vector);
    }

    /// A transaction that waits for `ROW` and then wants `KEY` first: it keeps what it was granted meanwhile.
    fn wait_and_claim(&self, log: usize, mode: LockMode) {
        let mut vector = LsnVector::zero(LOGS);
        let transaction = TransactionId(log as u64);
        let has_row = match self.locks.acquire(&self.logs, &mut vector, transaction, ROW, mode) {
            Acquired::New(_) | Acquired::Held(_) => true,
            Acquired::Deadlock => unreachable!("it holds nothing"),
            Acquired::Wait(_) => self.locks.claim(&self.logs, &mut vector, transaction, ROW),
        };
        assert!(self.lock_waiting(log, KEY, LockMode::Write, &mut vector), "nobody else wants it");
        self.release(log, KEY, &vector, Trace::None);
        if has_row {
            self.finish(log, mode, vector);
        }
    }

    /// Two locks, one after another; true if the second would have been a deadlock.
    fn take_both(&self, log: usize, first: (Resource, LockMode), second: (Resource, LockMode)) -> bool {
        let mut vector = LsnVector::zero(LOGS);
        assert!(self.lock_waiting(log, first.0, first.1, &mut vector), "it holds nothing");
        let is_victim = !self.lock_waiting(log, second.0, second.1, &mut vector);
        for resource in [first.0, second.0] {
            self.release(log, resource, &vector, Trace::None);
        }
        self.locks.forget_waits(TransactionId(log as u64));
        is_victim
    }

    /// An insert that divides the gap, and is rolled back or not.
    fn insert(&self, log: usize, is_kept: bool) {
        let mut vector = LsnVector::zero(LOGS);
        let is_free = self.lock(log, KEY, LockMode::Write, &mut vector)
            && self.lock(log, GAP, LockMode::IntentWrite, &mut vector);
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

    /// A scan of the whole gap, and of its parts if it finds the gap divided.
    fn scan(&self, log: usize) {
        let mut vector = LsnVector::zero(LOGS);
        let mut is_free = self.lock(log, GAP, LockMode::Read, &mut vector);
        if is_free && self.is_divided.load(Ordering::Acquire) {
            is_free = self.lock(log, PART, LockMode::Read, &mut vector)
                && self.lock(log, KEY, LockMode::Read, &mut vector);
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
            model.touch(1, LockMode::Write);
        });
        let logger = spawn(&model, |model| model.logs.raise_floor());
        model.touch(0, LockMode::Write);
        other.join().expect("it ends");
        logger.join().expect("it ends");
        assert!(model.touch(2, LockMode::Write), "nobody is left");
    });
}

#[test]
fn loom_a_writer_follows_all_command_readers() {
    loom::model(|| {
        let model = Model::new(1);
        let reader = spawn(&model, |model| {
            model.touch(1, LockMode::Read);
        });
        let writer = spawn(&model, |model| {
            model.touch(2, LockMode::Write);
        });
        model.touch(0, LockMode::Read);
        reader.join().expect("it ends");
        writer.join().expect("it ends");
        assert!(model.touch(2, LockMode::Write), "nobody is left");
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
            // Later inserts lock only the part into which they go.
            let parts = if model.is_divided.load(Ordering::Acquire) { vec![PART, KEY] } else { vec![GAP] };
            for part in parts {
                let mut vector = LsnVector::zero(LOGS);
                assert!(model.lock(2, part, LockMode::IntentWrite, &mut vector), "nobody is left");
                let token = model.logs.commit(2, &mut vector);
                Touched::must_be_covered(&model.touched.read, &vector);
                model.release(2, part, &token, Trace::None);
            }
        });
    }
}

#[test]
fn loom_a_waiter_follows_the_holder_that_it_waited_for() {
    use LockMode::{KeyRead, NoKeyWrite, Read, Write};
    for (first, second) in [(Write, Write), (Read, NoKeyWrite), (KeyRead, Write), (KeyRead, NoKeyWrite)] {
        loom::model(move || {
            let model = Model::new(1);
            let other = spawn(&model, move |model| model.touch_waiting(1, first));
            let logger = spawn(&model, |model| model.logs.raise_floor());
            model.touch_waiting(0, second);
            other.join().expect("it ends");
            logger.join().expect("it ends");
            assert!(model.touch(2, Write), "nobody is left");
        });
    }
}

/// Pitfall 22 beside a writer: a transaction that deletes the row follows the call that has found it.
#[test]
fn loom_a_deleter_follows_key_readers_beside_writers() {
    use LockMode::{KeyRead, NoKeyWrite, Write};
    loom::model(|| {
        let model = Model::new(1);
        let reader = spawn(&model, |model| {
            model.touch(1, KeyRead);
        });
        let deleter = spawn(&model, |model| {
            model.touch(2, Write);
        });
        model.touch(0, NoKeyWrite);
        reader.join().expect("it ends");
        deleter.join().expect("it ends");
        assert!(model.touch(2, Write), "nobody is left");
    });
}

/// The cancel may come before the grant, with it, or after it: the traces of those that held the row
/// meanwhile are kept.
#[test]
fn loom_a_cancelled_upgrade_loses_no_trace() {
    use LockMode::{KeyRead, NoKeyWrite, Read, Write};
    for (held, from, to) in [(Read, Read, Write), (Read, KeyRead, NoKeyWrite), (KeyRead, NoKeyWrite, Write)] {
        loom::model(move || {
            let model = Model::new(1);
            let holder = spawn(&model, move |model| model.touch_waiting(1, held));
            model.upgrade_or_cancel(0, from, to);
            holder.join().expect("it ends");
            assert!(model.touch(2, Write), "nobody is left, and no grant either");
        });
    }
}

#[test]
fn loom_a_claim_keeps_a_grant_or_gives_up_the_wait() {
    loom::model(|| {
        let model = Model::new(1);
        let holder = spawn(&model, |model| model.touch_waiting(1, LockMode::Write));
        model.wait_and_claim(0, LockMode::Write);
        holder.join().expect("it ends");
        assert!(model.touch(2, LockMode::Write), "nobody is left, and no wait either");
    });
}

/// Of two that close a circle at once, one goes on, and there is no victim without a circle.
#[test]
fn loom_a_deadlock_has_one_victim() {
    use LockMode::{Read, Write};
    let crossed = [((ROW, Write), (KEY, Write)), ((KEY, Write), (ROW, Write))];
    let upgrades = [((ROW, Read), (ROW, Write)), ((ROW, Read), (ROW, Write))];
    for [mine, theirs] in [crossed, upgrades] {
        loom::model(move || {
            let model = Model::new(2);
            let other = loom::thread::spawn({
                let model = Arc::clone(&model);
                move || model.take_both(1, theirs.0, theirs.1)
            });
            let is_victim = model.take_both(0, mine.0, mine.1);
            let is_other_victim = other.join().expect("it ends");
            assert!(!(is_victim && is_other_victim), "one would have been enough");
            assert!(model.touch(2, Write), "nobody is left");
        });
    }
}
