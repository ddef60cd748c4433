//! Random runs whose logs lose their ends, against the definition, and against the paper's algorithms as
//! printed: what each of them gets wrong, and that the mended rules do not.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::protocol::Predecessors;

/// A small source of random numbers (xorshift), so that a run is known by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A row of two columns.
type Row = [u64; 2];

/// A transaction, by its number in the order of times.
struct Transaction {
    id: RecordId,
    /// Those whose rows it has read, and those whose rows it has overwritten.
    read: BTreeSet<usize>,
    overwritten: BTreeSet<usize>,
    /// What it wrote: a row, the column, and the whole row as it then was.
    writes: Vec<(usize, usize, Row)>,
}

struct Run {
    transactions: Vec<Transaction>,
    ends: LsnVector,
}

const LOGS: usize = 3;
const ROWS: usize = 4;

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..20 {
            random.below(2);
        }
        let (mut last, mut rows) = ([None; ROWS], [Row::default(); ROWS]);
        let mut reserved = [0_u64; LOGS];
        let mut transactions = Vec::new();
        for number in 0..3 + random.below(9) as usize {
            let log = random.below(LOGS as u64) as usize;
            reserved[log] += 8 * (1 + random.below(3));
            let (mut read, mut overwritten) = (BTreeSet::new(), BTreeSet::new());
            let mut writes: Vec<(usize, usize, Row)> = Vec::new();
            for _ in 0..1 + random.below(2) {
                let row = random.below(ROWS as u64) as usize;
                match random.below(3) {
                    0 => read.extend(last[row]),
                    // A row is changed once.
                    _ if writes.iter().any(|(other, ..)| *other == row) => {}
                    _ => {
                        let column = random.below(2) as usize;
                        overwritten.extend(last[row]);
                        rows[row][column] = 1 + number as u64;
                        writes.push((row, column, rows[row]));
                    }
                }
            }
            if !writes.is_empty() {
                writes.iter().for_each(|(row, ..)| last[*row] = Some(number));
                let id = RecordId::new(log, Lsn(reserved[log]));
                transactions.push((number, Transaction { id, read, overwritten, writes }));
            }
        }
        // Numbers without gaps.
        let place: BTreeMap<usize, usize> =
            transactions.iter().enumerate().map(|(place, (number, _))| (*number, place)).collect();
        let renumbered = |set: BTreeSet<usize>| set.into_iter().map(|number| place[&number]).collect();
        let transactions = transactions.into_iter().map(|(_, one)| Transaction {
            read: renumbered(one.read),
            overwritten: renumbered(one.overwritten),
            ..one
        });
        let ends = reserved.map(|end| 8 * random.below(1 + end / 8));
        Run { transactions: transactions.collect(), ends: LsnVector::from_slice(&ends) }
    }

    fn is_there(&self, number: usize) -> bool {
        let id = self.transactions[number].id;
        id.end() <= self.ends.get(id.log())
    }

    fn named(&self, number: usize) -> BTreeSet<usize> {
        &self.transactions[number].read | &self.transactions[number].overwritten
    }

    /// Those that are there with all that they name, and what those name.
    fn counting(&self) -> BTreeSet<usize> {
        let mut counting = BTreeSet::new();
        for number in 0..self.transactions.len() {
            if self.is_there(number) && self.named(number).is_subset(&counting) {
                counting.insert(number);
            }
        }
        counting
    }

    /// What is found when the logs are settled up to there.
    fn dead(&self, settled: &LsnVector) -> BTreeSet<RecordId> {
        let mut all: Vec<MayBeDead> = (0..LOGS).map(MayBeDead::new).collect();
        for (number, Transaction { id, .. }) in self.transactions.iter().enumerate() {
            let mut predecessors = Predecessors::zero(LOGS);
            let ids: BTreeSet<RecordId> =
                self.named(number).iter().map(|other| self.transactions[*other].id).collect();
            ids.into_iter().for_each(|id| predecessors.name(id));
            all[id.log()].note(id.end(), Follows::Predecessors(&predecessors));
        }
        for (log, one) in all.iter_mut().enumerate() {
            one.settle(settled.get(log));
        }
        find_dead(all, &self.ends, settled).into_iter().collect()
    }

    /// The rows when these have been replayed one after another, by whole rows.
    fn replayed(&self, order: impl IntoIterator<Item = usize>) -> [Row; ROWS] {
        let mut rows = [Row::default(); ROWS];
        for number in order {
            self.transactions[number].writes.iter().for_each(|(row, _, image)| rows[*row] = *image);
        }
        rows
    }

    /// The rows if nothing but these had ever run, in the order of times: column by column.
    fn expected(&self, kept: &BTreeSet<usize>) -> [Row; ROWS] {
        let mut rows = [Row::default(); ROWS];
        for number in kept {
            let writes = &self.transactions[*number].writes;
            writes.iter().for_each(|(row, column, image)| rows[*row][*column] = image[*column]);
        }
        rows
    }

    /// The paper: only those that it has read decide whether a transaction counts. Returns those, and an
    /// order in which algorithm 3 recovers them, as far as it comes. `waits_for_dead`: as it is printed, for
    /// those that it has overwritten whether they count or not.
    fn as_in_the_paper(&self, waits_for_dead: bool, mut choose: Random) -> (BTreeSet<usize>, Vec<usize>) {
        let mut recoverable = BTreeSet::new();
        for number in 0..self.transactions.len() {
            if self.is_there(number) && self.transactions[number].read.is_subset(&recoverable) {
                recoverable.insert(number);
            }
        }
        let mut order = Vec::new();
        loop {
            let is_recovered = |number: &usize| order.contains(number);
            let is_ready = |number: &&usize| {
                let mut waits = self.transactions[**number].overwritten.iter();
                !is_recovered(number)
                    && waits
                        .all(|other| is_recovered(other) || !(waits_for_dead || recoverable.contains(other)))
            };
            let ready: Vec<usize> = recoverable.iter().filter(is_ready).copied().collect();
            match ready.len() as u64 {
                0 => return (recoverable, order),
                count => order.push(ready[choose.below(count) as usize]),
            }
        }
    }
}

fn runs() -> impl Iterator<Item = (u64, Run)> {
    (1..4000).map(|seed| (seed, Run::new(seed)))
}

#[test]
fn the_dead_are_those_that_miss_something_that_they_follow() {
    let (mut dead_in_all, mut through_another) = (0, 0);
    for (seed, run) in runs() {
        let counting = run.counting();
        let is_dead = |number: &usize| run.is_there(*number) && !counting.contains(number);
        let dead: Vec<usize> = (0..run.transactions.len()).filter(is_dead).collect();
        let ids: BTreeSet<RecordId> = dead.iter().map(|number| run.transactions[*number].id).collect();
        assert_eq!(run.dead(&LsnVector::zero(LOGS)), ids, "seed {seed}");
        // A settled position is one below which all count.
        let settled: Vec<u64> = (0..LOGS)
            .map(|log| {
                let dead = ids.iter().filter(|id| id.log() == log).map(|id| id.end().0 - Lsn::ALIGNMENT);
                dead.min().unwrap_or(u64::MAX).min(run.ends.get(log).0)
            })
            .collect();
        assert_eq!(run.dead(&LsnVector::from_slice(&settled)), ids, "seed {seed}, settled {settled:?}");
        assert_eq!(run.replayed(counting.iter().copied()), run.expected(&counting), "seed {seed}");
        dead_in_all += dead.len();
        through_another +=
            dead.iter().filter(|one| run.named(**one).iter().all(|other| run.is_there(*other))).count();
    }
    assert!(
        dead_in_all > 1000 && through_another > 100,
        "{dead_in_all}, {through_another} through another one"
    );
}

/// Row 20 of the design, algorithm 3: what never counts is never recovered, so one that has overwritten it
/// waits for ever. It would have been recovered by the text of section 3.
#[test]
fn algorithm_3_never_recovers_what_has_overwritten_something_dead() {
    let is_stuck = |run: &Run, waits_for_dead| {
        let (recoverable, order) = run.as_in_the_paper(waits_for_dead, Random(1));
        order.len() < recoverable.len()
    };
    assert!(runs().filter(|(_, run)| is_stuck(run, true)).count() > 100);
    assert!(runs().all(|(_, run)| !is_stuck(&run, false)));
}

/// Row 21, section 3: T3 sets one column and is lost, T4 sets another one and is kept. T4's row holds what T3
/// wrote.
#[test]
fn a_whole_row_has_read_what_it_overwrites() {
    let leaks = |(_, run): &(u64, Run)| {
        let (recoverable, _) = run.as_in_the_paper(false, Random(1));
        // Whole rows in the order of times: no order would help.
        run.replayed(recoverable.iter().copied()) != run.expected(&recoverable)
    };
    assert!(runs().filter(leaks).count() > 100);
}

/// Row 22: T1 sets a row, P is lost, and T5 sets it again without having read it. T5 names P alone, so
/// nothing says that T5 comes after T1.
#[test]
fn lists_alone_do_not_order_what_comes_before_and_after_something_dead() {
    let disorders = |(seed, run): &(u64, Run)| {
        let (recoverable, order) = run.as_in_the_paper(false, Random(*seed));
        run.replayed(order) != run.replayed(recoverable)
    };
    assert!(runs().filter(disorders).count() > 30);
}
