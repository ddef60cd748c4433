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

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::flow::Flow;
use super::places::Place;
use crate::mutant::{self, Mutant};
use crate::procedure::effects::TableUse;
use crate::procedure::ir::{Callee, Instruction, Label, Line, Procedure, TableIndex};

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
        Flow::of(self).map(|flow| Builder::new(self, &flow).build())
    }

    fn is_recursive(&self) -> bool {
        !self.members.is_empty() || self.callees.iter().any(|callee| matches!(callee, Callee::Member { .. }))
    }
}

/// What a session has to do makes a call data, so this is not asked for.
fn is_of_session(instruction: &Instruction) -> bool {
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

/// Puts a program together.
struct Builder<'p> {
    procedure: &'p Procedure,
    flow: &'p Flow,
    is_needed: Vec<bool>,
    code: Vec<Instruction>,
    /// The line of each instruction of the program.
    lines: Vec<Option<Line>>,
    /// Where each instruction of the procedure, or what follows it, has come to; then its end; then the
    /// traps.
    places: Vec<Label>,
    /// The lines of the traps, each of which has one.
    traps: Vec<u32>,
}

impl<'p> Builder<'p> {
    fn new(procedure: &'p Procedure, flow: &'p Flow) -> Builder<'p> {
        let mut is_needed = needed(procedure, flow);
        keep_prefetches(procedure, flow, &mut is_needed);
        let (code, lines, places, traps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Builder { procedure, flow, is_needed, code, lines, places, traps }
    }

    fn build(mut self) -> Procedure {
        let end = self.procedure.code.len();
        for at in 0..end {
            self.places.push(self.code.len() as Label);
            if self.flow.is_live(at) {
                self.take(at);
            }
        }
        self.places.push(self.code.len() as Label);
        self.add(end, Instruction::Return);
        for line in std::mem::take(&mut self.traps) {
            self.places.push(self.code.len() as Label);
            self.add(end, Instruction::Trap { line });
        }
        let Builder { procedure, mut code, places, mut lines, .. } = self;
        for instruction in &mut code {
            instruction.for_each_label_mut(&mut |label| *label = places[*label as usize]);
        }
        compact(&mut code, &mut lines);
        let mut program = Procedure {
            lines: lines_of(&lines),
            output: Vec::new(),
            output_names: Vec::new(),
            results: Vec::new(),
            program: OnceLock::new(),
            code,
            ..procedure.clone()
        };
        program.note_leading();
        program
    }

    fn add(&mut self, at: usize, instruction: Instruction) {
        self.code.push(instruction);
        self.lines.push(self.line(at));
    }

    /// The statement that an instruction belongs to.
    fn line(&self, at: usize) -> Option<Line> {
        let lines = &self.procedure.lines;
        let following = lines.partition_point(|line| line.from as usize <= at);
        lines.get(following.checked_sub(1)?).cloned()
    }

    /// What is left of one instruction.
    fn take(&mut self, at: usize) {
        let instruction = &self.procedure.code[at];
        let successors = self.flow.successors(at);
        let following = at + 1;
        if !self.is_needed[at] {
            // Nothing that is needed depends on which way it would go.
            let next = match successors {
                [only] => *only,
                _ => self.flow.post_dominator(at),
            };
            if next != following {
                self.add(at, Instruction::Jump { to: next as Label });
            }
            return;
        }
        let mut kept = match instruction {
            Instruction::Insert { table, values, row, .. } if !self.flow.is_handled(at) => {
                Instruction::InsertBlind { table: *table, values: values.clone(), row: *row }
            }
            Instruction::LookAhead { variable, last, reads } => Instruction::LookAhead {
                variable: *variable,
                last: *last,
                reads: reads
                    .iter()
                    .filter(|(table, _)| reads_rows_of(self.procedure, &self.is_needed, *table))
                    .cloned()
                    .collect(),
            },
            other => other.clone(),
        };
        let line = self.line(at).map_or(0, |line| line.line);
        let Builder { flow, traps, .. } = self;
        let mut trap = || {
            let known = traps.iter().position(|known| *known == line);
            let trap = known.unwrap_or_else(|| {
                traps.push(line);
                traps.len() - 1
            });
            (flow.end() + 1 + trap) as Label
        };
        kept.for_each_label_mut(&mut |label| {
            if !flow.is_live(*label as usize) {
                *label = trap();
            }
        });
        let is_lost = instruction.effects().falls_through && !flow.is_live(following);
        let lost = is_lost.then(|| Instruction::Jump { to: trap() });
        self.add(at, kept);
        lost.into_iter().for_each(|jump| self.add(at, jump));
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

/// Makes jumps go where they lead, and removes what is not reached, and jumps to what follows anyway.
fn compact(code: &mut Vec<Instruction>, lines: &mut Vec<Option<Line>>) {
    loop {
        let target = |mut label: Label| {
            // A circle of jumps alone would have no way out.
            for _ in 0..code.len() {
                match code.get(label as usize) {
                    Some(Instruction::Jump { to }) => label = *to,
                    _ => break,
                }
            }
            label
        };
        let targets: Vec<Label> = (0..code.len() as Label).map(target).collect();
        for instruction in code.iter_mut() {
            instruction.for_each_label_mut(&mut |label| *label = targets[*label as usize]);
        }
        let is_reached = reached(code);
        let is_kept = |at: usize| {
            let is_next = |to: Label| (at + 1..to as usize).all(|between| !is_reached[between]);
            is_reached[at] && !matches!(code[at], Instruction::Jump { to } if to as usize > at && is_next(to))
        };
        let kept: Vec<bool> = (0..code.len()).map(is_kept).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        let mut places = Vec::with_capacity(code.len());
        let mut count = 0;
        for is_kept in &kept {
            places.push(count);
            count += Label::from(*is_kept);
        }
        let mut flags = kept.iter();
        code.retain(|_| *flags.next().unwrap_or(&true));
        let mut flags = kept.iter();
        lines.retain(|_| *flags.next().unwrap_or(&true));
        for instruction in code.iter_mut() {
            instruction.for_each_label_mut(&mut |label| *label = places[*label as usize]);
        }
    }
}

/// The instructions that a run may come to.
fn reached(code: &[Instruction]) -> Vec<bool> {
    let mut is_reached = vec![false; code.len()];
    let mut open: SmallVec<[usize; 16]> = SmallVec::from_slice(&[0]);
    while let Some(at) = open.pop() {
        if at >= code.len() || std::mem::replace(&mut is_reached[at], true) {
            continue;
        }
        code[at].for_each_label(&mut |label| open.push(*label as usize));
        if code[at].effects().falls_through {
            open.push(at + 1);
        }
    }
    is_reached
}

/// Where each statement begins.
fn lines_of(lines: &[Option<Line>]) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(line) = line else { continue };
        let is_same = found.last().is_some_and(|last| (last.line, last.kind) == (line.line, line.kind));
        if !is_same {
            found.push(Line { from: at as Label, ..line.clone() });
        }
    }
    found
}
