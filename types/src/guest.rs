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
//! what it has taken is freed then, and destructors report nothing ([`before_freeing`]).
//!
//! The looks also say how much has been worked ([`worked`]), whoever does it and however fast the machine is.
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

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result, sqlstate};
use crate::memory;

/// A guest that computes for longer than this gets in the way of others.
pub const QUANTUM: Duration = Duration::from_millis(1);
/// The host is notified after one quantum, then after twice that time, and so on up to this.
const LONGEST_SILENCE: Duration = Duration::from_millis(16);
/// Work between two looks at the clock and the request to stop: far less than a quantum. A unit is about ten
/// nanoseconds: a comparison of numbers, a few characters.
const UNITS_PER_LOOK: u32 = 8192;

/// The amount of work that takes about a quantum.
pub const QUANTUM_UNITS: u32 = 100_000;

/// Bytes that are freed in the time of a unit, in small blocks.
const FREED_BYTES_PER_UNIT: usize = 64;

/// How a session was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The statement ends with 57014.
    Cancel,
    /// The same, because its time is up.
    TimedOut,
    /// The session ends; no handler of a routine prevents that.
    End,
}

/// Asks a session to stop, from any thread. Request and reason are in one place: two separate flags would
/// have to be withdrawn together.
#[derive(Debug, Default)]
pub struct StopRequest(AtomicU8);

const NOTHING: u8 = 0;
const CANCEL: u8 = 1;
const TIMED_OUT: u8 = 2;
const END: u8 = 3;

impl StopRequest {
    /// The running statement should stop, or the next one if none is running.
    pub fn cancel(&self) {
        self.0.fetch_max(CANCEL, Ordering::Release);
    }

    /// The statement's time is up.
    pub fn time_out(&self) {
        self.0.fetch_max(TIMED_OUT, Ordering::Release);
    }

    /// The session should stop for good.
    pub fn end(&self) {
        self.0.store(END, Ordering::Release);
    }

    /// Withdraws a request to cancel.
    pub fn withdraw(&self) {
        self.withdraw_one(CANCEL);
        self.withdraw_one(TIMED_OUT);
    }

    /// Withdraws the request that was made because the statement's time was up.
    pub fn withdraw_time_out(&self) {
        self.withdraw_one(TIMED_OUT);
    }

    fn withdraw_one(&self, request: u8) {
        // The common case must not write to a shared cache line. The exchange fails if there is another
        // request by now, or none.
        if self.0.load(Ordering::Relaxed) == request {
            let _ = self.0.compare_exchange(request, NOTHING, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    #[inline]
    pub fn get(&self) -> Option<Stop> {
        match self.0.load(Ordering::Relaxed) {
            NOTHING => None,
            CANCEL => Some(Stop::Cancel),
            TIMED_OUT => Some(Stop::TimedOut),
            _ => Some(Stop::End),
        }
    }

    pub fn is_end(&self) -> bool {
        self.get() == Some(Stop::End)
    }

    /// Fails if there is a request, and again until it is withdrawn.
    ///
    /// # Errors
    /// 57014 or 57P01.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.get() {
            None => Ok(()),
            Some(stop) => Err(stop.refusal()),
        }
    }
}

impl Stop {
    /// The error that the statement fails with.
    #[cold]
    pub fn refusal(self) -> Error {
        let (state, message) = match self {
            Stop::Cancel => (sqlstate::QUERY_CANCELED, "canceling statement due to user request"),
            Stop::TimedOut => (sqlstate::QUERY_CANCELED, "canceling statement due to statement timeout"),
            Stop::End => (sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command"),
        };
        Error::input(state, message)
    }
}

/// The sessions of a database, for functions by which one acts on another.
pub trait Sessions: Send + Sync + std::fmt::Debug {
    /// Cancels what the session of this process number runs, or ends it. False if there is none.
    ///
    /// # Errors
    /// An error that keeps this session from doing so.
    fn stop(&self, process: i32, stop: Stop) -> Result<bool>;
}

/// The owner of the thread.
pub trait Host: Send {
    /// The guest has computed for this long, and goes on when this returns. Called at growing intervals.
    fn overstayed(&mut self, time: Duration);

    /// The guest looks at the clock. Tests count these looks, which depend on its work alone: code whose work
    /// grows and whose looks do not has escaped the clock.
    fn looked(&mut self) {}
}

/// What a session brings with it when it computes.
pub struct Guest {
    stop: Arc<StopRequest>,
    host: Option<Box<dyn Host>>,
    /// Since the first look: a guest that never looks needs no clock.
    started: Option<Instant>,
    /// When, counted from `started`, the host is notified next.
    next_word: Duration,
}

impl Guest {
    pub fn new(stop: Arc<StopRequest>) -> Guest {
        Guest { stop, host: None, started: None, next_word: QUANTUM }
    }

    pub fn set_host(&mut self, host: Box<dyn Host>) {
        self.host = Some(host);
    }

    /// `units`: the work that is about to be done.
    fn look_at_clock(&mut self, units: u32) {
        let Some(host) = &mut self.host else { return };
        host.looked();
        let started = *self.started.get_or_insert_with(Instant::now);
        let time = started.elapsed();
        if time >= self.next_word || units >= QUANTUM_UNITS {
            host.overstayed(time.max(QUANTUM));
            self.next_word = started.elapsed() + time.clamp(QUANTUM, LONGEST_SILENCE);
        }
    }
}

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
    /// A variable with a destructor would have to check at each access whether the thread is ending. Nothing
    /// is lost: a guest leaves before that.
    static GUEST: Cell<Option<ManuallyDrop<Box<Guest>>>> = const { Cell::new(None) };
}

/// The guest while it is being looked at; put back when this is dropped.
struct Looked(Option<ManuallyDrop<Box<Guest>>>);

impl Drop for Looked {
    fn drop(&mut self) {
        GUEST.set(self.0.take());
    }
}

/// Calls `look` with the current guest, if there is one.
fn with_guest<T>(look: impl FnOnce(&mut Guest) -> T) -> Option<T> {
    let mut looked = Looked(GUEST.take());
    looked.0.as_mut().map(|guest| look(guest))
}

/// A guest that has entered; leaves when dropped.
#[must_use]
pub struct Visit {
    /// The guest that was in before.
    previous: Option<ManuallyDrop<Box<Guest>>>,
    has_entered: bool,
}

/// Lets a guest in, until [`Visit::leave`] gives it back. Without one, the current guest stays.
#[inline]
pub fn enter(guest: Option<Box<Guest>>) -> Visit {
    let Some(mut guest) = guest else { return Visit { previous: None, has_entered: false } };
    guest.started = None;
    guest.next_word = QUANTUM;
    LEFT.set(UNITS_PER_LOOK);
    Visit { previous: GUEST.replace(Some(ManuallyDrop::new(guest))), has_entered: true }
}

impl Visit {
    #[inline]
    pub fn leave(mut self) -> Option<Box<Guest>> {
        self.end()
    }

    #[inline]
    fn end(&mut self) -> Option<Box<Guest>> {
        if !std::mem::take(&mut self.has_entered) {
            return None;
        }
        GUEST.replace(self.previous.take()).map(ManuallyDrop::into_inner)
    }
}

impl Drop for Visit {
    #[inline]
    fn drop(&mut self) {
        drop(self.end());
    }
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
        before_freeing();
    }
    looked
}

/// The statement is about to end, and to free what it has taken. The host is notified before if that is much.
#[cold]
pub fn before_freeing() {
    let bytes = usize::try_from(memory::spent()).unwrap_or(0);
    let units = u32::try_from(bytes / FREED_BYTES_PER_UNIT).unwrap_or(u32::MAX);
    if units >= QUANTUM_UNITS {
        with_guest(|guest| guest.look_at_clock(units));
    }
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
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Vec<Duration>>>);

    impl Host for Told {
        fn overstayed(&mut self, time: Duration) {
            self.0.lock().push(time);
        }
    }

    fn guest() -> (Box<Guest>, Arc<StopRequest>, Told) {
        let (stop, told) = (Arc::<StopRequest>::default(), Told::default());
        let mut guest = Box::new(Guest::new(Arc::clone(&stop)));
        guest.set_host(Box::new(told.clone()));
        (guest, stop, told)
    }

    fn work(time: Duration) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < time {
            spend(100)?;
        }
        Ok(())
    }

    #[test]
    fn an_error_that_is_dropped_comes_again_at_the_next_step() {
        let (guest, stop, _) = guest();
        let visit = enter(Some(guest));
        stop.cancel();
        let _ = spend(UNITS_PER_LOOK + 1);
        assert_eq!(spend(1).map_err(|error| error.sqlstate()), Err(sqlstate::QUERY_CANCELED));
        stop.withdraw();
        spend(1).unwrap();
        drop(visit);
    }

    #[test]
    fn the_host_of_a_long_guest_is_told_at_growing_intervals() {
        let (guest, _, told) = guest();
        let visit = enter(Some(guest));
        while told.0.lock().len() < 8 {
            spend(100).unwrap();
        }
        let guest = visit.leave().unwrap();
        let times = std::mem::take(&mut *told.0.lock());
        assert!(times[0] >= QUANTUM, "{times:?}");
        let has_grown = |pair: &[Duration]| pair[1] >= pair[0] + pair[0].min(LONGEST_SILENCE);
        assert!(times.windows(2).all(has_grown), "{times:?}");
        // The next visit begins anew, and a short one does not notify.
        let visit = enter(Some(guest));
        spend(1).unwrap();
        drop(visit);
        assert!(told.0.lock().is_empty());
    }

    #[test]
    fn a_request_to_cancel_stays_until_it_is_withdrawn_and_one_to_end_for_good() {
        let (guest, stop, _) = guest();
        let visit = enter(Some(guest));
        stop.cancel();
        for _ in 0..2 {
            let error = work(Duration::from_secs(60)).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate::QUERY_CANCELED);
        }
        stop.withdraw();
        spend(u32::MAX).unwrap();
        stop.cancel();
        stop.time_out();
        assert_eq!(
            work(Duration::from_secs(60)).unwrap_err().to_string(),
            Stop::TimedOut.refusal().to_string()
        );
        stop.withdraw_time_out();
        spend(u32::MAX).unwrap();
        stop.cancel();
        stop.withdraw_time_out();
        assert_eq!(stop.get(), Some(Stop::Cancel));
        stop.end();
        stop.time_out();
        stop.cancel();
        stop.withdraw();
        for _ in 0..2 {
            let error = work(Duration::from_secs(60)).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate::ADMIN_SHUTDOWN);
        }
        pass(u32::MAX);
        assert!(stop.is_end());
        drop(visit);
        work(Duration::from_millis(1)).unwrap();
    }

    #[test]
    fn work_is_counted_whether_it_is_spent_or_passed() {
        for (spent, passed) in [(100, 0), (0, 100), (1, 2), (7, 8191), (1 << 20, 3), (4096, 4096)] {
            let visit = enter(Some(guest().0));
            let before = worked();
            let rounds = 10_000_000 / (spent + passed);
            for _ in 0..rounds {
                spend(spent).unwrap();
                pass(passed);
            }
            let (counted, done) = ((worked() - before) as f64, f64::from(rounds * (spent + passed)));
            assert!((0.9..1.1).contains(&(counted / done)), "{counted} of {done} by {spent} and {passed}");
            drop(visit);
        }
    }

    /// As in a sort: each comparison passes, each row spends.
    #[test]
    fn a_request_is_heard_whoever_uses_up_the_last_unit() {
        for (spent, passed) in [(1, 2), (1, 8191), (1, 8192), (3, 7)] {
            let (guest, stop, _) = guest();
            let visit = enter(Some(guest));
            stop.cancel();
            let rounds = (0..UNITS_PER_LOOK + 2).take_while(|_| {
                let is_unheard = spend(spent).is_ok();
                pass(passed);
                is_unheard
            });
            let units = rounds.count() as u32 * (spent + passed);
            assert!(units <= 2 * UNITS_PER_LOOK, "{units} units of {spent} and {passed}");
            drop(visit);
        }
    }

    #[test]
    fn guests_of_one_thread_do_not_mix() {
        let (outer, outer_stop, outer_told) = guest();
        let (inner, _, inner_told) = guest();
        let outer = enter(Some(outer));
        outer_stop.end();
        let inner = enter(Some(inner));
        spend(QUANTUM_UNITS).unwrap();
        // The current guest stays in.
        assert!(enter(None).leave().is_none());
        drop(inner);
        assert!(!inner_told.0.lock().is_empty());
        assert!(outer_told.0.lock().is_empty());
        work(Duration::from_secs(60)).unwrap_err();
        drop(outer);
    }

    #[test]
    fn what_will_take_long_is_told_before() {
        let (guest, _, told) = guest();
        let visit = enter(Some(guest));
        spend(QUANTUM_UNITS / 2).unwrap();
        assert!(told.0.lock().is_empty());
        spend_for(usize::MAX).unwrap();
        assert_eq!(told.0.lock().len(), 1);
        drop(visit);
    }
}
