//! SELECT.
//!
//! If scan order is the order asked for, and there is no grouping and no DISTINCT, the procedure emits the
//! answer itself and stops at LIMIT. Otherwise it emits what the stages need (`stages`).

use hyades_engine::procedure::ir::{Direction, Expr, Instruction, Label, Register};
use hyades_types::error::{Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, GroupByExpr, LimitClause, OrderByExpr, OrderByKind, Query, Select, SetExpr};

use super::access::Access;
use super::from::{Level, Source};
use super::loops::Absent;
use super::output::{OutputColumn, check_width};
use super::{CompiledQuery, Compiler, order};
use crate::bind::aggregation::AggregateMode;
use crate::bind::{Bound, Place};
use crate::explain::PlanNode;
use crate::plan::Tag;
use crate::statement::locking::{name_of, unpack};
use crate::statement::names::fold;

/// LIMIT and OFFSET, as bigint expressions without columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) limit: Option<Expr>,
    pub(crate) offset: Option<Expr>,
}

/// One key of ORDER BY.
#[derive(Clone, Debug)]
pub(crate) struct OrderKey {
    pub(crate) target: OrderTarget,
    pub(crate) sql_type: SqlType,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
    pub(crate) place: Place,
    pub(crate) column_places: (usize, usize),
}

#[derive(Clone, Debug)]
pub(crate) enum OrderTarget {
    Output(usize),
    Expression(Expr),
}

/// A SELECT, bound.
pub(crate) struct BoundSelect {
    pub(crate) levels: Vec<Level>,
    /// Conditions that read no row.
    pub(crate) constant: Vec<Expr>,
    pub(crate) outputs: Vec<OutputColumn>,
    pub(crate) group: Option<Vec<(Expr, SqlType)>>,
    pub(crate) having: Option<Expr>,
    pub(crate) having_places: (usize, usize),
    pub(crate) order: Vec<OrderKey>,
    pub(crate) distinct: BoundDistinct,
    pub(crate) limits: Limits,
}

pub(crate) enum BoundDistinct {
    No,
    Rows,
    On(Vec<(OrderTarget, SqlType)>),
}

impl BoundSelect {
    /// Whether rows must be grouped.
    pub(crate) fn is_grouped(&self, aggregates: usize) -> bool {
        aggregates > 0 || self.group.is_some() || self.having.is_some()
    }
}

impl Compiler<'_> {
    /// A query at the top of a statement.
    pub(crate) fn query(&mut self, query: &Query) -> Result<CompiledQuery> {
        if let SetExpr::Values(values) = query.body.as_ref() {
            return self.values_query(query, values);
        }
        let bound = self.bind_query(query)?;
        let columns = self.result_columns(&bound.outputs);
        let run = self.select_run(bound)?;
        Ok(CompiledQuery { run, columns: Some(columns) })
    }

    /// Compiles a bound SELECT whose rows are the answer.
    pub(crate) fn select_run(&mut self, mut bound: BoundSelect) -> Result<crate::plan::RunPlan> {
        let is_grouped = bound.is_grouped(self.binder.aggregates.len());
        let is_plain = !is_grouped && matches!(bound.distinct, BoundDistinct::No);
        if is_plain && (bound.order.is_empty() || use_scan_order(&mut bound)) {
            return self.direct_select(bound);
        }
        if bound.skips_in_order() {
            return self.skipping_select(&bound);
        }
        self.staged_select(bound)
    }

    /// The procedure emits the answer.
    fn direct_select(&mut self, bound: BoundSelect) -> Result<crate::plan::RunPlan> {
        let explain = self.explained(|compiler| compiler.explain_select(&bound, true));
        let types: Vec<SqlType> = bound.outputs.iter().map(|output| output.sql_type).collect();
        let values: Vec<Expr> = bound.outputs.iter().map(|output| output.expr.clone()).collect();
        self.describe(described(&bound.outputs), is_single(&bound.levels))?;
        self.emit_rows(&bound, &values)?;
        let source = self.finish_code("select", types)?;
        Ok(self.direct_run(source, Tag::Select, explain))
    }

    /// Loops over FROM and emits these values, LIMIT and OFFSET obeyed.
    fn emit_rows(&mut self, bound: &BoundSelect, values: &[Expr]) -> Result<()> {
        let end = self.code.label();
        let counters = self.limit_counters(&bound.limits, end)?;
        self.check(&bound.constant, end, &Absent::default());
        self.loops(&bound.levels, end, &Absent::default(), &mut |compiler, next, absent| {
            let values = values.iter().map(|value| absent.apply(value)).collect();
            compiler.emit_limited(values, counters, next, end)
        })?;
        self.code.place(end);
        Ok(())
    }

    /// Evaluates LIMIT and OFFSET into counters; ends at once when the limit is 0.
    pub(super) fn limit_counters(
        &mut self,
        limits: &Limits,
        end: Label,
    ) -> Result<(Option<Register>, Option<Register>)> {
        let mut counter = |expr: &Option<Expr>, state: hyades_types::error::SqlState, clause: &str| {
            let Some(expr) = expr else { return Ok(None) };
            let register = self.binder.new_register()?;
            self.code.evaluate(register, expr.clone());
            let valid = self.code.label();
            self.code.jump_unless(compare(register, BinaryOperator::Less, 0), valid);
            self.code.push(Instruction::Raise {
                state: state.0,
                message: Expr::Const(Value::text(format!("{clause} must not be negative"))),
            });
            self.code.place(valid);
            Ok::<_, hyades_types::error::Error>(Some(register))
        };
        let offset = counter(&limits.offset, sqlstate::INVALID_ROW_COUNT_IN_OFFSET_CLAUSE, "OFFSET")?;
        let limit = counter(&limits.limit, sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT")?;
        if let Some(limit) = limit {
            self.code.jump_unless(has_room(limit), end);
        }
        Ok((limit, offset))
    }

    pub(super) fn emit_limited(
        &mut self,
        values: Vec<Expr>,
        (limit, offset): (Option<Register>, Option<Register>),
        next: Label,
        end: Label,
    ) -> Result<()> {
        if let Some(offset) = offset {
            let emit = self.code.label();
            self.code.jump_unless(compare(offset, BinaryOperator::Greater, 0), emit);
            self.code.evaluate(offset, minus_one(offset));
            self.code.jump(next);
            self.code.place(emit);
        }
        self.emit(values)?;
        if let Some(limit) = limit {
            self.code.evaluate(limit, minus_one(limit));
            self.code.jump_unless(has_room(limit), end);
        }
        Ok(())
    }

    /// VALUES as a statement.
    fn values_query(&mut self, query: &Query, values: &ast::Values) -> Result<CompiledQuery> {
        if let Some(clause) = query.locks.first() {
            let message = format!("{} cannot be applied to VALUES", name_of(unpack(clause).strength));
            return self.binder.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, Place::Unknown);
        }
        if let Some(clause) = clause_around(query) {
            return self.binder.unsupported(&format!("{clause} around VALUES is"), Place::Unknown);
        }
        let mut rows: Vec<Vec<Bound>> = Vec::new();
        for row in &values.rows {
            check_width(row.content.len())?;
            let row =
                row.content.iter().map(|item| self.binder.expression(item)).collect::<Result<Vec<_>>>()?;
            if rows.first().is_some_and(|first| first.len() != row.len()) {
                let place = row.first().map_or(Place::Unknown, |item| item.place);
                return self.binder.fail(
                    sqlstate::SYNTAX_ERROR,
                    "VALUES lists must all be the same length",
                    place,
                );
            }
            rows.push(row);
        }
        let width = rows.first().map_or(0, Vec::len);
        let types = (0..width)
            .map(|column| self.binder.common_type(rows.iter().map(|row| &row[column]), "VALUES"))
            .collect::<Result<Vec<SqlType>>>()?;
        let named = types.iter().enumerate();
        let named = named.map(|(at, sql_type)| (format!("column{}", at + 1), *sql_type)).collect();
        self.describe(named, rows.len() == 1)?;
        for row in rows {
            let mut values = Vec::with_capacity(width);
            for (item, sql_type) in row.into_iter().zip(&types) {
                values.push(self.binder.coerce(item, *sql_type)?);
            }
            self.emit(values)?;
        }
        let columns = types
            .iter()
            .enumerate()
            .map(|(at, sql_type)| crate::answer::ResultColumn {
                name: format!("column{}", at + 1),
                sql_type: *sql_type,
                source: None,
            })
            .collect();
        let source = self.finish_code("values", types)?;
        let explain = self.explained(|_| PlanNode::new("Values Scan on \"*VALUES*\""));
        let run = self.direct_run(source, Tag::Select, explain);
        Ok(CompiledQuery { run, columns: Some(columns) })
    }

    /// Binds a query that is one SELECT.
    pub(crate) fn bind_query(&mut self, query: &Query) -> Result<BoundSelect> {
        if query.with.is_some() {
            return self.binder.unsupported("WITH is", Place::Unknown);
        }
        let select = match query.body.as_ref() {
            SetExpr::Select(select) => select,
            SetExpr::Query(_) if !query.locks.is_empty() => {
                return self.binder.unsupported("a locking clause behind parentheses is", Place::Unknown);
            }
            SetExpr::Query(inner) => match clause_around(query) {
                None => return self.bind_query(inner),
                Some(clause) => {
                    let what = format!("{clause} behind a query in parentheses is");
                    return self.binder.unsupported(&what, Place::Unknown);
                }
            },
            SetExpr::SetOperation { op, .. } => {
                return self.binder.unsupported(&format!("{op} is"), Place::Unknown);
            }
            _ => return self.binder.unsupported("this form of query is", Place::Unknown),
        };
        self.refuse_rare(query, select)?;
        let (mut items, mut conditions) = self.from(&select.from)?;
        self.lock_items(query, &mut items)?;
        if let Some(selection) = &select.selection {
            self.binder.aggregate_mode = AggregateMode::Forbidden("in WHERE");
            let condition = self.binder.condition_of(selection, "WHERE")?;
            crate::expr::conjuncts(condition, &mut conditions);
        }
        self.binder.aggregate_mode = AggregateMode::Allowed;
        let outputs = self.outputs(&select.projection)?;
        let group = self.group(&select.group_by, &outputs)?;
        self.binder.aggregate_mode = AggregateMode::Allowed;
        let having_start = self.binder.column_places.len();
        let having = match &select.having {
            Some(having) => Some(self.binder.condition_of(having, "HAVING")?),
            None => None,
        };
        let having_places = (having_start, self.binder.column_places.len());
        let order = self.order(query, &outputs)?;
        let distinct = self.distinct(select, &outputs)?;
        self.binder.aggregate_mode = AggregateMode::Forbidden("in LIMIT");
        let limits = self.limits(query)?;
        let (levels, constant) = order::levels(items, conditions)?;
        let mut bound =
            BoundSelect { levels, constant, outputs, group, having, having_places, order, distinct, limits };
        self.check_locking(query, select, bound.is_grouped(self.binder.aggregates.len()))?;
        bound.find_key_reads();
        Ok(bound)
    }

    fn refuse_rare(&self, query: &Query, select: &Select) -> Result<()> {
        let rare = [
            (select.into.is_some(), "SELECT INTO is"),
            (!select.named_window.is_empty() || select.qualify.is_some(), "window functions are"),
            (select.top.is_some() || select.prewhere.is_some(), "this clause is"),
            (!select.lateral_views.is_empty() || !select.connect_by.is_empty(), "this clause is"),
            (query.for_clause.is_some() || query.settings.is_some(), "this clause is"),
            (!query.pipe_operators.is_empty() || query.format_clause.is_some(), "this clause is"),
        ];
        for (is_there, what) in rare {
            if is_there {
                return self.binder.unsupported(what, Place::Unknown);
            }
        }
        Ok(())
    }

    /// GROUP BY: numbers and names of the select list are understood; a column goes before a name of the
    /// list.
    fn group(
        &mut self,
        group_by: &GroupByExpr,
        outputs: &[OutputColumn],
    ) -> Result<Option<Vec<(Expr, SqlType)>>> {
        let GroupByExpr::Expressions(expressions, modifiers) = group_by else {
            return self.binder.unsupported("GROUP BY ALL is", Place::Unknown);
        };
        if !modifiers.is_empty() {
            return self.binder.unsupported("grouping sets are", Place::Unknown);
        }
        if expressions.is_empty() {
            return Ok(None);
        }
        self.binder.aggregate_mode = AggregateMode::Forbidden("in GROUP BY");
        let mut keys: Vec<(Expr, SqlType)> = Vec::new();
        for expression in expressions {
            let place = Place::of_expr(expression);
            let of_output = |output: &OutputColumn| (output.expr.clone(), output.sql_type);
            let key = if let Some(number) = ordinal(expression) {
                of_output(&outputs[self.output_number(number, outputs.len(), "GROUP BY", place)?])
            } else if let ast::Expr::Identifier(ident) = expression {
                let name = fold(ident);
                match (
                    self.binder.find_column(&name, place)?,
                    outputs.iter().find(|output| output.name == name),
                ) {
                    (None, Some(output)) => of_output(output),
                    (Some(column), _) => self.binder.known_or_text(column)?,
                    (None, None) => {
                        let column = self.binder.column(ident)?;
                        self.binder.known_or_text(column)?
                    }
                }
            } else {
                let bound = self.binder.expression(expression)?;
                self.binder.known_or_text(bound)?
            };
            if crate::expr::any(&key.0, &is_aggregate) {
                return self.binder.fail(
                    sqlstate::GROUPING_ERROR,
                    "aggregate functions are not allowed in GROUP BY",
                    place,
                );
            }
            if !keys.iter().any(|(known, _)| *known == key.0) {
                keys.push(key);
            }
        }
        Ok(Some(keys))
    }

    fn output_number(&self, number: i64, count: usize, clause: &str, place: Place) -> Result<usize> {
        match usize::try_from(number) {
            Ok(number) if (1..=count).contains(&number) => Ok(number - 1),
            _ => {
                let message = format!("{clause} position {number} is not in select list");
                self.binder.fail(sqlstate::INVALID_COLUMN_REFERENCE, message, place)
            }
        }
    }

    fn order(&mut self, query: &Query, outputs: &[OutputColumn]) -> Result<Vec<OrderKey>> {
        let Some(order_by) = &query.order_by else { return Ok(Vec::new()) };
        let OrderByKind::Expressions(expressions) = &order_by.kind else {
            return self.binder.unsupported("ORDER BY ALL is", Place::Unknown);
        };
        expressions.iter().map(|expression| self.order_key(expression, outputs)).collect()
    }

    fn order_key(&mut self, key: &OrderByExpr, outputs: &[OutputColumn]) -> Result<OrderKey> {
        let place = Place::of_expr(&key.expr);
        let first = self.binder.column_places.len();
        let (target, sql_type) = self.target(&key.expr, outputs, "ORDER BY")?;
        let is_descending = key.options.asc == Some(false);
        Ok(OrderKey {
            target,
            sql_type,
            is_descending,
            // NULLs count as larger than everything.
            nulls_first: key.options.nulls_first.unwrap_or(is_descending),
            place,
            column_places: (first, self.binder.column_places.len()),
        })
    }

    /// What an expression of ORDER BY or DISTINCT ON means: a number or name of the select list, or an
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
                    return self.binder.fail(sqlstate::AMBIGUOUS_COLUMN, message, place);
                }
                return Ok((OrderTarget::Output(at), output.sql_type));
            }
        }
        if let ast::Expr::Value(value) = expression
            && matches!(value.value, ast::Value::SingleQuotedString(_))
        {
            let message = format!("non-integer constant in {clause}");
            return self.binder.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        let bound = self.binder.expression(expression)?;
        let (expr, sql_type) = self.binder.known_or_text(bound)?;
        match outputs.iter().position(|output| output.expr == expr) {
            Some(at) => Ok((OrderTarget::Output(at), sql_type)),
            None => Ok((OrderTarget::Expression(expr), sql_type)),
        }
    }

    fn distinct(&mut self, select: &Select, outputs: &[OutputColumn]) -> Result<BoundDistinct> {
        match &select.distinct {
            None | Some(ast::Distinct::All) => Ok(BoundDistinct::No),
            Some(ast::Distinct::Distinct) => Ok(BoundDistinct::Rows),
            Some(ast::Distinct::On(expressions)) => expressions
                .iter()
                .map(|expression| self.target(expression, outputs, "DISTINCT ON"))
                .collect::<Result<Vec<_>>>()
                .map(BoundDistinct::On),
        }
    }

    fn limits(&mut self, query: &Query) -> Result<Limits> {
        let mut limits = Limits::default();
        match &query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                if let Some(limit) = limit {
                    limits.limit = Some(self.binder.columnless(limit, SqlType::BigInt, "LIMIT")?);
                }
                if let Some(offset) = offset {
                    limits.offset = Some(self.binder.columnless(&offset.value, SqlType::BigInt, "OFFSET")?);
                }
            }
            Some(LimitClause::OffsetCommaLimit { .. }) => {
                return self.binder.fail(
                    sqlstate::SYNTAX_ERROR,
                    "LIMIT #,# syntax is not supported",
                    Place::Unknown,
                );
            }
        }
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return self.binder.unsupported("FETCH FIRST ... WITH TIES is", Place::Unknown);
            }
            limits.limit = Some(match &fetch.quantity {
                Some(quantity) => self.binder.columnless(quantity, SqlType::BigInt, "FETCH FIRST")?,
                None => Expr::Const(Value::BigInt(1)),
            });
        }
        Ok(limits)
    }
}

/// The first clause of a query beside its body. Whoever takes the body alone refuses the rest by name: it
/// must not be dropped.
pub(crate) fn clause_around(query: &Query) -> Option<&'static str> {
    let Query {
        body: _,
        with,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    let is_foreign =
        for_clause.is_some() || settings.is_some() || format_clause.is_some() || !pipe_operators.is_empty();
    [
        (with.is_some(), "WITH"),
        (order_by.is_some(), "ORDER BY"),
        (limit_clause.is_some(), "LIMIT"),
        (fetch.is_some(), "FETCH FIRST"),
        (!locks.is_empty(), "FOR UPDATE"),
        (is_foreign, "this clause"),
    ]
    .into_iter()
    .find_map(|(is_there, clause)| is_there.then_some(clause))
}

/// Names and types of the columns.
pub(crate) fn described(outputs: &[OutputColumn]) -> Vec<(String, SqlType)> {
    outputs.iter().map(|output| (output.name.clone(), output.sql_type)).collect()
}

/// Whether the loops find at most one combination of rows.
pub(crate) fn is_single(levels: &[Level]) -> bool {
    levels.iter().all(|level| matches!(level.choice.access, Access::Point { .. }))
}

fn ordinal(expression: &ast::Expr) -> Option<i64> {
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
        if (crate::bind::AGGREGATE_PLACEHOLDER..crate::bind::GROUP_PLACEHOLDER).contains(register))
}

fn compare(register: Register, operator: BinaryOperator, number: i64) -> Expr {
    Expr::Binary {
        operator,
        left: Box::new(Expr::Register(register)),
        right: Box::new(Expr::Const(Value::BigInt(number))),
    }
}

fn minus_one(register: Register) -> Expr {
    compare(register, BinaryOperator::Subtract, 1)
}

/// LIMIT NULL is no limit.
fn has_room(limit: Register) -> Expr {
    Expr::Or(
        Box::new(compare(limit, BinaryOperator::Greater, 0)),
        Box::new(Expr::IsNull(Box::new(Expr::Register(limit)))),
    )
}

/// Whether the first loop can yield its rows in the order asked for; turns it into the right direction.
fn use_scan_order(bound: &mut BoundSelect) -> bool {
    let is_single = bound.levels.len() == 1;
    let Some(level) = bound.levels.first_mut() else { return true };
    let Source::Table { table, row } = &level.source else { return false };
    let direction = match &mut level.choice.access {
        // At most one row.
        Access::Point { .. } => return is_single,
        Access::PointList { .. } | Access::PointArray { .. } => return false,
        Access::Scan { direction, .. } => direction,
    };
    let definition = table.definition();
    let Some(primary_key) = &definition.primary_key else { return false };
    if primary_key.index != hyades_types::definition::IndexKind::Ordered {
        return false;
    }
    let equal = &level.choice.equal_columns;
    let mut key_columns = primary_key.columns[equal.len()..].iter();
    let mut wanted: Option<bool> = None;
    for key in &bound.order {
        let expr = match &key.target {
            OrderTarget::Output(at) => &bound.outputs[*at].expr,
            OrderTarget::Expression(expr) => expr,
        };
        let column = match expr {
            Expr::Const(_) => continue,
            Expr::Column { row: its_row, column } if its_row == row => *column,
            _ => return false,
        };
        if equal.contains(&column) {
            continue;
        }
        match key_columns.next() {
            Some(next) if *next == column => {}
            Some(_) => return false,
            // The whole key is ordered already: it is unique.
            None if is_single => break,
            None => return false,
        }
        if *wanted.get_or_insert(key.is_descending) != key.is_descending {
            return false;
        }
    }
    if wanted == Some(true) {
        *direction = Direction::Backward;
    }
    true
}
