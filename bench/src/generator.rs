//! Random keys and texts of the workloads. The same seed gives the same data and the same transactions.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// What random numbers come from.
pub type Random = SmallRng;

/// The finalizer of SplitMix64.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The generator for one of many things: a row, a worker.
pub fn random_for(parts: &[u64]) -> SmallRng {
    SmallRng::seed_from_u64(parts.iter().fold(0x9e37_79b9_7f4a_7c15, |seed, part| mix(seed ^ mix(*part))))
}

/// Appends `length` letters and digits.
pub fn letters(random: &mut SmallRng, length: usize, text: &mut String) {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789aA";
    let mut bits = 0_u64;
    for place in 0..length {
        if place % 10 == 0 {
            bits = random.random();
        }
        text.push(char::from(LETTERS[(bits & 63) as usize]));
        bits >>= 6;
    }
}

/// Letters and digits, `shortest` to `longest` of them.
pub fn text(random: &mut SmallRng, shortest: usize, longest: usize) -> String {
    let length = random.random_range(shortest..=longest);
    let mut text = String::with_capacity(length);
    letters(random, length, &mut text);
    text
}

/// Zipf over 0..count: rank r has a weight of 1 / (r + 1)^theta; theta 0 is uniform. Ranks are scattered over
/// the keys, so that popular keys are not adjacent.
///
/// The inverse of the distribution function is tabulated: a draw is a binary search in the range that one of
/// 2^16 steps leaves.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// The share of all ranks up to this one.
    cumulative: Vec<f64>,
    /// The first rank that can be drawn in each step of the unit interval.
    steps: Vec<u32>,
    count: u64,
}

const ZIPF_STEPS: usize = 1 << 16;
/// A prime, so that multiplying by it modulo the count is a permutation (unless the count is its multiple).
const SCATTER: u64 = 2_654_435_761;

impl Zipf {
    /// `count` is at least 1.
    pub fn new(count: u64, theta: f64) -> Zipf {
        assert!(count >= 1 && !count.is_multiple_of(SCATTER), "a Zipf distribution over {count} keys");
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (0..count)
            .map(|rank| {
                sum += ((rank + 1) as f64).powf(-theta);
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|share| *share /= sum);
        let mut rank = 0;
        let steps = (0..=ZIPF_STEPS)
            .map(|step| {
                let share = step as f64 / ZIPF_STEPS as f64;
                while rank + 1 < cumulative.len() && cumulative[rank] <= share {
                    rank += 1;
                }
                rank as u32
            })
            .collect();
        Zipf { cumulative, steps, count }
    }

    pub fn rank(&self, random: &mut SmallRng) -> u64 {
        let share: f64 = random.random();
        let step = (share * ZIPF_STEPS as f64) as usize;
        let (first, last) = (self.steps[step] as usize, self.steps[step + 1] as usize);
        let offset = self.cumulative[first..=last].partition_point(|end| *end <= share);
        (first + offset).min(self.cumulative.len() - 1) as u64
    }

    /// A key in 0..count.
    pub fn key(&self, random: &mut SmallRng) -> u64 {
        ((u128::from(self.rank(random)) * u128::from(SCATTER)) % u128::from(self.count)) as u64
    }
}

/// NURand of TPC-C, clause 2.1.6.
pub fn non_uniform(random: &mut SmallRng, a: u64, c: u64, low: u64, high: u64) -> u64 {
    let mixed = random.random_range(0..=a) | random.random_range(low..=high);
    (mixed + c) % (high - low + 1) + low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_follows_its_weights() {
        let zipf = Zipf::new(1000, 0.6);
        let mut random = random_for(&[1]);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..200_000 {
            counts[zipf.rank(&mut random) as usize] += 1;
        }
        let ratio = f64::from(counts[0]) / f64::from(counts[63].max(1));
        // 64^0.6 is 12.1.
        assert!((9.0..16.0).contains(&ratio), "{ratio}");
        assert!(counts.iter().all(|count| *count > 0));
    }

    #[test]
    fn uniform_keys_are_a_permutation_of_ranks() {
        let zipf = Zipf::new(97, 0.0);
        let mut random = random_for(&[2]);
        let mut seen = [false; 97];
        for _ in 0..5_000 {
            seen[zipf.key(&mut random) as usize] = true;
        }
        assert!(seen.iter().all(|seen| *seen));
        let one = Zipf::new(1, 1.5);
        assert_eq!(one.key(&mut random), 0);
    }

    #[test]
    fn non_uniform_numbers_stay_in_range() {
        let mut random = random_for(&[3]);
        for _ in 0..10_000 {
            assert!((1..=3000).contains(&non_uniform(&mut random, 1023, 259, 1, 3000)));
        }
        assert_eq!(text(&mut random, 10, 10).len(), 10);
    }
}
