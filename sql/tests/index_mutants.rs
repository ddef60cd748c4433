//! Known bugs put back into secondary indexes. `indexes/lives.rs` must find them.
//!
//! | bug | caught by |
//! |---|---|
//! | a lookup takes the row that an entry leads to, whatever it holds by now | an index leads to other rows than there are |
//! | a transaction that puts values into a unique index does not wait for others that do | a unique value exists twice |
//! | where values are checked later, those that another transaction is removing count as gone | the same |
//!
//! It has a process of its own, because the switch is for the whole process.

#[path = "indexes/lives.rs"]
mod lives;
#[path = "indexes/scripts.rs"]
mod scripts;

use hyades::engine::config::ProtocolKind;
use hyades::engine::mutant::{Mutant, activate};
use scripts::{AT_ONCE, LATER, LATER_KEYS, Script};

#[test]
fn entries_that_are_not_looked_at_and_checks_that_do_not_wait_are_found() {
    for script in [&AT_ONCE, &LATER, &LATER_KEYS] {
        lose(script, 1).expect("no bug");
        for mutant in [Mutant::EntryNotRechecked, Mutant::UniqueCheckSkipsWaiting] {
            assert_found(script, mutant);
        }
    }
    assert_found(&LATER, Mutant::ChangingTwinForgotten);
}

fn lose(script: &Script, seed: u64) -> Result<(), String> {
    lives::lose_power(script, ProtocolKind::Taurus, "data", seed, None)
}

fn assert_found(script: &Script, mutant: Mutant) {
    activate(Some(mutant));
    // How threads interleave is chance.
    let found = (1..80).any(|seed| lose(script, seed).is_err());
    activate(None);
    assert!(found, "{mutant:?} is not found");
}
