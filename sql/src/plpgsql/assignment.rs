//! Assignments: to variables, to elements of arrays, to parts of a jsonb, to records.

use hyades_engine::procedure::ir::{Expr, Instruction};
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::composite::CompositeField;
use hyades_types::value::{SqlType, Value};

use sqlparser::ast::Expr as Expression;

use super::routine_body::Routine;
use super::tree::{Fragment, Path, Target};
use crate::bind::made_rows::row_with;
use crate::bind::visible_variables::{Found, RecordState, Scalar};
use crate::bind::{Bound, Class, Place};
use crate::statement::query;

/// The target of an assignment.
pub(super) enum Destination {
    Scalar(Scalar),
    Record(usize),
    /// A field of a variable of a composite type.
    Field(Scalar, &'static CompositeField),
}

impl<'a> Routine<'a> {
    /// The target of an assignment: the place of a variable, or the record it belongs to.
    pub(super) fn target(&mut self, path: &Path) -> Result<Destination> {
        let shown = path.parts.join(".");
        match self.names().find(&path.parts) {
            Some(Found::Scalar(scalar) | Found::Field(scalar, _)) if scalar.is_constant => {
                self.fail(SqlState("22005"), format!("variable \"{shown}\" is declared CONSTANT"), path.start)
            }
            Some(Found::Scalar(scalar)) => Ok(Destination::Scalar(scalar)),
            Some(Found::Field(scalar, field)) => Ok(Destination::Field(scalar, field)),
            Some(Found::Column(sql_type, register)) => {
                Ok(Destination::Scalar(Scalar::new(register, sql_type)))
            }
            Some(Found::Record(record)) => Ok(Destination::Record(record)),
            Some(Found::NoColumn(record, column)) => self.fail(
                sqlstate::UNDEFINED_COLUMN,
                format!("record \"{record}\" has no field \"{column}\""),
                path.start,
            ),
            Some(Found::Unassigned(record)) => self.fail(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("record \"{record}\" is not assigned yet"),
                path.start,
            ),
            Some(Found::Unclear(record)) => {
                let what = format!("record \"{record}\" has different columns on different paths, which is");
                self.unsupported(Missing::ChangingRecords, &what, path.start)
            }
            None => {
                self.fail(sqlstate::SYNTAX_ERROR, format!("\"{shown}\" is not a known variable"), path.start)
            }
        }
    }

    pub(super) fn assign(&mut self, target: &'a Target, value: &'a Fragment) -> Result<()> {
        let scalar = match self.target(&target.path)? {
            Destination::Scalar(scalar) => scalar,
            Destination::Record(record) => return self.assign_record(record, value),
            Destination::Field(scalar, field) if target.subscripts.is_none() => {
                let value = self.value(value, field.sql_type)?;
                let row = with_field(&scalar, field, value);
                return self.store(&scalar, row, &target.path.parts.join("."));
            }
            Destination::Field(..) => {
                return self.unsupported(
                    Missing::AssignedParts,
                    "subscripts of a field of a parameter are",
                    target.path.start,
                );
            }
        };
        let Some(subscripts) = &target.subscripts else {
            let value = self.value(value, scalar.sql_type)?;
            let value = self.with_fitting_elements(&scalar, value)?;
            return self.store(&scalar, value, &target.path.parts.join("."));
        };
        let (SqlType::Array(element), Some(index)) = (scalar.sql_type, &target.index) else {
            if matches!(scalar.sql_type, SqlType::Array(_) | SqlType::Jsonb) {
                return self.assign_part(&scalar, target, subscripts, value);
            }
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                scalar.sql_type.base_name()
            );
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, target.path.start);
        };
        let index = self.value(index, SqlType::Integer)?;
        let value = self.value(value, scalar.element.unwrap_or(element.sql_type()))?;
        let mut array = scalar.register;
        if !scalar.is_unrestricted() {
            array = self.compiler.binder.new_register()?;
            self.compiler.code.evaluate(array, Expr::Register(scalar.register));
        }
        self.compiler.code.push(Instruction::SetElement { array, element, index, value });
        match scalar.is_unrestricted() {
            true => Ok(()),
            false => self.store(&scalar, Expr::Register(array), &target.path.parts.join(".")),
        }
    }

    /// A part of an array, or of a jsonb, at the end of several subscripts or in a slice.
    fn assign_part(
        &mut self,
        scalar: &Scalar,
        target: &'a Target,
        subscripts: &'a Fragment,
        value: &'a Fragment,
    ) -> Result<()> {
        let name = target.path.parts.join(".");
        let value = self.bind(value)?;
        self.begin(subscripts)?;
        let assigned = query::parse_expression(&subscripts.text).and_then(|parsed| {
            let chain = match &parsed {
                Expression::CompoundFieldAccess { access_chain, .. } => access_chain.as_slice(),
                _ => &[],
            };
            let goal = (Expr::Register(scalar.register), scalar.sql_type, name.as_str());
            let assigned = self.compiler.binder.assigned_elements(goal, chain, value, Place::Unknown)?;
            self.compiler.prepare_subqueries()?;
            Ok(assigned)
        });
        let assigned = assigned.map_err(|error| self.placed(error, subscripts))?;
        let assigned = self.with_fitting_elements(scalar, assigned)?;
        self.store(scalar, assigned, &name)
    }

    /// `record := row`.
    pub(super) fn assign_record(&mut self, record: usize, value: &'a Fragment) -> Result<()> {
        let fields = self.row_of(value)?;
        let Some(fields) = fields else {
            if let RecordState::Unassigned | RecordState::Unclear = self.names().records[record].state {
                return self.unsupported(
                    Missing::ChangingRecords,
                    "assigning anything but a row to a record is",
                    value.start,
                );
            }
            let slots = self.compiler.record_slots(record, &[])?;
            let nulls = slots.into_iter().map(|(register, _)| (register, Expr::Const(Value::Null)));
            return self.compiler.assign_all(nulls.collect());
        };
        self.assign_fields(record, fields)
    }

    /// The fields of the row that an expression is. `None`: it is NULL.
    pub(super) fn row_of(&mut self, value: &'a Fragment) -> Result<Option<Vec<(String, Bound)>>> {
        self.begin(value)?;
        let bound = query::parse_selected(&value.text).and_then(|parsed| {
            if let Some(row) = self.compiler.binder.row_fields(&parsed)? {
                self.compiler.prepare_subqueries()?;
                return Ok(Some(row));
            }
            let bound = self.with_subqueries(&parsed)?;
            if bound.class == Class::Null {
                return Ok(None);
            }
            let register = self.compiler.binder.new_register()?;
            let own = self.compiler.binder.moved_row(&bound, register);
            self.compiler.code.evaluate(register, bound.expr.clone());
            match self.compiler.binder.fields_of_row(&own)? {
                Some(fields) => Ok(Some(fields)),
                None => {
                    let message = "cannot assign non-composite value to a record variable";
                    Err(Error::input(sqlstate::DATATYPE_MISMATCH, message))
                }
            }
        });
        bound.map_err(|error| self.placed(error, value))
    }

    /// Gives a record these fields.
    pub(super) fn assign_fields(&mut self, record: usize, fields: Vec<(String, Bound)>) -> Result<()> {
        let mut columns = Vec::with_capacity(fields.len());
        for (name, field) in fields {
            let (expr, sql_type) = self.compiler.binder.known_or_text(field)?;
            columns.push((name, expr, sql_type));
        }
        let named: Vec<(String, SqlType)> =
            columns.iter().map(|(name, _, sql_type)| (name.clone(), *sql_type)).collect();
        let slots = self.compiler.record_slots(record, &named)?;
        let mut columns = columns.into_iter();
        let mut assigned = Vec::with_capacity(slots.len());
        for (to, to_type) in slots {
            let value = match columns.next() {
                Some((_, from, from_type)) => self.compiler.assigned(from, from_type, to_type)?,
                None => Expr::Const(Value::Null),
            };
            assigned.push((to, value));
        }
        self.compiler.assign_all(assigned)
    }
}

/// The value of a variable of a composite type with another value of a field.
pub(super) fn with_field(scalar: &Scalar, field: &CompositeField, value: Expr) -> Expr {
    match scalar.sql_type {
        SqlType::Composite(row_type) => row_with(row_type, Expr::Register(scalar.register), field, value),
        _ => value,
    }
}
