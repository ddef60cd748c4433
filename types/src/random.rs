//! The generator used by `random()` and `gen_random_uuid()`, and bytes that cannot be foreseen.
//!
//! A logged call contains only its seed, so the same seed must give the same numbers in every version of this
//! program, on every machine: the generator is a named one (xoshiro256++, seeded through SplitMix64), and all
//! conversions of its numbers are in this file.
//!
//! Reference: D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators" (2021);
//! <https://prng.di.unimi.it>.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// See the module head. Copied before an instruction that may have to run again.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The generator with this seed.
    pub fn seeded(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A generator with an unpredictable seed.
    pub fn unpredictable() -> Random {
        Random(Xoshiro256PlusPlus::from_seed(rand::random()))
    }

    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A multiple of 2^-53 in [0, 1), uniformly distributed.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    pub fn bytes(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        for half in bytes.chunks_exact_mut(8) {
            half.copy_from_slice(&self.number().to_le_bytes());
        }
        bytes
    }
}

/// Bytes that cannot be foreseen, not even by one who knows earlier ones: salts, keys.
pub fn secret<const N: usize>() -> [u8; N] {
    rand::random()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logs contain seeds, so these numbers may never change. (The first line is that of the generator's
    /// authors.)
    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let mut authors = Random(Xoshiro256PlusPlus::from_seed({
            let mut seed = [0; 32];
            [1_u8, 2, 3, 4].iter().enumerate().for_each(|(word, number)| seed[8 * word] = *number);
            seed
        }));
        let numbers: Vec<u64> = (0..4).map(|_| authors.number()).collect();
        assert_eq!(numbers, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);

        let mut random = Random::seeded(7);
        assert_eq!(random.number(), SEVEN[0]);
        assert_eq!(random.fraction(), (SEVEN[1] >> 11) as f64 / 9_007_199_254_740_992.0);
        let bytes = random.bytes();
        assert_eq!(bytes[..8], SEVEN[2].to_le_bytes());
        assert_eq!(bytes[8..], SEVEN[3].to_le_bytes());
    }

    /// Computed from the authors' C code.
    const SEVEN: [u64; 4] = [0x0e2c1a002aae913d, 0x2c0fc8ddfa4e9e14, 0xb7b311b3b0d45872, 0x6d5d9f6a6318013c];
}
