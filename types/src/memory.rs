//! Memory accounting: each session has an account, and a session that exceeds a limit gets "out of memory"
//! (53200) before the process runs out of it.
//!
//! **Counting.** The program's allocator ([`Counted`]) adds up what each thread allocates and frees, so
//! nothing is missed: rows and indexes, results, sorts, parse trees, arrays, undo lists, and whatever a
//! library keeps. Each thread counts for itself in one word, `left`, which falls with allocations and rises
//! with frees. Every 64 KiB ([`STEP`]) the thread updates the process's total.
//!
//! ```text
//!             Account::enter                   allocations, frees                Account::leave
//!   outside ---------------------> floor = left - allowance ------> left falls ------------> account.used += spent()
//!                                              \-- in_database(): `floor` falls and rises with `left`, so that rows
//!                                                  and index entries are the server's, not the account's
//! ```
//! **Charging.** While a session computes, its thread counts for the session's [`Account`]. What goes into
//! tables, and what the epoch frees, is counted apart ([`in_database`]); for temporary tables the session is
//! charged what their rows and definitions take ([`Charge`]). At the end of a transaction the account is
//! reset to what it is known to keep ([`Account::settle`]), because memory that one session allocates and
//! another one frees stays charged to the first and is taken off the second, and such errors would add up.
//!
//! **Checking.** An allocation cannot fail in an orderly way, so code checks: [`check`] before a large
//! allocation, and after each row, message or instruction that keeps something; [`admit_row`] before a row
//! goes into a table. A check costs a comparison of `left` with `floor`. Only when the allowance is used up
//! are the account and then the server's total examined, and the allowance grows by a [`BATCH`].
//!
//! | limit | what is compared | what fails with 53200 |
//! |---|---|---|
//! | [`Limits::connection_bytes`] | the account | its statement |
//! | [`Limits::server_bytes`] | the process | the statement that wants more than the first [`FREE`] bytes of its account |
//! | 15/16 of that | the process | the statement that adds a row: deletes and rollbacks get the rest |
//!
//! Invariants:
//! 1. `left` of a thread changes only by what it allocates and frees, whichever account is charged. The total
//!    never counts anything twice.
//! 2. Outside of an account nothing is ever refused: recovery, replay, loggers and rollbacks take what they
//!    need.
//! 3. Memory that a restart has yet to load counts as if it had been allocated ([`Expected`]).
//! 4. A refusal depends on what else runs, so no handler of a routine may catch it (`procedure::control`):
//!    replay could not repeat that.
//!
//! Programs without [`Counted`] have no limits except those of single values.

mod allocator;
mod charge;
mod expected;

use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};

use crossbeam_utils::CachePadded;

pub use allocator::Counted;
pub use charge::{Charge, Keeper};
pub use expected::Expected;

use crate::error::{Error, Result, sqlstate};
use crate::guest::visit;
use charge::Kept;
use expected::expected_bytes;

/// A thread updates the process's total when it is off by this much.
const STEP: isize = 64 << 10;
/// The amount by which an allowance grows, and the bytes of rows that go into tables between two looks at the
/// total.
const BATCH: isize = 256 << 10;
/// The amount that every account may use whatever the others use: reads and short transactions go on in a
/// full server.
pub const FREE: isize = 1 << 20;
/// The cost of a row in addition to its bytes: its record and its place in the index.
const ROW_OVERHEAD: isize = 48;
/// The allowance outside of accounts: far from both ends, so that nothing wraps.
const OUTSIDE: isize = isize::MAX / 2;
/// PostgreSQL's largest value: `MaxAllocSize`.
pub const LARGEST_VALUE: usize = 0x3fff_ffff;

/// What the process has allocated, as far as its threads have reported.
static TOTAL: CachePadded<AtomicIsize> = CachePadded::new(AtomicIsize::new(0));

/// The numbers of one thread.
struct Book {
    /// See the module head.
    left: Cell<isize>,
    /// The total is updated when `left` leaves the range from `low` to `high`. In the middle of the range
    /// everything has been reported.
    low: Cell<isize>,
    high: Cell<isize>,
    /// The value of `left` at which the allowance is used up.
    floor: Cell<isize>,
    /// The allowance.
    granted: Cell<isize>,
    /// The most that it may grow to.
    room: Cell<isize>,
    limits: Cell<Limits>,
    /// The account whose allowance it is, by [`Keeper::address`]; only compared.
    owner: Cell<*const Kept>,
    /// Bytes of rows until the next look at the total.
    rows: Cell<isize>,
}

thread_local! {
    static BOOK: Book = const {
        Book {
            left: Cell::new(0),
            low: Cell::new(-STEP),
            high: Cell::new(STEP),
            floor: Cell::new(-OUTSIDE),
            granted: Cell::new(OUTSIDE),
            room: Cell::new(isize::MAX),
            limits: Cell::new(Limits::NONE),
            owner: Cell::new(std::ptr::null()),
            rows: Cell::new(0),
        }
    };
}

/// The limits on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the process.
    pub server_bytes: usize,
    /// For one account.
    pub connection_bytes: usize,
}

impl Limits {
    pub const NONE: Limits =
        Limits { server_bytes: isize::MAX as usize, connection_bytes: isize::MAX as usize };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::NONE
    }
}

impl Book {
    #[inline(always)]
    fn took(&self, bytes: usize) {
        let left = self.left.get().wrapping_sub_unsigned(bytes);
        self.left.set(left);
        if left < self.low.get() {
            self.tell(left);
        }
    }

    #[inline(always)]
    fn gave(&self, bytes: usize) {
        let left = self.left.get().wrapping_add_unsigned(bytes);
        self.left.set(left);
        if left > self.high.get() {
            self.tell(left);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell(&self, left: isize) {
        let told = self.low.get() + STEP;
        TOTAL.fetch_add(told - left, Ordering::Relaxed);
        self.low.set(left - STEP);
        self.high.set(left + STEP);
    }

    /// The rest of the allowance.
    #[inline(always)]
    fn rest(&self) -> isize {
        self.left.get() - self.floor.get()
    }

    #[cold]
    #[inline(never)]
    fn ask(&self, more: usize) -> Result<()> {
        if self.owner.get().is_null() {
            return Ok(());
        }
        self.grant(more).inspect_err(|_| visit::before_freeing(spent()))
    }

    fn grant(&self, more: usize) -> Result<()> {
        let more = isize::try_from(more).unwrap_or(isize::MAX);
        let limits = self.limits.get();
        let wanted = (self.granted.get() - self.rest()).saturating_add(more);
        if wanted > self.room.get() {
            return Err(beyond(limits.connection_bytes, "connection", "--memory-per-connection"));
        }
        let total = total_with_expected().saturating_add(more);
        if total > signed(limits.server_bytes) {
            return Err(beyond(limits.server_bytes, "server", "--memory-limit"));
        }
        let granted = wanted.saturating_add(BATCH).min(self.room.get()).min(OUTSIDE);
        self.floor.set(self.floor.get() - (granted - self.granted.get()));
        self.granted.set(granted);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn ask_for_rows(&self) -> Result<()> {
        let limit = self.limits.get().server_bytes;
        if total_with_expected() > signed(limit / 16 * 15) {
            self.rows.set(0);
            return Err(beyond(limit, "server", "--memory-limit")
                .with_hint("Delete rows, or raise --memory-limit. Rows are not added beyond 15/16 of it."));
        }
        self.rows.set(BATCH);
        Ok(())
    }
}

/// Thread-local numbers without a destructor are always accessible.
#[inline(always)]
fn with_book<T>(work: impl FnOnce(&Book) -> T) -> T {
    BOOK.try_with(work).unwrap_or_else(|_| unreachable!("the thread's numbers are never dropped"))
}

#[inline]
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

fn beyond(limit: usize, whose: &str, option: &str) -> Error {
    Error::input(sqlstate::OUT_OF_MEMORY, "out of memory")
        .with_detail(format!("The {whose} would use more than its {} MiB of memory ({option}).", limit >> 20))
        .uncatchable()
}

/// Fails with 53200 if the computing session must not take this many more bytes.
///
/// # Errors
/// 53200.
#[inline(always)]
pub fn check(more: usize) -> Result<()> {
    with_book(|book| if book.rest() < signed(more) { book.ask(more) } else { Ok(()) })
}

/// [`check`] for a function's result: also refuses values that PostgreSQL could not hold.
///
/// # Errors
/// 53200; 54000 above 1 GiB.
#[inline]
pub fn check_value(bytes: usize) -> Result<()> {
    if bytes > LARGEST_VALUE {
        let message = format!("invalid memory alloc request size {bytes}");
        return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    check(bytes)
}

/// [`check`] before a vector of `T` with room for `capacity` elements grows to `length`: it at least doubles,
/// and its content exists twice until it has moved.
///
/// # Errors
/// 53200.
#[inline]
pub fn check_growth<T>(capacity: usize, length: usize) -> Result<()> {
    if length > capacity {
        check(length.max(capacity.saturating_mul(2)).saturating_mul(size_of::<T>()))?;
    }
    Ok(())
}

/// Requests room in the tables for a row of this many bytes.
///
/// # Errors
/// 53200.
#[inline]
pub fn admit_row(bytes: usize) -> Result<()> {
    with_book(|book| {
        let rows = book.rows.get().saturating_sub(signed(bytes)) - ROW_OVERHEAD;
        book.rows.set(rows);
        if rows < 0 {
            book.ask_for_rows()?;
        }
        // The log record needs room for them as well.
        if book.rest() < signed(bytes) { book.ask(bytes) } else { Ok(()) }
    })
}

/// Charges what `work` allocates and frees to the server, whichever session computes.
#[inline]
pub fn in_database<T>(work: impl FnOnce() -> T) -> T {
    let before = with_book(|book| book.left.get());
    let value = work();
    with_book(|book| book.floor.set(book.floor.get() + (book.left.get() - before)));
    value
}

/// Reports to the total what this thread has not reported yet: for threads that come and go.
pub fn tell_total() {
    BOOK.with(|book| book.tell(book.left.get()));
}

/// What the process has allocated, plus what a restart has yet to load.
fn total_with_expected() -> isize {
    TOTAL.load(Ordering::Relaxed).saturating_add(expected_bytes())
}

/// Bytes that the process has allocated; each thread may be off by 64 KiB.
pub fn total_bytes() -> usize {
    usize::try_from(TOTAL.load(Ordering::Relaxed)).unwrap_or(0)
}

/// The memory use of one session. Only one thread at a time may enter it.
#[derive(Debug)]
pub struct Account {
    limits: Limits,
    /// The use when it was last left.
    used: AtomicIsize,
    /// The part that outlives transactions.
    kept: Keeper,
}

/// While it lives the thread counts for an account, until [`Account::leave`]. Dropped by a panic, it only
/// ends that.
#[must_use]
pub struct Entered {
    /// `None`: the thread counted for no account.
    outer: Option<Outer>,
}

/// The account for which the thread counted before.
struct Outer {
    left: isize,
    floor: isize,
    granted: isize,
    room: isize,
    limits: Limits,
    owner: *const Kept,
}

impl Outer {
    #[cold]
    #[inline(never)]
    fn of(book: &Book) -> Outer {
        Outer {
            left: book.left.get(),
            floor: book.floor.get(),
            granted: book.granted.get(),
            room: book.room.get(),
            limits: book.limits.get(),
            owner: book.owner.get(),
        }
    }

    /// The outer account is not charged for what was allocated meanwhile.
    #[cold]
    #[inline(never)]
    fn put_back(self, book: &Book) {
        book.floor.set(self.floor + (book.left.get() - self.left));
        book.granted.set(self.granted);
        book.room.set(self.room);
        book.limits.set(self.limits);
        book.owner.set(self.owner);
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        with_book(|book| match self.outer.take() {
            None => {
                book.floor.set(-OUTSIDE);
                book.granted.set(OUTSIDE);
                book.room.set(isize::MAX);
                book.limits.set(Limits::NONE);
                book.owner.set(std::ptr::null());
            }
            Some(outer) => outer.put_back(book),
        });
    }
}

impl Account {
    pub fn new(limits: Limits) -> Account {
        Account { limits, used: AtomicIsize::new(0), kept: Keeper::default() }
    }

    /// From here on this thread counts for the account.
    #[inline]
    pub fn enter(&self) -> Entered {
        with_book(|book| {
            let outer = if book.owner.get().is_null() { None } else { Some(Outer::of(book)) };
            let entered = Entered { outer };
            self.allow(book);
            book.limits.set(self.limits);
            book.owner.set(self.kept.address());
            entered
        })
    }

    /// Whether this thread counts for the account.
    #[inline]
    pub fn is_entered(&self) -> bool {
        with_book(|book| std::ptr::eq(book.owner.get(), self.kept.address()))
    }

    /// Gives the thread the allowance of an account with this account's use.
    #[inline]
    fn allow(&self, book: &Book) {
        let used = self.used.load(Ordering::Relaxed).max(0);
        let room = signed(self.limits.connection_bytes) - used;
        let granted = (FREE - used).clamp(0, room.max(0));
        book.floor.set(book.left.get() - granted);
        book.granted.set(granted);
        book.room.set(room);
    }

    /// Ends what [`Account::enter`] began.
    #[inline]
    pub fn leave(&self, entered: Entered) {
        self.used.store(self.used.load(Ordering::Relaxed) + spent(), Ordering::Relaxed);
        drop(entered);
    }

    /// The end of a transaction: what remains is the longer-lived charges, plus `more`.
    #[inline]
    pub fn settle(&self, more: usize) {
        self.used.store(self.kept.bytes() + signed(more), Ordering::Relaxed);
        if self.is_entered() {
            with_book(|book| self.allow(book));
        }
    }

    /// Bytes in use when the account was last left.
    pub fn used_bytes(&self) -> usize {
        usize::try_from(self.used.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

/// Charges the computing session for bytes that another thread has allocated and it will free.
#[inline]
pub fn adopt(bytes: usize) {
    with_book(|book| book.floor.set(book.floor.get() + signed(bytes)));
}

/// What the computing session has allocated since it was entered, less what it has freed.
#[inline]
pub fn spent() -> isize {
    with_book(|book| book.granted.get() - book.rest())
}

#[cfg(test)]
mod tests;
