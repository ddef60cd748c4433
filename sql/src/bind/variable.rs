//! Variables of a routine as names in its SQL.

use hyades_engine::procedure::ir::{Expr, Register, RowSlot};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;

use super::aggregation::{Aggregate, AggregateMode};
use super::made_rows::field_expr;
use super::scope::Scope;
use super::windowing::WindowCalls;
use super::{Binder, Bound, Captured, Place};
use crate::bind::visible_variables::Found;

/// The state of one statement, saved while another one is compiled in the middle of it.
pub(crate) struct Saved<'a> {
    sql: &'a str,
    scope: Scope,
    aggregates: Vec<Aggregate>,
    aggregate_mode: AggregateMode,
    windows: Option<WindowCalls>,
    column_places: Vec<(RowSlot, u16, Place)>,
    captured: Option<Captured>,
}

impl<'a> Binder<'a> {
    pub(crate) fn save(&mut self) -> Saved<'a> {
        let forbidden = AggregateMode::Forbidden("in this context");
        Saved {
            sql: self.sql,
            scope: std::mem::take(&mut self.scope),
            aggregates: std::mem::take(&mut self.aggregates),
            aggregate_mode: std::mem::replace(&mut self.aggregate_mode, forbidden),
            windows: self.windows.take(),
            column_places: std::mem::take(&mut self.column_places),
            captured: self.captured.take(),
        }
    }

    pub(crate) fn restore(&mut self, saved: Saved<'a>) {
        self.sql = saved.sql;
        self.scope = saved.scope;
        self.aggregates = saved.aggregates;
        self.aggregate_mode = saved.aggregate_mode;
        self.windows = saved.windows;
        self.column_places = saved.column_places;
        self.captured = saved.captured;
    }
}

impl Binder<'_> {
    /// The variable of this dotted name, if there is one.
    pub(crate) fn variable(&mut self, parts: &[String], place: Place) -> Result<Option<Bound>> {
        let Some(names) = &self.names else { return Ok(None) };
        let Some(found) = names.find(parts) else { return Ok(None) };
        match found {
            Found::Scalar(scalar) => self.read_variable(scalar.register, scalar.sql_type, place).map(Some),
            Found::Field(scalar, field) => {
                let row = self.read_variable(scalar.register, scalar.sql_type, place)?;
                Ok(Some(Bound::typed(field_expr(row.expr, field), field.sql_type, place)))
            }
            Found::Column(sql_type, register) => self.read_variable(register, sql_type, place).map(Some),
            // See `rows`.
            Found::Record(_) => Ok(None),
            Found::NoColumn(record, column) => self.fail(
                sqlstate::UNDEFINED_COLUMN,
                format!("record \"{record}\" has no field \"{column}\""),
                place,
            ),
            Found::Unassigned(record) => {
                let error = Error::input(
                    sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("record \"{record}\" is not assigned yet"),
                )
                .with_detail("The tuple structure of a not-yet-assigned record is indeterminate.");
                Err(self.place(error, place))
            }
            Found::Unclear(record) => {
                let what = format!(
                    "record \"{record}\" has different columns on different paths to this place, which is"
                );
                self.unsupported(Missing::ChangingRecords, &what, place)
            }
        }
    }

    fn read_variable(&mut self, register: Register, sql_type: SqlType, place: Place) -> Result<Bound> {
        let mut register = register;
        if let Some(captured) = &self.captured {
            let known = captured.iter().find(|(from, _)| *from == register).map(|(_, to)| *to);
            register = match known {
                Some(known) => known,
                None => {
                    let copy = self.new_register()?;
                    if let Some(captured) = &mut self.captured {
                        captured.push((register, copy));
                    }
                    copy
                }
            };
        }
        Ok(Bound::typed(Expr::Register(register), sql_type, place))
    }

    /// 42702, in the words of PL/pgSQL.
    pub(crate) fn ambiguous_variable(&self, name: &str, place: Place) -> Error {
        let error =
            Error::input(sqlstate::AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"))
                .with_detail("It could refer to either a PL/pgSQL variable or a table column.");
        self.place(error, place)
    }

    /// `$n` in a body: the routine's parameter.
    pub(crate) fn numbered_variable(&mut self, number: usize, place: Place) -> Result<Option<Bound>> {
        let Some(names) = &self.names else { return Ok(None) };
        match names.parameters.get(number) {
            Some((register, sql_type)) => self.read_variable(*register, *sql_type, place).map(Some),
            None => self.fail(
                sqlstate::UNDEFINED_PARAMETER,
                format!("there is no parameter ${}", number + 1),
                place,
            ),
        }
    }
}
