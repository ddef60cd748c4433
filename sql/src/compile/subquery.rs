//! Code of subqueries: compiled once, placed wherever an expression needs the value.
//!
//! A subquery that reads nothing of the query around it runs at most once in a statement, when its value is
//! first needed (PostgreSQL's InitPlan); another runs each time.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Register, Stage, StageRun};
use hyades_types::environment::Environment;
use hyades_types::error::{Result, sqlstate};
use hyades_types::value::{ArrayElement, Value};

use super::Compiler;
use super::code::Fragment;
use super::row_sink::{Nested, Sink, Then, Wanted};
use super::select::BoundSelect;
use crate::bind::tree::{Subquery, SubqueryKind};

impl Compiler<'_> {
    /// Compiles the subqueries that have been bound since. Before any code is emitted that needs them, and
    /// where the statement begins: what has run once is forgotten here.
    pub(crate) fn prepare_subqueries(&mut self) -> Result<()> {
        while let Some(subquery) = self.binder.subqueries.get(self.code.fragment_count()) {
            let subquery = subquery.clone();
            let done = if subquery.outer.is_empty() { Some(self.binder.new_register()?) } else { None };
            let fragment = self.fragment(subquery, done)?;
            self.code.add_fragment(fragment);
            if let Some(done) = done {
                self.code.evaluate(done, Expr::Const(Value::Boolean(false)));
            }
        }
        Ok(())
    }

    fn fragment(&mut self, subquery: Subquery, done: Option<Register>) -> Result<Fragment> {
        let Subquery { query, scope, kind, outer } = subquery;
        let start = self.code.begin_fragment();
        let scope = std::mem::replace(&mut self.binder.scope, scope);
        let sink = std::mem::take(&mut self.sink);
        let nested = self.nested.take();
        let compiled = self.plan_query(query).and_then(|planned| match kind {
            SubqueryKind::Value => self.value_of(planned),
            SubqueryKind::Exists => self.existence_of(planned),
            SubqueryKind::Array(element) => self.array_of(planned, element),
        });
        self.nested = nested;
        self.sink = sink;
        self.binder.scope = scope;
        Ok(self.code.end_fragment(start, outer, compiled?, done))
    }

    fn nest(&mut self, wanted: Wanted, then: Then) {
        self.sink = Sink::Pending(wanted);
        self.nested = Some(Nested { then, is_single: false, columns: Vec::new(), value: None });
    }

    fn value_of(&mut self, query: BoundSelect) -> Result<Register> {
        let flag = self.binder.new_register()?;
        let (found, none) = (self.code.label(), self.code.label());
        self.nest(Wanted::Value, Then::Once { flag, done: found, is_subquery: true });
        self.select_run(query)?;
        let nested = self.nested.take();
        let is_single = nested.as_ref().is_some_and(|nested| nested.is_single);
        let (register, _) = nested.and_then(|nested| nested.value).ok_or_else(|| {
            hyades_types::error::Error::input(sqlstate::INTERNAL_ERROR, "a subquery has no value")
        })?;
        if !is_single {
            self.code.jump_unless(Expr::Register(flag), none);
            self.code.jump(found);
        }
        self.code.place(none);
        self.code.evaluate(register, Expr::Const(Value::Null));
        self.code.place(found);
        Ok(register)
    }

    fn existence_of(&mut self, query: BoundSelect) -> Result<Register> {
        let result = self.binder.new_register()?;
        let (found, end) = (self.code.label(), self.code.label());
        self.nest(Wanted::Variables(Vec::new()), Then::Leave(found));
        self.select_run(query)?;
        self.code.evaluate(result, Expr::Const(Value::Boolean(false)));
        self.code.jump(end);
        self.code.place(found);
        self.code.evaluate(result, Expr::Const(Value::Boolean(true)));
        self.code.place(end);
        Ok(result)
    }

    fn array_of(&mut self, query: BoundSelect, element: ArrayElement) -> Result<Register> {
        let stage = self.code.new_stage()?;
        self.code.push(Instruction::OpenStage { stage });
        self.sink = Sink::Stage(stage);
        self.select_run(query)?;
        self.code.set_stage(stage, Arc::new(ToArray(element)));
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

/// Makes one array of the values that come in.
#[derive(Debug)]
struct ToArray(ArrayElement);

struct Elements {
    element: ArrayElement,
    values: Vec<Value>,
}

impl Stage for ToArray {
    fn start(self: Arc<Self>, _registers: &[Value]) -> Box<dyn StageRun> {
        Box::new(Elements { element: self.0, values: Vec::new() })
    }

    fn expressions(&self) -> Vec<&Expr> {
        Vec::new()
    }
}

impl StageRun for Elements {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        self.values.extend(values.first_mut().map(std::mem::take));
        Ok(())
    }

    fn finish(&mut self, _environment: &Environment) -> Result<Vec<Vec<Value>>> {
        Ok(vec![vec![Value::array(self.element, std::mem::take(&mut self.values))]])
    }
}
