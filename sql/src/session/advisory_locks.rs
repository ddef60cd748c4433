//! Advisory locks: their holders and their waiters.
//!
//! They are locks of sessions, not of the engine's transactions. They appear in no log, and a lock that a
//! session takes may outlive its transactions. One mutex guards them all and is held only briefly: a
//! session that gives up many lets others in between. How many there are is limited, for each session and for
//! all. A session that is about to wait looks for a cycle among the sessions that wait for advisory locks,
//! and gets 40P01 if its wait closes one. Cycles that also involve row locks are not detected. `lock_timeout`
//! ends those.
//!
//! Locks of a session outlive a rollback, but a statement may run again unseen, after a conflict. Each such
//! attempt begins with the locks that the statement has begun with ([`Attempt`]).
//!
//! Reference: PostgreSQL's lockfuncs.c and lock.c.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyades_types::advisory::{AdvisoryKey, AdvisoryLocks, AdvisoryRequest};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory::{self, Account, Charge};
use parking_lot::{Mutex, MutexGuard};

use crate::system::snapshot::ShownLock;

/// How many locks all sessions may hold together, and one of them.
const MOST_HELD: usize = 200_000;
const MOST_HELD_BY_ONE: usize = 100_000;
/// What a lock takes, in the table and in the lists of its session.
const BYTES_PER_LOCK: usize = 256;
/// A session is charged for its locks in steps of so many.
const CHARGED_LOCKS: usize = 256;
/// After giving up so many locks others get the mutex.
const BETWEEN_TURNS: usize = 256;

/// How many times a session holds a lock: exclusive and shared, for the session and for its transaction.
#[derive(Clone, Copy, Default)]
struct Held {
    counts: [[u32; 2]; 2],
}

impl Held {
    fn count(&mut self, request: AdvisoryRequest) -> &mut u32 {
        &mut self.counts[usize::from(request.is_shared)][usize::from(request.is_of_session)]
    }

    fn is_exclusive(&self) -> bool {
        self.counts[0] != [0; 2]
    }

    fn is_shared(&self) -> bool {
        self.counts[1] != [0; 2]
    }

    fn is_nothing(&self) -> bool {
        !self.is_exclusive() && !self.is_shared()
    }

    /// Whether it conflicts with a request of another session.
    fn hinders(&self, is_shared: bool) -> bool {
        self.is_exclusive() || !is_shared && self.is_shared()
    }
}

#[derive(Default)]
struct Entry {
    holders: Vec<(i32, Held)>,
    queue: VecDeque<(i32, AdvisoryRequest)>,
}

impl Entry {
    fn held(&mut self, session: i32) -> &mut Held {
        let at = self.holders.iter().position(|(holder, _)| *holder == session);
        let at = at.unwrap_or_else(|| {
            self.holders.push((session, Held::default()));
            self.holders.len() - 1
        });
        &mut self.holders[at].1
    }

    fn is_free_for(&self, session: i32, is_shared: bool) -> bool {
        self.holders.iter().all(|(holder, held)| *holder == session || !held.hinders(is_shared))
    }

    fn holds(&self, session: i32) -> Option<&Held> {
        self.holders.iter().find(|(holder, _)| *holder == session).map(|(_, held)| held)
    }
}

/// A request that waits, or that has been granted but not yet collected by its session.
struct Wait {
    request: AdvisoryRequest,
    is_granted: bool,
    wake: Option<Box<dyn FnOnce() + Send>>,
}

#[derive(Default)]
struct State {
    entries: HashMap<AdvisoryKey, Entry>,
    waits: HashMap<i32, Wait>,
    /// The locks that each session holds, for itself or for its transaction.
    of_sessions: HashMap<i32, HashSet<AdvisoryKey>>,
    /// The number of these.
    held: usize,
    /// The locks of each session's transaction, in the order in which they were taken.
    of_transactions: HashMap<i32, Vec<AdvisoryRequest>>,
}

/// The advisory locks of a database.
#[derive(Default)]
pub(super) struct AdvisoryTable {
    state: Mutex<State>,
}

impl State {
    fn take(&mut self, session: i32, request: AdvisoryRequest) {
        *self.entries.entry(request.key).or_default().held(session).count(request) += 1;
        self.held += usize::from(self.of_sessions.entry(session).or_default().insert(request.key));
        if !request.is_of_session {
            self.of_transactions.entry(session).or_default().push(request);
        }
    }

    /// Gives a lock up once. Returns false if it is not held.
    fn give_up(&mut self, session: i32, request: AdvisoryRequest) -> bool {
        self.give_up_often(session, request, 1)
    }

    /// Gives a lock up so many times. Returns false if it is not held as often.
    fn give_up_often(&mut self, session: i32, request: AdvisoryRequest, times: u32) -> bool {
        let Some(entry) = self.entries.get_mut(&request.key) else { return false };
        let Some(at) = entry.holders.iter().position(|(holder, _)| *holder == session) else { return false };
        let count = entry.holders[at].1.count(request);
        let Some(left) = count.checked_sub(times) else { return false };
        *count = left;
        self.settle(session, request.key);
        true
    }

    /// Takes a lock again that the session has released, as often, unless another session has it by now.
    fn take_again(&mut self, session: i32, request: AdvisoryRequest, times: u32) -> bool {
        if !matches!(self.acquire(session, request, false), Ok(true)) {
            return false;
        }
        *self.entries.entry(request.key).or_default().held(session).count(request) += times - 1;
        true
    }

    /// Grants a lock that a session may have given up, or some of its holds, to those that wait for it.
    fn settle(&mut self, session: i32, key: AdvisoryKey) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        if let Some(at) = entry.holders.iter().position(|(holder, _)| *holder == session)
            && entry.holders[at].1.is_nothing()
        {
            entry.holders.swap_remove(at);
            self.forget(session, key);
        }
        self.grant(key);
    }

    fn forget(&mut self, session: i32, key: AdvisoryKey) {
        let Some(keys) = self.of_sessions.get_mut(&session) else { return };
        self.held -= usize::from(keys.remove(&key));
        if keys.is_empty() {
            self.of_sessions.remove(&session);
        }
    }

    /// Gives up a lock however often the session, not its transaction, holds it: exclusive, and shared.
    fn give_up_of_session(&mut self, session: i32, key: AdvisoryKey) -> [u32; 2] {
        let mut given_up = [0; 2];
        if let Some(entry) = self.entries.get_mut(&key)
            && let Some((_, held)) = entry.holders.iter_mut().find(|(holder, _)| *holder == session)
        {
            given_up = std::array::from_fn(|shared| std::mem::take(&mut held.counts[shared][1]));
            self.settle(session, key);
        }
        given_up
    }

    fn held_by(&self, session: i32) -> usize {
        self.of_sessions.get(&session).map_or(0, HashSet::len)
    }

    /// Error 53200 if the session may not hold one more lock.
    fn check_room(&self, session: i32) -> Result<()> {
        if self.held < MOST_HELD && self.held_by(session) < MOST_HELD_BY_ONE {
            return Ok(());
        }
        Err(Error::input(sqlstate::OUT_OF_MEMORY, "out of shared memory")
            .with_hint("You might need to increase max_locks_per_transaction."))
    }

    /// Grants a lock to the requests at the head of its queue that are compatible.
    fn grant(&mut self, key: AdvisoryKey) {
        loop {
            let Some(entry) = self.entries.get_mut(&key) else { return };
            let Some((session, request)) = entry.queue.front().copied() else { break };
            if !entry.is_free_for(session, request.is_shared) {
                break;
            }
            entry.queue.pop_front();
            self.take(session, request);
            if let Some(wait) = self.waits.get_mut(&session) {
                wait.is_granted = true;
                if let Some(wake) = wait.wake.take() {
                    wake();
                }
            }
        }
        if self.entries.get(&key).is_some_and(|entry| entry.holders.is_empty() && entry.queue.is_empty()) {
            self.entries.remove(&key);
        }
    }

    /// The sessions for which one waits: holders, and those ahead of it.
    fn hindering(&self, waiter: i32) -> Vec<i32> {
        let waits = self.waits.get(&waiter).filter(|wait| !wait.is_granted);
        let found = waits.and_then(|wait| Some((wait, self.entries.get(&wait.request.key)?)));
        let Some((wait, entry)) = found else { return Vec::new() };
        let holders = entry.holders.iter().filter(|(_, held)| held.hinders(wait.request.is_shared));
        let ahead = entry.queue.iter().take_while(|(other, _)| *other != waiter);
        let ahead = ahead.filter(|(_, other)| !(other.is_shared && wait.request.is_shared));
        let all = holders.map(|(holder, _)| *holder).chain(ahead.map(|(other, _)| *other));
        all.filter(|other| *other != waiter).collect()
    }

    /// Whether a chain of waits leads from `session` back to it.
    fn is_in_circle(&self, session: i32) -> bool {
        let mut reached = HashSet::new();
        let mut stack = vec![session];
        while let Some(waiter) = stack.pop() {
            for next in self.hindering(waiter) {
                if next == session {
                    return true;
                }
                if reached.insert(next) {
                    stack.push(next);
                }
            }
        }
        false
    }

    /// Stops waiting, and gives up the lock if it was granted meanwhile.
    fn withdraw(&mut self, session: i32) {
        let Some(wait) = self.waits.remove(&session) else { return };
        if wait.is_granted {
            if !wait.request.is_of_session
                && let Some(taken) = self.of_transactions.get_mut(&session)
            {
                taken.pop();
            }
            self.give_up(session, wait.request);
        } else if let Some(entry) = self.entries.get_mut(&wait.request.key) {
            entry.queue.retain(|(waiter, _)| *waiter != session);
            self.grant(wait.request.key);
        }
    }

    fn acquire(&mut self, session: i32, request: AdvisoryRequest, waits: bool) -> Result<bool> {
        if let Some(wait) = self.waits.get(&session) {
            if wait.request == request && wait.is_granted {
                self.waits.remove(&session);
                return Ok(true);
            }
            if wait.request == request {
                return Err(Error::Abort(Abort::MustWait));
            }
            self.withdraw(session);
        }
        if self.entries.get(&request.key).is_none_or(|entry| entry.holds(session).is_none()) {
            self.check_room(session)?;
        }
        let entry = self.entries.entry(request.key).or_default();
        let is_free = entry.is_free_for(session, request.is_shared);
        let is_first = entry.holds(session).is_some()
            || entry.queue.iter().all(|(_, other)| other.is_shared && request.is_shared);
        if is_free && is_first {
            self.take(session, request);
            return Ok(true);
        }
        if !waits {
            return Ok(false);
        }
        // A session that holds the lock already goes ahead of those that wait for it.
        if entry.holds(session).is_some() {
            entry.queue.push_front((session, request));
        } else {
            entry.queue.push_back((session, request));
        }
        self.waits.insert(session, Wait { request, is_granted: false, wake: None });
        if self.is_in_circle(session) {
            self.withdraw(session);
            return Err(Error::input(sqlstate::DEADLOCK_DETECTED, "deadlock detected"));
        }
        Err(Error::Abort(Abort::MustWait))
    }
}

impl AdvisoryTable {
    /// The rows for `pg_locks`, ordered by session.
    ///
    /// # Errors
    /// 53200 if they are too many for the caller's memory.
    pub(super) fn shown(&self) -> Result<Vec<ShownLock>> {
        let mut all: Vec<((i32, AdvisoryKey, bool), bool)> = Vec::new();
        {
            let state = self.state.lock();
            // A session may hold a lock in both ways, or wait for the other one.
            let most = 2 * state.held + state.waits.len();
            memory::check(most * (size_of::<((i32, AdvisoryKey, bool), bool)>() + size_of::<ShownLock>()))?;
            all.reserve(most);
            for (key, entry) in &state.entries {
                for (session, held) in &entry.holders {
                    for (is_shared, has) in [(false, held.is_exclusive()), (true, held.is_shared())] {
                        if has {
                            all.push(((*session, *key, is_shared), true));
                        }
                    }
                }
                let waiting = entry.queue.iter();
                all.extend(waiting.map(|(session, request)| ((*session, *key, request.is_shared), false)));
            }
        }
        guest::spend_for(all.len())?;
        // What is held and waited for counts as held.
        all.sort_unstable_by_key(|(lock, is_granted)| (*lock, !is_granted));
        all.dedup_by_key(|(lock, _)| *lock);
        let shown =
            |((session, key, is_shared), is_granted)| ShownLock { key, session, is_shared, is_granted };
        Ok(all.into_iter().map(shown).collect())
    }

    /// The sessions for which one waits.
    pub(super) fn blockers(&self, session: i32) -> Vec<i32> {
        self.state.lock().hindering(session)
    }

    /// Gives up what the session's transaction has taken since `mark`.
    fn go_back(&self, session: i32, mark: usize) {
        let mut state = self.state.lock();
        state.withdraw(session);
        let given_up = match state.of_transactions.get_mut(&session) {
            Some(taken) if mark > 0 => taken.split_off(mark.min(taken.len())),
            _ => state.of_transactions.remove(&session).unwrap_or_default(),
        };
        for (number, request) in given_up.into_iter().enumerate() {
            state.give_up(session, request);
            if number % BETWEEN_TURNS == BETWEEN_TURNS - 1 {
                MutexGuard::bump(&mut state);
            }
        }
    }

    /// Gives up what the session holds, except for its transaction, and tells what that was.
    fn release_all(&self, session: i32, mut given_up: impl FnMut(AdvisoryRequest, u32)) {
        let mut state = self.state.lock();
        let keys: Vec<AdvisoryKey> = state.of_sessions.get(&session).into_iter().flatten().copied().collect();
        for (number, key) in keys.into_iter().enumerate() {
            for (is_shared, times) in [false, true].into_iter().zip(state.give_up_of_session(session, key)) {
                given_up(AdvisoryRequest { key, is_shared, is_of_session: true }, times);
            }
            if number % BETWEEN_TURNS == BETWEEN_TURNS - 1 {
                MutexGuard::bump(&mut state);
            }
        }
    }
}

/// What an attempt of a statement has done to the locks of its session, not of its transaction: which, and
/// how often.
#[derive(Default)]
struct Attempt {
    taken: Counts,
    released: Counts,
    /// What earlier attempts have released and other sessions have by now. It can be released once more.
    lost: Counts,
}

type Counts = HashMap<AdvisoryRequest, u32>;

/// Takes one of these away, if it is there.
fn take_one(counts: &mut Counts, request: AdvisoryRequest) -> bool {
    let Some(count) = counts.get_mut(&request) else { return false };
    *count -= 1;
    if *count == 0 {
        counts.remove(&request);
    }
    true
}

impl Attempt {
    fn note_taken(&mut self, request: AdvisoryRequest) {
        *self.taken.entry(request).or_default() += 1;
    }

    fn note_released(&mut self, request: AdvisoryRequest) {
        if !take_one(&mut self.taken, request) {
            *self.released.entry(request).or_default() += 1;
        }
    }

    /// Releases what only an earlier attempt had, if it is there.
    fn release_lost(&mut self, request: AdvisoryRequest) -> bool {
        let is_lost = !self.taken.contains_key(&request) && take_one(&mut self.lost, request);
        if is_lost {
            self.note_released(request);
        }
        is_lost
    }

    /// The number of locks that it knows of.
    fn len(&self) -> usize {
        self.taken.len() + self.released.len() + self.lost.len()
    }
}

/// The advisory locks from the view of one session.
pub(super) struct SessionLocks {
    table: Arc<AdvisoryTable>,
    session: i32,
    /// Whether the transaction has asked for a lock. Each statement and each transaction sets a mark and
    /// may go back to it. Very few of them need the shared table for that.
    has_asked: AtomicBool,
    attempt: Mutex<Attempt>,
    /// Whether there is something in `attempt`. In most statements there is not.
    has_attempt: AtomicBool,
    account: Arc<Account>,
    /// The steps in which the locks are charged, and the charge.
    charge: Mutex<(usize, Option<Charge>)>,
}

impl SessionLocks {
    /// The locks are charged to this account.
    pub(super) fn new(table: &Arc<AdvisoryTable>, session: i32, account: &Arc<Account>) -> SessionLocks {
        let (table, account) = (Arc::clone(table), Arc::clone(account));
        SessionLocks {
            table,
            session,
            has_asked: AtomicBool::new(false),
            attempt: Mutex::default(),
            has_attempt: AtomicBool::new(false),
            account,
            charge: Mutex::default(),
        }
    }

    fn note(&self, note: impl FnOnce(&mut Attempt)) {
        self.has_attempt.store(true, Ordering::Relaxed);
        note(&mut self.attempt.lock());
    }

    fn forget_attempt(&self) {
        if self.has_attempt.load(Ordering::Relaxed) {
            self.has_attempt.store(false, Ordering::Relaxed);
            *self.attempt.lock() = Attempt::default();
        }
    }

    /// Charges the session for so many locks, or for those that the attempt knows of.
    fn charge(&self, held: usize) {
        let is_noted = self.has_attempt.load(Ordering::Relaxed);
        let noted = if is_noted { self.attempt.lock().len() } else { 0 };
        let steps = held.max(noted) / CHARGED_LOCKS;
        let mut charge = self.charge.lock();
        if charge.0 != steps {
            *charge = (steps, Some(self.account.keep(steps * CHARGED_LOCKS * BYTES_PER_LOCK)));
        }
    }
}

impl std::fmt::Debug for SessionLocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "advisory locks of session {}", self.session)
    }
}

impl AdvisoryLocks for SessionLocks {
    fn acquire(&self, request: AdvisoryRequest, waits: bool) -> Result<bool> {
        self.has_asked.store(true, Ordering::Relaxed);
        let (acquired, held) = {
            let mut state = self.table.state.lock();
            (state.acquire(self.session, request, waits), state.held_by(self.session))
        };
        if request.is_of_session && matches!(acquired, Ok(true)) {
            self.note(|attempt| attempt.note_taken(request));
        }
        self.charge(held);
        acquired
    }

    fn release(&self, key: AdvisoryKey, is_shared: bool) -> bool {
        let request = AdvisoryRequest { key, is_shared, is_of_session: true };
        if self.has_attempt.load(Ordering::Relaxed) && self.attempt.lock().release_lost(request) {
            return true;
        }
        let (was_held, held) = {
            let mut state = self.table.state.lock();
            (state.give_up(self.session, request), state.held_by(self.session))
        };
        if was_held {
            self.note(|attempt| attempt.note_released(request));
        }
        self.charge(held);
        was_held
    }

    fn release_all(&self) {
        self.table.release_all(self.session, |request, times| {
            self.note(|attempt| (0..times).for_each(|_| attempt.note_released(request)));
        });
        let held = self.table.state.lock().held_by(self.session);
        self.charge(held);
    }

    fn when_granted(&self, wake: Box<dyn FnOnce() + Send>) {
        let mut state = self.table.state.lock();
        match state.waits.get_mut(&self.session) {
            Some(wait) if !wait.is_granted => wait.wake = Some(wake),
            _ => wake(),
        }
    }

    fn mark(&self) -> usize {
        if !self.has_asked.load(Ordering::Relaxed) {
            return 0;
        }
        self.table.state.lock().of_transactions.get(&self.session).map_or(0, Vec::len)
    }

    fn go_back(&self, mark: usize) {
        if self.has_asked.load(Ordering::Relaxed) {
            self.table.go_back(self.session, mark);
            let held = self.table.state.lock().held_by(self.session);
            self.charge(held);
            // Back at the beginning of the transaction it holds none, and waits for none.
            self.has_asked.store(mark > 0, Ordering::Relaxed);
        }
    }

    fn begin_statement(&self) -> usize {
        self.forget_attempt();
        self.mark()
    }

    fn repeat_statement(&self) {
        if !self.has_attempt.load(Ordering::Relaxed) {
            return;
        }
        let mut attempt = self.attempt.lock();
        let Attempt { taken, released, .. } = std::mem::take(&mut *attempt);
        let mut state = self.table.state.lock();
        let mut moved = 0;
        let mut take_turns = |state: &mut MutexGuard<'_, State>| {
            moved += 1;
            if moved % BETWEEN_TURNS == 0 {
                MutexGuard::bump(state);
            }
        };
        // First, so that a lock that is both stays held.
        for (request, times) in released {
            if !state.take_again(self.session, request, times) {
                attempt.lost.insert(request, times);
            }
            take_turns(&mut state);
        }
        for (request, times) in taken {
            state.give_up_often(self.session, request, times);
            take_turns(&mut state);
        }
        let held = state.held_by(self.session);
        drop((state, attempt));
        self.charge(held);
    }

    fn end(&self) {
        self.table.go_back(self.session, 0);
        self.release_all();
        self.forget_attempt();
        self.charge(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use hyades_types::advisory::{AdvisoryKey, AdvisoryLocks, AdvisoryRequest};

    use hyades_types::error::sqlstate;
    use hyades_types::memory::{Account, Limits};

    use super::{AdvisoryTable, MOST_HELD, MOST_HELD_BY_ONE, SessionLocks};

    const KEY: AdvisoryKey = AdvisoryKey { class: 0, object: 7, is_pair: false };

    fn request(is_of_session: bool) -> AdvisoryRequest {
        AdvisoryRequest { key: KEY, is_shared: false, is_of_session }
    }

    fn session(table: &Arc<AdvisoryTable>, number: i32) -> SessionLocks {
        SessionLocks::new(table, number, &Arc::new(Account::new(Limits::default())))
    }

    /// Whether `work` finishes while another thread holds the table's mutex.
    fn passes_by(table: &Arc<AdvisoryTable>, work: impl FnOnce() + Send + 'static) -> bool {
        let (done, is_done) = channel();
        let inside = table.state.lock();
        let worker = std::thread::spawn(move || {
            work();
            done.send(())
        });
        let passes = is_done.recv_timeout(Duration::from_secs(5)).is_ok();
        drop(inside);
        drop(worker.join());
        passes
    }

    #[test]
    fn a_session_without_locks_skips_the_table() {
        let table = Arc::new(AdvisoryTable::default());
        let locks = Arc::new(session(&table, 1));
        let mark_and_go_back = {
            let locks = Arc::clone(&locks);
            move || locks.go_back(locks.mark())
        };
        assert!(passes_by(&table, mark_and_go_back.clone()));
        // A transaction that asks for a lock, and then one that does not.
        assert!(locks.acquire(request(false), true).expect("it is free"));
        assert_eq!(locks.mark(), 1);
        locks.go_back(1);
        assert_eq!(table.shown().expect("memory").len(), 1);
        locks.go_back(0);
        assert!(table.shown().expect("memory").is_empty());
        assert!(passes_by(&table, mark_and_go_back));
    }

    #[test]
    fn sessions_hold_a_limited_number_of_locks_and_pay_for_them() {
        let table = Arc::new(AdvisoryTable::default());
        let take = |locks: &SessionLocks, class: u32, object: usize| {
            let object = u32::try_from(object).expect("a small number");
            let key = AdvisoryKey { class, object, is_pair: true };
            locks.acquire(AdvisoryRequest { key, is_shared: false, is_of_session: object % 2 == 0 }, false)
        };
        let account = Arc::new(Account::new(Limits::default()));
        let locks = SessionLocks::new(&table, 1, &account);
        let charged = |locks: &SessionLocks| locks.charge.lock().1.as_ref().map_or(0, |own| own.bytes());
        for object in 0..MOST_HELD_BY_ONE {
            assert_eq!(take(&locks, 1, object).ok(), Some(true), "{object}");
        }
        let refused = take(&locks, 1, MOST_HELD_BY_ONE).expect_err("too many");
        assert_eq!(refused.sqlstate(), sqlstate::OUT_OF_MEMORY);
        // Those that it holds it may take again.
        assert_eq!(take(&locks, 1, 0).ok(), Some(true));
        assert!(charged(&locks) > MOST_HELD_BY_ONE * 100);
        for number in 2..4 {
            let other = session(&table, number);
            for object in 0..(MOST_HELD - MOST_HELD_BY_ONE) / 2 {
                assert_eq!(take(&other, u32::try_from(number).expect("one"), object).ok(), Some(true));
            }
        }
        assert!(take(&session(&table, 4), 4, 0).is_err());
        locks.release_all();
        assert_eq!(table.shown().expect("memory").iter().filter(|lock| lock.session == 1).count(), 50_000);
        locks.end();
        assert_eq!(charged(&locks), 0);
    }

    #[test]
    fn a_statement_that_runs_again_takes_and_releases_locks_of_the_session_once() {
        let table = Arc::new(AdvisoryTable::default());
        let [locks, other] = [session(&table, 1), session(&table, 2)];
        let take = |locks: &SessionLocks| locks.acquire(request(true), false).expect("it does not wait");
        let count = || locks.table.state.lock().entries.get(&KEY).map_or(0, |entry| entry.holders.len());
        locks.begin_statement();
        for _attempt in 0..3 {
            assert!(take(&locks) && take(&locks) && locks.release(KEY, false));
            locks.repeat_statement();
            assert_eq!(count(), 0);
        }
        assert!(take(&locks));
        // It is there before a statement that releases it, and one time only.
        locks.begin_statement();
        for _attempt in 0..3 {
            assert!(locks.release(KEY, false));
            assert!(!locks.release(KEY, false));
            assert!(take(&other) && other.release(KEY, false), "it is free");
            locks.repeat_statement();
        }
        // Taken and released again, over what an earlier attempt has released.
        assert!(take(&locks) && locks.release(KEY, false) && locks.release(KEY, false));
        assert!(!locks.release(KEY, false));
        assert_eq!(count(), 0);
        locks.begin_statement();
        assert!(!locks.release(KEY, false), "nothing is left of the statement before");
    }

    #[test]
    fn an_attempt_that_does_not_release_a_lock_finds_it_held() {
        let table = Arc::new(AdvisoryTable::default());
        let [locks, other] = [session(&table, 1), session(&table, 2)];
        let take = |locks: &SessionLocks| locks.acquire(request(true), false).expect("it does not wait");
        for releases_all in [false, true] {
            assert!(take(&locks) && take(&locks));
            locks.begin_statement();
            for _attempt in 0..2 {
                assert!(locks.release(KEY, false));
                if releases_all {
                    locks.release_all();
                }
                assert_eq!(take(&other), releases_all);
                other.release_all();
                locks.repeat_statement();
            }
            locks.begin_statement();
            assert!(!take(&other), "the last attempt has not released it");
            assert!(locks.release(KEY, false) && locks.release(KEY, false) && !locks.release(KEY, false));
        }
        // Another session has it when the statement is repeated.
        assert!(take(&locks));
        locks.begin_statement();
        assert!(locks.release(KEY, false) && take(&other));
        locks.repeat_statement();
        assert!(locks.release(KEY, false) && !locks.release(KEY, false));
        locks.begin_statement();
        assert!(other.release(KEY, false));
    }

    #[test]
    fn locks_of_the_session_outlive_its_transactions() {
        let table = Arc::new(AdvisoryTable::default());
        let locks = session(&table, 1);
        assert!(locks.acquire(request(true), true).expect("it is free"));
        locks.go_back(0);
        assert_eq!((locks.mark(), table.shown().expect("memory").len()), (0, 1));
        assert!(!session(&table, 2).acquire(request(false), false).expect("it does not wait"));
        locks.end();
        assert!(table.shown().expect("memory").is_empty());
    }
}
