//! How much work is taken and reported at once.
//!
//! Others wait for it, so the more workers there are, the less it may be; each time costs a worker some
//! mutexes.

/// The largest grain: what two workers do best with.
const COARSEST: Grain = Grain { published: 16, batched: 128 };
/// The smallest: what is needed to keep sixteen workers busy.
const FINEST: Grain = Grain { published: 4, batched: 16 };

/// The amounts for some number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grain {
    /// A worker publishes its progress after this many records.
    pub(super) published: usize,
    /// A batch has no more transactions than this.
    pub(crate) batched: usize,
}

impl Grain {
    /// The grain for this many workers. The coarsest one times the workers stays the same, within bounds.
    pub(crate) fn of(workers: usize) -> Grain {
        let share = |coarsest: usize, finest: usize| (coarsest * 2 / workers.max(1)).clamp(finest, coarsest);
        Grain {
            published: share(COARSEST.published, FINEST.published),
            batched: share(COARSEST.batched, FINEST.batched),
        }
    }
}
