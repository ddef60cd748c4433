//! The dependency graph after a crash: which transactions count, and in which order they are replayed.
//!
//! # What is modelled
//! Yu et al.: "Taurus: A Parallel Transaction Recovery Method Based on Fine-Granularity Dependency Tracking"
//! (2016), section 3 and algorithms 3 to 6, as printed; and what `engine/src/protocol/taurus_graph.rs` and
//! `engine/src/recovery/dead.rs` do in place of that (docs/decisions/2026-11-30-dependency-graph.md). What
//! happens before the crash is in `settled` beside this file.
//!
//! # State
//! Rows of two columns. Transactions in the order of their commit times: each has read some rows, and has
//! changed one column of others without having read them. Its record names the last writers of what it has
//! read (RAW) and of what it has overwritten (WAW), and holds what it wrote: whole rows, or patches of one
//! column. Some records are lost.
//!
//! # Rule
//! The paper: a transaction is recoverable if its record is there and all its RAW predecessors are
//! recoverable. It is recovered after its WAW predecessors. The code has one list: what is overwritten has
//! been seen. A transaction counts if its record is there and all in its list count; those that are there and
//! do not count are dead. Rows are replayed in the order of commit times.
//!
//! # Oracle
//! All that count are replayed in the end. The rows are as if nothing but these had ever run: column by
//! column, in the order of commit times.

use std::collections::BTreeSet;

use crate::random::Random;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The code's.
    OneListAndTimes,
    /// Right, too: two lists, in which a whole row has read what it replaces, and times for the order.
    TwoListsAndTimes,
    /// Broken: algorithm 3. A transaction waits for those that it has overwritten, whether they count or not.
    Algorithm3,
    /// Broken: section 3. It waits for those that count.
    Section3,
    /// Broken: the same, but a whole row has read what it replaces. Lists alone order blind writes.
    WholeRowsHaveRead,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Images {
    WholeRows,
    Patches,
}

/// A row of two columns: the numbers of the transactions that have set them.
type Row = [usize; 2];

struct Write {
    row: usize,
    column: usize,
    /// The whole row, as it was then.
    image: Row,
}

struct Transaction {
    /// By their numbers: those whose rows it has read, and those whose rows it has overwritten.
    read: BTreeSet<usize>,
    overwritten: BTreeSet<usize>,
    writes: Vec<Write>,
    is_lost: bool,
}

/// Transactions by their numbers, from 1 on, in the order of their commit times.
struct Run {
    all: Vec<Transaction>,
    rows: usize,
}

impl Run {
    fn new(random: &mut Random) -> Run {
        let rows = random.between(1, 4);
        let (mut images, mut last_writers) = (vec![Row::default(); rows], vec![None; rows]);
        let mut all: Vec<Transaction> = Vec::new();
        for _ in 0..random.between(3, 9) {
            let number = all.len() + 1;
            let (mut read, mut overwritten, mut writes) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
            let touched = random.between(1, 2);
            for row in random.some_below(rows, touched) {
                if random.percent(50) {
                    read.extend(last_writers[row]);
                    continue;
                }
                let column = random.below(2);
                images[row][column] = number;
                overwritten.extend(last_writers[row]);
                writes.push(Write { row, column, image: images[row] });
            }
            if !writes.is_empty() {
                writes.iter().for_each(|write| last_writers[write.row] = Some(number));
                all.push(Transaction { read, overwritten, writes, is_lost: random.percent(20) });
            }
        }
        Run { all, rows }
    }

    fn of(&self, number: usize) -> &Transaction {
        &self.all[number - 1]
    }

    /// Those that decide whether a transaction counts.
    fn deciding(&self, number: usize, rule: Rule, images: Images) -> BTreeSet<usize> {
        let Transaction { read, overwritten, .. } = self.of(number);
        let is_overwritten_read = match rule {
            Rule::OneListAndTimes => true,
            Rule::TwoListsAndTimes | Rule::WholeRowsHaveRead => images == Images::WholeRows,
            Rule::Algorithm3 | Rule::Section3 => false,
        };
        if is_overwritten_read { read | overwritten } else { read.clone() }
    }

    fn counting(&self, rule: Rule, images: Images) -> BTreeSet<usize> {
        let mut counting = BTreeSet::new();
        // What a transaction follows has a smaller number.
        for number in 1..=self.all.len() {
            if !self.of(number).is_lost && self.deciding(number, rule, images).is_subset(&counting) {
                counting.insert(number);
            }
        }
        counting
    }

    /// An order in which lists allow these to be recovered, as far as that goes.
    fn recovered(&self, counting: &BTreeSet<usize>, rule: Rule, random: &mut Random) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        loop {
            let has_come = |number: &usize| order.contains(number);
            let is_awaited = |other: &&usize| rule == Rule::Algorithm3 || counting.contains(*other);
            let is_ready = |number: &&usize| {
                let mut awaited = self.of(**number).overwritten.iter().filter(is_awaited);
                !has_come(number) && awaited.all(has_come)
            };
            let ready: Vec<usize> = counting.iter().filter(is_ready).copied().collect();
            if ready.is_empty() {
                return order;
            }
            order.push(ready[random.below(ready.len())]);
        }
    }

    fn replay(&self, order: &[usize], images: Images) -> Vec<Row> {
        let mut rows = vec![Row::default(); self.rows];
        for number in order {
            for Write { row, column, image } in &self.of(*number).writes {
                match images {
                    Images::WholeRows => rows[*row] = *image,
                    Images::Patches => rows[*row][*column] = *number,
                }
            }
        }
        rows
    }

    /// The rows if nothing but these had ever run.
    fn expected(&self, counting: &BTreeSet<usize>) -> Vec<Row> {
        let order: Vec<usize> = counting.iter().copied().collect();
        self.replay(&order, Images::Patches)
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Found {
    runs: usize,
    lost: usize,
    dead: usize,
    never_recovered: usize,
    wrong_rows: usize,
}

impl Found {
    fn check_right(&self) {
        assert_eq!([self.never_recovered, self.wrong_rows], [0, 0], "{self:?}");
        assert!(self.lost > 1000 && self.dead > 200, "{self:?}");
    }
}

fn runs(rule: Rule, images: Images) -> Found {
    let mut found = Found::default();
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let run = Run::new(&mut random);
        let counting = run.counting(rule, images);
        let mut order = run.recovered(&counting, rule, &mut random);
        let is_dead = |number: &usize| !run.of(*number).is_lost && !counting.contains(number);
        found.runs += 1;
        found.lost += run.all.iter().filter(|one| one.is_lost).count();
        found.dead += (1..=run.all.len()).filter(is_dead).count();
        if order.len() < counting.len() {
            found.never_recovered += 1;
            continue;
        }
        if matches!(rule, Rule::OneListAndTimes | Rule::TwoListsAndTimes) {
            order.sort_unstable();
        }
        found.wrong_rows += usize::from(run.replay(&order, images) != run.expected(&counting));
    }
    println!("dependency graph, {rule:?}, {images:?}: {found:?}");
    found
}

#[test]
fn one_list_and_times_recover_what_counts_and_nothing_else() {
    runs(Rule::OneListAndTimes, Images::WholeRows).check_right();
    runs(Rule::OneListAndTimes, Images::Patches).check_right();
}

#[test]
fn two_lists_would_do_if_whole_rows_have_read_and_times_order() {
    runs(Rule::TwoListsAndTimes, Images::WholeRows).check_right();
    runs(Rule::TwoListsAndTimes, Images::Patches).check_right();
}

#[test]
fn algorithm_3_never_recovers_what_has_overwritten_something_dead() {
    assert!(runs(Rule::Algorithm3, Images::WholeRows).never_recovered > 500);
    assert!(runs(Rule::Algorithm3, Images::Patches).never_recovered > 500);
}

#[test]
fn a_whole_row_that_has_not_read_what_it_replaces_leaks_what_is_lost() {
    let found = runs(Rule::Section3, Images::WholeRows);
    assert!(found.wrong_rows > 300 && found.never_recovered == 0, "{found:?}");
}

#[test]
fn lists_alone_do_not_order_blind_writes_around_something_dead() {
    let found = runs(Rule::WholeRowsHaveRead, Images::Patches);
    assert!(found.wrong_rows > 80 && found.never_recovered == 0, "{found:?}");
    runs(Rule::WholeRowsHaveRead, Images::WholeRows).check_right();
}
