//! Sorting: in memory, and beyond `work_mem` by merging sorted runs from disk.
//!
//! Both are stable, so the order of equal rows does not depend on how much memory there was: a call that is
//! replayed with more memory takes the same course.
//!
//! Reference: Knuth, "The Art of Computer Programming", volume 3, 5.4.1 (multiway merging); PostgreSQL 15's
//! `tuplesort.c`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::vec;

use hyades_engine::spill::{SpillFile, TAPES_AT_ONCE, Tape, TapeReader, prefetch_all};
use hyades_types::compare;
use hyades_types::environment::WorkMemory;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;

use super::packed_keys::PackedKeys;
use super::staged_row::{Row, held_bytes};
use crate::plan::stage::SortKey;

/// Bytes of text that are compared in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 64;
/// The cost of sorting a row into its run where packed keys decide.
const UNITS_PER_SORTED_ROW: usize = 3;
/// Rows sorted between checks of whether the statement is to stop.
pub(super) const RUN_ROWS: usize = 512;

/// The rows in memory are searched for equal ones when there are this many times as many as remained after
/// the last search.
const LOOKING_FACTOR: usize = 4;

/// What sorting needs for each row: two entries.
const SORTING_BYTES: usize = 2 * size_of::<Entry>();
/// So many rows are sorted as they are: packing their keys would cost more than it saves.
const FEW_ROWS: usize = 16;
/// How many rows ahead of the one that is read are prefetched: sorted rows lie in memory in any order.
const ROWS_AHEAD: usize = 8;

/// Takes rows and returns them in order.
pub(super) struct Sorter {
    keys: Arc<[SortKey]>,
    /// Only this many of the first rows are wanted.
    wanted: Option<usize>,
    /// And those that are equal to the last of them in all keys.
    keeps_ties: bool,
    /// Of rows that are equal in all keys, and so in everything, only the first is wanted.
    is_distinct: bool,
    /// When this many rows are held, the unwanted ones are searched for.
    next_look: usize,
    rows: Vec<Row>,
    /// Total bytes of the rows.
    held: usize,
    work: WorkMemory,
    /// Sorted runs, in the order in which their rows arrived.
    runs: Option<(SpillFile, Vec<Tape>)>,
}

/// Sorted rows. Runs on disk may again contain rows that were dropped in memory.
pub(super) enum Sorted {
    InMemory(vec::IntoIter<Row>),
    Spilled(SpillFile, Merge),
}

impl Sorter {
    pub(super) fn new(
        keys: Arc<[SortKey]>,
        (wanted, keeps_ties): (Option<usize>, bool),
        is_distinct: bool,
        work: WorkMemory,
    ) -> Sorter {
        let next_look = match wanted {
            Some(wanted) => wanted.saturating_mul(2).max(RUN_ROWS),
            None if is_distinct => RUN_ROWS,
            None => usize::MAX,
        };
        let (rows, held, runs) = (Vec::new(), 0, None);
        Sorter { keys, wanted, keeps_ties, is_distinct, next_look, rows, held, work, runs }
    }

    pub(super) fn push(&mut self, row: Row) -> Result<()> {
        self.held += held_bytes(&row);
        self.rows.push(row);
        if self.rows.len() >= self.next_look {
            self.forget_unwanted()?;
        }
        if self.held > self.work.bytes { self.spill() } else { Ok(()) }
    }

    /// Sorts the rows in memory and keeps the wanted ones. Equal rows keep the order in which they arrived,
    /// and stay before those still to come.
    fn sort(&mut self) -> Result<()> {
        sort(&mut self.rows, &self.keys)?;
        if self.is_distinct {
            let keys = &self.keys;
            self.rows.dedup_by(|later, first| compare_rows(first, later, keys).is_eq());
        }
        if let Some(wanted) = self.wanted {
            let last = wanted.checked_sub(1).and_then(|last| self.rows.get(last)).filter(|_| self.keeps_ties);
            let is_tie = |row: &&Row| last.is_some_and(|last| compare_rows(last, row, &self.keys).is_eq());
            let ties = self.rows.iter().skip(wanted).take_while(is_tie).count();
            self.rows.truncate(wanted.saturating_add(ties));
        }
        Ok(())
    }

    fn forget_unwanted(&mut self) -> Result<()> {
        self.sort()?;
        self.held = self.rows.iter().map(|row| held_bytes(row)).sum();
        if self.wanted.is_none() || self.keeps_ties {
            // If few rows are dropped, this is done rarely.
            self.next_look = self.rows.len().saturating_mul(LOOKING_FACTOR).max(RUN_ROWS);
        }
        Ok(())
    }

    /// Writes the rows in memory as a run.
    fn spill(&mut self) -> Result<()> {
        self.sort()?;
        let (file, runs) = match &mut self.runs {
            Some(runs) => runs,
            None => self.runs.insert((SpillFile::create(&self.work)?, Vec::new())),
        };
        let mut run = Tape::default();
        for row in self.rows.drain(..) {
            file.push(&mut run, &row)?;
        }
        runs.push(run);
        self.held = 0;
        Ok(())
    }

    /// The sorted rows, or at least the wanted ones.
    pub(super) fn finish(mut self) -> Result<Sorted> {
        if self.runs.is_some() {
            self.spill()?;
            self.rows = Vec::new();
        }
        let Some((mut file, mut runs)) = self.runs.take() else {
            memory::check(self.rows.len().saturating_mul(SORTING_BYTES))?;
            self.sort()?;
            return Ok(Sorted::InMemory(self.rows.into_iter()));
        };
        while runs.len() > TAPES_AT_ONCE {
            // Merges adjacent runs, so that equal rows stay in order.
            let mut longer = Vec::with_capacity(runs.len().div_ceil(TAPES_AT_ONCE));
            let mut rest = runs.into_iter();
            while rest.len() > 0 {
                let some = rest.by_ref().take(TAPES_AT_ONCE).collect();
                longer.push(merged(&mut file, some, &self.keys)?);
            }
            runs = longer;
        }
        let merge = Merge::new(&mut file, runs, &self.keys)?;
        Ok(Sorted::Spilled(file, merge))
    }
}

impl Iterator for Sorted {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        match self {
            Sorted::InMemory(rows) => {
                if let Some(row) = rows.as_slice().get(ROWS_AHEAD) {
                    prefetch_all(row);
                }
                rows.next().map(Ok)
            }
            Sorted::Spilled(file, merge) => merge.next(file).transpose(),
        }
    }
}

/// Merges several sorted tapes into one.
pub(super) fn merged(file: &mut SpillFile, tapes: Vec<Tape>, keys: &Arc<[SortKey]>) -> Result<Tape> {
    let mut merge = Merge::new(file, tapes, keys)?;
    let mut tape = Tape::default();
    while let Some(row) = merge.next(file)? {
        file.push(&mut tape, &row)?;
    }
    Ok(tape)
}

/// Sorted tapes that are read as one.
pub(super) struct Merge {
    tapes: Vec<TapeReader>,
    /// The next row of each tape.
    heads: BinaryHeap<Head>,
}

struct Head {
    row: Row,
    tape: usize,
    keys: Arc<[SortKey]>,
}

impl Ord for Head {
    /// Reversed, because a heap returns the greatest element first.
    fn cmp(&self, other: &Head) -> Ordering {
        let forward = compare_rows(&self.row, &other.row, &self.keys);
        forward.then(self.tape.cmp(&other.tape)).reverse()
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl Merge {
    /// Equal rows are returned in the order of the tapes.
    pub(super) fn new(file: &mut SpillFile, tapes: Vec<Tape>, keys: &Arc<[SortKey]>) -> Result<Merge> {
        let tapes = tapes.into_iter().map(|tape| file.read(tape)).collect::<Result<Vec<TapeReader>>>()?;
        let mut merge = Merge { heads: BinaryHeap::with_capacity(tapes.len()), tapes };
        for tape in 0..merge.tapes.len() {
            if let Some(row) = merge.tapes[tape].next(file)? {
                merge.heads.push(Head { row, tape, keys: Arc::clone(keys) });
            }
        }
        Ok(merge)
    }

    pub(super) fn next(&mut self, file: &SpillFile) -> Result<Option<Row>> {
        guest::spend(1)?;
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        match self.tapes[head.tape].next(file)? {
            Some(following) => Ok(Some(std::mem::replace(&mut head.row, following))),
            None => Ok(Some(std::collections::binary_heap::PeekMut::pop(head).row)),
        }
    }
}

/// The order of two values by this key.
pub(super) fn order(left: &Value, right: &Value, key: &SortKey) -> Ordering {
    let nulls = if key.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => nulls,
        (false, true) => nulls.reverse(),
        (false, false) => {
            let ordering = match (left.as_str(), right.as_str()) {
                (Some(left), Some(right)) if key.is_char => {
                    compare::char_order(left.as_bytes(), right.as_bytes())
                }
                _ => compare::total(left, right),
            };
            if key.is_descending { ordering.reverse() } else { ordering }
        }
    }
}

/// The order of two rows by these keys.
pub(super) fn compare_rows(left: &[Value], right: &[Value], keys: &[SortKey]) -> Ordering {
    guest::pass(2);
    keys.iter()
        .map(|key| {
            let (left, right) = (&left[key.value], &right[key.value]);
            if let Some(text) = left.as_str() {
                guest::pass_for(text.len() / BYTES_PER_UNIT);
            }
            order(left, right, key)
        })
        .find(|ordering| ordering.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The packed keys of a row, and its place in the input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    high: u64,
    low: u64,
    at: usize,
}

/// Sorts stably: short runs first, which are then merged in pairs. A sort of the standard library could not
/// be interrupted.
pub(super) fn sort<R: AsRef<[Value]>>(rows: &mut Vec<R>, keys: &[SortKey]) -> Result<()> {
    if keys.is_empty() || rows.len() < 2 {
        return Ok(());
    }
    if rows.len() <= FEW_ROWS {
        rows.sort_by(|left, right| compare_rows(left.as_ref(), right.as_ref(), keys));
        return guest::spend_for(rows.len() * UNITS_PER_SORTED_ROW);
    }
    let mut packed = PackedKeys::of(rows, keys);
    let bits = |packed: &PackedKeys| {
        let rows = rows.iter().enumerate();
        let entry = |(at, row): (usize, &R)| {
            let bits = packed.pack(row.as_ref())?;
            Some(Entry { high: (bits >> u64::BITS) as u64, low: bits as u64, at })
        };
        rows.map(entry).collect::<Option<Vec<Entry>>>()
    };
    let mut entries = match bits(&packed) {
        Some(entries) => entries,
        None => {
            packed = PackedKeys::default();
            bits(&packed).unwrap_or_default()
        }
    };
    let rest = packed.undecided(keys);
    if rest.is_empty() {
        sort_entries(&mut entries, &Entry::cmp)?;
    } else {
        let by_rows = |left: &Entry, right: &Entry| {
            let bits = (left.high, left.low).cmp(&(right.high, right.low));
            bits.then_with(|| compare_rows(rows[left.at].as_ref(), rows[right.at].as_ref(), rest))
                .then(left.at.cmp(&right.at))
        };
        sort_entries(&mut entries, &by_rows)?;
    }
    let mut places: Vec<Option<R>> = std::mem::take(rows).into_iter().map(Some).collect();
    memory::check(places.len().saturating_mul(size_of::<R>()))?;
    rows.reserve_exact(places.len());
    for (number, entry) in entries.iter().enumerate() {
        if let Some(ahead) = entries.get(number + ROWS_AHEAD) {
            prefetch_all(std::slice::from_ref(&places[ahead.at]));
        }
        rows.extend(places[entry.at].take());
    }
    Ok(())
}

/// Sorts entries, no two of which are equal.
fn sort_entries(entries: &mut Vec<Entry>, order: &impl Fn(&Entry, &Entry) -> Ordering) -> Result<()> {
    for run in entries.chunks_mut(RUN_ROWS) {
        run.sort_unstable_by(order);
        guest::spend_for(run.len() * UNITS_PER_SORTED_ROW)?;
    }
    let mut width = RUN_ROWS;
    let mut merged = Vec::with_capacity(if width < entries.len() { entries.len() } else { 0 });
    while width < entries.len() {
        for both in entries.chunks(2 * width) {
            let (left, right) = both.split_at(width.min(both.len()));
            merge(left, right, order, &mut merged)?;
        }
        std::mem::swap(entries, &mut merged);
        merged.clear();
        width *= 2;
    }
    Ok(())
}

fn merge(
    mut left: &[Entry],
    mut right: &[Entry],
    order: &impl Fn(&Entry, &Entry) -> Ordering,
    merged: &mut Vec<Entry>,
) -> Result<()> {
    while let ([first, after_first @ ..], [second, after_second @ ..]) = (left, right) {
        let is_left_first = order(first, second).is_lt();
        merged.push(if is_left_first { *first } else { *second });
        if is_left_first {
            left = after_first;
        } else {
            right = after_second;
        }
        if merged.len().is_multiple_of(RUN_ROWS) {
            guest::spend_for(RUN_ROWS)?;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests;
