//! Join tables that last as long as their statement: for subqueries that run for every row of the enclosing
//! query.
//!
//! `WHERE i.x = o.y` in a subquery says which rows of `i` a row of the enclosing query refers to. Where no
//! index leads to them, they would be searched for among all rows again for every `o`. So the rows of `i` are
//! kept under `i.x` once, and found there: EXISTS becomes a hash semi-join, NOT EXISTS an anti-join, and the
//! value of a subquery is found in the same way wherever it stands.
//!
//! The first time the subquery runs in a statement the rows are read as they are: it may be the only time.
//! From the second time on they are found in the join table.
//!
//! Invariants:
//! 1. What is kept does not depend on the enclosing row: conditions that read it are part of the key or
//!    checked on the rows found.
//! 2. A condition that may fail or is volatile is evaluated only for the rows found.
//! 3. The rows do not change while the statement runs: code that sees changes of its own statement
//!    (RETURNING) keeps nothing, and neither does a statement that calls a function that changes anything.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Callee, Expr, JoinSlot, Label, Register};
use hyades_engine::storage::table::Table;
use hyades_types::error::Result;
use hyades_types::value::Value;

use super::Compiler;
use super::loops::Body;
use super::outer_join::{is_null, not, truth};
use crate::bind::tree::{Source, Subquery, SubqueryKind};
use crate::plan::access::{Choice, Kept};
use crate::plan::judged_size::JudgedSize;
use crate::plan::level::Level;
use crate::plan::order::Around;

impl Around for Compiler<'_> {
    fn new_join(&mut self) -> Result<JoinSlot> {
        self.code.new_join()
    }

    fn new_mark(&mut self) -> Result<Register> {
        let mark = self.binder.new_register()?;
        self.marks.push(mark);
        Ok(mark)
    }

    fn outer(&self) -> &[Register] {
        &self.outer
    }

    fn is_lasting(&self, source: &Source) -> bool {
        match source {
            Source::Table { .. } => true,
            Source::Query(derived) => derived.recursion.is_none() && self.code.runs_once(derived.query),
            Source::Series(_) | Source::Routine(_) | Source::Working(..) => false,
        }
    }

    /// In a routine every table counts the same: the replay of a call that was logged as a command compiles
    /// it again, and must read rows in the same order.
    fn row_count(&mut self, table: &Arc<Table>) -> f64 {
        if self.nested.is_some() {
            return JudgedSize::FEWEST_ROWS as f64;
        }
        if let Some(judged) = self.judged.iter().find(|judged| Arc::ptr_eq(&judged.table, table)) {
            return judged.rows as f64;
        }
        let judged = JudgedSize::of(table);
        let rows = judged.rows;
        self.judged.push(judged);
        rows as f64
    }
}

impl Compiler<'_> {
    /// Begins the code of a subquery. Returns the state to restore when it is done.
    pub(super) fn begin_repeated(&mut self, subquery: &Subquery) -> Vec<Register> {
        let is_step = matches!(subquery.kind, SubqueryKind::Start(_) | SubqueryKind::Step(_));
        let may_last = !is_step && !subquery.sees_changes && self.calls_only_look();
        let outer = if may_last { subquery.outer.clone() } else { Vec::new() };
        std::mem::replace(&mut self.outer, outer)
    }

    pub(super) fn end_repeated(&mut self, before: Vec<Register>) {
        self.outer = before;
    }

    /// At the beginning of the statement: nothing is kept yet.
    pub(super) fn forget_kept(&mut self) {
        for mark in std::mem::take(&mut self.marks) {
            self.code.evaluate(mark, Expr::Const(Value::Null));
        }
    }

    fn calls_only_look(&self) -> bool {
        self.binder.callees.borrow().iter().all(|entry| match &entry.callee {
            Callee::Member { .. } => false,
            Callee::Procedure(called) => called.procedure.only_looks(),
        })
    }

    /// The loop over rows that are kept from the second time on. Both ways to find the rows share the inside
    /// of the loop.
    pub(super) fn second_time(
        &mut self,
        level: &Level,
        kept: &Kept,
        (mark, first): (Register, &Choice),
        end: Label,
        inner: &mut Body<'_>,
    ) -> Result<()> {
        let (position, is_scan) = (self.binder.new_register()?, self.binder.new_register()?);
        let (again, kept_now, scan, body) =
            (self.code.label(), self.code.label(), self.code.label(), self.code.label());
        self.code.jump_unless(is_null(mark), again);
        self.code.evaluate(mark, truth(false));
        self.code.jump(scan);
        self.code.place(again);
        self.code.jump_unless(not(Expr::Register(mark)), kept_now);
        self.build_join(level, kept)?;
        self.code.evaluate(mark, truth(true));
        self.code.place(kept_now);
        self.code.evaluate(is_scan, truth(false));
        let next_kept = self.probing(level, kept, position, end)?;
        self.code.jump(body);
        self.code.place(scan);
        self.code.evaluate(is_scan, truth(true));
        let scanned = Level { choice: first.clone(), ..level.clone() };
        self.plain_level(&scanned, end, &mut |compiler, next_scanned| {
            compiler.code.place(body);
            let next = compiler.code.label();
            inner(compiler, next)?;
            compiler.code.place(next);
            compiler.code.jump_unless(Expr::Register(is_scan), next_kept);
            compiler.code.jump(next_scanned);
            Ok(())
        })
    }
}
