//! hstore: pairs of texts, of which the second may be NULL.
//!
//! The content is the number of pairs, the lengths of the texts (`NULL` for one that is none), and the texts
//! themselves. Keys are distinct, and in the order of their lengths and bytes.
//!
//! Reference: PostgreSQL's contrib/hstore (`hstore_io.c`, `hstore_op.c`).

mod parse;

use std::borrow::Cow;

use super::definition::{Definition, Put, ReadText};
use crate::binary::bytes::{take, wrong};
use crate::collect::{self, Bytes, List, Sink};
use crate::error::{Error, Result, sqlstate};
use crate::key::parts::encode_bytes;

pub(super) static HSTORE: Definition = Definition {
    name: "hstore",
    array_names: ("hstore[]", "_hstore"),
    oid: 16_302,
    is_string: false,
    catalog_functions: ["hstore_subscript_handler", "hstore_in", "hstore_out", "hstore_recv", "hstore_send"],
    parse: parse::parsed,
    show,
    read_binary,
    write_binary,
    sort_key,
    is_content: |bytes| checked(bytes).is_some(),
};

/// In place of the length of a text.
const NULL: u32 = u32::MAX;
/// The length of a key or a value is less.
const LENGTH_LIMIT: usize = 0x4000_0000;

/// A key and its value.
pub(crate) type Pair<'a> = (&'a [u8], Option<&'a [u8]>);

/// The pairs of a content.
#[derive(Clone)]
pub(crate) struct Pairs<'a> {
    lengths: &'a [u8],
    texts: &'a [u8],
}

impl<'a> Pairs<'a> {
    /// Empty if the bytes are no content, which never happens for values.
    pub(crate) fn of(content: &'a [u8]) -> Pairs<'a> {
        let empty = Pairs { lengths: &[], texts: &[] };
        let Some((count, rest)) = content.split_first_chunk() else { return empty };
        let bytes = (u32::from_le_bytes(*count) as usize).saturating_mul(8);
        match rest.split_at_checked(bytes) {
            Some((lengths, texts)) => Pairs { lengths, texts },
            None => empty,
        }
    }

    pub(crate) fn value_of(mut self, key: &[u8]) -> Option<Option<&'a [u8]>> {
        self.find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    fn length(&mut self) -> Option<u32> {
        let (length, rest) = self.lengths.split_first_chunk()?;
        self.lengths = rest;
        Some(u32::from_le_bytes(*length))
    }

    fn text(&mut self, length: u32) -> Option<&'a [u8]> {
        let (text, rest) = self.texts.split_at_checked(length as usize)?;
        self.texts = rest;
        Some(text)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Pair<'a>;

    fn next(&mut self) -> Option<Pair<'a>> {
        let (key, value) = (self.length()?, self.length()?);
        let key = self.text(key)?;
        let value = if value == NULL { None } else { Some(self.text(value)?) };
        Some((key, value))
    }
}

/// The pairs of bytes that are a content.
fn checked(bytes: &[u8]) -> Option<Pairs<'_>> {
    let (count, _) = bytes.split_first_chunk()?;
    let pairs = Pairs::of(bytes);
    let mut rest = pairs.clone();
    let (mut found, mut before) = (0_u32, None);
    for (key, value) in rest.by_ref() {
        let is_text = |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| !text.contains('\0'));
        let is_later = before.is_none_or(|before: &[u8]| (before.len(), before) < (key.len(), key));
        if !is_later || !is_text(key) || !value.is_none_or(is_text) {
            return None;
        }
        (found, before) = (found + 1, Some(key));
    }
    (found == u32::from_le_bytes(*count) && rest.texts.is_empty()).then_some(pairs)
}

/// The content of a value of these pairs. Of several with one key the first remains.
///
/// # Errors
/// 22001 for a text that is too long, 53200.
pub(crate) fn content<K: AsRef<[u8]>>(pairs: List<(K, Option<K>)>) -> Result<Vec<u8>> {
    let mut pairs = pairs.into_vec();
    for (key, value) in &pairs {
        check_length(key.as_ref(), "key")?;
        value.iter().try_for_each(|value| check_length(value.as_ref(), "value"))?;
    }
    collect::sort(&mut pairs, |(one, _), (other, _)| {
        let (one, other) = (one.as_ref(), other.as_ref());
        one.len().cmp(&other.len()).then_with(|| one.cmp(other))
    })?;
    pairs.dedup_by(|(later, _), (first, _)| later.as_ref() == first.as_ref());
    let mut out = Bytes::default();
    out.put(&(pairs.len() as u32).to_le_bytes())?;
    for (key, value) in &pairs {
        out.put(&(key.as_ref().len() as u32).to_le_bytes())?;
        let length = value.as_ref().map_or(NULL, |value| value.as_ref().len() as u32);
        out.put(&length.to_le_bytes())?;
    }
    for (key, value) in &pairs {
        out.put(key.as_ref())?;
        out.put(value.as_ref().map_or(&[], AsRef::as_ref))?;
    }
    Ok(out.into_vec())
}

fn check_length(text: &[u8], what: &str) -> Result<()> {
    if text.len() < LENGTH_LIMIT {
        return Ok(());
    }
    let message = format!("string too long for hstore {what}");
    Err(Error::input(sqlstate::STRING_DATA_RIGHT_TRUNCATION, message))
}

/// 22004
pub(crate) fn null_key() -> Error {
    Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, "null value not allowed for hstore key")
}

fn show(content: &[u8], put: Put<'_>) {
    for (at, (key, value)) in Pairs::of(content).enumerate() {
        let is_taken = (at == 0 || put(b", "))
            && show_quoted(key, put)
            && put(b"=>")
            && match value {
                None => put(b"NULL"),
                Some(value) => show_quoted(value, put),
            };
        if !is_taken {
            return;
        }
    }
}

fn show_quoted(text: &[u8], put: Put<'_>) -> bool {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
    let mut rest = text;
    if !put(b"\"") {
        return false;
    }
    while let Some(at) = rest.iter().position(is_special) {
        if !put(&rest[..at]) || !put(b"\\") || !put(&rest[at..=at]) {
            return false;
        }
        rest = &rest[at + 1..];
    }
    put(rest) && put(b"\"")
}

fn read_binary(bytes: &[u8], text: ReadText) -> Result<Vec<u8>> {
    let mut rest = bytes;
    let count = i32::from_be_bytes(take(&mut rest)?);
    if count < 0 || count as usize > crate::memory::LARGEST_VALUE / 40 {
        let most = crate::memory::LARGEST_VALUE / 40;
        let message = format!("number of pairs ({count}) exceeds the maximum allowed ({most})");
        return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let mut pairs = List::default();
    for _ in 0..count {
        let key = read_text(&mut rest, text)?.ok_or_else(null_key)?;
        pairs.push((key, read_text(&mut rest, text)?))?;
    }
    match rest {
        [] => content(pairs),
        _ => Err(wrong("incorrect binary data format")),
    }
}

/// A text after its length, which is negative for NULL.
fn read_text<'a>(rest: &mut &'a [u8], text: ReadText) -> Result<Option<&'a str>> {
    let Ok(length) = usize::try_from(i32::from_be_bytes(take(rest)?)) else { return Ok(None) };
    let missing = || Error::input(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message");
    text(rest.split_off(..length).ok_or_else(missing)?).map(Some)
}

fn write_binary(content: &[u8], out: &mut Vec<u8>) {
    let length = |text: &[u8]| (text.len() as i32).to_be_bytes();
    out.extend_from_slice(&(Pairs::of(content).count() as i32).to_be_bytes());
    for (key, value) in Pairs::of(content) {
        out.extend_from_slice(&length(key));
        out.extend_from_slice(key);
        out.extend_from_slice(&value.map_or((-1_i32).to_be_bytes(), length));
        out.extend_from_slice(value.unwrap_or_default());
    }
}

/// All texts, one after the other; then the number of pairs; then where each text ends, and whether it is
/// NULL. This is the order of `hstore_cmp`.
fn sort_key(content: &[u8]) -> Cow<'_, [u8]> {
    let pairs = Pairs::of(content);
    let mut key = Vec::with_capacity(content.len() + 8);
    encode_bytes(pairs.texts, &mut key);
    key.extend_from_slice(&((pairs.lengths.len() / 8) as u32).to_be_bytes());
    let mut end = 0_u32;
    for (own, value) in pairs {
        for text in [Some(own), value] {
            end += text.map_or(0, |text| text.len() as u32);
            key.extend_from_slice(&end.to_be_bytes());
            key.push(u8::from(text.is_none()));
        }
    }
    Cow::Owned(key)
}
