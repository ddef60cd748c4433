//! The bytes of a stored row, which are also the bytes a data log record carries.
//!
//! ```text
//!  0                fixed_bytes            header_bytes                       row.len()
//!  +----------------+----------------------+----------------------------------+
//!  | fixed part     | null bitmap          | variable part                    |
//!  +----------------+----------------------+----------------------------------+
//!    one slot per     ceil(columns/8)        numeric, text, varchar, char and
//!    column, in       bytes; bit c%8 of      bytea, json, jsonb, array, row
//!    column order     byte c/8 set: column     contents, in column order
//!                     c is NULL
//! ```
//! * The slot of a fixed-width column is its value, little-endian: boolean 1 byte (0 or 1), smallint 2,
//!   integer, real and date 4, bigint, double precision, time, timestamp and timestamptz 8, uuid 16 and
//!   macaddr 6 or 8 (as printed), interval 16 (8 of microseconds, 4 of days, 4 of months). A NULL's slot is
//!   zero.
//! * The slot of a variable column is a `u32`: where its content ends, counted from the start of the row. It
//!   begins where the variable column before it ends, or at `header_bytes`. A NULL's content is empty.
//! * text, varchar: UTF-8 without U+0000. char(n): the same without its trailing blanks, which the type can
//!   restore; a pgbench `filler char(84)` costs 4 bytes, in memory and in the log.
//! * numeric: see `number_content`.
//! * json: its text. jsonb: the form of `hyades_types::json`. inet, cidr: the length of the mask in one byte,
//!   then the 4 or 16 bytes of the address. A type of an extension: the content of
//!   `hyades_types::extension`.
//! * arrays: see `array_content`; rows of composite types: see `row_content`.
//!
//! No slot is aligned and nothing depends on addresses, so rows are copied with memcpy and compare equal byte
//! for byte when their values (and numeric scales) are the same.
//!
//! Cost beyond the user's data: 4 bytes per variable column, 2 per numeric, 1 bit per column rounded up. A
//! pgbench_accounts row is 17 bytes (12 of integers, 4 for the empty filler, 1 bitmap byte).
//!
//! Files:
//! * `array_content`, `number_content`, `row_content`: the forms of such values;
//! * `leading`: the part of a row that has the columns up to a last one;
//! * `patch`: what an update in place changes.
//!
//! Invariants:
//! 1. Bytes passed to `value`, `is_null`, `bytes` and `update` come from `encode`/`update` of the same layout
//!    or passed [`RowLayout::check`]; then no reader panics.
//! 2. `encode(value of each column) == row`: the form is canonical. (Logs of before 2026-11-22 may hold a NaN
//!    in another form.)

mod array_content;
mod leading;
mod number_content;
mod patch;
mod row_content;

use compact_str::CompactString;
use hyades_types::datetime::{self, ZonedTime};
use hyades_types::enumeration::EnumValue;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::interval::Interval;
use hyades_types::json::{self, Jsonb};
use hyades_types::network::Network;
use hyades_types::scalar::{Scalar, ScalarKind};
use hyades_types::system_type::SystemType;
use hyades_types::value::{SqlType, Value};
use hyades_types::{key, numeric, text};

pub use self::leading::{Leading, RowCopy};
pub use self::patch::RowPatch;
pub(crate) use self::patch::{invert, is_inside, leads_to, overwrite, pieces};

/// How the rows of a table are laid out. Built once per table definition.
#[derive(Clone, Debug)]
pub struct RowLayout {
    columns: Box<[Column]>,
    /// Length of the fixed part.
    fixed_bytes: usize,
    /// Length of the fixed part and the null bitmap.
    header_bytes: usize,
    has_variable: bool,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    sql_type: SqlType,
    /// Where the slot starts.
    slot: usize,
    /// Width of a fixed column; 0 for a variable one.
    width: usize,
    /// The kind of the values, if they are scalars.
    kind: Option<ScalarKind>,
    /// The slot of the variable column before this variable one.
    previous: Option<usize>,
}

/// Width of the slot of a variable column.
const END_BYTES: usize = 4;

impl RowLayout {
    pub fn new(types: &[SqlType]) -> RowLayout {
        let mut slot = 0;
        let mut previous = None;
        let columns = types.iter().map(|&sql_type| {
            let width = sql_type.stored_bytes().unwrap_or(0);
            let kind = ScalarKind::of(sql_type);
            let column = Column { sql_type, slot, width, kind, previous: previous.filter(|_| width == 0) };
            if width == 0 {
                previous = Some(slot);
                slot += END_BYTES;
            } else {
                slot += width;
            }
            column
        });
        let columns: Box<[Column]> = columns.collect();
        RowLayout {
            fixed_bytes: slot,
            header_bytes: slot + columns.len().div_ceil(8),
            has_variable: previous.is_some(),
            columns,
        }
    }

    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    pub fn column_type(&self, column: u16) -> SqlType {
        self.columns[usize::from(column)].sql_type
    }

    /// Bytes of a row whose variable columns are all empty.
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Appends the row of these values, one per column and of the column's type (checked: a mismatch is a bug
    /// of the caller and panics). The caller checks lengths and NOT NULL.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) {
        assert_eq!(values.len(), self.columns.len(), "a row needs one value per column");
        let mut writer = self.writer(out);
        values.iter().for_each(|value| writer.value(value));
    }

    /// Appends a row of NULLs.
    pub(crate) fn encode_nulls(&self, out: &mut Vec<u8>) {
        let mut writer = self.writer(out);
        self.columns.iter().for_each(|_| writer.value(&Value::Null));
    }

    /// For a row written column by column at the end of `out`.
    #[inline]
    pub(crate) fn writer<'w>(&'w self, out: &'w mut Vec<u8>) -> RowWriter<'w> {
        let start = out.len();
        out.resize(start + self.header_bytes, 0);
        RowWriter { layout: self, out, start, next: 0, unfit: None }
    }

    /// Whether the column can hold the value: if not, [`RowLayout::check`] would refuse a row with it.
    #[inline]
    pub(crate) fn is_fit(&self, column: u16, value: &Value) -> bool {
        is_fit(self.columns[usize::from(column)].sql_type, value)
    }

    /// Refuses values that their columns cannot hold.
    ///
    /// # Errors
    /// The user's, although no code that makes values should produce such a one.
    pub(crate) fn check_values(&self, set: &[(u16, Value)]) -> Result<()> {
        match set.iter().find(|(column, value)| !self.is_fit(*column, value)) {
            None => Ok(()),
            Some((column, _)) => Err(unfit_value(self.columns[usize::from(*column)].sql_type)),
        }
    }

    /// Writes one value: its slot, or its content and end, and its null bit. Variable columns must come in
    /// order.
    #[inline]
    fn write(&self, number: usize, column: &Column, value: &Value, start: usize, out: &mut Vec<u8>) {
        if value.is_null() {
            out[start + self.fixed_bytes + number / 8] |= 1 << (number % 8);
        }
        if column.width == 0 {
            append_content(column.sql_type, value, out);
            set_end(column, start, out.len() - start, out);
        } else {
            let slot = start + column.slot;
            write_fixed(value, &mut out[slot..slot + column.width]);
        }
    }

    pub fn is_null(&self, row: &[u8], column: u16) -> bool {
        let column = usize::from(column);
        row[self.fixed_bytes + column / 8] & (1 << (column % 8)) != 0
    }

    /// Whether a column has the same bytes in two rows.
    #[inline]
    pub(super) fn is_same(&self, one: &[u8], other: &[u8], column: u16) -> bool {
        self.bytes(one, column) == self.bytes(other, column)
    }

    /// The stored bytes of a column (see the module head), None for NULL.
    #[inline]
    pub fn bytes<'a>(&self, row: &'a [u8], column: u16) -> Option<&'a [u8]> {
        if self.is_null(row, column) {
            return None;
        }
        let column = &self.columns[usize::from(column)];
        if column.width == 0 {
            Some(self.content(row, column))
        } else {
            Some(&row[column.slot..column.slot + column.width])
        }
    }

    #[inline]
    fn content<'a>(&self, row: &'a [u8], column: &Column) -> &'a [u8] {
        &row[self.place(row, column)]
    }

    /// The value of a column of type `integer` that is not NULL.
    #[inline(always)]
    pub(crate) fn integer(&self, row: &[u8], column: u16) -> Option<i32> {
        let found = self.columns.get(usize::from(column))?;
        if found.kind != Some(ScalarKind::Integer) || self.is_null(row, column) {
            return None;
        }
        row.get(found.slot..)?.first_chunk().map(|bytes| i32::from_le_bytes(*bytes))
    }

    /// The value of a column whose values are scalars.
    #[inline]
    pub(crate) fn scalar(&self, row: &[u8], column: u16) -> Option<Scalar> {
        let number = usize::from(column);
        let column = &self.columns[number];
        let kind = column.kind?;
        if row[self.fixed_bytes + number / 8] & (1 << (number % 8)) != 0 {
            return Some(Scalar::NULL);
        }
        let slot = row.get(column.slot..)?;
        let number = match column.width {
            4 => i64::from(i32::from_le_bytes(*slot.first_chunk()?)),
            8 => i64::from_le_bytes(*slot.first_chunk()?),
            2 => i64::from(i16::from_le_bytes(*slot.first_chunk()?)),
            _ => i64::from(*slot.first()?),
        };
        Some(Scalar { kind, number })
    }

    /// The value of a column.
    #[inline]
    pub fn value(&self, row: &[u8], column: u16) -> Value {
        match self.bytes(row, column) {
            None => Value::Null,
            Some(bytes) => read(self.columns[usize::from(column)].sql_type, bytes),
        }
    }

    /// Appends the values of all columns to `out`.
    pub fn values(&self, row: &[u8], out: &mut Vec<Value>) {
        out.extend((0..self.columns.len()).map(|column| self.value(row, column as u16)));
    }

    /// Appends the row that results from `old` when the columns in `set` get new values. All others are
    /// copied as bytes.
    pub fn update(&self, old: &[u8], set: &[(u16, Value)], out: &mut Vec<u8>) {
        let start = out.len();
        let rebuild =
            self.has_variable && set.iter().any(|(column, _)| self.columns[usize::from(*column)].width == 0);
        out.extend_from_slice(if rebuild { &old[..self.header_bytes] } else { old });
        for (number, _) in set {
            let number = usize::from(*number);
            out[start + self.fixed_bytes + number / 8] &= !(1 << (number % 8));
        }
        if rebuild {
            // Unchanged contents that are next to each other are copied together.
            let mut copied = self.header_bytes;
            for (number, column) in self.columns.iter().enumerate().filter(|(_, column)| column.width == 0) {
                let end = end_at(old, column.slot);
                match set.iter().find(|(changed, _)| usize::from(*changed) == number) {
                    Some((_, value)) => {
                        out.extend_from_slice(&old[copied..end - self.content(old, column).len()]);
                        self.write(number, column, value, start, out);
                        copied = end;
                    }
                    None => set_end(column, start, out.len() - start + (end - copied), out),
                }
            }
            out.extend_from_slice(&old[copied..]);
        }
        for (number, value) in set {
            let column = &self.columns[usize::from(*number)];
            if column.width > 0 {
                self.write(usize::from(*number), column, value, start, out);
            }
        }
    }

    /// Whether these bytes, from a log or a checkpoint, are a row of this layout. Everything a reader relies
    /// on is checked.
    pub fn check(&self, row: &[u8]) -> Result<()> {
        let wrong = |what: &str| Error::corrupt(format!("a row of {} bytes {what}", row.len()));
        if row.len() < self.header_bytes {
            return Err(wrong("is shorter than its fixed part"));
        }
        let spare_bits = self.columns.len() % 8;
        if spare_bits != 0 && row[self.header_bytes - 1] >> spare_bits != 0 {
            return Err(wrong("has null bits beyond its last column"));
        }
        let mut begin = self.header_bytes;
        for (number, column) in self.columns.iter().enumerate() {
            let is_null = self.is_null(row, number as u16);
            let bytes = if column.width > 0 {
                &row[column.slot..column.slot + column.width]
            } else {
                let end = end_at(row, column.slot);
                let content =
                    row.get(begin..end).ok_or_else(|| wrong("has a column that ends outside it"))?;
                begin = end;
                content
            };
            let is_right = if is_null {
                bytes.iter().all(|byte| *byte == 0) && (column.width > 0 || bytes.is_empty())
            } else {
                is_content_of(column.sql_type, bytes)
            };
            if !is_right {
                return Err(wrong(&format!(
                    "has bad {} content in column {number}",
                    column.sql_type.base_name()
                )));
            }
        }
        if begin != row.len() {
            return Err(wrong("goes on after its last column"));
        }
        Ok(())
    }

    /// Appends what [`key::encode_distinct`] makes of a column's value, without making the value; `false` for
    /// types that need one.
    #[inline]
    pub(crate) fn encode_distinct(&self, row: &[u8], column: u16, out: &mut Vec<u8>) -> bool {
        if let Some(scalar) = self.scalar(row, column) {
            key::encode_distinct_scalar(scalar, out);
            return true;
        }
        let is_text = matches!(self.column_type(column), SqlType::Text | SqlType::Varchar(_));
        if is_text {
            key::encode_distinct_text(self.bytes(row, column), out);
        }
        is_text
    }

    /// Appends the key of a stored row, whose key columns are `columns` and not NULL. Reads the row's bytes;
    /// builds no values except numerics.
    #[inline]
    pub fn encode_key(&self, row: &[u8], columns: &[u16], out: &mut Vec<u8>) {
        for &column in columns {
            if let Some(number) = self.integer(row, column) {
                key::encode_i32(number, out);
                continue;
            }
            if let Some(scalar) = self.scalar(row, column) {
                key::encode_scalar(scalar, out);
                continue;
            }
            let Some(bytes) = self.bytes(row, column) else { continue };
            match self.column_type(column) {
                SqlType::Text | SqlType::Varchar(_) | SqlType::Bytea => key::encode_bytes(bytes, out),
                SqlType::Char(_) => key::encode_bytes(key::trim_blanks(bytes), out),
                sql_type => key::encode(&self.value(row, column), sql_type, out),
            }
        }
    }
}

/// A row as it is written, column by column in their order. The caller checks NOT NULL and lengths, but
/// [`RowWriter::finish`] notices what recovery would refuse: a bug in the code that makes values should fail
/// a statement, not a restart.
pub(crate) struct RowWriter<'w> {
    layout: &'w RowLayout,
    out: &'w mut Vec<u8>,
    /// Where the row starts.
    start: usize,
    /// The next column's number.
    next: usize,
    /// The type of a column that was given a value it cannot hold.
    unfit: Option<SqlType>,
}

impl RowWriter<'_> {
    /// The type of the next column.
    #[inline]
    pub(crate) fn sql_type(&self) -> SqlType {
        self.layout.columns[self.next].sql_type
    }

    /// Writes the next column's value, which is of its type (checked: a mismatch is a bug of the caller and
    /// panics).
    pub(crate) fn value(&mut self, value: &Value) {
        let column = &self.layout.columns[self.next];
        if !is_fit(column.sql_type, value) {
            self.unfit = Some(column.sql_type);
        }
        self.layout.write(self.next, column, value, self.start, self.out);
        self.next += 1;
    }

    /// The end of the row.
    ///
    /// # Errors
    /// The user's, for a value that its column cannot hold.
    pub(crate) fn finish(self) -> Result<()> {
        match self.unfit {
            None => Ok(()),
            Some(sql_type) => Err(unfit_value(sql_type)),
        }
    }

    /// As [`RowWriter::value`], for a scalar.
    #[inline]
    pub(crate) fn scalar(&mut self, scalar: Scalar) {
        let column = &self.layout.columns[self.next];
        if column.kind != Some(scalar.kind) {
            return self.value(&scalar.value());
        }
        if !scalar.is_fit() {
            self.unfit = Some(column.sql_type);
        }
        let slot = self.start + column.slot;
        let bytes = &scalar.number.to_le_bytes();
        match column.width {
            4 => self.out[slot..slot + 4].copy_from_slice(&bytes[..4]),
            8 => self.out[slot..slot + 8].copy_from_slice(bytes),
            width => self.out[slot..slot + width].copy_from_slice(&bytes[..width]),
        }
        self.next += 1;
    }

    /// Writes the next column if its type is `integer`; returns whether it is.
    #[inline(always)]
    pub(crate) fn integer(&mut self, number: i32) -> bool {
        let column = &self.layout.columns[self.next];
        if column.kind != Some(ScalarKind::Integer) {
            return false;
        }
        let Some(slot) = self.out.get_mut(self.start + column.slot..).and_then(|rest| rest.first_chunk_mut())
        else {
            return false;
        };
        *slot = number.to_le_bytes();
        self.next += 1;
        true
    }

    /// Writes a NULL into the next column.
    #[inline]
    pub(crate) fn null(&mut self) {
        let number = self.next;
        self.out[self.start + self.layout.fixed_bytes + number / 8] |= 1 << (number % 8);
        let column = &self.layout.columns[number];
        if column.width == 0 {
            set_end(column, self.start, self.out.len() - self.start, self.out);
        }
        self.next += 1;
    }

    /// Writes the next column, of a text type, from stored bytes of the same type.
    #[inline]
    pub(crate) fn text(&mut self, bytes: &[u8]) {
        let column = &self.layout.columns[self.next];
        if !is_fit_text(column.sql_type, bytes) {
            self.unfit = Some(column.sql_type);
        }
        self.out.extend_from_slice(bytes);
        set_end(column, self.start, self.out.len() - self.start, self.out);
        self.next += 1;
    }
}

fn end_at(row: &[u8], slot: usize) -> usize {
    u32::from_le_bytes([row[slot], row[slot + 1], row[slot + 2], row[slot + 3]]) as usize
}

/// Notes where in the row the content of this variable column ends.
fn set_end(column: &Column, start: usize, end: usize, out: &mut [u8]) {
    assert!(u32::try_from(end).is_ok(), "a row is at most 4 GiB");
    let slot = start + column.slot;
    out[slot..slot + END_BYTES].copy_from_slice(&(end as u32).to_le_bytes());
}

#[inline]
fn write_fixed(value: &Value, slot: &mut [u8]) {
    match value {
        Value::Null => slot.fill(0),
        Value::Boolean(truth) => slot.copy_from_slice(&[u8::from(*truth)]),
        Value::SmallInt(number) => slot.copy_from_slice(&number.to_le_bytes()),
        Value::Integer(number) | Value::Date(number) => slot.copy_from_slice(&number.to_le_bytes()),
        Value::BigInt(number)
        | Value::Time(number)
        | Value::Timestamp(number)
        | Value::TimestampTz(number) => {
            slot.copy_from_slice(&number.to_le_bytes());
        }
        Value::TimeTz(zoned) => {
            slot[..8].copy_from_slice(&zoned.time.to_le_bytes());
            slot[8..].copy_from_slice(&zoned.west.to_le_bytes());
        }
        // Which NaN an operation returns depends on the processor.
        Value::Real(number) if number.is_nan() => slot.copy_from_slice(&f32::NAN.to_le_bytes()),
        Value::Double(number) if number.is_nan() => slot.copy_from_slice(&f64::NAN.to_le_bytes()),
        Value::Real(number) => slot.copy_from_slice(&number.to_le_bytes()),
        Value::Double(number) => slot.copy_from_slice(&number.to_le_bytes()),
        Value::Uuid(bytes) => slot.copy_from_slice(bytes),
        Value::MacAddr(bytes) => slot.copy_from_slice(bytes),
        Value::MacAddr8(bytes) => slot.copy_from_slice(bytes),
        Value::Oid(number) => slot.copy_from_slice(&number.to_le_bytes()),
        Value::Enum(value) => slot.copy_from_slice(&value.position.to_le_bytes()),
        Value::Interval(interval) => {
            slot[..8].copy_from_slice(&interval.microseconds.to_le_bytes());
            slot[8..12].copy_from_slice(&interval.days.to_le_bytes());
            slot[12..].copy_from_slice(&interval.months.to_le_bytes());
        }
        Value::Numeric(_)
        | Value::Text(_)
        | Value::Bytea(_)
        | Value::Array(_)
        | Value::Reference(_)
        | Value::Json(_)
        | Value::Jsonb(_)
        | Value::Network(_)
        | Value::Extension(_)
        | Value::Row(_) => {
            unreachable!("a variable value for a fixed column: the compiler must have cast it")
        }
    }
}

fn append_content(sql_type: SqlType, value: &Value, out: &mut Vec<u8>) {
    match (value, sql_type) {
        (Value::Null, _) => {}
        (Value::Text(text), SqlType::Char(length)) if length > 0 => {
            out.extend_from_slice(text.trim_end_matches(' ').as_bytes());
        }
        (Value::Text(text), SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::System(_)) => {
            out.extend_from_slice(text.as_bytes());
        }
        (Value::Bytea(bytes), SqlType::Bytea) => out.extend_from_slice(bytes),
        (Value::Json(text), SqlType::Json) => out.extend_from_slice(text.as_bytes()),
        (Value::Jsonb(value), SqlType::Jsonb) => out.extend_from_slice(value.as_bytes()),
        (Value::Numeric(number), SqlType::Numeric(_)) => number_content::append(number, out),
        (Value::Array(array), SqlType::Array(element)) => array_content::append(element, array, out),
        (Value::Extension(value), SqlType::Extension(_)) => out.extend_from_slice(value.content()),
        (Value::Row(row), SqlType::Composite(row_type)) => row_content::append(row_type, row, out),
        (Value::Network(network), SqlType::Inet | SqlType::Cidr) => {
            out.push(network.bits());
            network.append_octets(out);
        }
        (value, sql_type) => {
            unreachable!("{value:?} for a {} column: the compiler must have cast it", sql_type.base_name())
        }
    }
}

/// The length of the mask, then the address.
fn read_network(sql_type: SqlType, bytes: &[u8]) -> Option<Network> {
    let (bits, octets) = bytes.split_first()?;
    Network::new(Network::address_of(octets)?, *bits, sql_type == SqlType::Cidr)
}

/// The value of stored bytes. Their length is right (module head, invariant 1).
#[inline]
fn read(sql_type: SqlType, bytes: &[u8]) -> Value {
    match sql_type {
        SqlType::Boolean => Value::Boolean(bytes[0] != 0),
        SqlType::SmallInt => Value::SmallInt(i16::from_le_bytes(array(bytes))),
        SqlType::Integer => Value::Integer(i32::from_le_bytes(array(bytes))),
        SqlType::BigInt => Value::BigInt(i64::from_le_bytes(array(bytes))),
        SqlType::Real => Value::Real(f32::from_le_bytes(array(bytes))),
        SqlType::DoublePrecision => Value::Double(f64::from_le_bytes(array(bytes))),
        SqlType::Date => Value::Date(i32::from_le_bytes(array(bytes))),
        SqlType::Time(_) => Value::Time(i64::from_le_bytes(array(bytes))),
        SqlType::TimeTz(_) => Value::TimeTz(ZonedTime {
            time: i64::from_le_bytes(array(&bytes[..8])),
            west: i32::from_le_bytes(array(&bytes[8..])),
        }),
        SqlType::Timestamp(_) => Value::Timestamp(i64::from_le_bytes(array(bytes))),
        SqlType::TimestampTz(_) => Value::TimestampTz(i64::from_le_bytes(array(bytes))),
        SqlType::Uuid => Value::Uuid(array(bytes)),
        SqlType::MacAddr => Value::MacAddr(array(bytes)),
        SqlType::MacAddr8 => Value::MacAddr8(array(bytes)),
        SqlType::Inet | SqlType::Cidr => read_network(sql_type, bytes).map_or(Value::Null, Value::Network),
        SqlType::Extension(own) => Value::Extension(own.made(bytes)),
        SqlType::Interval(_) => Value::Interval(Interval {
            months: i32::from_le_bytes(array(&bytes[12..])),
            days: i32::from_le_bytes(array(&bytes[8..12])),
            microseconds: i64::from_le_bytes(array(&bytes[..8])),
        }),
        SqlType::Array(element) => array_content::read_array(element, bytes),
        SqlType::Composite(row_type) => row_content::read_row(row_type, bytes),
        SqlType::System(SystemType::Oid) => Value::Oid(u32::from_le_bytes(array(bytes))),
        SqlType::System(system_type) if system_type.is_text() => Value::Text(text(bytes)),
        SqlType::System(_) => unreachable!("no column holds this type of the catalog: it is refused"),
        SqlType::Numeric(_) => Value::numeric(number_content::read(bytes)),
        SqlType::Text | SqlType::Varchar(_) => Value::Text(text(bytes)),
        SqlType::Char(length) => Value::Text(match std::str::from_utf8(bytes) {
            Ok(text) => text::padded(text, length as usize),
            Err(_) => text::padded(&text(bytes), length as usize),
        }),
        SqlType::Bytea => Value::Bytea(bytes.into()),
        SqlType::Json => Value::Json(text(bytes).as_str().into()),
        SqlType::Jsonb => Value::Jsonb(Jsonb::from_bytes(bytes)),
        SqlType::Enum(enum_type) => {
            Value::Enum(EnumValue { enum_type, position: u64::from_le_bytes(array(bytes)) })
        }
    }
}

/// Stored text is UTF-8 (`check` ensures that). The lossy conversion only keeps a bug elsewhere from becoming
/// a panic here.
fn text(bytes: &[u8]) -> CompactString {
    CompactString::from_utf8(bytes).unwrap_or_else(|_| CompactString::from_utf8_lossy(bytes))
}

fn array<const LENGTH: usize>(bytes: &[u8]) -> [u8; LENGTH] {
    let mut array = [0; LENGTH];
    array.copy_from_slice(bytes);
    array
}

/// Whether [`is_content_of`] will hold for the stored form of a value of the type.
#[inline]
fn is_fit(sql_type: SqlType, value: &Value) -> bool {
    match (value, sql_type) {
        (Value::Numeric(number), _) => numeric::is_within_limits(number),
        (Value::Date(days), _) => datetime::is_valid_date(*days) || datetime::is_infinite_date(*days),
        (Value::Timestamp(time) | Value::TimestampTz(time), _) => {
            datetime::is_valid_timestamp(*time) || datetime::is_infinite_timestamp(*time)
        }
        (Value::Time(time), _) => datetime::is_valid_time(*time),
        (Value::TimeTz(zoned), _) => zoned.is_valid(),
        (Value::Text(text), SqlType::Char(length)) if length > 0 => {
            is_fit_text(sql_type, text.trim_end_matches(' ').as_bytes())
        }
        (Value::Text(text), _) => is_fit_text(sql_type, text.as_bytes()),
        (Value::Array(array), SqlType::Array(element)) => array_content::is_fit_array(element, array),
        (Value::Row(row), SqlType::Composite(row_type)) => row_content::is_fit_row(row_type, row),
        (Value::Enum(value), SqlType::Enum(enum_type)) => {
            !value.enum_type.is_void() && EnumValue { enum_type, ..*value }.is_valid()
        }
        (
            Value::Null
            | Value::Boolean(_)
            | Value::SmallInt(_)
            | Value::Integer(_)
            | Value::BigInt(_)
            | Value::Real(_)
            | Value::Double(_)
            | Value::Bytea(_)
            | Value::Uuid(_)
            | Value::Interval(_)
            | Value::Array(_)
            | Value::Row(_)
            | Value::Oid(_)
            | Value::Reference(_)
            | Value::Json(_)
            | Value::Jsonb(_)
            | Value::Enum(_)
            | Value::Network(_)
            | Value::MacAddr(_)
            | Value::MacAddr8(_)
            | Value::Extension(_),
            _,
        ) => true,
    }
}

/// The same for text, which is UTF-8.
#[inline]
fn is_fit_text(sql_type: SqlType, bytes: &[u8]) -> bool {
    let limit = match sql_type {
        SqlType::Varchar(Some(length)) => length as usize,
        SqlType::Char(length) if length > 0 => length as usize,
        _ => usize::MAX,
    };
    (bytes.len() <= limit || characters(bytes) <= limit) && !has_zero(bytes)
}

#[inline(never)]
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| !matches!(byte, 0x80..0xc0)).count()
}

/// Whether one of the bytes is zero: eight at a time, without a branch for each. The last eight may overlap
/// those before.
#[inline]
fn has_zero(bytes: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // The highest bit of some byte stays only if one is zero.
    let zeros = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        word.wrapping_sub(ONES) & !word
    };
    let Some(last) = bytes.last_chunk() else { return bytes.contains(&0) };
    let words = bytes.as_chunks().0.iter();
    words.fold(zeros(last), |found, word| found | zeros(word)) & (ONES << 7) != 0
}

fn unfit_value(sql_type: SqlType) -> Error {
    match sql_type {
        SqlType::Numeric(_) => numeric::overflow(),
        SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampTz(_) => Error::input(
            sqlstate::DATETIME_FIELD_OVERFLOW,
            format!("{} out of range", if sql_type == SqlType::Date { "date" } else { "timestamp" }),
        ),
        other => {
            let message = format!("value does not fit type {}", other.name());
            Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
        }
    }
}

/// Whether bytes of the right width are a value of the type in its canonical form.
fn is_content_of(sql_type: SqlType, bytes: &[u8]) -> bool {
    match sql_type {
        SqlType::Boolean => bytes[0] <= 1,
        SqlType::Text | SqlType::Varchar(None) | SqlType::Char(0) => is_plain_text(bytes, None),
        SqlType::System(system_type) if system_type.is_text() => is_plain_text(bytes, None),
        SqlType::Varchar(Some(length)) => is_plain_text(bytes, Some(length)),
        SqlType::Char(length) => bytes.last() != Some(&b' ') && is_plain_text(bytes, Some(length)),
        SqlType::Numeric(_) => number_content::is_numeric(bytes),
        SqlType::Date => {
            let days = i32::from_le_bytes(array(bytes));
            datetime::is_valid_date(days) || datetime::is_infinite_date(days)
        }
        SqlType::Time(_) => datetime::is_valid_time(i64::from_le_bytes(array(bytes))),
        SqlType::TimeTz(_) => datetime::is_valid_time(i64::from_le_bytes(array(&bytes[..8]))),
        SqlType::Array(element) => array_content::is_array(element, bytes),
        SqlType::Composite(row_type) => row_content::is_row(row_type, bytes),
        SqlType::Json => {
            is_plain_text(bytes, None)
                && std::str::from_utf8(bytes).is_ok_and(|text| json::validate(text).is_ok())
        }
        SqlType::Jsonb => Jsonb::is_canonical(bytes),
        SqlType::Inet | SqlType::Cidr => read_network(sql_type, bytes).is_some(),
        SqlType::Extension(own) => own.is_content(bytes),
        SqlType::Timestamp(_) | SqlType::TimestampTz(_) => {
            let time = i64::from_le_bytes(array(bytes));
            datetime::is_valid_timestamp(time) || datetime::is_infinite_timestamp(time)
        }
        SqlType::Enum(enum_type) => {
            EnumValue { enum_type, position: u64::from_le_bytes(array(bytes)) }.is_valid()
        }
        _ => true,
    }
}

/// Whether these are at most `most` characters, none of them NUL.
fn is_plain_text(bytes: &[u8], most: Option<u32>) -> bool {
    let is_within = |characters: usize| most.is_none_or(|most| characters <= most as usize);
    if is_plain_ascii(bytes) {
        return is_within(bytes.len());
    }
    let text = std::str::from_utf8(bytes);
    text.is_ok_and(|text| !text.contains('\0') && (is_within(text.len()) || is_within(text.chars().count())))
}

/// Whether these are ASCII characters other than NUL, eight at a time.
fn is_plain_ascii(bytes: &[u8]) -> bool {
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    // Below 0x80 only a zero borrows when one is subtracted from each byte.
    let is_plain = |word: u64| (word | word.wrapping_sub(LOWEST)) & HIGHEST == 0;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = LOWEST.to_ne_bytes();
    last[..rest.len()].copy_from_slice(rest);
    words.iter().chain([&last]).all(|word| is_plain(u64::from_le_bytes(*word)))
}

#[cfg(test)]
mod extremes_tests;
#[cfg(test)]
mod tests;
