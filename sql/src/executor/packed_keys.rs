//! The keys of a sort, packed into 128 bits that sort like them.
//!
//! Each key takes as many bits as its type has, and one more that says whether it is NULL. Keys are packed
//! from the first on while there is room: three integers fit, or texts of fifteen bytes in all. A text takes
//! the bytes of the longest of its column: no text contains a zero byte, so shorter ones sort first. Most
//! comparisons read nothing else; where the bits are equal and do not decide, the rows are compared.
//!
//! Reference: PostgreSQL's abbreviated keys; Graefe, "Implementing Sorting in Database Systems" (2006), 3.1
//! (key normalization).

use hyades_types::key::trim_blanks;
use hyades_types::value::Value;

use crate::plan::stage::SortKey;

const BITS: u32 = u128::BITS;
/// Longer texts do not fit.
const MOST_TEXT_BYTES: usize = (BITS / u8::BITS) as usize - 1;
/// Fewer bits than this of a key are not worth having.
const FEWEST_BITS: u32 = 9;

/// How values become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number of so many bits.
    Number(u32),
    /// The first bytes of a text.
    Text,
}

#[derive(Debug)]
struct Field {
    key: SortKey,
    kind: Kind,
    /// The bits that it has in the result, with that of NULL.
    bits: u32,
}

/// Which keys are packed, and where.
#[derive(Debug, Default)]
pub(super) struct PackedKeys {
    fields: Vec<Field>,
    /// This many first keys are equal if the bits are.
    decided: usize,
}

/// The bits that decide the order of all texts of a key, with that of NULL; more than there are if one of
/// them is longer than that.
fn text_bits<R: AsRef<[Value]>>(rows: &[R], key: &SortKey) -> u32 {
    let mut longest = 0;
    for row in rows {
        let text = sorted_bytes(&row.as_ref()[key.value], key);
        longest = longest.max(text.map_or(0, <[u8]>::len));
        if longest > MOST_TEXT_BYTES {
            return u32::MAX;
        }
    }
    u8::BITS * longest as u32 + 1
}

/// The bytes of a text that count for its order.
fn sorted_bytes<'v>(value: &'v Value, key: &SortKey) -> Option<&'v [u8]> {
    let text = value.as_str()?.as_bytes();
    Some(if key.is_char { trim_blanks(text) } else { text })
}

/// A number that sorts like the value, and how many bits it has.
fn number(value: &Value) -> Option<(u64, u32)> {
    let signed = |number: i64, bits: u32| {
        let biased = (number as u64) ^ (1 << (bits - 1));
        (biased & (u64::MAX >> (u64::BITS - bits)), bits)
    };
    Some(match value {
        Value::Boolean(truth) => (u64::from(*truth), 1),
        Value::SmallInt(number) => signed(i64::from(*number), 16),
        Value::Integer(number) | Value::Date(number) => signed(i64::from(*number), 32),
        Value::BigInt(number)
        | Value::Time(number)
        | Value::Timestamp(number)
        | Value::TimestampTz(number) => signed(*number, 64),
        Value::Double(number) => (ordered_float(*number), 64),
        Value::Real(number) => (ordered_float(f64::from(*number)), 64),
        _ => return None,
    })
}

/// NaN is larger than all other numbers, and 0 equals -0.
fn ordered_float(number: f64) -> u64 {
    if number.is_nan() {
        return u64::MAX;
    }
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

impl PackedKeys {
    /// The layout for these rows. Nothing is packed if there is none.
    pub(super) fn of<R: AsRef<[Value]>>(rows: &[R], keys: &[SortKey]) -> PackedKeys {
        let mut packed = PackedKeys::default();
        let mut left = BITS;
        for key in keys {
            let mut values = rows.iter().map(|row| &row.as_ref()[key.value]);
            let Some(example) = values.find(|value| !value.is_null()) else {
                // All are equal.
                packed.decided += 1;
                continue;
            };
            if left < FEWEST_BITS {
                break;
            }
            let (kind, wanted) = match (number(example), example.as_str()) {
                (Some((_, bits)), _) => (Kind::Number(bits), bits + 1),
                (None, Some(_)) => (Kind::Text, text_bits(rows, key)),
                (None, None) => break,
            };
            let bits = wanted.min(left);
            left -= bits;
            packed.fields.push(Field { key: *key, kind, bits });
            if bits < wanted {
                break;
            }
            packed.decided += 1;
        }
        packed
    }

    /// The keys that equal bits do not decide.
    pub(super) fn undecided<'k>(&self, keys: &'k [SortKey]) -> &'k [SortKey] {
        keys.get(self.decided..).unwrap_or_default()
    }

    /// The bits of a row. `None` if a value is of another type than those of the other rows.
    pub(super) fn pack(&self, row: &[Value]) -> Option<u128> {
        let (mut packed, mut used) = (0, 0);
        for Field { key, kind, bits } in &self.fields {
            let code = code(&row[key.value], key, *kind)?;
            packed |= code >> (BITS - bits) << (BITS - bits - used);
            used += bits;
        }
        Some(packed)
    }
}

/// The code of a value, in the highest bits.
fn code(value: &Value, key: &SortKey, kind: Kind) -> Option<u128> {
    let is_present = u128::from(key.nulls_first) << (BITS - 1);
    if value.is_null() {
        return Some(is_present ^ 1 << (BITS - 1));
    }
    let content = match kind {
        Kind::Number(wanted) => {
            let (number, bits) = number(value)?;
            let number = if key.is_descending { !number & (u64::MAX >> (u64::BITS - bits)) } else { number };
            (bits == wanted).then_some(u128::from(number) << (BITS - 1 - bits))?
        }
        Kind::Text => {
            let text = sorted_bytes(value, key)?;
            let mut bytes = [0; 16];
            let length = text.len().min(bytes.len());
            bytes[..length].copy_from_slice(&text[..length]);
            let number = u128::from_be_bytes(bytes);
            (if key.is_descending { !number } else { number }) >> 1
        }
    };
    Some(is_present | content)
}

#[cfg(test)]
mod tests {
    //! The bits agree with the order of the values.

    use super::*;
    use crate::executor::sorter::compare_rows;

    fn kinds() -> Vec<Vec<Value>> {
        let texts = [
            "",
            "a",
            "a ",
            "a\t",
            "ab",
            "b",
            "fifteen bytes..",
            "fifteen bytes..a",
            "fifteen bytes...",
            "\u{e4}",
        ];
        vec![
            texts.map(Value::text).to_vec(),
            [i16::MIN, -1, 0, 1, i16::MAX].map(Value::SmallInt).to_vec(),
            [i32::MIN, -1, 0, 1, i32::MAX].map(Value::Integer).to_vec(),
            [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX].map(Value::BigInt).to_vec(),
            [f64::NEG_INFINITY, f64::MIN, -1.5, -0.0, 0.0, f64::MIN_POSITIVE, 2.0, f64::INFINITY, f64::NAN]
                .map(Value::Double)
                .to_vec(),
            [f32::NEG_INFINITY, -0.0, 0.0, 1.5, f32::NAN].map(Value::Real).to_vec(),
            vec![Value::Boolean(false), Value::Boolean(true)],
            [i32::MIN, 0, 7].map(Value::Date).to_vec(),
            ["1", "-2.5"].map(|text| Value::numeric(hyades_types::numeric::parse(text).unwrap())).to_vec(),
        ]
    }

    #[test]
    fn bits_agree_with_the_order() {
        let mut decided = 0;
        for (at, first) in kinds().into_iter().enumerate() {
            for second in kinds().into_iter().cycle().skip(at).step_by(2).take(3) {
                for flags in 0..64 {
                    let is = |flag: usize| flags & 1 << flag != 0;
                    let key = |value: usize| SortKey {
                        value,
                        is_descending: is(3 * value),
                        nulls_first: is(3 * value + 1),
                        is_char: is(3 * value + 2),
                    };
                    let keys = [key(0), key(1)];
                    let with_null = |values: &[Value]| [values, &[Value::Null]].concat();
                    let rows: Vec<Vec<Value>> = with_null(&first)
                        .iter()
                        .flat_map(|left| {
                            with_null(&second).into_iter().map(|right| vec![left.clone(), right])
                        })
                        .collect();
                    decided += check(&rows, &keys);
                }
            }
        }
        assert!(decided > 100_000, "{decided}");
    }

    fn check(rows: &[Vec<Value>], keys: &[SortKey]) -> usize {
        let packed = PackedKeys::of(rows, keys);
        let mut decided = 0;
        for left in rows {
            for right in rows {
                let bits = packed.pack(left).unwrap().cmp(&packed.pack(right).unwrap());
                let order = compare_rows(left, right, keys);
                let rest = compare_rows(left, right, packed.undecided(keys));
                assert_eq!(bits.then(rest), order, "{left:?} {right:?} {keys:?}");
                decided += usize::from(bits.is_ne());
            }
        }
        decided
    }

    #[test]
    fn short_texts_are_decided_by_the_bits() {
        let keys = [SortKey::ascending(0), SortKey { is_descending: true, ..SortKey::ascending(1) }];
        let row = |text: &str, number| vec![Value::text(text), Value::Integer(number)];
        let mut rows = vec![row("region 10", 1), row("region 1", 2), row("", 3)];
        assert!(PackedKeys::of(&rows, &keys).undecided(&keys).is_empty());
        rows.push(row("region of twelve", 4));
        assert_eq!(PackedKeys::of(&rows, &keys).undecided(&keys).len(), 2);
    }

    #[test]
    fn three_integers_are_decided_by_the_bits() {
        let keys = [SortKey::ascending(0), SortKey::ascending(1), SortKey::ascending(2)];
        let rows = [vec![Value::Null, Value::Integer(3), Value::Integer(4)]];
        assert!(PackedKeys::of(&rows, &keys).undecided(&keys).is_empty());
        assert_eq!(
            PackedKeys::of(&rows, &keys).pack(&[Value::text("x"), Value::Null, Value::text("y")]),
            None
        );
    }
}
