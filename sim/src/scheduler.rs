//! One thread at a time, chosen by a seed: runs the engine and its users under a scheduler.
//!
//! Threads are the operating system's, but only the one whose turn it is runs. It gives its turn up where it
//! waits, yields, begins or ends, and at every operation of the simulated disk. The next thread is drawn from
//! the seed among those that can go on. When none can, the clock advances to the next time that a thread
//! waits for. If there is no such time, the threads are deadlocked, and the run ends with a report.
//!
//! Everything that happens goes into one number, the *trace*: each turn with its thread and time, each
//! operation of the disk. Two runs of one seed have the same trace.
//!
//! The order of two memory accesses inside a turn is not explored. That is what the models under loom, and
//! the tests with threads that really run in parallel, are for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyades_engine::conductor::{Conductor, enter};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The wall clock at the beginning: 2026-01-01.
const BEGIN_US: u64 = 1_767_225_600_000_000;
/// A run with more turns than this does not end. A long one has a hundredth of them.
const MOST_TURNS: u64 = 3_000_000;
/// Stands for no thread.
const NOBODY: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ready,
    /// Until it is woken, or until this time.
    Parked(Option<u64>),
    Joining(u64),
    Ended {
        is_well: bool,
    },
}

struct Slot {
    name: String,
    status: Status,
    /// It was woken before it parked.
    has_token: bool,
    turn: Arc<Condvar>,
}

struct State {
    threads: Vec<Slot>,
    /// Threads that have not ended.
    living: Vec<u64>,
    running: u64,
    random: StdRng,
    now_us: u64,
    /// The sum of the jumps of the wall clock.
    jumped_us: i64,
    turns: u64,
    trace: u64,
}

/// Receives a report.
type OnStuck = Box<dyn FnOnce(String) + Send>;

/// Gives turns to the threads of one run.
pub struct Scheduler {
    state: Mutex<State>,
    own: Weak<Scheduler>,
    /// Called once, if no thread can go on.
    stuck: Mutex<Option<OnStuck>>,
}

/// A summary of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub turns: u64,
    pub simulated_us: u64,
    pub trace: u64,
}

impl Slot {
    fn new(name: String) -> Slot {
        Slot { name, status: Status::Ready, has_token: false, turn: Arc::default() }
    }
}

impl State {
    fn note(&mut self, value: u64) {
        self.trace = (self.trace ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn slot(&mut self, thread: u64) -> &mut Slot {
        &mut self.threads[thread as usize]
    }

    /// Whether a thread can go on now.
    fn can_run(&self, thread: u64) -> bool {
        match self.threads[thread as usize].status {
            Status::Ready => true,
            Status::Parked(until) => until.is_some_and(|until| until <= self.now_us),
            Status::Joining(other) => matches!(self.threads[other as usize].status, Status::Ended { .. }),
            Status::Ended { .. } => false,
        }
    }

    /// Gives the turn to some thread. Returns false if none can ever go on.
    fn choose(&mut self) -> bool {
        let mut ready: Vec<u64> =
            self.living.iter().copied().filter(|thread| self.can_run(*thread)).collect();
        if ready.is_empty() {
            let next = self.living.iter().filter_map(|thread| match self.threads[*thread as usize].status {
                Status::Parked(until) => until,
                _ => None,
            });
            let Some(next) = next.min() else { return false };
            self.now_us = self.now_us.max(next);
            ready = self.living.iter().copied().filter(|thread| self.can_run(*thread)).collect();
        }
        self.running = ready[self.random.random_range(0..ready.len())];
        self.turns += 1;
        self.now_us += 1;
        let (running, now) = (self.running, self.now_us);
        self.note(running ^ now << 20);
        true
    }

    fn describe(&self) -> String {
        let living = self.living.iter().map(|thread| &self.threads[*thread as usize]);
        living.map(|slot| format!("{}: {:?}", slot.name, slot.status)).collect::<Vec<_>>().join("\n")
    }
}

impl Scheduler {
    /// Runs `body` as the first thread, and the threads that it starts, by the choices of this seed.
    ///
    /// # Errors
    /// The threads wait for each other, or do not come to an end. They are left behind.
    pub fn run<T: Send + 'static>(
        seed: u64,
        body: impl FnOnce(&Arc<Scheduler>) -> T + Send + 'static,
    ) -> Result<(T, Run), String> {
        let state = State {
            threads: vec![Slot::new("main".to_owned())],
            living: vec![0],
            running: 0,
            random: StdRng::seed_from_u64(seed),
            now_us: 0,
            jumped_us: 0,
            turns: 0,
            trace: seed,
        };
        let (ended, end) = channel();
        let (stuck, report) = (ended.clone(), |report| Err(report));
        let scheduler = Arc::new_cyclic(|own| Scheduler {
            state: Mutex::new(state),
            own: own.clone(),
            stuck: Mutex::new(Some(Box::new(move |why| drop(stuck.send(report(why)))))),
        });
        let first = move || {
            enter(Some(Arc::clone(&scheduler) as Arc<dyn Conductor>));
            let outcome = catch_unwind(AssertUnwindSafe(|| body(&scheduler)));
            // The remaining threads end, or wait in vain, which is reported.
            while scheduler.state.lock().living.len() > 1 {
                scheduler.park(Some(Duration::from_millis(1)));
            }
            enter(None);
            let state = scheduler.state.lock();
            let run = Run { turns: state.turns, simulated_us: state.now_us, trace: state.trace };
            let outcome = outcome.map(|value| (value, run));
            drop(ended.send(outcome.map_err(|_| format!("a panic, turn {}", run.turns))));
        };
        std::thread::Builder::new()
            .name("main".to_owned())
            .spawn(first)
            .map_err(|error| error.to_string())?;
        end.recv().unwrap_or_else(|_| Err("the first thread has gone".to_owned()))
    }

    /// Adds an event to the trace.
    pub fn note(&self, value: u64) {
        self.state.lock().note(value);
    }

    /// Moves the wall clock, forwards or back.
    pub fn jump(&self, by_us: i64) {
        let mut state = self.state.lock();
        state.jumped_us += by_us;
    }

    /// Gives the turn up, and returns when it comes again.
    fn switch(&self, state: &mut MutexGuard<'_, State>, thread: u64) {
        if self.choose(state) && state.running == thread {
            state.slot(thread).status = Status::Ready;
            return;
        }
        let turn = Arc::clone(&state.slot(thread).turn);
        while state.running != thread {
            turn.wait(state);
        }
        state.slot(thread).status = Status::Ready;
    }

    /// Chooses the next thread and wakes it. Returns false if the run is stuck, so that none can go on.
    fn choose(&self, state: &mut MutexGuard<'_, State>) -> bool {
        let why = if state.turns >= MOST_TURNS {
            "no end is in sight"
        } else if state.choose() {
            self.wake_running(state);
            return true;
        } else {
            "all wait for each other"
        };
        state.running = NOBODY;
        if let Some(report) = self.stuck.lock().take() {
            report(format!("{why} after {} turns:\n{}", state.turns, state.describe()));
        }
        false
    }

    fn wake_running(&self, state: &mut MutexGuard<'_, State>) {
        let running = state.running;
        state.slot(running).turn.notify_one();
    }

    /// The body of a thread.
    fn live(&self, thread: u64, run: Box<dyn FnOnce() + Send>) {
        {
            let mut state = self.state.lock();
            let turn = Arc::clone(&state.slot(thread).turn);
            while state.running != thread {
                turn.wait(&mut state);
            }
        }
        let is_well = catch_unwind(AssertUnwindSafe(run)).is_ok();
        let mut state = self.state.lock();
        state.slot(thread).status = Status::Ended { is_well };
        state.living.retain(|living| *living != thread);
        self.choose(&mut state);
    }
}

impl Conductor for Scheduler {
    fn spawn(&self, name: String, run: Box<dyn FnOnce() + Send>) -> u64 {
        let own = self.own.upgrade().expect("its thread runs");
        let thread = {
            let mut state = self.state.lock();
            let thread = state.threads.len() as u64;
            let name = name.clone();
            state.threads.push(Slot::new(name));
            state.living.push(thread);
            thread
        };
        let live = move || {
            enter(Some(Arc::clone(&own) as Arc<dyn Conductor>));
            own.live(thread, run);
        };
        std::thread::Builder::new().name(name).spawn(live).expect("a thread");
        thread
    }

    fn current(&self) -> u64 {
        self.state.lock().running
    }

    fn join(&self, thread: u64) -> bool {
        let mut state = self.state.lock();
        let own = state.running;
        if !matches!(state.threads[thread as usize].status, Status::Ended { .. }) {
            state.slot(own).status = Status::Joining(thread);
            self.switch(&mut state, own);
        }
        state.threads[thread as usize].status == Status::Ended { is_well: true }
    }

    fn park(&self, limit: Option<Duration>) {
        let mut state = self.state.lock();
        let own = state.running;
        if std::mem::take(&mut state.slot(own).has_token) {
            return;
        }
        let until = limit.map(|limit| state.now_us + (limit.as_micros() as u64).max(1));
        state.slot(own).status = Status::Parked(until);
        self.switch(&mut state, own);
    }

    fn unpark(&self, thread: u64) {
        let mut state = self.state.lock();
        let slot = state.slot(thread);
        match slot.status {
            Status::Parked(_) => slot.status = Status::Ready,
            Status::Ended { .. } => {}
            Status::Ready | Status::Joining(_) => slot.has_token = true,
        }
    }

    fn give_way(&self) {
        let mut state = self.state.lock();
        let own = state.running;
        self.switch(&mut state, own);
    }

    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.state.lock().now_us)
    }

    fn microseconds_since_1970(&self) -> u64 {
        let state = self.state.lock();
        (BEGIN_US + state.now_us).saturating_add_signed(state.jumped_us)
    }

    fn random(&self) -> u64 {
        self.state.lock().random.random()
    }
}
