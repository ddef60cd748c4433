//! Calls of procedures.
//!
//! The frame that a [`Run`] holds is always that of the active procedure. A call exchanges it for the
//! callee's and pushes the caller's onto the callee's list of callers. A return exchanges them back. So no
//! instruction pays for the possibility of calls, and everything survives a wait, because everything is in
//! the frame. Frames of procedures that have returned are kept and reused.

use std::sync::Arc;

use hyades_types::error::{Abort, Error, sqlstate};
use hyades_types::guest;
use hyades_types::value::Value;

use crate::local_arc::LocalArc;
use crate::procedure::evaluate::evaluate;
use crate::procedure::frame::{Calls, Frame, Request};
use crate::procedure::interpret::{Next, Run};
use crate::procedure::ir::{Callee, DynamicRows, DynamicStatement, Expr, Instruction, Procedure, SpoolSlot};
use crate::txn::{Access, Flow};

/// Deepest nesting of calls.
const DEEPEST_CALL: usize = 4000;
/// The least work that the session has with a request, as work of a guest: to parse and to bind a text, to
/// commit.
const UNITS_PER_REQUEST: u32 = 500;
/// Frames kept for later calls.
const MOST_SPARE_FRAMES: usize = 16;

impl<T: Access> Run<'_, T> {
    /// Makes the callee's frame the active one.
    #[inline(never)]
    pub(crate) fn call(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        let Instruction::Call { callee, arguments, rows, lent, .. } = instruction else {
            return Ok(Next::Following);
        };
        let head;
        let (called, place) = match &procedure.callees[usize::from(*callee)] {
            Callee::Procedure(called) => (called, self.next_place()),
            Callee::Member { number, .. } => {
                head = self.head();
                match head.member(*number) {
                    Some(called) => (called, self.frame.head),
                    // It is running, so it need not be looked at again.
                    None => return self.enter((head.shared(), self.frame.head), arguments, *rows, lent),
                }
            }
        };
        if called.routine.is_dropped() {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        self.enter((&called.procedure, place), arguments, *rows, lent)
    }

    /// The place among the callers that the frame of the next call will have.
    fn next_place(&self) -> usize {
        self.frame.calls.as_ref().map_or(0, |calls| calls.callers.len()) + 1
    }

    /// The head of the cycle of calls that the active procedure is in, which may be that procedure.
    fn head(&self) -> LocalArc<Procedure> {
        let callers = self.frame.calls.as_ref().map(|calls| &calls.callers);
        let frame = callers.and_then(|callers| callers.get(self.frame.head));
        frame.map_or_else(|| self.frame.procedure.clone(), |frame| frame.procedure.clone())
    }

    fn enter(
        &mut self,
        (procedure, head): (&Arc<Procedure>, usize),
        arguments: &[Expr],
        rows: Option<SpoolSlot>,
        lent: &[SpoolSlot],
    ) -> Flow<Next> {
        let calls = self.frame.calls.get_or_insert_default();
        if calls.callers.len() >= DEEPEST_CALL {
            return Err(Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .with_hint(format!("Procedures and functions can be nested {DEEPEST_CALL} deep."))
                .into());
        }
        let known = calls.spare.iter().rposition(|frame| frame.procedure.is(procedure));
        let mut frame = match known {
            Some(at) => calls.spare.swap_remove(at),
            None => Frame::new(Arc::clone(procedure)),
        };
        frame.registers.iter_mut().for_each(|register| register.put(Value::Null));
        frame.restart();
        self.charge_call(frame.registers.len());
        self.keep_rows();
        let context = self.context();
        for (register, argument) in frame.registers.iter_mut().zip(arguments) {
            *register = evaluate(argument, &context)?;
        }
        frame.emits_to = rows;
        frame.head = head;
        for (own, lent) in frame.spools.iter_mut().zip(lent) {
            std::mem::swap(own, &mut self.frame.spools[usize::from(*lent)]);
        }
        self.environment.trigger_depth += u32::from(procedure.is_trigger);
        self.frame.snapshot_time = self.transaction.snapshot_time();
        std::mem::swap(self.frame, &mut frame);
        std::mem::swap(&mut self.frame.calls, &mut frame.calls);
        if let Some(calls) = &mut self.frame.calls {
            calls.callers.push(frame);
        }
        Ok(Next::Call)
    }

    /// The session's part of it.
    #[inline(never)]
    pub(crate) fn asked_of_session(&mut self, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::Dynamic(dynamic) => self.dynamic(dynamic),
            Instruction::Cursor(cursor) => self.cursor(cursor),
            Instruction::EndTransaction { commits } => self.end_transaction(*commits),
            _ => Ok(Next::Following),
        }
    }

    /// EXECUTE: the session compiles the text, which is then called.
    fn dynamic(&mut self, dynamic: &DynamicStatement) -> Flow<Next> {
        let rows = dynamic.rows.as_ref().map(|(spool, _)| *spool);
        if let Some(compiled) = self.frame.compiled.take() {
            return self.enter((&compiled?, self.next_place()), &dynamic.arguments, rows, &[]);
        }
        let text = match evaluate(&dynamic.text, &self.context())? {
            Value::Null => {
                let message = "query string argument of EXECUTE is null";
                return Err(Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, message).into());
            }
            Value::Text(text) => text.to_string(),
            other => return Err(Error::input(sqlstate::INTERNAL_ERROR, format!("{other:?}")).into()),
        };
        guest::spend(UNITS_PER_REQUEST)?;
        let rows = dynamic.rows.as_ref().map(|(_, rows)| rows.clone());
        self.frame.request = Some(Request::Compile { text, types: dynamic.types.clone(), rows });
        Err(Error::Abort(Abort::Suspended).into())
    }

    /// COMMIT and ROLLBACK, carried out by the session.
    fn end_transaction(&mut self, commits: bool) -> Flow<Next> {
        let refused =
            |message: &str| Err(Error::input(sqlstate::INVALID_TRANSACTION_TERMINATION, message).into());
        if !self.environment.may_end_transactions {
            return refused("invalid transaction termination");
        }
        let callers = self.frame.calls.iter().flat_map(|calls| &calls.callers);
        if !self.frame.handlers.is_empty() || callers.into_iter().any(|frame| !frame.handlers.is_empty()) {
            return refused(match commits {
                true => "cannot commit while a subtransaction is active",
                false => "cannot roll back while a subtransaction is active",
            });
        }
        guest::spend(UNITS_PER_REQUEST)?;
        self.frame.next += 1;
        self.frame.request = Some(Request::EndTransaction { commits });
        Err(Error::Abort(Abort::Suspended).into())
    }

    /// Makes the caller's frame the active one. `None` if there is none.
    pub(super) fn leave(&mut self) -> Option<Frame> {
        let mut caller = self.frame.calls.as_mut()?.callers.pop()?;
        std::mem::swap(&mut self.frame.calls, &mut caller.calls);
        std::mem::swap(self.frame, &mut caller);
        self.environment.trigger_depth -= u32::from(caller.procedure.is_trigger);
        self.transaction.read_at(self.frame.snapshot_time);
        self.rows_in_place.clear();
        Some(caller)
    }

    fn keep_spare(&mut self, frame: Frame) {
        let calls: &mut Calls = self.frame.calls.get_or_insert_default();
        if calls.spare.len() < MOST_SPARE_FRAMES {
            calls.spare.push(frame);
        }
    }

    /// Passes the results to the caller. False if the outermost procedure has returned.
    #[inline(never)]
    pub(crate) fn return_to_caller(&mut self) -> bool {
        let Some(mut callee) = self.leave() else { return false };
        let procedure = self.frame.procedure.clone();
        if let Some(Instruction::Call { into, lent, .. }) = procedure.code.get(self.frame.next as usize) {
            for (own, lent) in callee.spools.iter_mut().zip(lent) {
                std::mem::swap(own, &mut self.frame.spools[usize::from(*lent)]);
            }
            for (target, result) in into.iter().zip(&callee.procedure.results) {
                self.frame.registers[usize::from(*target)] =
                    std::mem::take(&mut callee.registers[usize::from(*result)]);
            }
        }
        if let Some(Instruction::Dynamic(dynamic)) = procedure.code.get(self.frame.next as usize) {
            let count = match (&dynamic.rows, callee.procedure.results.first()) {
                (None, Some(result)) => std::mem::take(&mut callee.registers[usize::from(*result)]),
                (Some((spool, wanted)), _) => {
                    if *wanted == DynamicRows::Any {
                        self.frame.spools[usize::from(*spool)].source = Some(callee.procedure.clone());
                    }
                    let rows = self.frame.spools[usize::from(*spool)].len();
                    Value::BigInt(i64::try_from(rows).unwrap_or(i64::MAX))
                }
                (None, None) => Value::Null,
            };
            self.frame.registers[usize::from(dynamic.count)] = count;
        }
        self.frame.next += 1;
        self.keep_spare(callee);
        true
    }
}
