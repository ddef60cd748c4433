//! Workers: each calls procedures as fast as it can and keeps a limited number of precommitted transactions
//! waiting for durability.
//!
//! A transaction counts when it is durable, and the clock stops when the last worker has drained. Latency
//! runs from the call to the moment when the worker sees that the answer may be sent, measured for one
//! transaction in eight. A worker checks whenever it finishes a transaction, and in between when its pipeline
//! is full. With a pipeline the latency is mostly that of the queue. A client that waits for each answer
//! (`--in-flight 1`) sees the device's.

use std::collections::VecDeque;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;
use hyades_engine::log::durable::Durability;

use crate::processor_time;
use crate::target::Caller;
use crate::workload::{Calls, Request, Workload};

/// The clock is read once in this many transactions.
const CLOCK_INTERVAL: u64 = 32;
/// The latency of one in this many transactions is measured.
const SAMPLE_INTERVAL: u64 = 8;
/// Latencies of up to a minute, with three digits.
const HIGHEST_US: u64 = 60_000_000;

/// The counts of one worker, or of all workers of a run.
#[derive(Clone, Debug)]
pub struct Counts {
    /// Durable and not refused, read-only ones included.
    pub acknowledged: u64,
    pub read_only: u64,
    /// Rolled back on purpose.
    pub refused: u64,
    /// Begun again after a conflict.
    pub retries: u64,
    /// Acknowledged transactions, by call.
    pub by_call: Vec<u64>,
    pub latency_us: Histogram<u64>,
    /// What the workers' threads have had of processors ([`processor_time`]).
    pub processor_time: Duration,
}

impl Counts {
    fn new(calls: usize) -> Counts {
        let latency_us = Histogram::new_with_bounds(1, HIGHEST_US, 3).unwrap_or_else(|error| {
            unreachable!("the bounds of the histogram are constants: {error}");
        });
        Counts {
            acknowledged: 0,
            read_only: 0,
            refused: 0,
            retries: 0,
            by_call: vec![0; calls],
            latency_us,
            processor_time: Duration::ZERO,
        }
    }

    fn add(&mut self, other: &Counts) {
        self.acknowledged += other.acknowledged;
        self.read_only += other.read_only;
        self.refused += other.refused;
        self.retries += other.retries;
        for (sum, count) in self.by_call.iter_mut().zip(&other.by_call) {
            *sum += count;
        }
        self.processor_time += other.processor_time;
        // The bounds are the same, so this cannot fail.
        let _ = self.latency_us.add(&other.latency_us);
    }
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Driven {
    pub counts: Counts,
    /// From the common start until the last worker had drained.
    pub seconds: f64,
    /// What the threads that write logs have had of processors, of all databases of this process.
    pub loggers_time: Duration,
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub workers: u64,
    pub in_flight: usize,
    pub length: Duration,
    pub seed: u64,
}

/// Called about twice a second with the acknowledged transactions so far and the seconds since the start.
pub type OnProgress<'a> = &'a mut dyn FnMut(u64, f64);

/// Makes a caller inside the thread that will use it.
pub type NewCaller<'a> = Box<dyn Fn() -> Result<Box<dyn Caller>> + Send + Sync + 'a>;

/// Runs all workers to the end. They start at the same time.
///
/// # Errors
/// The first error of a worker, which also ends the others.
pub fn run(
    workload: &dyn Workload,
    new_caller: &NewCaller<'_>,
    plan: Plan,
    on_progress: OnProgress<'_>,
) -> Result<Driven> {
    let barrier = Barrier::new(plan.workers as usize + 1);
    let (done, is_failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = |worker: u64| {
        let stream = workload.stream(worker, plan.workers, plan.seed);
        let caller = new_caller();
        barrier.wait();
        let counts = Counts::new(workload.calls().len());
        let worked = caller.and_then(|caller| {
            Worker { caller, stream, counts, waiting: VecDeque::new(), done: &done, is_failed: &is_failed }
                .work(plan)
        });
        is_failed.fetch_or(worked.is_err(), Ordering::Relaxed);
        worked
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..plan.workers).map(|worker| scope.spawn(move || work(worker))).collect();
        barrier.wait();
        let (start, loggers) = (Instant::now(), processor_time::of_threads(is_logger));
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            on_progress(done.load(Ordering::Relaxed), start.elapsed().as_secs_f64());
        }
        let mut counts = Counts::new(workload.calls().len());
        let mut end = start;
        for thread in threads {
            let (worked, ended) =
                thread.join().map_err(|_| anyhow!("a worker of the benchmark panicked"))??;
            counts.add(&worked);
            end = end.max(ended);
        }
        let loggers_time = processor_time::of_threads(is_logger).saturating_sub(loggers);
        Ok(Driven { counts, seconds: end.duration_since(start).as_secs_f64(), loggers_time })
    })
}

/// By its name: the threads of the engine that write logs have numbers. The one that prepares their files
/// does that for some time after its database has been measured.
fn is_logger(name: &str) -> bool {
    name.strip_prefix("log-").is_some_and(|number| number.parse::<usize>().is_ok())
}

struct InFlight {
    durability: Durability,
    begun: Option<Instant>,
    call: usize,
    is_read_only: bool,
    is_refused: bool,
}

struct Worker<'a> {
    caller: Box<dyn Caller>,
    stream: Box<dyn Calls>,
    counts: Counts,
    waiting: VecDeque<InFlight>,
    done: &'a AtomicU64,
    is_failed: &'a AtomicBool,
}

impl Worker<'_> {
    /// Returns the counts, and when the last transaction was durable.
    fn work(mut self, plan: Plan) -> Result<(Counts, Instant)> {
        let (start, used) = (Instant::now(), processor_time::of_this_thread());
        let mut request = Request::default();
        let mut told = 0;
        for number in 0_u64.. {
            if number.is_multiple_of(CLOCK_INTERVAL) {
                if start.elapsed() >= plan.length || self.is_failed.load(Ordering::Relaxed) {
                    break;
                }
                self.done.fetch_add(self.counts.acknowledged - told, Ordering::Relaxed);
                told = self.counts.acknowledged;
            }
            let begun = number.is_multiple_of(SAMPLE_INTERVAL).then(Instant::now);
            self.stream.next(&mut request);
            let ended = self.caller.call(&request)?;
            self.counts.retries += ended.retries;
            self.waiting.push_back(InFlight {
                durability: ended.durability,
                begun,
                call: request.call,
                is_read_only: request.is_read_only,
                is_refused: ended.is_refused,
            });
            while self.waiting.front().is_some_and(|first| first.durability.is_durable()) {
                self.acknowledge_first()?;
            }
            while self.waiting.len() >= plan.in_flight {
                self.acknowledge_first()?;
            }
        }
        while !self.waiting.is_empty() {
            self.acknowledge_first()?;
        }
        let ended = Instant::now();
        self.counts.processor_time = processor_time::of_this_thread().saturating_sub(used);
        Ok((self.counts, ended))
    }

    fn acknowledge_first(&mut self) -> Result<()> {
        let Some(first) = self.waiting.pop_front() else { return Ok(()) };
        first.durability.wait()?;
        if let Some(begun) = first.begun {
            self.counts.latency_us.saturating_record((begun.elapsed().as_micros() as u64).max(1));
        }
        if first.is_refused {
            self.counts.refused += 1;
            return Ok(());
        }
        self.counts.acknowledged += 1;
        self.counts.read_only += u64::from(first.is_read_only);
        self.counts.by_call[first.call] += 1;
        Ok(())
    }
}
