//! Spools: rows kept for later, in the order in which they came.
//!
//! ```text
//!   rows in memory | blocks on disk | tail in memory
//! ```
//! A spool holds `work_mem` in memory. Rows beyond that are [`NumberedRows`]. Rows are read one after the
//! other, and may be read from several places in turn while more are written.

use std::collections::HashSet;

use hyades_types::environment::WorkMemory;
use hyades_types::error::Result;
use hyades_types::value::Value;

use super::ir::{LaterRows, Procedure, StageRows};
use crate::local_arc::LocalArc;
use crate::spill::numbered_rows::NumberedRows;
use crate::spill::{Row, held_bytes};

/// Blocks of a spool that stay decoded.
const DECODED_BLOCKS: usize = 2;

/// Rows kept for later. See the module documentation.
#[derive(Default)]
pub(crate) struct Spool {
    rows: Vec<Row>,
    /// Estimated bytes of these rows.
    held: usize,
    beyond: Option<Box<NumberedRows>>,
    /// Rows that follow all others and are not made yet.
    later: Option<LaterRows>,
    /// The number of the row that [`Spool::take_next`] takes.
    next: usize,
    /// The row that it took last, if that is not one of `rows`.
    taken: Row,
    /// Keys of the rows that the statement has written.
    pub(crate) written: HashSet<Vec<u8>>,
    /// The procedure that has emitted its rows, where that is not known beforehand.
    pub(crate) source: Option<LocalArc<Procedure>>,
}

impl Spool {
    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.held = 0;
        self.beyond = None;
        self.later = None;
        self.next = 0;
        self.written.clear();
        self.source = None;
    }

    /// Drops everything that may be large.
    pub(crate) fn put_away(&mut self, most_rows: usize) {
        self.clear();
        self.rows.shrink_to(most_rows);
        self.taken = Row::new();
        self.written.shrink_to(most_rows);
    }

    pub(crate) fn push(&mut self, row: Row, work: &WorkMemory) -> Result<()> {
        if let Some(beyond) = &mut self.beyond {
            return beyond.push(row, work);
        }
        self.held = self.held.saturating_add(held_bytes(&row));
        self.rows.push(row);
        if self.held > work.bytes {
            let beyond = NumberedRows::beginning_at(self.rows.len(), DECODED_BLOCKS, work)?;
            self.beyond = Some(Box::new(beyond));
        }
        Ok(())
    }

    /// Appends rows that are in memory already.
    pub(crate) fn extend(&mut self, rows: Vec<Row>, work: &WorkMemory) -> Result<()> {
        if self.len() == 0 {
            self.rows = rows;
            return Ok(());
        }
        rows.into_iter().try_for_each(|row| self.push(row, work))
    }

    /// Appends the results of a stage, as its last rows.
    pub(crate) fn take_from(&mut self, rows: StageRows, work: &WorkMemory) -> Result<()> {
        match rows {
            StageRows::InMemory(rows) => self.extend(rows, work),
            StageRows::Later(rows) => {
                self.later = Some(rows);
                Ok(())
            }
        }
    }

    /// The number of rows, without those that are not made yet.
    pub(crate) fn len(&self) -> usize {
        self.beyond.as_ref().map_or(self.rows.len(), |beyond| beyond.end())
    }

    /// The next row. The values may be taken.
    #[inline]
    pub(crate) fn take_next(&mut self) -> Result<Option<&mut Row>> {
        let number = self.next;
        if number < self.rows.len() {
            self.next += 1;
            return Ok(self.rows.get_mut(number));
        }
        self.take_from_beyond(number)
    }

    fn take_from_beyond(&mut self, number: usize) -> Result<Option<&mut Row>> {
        let kept = match &mut self.beyond {
            Some(beyond) => beyond.read(number)?.cloned(),
            None => None,
        };
        let row = match kept {
            Some(row) => {
                self.next += 1;
                Some(row)
            }
            None => self.later.as_mut().and_then(Iterator::next).transpose()?,
        };
        Ok(row.map(|row| {
            self.taken = row;
            &mut self.taken
        }))
    }

    /// The row with this number, counted from 0.
    pub(crate) fn read(&mut self, number: usize, work: &WorkMemory) -> Result<Option<&[Value]>> {
        while self.len() <= number
            && let Some(row) = self.later.as_mut().and_then(Iterator::next)
        {
            self.push(row?, work)?;
        }
        if number < self.rows.len() {
            return Ok(self.rows.get(number).map(Vec::as_slice));
        }
        match &mut self.beyond {
            Some(beyond) => Ok(beyond.read(number)?.map(Vec::as_slice)),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: usize) -> Row {
        vec![Value::BigInt(number as i64), Value::text("x".repeat(number % 50))]
    }

    fn work(rows: usize) -> WorkMemory {
        WorkMemory { bytes: rows * held_bytes(&row(25)), ..WorkMemory::default() }
    }

    #[test]
    fn rows_come_back_by_number_and_one_by_one() {
        for rows_in_memory in [10_000, 999, 100, 1] {
            let work = work(rows_in_memory);
            let mut spool = Spool::default();
            // Two readers, one far behind the other, while rows are written.
            for number in 0..2000 {
                assert!(spool.read(number, &work).unwrap().is_none());
                spool.push(row(number), &work).unwrap();
                assert_eq!(spool.read(number, &work).unwrap().unwrap(), row(number));
                assert_eq!(spool.read(number / 3, &work).unwrap().unwrap(), row(number / 3));
                assert_eq!(spool.len(), number + 1);
            }
            assert_eq!(spool.beyond.is_some(), rows_in_memory < 2000);
            for number in 0..2000 {
                assert_eq!(*spool.take_next().unwrap().unwrap(), row(number), "{rows_in_memory}");
            }
            assert!(spool.take_next().unwrap().is_none());
            spool.clear();
            assert!(spool.take_next().unwrap().is_none() && spool.len() == 0);
        }
    }

    #[test]
    fn rows_that_are_still_to_be_made_come_last() {
        for rows_in_memory in [10_000, 100, 1] {
            let work = work(rows_in_memory);
            let later = || StageRows::Later(Box::new((5..700).map(|number| Ok(row(number)))));
            let mut spool = Spool::default();
            spool.extend((0..5).map(row).collect(), &work).unwrap();
            spool.take_from(later(), &work).unwrap();
            for number in [0, 400, 6, 699] {
                assert_eq!(spool.read(number, &work).unwrap().unwrap(), row(number));
            }
            assert!(spool.read(700, &work).unwrap().is_none());
            spool.clear();
            spool.extend((0..5).map(row).collect(), &work).unwrap();
            spool.take_from(later(), &work).unwrap();
            for number in 0..700 {
                assert_eq!(*spool.take_next().unwrap().unwrap(), row(number));
            }
            assert!(spool.take_next().unwrap().is_none());
        }
    }
}
