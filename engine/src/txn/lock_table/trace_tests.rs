//! The traces that are left in the lock table, step by step: whatever becomes of a request, no trace is lost.
//!
//! Transaction number `n` appends to log `n`.

use super::model::{LOGS, ModelLogs, leaver};
use super::{Acquired, LockTable, Resource, Trace, TransactionId};
use crate::lsn::LsnVector;
use crate::ticket::Ticket;
use crate::txn::lock_mode::LockMode;

const ROW: Resource = Resource(1 << 20);
const OTHER: Resource = Resource(2 << 20);

struct Fixture {
    logs: ModelLogs,
    locks: LockTable<ModelLogs>,
    vectors: [LsnVector; LOGS],
}

impl Fixture {
    fn new() -> Fixture {
        Fixture {
            logs: ModelLogs::default(),
            locks: LockTable::new(1),
            vectors: std::array::from_fn(|_| LsnVector::zero(LOGS)),
        }
    }

    fn acquire(&mut self, number: usize, resource: Resource, mode: LockMode) -> Acquired {
        let transaction = TransactionId(number as u64);
        self.locks.acquire(&self.logs, &mut self.vectors[number], transaction, resource, mode)
    }

    fn lock(&mut self, number: usize, resource: Resource, mode: LockMode) {
        let acquired = self.acquire(number, resource, mode);
        assert!(matches!(acquired, Acquired::New(_) | Acquired::Held(_)), "{number} gets it at once");
    }

    fn must_wait(&mut self, number: usize, resource: Resource, mode: LockMode) -> Ticket {
        match self.acquire(number, resource, mode) {
            Acquired::Wait(ticket) => ticket,
            _ => panic!("{number} should have waited"),
        }
    }

    fn withdraw(&self, number: usize, resource: Resource) {
        self.locks.withdraw(TransactionId(number as u64), resource);
    }

    /// Appends the record of the transaction, and gives the resources up.
    fn commit(&mut self, number: usize, resources: &[Resource], trace: Trace) -> LsnVector {
        let token = self.logs.commit(number, &mut self.vectors[number]);
        for resource in resources {
            let leaver = leaver(&token, trace);
            self.locks.release(&self.logs, TransactionId(number as u64), *resource, leaver);
        }
        self.locks.forget_waits(TransactionId(number as u64));
        self.vectors[number] = LsnVector::zero(LOGS);
        token
    }

    fn assert_follows(&self, number: usize, token: &LsnVector, what: &str) {
        assert!(token.is_covered_by(self.vectors[number].entries()), "{what}");
    }
}

/// A transaction that has read a row wants to write it, waits, is granted the lock, and gives up without
/// having looked.
#[test]
fn a_writer_follows_the_reader_before_an_upgrade_that_was_never_seen() {
    let mut fixture = Fixture::new();
    fixture.lock(0, ROW, LockMode::Read);
    fixture.lock(1, ROW, LockMode::Read);
    let ticket = fixture.must_wait(1, ROW, LockMode::Write);
    let reader = fixture.commit(0, &[ROW], Trace::Command);
    assert!(ticket.is_ready(), "the reader was all that stood in the way");
    fixture.withdraw(1, ROW);
    fixture.commit(1, &[ROW], Trace::Data);
    fixture.lock(2, ROW, LockMode::Write);
    fixture.assert_follows(2, &reader, "an overwrite of a row follows the call that read it");
}

/// The same with a stripe of a table: a writer of a row, then a transaction that wants the whole table, then
/// a reader of the whole table.
#[test]
fn a_reader_of_a_table_follows_the_writer_before_an_upgrade_that_was_never_seen() {
    let mut fixture = Fixture::new();
    fixture.lock(0, ROW, LockMode::IntentWrite);
    fixture.lock(1, ROW, LockMode::IntentWrite);
    let ticket = fixture.must_wait(1, ROW, LockMode::Write);
    let writer = fixture.commit(0, &[ROW], Trace::Data);
    assert!(ticket.is_ready(), "the writer was all that stood in the way");
    fixture.withdraw(1, ROW);
    fixture.commit(1, &[ROW], Trace::Data);
    fixture.lock(2, ROW, LockMode::Read);
    fixture.assert_follows(2, &writer, "what has been read must not be lost");
}

#[test]
fn others_get_what_an_upgrade_that_was_never_seen_gives_back() {
    let mut fixture = Fixture::new();
    fixture.lock(0, ROW, LockMode::Read);
    fixture.lock(1, ROW, LockMode::Read);
    fixture.must_wait(1, ROW, LockMode::Write);
    let reader = fixture.must_wait(2, ROW, LockMode::Read);
    fixture.commit(0, &[ROW], Trace::Data);
    assert!(!reader.is_ready(), "the upgrade comes first");
    fixture.withdraw(1, ROW);
    assert!(reader.is_ready(), "what is left is a read lock");
    fixture.lock(2, ROW, LockMode::Read);
    // And the upgrade can be asked for again.
    let upgrade = fixture.must_wait(1, ROW, LockMode::Write);
    fixture.commit(2, &[ROW], Trace::Data);
    assert!(upgrade.is_ready());
    fixture.lock(1, ROW, LockMode::Write);
}

/// While it waits for one lock it is granted the upgrade, and requests something else first: a claim keeps
/// what was held.
#[test]
fn a_claim_of_another_lock_leaves_an_unseen_upgrade_as_it_was() {
    let mut fixture = Fixture::new();
    fixture.lock(0, ROW, LockMode::Read);
    fixture.lock(1, ROW, LockMode::Read);
    fixture.must_wait(1, ROW, LockMode::Write);
    let reader = fixture.commit(0, &[ROW], Trace::Command);
    let transaction = TransactionId(1);
    let is_new = fixture.locks.claim(&fixture.logs, &mut fixture.vectors[1], transaction, ROW);
    assert!(!is_new, "it was held before");
    fixture.lock(1, OTHER, LockMode::Write);
    fixture.commit(1, &[ROW, OTHER], Trace::Data);
    fixture.lock(2, ROW, LockMode::Write);
    fixture.assert_follows(2, &reader, "an overwrite of a row follows the call that read it");
}

/// A call has read the key of a row while the row was being changed, and the transaction that changed it ends
/// last.
#[test]
fn a_deletion_follows_the_key_reader_beside_a_writer_of_other_columns() {
    let mut fixture = Fixture::new();
    fixture.lock(0, ROW, LockMode::NoKeyWrite);
    fixture.lock(1, ROW, LockMode::KeyRead);
    let reader = fixture.commit(1, &[ROW], Trace::Command);
    let writer = fixture.commit(0, &[ROW], Trace::Data);
    fixture.lock(2, ROW, LockMode::Write);
    fixture.assert_follows(2, &reader, "a replay must find the row that the call has found");
    fixture.assert_follows(2, &writer, "writers follow each other");
    fixture.commit(2, &[ROW], Trace::Data);
}

/// The same where the trace of the reader comes first, and several writers after it.
#[test]
fn a_trace_of_a_key_reader_outlives_writers_of_other_columns() {
    let mut fixture = Fixture::new();
    fixture.lock(1, ROW, LockMode::KeyRead);
    let reader = fixture.commit(1, &[ROW], Trace::Command);
    for trace in [Trace::Data, Trace::Command] {
        fixture.lock(0, ROW, LockMode::NoKeyWrite);
        assert!(!reader.is_covered_by(fixture.vectors[0].entries()), "it need not follow");
        fixture.commit(0, &[ROW], trace);
    }
    fixture.lock(2, ROW, LockMode::Write);
    fixture.assert_follows(2, &reader, "a replay must find the row that the call has found");
}

#[test]
fn a_writer_of_other_columns_follows_the_readers_of_the_row() {
    let mut fixture = Fixture::new();
    fixture.lock(0, ROW, LockMode::Read);
    let reader = fixture.commit(0, &[ROW], Trace::Command);
    fixture.lock(1, ROW, LockMode::NoKeyWrite);
    fixture.assert_follows(1, &reader, "the row was another one when it was read");
    let writer = fixture.commit(1, &[ROW], Trace::Data);
    fixture.lock(2, ROW, LockMode::Read);
    fixture.assert_follows(2, &writer, "what has been read must not be lost");
}

/// What two transactions hold one after another and cannot hold together orders them, whatever else the row
/// has seen.
#[test]
fn a_conflicting_request_follows_the_last_holder() {
    use LockMode::{KeyRead, NoKeyWrite, Read, Write};
    let modes = [KeyRead, Read, NoKeyWrite, Write];
    for before in modes {
        for first in modes {
            for second in modes {
                let mut fixture = Fixture::new();
                fixture.lock(2, ROW, before);
                fixture.commit(2, &[ROW], Trace::Command);
                fixture.lock(0, ROW, first);
                let token = fixture.commit(0, &[ROW], Trace::Command);
                fixture.lock(1, ROW, second);
                let follows = token.is_covered_by(fixture.vectors[1].entries());
                assert!(follows || first.is_compatible(second), "{before:?}, {first:?}, {second:?}");
            }
        }
    }
}

/// What is below the floor is forgotten, and later transactions start from the floor.
#[test]
fn a_forgotten_key_reader_is_followed_by_way_of_the_floor() {
    let mut fixture = Fixture::new();
    fixture.lock(1, ROW, LockMode::KeyRead);
    let reader = fixture.commit(1, &[ROW], Trace::Command);
    fixture.logs.raise_floor();
    fixture.lock(0, ROW, LockMode::NoKeyWrite);
    fixture.commit(0, &[ROW], Trace::Data);
    fixture.lock(2, ROW, LockMode::Write);
    let deleter = fixture.commit(2, &[ROW], Trace::Data);
    assert!(reader.is_covered_by(deleter.entries()));
}

/// Incompatible accesses are ordered. Those that only read data need not be known to others.
#[test]
fn conflicting_accesses_order_each_other_and_others_do_not() {
    use LockMode::{IntentRead, IntentWrite, Read, Write};
    let modes = [IntentRead, IntentWrite, Read, Write];
    for trace in [Trace::Data, Trace::Command] {
        for earlier in modes {
            for later in modes {
                let mut fixture = Fixture::new();
                fixture.lock(0, ROW, earlier);
                let token = fixture.commit(0, &[ROW], trace);
                fixture.lock(1, ROW, later);
                let is_followed = token.is_covered_by(fixture.vectors[1].entries());
                let is_known = trace == Trace::Command || !matches!(earlier, Read | IntentRead);
                let is_expected = is_known && !earlier.is_compatible(later);
                // A command's read of a row leaves an intent at its table, which cannot be told from a
                // writer's.
                let is_more = trace == Trace::Command && earlier == IntentRead && later == Read;
                assert_eq!(is_followed, is_expected || is_more, "{trace:?}: {earlier:?} then {later:?}");
            }
        }
    }
}

/// At rows and gaps only commands leave something: records name those that have written them.
#[test]
fn data_leaves_nothing_at_records() {
    let row = Resource(ROW.0 | Resource::OF_RECORDS);
    for (trace, is_left) in [(Trace::Data, false), (Trace::Command, true)] {
        let mut fixture = Fixture::new();
        fixture.lock(0, row, LockMode::Write);
        let token = fixture.commit(0, &[row], trace);
        assert_eq!(fixture.locks.entries() > 0, is_left, "{trace:?}");
        fixture.lock(1, row, LockMode::Read);
        assert_eq!(token.is_covered_by(fixture.vectors[1].entries()), is_left, "{trace:?}");
    }
}

#[test]
fn a_release_without_a_trace_keeps_the_earlier_trace() {
    let mut fixture = Fixture::new();
    fixture.lock(0, ROW, LockMode::Write);
    let token = fixture.commit(0, &[ROW], Trace::Data);
    fixture.lock(1, ROW, LockMode::Write);
    fixture.commit(1, &[ROW], Trace::None);
    fixture.lock(2, ROW, LockMode::Read);
    fixture.assert_follows(2, &token, "the one in between was rolled back");
}
