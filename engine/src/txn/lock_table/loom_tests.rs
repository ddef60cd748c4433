//! The traces in the lock table, in every interleaving: a transaction that gets a table after one that has
//! written there follows it.
//!
//! The logs are those of `model`, with a logger that raises the floor at any time. What each transaction did
//! is kept in plain cells behind the locks. Some transactions give up where they are refused a lock. Others
//! wait, and are granted it, cancel, claim it while they already want another one, or are the victim of a
//! deadlock.
//!
//! Checked of every record: its LV covers the ends of those that it must follow (pitfalls 3, 19), and
//! nothing that had not been reserved before it (pitfall 2).

use super::model::{LOGS, ModelLogs, handle};
use super::{Acquired, LockTable, Resource, TransactionId};
use crate::lsn::LsnVector;
use crate::sync::{Arc, AtomicU64, Ordering};
use crate::txn::lock_mode::LockMode;

/// What the lock of a table protects: the ends of the records of those that have written it, by log.
#[derive(Default)]
struct Touched {
    /// Some row.
    rows: [AtomicU64; LOGS],
    /// The whole.
    whole: [AtomicU64; LOGS],
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
    /// A transaction with this vector and token has touched the table in this mode.
    fn touch(&self, log: usize, mode: LockMode, vector: &LsnVector, token: &LsnVector) {
        use LockMode::{IntentRead, IntentWrite, KeyRead, NoKeyWrite, Read, Write};
        let (follows, leaves): (&[_], &[_]) = match mode {
            IntentWrite => (&[&self.whole], &[&self.rows]),
            Read => (&[&self.whole, &self.rows], &[]),
            NoKeyWrite | Write => (&[&self.whole, &self.rows], &[&self.whole]),
            IntentRead | KeyRead => (&[&self.whole], &[]),
        };
        follows.iter().for_each(|ends| Touched::must_be_covered(ends, vector));
        leaves.iter().for_each(|ends| ends[log].store(token.get(log).0, Ordering::Relaxed));
    }
}

struct Model {
    logs: ModelLogs,
    locks: LockTable<ModelLogs>,
    touched: Touched,
}

const TABLE: Resource = Resource(1 << 20 | Resource::TABLE);
const OTHER: Resource = Resource(4 << 20 | Resource::TABLE);

impl Model {
    fn new(buckets: usize) -> Arc<Model> {
        Arc::new(Model {
            logs: ModelLogs::default(),
            locks: LockTable::new(buckets),
            touched: Touched::default(),
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

    /// `token`: of a transaction that has written something.
    fn release(&self, log: usize, resource: Resource, token: Option<&LsnVector>) {
        self.locks.release(&self.logs, TransactionId(log as u64), resource, token.map(handle));
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

    /// The end of a transaction that has done this to `TABLE`.
    fn finish(&self, log: usize, mode: LockMode, mut vector: LsnVector) {
        let token = self.logs.commit(log, &mut vector);
        self.touched.touch(log, mode, &vector, &token);
        self.release(log, TABLE, Some(&token));
        self.locks.forget_waits(TransactionId(log as u64));
    }

    /// A transaction that locks `TABLE` and does nothing else, and commits.
    fn touch(&self, log: usize, mode: LockMode) -> bool {
        let mut vector = LsnVector::zero(LOGS);
        let is_locked = self.lock(log, TABLE, mode, &mut vector);
        if is_locked {
            self.finish(log, mode, vector);
        }
        is_locked
    }

    /// The same, waiting.
    fn touch_waiting(&self, log: usize, mode: LockMode) {
        let mut vector = LsnVector::zero(LOGS);
        assert!(
            self.lock_waiting(log, TABLE, mode, &mut vector),
            "it holds nothing that anybody could wait for"
        );
        self.finish(log, mode, vector);
    }

    /// A transaction that has `TABLE` in one mode and requests a stronger one. If it would have to wait, it
    /// cancels that request, and goes on with what it has.
    fn upgrade_or_cancel(&self, log: usize, from: LockMode, to: LockMode) {
        let mut vector = LsnVector::zero(LOGS);
        if !self.lock(log, TABLE, from, &mut vector) {
            return;
        }
        let transaction = TransactionId(log as u64);
        let mode = match self.locks.acquire(&self.logs, &mut vector, transaction, TABLE, to) {
            Acquired::New(mode) | Acquired::Held(mode) => mode,
            Acquired::Deadlock => from,
            Acquired::Wait(_) => {
                loom::thread::yield_now();
                self.locks.withdraw(transaction, TABLE);
                from
            }
        };
        self.finish(log, mode, vector);
    }

    /// A transaction that waits for `TABLE` and then wants `OTHER` first: it keeps what it was granted
    /// meanwhile.
    fn wait_and_claim(&self, log: usize, mode: LockMode) {
        let mut vector = LsnVector::zero(LOGS);
        let transaction = TransactionId(log as u64);
        let has_row = match self.locks.acquire(&self.logs, &mut vector, transaction, TABLE, mode) {
            Acquired::New(_) | Acquired::Held(_) => true,
            Acquired::Deadlock => unreachable!("it holds nothing"),
            Acquired::Wait(_) => self.locks.claim(&self.logs, &mut vector, transaction, TABLE),
        };
        assert!(self.lock_waiting(log, OTHER, LockMode::Write, &mut vector), "nobody else wants it");
        self.release(log, OTHER, None);
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
            self.release(log, resource, None);
        }
        self.locks.forget_waits(TransactionId(log as u64));
        is_victim
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
fn loom_a_writer_of_the_whole_follows_all_that_have_written_rows() {
    loom::model(|| {
        let model = Model::new(1);
        let writer = spawn(&model, |model| {
            model.touch(1, LockMode::IntentWrite);
        });
        let whole = spawn(&model, |model| {
            model.touch(2, LockMode::Write);
        });
        model.touch(0, LockMode::IntentWrite);
        writer.join().expect("it ends");
        whole.join().expect("it ends");
        assert!(model.touch(2, LockMode::Write), "nobody is left");
    });
}

#[test]
fn loom_a_waiter_follows_the_holder_that_it_waited_for() {
    use LockMode::{IntentWrite, NoKeyWrite, Read, Write};
    for (first, second) in
        [(Write, Write), (IntentWrite, NoKeyWrite), (IntentWrite, Read), (NoKeyWrite, IntentWrite)]
    {
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

/// The cancel may come before the grant, with it, or after it: the traces of those that held the table
/// meanwhile are kept.
#[test]
fn loom_a_cancelled_upgrade_loses_no_trace() {
    use LockMode::{IntentRead, IntentWrite, NoKeyWrite, Read, Write};
    for (held, from, to) in
        [(IntentWrite, IntentWrite, Write), (IntentWrite, IntentRead, Read), (Read, Read, NoKeyWrite)]
    {
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
    let crossed = [((TABLE, Write), (OTHER, Write)), ((OTHER, Write), (TABLE, Write))];
    let upgrades = [((TABLE, Read), (TABLE, Write)), ((TABLE, Read), (TABLE, Write))];
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
