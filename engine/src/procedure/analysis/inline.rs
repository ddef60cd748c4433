//! Puts the code of what a procedure calls in place of the calls.
//!
//! In a replay, a call is only a way to write code once: its rights, its snapshot and its place in the
//! context of an error do not matter. With the callee's code at hand, less of it need be kept, and it is cut
//! into slices as if its caller had written it.
//!
//! Some calls stay: of procedures that call themselves, that catch errors, that can show who has called
//! them (in the context of an error, or as the depth of triggers), or that would make the code too long.

use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::Value;

use super::flow::is_short;
use super::programs::is_of_session;
use super::renumber::Renumbering;
use crate::procedure::ir::{
    Callee, ErrorField, Expr, Instruction, Label, Line, Procedure, Register, SpoolSlot, TableIndex,
};

impl Procedure {
    /// The procedure with the code of what it calls in place of calls. `None` if it calls nothing that can be
    /// moved.
    pub(super) fn with_callees(&self) -> Option<Procedure> {
        let calls = |instruction: &Instruction| matches!(instruction, Instruction::Call { .. });
        // An error's context names the calls on the way to it.
        if !self.code.iter().any(calls) || self.code.iter().any(shows_context) {
            return None;
        }
        let mut inliner =
            Inliner { whole: Procedure { code: Vec::new(), lines: Vec::new(), ..self.clone() }, moved: 0 };
        inliner.take(self);
        (inliner.moved > 0).then_some(inliner.whole)
    }

    /// Whether its code can be put in place of a call that passes its rows on, or not.
    fn is_movable(&self, has_rows: bool) -> bool {
        let stays = |instruction: &Instruction| match instruction {
            Instruction::EnterBlock { .. } | Instruction::Defer { .. } | Instruction::ReadCatalog { .. } => {
                true
            }
            Instruction::EmitSpooled { .. } => has_rows,
            other => is_of_session(other) || shows_context(other),
        };
        let is_of_cycle = |callee: &Callee| matches!(callee, Callee::Member { .. });
        let is_recursive = self.is_member || !self.members.is_empty() || self.callees.iter().any(is_of_cycle);
        // Stages know the numbers of registers.
        let has_fixed_numbers = self.stages.iter().any(|stage| !stage.registers().is_empty());
        let shows_depth = self.is_trigger && self.asks_trigger_depth();
        !is_recursive && !has_fixed_numbers && !shows_depth && !self.code.iter().any(stays)
    }

    fn asks_trigger_depth(&self) -> bool {
        let asks = |instruction: &Instruction| {
            let mut asks = false;
            instruction.for_each_expr(&mut |expr| asks |= calls_trigger_depth(expr));
            asks
        };
        self.with_all_called().into_iter().any(|procedure| procedure.code.iter().any(asks))
    }
}

fn shows_context(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::ErrorField { field: ErrorField::Context, .. })
}

fn calls_trigger_depth(expr: &Expr) -> bool {
    let mut calls = matches!(expr, Expr::Call { function: Function::TriggerDepth, .. });
    expr.for_each_part(&mut |part| calls |= calls_trigger_depth(part));
    calls
}

/// A call whose place the callee's code takes.
struct Site<'c> {
    arguments: &'c [Expr],
    into: &'c [Register],
    rows: Option<SpoolSlot>,
    lent: &'c [SpoolSlot],
}

struct Inliner {
    whole: Procedure,
    /// How many calls have been replaced.
    moved: usize,
}

impl Inliner {
    /// Appends the code of a procedure, whose slots have their numbers already, with that of what it calls.
    fn take(&mut self, procedure: &Procedure) {
        let first = self.whole.code.len() as Label;
        // Where each instruction has come to.
        let mut places = Vec::with_capacity(procedure.code.len() + 1);
        let mut labelled = Vec::new();
        let mut lines = procedure.lines.iter().peekable();
        for (at, instruction) in procedure.code.iter().enumerate() {
            let place = self.whole.code.len() as Label;
            places.push(place);
            while let Some(line) = lines.next_if(|line| line.from as usize <= at) {
                self.whole.lines.push(Line { from: place, ..line.clone() });
            }
            if let Instruction::Call { callee, arguments, into, rows, lent } = instruction
                && let Some(Callee::Procedure(called)) = procedure.callees.get(usize::from(*callee))
                && called.procedure.is_movable(rows.is_some())
            {
                let site = Site { arguments, into, rows: *rows, lent };
                if self.insert(&called.procedure, &site) {
                    // The caller's statement goes on.
                    if let Some(line) = self.line_at(procedure, at) {
                        self.whole.lines.push(Line { from: self.whole.code.len() as Label, ..line });
                    }
                    continue;
                }
            }
            labelled.push(self.whole.code.len());
            self.whole.code.push(instruction.clone());
        }
        places.push(self.whole.code.len() as Label);
        for at in labelled {
            self.whole.code[at].for_each_label_mut(&mut |label| *label = places[*label as usize]);
        }
        debug_assert!(places.first().is_none_or(|place| *place == first));
    }

    fn line_at(&self, procedure: &Procedure, at: usize) -> Option<Line> {
        let following = procedure.lines.partition_point(|line| line.from as usize <= at);
        procedure.lines.get(following.checked_sub(1)?).cloned()
    }

    /// Puts a callee's code at the end. Returns whether there was room.
    fn insert(&mut self, callee: &Procedure, site: &Site<'_>) -> bool {
        let code = self.whole.code.len() + callee.code.len() + usize::from(callee.registers);
        // One for the count of rows.
        let registers = usize::from(self.whole.registers) + usize::from(callee.registers) + 1;
        if !is_short(code, registers) || registers > usize::from(Register::MAX) {
            return false;
        }
        self.moved += 1;
        let base = self.whole.registers;
        let count = base + callee.registers;
        self.whole.registers = count + 1;
        let moved = self.renumbered(callee, base, site);
        for number in 0..callee.registers {
            let expr = site.arguments.get(usize::from(number)).cloned().unwrap_or(Expr::Const(Value::Null));
            self.whole.code.push(Instruction::Evaluate { expr, into: base + number });
        }
        self.whole.code.push(Instruction::Evaluate { expr: Expr::Const(Value::BigInt(0)), into: count });
        let mut moved = in_place(moved, count, site.rows);
        // A callee returns to what follows the call.
        let end = moved.code.len() as Label;
        for instruction in &mut moved.code {
            if matches!(instruction, Instruction::Return) {
                *instruction = Instruction::Jump { to: end };
            }
        }
        self.take_moved(&moved);
        for (into, result) in site.into.iter().zip(&callee.results) {
            let expr = Expr::Register(base + result);
            self.whole.code.push(Instruction::Evaluate { expr, into: *into });
        }
        true
    }

    /// The callee with slots of the whole.
    fn renumbered(&mut self, callee: &Procedure, base: Register, site: &Site<'_>) -> Procedure {
        let whole = &mut self.whole;
        let tables: Vec<TableIndex> = callee
            .tables
            .iter()
            .map(|used| {
                let is_same = |known: &crate::procedure::ir::TableReference| {
                    known.table.id() == used.table.id() && known.version == used.version
                };
                let known = whole.tables.iter().position(is_same).unwrap_or_else(|| {
                    whole.tables.push(used.clone());
                    whole.tables.len() - 1
                });
                known as TableIndex
            })
            .collect();
        let spools: Vec<SpoolSlot> = (0..callee.spools)
            .map(|spool| {
                site.lent.get(usize::from(spool)).copied().unwrap_or_else(|| {
                    whole.spools += 1;
                    whole.spools - 1
                })
            })
            .collect();
        let numbers = Renumbering {
            registers: base,
            rows: whole.rows,
            cursors: whole.cursors,
            joins: whole.joins,
            stages: whole.stages.len() as u16,
            callees: whole.callees.len() as u16,
            tables: &tables,
            spools: &spools,
        };
        let mut moved = callee.clone();
        moved.code.iter_mut().for_each(|instruction| numbers.apply(instruction));
        let named = callee.variables.iter().map(|(register, name)| (base + register, name.clone()));
        whole.variables.extend(named);
        whole.rows += callee.rows;
        whole.cursors += callee.cursors;
        whole.joins += callee.joins;
        whole.stages.extend(callee.stages.iter().cloned());
        whole.callees.extend(callee.callees.iter().cloned());
        moved
    }

    /// Appends code whose callees are those of the whole.
    fn take_moved(&mut self, moved: &Procedure) {
        let callees = std::mem::take(&mut self.whole.callees);
        let moved = Procedure { callees: callees.clone(), ..moved.clone() };
        self.whole.callees = callees;
        self.take(&moved);
    }
}

/// A callee's code in its caller: its count of rows is a register, and its rows go to a spool.
fn in_place(mut callee: Procedure, count: Register, rows: Option<SpoolSlot>) -> Procedure {
    let counted = || Box::new(Expr::Register(count));
    let number = |number| Box::new(Expr::Const(Value::BigInt(number)));
    let mut code = Vec::with_capacity(callee.code.len());
    let mut places = Vec::with_capacity(callee.code.len() + 1);
    let set = |expr, into| Instruction::Evaluate { expr, into };
    for instruction in std::mem::take(&mut callee.code) {
        places.push(code.len() as Label);
        match instruction {
            Instruction::ResetCount => code.push(set(*number(0), count)),
            Instruction::CountRow => {
                let sum = Expr::Binary { operator: BinaryOperator::Add, left: counted(), right: number(1) };
                code.push(set(sum, count));
            }
            Instruction::TakeCount { found, count: into } => {
                let is_above =
                    Expr::Binary { operator: BinaryOperator::Greater, left: counted(), right: number(0) };
                code.extend(found.map(|found| set(is_above, found)));
                code.extend(into.map(|into| set(*counted(), into)));
            }
            Instruction::Emit { values } => match rows {
                Some(spool) => code.push(Instruction::Spool { spool, values }),
                None => code.push(Instruction::Emit { values }),
            },
            other => code.push(other),
        }
    }
    places.push(code.len() as Label);
    code.iter_mut().for_each(|instruction| {
        instruction.for_each_label_mut(&mut |label| *label = places[*label as usize]);
    });
    for line in &mut callee.lines {
        line.from = places[line.from as usize];
        line.routine.get_or_insert_with(|| callee.name.as_str().into());
    }
    Procedure { code, ..callee }
}
