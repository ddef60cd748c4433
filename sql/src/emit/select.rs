//! SELECT.
//!
//! If scan order is the requested order, and there is no grouping and no DISTINCT, the procedure emits the
//! result itself and stops at LIMIT. Otherwise it emits what the stages need (`stages`).

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Register, RowSlot};
use hyades_types::error::{Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, Query, SetExpr};

use super::changing_with::changes_rows;
use super::run_plan::Tag;
use super::{CompiledQuery, Compiler};
use crate::bind::Place;
use crate::bind::aggregation::Aggregate;
use crate::bind::select::clause_around;
use crate::bind::tree::OutputColumn;
use crate::bind::tree::Source;
use crate::bind::tree::{BoundDistinct, BoundQuery, GroupBy, JoinMember, Limits, OrderKey, OrderTarget};
use crate::bind::windowing::Windowing;
use crate::explain::PlanNode;
use crate::explain::counted::Counted;
use crate::plan::access::{self, Access, OrderColumn};
use crate::plan::level::{Level, Step, any_level};
use crate::plan::order::{self, EarlyStop};
use crate::statement::locking::{name_of, unpack};

/// A planned SELECT.
pub(crate) struct BoundSelect {
    pub(crate) steps: Vec<Step>,
    /// Conditions that read no row.
    pub(crate) constant: Vec<Expr>,
    pub(crate) outputs: Vec<OutputColumn>,
    pub(crate) group: Option<GroupBy>,
    pub(crate) having: Option<Expr>,
    pub(crate) having_places: (usize, usize),
    /// Loops inside the one over the groups, or over the rows with the results of window functions.
    pub(crate) sets: Vec<Level>,
    pub(crate) order: Vec<OrderKey>,
    pub(crate) distinct: BoundDistinct,
    pub(crate) limits: Limits,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) windowing: Windowing,
    /// Identifies it among the SELECTs of its statement.
    pub(crate) number: u16,
}

impl BoundSelect {
    /// Whether rows must be grouped.
    pub(crate) fn is_grouped(&self) -> bool {
        !self.aggregates.is_empty() || self.group.is_some() || self.having.is_some()
    }

    /// Whether the columns of the result are computed from the rows of FROM directly.
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_grouped() && self.windowing.is_empty()
    }
}

impl Compiler<'_> {
    /// A query at the top of a statement.
    pub(crate) fn query(&mut self, query: &Query) -> Result<CompiledQuery> {
        if let Some(with) = &query.with
            && changes_rows(query)
        {
            return self.query_with_changes(query, with);
        }
        if let Some(clause) = query.locks.first()
            && matches!(query.body.as_ref(), SetExpr::Values(_))
        {
            let message = format!("{} cannot be applied to VALUES", name_of(unpack(clause).strength));
            return self.binder.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, Place::Unknown);
        }
        if let (SetExpr::Values(values), None) = (query.body.as_ref(), clause_around(query)) {
            return self.values_query(values);
        }
        let mut bound = self.bind_query(query)?;
        if self.keeps_row_keys {
            self.add_row_keys(&mut bound)?;
        }
        let columns = self.result_columns(&bound.outputs);
        let run = self.select_run(bound)?;
        Ok(CompiledQuery { run, columns: Some(columns) })
    }

    /// Adds a column with the keys under which the rows are stored, if they are the rows of one table.
    fn add_row_keys(&mut self, bound: &mut BoundSelect) -> Result<()> {
        let are_rows =
            bound.is_plain() && bound.sets.is_empty() && matches!(bound.distinct, BoundDistinct::No);
        let [Step::Loop(level)] = bound.steps.as_mut_slice() else { return Ok(()) };
        if !are_rows || !matches!(level.source, Source::Table { .. }) {
            return Ok(());
        }
        let into = self.binder.new_register()?;
        level.key_into = Some(into);
        bound.outputs.push(OutputColumn {
            name: String::new(),
            expr: Expr::Register(into),
            sql_type: SqlType::Bytea,
            place: Place::Unknown,
            column_places: (0, 0),
        });
        Ok(())
    }

    /// Binds and plans a query that is one SELECT.
    pub(crate) fn bind_query(&mut self, query: &Query) -> Result<BoundSelect> {
        let bound = self.binder.bind_query(query)?;
        self.prepare_subqueries()?;
        self.plan_query(bound)
    }

    /// Decides in which order and how FROM is read.
    pub(crate) fn plan_query(&mut self, bound: BoundQuery) -> Result<BoundSelect> {
        let is_join = !matches!(bound.from.members.as_slice(), [] | [JoinMember::Item(_)]);
        let early_stop = if is_join { early_stop(&bound) } else { None };
        let (steps, constant) = order::steps(bound.from, early_stop, self)?;
        let mut planned = BoundSelect {
            steps,
            constant,
            outputs: bound.outputs,
            group: bound.group,
            having: bound.having,
            having_places: bound.having_places,
            sets: bound.sets.into_iter().map(order::unsteered).collect(),
            order: bound.order,
            distinct: bound.distinct,
            limits: bound.limits,
            aggregates: bound.aggregates,
            windowing: bound.windowing,
            number: self.selects,
        };
        self.selects += 1;
        planned.find_key_reads();
        Ok(planned)
    }

    /// Compiles a planned SELECT whose rows are the result.
    pub(crate) fn select_run(&mut self, mut bound: BoundSelect) -> Result<super::run_plan::RunPlan> {
        let is_plain = bound.is_plain() && matches!(bound.distinct, BoundDistinct::No);
        // Rows with ties are compared where they are sorted.
        if is_plain && !bound.limits.with_ties && (bound.order.is_empty() || use_scan_order(&mut bound)) {
            return self.direct_select(bound);
        }
        if bound.skips_in_order() {
            return self.skipping_select(&bound);
        }
        self.staged_select(bound)
    }

    /// The procedure emits the result itself.
    fn direct_select(&mut self, bound: BoundSelect) -> Result<super::run_plan::RunPlan> {
        let explain = self.explained(|compiler| compiler.explain_select(&bound, true));
        let types: Vec<SqlType> = bound.outputs.iter().map(|output| output.sql_type).collect();
        let values: Vec<Expr> = bound.outputs.iter().map(|output| output.expr.clone()).collect();
        self.describe(described(&bound.outputs), is_single(&bound.steps))?;
        self.count(Counted::Began(bound.number))?;
        self.emit_rows(&bound, &values)?;
        let source = self.finish_code("select", types)?;
        Ok(self.direct_run(source, Tag::Select, explain))
    }

    /// Loops over FROM and emits these values, subject to LIMIT and OFFSET.
    fn emit_rows(&mut self, bound: &BoundSelect, values: &[Expr]) -> Result<()> {
        let end = self.code.label();
        let counters = self.limit_counters(&bound.limits, end)?;
        self.check(&bound.constant, end);
        self.loops(&bound.steps, end, &mut |compiler, next| {
            compiler.emit_limited(values.to_vec(), bound.number, counters, next, end)
        })?;
        self.code.place(end);
        Ok(())
    }

    /// Evaluates LIMIT and OFFSET into counters. Ends immediately if the limit is 0.
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
        select: u16,
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
        self.count(Counted::Answered(select))?;
        self.emit(values)?;
        if let Some(limit) = limit {
            self.code.evaluate(limit, minus_one(limit));
            self.code.jump_unless(has_room(limit), end);
        }
        Ok(())
    }

    /// VALUES as a statement.
    fn values_query(&mut self, values: &ast::Values) -> Result<CompiledQuery> {
        let (rows, columns) = self.binder.values_rows(values)?;
        self.prepare_subqueries()?;
        self.describe(columns.clone(), rows.len() == 1)?;
        rows.into_iter().try_for_each(|row| self.emit(row))?;
        let types = columns.iter().map(|(_, sql_type)| *sql_type).collect();
        let result = |(name, sql_type)| crate::answer::ResultColumn { name, sql_type, source: None };
        let columns = columns.into_iter().map(result).collect();
        let source = self.finish_code("values", types)?;
        let explain = self.explained(|_| {
            PlanNode::new("Values Scan on \"*VALUES*\"").counted(Counted::Started, Counted::Told)
        });
        let run = self.direct_run(source, Tag::Select, explain);
        Ok(CompiledQuery { run, columns: Some(columns) })
    }
}

/// Names and types of the columns.
pub(crate) fn described(outputs: &[OutputColumn]) -> Vec<(String, SqlType)> {
    outputs.iter().map(|output| (output.name.clone(), output.sql_type)).collect()
}

/// Whether the loops find at most one combination of rows.
pub(crate) fn is_single(steps: &[Step]) -> bool {
    !any_level(steps, |level| !level.choice.is_single)
        && !steps.iter().any(|step| matches!(step, Step::Full(_)))
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

/// Whether the first loop can yield its rows in the requested order. Sets its direction accordingly. A query
/// that stops at LIMIT uses an index for that alone.
fn use_scan_order(bound: &mut BoundSelect) -> bool {
    let is_only = bound.steps.len() == 1;
    let has_limit = bound.limits.limit.is_some();
    let level = match bound.steps.first() {
        None => return true,
        Some(Step::Loop(level)) => level,
        Some(Step::Left(_) | Step::Full(_)) => return false,
    };
    let Source::Table { table, row, .. } = &level.source else { return false };
    if level.choice.is_single {
        return is_only;
    }
    let Some(order) = columns_of_order(&bound.order, &bound.outputs, *row) else { return false };
    let found = access::in_order(&table.definition(), &level.choice, &order, has_limit, is_only);
    let Some((index, wanted)) = found else { return false };
    if let Some(Step::Loop(level)) = bound.steps.first_mut()
        && let Access::Scan { range, direction } = &mut level.choice.access
    {
        range.index = index;
        *direction = wanted;
    }
    true
}

fn expression_of<'q>(key: &'q OrderKey, outputs: &'q [OutputColumn]) -> &'q Expr {
    match &key.target {
        OrderTarget::Output(at) => &outputs[*at].expr,
        OrderTarget::Expression(expr) => expr,
    }
}

/// The number of rows after which a query stops, and their order, unless it has to sort them in any case.
fn early_stop(bound: &BoundQuery) -> Option<EarlyStop> {
    let is_plain = bound.aggregates.is_empty()
        && bound.group.is_none()
        && bound.having.is_none()
        && bound.windowing.is_empty()
        && !bound.limits.with_ties
        && matches!(bound.distinct, BoundDistinct::No);
    let limit = bound.limits.limit.as_ref().filter(|_| is_plain)?;
    let limit = match limit {
        Expr::Const(value) => value.as_i64()? as f64,
        _ => UNKNOWN_LIMIT,
    };
    if bound.order.is_empty() {
        return Some(EarlyStop { limit, order: None });
    }
    let row = bound.order.iter().find_map(|key| match expression_of(key, &bound.outputs) {
        Expr::Column { row, .. } => Some(*row),
        _ => None,
    })?;
    let columns = columns_of_order(&bound.order, &bound.outputs, row)?;
    Some(EarlyStop { limit, order: Some((row, columns)) })
}

/// The assumed value of a LIMIT that is a parameter.
const UNKNOWN_LIMIT: f64 = 100.0;

/// The columns of a table's row by which rows are ordered, each with whether it descends and whether NULLs
/// come first. `None` if they are ordered by anything else.
fn columns_of_order(order: &[OrderKey], outputs: &[OutputColumn], row: RowSlot) -> Option<Vec<OrderColumn>> {
    let mut columns = Vec::new();
    for key in order {
        match expression_of(key, outputs) {
            Expr::Const(_) => {}
            Expr::Column { row: its_row, column } if *its_row == row => {
                let (is_descending, nulls_first) = (key.is_descending, key.nulls_first);
                columns.push(OrderColumn { column: *column, is_descending, nulls_first });
            }
            _ => return None,
        }
    }
    Some(columns)
}
