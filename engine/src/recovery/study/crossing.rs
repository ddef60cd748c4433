//! Measures what one thread cannot: what two processors cost each other.
//!
//! Each figure is a low one of many, because every disturbance by other programs makes it larger.

use std::sync::Arc;
use std::time::Duration;

use hyades_types::error::{Error, Result};

use super::CrossingCosts;
use crate::sync::{AtomicBool, AtomicU64, JoinHandle, Ordering, now, park};

/// Times that two threads answer each other, in so many groups: some of them are not interrupted.
const ANSWERS: u64 = 25;
const GROUPS: usize = 800;
/// A line of memory that comes from another processor, in nanoseconds, where that cannot be measured.
const USUAL_HANDOVER: u64 = 100;
/// If it took longer, the two threads have never run at the same time.
const LONGEST_HANDOVER: u64 = 1000;
/// So often a thread is woken.
const WAKES: usize = 60;
/// After this time a thread that has nothing to do is certain to sleep.
const FALLS_ASLEEP_IN: Duration = Duration::from_micros(300);

pub(super) fn measure() -> Result<CrossingCosts> {
    let has_two = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
    let measured = if has_two { handover()? } else { USUAL_HANDOVER };
    let handover = if measured <= LONGEST_HANDOVER { measured } else { USUAL_HANDOVER };
    let (wake, unpark) = wake()?;
    Ok(CrossingCosts { handover, wake, unpark })
}

fn spawn(run: impl FnOnce() + Send + 'static) -> Result<JoinHandle> {
    crate::sync::spawn("hyades-crossing".to_owned(), run)
        .map_err(|error| Error::io("could not start a thread", &error))
}

fn join(thread: JoinHandle) -> Result<()> {
    thread.join().map_err(|_| super::super::workers::panicked())
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// Nanoseconds until one processor sees what another one has written.
fn handover() -> Result<u64> {
    let turn = Arc::new(AtomicU64::new(0));
    let all = ANSWERS * GROUPS as u64;
    let other = spawn({
        let turn = Arc::clone(&turn);
        move || {
            for number in 0..all {
                wait_for(&turn, 2 * number + 1);
                turn.store(2 * number + 2, Ordering::Release);
            }
        }
    })?;
    let mut least = u64::MAX;
    for group in 0..GROUPS as u64 {
        let begun = now();
        for number in group * ANSWERS..(group + 1) * ANSWERS {
            turn.store(2 * number + 1, Ordering::Release);
            wait_for(&turn, 2 * number + 2);
        }
        least = least.min(nanoseconds(now().duration_since(begun)) / (2 * ANSWERS));
    }
    join(other)?;
    Ok(least)
}

fn wait_for(turn: &AtomicU64, number: u64) {
    let mut looks = 0_u32;
    while turn.load(Ordering::Acquire) < number {
        looks += 1;
        match looks.is_multiple_of(4096) {
            // The other thread may have lost its processor.
            true => crate::sync::yield_now(),
            false => std::hint::spin_loop(),
        }
    }
}

/// Nanoseconds until a thread runs that is woken, and those that it takes to wake it.
fn wake() -> Result<(u64, u64)> {
    let begun = now();
    let since = move || nanoseconds(now().duration_since(begun));
    // When it was woken, and when it ran.
    let (woken, ran) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let is_over = Arc::new(AtomicBool::new(false));
    let sleeper = spawn({
        let (woken, ran, is_over) = (Arc::clone(&woken), Arc::clone(&ran), Arc::clone(&is_over));
        move || {
            while !is_over.load(Ordering::Acquire) {
                park();
                if woken.load(Ordering::Acquire) > ran.load(Ordering::Relaxed) {
                    ran.store(since(), Ordering::Release);
                }
            }
        }
    })?;
    let (mut wakes, mut unparks) = (Vec::with_capacity(WAKES), Vec::with_capacity(WAKES));
    for _ in 0..WAKES {
        crate::sync::sleep(FALLS_ASLEEP_IN);
        let at = since();
        woken.store(at, Ordering::Release);
        sleeper.thread().unpark();
        unparks.push(since() - at);
        while ran.load(Ordering::Acquire) < at {
            crate::sync::yield_now();
        }
        wakes.push(ran.load(Ordering::Acquire) - at);
    }
    is_over.store(true, Ordering::Release);
    sleeper.thread().unpark();
    join(sleeper)?;
    Ok((quarter(wakes), quarter(unparks)))
}

/// What a quarter of them does not exceed.
fn quarter(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 4).copied().unwrap_or(0)
}
