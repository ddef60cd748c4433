//! Code of subqueries: compiled once, placed wherever an expression needs the value.
//!
//! A subquery that reads nothing of the enclosing query runs at most once in a statement, when its value is
//! first needed (PostgreSQL's InitPlan). Any other subquery runs each time, though it need not read
//! everything each time (`lasting_join`).

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Register, SpoolSlot};
use hyades_types::error::{Result, sqlstate};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::SetOperator;

use super::Compiler;
use super::code::{Fragment, FragmentResult};
use super::explained_rows::Shape;
use super::row_sink::{Nested, Sink, Then, Wanted};
use super::stages::chars_among;
use crate::bind::Place;
use crate::bind::tree::{Branch, QueryBody, RowTest, Subquery, SubqueryKind};
use crate::plan::stage::{ArrayOf, Combination};

impl Compiler<'_> {
    /// Compiles the subqueries bound since the last call. To be called before code is emitted that needs
    /// them, and at the beginning of the statement: it resets the state of those that run only once.
    pub(crate) fn prepare_subqueries(&mut self) -> Result<()> {
        while let Some(subquery) = self.binder.subqueries.get(self.code.fragment_count()) {
            let subquery = subquery.clone();
            let done = if subquery.is_independent { Some(self.binder.new_register()?) } else { None };
            let fragment = self.fragment(subquery, done)?;
            self.code.add_fragment(fragment);
            if let Some(done) = done {
                self.code.evaluate(done, Expr::Const(Value::Boolean(false)));
            }
            self.forget_kept();
        }
        Ok(())
    }

    fn fragment(&mut self, subquery: Subquery, done: Option<Register>) -> Result<Fragment> {
        let around = self.begin_repeated(&subquery);
        let was_in_subquery = std::mem::replace(&mut self.is_in_subquery, true);
        let Subquery { branch, kind, outer, .. } = subquery;
        let (described, is_shown) = (self.subplans.len(), kind.is_in_expression());
        let shape = (!is_shown).then(|| Shape::of(&branch.body));
        let start = self.code.begin_fragment();
        let sink = std::mem::take(&mut self.sink);
        let nested = self.nested.take();
        let compiled = match kind {
            SubqueryKind::Value => self.value_of(branch, Wanted::Value).map(|register| (register, None)),
            SubqueryKind::Row { first, width } => {
                let row = wanted_row(&branch, first, width);
                self.value_of(branch, Wanted::Variables(row)).map(|register| (register, None))
            }
            SubqueryKind::Exists => self.existence_of(branch).map(|register| (register, None)),
            SubqueryKind::Array(element) => {
                self.array_of(branch, ArrayOf { element, is_set: false }).map(|register| (register, None))
            }
            SubqueryKind::Set(element) => {
                self.array_of(branch, ArrayOf { element, is_set: true }).map(|register| (register, None))
            }
            SubqueryKind::Rows => self.rows_of(branch).map(|(register, spool)| (register, Some(spool))),
            SubqueryKind::Start(recursion) => self.first_rows(branch, recursion),
            SubqueryKind::Step(recursion) => self.more_rows(branch, recursion),
            SubqueryKind::Compared(test) => {
                self.comparison_with(branch, test).map(|register| (register, None))
            }
            SubqueryKind::Any(test) => self.any_of(branch, test).map(|register| (register, None)),
        };
        self.nested = nested;
        self.sink = sink;
        self.end_repeated(around);
        self.is_in_subquery = was_in_subquery;
        if let Some(shape) = shape {
            let number = self.code.fragment_count();
            let mut plans = self.subplans.drain(described..).map(|(_, plan)| plan);
            self.kept_plans.extend(shape.plan(&mut plans).map(|plan| (number, plan)));
        }
        let (result, spool) = compiled?;
        Ok(self.code.end_fragment(start, FragmentResult { outer, result, spool, done }))
    }

    /// Emits the rows of a branch.
    pub(super) fn branch(&mut self, branch: Branch) -> Result<()> {
        let Branch { body, scope } = branch;
        match body {
            QueryBody::Select(query) => {
                let scope = std::mem::replace(&mut self.binder.scope, scope);
                let compiled = self.plan_query(*query).and_then(|planned| self.select_run(planned));
                self.binder.scope = scope;
                self.note_subplan(compiled?.explain);
                Ok(())
            }
            QueryBody::Values(rows) => rows.into_iter().try_for_each(|row| self.emit(row)),
            QueryBody::Both { operator: SetOperator::Union, is_all: true, sides } => {
                sides.into_iter().try_for_each(|side| self.branch(side))
            }
            QueryBody::Both { operator, is_all, sides } => self.combined(operator, is_all, *sides),
            QueryBody::System(_) => Ok(()),
        }
    }

    fn combined(&mut self, operator: SetOperator, is_all: bool, sides: [Branch; 2]) -> Result<()> {
        let width = width_of(&sides[0]);
        let chars = chars_of(&sides[0]);
        let stage = self.code.new_stage()?;
        self.code.push(Instruction::OpenStage { stage });
        let outer = std::mem::take(&mut self.sink);
        let nested = self.nested.take();
        for (side, branch) in sides.into_iter().enumerate() {
            self.sink = Sink::Side(stage, side == 1);
            self.branch(branch)?;
        }
        (self.sink, self.nested) = (outer, nested);
        self.code.set_stage(stage, Arc::new(Combination { chars, operator, is_all }));
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        self.code.push(Instruction::FinishStage { stage, spool });
        self.for_spooled(spool, width, &mut |compiler, values, _| compiler.emit(values))
    }

    fn rows_of(&mut self, branch: Branch) -> Result<(Register, SpoolSlot)> {
        let result = self.binder.new_register()?;
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        if let QueryBody::System(relation) = branch.body {
            self.code.push(Instruction::ReadCatalog { relation, spool });
            return Ok((result, spool));
        }
        self.sink = match &branch.body {
            QueryBody::Select(_) => Sink::Filled(spool),
            _ => Sink::Spool(spool),
        };
        self.branch(branch)?;
        Ok((result, spool))
    }

    fn take_rows(&mut self, wanted: Wanted, then: Then) {
        self.sink = Sink::Pending(wanted);
        self.nested = Some(Nested { then, is_single: false, columns: Vec::new(), value: None });
    }

    /// The value of the only row, or its first value if several are wanted.
    fn value_of(&mut self, branch: Branch, wanted: Wanted) -> Result<Register> {
        let mut slots = match &wanted {
            Wanted::Variables(slots) => slots.clone(),
            _ => Vec::new(),
        };
        let flag = self.binder.new_register()?;
        let (found, none) = (self.code.label(), self.code.label());
        self.take_rows(wanted, Then::Once { flag, done: found, is_subquery: true });
        self.branch(branch)?;
        let nested = self.nested.take();
        let is_single = nested.as_ref().is_some_and(|nested| nested.is_single);
        slots.extend(nested.and_then(|nested| nested.value));
        let Some((register, _)) = slots.first().copied() else {
            return self.binder.fail(sqlstate::INTERNAL_ERROR, "a subquery has no value", Place::Unknown);
        };
        if !is_single {
            self.code.jump_unless(Expr::Register(flag), none);
            self.code.jump(found);
        }
        self.code.place(none);
        slots.iter().for_each(|(slot, _)| self.code.evaluate(*slot, Expr::Const(Value::Null)));
        self.code.place(found);
        Ok(register)
    }

    fn existence_of(&mut self, branch: Branch) -> Result<Register> {
        let result = self.binder.new_register()?;
        let (found, end) = (self.code.label(), self.code.label());
        self.take_rows(Wanted::Variables(Vec::new()), Then::Leave(found));
        self.branch(branch)?;
        self.code.evaluate(result, Expr::Const(Value::Boolean(false)));
        self.code.jump(end);
        self.code.place(found);
        self.code.evaluate(result, Expr::Const(Value::Boolean(true)));
        self.code.place(end);
        Ok(result)
    }

    /// Compares the only row.
    fn comparison_with(&mut self, branch: Branch, test: RowTest) -> Result<Register> {
        let result = self.binder.new_register()?;
        self.value_of(branch, Wanted::Variables(test.values))?;
        self.code.evaluate(result, test.condition);
        Ok(result)
    }

    /// Compares the rows one by one, until one decides the result.
    fn any_of(&mut self, branch: Branch, test: RowTest) -> Result<Register> {
        let (result, truth) = (self.binder.new_register()?, self.binder.new_register()?);
        let (body, resume, unknown, end) =
            (self.code.label(), self.code.label(), self.code.label(), self.code.label());
        self.code.evaluate(result, Expr::Const(Value::Boolean(false)));
        self.take_rows(Wanted::Variables(test.values), Then::Body { body, resume });
        self.branch(branch)?;
        self.code.jump(end);
        self.code.place(body);
        self.code.evaluate(truth, test.condition);
        self.code.jump_unless(Expr::Register(truth), unknown);
        self.code.evaluate(result, Expr::Const(Value::Boolean(true)));
        self.code.jump(end);
        self.code.place(unknown);
        self.code.jump_unless(Expr::IsNull(Box::new(Expr::Register(truth))), resume);
        self.code.evaluate(result, Expr::Const(Value::Null));
        self.code.jump(resume);
        self.code.place(end);
        Ok(result)
    }

    fn array_of(&mut self, branch: Branch, array: ArrayOf) -> Result<Register> {
        let stage = self.code.new_stage()?;
        self.code.push(Instruction::OpenStage { stage });
        self.sink = Sink::Stage(stage);
        self.branch(branch)?;
        self.code.set_stage(stage, Arc::new(array));
        let spool = self.code.new_spool()?;
        let into = self.binder.new_register()?;
        let end = self.code.label();
        self.code.push(Instruction::OpenSpool { spool });
        self.code.push(Instruction::FinishStage { stage, spool });
        self.code.push(Instruction::NextSpooled { spool, into, width: 1, end });
        self.code.place(end);
        Ok(into)
    }
}

/// The number of columns of its rows.
fn width_of(branch: &Branch) -> usize {
    match &branch.body {
        QueryBody::Select(query) => query.outputs.len(),
        QueryBody::Values(rows) => rows.first().map_or(0, Vec::len),
        QueryBody::Both { sides, .. } => width_of(&sides[0]),
        // Never a side of another query.
        QueryBody::System(_) => 0,
    }
}

/// Its columns of type `character`.
fn chars_of(branch: &Branch) -> Vec<usize> {
    match &branch.body {
        QueryBody::Select(query) => chars_among(query.outputs.iter().map(|output| output.sql_type)),
        QueryBody::Both { sides, .. } => chars_of(&sides[0]),
        QueryBody::Values(_) | QueryBody::System(_) => Vec::new(),
    }
}

/// The registers of a row's values.
fn wanted_row(branch: &Branch, first: Register, width: u16) -> Vec<(Register, SqlType)> {
    let QueryBody::Select(query) = &branch.body else { return Vec::new() };
    let registers = first..first.saturating_add(width);
    registers.zip(&query.outputs).map(|(register, output)| (register, output.sql_type)).collect()
}
