//! The LSN vectors of a tuple: what an access leaves there, and what a later one follows (algorithm 1, lines
//! 3 to 5 and 13 to 16).
//!
//! ```text
//! trace of     left by                                               followed by
//! Write        Write, NoKeyWrite                                     everybody
//! Read         Read, if logged as a command                          IntentWrite, NoKeyWrite, Write
//! Intent       IntentWrite; IntentRead, if logged as a command       Read, NoKeyWrite, Write
//! Key          KeyRead, if logged as a command                       Write
//!
//! given up     traces that its own takes the place of
//! Write        all: it has followed them, and nobody could leave one while it was held
//! NoKeyWrite   all but Key: who leaves that may hold the row at the same time, so the writer has not followed it, and a later Write must
//! others       none
//! ```
//!
//! A KeyRead need not follow a NoKeyWrite, which changes nothing that it looks at; it does, because it must
//! follow the Write before, and one vector is kept for both.
//!
//! An empty vector means "at most the floor". Nothing here knows the logs; who may forget a vector is asked
//! of the caller.

use crate::lsn::LsnVector;
use crate::mutant::{self, Mutant};
use crate::protocol::{AccessMode, Trace};

/// Accesses that leave traces of their own: what conflicts with one conflicts with all of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Write,
    /// Readers that conflict with later writers: command-logged ones.
    Read,
    /// Intents: row writers under a table, inserters into a gap; command-logged row readers under a table.
    Intent,
    /// Command-logged readers of a row's key.
    Key,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Write, Kind::Read, Kind::Intent, Kind::Key];

    #[inline]
    fn conflicts_with(self, mode: AccessMode) -> bool {
        use AccessMode::{IntentWrite, NoKeyWrite, Read, Write};
        match self {
            Kind::Write => true,
            Kind::Read => matches!(mode, IntentWrite | NoKeyWrite | Write),
            Kind::Intent => matches!(mode, Read | NoKeyWrite | Write),
            Kind::Key => mode == Write,
        }
    }
}

/// What is kept for a tuple, gap or table stripe. An empty vector means: at most the floor.
///
/// Nearly all have one kind of trace at most. It lies in the lock table's entry itself, so that nobody who
/// looks whether it can be forgotten waits for memory.
#[derive(Clone, Debug, Default)]
pub struct TupleVectors {
    first: LsnVector,
    first_kind: Kind,
    /// By kind; that of `first_kind` is empty.
    others: Option<Box<[LsnVector; Kind::ALL.len()]>>,
}

impl TupleVectors {
    #[inline]
    fn of_kind(&self, kind: Kind) -> &[u64] {
        if self.first_kind == kind {
            return self.first.entries();
        }
        self.others.as_ref().map_or(&[], |others| others[kind as usize].entries())
    }

    #[inline]
    fn raise(&mut self, kind: Kind, by: &[u64]) {
        if self.first.is_empty() {
            self.first_kind = kind;
            self.first.copy_from(by);
        } else if self.first_kind == kind {
            self.first.raise(by);
        } else {
            self.others.get_or_insert_default()[kind as usize].raise(by);
        }
    }

    /// Whether all vectors are covered by what `is_below_floor` knows.
    #[inline]
    pub(crate) fn are_covered(&self, is_below_floor: impl Fn(&[u64]) -> bool) -> bool {
        is_below_floor(self.first.entries())
            && self
                .others
                .as_ref()
                .is_none_or(|others| others.iter().all(|vector| is_below_floor(vector.entries())))
    }

    /// Raises T.LV by the LVs of all earlier conflicting accesses.
    #[inline]
    pub(crate) fn collect(&self, mode: AccessMode, vector: &mut LsnVector) {
        if self.first_kind.conflicts_with(mode) {
            vector.raise(self.first.entries());
        }
        let Some(others) = &self.others else { return };
        for (kind, other) in Kind::ALL.into_iter().zip(&**others) {
            if kind.conflicts_with(mode) {
                vector.raise(other.entries());
            }
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
            AccessMode::IntentRead if reads_again => self.raise(Kind::Intent, token.entries()),
            AccessMode::Read if reads_again => self.raise(Kind::Read, token.entries()),
            AccessMode::KeyRead if reads_again => self.raise(Kind::Key, token.entries()),
            AccessMode::IntentRead | AccessMode::Read | AccessMode::KeyRead => {}
            AccessMode::IntentWrite => self.raise(Kind::Intent, token.entries()),
            AccessMode::NoKeyWrite if !mutant::is_active(Mutant::NoKeyWriteForgetsKeyReaders) => {
                let key = self.take_key();
                self.replace(token);
                if let Some(key) = key {
                    self.others.get_or_insert_default()[Kind::Key as usize] = key;
                }
            }
            AccessMode::NoKeyWrite | AccessMode::Write => self.replace(token),
        }
    }

    /// The trace of those who have read the key, unless there is none.
    #[inline]
    fn take_key(&mut self) -> Option<LsnVector> {
        let vector = match &mut self.others {
            _ if self.first_kind == Kind::Key => &mut self.first,
            Some(others) => &mut others[Kind::Key as usize],
            None => return None,
        };
        (!vector.is_empty()).then(|| std::mem::take(vector))
    }

    /// Leaves the trace of a writer, who has followed all others.
    #[inline]
    fn replace(&mut self, token: &LsnVector) {
        debug_assert!(
            mutant::is_active(Mutant::ReleaseBeforeRaise)
                || self.of_kind(Kind::Write).iter().zip(token.entries()).all(|(old, new)| old <= new),
            "a writer's LV covers its predecessors"
        );
        self.first_kind = Kind::Write;
        self.first.copy_from(token.entries());
        self.others = None;
    }

    /// What both parts of a divided gap need: readers of the whole relied on both being empty, and so did a
    /// writer of the gap, who has read it and inserted. `None` if the floor covers it.
    pub(crate) fn divided(&self, is_below_floor: impl Fn(&[u64]) -> bool) -> Option<TupleVectors> {
        let (write, read) = (self.of_kind(Kind::Write), self.of_kind(Kind::Read));
        if is_below_floor(write) && is_below_floor(read) {
            return None;
        }
        let mut part = TupleVectors::default();
        part.raise(Kind::Read, read);
        part.raise(Kind::Read, write);
        Some(part)
    }

    /// Gives a part what [`TupleVectors::divided`] found in the whole.
    pub(crate) fn inherit(&mut self, from: &TupleVectors) {
        self.raise(Kind::Read, from.of_kind(Kind::Read));
    }
}
