//! The rows of one partition, read when they are needed, and the peers of the current one.

use std::collections::VecDeque;

use hyades_engine::spill::numbered_rows::NumberedRows;
use hyades_types::environment::WorkMemory;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;

use super::super::sorter::{compare_rows, order};
use super::super::staged_row::{Row, held_bytes};
use crate::plan::stage::SortKey;
use crate::plan::window_stage::WindowPass;

/// Blocks of a partition that stay decoded: those of the current row, of the two ends of its frame, and one
/// that lag or lead look at.
const DECODED_BLOCKS: usize = 4;

/// Rows on their way into or out of a pass.
pub(super) type Rows = Box<dyn Iterator<Item = Result<Row>> + Send>;

/// The rows of the current partition, numbered from 0.
pub(super) struct WindowRows {
    source: Rows,
    partition: Vec<SortKey>,
    order: Vec<SortKey>,
    work: WorkMemory,
    /// The keys of the current partition.
    key: Vec<Value>,
    /// The first row of the next partition, if it has been read.
    ahead: Option<Row>,
    /// The rows in memory.
    rows: VecDeque<Row>,
    /// The number of the first one of these.
    first: usize,
    /// Estimated bytes of these, if the memory has a limit.
    held: usize,
    /// All rows that are kept, once they have exceeded the memory.
    beyond: Option<NumberedRows>,
    /// How many rows of the partition have been read.
    count: usize,
    is_complete: bool,
}

fn no_row() -> Error {
    Error::input(sqlstate::INTERNAL_ERROR, "a row of a window is not kept")
}

impl WindowRows {
    pub(super) fn new(source: Rows, pass: &WindowPass, work: WorkMemory) -> WindowRows {
        WindowRows {
            source,
            partition: pass.partition.clone(),
            order: pass.order.clone(),
            work,
            key: Vec::new(),
            ahead: None,
            rows: VecDeque::new(),
            first: 0,
            held: 0,
            beyond: None,
            count: 0,
            is_complete: true,
        }
    }

    /// Drops the current partition. Returns whether there is another one.
    pub(super) fn next_partition(&mut self) -> Result<bool> {
        while !self.is_complete {
            self.read()?;
        }
        self.rows.clear();
        (self.first, self.held, self.beyond, self.count) = (0, 0, None, 0);
        let row = match self.ahead.take() {
            Some(row) => row,
            None => match self.source.next() {
                Some(row) => row?,
                None => return Ok(false),
            },
        };
        self.is_complete = false;
        self.key.clear();
        self.key.extend(self.partition.iter().map(|key| row[key.value].clone()));
        self.keep(row)?;
        Ok(true)
    }

    fn bytes_of(&self, row: &Row) -> usize {
        if self.work.bytes == usize::MAX { 0 } else { held_bytes(row) }
    }

    fn keep(&mut self, row: Row) -> Result<()> {
        self.count += 1;
        if let Some(beyond) = &mut self.beyond {
            return beyond.push(row, &self.work);
        }
        self.held = self.held.saturating_add(self.bytes_of(&row));
        memory::check_growth::<Row>(self.rows.capacity(), self.rows.len() + 1)?;
        self.rows.push_back(row);
        if self.held > self.work.bytes {
            let mut beyond = NumberedRows::beginning_at(self.first, DECODED_BLOCKS, &self.work)?;
            self.rows.drain(..).try_for_each(|row| beyond.push(row, &self.work))?;
            self.beyond = Some(beyond);
        }
        Ok(())
    }

    /// Reads another row of the partition, if there is one.
    fn read(&mut self) -> Result<()> {
        guest::spend(1)?;
        let Some(row) = self.source.next().transpose()? else {
            self.is_complete = true;
            return Ok(());
        };
        let keys = self.partition.iter().zip(&self.key);
        if keys.into_iter().all(|(key, value)| order(&row[key.value], value, key).is_eq()) {
            return self.keep(row);
        }
        self.ahead = Some(row);
        self.is_complete = true;
        Ok(())
    }

    /// Whether the partition has a row with this number.
    #[inline]
    pub(super) fn has(&mut self, number: usize) -> Result<bool> {
        while number >= self.count && !self.is_complete {
            self.read()?;
        }
        Ok(number < self.count)
    }

    /// The number of rows of the whole partition.
    pub(super) fn complete(&mut self) -> Result<usize> {
        self.has(usize::MAX)?;
        Ok(self.count)
    }

    /// A row that has been read and not been dropped.
    pub(super) fn row(&mut self, number: usize) -> Result<&Row> {
        let row = match &mut self.beyond {
            Some(beyond) => beyond.read(number)?,
            None => number.checked_sub(self.first).and_then(|at| self.rows.get(at)),
        };
        row.ok_or_else(no_row)
    }

    /// Whether these two rows are peers: equal in the keys of the order.
    pub(super) fn are_peers(&mut self, left: usize, right: usize) -> Result<bool> {
        if self.beyond.is_some() {
            let left = self.row(left)?;
            let kept = left.clone();
            let keys = std::mem::take(&mut self.order);
            let is_equal = self.row(right).map(|right| compare_rows(&kept, right, &keys).is_eq());
            self.order = keys;
            return is_equal;
        }
        let at = |number: usize| number.checked_sub(self.first).and_then(|at| self.rows.get(at));
        match (at(left), at(right)) {
            (Some(left), Some(right)) => Ok(compare_rows(left, right, &self.order).is_eq()),
            _ => Err(no_row()),
        }
    }

    /// Takes a row out. Rows before `needed` are not looked at any more.
    pub(super) fn take(&mut self, number: usize, needed: usize) -> Result<Row> {
        if self.beyond.is_some() {
            return self.row(number).cloned();
        }
        let mut taken = None;
        while self.first < needed.min(self.count)
            && let Some(row) = self.rows.pop_front()
        {
            self.held = self.held.saturating_sub(self.bytes_of(&row));
            if self.first == number {
                taken = Some(row);
            }
            self.first += 1;
        }
        match taken {
            Some(row) => Ok(row),
            None => self.row(number).cloned(),
        }
    }

    /// The row after the last of the peers of this one and those after it.
    fn end_of_peers(&mut self, number: usize) -> Result<usize> {
        if self.order.is_empty() {
            return self.complete();
        }
        let mut end = number + 1;
        while self.has(end)? && self.are_peers(end - 1, end)? {
            end += 1;
        }
        Ok(end)
    }
}

/// The peers of the current row, which lie side by side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peers {
    pub(super) start: usize,
    /// The row after them, if it has been looked for.
    end: Option<usize>,
    /// How many other peers come before them.
    pub(super) number: usize,
}

impl Peers {
    /// The row after the peers of the current row.
    pub(super) fn end(&mut self, current: usize, rows: &mut WindowRows) -> Result<usize> {
        match self.end {
            Some(end) => Ok(end),
            None => Ok(*self.end.insert(rows.end_of_peers(current)?)),
        }
    }

    /// Goes on to the row after this one.
    pub(super) fn advance(&mut self, current: usize, rows: &mut WindowRows) -> Result<()> {
        let next = current + 1;
        let goes_on = match self.end {
            Some(end) => next < end,
            None if rows.order.is_empty() => true,
            None => rows.has(next)? && rows.are_peers(current, next)?,
        };
        if !goes_on {
            *self = Peers { start: next, end: None, number: self.number + 1 };
        }
        Ok(())
    }
}

/// A position that goes from peers to peers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupCursor {
    /// The first row of these peers, or the number of rows after the last ones.
    pub(super) row: usize,
    number: usize,
}

impl GroupCursor {
    /// Goes to the peers with this number, if they are not behind. Stops after the last ones.
    pub(super) fn go_to(&mut self, number: usize, rows: &mut WindowRows) -> Result<()> {
        while self.number < number && rows.has(self.row)? {
            self.row = rows.end_of_peers(self.row)?;
            self.number += 1;
        }
        Ok(())
    }
}
