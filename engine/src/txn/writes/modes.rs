//! The modes of a reader's locks, from what it intends.
//!
//! ```text
//! strength    row         its table      instead of both, for a scan without bounds
//! KeyRead     KeyRead     KeyRead        -
//! Read        Read        IntentRead     Read
//! NoKeyWrite  NoKeyWrite  IntentWrite    NoKeyWrite
//! Write       Write       IntentWrite    Write
//! ```
//!
//! Beside a KeyRead others may change the row, even in place. So a reader learns only whether there is a row,
//! and does not touch its bytes.

use crate::txn::Intent;
use crate::txn::lock_mode::LockMode;

#[inline(always)]
pub(super) fn row_mode(intent: Intent) -> LockMode {
    const MODES: [LockMode; 4] = [LockMode::KeyRead, LockMode::Read, LockMode::NoKeyWrite, LockMode::Write];
    MODES[intent.read_strength() as usize]
}

/// The mode in which the table is entered.
#[inline(always)]
pub(super) fn table_mode(intent: Intent) -> LockMode {
    const MODES: [LockMode; 4] =
        [LockMode::KeyRead, LockMode::IntentRead, LockMode::IntentWrite, LockMode::IntentWrite];
    MODES[intent.read_strength() as usize]
}

/// Whether it is a lock on the worker's stripe of a table, or on all.
#[inline]
pub(super) fn is_of_one_stripe(mode: LockMode) -> bool {
    matches!(mode, LockMode::KeyRead | LockMode::IntentRead | LockMode::IntentWrite)
}
