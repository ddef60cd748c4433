//! The content of an array in a stored row.
//!
//! ```text
//!  0         1
//!  +---------+-------------------------+------------+------------------------------+
//!  | form    | of each dimension: u32  | null       | elements that are not NULL:  |
//!  |         | length [, i32 lower]    | bitmap     | fixed width, or u32 length   |
//!  |         |                         |            | and content                  |
//!  +---------+-------------------------+------------+------------------------------+
//! ```
//! * form: bits 0-2 are the number of dimensions, bit 3 says that there are lower bounds (one of them is not
//!   1), bit 4 that there is a bitmap (an element is NULL). An empty array is one zero byte.
//! * Elements are in the form of columns of their type.
//! * All numbers are little-endian. The form is canonical: `encode(read(bytes)) == bytes`.

use hyades_types::value::array_value::{Dimension, MOST_DIMENSIONS};
use hyades_types::value::{ArrayElement, ArrayValue, SqlType, Value};

use super::{append_content, array, is_content_of, is_fit, read, write_fixed};

const DIMENSIONS: u8 = 0b111;
const HAS_LOWER_BOUNDS: u8 = 0b1000;
const HAS_NULLS: u8 = 0b1_0000;

fn width(sql_type: SqlType) -> usize {
    sql_type.stored_bytes().unwrap_or(0)
}

pub(super) fn append(element: ArrayElement, value: &ArrayValue, out: &mut Vec<u8>) {
    let dimensions = value.dimensions();
    let has_lower_bounds = dimensions.iter().any(|dimension| dimension.lower != 1);
    let has_nulls = value.values.iter().any(Value::is_null);
    let mut form = dimensions.len() as u8;
    form |= if has_lower_bounds { HAS_LOWER_BOUNDS } else { 0 };
    form |= if has_nulls { HAS_NULLS } else { 0 };
    out.push(form);
    for dimension in dimensions.iter() {
        out.extend_from_slice(&dimension.length.cast_unsigned().to_le_bytes());
        if has_lower_bounds {
            out.extend_from_slice(&dimension.lower.to_le_bytes());
        }
    }
    if has_nulls {
        let bitmap = out.len();
        out.resize(bitmap + value.values.len().div_ceil(8), 0);
        for (number, _) in value.values.iter().enumerate().filter(|(_, value)| value.is_null()) {
            out[bitmap + number / 8] |= 1 << (number % 8);
        }
    }
    let sql_type = element.sql_type();
    let width = width(sql_type);
    for value in value.values.iter().filter(|value| !value.is_null()) {
        let start = out.len();
        if width > 0 {
            out.resize(start + width, 0);
            write_fixed(value, &mut out[start..]);
        } else {
            out.extend_from_slice(&[0; 4]);
            append_content(sql_type, value, out);
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// What precedes the elements.
struct Head {
    dimensions: Vec<Dimension>,
    /// Where the bitmap begins, if there is one.
    bitmap: Option<usize>,
    count: usize,
    /// Where the elements begin.
    elements: usize,
}

impl Head {
    fn is_null(&self, bytes: &[u8], number: usize) -> bool {
        self.bitmap.is_some_and(|bitmap| bytes[bitmap + number / 8] >> (number % 8) & 1 != 0)
    }
}

/// `None` if the bytes are not an array.
fn head(bytes: &[u8]) -> Option<Head> {
    let form = *bytes.first()?;
    let has_lower_bounds = form & HAS_LOWER_BOUNDS != 0;
    let dimension_count = usize::from(form & DIMENSIONS);
    if form & !(DIMENSIONS | HAS_LOWER_BOUNDS | HAS_NULLS) != 0 || dimension_count > MOST_DIMENSIONS {
        return None;
    }
    let mut at = 1;
    let mut number = || {
        let number = bytes.get(at..at + 4).map(|bytes| i32::from_le_bytes(array(bytes)));
        at += 4;
        number
    };
    let mut dimensions = Vec::with_capacity(dimension_count);
    let mut count = usize::from(dimension_count > 0);
    for _ in 0..dimension_count {
        let length = number()?;
        let lower = if has_lower_bounds { number()? } else { 1 };
        lower.checked_add(length)?;
        count = count.checked_mul(usize::try_from(length).ok()?)?;
        dimensions.push(Dimension { lower, length });
    }
    let bitmap = (form & HAS_NULLS != 0).then_some(at);
    let elements = at + if bitmap.is_some() { count.div_ceil(8) } else { 0 };
    (elements <= bytes.len()).then_some(Head { dimensions, bitmap, count, elements })
}

/// The array in stored bytes.
pub(super) fn read_array(element: ArrayElement, bytes: &[u8]) -> Value {
    let Some(head) = head(bytes) else { return Value::array(element, Vec::new()) };
    let sql_type = element.sql_type();
    let width = width(sql_type);
    let mut values = Vec::with_capacity(head.count);
    let mut at = head.elements;
    for number in 0..head.count {
        if head.is_null(bytes, number) {
            values.push(Value::Null);
            continue;
        }
        let length = if width > 0 { width } else { content_length(bytes, &mut at) };
        values.push(read(sql_type, &bytes[at..at + length]));
        at += length;
    }
    Value::shaped_array(element, &head.dimensions, values)
}

fn content_length(bytes: &[u8], at: &mut usize) -> usize {
    let length = u32::from_le_bytes(array(&bytes[*at..*at + 4]));
    *at += 4;
    length as usize
}

/// Whether these bytes, from a log, are an array in the form that `append` gives it.
pub(super) fn is_array(element: ArrayElement, bytes: &[u8]) -> bool {
    let Some(head) = head(bytes) else { return false };
    if head.dimensions.is_empty() != (head.count == 0) || head.count > bytes.len().saturating_mul(8) {
        return false;
    }
    let has_lower_bounds = bytes[0] & HAS_LOWER_BOUNDS != 0;
    if has_lower_bounds != head.dimensions.iter().any(|dimension| dimension.lower != 1) {
        return false;
    }
    let nulls = (0..head.count).filter(|number| head.is_null(bytes, *number)).count();
    let spare = head.count % 8;
    let has_spare_bits = head.bitmap.is_some() && spare != 0 && bytes[head.elements - 1] >> spare != 0;
    if head.bitmap.is_some() != (nulls > 0) || has_spare_bits {
        return false;
    }
    let sql_type = element.sql_type();
    let width = width(sql_type);
    let mut at = head.elements;
    for _ in nulls..head.count {
        let length = match width {
            0 if at + 4 > bytes.len() => return false,
            0 => content_length(bytes, &mut at),
            width => width,
        };
        let Some(content) = bytes.get(at..).and_then(|rest| rest.get(..length)) else { return false };
        if !is_content_of(sql_type, content) {
            return false;
        }
        at += length;
    }
    at == bytes.len()
}

/// Whether [`is_array`] will hold for the stored form of the array.
pub(super) fn is_fit_array(element: ArrayElement, value: &ArrayValue) -> bool {
    value.values.iter().all(|value| is_fit(element.sql_type(), value))
}
