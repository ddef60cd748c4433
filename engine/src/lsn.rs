//! Positions in logs.
//!
//! An [`Lsn`] is the exclusive **end** byte position of a log record in one log, a multiple of
//! [`Lsn::ALIGNMENT`], counted from 0 at the start of each incarnation. It counts the bytes of the record stream,
//! not of the file (block headers and padding are not in it). An [`LsnVector`] holds one per log; the papers call
//! it LV. Vectors are compared only within their incarnation.

use smallvec::SmallVec;

/// The exclusive end position of a log record in one log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    pub const ALIGNMENT: u64 = 8;
}

/// One LSN per log; an empty vector stands for all zeroes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LsnVector(SmallVec<[u64; 4]>);

impl LsnVector {
    pub fn zero(logs: usize) -> LsnVector {
        LsnVector(SmallVec::from_elem(0, logs))
    }

    pub fn from_slice(entries: &[u64]) -> LsnVector {
        LsnVector(SmallVec::from_slice(entries))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn entries(&self) -> &[u64] {
        &self.0
    }

    /// The entry of one log; zero where the vector is empty.
    pub fn get(&self, log: usize) -> Lsn {
        Lsn(self.0.get(log).copied().unwrap_or(0))
    }

    /// Raises one entry (never lowers it).
    pub fn raise_entry(&mut self, log: usize, to: Lsn) {
        if self.0.len() <= log {
            self.0.resize(log + 1, 0);
        }
        self.0[log] = self.0[log].max(to.0);
    }

    /// ElemWiseMax of the paper (section 3.1).
    pub fn raise(&mut self, other: &[u64]) {
        if self.0.len() < other.len() {
            self.0.resize(other.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(other) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether every entry is at most its counterpart.
    pub fn is_covered_by(&self, bound: &[u64]) -> bool {
        self.0.iter().enumerate().all(|(log, entry)| *entry <= bound.get(log).copied().unwrap_or(0))
    }

    /// Sets every entry to zero and keeps the length.
    pub fn reset(&mut self, logs: usize) {
        self.0.clear();
        self.0.resize(logs, 0);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}
