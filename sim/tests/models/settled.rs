//! The dependency graph before a crash: lists of ids, settled positions, anchors, and what answers wait for.
//!
//! # What is modelled
//! `engine/src/protocol/taurus_graph.rs` with its files `commit_table` and `settled`, and the anchors of
//! `engine/src/protocol/anchors.rs` (docs/decisions/2026-11-30-dependency-graph.md), after Yu et al.:
//! "Taurus: A Parallel Transaction Recovery Method Based on Fine-Granularity Dependency Tracking" (2016),
//! sections 4.1 to 4.3 and 6.6. Random interleavings of four workers and three loggers.
//!
//! # State
//! Logs of records and anchors; a position is the number of entries before it. Rows: their locks, and their
//! marks (ids of their last writers). The commit dependency table. The settled position of each log. The last
//! anchor that each log has published; the floor is the smallest entry of all of them.
//!
//! # Rule
//! A transaction collects the ids that it finds at its rows (an id at most the floor is forgotten). It drops
//! those that the anchor of its log covers, names the rest in its record, and names the floor where the
//! anchor does not cover it. If there are too many, it names positions in their place: up to where each log
//! must be durable for all of them and what they follow, as the table says. It reserves its place, enters its
//! own vector in the table, and leaves its id at its rows. One that rolls back leaves positions there.
//!
//! Positions are *settled* in rounds: the reserved ends of all logs are looked at, one log after another, and
//! then once more; when all logs are durable up to the second look, what the first has found is settled.
//! Anchors name settled positions, and the table forgets what is settled, and what is durable with all that
//! it follows.
//!
//! After a crash, a record that names an id or a position beyond the end of its log is dead, and so is one
//! that names a dead one. What comes before the positions of the last anchors counts.
//!
//! # Oracle
//! The test knows whom each transaction follows. Exactly those must count whose records are there with all
//! that they follow, and all that those follow. What was acknowledged counts, and so does what an
//! acknowledged reader has seen.

use std::collections::{BTreeMap, BTreeSet};

use crate::random::Random;

const LOGS: usize = 3;
const WORKERS: usize = 4;
const ROWS: usize = 4;
/// A record names at most so many ids.
const MOST_NAMED: usize = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The code's.
    AsImplemented,
    /// Broken: what is durable is called settled.
    DurableIsSettled,
    /// Broken: the reserved ends are looked at once.
    OneLook,
    /// Broken: an answer waits for what the transaction follows, and not for what that follows.
    AnswerOfOwnRecord,
    /// Broken, the paper's section 6.6: too long a list becomes the largest id of each log.
    LargestOfEachLog,
    /// Broken: what names a dead transaction is not dead.
    DeadNotPassedOn,
    /// Broken: the entry in the table comes after the id can be read.
    TableAfterMark,
    /// Broken: a reader's answer waits for nothing.
    ReadersDoNotWait,
}

/// One position for each log.
type Positions = [usize; LOGS];

fn raise(positions: &mut Positions, by: &Positions) {
    positions.iter_mut().zip(by).for_each(|(position, by)| *position = (*position).max(*by));
}

fn is_covered(positions: &Positions, by: &Positions) -> bool {
    positions.iter().zip(by).all(|(position, by)| position <= by)
}

/// A transaction as others name it: its log, and where its record ends there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct RecordId {
    log: usize,
    end: usize,
}

#[derive(Clone)]
struct Record {
    ids: Vec<RecordId>,
    /// Only those that the anchor does not cover.
    positions: Positions,
}

#[derive(Clone)]
enum Entry {
    Record(Record),
    Anchor(Positions),
}

#[derive(Clone, Default)]
struct Log {
    entries: Vec<Entry>,
    durable: usize,
    /// The last anchor that was published.
    anchor: Positions,
}

/// What the test knows of a transaction.
struct Known {
    follows: BTreeSet<usize>,
    /// Nothing, if it only reads or has no place yet.
    id: Option<RecordId>,
    is_reader: bool,
    awaited: Option<Positions>,
    is_acknowledged: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Chosen,
    Locked,
    Frozen,
    HasPlace,
    IsInTable,
}

#[derive(Clone)]
struct Worker {
    stage: Stage,
    rows: Vec<(usize, bool)>,
    seen: BTreeSet<RecordId>,
    /// It also follows all that lies before these.
    positions: Positions,
    transaction: usize,
    record: Record,
    /// The predecessor vector.
    vector: Positions,
}

/// What a row leads to.
#[derive(Clone, Copy)]
enum Mark {
    /// Its last writer.
    Id(RecordId),
    /// Up to these positions lies all that the last transaction had seen that has rolled back here.
    Positions(Positions),
}

#[derive(Clone, Default)]
struct Row {
    locked_by: Option<usize>,
    mark: Option<Mark>,
    /// The transactions that the mark stands for.
    left_by: BTreeSet<usize>,
}

/// A round in which settled positions are found: how many looks at a log there have been, and what they
/// found.
#[derive(Default)]
struct Round {
    looks: usize,
    candidates: Positions,
    needed: Positions,
}

struct Run {
    rule: Rule,
    random: Random,
    logs: [Log; LOGS],
    rows: [Row; ROWS],
    workers: [Worker; WORKERS],
    table: BTreeMap<RecordId, Positions>,
    settled: Positions,
    round: Round,
    all: Vec<Known>,
}

impl Run {
    fn new(rule: Rule, seed: u64) -> Run {
        let record = Record { ids: Vec::new(), positions: [0; LOGS] };
        let (rows, seen, positions, vector) = (Vec::new(), BTreeSet::new(), [0; LOGS], [0; LOGS]);
        let idle = Worker { stage: Stage::Idle, rows, seen, positions, transaction: 0, record, vector };
        Run {
            rule,
            random: Random::new(seed),
            logs: Default::default(),
            rows: Default::default(),
            workers: std::array::from_fn(|_| idle.clone()),
            table: BTreeMap::new(),
            settled: [0; LOGS],
            round: Round { looks: 2 * LOGS, ..Round::default() },
            all: Vec::new(),
        }
    }

    fn durable(&self) -> Positions {
        std::array::from_fn(|log| self.logs[log].durable)
    }

    fn floor(&self) -> Positions {
        std::array::from_fn(|of| self.logs.iter().map(|log| log.anchor[of]).min().unwrap_or(0))
    }

    fn log_of(worker: usize) -> usize {
        worker % LOGS
    }

    fn choose(&mut self, worker: usize) {
        let count = self.random.between(1, 3);
        let rows = self.random.some_below(ROWS, count);
        self.workers[worker].rows = rows.into_iter().map(|row| (row, self.random.percent(50))).collect();
        self.workers[worker].stage = Stage::Chosen;
    }

    /// Locks all rows, if they are free, and collects the ids there. A transaction that only reads ends here.
    fn lock(&mut self, worker: usize) {
        let rows = self.workers[worker].rows.clone();
        if rows.iter().any(|(row, _)| self.rows[*row].locked_by.is_some()) {
            return;
        }
        let follows = rows.iter().flat_map(|(row, _)| self.rows[*row].left_by.iter().copied()).collect();
        let is_reader = rows.iter().all(|(_, is_written)| !is_written);
        self.workers[worker].transaction = self.all.len();
        self.all.push(Known { follows, id: None, is_reader, awaited: None, is_acknowledged: false });
        self.follow(worker);
        if is_reader {
            self.await_seen(worker);
            return;
        }
        self.workers[worker].stage = Stage::Locked;
        rows.iter().for_each(|(row, _)| self.rows[*row].locked_by = Some(worker));
    }

    /// Collects what the marks of the rows say. What is at most the floor is forgotten.
    fn follow(&mut self, worker: usize) {
        let forgotten = self.floor();
        let one = &mut self.workers[worker];
        (one.seen, one.positions) = (BTreeSet::new(), [0; LOGS]);
        for mark in one.rows.iter().filter_map(|(row, _)| self.rows[*row].mark) {
            match mark {
                Mark::Id(id) if id.end > forgotten[id.log] => drop(one.seen.insert(id)),
                Mark::Id(_) => {}
                Mark::Positions(positions) => raise(&mut one.positions, &positions),
            }
        }
    }

    /// The answer of a transaction without a record waits for what it has seen.
    fn await_seen(&mut self, worker: usize) {
        let one = &self.workers[worker];
        let vector = self.vector(&one.seen, &one.positions);
        let waits = self.rule != Rule::ReadersDoNotWait;
        self.all[one.transaction].awaited = Some(if waits { vector } else { [0; LOGS] });
        self.workers[worker].stage = Stage::Idle;
    }

    /// The rows are as before. A transaction that sees them follows what this one had seen: its mark is in
    /// the place of the last writer's.
    fn roll_back(&mut self, worker: usize) {
        let one = &mut self.workers[worker];
        let (rows, transaction) = (std::mem::take(&mut one.rows), one.transaction);
        let vector = self.vector(&self.workers[worker].seen, &self.workers[worker].positions);
        for (row, is_written) in rows {
            self.rows[row].locked_by = None;
            if is_written {
                self.rows[row].mark = Some(Mark::Positions(vector));
                self.rows[row].left_by = self.all[transaction].follows.clone();
            }
        }
        // It answers like a reader.
        self.all[transaction].is_reader = true;
        self.await_seen(worker);
    }

    /// Up to where each log must be durable for these, these positions, and all that they follow.
    fn vector(&self, seen: &BTreeSet<RecordId>, positions: &Positions) -> Positions {
        let mut vector = *positions;
        for id in seen {
            vector[id.log] = vector[id.log].max(id.end);
            if let Some(of_id) = self.table.get(id).filter(|_| self.rule != Rule::AnswerOfOwnRecord) {
                raise(&mut vector, of_id);
            }
        }
        vector
    }

    /// Decides what the record says. The anchor is looked at before the place is reserved.
    fn freeze(&mut self, worker: usize) {
        let anchor = self.logs[Run::log_of(worker)].anchor;
        let mut ids = std::mem::take(&mut self.workers[worker].seen);
        ids.retain(|id| id.end > anchor[id.log]);
        let mut positions = self.workers[worker].positions;
        let vector = self.vector(&ids, &positions);
        if ids.len() > MOST_NAMED {
            match self.rule {
                Rule::LargestOfEachLog => {
                    ids.iter().for_each(|id| positions[id.log] = positions[id.log].max(id.end));
                }
                _ => raise(&mut positions, &vector),
            }
            ids.clear();
        }
        raise(&mut positions, &self.floor());
        let above = |log: usize| if positions[log] > anchor[log] { positions[log] } else { 0 };
        let one = &mut self.workers[worker];
        one.record = Record { ids: ids.into_iter().collect(), positions: std::array::from_fn(above) };
        (one.vector, one.stage) = (vector, Stage::Frozen);
    }

    fn reserve(&mut self, worker: usize) {
        let (log, one) = (Run::log_of(worker), &mut self.workers[worker]);
        self.logs[log].entries.push(Entry::Record(one.record.clone()));
        let end = self.logs[log].entries.len();
        one.vector[log] = one.vector[log].max(end);
        one.stage = Stage::HasPlace;
        self.all[one.transaction].id = Some(RecordId { log, end });
    }

    fn enter_table(&mut self, worker: usize, next: Stage) {
        let one = &mut self.workers[worker];
        one.stage = next;
        if let Some(id) = self.all[one.transaction].id {
            self.table.insert(id, one.vector);
        }
    }

    /// Leaves the id at the rows, and gives them back. The answer waits for the predecessor vector.
    fn publish(&mut self, worker: usize, next: Stage) {
        let one = &mut self.workers[worker];
        one.stage = next;
        let Some(id) = self.all[one.transaction].id else { return };
        for (row, is_written) in std::mem::take(&mut one.rows) {
            self.rows[row].locked_by = None;
            if is_written {
                self.rows[row].mark = Some(Mark::Id(id));
                self.rows[row].left_by = BTreeSet::from([one.transaction]);
            }
        }
        self.all[one.transaction].awaited = Some(one.vector);
    }

    fn step_of_worker(&mut self, worker: usize) {
        let is_late = self.rule == Rule::TableAfterMark;
        match self.workers[worker].stage {
            Stage::Idle => self.choose(worker),
            Stage::Chosen => self.lock(worker),
            Stage::Locked if self.random.percent(15) => self.roll_back(worker),
            Stage::Locked => self.freeze(worker),
            Stage::Frozen => self.reserve(worker),
            Stage::HasPlace if is_late => self.publish(worker, Stage::IsInTable),
            Stage::HasPlace => self.enter_table(worker, Stage::IsInTable),
            Stage::IsInTable if is_late => self.enter_table(worker, Stage::Idle),
            Stage::IsInTable => self.publish(worker, Stage::Idle),
        }
    }

    /// A block of a log becomes durable, and answers leave.
    fn sync(&mut self, log: usize) {
        // The first log is often a slow one.
        if log > 0 || self.random.percent(20) {
            let Log { entries, durable, .. } = &mut self.logs[log];
            *durable = self.random.between(*durable, entries.len());
        }
        let durable = self.durable();
        for known in &mut self.all {
            known.is_acknowledged |= known.awaited.is_some_and(|awaited| is_covered(&awaited, &durable));
        }
        // Now and then the table is looked through for what counts by now.
        if self.random.percent(20) {
            self.table.retain(|_, vector| !is_covered(vector, &durable));
        }
    }

    /// Looks at the reserved end of one log, or ends the round.
    fn settle(&mut self) {
        let Round { looks, candidates, needed } = &mut self.round;
        if *looks < 2 * LOGS {
            let (log, is_first) = (*looks % LOGS, *looks < LOGS);
            let reserved = self.logs[log].entries.len();
            if is_first {
                candidates[log] = reserved;
            }
            if !is_first || self.rule == Rule::OneLook {
                needed[log] = reserved;
            }
            *looks += 1;
            if self.rule == Rule::OneLook && *looks == LOGS {
                *looks = 2 * LOGS;
            }
        } else if is_covered(needed, &std::array::from_fn(|log| self.logs[log].durable)) {
            raise(&mut self.settled, candidates);
            *looks = 0;
            let settled = self.settled;
            self.table.retain(|id, _| id.end > settled[id.log]);
        }
    }

    fn append_anchor(&mut self, log: usize) {
        let named = if self.rule == Rule::DurableIsSettled { self.durable() } else { self.settled };
        self.logs[log].entries.push(Entry::Anchor(named));
        self.logs[log].anchor = named;
    }

    /// A thread runs for a while, and all others stand still.
    fn step(&mut self) {
        let thread = self.random.below(WORKERS + 2);
        for _ in 0..self.random.between(1, 6) {
            let log = self.random.below(LOGS);
            match thread {
                worker if worker < WORKERS => self.step_of_worker(worker),
                _ => match self.random.below(6) {
                    0 => self.append_anchor(log),
                    1 | 2 => self.sync(log),
                    _ => self.settle(),
                },
            }
        }
    }

    /// Each log keeps what is durable, and perhaps some of what comes after.
    fn crash(&mut self) {
        for log in 0..LOGS {
            if self.random.percent(50) {
                self.sync(log);
            }
        }
        for Log { entries, durable, .. } in &mut self.logs {
            entries.truncate(*durable);
        }
    }

    /// What recovery lets count: those of which a record is there, and which are not dead.
    fn counting(&self) -> BTreeSet<RecordId> {
        let ends = self.durable();
        let (mut settled, mut present) = ([0; LOGS], Vec::new());
        for (log, entry, end) in self.entries() {
            match entry {
                Entry::Anchor(named) => raise(&mut settled, named),
                Entry::Record(record) => present.push((RecordId { log, end }, record)),
            }
        }
        let is_settled = |id: &RecordId| id.end <= settled[id.log];
        let (certain, mut unknown): (Vec<_>, Vec<_>) =
            present.into_iter().partition(|(id, _)| is_settled(id));
        let mut dead: BTreeSet<RecordId> = BTreeSet::new();
        loop {
            let before = dead.len();
            let passed_on = if self.rule == Rule::DeadNotPassedOn { BTreeSet::new() } else { dead.clone() };
            let is_missing = |id: &RecordId| id.end > ends[id.log] || passed_on.contains(id);
            unknown.retain(|(id, record)| {
                let is_alive = is_covered(&record.positions, &ends) && !record.ids.iter().any(is_missing);
                if !is_alive {
                    dead.insert(*id);
                }
                is_alive
            });
            if dead.len() == before {
                return certain.into_iter().chain(unknown).map(|(id, _)| id).collect();
            }
        }
    }

    /// All entries, each with its log and its end.
    fn entries(&self) -> impl Iterator<Item = (usize, &Entry, usize)> {
        let logs = self.logs.iter().enumerate();
        logs.flat_map(|(log, Log { entries, .. })| {
            entries.iter().zip(1..).map(move |(entry, end)| (log, entry, end))
        })
    }

    /// By their numbers: those that are there with all that they follow, and all that those follow.
    fn must_count(&self) -> BTreeSet<usize> {
        let mut must_count = BTreeSet::new();
        for (number, known) in self.all.iter().enumerate() {
            if self.is_there(known) && known.follows.is_subset(&must_count) {
                must_count.insert(number);
            }
        }
        must_count
    }

    fn is_there(&self, known: &Known) -> bool {
        known.id.is_some_and(|id| id.end <= self.logs[id.log].durable)
    }

    fn judge(&self, found: &mut Found) {
        let (must_count, counting) = (self.must_count(), self.counting());
        let counts = |number: &usize| self.all[*number].id.is_some_and(|id| counting.contains(&id));
        let do_count: BTreeSet<usize> = (0..self.all.len()).filter(counts).collect();
        found.runs += 1;
        found.counting += do_count.len();
        found.dead += self.all.iter().filter(|known| self.is_there(known)).count() - do_count.len();
        found.anchored += self.settled.iter().sum::<usize>();
        found.not_closed += usize::from(!do_count.is_subset(&must_count));
        found.dropped += usize::from(!must_count.is_subset(&do_count));
        let mut acknowledged = self.all.iter().enumerate().filter(|(_, known)| known.is_acknowledged);
        found.acknowledged += acknowledged.clone().count();
        found.answers_lost += usize::from(acknowledged.any(|(number, known)| match known.is_reader {
            true => !known.follows.is_subset(&must_count),
            false => !must_count.contains(&number) || !do_count.contains(&number),
        }));
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Found {
    runs: usize,
    counting: usize,
    dead: usize,
    acknowledged: usize,
    /// The sum of settled positions.
    anchored: usize,
    not_closed: usize,
    dropped: usize,
    answers_lost: usize,
}

fn runs(rule: Rule) -> Found {
    let mut found = Found::default();
    for seed in 0..8000 {
        let mut run = Run::new(rule, seed);
        let steps = run.random.between(10, 100);
        (0..steps).for_each(|_| run.step());
        run.crash();
        run.judge(&mut found);
    }
    println!("settled, {rule:?}: {found:?}");
    found
}

#[test]
fn exactly_those_count_that_miss_nothing_they_follow() {
    let found = runs(Rule::AsImplemented);
    assert_eq!([found.not_closed, found.dropped, found.answers_lost], [0, 0, 0], "{found:?}");
    assert!(found.counting > 5000 && found.dead > 500, "{found:?}");
    assert!(found.acknowledged > 5000 && found.anchored > 5000, "{found:?}");
}

#[test]
fn an_anchor_of_durable_positions_loses_dependencies() {
    let found = runs(Rule::DurableIsSettled);
    assert!(found.not_closed > 5, "{found:?}");
}

#[test]
fn one_look_at_the_ends_of_the_logs_settles_too_much() {
    let found = runs(Rule::OneLook);
    assert!(found.not_closed > 0, "{found:?}");
}

#[test]
fn an_answer_that_waits_for_the_record_alone_is_lost() {
    let found = runs(Rule::AnswerOfOwnRecord);
    assert!(found.answers_lost > 20, "{found:?}");
}

#[test]
fn the_largest_id_of_each_log_does_not_say_what_counts() {
    let found = runs(Rule::LargestOfEachLog);
    assert!(found.not_closed > 20, "{found:?}");
}

#[test]
fn death_that_is_not_passed_on_leaves_what_depends_on_it() {
    let found = runs(Rule::DeadNotPassedOn);
    assert!(found.not_closed > 20, "{found:?}");
}

#[test]
fn an_id_that_is_read_before_it_is_in_the_table_loses_answers() {
    let found = runs(Rule::TableAfterMark);
    assert!(found.answers_lost > 5, "{found:?}");
}

#[test]
fn a_reader_that_does_not_wait_has_seen_what_is_lost() {
    let found = runs(Rule::ReadersDoNotWait);
    assert!(found.answers_lost > 100 && found.not_closed == 0, "{found:?}");
}
