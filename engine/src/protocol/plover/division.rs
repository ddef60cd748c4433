//! The operations of a transaction, divided by the logs to which they go.

use std::ops::Range;

use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::log::record::{Operation, Operations};

/// So many bytes at the beginning of a key decide, together with its table, in which partition the row is.
const KEY_BYTES: usize = 8;
/// So much memory is kept for the next transaction.
const MOST_KEPT_BYTES: usize = 1 << 20;
/// The log of what is not divided.
const WHOLE: usize = 0;

/// See the module head. It keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Division {
    /// The logs that have operations, in order.
    logs: SmallVec<[usize; 4]>,
    /// The operations of each log, if there are several.
    divided: Vec<Vec<u8>>,
}

impl Division {
    /// Divides the operations of a transaction among so many logs. What is replayed alone stays whole: a
    /// barrier, even if it has taken back what made it one, and what is too long for a round.
    pub(super) fn divide(&mut self, operations: &[u8], logs: usize, is_barrier: bool) {
        self.logs.clear();
        if is_barrier || u32::try_from(operations.len()).is_err() {
            return self.logs.push(WHOLE);
        }
        let mut runs: SmallVec<[(usize, Range<usize>); 8]> = SmallVec::new();
        let mut rest = Operations::new(operations);
        loop {
            let start = rest.offset();
            let log = match rest.next() {
                None => break,
                Some(Ok(
                    Operation::Put { table, key, .. }
                    | Operation::Patch { table, key, .. }
                    | Operation::Delete { table, key },
                )) => partition(table.0, key, logs),
                // It goes with what comes before it.
                Some(Ok(Operation::Sequence { .. })) => runs.last().map_or(WHOLE, |(log, _)| *log),
                // All that the transaction does with it is replayed together with a change of the catalog.
                Some(Ok(Operation::Catalog(_) | Operation::Command(_)) | Err(_)) => {
                    return self.logs.push(WHOLE);
                }
            };
            match runs.last_mut() {
                Some((last, range)) if *last == log => range.end = rest.offset(),
                _ => runs.push((log, start..rest.offset())),
            }
        }
        self.logs.extend(runs.iter().map(|(log, _)| *log));
        self.logs.sort_unstable();
        self.logs.dedup();
        if self.logs.len() > 1 {
            self.divided.resize(logs, Vec::new());
            self.divided.iter_mut().for_each(Vec::clear);
            runs.into_iter().for_each(|(log, range)| self.divided[log].extend_from_slice(&operations[range]));
        }
    }

    /// Keeps only a little memory.
    pub(super) fn forget(&mut self) {
        if self.divided.iter().map(Vec::capacity).sum::<usize>() > MOST_KEPT_BYTES {
            self.divided = Vec::new();
        }
    }

    /// The parts of these operations, which were divided, in the order of their logs.
    pub(super) fn parts<'o>(&'o self, operations: &'o [u8]) -> SmallVec<[(usize, &'o [u8]); 4]> {
        let of_log = |log: usize| match self.logs.len() {
            1 => operations,
            _ => &self.divided[log],
        };
        self.logs.iter().map(|log| (*log, of_log(*log))).collect()
    }
}

/// The log of a row.
fn partition(table: u32, key: &[u8], logs: usize) -> usize {
    let first = &key[..key.len().min(KEY_BYTES)];
    (xxh3_64_with_seed(first, u64::from(table)) % logs as u64) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use hyades_types::definition::{CatalogChange, SequenceId, SequenceState, TableId};

    use super::*;
    use crate::log::record::OperationsWriter;

    const TABLE: TableId = TableId(7);

    fn keys(operations: &[u8]) -> Vec<Vec<u8>> {
        let key = |operation| match operation {
            Ok(Operation::Put { key, .. } | Operation::Delete { key, .. }) => Some(key.to_vec()),
            _ => None,
        };
        Operations::new(operations).filter_map(key).collect()
    }

    #[test]
    fn each_row_goes_to_its_log_in_the_order_of_its_changes() {
        let mut writer = OperationsWriter::new();
        for number in 0..100_u64 {
            let key = (number % 10).to_be_bytes();
            match number % 3 {
                0 => writer.delete(TABLE, &key),
                _ => writer.put(TABLE, &key, &number.to_be_bytes()),
            }
        }
        let state = SequenceState { epoch: 1, value: 1, is_called: true };
        writer.sequence(SequenceId(3), state);
        let mut division = Division::default();
        for logs in [1, 2, 4, 64] {
            division.divide(writer.as_bytes(), logs, false);
            let parts = division.parts(writer.as_bytes());
            assert!(parts.is_sorted_by_key(|(log, _)| *log) && parts.iter().all(|(log, _)| *log < logs));
            let bytes: usize = parts.iter().map(|(_, part)| part.len()).sum();
            assert_eq!((bytes, parts.len() == 1), (writer.len(), logs == 1));
            for key in (0..10_u64).map(u64::to_be_bytes) {
                let of_key = |operations: &[u8]| keys(operations).iter().filter(|one| **one == key).count();
                let counts: Vec<usize> = parts.iter().map(|(_, part)| of_key(part)).collect();
                assert_eq!(counts.iter().filter(|count| **count > 0).count(), 1, "{counts:?}");
            }
            for (_, part) in &parts {
                let all = keys(writer.as_bytes());
                let expected = all.iter().filter(|key| keys(part).contains(key)).cloned();
                assert_eq!(keys(part), expected.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn what_changes_the_catalog_stays_whole() {
        let mut writer = OperationsWriter::new();
        (0..20_u64).for_each(|key| writer.put(TABLE, &key.to_be_bytes(), b"row"));
        writer.change_catalog(&CatalogChange::Truncate { id: TABLE }).expect("it has a form");
        (0..20_u64).for_each(|key| writer.put(TABLE, &key.to_be_bytes(), b"row"));
        let mut division = Division::default();
        division.divide(writer.as_bytes(), 4, false);
        assert_eq!(division.parts(writer.as_bytes()).as_slice(), &[(0, writer.as_bytes())]);
    }

    #[test]
    fn keys_that_begin_alike_are_in_one_partition() {
        let all: Vec<usize> = (0..8).map(|end| partition(1, &[0, 0, 0, 9, 0, 0, 0, 1, end], 16)).collect();
        assert!(all.iter().all(|log| *log == all[0]));
        let of_tables: Vec<usize> = (0..64).map(|table| partition(table, &[1], 16)).collect();
        assert!((0..16).all(|log| of_tables.contains(&log)), "{of_tables:?}");
    }
}
