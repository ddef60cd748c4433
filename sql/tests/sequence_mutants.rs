//! A known bug put back into sequences. `sequences/draws.rs` must find it.
//!
//! | bug | caught by |
//! |---|---|
//! | a log record does not tell which numbers its transaction drew | a number is drawn again after a crash |
//!
//! It has a process of its own, because the switch is for the whole process.

#[path = "sequences/draws.rs"]
mod draws;

use hyades::engine::config::ProtocolKind;
use hyades::engine::mutant::{Mutant, activate};

#[test]
fn numbers_that_are_not_logged_are_drawn_again() {
    let lose = || draws::lose_power(ProtocolKind::Taurus, 7, None);
    lose().expect("no bug");
    activate(Some(Mutant::DrawsUnlogged));
    let found = lose();
    activate(None);
    assert!(found.is_err_and(|wrong| wrong.contains("drawn again")));
}
