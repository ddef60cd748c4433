//! The communication between writers and the builder of an index while it is built beside them
//! (`txn::writes::index_build`).
//!
//! Until the builder requests it, writers do not check whether values of an unfinished unique index are
//! duplicates. From then on a writer that gives a row such a value locks it and checks, as usual, but does
//! not fail, because the index may never be completed. It leaves the value here, for the builder to look at
//! again. When none is left, the index is finished in the same moment, and a writer that finds a duplicate
//! later fails.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// At most this many values are kept one by one.
const MOST_DOUBTFUL: usize = 1024;

/// See the module head.
#[derive(Default)]
pub(crate) struct UnfinishedIndex {
    is_checked: AtomicBool,
    doubts: Mutex<Doubts>,
}

#[derive(Default)]
struct Doubts {
    values: Vec<Box<[u8]>>,
    has_more: bool,
    is_finished: bool,
}

/// The values that the builder has still to look at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Doubtful {
    Nothing,
    /// The columns of these entries.
    These(Vec<Box<[u8]>>),
    Everything,
}

impl UnfinishedIndex {
    /// From now on writers check for duplicate values.
    pub(crate) fn begin_checks(&self) {
        self.is_checked.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.is_checked.load(Ordering::SeqCst)
    }

    /// Notes that two rows may have these columns; false if the index is finished, so that they must not.
    pub(crate) fn note_doubt(&self, columns: &[u8]) -> bool {
        let mut doubts = self.doubts.lock();
        if doubts.is_finished {
            return false;
        }
        if doubts.values.len() < MOST_DOUBTFUL {
            doubts.values.push(columns.into());
        } else {
            doubts.has_more = true;
        }
        true
    }

    /// Takes the values that writers have left. If there are none, the index is finished.
    pub(crate) fn take_doubts(&self) -> Doubtful {
        let mut doubts = self.doubts.lock();
        let values = std::mem::take(&mut doubts.values);
        if std::mem::take(&mut doubts.has_more) {
            return Doubtful::Everything;
        }
        if values.is_empty() {
            doubts.is_finished = true;
            return Doubtful::Nothing;
        }
        Doubtful::These(values)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_noted_once_the_index_is_finished() {
        let index = UnfinishedIndex::default();
        assert!(index.note_doubt(b"a"));
        assert_eq!(index.take_doubts(), Doubtful::These(vec![b"a".as_slice().into()]));
        for _ in 0..=MOST_DOUBTFUL {
            assert!(index.note_doubt(b"b"));
        }
        assert_eq!(index.take_doubts(), Doubtful::Everything);
        assert_eq!(index.take_doubts(), Doubtful::Nothing);
        assert!(!index.note_doubt(b"c"));
    }
}
