//! How fast a segment is made, so that its zeroes do not take the device away from the log.
//!
//! A segment prepared ahead of need has time until the one in use is full. So its pieces are written at a
//! moderate rate, and faster only if the log itself is written faster: [`PER_USED_BYTE`] times as fast, so
//! that the next segment is ready when half of this one is used. After the first [`AT_ONCE_BYTES`] there is
//! never a burst. A segment that is needed right now is made without this pacing.
//!
//! The figures for the rate: docs/decisions/2026-11-22-prepared-segments.md.

use std::time::{Duration, Instant};

use crate::sync::now;

/// Written without a pause.
const AT_ONCE_BYTES: u64 = 4 << 20;
/// The rate while little is written to the log.
const BYTES_PER_SECOND: u64 = 64 << 20;
/// Bytes of zeroes for each byte of log written in the same time.
const PER_USED_BYTE: u64 = 2;
/// The log's own rate is checked again after this time.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The preparation of one segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    started: Instant,
    used_at_start: u64,
}

impl Pace {
    /// Starts now, when this much has been written to the log.
    pub(super) fn start(used_bytes: u64) -> Pace {
        Pace { started: now(), used_at_start: used_bytes }
    }

    /// How long to wait before more is written, when `written_bytes` of the segment and `used_bytes` of the
    /// log have been written.
    pub(super) fn pause(&self, written_bytes: u64, used_bytes: u64) -> Duration {
        pause_after(now().duration_since(self.started), written_bytes, used_bytes - self.used_at_start)
    }
}

fn pause_after(elapsed: Duration, written_bytes: u64, used_bytes: u64) -> Duration {
    let by_use = AT_ONCE_BYTES + used_bytes * PER_USED_BYTE;
    let Some(early_bytes) = written_bytes.checked_sub(by_use) else { return Duration::ZERO };
    let due = Duration::from_secs_f64(early_bytes as f64 / BYTES_PER_SECOND as f64);
    due.saturating_sub(elapsed).min(LONGEST_PAUSE)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_first_pieces_come_at_once_and_the_rest_at_the_rate() {
        assert_eq!(pause_after(Duration::ZERO, AT_ONCE_BYTES, 0), Duration::ZERO);
        assert_eq!(pause_after(Duration::ZERO, 64 * MIB, 0), LONGEST_PAUSE);
        let (mut elapsed, mut written) = (Duration::ZERO, 0);
        while written < 64 * MIB {
            match pause_after(elapsed, written, 0) {
                Duration::ZERO => written += MIB,
                pause => elapsed += pause,
            }
        }
        let seconds = elapsed.as_secs_f64();
        assert!((0.8..1.0).contains(&seconds), "64 MiB in {seconds} s");
    }

    #[test]
    fn a_fast_log_is_never_waited_for() {
        // Half of the segment is used, so all of the next one is due.
        assert_eq!(pause_after(Duration::ZERO, 64 * MIB, 32 * MIB), Duration::ZERO);
        assert_eq!(pause_after(Duration::ZERO, 40 * MIB, 16 * MIB), LONGEST_PAUSE);
    }
}
