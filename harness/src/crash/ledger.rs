//! What the clients know: which transactions were acknowledged, refused, or left without an answer.
//!
//! pgbench cannot tell which of its transactions were acknowledged, so clients of our own run the same
//! transaction and mark each one: the pair (client, sequence number), never used twice, is inserted into a
//! table of ours in the same transaction, and counts as *acknowledged* only after COMMIT has returned.
//!
//! Decision table for a marker:
//!
//! ```text
//! what the client saw                                    | must be found after recovery
//! -------------------------------------------------------+-------------------------------------
//! COMMIT returned                                        | once, with its value
//! ROLLBACK sent, an error, or COMMIT never sent          | never
//! COMMIT sent, no answer                                 | undecided; as the first recovery says
//! ```

use std::collections::{BTreeSet, HashMap};

use anyhow::{Result, bail};

/// The number of ledger clients. pgbench adds as many.
pub(super) const CLIENTS: usize = 8;

/// Client and sequence number.
pub(super) type Marker = (i32, i64);

/// What one client did in one round. One that only read leaves all but `seen` at its default.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) client: usize,
    pub(super) acknowledged: Vec<(Marker, i32)>,
    /// The transaction whose COMMIT was sent and not answered, at most one.
    pub(super) undecided: Option<(Marker, i32)>,
    /// The first unused sequence number.
    pub(super) next_sequence: i64,
    /// The number of transactions that a conflict ended and that were begun again.
    pub(super) retries: u64,
    /// The highest counter of each client that an answered read of this one has shown.
    pub(super) seen: [i64; CLIENTS],
    /// The last alteration of the schema that was acknowledged ([`super::schema`]).
    pub(super) generation: i64,
    /// The one whose COMMIT was sent and not answered.
    pub(super) altering: Option<i64>,
    /// Those of the client that writes aside.
    pub(super) aside: Option<Numbers>,
}

/// All that the clients of one database know.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The delta that was sent with each marker.
    pub(super) acknowledged: HashMap<Marker, i32>,
    pub(super) undecided: HashMap<Marker, i32>,
    pub(super) next_sequence: [i64; CLIENTS],
    pub(super) seen: [i64; CLIENTS],
    pub(super) generation: i64,
    pub(super) altering: Option<i64>,
    pub(super) aside: Numbers,
    /// Rows of the table that no client touches.
    pub(super) ballast: i64,
}

impl Ledger {
    /// Adds what the clients did. Returns how many acknowledgements are new.
    pub(super) fn add(&mut self, outcomes: &[Outcome]) -> u64 {
        let before = self.acknowledged.len();
        self.altering = outcomes.iter().find_map(|outcome| outcome.altering);
        for outcome in outcomes {
            self.acknowledged.extend(outcome.acknowledged.iter().copied());
            self.undecided.extend(outcome.undecided);
            let next = &mut self.next_sequence[outcome.client];
            *next = (*next).max(outcome.next_sequence);
            for (seen, new) in self.seen.iter_mut().zip(outcome.seen) {
                *seen = (*seen).max(new);
            }
            self.generation = self.generation.max(outcome.generation);
            if let Some(aside) = &outcome.aside {
                // This client's read has decided what had no answer before.
                self.aside.undecided.clear();
                self.aside.add(aside);
            }
        }
        (self.acknowledged.len() - before) as u64
    }
}

/// What is known about the numbers that one client writes aside ([`super::aside`]).
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    pub(super) acknowledged: BTreeSet<i64>,
    /// Numbers that were sent and not answered.
    pub(super) undecided: BTreeSet<i64>,
    /// The first number that was never sent.
    pub(super) next: i64,
}

impl Numbers {
    /// Adds what one client did.
    pub(super) fn add(&mut self, other: &Numbers) {
        self.acknowledged.extend(&other.acknowledged);
        self.undecided.extend(&other.undecided);
        self.next = self.next.max(other.next);
    }

    /// Compares them with the numbers that were found, and decides those that had no answer.
    pub(super) fn check(&mut self, found: &[i64]) -> Result<()> {
        let there: BTreeSet<i64> = found.iter().copied().collect();
        if there.len() != found.len() {
            bail!("a number of crash_aside is there twice");
        }
        if let Some(lost) = self.acknowledged.difference(&there).next() {
            bail!("number {lost} was acknowledged in the middle of a restart and is lost");
        }
        let asked: BTreeSet<i64> = self.acknowledged.union(&self.undecided).copied().collect();
        if let Some(invented) = there.difference(&asked).next() {
            bail!("number {invented} of crash_aside was never committed, or an earlier recovery lost it");
        }
        self.acknowledged = there;
        self.undecided.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_accumulate() {
        let mut ledger = Ledger::default();
        let mut outcome = Outcome { client: 2, next_sequence: 3, ..Outcome::default() };
        outcome.acknowledged = vec![((2, 1), 10)];
        outcome.undecided = Some(((2, 2), 20));
        outcome.seen[5] = 7;
        assert_eq!(ledger.add(&[outcome]), 1);
        assert_eq!(ledger.next_sequence[2], 3);
        assert_eq!(ledger.seen[5], 7);
        assert_eq!(ledger.add(&[Outcome { client: 2, next_sequence: 3, ..Outcome::default() }]), 0);
        assert_eq!(ledger.seen[5], 7);
        assert_eq!(ledger.undecided.len(), 1);
    }

    #[test]
    fn lost_doubled_and_invented_numbers_are_errors_and_the_rest_is_decided_once() {
        let numbers = || Numbers { acknowledged: [1, 2].into(), undecided: [3].into(), next: 4 };
        for wrong in [&[1][..], &[1, 2, 2], &[1, 2, 4]] {
            assert!(numbers().check(wrong).is_err(), "{wrong:?}");
        }
        let mut happened = numbers();
        happened.check(&[1, 2, 3]).expect("all in order");
        assert!(happened.check(&[1, 2]).is_err(), "it was shown");
        let mut absent = numbers();
        absent.check(&[1, 2]).expect("all in order");
        assert!(absent.check(&[1, 2, 3]).is_err(), "it was not shown");
    }
}
