//! What a worker does in a step: it draws a transaction as the benchmark does (`bench/src/workload/ycsb.rs`),
//! locks and touches its rows, appends its log record, draws its commit time, releases its locks, and takes
//! note of answers that may leave (`bench/src/drive.rs`).
//!
//! A step that costs no time is followed by the next one at once.

use hyades_bench::generator::mix;

use super::locks::{Access, Asked};
use super::log::engine;
use super::processors::Next;
use super::rule::{Need, Rule};
use super::simulation::Simulation;
use super::worker::{At, InFlight};

impl Simulation<'_> {
    pub(super) fn step_worker(&mut self, worker: usize) -> Next {
        loop {
            let next = match self.workers[worker].at {
                At::Begin => self.begin(worker),
                At::Access(number) => self.access(worker, number),
                At::Append => self.append(worker),
                At::Latch(part) => self.latch(worker, part),
                At::Reserve(part) => self.reserve(worker, part),
                At::Place(part) => self.place(worker, part),
                At::Draw => {
                    let now = self.processors.now();
                    let drawn = self.clock.change(worker, now, self.costs.line_ns);
                    self.workers[worker].at = At::Commit;
                    Next::Run(drawn - now)
                }
                At::Commit => self.commit(worker),
                At::Answers => self.answers(worker),
            };
            if next != Next::Run(0) {
                return next;
            }
        }
    }

    fn begin(&mut self, worker: usize) -> Next {
        let now = self.processors.now();
        if now >= self.setting.length_ns {
            if self.setting.drains && !self.workers[worker].in_flight.is_empty() {
                self.workers[worker].at = At::Answers;
                return Next::Run(0);
            }
            self.working -= 1;
            self.ended = self.ended.max(now);
            return Next::End;
        }
        self.draw_transaction(worker);
        let one = &mut self.workers[worker];
        one.vector.fill(0);
        (one.begun, one.at) = (now, At::Access(0));
        Next::Run(self.costs.part_ns(&self.setting.traffic))
    }

    fn draw_transaction(&mut self, worker: usize) {
        let one = &mut self.workers[worker];
        one.keys.clear();
        self.setting.traffic.draw(self.zipf, &mut one.random, &mut one.keys);
        one.accesses.clear();
        let access = |key: &i32| Access { row: key.unsigned_abs() - 1, writes: *key < 0 };
        one.accesses.extend(one.keys.iter().map(access));
    }

    fn access(&mut self, worker: usize, number: usize) -> Next {
        let traffic = &self.setting.traffic;
        let Some(access) = self.workers[worker].accesses.get(number).copied() else {
            return self.end_accesses(worker);
        };
        if self.locks.is_waiting(worker) {
            // It has polled in vain.
            return Next::Block;
        }
        match self.locks.ask(worker, access) {
            Asked::Granted => {
                let lines = self.locks.touch(worker, access);
                let one = &mut self.workers[worker];
                self.marks.follow(access.row, &mut one.vector);
                one.at = At::Access(number + 1);
                Next::Run(self.costs.part_ns(traffic) + lines * self.costs.line_ns)
            }
            Asked::Waits => Next::Spin(engine::SPIN_NS),
            Asked::Deadlock => {
                let one = &mut self.workers[worker];
                one.begun_again += 1;
                one.vector.fill(0);
                one.at = At::Access(0);
                // Transactions that begin again in step would meet for ever, which no real clock lets them.
                let delay = mix(worker as u64 ^ one.begun_again << 16) % (1 + number as u64 * 4);
                self.release_locks(worker);
                Next::Run(self.costs.part_ns(traffic) * (number as u64 + 1 + delay))
            }
        }
    }

    fn end_accesses(&mut self, worker: usize) -> Next {
        let one = &mut self.workers[worker];
        if one.writes() && self.setting.rule != Rule::None {
            one.at = At::Append;
            return Next::Run(self.costs.logged_ns.round() as u64);
        }
        one.at = if one.writes() { At::Draw } else { At::Commit };
        if self.setting.rule != Rule::Position {
            return Next::Run(0);
        }
        // A reader looks at what is reserved.
        let now = self.processors.now();
        let log = &mut self.logs[0];
        one.position = log.reserved;
        Next::Run(log.line.change(worker, now, self.costs.line_ns) - now)
    }

    fn append(&mut self, worker: usize) -> Next {
        self.choose_logs(worker);
        let bytes = self.costs.record_bytes;
        let parts = std::mem::take(&mut self.workers[worker].parts);
        let full =
            parts.iter().copied().find(|log| !self.logs[*log].has_room(self.setting.ring_bytes, bytes));
        self.workers[worker].parts = parts;
        if let Some(log) = full {
            self.logs[log].room_waiters.push(worker);
            self.ring(log, true);
            return Next::Block;
        }
        let has_latches = self.setting.rule == Rule::Sequence;
        self.workers[worker].at = if has_latches { At::Latch(0) } else { At::Reserve(0) };
        Next::Run(0)
    }

    /// The logs for the parts of the record.
    fn choose_logs(&mut self, worker: usize) {
        let logs = self.logs.len();
        let one = &mut self.workers[worker];
        one.parts.clear();
        let own = (worker * one.sessions.len() + one.session) % logs;
        match self.setting.rule {
            Rule::None => {}
            Rule::Position => one.parts.push(0),
            Rule::Epoch | Rule::Vector { shares: false } => one.parts.push(own),
            Rule::Vector { shares: true } => {
                let log = self.choose_shared(worker, own);
                self.workers[worker].parts.push(log);
            }
            Rule::Sequence => {
                let written = one.accesses.iter().filter(|access| access.writes);
                one.parts.extend(written.map(|access| (mix(u64::from(access.row)) % logs as u64) as usize));
                one.parts.sort_unstable();
                one.parts.dedup();
            }
        }
    }

    fn choose_shared(&mut self, worker: usize, own: usize) -> usize {
        let one = &mut self.workers[worker];
        let choice = &mut one.sessions[one.session];
        choice.commits += 1;
        let next = match choice.log {
            None => own,
            Some(log) if choice.commits < engine::COMMITS_BETWEEN_LOOKS => return log,
            Some(log) => {
                let blocks = self.logs[log].blocks - choice.blocks;
                if blocks == 0 {
                    return log;
                }
                match (self.logs[log].reserved - choice.reserved) / blocks {
                    bytes if bytes < self.setting.shared_block_bytes => parent(log),
                    bytes if bytes >= self.setting.shared_block_bytes * engine::LONG => towards(log, own),
                    _ => log,
                }
            }
        };
        let log = &self.logs[next];
        (choice.log, choice.commits) = (Some(next), 0);
        (choice.reserved, choice.blocks) = (log.reserved, log.blocks);
        next
    }

    fn latch(&mut self, worker: usize, part: usize) -> Next {
        let Some(log) = self.workers[worker].parts.get(part).copied() else {
            self.workers[worker].at = At::Reserve(0);
            return Next::Run(0);
        };
        let (now, latch) = (self.processors.now(), &mut self.logs[log].latch);
        match latch.owner {
            Some(owner) if owner != worker => {
                if latch.waiters.contains(&worker) {
                    return Next::Block;
                }
                latch.waiters.push(worker);
                Next::Spin(engine::SPIN_NS)
            }
            _ => {
                latch.owner = Some(worker);
                let taken = latch.line.change(worker, now, self.costs.line_ns);
                self.workers[worker].at = At::Latch(part + 1);
                Next::Run(taken - now)
            }
        }
    }

    fn reserve(&mut self, worker: usize, part: usize) -> Next {
        let Some(log) = self.workers[worker].parts.get(part).copied() else {
            self.workers[worker].at = At::Draw;
            return Next::Run(self.end_places(worker));
        };
        let now = self.processors.now();
        let placed = self.logs[log].line.change(worker, now, self.costs.line_ns);
        self.workers[worker].at = At::Place(part);
        Next::Run(placed - now)
    }

    fn place(&mut self, worker: usize, part: usize) -> Next {
        let one = &mut self.workers[worker];
        let log = one.parts[part];
        let place = &mut self.logs[log];
        place.reserved += self.costs.record_bytes;
        match self.setting.rule {
            Rule::Position => one.position = place.reserved,
            Rule::Vector { .. } => one.vector[log] = place.reserved,
            Rule::None | Rule::Epoch | Rule::Sequence => {}
        }
        one.at = At::Reserve(part + 1);
        Next::Run(0)
    }

    /// All parts of the record have their places. Returns what it costs to wake the loggers.
    fn end_places(&mut self, worker: usize) -> u64 {
        match self.setting.rule {
            Rule::Epoch => {
                self.note_place_in_epoch();
                self.workers[worker].vector[0] = self.epochs.current;
            }
            Rule::Sequence => {
                let parts = std::mem::take(&mut self.workers[worker].parts);
                let last = parts.iter().map(|log| self.logs[*log].sequence).max().unwrap_or(0);
                let sequence = last.max(self.workers[worker].vector[0]) + 1;
                self.workers[worker].vector[0] = sequence;
                for log in &parts {
                    self.logs[*log].sequence = sequence;
                    let latch = &mut self.logs[*log].latch;
                    latch.owner = None;
                    if !latch.waiters.is_empty() {
                        let next = latch.waiters.remove(0);
                        latch.owner = Some(next);
                        self.processors.wake(next, 0);
                    }
                }
                self.workers[worker].parts = parts;
            }
            Rule::None | Rule::Position | Rule::Vector { .. } => {}
        }
        let parts = self.workers[worker].parts.len();
        (0..parts).map(|part| self.ring(self.workers[worker].parts[part], false)).sum()
    }

    fn release_locks(&mut self, worker: usize) {
        self.locks.release(worker, &mut self.woken);
        while let Some(woken) = self.woken.pop() {
            // Its lock is granted: it goes on where it asked, with the row in its hand.
            let At::Access(number) = self.workers[woken].at else { continue };
            let access = self.workers[woken].accesses[number];
            let lines = self.locks.touch(woken, access);
            self.marks.follow(access.row, &mut self.workers[woken].vector);
            self.workers[woken].at = At::Access(number + 1);
            let cost = self.costs.part_ns(&self.setting.traffic) + lines * self.costs.line_ns;
            self.processors.wake(woken, cost);
        }
    }

    /// Leaves marks, releases locks; the answer waits.
    fn commit(&mut self, worker: usize) -> Next {
        let logs = self.logs.len();
        for number in 0..self.workers[worker].accesses.len() {
            let Access { row, writes } = self.workers[worker].accesses[number];
            if writes {
                self.marks.leave(row, &self.workers[worker].vector);
            }
        }
        self.release_locks(worker);
        let one = &self.workers[worker];
        let need = match self.setting.rule {
            Rule::None => Need::Nothing,
            Rule::Position => Need::One(0, one.position),
            Rule::Vector { .. } => Need::of_vector(&one.vector, |log| self.logs[log].durable),
            Rule::Epoch | Rule::Sequence => Need::One(logs as u32, one.vector[0]),
        };
        let one = &mut self.workers[worker];
        one.in_flight.push_back(InFlight { need, begun: one.begun });
        one.at = At::Answers;
        let (number, sessions) = (one.session, one.sessions.len());
        one.session = (number + 1) % sessions;
        let own = (worker * sessions + number) % logs.max(1);
        let session = &mut one.sessions[number];
        // Offers its processor when its log is long.
        match self.logs.get(own) {
            Some(log)
                if log.reserved - log.durable >= engine::BACKLOG_BYTES
                    && log.reserved - session.gave_way_at >= engine::BACKLOG_BYTES =>
            {
                session.gave_way_at = log.reserved;
                Next::OfferAndRun(0)
            }
            _ => Next::Run(0),
        }
    }

    /// What the first answer of a worker waits for.
    pub(super) fn first_open(&self, worker: usize) -> Option<(usize, u64)> {
        self.workers[worker].in_flight.front()?.need.open(|log| self.durable(log))
    }

    fn answers(&mut self, worker: usize) -> Next {
        let now = self.processors.now();
        let is_counted =
            self.setting.drains || (self.setting.warm_up_ns..self.setting.length_ns).contains(&now);
        while !self.workers[worker].in_flight.is_empty() && self.first_open(worker).is_none() {
            let one = &mut self.workers[worker];
            if let Some(first) = one.in_flight.pop_front() {
                one.done += 1;
                one.latency_ns += now - first.begun;
                self.counted += u64::from(is_counted);
            }
        }
        let is_draining = self.setting.drains && now >= self.setting.length_ns;
        let most = if is_draining { 1 } else { self.setting.in_flight };
        match self.first_open(worker) {
            Some((log, _)) if self.workers[worker].in_flight.len() >= most => self.wait(worker, log),
            _ => {
                self.workers[worker].at = At::Begin;
                Next::Run(0)
            }
        }
    }

    /// Waits for the first answer, and has the loggers hurry.
    fn wait(&mut self, worker: usize, log: usize) -> Next {
        self.waiting[log].push(worker);
        self.waiters += 1;
        match self.setting.rule {
            Rule::Epoch => {}
            Rule::Sequence => {
                for log in 0..self.logs.len() {
                    self.ring(log, true);
                }
            }
            _ => {
                self.ring(log, true);
            }
        }
        Next::Block
    }
}

/// The tree of logs in which workers with little to write meet.
fn parent(log: usize) -> usize {
    log & log.saturating_sub(1)
}

/// The next log on the way from this one to the worker's own.
fn towards(log: usize, own: usize) -> usize {
    let mut at = own;
    while at != log && parent(at) != log {
        if at == 0 {
            return own;
        }
        at = parent(at);
    }
    at
}
