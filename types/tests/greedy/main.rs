//! Every function, operator and cast with the greediest arguments that could be thought of, in a session with
//! little memory.
//!
//! For each of them, with [`SETS`] sets of arguments:
//!
//! * the thread never holds much more than the account's limit ([`SLACK`]): whatever collects asks before it
//!   takes, so a refusal comes before the memory is gone, and afterwards everything is given back;
//! * a request to stop is heard: of a call that goes on after [`PATIENCE`] nothing is left at [`HANGS`];
//! * nothing panics, and what the table of functions says is computed.
//!
//! A call that takes more than [`RUNAWAY`] is parked where it allocates, and one that hangs is left behind,
//! so that all calls are made whatever some of them do. `HYADES_GREEDY` (a part of a name) selects calls, and
//! prints the slowest.

mod arguments;
mod calls;
mod watched;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyades_types::error::{Error, sqlstate};
use hyades_types::guest::{self, Guest, Host, StopRequest};
use hyades_types::memory::{Account, Limits};

use calls::{Call, Expectation};
use watched::Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// The limit of the account.
const LIMIT: usize = 8 << 20;
/// What a call may hold beyond the limit: one piece of a result, and what a vector takes to double.
const SLACK: usize = 4 << 20;
/// What may stay for the next call: a compiled expression or two.
const KEPT: usize = 16 << 20;
/// A thread that holds this much is parked.
const RUNAWAY: usize = 96 << 20;
/// When a call is asked to stop.
const PATIENCE: Duration = Duration::from_millis(50);
/// A call that lives this long after that does not hear the request.
const HANGS: Duration = Duration::from_secs(20);
/// Steps of a computation in which it looks at least once.
const STEPS_PER_LOOK: u64 = 1 << 17;
/// Sets of arguments for each signature.
pub(crate) const SETS: usize = 20;

/// Asks its guest to stop after a while. Only a guest that looks at the clock calls it.
struct Impatient {
    stop: Arc<StopRequest>,
}

impl Host for Impatient {
    fn overstayed(&mut self, time: Duration) {
        if time >= PATIENCE {
            self.stop.cancel();
        }
    }
}

/// What a call was seen to do.
struct Seen {
    /// In the order of the calls.
    number: usize,
    problem: Option<String>,
    took: Duration,
    peak: usize,
    state: &'static str,
}

fn state_of(error: &Error) -> &'static str {
    error.sqlstate().0
}

/// Makes one call in an account and as a guest of its own.
fn attempt(number: usize, call: &Call) -> Seen {
    let stop = Arc::<StopRequest>::default();
    let mut one = Box::new(Guest::new(Arc::clone(&stop)));
    one.set_host(Box::new(Impatient { stop }));
    let account = Account::new(Limits { connection_bytes: LIMIT, ..Limits::NONE });
    let arguments = call.arguments();
    let (start, looks) = (Instant::now(), guest::looks());
    let before = watched::begin();
    let entered = account.enter();
    let visit = guest::enter(Some(one));
    let result = catch_unwind(AssertUnwindSafe(|| call.run(arguments)));
    let peak = watched::peak().saturating_sub(before);
    drop(visit);
    account.leave(entered);
    let (took, looks) = (start.elapsed(), guest::looks() - looks);
    let (state, problem) = match &result {
        Err(_) => ("panic", Some("it panicked".to_owned())),
        Ok(Ok(())) => ("", None),
        Ok(Err(error)) if error.sqlstate() == sqlstate::INTERNAL_ERROR => {
            let is_wrong = call.expectation == Expectation::Computed;
            (state_of(error), is_wrong.then(|| "it is not computed".to_owned()))
        }
        Ok(Err(error)) => (state_of(error), None),
    };
    drop(result);
    // The arguments are gone, too, so this is a lower bound.
    let kept = watched::held().saturating_sub(before);
    let problem = problem
        .or_else(|| (peak > LIMIT + SLACK).then(|| format!("it held {} KiB", peak >> 10)))
        .or_else(|| {
            // Whatever was not stopped has looked in proportion to its work.
            let is_whole = state.is_empty() && looks < call.steps / STEPS_PER_LOOK;
            is_whole.then(|| format!("{looks} looks in {} steps", call.steps))
        })
        .or_else(|| (kept > KEPT).then(|| format!("{} KiB were kept", kept >> 10)));
    Seen { number, problem, took, peak, state }
}

/// Makes all calls from this one on, until the thread is parked or left behind.
fn work(calls: &Arc<Vec<Call>>, from: usize, progress: &Arc<Mutex<(usize, Instant)>>, seen: &Sender<Seen>) {
    for (number, call) in calls.iter().enumerate().skip(from) {
        *progress.lock().expect("no holder panics") = (number, Instant::now());
        if seen.send(attempt(number, call)).is_err() {
            return;
        }
    }
}

/// A thread that makes calls.
struct Worker {
    progress: Arc<Mutex<(usize, Instant)>>,
    runaway: Arc<watched::Flag>,
    seen: Receiver<Seen>,
}

impl Worker {
    fn start(calls: &Arc<Vec<Call>>, from: usize) -> Worker {
        let (sender, seen) = channel();
        let progress = Arc::new(Mutex::new((from, Instant::now())));
        let runaway = Arc::new(watched::Flag::new(false));
        let worker = Worker { progress: Arc::clone(&progress), runaway: Arc::clone(&runaway), seen };
        let calls = Arc::clone(calls);
        // Left behind if it does not end; the process ends all the same.
        drop(std::thread::spawn(move || {
            watched::park_beyond(RUNAWAY, runaway);
            work(&calls, from, &progress, &sender);
        }));
        worker
    }

    /// What is wrong with the call that is being made.
    fn trouble(&self) -> Option<(usize, &'static str)> {
        let (number, since) = *self.progress.lock().expect("no holder panics");
        if self.runaway.load(std::sync::atomic::Ordering::Acquire) {
            return Some((number, "it takes memory without end"));
        }
        (since.elapsed() > HANGS).then_some((number, "it does not end"))
    }
}

fn report(seen: &[Seen], calls: &[Call]) {
    let mut slow: Vec<&Seen> = seen.iter().collect();
    slow.sort_by_key(|one| std::cmp::Reverse(one.took));
    for one in slow.iter().take(40) {
        let call = &calls[one.number];
        eprintln!(
            "{:>7.1} ms {:>8} KiB {:>5} {}",
            one.took.as_secs_f64() * 1e3,
            one.peak >> 10,
            one.state,
            call.name
        );
    }
}

#[test]
fn no_call_takes_more_than_its_session_may_have() {
    let wanted = std::env::var("HYADES_GREEDY").ok();
    let mut calls = calls::all();
    let functions =
        calls.iter().map(|call| call.subject.clone()).collect::<std::collections::HashSet<_>>().len();
    if let Some(wanted) = &wanted {
        calls.retain(|call| call.name.contains(wanted.as_str()));
    }
    let calls = Arc::new(calls);
    let mut worker = Worker::start(&calls, 0);
    let (mut done, mut all, mut problems) = (0, Vec::new(), Vec::new());
    let mut wrong = |problem: String| {
        eprintln!("{problem}");
        problems.push(problem);
    };
    while done < calls.len() {
        match worker.seen.recv_timeout(Duration::from_millis(20)) {
            Ok(seen) => {
                done = seen.number + 1;
                if let Some(problem) = &seen.problem {
                    wrong(format!("{}: {problem} ({})", calls[seen.number].name, seen.state));
                }
                all.push(seen);
            }
            Err(RecvTimeoutError::Timeout) => {
                let Some((number, problem)) = worker.trouble() else { continue };
                wrong(format!("{}: {problem}", calls[number].name));
                done = number + 1;
                worker = Worker::start(&calls, done);
            }
            Err(RecvTimeoutError::Disconnected) => panic!("a thread ended at {}", calls[done].name),
        }
    }
    if wanted.is_some() {
        report(&all, &calls);
    }
    eprintln!("{} calls of {functions} functions, operators and casts", calls.len());
    assert!(problems.is_empty(), "{} calls", problems.len());
}
