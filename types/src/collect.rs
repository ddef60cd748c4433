//! Collecting: lists, texts and bytes that a computation makes of what a client gave it.
//!
//! A function's result may be far larger than its arguments, and so may what it keeps on the way. An
//! allocation cannot fail in an orderly way, and a loop that reports nothing cannot be stopped. So functions
//! collect in the types of this module, whose operations do three things by themselves:
//!
//! * **ask** ([`memory::check`]) before they grow: 53200 comes before the memory is taken. Until the capacity
//!   is used up, that costs a comparison of a thread-local number with a limit;
//! * **count** ([`guest::spend`]) what they do: the request to stop is heard in the middle of the work;
//! * **copy** values only after asking for their bytes.
//!
//! | instead of | here |
//! |---|---|
//! | `Vec<T>` | [`List`] |
//! | `iterator.collect()` | [`list`], [`try_list`], [`values::copies`], [`values::copy_all`] |
//! | `String`, `CompactString` | [`Text`], [`characters`] |
//! | `Vec<u8>` | [`Bytes`] |
//! | `sort_by` | [`sort`] |
//!
//! Text forms are written to a [`Sink`]: to a plain vector where the bytes belong to the server (results on
//! their way to a client), and to [`Bytes`] in functions.
//!
//! `types/tests/greedy` calls every function with arguments that would show what was forgotten.

use std::cmp::Ordering;
use std::convert::Infallible;

use compact_str::CompactString;

use crate::error::{Error, Result};
use crate::guest;
use crate::memory;

pub mod values;

/// Bytes that are copied in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 64;
/// Characters between two reports of work: some microseconds.
const STRETCH: usize = 1024;
/// Characters that are converted in about ten nanoseconds.
const CHARACTERS_PER_UNIT: usize = 4;
/// Bytes of a repeated text that are copied at once.
const REPEATED_AT_ONCE: usize = 256;
/// A longer copy is made in steps, between which it can be stopped.
const COPIED_AT_ONCE: usize = 1 << 20;
/// Items sorted at once: a few milliseconds, during which nothing can stop it.
const SORTED_AT_ONCE: usize = 16 << 10;

/// A vector that asks before it grows and counts its items.
#[derive(Clone, Debug)]
pub struct List<T>(Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

impl<T> List<T> {
    /// With room for this many items.
    ///
    /// # Errors
    /// 53200.
    pub fn with_capacity(capacity: usize) -> Result<List<T>> {
        memory::check(capacity.saturating_mul(size_of::<T>()))?;
        Ok(List(Vec::with_capacity(capacity)))
    }

    /// # Errors
    /// 53200 before it grows, or if the items before have used up the memory; 57014.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<()> {
        self.ask_for(1)?;
        self.0.push(item);
        guest::spend(1)
    }

    /// # Errors
    /// As [`List::push`].
    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) -> Result<()> {
        items.into_iter().try_for_each(|item| self.push(item))
    }

    /// Asks for room for more items, and for what the items have allocated themselves.
    #[inline]
    fn ask_for(&self, more: usize) -> Result<()> {
        if self.0.len() + more > self.0.capacity() {
            memory::check_growth::<T>(self.0.capacity(), self.0.len() + more)?;
        }
        memory::check(0)
    }

    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

/// Only a slice: a method of the vector would not ask.
impl<T> std::ops::Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> std::ops::DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

/// What an iterator yields.
///
/// # Errors
/// As [`List::push`].
pub fn list<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut list = List::with_capacity(items.size_hint().0)?;
    list.extend(items)?;
    Ok(list.into_vec())
}

/// What an iterator yields, up to the first error.
///
/// # Errors
/// As [`List::push`], and the iterator's.
pub fn try_list<T>(items: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut list = List::default();
    for item in items {
        list.push(item?)?;
    }
    Ok(list.into_vec())
}

/// A text that asks before it grows and counts its bytes.
#[derive(Debug, Default)]
pub struct Text(CompactString);

impl Text {
    /// With room for this many bytes.
    ///
    /// # Errors
    /// 53200, 54000.
    pub fn with_capacity(bytes: usize) -> Result<Text> {
        memory::check_value(bytes)?;
        Ok(Text(CompactString::with_capacity(bytes)))
    }

    /// # Errors
    /// 53200 and 54000 before it grows; 57014.
    #[inline]
    pub fn push_str(&mut self, more: &str) -> Result<()> {
        self.ask_for(more.len())?;
        self.0.push_str(more);
        guest::spend_for(1 + more.len() / BYTES_PER_UNIT)
    }

    /// # Errors
    /// As [`Text::push_str`].
    #[inline]
    pub fn push(&mut self, character: char) -> Result<()> {
        self.ask_for(character.len_utf8())?;
        self.0.push(character);
        guest::spend(1)
    }

    /// Makes room for this many bytes more.
    ///
    /// # Errors
    /// 53200, 54000.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.ask_for(bytes)?;
        self.0.reserve(bytes);
        Ok(())
    }

    /// Appends a character this many times.
    ///
    /// # Errors
    /// As [`Text::push_str`].
    pub fn fill(&mut self, character: char, times: usize) -> Result<()> {
        self.push_times(character.encode_utf8(&mut [0; 4]), times)
    }

    /// Appends a text this many times.
    ///
    /// # Errors
    /// As [`Text::push_str`].
    pub fn push_times(&mut self, part: &str, times: usize) -> Result<()> {
        let length = part.len();
        let bytes = times.saturating_mul(length);
        if self.0.is_empty() && bytes <= COPIED_AT_ONCE {
            self.ask_for(bytes)?;
            self.0 = part.repeat(times).into();
            return guest::spend_for(1 + bytes / BYTES_PER_UNIT);
        }
        self.reserve(bytes)?;
        // Copies lie side by side, so that few long pieces are appended in place of many short ones.
        let mut block = [0; REPEATED_AT_ONCE];
        let at_once = (REPEATED_AT_ONCE / length.max(1)).min(times);
        let (mut filled, wanted) = (length.min(at_once * length), at_once * length);
        block[..filled].copy_from_slice(&part.as_bytes()[..filled]);
        while filled < wanted {
            let more = filled.min(wanted - filled);
            block.copy_within(..more, filled);
            filled += more;
        }
        let (piece, at_once) = match std::str::from_utf8(&block[..wanted]) {
            Ok(piece) if at_once > 1 => (piece, at_once),
            _ => (part, 1),
        };
        (0..times / at_once).try_for_each(|_| self.push_str(piece))?;
        (0..times % at_once).try_for_each(|_| self.push_str(part))
    }

    /// A text at least grows by half, and exists twice until it has moved.
    #[inline]
    fn ask_for(&self, more: usize) -> Result<()> {
        let length = self.0.len().saturating_add(more);
        if length > self.0.capacity() {
            memory::check_value(length)?;
            memory::check(length.max(self.0.capacity().saturating_mul(2)))?;
        }
        Ok(())
    }

    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    pub fn finish(self) -> CompactString {
        self.0
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A text of the characters of another, each replaced by one or left out.
///
/// # Errors
/// As [`Text::push_str`].
pub fn characters(
    characters: impl Iterator<Item = char>,
    mut replace: impl FnMut(char) -> Option<char>,
) -> Result<CompactString> {
    let mut text = Text::with_capacity(characters.size_hint().0)?;
    for (number, character) in characters.enumerate() {
        if number % STRETCH == STRETCH - 1 {
            guest::spend_for(STRETCH / CHARACTERS_PER_UNIT)?;
        }
        if let Some(replaced) = replace(character) {
            text.ask_for(replaced.len_utf8())?;
            text.0.push(replaced);
        }
    }
    Ok(text.finish())
}

/// Whether a sink has taken something.
pub type Taken<S> = std::result::Result<(), <S as Sink>::Refusal>;

/// Where text forms are written.
pub trait Sink: Default {
    /// Why it takes no more: [`Infallible`] for a plain vector.
    type Refusal;

    /// Appends bytes.
    ///
    /// # Errors
    /// As [`Bytes::put`], if it asks.
    fn put(&mut self, bytes: &[u8]) -> std::result::Result<(), Self::Refusal>;

    /// Appends something short.
    ///
    /// # Errors
    /// As [`Bytes::put`], if it asks.
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> std::result::Result<(), Self::Refusal>;

    fn bytes(&self) -> &[u8];

    fn clear(&mut self);
}

impl Sink for Vec<u8> {
    type Refusal = Infallible;

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> std::result::Result<(), Infallible> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> std::result::Result<(), Infallible> {
        write(self);
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        self
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }
}

/// Bytes that ask before they grow and count themselves.
#[derive(Debug, Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// With room for this many bytes.
    ///
    /// # Errors
    /// 53200, 54000.
    pub fn with_capacity(bytes: usize) -> Result<Bytes> {
        memory::check_value(bytes)?;
        Ok(Bytes(Vec::with_capacity(bytes)))
    }

    /// # Errors
    /// As [`Sink::put`].
    #[inline]
    pub fn push(&mut self, byte: u8) -> Result<()> {
        self.ask_for(1)?;
        self.0.push(byte);
        guest::spend(1)
    }

    /// Appends a byte this many times.
    ///
    /// # Errors
    /// As [`Sink::put`].
    pub fn fill(&mut self, byte: u8, times: usize) -> Result<()> {
        self.ask_for(times)?;
        self.0.resize(self.0.len() + times, byte);
        guest::spend_for(1 + times / BYTES_PER_UNIT)
    }

    #[inline]
    fn ask_for(&self, more: usize) -> Result<()> {
        let length = self.0.len().saturating_add(more);
        if length > self.0.capacity() {
            memory::check_value(length)?;
            memory::check_growth::<u8>(self.0.capacity(), length)?;
        }
        Ok(())
    }

    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }

    /// As a text, without another copy if it is well-formed.
    ///
    /// # Errors
    /// 53200.
    pub fn into_text(self) -> Result<CompactString> {
        match String::from_utf8(self.0) {
            Ok(text) => Ok(text.into()),
            Err(error) => {
                memory::check(error.as_bytes().len())?;
                Ok(CompactString::from_utf8_lossy(error.as_bytes()))
            }
        }
    }
}

/// Only a slice: a method of the vector would not ask.
impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::ops::DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Sink for Bytes {
    type Refusal = Error;

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.ask_for(bytes.len())?;
        self.0.extend_from_slice(bytes);
        guest::spend_for(1 + bytes.len() / BYTES_PER_UNIT)
    }

    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let before = self.0.len();
        write(&mut self.0);
        memory::check(0)?;
        guest::spend_for(1 + (self.0.len() - before) / BYTES_PER_UNIT)
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Sorts, keeping the order of equal items. Short runs are sorted one after the other and then merged, so
/// that a request to stop is heard meanwhile.
///
/// # Errors
/// 57014; 53200 for the room that merging needs.
pub fn sort<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) -> Result<()> {
    memory::check(size_of_val(items) / 2)?;
    let mut width = SORTED_AT_ONCE;
    for run in items.chunks_mut(width) {
        run.sort_by(&mut compare);
        guest::spend_for(run.len().saturating_mul(4))?;
    }
    while width < items.len() {
        width *= 2;
        for run in items.chunks_mut(width) {
            // Two sorted halves, which the library finds and merges.
            run.sort_by(&mut compare);
            guest::spend_for(run.len())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
