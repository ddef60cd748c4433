//! Values in a [`SpillFile`](super::spill::SpillFile): encoded like the arguments of logged calls
//! (`log::record`), except for those that no parameter can have. What they refer to (enum and composite
//! types, names of catalog objects) stays in memory, each once, and the file holds its index there.

use hyades_types::enumeration::{EnumType, EnumValue};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{ArrayElement, Dimension, SqlType, Value};

use super::{BYTES_PER_UNIT, Row};
use crate::log::record::{read_argument, write_argument};

/// Precedes an argument.
const ARGUMENT: u8 = 0;
/// The index of the type, the position.
const ENUM: u8 = 1;
const OID: u8 = 2;
/// An index into `references`.
const REFERENCE: u8 = 3;
/// The index of the element type, the number of dimensions, length and lower bound of each, the elements.
const ARRAY: u8 = 4;
/// The index of the type, the fields.
const ROW: u8 = 5;

/// Writes and reads the values of one file.
#[derive(Default)]
pub(super) struct Coder {
    enums: Vec<EnumType>,
    references: Vec<Value>,
    elements: Vec<ArrayElement>,
    rows: Vec<CompositeType>,
}

/// The index of an item, which is added if it is not there yet.
fn place_of<T: PartialEq>(kept: &mut Vec<T>, item: T) -> u32 {
    let place = kept.iter().position(|known| *known == item).unwrap_or_else(|| {
        kept.push(item);
        kept.len() - 1
    });
    place as u32
}

impl Coder {
    /// Appends a row after its length.
    pub(super) fn write_row(&mut self, row: &[Value], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        row.iter().for_each(|value| self.write(value, out));
        let length = out.len() - start - 4;
        let prefix = u32::try_from(length).map_err(|_| {
            let message = "a row of more than 4 GiB cannot go to a temporary file";
            Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
        })?;
        out[start..start + 4].copy_from_slice(&prefix.to_le_bytes());
        guest::spend_for(length / BYTES_PER_UNIT)
    }

    fn write(&mut self, value: &Value, out: &mut Vec<u8>) {
        let number = |tag: u8, number: u32, out: &mut Vec<u8>| {
            out.push(tag);
            out.extend_from_slice(&number.to_le_bytes());
        };
        match value {
            Value::Enum(EnumValue { enum_type, position }) => {
                number(ENUM, place_of(&mut self.enums, *enum_type), out);
                out.extend_from_slice(&position.to_le_bytes());
            }
            Value::Oid(oid) => number(OID, *oid, out),
            Value::Reference(_) => number(REFERENCE, place_of(&mut self.references, value.clone()), out),
            Value::Row(row) => {
                let known = self.rows.iter().position(|known| known.is_identical(row.row_type));
                let place = known.unwrap_or_else(|| {
                    self.rows.push(row.row_type);
                    self.rows.len() - 1
                });
                number(ROW, place as u32, out);
                row.fields.iter().for_each(|value| self.write(value, out));
            }
            Value::Array(array) if !is_argument(array.element) => {
                number(ARRAY, place_of(&mut self.elements, array.element), out);
                let dimensions = array.dimensions();
                out.push(dimensions.len() as u8);
                for dimension in dimensions.iter() {
                    out.extend_from_slice(&dimension.length.to_le_bytes());
                    out.extend_from_slice(&dimension.lower.to_le_bytes());
                }
                array.values.iter().for_each(|value| self.write(value, out));
            }
            value => {
                out.push(ARGUMENT);
                write_argument(out, value);
            }
        }
    }

    /// The values of a row. `None` if these bytes are not a row.
    pub(super) fn read_row(&self, bytes: &[u8]) -> Option<Row> {
        let (mut row, mut at) = (Row::new(), 0);
        while at < bytes.len() {
            row.push(self.read(bytes, &mut at)?);
        }
        Some(row)
    }

    fn read(&self, bytes: &[u8], at: &mut usize) -> Option<Value> {
        let tag = *bytes.get(*at)?;
        *at += 1;
        if tag == ARGUMENT {
            return read_argument(bytes, at).ok();
        }
        let place = u32::from_le_bytes(read_bytes(bytes, at)?);
        match tag {
            ENUM => {
                let enum_type = *self.enums.get(place as usize)?;
                let position = u64::from_le_bytes(read_bytes(bytes, at)?);
                Some(Value::Enum(EnumValue { enum_type, position }))
            }
            OID => Some(Value::Oid(place)),
            REFERENCE => self.references.get(place as usize).cloned(),
            ROW => {
                let row_type = *self.rows.get(place as usize)?;
                let fields = row_type.fields().iter().map(|_| self.read(bytes, at));
                Some(Value::row(row_type, fields.collect::<Option<Vec<Value>>>()?))
            }
            ARRAY => self.read_array(*self.elements.get(place as usize)?, bytes, at),
            _ => None,
        }
    }

    fn read_array(&self, element: ArrayElement, bytes: &[u8], at: &mut usize) -> Option<Value> {
        let [count] = read_bytes(bytes, at)?;
        let mut dimensions = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let length = i32::from_le_bytes(read_bytes(bytes, at)?);
            let lower = i32::from_le_bytes(read_bytes(bytes, at)?);
            dimensions.push(Dimension { length, lower });
        }
        let all = dimensions.iter().map(|dimension| dimension.length as usize).product::<usize>();
        let all = if dimensions.is_empty() { 0 } else { all };
        let values = (0..all).map(|_| self.read(bytes, at)).collect::<Option<Vec<Value>>>()?;
        Some(Value::shaped_array(element, &dimensions, values))
    }
}

/// Whether arrays of these can be arguments and are read back unchanged.
fn is_argument(element: ArrayElement) -> bool {
    !matches!(element.sql_type(), SqlType::Enum(_) | SqlType::System(_) | SqlType::Composite(_))
}

fn read_bytes<const COUNT: usize>(bytes: &[u8], at: &mut usize) -> Option<[u8; COUNT]> {
    let found = bytes.get(*at..)?.first_chunk::<COUNT>()?;
    *at += COUNT;
    Some(*found)
}
