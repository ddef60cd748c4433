//! `cargo xtask sim`: runs the simulation, one seed on each processor, until one fails or the time is up.

use std::num::NonZeroUsize;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyades_engine::mutant::{Mutant, activate};
use hyades_sim::simulation::{self, Totals};

/// About how often totals are printed.
const INTERVAL: Duration = Duration::from_secs(60);

struct Options {
    seed: u64,
    runs: u64,
    hours: f64,
    flips: u64,
    /// The number of seeds at the same time. A run takes at most one processor.
    jobs: usize,
    /// The bug that is put back.
    mutant: Option<Mutant>,
}

fn options() -> Result<Options, String> {
    let jobs = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut options = Options { seed: 1, runs: u64::MAX, hours: f64::INFINITY, flips: 0, jobs, mutant: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} wants a value"))?;
        let wrong = || format!("{name} {value} is not understood");
        match name.as_str() {
            "--seed" => options.seed = value.parse().map_err(|_| wrong())?,
            "--runs" => options.runs = value.parse().map_err(|_| wrong())?,
            "--hours" => options.hours = value.parse().map_err(|_| wrong())?,
            "--mutant" => {
                let named = Mutant::ALL.into_iter().find(|mutant| format!("{mutant:?}") == value);
                options.mutant = Some(named.ok_or_else(wrong)?);
            }
            "--flips" => options.flips = value.parse().map_err(|_| wrong())?,
            "--jobs" => options.jobs = value.parse::<NonZeroUsize>().map_err(|_| wrong())?.get(),
            _ => return Err(wrong()),
        }
    }
    Ok(options)
}

/// The results of all seeds so far.
struct Found {
    totals: Totals,
    /// The smallest seed that has failed, and how.
    failure: Option<(u64, String)>,
    printed: Instant,
}

struct Search {
    options: Options,
    begin: Instant,
    /// The number of seeds that were begun.
    begun: AtomicU64,
    found: Mutex<Found>,
}

impl Search {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one seed after the other until any has failed, or there is nothing left to do.
    fn work(&self) {
        let Options { seed: first, runs, hours, flips, .. } = self.options;
        while self.begin.elapsed().as_secs_f64() < hours * 3600.0 && self.found().failure.is_none() {
            let run = self.begun.fetch_add(1, Ordering::Relaxed);
            if run >= runs {
                break;
            }
            let seed = first.wrapping_add(run);
            let outcome = catch_unwind(|| simulation::run(seed, flips));
            let outcome = outcome.unwrap_or_else(|_| Err("the simulation itself panicked".to_owned()));
            let mut found = self.found();
            match outcome {
                Ok((_, of_run)) => found.totals.add(&of_run),
                Err(wrong) if found.failure.as_ref().is_none_or(|(other, _)| seed < *other) => {
                    found.failure = Some((seed, wrong));
                }
                Err(_) => {}
            }
            if found.printed.elapsed() >= INTERVAL {
                found.printed = Instant::now();
                println!("after {} s:\n{}", self.begin.elapsed().as_secs(), found.totals);
            }
        }
    }
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    activate(options.mutant);
    let begin = Instant::now();
    let found = Mutex::new(Found { totals: Totals::default(), failure: None, printed: begin });
    let search = Search { options, begin, begun: AtomicU64::new(0), found };
    std::thread::scope(|threads| {
        for _ in 0..search.options.jobs {
            threads.spawn(|| search.work());
        }
    });
    let found = search.found();
    if let Some((seed, wrong)) = &found.failure {
        println!("{}", found.totals);
        eprintln!("seed {seed}: {wrong}");
        return ExitCode::FAILURE;
    }
    let (first, seconds) = (search.options.seed, begin.elapsed().as_secs());
    println!("seeds from {first} in {seconds} s, no failure:\n{}", found.totals);
    ExitCode::SUCCESS
}
