//! Reads that a loop announces: see the head of `optimize`.
//!
//! Where the key of a read follows from the number of the iteration and from values that the loop does not
//! change (elements of an array, say), the keys of later iterations are known, and the engine can prefetch
//! their rows. A wrong key would only be a useless hint, so the body is scanned from top to bottom as if it
//! had no branches.

use std::collections::BTreeMap;

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Procedure, Register, TableIndex};

use crate::expr;

/// Per loop. More reads would ask for more than a cache holds.
const MOST_READS: usize = 8;
/// Keys are computed in vain if the loop ends early, so they must be cheap.
const DEEPEST_KEY: usize = 6;

/// Puts [`Instruction::LookAhead`] at the head of the bodies of loops.
pub(super) fn announce_reads(procedure: &mut Procedure) {
    for at in (0..procedure.code.len()).rev() {
        let Instruction::ForNext { last, variable, is_reverse: false, .. } = procedure.code[at] else {
            continue;
        };
        let reads = reads_of_loop(&procedure.code, at, variable);
        if !reads.is_empty() {
            insert(procedure, at + 1, Instruction::LookAhead { variable, last, reads });
        }
    }
}

fn reads_of_loop(code: &[Instruction], head: usize, variable: Register) -> Vec<(TableIndex, Vec<Expr>)> {
    let goes_again = |instruction: &Instruction| matches!(instruction, Instruction::ForStep { again, .. } if *again as usize == head);
    let Some(length) = code[head..].iter().position(goes_again) else { return Vec::new() };
    let body = &code[head + 1..=head + length];
    // Registers that the loop sets are unknown until their assignment is seen.
    let mut known: BTreeMap<Register, Option<Expr>> = body
        .iter()
        .flat_map(|instruction| instruction.effects().sets)
        .map(|register| (register, None))
        .collect();
    let mut reads: Vec<(TableIndex, Vec<Expr>)> = Vec::new();
    for instruction in body {
        match instruction {
            Instruction::Evaluate { expr, into } => {
                let value = resolved(expr, &known);
                known.insert(*into, value);
            }
            Instruction::ReadPoint { table, key, .. } => {
                let Some(key) = key.iter().map(|part| resolved(part, &known)).collect::<Option<Vec<Expr>>>()
                else {
                    continue;
                };
                let varies =
                    key.iter().any(|part| expr::any(part, &|part| *part == Expr::Register(variable)));
                if varies && reads.len() < MOST_READS && !reads.contains(&(*table, key.clone())) {
                    reads.push((*table, key));
                }
            }
            other => other.effects().sets.into_iter().for_each(|register| {
                known.insert(register, None);
            }),
        }
    }
    reads
}

/// The expression in terms of registers that the loop does not set, and of its variable.
fn resolved(whole: &Expr, known: &BTreeMap<Register, Option<Expr>>) -> Option<Expr> {
    let is_simple = |part: &Expr| {
        matches!(
            part,
            Expr::Const(_)
                | Expr::Register(_)
                | Expr::Element { .. }
                | Expr::Cast { .. }
                | Expr::Unary { .. }
                | Expr::Binary { .. }
        )
    };
    if expr::any(whole, &|part| !is_simple(part)) {
        return None;
    }
    let mut result = whole.clone();
    let mut is_known = true;
    expr::replace(&mut result, &mut |part| {
        let Expr::Register(register) = part else { return None };
        let value = known.get(register)?;
        is_known &= value.is_some();
        value.clone()
    });
    (is_known && !expr::depth_exceeds(&result, DEEPEST_KEY)).then_some(result)
}

fn insert(procedure: &mut Procedure, place: usize, instruction: Instruction) {
    let moved = |label: Label| if label as usize > place { label + 1 } else { label };
    for other in &mut procedure.code {
        other.for_each_label_mut(&mut |label| *label = moved(*label));
    }
    for line in &mut procedure.lines {
        line.from = moved(line.from);
    }
    procedure.code.insert(place, instruction);
}
