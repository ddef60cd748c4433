//! The traces that are left in the lock table, step by step: whatever becomes of a request, no trace is lost.
//!
//! Transaction number `n` appends to log `n`.

use super::model::{LOGS, ModelLogs, handle};
use super::{Acquired, LockTable, Resource, TransactionId};
use crate::lsn::LsnVector;
use crate::ticket::Ticket;
use crate::txn::lock_mode::LockMode;

const TABLE: Resource = Resource(1 << 20 | Resource::TABLE);
const OTHER: Resource = Resource(2 << 20 | Resource::TABLE);

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
    fn commit(&mut self, number: usize, resources: &[Resource]) -> LsnVector {
        let token = self.logs.commit(number, &mut self.vectors[number]);
        for resource in resources {
            let mark = Some(handle(&token));
            self.locks.release(&self.logs, TransactionId(number as u64), *resource, mark);
        }
        self.locks.forget_waits(TransactionId(number as u64));
        self.vectors[number] = LsnVector::zero(LOGS);
        token
    }

    fn assert_follows(&self, number: usize, token: &LsnVector, what: &str) {
        assert!(token.is_covered_by(self.vectors[number].entries()), "{what}");
    }
}

/// A writer of a row, then a transaction that wants the whole table, then
/// a reader of the whole table.
#[test]
fn a_reader_of_a_table_follows_the_writer_before_an_upgrade_that_was_never_seen() {
    let mut fixture = Fixture::new();
    fixture.lock(0, TABLE, LockMode::IntentWrite);
    fixture.lock(1, TABLE, LockMode::IntentWrite);
    let ticket = fixture.must_wait(1, TABLE, LockMode::Write);
    let writer = fixture.commit(0, &[TABLE]);
    assert!(ticket.is_ready(), "the writer was all that stood in the way");
    fixture.withdraw(1, TABLE);
    fixture.commit(1, &[TABLE]);
    fixture.lock(2, TABLE, LockMode::Read);
    fixture.assert_follows(2, &writer, "what has been read must not be lost");
}

#[test]
fn others_get_what_an_upgrade_that_was_never_seen_gives_back() {
    let mut fixture = Fixture::new();
    fixture.lock(0, TABLE, LockMode::Read);
    fixture.lock(1, TABLE, LockMode::Read);
    fixture.must_wait(1, TABLE, LockMode::Write);
    let reader = fixture.must_wait(2, TABLE, LockMode::Read);
    fixture.commit(0, &[TABLE]);
    assert!(!reader.is_ready(), "the upgrade comes first");
    fixture.withdraw(1, TABLE);
    assert!(reader.is_ready(), "what is left is a read lock");
    fixture.lock(2, TABLE, LockMode::Read);
    // And the upgrade can be asked for again.
    let upgrade = fixture.must_wait(1, TABLE, LockMode::Write);
    fixture.commit(2, &[TABLE]);
    assert!(upgrade.is_ready());
    fixture.lock(1, TABLE, LockMode::Write);
}

/// While it waits for one lock it is granted the upgrade, and requests something else first: a claim keeps
/// what was held.
#[test]
fn a_claim_of_another_lock_leaves_an_unseen_upgrade_as_it_was() {
    let mut fixture = Fixture::new();
    fixture.lock(0, TABLE, LockMode::IntentWrite);
    fixture.lock(1, TABLE, LockMode::IntentWrite);
    fixture.must_wait(1, TABLE, LockMode::Write);
    let writer = fixture.commit(0, &[TABLE]);
    let transaction = TransactionId(1);
    let is_new = fixture.locks.claim(&fixture.logs, &mut fixture.vectors[1], transaction, TABLE);
    assert!(!is_new, "it was held before");
    fixture.lock(1, OTHER, LockMode::Write);
    fixture.commit(1, &[TABLE, OTHER]);
    fixture.lock(2, TABLE, LockMode::Read);
    fixture.assert_follows(2, &writer, "what has been read must not be lost");
}

/// Of two transactions that cannot hold a table together, the second follows the first if that one has
/// written, whatever else the table has seen.
#[test]
fn a_conflicting_request_follows_the_last_writer() {
    use LockMode::{IntentRead, IntentWrite, KeyRead, NoKeyWrite, Read, Write};
    let modes = [IntentRead, KeyRead, IntentWrite, Read, NoKeyWrite, Write];
    for before in modes {
        for first in modes {
            for second in modes {
                let mut fixture = Fixture::new();
                fixture.lock(2, TABLE, before);
                fixture.commit(2, &[TABLE]);
                fixture.lock(0, TABLE, first);
                let token = fixture.commit(0, &[TABLE]);
                fixture.lock(1, TABLE, second);
                let follows = token.is_covered_by(fixture.vectors[1].entries());
                let writes = matches!(first, IntentWrite | NoKeyWrite | Write);
                let must_follow = writes && !first.is_compatible(second);
                // Those that look at keys alone cannot be told from others, and who takes a whole table
                // follows all.
                let may_follow =
                    (writes && first == NoKeyWrite) || matches!(second, Read | NoKeyWrite | Write);
                assert!(
                    follows == must_follow || (follows && may_follow),
                    "{before:?}, {first:?}, {second:?}"
                );
            }
        }
    }
}

/// What is below the floor is forgotten, and later transactions start from the floor.
#[test]
fn a_forgotten_writer_is_followed_by_way_of_the_floor() {
    let mut fixture = Fixture::new();
    fixture.lock(1, TABLE, LockMode::IntentWrite);
    let writer = fixture.commit(1, &[TABLE]);
    fixture.logs.raise_floor();
    fixture.lock(0, TABLE, LockMode::IntentWrite);
    fixture.commit(0, &[TABLE]);
    fixture.lock(2, TABLE, LockMode::Read);
    let reader = fixture.commit(2, &[TABLE]);
    assert!(writer.is_covered_by(reader.entries()));
}

/// Records name those that have written them.
#[test]
fn nothing_is_left_at_records() {
    let row = Resource(3 << 20 | Resource::OF_RECORDS);
    let mut fixture = Fixture::new();
    fixture.lock(0, row, LockMode::Write);
    fixture.commit(0, &[row]);
    assert_eq!(fixture.locks.entries(), 0);
}

#[test]
fn a_release_without_a_trace_keeps_the_earlier_trace() {
    let mut fixture = Fixture::new();
    fixture.lock(0, TABLE, LockMode::Write);
    let token = fixture.commit(0, &[TABLE]);
    fixture.lock(1, TABLE, LockMode::Write);
    fixture.locks.release(&fixture.logs, TransactionId(1), TABLE, None);
    fixture.lock(2, TABLE, LockMode::Read);
    fixture.assert_follows(2, &token, "the one in between was rolled back");
}
