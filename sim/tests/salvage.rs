//! What a salvage keeps of damaged databases (`hyades_sim::salvage`): nothing that depends on the damage, and
//! everything that, by its LSN vector, does not.
//!
//! A few small databases by default; `HYADES_SALVAGES=1000 HYADES_SALVAGE_TRANSACTIONS=100000` salvages a
//! thousand large ones (the better part of an hour), and `--nocapture` shows what was kept.

use hyades_engine::mutant::{Mutant, activate};
use hyades_sim::salvage::{Outcome, run, run_at_ends, run_miswritten};

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// One test, because the switch of the mutants is for the whole process.
#[test]
fn nothing_is_kept_that_depends_on_the_damage() {
    let salvages = number("HYADES_SALVAGES", 48);
    let transactions = number("HYADES_SALVAGE_TRANSACTIONS", 1500) as usize;
    let seed = number("HYADES_SEED", 1);
    let outcomes = run(salvages, transactions, 1, seed).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut total = Outcome::default();
    for (subject, outcome) in &outcomes {
        println!("{subject}: {outcome}");
        total.add(outcome);
    }
    println!("all: {total}");
    assert!(total.kept * 4 > total.all && total.kept < total.all, "{total}");

    run(salvages, transactions, 3, seed).unwrap_or_else(|wrong| panic!("{wrong}"));
    (0..8).try_for_each(|more| run_at_ends(300, seed + more)).unwrap_or_else(|wrong| panic!("{wrong}"));
    run_miswritten(5 * salvages, 200, seed).unwrap_or_else(|wrong| panic!("{wrong}"));

    activate(Some(Mutant::SalvageForgetsDropped));
    let outcome = (0..20).try_for_each(|seed| run(48, 400, 1, 1000 + seed).map(drop));
    activate(None);
    let wrong = outcome.expect_err("transactions that depend on what was dropped are noticed");
    println!("with the bug: {wrong}");
}
