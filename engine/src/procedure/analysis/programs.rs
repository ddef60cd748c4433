//! Replay programs: what is left of a procedure when a logged call of it is replayed.
//!
//! A call that was logged has committed, and its replay sees the rows that it saw. So it goes the same way
//! through the code, no check of it fails uncaught, and there is no client to receive its rows. What remains
//! is what its writes need:
//!
//! * **roots**: what writes to tables, what is in a block with a handler, and the handling of errors;
//! * what a root, or anything needed, uses: the instructions that set it;
//! * the instructions that decide about anything needed.
//!
//! Everything else goes: results, messages, checks whose only effect is an error, reads for these,
//! statements' snapshots, locks. An insert outside of handlers becomes *blind*: it looks for no other row.
//!
//! What cannot happen any more, because the run did not fail, ends in a [`Trap`](Instruction::Trap): a way
//! that leads to an error only, and a row where a blind insert puts one. Where a replay meets one it has
//! diverged, as when it does not write what the run has written.
//!
//! Reference: PACMAN (SIGMOD 2017), section 4.1.1, slices whole procedures into what has to be executed; that
//! a committed call cannot fail is not used there.

use std::sync::Arc;

use super::assemble::Assembler;
use super::flow::Flow;
use super::places::Place;
use crate::mutant::{self, Mutant};
use crate::procedure::effects::TableUse;
use crate::procedure::ir::{Callee, Instruction, Procedure, TableIndex};

impl Procedure {
    /// The procedure to run when a logged call of `procedure` is replayed: it writes the same. It is made
    /// once.
    pub fn replay_program(procedure: &Arc<Procedure>) -> Arc<Procedure> {
        let program = procedure.program.get_or_init(|| procedure.find_program().map(Arc::new));
        program.as_ref().map_or_else(|| Arc::clone(procedure), Arc::clone)
    }

    /// `None`: all of it.
    fn find_program(&self) -> Option<Procedure> {
        // A call of one that calls itself is a whole run inside of it, which may fail.
        if self.is_recursive() || self.code.iter().any(is_of_session) {
            return None;
        }
        let built = |procedure: &Procedure| Flow::of(procedure).map(|flow| build(procedure, &flow));
        self.with_callees().as_ref().and_then(built).or_else(|| built(self))
    }

    pub(super) fn is_recursive(&self) -> bool {
        !self.members.is_empty() || self.callees.iter().any(|callee| matches!(callee, Callee::Member { .. }))
    }
}

/// What a session has to do makes a call data, so this is not asked for.
pub(super) fn is_of_session(instruction: &Instruction) -> bool {
    matches!(
        instruction,
        Instruction::Dynamic(_)
            | Instruction::Cursor(_)
            | Instruction::EndTransaction { .. }
            | Instruction::Defer { .. }
    )
}

/// Whether an error of the instruction, which a handler catches, is to be repeated.
fn is_handled(flow: &Flow, at: usize) -> bool {
    flow.is_handled(at) && !mutant::is_active(Mutant::HandlersPruned)
}

/// Whether it has an effect that stays.
fn is_root(procedure: &Procedure, flow: &Flow, at: usize) -> bool {
    let instruction = &procedure.code[at];
    match instruction {
        // Nothing is locked.
        Instruction::LockRow { .. } => false,
        Instruction::EnterBlock { .. }
        | Instruction::LeaveBlock
        | Instruction::MatchError { .. }
        | Instruction::Rethrow
        | Instruction::ForgetError => true,
        Instruction::Call { callee, .. } => {
            is_handled(flow, at)
                || match procedure.callees.get(usize::from(*callee)) {
                    Some(Callee::Procedure(called)) => !called.procedure.only_looks(),
                    Some(Callee::Member { .. }) | None => true,
                }
        }
        other => is_handled(flow, at) || matches!(other.effects().table, Some((_, TableUse::Write))),
    }
}

/// The instructions of a replay program.
fn needed(procedure: &Procedure, flow: &Flow) -> Vec<bool> {
    let mut is_needed = vec![false; procedure.code.len()];
    let roots = (0..procedure.code.len()).filter(|at| flow.is_live(*at) && is_root(procedure, flow, *at));
    let mut open: Vec<usize> = roots.collect();
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut is_needed[at], true) {
            continue;
        }
        if !mutant::is_active(Mutant::DecidersForgotten) {
            open.extend(flow.deciders(at));
        }
        let places = flow.places(at);
        let registers = if places.uses_all_registers { 0..procedure.registers } else { 0..0 };
        for place in places.uses.iter().copied().chain(registers.map(Place::Register)) {
            if place == Place::Chance && mutant::is_active(Mutant::DrawsSkipped) {
                continue;
            }
            flow.for_each_setter(at, place, &mut |setter| open.push(setter));
        }
    }
    is_needed
}

/// Puts the program together.
fn build(procedure: &Procedure, flow: &Flow) -> Procedure {
    let mut is_needed = needed(procedure, flow);
    keep_prefetches(procedure, flow, &mut is_needed);
    let mut program = Assembler::new(procedure, flow);
    for at in 0..procedure.code.len() {
        program.begin();
        match flow.is_live(at) {
            true if is_needed[at] => program.keep(at, left_of(procedure, flow, at, &is_needed)),
            true => program.skip(at),
            false => {}
        }
    }
    let mut program = program.finish();
    program.note_leading();
    program
}

/// What is left of an instruction that is needed.
fn left_of(procedure: &Procedure, flow: &Flow, at: usize, is_needed: &[bool]) -> Instruction {
    match &procedure.code[at] {
        Instruction::Insert { table, values, row, .. } if !flow.is_handled(at) => {
            Instruction::InsertBlind { table: *table, values: values.clone(), row: *row }
        }
        Instruction::LookAhead { variable, last, reads } => {
            let is_read = |(table, _): &&(TableIndex, _)| reads_rows_of(procedure, is_needed, *table);
            let reads = reads.iter().filter(is_read).cloned().collect();
            Instruction::LookAhead { variable: *variable, last: *last, reads }
        }
        other => other.clone(),
    }
}

/// Whether what is needed reads rows of this table by their keys.
fn reads_rows_of(procedure: &Procedure, is_needed: &[bool], table: TableIndex) -> bool {
    procedure.code.iter().zip(is_needed).any(|(instruction, is_needed)| {
        *is_needed && matches!(instruction, Instruction::ReadPoint { table: read, .. } if *read == table)
    })
}

/// A loop that reads what it has asked for ahead goes on asking.
fn keep_prefetches(procedure: &Procedure, flow: &Flow, is_needed: &mut [bool]) {
    for (at, instruction) in procedure.code.iter().enumerate() {
        let Instruction::LookAhead { variable, reads, .. } = instruction else { continue };
        let reads_later = |(table, _): &(TableIndex, _)| reads_rows_of(procedure, is_needed, *table);
        let mut has_number = false;
        flow.for_each_setter(at, Place::Register(*variable), &mut |setter| has_number |= is_needed[setter]);
        is_needed[at] |= flow.is_live(at) && has_number && reads.iter().any(reads_later);
    }
}
