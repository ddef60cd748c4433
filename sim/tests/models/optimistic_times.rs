//! Optimistic transactions that look again at what they have read, at a commit time from one clock, and the
//! time at which a checkpoint cuts. All interleavings of two or three small transactions.
//!
//! # What is modelled
//! `engine/src/txn/writes/look.rs` and `commit.rs` beside it: the commit of a serializable transaction under
//! `--control occ` or `mvcc` (docs/decisions/2026-11-29-concurrency-controls.md). The paper's way (Taurus,
//! VLDB 2020, section 4.4, algorithm 6) is that of Silo: a look fails if another transaction has locked what
//! was read. And `engine/src/txn/writes/capture.rs`: which log records a checkpoint holds
//! (docs/decisions/2026-11-29-times-in-the-log.md).
//!
//! # State
//! Two rows, each with the times of its versions and the transaction that has it locked. For each
//! transaction: its next step, its time, whether it shows that it is committing, what it has read, and the
//! place of its log record. One clock, one log, one checkpoint.
//!
//! # Rule
//! Write locks are taken when a row is written. Then: announce the commit, reserve the place, *mark* the
//! transaction as committing, *draw* the time t, *show* it, *look*: each row that was read must be, at t, the
//! version that was read. Writers that are committing at earlier times are awaited, all others are passed.
//! Last: publish the versions, and free the locks.
//!
//! # Oracle
//! Each committed transaction has read the last version before its own time; nothing waits for ever (waits
//! for locks in a circle do not count: the lock table finds and refuses them). A checkpoint is *closed*: if
//! a transaction has read what another one has overwritten, the checkpoint does not hold the second without
//! the first. And replay skips exactly the records of the transactions that the checkpoint holds.

use std::collections::HashSet;

use self::Step::{AdoptPhase, Announce, Draw, Look, Mark, Publish, Read, Reserve, Show, Write};

const ROWS: usize = 2;
const MOST: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Read(usize),
    Write(usize),
    AdoptPhase,
    Announce,
    Reserve,
    Mark,
    Draw,
    Show,
    Look,
    Publish,
}

/// When a look fails, and what comes before what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The code's.
    ByTime,
    /// Silo's, and the paper's: whatever another transaction has locked fails the look.
    ByLock,
    /// Broken: a writer with an earlier time is not awaited.
    CommitterPassed,
    /// Broken: a transaction draws a time before it marks itself as committing.
    MarkAfterDraw,
    /// Broken: if the newest version is later than the own time, nothing earlier is looked for.
    NewestOnly,
    /// Broken: the look comes before the time.
    LookBeforeDraw,
    /// Broken: the time comes before the locks.
    DrawBeforeLocks,
    /// Broken, of Silo's: locks are not looked at.
    LocksPassed,
}

/// How a checkpoint cuts, and how replay knows what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    None,
    /// The code's: at a time.
    Time,
    /// Broken: it does not wait for those that have announced their commit.
    StragglersForgotten,
    /// Broken: the reserved end is noted before the time of the cut, and not after it.
    SettledEarly,
    /// Broken: transactions draw their times before their records have places.
    TimeBeforePlace,
    /// Formerly: transactions adopt a phase before they draw a time. Right for looks by locks.
    Phase,
    /// Broken: they adopt it after the look.
    PhaseAfterLook,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Outcome {
    Open,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Transaction {
    at: usize,
    outcome: Outcome,
    /// 0: not drawn.
    time: u8,
    is_marked: bool,
    is_shown: bool,
    has_announced: bool,
    /// Where its record ends in the log. 0: nowhere.
    place: u8,
    phase: u8,
    /// The time of the version of each row that was read.
    read: [Option<u8>; ROWS],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Row {
    /// One bit for each time.
    versions: u8,
    locked_by: Option<usize>,
}

impl Row {
    fn newest(self) -> u8 {
        self.before(u8::MAX)
    }

    fn before(self, time: u8) -> u8 {
        (0..8).filter(|version| *version < time && self.versions >> version & 1 == 1).max().unwrap_or(0)
    }
}

/// How far the checkpoint has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Checkpoint {
    stage: u8,
    /// The reserved end of the log when it began, and after its time was taken.
    raised: u8,
    settled: u8,
    /// One bit for each transaction that had announced its commit.
    awaited: u8,
    time: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct State {
    rows: [Row; ROWS],
    transactions: [Transaction; MOST],
    clock: u8,
    reserved: u8,
    phase: u8,
    checkpoint: Checkpoint,
}

#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Found {
    states: usize,
    ends: usize,
    aborts: usize,
    not_serial: usize,
    stuck: usize,
    open_checkpoints: usize,
    misjudged_records: usize,
}

/// Some transactions, and the rules by which they run.
struct Case {
    steps: Vec<Vec<Step>>,
    rule: Rule,
    cut: Cut,
}

impl Case {
    fn new(programs: &[&[Step]], rule: Rule, cut: Cut) -> Case {
        let steps = programs.iter().map(|program| steps(program, rule, cut)).collect();
        Case { steps, rule, cut }
    }

    fn count(&self) -> usize {
        self.steps.len()
    }

    fn writes(&self, own: usize, row: usize) -> bool {
        self.steps[own].contains(&Write(row))
    }

    fn is_open(&self, state: &State, own: usize) -> bool {
        own < self.count() && state.transactions[own].outcome == Outcome::Open
    }

    fn next_step(&self, state: &State, own: usize) -> Step {
        self.steps[own][state.transactions[own].at]
    }

    /// Whether the look of this transaction succeeds; `None` if it must wait.
    fn look(&self, state: &State, own: usize) -> Option<bool> {
        let Transaction { time, read, .. } = state.transactions[own];
        let mut waits = false;
        for (row, seen) in read.iter().enumerate().filter_map(|(row, seen)| Some((row, (*seen)?))) {
            let Row { locked_by, .. } = state.rows[row];
            let (newest, visible) = (state.rows[row].newest(), state.rows[row].before(time));
            let is_right = match self.rule {
                Rule::ByLock | Rule::LocksPassed | Rule::LookBeforeDraw => newest == seen,
                Rule::NewestOnly => newest == seen || newest > time,
                _ => visible == seen,
            };
            if !is_right {
                return Some(false);
            }
            let Some(other) = locked_by.filter(|other| *other != own) else { continue };
            match self.rule {
                Rule::ByLock => return Some(false),
                Rule::LocksPassed | Rule::CommitterPassed => {}
                _ => waits |= is_earlier_committer(&state.transactions[other], time),
            }
        }
        (!waits).then_some(true)
    }

    /// The state after the next step of a transaction, unless that must wait.
    fn step(&self, state: &State, own: usize) -> Option<State> {
        let mut next = *state;
        let transaction = &mut next.transactions[own];
        transaction.at += 1;
        let mut fails = false;
        match self.next_step(state, own) {
            Read(row) => transaction.read[row] = Some(state.rows[row].newest()),
            Write(row) => {
                if state.rows[row].locked_by.is_some_and(|other| other != own) {
                    return None;
                }
                next.rows[row].locked_by = Some(own);
                // A row that has changed since it was read is not written.
                fails = transaction.read[row].is_some_and(|seen| seen != state.rows[row].newest());
            }
            AdoptPhase => transaction.phase = state.phase,
            Announce => transaction.has_announced = true,
            Reserve => {
                next.reserved += 1;
                transaction.place = next.reserved;
            }
            Mark => transaction.is_marked = true,
            Draw => {
                next.clock += 1;
                transaction.time = next.clock;
            }
            Show => transaction.is_shown = true,
            Look => fails = !self.look(state, own)?,
            Publish => {
                let time = transaction.time;
                transaction.outcome = Outcome::Committed;
                for row in next.rows.iter_mut().filter(|row| row.locked_by == Some(own)) {
                    *row = Row { versions: row.versions | 1 << time, locked_by: None };
                }
            }
        }
        if fails {
            next.transactions[own].outcome = Outcome::Aborted;
            let locked = next.rows.iter_mut().filter(|row| row.locked_by == Some(own));
            locked.for_each(|row| row.locked_by = None);
        }
        Some(next)
    }

    /// The state after the next step of the checkpoint, if there is one that need not wait.
    fn checkpoint_step(&self, state: &State) -> Option<State> {
        let mut next = *state;
        if matches!(self.cut, Cut::Phase | Cut::PhaseAfterLook) {
            next.phase = 1;
            return (state.phase == 0).then_some(next);
        }
        let checkpoint = &mut next.checkpoint;
        match state.checkpoint.stage {
            _ if self.cut == Cut::None => return None,
            0 => {
                checkpoint.raised = state.reserved;
                if self.cut == Cut::SettledEarly {
                    checkpoint.settled = state.reserved;
                }
            }
            1 => {
                let announced =
                    |own: &usize| self.is_open(state, *own) && state.transactions[*own].has_announced;
                if self.cut != Cut::StragglersForgotten {
                    checkpoint.awaited = (0..MOST).filter(announced).map(|own| 1 << own).sum();
                }
            }
            2 => {
                let is_awaited = |own: &usize| state.checkpoint.awaited >> own & 1 == 1;
                if (0..MOST).filter(is_awaited).any(|own| self.is_open(state, own)) {
                    return None;
                }
                checkpoint.time = state.clock;
            }
            3 if self.cut != Cut::SettledEarly => checkpoint.settled = state.reserved,
            3 => {}
            _ => return None,
        }
        checkpoint.stage += 1;
        Some(next)
    }

    fn explore(&self, found: &mut Found) {
        let first = first_state();
        let mut seen = HashSet::from([first]);
        let mut stack = vec![first];
        while let Some(state) = stack.pop() {
            found.states += 1;
            let open: Vec<usize> = (0..MOST).filter(|own| self.is_open(&state, *own)).collect();
            let of_transactions = open.iter().filter_map(|own| self.step(&state, *own));
            let next: Vec<State> = of_transactions.chain(self.checkpoint_step(&state)).collect();
            if next.is_empty() && open.is_empty() {
                self.judge(&state, found);
            } else if next.is_empty() {
                let waits_for_lock = |own: &usize| matches!(self.next_step(&state, *own), Write(_));
                found.stuck += usize::from(!open.iter().any(waits_for_lock));
            }
            stack.extend(next.into_iter().filter(|next| seen.insert(*next)));
        }
    }

    fn judge(&self, state: &State, found: &mut Found) {
        let all = (0..self.count()).map(|own| (own, state.transactions[own]));
        let (committed, aborted): (Vec<_>, Vec<_>) =
            all.partition(|(_, transaction)| transaction.outcome == Outcome::Committed);
        found.ends += 1;
        found.aborts += aborted.len();
        let is_serial = committed.iter().all(|reader| self.has_read_its_past(reader, &committed));
        found.not_serial += usize::from(!is_serial);
        let held = |transaction: &Transaction| match self.cut {
            Cut::Phase | Cut::PhaseAfterLook => transaction.phase == 0,
            _ => transaction.time <= state.checkpoint.time,
        };
        let leaves_out_reader = |(writer, of_writer): &(usize, Transaction)| {
            let has_read = |(reader, of_reader): &(usize, Transaction)| {
                reader != writer
                    && of_reader.time < of_writer.time
                    && (0..ROWS).any(|row| of_reader.read[row].is_some() && self.writes(*writer, row))
            };
            let mut readers = committed.iter().filter(|reader| has_read(reader));
            held(of_writer) && readers.any(|(_, of_reader)| !held(of_reader))
        };
        found.open_checkpoints += usize::from(committed.iter().any(leaves_out_reader));
        let Checkpoint { raised, settled, time, .. } = state.checkpoint;
        let is_skipped =
            |one: &Transaction| one.place <= raised || (one.place <= settled && one.time <= time);
        let is_misjudged = |(_, one): &(usize, Transaction)| one.place > 0 && is_skipped(one) != held(one);
        found.misjudged_records += usize::from(committed.iter().any(is_misjudged));
    }

    /// Whether a committed transaction has read the last versions before its own time.
    fn has_read_its_past(
        &self,
        (reader, of_reader): &(usize, Transaction),
        committed: &[(usize, Transaction)],
    ) -> bool {
        (0..ROWS).all(|row| {
            let writers =
                committed.iter().filter(|(writer, _)| writer != reader && self.writes(*writer, row));
            let last = writers.map(|(_, one)| one.time).filter(|time| *time < of_reader.time).max();
            of_reader.read[row].is_none_or(|seen| seen == last.unwrap_or(0))
        })
    }
}

/// Whether a transaction that has locked a row is to be awaited by a look at this time.
fn is_earlier_committer(other: &Transaction, time: u8) -> bool {
    // One that is about to show its time has perhaps drawn an earlier one.
    if other.is_shown { other.time < time } else { other.is_marked }
}

/// What a transaction with this program does, to its end.
fn steps(program: &[Step], rule: Rule, cut: Cut) -> Vec<Step> {
    let mut steps = program.to_vec();
    let draw: &[Step] = match rule {
        Rule::MarkAfterDraw => &[Draw, Mark, Show],
        // Nothing looks at the times of others.
        Rule::ByLock | Rule::LocksPassed => &[Draw],
        _ => &[Mark, Draw, Show],
    };
    match (rule, cut) {
        (Rule::LookBeforeDraw, _) => steps.extend([&[Look], draw].concat()),
        (Rule::DrawBeforeLocks, _) => {
            steps.splice(0..0, draw.iter().copied());
            steps.push(Look);
        }
        (_, Cut::None) => steps.extend([draw, &[Look]].concat()),
        (_, Cut::Phase) => steps.extend([&[AdoptPhase], draw, &[Look]].concat()),
        (_, Cut::PhaseAfterLook) => steps.extend([draw, &[Look, AdoptPhase]].concat()),
        (_, Cut::TimeBeforePlace) => steps.extend([&[Announce], draw, &[Reserve, Look]].concat()),
        (_, _) => steps.extend([&[Announce, Reserve], draw, &[Look]].concat()),
    }
    steps.push(Publish);
    steps
}

fn first_state() -> State {
    let transaction = Transaction {
        at: 0,
        outcome: Outcome::Open,
        time: 0,
        is_marked: false,
        is_shown: false,
        has_announced: false,
        place: 0,
        phase: 0,
        read: [None; ROWS],
    };
    State {
        rows: [Row { versions: 1, locked_by: None }; ROWS],
        transactions: [transaction; MOST],
        clock: 0,
        reserved: 0,
        phase: 0,
        checkpoint: Checkpoint::default(),
    }
}

const PROGRAMS: [&[Step]; 6] = [
    &[Read(0), Write(1)],
    &[Read(1), Write(0)],
    &[Read(0), Write(0)],
    &[Read(0), Read(1), Write(1)],
    &[Write(0), Write(1)],
    &[Read(0), Read(1)],
];

fn pairs(rule: Rule, cut: Cut) -> Found {
    let mut found = Found::default();
    for (number, first) in PROGRAMS.iter().enumerate() {
        for second in &PROGRAMS[number..] {
            Case::new(&[first, second], rule, cut).explore(&mut found);
        }
    }
    println!("two, {rule:?}, {cut:?}: {found:?}");
    found
}

fn triples(rule: Rule) -> Found {
    let mut found = Found::default();
    for (number, first) in PROGRAMS.iter().enumerate() {
        for (number, second) in PROGRAMS.iter().enumerate().skip(number) {
            for third in &PROGRAMS[number..] {
                Case::new(&[first, second, third], rule, Cut::None).explore(&mut found);
            }
        }
    }
    println!("three, {rule:?}: {found:?}");
    found
}

fn is_right(found: Found) -> bool {
    found.ends > 0 && Found { states: 0, ends: 0, aborts: 0, ..found } == Found::default()
}

#[test]
fn a_look_by_times_is_serializable() {
    for found in [pairs(Rule::ByTime, Cut::None), triples(Rule::ByTime)] {
        assert!(is_right(found) && found.aborts > 0, "{found:?}");
    }
}

#[test]
fn a_look_by_locks_is_serializable_and_fails_more_often() {
    for found in [pairs(Rule::ByLock, Cut::None), triples(Rule::ByLock)] {
        assert!(is_right(found), "{found:?}");
    }
    let (by_time, by_lock) = (triples(Rule::ByTime), triples(Rule::ByLock));
    assert!(by_time.aborts * by_lock.ends < by_lock.aborts * by_time.ends, "{by_time:?} {by_lock:?}");
}

#[test]
fn an_earlier_writer_that_is_not_awaited_is_missed() {
    assert!(pairs(Rule::CommitterPassed, Cut::None).not_serial > 0);
}

#[test]
fn a_writer_that_draws_before_it_is_marked_is_missed() {
    assert!(pairs(Rule::MarkAfterDraw, Cut::None).not_serial > 0);
}

#[test]
fn a_newest_version_that_is_later_hides_an_earlier_one() {
    assert!(triples(Rule::NewestOnly).not_serial > 0);
}

#[test]
fn a_look_before_the_time_is_drawn_misses_writers() {
    assert!(pairs(Rule::LookBeforeDraw, Cut::None).not_serial > 0);
}

#[test]
fn a_time_drawn_before_the_locks_is_no_serial_order() {
    assert!(pairs(Rule::DrawBeforeLocks, Cut::None).not_serial > 0);
}

#[test]
fn without_times_locks_must_be_looked_at() {
    assert!(pairs(Rule::LocksPassed, Cut::None).not_serial > 0);
}

#[test]
fn a_checkpoint_at_a_time_is_closed_and_replay_knows_what_it_holds() {
    for rule in [Rule::ByTime, Rule::ByLock] {
        let found = pairs(rule, Cut::Time);
        assert!(is_right(found), "{found:?}");
    }
}

#[test]
fn a_checkpoint_that_forgets_stragglers_loses_their_records() {
    assert!(pairs(Rule::ByTime, Cut::StragglersForgotten).misjudged_records > 0);
}

#[test]
fn a_checkpoint_that_is_settled_early_has_records_replayed_that_it_holds() {
    assert!(pairs(Rule::ByTime, Cut::SettledEarly).misjudged_records > 0);
}

#[test]
fn a_time_drawn_before_the_place_has_a_record_replayed_that_the_checkpoint_holds() {
    assert!(pairs(Rule::ByTime, Cut::TimeBeforePlace).misjudged_records > 0);
}

#[test]
fn phases_are_closed_under_looks_by_locks_only() {
    assert!(is_right(pairs(Rule::ByLock, Cut::Phase)));
    assert!(pairs(Rule::ByTime, Cut::Phase).open_checkpoints > 0);
}

#[test]
fn a_phase_adopted_after_the_look_is_not_closed() {
    assert!(pairs(Rule::ByLock, Cut::PhaseAfterLook).open_checkpoints > 0);
}
