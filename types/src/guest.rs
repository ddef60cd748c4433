//! A statement is a guest on the thread that it computes on: it must not keep the thread from others for
//! long, and it must notice when it is told to stop.
//!
//! Code that lets a session compute enters its [`Guest`] first ([`enter`]) and takes it back afterwards. Code
//! that runs in loops reports its work ([`spend`]), wherever it is: no environment has to be passed down to a
//! comparison, a pattern match or an arithmetic function. That counts down a thread-local number, and only
//! when it has run out looks at:
//!
//! * the session's [`StopRequest`]: the statement fails with 57014 (cancelled) or 57P01 (its session is
//!   ended);
//! * its memory ([`crate::memory`]): 53200;
//! * the clock: a guest that has computed for a [`QUANTUM`] notifies its [`Host`], which serves the others of
//!   this thread, and is notified again as long as the guest goes on.
//!
//! Code that cannot report in the middle of its work (parsers, large numbers) says before it starts how much
//! there will be: from [`QUANTUM_UNITS`] on the host is notified at once. So it is before a statement fails:
//! what it has taken is freed then, and destructors report nothing. What the host learns is in `visit`, how a
//! session is told to stop in `stop`.
//!
//! The looks also count the work of the thread ([`worked`]), independently of the speed of the machine.
//!
//! On a thread that no guest has entered (replay, programs that use the engine directly) the number is
//! counted down and nothing else happens.
//!
//! Invariants:
//! 1. The host gets no access to the guest's state, and never calls back into the session.
//! 2. An error of a look cannot be lost: the next report of work looks again, until the reason is gone.
//! 3. A request to end stays until the session is gone. A request to cancel stays until the statement has
//!    failed or a handler has taken it, so that no code on the way can swallow it, and none obeys it twice.
//!
//! Decision: docs/decisions/2026-11-22-guests.md.

mod stop;
pub(crate) mod visit;

use std::cell::Cell;

use self::visit::with_guest;
use crate::error::Result;
use crate::memory;

pub use self::stop::{Sessions, Stop, StopRequest};
pub use self::visit::{Guest, Host, QUANTUM, QUANTUM_UNITS, Visit};

/// Work between two looks at the clock and the request to stop: far less than a quantum. A unit is about ten
/// nanoseconds: a comparison of numbers, a few characters.
const UNITS_PER_LOOK: u32 = 8192;

thread_local! {
    /// How often the thread has looked at the request to stop.
    static LOOKS: Cell<u64> = const { Cell::new(0) };
    /// Units until the next look.
    static LEFT: Cell<u32> = const { Cell::new(UNITS_PER_LOOK) };
    /// Units of which a look has learned.
    static WORKED: Cell<u64> = const { Cell::new(0) };
    /// Whether [`pass`] took the last look, and the work of the round that it has cut short is counted.
    static IS_PASSED: Cell<bool> = const { Cell::new(false) };
    /// Units until the next look at the clock, while a look that [`pass`] could not take is due.
    static LEFT_TO_PASS: Cell<u32> = const { Cell::new(0) };
}

/// Lets a guest in, until [`Visit::leave`] gives it back. Without one, the current guest stays.
#[inline]
pub fn enter(guest: Option<Box<Guest>>) -> Visit {
    if guest.is_some() {
        LEFT.set(UNITS_PER_LOOK);
    }
    visit::enter(guest)
}

/// Reports work that was done. See the module head.
///
/// # Errors
/// 57014 or 57P01 when the session was told to stop; 53200 when it has used up its memory.
#[inline]
pub fn spend(units: u32) -> Result<()> {
    match LEFT.get().checked_sub(units) {
        Some(left) => {
            LEFT.set(left);
            Ok(())
        }
        None => look(units),
    }
}

/// As [`spend`], for work of this many bytes, elements or steps, each of about a unit.
///
/// # Errors
/// As [`spend`].
#[inline]
pub fn spend_for(steps: usize) -> Result<()> {
    spend(u32::try_from(steps).unwrap_or(u32::MAX))
}

/// Units of work on this thread, since it began. Work of less than a look is not known, and a guest begins
/// each visit with a full one: work that takes several looks is known up to one of them.
#[inline]
pub fn worked() -> u64 {
    WORKED.get()
}

/// Counts the work since the last look. Called at a look, before a new round begins. With `is_passed`, by
/// [`pass`], none begins.
fn count_work(units: u32, is_passed: bool) {
    let (left, was_passed) = (LEFT.get(), IS_PASSED.replace(is_passed));
    let before = if left == 0 && was_passed { 0 } else { UNITS_PER_LOOK.saturating_sub(left) };
    WORKED.set(WORKED.get().wrapping_add(u64::from(before) + u64::from(units)));
}

/// How often this thread has looked at the request to stop, so that tests see which work it looks in.
pub fn looks() -> u64 {
    LOOKS.get()
}

#[cold]
fn look(units: u32) -> Result<()> {
    count_work(units, false);
    LOOKS.set(LOOKS.get().wrapping_add(1));
    LEFT.set(UNITS_PER_LOOK);
    LEFT_TO_PASS.set(0);
    let looked = with_guest(|guest| {
        guest.stop.check()?;
        memory::check(0)?;
        guest.look_at_clock(units);
        guest.stop.check()
    });
    let looked = looked.unwrap_or(Ok(()));
    if looked.is_err() {
        // Code that drops this error meets it again at its next step. The work is counted.
        LEFT.set(0);
        IS_PASSED.set(true);
        visit::before_freeing(memory::spent());
    }
    looked
}

/// As [`spend`], where nothing can fail: a request to stop is left to the next call of [`spend`], which then
/// looks immediately.
#[inline]
pub fn pass(units: u32) {
    match LEFT.get().checked_sub(units) {
        Some(left) => LEFT.set(left),
        None => look_at_clock(units),
    }
}

/// As [`pass`], for this many steps.
#[inline]
pub fn pass_for(steps: usize) {
    pass(u32::try_from(steps).unwrap_or(u32::MAX));
}

#[cold]
fn look_at_clock(units: u32) {
    count_work(units, true);
    // With a full round, a loop that alternates between `spend` and `pass` might never spend the last unit of
    // one.
    LEFT.set(0);
    if let Some(left) = LEFT_TO_PASS.get().checked_sub(units) {
        LEFT_TO_PASS.set(left);
        return;
    }
    LEFT_TO_PASS.set(UNITS_PER_LOOK);
    with_guest(|guest| guest.look_at_clock(units));
}

#[cfg(test)]
mod tests;
