//! Memory that is certain to be needed but not allocated yet: rows that a restart has still to load while
//! clients are admitted. It counts in every check as if it had been allocated, so that what clients add
//! meanwhile and what is loaded later do not exceed the limit together.

use std::sync::atomic::{AtomicIsize, Ordering};

/// The sum over all databases of the process.
static EXPECTED: AtomicIsize = AtomicIsize::new(0);

/// Bytes that one database expects; none once it is dropped.
#[derive(Debug, Default)]
pub struct Expected {
    bytes: AtomicIsize,
}

impl Expected {
    pub fn of(bytes: u64) -> Expected {
        let bytes = isize::try_from(bytes).unwrap_or(isize::MAX / 4);
        EXPECTED.fetch_add(bytes, Ordering::Relaxed);
        Expected { bytes: AtomicIsize::new(bytes) }
    }

    /// This many of the expected bytes have been allocated. If the estimate was too low, no more than its
    /// rest is subtracted.
    pub fn arrived(&self, bytes: u64) {
        let bytes = isize::try_from(bytes).unwrap_or(isize::MAX / 4);
        let take = |left: isize| Some(left - bytes.min(left));
        let before = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or(0);
        EXPECTED.fetch_sub(bytes.min(before), Ordering::Relaxed);
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        EXPECTED.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// Bytes that are still expected.
pub(super) fn expected_bytes() -> isize {
    EXPECTED.load(Ordering::Relaxed)
}
