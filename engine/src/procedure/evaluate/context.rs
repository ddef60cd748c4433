//! What an expression can see.

use std::sync::Arc;

use hyades_types::environment::Environment;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::{SqlType, Value};

use crate::procedure::buffers::RowBuffer;
use crate::storage::row::RowLayout;
use crate::txn::RowInPlace;

/// What an expression can see.
pub struct Context<'a> {
    pub registers: &'a [Value],
    pub rows: &'a [RowBuffer],
    /// For each row slot, where its row is in its table. `None` if the buffer holds it.
    pub rows_in_place: &'a [Option<RowInPlace<'a>>],
    /// The layout of the row in each row slot. None for a slot that was never filled.
    pub layouts: &'a [Option<Arc<RowLayout>>],
    pub environment: &'a Environment,
}

impl<'a> Context<'a> {
    /// For expressions over registers alone.
    pub fn of_registers(registers: &'a [Value], environment: &'a Environment) -> Context<'a> {
        Context { registers, rows: &[], rows_in_place: &[], layouts: &[], environment }
    }

    /// The row in a row slot and its layout.
    #[inline]
    pub(super) fn row(&self, row: u16) -> Option<(&'a RowLayout, &'a [u8])> {
        let row = usize::from(row);
        let layout = self.layouts.get(row)?.as_ref()?;
        let bytes = match self.rows_in_place.get(row) {
            Some(Some(row)) => row.bytes,
            _ => &self.rows.get(row)?.bytes,
        };
        if bytes.is_empty() { None } else { Some((layout, bytes)) }
    }

    /// The type of a row slot's column.
    pub(super) fn column_type(&self, row: u16, column: u16) -> Option<SqlType> {
        Some(self.layouts.get(usize::from(row))?.as_ref()?.column_type(column))
    }

    pub(super) fn column(&self, row: u16, column: u16) -> Result<Value> {
        match self.row(row) {
            Some((layout, bytes)) => Ok(layout.value(bytes, column)),
            None => Err(Error::input(sqlstate::INTERNAL_ERROR, format!("row slot {row} is empty"))),
        }
    }

    #[inline(always)]
    pub(super) fn register(&self, register: u16) -> Result<&'a Value> {
        self.registers.get(usize::from(register)).ok_or_else(|| no_register(register))
    }
}

#[cold]
#[inline(never)]
fn no_register(register: u16) -> Error {
    Error::input(sqlstate::INTERNAL_ERROR, format!("register {register} does not exist"))
}
