//! The order of the loops over FROM, and which loop checks which condition.
//!
//! At each step the relation with the best access comes next, given what the relations before it make known;
//! a left join and what stands after it keep their order. A condition goes to the first loop that knows all
//! it reads.
//!
//! Time: what a condition reads is looked up once, and an item is ranked again only when a relation was
//! placed with which it shares a condition, so that FROM lists of hundreds of tables are ordered in
//! milliseconds.

use hyades_engine::procedure::ir::{Expr, Register, RowSlot};
use hyades_types::error::Result;
use hyades_types::guest;

use super::access::{self, Choice};
use super::level::Level;
use crate::bind::tree::{Item, Source};

/// What it takes to look at an item, as work of a guest.
const UNITS_PER_ITEM: usize = 2;

/// Orders the items into loops and gives each condition to the first loop that can check it. Conditions that
/// read no item come back.
pub(crate) fn levels(items: Vec<Item>, conditions: Vec<Expr>) -> Result<(Vec<Level>, Vec<Expr>)> {
    let items = match <[Item; 1]>::try_from(items) {
        Ok([only]) => return Ok(single(only, conditions)),
        Err(several) => several,
    };
    let mut order = Order::new(items, conditions);
    let mut levels = Vec::with_capacity(order.items.len());
    while let Some(next) = order.pick() {
        guest::spend_for(UNITS_PER_ITEM * order.items.len())?;
        levels.extend(order.place(next));
    }
    Ok((levels, order.constant))
}

/// The same over one item, which is most of what applications ask.
fn single(item: Item, conditions: Vec<Expr>) -> (Vec<Level>, Vec<Expr>) {
    let (own, constant) = conditions.into_iter().partition(|condition| item.source.is_read_by(condition));
    let known = |source: &Source, value: &Expr| !source.is_read_by(value);
    (vec![level(item, own, known)], constant)
}

/// Makes an item a loop that checks these conditions. `is_known`: the value reads neither the item nor one
/// whose loop comes later.
fn level(item: Item, own: Vec<Expr>, is_known: impl Fn(&Source, &Expr) -> bool) -> Level {
    let Item { source, left_join, intent, label, .. } = item;
    let is_left_join = left_join.is_some();
    let (conditions, after) = match left_join {
        Some(on) => (on, own),
        None => (own, Vec::new()),
    };
    let choice = choice(&source, &conditions, &|value| is_known(&source, value));
    Level { source, choice, is_left_join, after, intent, is_kept: true, label }
}

fn choice(source: &Source, conditions: &[Expr], is_known: &dyn Fn(&Expr) -> bool) -> Choice {
    match source {
        Source::Table { table, row } => access::choose(table, *row, conditions, is_known),
        _ => access::unsteered(conditions),
    }
}

/// A condition that no loop has taken yet.
struct Pending {
    condition: Option<Expr>,
    /// The items it reads, by number.
    reads: Vec<usize>,
    /// How many of them have no loop yet.
    unplaced: usize,
}

struct Order {
    /// In the order of FROM; `None` once placed.
    items: Vec<Option<Item>>,
    /// Which item a row slot or register belongs to: mostly one or two, so sorted lists are found in sooner
    /// than hash tables.
    rows: Vec<(RowSlot, usize)>,
    registers: Vec<(Register, usize)>,
    pending: Vec<Pending>,
    /// For each item the conditions that read it.
    readers: Vec<Vec<usize>>,
    /// For each item its rank, while nothing has changed it.
    ranks: Vec<Option<u8>>,
    constant: Vec<Expr>,
}

fn item_of(items: &[(u16, usize)], slot: u16) -> Option<usize> {
    let at = items.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?;
    Some(items[at].1)
}

impl Order {
    fn new(items: Vec<Item>, conditions: Vec<Expr>) -> Order {
        let (mut rows, mut registers) = (Vec::with_capacity(items.len()), Vec::new());
        for (number, item) in items.iter().enumerate() {
            match &item.source {
                Source::Table { row, .. } => {
                    rows.push((*row, number));
                }
                Source::Series(series) => {
                    registers.push((series.current, number));
                }
                Source::Query(derived) => {
                    registers.extend(derived.registers.iter().map(|register| (*register, number)));
                }
                Source::Routine(routine) => {
                    registers.extend(routine.registers.iter().map(|register| (*register, number)));
                }
            }
        }
        rows.sort_unstable();
        registers.sort_unstable();
        let count = items.len();
        let mut order = Order {
            items: items.into_iter().map(Some).collect(),
            rows,
            registers,
            pending: Vec::new(),
            readers: vec![Vec::new(); count],
            ranks: vec![None; count],
            constant: Vec::new(),
        };
        for condition in conditions {
            let reads = order.reads(&condition);
            if reads.is_empty() {
                order.constant.push(condition);
                continue;
            }
            reads.iter().for_each(|item| order.readers[*item].push(order.pending.len()));
            order.pending.push(Pending { condition: Some(condition), unplaced: reads.len(), reads });
        }
        order
    }

    /// The items that the expression reads, each once.
    fn reads(&self, condition: &Expr) -> Vec<usize> {
        let mut reads = Vec::new();
        self.for_each_read(condition, &mut |item| reads.push(item));
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    fn for_each_read(&self, part: &Expr, found: &mut dyn FnMut(usize)) {
        let item = match part {
            Expr::Column { row, .. } => item_of(&self.rows, *row),
            Expr::Register(register) => item_of(&self.registers, *register),
            _ => None,
        };
        item.into_iter().for_each(&mut *found);
        part.for_each_part(&mut |inner| self.for_each_read(inner, found));
    }

    /// The item to loop over next.
    fn pick(&mut self) -> Option<usize> {
        let remaining: Vec<(usize, &Item)> =
            self.items.iter().enumerate().filter_map(|(at, item)| Some((at, item.as_ref()?))).collect();
        let first = remaining.first()?.0;
        let routine = remaining.iter().find(|(_, item)| matches!(item.source, Source::Routine(_)));
        if let Some((routine, _)) = routine {
            return Some(*routine);
        }
        let movable: Vec<usize> = remaining
            .iter()
            .take_while(|(_, item)| item.left_join.is_none())
            .map(|(number, _)| *number)
            .collect();
        if movable.len() <= 1 {
            return Some(first);
        }
        movable.into_iter().min_by_key(|number| (self.rank(*number), *number))
    }

    fn rank(&mut self, number: usize) -> u8 {
        if let Some(rank) = self.ranks[number] {
            return rank;
        }
        let own: Vec<Expr> =
            self.checkable(number).filter_map(|at| self.pending[at].condition.clone()).collect();
        let rank = self.items[number]
            .as_ref()
            .map_or(0, |item| choice(&item.source, &own, &|value| self.is_known(&item.source, value)).rank());
        self.ranks[number] = Some(rank);
        rank
    }

    /// The conditions that this item's loop could check if it came next.
    fn checkable(&self, number: usize) -> impl Iterator<Item = usize> {
        self.readers[number].iter().copied().filter(|at| self.pending[*at].unplaced == 1)
    }

    /// Whether the value reads neither this relation, which has no loop yet, nor another that has none.
    fn is_known(&self, source: &Source, value: &Expr) -> bool {
        let mut is_known = !source.is_read_by(value);
        self.for_each_read(value, &mut |read| is_known &= self.items[read].is_none());
        is_known
    }

    /// Makes an item a loop, with the conditions it can check.
    fn place(&mut self, number: usize) -> Option<Level> {
        let own: Vec<usize> = self.checkable(number).collect();
        let own: Vec<Expr> = own.into_iter().filter_map(|at| self.pending[at].condition.take()).collect();
        for at in std::mem::take(&mut self.readers[number]) {
            self.pending[at].unplaced -= 1;
            self.pending[at].reads.iter().for_each(|item| self.ranks[*item] = None);
        }
        let item = self.items[number].take()?;
        Some(level(item, own, |source, value| self.is_known(source, value)))
    }
}
