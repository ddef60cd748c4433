//! Fields of rows that are values: `(r.row).field`, where a query in FROM has made the row.
//!
//! A value of a composite type knows its fields. A `record` is its text form (see `rows`). Which fields a
//! text has is known of the expression that made it, and of the register of the column that holds it. A field
//! is cut out of the text and converted. A `record` that becomes a value of a composite type is made anew of
//! its fields.
//!
//! `information_schema._pg_expandarray`, by which drivers number the columns of a key, returns rows of the
//! fields `x` and `n`: the elements of an array, and their numbers from 1 on.
//!
//! Reference: PostgreSQL's information_schema.sql, record_in.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::system_type::SystemType;
use hyades_types::value::composite::{CompositeField, CompositeType};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::coerce::Context;
use super::made_rows::{field_expr, made_row};
use super::rows::Row;
use super::rows_from::written_call;
use super::tree::{BoundQuery, Fields, KnownRows};
use super::{Binder, Bound, Class, Place};
use crate::statement::names::fold;

impl Binder<'_> {
    /// Notes which fields this row has.
    pub(super) fn note_row(&mut self, value: &Expr, fields: Fields) {
        self.known_rows.made.push((value.clone(), fields));
    }

    fn fields_of(&self, value: &Expr) -> Option<&Fields> {
        self.known_rows.made.iter().rev().find(|(made, _)| made == value).map(|(_, fields)| fields)
    }

    /// Notes which columns of a query in FROM are rows.
    pub(super) fn note_columns(&mut self, number: u16, query: &[(usize, Fields)]) {
        let columns = query.iter().map(|(column, fields)| (number, *column, fields.clone()));
        self.known_rows.columns.extend(columns);
    }

    /// The columns of a query that are rows.
    pub(super) fn row_columns(&self, query: &BoundQuery) -> Vec<(usize, Fields)> {
        if self.known_rows.made.is_empty() {
            return Vec::new();
        }
        let rows = query.outputs.iter().enumerate();
        rows.filter_map(|(at, output)| Some((at, self.fields_of(&output.expr)?.clone()))).collect()
    }

    /// Notes the registers that hold the columns of a query.
    pub(super) fn note_registers(&mut self, number: u16, registers: &[Register]) {
        let KnownRows { made, columns } = &mut self.known_rows;
        let own = columns.iter().filter(|(query, ..)| *query == number);
        made.extend(own.map(|(_, at, fields)| (Expr::Register(registers[*at]), fields.clone())));
    }

    /// The row that `_pg_expandarray` returns.
    pub(super) fn expanded_array(&mut self, call: &ast::Function, place: Place) -> Result<Row> {
        let of_array = |name: &str| {
            ast::Expr::Function(ast::Function { name: ast::Ident::new(name).into(), ..call.clone() })
        };
        let first = ast::Expr::Value(ast::Value::Number("1".to_owned(), false).with_empty_span());
        let bounds = [first, of_array("cardinality")];
        let bounds = bounds.map(|bound| ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(bound)));
        let numbers = written_call(ast::Ident::new("generate_series").into(), bounds.to_vec());
        let mut fields = Vec::with_capacity(2);
        for (name, value) in [("x", of_array("unnest")), ("n", ast::Expr::Function(numbers))] {
            fields.push((name.to_owned(), self.expression(&value)?));
        }
        Ok(Row::of_fields(fields, place))
    }

    /// A field of a value that is a row.
    pub(super) fn field_of_value(&mut self, value: &Bound, field: &ast::Ident) -> Result<Bound> {
        let name = fold(field);
        if let Some(SqlType::Composite(row_type)) = value.known_type() {
            return match row_type.field(&name) {
                Some(field) => Ok(field_of(value, field)),
                None => {
                    let message = format!("column \"{name}\" not found in data type {}", row_type.shown());
                    self.fail(sqlstate::UNDEFINED_COLUMN, message, value.place)
                }
            };
        }
        let Some(fields) = self.fields_of(&value.expr) else {
            if value.known_type() == Some(SqlType::System(SystemType::Record)) {
                return self.no_field(&name, value.place);
            }
            let message = format!(
                "column notation .{name} applied to type {}, which is not a composite type",
                value.type_name()
            );
            return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, value.place);
        };
        let Some(at) = fields.iter().position(|(known, _)| *known == name) else {
            return self.no_field(&name, value.place);
        };
        let sql_type = fields[at].1;
        self.field_of_text(value, at, sql_type)
    }

    /// The field at this place of a row that is a text.
    fn field_of_text(&mut self, value: &Bound, at: usize, sql_type: SqlType) -> Result<Bound> {
        let number = i32::try_from(at).unwrap_or(i32::MAX);
        let arguments = vec![value.expr.clone(), Expr::Const(Value::Integer(number))];
        let text = Expr::Call { function: Function::RecordField, arguments };
        let text = Bound::typed(text, SqlType::Text, value.place);
        self.coerce_explicitly(text, sql_type, value.place)
    }

    /// The value in the register to which it is moved.
    pub(crate) fn moved_row(&mut self, row: &Bound, register: Register) -> Bound {
        let moved = Expr::Register(register);
        if let Some(fields) = self.fields_of(&row.expr).cloned() {
            self.note_row(&moved, fields);
        }
        Bound { expr: moved, class: row.class.clone(), place: row.place }
    }

    /// All fields of a value that is a row, with their names. `None`: it is none.
    pub(crate) fn fields_of_row(&mut self, value: &Bound) -> Result<Option<Vec<(String, Bound)>>> {
        if let Some(SqlType::Composite(row_type)) = value.known_type() {
            let fields = row_type.fields().iter();
            return Ok(Some(fields.map(|field| (field.name.clone(), field_of(value, field))).collect()));
        }
        let Some(known) = self.fields_of(&value.expr).cloned() else { return Ok(None) };
        let mut fields = Vec::with_capacity(known.len());
        for (at, (name, sql_type)) in known.into_iter().enumerate() {
            fields.push((name, self.field_of_text(value, at, sql_type)?));
        }
        Ok(Some(fields))
    }

    /// A row that was written field by field, as a value of a composite type. `None`: it is no such row.
    pub(super) fn record_as(
        &mut self,
        record: &Bound,
        row_type: CompositeType,
        context: Context,
    ) -> Result<Option<Expr>> {
        let (Expr::Call { function: Function::RowText, arguments }, Some(fields)) =
            (&record.expr, self.fields_of(&record.expr))
        else {
            return Ok(None);
        };
        let place = record.place;
        let given =
            arguments.iter().zip(fields).map(|(argument, (_, sql_type))| match (argument, sql_type) {
                (Expr::Const(Value::Text(text)), SqlType::Text) => {
                    let class = Class::Literal(text.to_string());
                    Bound { expr: Expr::Const(Value::Null), class, place }
                }
                (Expr::Const(Value::Null), _) => Bound { expr: argument.clone(), class: Class::Null, place },
                (argument, sql_type) => Bound::typed(argument.clone(), *sql_type, place),
            });
        let given = given.collect();
        self.row_as(given, row_type, context, place).map(Some)
    }

    /// A row of these fields, each converted to the type of its field.
    pub(super) fn row_as(
        &mut self,
        given: Vec<Bound>,
        row_type: CompositeType,
        context: Context,
        place: Place,
    ) -> Result<Expr> {
        let wrong = |binder: &Self, detail: String| {
            let message = format!("cannot cast type record to {}", row_type.shown());
            let error = Error::input(sqlstate::CANNOT_COERCE, message).with_detail(detail);
            Err(binder.place(error, place))
        };
        let wanted = row_type.fields();
        if given.len() != wanted.len() {
            let amount = if given.len() < wanted.len() { "few" } else { "many" };
            return wrong(self, format!("Input has too {amount} columns."));
        }
        let mut fields = Vec::with_capacity(given.len());
        for (number, (bound, field)) in (1..).zip(given.into_iter().zip(wanted)) {
            let from = bound.type_name();
            match self.try_coerce(bound, field.sql_type, context)? {
                Some(value) => fields.push(value),
                None => {
                    let to = field.sql_type.base_name();
                    return wrong(self, format!("Cannot cast type {from} to {to} in column {number}."));
                }
            }
        }
        Ok(made_row(row_type, fields))
    }
}

fn field_of(row: &Bound, field: &CompositeField) -> Bound {
    Bound::typed(field_expr(row.expr.clone(), field), field.sql_type, row.place)
}
