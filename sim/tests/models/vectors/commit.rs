//! A transaction before the crash: what it follows, the steps of its commit, and what its answer waits for.

use super::{Done, Entry, Known, LOGS, Names, Positions, RECORD_LENGTH, ROWS, Rule, Run, TABLE, Vector};
use super::{advanced, raise};

/// The steps of a commit. Some are taken for one log after another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    ForgetInEachLog,
    /// Only by what takes a table.
    FollowEachLog,
    AskLagging,
    CompareWithEachLog,
    WriteEachLog,
    Reserve,
    Fill,
    LeaveMark,
    Release,
}

impl Step {
    const COUNT: usize = 9;

    fn of_commit(rule: Rule) -> [Step; Step::COUNT] {
        let mut steps = [
            Step::ForgetInEachLog,
            Step::FollowEachLog,
            Step::AskLagging,
            Step::CompareWithEachLog,
            Step::WriteEachLog,
            Step::Reserve,
            Step::Fill,
            Step::LeaveMark,
            Step::Release,
        ];
        match rule {
            Rule::ReserveBeforeFreeze => steps[..=5].rotate_right(1),
            Rule::ReleaseBeforeRaise => steps.swap(7, 8),
            Rule::LaggingAskedFirst => steps[..=2].rotate_right(1),
            Rule::AnchorBeforeLagging => steps.swap(2, 3),
            _ => {}
        }
        steps
    }

    fn times(self) -> usize {
        match self {
            Step::ForgetInEachLog | Step::FollowEachLog => LOGS,
            Step::CompareWithEachLog | Step::WriteEachLog => LOGS,
            Step::AskLagging | Step::Reserve | Step::Fill | Step::LeaveMark | Step::Release => 1,
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    /// So many rows are locked.
    Locking(usize),
    Committing(Done),
}

#[derive(Default)]
pub(super) struct Worker {
    stage: Stage,
    log: usize,
    rows: Vec<(usize, bool)>,
    takes_table: bool,
    transaction: usize,
    vector: Vector,
    lagging: Names,
    /// Where its vector, or the floor, is beyond the anchor.
    exceeds: Names,
    /// What the record names.
    field: Vector,
    /// The number of its place.
    place: usize,
}

impl Run {
    /// The quiet log less often.
    fn choose_log(&mut self) -> usize {
        let log = self.random.below(LOGS);
        if log == self.quiet && self.random.percent(50) { (log + 1) % LOGS } else { log }
    }

    fn choose(&mut self, worker: usize) {
        let takes_table = self.random.percent(5);
        let rows = if takes_table {
            (0..TABLE).map(|row| (row, true)).collect()
        } else {
            let count = self.random.between(1, 2);
            let mut rows = self.random.some_below(ROWS, count);
            rows.sort_unstable();
            rows.into_iter().map(|row| (row, self.random.percent(60))).collect()
        };
        let log = self.choose_log();
        let one = &mut self.workers[worker];
        (one.rows, one.takes_table, one.log) = (rows, takes_table, log);
        (one.vector, one.field) = (Vector::default(), Vector::default());
        one.stage = Stage::Locking(0);
    }

    /// Locks the next row, if it is free, and follows its mark. A transaction that only reads ends after
    /// the last.
    fn lock(&mut self, worker: usize, locked: usize) {
        let one = &mut self.workers[worker];
        let (row, _) = one.rows[locked];
        if self.rows[row].locked_by.is_some() {
            return;
        }
        self.rows[row].locked_by = Some(worker);
        if !one.takes_table {
            one.vector.follow(&self.rows[row].mark);
        }
        one.stage = Stage::Locking(locked + 1);
        if locked + 1 < one.rows.len() {
            return;
        }
        one.stage = Stage::Committing((0, 0));
        let is_reader = one.rows.iter().all(|(_, is_written)| !is_written);
        self.begin(worker, is_reader);
        if is_reader {
            self.await_seen(worker);
            self.release(worker);
        }
    }

    /// What the test knows of a transaction that has locked its rows.
    fn begin(&mut self, worker: usize, is_reader: bool) {
        let one = &mut self.workers[worker];
        let (mut follows, mut vector): (Vec<usize>, Positions) = Default::default();
        let mut knows_tables = one.takes_table;
        for before in one.rows.iter().filter_map(|(row, _)| self.rows[*row].left_by) {
            let known = &self.all[before];
            raise(&mut vector, &known.vector);
            knows_tables |= known.knows_tables;
            match known.is_reader {
                true => follows.extend(&known.follows),
                false => follows.push(before),
            }
        }
        one.transaction = self.all.len();
        let (record, awaited, is_acknowledged) = (None, None, false);
        self.all.push(Known { follows, vector, knows_tables, record, is_reader, awaited, is_acknowledged });
    }

    /// The answer of a transaction without a record waits for what it has seen.
    fn await_seen(&mut self, worker: usize) {
        let one = &self.workers[worker];
        let waits = self.rule != Rule::ReadOnlyNoWait;
        self.all[one.transaction].awaited = Some(if waits { one.vector.entries } else { [0; LOGS] });
    }

    /// Gives the rows back.
    fn release(&mut self, worker: usize) {
        let one = &mut self.workers[worker];
        for (row, is_written) in &one.rows {
            let row = &mut self.rows[*row];
            row.locked_by = None;
            if *is_written {
                row.left_by = Some(one.transaction);
            }
        }
        one.stage = Stage::Idle;
    }

    fn leave_mark(&mut self, worker: usize) {
        let one = &self.workers[worker];
        let written = one.rows.iter().filter(|(_, is_written)| *is_written);
        written.for_each(|(row, _)| self.rows[*row].mark = one.vector);
    }

    /// The rows are as before. A transaction that sees them follows what this one had seen: its mark is in
    /// the place of the last writer's. It answers like a reader.
    fn roll_back(&mut self, worker: usize) {
        self.leave_mark(worker);
        self.all[self.workers[worker].transaction].is_reader = true;
        self.await_seen(worker);
        self.release(worker);
    }

    fn commit(&mut self, worker: usize, done: Done) {
        let step = Step::of_commit(self.rule)[done.0];
        let next = advanced(done, step.times());
        self.workers[worker].stage = Stage::Committing(next);
        match step {
            Step::ForgetInEachLog => self.forget(worker, done.1),
            Step::FollowEachLog => self.follow_all(worker, done.1),
            Step::AskLagging => {
                let one = &mut self.workers[worker];
                let is_asked = !matches!(self.rule, Rule::LaggingIgnored | Rule::ZeroTupleLv);
                one.lagging = if is_asked { self.logs[one.log].lagging } else { [false; LOGS] };
            }
            Step::CompareWithEachLog => {
                let (log, entry) = (done.1, self.entry(worker, done.1));
                let one = &mut self.workers[worker];
                one.exceeds[log] = entry > self.logs[one.log].anchor[log];
            }
            Step::WriteEachLog => {
                let (log, entry) = (done.1, self.entry(worker, done.1));
                let one = &mut self.workers[worker];
                if one.exceeds[log] && (one.vector.names[log] || one.lagging[log]) {
                    one.field.name(log, entry);
                    self.named_floor += usize::from(!one.vector.names[log]);
                }
            }
            Step::Reserve => self.reserve(worker),
            Step::Fill => self.fill(worker),
            Step::LeaveMark => self.leave_mark(worker),
            Step::Release => self.release(worker),
        }
        let is_over = next.0 == Step::COUNT;
        self.workers[worker].stage = if is_over { Stage::Idle } else { Stage::Committing(next) };
        if is_over {
            self.await_record(worker);
        }
    }

    /// Follows all that has a place in a log, if it takes a table.
    fn follow_all(&mut self, worker: usize, log: usize) {
        let one = &mut self.workers[worker];
        if one.takes_table && self.rule != Rule::NoBarrier {
            let reserved = self.logs[log].reserved();
            one.vector.name(log, reserved);
            let known = &mut self.all[one.transaction].vector[log];
            *known = reserved.max(*known);
        }
    }

    /// Makes one entry of the vector final.
    fn forget(&mut self, worker: usize, log: usize) {
        let one = &mut self.workers[worker];
        if one.vector.entries[log] <= self.floor[log] && self.rule != Rule::ZeroTupleLv {
            one.vector.forget(log);
        }
        if self.rule == Rule::OwnEndInStoredLv && log == one.log {
            one.vector.name(log, self.logs[log].reserved() + 1);
        }
    }

    /// That of the transaction, where it is named, else that of the floor.
    fn entry(&self, worker: usize, log: usize) -> usize {
        let Vector { names, entries } = self.workers[worker].vector;
        if names[log] { entries[log] } else { self.floor[log] }
    }

    fn reserve(&mut self, worker: usize) {
        let one = &mut self.workers[worker];
        let log = &mut self.logs[one.log];
        one.place = log.places.len();
        let end = log.append(RECORD_LENGTH, Entry::Reserved);
        let known = &mut self.all[one.transaction];
        known.record = Some((one.log, end));
        known.vector[one.log] = end.max(known.vector[one.log]);
    }

    /// From here on the vector has the own end.
    fn fill(&mut self, worker: usize) {
        let one = &mut self.workers[worker];
        let place = &mut self.logs[one.log].places[one.place];
        place.entry = Entry::Record(one.transaction, one.field);
        one.vector.name(one.log, place.end);
    }

    /// The answer waits for what the record names of the vector, and for its end.
    fn await_record(&mut self, worker: usize) {
        let one = &self.workers[worker];
        let waits = |log: usize| match self.rule {
            Rule::OwnLogAwaited => log == one.log,
            _ => log == one.log || one.field.names[log] && one.vector.names[log],
        };
        let awaited = std::array::from_fn(|log| if waits(log) { one.vector.entries[log] } else { 0 });
        self.all[one.transaction].awaited = Some(awaited);
    }

    pub(super) fn step_of_worker(&mut self, worker: usize) {
        match self.workers[worker].stage {
            Stage::Idle => self.choose(worker),
            Stage::Locking(locked) => self.lock(worker, locked),
            Stage::Committing(done) => {
                let rolls_back = done == (0, 0) && !self.workers[worker].takes_table;
                match rolls_back && self.random.percent(10) {
                    true => self.roll_back(worker),
                    false => self.commit(worker, done),
                }
            }
        }
    }
}
