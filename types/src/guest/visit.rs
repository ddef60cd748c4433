//! The guest on a thread, from its entry to its leave, and what its host learns of it meanwhile.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::stop::StopRequest;

/// A guest that computes for longer than this gets in the way of others.
pub const QUANTUM: Duration = Duration::from_millis(1);
/// The host is notified after one quantum, then after twice that time, and so on up to this.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_millis(16);

/// The amount of work that takes about a quantum.
pub const QUANTUM_UNITS: u32 = 100_000;

/// Bytes that are freed in the time of a unit, in small blocks.
const FREED_BYTES_PER_UNIT: usize = 64;

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
    pub(super) stop: Arc<StopRequest>,
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
    pub(super) fn look_at_clock(&mut self, units: u32) {
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
pub(super) fn with_guest<T>(look: impl FnOnce(&mut Guest) -> T) -> Option<T> {
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
pub(super) fn enter(guest: Option<Box<Guest>>) -> Visit {
    let Some(mut guest) = guest else { return Visit { previous: None, has_entered: false } };
    guest.started = None;
    guest.next_word = QUANTUM;
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

/// The statement is about to end, and to free this much. The host is notified before if that takes long.
#[cold]
pub(crate) fn before_freeing(bytes: isize) {
    let bytes = usize::try_from(bytes).unwrap_or(0);
    let units = u32::try_from(bytes / FREED_BYTES_PER_UNIT).unwrap_or(u32::MAX);
    if units >= QUANTUM_UNITS {
        with_guest(|guest| guest.look_at_clock(units));
    }
}
