//! Locking clauses of SELECT: queries that skip locked rows.
//!
//! PostgreSQL locks a row when it has passed WHERE, ORDER BY and LIMIT. A serializable transaction locks what
//! it reads anyway, so the rows that WHERE reads are locked with the requested strength. Other transactions
//! lock the rows that have passed WHERE. A query with SKIP LOCKED promises nothing about the rows it does not
//! return, and does as PostgreSQL: where it must sort, it reads rows without keeping their locks, and then
//! locks them one by one in the order of the result until LIMIT is reached. Rows that no longer pass WHERE by
//! then are left out.
//!
//! FOR KEY SHARE is taken as such where the query reads nothing of the row, or reads at a snapshot. A
//! serializable transaction would read columns that others may change at the same time, so for it the lock is
//! a FOR SHARE.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Impatience, Instruction, Intent, Strength};
use hyades_types::error::Result;
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;

use super::Compiler;
use super::row_sink::Sink;
use super::run_plan::{RunPlan, Tag};
use super::select::{BoundSelect, described};
use super::stages::{Carried, sort_keys};
use crate::bind::tree::Source;
use crate::bind::tree::{BoundDistinct, OrderTarget};
use crate::explain::counted::Counted;
use crate::expr;
use crate::plan::level::{Level, Step, any_level, only_level};
use crate::plan::stage::Sorting;

impl Compiler<'_> {
    /// Locks the result's rows and checks them again in their order, see the module head. Only over one table
    /// that has a key.
    pub(super) fn skipping_select(&mut self, bound: &BoundSelect) -> Result<RunPlan> {
        let explain = self.explained(|compiler| compiler.explain_select(bound, false));
        let Some(level) = only_level(&bound.steps) else {
            return self.binder.lacks(Missing::SkipLocked, "SKIP LOCKED in a join that sorts is");
        };
        let Source::Table { table, row, .. } = &level.source else {
            return self.binder.lacks(Missing::SkipLocked, "SKIP LOCKED over a function is");
        };
        let row = *row;
        let definition = table.definition();
        let key_columns: &[u16] = definition.primary_key.as_ref().map_or(&[], |key| &key.columns);
        let types: Vec<SqlType> = bound.outputs.iter().map(|output| output.sql_type).collect();
        let mut carried = Carried::default();
        for output in &bound.outputs {
            carried.add(output.expr.clone(), output.sql_type);
        }
        let sort = sort_keys(bound, &mut carried);
        let key_start = carried.exprs.len();
        for &column in key_columns {
            carried.add(Expr::Column { row, column }, definition.columns[usize::from(column)].sql_type);
        }
        let width = carried.exprs.len();
        self.describe(described(&bound.outputs), false)?;
        self.count(Counted::Began(bound.number))?;
        let end = self.code.label();
        let counters = self.limit_counters(&bound.limits, end)?;
        self.check(&bound.constant, end);
        let stage = self.code.new_stage()?;
        self.code.push(Instruction::OpenStage { stage });
        let outer = std::mem::replace(&mut self.sink, Sink::Stage(stage));
        let looked_at = self.code.label();
        let glance = Level {
            intent: Intent { impatience: Some(Impatience::SkipLocked), ..Intent::READ },
            is_kept: false,
            ..level.clone()
        };
        self.loops(&[Step::Loop(Box::new(glance))], looked_at, &mut |compiler, _| {
            compiler.emit(carried.exprs.clone())
        })?;
        self.code.place(looked_at);
        self.sink = outer;
        self.code.set_stage(stage, Arc::new(Sorting { sort, width, ..Sorting::default() }));
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        self.code.push(Instruction::FinishStage { stage, spool });
        let table = self.code.table(table)?;
        let outputs: Vec<Expr> = bound.outputs.iter().map(|output| output.expr.clone()).collect();
        self.for_spooled(spool, width, &mut |compiler, values, next| {
            let key = values[key_start..].to_vec();
            compiler.code.push(Instruction::ReadPoint {
                table,
                key,
                row,
                intent: level.intent.decided(),
                absent: next,
            });
            compiler.check(&level.choice.filter, next);
            if level.choice.access.index().is_some() {
                compiler.check(&level.choice.steering, next);
            }
            compiler.emit_limited(outputs.clone(), bound.number, counters, next, end)
        })?;
        self.code.place(end);
        let source = self.finish_code("select", types)?;
        Ok(self.direct_run(source, Tag::Select, explain))
    }
}

impl BoundSelect {
    /// Whether it must lock its rows in the order of the result.
    pub(super) fn skips_in_order(&self) -> bool {
        any_level(&self.steps, |level| {
            level.intent.impatience == Some(Impatience::SkipLocked)
                && matches!(&level.source, Source::Table { table, .. } if table.definition().primary_key.is_some())
        })
    }

    /// FOR KEY SHARE of a row of which nothing is read locks it at once, and shows no column.
    pub(super) fn find_key_reads(&mut self) {
        let is_plain = matches!(self.distinct, BoundDistinct::No);
        let Some(level) = only_level(&self.steps) else { return };
        let Source::Table { row, .. } = &level.source else { return };
        let reads = |expr: &Expr| expr::reads(expr, *row, &[]);
        let target = |target: &OrderTarget| match target {
            OrderTarget::Output(_) => false,
            OrderTarget::Expression(expr) => reads(expr),
        };
        let is_unseen = level.intent.strength == Strength::KeyRead
            && level.is_point()
            && is_plain
            && !level.choice.filter.iter().any(reads)
            && !self.outputs.iter().any(|output| reads(&output.expr))
            && !self.order.iter().any(|order| target(&order.target));
        if let [Step::Loop(level)] = self.steps.as_mut_slice()
            && is_unseen
        {
            level.intent = level.intent.decided();
        }
    }
}
