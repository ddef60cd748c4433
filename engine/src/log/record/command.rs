//! A command-logged transaction: which routine was called with which arguments, and a hash of what it wrote.
//!
//! ```text
//!   | 4 | captured | routine | version hash | times, seed, identity | count, bytes, arguments | count, row numbers | write-set hash |
//!   |   | u8       | varint  | u32          | as `captured` says    | varint, varint          | varint, deltas     | u64            |
//! ```
//!
//! * `captured`: 1 the clock (transaction time, and how much later the statement began; zigzag varints), 2 a
//!   random seed (u64), 4 user, database and time zone (length and UTF-8 each). Only what the procedure uses
//!   is there (pitfall 26). 16: the write-set hash is by table.
//! * `version hash`: of the routine's definition and of how this program runs it.
//! * `arguments`: values with their types (`argument`).
//! * `row numbers`: the keys that were drawn for rows of tables without a primary key, in order, each as the
//!   zigzag difference from the one before.
//! * `write-set hash`: the [`WriteSetHash`] over all writes: the row, or the pieces of it that an update of
//!   the same length exchanged. Replay must compute the same. By table, so that what is written to different
//!   tables can be replayed side by side. Before record format version 8 it is one chain over all tables.
//!
//! It takes the place of all operations of its transaction. Only where a test wants to compare both ways of
//! replay (`Config::command_images`; `captured` has 8 then) do the operations follow it.

use hyades_types::definition::{RoutineId, TableId};
use hyades_types::value::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Malformed;
use super::argument::{read_argument, write_argument};
use super::varint::{read_varint, unzigzag, word_of_varint, write_start, write_varint, zigzag};

/// Stands where an operation has its table and kind.
pub(super) const COMMAND_HEAD: u64 = 4;

const CAPTURED_CLOCK: u8 = 1;
const CAPTURED_RANDOM: u8 = 2;
const CAPTURED_IDENTITY: u8 = 4;
const HAS_IMAGES: u8 = 8;
const HASHED_BY_TABLE: u8 = 16;

/// What the call saw of its surroundings, limited to what its procedure uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured<'a> {
    pub clock: Option<CapturedClock>,
    /// The seed of the random generator.
    pub random_seed: Option<u64>,
    pub identity: Option<CapturedIdentity<'a>>,
}

/// Microseconds since 2000-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedClock {
    pub transaction_time: i64,
    pub statement_time: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedIdentity<'a> {
    pub user: &'a str,
    pub database: &'a str,
    /// The IANA name.
    pub time_zone: &'a str,
}

/// A hash of the rows that a transaction has written to one table: key, and row or its absence, in the order
/// of the writes. Two patches of one row in the other order lead to another hash.
///
/// XXH3 with the hash so far as the seed, so that the log means the same on every machine and in every
/// version of this program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteChain(u64);

impl WriteChain {
    #[inline]
    pub fn add(&mut self, table: TableId, key: &[u8], row: Option<&[u8]>) {
        let kind = u64::from(table.0) << 1 | u64::from(row.is_some());
        let with_key = xxh3_64_with_seed(key, self.0 ^ kind);
        self.0 = xxh3_64_with_seed(row.unwrap_or_default(), with_key);
    }
}

/// A hash of all rows that a transaction has written: the sum of the chains of its tables. Each chain has its
/// table in it, so no two of them are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteSetHash(pub u64);

impl WriteSetHash {
    /// The chain of a table has become another one.
    #[inline]
    pub fn exchange(&mut self, before: WriteChain, after: WriteChain) {
        self.0 = self.0.wrapping_sub(before.0).wrapping_add(after.0);
    }
}

/// What a write-set hash is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashForm {
    /// A chain for each table.
    ByTable,
    /// One chain over all tables, in older logs.
    OneChain,
}

/// A decoded command record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command<'a> {
    pub routine: RoutineId,
    pub version_hash: u32,
    pub captured: Captured<'a>,
    argument_count: usize,
    arguments: &'a [u8],
    row_number_count: usize,
    row_numbers: &'a [u8],
    pub write_set_hash: WriteSetHash,
    pub hash_form: HashForm,
    /// Whether after-images follow the call.
    pub has_images: bool,
}

/// Writes what precedes the arguments. [`write_arguments`] and [`finish_command`] add the rest.
pub fn write_command_head(
    into: &mut Vec<u8>,
    routine: RoutineId,
    version_hash: u32,
    captured: &Captured<'_>,
) {
    let flags = captured.clock.map_or(0, |_| CAPTURED_CLOCK)
        | captured.random_seed.map_or(0, |_| CAPTURED_RANDOM)
        | captured.identity.map_or(0, |_| CAPTURED_IDENTITY)
        | HASHED_BY_TABLE;
    let (number, number_bytes) = word_of_varint(u64::from(routine.0));
    let before_hash = 2 + number_bytes;
    let called = u128::from(COMMAND_HEAD) | u128::from(flags) << 8 | u128::from(number) << 16;
    let hash = u128::from(version_hash) << (u8::BITS as usize * before_hash);
    write_start(into, called | hash, before_hash + size_of::<u32>());
    if let Some(clock) = captured.clock {
        write_varint(into, zigzag(clock.transaction_time));
        write_varint(into, zigzag(clock.statement_time.wrapping_sub(clock.transaction_time)));
    }
    if let Some(seed) = captured.random_seed {
        into.extend_from_slice(&seed.to_le_bytes());
    }
    if let Some(identity) = captured.identity {
        for text in [identity.user, identity.database, identity.time_zone] {
            write_varint(into, text.len() as u64);
            into.extend_from_slice(text.as_bytes());
        }
    }
}

/// The arguments with their count and length.
pub fn write_arguments(into: &mut Vec<u8>, arguments: &[Value]) {
    write_varint(into, arguments.len() as u64);
    // Most lists are shorter than 128 bytes. The length is put in afterwards, and the arguments are moved if
    // it takes more than one byte.
    let start = into.len();
    into.push(0);
    for argument in arguments {
        write_argument(into, argument);
    }
    let length = into.len() - start - 1;
    if length < 0x80 {
        into[start] = length as u8;
        return;
    }
    let mut prefix = Vec::with_capacity(4);
    write_varint(&mut prefix, length as u64);
    into.splice(start..=start, prefix);
}

/// Notes in the head of a call that after-images follow it.
pub(super) fn announce_images(command: &mut [u8]) {
    if let Some(flags) = command.get_mut(1) {
        *flags |= HAS_IMAGES;
    }
}

/// Adds what is known when the call has ended.
pub fn finish_command(into: &mut Vec<u8>, row_numbers: &[u64], write_set: WriteSetHash) {
    write_varint(into, row_numbers.len() as u64);
    let mut last = 0_u64;
    for number in row_numbers {
        write_varint(into, zigzag(number.wrapping_sub(last) as i64));
        last = *number;
    }
    into.extend_from_slice(&write_set.0.to_le_bytes());
}

impl<'a> Command<'a> {
    /// The command that takes the place of these operations. `None` if they belong to a data record.
    pub fn of(operations: &'a [u8]) -> Option<Result<Command<'a>, Malformed>> {
        (operations.first() == Some(&(COMMAND_HEAD as u8))).then(|| Command::decode(operations))
    }

    /// As [`Command::of`], but only the routine and its version, which come first. The rest of
    /// the operations may be missing.
    pub fn called_by(operations: &[u8]) -> Option<Result<(RoutineId, u32), Malformed>> {
        let mut offset = 1;
        let is_call = operations.first() == Some(&(COMMAND_HEAD as u8));
        is_call
            .then(|| Command::read_called(operations, &mut offset).map(|(_, routine, hash)| (routine, hash)))
    }

    fn decode(bytes: &'a [u8]) -> Result<Command<'a>, Malformed> {
        let mut offset = 1;
        let command = Command::read(bytes, &mut offset)?;
        if offset != bytes.len() && !command.has_images {
            return Err(Malformed { offset, reason: "something follows a call in its log record" });
        }
        Ok(command)
    }

    /// Reads what follows the head's number.
    pub(super) fn read(bytes: &'a [u8], offset: &mut usize) -> Result<Command<'a>, Malformed> {
        let (flags, routine, version_hash) = Command::read_called(bytes, offset)?;
        let mut captured = Captured::default();
        if flags & CAPTURED_CLOCK != 0 {
            let transaction_time = unzigzag(read_varint(bytes, offset)?);
            let later = unzigzag(read_varint(bytes, offset)?);
            let statement_time = transaction_time.wrapping_add(later);
            captured.clock = Some(CapturedClock { transaction_time, statement_time });
        }
        if flags & CAPTURED_RANDOM != 0 {
            captured.random_seed = Some(u64::from_le_bytes(fixed(take(bytes, offset, 8)?)));
        }
        if flags & CAPTURED_IDENTITY != 0 {
            let user = read_text(bytes, offset)?;
            let database = read_text(bytes, offset)?;
            captured.identity =
                Some(CapturedIdentity { user, database, time_zone: read_text(bytes, offset)? });
        }
        let argument_count = read_length(bytes, offset)?;
        let length = read_length(bytes, offset)?;
        let arguments = take(bytes, offset, length)?;
        if argument_count > length {
            return Err(Malformed { offset: *offset, reason: "a call has fewer arguments than it says" });
        }
        let row_number_count = read_length(bytes, offset)?;
        let first = *offset;
        for _ in 0..row_number_count {
            read_varint(bytes, offset)?;
        }
        let row_numbers = &bytes[first..*offset];
        let write_set_hash = WriteSetHash(u64::from_le_bytes(fixed(take(bytes, offset, 8)?)));
        let is_by_table = flags & HASHED_BY_TABLE != 0;
        Ok(Command {
            routine,
            version_hash,
            captured,
            argument_count,
            arguments,
            row_number_count,
            row_numbers,
            write_set_hash,
            hash_form: if is_by_table { HashForm::ByTable } else { HashForm::OneChain },
            has_images: flags & HAS_IMAGES != 0,
        })
    }

    /// What the call has captured, its routine, and that routine's version.
    fn read_called(bytes: &[u8], offset: &mut usize) -> Result<(u8, RoutineId, u32), Malformed> {
        let flags = take(bytes, offset, 1)?[0];
        let known = CAPTURED_CLOCK | CAPTURED_RANDOM | CAPTURED_IDENTITY | HAS_IMAGES | HASHED_BY_TABLE;
        if flags & !known != 0 {
            return Err(Malformed { offset: *offset, reason: "a call has captured something unknown" });
        }
        let start = *offset;
        let Ok(routine) = u32::try_from(read_varint(bytes, offset)?).map(RoutineId) else {
            return Err(Malformed { offset: start, reason: "a routine number is out of range" });
        };
        Ok((flags, routine, u32::from_le_bytes(fixed(take(bytes, offset, 4)?))))
    }

    pub fn argument_count(&self) -> usize {
        self.argument_count
    }

    /// Sets the first values of `registers`, which must be long enough, to the arguments.
    pub fn arguments_to(&self, registers: &mut [Value]) -> Result<(), Malformed> {
        let mut offset = 0;
        for register in registers.iter_mut().take(self.argument_count) {
            *register = read_argument(self.arguments, &mut offset)?;
        }
        if offset != self.arguments.len() {
            return Err(Malformed { offset, reason: "a call has more arguments than it says" });
        }
        Ok(())
    }

    /// The arguments, for display.
    pub fn arguments(&self) -> Result<Vec<Value>, Malformed> {
        let mut arguments = vec![Value::Null; self.argument_count];
        self.arguments_to(&mut arguments)?;
        Ok(arguments)
    }

    /// Replaces the content of `into` by the row numbers that were drawn, in order.
    pub fn row_numbers_into(&self, into: &mut Vec<u64>) -> Result<(), Malformed> {
        into.clear();
        let (mut offset, mut last) = (0, 0_u64);
        for _ in 0..self.row_number_count {
            last = last.wrapping_add(unzigzag(read_varint(self.row_numbers, &mut offset)?) as u64);
            into.push(last);
        }
        Ok(())
    }
}

fn take<'a>(bytes: &'a [u8], offset: &mut usize, length: usize) -> Result<&'a [u8], Malformed> {
    let taken = bytes[*offset..].get(..length);
    let taken = taken.ok_or(Malformed { offset: *offset, reason: "a call is longer than its record" })?;
    *offset += length;
    Ok(taken)
}

fn fixed<const LENGTH: usize>(bytes: &[u8]) -> [u8; LENGTH] {
    bytes.try_into().unwrap_or([0; LENGTH])
}

/// A count of bytes or elements that must still be in `bytes`.
fn read_length(bytes: &[u8], offset: &mut usize) -> Result<usize, Malformed> {
    let start = *offset;
    let length = read_varint(bytes, offset)?;
    match usize::try_from(length) {
        Ok(length) if length <= bytes.len() - *offset => Ok(length),
        _ => Err(Malformed { offset: start, reason: "a call is longer than its record" }),
    }
}

fn read_text<'a>(bytes: &'a [u8], offset: &mut usize) -> Result<&'a str, Malformed> {
    let length = read_length(bytes, offset)?;
    let start = *offset;
    std::str::from_utf8(take(bytes, offset, length)?)
        .map_err(|_| Malformed { offset: start, reason: "a name in a call is no UTF-8" })
}

#[cfg(all(test, not(loom)))]
mod tests;
