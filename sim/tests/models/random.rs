//! The chance of the models: everything random of a run comes from its seed.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A source of random numbers.
pub(crate) struct Random(StdRng);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(StdRng::seed_from_u64(seed))
    }

    /// A number below this one, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.random_range(0..bound)
    }

    /// A number from the first one to the second one.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        self.0.random_range(least..=most)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// So many different numbers below a bound, or all of them.
    pub(crate) fn some_below(&mut self, bound: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..bound).collect();
        self.shuffle(&mut all);
        all.truncate(count);
        all
    }

    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for place in (1..all.len()).rev() {
            all.swap(place, self.below(place + 1));
        }
    }
}
