//! Text and binary forms of arrays.
//!
//! The text form is PostgreSQL's `{1,2,NULL}`, with elements in double quotes if they need them, braces
//! within braces for several dimensions, and `[0:2]=` in front if a dimension does not count from 1. The
//! binary form is its `array_send`: number of dimensions, a flag for NULLs, the element's oid, length and
//! lower bound of each dimension, then each element with its length. An empty array has no dimension, so its
//! length is NULL.
//!
//! Reference: `ArrayCount`, `ReadArrayStr` and `array_recv` of PostgreSQL 15, including the details of their
//! errors.

use crate::binary::bytes;
use crate::binary::bytes::wrong;
use crate::collect::{List, Sink, Taken};
use crate::error::quoted;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;
use crate::text::pieces::is_blank;
use crate::value::array_value::{Dimension, MOST_DIMENSIONS, MOST_ELEMENTS};
use crate::value::{ArrayElement, ArrayValue, Value};

/// PostgreSQL's first oid whose meaning differs between databases.
const FIRST_OWN_OID: u32 = 10_000;

fn malformed(literal: &str, detail: &str) -> Error {
    without_detail(literal).with_detail(detail)
}

fn without_detail(literal: &str) -> Error {
    let message = format!("malformed array literal: \"{}\"", quoted(literal));
    Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message)
}

fn limit(message: String) -> Error {
    Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}

/// 54000: more dimensions than allowed.
pub(crate) fn too_many_dimensions(count: usize) -> Error {
    limit(format!("number of array dimensions ({count}) exceeds the maximum allowed ({MOST_DIMENSIONS})"))
}

/// The number of elements that these dimensions hold.
///
/// # Errors
/// 54000 for more elements than an array may have, and for subscripts that are not an `integer`.
pub(crate) fn element_count(dimensions: &[Dimension]) -> Result<usize> {
    let mut count = usize::from(!dimensions.is_empty());
    for dimension in dimensions {
        // A length below zero has overflowed.
        let length = usize::try_from(dimension.length).unwrap_or(usize::MAX);
        count = count.saturating_mul(length);
        if count > MOST_ELEMENTS || length > MOST_ELEMENTS {
            return Err(limit(format!("array size exceeds the maximum allowed ({MOST_ELEMENTS})")));
        }
    }
    for dimension in dimensions {
        if dimension.lower.checked_add(dimension.length).is_none() {
            return Err(limit(format!("array lower bound is too large: {}", dimension.lower)));
        }
    }
    Ok(count)
}

/// Reads an array from its text form; `parse_item` reads an element from its own.
///
/// # Errors
/// 22P02, 2202E, 54000, and those of the elements.
pub(super) fn parse(
    literal: &str,
    element: ArrayElement,
    parse_item: impl Fn(&str) -> Result<Value>,
) -> Result<Value> {
    let (written, mut rest) = written_dimensions(literal)?;
    if let Some(dimensions) = &written {
        let missing = || malformed(literal, "Missing \"=\" after array dimensions.");
        rest = rest.strip_prefix('=').ok_or_else(missing)?.trim_start_matches(is_blank);
        if !rest.starts_with('{') {
            return Err(malformed(literal, "Array contents must start with \"{\"."));
        }
        element_count(dimensions)?;
    } else if !rest.starts_with('{') {
        return Err(malformed(literal, "Array value must start with \"{\" or dimension information."));
    }
    let mut reader = Reader::new(literal);
    reader.read(rest)?;
    let lengths = reader.lengths();
    let dimensions = match written {
        Some(dimensions) => {
            if !dimensions.iter().map(|one| one.length).eq(lengths.iter().copied()) {
                let detail = "Specified array dimensions do not match array contents.";
                return Err(malformed(literal, detail));
            }
            dimensions
        }
        None => lengths.into_iter().map(|length| Dimension { lower: 1, length }).collect(),
    };
    if dimensions.is_empty() {
        return Ok(Value::array(element, Vec::new()));
    }
    if element_count(&dimensions)? != reader.items.len() {
        return Err(without_detail(literal));
    }
    let mut values = List::with_capacity(reader.items.len())?;
    for (item, is_quoted) in reader.items.into_vec() {
        values.push(match &*item {
            item if !is_quoted && item.eq_ignore_ascii_case("null") => Value::Null,
            item => parse_item(item)?,
        })?;
    }
    Ok(Value::shaped_array(element, &dimensions, values.into_vec()))
}

/// The dimensions in front of the contents, if there are any, and the rest of the text.
fn written_dimensions(literal: &str) -> Result<(Option<Vec<Dimension>>, &str)> {
    let mut rest = literal.trim_start_matches(is_blank);
    let mut dimensions = Vec::new();
    while let Some(after) = rest.strip_prefix('[') {
        if dimensions.len() == MOST_DIMENSIONS {
            return Err(too_many_dimensions(MOST_DIMENSIONS + 1));
        }
        let (first, after) = bound(after);
        let Some(first) = first else {
            let detail = "\"[\" must introduce explicitly-specified array dimensions.";
            return Err(malformed(literal, detail));
        };
        let (lower, upper, after) = match after.strip_prefix(':') {
            None => (1, first, after),
            Some(after) => match bound(after) {
                (Some(upper), after) => (first, upper, after),
                (None, _) => return Err(malformed(literal, "Missing array dimension value.")),
            },
        };
        let missing = || malformed(literal, "Missing \"]\" after array dimensions.");
        rest = after.strip_prefix(']').ok_or_else(missing)?.trim_start_matches(is_blank);
        if upper < lower {
            let message = "upper bound cannot be less than lower bound";
            return Err(Error::input(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
        }
        let length = i64::from(upper) - i64::from(lower) + 1;
        let length = i32::try_from(length)
            .map_err(|_| limit(format!("array size exceeds the maximum allowed ({MOST_ELEMENTS})")))?;
        dimensions.push(Dimension { lower, length });
    }
    Ok(((!dimensions.is_empty()).then_some(dimensions), rest))
}

/// A number and the rest of the text.
fn bound(text: &str) -> (Option<i32>, &str) {
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(if digits == 0 { 0 } else { sign + digits });
    (number.parse().ok(), rest)
}

/// The kind of the item that was read last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Nothing,
    LevelStarted,
    ItemStarted,
    QuotedStarted,
    QuotedCompleted,
    ItemDelimited,
    LevelCompleted,
    LevelDelimited,
}

/// Reads the contents of an array: `ArrayCount`, and the items in the same pass.
struct Reader<'l> {
    literal: &'l str,
    state: State,
    /// The number of open braces.
    level: usize,
    /// The highest `level` so far.
    deepest: usize,
    /// For each level: parts seen since it began, and the count of its last list.
    counts: [i32; MOST_DIMENSIONS],
    last_counts: [i32; MOST_DIMENSIONS],
    /// Parts of each level, as counted at the deepest one.
    totals: [i32; MOST_DIMENSIONS],
    is_empty: bool,
    /// The text of the item being read, its length without trailing blanks, and whether it is quoted.
    item: String,
    kept: usize,
    is_quoted: bool,
    items: List<(Box<str>, bool)>,
}

impl<'l> Reader<'l> {
    fn new(literal: &'l str) -> Reader<'l> {
        Reader {
            literal,
            state: State::Nothing,
            level: 0,
            deepest: 1,
            counts: [1; MOST_DIMENSIONS],
            last_counts: [0; MOST_DIMENSIONS],
            totals: [0; MOST_DIMENSIONS],
            is_empty: true,
            item: String::new(),
            kept: 0,
            is_quoted: false,
            items: List::default(),
        }
    }

    /// The lengths of the dimensions; none for an empty array.
    fn lengths(&self) -> Vec<i32> {
        if self.is_empty { Vec::new() } else { self.totals[..self.deepest].to_vec() }
    }

    fn wrong<T>(&self, detail: &str) -> Result<T> {
        Err(malformed(self.literal, detail))
    }

    fn unexpected<T>(&self, character: char) -> Result<T> {
        self.wrong(&format!("Unexpected \"{character}\" character."))
    }

    fn read(&mut self, contents: &str) -> Result<()> {
        let mut characters = contents.char_indices();
        loop {
            let Some((at, character)) = characters.next() else {
                return self.wrong("Unexpected end of input.");
            };
            let is_inside = self.state == State::QuotedStarted;
            match character {
                '\\' => {
                    if !is_inside && !self.may_start_item() {
                        return self.unexpected('\\');
                    }
                    if !is_inside {
                        self.state = State::ItemStarted;
                    }
                    let Some((_, escaped)) = characters.next() else {
                        return self.wrong("Unexpected end of input.");
                    };
                    self.is_quoted = true;
                    self.push(escaped)?;
                }
                '"' if is_inside => {
                    self.state = State::QuotedCompleted;
                    self.kept = self.item.len();
                }
                '"' => match self.state {
                    State::LevelStarted | State::ItemDelimited => {
                        self.state = State::QuotedStarted;
                        self.is_quoted = true;
                        self.is_empty = false;
                    }
                    _ => return self.wrong("Unexpected array element."),
                },
                _ if is_inside => self.put(character)?,
                '{' => self.open()?,
                '}' => {
                    if self.close()? {
                        let after = &contents[at + 1..];
                        return match after.trim_start_matches(is_blank) {
                            "" => Ok(()),
                            _ => self.wrong("Junk after closing right brace."),
                        };
                    }
                }
                ',' => self.delimit()?,
                blank if is_blank(blank) => {
                    if self.state == State::ItemStarted {
                        self.put(blank)?;
                    }
                }
                _ => {
                    if !self.may_start_item() {
                        return self.wrong("Unexpected array element.");
                    }
                    self.state = State::ItemStarted;
                    self.push(character)?;
                }
            }
            guest::spend(1)?;
        }
    }

    fn may_start_item(&self) -> bool {
        matches!(self.state, State::LevelStarted | State::ItemStarted | State::ItemDelimited)
    }

    fn put(&mut self, character: char) -> Result<()> {
        memory::check_growth::<u8>(self.item.capacity(), self.item.len() + character.len_utf8())?;
        self.item.push(character);
        Ok(())
    }

    fn push(&mut self, character: char) -> Result<()> {
        self.is_empty = false;
        self.put(character)?;
        self.kept = self.item.len();
        Ok(())
    }

    /// Ends the item being read, if there is one.
    fn end_item(&mut self) -> Result<()> {
        if matches!(self.state, State::ItemStarted | State::QuotedCompleted) {
            self.item.truncate(self.kept);
            memory::check(self.item.len())?;
            // Without the spare room of the text that was read.
            let item = self.item.as_str().into();
            self.item.clear();
            self.items.push((item, std::mem::take(&mut self.is_quoted)))?;
            self.kept = 0;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        if !matches!(self.state, State::Nothing | State::LevelStarted | State::LevelDelimited) {
            return self.unexpected('{');
        }
        if self.level == MOST_DIMENSIONS {
            return Err(too_many_dimensions(self.level + 1));
        }
        self.state = State::LevelStarted;
        self.totals[self.level] = 0;
        self.level += 1;
        self.deepest = self.deepest.max(self.level);
        Ok(())
    }

    /// Closes a level; returns whether it was the outermost.
    fn close(&mut self) -> Result<bool> {
        let may_close = match self.state {
            State::ItemStarted | State::QuotedCompleted | State::LevelCompleted => true,
            State::LevelStarted => self.level == 1,
            _ => false,
        };
        if !may_close {
            return self.unexpected('}');
        }
        self.end_item()?;
        self.state = State::LevelCompleted;
        self.level -= 1;
        let level = self.level;
        if self.last_counts[level] != 0 && self.counts[level] != self.last_counts[level] {
            return self.wrong("Multidimensional arrays must have sub-arrays with matching dimensions.");
        }
        self.last_counts[level] = self.counts[level];
        self.counts[level] = 1;
        if level == 0 {
            self.totals[self.deepest - 1] += 1;
            return Ok(true);
        }
        self.totals[level - 1] += 1;
        Ok(false)
    }

    fn delimit(&mut self) -> Result<()> {
        if !matches!(self.state, State::ItemStarted | State::QuotedCompleted | State::LevelCompleted) {
            return self.unexpected(',');
        }
        self.end_item()?;
        self.state = match self.state {
            State::LevelCompleted => State::LevelDelimited,
            _ => State::ItemDelimited,
        };
        self.counts[self.level - 1] += 1;
        self.totals[self.deepest - 1] += 1;
        Ok(())
    }
}

/// Appends the text form; `write_item` appends an element's.
pub(super) fn write<S: Sink>(
    array: &ArrayValue,
    out: &mut S,
    write_item: impl Fn(&Value, &mut S) -> Taken<S>,
) -> Taken<S> {
    let dimensions = array.dimensions();
    if dimensions.is_empty() {
        return out.put(b"{}");
    }
    if dimensions.iter().any(|dimension| dimension.lower != 1) {
        for dimension in dimensions.iter() {
            out.put(format!("[{}:{}]", dimension.lower, dimension.upper()).as_bytes())?;
        }
        out.put(b"=")?;
    }
    // The number of elements in a pair of braces, for each level.
    let mut widths: Vec<usize> = Vec::with_capacity(dimensions.len());
    for dimension in dimensions.iter().rev() {
        widths.push(widths.last().unwrap_or(&1) * dimension.length as usize);
    }
    let mut item = S::default();
    for (number, value) in array.values.iter().enumerate() {
        if number > 0 {
            out.put(b",")?;
        }
        let opened = widths.iter().filter(|width| number % **width == 0).count();
        out.put(&b"{{{{{{"[..opened])?;
        write_element(value, &mut item, out, &write_item)?;
        let closed = widths.iter().filter(|width| (number + 1) % **width == 0).count();
        out.put(&b"}}}}}}"[..closed])?;
    }
    Ok(())
}

fn write_element<S: Sink>(
    value: &Value,
    buffer: &mut S,
    out: &mut S,
    write_item: &impl Fn(&Value, &mut S) -> Taken<S>,
) -> Taken<S> {
    if value.is_null() {
        return out.put(b"NULL");
    }
    buffer.clear();
    write_item(value, buffer)?;
    let item = buffer.bytes();
    let needs_quotes = item.is_empty()
        || item.eq_ignore_ascii_case(b"null")
        || item.iter().any(|byte| matches!(byte, b'"' | b'\\' | b'{' | b'}' | b',' | b' ' | 9..=13));
    if !needs_quotes {
        return out.put(item);
    }
    out.put(b"\"")?;
    // Each part but the last ends before a character that is escaped.
    let mut rest = item;
    while let Some(special) = rest.iter().skip(1).position(|byte| matches!(byte, b'"' | b'\\')) {
        let (part, after) = rest.split_at(special + 1);
        put_escaped(part, out)?;
        rest = after;
    }
    put_escaped(rest, out)?;
    out.put(b"\"")
}

/// Bytes of which only the first may need a backslash.
fn put_escaped<S: Sink>(part: &[u8], out: &mut S) -> Taken<S> {
    if matches!(part.first(), Some(b'"' | b'\\')) {
        out.put(b"\\")?;
    }
    out.put(part)
}

/// Takes a big-endian `i32` off the front.
fn take(bytes: &mut &[u8]) -> Result<i32> {
    bytes::take(bytes).map(i32::from_be_bytes)
}

/// Takes an array in its binary form off the front; `read_item` does the same with an element.
///
/// # Errors
/// 22P03, 08P01, 42804, 54000 and those of the elements.
pub(super) fn read_binary(
    rest: &mut &[u8],
    element: ArrayElement,
    read_item: impl Fn(&mut &[u8]) -> Result<Value>,
) -> Result<Value> {
    let count = take(rest)?;
    let Ok(count) = usize::try_from(count) else {
        return Err(wrong(format!("invalid number of dimensions: {count}")));
    };
    if count > MOST_DIMENSIONS {
        return Err(too_many_dimensions(count));
    }
    if !matches!(take(rest)?, 0 | 1) {
        return Err(wrong("invalid array flags"));
    }
    let (oid, wanted) = (take(rest)?, element.sql_type());
    // User-defined types have other numbers in other databases.
    let is_built_in = |oid: u32| oid < FIRST_OWN_OID;
    if oid.cast_unsigned() != wanted.oid() && is_built_in(oid.cast_unsigned()) && is_built_in(wanted.oid()) {
        let found = u32::try_from(oid).ok().and_then(|oid| crate::value::SqlType::from_oid(oid, -1));
        let message = format!(
            "binary data has array element type {} ({}) instead of expected {} ({})",
            oid.cast_unsigned(),
            found.map_or("???", crate::value::SqlType::base_name),
            wanted.oid(),
            wanted.base_name()
        );
        return Err(Error::input(sqlstate::DATATYPE_MISMATCH, message));
    }
    let mut dimensions = Vec::with_capacity(count);
    for _ in 0..count {
        dimensions.push(Dimension { length: take(rest)?, lower: take(rest)? });
    }
    let mut values = List::default();
    for number in 1..=element_count(&dimensions)? {
        let length = take(rest)?;
        if length == -1 {
            values.push(Value::Null)?;
            continue;
        }
        let parts = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let Some((mut item, after)) = parts else {
            return Err(wrong("insufficient data left in message"));
        };
        values.push(read_item(&mut item)?)?;
        if !item.is_empty() {
            return Err(wrong(format!("improper binary format in array element {number}")));
        }
        *rest = after;
    }
    Ok(Value::shaped_array(element, &dimensions, values.into_vec()))
}

/// Appends the binary form; `write_item` appends an element's.
pub(super) fn write_binary(array: &ArrayValue, out: &mut Vec<u8>, write_item: impl Fn(&Value, &mut Vec<u8>)) {
    let dimensions = array.dimensions();
    let has_nulls = i32::from(array.values.iter().any(Value::is_null));
    out.extend_from_slice(&(dimensions.len() as i32).to_be_bytes());
    out.extend_from_slice(&has_nulls.to_be_bytes());
    out.extend_from_slice(&array.element.sql_type().oid().to_be_bytes());
    for dimension in dimensions.iter() {
        out.extend_from_slice(&dimension.length.to_be_bytes());
        out.extend_from_slice(&dimension.lower.to_be_bytes());
    }
    for value in &array.values {
        let at = out.len();
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        if !value.is_null() {
            write_item(value, out);
            let length = i32::try_from(out.len() - at - 4).unwrap_or(i32::MAX);
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::value::SqlType;
    use crate::{binary, text};

    fn read(literal: &str, element: ArrayElement) -> Result<Value> {
        text::parse(literal, SqlType::Array(element), &TimeZone::UTC)
    }

    #[test]
    fn both_forms_come_back_as_they_were() {
        for (literal, element) in [
            ("{}", ArrayElement::Integer),
            ("{1,-2,NULL}", ArrayElement::Integer),
            ("{1.50,2}", ArrayElement::Numeric),
            ("{{1,2},{3,NULL}}", ArrayElement::Integer),
            ("[-1:0][5:5]={{1},{2}}", ArrayElement::BigInt),
            ("{\"\\\\x00ff\"}", ArrayElement::Bytea),
            ("{a,\"b c\",\"\",\"NULL\",NULL,\"q\\\"\\\\\",\"{\"}", ArrayElement::Text),
        ] {
            let value = read(literal, element).unwrap();
            let sql_type = SqlType::Array(element);
            let mut shown = Vec::new();
            text::write(&value, sql_type, &TimeZone::UTC, &mut shown);
            assert_eq!(String::from_utf8(shown).unwrap(), literal);
            let mut bytes = Vec::new();
            binary::write(&value, sql_type, &mut bytes);
            assert_eq!(binary::read(&bytes, sql_type).unwrap(), value);
            for length in 0..bytes.len() {
                assert!(binary::read(&bytes[..length], sql_type).is_err());
            }
        }
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for literal in
            ["", "1,2", "{1", "{1,", "{1,}", "{,1}", "{1}x", "{\"a}", "{{1},{2,3}}", "[0:2]={1,2}", "{{1},2}"]
        {
            assert!(read(literal, ArrayElement::Integer).is_err(), "{literal}");
        }
        assert!(read("{a}", ArrayElement::Integer).is_err());
    }
}
