//! Expressions over the row of a table: constraints, defaults, generated columns, conditions of COPY.
//!
//! Nothing but the row is visible in them, and they may contain no queries.

use std::ops::ControlFlow;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{ColumnDefinition, Indexed, TableDefinition, TableId};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Volatility;
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;
use sqlparser::ast::{self, visit_expressions, visit_expressions_mut};

use super::aggregation::AggregateMode;
use super::coerce::Context;
use super::scope::{Relation, Scope, Visibility};
use super::{Binder, Bound, Place};
use crate::evaluation;
use crate::expr::{self, Computed};
use crate::statement::names::{fold, quoted};
use crate::statement::query::{end_of, parse_expression};

/// Functions that return several rows.
const SET_RETURNING: [&str; 6] = [
    "generate_series",
    "unnest",
    "generate_subscripts",
    "regexp_matches",
    "regexp_split_to_table",
    "string_to_table",
];

impl Binder<'_> {
    /// Refuses what is not allowed in an expression over the row of a table. `what` completes the message.
    pub(crate) fn refuse_queries(&self, expr: &ast::Expr, what: &str) -> Result<()> {
        let found = visit_expressions(expr, |part| {
            let place = match part {
                ast::Expr::Subquery(query) => Place::before(super::start_of_query(query)),
                ast::Expr::Exists { .. } => Place::Unknown,
                ast::Expr::InSubquery { expr, .. } => Place::OperatorAfter(end_of(expr)),
                ast::Expr::Function(call) if matches!(call.args, ast::FunctionArguments::Subquery(_)) => {
                    Place::of_expr(part)
                }
                ast::Expr::Function(call) => {
                    let name = call.name.0.last().and_then(|part| part.as_ident()).map(fold);
                    let is_set = name.is_some_and(|name| SET_RETURNING.contains(&name.as_str()));
                    let kind = if call.over.is_some() {
                        Some(("window functions are not allowed", sqlstate::WINDOWING_ERROR))
                    } else if is_set {
                        let message = "set-returning functions are not allowed";
                        Some((message, sqlstate::FEATURE_NOT_SUPPORTED))
                    } else {
                        None
                    };
                    return match kind {
                        Some((message, state)) => {
                            let error = Error::input(state, format!("{message} in {what}s"));
                            ControlFlow::Break(self.place(error, Place::of_expr(part)))
                        }
                        None => ControlFlow::Continue(()),
                    };
                }
                ast::Expr::Value(value) => {
                    let ast::Value::Placeholder(name) = &value.value else {
                        return ControlFlow::Continue(());
                    };
                    let message = format!("there is no parameter {name}");
                    let error = Error::input(sqlstate::UNDEFINED_PARAMETER, message);
                    return ControlFlow::Break(self.place(error, Place::of(value)));
                }
                _ => return ControlFlow::Continue(()),
            };
            let message = format!("cannot use subquery in {what}");
            let error = Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message);
            ControlFlow::Break(self.place(error, place))
        });
        match found {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// Binds something over the row of a table in this slot, with nothing else visible.
    pub(crate) fn over_row<T>(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.in_scope(Scope::of(Relation::table(table, None, row)), bind)
    }

    /// The same over the old and the new row of a trigger, which are in these slots.
    pub(crate) fn over_rows<T>(
        &mut self,
        table: &Arc<Table>,
        (old, new): (RowSlot, RowSlot),
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut scope = Scope::default();
        for (name, row) in [("old", old), ("new", new)] {
            let relation = Relation::table(table, Some(name.to_owned()), row);
            scope.add(Relation { visibility: Visibility::Qualified, ..relation });
        }
        self.in_scope(scope, bind)
    }

    /// A condition on the rows of a trigger.
    pub(crate) fn condition_on_rows(
        &mut self,
        table: &Arc<Table>,
        rows: (RowSlot, RowSlot),
        expr: &ast::Expr,
    ) -> Result<Expr> {
        self.refuse_queries(expr, "trigger WHEN condition")?;
        self.over_rows(table, rows, |binder| {
            binder.aggregate_mode = AggregateMode::Forbidden("in trigger WHEN conditions");
            binder.condition_of(expr, "WHEN")
        })
    }

    fn in_scope<T>(&mut self, scope: Scope, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let scope = std::mem::replace(&mut self.scope, scope);
        let names = self.names.take();
        let mode = self.aggregate_mode;
        let places = self.column_places.len();
        let bound = bind(self);
        self.column_places.truncate(places);
        self.aggregate_mode = mode;
        self.names = names;
        self.scope = scope;
        bound
    }

    /// A condition on a row.
    pub(crate) fn check_condition(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        expr: &ast::Expr,
    ) -> Result<Expr> {
        self.refuse_queries(expr, "check constraint")?;
        self.over_row(table, row, |binder| {
            binder.aggregate_mode = AggregateMode::Forbidden("in check constraints");
            binder.condition_of(expr, "CHECK")
        })
    }

    /// The values of a column converted to another type.
    pub(crate) fn conversion(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        from: u16,
        (to, using): (SqlType, Option<&ast::Expr>),
    ) -> Result<Expr> {
        let column = table.definition().columns[usize::from(from)].clone();
        let (name, wanted) = (&column.name, to.name());
        let Some(using) = using else {
            let value = Expr::Column { row, column: from };
            let bound = Bound::typed(value, column.sql_type, Place::Unknown);
            return self.try_coerce(bound, to, Context::Assignment)?.ok_or_else(|| {
                let message = format!("column \"{name}\" cannot be cast automatically to type {wanted}");
                let hint = format!("You might need to specify \"USING {}::{wanted}\".", quoted(name));
                Error::input(sqlstate::DATATYPE_MISMATCH, message).with_hint(hint)
            });
        };
        self.refuse_queries(using, "transform expression")?;
        self.over_row(table, row, |binder| {
            binder.aggregate_mode = AggregateMode::Forbidden("in transform expressions");
            let bound = binder.expression(using)?;
            binder.try_coerce(bound, to, Context::Assignment)?.ok_or_else(|| {
                let message = format!(
                    "result of USING clause for column \"{name}\" cannot be cast automatically to type {wanted}"
                );
                Error::input(sqlstate::DATATYPE_MISMATCH, message)
                    .with_hint("You might need to add an explicit cast.")
            })
        })
    }

    /// An expression over a row, in the forms in which the catalog keeps it to be shown: with all
    /// parentheses, and with few.
    pub(crate) fn kept_expression(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        written: &ast::Expr,
    ) -> Result<[String; 2]> {
        let written = unqualified(written);
        self.over_row(table, row, |binder| Ok(binder.shown_forms(&written)))
    }

    /// The value that a generated column computes from the row in a slot.
    pub(crate) fn computed(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        column: &ColumnDefinition,
        written: &ast::Expr,
    ) -> Result<Expr> {
        self.refuse_queries(written, "column generation expression")?;
        self.over_row(table, row, |binder| {
            binder.aggregate_mode = AggregateMode::Forbidden("in column generation expressions");
            let bound = binder.expression(written)?;
            let from = bound.type_name();
            let value = binder.try_coerce(bound, column.sql_type, Context::Assignment)?;
            value.ok_or_else(|| default_mismatch(&column.name, column.sql_type, from))
        })
    }

    /// The condition that a row in this slot satisfies if COPY inserts it. The row's generated columns are
    /// not computed yet.
    pub(crate) fn copied_if(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        written: &ast::Expr,
    ) -> Result<Expr> {
        self.refuse_queries(written, "COPY FROM WHERE condition")?;
        let fields = std::mem::take(&mut self.parameter_types);
        let condition = self.over_row(table, row, |binder| {
            binder.aggregate_mode = AggregateMode::Forbidden("in COPY FROM WHERE conditions");
            binder.condition_of(written, "WHERE")
        });
        self.parameter_types = fields;
        let condition = condition?;
        if !self.session_calls.is_empty() {
            return self.lacks(Missing::ComputedFirst, "a function about the session in COPY FROM WHERE is");
        }
        let definition = table.definition();
        let read = columns_of(&condition, row);
        match read.iter().find(|column| definition.columns[usize::from(**column)].generation.is_some()) {
            None => Ok(condition),
            Some(column) => {
                let name = &definition.columns[usize::from(*column)].name;
                let message = "generated columns are not supported in COPY FROM WHERE conditions";
                Err(Error::input(sqlstate::INVALID_COLUMN_REFERENCE, message)
                    .with_detail(format!("Column \"{name}\" is a generated column.")))
            }
        }
    }

    /// The values that columns which exist only for indexes compute from the row in a slot.
    pub(crate) fn computed_for_indexes(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
    ) -> Result<Arc<[Computed]>> {
        let definition = table.definition();
        let mut computed = Vec::new();
        for index in &definition.indexes {
            for column in definition.computed_for(index) {
                let value = match definition.columns[usize::from(column)].indexed() {
                    Some(Indexed::Column(column)) => Expr::Column { row, column: *column },
                    Some(Indexed::Expression(text)) => self.value_over(table, row, text)?,
                    None => continue,
                };
                let conditions = match &index.predicate {
                    Some(predicate) => {
                        let mut conditions = Vec::new();
                        let whole = self.value_over(table, row, &predicate.expression)?;
                        expr::conjuncts(whole, &mut conditions);
                        conditions
                    }
                    None => Vec::new(),
                };
                computed.push(Computed { column, value, conditions });
            }
        }
        Ok(computed.into())
    }

    fn value_over(&mut self, table: &Arc<Table>, row: RowSlot, text: &str) -> Result<Expr> {
        let written = parse_expression(text)?;
        self.of_kept(|binder| binder.over_row(table, row, |binder| binder.index_key(&written)))
    }

    /// The value of a key of an index.
    pub(crate) fn index_key(&mut self, written: &ast::Expr) -> Result<Expr> {
        let bound = self.expression(written)?;
        let sql_type = bound.known_type().unwrap_or(SqlType::Text);
        self.coerce(bound, sql_type)
    }
}

/// The expression with unqualified names of columns: the table may be renamed.
pub(crate) fn unqualified(expr: &ast::Expr) -> ast::Expr {
    let mut expr = expr.clone();
    let _: ControlFlow<()> = visit_expressions_mut(&mut expr, |part| {
        if let ast::Expr::CompoundIdentifier(idents) = part
            && let Some(column) = idents.pop()
        {
            *part = ast::Expr::Identifier(column);
        }
        ControlFlow::Continue(())
    });
    expr
}

/// The columns that an expression over a row reads, each once.
pub(crate) fn columns_of(whole: &Expr, row: RowSlot) -> Vec<u16> {
    let columns = std::cell::RefCell::new(Vec::new());
    expr::any(whole, &|part| {
        if let Expr::Column { row: own, column } = part
            && *own == row
            && !columns.borrow().contains(column)
        {
            columns.borrow_mut().push(*column);
        }
        false
    });
    columns.into_inner()
}

/// A table that is not in the catalog, so that the columns of a definition can be named.
pub(crate) fn row_type(definition: &TableDefinition) -> Arc<Table> {
    Arc::new(Table::new(TableId(0), definition.clone()))
}

/// Whether a row always gives the same value, whatever the session, the clock and the other rows are.
pub(crate) fn is_immutable(value: &Expr, definition: &TableDefinition, row: RowSlot) -> bool {
    !expr::any(value, &|part| match part {
        Expr::Call { function, .. } => function.volatility() != Volatility::Immutable,
        Expr::Routine { .. } | Expr::Query { .. } => true,
        Expr::Cast { operand, to, .. } => match &**operand {
            Expr::Column { row: own, column } if *own == row => {
                let from = definition.columns[usize::from(*column)].sql_type;
                !matches!(from, SqlType::Real | SqlType::DoublePrecision)
                    && !evaluation::is_immutable_cast(from, *to)
            }
            _ => to.is_datetime() && !matches!(**operand, Expr::Const(_)),
        },
        _ => false,
    })
}

/// 42804 for a default or a generated column.
pub(crate) fn default_mismatch(name: &str, sql_type: SqlType, from: &str) -> Error {
    let message = format!(
        "column \"{name}\" is of type {} but default expression is of type {from}",
        sql_type.base_name()
    );
    Error::input(sqlstate::DATATYPE_MISMATCH, message)
        .with_hint("You will need to rewrite or cast the expression.")
}
