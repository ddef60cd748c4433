//! `cargo xtask sim`: runs of the simulation, one seed after the other, until one fails or the time is up.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use hyades_engine::mutant::{Mutant, activate};
use hyades_sim::simulation::{self, Totals};

/// Totals are printed about so often.
const INTERVAL: Duration = Duration::from_secs(60);

struct Options {
    seed: u64,
    runs: u64,
    hours: f64,
    flips: u64,
    /// The bug that is put back.
    mutant: Option<Mutant>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seed: 1, runs: u64::MAX, hours: f64::INFINITY, flips: 0, mutant: None };
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
            _ => return Err(wrong()),
        }
    }
    Ok(options)
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
    let (begin, mut totals) = (Instant::now(), Totals::default());
    let mut printed = begin;
    for run in 0..options.runs {
        if begin.elapsed().as_secs_f64() >= options.hours * 3600.0 {
            break;
        }
        let seed = options.seed.wrapping_add(run);
        match simulation::run(seed, options.flips) {
            Ok((_, of_run)) => totals.add(&of_run),
            Err(wrong) => {
                println!("{totals}");
                eprintln!("seed {seed}: {wrong}");
                return ExitCode::FAILURE;
            }
        }
        if printed.elapsed() >= INTERVAL {
            printed = Instant::now();
            println!("after {} s, seed {seed}:\n{totals}", begin.elapsed().as_secs());
        }
    }
    println!("seeds from {} in {} s, no failure:\n{totals}", options.seed, begin.elapsed().as_secs());
    ExitCode::SUCCESS
}
