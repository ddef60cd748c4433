//! One device: a token bucket for bandwidth, a latency for durable writes, a limit on concurrent operations.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The speed of a device.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub bytes_per_second: f64,
    /// Of a durable write.
    pub latency_us: u64,
    /// How many writes it does at once.
    pub at_once: u32,
}

/// The bucket holds what the device transfers in this time: more than a thread oversleeps on a machine whose
/// clock ticks every 4 ms.
pub const BUCKET: Duration = Duration::from_millis(5);
/// Shorter waits are not worth a sleep.
pub const SHORTEST_SLEEP: Duration = Duration::from_micros(20);

pub(super) struct Spindle {
    profile: Profile,
    /// When the bytes requested so far have been transferred, and the device is free again.
    moved: Mutex<Option<Instant>>,
    running: Mutex<u32>,
    one_done: Condvar,
}

impl Spindle {
    pub(super) fn new(profile: Profile) -> Spindle {
        Spindle { profile, moved: Mutex::default(), running: Mutex::default(), one_done: Condvar::new() }
    }

    /// Returns when this many bytes would be durable.
    pub(super) fn write(&self, bytes: usize) {
        let mut running = self.running.lock();
        while *running >= self.profile.at_once {
            self.one_done.wait(&mut running);
        }
        *running += 1;
        drop(running);
        let latency = Duration::from_micros(self.profile.latency_us);
        // A device that does one thing at a time transfers nothing while its head moves.
        let done = match self.profile.at_once {
            1 => self.transfer(bytes, latency),
            _ => self.transfer(bytes, Duration::ZERO) + latency,
        };
        sleep_until(done);
        *self.running.lock() -= 1;
        self.one_done.notify_one();
    }

    /// Returns when this many bytes would have been read, one after the other.
    pub(super) fn read(&self, bytes: usize) {
        sleep_until(self.transfer(bytes, Duration::ZERO));
    }

    /// Takes tokens. Returns when they will be available. The device is busy for `busy` longer.
    fn transfer(&self, bytes: usize, busy: Duration) -> Instant {
        let mut moved = self.moved.lock();
        let now = Instant::now();
        let full = now.checked_sub(BUCKET).unwrap_or(now);
        let start = moved.map_or(now, |moved| moved.max(full));
        let end = start + Duration::from_secs_f64(bytes as f64 / self.profile.bytes_per_second) + busy;
        *moved = Some(end);
        end.max(now)
    }
}

fn sleep_until(end: Instant) {
    let rest = end.saturating_duration_since(Instant::now());
    if rest >= SHORTEST_SLEEP {
        std::thread::sleep(rest);
    }
}
