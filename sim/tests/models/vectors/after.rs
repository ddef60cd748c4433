//! After the crash: which records count, their replay, and what the test says of that.

use super::{Entry, LOGS, Place, Positions, RECORD_LENGTH, Rule, Run, is_covered, raise};

/// A record that a crash has left.
struct Record {
    transaction: usize,
    begin: usize,
    /// By its field and the anchor before it.
    follows: Positions,
    counts: bool,
}

impl Run {
    /// The records that are there, and whether each counts.
    fn records(&self) -> [Vec<Record>; LOGS] {
        let ends = self.ends();
        self.logs.each_ref().map(|log| {
            let (mut records, mut anchor, mut is_ignored) = (Vec::new(), [0; LOGS], false);
            for Place { end, entry } in &log.places {
                match entry {
                    Entry::Reserved => {}
                    // It may name a part of a record.
                    Entry::Anchor(named) => {
                        anchor = std::array::from_fn(|log| named[log].min(ends[log]));
                    }
                    Entry::Record(transaction, field) => {
                        let counts = field.is_at_most(&ends) && !is_ignored;
                        is_ignored = !counts && self.rule == Rule::CommitInLogOrder;
                        let mut follows = anchor;
                        raise(&mut follows, &field.entries);
                        let (transaction, begin) = (*transaction, end - RECORD_LENGTH);
                        records.push(Record { transaction, begin, follows, counts });
                    }
                }
            }
            records
        })
    }

    /// By the numbers of transactions.
    pub(super) fn counting(&self) -> Vec<bool> {
        let mut counting = vec![false; self.all.len()];
        self.records().iter().flatten().for_each(|record| counting[record.transaction] = record.counts);
        counting
    }
}

/// Replays what counts, in an order that the positions allow: a wrong one if there is one, else a random one.
/// Returns whether something ran before what it follows, and whether all has run.
fn replay(run: &mut Run) -> (bool, bool) {
    let (ends, records, all) = (run.ends(), run.records(), &run.all);
    let mut has_run = vec![true; all.len()];
    records.iter().flatten().for_each(|record| has_run[record.transaction] = !record.counts);
    let (mut is_early, mut reached) = (false, [0; LOGS]);
    loop {
        // What does not count is passed.
        for (log, of_log) in records.iter().enumerate() {
            let left = of_log.iter().find(|record| !has_run[record.transaction]);
            reached[log] = left.map_or(ends[log], |record| record.begin);
        }
        let is_ready =
            |record: &&Record| !has_run[record.transaction] && is_covered(&record.follows, &reached);
        let ready: Vec<usize> =
            records.iter().flatten().filter(is_ready).map(|record| record.transaction).collect();
        if ready.is_empty() {
            return (is_early, has_run.iter().all(|has_run| *has_run));
        }
        let misses_any = |one: &&usize| all[**one].follows.iter().any(|followed| !has_run[*followed]);
        let early = ready.iter().find(misses_any);
        is_early |= early.is_some();
        let next = early.copied().unwrap_or_else(|| ready[run.random.below(ready.len())]);
        has_run[next] = true;
    }
}

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Found {
    runs: usize,
    counting: usize,
    /// Records that are there, and do not count.
    dead: usize,
    /// Those of them that are there with all that they follow: a table has been taken.
    pub(super) in_excess: usize,
    acknowledged: usize,
    /// The sum of the floor.
    floor: usize,
    /// How often a record has named an entry of the floor.
    named_floor: usize,
    /// From here on, runs in which something is wrong.
    pub(super) not_closed: usize,
    not_by_vectors: usize,
    pub(super) dropped: usize,
    pub(super) answers_lost: usize,
    pub(super) unnoted: usize,
    pub(super) early: usize,
    pub(super) never_replayed: usize,
    pub(super) zombies: usize,
}

impl Found {
    /// The rule is right, and the runs have shown something.
    pub(super) fn check_right(&self) {
        let Found { not_closed, not_by_vectors, dropped, answers_lost, .. } = *self;
        let Found { unnoted, early, never_replayed, zombies, .. } = *self;
        let wrong =
            [not_closed, not_by_vectors, dropped, answers_lost, unnoted, early, never_replayed, zombies];
        assert_eq!(wrong, [0; 8], "{self:?}");
        assert!(self.counting > 5000 && self.dead > 500 && self.in_excess > 50, "{self:?}");
        assert!(self.acknowledged > 5000 && self.floor > 5000 && self.named_floor > 500, "{self:?}");
    }

    /// What counts after a crash.
    pub(super) fn judge(&mut self, run: &mut Run) {
        let (ends, counting, all) = (run.ends(), run.counting(), &run.all);
        // Those that are there with all that they follow, and all that those follow.
        let mut is_whole: Vec<bool> = Vec::new();
        let [mut not_closed, mut not_by_vectors, mut dropped, mut answers_lost] = [false; 4];
        for (known, counts) in all.iter().zip(counting.iter().copied()) {
            let is_there = known.record.is_some_and(|(log, end)| end <= ends[log]);
            let misses = |present: &[bool]| known.follows.iter().any(|followed| !present[*followed]);
            let is_complete = is_there && !misses(&is_whole);
            is_whole.push(is_complete);
            not_closed |= counts && misses(&counting);
            not_by_vectors |= counts != (is_there && is_covered(&known.vector, &ends));
            dropped |= is_complete && !counts && !known.knows_tables;
            let has_lost = if known.is_reader { misses(&counting) } else { !counts };
            answers_lost |= known.is_acknowledged && has_lost;
            self.dead += usize::from(is_there && !counts);
            self.in_excess += usize::from(is_complete && !counts);
            self.acknowledged += usize::from(known.is_acknowledged);
        }
        self.runs += 1;
        self.counting += counting.iter().filter(|counts| **counts).count();
        self.floor += run.floor.iter().sum::<usize>();
        self.named_floor += run.named_floor;
        self.not_closed += usize::from(not_closed);
        self.not_by_vectors += usize::from(not_by_vectors);
        self.dropped += usize::from(dropped);
        self.answers_lost += usize::from(answers_lost);
        self.unnoted += usize::from(run.had_unnoted);
        let (is_early, has_ended) = replay(run);
        self.early += usize::from(is_early);
        self.never_replayed += usize::from(!has_ended);
    }
}
