//! What each instruction of a program needs of which others, value by value.

use super::flow::Flow;
use super::places::Place;
use crate::procedure::effects::Registers;
use crate::procedure::ir::{Expr, Instruction, Procedure, Register, RowSlot};

/// What one instruction sets and another uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Register(Register),
    Column(RowSlot, u16),
    /// Something that cannot be passed on as a value: a whole row, a cursor, a spool ...
    Whole(Place),
}

/// The dependences of a program's instructions.
pub(super) struct Dependences {
    /// For each instruction, the items that it uses, and the instructions that may have set them.
    setters: Vec<Vec<(Item, usize)>>,
    /// How many loops each instruction is in.
    loops: Vec<u32>,
}

impl Dependences {
    pub(super) fn of(procedure: &Procedure, flow: &Flow) -> Dependences {
        let setters = (0..flow.end()).map(|at| match flow.is_live(at) {
            true => setters(procedure, flow, at),
            false => Vec::new(),
        });
        Dependences { setters: setters.collect(), loops: loops(flow) }
    }

    /// What the instruction uses, each with one that may have set it.
    pub(super) fn setters(&self, at: usize) -> &[(Item, usize)] {
        &self.setters[at]
    }

    /// The instructions that may have set an item as this instruction finds it.
    pub(super) fn setters_of(&self, at: usize, item: Item) -> impl Iterator<Item = usize> {
        self.setters[at].iter().filter(move |(used, _)| *used == item).map(|(_, setter)| *setter)
    }

    /// How many loops the instruction is in.
    pub(super) fn loops(&self, at: usize) -> u32 {
        self.loops[at]
    }
}

/// What an instruction uses.
pub(super) fn items(procedure: &Procedure, flow: &Flow, at: usize) -> Vec<Item> {
    let (instruction, places) = (&procedure.code[at], flow.places(at));
    let whole_row = instruction.effects().row_read;
    let mut items = Vec::new();
    for place in &places.uses {
        match *place {
            Place::Register(register) => items.push(Item::Register(register)),
            Place::Row(row) if whole_row != Some(row) => {}
            other => items.push(Item::Whole(other)),
        }
    }
    if places.uses_all_registers {
        items.extend((0..procedure.registers).map(Item::Register));
    }
    instruction.for_each_expr(&mut |expr| {
        for_each_column(expr, &mut |row, column| {
            items.push(Item::Column(row, column));
        })
    });
    items.sort_unstable();
    items.dedup();
    items
}

/// The registers that an instruction uses besides those in its expressions.
pub(super) fn plain_registers(procedure: &Procedure, flow: &Flow, at: usize) -> Vec<Register> {
    let instruction = &procedure.code[at];
    match instruction.effects().reads {
        Registers::These(registers) => registers.to_vec(),
        // Of a stage: those that it says.
        Registers::All => {
            let registers = items(procedure, flow, at).into_iter();
            registers
                .filter_map(|item| if let Item::Register(register) = item { Some(register) } else { None })
                .collect()
        }
    }
}

/// Passes the columns that an expression reads.
pub(super) fn for_each_column(expr: &Expr, see: &mut dyn FnMut(RowSlot, u16)) {
    if let Expr::Column { row, column } = expr {
        see(*row, *column);
    }
    expr.for_each_part(&mut |part| for_each_column(part, see));
}

fn setters(procedure: &Procedure, flow: &Flow, at: usize) -> Vec<(Item, usize)> {
    let mut found = Vec::new();
    for item in items(procedure, flow, at) {
        let mut see = |setter| found.push((item, setter));
        match item {
            Item::Register(register) => flow.for_each_setter(at, Place::Register(register), &mut see),
            Item::Column(row, column) => {
                // An update leaves the other columns as they are.
                let passes = |setter: usize| match &procedure.code[setter] {
                    Instruction::Update { set, .. } => set.iter().all(|(changed, _)| *changed != column),
                    _ => false,
                };
                let ends = |setter: usize| matches!(procedure.code[setter], Instruction::Update { .. });
                flow.for_each_setter_but(at, Place::Row(row), &passes, &ends, &mut see);
            }
            // An error is set by what fails in a block with a handler.
            Item::Whole(Place::Errors) => flow.for_each_handled_before(at, &mut see),
            Item::Whole(place) => flow.for_each_setter(at, place, &mut see),
        }
    }
    found
}

/// For each instruction the number of natural loops around it.
fn loops(flow: &Flow) -> Vec<u32> {
    let mut counts = vec![0; flow.end()];
    for head in 0..flow.end() {
        let mut open: Vec<usize> =
            flow.predecessors(head).iter().copied().filter(|from| *from >= head).collect();
        if open.is_empty() {
            continue;
        }
        let mut is_inside = vec![false; flow.end()];
        is_inside[head] = true;
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut is_inside[at], true) {
                open.extend(flow.predecessors(at));
            }
        }
        counts.iter_mut().zip(is_inside).for_each(|(count, is_inside)| *count += u32::from(is_inside));
    }
    counts
}
