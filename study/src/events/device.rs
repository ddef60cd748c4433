//! A device that logs are written to: a queue with a bandwidth and a latency, as the throttle of the
//! benchmark (`bench/src/device/throttle.rs`).

use hyades_bench::device::{BUCKET, DeviceKind, Profile, SHORTEST_SLEEP};

/// The speed of one device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    pub bytes_per_second: f64,
    pub latency_ns: u64,
    /// It transfers nothing while a write waits for its latency.
    pub is_one_at_a_time: bool,
    /// It makes up for writes that come late by so much.
    pub bucket_ns: u64,
    /// A writer does not wait for so little.
    pub neglects_ns: u64,
}

impl Speed {
    /// That of the throttle; `scaled` to this many workers, or as it is. `None`: nothing waits.
    pub(super) fn of(kind: DeviceKind, scaled: Option<u64>) -> Option<Speed> {
        let Profile { bytes_per_second, latency_us, at_once } = kind.profile()?;
        let bytes_per_second = match scaled {
            Some(workers) => kind.bandwidth(workers)?,
            None => bytes_per_second,
        };
        Some(Speed {
            bytes_per_second,
            latency_ns: latency_us * 1_000,
            is_one_at_a_time: at_once == 1,
            bucket_ns: BUCKET.as_nanos() as u64,
            neglects_ns: SHORTEST_SLEEP.as_nanos() as u64,
        })
    }
}

/// See the module head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    speed: Speed,
    /// When the bytes requested so far have been transferred.
    moved: Option<u64>,
}

impl Device {
    pub(super) fn new(speed: Speed) -> Device {
        Device { speed, moved: None }
    }

    /// Returns when the writer of so much goes on that begins now. One log writes one block at a time, so the
    /// limit on concurrent writes is not reached.
    pub(super) fn write(&mut self, now: u64, bytes: u64) -> u64 {
        let Speed { bytes_per_second, latency_ns, is_one_at_a_time, bucket_ns, neglects_ns } = self.speed;
        let (busy, after) = if is_one_at_a_time { (latency_ns, 0) } else { (0, latency_ns) };
        let full = now.saturating_sub(bucket_ns);
        let begin = self.moved.map_or(now, |moved| moved.max(full));
        let end = begin + (bytes as f64 * 1e9 / bytes_per_second) as u64 + busy;
        self.moved = Some(end);
        let done = end.max(now) + after;
        // Reading the clock takes time, too: what is no longer than that is not slept for.
        if done - now <= neglects_ns { now } else { done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_queue_and_makes_up_for_late_writes() {
        let speed = Speed {
            bytes_per_second: 1e9,
            latency_ns: 100,
            is_one_at_a_time: false,
            bucket_ns: 5_000_000,
            neglects_ns: 50,
        };
        let mut device = Device::new(speed);
        assert_eq!(device.write(0, 1_000), 1_100);
        assert_eq!(device.write(0, 1_000), 2_100, "the bandwidth is shared, the latency is not");
        // A writer that comes a millisecond late finds the bucket full.
        assert_eq!(device.write(1_002_000, 1_000), 1_002_100);
        let mut disk = Device::new(Speed { is_one_at_a_time: true, ..speed });
        assert_eq!((disk.write(0, 1_000), disk.write(0, 1_000)), (1_100, 2_200));
    }

    #[test]
    fn hard_disks_are_those_of_the_throttle() {
        let speed = Speed::of(DeviceKind::Hdd, Some(2)).expect("throttled");
        assert_eq!((speed.bytes_per_second, speed.latency_ns), (4e6, 8_000_000));
        assert!(speed.is_one_at_a_time);
        let mut nvme = Device::new(Speed::of(DeviceKind::Nvme, Some(2)).expect("throttled"));
        assert_eq!(nvme.write(1_000_000_000, 0), 1_000_000_000, "nothing sleeps for 20 us");
        assert!(Speed::of(DeviceKind::Ram, None).is_none());
    }
}
