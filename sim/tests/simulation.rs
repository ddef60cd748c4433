//! The simulation: some seeds, and a repetition of the same run from the same seed.
//!
//! `cargo xtask sim` goes on for hours.

use std::time::Duration;

use hyades_sim::crash::within;
use hyades_sim::simulation::{Totals, run};

const LIMIT: Duration = Duration::from_secs(120);
const SEEDS: u64 = 40;
/// The number of bits that are flipped at the end of each run.
const FLIPS: u64 = 5;

#[test]
fn no_seed_finds_anything() {
    let seeds = std::env::var("HYADES_SEEDS").map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    let mut totals = Totals::default();
    // Half as many under each optimistic control.
    let of_control = |first: u64| first..first + seeds / 2;
    for seed in (0..seeds).chain(of_control(1000)).chain(of_control(2000)) {
        match within(LIMIT, move || run(seed, FLIPS)) {
            Ok((_, of_run)) => totals.add(&of_run),
            Err(wrong) => panic!("seed {seed}: {wrong}"),
        }
    }
    println!("{totals}");
    for what in
        ["recoveries", "double crashes", "power cuts", "kills", "stops", "checkpoints", "flipped bits"]
    {
        assert!(totals.0.get(what).is_some_and(|count| *count > 0), "no {what}: {totals}");
    }
}

#[test]
fn a_seed_is_the_same_run_each_time() {
    for seed in (0..12).chain(1000..1006).chain(2000..2006) {
        let runs: Vec<_> = (0..3).map(|_| within(LIMIT, move || run(seed, 1)).map(|(run, _)| run)).collect();
        assert!(runs[0].is_ok(), "seed {seed}: {runs:?}");
        assert!(runs.iter().all(|run| *run == runs[0]), "seed {seed}: {runs:?}");
    }
}
