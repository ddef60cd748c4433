//! Fields of rows that are values: `(r.row).field`, where a query in FROM has made the row.
//!
//! A row as a value is its text form (see `rows`). Which fields a text has is known of the expression that
//! made it, and of the register of the column that holds it. A field is cut out of the text and converted.
//!
//! `information_schema._pg_expandarray`, by which drivers number the columns of a key, returns rows of the
//! fields `x` and `n`: the elements of an array, and their numbers from 1 on.
//!
//! Reference: PostgreSQL's information_schema.sql, record_in.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::Result;
use hyades_types::function::Function;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::rows::Row;
use super::rows_from::written_call;
use super::tree::{BoundQuery, Fields, KnownRows};
use super::{Binder, Bound, Place};
use crate::statement::names::fold;

impl Binder<'_> {
    /// Notes which fields the row has that was made last.
    pub(super) fn note_row(&mut self, fields: Fields) {
        self.known_rows.last = Some(fields);
    }

    /// Notes that this value, if it is a row, is the one that was made last.
    pub(super) fn keep_row(&mut self, value: &Expr) {
        let Some(fields) = self.known_rows.last.take() else { return };
        let is_row = |expr: &Expr| matches!(expr, Expr::Call { function: Function::RowText, .. });
        let is_kept = match value {
            Expr::Case { branches, otherwise } => branches.len() == 1 && is_row(otherwise),
            value => is_row(value),
        };
        if is_kept {
            self.known_rows.made.push((value.clone(), fields));
        }
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
        let KnownRows { made, columns, .. } = &mut self.known_rows;
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

    /// A field of a value that is a row. `None`: it is none.
    pub(super) fn field_of_value(&mut self, value: &Bound, field: &ast::Ident) -> Result<Option<Bound>> {
        let Some(fields) = self.fields_of(&value.expr) else { return Ok(None) };
        let name = fold(field);
        let Some(at) = fields.iter().position(|(known, _)| *known == name) else {
            return self.no_field(&name, value.place);
        };
        let sql_type = fields[at].1;
        let number = i32::try_from(at).unwrap_or(i32::MAX);
        let arguments = vec![value.expr.clone(), Expr::Const(Value::Integer(number))];
        let text = Expr::Call { function: Function::RecordField, arguments };
        let text = Bound::typed(text, SqlType::Text, value.place);
        self.coerce_explicitly(text, sql_type, value.place).map(Some)
    }
}
