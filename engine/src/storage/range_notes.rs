//! Where keys have left an index since a checkpoint.
//!
//! A checkpoint tells what has changed since the one before by the handles in the records. A key that has
//! left its index has no record any more, so whoever removes it leaves a note, for a whole range of keys:
//! the next checkpoint looks there for what is missing (`checkpoint::walk`).
//!
//! A note is made before the key goes, and read after the range was walked through: of a key that a walk did
//! not meet there is a note.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::mutant::{self, Mutant};

/// See the module head.
#[derive(Debug)]
pub(crate) struct RangeNotes {
    ranges: Box<[NotedRange]>,
}

#[derive(Debug)]
struct NotedRange {
    /// Its smallest key, or less.
    from: Box<[u8]>,
    has_removal: AtomicBool,
}

impl RangeNotes {
    /// For ranges that begin at these keys, in order, and end where the next begins. The first takes all that
    /// is smaller, too.
    pub(crate) fn new(starts: impl Iterator<Item = Box<[u8]>>) -> RangeNotes {
        let range = |from| NotedRange { from, has_removal: AtomicBool::new(false) };
        RangeNotes { ranges: starts.map(range).collect() }
    }

    /// A key is about to leave the index.
    pub(super) fn note_removal(&self, key: &[u8]) {
        if mutant::is_active(Mutant::RemovalsUnnoted) {
            return;
        }
        let behind = self.ranges.partition_point(|range| *range.from <= *key);
        if let Some(range) = self.ranges.get(behind.saturating_sub(1)) {
            range.has_removal.store(true, Ordering::SeqCst);
        }
    }

    /// Whether a key has left this range.
    pub(crate) fn has_removal(&self, range: usize) -> bool {
        self.ranges.get(range).is_none_or(|range| range.has_removal.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::RangeNotes;

    #[test]
    fn a_note_is_for_the_range_that_holds_the_key() {
        let starts: [&[u8]; 3] = [b"", b"g", b"p"];
        let notes = RangeNotes::new(starts.iter().map(|start| Box::from(*start)));
        notes.note_removal(b"g");
        notes.note_removal(b"z");
        assert_eq!([0, 1, 2].map(|range| notes.has_removal(range)), [false, true, true]);
    }
}
