//! Copies of values, made only after asking for their bytes.

use super::{BYTES_PER_UNIT, List};
use crate::error::Result;
use crate::guest;
use crate::memory;
use crate::value::Value;

/// Values copied between two reports of work.
const COPIED_AT_ONCE: usize = 256;

impl List<Value> {
    /// Adds a copy.
    ///
    /// # Errors
    /// As [`List::push`].
    #[inline]
    pub fn push_copy(&mut self, value: &Value) -> Result<()> {
        let copy = copy(value)?;
        self.push(copy)
    }

    /// Adds a text.
    ///
    /// # Errors
    /// As [`List::push`].
    #[inline]
    pub fn push_text(&mut self, text: &str) -> Result<()> {
        memory::check(text.len())?;
        guest::spend_for(text.len() / BYTES_PER_UNIT)?;
        self.push(Value::text(text))
    }
}

/// A copy of a value.
///
/// # Errors
/// 53200; 57014.
#[inline]
pub fn copy(value: &Value) -> Result<Value> {
    let bytes = value.heap_bytes();
    if bytes > 0 {
        memory::check(bytes)?;
        guest::spend_for(bytes / BYTES_PER_UNIT)?;
    }
    Ok(value.clone())
}

/// Copies of values.
///
/// # Errors
/// As [`List::push`].
pub fn copies<'v>(values: impl IntoIterator<Item = &'v Value>) -> Result<Vec<Value>> {
    let values = values.into_iter();
    let mut list = List::with_capacity(values.size_hint().0)?;
    for value in values {
        list.push_copy(value)?;
    }
    Ok(list.into_vec())
}

/// Copies of values that lie together.
///
/// # Errors
/// As [`List::push`].
pub fn copy_all(values: &[Value]) -> Result<Vec<Value>> {
    let mut list = List::with_capacity(values.len())?;
    for stretch in values.chunks(COPIED_AT_ONCE) {
        let bytes = stretch.iter().map(Value::heap_bytes).sum::<usize>();
        memory::check(bytes)?;
        guest::spend_for(stretch.len() + bytes / BYTES_PER_UNIT)?;
        list.0.extend_from_slice(stretch);
    }
    Ok(list.into_vec())
}
