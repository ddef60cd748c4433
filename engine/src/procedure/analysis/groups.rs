//! Which instructions of a program stay together in one slice.
//!
//! An instruction that reads or writes a table that something in the log writes is *anchored*: it has to run
//! in the order of the log. All others are pure, and every slice that needs one executes it itself. Anchored
//! instructions stay together
//! 1. if they use the same table, or tables of one group (a block);
//! 2. if a handler waits for an error of any of them: it would have to undo all of them;
//! 3. if they give row numbers to rows of tables without a primary key: these are in the log in the order in
//!    which they were drawn;
//! 4. if one needs of the other what cannot be passed on as a value (a cursor, a spool, a whole row);
//! 5. if they are on a circle: each needs something of the other (algorithm 1 of PACMAN, section 4.1.1; loop
//!    distribution: Kennedy, McKinley, "Loop Distribution with Arbitrary Control Flow", 1990).

use std::collections::{BTreeMap, BTreeSet};

use hyades_types::definition::TableId;

use super::dependences::{Dependences, Item};
use super::flow::Flow;
use super::places::Place;
use crate::mutant::{self, Mutant};
use crate::procedure::ir::{Callee, Instruction, Procedure};

/// Groups of tables: what is written by something in the log has one.
pub type GroupOf<'g> = &'g dyn Fn(TableId) -> Option<u32>;

/// Why two instructions are in one slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// They use tables of one block.
    Block,
    /// A handler waits for an error of both.
    Handler,
    /// Both draw numbers for rows.
    RowNumbers,
    /// The one needs of the other what is no value.
    NotAValue(&'static str),
    /// The call of a procedure that is kept whole uses the tables of both.
    Call(String),
    /// Each needs something of the other.
    Circle,
}

/// Two instructions that use different tables, and are in one slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    pub reason: Reason,
    /// Their numbers in the program.
    pub instructions: (usize, usize),
}

/// See the module head.
pub(super) struct Groups {
    /// The slice of each anchored instruction.
    pub(super) slice: Vec<Option<usize>>,
    /// For each slice, its anchored instructions.
    pub(super) members: Vec<Vec<usize>>,
    /// For each instruction, the slices that it needs something of: directly or through pure ones. Of an
    /// anchored one, that includes its own slice.
    pub(super) needs: Vec<BTreeSet<usize>>,
    /// For each slice, those that it needs something of, directly or through others.
    pub(super) before: Vec<BTreeSet<usize>>,
    pub(super) merges: Vec<Merge>,
}

/// The tables of an instruction, and of what it calls.
pub(super) fn tables(procedure: &Procedure, at: usize, see: &mut dyn FnMut(TableId)) {
    let instruction = &procedure.code[at];
    let of = |index| procedure.table(index).table.id();
    match instruction {
        Instruction::LockRow { .. } => {}
        Instruction::SkipUnlessTwin { table, .. } | Instruction::RefuseTwin { table, .. } => see(of(*table)),
        Instruction::Call { callee, .. } => match procedure.callees.get(usize::from(*callee)) {
            Some(Callee::Procedure(called)) => all_tables(&called.procedure, see),
            Some(Callee::Member { .. }) | None => all_tables(procedure, see),
        },
        Instruction::NextRow { .. } => {
            if let Some((table, _)) = procedure.filled_slot(instruction) {
                see(of(table));
            }
        }
        other => {
            if let Some((table, _)) = other.effects().table {
                see(of(table));
            }
        }
    }
}

/// The tables of a procedure, and of what it calls.
pub(super) fn all_tables(procedure: &Procedure, see: &mut dyn FnMut(TableId)) {
    for procedure in procedure.with_all_called() {
        procedure.tables.iter().for_each(|table| see(table.table.id()));
    }
}

/// Whether it, or what it calls, gives row numbers to new rows.
fn draws_row_numbers(procedure: &Procedure, instruction: &Instruction) -> bool {
    let is_keyless = |procedure: &Procedure, instruction: &Instruction| match instruction {
        Instruction::Insert { table, .. }
        | Instruction::InsertBlind { table, .. }
        | Instruction::InsertOr { table, .. } => procedure.table(*table).definition.primary_key.is_none(),
        _ => false,
    };
    match instruction {
        Instruction::Call { callee, .. } => match procedure.callees.get(usize::from(*callee)) {
            Some(Callee::Procedure(called)) => called
                .procedure
                .with_all_called()
                .into_iter()
                .any(|called| called.code.iter().any(|instruction| is_keyless(called, instruction))),
            Some(Callee::Member { .. }) | None => true,
        },
        other => is_keyless(procedure, other),
    }
}

fn word(place: Place) -> &'static str {
    match place {
        Place::Register(_) => "a value",
        Place::Row(_) => "a whole row",
        Place::Cursor(_) => "a cursor",
        Place::Spool(_) => "rows that were kept",
        Place::Stage(_) => "rows that are sorted or grouped",
        Place::Join(_) => "rows that are joined",
        Place::Count => "a number of rows",
        Place::Chance => "the next random number",
        Place::Errors => "an error",
    }
}

/// Disjoint sets of instructions.
struct Sets {
    parent: Vec<usize>,
    is_anchored: Vec<bool>,
    /// Of the set whose first instruction this is, one that uses a table, if any does.
    user: Vec<Option<usize>>,
    merges: Vec<Merge>,
}

impl Sets {
    fn find(&self, mut at: usize) -> usize {
        while self.parent[at] != at {
            at = self.parent[at];
        }
        at
    }

    /// Puts two into one set. Returns whether they were in different ones.
    fn unite(&mut self, one: usize, other: usize, reason: Option<Reason>) -> bool {
        let (first, second) = (self.find(one), self.find(other));
        let were_anchored = self.is_anchored[one] && self.is_anchored[other];
        (self.is_anchored[one], self.is_anchored[other]) = (true, true);
        if first == second {
            return !were_anchored;
        }
        if let (Some(reason), Some(first), Some(second)) = (reason, self.user[first], self.user[second]) {
            let instructions = match reason {
                Reason::Handler | Reason::Circle => (first.min(second), first.max(second)),
                _ => (one, other),
            };
            self.merges.push(Merge { reason, instructions });
        }
        let (kept, gone) = (first.min(second), first.max(second));
        self.parent[gone] = kept;
        self.user[kept] = self.user[kept].or(self.user[gone]);
        true
    }
}

impl Groups {
    pub(super) fn of(
        procedure: &Procedure,
        flow: &Flow,
        dependences: &Dependences,
        group_of: GroupOf<'_>,
    ) -> Groups {
        let mut sets = Sets {
            parent: (0..flow.end()).collect(),
            is_anchored: vec![false; flow.end()],
            user: vec![None; flow.end()],
            merges: Vec::new(),
        };
        let live = || (0..flow.end()).filter(|at| flow.is_live(*at));
        let mut first_of: BTreeMap<u32, (usize, TableId)> = BTreeMap::new();
        let mut numbered = None;
        for at in live() {
            let mut used = Vec::new();
            tables(procedure, at, &mut |table| used.push(table));
            for table in used {
                let Some(group) = group_of(table) else { continue };
                let (first, known) = *first_of.entry(group).or_insert((at, table));
                let reason = match &procedure.code[at] {
                    Instruction::Call { callee, .. } => Some(Reason::Call(name_of(procedure, *callee))),
                    _ => (known != table).then_some(Reason::Block),
                };
                let own = sets.find(at);
                sets.user[own].get_or_insert(at);
                sets.unite(first, at, reason);
            }
            let is_numbered =
                sets.user[sets.find(at)].is_some() && draws_row_numbers(procedure, &procedure.code[at]);
            if is_numbered && !mutant::is_active(Mutant::RowNumbersApart) {
                sets.unite(*numbered.get_or_insert(at), at, Some(Reason::RowNumbers));
            }
        }
        tie(procedure, flow, dependences, &mut sets);
        loop {
            let (classes, needs) = needs(flow, dependences, &sets);
            if !adopt(&classes, &needs, &mut sets) && !break_circles(&classes, &needs, &mut sets) {
                return Groups::from(&sets, &classes, needs);
            }
        }
    }

    /// Numbers the sets that use tables, in the order in which they begin.
    fn from(sets: &Sets, classes: &[Option<usize>], needs: Vec<BTreeSet<usize>>) -> Groups {
        let with_tables: BTreeSet<usize> =
            classes.iter().flatten().copied().filter(|class| sets.user[*class].is_some()).collect();
        let number: BTreeMap<usize, usize> =
            with_tables.iter().enumerate().map(|(number, class)| (*class, number)).collect();
        let slice: Vec<Option<usize>> =
            classes.iter().map(|class| class.and_then(|class| number.get(&class).copied())).collect();
        let mut members = vec![Vec::new(); number.len()];
        for (at, slice) in slice.iter().enumerate() {
            if let Some(slice) = slice {
                members[*slice].push(at);
            }
        }
        let needs = needs
            .into_iter()
            .map(|needs| needs.into_iter().filter_map(|class| number.get(&class).copied()).collect())
            .collect();
        let mut groups = Groups { slice, members, needs, before: Vec::new(), merges: sets.merges.clone() };
        groups.before = (0..groups.members.len()).map(|slice| groups.all_before(slice)).collect();
        groups
    }

    /// The slices that one needs something of.
    fn needed_by(&self, slice: usize) -> impl Iterator<Item = usize> {
        let needs = self.members[slice].iter().flat_map(|at| &self.needs[*at]);
        needs.copied().filter(move |need| *need != slice)
    }

    fn all_before(&self, slice: usize) -> BTreeSet<usize> {
        let (mut before, mut open) = (BTreeSet::new(), vec![slice]);
        while let Some(slice) = open.pop() {
            open.extend(self.needed_by(slice).filter(|need| before.insert(*need)));
        }
        before
    }

    /// The slice of these that all the others come before, if there is one.
    pub(super) fn last_of(&self, slices: &BTreeSet<usize>) -> Option<usize> {
        let is_last =
            |last: &&usize| slices.iter().all(|other| other == *last || self.before[**last].contains(other));
        slices.iter().find(is_last).copied()
    }
}

fn name_of(procedure: &Procedure, callee: u16) -> String {
    match procedure.callees.get(usize::from(callee)) {
        Some(Callee::Procedure(called)) => called.procedure.name.clone(),
        Some(Callee::Member { name, .. }) => name.clone(),
        None => procedure.name.clone(),
    }
}

/// The instructions in blocks with handlers, in these handlers, and those that any of them decides about:
/// what happens there depends on errors, which are not passed on.
fn in_blocks(procedure: &Procedure, flow: &Flow) -> Vec<bool> {
    let is_block = |at: usize| {
        flow.is_handled(at)
            || flow.handled_decider(at).is_some()
            || matches!(procedure.code[at], Instruction::EnterBlock { .. })
    };
    if mutant::is_active(Mutant::HandlersCut) {
        return vec![false; flow.end()];
    }
    let mut is_inside: Vec<bool> = (0..flow.end()).map(|at| flow.is_live(at) && is_block(at)).collect();
    loop {
        let is_new = |at: &usize| !is_inside[*at] && flow.deciders(*at).any(|decider| is_inside[decider]);
        let new: Vec<usize> = (0..flow.end()).filter(|at| flow.is_live(*at)).filter(is_new).collect();
        if new.is_empty() {
            return is_inside;
        }
        new.into_iter().for_each(|at| is_inside[at] = true);
    }
}

/// Rules 2 and 4.
fn tie(procedure: &Procedure, flow: &Flow, dependences: &Dependences, sets: &mut Sets) {
    let is_inside = in_blocks(procedure, flow);
    for at in (0..flow.end()).filter(|at| is_inside[*at]) {
        sets.is_anchored[at] = true;
        for decider in flow.deciders(at).filter(|at| is_inside[*at]).chain(flow.handled_decider(at)) {
            sets.unite(decider, at, Some(Reason::Handler));
        }
    }
    loop {
        let mut has_changed = false;
        for at in (0..flow.end()).filter(|at| flow.is_live(*at)) {
            for (item, setter) in dependences.setters(at) {
                if *setter == at || !sets.is_anchored[*setter] {
                    continue;
                }
                let reason = match item {
                    Item::Whole(place) => Reason::NotAValue(word(*place)),
                    _ if is_inside[*setter] => Reason::Handler,
                    _ => continue,
                };
                has_changed |= sets.unite(*setter, at, Some(reason));
            }
        }
        if !has_changed {
            return;
        }
    }
}

/// The class of each anchored instruction, and for each instruction the classes that it needs something of.
fn needs(flow: &Flow, dependences: &Dependences, sets: &Sets) -> (Vec<Option<usize>>, Vec<BTreeSet<usize>>) {
    let classes: Vec<Option<usize>> =
        (0..flow.end()).map(|at| sets.is_anchored[at].then(|| sets.find(at))).collect();
    let mut needs = vec![BTreeSet::new(); flow.end()];
    for (at, class) in classes.iter().enumerate() {
        needs[at].extend(*class);
    }
    loop {
        let mut has_changed = false;
        for at in (0..flow.end()).filter(|at| flow.is_live(*at)) {
            let before = needs[at].len();
            let setters = dependences.setters(at).iter().map(|(_, setter)| *setter);
            for needed in setters.chain(flow.deciders(at)).filter(|needed| *needed != at) {
                match classes[needed] {
                    Some(class) => {
                        needs[at].insert(class);
                    }
                    None => {
                        let further = std::mem::take(&mut needs[needed]);
                        needs[at].extend(&further);
                        needs[needed] = further;
                    }
                }
            }
            has_changed |= needs[at].len() > before;
        }
        if !has_changed {
            return (classes, needs);
        }
    }
}

/// A block with a handler may use no table. Then it belongs to the first slice that needs something of it.
/// Returns whether there was one.
fn adopt(classes: &[Option<usize>], needs: &[BTreeSet<usize>], sets: &mut Sets) -> bool {
    let mut has_any = false;
    for (class, needs) in classes.iter().zip(needs) {
        let Some(class) = class.filter(|class| sets.user[sets.find(*class)].is_some()) else { continue };
        for needed in needs {
            has_any |= sets.user[sets.find(*needed)].is_none() && sets.unite(class, *needed, None);
        }
    }
    has_any
}

/// Rule 5. Returns whether there was a circle.
fn break_circles(classes: &[Option<usize>], needs: &[BTreeSet<usize>], sets: &mut Sets) -> bool {
    let mut edges: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (class, needs) in classes.iter().zip(needs) {
        if let Some(class) = class {
            edges.entry(*class).or_default().extend(needs.iter().filter(|need| *need != class));
        }
    }
    let reach = |from: usize| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(class) = open.pop() {
            let further = edges.get(&class).into_iter().flatten();
            open.extend(further.filter(|next| seen.insert(**next)));
        }
        seen
    };
    let reached: BTreeMap<usize, BTreeSet<usize>> =
        edges.keys().map(|class| (*class, reach(*class))).collect();
    let mut has_circle = false;
    for (class, others) in &reached {
        for other in others.iter().filter(|other| *other > class) {
            if reached.get(other).is_some_and(|back| back.contains(class)) {
                has_circle |= sets.unite(*class, *other, Some(Reason::Circle));
            }
        }
    }
    has_circle
}
