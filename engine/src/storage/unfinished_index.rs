//! What writers and the builder of an index tell each other while it is built beside them
//! (`txn::two_phase_locking::index_build`).
//!
//! Until the builder says so, nobody looks whether values of an unfinished unique index are there twice. From
//! then on whoever gives a row such a value locks it and looks, as ever, but does not fail: the index may
//! never come to be. He leaves the value here, for the builder to look at again. When none is left, the index
//! is finished in the same moment, and whoever finds a duplicate later fails.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// More values than this are not kept one by one.
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

/// What the builder has still to look at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Doubtful {
    Nothing,
    /// The columns of these entries.
    These(Vec<Box<[u8]>>),
    Everything,
}

impl UnfinishedIndex {
    /// From now on writers look whether values are there twice.
    pub(crate) fn begin_checks(&self) {
        self.is_checked.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.is_checked.load(Ordering::SeqCst)
    }

    /// Two rows may have these columns; false: the index is finished, and they must not.
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

    /// What writers have left. If that is nothing the index is finished.
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
