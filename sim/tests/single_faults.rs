//! One fault at a time on the files of small databases at rest: refused, or nothing has changed, or the torn
//! last block of a killed process is missing and the report says so (`hyades_sim::single_faults`).
//!
//! A few hundred faults by default. `HYADES_SINGLE_FAULTS=20000` tries that many, `HYADES_SEED` chooses
//! others.

use hyades_engine::mutant::{Mutant, activate};
use hyades_sim::single_faults::run;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// One test, because the switch of the mutants is for the whole process.
#[test]
fn single_faults_are_refused_or_harmless() {
    let (faults, seed) = (number("HYADES_SINGLE_FAULTS", 400), number("HYADES_SEED", 1));
    let report = run(faults, seed).unwrap_or_else(|wrong| panic!("{wrong}"));
    println!("{report}");
    let total = report.total();
    assert!(total.refused * 2 > faults && total.identical * 10 > faults, "{report}");
    activate(Some(Mutant::GapIsTheEnd));
    let outcome = run(400, 1);
    activate(None);
    let wrong = outcome.expect_err("a gap that is taken for the end of its log is noticed");
    println!("with the bug: {wrong}");
}
