//! Positions in logs.
//!
//! An [`Lsn`] is the exclusive **end** byte position of a log record in one log, a multiple of
//! [`Lsn::ALIGNMENT`], counted from 0 at the start of each incarnation. It counts the bytes of the record
//! stream, not of the file (block headers and padding are not in it). An [`LsnVector`] holds one per log. The
//! papers call it LV. Vectors are compared only within their incarnation.
//!
//! The operations of a running transaction take time by the entries that are named, not by the number of logs
//! (docs/decisions/2026-11-30-vectors-above-the-floor.md). The others are plain loops, which the compiler
//! vectorises.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

/// The exclusive end position of a log record in one log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    pub const ALIGNMENT: u64 = 8;
    /// Where every incarnation begins.
    pub const ZERO: Lsn = Lsn(0);
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The place of a transaction, for display: `incarnation/log/position`, the position being the end of its
/// (last) log record, as `hyades log dump` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPlace {
    pub incarnation: u64,
    pub log: usize,
    pub end: Lsn,
}

impl fmt::Display for TransactionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.incarnation, self.log, self.end)
    }
}

impl FromStr for TransactionPlace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<TransactionPlace, &'static str> {
        let mut numbers = text.split('/').map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(incarnation)), Some(Ok(log)), Some(Ok(end)), None) => {
                let log = usize::try_from(log).map_err(|_| "has a log number that is too large")?;
                Ok(TransactionPlace { incarnation, log, end: Lsn(end) })
            }
            _ => Err("must be incarnation/log/position, such as 1/0/40312"),
        }
    }
}

/// The logs whose bits are set in a word with one bit for each log, the lowest first.
#[inline]
pub fn logs_in(word: u64) -> impl Iterator<Item = usize> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let log = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (log < u64::BITS as usize).then_some(log)
    })
}

/// A word with one bit for each of these logs.
#[inline]
pub fn word_of(logs: impl Iterator<Item = usize>) -> u64 {
    logs.fold(0, |word, log| word | 1 << log)
}

/// Vectors of more logs than this are on the heap.
const INLINE_LOGS: usize = 16;

/// One LSN per log. An empty vector stands for all zeroes.
#[derive(Debug, Default)]
pub struct LsnVector(SmallVec<[u64; INLINE_LOGS]>);

impl Clone for LsnVector {
    /// In one copy, where the derived one would go entry by entry.
    #[inline]
    fn clone(&self) -> LsnVector {
        LsnVector::from_slice(&self.0)
    }

    #[inline]
    fn clone_from(&mut self, other: &LsnVector) {
        self.copy_from(&other.0);
    }
}

impl LsnVector {
    pub fn zero(logs: usize) -> LsnVector {
        LsnVector(SmallVec::from_elem(0, logs))
    }

    #[inline]
    pub fn from_slice(entries: &[u64]) -> LsnVector {
        LsnVector(SmallVec::from_slice(entries))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of entries held. Logs beyond them read as zero.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub fn entries(&self) -> &[u64] {
        &self.0
    }

    /// The entry of one log. Zero where the vector is empty.
    #[inline]
    pub fn get(&self, log: usize) -> Lsn {
        Lsn(self.0.get(log).copied().unwrap_or(0))
    }

    #[cold]
    fn lengthen(&mut self, logs: usize) {
        self.0.resize(logs, 0);
    }

    /// Raises one entry (never lowers it).
    #[inline]
    pub fn raise_entry(&mut self, log: usize, to: Lsn) {
        if self.0.len() <= log {
            self.lengthen(log + 1);
        }
        self.0[log] = self.0[log].max(to.0);
    }

    /// Raises the entries of the logs whose bits are set.
    #[inline]
    pub fn raise_named(&mut self, names: u64, entry: impl Fn(usize) -> u64) {
        let logs = (u64::BITS - names.leading_zeros()) as usize;
        if self.0.len() < logs {
            self.lengthen(logs);
        }
        let mine = self.0.as_mut_slice();
        for log in logs_in(names) {
            mine[log] = mine[log].max(entry(log));
        }
    }

    /// Sets the entries of these logs to zero.
    #[inline]
    pub fn clear_named(&mut self, names: u64) {
        let mine = self.0.as_mut_slice();
        for log in logs_in(names) {
            mine[log] = 0;
        }
    }

    /// ElemWiseMax of the paper (section 3.1).
    #[inline]
    pub fn raise(&mut self, other: &[u64]) {
        if self.0.len() < other.len() {
            self.lengthen(other.len());
        }
        for (log, mine) in self.0[..other.len()].iter_mut().enumerate() {
            *mine = (*mine).max(other[log]);
        }
    }

    /// The same for entries that other threads may raise meanwhile.
    #[inline]
    pub fn raise_shared(&mut self, other: &[AtomicU64], ordering: Ordering) {
        if self.0.len() < other.len() {
            self.lengthen(other.len());
        }
        for (log, mine) in self.0[..other.len()].iter_mut().enumerate() {
            *mine = (*mine).max(other[log].load(ordering));
        }
    }

    /// Lowers every entry to its counterpart where that is smaller.
    pub fn lower(&mut self, other: &[u64]) {
        for (log, mine) in self.0.iter_mut().enumerate() {
            *mine = (*mine).min(other.get(log).copied().unwrap_or(0));
        }
    }

    /// Makes the vector equal to `other`, keeping its memory.
    #[inline]
    pub fn copy_from(&mut self, other: &[u64]) {
        if self.0.len() == other.len() {
            self.0.copy_from_slice(other);
        } else {
            self.0 = SmallVec::from_slice(other);
        }
    }

    /// Whether every entry is at most its counterpart.
    #[inline]
    pub fn is_covered_by(&self, bound: &[u64]) -> bool {
        self.0.iter().enumerate().all(|(log, entry)| *entry <= bound.get(log).copied().unwrap_or(0))
    }

    /// Sets every entry to zero and keeps the length.
    #[inline]
    pub fn reset(&mut self, logs: usize) {
        if self.0.len() == logs {
            self.0.fill(0);
        } else {
            self.0 = SmallVec::from_elem(0, logs);
        }
    }
}

/// By value: missing entries are zero.
impl PartialEq for LsnVector {
    fn eq(&self, other: &LsnVector) -> bool {
        (0..self.len().max(other.len())).all(|log| self.get(log) == other.get(log))
    }
}

impl Eq for LsnVector {}

#[cfg(test)]
mod tests {
    use super::{LsnVector, TransactionPlace};
    use crate::lsn::Lsn;

    #[test]
    fn a_place_is_read_as_it_is_shown() {
        let place = TransactionPlace { incarnation: 3, log: 1, end: Lsn(40_312) };
        assert_eq!(place.to_string(), "3/1/40312");
        assert_eq!("3/1/40312".parse(), Ok(place));
        for wrong in ["", "3/1", "3/1/2/4", "3/a/8", "3/-1/8", "3//8"] {
            assert!(wrong.parse::<TransactionPlace>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_empty_vector_stands_for_zeroes() {
        assert_eq!(LsnVector::default(), LsnVector::zero(3));
        assert!(LsnVector::default().is_covered_by(&[]));
        assert_eq!(LsnVector::default().get(7), Lsn::ZERO);
        assert!(!LsnVector::from_slice(&[0, 8]).is_covered_by(&[16]));
    }

    #[test]
    fn raising_takes_the_larger_of_each_entry() {
        let mut vector = LsnVector::from_slice(&[8, 64]);
        vector.raise(&[16, 8, 24]);
        assert_eq!(vector.entries(), &[16, 64, 24]);
        vector.raise_entry(1, Lsn(40));
        vector.lower(&[100, 48]);
        assert_eq!(vector.entries(), &[16, 48, 0]);
    }
}
