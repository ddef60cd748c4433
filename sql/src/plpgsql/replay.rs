//! Whether a call may be logged as a command: the same arguments, captured values and state must give the same run.
//!
//! A run under two-phase locking is a function of its arguments, of what it captured, and of the rows it read. What remains is the
//! order in which a scan without an order hands out rows: a table without a primary key, or with one in a hash. A procedure
//! that reads such a table otherwise than by key is logged as data, whatever it does with the rows.

use std::borrow::Cow;

use hyades_engine::catalog::{IndexKind, RoutineKind};
use hyades_engine::procedure::ir::{Callee, Condition, Expr, Instruction, Replayability};
use hyades_engine::value::SqlType;
use hyades_engine::value::function::Function;

use crate::compile::Compiler;
use crate::compile::code::for_each_expr;
use crate::expr;

/// What has been seen so far.
#[derive(Default)]
struct Seen {
    uses_clock: bool,
    uses_random: bool,
    uses_identity: bool,
    unknown: Option<Cow<'static, str>>,
}

impl Seen {
    fn expr(&mut self, whole: &Expr) {
        let mut stack = vec![whole];
        while let Some(part) = stack.pop() {
            self.part(part);
            expr::for_each_part(part, &mut |inner| stack.push(inner));
        }
    }

    fn part(&mut self, part: &Expr) {
        match part {
            Expr::Call { function, .. } => match function {
                Function::ClockTimestamp => self.refuse("it asks for the time of day while it runs"),
                Function::Now | Function::StatementTimestamp => self.uses_clock = true,
                Function::CurrentDate | Function::LocalTimestamp => {
                    self.uses_clock = true;
                    self.uses_identity = true;
                }
                Function::Random | Function::GenRandomUuid => self.uses_random = true,
                Function::DateTrunc
                | Function::DatePart
                | Function::Extract
                | Function::Concat
                | Function::ConcatWithSeparator
                | Function::Format => self.uses_identity = true,
                _ => {}
            },
            Expr::Cast { to, .. } => {
                // Between texts, dates and times the session's time zone decides.
                let is_zoned = to.is_text() || to.is_datetime() || matches!(to, SqlType::Array(_));
                self.uses_identity |= is_zoned;
            }
            _ => {}
        }
    }

    fn refuse(&mut self, why: &'static str) {
        self.unknown.get_or_insert(Cow::Borrowed(why));
    }

    fn callee(&mut self, replay: &Replayability) {
        match replay {
            Replayability::Deterministic { uses_clock, uses_random, uses_identity } => {
                self.uses_clock |= uses_clock;
                self.uses_random |= uses_random;
                self.uses_identity |= uses_identity;
            }
            Replayability::Unknown(why) => {
                self.unknown.get_or_insert_with(|| why.clone());
            }
        }
    }
}

/// Whether a handler takes what comes from outside, at a moment that no log knows.
fn catches_cancel(condition: &Condition) -> bool {
    matches!(condition, Condition::State(state) if state.0.starts_with("57"))
}

/// Judges the code that has been assembled.
pub(super) fn judge(compiler: &Compiler<'_>, _kind: RoutineKind) -> Replayability {
    let mut seen = Seen::default();
    let code = &compiler.code;
    for instruction in code.instructions() {
        for_each_expr(&mut instruction.clone(), &mut |part| seen.expr(part));
        if let Instruction::OpenScan { table, .. } = instruction {
            let definition = &code.tables()[usize::from(*table)].definition;
            match &definition.primary_key {
                None => seen.refuse("it scans a table without a primary key, whose rows are in no order"),
                Some(key) if key.index == IndexKind::Hash => {
                    seen.refuse("it scans a table with a hash index, whose rows are in no order");
                }
                Some(_) => {}
            }
        }
        if matches!(instruction, Instruction::OpenStage { .. }) {
            // Stages evaluate expressions of their own.
            seen.uses_identity = true;
            seen.uses_clock = true;
            seen.uses_random = true;
        }
        if let Instruction::ReadPoint { intent, .. } | Instruction::OpenScan { intent, .. } = instruction
            && intent.impatience().is_some()
        {
            seen.refuse("what it reads depends on which rows are locked");
        }
        if let Instruction::MatchError { conditions, .. } = instruction
            && conditions.iter().any(catches_cancel)
        {
            seen.refuse("it catches that it is cancelled, and goes on");
        }
    }
    for entry in compiler.binder.callees.borrow().iter() {
        if let Callee::Procedure { procedure, .. } = &entry.callee {
            seen.callee(&procedure.replay);
        }
    }
    match seen.unknown {
        Some(why) => Replayability::Unknown(why),
        None => Replayability::Deterministic {
            uses_clock: seen.uses_clock,
            uses_random: seen.uses_random,
            uses_identity: seen.uses_identity,
        },
    }
}
