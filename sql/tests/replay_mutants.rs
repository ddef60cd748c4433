//! Known bugs put back into the choice of how a call is logged. The search for broken promises must find
//! each.
//!
//! | bug | caught by |
//! |---|---|
//! | 26 nothing captured | recovery reaches another state, or refuses the log |
//! | 26 what stages evaluate is not checked | EXPLAIN promises a command for a call that asks for the time of day above a group |
//!
//! There is only one test, because the switch is for the whole process. The search first passes without a
//! bug.

#[path = "replay/generator.rs"]
mod generator;
#[path = "replay/round.rs"]
mod round;

use hyades::engine::mutant::{Mutant, activate};

/// The number of calls in one round, and of rounds.
const ROUND: usize = 60;
const ROUNDS: usize = 12;

/// The error of the first round that fails.
fn search() -> Option<String> {
    let mut tally = round::Tally::default();
    for number in 0..ROUNDS {
        let first = 1 + number * ROUND;
        match round::round(5, first..first + ROUND) {
            Ok(calls) => tally.add(calls),
            Err(found) => return Some(found),
        }
    }
    assert!(tally.calls() > ROUNDS * ROUND / 2, "{tally:?}");
    None
}

#[test]
fn the_search_finds_each_bug() {
    if let Some(found) = search() {
        panic!("without a bug: {found}");
    }
    let mutant = Mutant::NothingCaptured;
    activate(Some(mutant));
    let found = search();
    activate(None);
    let found = found.unwrap_or_else(|| panic!("{mutant:?} is not found"));
    println!("{mutant:?}: {}", found.lines().next().unwrap_or_default());
}
