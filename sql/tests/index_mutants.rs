//! Known bugs put back into secondary indexes: `indexes/lives.rs` must find them.
//!
//! | bug | caught by |
//! |---|---|
//! | whoever finds a row by an entry takes it, whatever it holds by now | an index leads to other rows than there are |
//! | who puts values into a unique index does not wait for others who do | a unique value is there twice |
//!
//! A process of its own, because the switch is for the whole process.

#[path = "indexes/lives.rs"]
mod lives;

use hyades::engine::config::ProtocolKind;
use hyades::engine::mutant::{Mutant, activate};

#[test]
fn entries_that_are_not_looked_at_and_checks_that_do_not_wait_are_found() {
    let lose = |seed| lives::lose_power(ProtocolKind::Taurus, "data", seed, None);
    lose(1).expect("no bug");
    for mutant in [Mutant::EntryNotRechecked, Mutant::UniqueCheckSkipsWaiting] {
        activate(Some(mutant));
        // How threads meet is chance.
        let found = (1..40).any(|seed| lose(seed).is_err());
        activate(None);
        assert!(found, "{mutant:?} is not found");
    }
}
