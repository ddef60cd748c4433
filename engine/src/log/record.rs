//! The bytes of a log record, defined only in this file and its submodules.
//!
//! A log's *record stream* is a sequence of records without gaps. Where it lies in files is up to `store`.
//! Every record begins and ends at a multiple of [`Lsn::ALIGNMENT`]. Numbers in the fixed header are
//! little-endian, all others are LEB128 (`varint`), because most are small.
//!
//! ```text
//!   0          4      5       6         7      8
//!   +----------+------+-------+---------+------+-----------+---------------+--------------+-----------+
//!   | length   | kind | flags | padding | zero | id        | field         | body         | padding   |
//!   | u32      | u8   | u8    | u8      | u8   | fragments | commits only  |              | 0-7 bytes |
//!   +----------+------+-------+---------+------+-----------+---------------+--------------+-----------+
//!                                       | time (dated)    |
//!                                       | u56             |
//! ```
//!
//! * `length`: of the whole record, a multiple of 8, so that the next record is found without decoding this
//!   one.
//! * `kind`: transaction (1), fragment of a large transaction (2), anchor (3), filler (4), milestone (5).
//!   Zero is no kind, so that zeroes never read as a record.
//! * `flags`: 1 commit (the transaction is complete with this record; pitfall 11), 2 barrier (pitfall 29), 8
//!   dated: the record has a time (only commits, anchors and milestones). 4, until format 5: the
//!   transaction's phase was odd.
//! * `padding`: the number of unused bytes at the end, which fill up the alignment.
//! * `time`: the commit time of the transaction (`storage::history`), written into its place just before the
//!   record is published. In an anchor or a milestone: what the clock showed before its place was reserved.
//!   The other fields then begin at byte 14.
//! * `id`: names the large transaction a fragment belongs to, unique in the log and incarnation.
//! * `field`: the protocol's data on the transaction. Only the protocol knows its length, so it is returned
//!   in one piece with the body ([`RecordBody::Transaction`], [`crate::protocol::FieldReader`]).
//! * `body`: encoded operations (`operation`), or a call (`command`). For an anchor the number of logs and
//!   one durable position for each. For a milestone two stamps. For a filler anything.
//!
//! Anchors and milestones are *control records*: they are of no transaction, and hold for all that come after
//! them in their log. A transaction draws its time when its record has its place. So every record that comes
//! after a control record has a later time, whereas records need not be in the order of their times.
//!
//! Files:
//! * `operation`: changes of rows and of the catalog, draws; `command`: a call, with `argument` (one of its
//!   arguments);
//! * `varint`: the small numbers in all of these.
//!
//! Reading trusts nothing: every length is checked before use, memory is at most proportional to the input,
//! and a [`Malformed`] names position and reason.

mod argument;
pub mod command;
pub mod operation;
pub mod varint;

#[cfg(all(test, not(loom)))]
mod tests;

use std::fmt;

pub(crate) use argument::{read_argument, value_meant, write_argument};
pub use command::Command;
pub use operation::{Operation, Operations, OperationsWriter, Pieces};
use varint::{read_varint, write_varint};

use crate::lsn::{Lsn, LsnVector};

/// Version of everything in this file and its submodules. Segment headers carry it. Version 2 added calls
/// (`command`), 3 sequences, 4 phases, 5 patches of rows, 6 times in place of phases, 7 times of anchors, 8
/// hashes by table in calls, and none changed anything else.
pub const RECORD_FORMAT_VERSION: u32 = 8;
/// Logs older than this are not understood.
pub const OLDEST_RECORD_FORMAT_VERSION: u32 = 1;
/// Bytes of the fixed header.
pub const HEADER_BYTES: usize = 8;
/// No record is longer. A length beyond this is damage.
pub const MAX_RECORD_BYTES: usize = 2 << 20;
/// There are at most this many logs.
pub const MAX_LOGS: usize = 64;
/// A record names at most this many others.
pub const MOST_NAMED: usize = 64;

const KIND_TRANSACTION: u8 = 1;
const KIND_FRAGMENT: u8 = 2;
const KIND_ANCHOR: u8 = 3;
const KIND_FILLER: u8 = 4;
/// Only in logs of protocols that programs of record format 7 do not all know, and refuse by name.
const KIND_MILESTONE: u8 = 5;
const FLAG_COMMIT: u8 = 1;
const FLAG_BARRIER: u8 = 2;
const FLAG_ODD_PHASE: u8 = 4;
const FLAG_DATED: u8 = 8;
/// Where the time of a dated record stands, and its bytes.
pub(super) const TIME_OFFSET: usize = 7;
const TIME_BYTES: usize = 7;
/// Bytes of the header of a dated record.
pub(super) const DATED_HEADER_BYTES: usize = TIME_OFFSET + TIME_BYTES;

/// Bytes that are not a log record although their checksum was right (or not an operation, inside a record).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset in the bytes that were given to the reader.
    pub offset: usize,
    pub reason: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.reason, self.offset)
    }
}

/// One decoded log record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<'a> {
    pub start: Lsn,
    /// The record's LSN.
    pub end: Lsn,
    pub body: RecordBody<'a>,
}

/// The content of a log record.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordBody<'a> {
    /// A whole transaction: the protocol's field, then the operations.
    Transaction {
        commit: Commit,
        content: &'a [u8],
    },
    /// A piece of a large transaction: the pieces with one id, concatenated in log order, are its operations.
    /// The last one carries `commit`, and the protocol's field before its operations. Without it the
    /// transaction never happened.
    Fragment {
        transaction: u64,
        commit: Option<Commit>,
        content: &'a [u8],
    },
    Control(Control),
    /// Space that was reserved and not used.
    Filler,
}

/// What holds for all records after it in its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    Anchor(Anchor),
    Milestone(Milestone),
}

impl Control {
    /// All records after it have later commit times. Anchors of older programs do not say.
    pub fn time(&self) -> Option<u64> {
        match self {
            Control::Anchor(anchor) => anchor.time,
            Control::Milestone(milestone) => Some(milestone.time),
        }
    }
}

/// All records after it have larger stamps (Silo-R: epochs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestone {
    pub stamp: u64,
    /// All logs were durable and complete up to this stamp when the record was appended.
    pub durable: u64,
    /// All of them have later commit times.
    pub time: u64,
}

/// Up to where all logs were durable that records after it in its log may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Every log was durable up to these positions when the record was appended (paper: LPLV).
    pub durable: LsnVector,
    /// All of them have later commit times. Anchors of older programs do not say.
    pub time: Option<u64>,
}

/// The content of the header of a transaction's (last) record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Ordered after everything that had been appended to any log.
    pub is_barrier: bool,
    /// The commit time of its transaction, unless none drew one: what a stop logs is of no transaction, and
    /// records of older programs have no time.
    pub time: Option<u64>,
    /// In a record of an older program: the parity of the transaction's phase.
    pub is_phase_odd: bool,
}

impl Commit {
    fn flags(self) -> u8 {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        FLAG_COMMIT
            | flag(self.is_barrier, FLAG_BARRIER)
            | flag(self.is_phase_odd, FLAG_ODD_PHASE)
            | flag(self.time.is_some(), FLAG_DATED)
    }
}

/// A commit time as a record has it. Commits are counted, so it always fits.
pub(super) fn time_bytes(time: u64) -> [u8; TIME_BYTES] {
    debug_assert!(time >> (u8::BITS as usize * TIME_BYTES) == 0, "more commits than any run makes");
    let [first, second, third, fourth, fifth, sixth, seventh, _] = time.to_le_bytes();
    [first, second, third, fourth, fifth, sixth, seventh]
}

/// The time of a record with these flags, and the bytes of its header. `None` if the record is too short.
fn read_time(used: &[u8], flags: u8) -> Option<(Option<u64>, usize)> {
    if flags & FLAG_DATED == 0 {
        return Some((None, HEADER_BYTES));
    }
    let [first, second, third, fourth, fifth, sixth, seventh] =
        *used.get(TIME_OFFSET..)?.first_chunk::<TIME_BYTES>()?;
    let bytes = [first, second, third, fourth, fifth, sixth, seventh, 0];
    Some((Some(u64::from_le_bytes(bytes)), DATED_HEADER_BYTES))
}

/// What the header of a record says of the transaction that commits with it, if one does.
fn read_commit(flags: u8, time: Option<u64>) -> Option<Commit> {
    let has = |flag: u8| flags & flag != 0;
    has(FLAG_COMMIT).then(|| Commit {
        is_barrier: has(FLAG_BARRIER),
        time,
        is_phase_odd: has(FLAG_ODD_PHASE),
    })
}

/// Reads a log position.
pub fn read_position(bytes: &[u8], offset: &mut usize) -> Result<Lsn, Malformed> {
    let units = read_varint(bytes, offset)?;
    match units.checked_mul(Lsn::ALIGNMENT) {
        Some(position) => Ok(Lsn(position)),
        None => Err(Malformed { offset: *offset, reason: "a log position is out of range" }),
    }
}

/// The length of the record that begins at `bytes[0]`. `None` if there are fewer than [`HEADER_BYTES`].
pub fn record_length(bytes: &[u8]) -> Option<Result<usize, Malformed>> {
    let length = u32::from_le_bytes(bytes.get(..HEADER_BYTES)?.first_chunk::<4>().copied()?) as usize;
    if !(HEADER_BYTES..=MAX_RECORD_BYTES).contains(&length) || !length.is_multiple_of(Lsn::ALIGNMENT as usize)
    {
        return Some(Err(Malformed { offset: 0, reason: "a log record has an impossible length" }));
    }
    Some(Ok(length))
}

/// The records in a piece of the stream that begins at a record's start. Stops before a record that is not
/// whole, at [`Records::reached`]. After an error it yields nothing more.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    offset: usize,
    start: u64,
    failed: bool,
}

impl<'a> Records<'a> {
    pub fn new(start: Lsn, bytes: &'a [u8]) -> Records<'a> {
        Records { bytes, offset: 0, start: start.0, failed: false }
    }

    /// The start of the record that `next` would yield.
    pub fn reached(&self) -> Lsn {
        Lsn(self.start + self.offset as u64)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let rest = &self.bytes[self.offset..];
        let decoded = match record_length(rest)? {
            Ok(length) => decode_body(rest.get(..length)?).map(|body| (length, body)),
            Err(malformed) => Err(malformed),
        };
        match decoded {
            Ok((length, body)) => {
                let start = self.reached();
                self.offset += length;
                Some(Ok(Record { start, end: self.reached(), body }))
            }
            Err(malformed) => {
                self.failed = true;
                Some(Err(Malformed { offset: malformed.offset + self.offset, ..malformed }))
            }
        }
    }
}

/// Decodes one whole record.
fn decode_body(record: &[u8]) -> Result<RecordBody<'_>, Malformed> {
    let (kind, flags, padding) = (record[4], record[5], record[6] as usize);
    let malformed = |offset, reason| Err(Malformed { offset, reason });
    let is_dated = flags & FLAG_DATED != 0;
    let has_zero = is_dated || record[TIME_OFFSET] == 0;
    if padding >= Lsn::ALIGNMENT as usize || HEADER_BYTES + padding > record.len() || !has_zero {
        return malformed(6, "a log record has an impossible header");
    }
    if flags & !(FLAG_COMMIT | FLAG_BARRIER | FLAG_ODD_PHASE | FLAG_DATED) != 0
        || (is_dated && flags & FLAG_COMMIT == 0 && !matches!(kind, KIND_ANCHOR | KIND_MILESTONE))
    {
        return malformed(5, "a log record has unknown flags");
    }
    let used = &record[..record.len() - padding];
    let Some((time, mut offset)) = read_time(used, flags) else {
        return malformed(TIME_OFFSET, "a log record is too short for its time");
    };
    match (kind, read_commit(flags, time)) {
        (KIND_TRANSACTION, Some(commit)) => Ok(RecordBody::Transaction { commit, content: &used[offset..] }),
        (KIND_FRAGMENT, commit) => {
            let transaction = read_varint(used, &mut offset)?;
            Ok(RecordBody::Fragment { transaction, commit, content: &used[offset..] })
        }
        (KIND_ANCHOR, _) => {
            let durable = decode_anchor(used, &mut offset)?;
            Ok(RecordBody::Control(Control::Anchor(Anchor { durable, time })))
        }
        (KIND_MILESTONE, _) => {
            let Some(time) = time else { return malformed(5, "a milestone has no time") };
            let (stamp, durable) = (read_varint(used, &mut offset)?, read_varint(used, &mut offset)?);
            Ok(RecordBody::Control(Control::Milestone(Milestone { stamp, durable, time })))
        }
        (KIND_FILLER, _) => Ok(RecordBody::Filler),
        _ => malformed(4, "a log record is of unknown kind"),
    }
}

fn decode_anchor(used: &[u8], offset: &mut usize) -> Result<LsnVector, Malformed> {
    let logs = read_varint(used, offset)?;
    if logs == 0 || logs > MAX_LOGS as u64 {
        return Err(Malformed { offset: *offset, reason: "an anchor has an impossible number of logs" });
    }
    let mut vector = LsnVector::zero(logs as usize);
    for log in 0..logs as usize {
        vector.raise_entry(log, read_position(used, offset)?);
    }
    Ok(vector)
}

/// The content of the header of a committing record to be written.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitHeader {
    /// The id of a large transaction, whose last fragment this is.
    pub fragment_of: Option<u64>,
    pub commit: Commit,
}

/// Writes all that precedes the body of a committing record into `header` (which it clears). The time may be
/// written over until the record is published. `write_field` appends the protocol's field. Returns the length
/// of the whole record. After header and body it is filled up with arbitrary bytes.
#[inline]
pub fn encode_commit(
    header: &mut Vec<u8>,
    says: CommitHeader,
    write_field: impl FnOnce(&mut Vec<u8>),
    body_bytes: usize,
) -> usize {
    let kind = if says.fragment_of.is_some() { KIND_FRAGMENT } else { KIND_TRANSACTION };
    begin_record(header, kind, says.commit.flags(), says.commit.time);
    if let Some(transaction) = says.fragment_of {
        write_varint(header, transaction);
    }
    write_field(header);
    finish_header(header, body_bytes)
}

/// As [`encode_commit`], for a fragment that is not the last.
pub fn encode_fragment(header: &mut Vec<u8>, transaction: u64, body_bytes: usize) -> usize {
    begin_record(header, KIND_FRAGMENT, 0, None);
    write_varint(header, transaction);
    finish_header(header, body_bytes)
}

/// Writes a whole anchor, padding included, into `record` (which it clears). For the content, see [`Anchor`].
pub fn encode_anchor(record: &mut Vec<u8>, durable: &[u64], time: Option<u64>) {
    begin_record(record, KIND_ANCHOR, if time.is_some() { FLAG_DATED } else { 0 }, time);
    write_varint(record, durable.len() as u64);
    for position in durable {
        write_position(record, *position);
    }
    let length = finish_header(record, 0);
    record.resize(length, 0);
}

/// Writes a whole milestone, padding included, into `record` (which it clears).
pub fn encode_milestone(record: &mut Vec<u8>, Milestone { stamp, durable, time }: Milestone) {
    begin_record(record, KIND_MILESTONE, FLAG_DATED, Some(time));
    write_varint(record, stamp);
    write_varint(record, durable);
    let length = finish_header(record, 0);
    record.resize(length, 0);
}

/// The header of a filler of `length` bytes, a multiple of 8.
pub fn filler_header(length: u32) -> [u8; HEADER_BYTES] {
    debug_assert!(length as usize >= HEADER_BYTES && length.is_multiple_of(Lsn::ALIGNMENT as u32));
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4] = KIND_FILLER;
    header
}

/// `time`: of a record whose flags say that it has one.
fn begin_record(header: &mut Vec<u8>, kind: u8, flags: u8, time: Option<u64>) {
    header.clear();
    header.extend_from_slice(&[0, 0, 0, 0, kind, flags, 0, 0]);
    if let Some(time) = time {
        header.truncate(TIME_OFFSET);
        header.extend_from_slice(&time_bytes(time));
    }
}

/// Writes a log position, a multiple of [`Lsn::ALIGNMENT`].
pub fn write_position(into: &mut Vec<u8>, position: u64) {
    debug_assert!(position.is_multiple_of(Lsn::ALIGNMENT), "log positions are aligned");
    write_varint(into, position / Lsn::ALIGNMENT);
}

fn finish_header(header: &mut [u8], body_bytes: usize) -> usize {
    let used = header.len() + body_bytes;
    let length = used.next_multiple_of(Lsn::ALIGNMENT as usize);
    assert!(length <= MAX_RECORD_BYTES, "a log record of {length} bytes must be fragmented");
    header[..4].copy_from_slice(&(length as u32).to_le_bytes());
    header[6] = (length - used) as u8;
    length
}
