//! Assignments: to variables, to elements of arrays, to parts of a jsonb, to records.

use hyades_engine::procedure::ir::{Expr, Instruction};
use hyades_types::error::{Result, SqlState, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;

use sqlparser::ast::Expr as Expression;

use super::routine_body::Routine;
use super::tree::{Fragment, Path, Target};
use crate::bind::Place;
use crate::bind::visible_variables::{Found, Scalar};
use crate::statement::query;

/// The target of an assignment.
pub(super) enum Destination {
    Scalar(Scalar),
    Record(usize),
}

impl<'a> Routine<'a> {
    /// The target of an assignment: the place of a variable, or the record it belongs to.
    pub(super) fn target(&mut self, path: &Path) -> Result<Destination> {
        let shown = path.parts.join(".");
        match self.names().find(&path.parts) {
            Some(Found::Scalar(scalar)) if scalar.is_constant => {
                self.fail(SqlState("22005"), format!("variable \"{shown}\" is declared CONSTANT"), path.start)
            }
            Some(Found::Scalar(scalar)) => Ok(Destination::Scalar(scalar)),
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
    fn assign_record(&mut self, record: usize, value: &'a Fragment) -> Result<()> {
        self.begin(value)?;
        let bound = query::parse_expression(&value.text).and_then(|parsed| {
            let row = self.compiler.binder.row_fields(&parsed)?;
            self.compiler.prepare_subqueries()?;
            Ok(row)
        });
        let Some(fields) = bound.map_err(|error| self.placed(error, value))? else {
            return self.unsupported(
                Missing::ChangingRecords,
                "assigning anything but a row to a record is",
                value.start,
            );
        };
        let mut columns = Vec::with_capacity(fields.len());
        for (name, field) in fields {
            let (expr, sql_type) = self.compiler.binder.known_or_text(field)?;
            columns.push((name, expr, sql_type));
        }
        let named: Vec<(String, SqlType)> =
            columns.iter().map(|(name, _, sql_type)| (name.clone(), *sql_type)).collect();
        let slots = self.compiler.record_slots(record, &named)?;
        let mut assigned = Vec::with_capacity(slots.len());
        for ((to, to_type), (_, from, from_type)) in slots.into_iter().zip(columns) {
            assigned.push((to, self.compiler.assigned(from, from_type, to_type)?));
        }
        self.compiler.assign_all(assigned)
    }
}
