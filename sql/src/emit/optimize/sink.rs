//! Values computed where they are needed: see the head of `optimize`.
//!
//! `x := row.column` followed by an INSERT of `x` copies a text into a register first. Where a variable is
//! read only once, the assigned expression takes its place, if computing it cannot fail, has no effect, and
//! gives the same value there:
//!
//! 1. no jump leads in between the assignment and the reader, and no jump out leads to where the variable is
//!    read,
//! 2. in between nothing reads or sets the variable, and nothing that it is computed from is set,
//! 3. after the reader the variable is not read before it is set again, not even by error handlers.

use std::collections::BTreeSet;

use hyades_engine::procedure::ir::{Expr, Instruction, Procedure, Register, RowSlot};
use hyades_types::value::SqlType;

use super::{Flow, Live, filled, live, registers_of, targets};
use crate::expr;

/// Replaces what can be replaced. Returns whether anything was. The assignments are left as jumps to the next
/// instruction.
pub(super) fn sink(procedure: &mut Procedure) -> bool {
    let flow = Flow::of(&procedure.code);
    let live = live(procedure, &flow);
    let targets = targets(&procedure.code);
    // Registers that are read later than `live` says.
    let mut prolonged: BTreeSet<Register> = BTreeSet::new();
    let mut is_changed = false;
    for at in 0..procedure.code.len() {
        let Instruction::Evaluate { expr, into } = &procedure.code[at] else { continue };
        let (expr, into) = (expr.clone(), *into);
        if prolonged.contains(&into) || !is_movable(&expr, procedure) {
            continue;
        }
        let Some(reader) = only_reader(procedure, &flow, &live, &targets, at) else { continue };
        let mut replaced = 0;
        procedure.code[reader].for_each_expr_mut(&mut |whole| {
            expr::replace(whole, &mut |part| {
                let is_it = *part == Expr::Register(into);
                replaced += usize::from(is_it);
                is_it.then(|| expr.clone())
            });
        });
        debug_assert_eq!(replaced, 1, "{reader} reads {into} once");
        registers(&expr).into_iter().for_each(|register| {
            prolonged.insert(register);
        });
        procedure.code[at] = Instruction::Jump { to: at as u32 + 1 };
        is_changed = true;
    }
    is_changed
}

fn registers(expr: &Expr) -> Vec<Register> {
    let mut found = Vec::new();
    registers_of(expr, &mut found);
    found
}

/// The one instruction that reads the value assigned at `at`.
fn only_reader(
    procedure: &Procedure,
    flow: &Flow,
    live: &Live,
    targets: &[bool],
    at: usize,
) -> Option<usize> {
    let Instruction::Evaluate { expr, into } = &procedure.code[at] else { return None };
    let inputs = registers(expr);
    if inputs.contains(into) {
        return None;
    }
    for (here, instruction) in procedure.code.iter().enumerate().skip(at + 1) {
        if targets[here] || !is_plain(instruction) {
            return None;
        }
        let leaves = flow.labels[here].iter().all(|label| !live.before.has(*label as usize, *into));
        let reads = flow.used[here].as_ref()?.iter().filter(|used| *used == into).count();
        let effects = instruction.effects();
        let sets = &effects.sets;
        if reads > 0 {
            // A reader that sets the variable again does so only if it does not fail.
            let is_set = sets.contains(into) && effects.sets_always;
            let ends = !live.after.has(here, *into) || (is_set && !live.handlers_read(*into));
            return (reads == 1 && leaves && ends).then_some(here);
        }
        let changes_row = |row: RowSlot| [effects.row_filled, effects.row_changed].contains(&Some(row));
        let is_changed = sets.contains(into)
            || sets.iter().any(|set| inputs.contains(set))
            || expr::any(expr, &|part| matches!(part, Expr::Column { row, .. } if changes_row(*row)));
        if is_changed || !leaves || !effects.falls_through {
            return None;
        }
    }
    None
}

/// Instructions whose expressions see registers and rows as they are before the instruction, and which change
/// only what their effects say.
fn is_plain(instruction: &Instruction) -> bool {
    matches!(
        instruction,
        Instruction::Evaluate { .. }
            | Instruction::JumpUnless { .. }
            | Instruction::ReadPoint { .. }
            | Instruction::Insert { .. }
            | Instruction::Update { .. }
            | Instruction::CountRow
            | Instruction::ResetCount
            | Instruction::BeginStatement
    )
}

/// Whether it can be computed at another place: it cannot fail, and gives the same value there. Deeper
/// expressions stay, so that expressions grow by no more than these levels.
fn is_movable(whole: &Expr, procedure: &Procedure) -> bool {
    let is_test = |condition: &Expr| match condition {
        Expr::Binary { operator, left, right } => {
            operator.is_comparison() && is_place(left, procedure) && is_place(right, procedure)
        }
        Expr::IsNull(inner) => is_place(inner, procedure),
        _ => false,
    };
    match whole {
        Expr::Case { branches, otherwise } => {
            branches.iter().all(|(when, then)| is_test(when) && is_place(then, procedure))
                && is_place(otherwise, procedure)
        }
        other => is_place(other, procedure),
    }
}

/// Whether it is the place of a value. (For `char(n)` the type is known from the column, and would be lost in
/// a register.)
fn is_place(whole: &Expr, procedure: &Procedure) -> bool {
    let Expr::Column { row, column } = whole else {
        return matches!(whole, Expr::Const(_) | Expr::Register(_));
    };
    procedure.code.iter().filter(|instruction| filled(instruction) == Some(*row)).all(|instruction| {
        let Instruction::ReadPoint { table, .. } = instruction else { return false };
        let sql_type = procedure.tables[usize::from(*table)].layout.column_type(*column);
        !matches!(sql_type, SqlType::Char(_))
    })
}
