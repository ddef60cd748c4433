//! The ways through the code of a procedure that ends without an error.
//!
//! An instruction is *live* if such a way leads over it. An error that no handler catches ends the run, and a
//! loop without a way out never does, so neither is on any such way. Only what is live is looked at:
//!
//! * what an instruction *decides*: the instructions that are executed, or executed again, depending on which
//!   way it goes (control dependence: Ferrante, Ottenstein, Warren, "The Program Dependence Graph and Its Use
//!   in Optimization", TOPLAS 1987, section 3). Post-dominators are found as by Cooper, Harvey, Kennedy, "A
//!   Simple, Fast Dominance Algorithm", 2001;
//! * where what it uses was set (reaching definitions).
//!
//! Every instruction inside a block with a handler may fail, so all of them lead there. A lock on a row that
//! has been read does nothing.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::places::{Place, Places};
use crate::procedure::ir::{Instruction, Label, Procedure};

/// Longer code is not looked at.
const MOST_INSTRUCTIONS: usize = 4096;
/// Registers times instructions, above which it is not either.
const MOST_FACTS: usize = 1 << 21;

/// Whether code of so many instructions on so many registers is looked at.
pub(super) fn is_short(instructions: usize, registers: usize) -> bool {
    instructions <= MOST_INSTRUCTIONS && instructions.saturating_mul(registers) <= MOST_FACTS
}

type Labels = SmallVec<[usize; 2]>;

/// See the module head. Instructions have their numbers; the number after the last one is the end of the run.
pub(super) struct Flow {
    places: Vec<Places>,
    /// Between live instructions, and to the end.
    successors: Vec<Labels>,
    predecessors: Vec<Labels>,
    is_live: Vec<bool>,
    /// How many handlers wait for an error of the instruction.
    depth: Vec<usize>,
    /// The next instruction that every way from this one leads over.
    post_dominators: Vec<usize>,
    /// The instructions that decide about this one.
    deciders: Vec<BTreeSet<usize>>,
    /// The first one that does so by an error that is handled.
    handled_decider: Vec<Option<usize>>,
}

impl Flow {
    /// `None` if the code is too long to be looked at, or never ends without an error, or leaves a block in
    /// the middle of it.
    pub(super) fn of(procedure: &Procedure) -> Option<Flow> {
        let code = &procedure.code;
        if !is_short(code.len(), usize::from(procedure.registers)) {
            return None;
        }
        let handlers = handlers(code)?;
        let end = code.len();
        let ways: Vec<Labels> = (0..end).map(|at| ways(code, at)).collect();
        let all: Vec<Labels> = (0..end).map(|at| successors(code, &ways, at, &handlers)).collect();
        let is_live = live(&all);
        if !is_live[0] {
            return None;
        }
        let alive = |labels: Labels| labels.into_iter().filter(|at| is_live[*at]).collect::<Labels>();
        let ways: Vec<Labels> = ways.into_iter().map(alive).collect();
        let mut successors: Vec<Labels> = all.into_iter().map(alive).collect();
        successors.push(Labels::new());
        let mut predecessors = vec![Labels::new(); end + 1];
        for at in (0..end).filter(|at| is_live[*at]) {
            successors[at].iter().for_each(|next| predecessors[*next].push(at));
        }
        let post_dominators = post_dominators(&successors, &predecessors, &is_live);
        let deciders = deciders(&ways, &post_dominators, &is_live);
        let depth: Vec<usize> =
            handlers.iter().map(|handlers| handlers.as_ref().map_or(0, Vec::len)).collect();
        let handled_decider = handled_deciders(&successors, &post_dominators, &is_live, &depth);
        Some(Flow {
            places: code.iter().map(|instruction| places(procedure, instruction)).collect(),
            depth,
            successors,
            predecessors,
            is_live,
            post_dominators,
            deciders,
            handled_decider,
        })
    }

    /// The number of the end: that of the instructions.
    pub(super) fn end(&self) -> usize {
        self.places.len()
    }

    /// Whether a run that ends without an error may come to this instruction, or to the end.
    pub(super) fn is_live(&self, at: usize) -> bool {
        self.is_live[at]
    }

    /// Whether a handler waits for an error of the instruction.
    pub(super) fn is_handled(&self, at: usize) -> bool {
        self.depth[at] > 0
    }

    pub(super) fn places(&self, at: usize) -> &Places {
        &self.places[at]
    }

    pub(super) fn successors(&self, at: usize) -> &[usize] {
        &self.successors[at]
    }

    pub(super) fn predecessors(&self, at: usize) -> &[usize] {
        &self.predecessors[at]
    }

    /// The next instruction that every way from this one leads over, or the end.
    pub(super) fn post_dominator(&self, at: usize) -> usize {
        self.post_dominators[at]
    }

    /// The instructions that decide whether, or how often, this one is executed, without those that do so by
    /// an error.
    pub(super) fn deciders(&self, at: usize) -> impl Iterator<Item = usize> {
        self.deciders[at].iter().copied()
    }

    /// The first instruction that decides whether this one is executed by an error that is handled.
    pub(super) fn handled_decider(&self, at: usize) -> Option<usize> {
        self.handled_decider[at]
    }

    /// Passes to `see` the instructions that may have set a place as this instruction finds it.
    pub(super) fn for_each_setter(&self, at: usize, place: Place, see: &mut dyn FnMut(usize)) {
        self.for_each_setter_but(at, place, &|_| false, &|_| false, see);
    }

    /// The same, as if those that `passes` accepts did not set it, and those that `ends` accepts set it on
    /// every way out.
    pub(super) fn for_each_setter_but(
        &self,
        at: usize,
        place: Place,
        passes: &dyn Fn(usize) -> bool,
        ends: &dyn Fn(usize) -> bool,
        see: &mut dyn FnMut(usize),
    ) {
        let mut seen = vec![false; self.places.len()];
        let mut open: Vec<usize> = self.predecessors[at].to_vec();
        while let Some(setter) = open.pop() {
            if std::mem::replace(&mut seen[setter], true) {
                continue;
            }
            let places = &self.places[setter];
            let (sets, changes) = (places.sets.contains(&place), places.changes.contains(&place));
            if (sets || changes) && !passes(setter) {
                see(setter);
                if sets || ends(setter) {
                    continue;
                }
            }
            open.extend(&self.predecessors[setter]);
        }
    }

    /// Passes to `see` the instructions before this one whose errors are handled, the last on each way.
    pub(super) fn for_each_handled_before(&self, at: usize, see: &mut dyn FnMut(usize)) {
        let mut seen = vec![false; self.places.len()];
        let mut open: Vec<usize> = self.predecessors[at].to_vec();
        while let Some(before) = open.pop() {
            if std::mem::replace(&mut seen[before], true) {
                continue;
            }
            match self.is_handled(before) {
                true => see(before),
                false => open.extend(&self.predecessors[before]),
            }
        }
    }
}

/// The handlers that wait for an error of each instruction, the innermost last. `None` for an instruction
/// that cannot be reached. No result at all if a block is entered or left in the middle.
fn handlers(code: &[Instruction]) -> Option<Vec<Option<Vec<Label>>>> {
    let mut handlers: Vec<Option<Vec<Label>>> = vec![None; code.len() + 1];
    let mut open = vec![(0, Vec::new())];
    while let Some((at, waiting)) = open.pop() {
        if let Some(known) = &handlers[at] {
            if *known != waiting {
                return None;
            }
            continue;
        }
        handlers[at] = Some(waiting.clone());
        let Some(instruction) = code.get(at) else { continue };
        let mut after = waiting.clone();
        match instruction {
            Instruction::EnterBlock { handler } => {
                open.push((*handler as usize, waiting));
                after.push(*handler);
            }
            Instruction::LeaveBlock => drop(after.pop()?),
            other => other.for_each_label(&mut |label| open.push((*label as usize, after.clone()))),
        }
        if instruction.effects().falls_through {
            open.push((at + 1, after));
        }
    }
    Some(handlers)
}

fn places(procedure: &Procedure, instruction: &Instruction) -> Places {
    match instruction {
        Instruction::LockRow { .. } => Places::default(),
        other => Places::of(procedure, other),
    }
}

/// Where an instruction leads if it does not fail.
fn ways(code: &[Instruction], at: usize) -> Labels {
    let instruction = &code[at];
    let mut ways = Labels::new();
    // In a replay nothing is locked, so no row has changed, or gone, since it was read.
    if !matches!(instruction, Instruction::LockRow { .. }) {
        instruction.for_each_label(&mut |label| ways.push(*label as usize));
    }
    if instruction.effects().falls_through {
        ways.push(at + 1);
    }
    if matches!(instruction, Instruction::Return) {
        ways.push(code.len());
    }
    ways.sort_unstable();
    ways.dedup();
    ways
}

/// The same, and where its error leads.
fn successors(code: &[Instruction], ways: &[Labels], at: usize, handlers: &[Option<Vec<Label>>]) -> Labels {
    let mut successors = ways[at].clone();
    let handler = handlers[at].as_ref().and_then(|handlers| handlers.last());
    if !matches!(code[at], Instruction::LockRow { .. }) {
        successors.extend(handler.map(|handler| *handler as usize));
    }
    successors.sort_unstable();
    successors.dedup();
    successors
}

/// The instructions on ways from the first one to the end, and the end.
fn live(successors: &[Labels]) -> Vec<bool> {
    let end = successors.len();
    let mut predecessors = vec![Labels::new(); end + 1];
    for (at, labels) in successors.iter().enumerate() {
        labels.iter().for_each(|next| predecessors[*next].push(at));
    }
    let spread = |from: usize, next: &dyn Fn(usize) -> Labels| {
        let (mut seen, mut open) = (vec![false; end + 1], vec![from]);
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                open.extend(next(at));
            }
        }
        seen
    };
    let reached = spread(0, &|at| successors.get(at).cloned().unwrap_or_default());
    let ends = spread(end, &|at| predecessors[at].clone());
    reached.iter().zip(ends).map(|(reached, ends)| *reached && ends).collect()
}

/// For each live instruction, the next one that every way from it to the end leads over.
fn post_dominators(successors: &[Labels], predecessors: &[Labels], is_live: &[bool]) -> Vec<usize> {
    let end = predecessors.len() - 1;
    // Backwards from the end, each after one that it leads to.
    let (mut order, mut seen) = (Vec::new(), vec![false; end + 1]);
    let mut open = vec![(end, 0)];
    seen[end] = true;
    while let Some((at, next)) = open.pop() {
        match predecessors[at].get(next) {
            Some(before) => {
                open.push((at, next + 1));
                if !std::mem::replace(&mut seen[*before], true) {
                    open.push((*before, 0));
                }
            }
            None => order.push(at),
        }
    }
    let mut number = vec![0; end + 1];
    for (place, at) in order.iter().enumerate() {
        number[*at] = place;
    }
    let mut dominators: Vec<Option<usize>> = vec![None; end + 1];
    dominators[end] = Some(end);
    let meet = |dominators: &[Option<usize>], mut one: usize, mut other: usize| {
        while one != other {
            let lower = if number[one] < number[other] { &mut one } else { &mut other };
            *lower = dominators[*lower].unwrap_or(end);
        }
        one
    };
    loop {
        let mut has_changed = false;
        for at in order.iter().rev().filter(|at| **at != end) {
            let known = successors[*at].iter().filter(|next| dominators[**next].is_some());
            let found = known.copied().reduce(|one, other| meet(&dominators, one, other));
            has_changed |= found.is_some() && dominators[*at] != found;
            dominators[*at] = found.or(dominators[*at]);
        }
        if !has_changed {
            break;
        }
    }
    dominators
        .into_iter()
        .zip(is_live)
        .map(|(dominator, is_live)| dominator.filter(|_| *is_live).unwrap_or(end))
        .collect()
}

/// For each instruction, those that decide about it. That one fails decides about its handler, of which a
/// replay program keeps all that can fail anyway.
fn deciders(ways: &[Labels], post_dominators: &[usize], is_live: &[bool]) -> Vec<BTreeSet<usize>> {
    let mut deciders = vec![BTreeSet::new(); post_dominators.len()];
    let branches = ways.iter().enumerate().filter(|(at, next)| is_live[*at] && next.len() > 1);
    for (branch, next) in branches {
        for &first in next {
            let mut at = first;
            while at != post_dominators[branch] {
                deciders[at].insert(branch);
                at = post_dominators[at];
            }
        }
    }
    deciders
}

/// For each instruction, the first of those that decide about it by an error that is handled.
fn handled_deciders(
    successors: &[Labels],
    post_dominators: &[usize],
    is_live: &[bool],
    depth: &[usize],
) -> Vec<Option<usize>> {
    let mut deciders = vec![None; post_dominators.len()];
    for branch in (0..depth.len()).filter(|at| is_live[*at] && depth[*at] > 0) {
        for &first in &successors[branch] {
            let mut at = first;
            while at != post_dominators[branch] {
                deciders[at].get_or_insert(branch);
                at = post_dominators[at];
            }
        }
    }
    deciders
}

#[cfg(test)]
mod tests {
    use super::{Labels, deciders, live, post_dominators};

    /// The deciders of each instruction, in code with these successors.
    fn decided(successors: &[&[usize]]) -> Vec<Vec<usize>> {
        let mut all: Vec<Labels> = successors.iter().map(|labels| Labels::from_slice(labels)).collect();
        let is_live = live(&all);
        all.iter_mut().for_each(|labels| labels.retain(|at| is_live[*at]));
        all.push(Labels::new());
        let mut predecessors = vec![Labels::new(); all.len()];
        for at in (0..all.len()).filter(|at| is_live[*at]) {
            all[at].clone().iter().for_each(|next| predecessors[*next].push(at));
        }
        let dominators = post_dominators(&all, &predecessors, &is_live);
        let found = deciders(&all, &dominators, &is_live);
        found.into_iter().take(successors.len()).map(|set| set.into_iter().collect()).collect()
    }

    #[test]
    fn a_branch_decides_about_its_arms() {
        // 0: to 1 or 3; 1, 2: one arm; 3: the other; 4: after them.
        assert_eq!(decided(&[&[1, 3], &[2], &[4], &[4], &[5]]), [vec![], vec![0], vec![0], vec![0], vec![]]);
    }

    #[test]
    fn the_head_of_a_loop_decides_about_its_body_and_itself() {
        // 0: before; 1: head; 2, 3: body; 4: after.
        assert_eq!(decided(&[&[1], &[2, 4], &[3], &[1], &[5]]), [vec![], vec![1], vec![1], vec![1], vec![]]);
    }

    #[test]
    fn a_way_out_in_the_middle_of_a_loop_decides_about_what_follows() {
        // 1: head; 2: leaves the loop or goes on; 3: the rest of the body.
        let found = decided(&[&[1], &[2, 4], &[3, 4], &[1], &[5]]);
        assert_eq!(found, [vec![], vec![2], vec![1], vec![2], vec![]]);
    }

    #[test]
    fn an_error_is_no_way() {
        // 0: to 1 or an error; 1: to 2, or round and round at 4.
        assert_eq!(decided(&[&[1, 3], &[2, 4], &[5], &[], &[4]]), vec![Vec::<usize>::new(); 5]);
    }
}
