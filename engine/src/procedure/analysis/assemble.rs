//! Puts code together out of some instructions of a procedure, and others.

use std::sync::OnceLock;

use smallvec::SmallVec;

use super::flow::Flow;
use crate::procedure::ir::{Instruction, Label, Line, Procedure};

/// Takes each instruction of a procedure in turn ([`Assembler::begin`]) and what is to be executed there.
/// Labels are those of the procedure until it is finished.
pub(super) struct Assembler<'p> {
    procedure: &'p Procedure,
    flow: &'p Flow,
    code: Vec<Instruction>,
    /// The line of each instruction.
    lines: Vec<Option<Line>>,
    /// Where each instruction of the procedure, or what follows it, has come to; then its end; then the
    /// tails.
    places: Vec<Label>,
    /// Code after the end, each with the instruction to which it belongs.
    tails: Vec<(usize, Vec<Instruction>)>,
    /// The tails of the traps.
    traps: Vec<usize>,
}

impl<'p> Assembler<'p> {
    pub(super) fn new(procedure: &'p Procedure, flow: &'p Flow) -> Assembler<'p> {
        let (code, lines, places, tails, traps) = Default::default();
        Assembler { procedure, flow, code, lines, places, tails, traps }
    }

    /// The instruction with the next number is at hand.
    pub(super) fn begin(&mut self) {
        self.places.push(self.code.len() as Label);
    }

    /// Adds an instruction as it is.
    pub(super) fn add(&mut self, at: usize, instruction: Instruction) {
        self.code.push(instruction);
        self.lines.push(self.line(at));
    }

    /// The statement that an instruction belongs to.
    fn line(&self, at: usize) -> Option<Line> {
        let lines = &self.procedure.lines;
        let following = lines.partition_point(|line| line.from as usize <= at);
        lines.get(following.checked_sub(1)?).cloned()
    }

    /// Leaves an instruction out. Nothing that stays depends on which way it would go.
    pub(super) fn skip(&mut self, at: usize) {
        let next = match self.flow.successors(at) {
            [only] => *only,
            _ => self.flow.post_dominator(at),
        };
        if next != at + 1 {
            self.add(at, Instruction::Jump { to: next as Label });
        }
    }

    /// Adds an instruction in place of the one at hand. Where it would lead to an error only, it leads to a
    /// trap.
    pub(super) fn keep(&mut self, at: usize, mut kept: Instruction) {
        let flow = self.flow;
        kept.for_each_label_mut(&mut |label| {
            if (*label as usize) <= flow.end() && !flow.is_live(*label as usize) {
                *label = self.trap(at);
            }
        });
        let falls_through = kept.effects().falls_through;
        self.add(at, kept);
        if falls_through && !flow.is_live(at + 1) {
            let to = self.trap(at);
            self.add(at, Instruction::Jump { to });
        }
    }

    /// The label of the trap of an instruction's line.
    pub(super) fn trap(&mut self, at: usize) -> Label {
        let (line, routine) = self.line(at).map_or((0, None), |line| (line.line, line.routine));
        let is_known = |tail: &&usize| match &self.tails[**tail].1[..] {
            [Instruction::Trap { line: known, routine: of }] => (*known, of) == (line, &routine),
            _ => false,
        };
        if let Some(known) = self.traps.iter().find(is_known) {
            return self.label_of_tail(*known);
        }
        self.traps.push(self.tails.len());
        self.tail(self.flow.end(), vec![Instruction::Trap { line, routine }])
    }

    /// Adds code after the end, which belongs to an instruction. Returns its label.
    pub(super) fn tail(&mut self, at: usize, code: Vec<Instruction>) -> Label {
        self.tails.push((at, code));
        self.label_of_tail(self.tails.len() - 1)
    }

    fn label_of_tail(&self, tail: usize) -> Label {
        (self.flow.end() + 1 + tail) as Label
    }

    /// The procedure with this code. It returns no results.
    pub(super) fn finish(mut self) -> Procedure {
        let end = self.flow.end();
        self.begin();
        self.add(end, Instruction::Return);
        for (at, code) in std::mem::take(&mut self.tails) {
            self.begin();
            code.into_iter().for_each(|instruction| self.add(at, instruction));
        }
        let Assembler { procedure, mut code, places, mut lines, .. } = self;
        for instruction in &mut code {
            instruction.for_each_label_mut(&mut |label| *label = places[*label as usize]);
        }
        compact(&mut code, &mut lines);
        Procedure {
            lines: lines_of(&lines),
            output: Vec::new(),
            output_names: Vec::new(),
            results: Vec::new(),
            program: OnceLock::new(),
            code,
            ..procedure.clone()
        }
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
        let same =
            |other: &&Line| (other.line, other.kind, &other.routine) == (line.line, line.kind, &line.routine);
        let is_same = found.last().filter(same).is_some();
        if !is_same {
            found.push(Line { from: at as Label, ..line.clone() });
        }
    }
    found
}
