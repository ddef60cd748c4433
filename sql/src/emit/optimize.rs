//! Makes the code of a routine shorter without changing what it does.
//!
//! The compiler of PL/pgSQL writes each statement by itself: it copies the variables that a query reads, sets
//! FOUND after every statement, and an UPDATE reads again the row that a SELECT ... FOR UPDATE has just read.
//! This pass works over the whole control flow:
//!
//! 1. **Copies** of registers are looked through, within stretches that nothing jumps into.
//! 2. **Rows read again** under the same key are taken from the slot that holds them, if they were read to be
//!    written and nothing has touched the table.
//! 3. **Assignments that nothing reads** are removed, if they cannot fail, and with them counts of rows and
//!    jumps to the next instruction.
//! 4. **Jumps** go straight to their final target, and not around code that raises errors (`jumps`).
//! 5. **Assignments that one instruction reads** are computed there, if they cannot fail (`sink`).
//! 6. **Loops that will read by key** announce it ahead (`look_ahead`).
//!
//! An error may lead from any instruction to a handler, so what a handler reads counts as read everywhere. A
//! stage (sorting, grouping) may read every register.

use hyades_engine::procedure::effects::{Registers, TableUse};
use hyades_engine::procedure::ir::{
    Expr, Instruction, Label, Procedure, Register, RowSlot, Sight, TableIndex,
};
use smallvec::SmallVec;

use crate::expr;

mod jumps;
mod look_ahead;
mod sink;

/// Registers times instructions above which code is left as it is.
const MOST_FACTS: usize = 1 << 21;
/// Every round does most of what the earlier rounds have left.
const MOST_ROUNDS: usize = 16;

/// See the module head.
pub(crate) fn optimize(procedure: &mut Procedure) {
    shorten_code(procedure);
    // Of a row slot that has taken the place of another one, more may be read.
    procedure.note_leading();
}

fn shorten_code(procedure: &mut Procedure) {
    if procedure.code.len().saturating_mul(usize::from(procedure.registers)) > MOST_FACTS {
        return;
    }
    look_through_copies(&mut procedure.code);
    reuse_rows(procedure);
    shorten(procedure, |procedure| jumps::thread(&mut procedure.code));
    jumps::move_errors_away(procedure);
    shorten(procedure, |procedure| jumps::thread(&mut procedure.code) | sink::sink(procedure));
    look_ahead::announce_reads(procedure);
}

/// Repeats the change, and removes the code it makes dead, until nothing changes any more.
fn shorten(procedure: &mut Procedure, change: fn(&mut Procedure) -> bool) {
    for _ in 0..MOST_ROUNDS {
        let before = procedure.code.len();
        let is_changed = change(procedure);
        remove(procedure);
        if procedure.code.len() == before && !is_changed {
            return;
        }
    }
}

fn labels(instruction: &Instruction) -> Vec<Label> {
    let mut found = Vec::new();
    instruction.for_each_label(&mut |label| found.push(*label));
    found
}

/// The control flow, and which registers each instruction reads.
struct Flow {
    labels: Vec<Vec<Label>>,
    falls_through: Vec<bool>,
    used: Vec<Option<Vec<Register>>>,
    sets: Vec<SmallVec<[Register; 4]>>,
    /// See [`Effects::sets_always`](hyades_engine::procedure::effects::Effects::sets_always).
    sets_always: Vec<bool>,
}

impl Flow {
    fn of(code: &[Instruction]) -> Flow {
        let (mut falls_through, mut sets, mut sets_always) = (Vec::new(), Vec::new(), Vec::new());
        for instruction in code {
            let effects = instruction.effects();
            falls_through.push(effects.falls_through);
            sets.push(effects.sets);
            sets_always.push(effects.sets_always);
        }
        Flow {
            labels: code.iter().map(labels).collect(),
            falls_through,
            used: code.iter().map(used).collect(),
            sets,
            sets_always,
        }
    }
}

/// Places that are the target of a jump.
fn targets(code: &[Instruction]) -> Vec<bool> {
    let mut targets = vec![false; code.len() + 1];
    for label in code.iter().flat_map(labels) {
        targets[label as usize] = true;
    }
    targets
}

/// Registers that the instruction reads. `None`: possibly all.
fn used(instruction: &Instruction) -> Option<Vec<Register>> {
    let mut found = Vec::new();
    instruction.for_each_expr(&mut |whole| registers_of(whole, &mut found));
    match instruction.effects().reads {
        Registers::All => None,
        Registers::These(registers) => {
            found.extend(registers);
            Some(found)
        }
    }
}

fn registers_of(whole: &Expr, found: &mut Vec<Register>) {
    if let Expr::Register(register) = whole {
        found.push(*register);
    }
    whole.for_each_part(&mut |part| registers_of(part, found));
}

fn look_through_copies(code: &mut [Instruction]) {
    let targets = targets(code);
    // Copies and what they are copies of.
    let mut copies: Vec<(Register, Register)> = Vec::new();
    for (at, instruction) in code.iter_mut().enumerate() {
        if targets[at] {
            copies.clear();
        }
        if !copies.is_empty() {
            instruction.for_each_expr_mut(&mut |whole| {
                expr::replace(whole, &mut |part| match part {
                    Expr::Register(register) => {
                        let known = copies.iter().find(|(copy, _)| copy == register);
                        known.map(|(_, origin)| Expr::Register(*origin))
                    }
                    _ => None,
                });
            });
        }
        let effects = instruction.effects();
        for register in &effects.sets {
            copies.retain(|(copy, origin)| copy != register && origin != register);
        }
        if let Instruction::Evaluate { expr: Expr::Register(origin), into } = instruction
            && origin != into
        {
            copies.push((*into, *origin));
        }
        if !effects.falls_through {
            copies.clear();
        }
    }
}

/// The row slot that the instruction fills.
fn filled(instruction: &Instruction) -> Option<RowSlot> {
    instruction.effects().row_filled
}

fn reads_row(instruction: &Instruction, wanted: RowSlot) -> bool {
    let mut is_read = instruction.effects().row_read == Some(wanted);
    instruction.for_each_expr(&mut |whole| is_read |= expr::reads(whole, wanted, &[]));
    is_read
}

fn reuse_rows(procedure: &mut Procedure) {
    let reads: Vec<usize> = (0..procedure.code.len())
        .filter(|at| {
            matches!(&procedure.code[*at], Instruction::ReadPoint { intent, key, .. }
                if intent.writes() && matches!(intent.sight, Sight::Decided | Sight::Newest | Sight::InTheWay)
                    && key.iter().all(|part| matches!(part, Expr::Register(_) | Expr::Const(_))))
        })
        .collect();
    if reads.len() < 2 {
        return;
    }
    let flow = Flow::of(&procedure.code);
    for first in reads {
        while let Some(again) = reread(&procedure.code, &flow, first) {
            let (Some(kept), Some(gone)) = (filled(&procedure.code[first]), filled(&procedure.code[again]))
            else {
                break;
            };
            // Not a jump yet: the control flow is still that of the read.
            let Instruction::ReadPoint { row, .. } = &mut procedure.code[again] else { break };
            *row = RowSlot::MAX;
            rename_row(&mut procedure.code, gone, kept);
        }
    }
    for (at, instruction) in procedure.code.iter_mut().enumerate() {
        if matches!(instruction, Instruction::ReadPoint { row: RowSlot::MAX, .. }) {
            *instruction = Instruction::Jump { to: at as Label + 1 };
        }
    }
}

/// A read after `first` that finds the same row, whose slot may be replaced by that of `first`.
fn reread(code: &[Instruction], flow: &Flow, first: usize) -> Option<usize> {
    let Instruction::ReadPoint { table, key, row, intent, .. } = &code[first] else { return None };
    let available = available_after(code, flow, first, (*table, key, *row));
    available.into_iter().find(|again| {
        let Instruction::ReadPoint { table: other, key: same, row: slot, intent: asked, .. } = &code[*again]
        else {
            return false;
        };
        let fills = |wanted: RowSlot| code.iter().filter(|other| filled(other) == Some(wanted)).count();
        let is_read_between = |at: usize| (first..*again).contains(&at);
        other == table
            && asked.impatience.is_none()
            && asked.strength <= intent.strength
            && same == key
            && slot != row
            && *slot != RowSlot::MAX
            && fills(*row) == 1
            && fills(*slot) == 1
            && (0..code.len()).all(|at| is_read_between(at) || !reads_row(&code[at], *row))
    })
}

/// Instructions that are reached only if the read at `first` succeeds, with its key and its table untouched
/// since.
fn available_after(
    code: &[Instruction],
    flow: &Flow,
    first: usize,
    (table, key, row): (TableIndex, &[Expr], RowSlot),
) -> Vec<usize> {
    let keys: Vec<Register> = key
        .iter()
        .filter_map(|part| match part {
            Expr::Register(register) => Some(*register),
            _ => None,
        })
        .collect();
    let kills = |at: usize| {
        let effects = code[at].effects();
        effects.is_barrier
            || effects.table == Some((table, TableUse::Write))
            || effects.sets.iter().any(|register| keys.contains(register))
            || (at != first && effects.row_filled == Some(row))
    };
    let is_killed: Vec<bool> = (0..code.len()).map(kills).collect();
    // Assume all, then remove those that another path leads to.
    let mut is_available = vec![true; code.len() + 1];
    is_available[0] = false;
    loop {
        let mut next = vec![true; code.len() + 1];
        next[0] = false;
        for at in 0..code.len() {
            let out = at == first || (is_available[at] && !is_killed[at]);
            if flow.falls_through[at] {
                next[at + 1] &= out;
            }
            for label in &flow.labels[at] {
                // Where the row is absent, and where an error leads, there is no row.
                let is_lost = at == first || matches!(code[at], Instruction::EnterBlock { .. });
                next[*label as usize] &= out && !is_lost;
            }
        }
        if next == is_available {
            break;
        }
        is_available = next;
    }
    let is_reachable = reachable(flow);
    (first + 1..code.len()).filter(|at| is_available[*at] && is_reachable[*at]).collect()
}

fn rename_row(code: &mut [Instruction], gone: RowSlot, kept: RowSlot) {
    for instruction in code {
        instruction.for_each_expr_mut(&mut |whole| {
            expr::replace(whole, &mut |part| match part {
                Expr::Column { row, column } if *row == gone => {
                    Some(Expr::Column { row: kept, column: *column })
                }
                _ => None,
            });
        });
        if let Instruction::Update { row, .. } | Instruction::Delete { row, .. } = instruction
            && *row == gone
        {
            *row = kept;
        }
    }
}

fn reachable(flow: &Flow) -> Vec<bool> {
    let count = flow.labels.len();
    let mut is_reachable = vec![false; count + 1];
    let mut open = vec![0usize];
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut is_reachable[at], true) || at == count {
            continue;
        }
        open.extend(flow.labels[at].iter().map(|label| *label as usize));
        if flow.falls_through[at] {
            open.push(at + 1);
        }
    }
    is_reachable
}

/// A set of registers for each instruction.
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn new(sets: usize, registers: u16) -> Sets {
        let words = usize::from(registers) / 64 + 1;
        Sets { words, bits: vec![0; sets * words] }
    }

    fn get(&self, set: usize) -> &[u64] {
        &self.bits[set * self.words..(set + 1) * self.words]
    }

    fn get_mut(&mut self, set: usize) -> &mut [u64] {
        &mut self.bits[set * self.words..(set + 1) * self.words]
    }

    fn has(&self, set: usize, register: Register) -> bool {
        contains(self.get(set), register)
    }
}

fn contains(set: &[u64], register: Register) -> bool {
    set[usize::from(register) / 64] >> (register % 64) & 1 == 1
}

fn insert(set: &mut [u64], register: Register) {
    set[usize::from(register) / 64] |= 1 << (register % 64);
}

fn union(set: &mut [u64], other: &[u64]) {
    set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

/// Registers that are read later before they are set again.
struct Live {
    before: Sets,
    after: Sets,
    /// The registers that some handler reads.
    handlers: Vec<u64>,
}

impl Live {
    fn handlers_read(&self, register: Register) -> bool {
        contains(&self.handlers, register)
    }
}

/// The registers that are live before and after each instruction.
fn live(procedure: &Procedure, flow: &Flow) -> Live {
    let count = procedure.code.len();
    let mut before = Sets::new(count + 1, procedure.registers);
    let mut after = Sets::new(count + 1, procedure.registers);
    let mut results = vec![0; before.words];
    procedure.results.iter().for_each(|register| insert(&mut results, *register));
    before.get_mut(count).copy_from_slice(&results);
    loop {
        let mut is_changed = false;
        let mut handlers = vec![0; before.words];
        for instruction in &procedure.code {
            if let Instruction::EnterBlock { handler } = instruction {
                union(&mut handlers, before.get(*handler as usize));
            }
        }
        for at in (0..count).rev() {
            let mut live = handlers.clone();
            if matches!(procedure.code[at], Instruction::Return) {
                union(&mut live, &results);
            }
            if flow.falls_through[at] {
                union(&mut live, before.get(at + 1));
            }
            for label in &flow.labels[at] {
                union(&mut live, before.get(*label as usize));
            }
            after.get_mut(at).copy_from_slice(&live);
            if flow.sets_always[at] {
                for &register in &flow.sets[at] {
                    if !contains(&handlers, register) {
                        live[usize::from(register) / 64] &= !(1 << (register % 64));
                    }
                }
            }
            match &flow.used[at] {
                Some(registers) => registers.iter().for_each(|register| insert(&mut live, *register)),
                None => live.fill(u64::MAX),
            }
            if before.get(at) != live {
                before.get_mut(at).copy_from_slice(&live);
                is_changed = true;
            }
        }
        if !is_changed {
            return Live { before, after, handlers };
        }
    }
}

/// Whether computing it cannot fail and has no dependencies outside the procedure.
fn is_harmless(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_) | Expr::Register(_) | Expr::Column { .. })
}

/// Removes code that has no effect.
fn remove(procedure: &mut Procedure) {
    let flow = Flow::of(&procedure.code);
    let live = live(procedure, &flow).after;
    let is_reachable = reachable(&flow);
    for (at, instruction) in procedure.code.iter_mut().enumerate() {
        if let Instruction::TakeCount { found, count } = instruction {
            *found = found.filter(|register| live.has(at, *register));
            *count = count.filter(|register| live.has(at, *register));
        }
    }
    let is_counted = procedure.code.iter().any(
        |instruction| matches!(instruction, Instruction::TakeCount { found, count } if found.is_some() || count.is_some()),
    );
    let is_needed: Vec<bool> = procedure
        .code
        .iter()
        .enumerate()
        .map(|(at, instruction)| {
            is_reachable[at]
                && match instruction {
                    Instruction::Evaluate { expr, into } => live.has(at, *into) || !is_harmless(expr),
                    Instruction::Jump { to } => *to as usize != at + 1,
                    Instruction::TakeCount { found, count } => found.is_some() || count.is_some(),
                    Instruction::CountRow | Instruction::ResetCount => is_counted,
                    _ => true,
                }
        })
        .collect();
    // The new position of each instruction, or of the one that follows in its place.
    let mut moved = Vec::with_capacity(is_needed.len() + 1);
    let mut next: Label = 0;
    for is_needed in &is_needed {
        moved.push(next);
        next += Label::from(*is_needed);
    }
    moved.push(next);
    let mut at = 0;
    procedure.code.retain(|_| {
        at += 1;
        is_needed[at - 1]
    });
    for instruction in &mut procedure.code {
        instruction.for_each_label_mut(&mut |label| *label = moved[*label as usize]);
    }
    for line in &mut procedure.lines {
        line.from = moved[line.from as usize];
    }
    // Of several lines that now begin at the same place, the last one counts.
    let lines = std::mem::take(&mut procedure.lines);
    for line in lines {
        if procedure.lines.last().is_some_and(|last| last.from == line.from) {
            procedure.lines.pop();
        }
        procedure.lines.push(line);
    }
}
