//! SELECTs that the executor finishes: grouping, window functions, DISTINCT, sorting.
//!
//! Stages (`executor`) take computed values and return rows. With grouping they receive the keys and the
//! arguments of the aggregates (`grouping`), and return a row for each group, from which the procedure
//! computes the columns of the result. Window functions (`windows`) come after it. A sort receives the
//! columns of the result, and the other values to sort by.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Register, SpoolSlot, Stage};
use hyades_types::error::{Result, sqlstate};
use hyades_types::value::SqlType;

use super::grouping::{with_grouping_calls, with_results};
use super::row_sink::Sink;
use super::run_plan::{RunPlan, Tag};
use super::select::{BoundSelect, described};
use super::{Compiler, Purpose};
use crate::bind::Place;
use crate::bind::tree::{BoundDistinct, OrderTarget};
use crate::explain::counted::Counted;
use crate::plan::level::Step;
use crate::plan::stage::{Distinct, Grouping, SortKey, Sorting};

/// Emits the code for each row of a spool, given its values and the label that leads to the next one.
pub(crate) type SpooledBody<'b> = dyn FnMut(&mut Compiler<'_>, Vec<Expr>, Label) -> Result<()> + 'b;

/// Values that a row carries between stages, and their types.
#[derive(Default)]
pub(super) struct Carried {
    pub(crate) exprs: Vec<Expr>,
    types: Vec<SqlType>,
}

impl Carried {
    pub(super) fn add(&mut self, expr: Expr, sql_type: SqlType) -> usize {
        self.exprs.push(expr);
        self.types.push(sql_type);
        self.exprs.len() - 1
    }

    fn chars(&self) -> Vec<usize> {
        chars_among(self.types.iter().copied())
    }
}

impl BoundSelect {
    /// Whether the rows of a SELECT DISTINCT are sorted by all of their values, so that equal rows become
    /// neighbours. Only if the order of the types certainly has the same equality as DISTINCT.
    pub(super) fn is_sorted_by_all(&self) -> bool {
        let is_key = |at: usize| {
            self.order.iter().any(|key| matches!(key.target, OrderTarget::Output(output) if output == at))
        };
        let is_plain = |of: SqlType| {
            matches!(of, SqlType::Boolean | SqlType::SmallInt | SqlType::Integer | SqlType::BigInt)
                || matches!(of, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Bytea)
                || matches!(of, SqlType::Date | SqlType::Time(_) | SqlType::TimeTz(_))
                || matches!(of, SqlType::Timestamp(_) | SqlType::TimestampTz(_) | SqlType::Uuid)
                || matches!(of, SqlType::Inet | SqlType::Cidr | SqlType::MacAddr | SqlType::MacAddr8)
        };
        let mut outputs = self.outputs.iter().enumerate();
        matches!(self.distinct, BoundDistinct::Rows)
            && outputs.all(|(at, output)| is_key(at) && is_plain(output.sql_type))
    }
}

/// The positions of the types that are `character`.
pub(super) fn chars_among(types: impl IntoIterator<Item = SqlType>) -> Vec<usize> {
    let typed = types.into_iter().enumerate();
    typed.filter(|(_, sql_type)| matches!(sql_type, SqlType::Char(_))).map(|(at, _)| at).collect()
}

/// Emits code, given the label that leads to the next row.
type EachRow<'b> = dyn FnMut(&mut Compiler<'_>, Label) -> Result<()> + 'b;

impl Compiler<'_> {
    pub(crate) fn staged_select(&mut self, mut bound: BoundSelect) -> Result<RunPlan> {
        let explain = self.explained(|compiler| compiler.explain_select(&bound, false));
        let is_grouped = bound.is_grouped();
        let keys = if is_grouped { self.group_keys(&mut bound)? } else { Vec::new() };
        // The values computed from a row: the columns, then the other values to sort by.
        let width = bound.outputs.len();
        let mut answer = Carried::default();
        for output in &bound.outputs {
            answer.add(output.expr.clone(), output.sql_type);
        }
        let sort = sort_keys(&bound, &mut answer);
        let distinct = match self.distinct_stage(&bound, width, &mut answer)? {
            Distinct::Rows(_) if bound.is_sorted_by_all() => Distinct::Sorted,
            distinct => distinct,
        };
        self.describe(described(&bound.outputs), is_grouped && bound.group.is_none())?;
        self.count(Counted::Began(bound.number))?;
        let end = self.code.label();
        let (limit, offset) = self.limit_counters(&bound.limits, end)?;
        if sort.is_empty() && distinct == Distinct::No {
            let is_whole = limit.is_none() && offset.is_none();
            if !is_whole || !self.whole_windows(&bound, &keys, &answer.exprs)? {
                self.computed_rows(&bound, &keys, answer.exprs, &mut |compiler, values, next| {
                    compiler.emit_limited(values, bound.number, (limit, offset), next, end)
                })?;
            }
        } else {
            let with_ties = bound.limits.with_ties;
            let sorting = Sorting { distinct, chars: answer.chars(), sort, limit, offset, with_ties, width };
            let spool = self.through(Arc::new(sorting), None, &mut |compiler| {
                let feed = &mut |compiler: &mut Compiler<'_>, values, _| compiler.emit(values);
                compiler.computed_rows(&bound, &keys, std::mem::take(&mut answer.exprs), feed)
            })?;
            self.emit_spooled(spool, width, bound.number)?;
        }
        self.code.place(end);
        let types = bound.outputs.iter().map(|output| output.sql_type).collect();
        let procedure = self.finish_code("select", types)?;
        Ok(self.direct_run(procedure, Tag::Select, explain))
    }

    /// Passes `body` these values of each row, after grouping and window functions if there are any.
    fn computed_rows(
        &mut self,
        bound: &BoundSelect,
        keys: &[(Expr, SqlType)],
        values: Vec<Expr>,
        body: &mut SpooledBody<'_>,
    ) -> Result<()> {
        if bound.windowing.is_empty() {
            return self.grouped_rows(bound, keys, values, body);
        }
        let mut feed = |compiler: &mut Compiler<'_>, values: Vec<Expr>| {
            compiler.grouped_rows(bound, keys, values, &mut |compiler, values, _| compiler.emit(values))
        };
        self.windows(bound, values, &mut feed, body)
    }

    /// Emits these values of each row, if the window functions can put its rows where they belong. Returns
    /// false if nothing was done.
    fn whole_windows(
        &mut self,
        bound: &BoundSelect,
        keys: &[(Expr, SqlType)],
        values: &[Expr],
    ) -> Result<bool> {
        if bound.windowing.is_empty() {
            return Ok(false);
        }
        self.whole_window_rows(bound, values, &mut |compiler, fed| {
            compiler.grouped_rows(bound, keys, fed, &mut |compiler, values, _| compiler.emit(values))
        })
    }

    /// The same after grouping.
    fn grouped_rows(
        &mut self,
        bound: &BoundSelect,
        keys: &[(Expr, SqlType)],
        values: Vec<Expr>,
        body: &mut SpooledBody<'_>,
    ) -> Result<()> {
        if bound.is_grouped() {
            return self.groups(bound, keys, values, body);
        }
        self.rows(bound, &mut |compiler, next| body(compiler, values.clone(), next))
    }

    /// Emits the rows of a spool. Rows of a result are emitted as they are.
    fn emit_spooled(&mut self, spool: SpoolSlot, width: usize, select: u16) -> Result<()> {
        if let (Sink::Answer, Purpose::Run | Purpose::Explain, Ok(width)) =
            (&self.sink, self.purpose, u16::try_from(width))
        {
            self.code.push(Instruction::EmitSpooled { spool, width });
            return Ok(());
        }
        self.for_spooled(spool, width, &mut |compiler, values, _| {
            compiler.count(Counted::Answered(select))?;
            compiler.emit(values)
        })
    }

    /// The loops over FROM.
    fn rows(&mut self, bound: &BoundSelect, body: &mut EachRow<'_>) -> Result<()> {
        let end = self.code.label();
        self.check(&bound.constant, end);
        self.loops(&bound.steps, end, body)?;
        self.code.place(end);
        Ok(())
    }

    /// Passes `body` these values of each group for which HAVING is true.
    fn groups(
        &mut self,
        bound: &BoundSelect,
        keys: &[(Expr, SqlType)],
        values: Vec<Expr>,
        body: &mut SpooledBody<'_>,
    ) -> Result<()> {
        let mut fed: Vec<Expr> = keys.iter().map(|(key, _)| key.clone()).collect();
        let layout = self.aggregate_layout(&bound.aggregates, &mut fed)?;
        let chars = chars_among(keys.iter().map(|(_, sql_type)| *sql_type));
        let sets = bound.group.as_ref().map(|group| group.sets.clone()).unwrap_or_default();
        let grouping = Grouping {
            keys: keys.len(),
            chars,
            is_grouped: bound.group.is_some(),
            sets,
            calls: layout.calls,
        };
        let width = keys.len() + grouping.calls.len();
        let spool = self.through(Arc::new(grouping), None, &mut |compiler| {
            compiler.rows(bound, &mut |compiler, _| {
                for (register, filter) in &layout.filters {
                    compiler.code.evaluate(*register, filter.clone());
                }
                compiler.emit(fed.clone())
            })
        })?;
        self.for_spooled(spool, width, &mut |compiler, results, next| {
            let results = with_grouping_calls(results, &bound.aggregates, keys.len());
            let result = |expr: &Expr| with_results(expr.clone(), &results, keys.len());
            let having: Vec<Expr> = bound.having.iter().map(result).collect();
            compiler.check(&having, next);
            compiler.count(Counted::Grouped(bound.number))?;
            let values: Vec<Expr> = values.iter().map(result).collect();
            // With window functions, they are called for the rows with their results.
            let mut sets = if bound.windowing.is_empty() { bound.sets.clone() } else { Vec::new() };
            for level in &mut sets {
                level.source.arguments_mut().into_iter().for_each(|argument| *argument = result(argument));
            }
            let sets: Vec<Step> = sets.into_iter().map(|level| Step::Loop(Box::new(level))).collect();
            compiler.nest(&sets, next, &mut |compiler, next| body(compiler, values.clone(), next))
        })
    }

    /// Feeds a stage with the emitted rows. Returns the spool with its output: a new one, or the given one.
    pub(super) fn through(
        &mut self,
        meaning: Arc<dyn Stage>,
        into: Option<SpoolSlot>,
        feed: &mut dyn FnMut(&mut Compiler<'_>) -> Result<()>,
    ) -> Result<SpoolSlot> {
        let stage = self.code.new_stage()?;
        self.code.set_stage(stage, meaning);
        self.code.push(Instruction::OpenStage { stage });
        let outer = std::mem::replace(&mut self.sink, Sink::Stage(stage));
        let fed = feed(self);
        self.sink = outer;
        fed?;
        let spool = match into {
            Some(spool) => spool,
            None => {
                let spool = self.code.new_spool()?;
                self.code.push(Instruction::OpenSpool { spool });
                spool
            }
        };
        self.code.push(Instruction::FinishStage { stage, spool });
        Ok(spool)
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

/// The positions of the keys of ORDER BY among the carried values.
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
