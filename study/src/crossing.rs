//! What two processors cost each other, measured with two threads: a cache line that the other one has
//! written, and a thread that sleeps and is woken.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyades_bench::spread::Spread;

/// Hand-overs in a group, and groups: some of them are not interrupted by other programs.
const HANDOVERS: u64 = 100;
const GROUPS: u64 = 1_000;
/// Polls until a thread offers its processor, which the other one may need.
const POLLS: u32 = 4_096;

/// So often a thread is woken, after a time in which it has certainly fallen asleep.
const WAKES: usize = 200;
const FALLS_ASLEEP_IN: Duration = Duration::from_micros(300);

/// If there is one processor only.
const USUAL_LINE_NS: f64 = 100.0;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// Nanoseconds until one processor sees what another one has written.
    pub line: Spread,
    /// Until a thread runs that is woken.
    pub wake_ns: u64,
    /// What it costs to wake it.
    pub unpark_ns: u64,
}

pub(crate) fn measure() -> Crossing {
    let usual = Spread { median: USUAL_LINE_NS, min: USUAL_LINE_NS, max: USUAL_LINE_NS };
    let (wake_ns, unpark_ns) = wake_ns();
    Crossing { line: line_ns().unwrap_or(usual), wake_ns, unpark_ns }
}

/// Nanoseconds until one processor sees what another one has written: the median of the groups, the smallest,
/// and what nine tenths of them do not exceed. `None` on one processor.
pub(crate) fn line_ns() -> Option<Spread> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return None;
    }
    let turn = AtomicU64::new(0);
    let all = HANDOVERS * GROUPS;
    let mut groups: Vec<f64> = Vec::with_capacity(GROUPS as usize);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..all {
                wait_for(&turn, 2 * number + 1);
                turn.store(2 * number + 2, Ordering::Release);
            }
        });
        for group in 0..GROUPS {
            let begun = Instant::now();
            for number in group * HANDOVERS..(group + 1) * HANDOVERS {
                turn.store(2 * number + 1, Ordering::Release);
                wait_for(&turn, 2 * number + 2);
            }
            groups.push(begun.elapsed().as_nanos() as f64 / (2 * HANDOVERS) as f64);
        }
    });
    groups.sort_by(f64::total_cmp);
    let at = |share: usize| groups[(groups.len() - 1) * share / 10];
    Some(Spread { median: at(5), min: at(0), max: at(9) })
}

fn wait_for(turn: &AtomicU64, number: u64) {
    let mut polls = 0_u32;
    while turn.load(Ordering::Acquire) < number {
        polls += 1;
        match polls.is_multiple_of(POLLS) {
            true => std::thread::yield_now(),
            false => hint::spin_loop(),
        }
    }
}

/// Nanoseconds until a thread runs that is woken, and those that it takes to wake it: what a quarter of the
/// attempts do not exceed, because other programs only make it longer.
fn wake_ns() -> (u64, u64) {
    let begun = Instant::now();
    let since = || begun.elapsed().as_nanos() as u64;
    let (woken, ran, is_over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let (mut wakes, mut unparks) = (Vec::with_capacity(WAKES), Vec::with_capacity(WAKES));
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                std::thread::park();
                if woken.load(Ordering::Acquire) > ran.load(Ordering::Relaxed) {
                    ran.store(since(), Ordering::Release);
                }
            }
        });
        for _ in 0..WAKES {
            std::thread::sleep(FALLS_ASLEEP_IN);
            let at = since();
            woken.store(at, Ordering::Release);
            sleeper.thread().unpark();
            unparks.push(since() - at);
            while ran.load(Ordering::Acquire) < at {
                std::thread::yield_now();
            }
            wakes.push(ran.load(Ordering::Acquire) - at);
        }
        is_over.store(true, Ordering::Release);
        sleeper.thread().unpark();
    });
    (quarter(wakes), quarter(unparks))
}

fn quarter(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 4).copied().unwrap_or(0)
}
