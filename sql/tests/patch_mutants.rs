//! A known bug put back into the log of updates. `restarts/rows_changed_twice.rs` must find it.
//!
//! | bug | caught by |
//! |---|---|
//! | an update is logged as the patch of a row that its own statement has changed since it was read | the row after a crash is another one |
//!
//! It has a process of its own, because the switch is for the whole process.

#[path = "restarts/harness.rs"]
#[allow(dead_code)] // Other tests use the rest.
mod harness;
#[path = "restarts/rows_changed_twice.rs"]
mod rows_changed_twice;

use std::panic::catch_unwind;

use hyades::engine::mutant::{Mutant, activate};

#[test]
fn a_patch_of_a_stale_row_leads_to_another_row() {
    activate(Some(Mutant::PatchOfStaleRow));
    let found = catch_unwind(rows_changed_twice::change_rows_twice);
    activate(None);
    assert!(found.is_err(), "every row is as it was");
}
