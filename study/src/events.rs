//! A model of logging by discrete events: transactions of YCSB on any number of workers and processors, in
//! simulated time.
//!
//! ```text
//!   worker:  lead, lock + access, lock + access, commit | places in logs | commit time | release | answers
//!   logger:      linger | take a block, compute | device | durable --> answers that wait
//! ```
//!
//! What is *real*: the keys (the benchmark's generator), the rules of locks, of reservations and their room,
//! of blocks and of acknowledgement, transactions in flight. What is *calibrated*: how long a transaction
//! computes (one worker, logs in memory), what a block and its bytes cost a logger, how long a log record is.
//! What is *modelled*: processors that threads share, devices as queues, and cache lines that many write (the
//! commit clock, the place where a log is reserved, latches, rows), each with one owner and a time to move.
//! What is *not* there: shared bandwidth of memory, larger caches of more processors, sockets that are
//! further apart than others, hyperthreads.
//!
//! A result depends on nothing but its parameters.
//!
//! Files, in reading order:
//! * `processors`: threads, and the order of events; `line`: a cache line; `device`: a queue;
//! * `locks`: rows; `rule`: what an answer waits for; `log`: a buffer and its blocks;
//! * `simulation`: all of it together, with the state of a `worker`, and the steps of `workers` and
//!   `loggers`;
//! * [`model`]: calibrated, compared with what it has not seen, and asked for more workers than there are
//!   processors.

mod device;
mod line;
mod locks;
mod log;
mod loggers;
pub mod model;
mod processors;
mod rule;
mod simulation;
#[cfg(test)]
mod tests;
mod worker;
mod workers;

use hyades_bench::generator::Zipf;
use hyades_bench::workload::ycsb::Ycsb;

pub use self::device::Speed;
pub use self::rule::Rule;
use self::simulation::Simulation;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Setting {
    pub rule: Rule,
    pub workers: usize,
    pub processors: usize,
    /// Of protocols with parallel logs.
    pub logs: usize,
    /// `None`: logs are memory.
    pub device: Option<Speed>,
    pub ring_bytes: u64,
    pub in_flight: usize,
    pub traffic: Ycsb,
    /// Of Silo-R.
    pub epoch_ns: u64,
    /// Of Taurus: workers share logs with shorter blocks.
    pub shared_block_bytes: u64,
    /// Workers begin transactions until then.
    pub length_ns: u64,
    /// Answers count from then on, unless the run drains.
    pub warm_up_ns: u64,
    /// As in a measurement: all answers count, and the clock stops when the last one has left.
    pub drains: bool,
    pub seed: u64,
}

impl Setting {
    fn logs_in_use(&self) -> usize {
        match self.rule {
            Rule::None => 0,
            Rule::Position => 1,
            _ => self.logs,
        }
    }

    /// As in the benchmark: all logs are used.
    fn sessions_of_a_worker(&self) -> usize {
        self.logs_in_use().div_ceil(self.workers).max(1)
    }
}

/// What things cost a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A transaction without a log.
    pub transaction_ns: f64,
    /// What a log adds to one that writes.
    pub logged_ns: f64,
    /// A record, or with parts each of them.
    pub record_bytes: u64,
    /// Of a logger: a block, and each byte of it.
    pub block_ns: f64,
    pub byte_ns: f64,
    /// A line comes from another processor.
    pub line_ns: u64,
    /// A thread that sleeps runs so long after it has been woken, which costs so much.
    pub wake_ns: u64,
    pub unpark_ns: u64,
}

impl Costs {
    /// A transaction is as many equal parts as it has accesses, and one for its begin and its end.
    fn part_ns(&self, traffic: &Ycsb) -> u64 {
        (self.transaction_ns / (traffic.accesses as f64 + 1.0)).round() as u64
    }
}

/// What a run has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulated {
    pub per_second: f64,
    /// On average.
    pub latency_us: f64,
    pub begun_again: u64,
    /// Processor time of the workers for each transaction, and of the loggers.
    pub worker_ns: f64,
    pub logger_ns: f64,
}

/// Runs a setting.
pub fn simulate(setting: &Setting, costs: &Costs) -> Simulated {
    let zipf = Zipf::new(setting.traffic.rows, setting.traffic.theta);
    simulate_with(setting, costs, &zipf)
}

/// The same with the distribution of its keys, which takes a while to make.
fn simulate_with(setting: &Setting, costs: &Costs, zipf: &Zipf) -> Simulated {
    Simulation::new(setting, costs, zipf).run()
}
