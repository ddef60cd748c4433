//! Runs one procedure from several threads and counts durable acknowledgements.
//!
//! A worker does not wait for its transactions to become durable: it keeps them in a queue, runs on, and counts each when it is
//! durable (early lock release would be wasted otherwise). The clock stops when the last one is, so nothing is counted that
//! a crash could take back. Latency runs from the begin of a transaction to its durable acknowledgement as seen by its worker.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use hyades_engine::db::{Engine, Flow, Interrupt, Worker};
use hyades_engine::error::{Abort, Error};
use hyades_engine::log::durable::Durability;
use hyades_engine::procedure::frame::{Environment, Frame, RowSink};
use hyades_engine::value::Value;
use hyades_engine::{Result, error};

/// Transactions of one worker that may wait for durability.
const IN_FLIGHT: usize = 8192;

/// What a run counted.
#[derive(Debug)]
pub struct Figures {
    /// Transactions acknowledged as durable.
    pub acknowledged: u64,
    /// Attempts that lost a conflict and were run again.
    pub retries: u64,
    pub seconds: f64,
    /// Begin to durable acknowledgement, microseconds.
    pub latency_us: Histogram<u64>,
}

impl Figures {
    pub fn rate(&self) -> f64 {
        self.acknowledged as f64 / self.seconds
    }
}

/// Draws the arguments of the next call.
pub trait Arguments: Send {
    fn draw(&mut self, registers: &mut [Value]);
}

struct NoRows;

impl RowSink for NoRows {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }
}

/// Repeats a call until it no longer has to wait.
pub fn blocking<T>(mut call: impl FnMut() -> Flow<T>) -> Result<T> {
    loop {
        match call() {
            Ok(answer) => return Ok(answer),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => return Err(error),
        }
    }
}

/// Runs until `seconds` are over, one thread for each argument source.
pub fn run<A: Arguments>(
    engine: &dyn Engine,
    frame: impl Fn() -> Frame + Sync,
    arguments: Vec<A>,
    environment: &Environment,
    seconds: f64,
) -> Result<Figures> {
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let results: Vec<Result<WorkerFigures>> = std::thread::scope(|scope| {
        let (stop, frame) = (&stop, &frame);
        let threads: Vec<_> = arguments
            .into_iter()
            .map(|arguments| {
                let worker = engine.worker();
                let environment = environment.clone();
                scope.spawn(move || WorkerRun::new(worker, frame(), environment).run(arguments, stop))
            })
            .collect();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(worker_panicked()))).collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let mut figures = Figures { acknowledged: 0, retries: 0, seconds, latency_us: histogram() };
    for result in results {
        let worker = result?;
        figures.acknowledged += worker.acknowledged;
        figures.retries += worker.retries;
        figures.latency_us += worker.latency_us;
    }
    Ok(figures)
}

fn worker_panicked() -> Error {
    Error::fatal(error::sqlstate::INTERNAL_ERROR, "a benchmark worker panicked")
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("the bounds are valid")
}

struct WorkerFigures {
    acknowledged: u64,
    retries: u64,
    latency_us: Histogram<u64>,
}

struct WorkerRun {
    worker: Box<dyn Worker>,
    frame: Frame,
    environment: Environment,
    in_flight: VecDeque<(Instant, Durability)>,
    figures: WorkerFigures,
}

impl WorkerRun {
    fn new(worker: Box<dyn Worker>, frame: Frame, environment: Environment) -> WorkerRun {
        let figures = WorkerFigures { acknowledged: 0, retries: 0, latency_us: histogram() };
        WorkerRun { worker, frame, environment, in_flight: VecDeque::with_capacity(IN_FLIGHT), figures }
    }

    fn run(mut self, mut arguments: impl Arguments, stop: &AtomicBool) -> Result<WorkerFigures> {
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            arguments.draw(&mut self.frame.registers);
            let durability = self.transaction()?;
            self.in_flight.push_back((begun, durability));
            self.acknowledge_durable();
            if self.in_flight.len() >= IN_FLIGHT {
                self.wait_for_oldest()?;
            }
        }
        while !self.in_flight.is_empty() {
            self.wait_for_oldest()?;
        }
        Ok(self.figures)
    }

    /// One transaction, repeated while it loses conflicts.
    fn transaction(&mut self) -> Result<Durability> {
        loop {
            self.worker.begin();
            self.frame.restart();
            let (worker, frame, environment) = (&mut self.worker, &mut self.frame, &mut self.environment);
            match blocking(|| worker.run(frame, environment, &mut NoRows)) {
                Ok(()) => return blocking(|| worker.commit()),
                Err(Error::Abort(Abort::Deadlock | Abort::Serialization)) => {
                    worker.rollback();
                    self.figures.retries += 1;
                }
                Err(error) => {
                    worker.rollback();
                    return Err(error);
                }
            }
        }
    }

    fn acknowledge_durable(&mut self) {
        let Some((_, first)) = self.in_flight.front() else { return };
        if !first.is_durable() {
            return;
        }
        let now = Instant::now();
        while let Some((begun, durability)) = self.in_flight.front() {
            if !durability.is_durable() {
                return;
            }
            let latency_us = now.duration_since(*begun).as_micros() as u64;
            self.figures.latency_us.saturating_record(latency_us.max(1));
            self.figures.acknowledged += 1;
            self.in_flight.pop_front();
        }
    }

    fn wait_for_oldest(&mut self) -> Result<()> {
        if let Some((_, durability)) = self.in_flight.front() {
            durability.clone().wait()?;
        }
        self.acknowledge_durable();
        Ok(())
    }
}
