//! Slices: a replay program cut into parts that use different tables, each a program of its own.
//!
//! A call is replayed by running its slices, each when the slices have run that it takes something from. A
//! slice has the instructions on its tables (`groups`), and executes again whatever pure instructions these
//! need. What it needs of another slice comes over a **tape**: the other slice *puts* values on it in order
//! of execution, and this one *takes* them in the same order. So a loop is cut apart as well: both slices go
//! around it.
//!
//! A tape is written
//! * after an instruction: the columns of the row or the register that it has set, and which way it went; or
//! * before an instruction that evaluates an expression which needs only the other slice: the value of that.
//!
//! Both slices execute that place equally often and in the same order, because both execute all that decides
//! about it. The n-th that is taken is therefore the n-th that was put.
//!
//! Reference: PACMAN (SIGMOD 2017), section 4.1.1. Its slices are straight lines; that loops, and slices that
//! decide about each other's instructions, need what is taken here from tapes, it does not say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use hyades_types::definition::TableId;

use super::assemble::Assembler;
use super::dependences::{Dependences, Item, for_each_column, plain_registers};
use super::flow::Flow;
use super::groups::{GroupOf, Groups, Merge, all_tables};
use crate::config::Slicing;
use crate::mutant::{self, Mutant};
use crate::procedure::ir::{Expr, Instruction, Label, Procedure, Register, RowSlot, TapeSlot};

/// The slices of a replay program.
#[derive(Debug)]
pub struct Slices {
    /// What they were cut from.
    pub program: Arc<Procedure>,
    /// Each after all that it takes something from.
    pub slices: Vec<Slice>,
    pub tapes: Vec<TapeUse>,
    /// Why there are not more of them.
    pub merges: Vec<Merge>,
}

/// One slice.
#[derive(Debug)]
pub struct Slice {
    /// The tables that it alone uses, of those that have a group.
    pub tables: Vec<TableId>,
    /// The instructions of the program on these.
    pub own: Vec<usize>,
    /// The others that it executes as well.
    pub pure: Vec<usize>,
    /// The slices that it takes something from, by number.
    pub takes_from: BTreeSet<usize>,
    pub program: Arc<Procedure>,
}

/// What goes over a tape.
#[derive(Clone, Debug, PartialEq)]
pub struct TapeUse {
    /// The slice that puts it there, and those that take it.
    pub from: usize,
    pub to: BTreeSet<usize>,
    /// The instruction of the program after or before which it is put.
    pub at: usize,
    /// The values. None: only which way it went.
    pub values: Vec<Expr>,
}

impl Slices {
    /// The slices of a call.
    pub fn of_call(program: &Arc<Procedure>, slicing: Slicing) -> Slices {
        Slices::of(program, &|table| {
            (slicing == Slicing::AllTables || program.may_write(table)).then_some(table.0)
        })
    }

    /// Cuts a replay program. `group_of` tells of each table that something in the log writes to which group
    /// it belongs: tables of one group are used by one slice.
    pub fn of(program: &Arc<Procedure>, group_of: GroupOf<'_>) -> Slices {
        // What a call of itself runs is the program that runs, so that must be whole.
        let flow = if program.is_recursive() { None } else { Flow::of(program) };
        let cut = flow.and_then(|flow| Cutter::new(program, &flow, group_of).cut());
        cut.unwrap_or_else(|| Slices::whole(program, group_of))
    }

    /// One slice, for what is not looked into.
    fn whole(program: &Arc<Procedure>, group_of: GroupOf<'_>) -> Slices {
        let mut tables = BTreeSet::new();
        all_tables(program, &mut |table| {
            if group_of(table).is_some() {
                tables.insert(table);
            }
        });
        let slice = Slice {
            tables: tables.into_iter().collect(),
            own: (0..program.code.len()).collect(),
            pure: Vec::new(),
            takes_from: BTreeSet::new(),
            program: Arc::clone(program),
        };
        let (tapes, merges) = Default::default();
        Slices { program: Arc::clone(program), slices: vec![slice], tapes, merges }
    }
}

/// What is put after an instruction.
#[derive(Default)]
struct SetTape {
    items: BTreeSet<Item>,
    takers: BTreeSet<usize>,
}

/// What is put before an instruction.
struct UsedTape {
    from: usize,
    at: usize,
    value: Expr,
    takers: BTreeMap<usize, Register>,
}

/// What becomes of a slice.
struct Plan {
    /// The instructions that it executes, with what they evaluate there.
    kept: BTreeMap<usize, Instruction>,
    /// Those whose results it takes.
    taken: BTreeSet<usize>,
    /// The registers for columns of rows that another slice has read.
    columns: BTreeMap<(RowSlot, u16), Register>,
    /// Instructions after which such a register gets the column of a row that was read here.
    mirrors: BTreeMap<usize, BTreeSet<(RowSlot, u16)>>,
    registers: u32,
    open: Vec<usize>,
}

impl Plan {
    fn new_register(&mut self) -> Register {
        self.registers += 1;
        // Too many are noticed at the end.
        (self.registers - 1) as Register
    }
}

struct Cutter<'p> {
    program: &'p Arc<Procedure>,
    flow: &'p Flow,
    group_of: GroupOf<'p>,
    dependences: Dependences,
    groups: Groups,
    /// By the instruction after which they are written.
    set: BTreeMap<usize, SetTape>,
    used: Vec<UsedTape>,
}

impl<'p> Cutter<'p> {
    fn new(program: &'p Arc<Procedure>, flow: &'p Flow, group_of: GroupOf<'p>) -> Cutter<'p> {
        let dependences = Dependences::of(program, flow);
        let groups = Groups::of(program, flow, &dependences, group_of);
        Cutter { program, flow, group_of, dependences, groups, set: BTreeMap::new(), used: Vec::new() }
    }

    /// `None` if the slices would have too many registers or tapes.
    fn cut(mut self) -> Option<Slices> {
        let order = self.order();
        let mut plans: BTreeMap<usize, Plan> = BTreeMap::new();
        // Those that take say what is put.
        for slice in order.iter().rev() {
            let plan = self.plan(*slice);
            plans.insert(*slice, plan);
        }
        let tapes = self.set.len() + self.used.len();
        if tapes > usize::from(u16::MAX) || plans.values().any(|plan| plan.registers > u32::from(u16::MAX)) {
            return None;
        }
        let number: BTreeMap<usize, usize> =
            order.iter().enumerate().map(|(number, slice)| (*slice, number)).collect();
        let slices = order.iter().map(|slice| self.slice(*slice, &plans[slice], &number)).collect();
        Some(Slices {
            program: Arc::clone(self.program),
            slices,
            tapes: self.tapes(&number),
            merges: self.groups.merges,
        })
    }

    /// The slices, each after those that it needs something of.
    fn order(&self) -> Vec<usize> {
        let count = self.groups.members.len();
        let mut order = Vec::new();
        while order.len() < count {
            let is_next = |slice: &usize| {
                !order.contains(slice)
                    && self.groups.before[*slice].iter().all(|before| order.contains(before))
            };
            let Some(next) = (0..count).find(is_next) else {
                debug_assert!(false, "circles have been merged");
                break;
            };
            order.push(next);
        }
        order
    }

    /// The slices that an instruction's results depend on: of an anchored one its own.
    fn owners(&self, at: usize) -> BTreeSet<usize> {
        match self.groups.slice[at] {
            Some(slice) => BTreeSet::from([slice]),
            None => self.groups.needs[at].clone(),
        }
    }

    /// The slices that decide whether an instruction is executed.
    fn deciding(&self, at: usize) -> BTreeSet<usize> {
        let deciders = self.flow.deciders(at).chain(self.flow.handled_decider(at));
        deciders.flat_map(|decider| self.owners(decider)).collect()
    }

    /// The slices that an item depends on as an instruction finds it.
    fn owners_of(&self, at: usize, item: Item) -> BTreeSet<usize> {
        self.dependences.setters_of(at, item).flat_map(|setter| self.owners(setter)).collect()
    }

    /// The slice that can tell something which depends on these slices, because it needs all the others
    /// anyway.
    fn teller(&self, owners: &BTreeSet<usize>) -> Option<usize> {
        self.groups.last_of(owners)
    }

    /// The slice that can put what an instruction has set.
    fn teller_of(&self, at: usize) -> Option<usize> {
        self.groups.slice[at].or_else(|| self.teller(&self.groups.needs[at]))
    }

    /// The slice that can tell something, if it is another one and knows when the instruction is executed.
    fn other_teller(&self, slice: usize, at: usize, owners: &BTreeSet<usize>) -> Option<usize> {
        let teller = self.teller(owners).filter(|teller| *teller != slice)?;
        let knows = |decider: &usize| *decider == teller || self.groups.before[teller].contains(decider);
        self.deciding(at).iter().all(knows).then_some(teller)
    }

    /// Whether an instruction is in at most as many loops as the innermost of those that set an item.
    fn is_rarer(&self, at: usize, item: Item) -> bool {
        let setters = self.dependences.setters_of(at, item);
        let loops = setters.filter(|setter| !self.owners(*setter).is_empty());
        loops.map(|setter| self.dependences.loops(setter)).max() >= Some(self.dependences.loops(at))
    }

    /// Whether the register that it sets can be taken in its place.
    fn is_passed(&self, setter: usize, slice: usize) -> bool {
        let instruction = &self.program.code[setter];
        matches!(instruction, Instruction::Evaluate { .. })
            && !instruction.looks_at().chance
            && self.teller_of(setter).is_some_and(|teller| teller != slice)
    }

    fn plan(&mut self, slice: usize) -> Plan {
        let mut plan = Plan {
            kept: BTreeMap::new(),
            taken: BTreeSet::new(),
            columns: BTreeMap::new(),
            mirrors: BTreeMap::new(),
            registers: u32::from(self.program.registers),
            open: self.groups.members[slice].clone(),
        };
        let put: Vec<usize> =
            self.set.keys().copied().filter(|at| self.teller_of(*at) == Some(slice)).collect();
        plan.open.extend(put);
        for number in 0..self.used.len() {
            if self.used[number].from == slice {
                let at = self.used[number].at;
                let mut value = self.used[number].value.clone();
                self.require_deciders(slice, &mut plan, at);
                self.rewrite(slice, &mut plan, at, &mut value, true);
                self.used[number].value = value;
            }
        }
        while let Some(at) = plan.open.pop() {
            if plan.kept.contains_key(&at) {
                continue;
            }
            plan.kept.insert(at, self.program.code[at].clone());
            self.require_deciders(slice, &mut plan, at);
            let mut kept = self.program.code[at].clone();
            let mut is_conditional = matches!(kept, Instruction::Join { .. });
            // A key is evaluated up to the first NULL.
            let is_key = matches!(kept, Instruction::ReadPoint { .. } | Instruction::OpenScan { .. });
            kept.for_each_expr_mut(&mut |expr| {
                self.rewrite(slice, &mut plan, at, expr, is_conditional);
                is_conditional |= is_key;
            });
            for register in plain_registers(self.program, self.flow, at) {
                self.require_register(slice, &mut plan, at, register);
            }
            let whole: Vec<usize> = self
                .dependences
                .setters(at)
                .iter()
                .filter(|(item, _)| matches!(item, Item::Whole(_)))
                .map(|(_, setter)| *setter)
                .collect();
            plan.open.extend(whole);
            plan.kept.insert(at, kept);
        }
        self.keep_prefetches(&mut plan);
        plan
    }

    fn require_deciders(&mut self, slice: usize, plan: &mut Plan, at: usize) {
        for decider in self.flow.deciders(at) {
            match self.groups.slice[decider] {
                Some(other) if other != slice => self.take(slice, plan, decider, None),
                _ => plan.open.push(decider),
            }
        }
    }

    /// Has the slice take what an instruction sets, and where it leads.
    fn take(&mut self, slice: usize, plan: &mut Plan, setter: usize, item: Option<Item>) {
        let tape = self.set.entry(setter).or_default();
        tape.items.extend(item);
        tape.takers.insert(slice);
        if plan.taken.insert(setter) && !mutant::is_active(Mutant::TakesUndecided) {
            self.require_deciders(slice, plan, setter);
        }
    }

    /// Has the slice have a register as the instruction finds it.
    fn require_register(&mut self, slice: usize, plan: &mut Plan, at: usize, register: Register) {
        let item = Item::Register(register);
        let setters: Vec<usize> = self.dependences.setters_of(at, item).collect();
        let owners = self.owners_of(at, item);
        let is_single = |setter: usize| {
            setters.len() == 1
                && self.is_passed(setter, slice)
                && self.dependences.loops(setter) <= self.dependences.loops(at)
        };
        let has_single = setters.first().is_some_and(|setter| is_single(*setter));
        if !has_single
            && let Some(other) = self.other_teller(slice, at, &owners)
            && self.is_rarer(at, item)
        {
            return self.take_before(slice, (other, at), Expr::Register(register), register);
        }
        for setter in setters {
            match self.groups.slice[setter] {
                Some(other) if other != slice => self.take(slice, plan, setter, Some(item)),
                None if self.is_passed(setter, slice) => self.take(slice, plan, setter, Some(item)),
                _ => plan.open.push(setter),
            }
        }
    }

    /// Has the slice take a value before an instruction.
    fn take_before(&mut self, slice: usize, (from, at): (usize, usize), value: Expr, into: Register) {
        let known =
            self.used.iter_mut().find(|used| (used.from, used.at) == (from, at) && used.value == value);
        match known {
            Some(used) => {
                used.takers.entry(slice).or_insert(into);
            }
            None => self.used.push(UsedTape { from, at, value, takers: BTreeMap::from([(slice, into)]) }),
        }
    }

    /// Makes an expression that an instruction evaluates one that the slice can evaluate. `is_conditional`:
    /// it is not evaluated in any case, so it might fail where the call has not.
    fn rewrite(&mut self, slice: usize, plan: &mut Plan, at: usize, expr: &mut Expr, is_conditional: bool) {
        match expr {
            Expr::Const(_) => return,
            Expr::Register(register) => return self.require_register(slice, plan, at, *register),
            Expr::Column { row, column } => {
                let item = (*row, *column);
                if let Some(register) = self.require_column(slice, plan, at, item) {
                    *expr = Expr::Register(register);
                }
                return;
            }
            _ => {}
        }
        if !is_conditional && let Some(from) = self.passed_from(slice, at, expr) {
            let known =
                self.used.iter().find(|used| (used.from, used.at) == (from, at) && used.value == *expr);
            let into = known.and_then(|used| used.takers.get(&slice).copied());
            let into = into.unwrap_or_else(|| plan.new_register());
            let value = std::mem::replace(expr, Expr::Register(into));
            return self.take_before(slice, (from, at), value, into);
        }
        let mut is_first = true;
        let later_are_conditional = matches!(
            expr,
            Expr::Case { .. } | Expr::And(..) | Expr::Or(..) | Expr::Coalesce(_) | Expr::InList { .. }
        );
        expr.for_each_part_mut(&mut |part| {
            let is_conditional = is_conditional || (later_are_conditional && !is_first);
            is_first = false;
            self.rewrite(slice, plan, at, part, is_conditional);
        });
    }

    /// The slice that an expression is taken from as a whole.
    fn passed_from(&self, slice: usize, at: usize, expr: &Expr) -> Option<usize> {
        if expr.looks_at().chance {
            return None;
        }
        let mut items = Vec::new();
        leaves(expr, &mut items);
        let owners: BTreeSet<usize> = items.iter().flat_map(|item| self.owners_of(at, *item)).collect();
        let from = self.other_teller(slice, at, &owners)?;
        items.into_iter().any(|item| self.is_rarer(at, item)).then_some(from)
    }

    /// Has the slice have a column as the instruction finds it. Returns its register, if another slice has
    /// read the row.
    fn require_column(
        &mut self,
        slice: usize,
        plan: &mut Plan,
        at: usize,
        (row, column): (RowSlot, u16),
    ) -> Option<Register> {
        let item = Item::Column(row, column);
        let setters: Vec<usize> = self.dependences.setters_of(at, item).collect();
        let is_other: Vec<bool> = setters
            .iter()
            .map(|setter| self.groups.slice[*setter].is_some_and(|other| other != slice))
            .collect();
        if !is_other.contains(&true) {
            plan.open.extend(setters);
            return None;
        }
        let register = match plan.columns.get(&(row, column)) {
            Some(register) => *register,
            None => {
                let register = plan.new_register();
                plan.columns.insert((row, column), register);
                register
            }
        };
        for (setter, is_other) in setters.into_iter().zip(is_other) {
            if is_other {
                self.take(slice, plan, setter, Some(item));
            } else {
                plan.mirrors.entry(setter).or_default().insert((row, column));
                plan.open.push(setter);
            }
        }
        Some(register)
    }

    /// A loop that reads what it has asked for ahead goes on asking, if the slice knows the keys.
    fn keep_prefetches(&self, plan: &mut Plan) {
        for (at, instruction) in self.program.code.iter().enumerate() {
            let Instruction::LookAhead { variable, last, reads } = instruction else { continue };
            let is_known = |(_, setter): &(Item, usize)| plan.kept.contains_key(setter);
            if !self.flow.is_live(at) || !self.dependences.setters(at).iter().all(is_known) {
                continue;
            }
            let is_read = |(table, _): &&(u16, Vec<Expr>)| {
                plan.kept
                    .values()
                    .any(|kept| matches!(kept, Instruction::ReadPoint { table: read, .. } if read == table))
            };
            let reads: Vec<_> = reads.iter().filter(is_read).cloned().collect();
            if !reads.is_empty() {
                let (variable, last) = (*variable, *last);
                plan.kept.insert(at, Instruction::LookAhead { variable, last, reads });
            }
        }
    }
}

/// The registers and columns of an expression.
fn leaves(expr: &Expr, into: &mut Vec<Item>) {
    if let Expr::Register(register) = expr {
        into.push(Item::Register(*register));
    }
    if !matches!(expr, Expr::Column { .. }) {
        expr.for_each_part(&mut |part| leaves(part, into));
        return;
    }
    for_each_column(expr, &mut |row, column| into.push(Item::Column(row, column)));
}

/// Puts the programs together.
impl Cutter<'_> {
    /// The labels to which an instruction may lead without an error.
    fn labels(&self, at: usize) -> Vec<Label> {
        let mut labels = Vec::new();
        self.program.code[at].for_each_label(&mut |label| {
            if self.flow.is_live(*label as usize) {
                labels.push(*label);
            }
        });
        labels
    }

    fn tape_after(&self, at: usize) -> TapeSlot {
        self.set.range(..at).count() as TapeSlot
    }

    fn tape_before(&self, number: usize) -> TapeSlot {
        (self.set.len() + number) as TapeSlot
    }

    /// What is put after an instruction, besides where it leads.
    fn values_after(&self, at: usize) -> Vec<Expr> {
        let items = self.set.get(&at).into_iter().flat_map(|tape| &tape.items);
        let value = |item: &Item| match item {
            Item::Register(register) => Some(Expr::Register(*register)),
            Item::Column(row, column) => Some(Expr::Column { row: *row, column: *column }),
            Item::Whole(_) => None,
        };
        items.filter_map(value).collect()
    }

    fn program(&self, slice: usize, plan: &Plan) -> Procedure {
        let mut program = Assembler::new(self.program, self.flow);
        for at in 0..self.flow.end() {
            program.begin();
            if !self.flow.is_live(at) {
                continue;
            }
            self.use_tapes_before(slice, at, &mut program);
            if let Some(kept) = plan.kept.get(&at) {
                let is_put = self.set.contains_key(&at) && self.teller_of(at) == Some(slice);
                match is_put {
                    true => self.put_after(at, kept, &mut program),
                    false => program.keep(at, kept.clone()),
                }
                for (row, column) in plan.mirrors.get(&at).into_iter().flatten() {
                    let expr = Expr::Column { row: *row, column: *column };
                    program.add(at, Instruction::Evaluate { expr, into: plan.columns[&(*row, *column)] });
                }
            } else if plan.taken.contains(&at) {
                self.take_after(plan, at, &mut program);
            } else {
                program.skip(at);
            }
        }
        let mut program = program.finish();
        // One more for what is taken and not needed.
        program.registers = plan.registers as u16 + 1;
        program.tapes = (self.set.len() + self.used.len()) as u16;
        program.note_leading();
        program
    }

    fn use_tapes_before(&self, slice: usize, at: usize, program: &mut Assembler<'_>) {
        let tapes = || self.used.iter().enumerate().filter(|(_, used)| used.at == at);
        for (number, used) in tapes() {
            if let Some(register) = used.takers.get(&slice) {
                let tape = self.tape_before(number);
                program.add(at, Instruction::Take { tape, into: vec![*register] });
            }
        }
        // What is put may need what was taken.
        for (number, _) in tapes().filter(|(_, used)| used.from == slice) {
            let (tape, values) = (self.tape_before(number), vec![self.used[number].value.clone()]);
            program.add(at, Instruction::Put { tape, values });
        }
    }

    /// An instruction, and what is put after it. Which way it went: true if it went on; otherwise false once
    /// for each label up to the one it went to, and true if there is another one.
    fn put_after(&self, at: usize, kept: &Instruction, program: &mut Assembler<'_>) {
        let (tape, labels) = (self.tape_after(at), self.labels(at));
        let truth = |truth: bool| Expr::Const(hyades_types::value::Value::Boolean(truth));
        let mut kept = kept.clone();
        for (number, label) in labels.iter().enumerate() {
            let mut values = vec![truth(false); number + 1];
            values.extend((number + 1 < labels.len()).then(|| truth(true)));
            let put = Instruction::Put { tape, values };
            let tail = program.tail(at, vec![put, Instruction::Jump { to: *label }]);
            let mut is_first = true;
            kept.for_each_label_mut(&mut |to| {
                if *to == *label && is_first {
                    (*to, is_first) = (tail, false);
                }
            });
        }
        program.keep(at, kept);
        let mut values = self.values_after(at);
        if !labels.is_empty() {
            values.insert(0, truth(true));
        }
        program.add(at, Instruction::Put { tape, values });
    }

    fn take_after(&self, plan: &Plan, at: usize, program: &mut Assembler<'_>) {
        let (tape, labels) = (self.tape_after(at), self.labels(at));
        let unused = plan.registers as Register;
        let way = |to: Label| {
            let condition = Expr::Register(unused);
            [Instruction::Take { tape, into: vec![unused] }, Instruction::JumpUnless { condition, to }]
        };
        if let Some((last, others)) = labels.split_last() {
            let mut next = *last;
            for label in others.iter().rev() {
                let mut code = way(next).to_vec();
                code.push(Instruction::Jump { to: *label });
                next = program.tail(at, code);
            }
            way(next).into_iter().for_each(|instruction| program.add(at, instruction));
        }
        let items = self.set.get(&at).into_iter().flat_map(|tape| &tape.items);
        let into = |item: &Item| match item {
            Item::Register(register) => Some(*register),
            Item::Column(row, column) => Some(plan.columns.get(&(*row, *column)).copied().unwrap_or(unused)),
            Item::Whole(_) => None,
        };
        let into: Vec<Register> = items.filter_map(into).collect();
        if !into.is_empty() {
            program.add(at, Instruction::Take { tape, into });
        }
        if !self.flow.is_live(at + 1) {
            let to = program.trap(at);
            program.add(at, Instruction::Jump { to });
        }
    }

    fn slice(&self, slice: usize, plan: &Plan, number: &BTreeMap<usize, usize>) -> Slice {
        let own = &self.groups.members[slice];
        let mut tables = BTreeSet::new();
        for at in own {
            super::groups::tables(self.program, *at, &mut |table| {
                if (self.group_of)(table).is_some() {
                    tables.insert(table);
                }
            });
        }
        let set = self.set.iter().filter(|(_, tape)| tape.takers.contains(&slice));
        let set = set.filter_map(|(at, _)| self.teller_of(*at));
        let used = self.used.iter().filter(|used| used.takers.contains_key(&slice)).map(|used| used.from);
        Slice {
            tables: tables.into_iter().collect(),
            own: own.clone(),
            pure: plan.kept.keys().copied().filter(|at| self.groups.slice[*at].is_none()).collect(),
            takes_from: set.chain(used).map(|from| number[&from]).collect(),
            program: Arc::new(self.program(slice, plan)),
        }
    }

    fn tapes(&self, number: &BTreeMap<usize, usize>) -> Vec<TapeUse> {
        let numbers = |takers: &mut dyn Iterator<Item = usize>| takers.map(|taker| number[&taker]).collect();
        let set = self.set.iter().map(|(at, tape)| TapeUse {
            from: self.teller_of(*at).map_or(0, |from| number[&from]),
            to: numbers(&mut tape.takers.iter().copied()),
            at: *at,
            values: self.values_after(*at),
        });
        let used = self.used.iter().map(|used| TapeUse {
            from: number[&used.from],
            to: numbers(&mut used.takers.keys().copied()),
            at: used.at,
            values: vec![used.value.clone()],
        });
        set.chain(used).collect()
    }
}

impl fmt::Display for Slices {
    /// The slices and what they pass to each other.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, slice) in self.slices.iter().enumerate() {
            let from: Vec<String> = slice.takes_from.iter().map(ToString::to_string).collect();
            let after = if from.is_empty() { String::new() } else { format!(", after {}", from.join(", ")) };
            writeln!(f, "slice {number} of {:?}{after}", slice.own)?;
            writeln!(f, "{}", slice.program)?;
        }
        for merge in &self.merges {
            writeln!(f, "{merge:?}")?;
        }
        Ok(())
    }
}
