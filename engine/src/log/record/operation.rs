//! What a transaction did: what rows have become, in the order of its commit, or the one call that it
//! consisted of.
//!
//! ```text
//!   put      | table * 4 + 1 | key bytes | key | row bytes | row |
//!   patch    | table * 4     | key bytes | key | pieces' bytes | offset | bytes | new bytes | offset ...
//!   delete   | table * 4 + 2 | key bytes | key |
//!   catalog  | 3             | JSON bytes | CatalogChange as JSON |
//!   command  | 4             | see `command`; nothing else counts in its record |
//!   sequence | sequence * 4 + 3, from 7 on | epoch * 2 + whether the value was drawn | value |
//! ```
//!
//! All numbers are varints, the value of a sequence in zigzag. It says how far the sequence has come at
//! least. So it need not be ordered with anything, and of several the latest counts
//! (`hyades_types::sequence`). Keys and rows are the bytes that storage keeps. A schema change is JSON, so
//! that a log is self-describing.
//!
//! A patch puts bytes in the place of as many others of the row that is there, at these offsets. It depends
//! on that row: on the record that wrote the row, or on the checkpoint that holds it. The number of a table
//! is never 1, so no patch reads as a call.

use hyades_types::definition::{CatalogChange, SequenceId, SequenceState, TableId};

use super::Malformed;
use super::command::{COMMAND_HEAD, Command, WriteSetHash, announce_images, finish_command};
use super::varint::{read_varint, unzigzag, varint_bytes, word_of_varint, write_varint, zigzag};

const TAG_BITS: u32 = 2;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
const TAG_PATCH: u64 = 0;
const TAG_PUT: u64 = 1;
const TAG_DELETE: u64 = 2;
const TAG_CATALOG: u64 = 3;
/// For a sequence, whose number is not zero.
const TAG_SEQUENCE: u64 = 3;

/// One change. Keys and rows point into the log record.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation<'a> {
    /// The row with this key is now this one.
    Put {
        table: TableId,
        key: &'a [u8],
        row: &'a [u8],
    },
    /// The row with this key has other bytes in some places ([`Pieces`]).
    Patch {
        table: TableId,
        key: &'a [u8],
        pieces: &'a [u8],
    },
    /// There is no row with this key any more.
    Delete {
        table: TableId,
        key: &'a [u8],
    },
    Catalog(Box<CatalogChange>),
    /// The whole transaction was this call.
    Command(Command<'a>),
    /// The sequence has come this far.
    Sequence {
        sequence: SequenceId,
        state: SequenceState,
    },
}

impl<'a> Operation<'a> {
    /// The table and the key of the row that it changes.
    #[inline]
    pub fn row(&self) -> Option<(TableId, &'a [u8])> {
        match self {
            Operation::Put { table, key, .. }
            | Operation::Patch { table, key, .. }
            | Operation::Delete { table, key } => Some((*table, key)),
            Operation::Catalog(_) | Operation::Command(_) | Operation::Sequence { .. } => None,
        }
    }
}

/// Encodes operations. Keeps its memory from one transaction to the next.
#[derive(Clone, Debug, Default)]
pub struct OperationsWriter {
    bytes: Vec<u8>,
}

impl OperationsWriter {
    pub fn new() -> OperationsWriter {
        OperationsWriter::default()
    }

    /// Forgets the operations, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes so far, as a position for [`OperationsWriter::truncate`].
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets what was written since the writer had this length.
    pub fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    pub fn put(&mut self, table: TableId, key: &[u8], row: &[u8]) {
        let more = key.len() + row.len() + 16;
        if self.bytes.capacity() - self.bytes.len() < more {
            self.grow(more);
        }
        write_varint(&mut self.bytes, u64::from(table.0) << TAG_BITS | TAG_PUT);
        self.write_bytes(key);
        self.write_bytes(row);
    }

    /// The row under this key has got these pieces: the offset of each, and its bytes.
    #[inline]
    pub fn patch<'p>(
        &mut self,
        table: TableId,
        key: &[u8],
        pieces: impl Iterator<Item = (usize, &'p [u8])> + Clone,
    ) {
        debug_assert!(table.0 > 1, "it would be a call");
        let bytes_of = |(offset, piece): (usize, &[u8])| {
            varint_bytes(offset as u64) + varint_bytes(piece.len() as u64) + piece.len()
        };
        let length: usize = pieces.clone().map(bytes_of).sum();
        let more = key.len() + length + 16;
        if self.bytes.capacity() - self.bytes.len() < more {
            self.grow(more);
        }
        write_varint(&mut self.bytes, u64::from(table.0) << TAG_BITS | TAG_PATCH);
        self.write_bytes(key);
        write_varint(&mut self.bytes, length as u64);
        for (offset, piece) in pieces {
            write_varint(&mut self.bytes, offset as u64);
            self.write_bytes(piece);
        }
    }

    /// Doubles the capacity at first, then adds a quarter at a time: the largest transactions are about as
    /// large as memory allows.
    #[cold]
    fn grow(&mut self, more: usize) {
        const LARGE_BYTES: usize = 4 << 20;
        let length = self.bytes.len();
        let by = if length < LARGE_BYTES { length } else { length / 4 };
        self.bytes.reserve_exact(more.max(by));
    }

    #[inline]
    pub fn delete(&mut self, table: TableId, key: &[u8]) {
        write_varint(&mut self.bytes, u64::from(table.0) << TAG_BITS | TAG_DELETE);
        self.write_bytes(key);
    }

    pub fn change_catalog(&mut self, change: &CatalogChange) -> hyades_types::Result<()> {
        let json = serde_json::to_vec(change).map_err(|error| {
            hyades_types::Error::input(
                hyades_types::error::sqlstate::INTERNAL_ERROR,
                format!("schema change: {error}"),
            )
        })?;
        write_varint(&mut self.bytes, TAG_CATALOG);
        self.write_bytes(&json);
        Ok(())
    }

    /// The sequence has come this far.
    pub fn sequence(&mut self, sequence: SequenceId, state: SequenceState) {
        debug_assert!(sequence.0 > 0, "it would be a schema change");
        write_varint(&mut self.bytes, u64::from(sequence.0) << TAG_BITS | TAG_SEQUENCE);
        write_varint(&mut self.bytes, state.epoch << 1 | u64::from(state.is_called));
        write_varint(&mut self.bytes, zigzag(state.value));
    }

    /// A call takes the place of all operations. This is its head (see `command`).
    pub fn begin_command(&mut self, head: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(head);
    }

    /// Completes a call whose head has this length. May be called again.
    pub fn finish_command(&mut self, head_bytes: usize, row_numbers: &[u64], write_set: WriteSetHash) {
        self.bytes.truncate(head_bytes);
        finish_command(&mut self.bytes, row_numbers, write_set);
    }

    /// Rows put and deleted from here on are the images of the completed call.
    pub fn announce_images(&mut self) {
        announce_images(&mut self.bytes);
    }

    #[inline]
    fn write_bytes(&mut self, bytes: &[u8]) {
        write_varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }
}

/// Decodes operations one by one. After an error it yields nothing more.
#[derive(Clone, Debug)]
pub struct Operations<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Operations<'a> {
    pub fn new(bytes: &'a [u8]) -> Operations<'a> {
        Operations { bytes, offset: 0 }
    }

    /// Where the next operation begins.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Skips the changes of rows of this table that come next, without decoding them: a transaction of many
    /// rows mostly has them table by table. After an error, the next operation is the one that is cut off.
    pub fn pass_rows_of(&mut self, table: TableId) -> Result<(), Malformed> {
        self.see_rows_of(table, |_| {})
    }

    /// The same, and passes the keys of these rows to `see`.
    #[inline]
    pub fn see_rows_of(&mut self, table: TableId, mut see: impl FnMut(&'a [u8])) -> Result<(), Malformed> {
        let (put, head_bytes) = word_of_varint(u64::from(table.0) << TAG_BITS | TAG_PUT);
        let delete = put ^ TAG_PUT ^ TAG_DELETE;
        // Table 0 has none, and that of table 1 would be a call.
        let patch = if table.0 > 1 { put ^ TAG_PUT ^ TAG_PATCH } else { put };
        let mask = u64::MAX >> (u64::BITS as usize - 8 * head_bytes);
        loop {
            let head = self.next_word() & mask;
            if head != put && head != patch && head != delete {
                return Ok(());
            }
            let start = self.offset;
            self.offset += head_bytes;
            let passed = self.pass_bytes().and_then(|key| match head == delete {
                true => Ok(key),
                false => self.pass_bytes().map(|_| key),
            });
            match passed {
                Ok(key) => see(key),
                Err(malformed) => {
                    self.offset = start;
                    return Err(malformed);
                }
            }
        }
    }

    /// The next bytes, with zeroes after the last one. No head ends with a zero byte.
    #[inline]
    fn next_word(&self) -> u64 {
        let rest = &self.bytes[self.offset..];
        let word = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut word = [0; size_of::<u64>()];
            word[..rest.len()].copy_from_slice(rest);
            word
        });
        u64::from_le_bytes(word)
    }

    /// If these bytes are the beginning of a put or patch whose row or pieces are cut off: its table,
    /// its key, and how many bytes of them are missing.
    pub fn row_cut_off(bytes: &[u8]) -> Option<(TableId, &[u8], u64)> {
        let mut put = Operations::new(bytes);
        let has_row = |head: &u64| matches!(head & TAG_MASK, TAG_PUT | TAG_PATCH) && *head != COMMAND_HEAD;
        let head = read_varint(bytes, &mut put.offset).ok().filter(has_row)?;
        let table = u32::try_from(head >> TAG_BITS).map(TableId).ok()?;
        let key = put.read_bytes().ok()?;
        let length = read_varint(bytes, &mut put.offset).ok()?;
        let missing = length.checked_sub((bytes.len() - put.offset) as u64)?;
        (missing > 0).then_some((table, key, missing))
    }

    #[inline]
    fn pass_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        match self.bytes.get(self.offset..) {
            // A short length, and all of it is there.
            Some([length, rest @ ..]) if *length < 0x80 && rest.len() >= usize::from(*length) => {
                self.offset += 1 + usize::from(*length);
                Ok(&rest[..usize::from(*length)])
            }
            _ => self.read_bytes(),
        }
    }

    fn read_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let start = self.offset;
        let length = read_varint(self.bytes, &mut self.offset)?;
        let rest = &self.bytes[self.offset..];
        match usize::try_from(length).ok().and_then(|length| rest.get(..length)) {
            Some(bytes) => {
                self.offset += bytes.len();
                Ok(bytes)
            }
            None => Err(Malformed { offset: start, reason: "a key or row is longer than its record" }),
        }
    }

    fn read_operation(&mut self) -> Result<Operation<'a>, Malformed> {
        let start = self.offset;
        let head = read_varint(self.bytes, &mut self.offset)?;
        let Ok(table) = u32::try_from(head >> TAG_BITS).map(TableId) else {
            return Err(Malformed {
                offset: start,
                reason: "a number of a table or sequence is out of range",
            });
        };
        match head & TAG_MASK {
            TAG_PUT => Ok(Operation::Put { table, key: self.read_bytes()?, row: self.read_bytes()? }),
            TAG_DELETE => Ok(Operation::Delete { table, key: self.read_bytes()? }),
            TAG_CATALOG if head == TAG_CATALOG => match serde_json::from_slice(self.read_bytes()?) {
                Ok(change) => Ok(Operation::Catalog(Box::new(change))),
                Err(_) => Err(Malformed { offset: start, reason: "a schema change is not understood" }),
            },
            TAG_SEQUENCE => {
                let epoch = read_varint(self.bytes, &mut self.offset)?;
                let value = unzigzag(read_varint(self.bytes, &mut self.offset)?);
                let state = SequenceState { epoch: epoch >> 1, value, is_called: epoch & 1 == 1 };
                Ok(Operation::Sequence { sequence: SequenceId(table.0), state })
            }
            TAG_PATCH if head != COMMAND_HEAD && table.0 > 0 => {
                Ok(Operation::Patch { table, key: self.read_bytes()?, pieces: self.read_bytes()? })
            }
            _ if head == COMMAND_HEAD => Command::read(self.bytes, &mut self.offset).map(Operation::Command),
            _ => Err(Malformed { offset: start, reason: "an operation is of unknown kind" }),
        }
    }
}

/// The pieces of a patch: the offset of each in the row, and its bytes. After an error it yields nothing
/// more.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    rest: Operations<'a>,
}

impl<'a> Pieces<'a> {
    /// Those of [`Operation::Patch`].
    pub fn new(pieces: &'a [u8]) -> Pieces<'a> {
        Pieces { rest: Operations::new(pieces) }
    }

    fn read_piece(&mut self) -> Result<(usize, &'a [u8]), Malformed> {
        let start = self.rest.offset;
        let offset = read_varint(self.rest.bytes, &mut self.rest.offset)?;
        let offset = usize::try_from(offset)
            .map_err(|_| Malformed { offset: start, reason: "the place of a patch is out of range" })?;
        Ok((offset, self.rest.read_bytes()?))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<(usize, &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.offset >= self.rest.bytes.len() {
            return None;
        }
        let piece = self.read_piece();
        if piece.is_err() {
            self.rest.offset = self.rest.bytes.len();
        }
        Some(piece)
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Result<Operation<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let operation = self.read_operation();
        if operation.is_err() {
            self.offset = self.bytes.len();
        }
        Some(operation)
    }
}
