//! Folding of rows with equal keys: the common part of GROUP BY, DISTINCT and set operations.
//!
//! ```text
//!   row -> key -> known? -- yes -> folded into its state
//!                  | no
//!                  +-- room left -> a state of its own
//!                  +-- none -> written to one of 32 partitions, by the hash of its key
//! ```
//! Once `work_mem` is used up no new key gets a state, while rows of known keys are folded as before. At the
//! end each partition is folded separately in the same way, with another hash.
//!
//! The results come in the order of the keys' first rows, however much memory there was: a call that is
//! replayed with more memory returns the same rows in the same order. For that, states and spilled rows carry
//! their *turn*, the number of the row, and the results of the partitions are merged by it. States in memory
//! come before all partitions, because their first rows did.
//!
//! Reference: Graefe, "Query Evaluation Techniques for Large Databases" (1993), 4.2 (hybrid hash
//! aggregation); PostgreSQL 15's `nodeAgg.c`.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hyades_engine::procedure::ir::StageRows;
use hyades_engine::spill::{SpillFile, TAPES_AT_ONCE, Tape, TapeReader};
use hyades_types::environment::WorkMemory;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;

use super::row_keys::RowKeys;
use super::sorter::merged;
use super::staged_row::Row;
use crate::plan::stage::SortKey;

/// This many keys get states whatever memory they take, so that partitions shrink at each level.
const LEAST_STATES: usize = 64;
/// The cost of a key in addition to its bytes: the allocation, and its entry in the table of keys.
const KEY_BYTES: usize = 48;

/// How rows with equal keys are folded.
pub(super) trait Fold: Send + Sync + 'static {
    /// The state of one key.
    type State: Send;

    /// How many keys a row has: a grouping has one for each of its sets.
    fn sets(&self) -> usize {
        1
    }
    fn push_key(&self, set: usize, values: &[Value], key: &mut RowKeys);
    /// The state before its first row, which is this one, is folded in, and how many bytes it holds. Values
    /// of the key may be taken if there is only one set.
    fn state(&self, set: usize, values: &mut [Value]) -> (Self::State, usize);
    /// Folds a row in. Returns by how many bytes the state grows.
    fn add(&self, state: &mut Self::State, values: &mut [Value]) -> Result<usize>;
    /// Appends the resulting rows.
    fn finish(&self, state: Self::State, rows: &mut Vec<Row>) -> Result<()>;
}

/// A folding in progress.
pub(super) struct Folding<F: Fold> {
    level: Level<F>,
    /// The position of the next row's state, if its key has already been looked up.
    found: Option<usize>,
    /// The turn of the next row.
    turn: i64,
    file: Option<SpillFile>,
}

/// One pass of folding: over all rows, or over those of a partition.
struct Level<F: Fold> {
    fold: Arc<F>,
    work: WorkMemory,
    /// States in the order of their turns.
    states: Vec<(i64, F::State)>,
    keys: RowKeys,
    /// Estimated bytes of states and keys.
    held: usize,
    /// Rows whose keys have no states, each with its turn and its set appended. Empty until the first such
    /// row.
    partitions: Vec<Tape>,
    /// How often its rows have already been partitioned.
    depth: u64,
}

/// What was done with a row.
enum Folded {
    Here,
    /// Nothing yet: it belongs to this partition.
    Elsewhere(usize),
}

impl<F: Fold> Folding<F> {
    pub(super) fn new(fold: Arc<F>, work: WorkMemory) -> Folding<F> {
        Folding { level: Level::new(fold, work, 0), found: None, turn: 0, file: None }
    }

    /// Whether there is a state for the key of the next row, with only one set. The key is encoded as by
    /// [`RowKeys::push`].
    pub(super) fn knows(&mut self, key: &[u8]) -> bool {
        self.level.keys.set(key);
        self.found = self.level.keys.place();
        self.found.is_some()
    }

    /// Takes a row, and possibly its values. Those of a known key are not read.
    pub(super) fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        if let Some(place) = self.found.take() {
            self.turn += 1;
            return self.level.add(place, values);
        }
        for set in 0..self.level.fold.sets() {
            let turn = self.turn;
            self.turn += 1;
            if let Folded::Elsewhere(partition) = self.level.fold_row(turn, set, values)? {
                let file = match &mut self.file {
                    Some(file) => file,
                    None => self.file.insert(SpillFile::create(&self.level.work)?),
                };
                let mut row = values.to_vec();
                row.extend([Value::BigInt(turn), Value::BigInt(set as i64)]);
                file.push(&mut self.level.partitions[partition], &row)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<StageRows> {
        let Some(mut file) = self.file.take() else {
            let mut rows = Vec::with_capacity(self.level.states.len());
            for (_, state) in self.level.states {
                guest::spend(4)?;
                memory::check(0)?;
                self.level.fold.finish(state, &mut rows)?;
            }
            return Ok(StageRows::InMemory(rows));
        };
        let tape = self.level.settle(&mut file)?;
        let mut reader = file.read(tape)?;
        Ok(StageRows::Later(Box::new(std::iter::from_fn(move || {
            let mut row = match reader.next(&file) {
                Ok(row) => row?,
                Err(error) => return Some(Err(error)),
            };
            row.remove(0);
            Some(Ok(row))
        }))))
    }
}

impl<F: Fold> Level<F> {
    fn new(fold: Arc<F>, work: WorkMemory, depth: u64) -> Level<F> {
        Level {
            fold,
            work,
            states: Vec::new(),
            keys: RowKeys::default(),
            held: 0,
            partitions: Vec::new(),
            depth,
        }
    }

    fn fold_row(&mut self, turn: i64, set: usize, values: &mut [Value]) -> Result<Folded> {
        RowKeys::ask_for(&*values)?;
        self.keys.begin();
        if self.fold.sets() > 1 {
            self.keys.push_set(set);
        }
        self.fold.push_key(set, values, &mut self.keys);
        let place = match self.keys.place() {
            Some(place) => place,
            None if self.is_full() => return Ok(Folded::Elsewhere(self.partition())),
            None => {
                let place = self.states.len();
                self.keys.add(place)?;
                let (state, bytes) = self.fold.state(set, values);
                self.states.push((turn, state));
                self.held += KEY_BYTES + self.keys.key().len() + bytes;
                place
            }
        };
        self.add(place, values)?;
        Ok(Folded::Here)
    }

    /// Folds a row into an existing state.
    #[inline]
    fn add(&mut self, place: usize, values: &mut [Value]) -> Result<()> {
        self.held += self.fold.add(&mut self.states[place].1, values)?;
        Ok(())
    }

    /// Once a key has been turned away, no new key gets a state: otherwise the next row of that key would get
    /// one.
    fn is_full(&self) -> bool {
        !self.partitions.is_empty() || (self.held > self.work.bytes && self.states.len() >= LEAST_STATES)
    }

    /// The partition of the current key.
    fn partition(&mut self) -> usize {
        if self.partitions.is_empty() {
            self.partitions.resize_with(TAPES_AT_ONCE, Tape::default);
        }
        let mut hasher = FixedState::with_seed(self.depth).build_hasher();
        hasher.write(self.keys.key());
        (hasher.finish() >> 32) as usize % TAPES_AT_ONCE
    }

    /// Writes all results in order, each row preceded by its turn.
    fn settle(self, file: &mut SpillFile) -> Result<Tape> {
        let Level { fold, work, states, keys, partitions, depth, .. } = self;
        drop(keys);
        let mut all = Tape::default();
        let mut rows = Vec::new();
        for (turn, state) in states {
            memory::check(0)?;
            fold.finish(state, &mut rows)?;
            for mut row in rows.drain(..) {
                row.insert(0, Value::BigInt(turn));
                file.push(&mut all, &row)?;
            }
        }
        let partitions = partitions.into_iter().filter(|partition| !partition.is_empty());
        // Readers of tapes hold no memory before they begin.
        let readers =
            partitions.map(|partition| file.read(partition)).collect::<Result<Vec<TapeReader>>>()?;
        let mut tapes = Vec::with_capacity(readers.len());
        for mut reader in readers {
            let mut inner = Level::new(Arc::clone(&fold), work.clone(), depth + 1);
            while let Some(mut row) = reader.next(file)? {
                let [values @ .., turn, set] = row.as_mut_slice() else { continue };
                let turn = turn.as_i64().unwrap_or(0);
                let set = set.as_i64().and_then(|set| usize::try_from(set).ok()).unwrap_or(0);
                if let Folded::Elsewhere(partition) = inner.fold_row(turn, set, values)? {
                    file.push(&mut inner.partitions[partition], &row)?;
                }
                memory::check(0)?;
            }
            tapes.push(inner.settle(file)?);
        }
        let rest = merged(file, tapes, &Arc::from([SortKey::ascending(0)]))?;
        file.append(&mut all, rest)?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
