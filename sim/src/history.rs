//! Recorded histories of concurrent transactions over append-only lists.
//!
//! Why lists: a read that returns the whole list of a key shows every version that ever existed and their
//! order, so that a checker can infer the dependencies from the answers alone (Kingsbury and Alvaro, "Elle",
//! VLDB 2020).
//!
//! The threads of a workload share a [`Recorder`]. Each transaction is begun on it, told every answer, and
//! ended with what the client learned. Elements must be unique per key, and [`Recorder::new_element`] returns
//! unique ones.
//!
//! Times are ticks of one counter taken before the first and after the last step, so "completed before
//! invoked" holds in real time.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// What a transaction did to one key, with the answer it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListOperation {
    Append { key: u64, element: u64 },
    Read { key: u64, list: Vec<u64> },
}

/// What the client learned about the end of its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The commit was acknowledged.
    Committed,
    /// Rolled back, or refused.
    Aborted,
    /// The connection or the process died: it may have happened (pitfall 12).
    Unknown,
}

/// One transaction as its client saw it.
#[derive(Clone, Debug)]
pub struct RecordedTransaction {
    /// The session (thread, connection) that ran it, for messages.
    pub session: u32,
    pub operations: Vec<ListOperation>,
    pub outcome: Outcome,
    /// Tick before the first operation.
    pub invoked: u64,
    /// Tick after the answer. None for an unknown outcome.
    pub completed: Option<u64>,
}

/// All transactions of a run. A transaction's number is its index here.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub transactions: Vec<RecordedTransaction>,
}

impl History {
    /// For hand-written histories: adds a transaction that ran after all earlier ones were complete.
    #[must_use]
    pub fn then(mut self, outcome: Outcome, operations: &[ListOperation]) -> History {
        let invoked = 2 * self.transactions.len() as u64;
        self.transactions.push(RecordedTransaction {
            session: self.transactions.len() as u32,
            operations: operations.to_vec(),
            outcome,
            invoked,
            completed: (outcome != Outcome::Unknown).then_some(invoked + 1),
        });
        self
    }

    /// Makes all transactions concurrent, for hand-written histories.
    #[must_use]
    pub fn concurrent(mut self) -> History {
        let end = self.transactions.len() as u64 + 1;
        for transaction in &mut self.transactions {
            transaction.invoked = 0;
            transaction.completed = transaction.completed.map(|_| end);
        }
        self
    }
}

/// An append, for hand-written histories.
pub fn append(key: u64, element: u64) -> ListOperation {
    ListOperation::Append { key, element }
}

/// A read, for hand-written histories.
pub fn read(key: u64, list: &[u64]) -> ListOperation {
    ListOperation::Read { key, list: list.to_vec() }
}

impl fmt::Display for ListOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListOperation::Append { key, element } => write!(f, "append {element} to key {key}"),
            ListOperation::Read { key, list } => write!(f, "read key {key} = {list:?}"),
        }
    }
}

/// Records while a workload runs. See the module head.
#[derive(Default)]
pub struct Recorder {
    clock: AtomicU64,
    elements: AtomicU64,
    transactions: Mutex<Vec<RecordedTransaction>>,
}

/// A transaction that is being recorded. If it is dropped without an end, its outcome is unknown.
pub struct Recording<'a> {
    recorder: &'a Recorder,
    transaction: Option<RecordedTransaction>,
}

impl Recorder {
    /// An element never used before in this history.
    pub fn new_element(&self) -> u64 {
        self.elements.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn tick(&self) -> u64 {
        // SeqCst: the order of ticks is compared with the order of events in other threads.
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Call before the transaction's first step.
    pub fn begin(&self, session: u32) -> Recording<'_> {
        let transaction = RecordedTransaction {
            session,
            operations: Vec::new(),
            outcome: Outcome::Unknown,
            invoked: self.tick(),
            completed: None,
        };
        Recording { recorder: self, transaction: Some(transaction) }
    }

    /// What was recorded so far.
    pub fn history(&self) -> History {
        History { transactions: self.transactions.lock().clone() }
    }
}

impl Recording<'_> {
    pub fn append(&mut self, key: u64, element: u64) {
        self.operation(ListOperation::Append { key, element });
    }

    pub fn read(&mut self, key: u64, list: Vec<u64>) {
        self.operation(ListOperation::Read { key, list });
    }

    fn operation(&mut self, operation: ListOperation) {
        if let Some(transaction) = &mut self.transaction {
            transaction.operations.push(operation);
        }
    }

    /// Forgets the operations so far: the attempt was rolled back and runs again.
    pub fn restart(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            let mut attempt = transaction.clone();
            transaction.operations.clear();
            attempt.outcome = Outcome::Aborted;
            attempt.completed = Some(self.recorder.tick());
            transaction.invoked = self.recorder.tick();
            self.recorder.transactions.lock().push(attempt);
        }
    }

    /// Call after the client has received its answer.
    pub fn end(mut self, outcome: Outcome) {
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: Outcome) {
        if let Some(mut transaction) = self.transaction.take() {
            transaction.outcome = outcome;
            transaction.completed = (outcome != Outcome::Unknown).then(|| self.recorder.tick());
            self.recorder.transactions.lock().push(transaction);
        }
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        self.finish(Outcome::Unknown);
    }
}
