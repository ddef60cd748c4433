//! Aggregates of users: the procedure that computes a result from the list of the arguments.
//!
//! The list has the arguments of the first row, then those of the second, and so on. A strict transition
//! function passes over rows with a NULL; without a first state, the first argument of the first other row is
//! one.
//!
//! Reference: advance_transition_function and finalize_aggregate of PostgreSQL's nodeAgg.c.

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Procedure, Register};
use hyades_types::definition::{AggregateSteps, RoutineDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::value::{SqlType, Value};

use super::routine_body::{Routine, When};
use crate::bind::visible_variables::Names;
use crate::bind::{BindContext, Bound, Class, Place};

/// The registers of a computation.
struct Fold {
    list: Register,
    /// The arguments of a row, with their types.
    arguments: Vec<(Register, SqlType)>,
    state: Register,
    /// Whether there has been a state.
    is_begun: Register,
}

impl Routine<'_> {
    pub(super) fn of_aggregate(
        definition: &RoutineDefinition,
        context: BindContext<'_>,
    ) -> Result<Procedure> {
        let mut routine = Routine::new(definition, context, 0)?;
        let Some(aggregate) = &definition.aggregate else {
            return Err(Error::input(sqlstate::INTERNAL_ERROR, "an aggregate has no definition"));
        };
        let steps = &aggregate.steps;
        let binder = &mut routine.compiler.binder;
        let list = binder.new_register()?;
        let mut arguments = Vec::new();
        for sql_type in definition.input_types() {
            arguments.push((binder.new_register()?, sql_type));
        }
        let (state, is_begun) = (binder.new_register()?, binder.new_register()?);
        let fold = Fold { list, arguments, state, is_begun };
        // A first state that cannot be read is an error of CREATE.
        routine.initial_state(steps, &fold)?;
        routine.compiler.binder.names = Some(Names::default());
        routine.rows_of_list(steps, &fold)?;
        let result = routine.last_step(steps, &fold, definition)?;
        // The functions run with the rights of the aggregate's owner, who had to have them.
        routine.compiler.binder.rights.take();
        routine.finish(vec![result], When::Called)
    }

    fn initial_state(&mut self, steps: &AggregateSteps, fold: &Fold) -> Result<()> {
        let value = match &steps.initial {
            Some(text) => {
                let (expr, class) = (Expr::Const(Value::Null), Class::Literal(text.clone()));
                let literal = Bound { expr, class, place: Place::Unknown };
                self.compiler.binder.coerce(literal, steps.state)?
            }
            None => Expr::Const(Value::Null),
        };
        self.compiler.code.evaluate(fold.state, value);
        let is_begun = Expr::Const(Value::Boolean(steps.initial.is_some()));
        self.compiler.code.evaluate(fold.is_begun, is_begun);
        Ok(())
    }

    /// The loop over the rows.
    fn rows_of_list(&mut self, steps: &AggregateSteps, fold: &Fold) -> Result<()> {
        let binder = &mut self.compiler.binder;
        let (counter, last) = (binder.new_register()?, binder.new_register()?);
        let (step, first) = (binder.new_register()?, binder.new_register()?);
        let width = i32::try_from(fold.arguments.len().max(1)).unwrap_or(i32::MAX);
        let length =
            Expr::Call { function: Function::Cardinality, arguments: vec![Expr::Register(fold.list)] };
        let length = Expr::Coalesce(vec![length, Expr::Const(Value::Integer(0))]);
        let code = &mut self.compiler.code;
        code.evaluate(counter, Expr::Const(Value::Integer(1)));
        code.evaluate(last, length);
        code.evaluate(step, Expr::Const(Value::Integer(width)));
        let (again, next, end) = (code.label(), code.label(), code.label());
        code.place(again);
        let is_reverse = false;
        code.push(Instruction::ForNext { counter, last, variable: first, is_reverse, end });
        for (at, (register, _)) in (0i32..).zip(&fold.arguments) {
            let index = match at {
                0 => Expr::Register(first),
                _ => Expr::Binary {
                    operator: hyades_types::operator::BinaryOperator::Add,
                    left: Box::new(Expr::Register(first)),
                    right: Box::new(Expr::Const(Value::Integer(at))),
                },
            };
            let (array, index) = (Box::new(Expr::Register(fold.list)), Box::new(index));
            code.evaluate(*register, Expr::Element { array, index });
        }
        self.next_state(steps, fold, next)?;
        let code = &mut self.compiler.code;
        code.place(next);
        code.push(Instruction::ForStep { counter, step, is_reverse, again, end });
        code.place(end);
        Ok(())
    }

    fn next_state(&mut self, steps: &AggregateSteps, fold: &Fold, next: Label) -> Result<()> {
        let is_given =
            |register: Register| Expr::Not(Box::new(Expr::IsNull(Box::new(Expr::Register(register)))));
        let code = &mut self.compiler.code;
        if steps.transition.is_strict {
            for (register, _) in &fold.arguments {
                code.jump_unless(is_given(*register), next);
            }
            if let (None, Some((argument, _))) = (&steps.initial, fold.arguments.first()) {
                let goes_on = code.label();
                code.jump_unless(Expr::Not(Box::new(Expr::Register(fold.is_begun))), goes_on);
                code.evaluate(fold.state, Expr::Register(*argument));
                code.evaluate(fold.is_begun, Expr::Const(Value::Boolean(true)));
                code.jump(next);
                code.place(goes_on);
            }
            code.jump_unless(is_given(fold.state), next);
        }
        let mut values = vec![(fold.state, steps.state)];
        values.extend(&fold.arguments);
        let bound = self.compiler.binder.support_call(&steps.transition, &values)?;
        let state = self.compiler.binder.coerce(bound, steps.state)?;
        self.compiler.code.evaluate(fold.state, state);
        Ok(())
    }

    /// The register of the result.
    fn last_step(
        &mut self,
        steps: &AggregateSteps,
        fold: &Fold,
        definition: &RoutineDefinition,
    ) -> Result<Register> {
        let Some(last) = &steps.last else { return Ok(fold.state) };
        let mut values = vec![(fold.state, steps.state)];
        if steps.last_takes_arguments {
            for (register, _) in &fold.arguments {
                self.compiler.code.evaluate(*register, Expr::Const(Value::Null));
            }
            values.extend(&fold.arguments);
        }
        let bound = self.compiler.binder.support_call(last, &values)?;
        let wanted = crate::bind::routine_call::value_type(definition).unwrap_or(steps.state);
        let value = self.compiler.binder.coerce(bound, wanted)?;
        let result = self.compiler.binder.new_register()?;
        self.compiler.code.evaluate(result, value);
        Ok(result)
    }
}
