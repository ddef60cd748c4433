//! SELECTs that the executor finishes: grouping, DISTINCT, sorting.
//!
//! The procedure emits, for each row, the values that the stages take: with grouping the keys, the arguments
//! of the aggregates and their filters; without, the answer's columns and what else is sorted by.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Register, SpoolSlot, Stage};
use hyades_types::error::{Result, sqlstate};
use hyades_types::value::{SqlType, Value};

use super::Compiler;
use super::level::for_each_level;
use super::row_sink::Sink;
use super::select::{BoundSelect, described};
use crate::bind::aggregation::Aggregate;
use crate::bind::scope::RelationKind;
use crate::bind::tree::{BoundDistinct, OrderTarget, Source};
use crate::bind::{AGGREGATE_PLACEHOLDER, GROUP_PLACEHOLDER, Place};
use crate::expr;
use crate::plan::{AggregateCall, AggregateStage, Distinct, RunPlan, SortKey, Stages, Tag};

/// What runs for each row of a spool: gets its values and the label that leads to the next one.
pub(crate) type SpooledBody<'b> = dyn FnMut(&mut Compiler<'_>, Vec<Expr>, Label) -> Result<()> + 'b;

/// Values that a row carries between stages, and their types.
#[derive(Default)]
pub(super) struct Carried {
    pub(super) exprs: Vec<Expr>,
    types: Vec<SqlType>,
}

impl Carried {
    pub(super) fn add(&mut self, expr: Expr, sql_type: SqlType) -> usize {
        self.exprs.push(expr);
        self.types.push(sql_type);
        self.exprs.len() - 1
    }
}

impl Compiler<'_> {
    pub(crate) fn staged_select(&mut self, mut bound: BoundSelect) -> Result<RunPlan> {
        let explain = self.explained(|compiler| compiler.explain_select(&bound, false));
        self.hoist_subqueries(&mut bound)?;
        let is_grouped = bound.is_grouped();
        let aggregates = std::mem::take(&mut bound.aggregates);
        let group = if is_grouped { Some(self.group_keys(&mut bound)?) } else { None };
        // What the answer's stage computes from a row: the columns, then what else is sorted by.
        let width = bound.outputs.len();
        let mut answer = Carried::default();
        for output in &bound.outputs {
            answer.add(output.expr.clone(), output.sql_type);
        }
        let sort = sort_keys(&bound, &mut answer);
        let distinct = self.distinct_stage(&bound, width, &mut answer)?;
        let base = self.binder.register_count();
        let mut stages = Stages {
            base,
            distinct,
            sort,
            limit: bound.limits.limit.clone(),
            offset: bound.limits.offset.clone(),
            width,
            ..Stages::default()
        };
        let emitted = match group {
            None => answer,
            Some(keys) => {
                let mut emitted = Carried::default();
                stages.aggregate =
                    Some(aggregate_stage(&keys, &aggregates, bound.group.is_some(), &mut emitted));
                let results = |register: Register| placeholder(register, base, keys.len());
                stages.having = bound.having.clone().map(|having| renumbered(having, &results));
                let project = answer.exprs.into_iter().map(|expr| renumbered(expr, &results)).collect();
                stages.project = Some(project);
                emitted
            }
        };
        self.refuse_staged_calls(&stages)?;
        self.describe(described(&bound.outputs), is_grouped && bound.group.is_none())?;
        let stage = self.code.new_stage()?;
        self.code.push(Instruction::OpenStage { stage });
        let outer = std::mem::replace(&mut self.sink, Sink::Stage(stage));
        let end = self.code.label();
        self.check(&bound.constant, end);
        self.loops(&bound.steps, end, &mut |compiler, _| compiler.emit(emitted.exprs.clone()))?;
        self.code.place(end);
        self.code.set_stage(stage, Arc::new(stages));
        self.sink = outer;
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        self.code.push(Instruction::FinishStage { stage, spool });
        self.for_spooled(spool, width, &mut |compiler, values, _| compiler.emit(values))?;
        let types = bound.outputs.iter().map(|output| output.sql_type).collect();
        let procedure = self.finish_code("select", types)?;
        Ok(self.direct_run(procedure, Tag::Select, explain))
    }

    /// Runs the code of `body` for each row of a spool, given its values and the label that leads to the next
    /// row.
    pub(crate) fn for_spooled(
        &mut self,
        spool: SpoolSlot,
        width: usize,
        body: &mut SpooledBody<'_>,
    ) -> Result<()> {
        let registers = (0..width).map(|_| self.binder.new_register()).collect::<Result<Vec<Register>>>()?;
        let (again, end) = (self.code.label(), self.code.label());
        self.code.place(again);
        self.code.push(Instruction::NextSpooled {
            spool,
            into: registers.first().copied().unwrap_or_default(),
            width: Register::try_from(width).unwrap_or(Register::MAX),
            end,
        });
        body(self, registers.into_iter().map(Expr::Register).collect(), again)?;
        self.code.jump(again);
        self.code.place(end);
        Ok(())
    }

    /// Stages evaluate behind the procedure's back, where nothing else can run: subqueries that read nothing
    /// of this query run before it.
    fn hoist_subqueries(&mut self, bound: &mut BoundSelect) -> Result<()> {
        let is_grouped = bound.is_grouped();
        let BoundSelect { outputs, having, order, limits, .. } = bound;
        let mut staged: Vec<&mut Expr> = limits.limit.iter_mut().chain(&mut limits.offset).collect();
        if is_grouped {
            staged.extend(outputs.iter_mut().map(|output| &mut output.expr));
            staged.extend(having);
            staged.extend(order.iter_mut().filter_map(|order| match &mut order.target {
                OrderTarget::Expression(expr) => Some(expr),
                OrderTarget::Output(_) => None,
            }));
        }
        let mut hoisted: Vec<(u16, Register)> = Vec::new();
        for expr in staged {
            let mut found = Vec::new();
            expr::replace(expr, &mut |part| {
                if let Expr::Query { query, outer } = part
                    && outer.is_empty()
                {
                    found.push(*query);
                }
                None
            });
            for query in found {
                if hoisted.iter().all(|(known, _)| *known != query) {
                    let register = self.binder.new_register()?;
                    self.code.evaluate(register, Expr::Query { query, outer: Vec::new() });
                    hoisted.push((query, register));
                }
            }
            expr::replace(expr, &mut |part| match part {
                Expr::Query { query, outer } if outer.is_empty() => {
                    let known = hoisted.iter().find(|(known, _)| known == query);
                    known.map(|(_, register)| Expr::Register(*register))
                }
                _ => None,
            });
        }
        Ok(())
    }

    /// What cannot run there is refused.
    fn refuse_staged_calls(&self, stages: &Stages) -> Result<()> {
        let has = |test: fn(&Expr) -> bool| {
            stages.expressions().into_iter().any(|expr| expr::any(expr, &|part| test(part)))
        };
        if has(|part| matches!(part, Expr::Routine { .. })) {
            let what = "functions of your own over groups, in HAVING, and in LIMIT of a query that sorts are";
            return self.binder.unsupported(what, Place::Unknown);
        }
        if has(|part| matches!(part, Expr::Query { .. })) {
            return self.binder.unsupported("subqueries that depend on a group are", Place::Unknown);
        }
        Ok(())
    }

    /// The keys of the groups; replaces them in the other clauses and refuses columns that are neither keys
    /// nor aggregated.
    fn group_keys(&mut self, bound: &mut BoundSelect) -> Result<Vec<(Expr, SqlType)>> {
        let mut keys = bound.group.clone().unwrap_or_default();
        self.add_dependent_keys(bound, &mut keys);
        let replace_keys = |expr: &mut Expr| {
            expr::replace(expr, &mut |part| {
                let is_key = !matches!(part, Expr::Const(_));
                let at = keys.iter().position(|(key, _)| is_key && key == part)?;
                Some(Expr::Register(GROUP_PLACEHOLDER + Register::try_from(at).ok()?))
            });
        };
        for output in &mut bound.outputs {
            replace_keys(&mut output.expr);
        }
        for order in &mut bound.order {
            if let OrderTarget::Expression(expr) = &mut order.target {
                replace_keys(expr);
            }
        }
        if let Some(having) = &mut bound.having {
            replace_keys(having);
        }
        for output in &bound.outputs {
            self.refuse_ungrouped(&output.expr, output.column_places)?;
        }
        if let Some(having) = &bound.having {
            self.refuse_ungrouped(having, bound.having_places)?;
        }
        for order in &bound.order {
            if let OrderTarget::Expression(expr) = &order.target {
                self.refuse_ungrouped(expr, order.column_places)?;
            }
        }
        Ok(keys)
    }

    /// Whoever groups by a primary key may name the table's other columns: they become keys too.
    fn add_dependent_keys(&self, bound: &BoundSelect, keys: &mut Vec<(Expr, SqlType)>) {
        let mut sources = Vec::new();
        for_each_level(&bound.steps, &mut |level| sources.push(&level.source));
        for source in sources {
            let Source::Table { table, row } = source else { continue };
            let definition = table.definition();
            let Some(primary_key) = &definition.primary_key else { continue };
            let column = |column: u16| Expr::Column { row: *row, column };
            let is_key = |keys: &[(Expr, SqlType)], expr: &Expr| keys.iter().any(|(key, _)| key == expr);
            if !primary_key.columns.iter().all(|key| is_key(keys, &column(*key))) {
                continue;
            }
            for (number, defined) in definition.columns.iter().enumerate() {
                let expr = column(u16::try_from(number).unwrap_or(u16::MAX));
                let is_used =
                    bound.outputs.iter().any(|output| expr::any(&output.expr, &|part| *part == expr))
                        || bound.having.iter().any(|having| expr::any(having, &|part| *part == expr))
                        || bound.order.iter().any(|order| match &order.target {
                            OrderTarget::Expression(order) => expr::any(order, &|part| *part == expr),
                            OrderTarget::Output(_) => false,
                        });
                if is_used && !is_key(keys, &expr) {
                    keys.push((expr, defined.sql_type));
                }
            }
        }
    }

    fn refuse_ungrouped(&self, expr: &Expr, places: (usize, usize)) -> Result<()> {
        let mut ungrouped: Option<Expr> = None;
        let is_free = |part: &Expr| match part {
            Expr::Column { .. } => true,
            Expr::Register(register) => {
                self.binder.scope.relations.iter().any(|relation| match &relation.kind {
                    RelationKind::Registers(registers) => registers.contains(register),
                    RelationKind::Elements(_, current) => current == register,
                    RelationKind::Table { .. } | RelationKind::Values(_) => false,
                })
            }
            _ => false,
        };
        find(expr, &is_free, &mut ungrouped);
        let Some(found) = ungrouped else { return Ok(()) };
        let mut place = Place::Unknown;
        if let Expr::Column { row, column } = &found {
            let named = &self.binder.column_places[places.0..places.1];
            place = named
                .iter()
                .find(|(its_row, its_column, _)| its_row == row && its_column == column)
                .map_or(Place::Unknown, |(_, _, place)| *place);
        }
        let names = crate::explain::Names { scope: &self.binder.scope, is_qualified: true };
        let shown = hyades_engine::procedure::listing::shown(&found, &names);
        let message = format!(
            "column \"{shown}\" must appear in the GROUP BY clause or be used in an aggregate function"
        );
        self.binder.fail(sqlstate::GROUPING_ERROR, message, place)
    }

    fn distinct_stage(
        &mut self,
        bound: &BoundSelect,
        width: usize,
        answer: &mut Carried,
    ) -> Result<Distinct> {
        match &bound.distinct {
            BoundDistinct::No => Ok(Distinct::No),
            BoundDistinct::Rows => {
                for order in &bound.order {
                    if matches!(order.target, OrderTarget::Expression(_)) {
                        return self.binder.fail(
                            sqlstate::INVALID_COLUMN_REFERENCE,
                            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                            order.place,
                        );
                    }
                }
                Ok(Distinct::Rows(width))
            }
            BoundDistinct::On(targets) => {
                let mut columns = Vec::with_capacity(targets.len());
                for (target, sql_type) in targets {
                    columns.push(match target {
                        OrderTarget::Output(at) => *at,
                        OrderTarget::Expression(expr) => {
                            let known = answer.exprs.iter().position(|carried| carried == expr);
                            known.unwrap_or_else(|| answer.add(expr.clone(), *sql_type))
                        }
                    });
                }
                let leading: Vec<usize> =
                    sort_values(bound, answer).into_iter().take(columns.len()).collect();
                if !leading.is_empty() && !leading.iter().all(|value| columns.contains(value)) {
                    return self.binder.fail(
                        sqlstate::INVALID_COLUMN_REFERENCE,
                        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                        bound.order.first().map_or(Place::Unknown, |order| order.place),
                    );
                }
                Ok(Distinct::On(columns))
            }
        }
    }
}

fn find(expr: &Expr, wanted: &dyn Fn(&Expr) -> bool, found: &mut Option<Expr>) {
    if found.is_some() {
        return;
    }
    if wanted(expr) {
        *found = Some(expr.clone());
        return;
    }
    expr.for_each_part(&mut |part| find(part, wanted, found));
}

/// Where the keys of ORDER BY stand among the carried values.
fn sort_values(bound: &BoundSelect, answer: &Carried) -> Vec<usize> {
    bound
        .order
        .iter()
        .filter_map(|order| match &order.target {
            OrderTarget::Output(at) => Some(*at),
            OrderTarget::Expression(expr) => answer.exprs.iter().position(|carried| carried == expr),
        })
        .collect()
}

pub(super) fn sort_keys(bound: &BoundSelect, answer: &mut Carried) -> Vec<SortKey> {
    bound
        .order
        .iter()
        .map(|order| {
            let value = match &order.target {
                OrderTarget::Output(at) => *at,
                OrderTarget::Expression(expr) => answer.add(expr.clone(), order.sql_type),
            };
            SortKey {
                value,
                is_descending: order.is_descending,
                nulls_first: order.nulls_first,
                is_char: matches!(order.sql_type, SqlType::Char(_)),
            }
        })
        .collect()
}

/// The argument, computed only for rows that pass the filter. Where they do not it is NULL, which every
/// aggregate of an argument leaves out.
fn filtered_argument(aggregate: &Aggregate) -> Option<Expr> {
    let argument = aggregate.argument.clone()?;
    Some(match &aggregate.filter {
        Some(filter) => Expr::Case {
            branches: vec![(filter.clone(), argument)],
            otherwise: Box::new(Expr::Const(Value::Null)),
        },
        None => argument,
    })
}

/// Lays out what the procedure emits for the aggregates.
fn aggregate_stage(
    keys: &[(Expr, SqlType)],
    aggregates: &[Aggregate],
    is_grouped: bool,
    emitted: &mut Carried,
) -> AggregateStage {
    for (key, sql_type) in keys {
        emitted.add(key.clone(), *sql_type);
    }
    let calls = aggregates
        .iter()
        .map(|aggregate| AggregateCall {
            kind: aggregate.kind,
            argument: filtered_argument(aggregate)
                .map(|argument| emitted.add(argument, aggregate.argument_type)),
            argument_type: aggregate.argument_type,
            // Without an argument only the filter can leave a row out.
            filter: match (&aggregate.argument, &aggregate.filter) {
                (None, Some(filter)) => Some(emitted.add(filter.clone(), SqlType::Boolean)),
                _ => None,
            },
            is_distinct: aggregate.is_distinct,
        })
        .collect();
    AggregateStage { keys: keys.len(), is_grouped, calls }
}

/// The register in which a placeholder's value will be: group keys first, then results.
fn placeholder(register: Register, base: Register, keys: usize) -> Option<Register> {
    let keys = Register::try_from(keys).ok()?;
    if register >= GROUP_PLACEHOLDER {
        return Some(base + (register - GROUP_PLACEHOLDER));
    }
    (register >= AGGREGATE_PLACEHOLDER).then(|| base + keys + (register - AGGREGATE_PLACEHOLDER))
}

fn renumbered(mut expr: Expr, to: &dyn Fn(Register) -> Option<Register>) -> Expr {
    expr::replace(&mut expr, &mut |part| match part {
        Expr::Register(register) => to(*register).map(Expr::Register),
        _ => None,
    });
    expr
}
