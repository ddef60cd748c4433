//! What is locked, and who locks it.

/// A lockable thing, as a 64-bit hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Resource(pub(crate) u64);

impl Resource {
    /// Set in the hashes of rows and gaps.
    pub(crate) const OF_RECORDS: u64 = 1;
    /// Set in the hashes of tables, on whose rows others announce their intents.
    pub(crate) const TABLE: u64 = 2;

    /// Whether changes of what it stands for change records, which name their writers.
    #[inline]
    pub(super) fn is_of_records(self) -> bool {
        self.0 & Self::OF_RECORDS != 0
    }

    #[inline]
    pub(super) fn is_table(self) -> bool {
        self.0 & Self::TABLE != 0
    }
}

/// Identifies a transaction while it runs: worker number in the upper half, a counter in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TransactionId(pub(crate) u64);

impl TransactionId {
    /// Marks the numbers of transactions that wait for nothing and are over in a moment.
    pub(crate) const BRIEF: u64 = 1 << 63;

    /// The number of its worker.
    pub(crate) fn worker(self) -> u64 {
        (self.0 & !Self::BRIEF) >> 32
    }

    pub(crate) fn is_brief(self) -> bool {
        self.0 & Self::BRIEF != 0
    }
}
