//! The first row under each key of a join table.
//!
//! Keys of one scalar that lie close together, as those of most tables do, index an array: a probe then reads
//! four bytes of it, and neighbouring keys share a cache line. All others are in a hash table.
//!
//! Reference for the array: Bandle, Giceva, Neumann: "To Partition, or Not to Partition, That is the Join
//! Question in a Real System", SIGMOD 2021 (a probe is bound by memory latency).

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hyades_types::error::Result;
use hyades_types::memory;

/// The word by which a key is looked up: the scalar that it is, or a hash of its encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyWord(pub(super) u64);

/// The most places per row that the array may have.
const PLACES_FOR_ROW: u64 = 4;

const NO_ROW: u32 = u32::MAX;

pub(super) enum JoinHeads {
    /// The numbers of rows, from the word `lowest` on. [`NO_ROW`] where there is none.
    Array {
        lowest: u64,
        rows: Vec<u32>,
    },
    Hashed {
        table: HashTable<Head>,
        hasher: RandomState,
    },
}

pub(super) struct Head {
    word: KeyWord,
    row: u32,
}

impl JoinHeads {
    /// The approximate maximum per row.
    pub(super) const ROW_BYTES: usize = 2 * size_of::<Head>();

    /// Makes room for rows with these words. Hashes may lie anywhere.
    ///
    /// # Errors
    /// 53200.
    pub(super) fn create(words: impl Iterator<Item = u64> + Clone, are_hashes: bool) -> Result<JoinHeads> {
        let count = words.clone().count();
        memory::check(count.saturating_mul(JoinHeads::ROW_BYTES))?;
        // As signed numbers: keys around zero lie close together.
        let signed = words.map(u64::cast_signed);
        if let (false, Some(lowest), Some(highest)) = (are_hashes, signed.clone().min(), signed.max()) {
            let span = highest.wrapping_sub(lowest).cast_unsigned();
            if span < PLACES_FOR_ROW * count as u64 {
                let rows = vec![NO_ROW; span as usize + 1];
                return Ok(JoinHeads::Array { lowest: lowest.cast_unsigned(), rows });
            }
        }
        let table = HashTable::with_capacity(count);
        Ok(JoinHeads::Hashed { table, hasher: RandomState::default() })
    }

    /// Makes a row the first one under its key. Returns the previous first one. `is_same` says whether a row
    /// with the same word has the same key.
    pub(super) fn put(&mut self, word: KeyWord, row: u32, is_same: impl Fn(u32) -> bool) -> Option<u32> {
        match self {
            JoinHeads::Array { lowest, rows } => {
                let place = rows.get_mut(place(word, *lowest))?;
                Some(std::mem::replace(place, row)).filter(|before| *before != NO_ROW)
            }
            JoinHeads::Hashed { table, hasher } => {
                let hash = hasher.hash_one(word.0);
                if let Some(head) = table.find_mut(hash, |head| head.word == word && is_same(head.row)) {
                    return Some(std::mem::replace(&mut head.row, row));
                }
                table.insert_unique(hash, Head { word, row }, |head| hasher.hash_one(head.word.0));
                None
            }
        }
    }

    /// The first row under a key.
    #[inline]
    pub(super) fn find(&self, word: KeyWord, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        match self {
            JoinHeads::Array { lowest, rows } => {
                rows.get(place(word, *lowest)).copied().filter(|row| *row != NO_ROW)
            }
            JoinHeads::Hashed { table, hasher } => {
                let hash = hasher.hash_one(word.0);
                table.find(hash, |head| head.word == word && is_it(head.row)).map(|head| head.row)
            }
        }
    }
}

/// The place of a word in an array that begins with the lowest one. Outside of the array if it is lower or
/// higher.
#[inline]
fn place(word: KeyWord, lowest: u64) -> usize {
    usize::try_from(word.0.wrapping_sub(lowest)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(words: &[i64]) -> JoinHeads {
        let words: Vec<u64> = words.iter().map(|word| word.cast_unsigned()).collect();
        let mut heads = JoinHeads::create(words.iter().copied(), false).unwrap();
        for (row, word) in words.iter().enumerate() {
            assert_eq!(heads.put(KeyWord(*word), row as u32, |_| true), None);
        }
        heads
    }

    #[test]
    fn close_keys_index_an_array_and_others_do_not() {
        let close: &[&[i64]] = &[&[-2, 1, 0], &[i64::MIN], &[i64::MAX - 3, i64::MAX], &[0, 7]];
        let far: &[&[i64]] = &[&[i64::MIN, i64::MAX], &[-1, 7], &[0, i64::MAX], &[]];
        for (sets, is_array) in [(close, true), (far, false)] {
            for words in sets {
                let heads = heads(words);
                assert_eq!(matches!(heads, JoinHeads::Array { .. }), is_array, "{words:?}");
                for (row, word) in words.iter().enumerate() {
                    assert_eq!(heads.find(KeyWord(word.cast_unsigned()), |_| true), Some(row as u32));
                    for other in [word.wrapping_sub(1), word.wrapping_add(1), word.wrapping_neg()] {
                        let is_there = words.contains(&other);
                        assert_eq!(heads.find(KeyWord(other.cast_unsigned()), |_| true).is_some(), is_there);
                    }
                }
            }
        }
    }

    #[test]
    fn keys_with_one_hash_are_told_apart() {
        let mut heads = JoinHeads::create([5, 5, 5].into_iter(), true).unwrap();
        let keys = ["a", "b", "a"];
        let is = |key: &'static str| move |row: u32| keys[row as usize] == key;
        let before = [2_u32, 1, 0].map(|row| heads.put(KeyWord(5), row, is(keys[row as usize])));
        assert_eq!(before, [None, None, Some(2)]);
        let found = ["a", "b", "c"].map(|key| heads.find(KeyWord(5), is(key)));
        assert_eq!(found, [Some(0), Some(1), None]);
    }
}
