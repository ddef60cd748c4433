//! Blocks: groups of tables between which the slices of all programs of a log flow in one direction.
//!
//! If the slice of one call takes something from another one, the tables of the first come after those of the
//! second. Where that makes a circle of tables, over all programs, the tables on it are one block, and so are
//! the tables of one slice. A program's slices on one block are one slice. So the blocks are a graph without
//! circles, and a batch of calls can be replayed block by block.
//!
//! A table that nothing in the log writes belongs to no block: every slice reads it itself. One that a data
//! record writes does, because what calls read of it depends on their place in the log.
//!
//! Reference: PACMAN (SIGMOD 2017), section 4.1.2 (the global dependency graph).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hyades_types::definition::TableId;

use super::groups::{Merge, all_tables};
use super::slices::Slices;
use crate::procedure::ir::Procedure;

/// The blocks of the tables of a log, and the slices on them.
#[derive(Debug)]
pub struct Blocks {
    /// Each after all that it comes after.
    pub blocks: Vec<Block>,
    /// The slices of each program.
    pub programs: Vec<Slices>,
    /// What they would be if the log held calls of that program alone, apart from which tables are written.
    pub alone: Vec<Slices>,
    /// Why there are not more of them, in the order in which this was found.
    pub joins: Vec<Join>,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub tables: BTreeSet<TableId>,
    /// The blocks directly before it, by number.
    pub after: BTreeSet<usize>,
}

/// Two groups of tables became one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    pub tables: (TableId, TableId),
    pub cause: Cause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// One slice of this program uses both, for these reasons.
    Slice { program: usize, merges: Vec<Merge> },
    /// These programs go from the one to the other, and these back.
    Circle { there: Vec<usize>, back: Vec<usize> },
}

/// Which group each written table is in.
struct Classes(BTreeMap<TableId, u32>);

impl Classes {
    fn of(&self, table: TableId) -> Option<u32> {
        self.0.get(&table).copied()
    }

    /// Makes the groups of two tables one. Returns whether they were two.
    fn unite(&mut self, one: TableId, other: TableId) -> bool {
        let (Some(one), Some(other)) = (self.of(one), self.of(other)) else { return false };
        let (kept, gone) = (one.min(other), one.max(other));
        self.0.values_mut().filter(|class| **class == gone).for_each(|class| *class = kept);
        kept != gone
    }

    fn first(&self, class: u32) -> Option<TableId> {
        self.0.iter().find(|(_, of)| **of == class).map(|(table, _)| *table)
    }
}

/// Which programs lead from one group to another.
type Edges = BTreeMap<(u32, u32), BTreeSet<usize>>;

impl Blocks {
    /// The blocks of a log that holds calls of these replay programs, and data records that write these
    /// tables.
    pub fn of(programs: &[Arc<Procedure>], data: &BTreeSet<TableId>) -> Blocks {
        let mut written = data.clone();
        for program in programs {
            all_tables(program, &mut |table| {
                if program.may_write(table) {
                    written.insert(table);
                }
            });
        }
        let mut classes = Classes(written.into_iter().zip(0..).collect());
        let cut = |classes: &Classes| -> Vec<Slices> {
            programs.iter().map(|program| Slices::of(program, &|table| classes.of(table))).collect()
        };
        let (mut joins, alone) = (Vec::new(), cut(&classes));
        loop {
            let slices = cut(&classes);
            if join_tables_of_slices(&slices, &mut classes, &mut joins) {
                continue;
            }
            let edges = edges(&slices, &classes);
            if !join_circle(&edges, &mut classes, &mut joins) {
                return Blocks { blocks: ordered(&classes, &edges), programs: slices, alone, joins };
            }
        }
    }

    /// The block of a table.
    pub fn block_of(&self, table: TableId) -> Option<usize> {
        self.blocks.iter().position(|block| block.tables.contains(&table))
    }
}

fn join_tables_of_slices(all: &[Slices], classes: &mut Classes, joins: &mut Vec<Join>) -> bool {
    let mut has_changed = false;
    for (program, slices) in all.iter().enumerate() {
        for slice in &slices.slices {
            let Some((first, others)) = slice.tables.split_first() else { continue };
            for other in others {
                if classes.unite(*first, *other) {
                    has_changed = true;
                    let is_of_slice = |merge: &&Merge| slice.own.contains(&merge.instructions.1);
                    let merges = slices.merges.iter().filter(is_of_slice).cloned().collect();
                    let cause = Cause::Slice { program, merges };
                    joins.push(Join { tables: (*first, *other), cause });
                }
            }
        }
    }
    has_changed
}

fn edges(all: &[Slices], classes: &Classes) -> Edges {
    let mut edges = Edges::new();
    for (program, slices) in all.iter().enumerate() {
        let class_of = |slice: usize| classes.of(*slices.slices.get(slice)?.tables.first()?);
        for (number, slice) in slices.slices.iter().enumerate() {
            for from in &slice.takes_from {
                if let (Some(from), Some(to)) = (class_of(*from), class_of(number))
                    && from != to
                {
                    edges.entry((from, to)).or_default().insert(program);
                }
            }
        }
    }
    edges
}

/// The shortest way from one group to another, as edges.
fn way(edges: &Edges, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
    let mut came: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&at) = reached.get(next) {
        next += 1;
        if at == to && next > 1 {
            break;
        }
        for edge in edges.keys().filter(|edge| edge.0 == at) {
            if edge.1 != from && !came.contains_key(&edge.1) {
                came.insert(edge.1, *edge);
                reached.push(edge.1);
            }
        }
    }
    let mut way = Vec::new();
    let mut at = to;
    while at != from {
        let edge = came.get(&at)?;
        way.push(*edge);
        at = edge.0;
    }
    Some(way)
}

/// Joins two groups that are on a circle. Returns whether there is one.
fn join_circle(edges: &Edges, classes: &mut Classes, joins: &mut Vec<Join>) -> bool {
    for ((from, to), there) in edges {
        let Some(back) = way(edges, *to, *from) else { continue };
        let (Some(one), Some(other)) = (classes.first(*from), classes.first(*to)) else { continue };
        let programs: BTreeSet<usize> =
            back.iter().filter_map(|edge| edges.get(edge)).flatten().copied().collect();
        let cause =
            Cause::Circle { there: there.iter().copied().collect(), back: programs.into_iter().collect() };
        joins.push(Join { tables: (one, other), cause });
        return classes.unite(one, other);
    }
    false
}

/// The groups, each after those with an edge to it.
fn ordered(classes: &Classes, edges: &Edges) -> Vec<Block> {
    let mut open: BTreeSet<u32> = classes.0.values().copied().collect();
    let mut order: Vec<u32> = Vec::new();
    while let Some(next) = open
        .iter()
        .copied()
        .find(|class| edges.keys().filter(|(_, to)| to == class).all(|(from, _)| order.contains(from)))
    {
        open.remove(&next);
        order.push(next);
    }
    debug_assert!(open.is_empty(), "circles have been joined");
    let number = |class: u32| order.iter().position(|known| *known == class);
    order
        .iter()
        .map(|class| Block {
            tables: classes.0.iter().filter(|(_, of)| *of == class).map(|(table, _)| *table).collect(),
            after: edges.keys().filter(|(_, to)| to == class).filter_map(|(from, _)| number(*from)).collect(),
        })
        .collect()
}
