//! All that takes part in a run: workers, loggers, the thread that ends epochs, and what they share. Which of
//! them takes the next step is up to [`Processors`]; what a step is, to `workers` and `loggers`.

use hyades_bench::generator::Zipf;

use super::device::Device;
use super::line::Line;
use super::locks::Locks;
use super::log::Log;
use super::processors::{Next, Processors};
use super::rule::{Marks, Rule};
use super::worker::Worker;
use super::{Costs, Setting, Simulated};

/// Of Linux with 250 ticks a second: a thread that computes has its processor for so long at least.
const SLICE_NS: u64 = 4_000_000;
/// By so much a thread oversleeps: the slack of timers, prctl(2).
pub(super) const OVERSLEEP_NS: u64 = 50_000;

/// See the module head.
pub(super) struct Simulation<'s> {
    pub(super) setting: &'s Setting,
    pub(super) costs: &'s Costs,
    pub(super) processors: Processors,
    pub(super) zipf: &'s Zipf,
    pub(super) workers: Vec<Worker>,
    pub(super) logs: Vec<Log>,
    pub(super) locks: Locks,
    pub(super) marks: Marks,
    /// The line of the commit clock.
    pub(super) clock: Line,
    pub(super) epochs: Epochs,
    /// The stamp up to which all logs are durable.
    pub(super) durable_stamp: u64,
    /// Workers that wait for an answer: for each log, and for the stamp.
    pub(super) waiting: Vec<Vec<usize>>,
    pub(super) waiters: usize,
    pub(super) working: usize,
    pub(super) ended: u64,
    pub(super) counted: u64,
    /// Workers that have got a lock, for a moment.
    pub(super) woken: Vec<usize>,
}

/// The epochs of Silo-R (`engine/src/protocol/silor/epochs.rs`).
#[derive(Debug)]
pub(super) struct Epochs {
    pub(super) current: u64,
    pub(super) closed: u64,
    /// The last one in which a record has a place.
    pub(super) used: u64,
    /// Whether the end of the current one is set, because a record is in it.
    is_running: bool,
}

impl<'s> Simulation<'s> {
    pub(super) fn new(setting: &'s Setting, costs: &'s Costs, zipf: &'s Zipf) -> Simulation<'s> {
        let logs = setting.logs_in_use();
        let threads = setting.workers + logs + usize::from(setting.rule == Rule::Epoch);
        let rows = setting.traffic.rows as usize;
        let marks = Marks::new(setting.rule, logs, rows);
        let new_worker = |worker| Worker::new(worker, setting, marks.words());
        Simulation {
            processors: Processors::new(setting.processors.max(1), threads, SLICE_NS),
            zipf,
            workers: (0..setting.workers).map(new_worker).collect(),
            logs: (0..logs).map(|_| Log::new(setting.device.map(Device::new))).collect(),
            locks: Locks::new(rows, setting.workers),
            marks,
            clock: Line::new(),
            epochs: Epochs { current: 1, closed: 0, used: 0, is_running: false },
            durable_stamp: 0,
            waiting: vec![Vec::new(); logs + 1],
            waiters: 0,
            working: setting.workers,
            ended: 0,
            counted: 0,
            woken: Vec::new(),
            setting,
            costs,
        }
    }

    /// Runs to the end.
    pub(super) fn run(mut self) -> Simulated {
        let (workers, logs) = (self.setting.workers, self.logs.len());
        while self.working > 0
            && let Some(thread) = self.processors.next()
        {
            let next = match thread {
                worker if worker < workers => self.step_worker(worker),
                logger if logger < workers + logs => self.step_logger(logger - workers),
                _ => self.step_epochs(),
            };
            self.processors.go_on(thread, next);
        }
        self.result()
    }

    fn result(&self) -> Simulated {
        let setting = self.setting;
        let time = match setting.drains {
            true => self.ended,
            false => setting.length_ns - setting.warm_up_ns,
        };
        let used: u64 = (0..setting.workers).map(|worker| self.processors.used(worker)).sum();
        let loggers = setting.workers..setting.workers + self.logs.len();
        let loggers: u64 = loggers.map(|logger| self.processors.used(logger)).sum();
        let sum = |of: fn(&Worker) -> u64| self.workers.iter().map(of).sum::<u64>();
        let done = sum(|worker| worker.done).max(1) as f64;
        Simulated {
            per_second: self.counted as f64 * 1e9 / time.max(1) as f64,
            latency_us: sum(|worker| worker.latency_ns) as f64 / done / 1e3,
            begun_again: sum(|worker| worker.begun_again),
            worker_ns: used as f64 / done,
            logger_ns: loggers as f64 / done,
        }
    }

    /// How far a log is durable; after the last one, the stamp.
    pub(super) fn durable(&self, log: usize) -> u64 {
        match self.setting.rule.has_stamps() {
            true => self.durable_stamp,
            false => self.logs[log].durable,
        }
    }

    /// The thread that ends epochs. It computes hardly anything.
    fn step_epochs(&mut self) -> Next {
        let Epochs { current, closed, used, is_running } = &mut self.epochs;
        if std::mem::take(is_running) {
            (*closed, *current) = (*current, *current + 1);
            for log in 0..self.logs.len() {
                self.ring(log, true);
            }
            return Next::Block;
        }
        if *used >= *current {
            *is_running = true;
            return Next::BlockUntil(self.processors.now() + self.setting.epoch_ns + OVERSLEEP_NS);
        }
        Next::Block
    }

    /// A record has got its place in the current epoch.
    pub(super) fn note_place_in_epoch(&mut self) {
        if self.epochs.used < self.epochs.current {
            self.epochs.used = self.epochs.current;
            self.processors.wake(self.setting.workers + self.logs.len(), 0);
        }
    }
}
