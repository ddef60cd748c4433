//! Memory belongs to somebody: who uses how much, and who is told "out of memory" (53200) before the process
//! is.
//!
//! **Counting.** The program's allocator ([`Counted`]) adds up what each thread allocates and frees, so
//! nothing is forgotten: rows and indexes, results, sorts, parse trees, arrays, undo lists, whatever a
//! library keeps. Each thread counts for itself in one word, `left`, which falls with what is allocated and
//! rises with what is freed. Every 64 KiB ([`STEP`]) the thread tells the process's total.
//!
//! ```text
//!             Account::enter                   allocations, frees                Account::leave
//!   outside ---------------------> floor = left - allowance ------> left falls ------------> account.used += what is gone
//!                                              \-- in_database(): `floor` falls and rises with `left`, so that rows
//!                                                  and index entries are the server's, not the account's
//! ```
//! **Who pays.** While a session computes, its thread counts for the session's [`Account`]. What goes into
//! tables, and what the epoch frees, is counted apart ([`in_database`]). At the end of a transaction the
//! account is set back to what it is known to keep ([`Account::settle`]), so that what it freed for others,
//! and others for it, does not add up.
//!
//! **Asking.** An allocation cannot fail in an orderly way, so code asks: [`check`] before it takes much at
//! once, and after each row, message or instruction that keeps something; [`admit_row`] before a row goes
//! into a table. Asking costs a comparison of `left` with `floor`. Only when the allowance is used up the
//! account is looked at, then the server's total, and the allowance grows by a [`BATCH`].
//!
//! | limit | what is compared | who gets 53200 |
//! |---|---|---|
//! | [`Limits::connection_bytes`] | the account | its statement |
//! | [`Limits::server_bytes`] | the process | the statement that wants more than the first [`FREE`] bytes of its account |
//! | 15/16 of that | the process | the statement that adds a row: deletes and rollbacks get the rest |
//!
//! Invariants:
//! 1. `left` of a thread changes only by what it allocates and frees, whoever pays; the total never counts
//!    anything twice.
//! 2. Outside of an account nothing is ever refused: recovery, replay, loggers and rollbacks take what they
//!    need.
//! 3. What a restart has yet to load is compared as if it had been allocated ([`Expected`]).
//! 4. A refusal depends on what else runs, so no handler of a routine may catch it (`procedure::control`):
//!    replay could not repeat that.
//!
//! Programs without [`Counted`] have no limits but those of single values.

mod allocator;
mod expected;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use crossbeam_utils::CachePadded;

pub use allocator::Counted;
pub use expected::Expected;

use crate::error::{Error, Result, sqlstate};
use expected::expected_bytes;

/// A thread tells the process's total when it is off by so much.
const STEP: isize = 64 << 10;
/// By so much an allowance grows, and so many bytes of rows go into tables between two looks at the total.
const BATCH: isize = 256 << 10;
/// So much every account has whatever the others use: reads and short transactions go on in a server that is
/// full.
pub const FREE: isize = 1 << 20;
/// What a row costs beside its bytes: its record and its place in the index.
const ROW_OVERHEAD: isize = 48;
/// The allowance where nobody is asked: far from both ends, so that nothing wraps.
const OUTSIDE: isize = isize::MAX / 2;
/// PostgreSQL's largest value: `MaxAllocSize`.
pub const LARGEST_VALUE: usize = 0x3fff_ffff;

/// What the process has allocated, as far as its threads have said.
static TOTAL: CachePadded<AtomicIsize> = CachePadded::new(AtomicIsize::new(0));

/// What one thread knows.
struct Book {
    /// See the module head.
    left: Cell<isize>,
    /// The total is told when `left` leaves the range from `low` to `high`; in its middle nothing is untold.
    low: Cell<isize>,
    high: Cell<isize>,
    /// Where `left` stands when the allowance is used up.
    floor: Cell<isize>,
    /// The allowance.
    granted: Cell<isize>,
    /// How far it may grow.
    room: Cell<isize>,
    limits: Cell<Limits>,
    /// Whose allowance it is; only compared.
    owner: Cell<*const Account>,
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

/// How much memory there is.
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

    /// What is left of the allowance.
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

/// Numbers of the thread without a destructor are always there.
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

/// Fails with 53200 if the session that computes must not take so many bytes more.
///
/// # Errors
/// 53200.
#[inline(always)]
pub fn check(more: usize) -> Result<()> {
    with_book(|book| if book.rest() < signed(more) { book.ask(more) } else { Ok(()) })
}

/// [`check`] for what a function is about to return: refuses what PostgreSQL could not hold, too.
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

/// [`check`] before a vector of `T` with room for `capacity` elements gets `length` of them: it doubles then,
/// at least, and what it held is there twice until it has moved.
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

/// Asks for room in the tables for a row of so many bytes.
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
        // The log record takes them as well.
        if book.rest() < signed(bytes) { book.ask(bytes) } else { Ok(()) }
    })
}

/// What `work` allocates and frees is the server's, whoever computes.
#[inline]
pub fn in_database<T>(work: impl FnOnce() -> T) -> T {
    let before = with_book(|book| book.left.get());
    let value = work();
    with_book(|book| book.floor.set(book.floor.get() + (book.left.get() - before)));
    value
}

/// Tells the total what this thread has not told yet: for threads that come and go.
pub fn tell_total() {
    BOOK.with(|book| book.tell(book.left.get()));
}

/// What the process has allocated, and what a restart has yet to load.
fn total_with_expected() -> isize {
    TOTAL.load(Ordering::Relaxed).saturating_add(expected_bytes())
}

/// Bytes that the process has allocated; each thread may be off by 64 KiB.
pub fn total_bytes() -> usize {
    usize::try_from(TOTAL.load(Ordering::Relaxed)).unwrap_or(0)
}

/// What one session uses. Only one thread at a time may enter it.
#[derive(Debug)]
pub struct Account {
    limits: Limits,
    /// When it was left.
    used: AtomicIsize,
    /// What outlives transactions.
    kept: Arc<AtomicIsize>,
}

/// Part of what an account keeps for longer than a transaction; given back when dropped, wherever that is.
#[derive(Debug)]
pub struct Charge {
    bytes: isize,
    kept: Arc<AtomicIsize>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.kept.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The thread counts for an account, until [`Account::leave`]. Dropped by a panic, it only ends that.
#[must_use]
pub struct Entered {
    /// `None`: the thread counted for nobody.
    outer: Option<Outer>,
}

/// For whom the thread counted before.
struct Outer {
    left: isize,
    floor: isize,
    granted: isize,
    room: isize,
    limits: Limits,
    owner: *const Account,
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

    /// It pays nothing of what was allocated meanwhile.
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
        Account { limits, used: AtomicIsize::new(0), kept: Arc::default() }
    }

    /// From here on this thread counts for the account.
    #[inline]
    pub fn enter(&self) -> Entered {
        with_book(|book| {
            let outer = if book.owner.get().is_null() { None } else { Some(Outer::of(book)) };
            let entered = Entered { outer };
            self.allow(book);
            book.limits.set(self.limits);
            book.owner.set(self);
            entered
        })
    }

    /// Whether this thread counts for the account.
    #[inline]
    pub fn is_entered(&self) -> bool {
        with_book(|book| std::ptr::eq(book.owner.get(), self))
    }

    /// Gives the thread the allowance of an account that uses what this one does.
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

    /// The end of a transaction: what is left is what was charged for longer, and `more`.
    #[inline]
    pub fn settle(&self, more: usize) {
        self.used.store(self.kept.load(Ordering::Relaxed) + signed(more), Ordering::Relaxed);
        if self.is_entered() {
            with_book(|book| self.allow(book));
        }
    }

    /// Charges the account for longer than a transaction.
    pub fn keep(&self, bytes: usize) -> Charge {
        let bytes = signed(bytes);
        self.kept.fetch_add(bytes, Ordering::Relaxed);
        Charge { bytes, kept: Arc::clone(&self.kept) }
    }

    /// Bytes used when the account was left.
    pub fn used_bytes(&self) -> usize {
        usize::try_from(self.used.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

/// What the session that computes has taken since it was entered, less what it has freed.
#[inline]
pub fn spent() -> isize {
    with_book(|book| book.granted.get() - book.rest())
}

#[cfg(test)]
mod tests;
