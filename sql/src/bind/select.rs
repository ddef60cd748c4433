//! Binding of the clauses of SELECT.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, LimitClause, OrderByExpr, OrderByKind, Query, Select, SetExpr};

use super::aggregation::AggregateMode;
use super::tree::OutputColumn;
use super::tree::{BoundDistinct, BoundQuery, Limits, OrderKey, OrderTarget};
use super::windowing::{WindowCalls, WindowMode, Windowing};
use super::{Binder, Place};
use crate::statement::names::fold;
use crate::statement::{query_end, sort_operator};

impl Binder<'_> {
    /// Binds a query.
    pub(crate) fn bind_query(&mut self, query: &Query) -> Result<BoundQuery> {
        let visible = self.common_tables.len();
        if let Some(with) = &query.with {
            self.with_clause(with)?;
        }
        let bound = match query.body.as_ref() {
            SetExpr::Select(select) => {
                let around = (self.set_calls.take(), self.windows.take());
                let bound = self.bind_select(query, select);
                (self.set_calls, self.windows) = around;
                bound
            }
            SetExpr::Query(inner) if clause_around(query).is_none() => self.bind_query(inner),
            _ => self.combined_query(query),
        };
        self.common_tables.truncate(visible);
        bound
    }

    fn bind_select(&mut self, query: &Query, select: &Select) -> Result<BoundQuery> {
        if select.into.is_some() {
            return self.lacks(Missing::DefinedInRoutine, "SELECT INTO is");
        }
        let mut from = self.from(&select.from)?;
        self.lock_items(query, &mut from)?;
        if let Some(selection) = &select.selection {
            self.aggregate_mode = AggregateMode::Forbidden("in WHERE");
            let condition = self.condition_of(selection, "WHERE")?;
            crate::expr::conjuncts(condition, &mut from.conditions);
        }
        self.aggregate_mode = AggregateMode::Allowed;
        self.windows = Some(WindowCalls::of(&select.named_window));
        self.set_calls = Some(self.set_calls_of(&select.projection));
        let outputs = self.outputs(&select.projection)?;
        if let Some(calls) = &mut self.set_calls {
            calls.complete();
        }
        let group = self.group(&select.group_by, &outputs)?;
        let set_calls = self.set_calls.take();
        self.aggregate_mode = AggregateMode::Allowed;
        let having_start = self.column_places.len();
        self.set_window_mode(WindowMode::Forbidden("in HAVING"));
        let having = match &select.having {
            Some(having) => Some(self.condition_of(having, "HAVING")?),
            None => None,
        };
        self.set_window_mode(WindowMode::Allowed);
        let having_places = (having_start, self.column_places.len());
        self.set_calls = set_calls;
        let order = self.order(query, &outputs)?;
        let distinct = self.distinct_clause(select, &outputs)?;
        let order = if order.is_empty() { distinct.own_order() } else { order };
        let set_calls = self.set_calls.take().filter(|calls| !calls.is_empty());
        let windowing = match self.windows.take() {
            Some(calls) => self.windowing(calls)?,
            None => Windowing::default(),
        };
        self.aggregate_mode = AggregateMode::Forbidden("in LIMIT");
        let limits = self.limits(query)?;
        let mut aggregates = std::mem::take(&mut self.aggregates);
        self.settle_grouping_calls(group.as_ref(), &mut aggregates)?;
        let is_grouped = group.is_some() || having.is_some() || !aggregates.is_empty();
        let keys = group.as_ref().map(|group| group.keys.as_slice()).unwrap_or_default();
        let sets = match set_calls {
            Some(calls) => {
                let keys = (is_grouped || !windowing.is_empty()).then_some(keys);
                self.place_set_calls(calls, &mut from, keys, &outputs)?
            }
            None => Vec::new(),
        };
        self.check_locking(query, select, (!aggregates.is_empty(), !windowing.is_empty()))?;
        Ok(BoundQuery {
            from,
            outputs,
            group,
            having,
            having_places,
            sets,
            order,
            distinct,
            limits,
            aggregates,
            windowing,
        })
    }

    pub(super) fn output_number(
        &self,
        number: i64,
        count: usize,
        clause: &str,
        place: Place,
    ) -> Result<usize> {
        match usize::try_from(number) {
            Ok(number) if (1..=count).contains(&number) => Ok(number - 1),
            _ => {
                let message = format!("{clause} position {number} is not in select list");
                self.fail(sqlstate::INVALID_COLUMN_REFERENCE, message, place)
            }
        }
    }

    pub(super) fn order(&mut self, query: &Query, outputs: &[OutputColumn]) -> Result<Vec<OrderKey>> {
        let Some(order_by) = &query.order_by else { return Ok(Vec::new()) };
        let OrderByKind::Expressions(expressions) = &order_by.kind else {
            return self.lacks(Missing::Dialects, "ORDER BY ALL is");
        };
        expressions.iter().map(|expression| self.order_key(expression, outputs)).collect()
    }

    fn order_key(&mut self, key: &OrderByExpr, outputs: &[OutputColumn]) -> Result<OrderKey> {
        let place = Place::of_expr(&key.expr);
        let first = self.column_places.len();
        let by_pattern = sort_operator::by_pattern(&key.expr);
        let written = by_pattern.map_or(&key.expr, |(_, key)| key);
        let (target, sql_type) = self.target(written, outputs, "ORDER BY")?;
        if let Some((operator, _)) = by_pattern.filter(|_| !sql_type.is_text()) {
            let shown = format!("{0} {operator} {0}", sql_type.base_name());
            return Err(self.no_operator(&shown, Place::at(operator.span.start)));
        }
        self.check_order(sql_type, place)?;
        let is_descending = key.options.asc == Some(false);
        Ok(OrderKey {
            target,
            sql_type,
            is_descending,
            // NULLs sort as larger than all other values.
            nulls_first: key.options.nulls_first.unwrap_or(is_descending),
            place,
            column_places: (first, self.column_places.len()),
        })
    }

    /// What an expression of ORDER BY or DISTINCT ON refers to: a number or name of the select list, or an
    /// expression over the rows.
    fn target(
        &mut self,
        expression: &ast::Expr,
        outputs: &[OutputColumn],
        clause: &str,
    ) -> Result<(OrderTarget, SqlType)> {
        let place = Place::of_expr(expression);
        if let Some(number) = ordinal(expression) {
            let number = self.output_number(number, outputs.len(), clause, place)?;
            return Ok((OrderTarget::Output(number), outputs[number].sql_type));
        }
        if let ast::Expr::Identifier(ident) = expression {
            let name = fold(ident);
            let mut named = outputs.iter().enumerate().filter(|(_, output)| output.name == name);
            if let Some((at, output)) = named.next() {
                if named.any(|(_, other)| other.expr != output.expr) {
                    let message = format!("{clause} \"{name}\" is ambiguous");
                    return self.fail(sqlstate::AMBIGUOUS_COLUMN, message, place);
                }
                return Ok((OrderTarget::Output(at), output.sql_type));
            }
        }
        if let ast::Expr::Value(value) = expression
            && matches!(value.value, ast::Value::SingleQuotedString(_))
        {
            let message = format!("non-integer constant in {clause}");
            return self.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        let bound = self.expression(expression)?;
        let (expr, sql_type) = self.known_or_text(bound)?;
        match outputs.iter().position(|output| output.expr == expr) {
            Some(at) => Ok((OrderTarget::Output(at), sql_type)),
            None => Ok((OrderTarget::Expression(expr), sql_type)),
        }
    }

    fn distinct_clause(&mut self, select: &Select, outputs: &[OutputColumn]) -> Result<BoundDistinct> {
        match &select.distinct {
            None | Some(ast::Distinct::All) => Ok(BoundDistinct::No),
            Some(ast::Distinct::Distinct) => {
                for output in outputs {
                    self.check_equality(output.sql_type, output.place)?;
                }
                Ok(BoundDistinct::Rows)
            }
            Some(ast::Distinct::On(expressions)) => expressions
                .iter()
                .map(|expression| self.target(expression, outputs, "DISTINCT ON"))
                .collect::<Result<Vec<_>>>()
                .map(BoundDistinct::On),
        }
    }

    pub(super) fn limits(&mut self, query: &Query) -> Result<Limits> {
        let mut limits = Limits::default();
        match &query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                if let Some(limit) = limit {
                    let (count, with_ties) = query_end::count(limit);
                    let bound = self.columnless(count, SqlType::BigInt, "LIMIT")?;
                    if with_ties && matches!(bound, Expr::Const(Value::Null)) {
                        let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
                        let state = sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE;
                        return self.fail(state, message, Place::Unknown);
                    }
                    (limits.limit, limits.with_ties) = (Some(bound), with_ties);
                }
                if let Some(offset) = offset {
                    limits.offset = Some(self.columnless(&offset.value, SqlType::BigInt, "OFFSET")?);
                }
            }
            Some(LimitClause::OffsetCommaLimit { .. }) => {
                return self.fail(
                    sqlstate::SYNTAX_ERROR,
                    "LIMIT #,# syntax is not supported",
                    Place::Unknown,
                );
            }
        }
        Ok(limits)
    }
}

/// The first clause of a query in addition to its body. A caller that uses only the body refuses the other
/// clauses by name: they must not be dropped silently.
pub(crate) fn clause_around(query: &Query) -> Option<&'static str> {
    let Query {
        body: _,
        with,
        order_by,
        limit_clause,
        locks,
        // Clauses of other databases, which are refused when the statement is parsed. FETCH FIRST is a limit.
        fetch: _,
        for_clause: _,
        settings: _,
        format_clause: _,
        pipe_operators: _,
    } = query;
    [
        (with.is_some(), "WITH"),
        (order_by.is_some(), "ORDER BY"),
        (limit_clause.is_some(), "LIMIT"),
        (!locks.is_empty(), "FOR UPDATE"),
    ]
    .into_iter()
    .find_map(|(is_there, clause)| is_there.then_some(clause))
}

pub(super) fn ordinal(expression: &ast::Expr) -> Option<i64> {
    match expression {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn is_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Register(register)
        if (super::AGGREGATE_PLACEHOLDER..super::GROUP_PLACEHOLDER).contains(register))
}
