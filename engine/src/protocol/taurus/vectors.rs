//! The LSN vectors of a tuple: what an access leaves there, and what a later one follows (algorithm 1, lines 3 to 5 and 13 to 16).
//!
//! An empty vector means "at most the floor". Nothing here knows the logs; who may forget a vector is asked of the caller.

use crate::lsn::LsnVector;
use crate::mutant::{self, Mutant};
use crate::protocol::{AccessMode, Trace};

/// What is kept for a tuple, gap or table stripe. An empty vector means: at most the floor.
#[derive(Clone, Debug, Default)]
pub struct TupleVectors {
    write: LsnVector,
    /// Most tuples have none: kept apart, so that the lock table stays small.
    shared: Option<Box<SharedVectors>>,
}

/// Of accesses that do not conflict with their like.
#[derive(Clone, Debug, Default)]
struct SharedVectors {
    /// Readers that conflict with later writers: command-logged ones.
    read: LsnVector,
    /// Intents: row writers under a table, inserters into a gap; command-logged row readers under a table.
    intent: LsnVector,
}

impl TupleVectors {
    /// Whether all vectors are covered by what `is_below_floor` knows.
    #[inline]
    pub(crate) fn are_covered(&self, is_below_floor: impl Fn(&[u64]) -> bool) -> bool {
        is_below_floor(self.write.entries())
            && self.shared.as_ref().is_none_or(|shared| {
                is_below_floor(shared.intent.entries()) && is_below_floor(shared.read.entries())
            })
    }

    /// Raises T.LV by the LVs of all earlier conflicting accesses.
    #[inline]
    pub(crate) fn collect(&self, mode: AccessMode, vector: &mut LsnVector) {
        vector.raise(self.write.entries());
        let Some(shared) = &self.shared else { return };
        if matches!(mode, AccessMode::Read | AccessMode::Write) {
            vector.raise(shared.intent.entries());
        }
        if matches!(mode, AccessMode::IntentWrite | AccessMode::Write) {
            vector.raise(shared.read.entries());
        }
    }

    /// Leaves the token for later conflicting accesses.
    #[inline]
    pub(crate) fn leave(&mut self, mode: AccessMode, token: &LsnVector, trace: Trace) {
        if trace == Trace::None {
            return;
        }
        let reads_again = trace == Trace::Command && !mutant::is_active(Mutant::NoReadLv);
        match mode {
            AccessMode::IntentRead if reads_again => {
                self.shared.get_or_insert_default().intent.raise(token.entries());
            }
            AccessMode::Read if reads_again => {
                self.shared.get_or_insert_default().read.raise(token.entries());
            }
            AccessMode::IntentRead | AccessMode::Read => {}
            AccessMode::IntentWrite => self.shared.get_or_insert_default().intent.raise(token.entries()),
            AccessMode::Write => {
                debug_assert!(
                    mutant::is_active(Mutant::ReleaseBeforeRaise)
                        || self.write.is_covered_by(token.entries()),
                    "a writer's LV covers its predecessors"
                );
                self.write.copy_from(token.entries());
                self.shared = None;
            }
        }
    }

    /// What both parts of a divided gap need: readers of the whole relied on both being empty, and so did a writer of the gap, who has
    /// read it and inserted. `None` if the floor covers it.
    pub(crate) fn divided(&self, is_below_floor: impl Fn(&[u64]) -> bool) -> Option<TupleVectors> {
        let read = self.shared.as_ref().map_or(&[][..], |shared| shared.read.entries());
        if is_below_floor(self.write.entries()) && is_below_floor(read) {
            return None;
        }
        let mut part = Box::<SharedVectors>::default();
        part.read.raise(read);
        part.read.raise(self.write.entries());
        Some(TupleVectors { shared: Some(part), ..TupleVectors::default() })
    }

    /// Gives a part what [`TupleVectors::divided`] found in the whole.
    pub(crate) fn inherit(&mut self, from: &TupleVectors) {
        if let Some(shared) = &from.shared {
            self.shared.get_or_insert_default().read.raise(shared.read.entries());
        }
    }
}
