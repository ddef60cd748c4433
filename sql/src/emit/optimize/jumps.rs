//! Fewer jumps: see the head of `optimize`.
//!
//! A jump to a jump goes to the final target. A test of what has just been set is decided at compile time:
//! after `SELECT ... INTO` both paths set FOUND, and `IF NOT FOUND` tests it right after that. Code that
//! raises an error is moved to the end, so the path without errors is one straight line.

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Line, Procedure, Register};
use hyades_types::environment::Severity;
use hyades_types::value::Value;

use super::targets;

/// Longest block that counts as the handling of an error.
const LONGEST_ERROR: usize = 8;

/// Makes jumps go to their final target. Returns whether that changed anything.
pub(super) fn thread(code: &mut [Instruction]) -> bool {
    let ends: Vec<Label> = (0..=code.len()).map(|at| end_of_jumps(code, at)).collect();
    let mut is_changed = false;
    for instruction in code.iter_mut() {
        instruction.for_each_label_mut(&mut |label| {
            is_changed |= *label != ends[*label as usize];
            *label = ends[*label as usize];
        });
    }
    is_changed | decide_tests(code)
}

fn end_of_jumps(code: &[Instruction], from: usize) -> Label {
    let mut at = from;
    // An endless loop ends somewhere within itself.
    for _ in 0..code.len() {
        match code.get(at) {
            Some(Instruction::Jump { to }) => at = *to as usize,
            _ => break,
        }
    }
    at as Label
}

/// Decides tests that come right after the assignment of a constant to what they test.
fn decide_tests(code: &mut [Instruction]) -> bool {
    let targets = targets(code);
    let mut is_changed = false;
    for at in 0..code.len().saturating_sub(1) {
        let Instruction::Evaluate { expr: Expr::Const(value), into } = &code[at] else { continue };
        if targets[at + 1] {
            continue;
        }
        let test = match &code[at + 1] {
            Instruction::Jump { to } => *to as usize,
            _ => at + 1,
        };
        let Some(Instruction::JumpUnless { condition, to }) = code.get(test) else { continue };
        let Some(holds) = decided(condition, *into, value) else { continue };
        code[at + 1] = Instruction::Jump { to: if holds { test as Label + 1 } else { *to } };
        is_changed = true;
    }
    is_changed
}

/// Whether a condition over this register alone is true when the register has this value.
fn decided(condition: &Expr, register: Register, value: &Value) -> Option<bool> {
    let is_negated = match condition {
        Expr::Register(tested) if *tested == register => false,
        Expr::Not(inner) if **inner == Expr::Register(register) => true,
        _ => return None,
    };
    match value {
        Value::Boolean(truth) => Some(*truth != is_negated),
        Value::Null => Some(false),
        _ => None,
    }
}

fn is_error(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Raise { .. } | Instruction::RaiseViolation(_) | Instruction::RefuseRow { .. } => true,
        Instruction::Report(report) => report.severity == Severity::Exception,
        _ => false,
    }
}

/// Moves blocks that end in an error, and that something jumps over, after all other code.
pub(super) fn move_errors_away(procedure: &mut Procedure) {
    let lines = line_of_each(procedure);
    let is_told = |at: usize| procedure.lines.is_empty() || lines[at].is_some();
    let count = procedure.code.len();
    let mut is_moved = vec![false; count];
    for at in 0..count {
        let Instruction::Jump { to } = procedure.code[at] else { continue };
        let block = at + 1..to as usize;
        let is_short = (1..=LONGEST_ERROR).contains(&block.len()) && block.end < count;
        if is_short && is_error(&procedure.code[block.end - 1]) && block.clone().all(is_told) {
            is_moved[block].fill(true);
        }
    }
    if !is_moved.contains(&true) {
        return;
    }
    let (away, stay): (Vec<usize>, Vec<usize>) = (0..count).partition(|at| is_moved[*at]);
    let mut moved: Vec<Label> = vec![0; count + 1];
    // Code that ran off the end now returns.
    moved[count] = stay.len() as Label;
    stay.iter().enumerate().for_each(|(to, from)| moved[*from] = to as Label);
    away.iter().enumerate().for_each(|(to, from)| moved[*from] = (stay.len() + 1 + to) as Label);
    let mut old: Vec<Option<Instruction>> =
        std::mem::take(&mut procedure.code).into_iter().map(Some).collect();
    let order = stay.iter().copied().map(Some).chain([None]).chain(away.iter().copied().map(Some));
    procedure.lines.clear();
    for from in order {
        let mut instruction = from.and_then(|from| old[from].take()).unwrap_or(Instruction::Return);
        instruction.for_each_label_mut(&mut |label| *label = moved[*label as usize]);
        if let Some(line) = from.and_then(|from| lines[from].clone()) {
            let is_known =
                procedure.lines.last().is_some_and(|last| (last.line, last.kind) == (line.line, line.kind));
            if !is_known {
                procedure.lines.push(Line { from: procedure.code.len() as Label, ..line });
            }
        }
        procedure.code.push(instruction);
    }
}

/// The line that each instruction belongs to.
fn line_of_each(procedure: &Procedure) -> Vec<Option<Line>> {
    let mut lines = vec![None; procedure.code.len()];
    for line in &procedure.lines {
        if let Some(following) = lines.get_mut(line.from as usize..) {
            following.fill(Some(line.clone()));
        }
    }
    lines
}
