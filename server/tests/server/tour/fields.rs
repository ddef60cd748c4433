//! Bytes with a line for each field: the wire message, the log record, the block, the answer.
//!
//! The record is decoded here by docs/log-format.md, not by the engine's decoder, which must then agree. When
//! the format of log records changes, `record` changes with that page.

use std::fmt::Write as _;
use std::ops::Range;

use hyades_engine::disk::SECTOR_BYTES;
use hyades_engine::log::record::varint::{read_varint, unzigzag};
use hyades_engine::log::record::{Command, RecordBody, Records};
use hyades_engine::log::store::block::BLOCK_HEADER_BYTES;
use hyades_engine::lsn::Lsn;

use super::relay::messages;

/// The number of bytes in one line.
const LINE: usize = 8;

struct Fields<'a> {
    bytes: &'a [u8],
    offset: usize,
    text: String,
}

impl<'a> Fields<'a> {
    fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, offset: 0, text: String::new() }
    }

    /// Shows `length` bytes, followed by their meaning.
    fn field(&mut self, length: usize, means: impl FnOnce(&[u8]) -> String) -> &'a [u8] {
        let field = &self.bytes[self.offset..self.offset + length];
        let hex: Vec<String> = field.iter().map(|byte| format!("{byte:02x}")).collect();
        self.lines(&hex, &means(field));
        field
    }

    /// As `field`, for bytes that differ from run to run.
    fn hidden(&mut self, length: usize, means: &str) {
        self.lines(&vec!["..".to_owned(); length], means);
    }

    fn lines(&mut self, hex: &[String], means: &str) {
        let mut means = Some(means);
        for line in hex.chunks(LINE) {
            let text = format!(
                "{:>4}  {:<width$}  {}",
                self.offset,
                line.join(" "),
                means.take().unwrap_or_default(),
                width = 3 * LINE - 1
            );
            writeln!(self.text, "{}", text.trim_end()).unwrap();
            self.offset += line.len();
        }
    }

    fn varint(&mut self, means: impl FnOnce(u64) -> String) -> u64 {
        let mut end = self.offset;
        let value = read_varint(self.bytes, &mut end).unwrap();
        self.field(end - self.offset, |_| means(value));
        value
    }

    fn number(&mut self, length: usize, name: &str) -> u64 {
        little_endian(self.field(length, |bytes| format!("{name}: {}", little_endian(bytes))))
    }

    fn done(self) -> String {
        assert_eq!(self.offset, self.bytes.len(), "bytes are left:\n{}", self.text);
        self.text
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

/// A message of the simple protocol.
pub(super) fn message(bytes: &[u8]) -> String {
    let mut fields = Fields::new(bytes);
    fields.field(1, |_| "'Q': a query, in the simple protocol".to_owned());
    fields
        .field(4, |length| format!("length: {}, big-endian, of itself and what follows", big_endian(length)));
    fields.field(bytes.len() - 5, |sql| format!("\"{}\" and a zero byte", text_of(sql)));
    fields.done()
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Messages from the server.
pub(super) fn answer(bytes: &[u8]) -> String {
    let mut fields = Fields::new(bytes);
    for message in messages(bytes) {
        let (kind, content) = match message[0] {
            b'C' => ("'C': the command is complete", "the tag"),
            b'Z' => ("'Z': ready for the next query", "in a transaction? 'I' is no"),
            other => panic!("an answer of kind {}", char::from(other)),
        };
        fields.field(1, |_| kind.to_owned());
        fields.field(4, |length| format!("length: {}", big_endian(length)));
        fields.field(message.len() - 5, |body| format!("{content}: \"{}\"", text_of(body)));
    }
    fields.done()
}

/// The log record of the call, which begins at this position.
pub(super) fn record(start: u64, bytes: &[u8]) -> String {
    let mut fields = Fields::new(bytes);
    fields.number(4, "length");
    fields.field(1, |kind| format!("kind: {}, a transaction", kind[0]));
    let flags = fields.field(1, |flags| format!("flags: {}, commit, dated", flags[0]));
    assert_eq!(flags, [1 | 8]);
    let padding = fields.number(1, "padding") as usize;
    fields.number(7, "commit time");
    let bitmap = fields.varint(|bitmap| format!("LSN vector, which logs it names: {bitmap:#b}"));
    let mut vector = vec![0; 2];
    for log in (0..2).filter(|log| bitmap & 1 << log != 0) {
        vector[log] =
            8 * fields.varint(|entry| format!("LSN vector, log {log}: {entry} * 8 = {}", entry * 8));
    }
    assert_eq!(fields.varint(|_| "operation: a call".to_owned()), 4);
    let captured = fields
        .field(1, |flags| format!("captured of its surroundings: nothing; {}, a hash by table", flags[0]));
    assert_eq!(captured, [16]);
    let routine = fields.varint(|routine| format!("routine: {routine}"));
    fields.hidden(4, "version hash of the routine");
    let arguments = fields.varint(|count| format!("arguments: {count}"));
    fields.varint(|bytes| format!("bytes of the arguments: {bytes}"));
    for number in 1..=arguments {
        let types = ["", "", "", "smallint", "integer", "bigint"];
        fields.field(1, |tag| format!("argument {number}: of type {}", types[usize::from(tag[0])]));
        fields.varint(|value| format!("argument {number}: {}, zigzag", unzigzag(value)));
    }
    fields.varint(|count| format!("row numbers: {count}"));
    let hash = fields.field(8, |hash| format!("write-set hash: {:016x}", little_endian(hash)));
    fields.field(padding, |_| "padding".to_owned());
    agree(start, bytes, (&vector, routine, little_endian(hash)));
    fields.done()
}

/// Checks that the engine's own decoder reads the same.
fn agree(start: u64, bytes: &[u8], (vector, routine, hash): (&[u64], u64, u64)) {
    let decoded = Records::new(Lsn(start), bytes).next().unwrap().unwrap();
    let RecordBody::Transaction { content, .. } = decoded.body else { panic!("{decoded:?}") };
    let mut reader = hyades_engine::protocol::list::recovery("taurus", 2).unwrap().reader();
    let (field, operations) = content.split_at(reader.field_bytes(content).unwrap());
    reader.read(field).unwrap();
    let whole = reader.follows().vector().unwrap();
    let command = Command::of(operations).unwrap().unwrap();
    assert_eq!(
        (whole.entries(), u64::from(command.routine.0), command.write_set_hash.0),
        (vector, routine, hash)
    );
}

/// The place of a block in its segment file.
pub(super) struct BlockPlace {
    offset: usize,
    /// Of the payload, in the log.
    pub(super) position: u64,
    payload_bytes: usize,
}

impl BlockPlace {
    /// The block of the first segment in which this position lies.
    pub(super) fn find(segment: &[u8], position: u64) -> BlockPlace {
        let mut offset = SECTOR_BYTES;
        loop {
            let header = &segment[offset..offset + BLOCK_HEADER_BYTES];
            assert_eq!(&header[..4], b"HyBT", "position {position} is in no block");
            let payload_bytes = little_endian(&header[8..11]) as usize;
            let place = BlockPlace { offset, position: little_endian(&header[40..48]), payload_bytes };
            if position < place.end() {
                return place;
            }
            offset = place.sectors().end;
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.position + self.payload_bytes as u64
    }

    pub(super) fn sectors(&self) -> Range<usize> {
        self.offset..self.offset + (BLOCK_HEADER_BYTES + self.payload_bytes).next_multiple_of(SECTOR_BYTES)
    }

    pub(super) fn payload<'a>(&self, segment: &'a [u8]) -> &'a [u8] {
        &segment[self.offset + BLOCK_HEADER_BYTES..][..self.payload_bytes]
    }
}

/// The header of a block, and the payload that follows it.
pub(super) fn block(place: &BlockPlace, segment: &[u8]) -> String {
    let mut fields = Fields::new(&segment[place.offset..place.offset + BLOCK_HEADER_BYTES]);
    fields.field(4, |magic| format!("\"{}\"", text_of(magic)));
    fields.hidden(4, "CRC32C of all other bytes of header and payload");
    fields.number(3, "payload bytes");
    fields.number(1, "sector: 0 for 4096 bytes, or the power of two");
    fields.number(4, "log");
    fields.hidden(16, "the database, a UUID");
    fields.number(8, "incarnation");
    fields.number(8, "position of the payload in the log");
    fields.hidden(8, "when it was written, in microseconds since 1970");
    let rest = &segment[place.sectors()][BLOCK_HEADER_BYTES + place.payload_bytes..];
    assert!(rest.iter().all(|byte| *byte == 0));
    format!(
        "logs/log-0/00000001-00000001.segment, byte {}\n{}{BLOCK_HEADER_BYTES:>4}  the log record, {} bytes\n{:>4}  zeroes, {} bytes, to the end of the sector\n",
        place.offset,
        fields.done(),
        place.payload_bytes,
        BLOCK_HEADER_BYTES + place.payload_bytes,
        rest.len()
    )
}
