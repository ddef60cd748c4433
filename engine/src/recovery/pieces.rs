//! The operations of a large transaction, read piece by piece as its log records arrive (pitfall 11).
//!
//! What they concern is noted. Of their bytes, only the beginning of an operation that a piece cuts off is
//! kept, because a running server reads its own logs, too (`digester`), and a transaction may be as large as
//! memory allows. If a row is cut off, not even its bytes are kept, only the number of the missing ones.
//!
//! Whether the operations make sense is checked when the last piece is there, as if they had come in one log
//! record. Before that, what cannot be decoded may just be cut off. A transaction without a last piece does
//! not matter.

use std::collections::BTreeMap;

use hyades_types::definition::{SequenceId, SequenceState, TableId};

use super::extents::KeyBounds;
use super::last_positions::Called;
use super::records::Gather;
use crate::log::record::{Command, Malformed, Operation, Operations};
use crate::lsn::Lsn;

/// What the operations of a transaction concern.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Concerned {
    /// With the keys of the rows that it changes.
    pub(super) tables: BTreeMap<TableId, KeyBounds>,
    pub(super) calls: Vec<Called>,
    pub(super) states: Vec<(SequenceId, SequenceState)>,
    pub(super) changes_catalog: bool,
}

/// The pieces so far.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Where the first one begins.
    start: Lsn,
    concerned: Concerned,
    /// The beginning of an operation that continues in the next piece.
    rest: Vec<u8>,
    /// Bytes of a row that come before the next operation.
    missing: u64,
    is_begun: bool,
    /// Set if the transaction is one call: all that is needed of it is known, or it makes no sense.
    call: Option<Result<(), Malformed>>,
}

impl Concerned {
    /// The keys of a table, with this one.
    fn keys(&mut self, table: TableId, key: &[u8]) -> &mut KeyBounds {
        let keys = self.tables.entry(table).or_insert_with(|| KeyBounds::of(key));
        keys.add(key);
        keys
    }
}

impl Pieces {
    /// Where the first one begins.
    pub(super) fn start(&self) -> Lsn {
        self.start
    }

    /// Bytes of operations that are kept.
    pub(super) fn kept_bytes(&self) -> usize {
        self.rest.capacity()
    }

    /// Reads whole operations. Returns where the bytes begin that must be kept because the rest of their
    /// operation is still to come.
    fn read(&mut self, bytes: &[u8]) -> usize {
        let mut operations = Operations::new(bytes);
        loop {
            let start = operations.offset();
            match operations.next() {
                None => return bytes.len(),
                Some(Err(_)) => return self.cut_off(bytes, start),
                Some(Ok(
                    Operation::Put { table, key, .. }
                    | Operation::Patch { table, key, .. }
                    | Operation::Delete { table, key },
                )) => {
                    let keys = self.concerned.keys(table, key);
                    if operations.see_rows_of(table, |key| keys.add(key)).is_err() {
                        return self.cut_off(bytes, operations.offset());
                    }
                }
                Some(Ok(Operation::Catalog(_))) => self.concerned.changes_catalog = true,
                Some(Ok(Operation::Sequence { sequence, state })) => {
                    self.concerned.states.push((sequence, state));
                }
                Some(Ok(Operation::Command(command))) => {
                    self.concerned.calls.push((command.routine, command.version_hash));
                }
            }
        }
    }

    /// The operation that begins at `start` is not whole. Returns where the bytes begin that must be kept.
    fn cut_off(&mut self, bytes: &[u8], start: usize) -> usize {
        match Operations::row_cut_off(&bytes[start..]) {
            Some((table, key, missing)) => {
                self.concerned.keys(table, key);
                self.missing = missing;
                bytes.len()
            }
            None => start,
        }
    }
}

impl Gather for Pieces {
    /// Or why the operations make no sense.
    type Whole = Result<Concerned, Malformed>;

    fn begin(start: Lsn) -> Pieces {
        Pieces {
            start,
            concerned: Concerned::default(),
            rest: Vec::new(),
            missing: 0,
            is_begun: false,
            call: None,
        }
    }

    fn take(&mut self, piece: &[u8]) {
        if !self.is_begun && !piece.is_empty() {
            self.is_begun = true;
            self.call =
                Command::called_by(piece).map(|called| called.map(|it| self.concerned.calls.push(it)));
        }
        let passed = self.missing.min(piece.len() as u64);
        self.missing -= passed;
        let piece = &piece[passed as usize..];
        if self.call.is_some() || piece.is_empty() {
            return;
        }
        if self.rest.is_empty() {
            let unread = self.read(piece);
            self.rest.extend_from_slice(&piece[unread..]);
            return;
        }
        self.rest.extend_from_slice(piece);
        let joined = std::mem::take(&mut self.rest);
        self.rest = match self.read(&joined) {
            0 => joined,
            unread => joined[unread..].to_vec(),
        };
    }

    fn finish(mut self, last: &[u8]) -> Result<Concerned, Malformed> {
        self.take(last);
        if let Some(call) = self.call {
            return call.map(|()| self.concerned);
        }
        // Decoding what is left shows what is wrong with it.
        if let Some(Err(malformed)) = Operations::new(&self.rest).next() {
            return Err(malformed);
        }
        if self.missing > 0 || !self.rest.is_empty() {
            return Err(Malformed { offset: 0, reason: "the last row is longer than its transaction" });
        }
        Ok(self.concerned)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use hyades_types::definition::{CatalogChange, RoutineId, SequenceId, SequenceState, TableId};

    use crate::log::record::OperationsWriter;
    use crate::lsn::Lsn;
    use crate::recovery::extents::KeyBounds;
    use crate::recovery::pieces::{Concerned, Pieces};
    use crate::recovery::records::Gather;

    fn operations() -> (Vec<u8>, Concerned) {
        let mut writer = OperationsWriter::new();
        let state = |value| SequenceState { epoch: 3, value, is_called: true };
        writer.put(TableId(300), b"key", &[7; 700]);
        writer.put(TableId(300), &[8; 200], b"");
        writer.delete(TableId(300), b"another");
        writer.change_catalog(&CatalogChange::Truncate { id: TableId(1) }).expect("it can be written");
        writer.sequence(SequenceId(40), state(-7));
        writer.delete(TableId(1 << 30), &[9; 150]);
        writer.put(TableId(2), b"k", &[1; 300]);
        writer.sequence(SequenceId(41), state(1 << 60));
        let mut bounds = KeyBounds::of(b"key");
        [&[8; 200][..], b"another"].iter().for_each(|key| bounds.add(key));
        let concerned = Concerned {
            tables: [
                (TableId(2), KeyBounds::of(b"k")),
                (TableId(300), bounds),
                (TableId(1 << 30), KeyBounds::of(&[9; 150])),
            ]
            .into(),
            calls: Vec::new(),
            states: vec![(SequenceId(40), state(-7)), (SequenceId(41), state(1 << 60))],
            changes_catalog: true,
        };
        (writer.as_bytes().to_vec(), concerned)
    }

    fn take_in_pieces(operations: &[u8], piece_bytes: usize) -> (Pieces, usize) {
        let mut pieces = Pieces::begin(Lsn(8));
        let whole = (operations.len() - 1) / piece_bytes * piece_bytes;
        for piece in operations[..whole].chunks(piece_bytes) {
            pieces.take(piece);
        }
        (pieces, whole)
    }

    #[test]
    fn pieces_of_any_length_concern_what_the_whole_does() {
        let (operations, expected) = operations();
        for piece_bytes in 1..=operations.len() {
            let (pieces, whole) = take_in_pieces(&operations, piece_bytes);
            assert_eq!(pieces.finish(&operations[whole..]).as_ref(), Ok(&expected), "{piece_bytes}");
        }
    }

    #[test]
    fn the_last_piece_may_be_empty() {
        let (operations, expected) = operations();
        let mut pieces = Pieces::begin(Lsn(8));
        pieces.take(&operations);
        assert_eq!(pieces.finish(&[]), Ok(expected));
    }

    #[test]
    fn rows_are_not_kept() {
        let mut writer = OperationsWriter::new();
        writer.put(TableId(5), b"key", &vec![1; 1 << 20]);
        writer.put(TableId(5), b"next", &vec![1; 1 << 20]);
        let mut pieces = Pieces::begin(Lsn(8));
        for piece in writer.as_bytes().chunks(1000) {
            pieces.take(piece);
            assert!(pieces.kept_bytes() <= 2000, "{}", pieces.kept_bytes());
        }
        assert_eq!(
            pieces.finish(&[]).map(|concerned| concerned.tables.into_keys().collect()),
            Ok(vec![TableId(5)])
        );
    }

    #[test]
    fn what_is_cut_off_makes_no_sense_at_the_end() {
        let (operations, _) = operations();
        let mut ends = 0;
        for end in 1..operations.len() {
            let mut pieces = Pieces::begin(Lsn(8));
            pieces.take(&operations[..end / 2]);
            ends += u32::from(pieces.finish(&operations[end / 2..end]).is_ok());
        }
        assert_eq!(ends, 7, "it ends only where an operation does");
        let mut pieces = Pieces::begin(Lsn(8));
        pieces.take(&[1, 1, 7]);
        // No key is this long.
        assert!(pieces.finish(&[255; 40]).is_err());
    }

    #[test]
    fn of_a_call_only_the_beginning_is_needed() {
        let mut bytes = vec![4, 0, 9];
        bytes.extend_from_slice(&77_u32.to_le_bytes());
        let mut pieces = Pieces::begin(Lsn(8));
        pieces.take(&bytes);
        pieces.take(&[255; 100]);
        let concerned = Concerned { calls: vec![(RoutineId(9), 77)], ..Concerned::default() };
        assert_eq!((pieces.kept_bytes(), pieces.finish(&[1; 100])), (0, Ok(concerned)));
        let mut senseless = Pieces::begin(Lsn(8));
        senseless.take(&[4, 255, 9]);
        assert!(senseless.finish(&[]).is_err());
    }
}
