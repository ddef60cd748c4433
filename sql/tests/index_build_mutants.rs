//! A known bug put back into indexes that are built beside writers. `index_builds/work.rs` must find it.
//!
//! | bug | caught by |
//! |---|---|
//! | the builder does not wait for transactions that do not know of the index | an index leads to other rows than there are |
//!
//! It has a process of its own, because the switch is for the whole process.

#[path = "index_builds/work.rs"]
mod work;

use hyades::engine::config::ProtocolKind;
use hyades::engine::mutant::{Mutant, activate};

#[test]
fn builders_that_do_not_wait_are_found() {
    let lose = |seed| work::lose_power(ProtocolKind::Taurus, "data", seed, None);
    lose(1).expect("no bug");
    activate(Some(Mutant::BuilderWaitsForNobody));
    // How threads interleave is chance.
    let found = (1..40).any(|seed| lose(seed).is_err());
    activate(None);
    assert!(found, "it is not found");
}
