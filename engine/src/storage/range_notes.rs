//! Ranges from which keys have been removed since a checkpoint.
//!
//! A checkpoint finds what has changed since the one before by the handles in the records. A key that has
//! left its index has no record any more, so its removal is noted, for a whole range of keys: the next
//! checkpoint looks there for missing keys (`checkpoint::walk`).
//!
//! A note is made before the key goes, and read after the range was walked, so there is a note for every key
//! that a walk has missed.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::mutant::{self, Mutant};

/// See the module head.
#[derive(Debug)]
pub(crate) struct RangeNotes {
    ranges: Box<[NotedRange]>,
}

#[derive(Debug)]
struct NotedRange {
    /// Its smallest key, or a smaller one.
    from: Box<[u8]>,
    has_removal: AtomicBool,
}

impl RangeNotes {
    /// For ranges that begin at these keys, in order, and end where the next begins. The first also covers
    /// all smaller keys.
    pub(crate) fn new(starts: impl Iterator<Item = Box<[u8]>>) -> RangeNotes {
        let range = |from| NotedRange { from, has_removal: AtomicBool::new(false) };
        RangeNotes { ranges: starts.map(range).collect() }
    }

    /// Notes that a key is about to leave the index.
    pub(super) fn note_removal(&self, key: &[u8]) {
        if mutant::is_active(Mutant::RemovalsUnnoted) {
            return;
        }
        let next = self.ranges.partition_point(|range| *range.from <= *key);
        if let Some(range) = self.ranges.get(next.saturating_sub(1)) {
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
