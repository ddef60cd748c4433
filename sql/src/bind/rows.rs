//! Rows in expressions: `ROW(a, b)`, `(a, b)`, the name of a relation or of a record, `name.*`.
//!
//! A row is known by its fields while it is bound. Comparisons and tests for NULL look at the fields.
//! Wherever a single value is needed, the row of a table or view, and that of a variable of a composite type,
//! becomes a value of that type; any other becomes one of the type `record`: its text form.
//!
//! As in PostgreSQL, `=` of two rows that were written out field by field is NULL if fields are, while two
//! whole rows are equal if their fields are, NULLs included.
//!
//! Reference: PostgreSQL's transformWholeRowRef, record_out and record_eq.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::expression::boolean;
use super::made_rows::made_row;
use super::row_syntax::{expands_array, row_items};
use super::scope::RelationKind;
use super::visible_variables::{Found, RecordState, Scalar};
use super::{Binder, Bound, Place};
use crate::expr;
use crate::statement::field_wildcard;
use crate::statement::names::{fold, parts};

/// A row, as it is bound.
pub(super) struct Row {
    pub(super) fields: Vec<(String, Bound)>,
    /// Where the row comes from an outer join: whether there is none.
    is_absent: Option<Expr>,
    /// Its type, if it has one of its own.
    of_type: Option<RowType>,
    place: Place,
}

/// A row as a value of a type of its own.
pub(super) enum RowType {
    /// It is made of its fields.
    Of(CompositeType),
    /// It is there.
    Value(CompositeType, Expr),
}

impl Row {
    pub(super) fn of_fields(fields: Vec<(String, Bound)>, place: Place) -> Row {
        Row { fields, is_absent: None, of_type: None, place }
    }
}

fn without_parentheses(expr: &ast::Expr) -> &ast::Expr {
    let mut inner = expr;
    while let ast::Expr::Nested(nested) = inner {
        inner = nested;
    }
    inner
}

impl Binder<'_> {
    /// Whether the name is that of a relation or of a record, and nothing nearer has it.
    fn names_row(&mut self, ident: &ast::Ident) -> Result<bool> {
        let name = fold(ident);
        if self.element_of_relation(&name, Place::Unknown).is_some() {
            return Ok(false);
        }
        let is_relation = self.scope.named().any(|(_, relation)| relation.name == name);
        let found = || self.names.as_ref().and_then(|names| names.find(std::slice::from_ref(&name)));
        let is_named = is_relation || matches!(found(), Some(Found::Record(_)));
        Ok(is_named && self.find_column(&name, Place::at(ident.span.start))?.is_none())
    }

    /// Whether the expression is a row that is not written out field by field.
    pub(super) fn is_whole_row(&mut self, expr: &ast::Expr) -> Result<bool> {
        match without_parentheses(expr) {
            ast::Expr::QualifiedWildcard(..) => Ok(true),
            ast::Expr::Identifier(ident) => self.names_row(ident),
            _ => Ok(false),
        }
    }

    /// The row that an expression is, if it is one.
    pub(super) fn row(&mut self, expr: &ast::Expr) -> Result<Option<Row>> {
        let place = Place::of_expr(expr);
        match without_parentheses(expr) {
            ast::Expr::QualifiedWildcard(name, _) => {
                let idents = parts(name)?;
                let name = idents.last().map(|ident| fold(ident)).unwrap_or_default();
                self.named_row(&name, place).map(Some)
            }
            ast::Expr::Identifier(ident) if self.names_row(ident)? => {
                self.named_row(&fold(ident), place).map(Some)
            }
            ast::Expr::Function(call) if expands_array(call) => self.expanded_array(call, place).map(Some),
            inner => {
                let Some(items) = row_items(inner) else { return Ok(None) };
                let mut fields = Vec::with_capacity(items.len());
                for item in items {
                    if let Some(row) = field_wildcard::row_of(item) {
                        let expanded = self.expanded_row(&row)?;
                        fields.extend(expanded.into_iter().map(|(_, field)| field));
                    } else if let ast::Expr::QualifiedWildcard(..) = item
                        && let Some(row) = self.row(item)?
                    {
                        fields.extend(row.fields.into_iter().map(|(_, field)| field));
                    } else {
                        fields.push(self.expression(item)?);
                    }
                }
                let named = (1..).map(|number: usize| format!("f{number}")).zip(fields);
                Ok(Some(Row::of_fields(named.collect(), place)))
            }
        }
    }

    /// The fields of the row that an expression is, if it is one.
    pub(crate) fn row_fields(&mut self, expr: &ast::Expr) -> Result<Option<Vec<(String, Bound)>>> {
        Ok(self.row(expr)?.map(|row| row.fields))
    }

    /// The columns of `(row).*`.
    pub(super) fn expanded_row(&mut self, written: &ast::Expr) -> Result<Vec<(String, Bound)>> {
        if let Some(row) = self.row(written)? {
            return Ok(row.fields);
        }
        let value = self.expression(written)?;
        match self.fields_of_row(&value)? {
            Some(fields) => Ok(fields),
            None if value.known_type() == Some(SqlType::System(SystemType::Record)) => {
                self.unsupported(Missing::RowsAsValues, "the fields of this row are", value.place)
            }
            None => {
                let message = format!("type {} is not composite", value.type_name());
                self.fail(sqlstate::WRONG_OBJECT_TYPE, message, value.place)
            }
        }
    }

    /// The row of a relation or a record.
    fn named_row(&mut self, name: &str, place: Place) -> Result<Row> {
        if !self.scope.named().any(|(_, relation)| relation.name == name)
            && let Some(fields) = self.record_fields(name, place)?
        {
            let of_type = self.record_type(name).map(RowType::Of);
            return Ok(Row { of_type, ..Row::of_fields(fields, place) });
        }
        let number = self.relation(name, place)?;
        self.row_of_relation(number, place)
    }

    /// The row of a relation of this scope.
    pub(super) fn row_of_relation(&mut self, number: usize, place: Place) -> Result<Row> {
        let columns = self.scope.relations[number].columns.clone();
        let mut fields = Vec::with_capacity(columns.len());
        for (column, (name, _)) in columns.into_iter().enumerate() {
            fields.push((name, self.column_of(number, column, place)));
        }
        let kind = &self.scope.relations[number].kind;
        // A column that is never NULL is NULL only where an outer join has found no row.
        let is_absent = match kind {
            RelationKind::Table { table, .. } => {
                let definition = table.definition();
                let certain = definition.visible_columns().iter().position(|column| !column.is_nullable);
                certain.map(|at| Expr::IsNull(Box::new(fields[at].1.expr.clone())))
            }
            _ => None,
        };
        let of_type = match kind {
            RelationKind::Table { table, .. } | RelationKind::View(_, table) => {
                let row_type = table.definition().row_type(table.id());
                (row_type.fields().len() == fields.len()).then_some(RowType::Of(row_type))
            }
            RelationKind::Fields { row, row_type, ordinality: None } => {
                Some(RowType::Value(*row_type, row.clone()))
            }
            RelationKind::Typed(_, row_type) => Some(RowType::Of(*row_type)),
            _ => None,
        };
        Ok(Row { fields, is_absent, of_type, place })
    }

    /// The composite type of a record variable.
    fn record_type(&self, name: &str) -> Option<CompositeType> {
        let names = self.names.as_ref()?;
        let Some(Found::Record(record)) = names.find(&[name.to_owned()]) else { return None };
        names.records[record].row_type
    }

    /// The fields of a record variable.
    fn record_fields(&mut self, name: &str, place: Place) -> Result<Option<Vec<(String, Bound)>>> {
        let Some(names) = &self.names else { return Ok(None) };
        let record = match names.find(&[name.to_owned()]) {
            Some(Found::Record(record)) => record,
            Some(Found::Scalar(Scalar { sql_type: SqlType::Composite(_), .. })) => {
                return match self.variable(&[name.to_owned()], place)? {
                    Some(row) => self.fields_of_row(&row),
                    None => Ok(None),
                };
            }
            _ => return Ok(None),
        };
        let RecordState::Known(columns) = names.records[record].state.clone() else {
            // The error of one of its fields.
            return self.variable(&[name.to_owned(), String::new()], place).map(|_| None);
        };
        let mut fields = Vec::with_capacity(columns.len());
        for (column, ..) in columns {
            if let Some(bound) = self.variable(&[name.to_owned(), column.clone()], place)? {
                fields.push((column, bound));
            }
        }
        Ok(Some(fields))
    }

    /// The columns of `name.*` where the name is that of a record.
    pub(super) fn record_columns(
        &mut self,
        name: &str,
        place: Place,
    ) -> Result<Option<Vec<(String, Bound)>>> {
        let is_relation = self.scope.named().any(|(_, relation)| relation.name == name);
        if is_relation { Ok(None) } else { self.record_fields(name, place) }
    }

    /// A row as a value.
    pub(super) fn row_value(&mut self, row: Row) -> Result<Bound> {
        let Row { fields, is_absent, of_type, place } = row;
        let mut arguments = Vec::with_capacity(fields.len());
        let mut types = Vec::with_capacity(fields.len());
        for (name, field) in fields {
            let (argument, sql_type) = self.known_or_text(field)?;
            arguments.push(argument);
            types.push((name, sql_type));
        }
        let is_record = of_type.is_none();
        let (mut value, sql_type) = match of_type {
            Some(RowType::Of(row_type)) => (made_row(row_type, arguments), SqlType::Composite(row_type)),
            Some(RowType::Value(row_type, value)) => (value, SqlType::Composite(row_type)),
            None => {
                let value = Expr::Call { function: Function::RowText, arguments };
                (value, SqlType::System(SystemType::Record))
            }
        };
        if let Some(is_absent) = is_absent {
            let branches = vec![(is_absent, Expr::Const(Value::Null))];
            value = Expr::Case { branches, otherwise: Box::new(value) };
        }
        if is_record {
            self.note_row(&value, types);
        }
        Ok(Bound::typed(value, sql_type, place))
    }

    /// A comparison of which one side is a whole row. `None`: neither is.
    pub(super) fn whole_row_comparison(
        &mut self,
        left: &ast::Expr,
        operator: BinaryOperator,
        right: &ast::Expr,
        place: Place,
    ) -> Result<Option<Bound>> {
        if !self.is_whole_row(left)? && !self.is_whole_row(right)? {
            return Ok(None);
        }
        let (Some(left), Some(right)) = (self.row(left)?, self.row(right)?) else { return Ok(None) };
        let same = self.same_rows(left, right, place)?;
        match operator {
            BinaryOperator::Equal => Ok(Some(boolean(same, place))),
            BinaryOperator::NotEqual => Ok(Some(boolean(Expr::Not(Box::new(same)), place))),
            _ => self.unsupported(Missing::RowsAsValues, "this operator of whole rows is", place),
        }
    }

    /// IS [NOT] DISTINCT FROM of rows. `None`: they are none.
    pub(super) fn distinct_rows(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place,
    ) -> Result<Option<Expr>> {
        let (Some(left), Some(right)) = (self.row(left)?, self.row(right)?) else { return Ok(None) };
        self.same_rows(left, right, place).map(Some)
    }

    /// Whether all fields are the same, NULLs included.
    fn same_rows(&mut self, left: Row, right: Row, place: Place) -> Result<Expr> {
        if left.fields.len() != right.fields.len() {
            let message = "unequal number of entries in row expressions";
            return self.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        let mut tests = Vec::with_capacity(left.fields.len());
        for ((_, left), (_, right)) in left.fields.into_iter().zip(right.fields) {
            let (left, right, _) = self.operands(BinaryOperator::Equal, left, right, place)?;
            tests.push(Expr::NotDistinct(Box::new(left), Box::new(right)));
        }
        Ok(expr::balanced(tests, Expr::And).unwrap_or(Expr::Const(Value::Boolean(true))))
    }

    /// IS [NOT] NULL of a row: whether all its fields are NULL, or none is. `None`: it is no row.
    pub(super) fn row_is_null(&mut self, inner: &ast::Expr, is_negated: bool) -> Result<Option<Bound>> {
        let Some(row) = self.row(inner)? else { return Ok(None) };
        let mut tests = Vec::with_capacity(row.fields.len());
        for (_, field) in row.fields {
            let test = Expr::IsNull(Box::new(self.known_or_text(field)?.0));
            tests.push(if is_negated { Expr::Not(Box::new(test)) } else { test });
        }
        let all = expr::balanced(tests, Expr::And).unwrap_or(Expr::Const(Value::Boolean(true)));
        Ok(Some(boolean(all, row.place)))
    }

    /// Error 42703.
    pub(super) fn no_field<T>(&self, name: &str, place: Place) -> Result<T> {
        let message = format!("could not identify column \"{name}\" in record data type");
        self.fail(sqlstate::UNDEFINED_COLUMN, &message, place)
    }

    /// The text form of a row has another order, and another equality.
    pub(super) fn refuse_rows_as_keys(&self, sql_type: SqlType, place: Place) -> Result<()> {
        match sql_type == SqlType::System(SystemType::Record) {
            true => self.unsupported(Missing::RowsAsValues, "ordering and grouping by whole rows is", place),
            false => Ok(()),
        }
    }

    /// `(row).field` where the row has a name, or its fields are known. `None`: they are not.
    pub(super) fn field_of_row(&mut self, root: &ast::Expr, field: &ast::Ident) -> Result<Option<Bound>> {
        let ast::Expr::Nested(inner) = root else { return Ok(None) };
        match without_parentheses(inner) {
            ast::Expr::Identifier(name) if self.names_row(name)? => {
                self.qualified_column(&[name.clone(), field.clone()]).map(Some)
            }
            ast::Expr::Function(call) if expands_array(call) => {
                let row = self.expanded_array(call, Place::of_expr(root))?;
                let name = fold(field);
                match row.fields.into_iter().find(|(known, _)| *known == name) {
                    Some((_, bound)) => Ok(Some(bound)),
                    None => self.no_field(&name, Place::of_expr(inner)),
                }
            }
            written => {
                let value = self.expression(written)?;
                self.field_of_value(&value, field).map(Some)
            }
        }
    }
}

impl Binder<'_> {
    /// The items of a list, with the columns of each `name.*` named one by one. `None`: there is none.
    pub(crate) fn without_wildcards(&mut self, items: &[ast::Expr]) -> Result<Option<Vec<ast::Expr>>> {
        if !items.iter().any(|item| matches!(item, ast::Expr::QualifiedWildcard(..))) {
            return Ok(None);
        }
        let mut expanded = Vec::with_capacity(items.len());
        for item in items {
            let ast::Expr::QualifiedWildcard(name, _) = item else {
                expanded.push(item.clone());
                continue;
            };
            let Some(row) = self.row(item)? else { continue };
            for (column, _) in row.fields {
                let mut idents: Vec<ast::Ident> = parts(name)?.into_iter().cloned().collect();
                idents.push(ast::Ident::with_quote('"', column));
                expanded.push(ast::Expr::CompoundIdentifier(idents));
            }
        }
        Ok(Some(expanded))
    }
}
