//! Rate limits for log lines with which clients could flood the log.
//!
//! Each kind of line has a maximum number per window of time. The first line of a later window reports how
//! many were left out before it.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

const WINDOW: Duration = Duration::from_secs(10);
const LINES_PER_WINDOW: u32 = 10;

struct Window {
    begin: Instant,
    written: u32,
    left_out: u64,
}

/// One kind of line.
pub struct Seldom(Mutex<Option<Window>>);

impl Default for Seldom {
    fn default() -> Seldom {
        Seldom::new()
    }
}

impl Seldom {
    pub const fn new() -> Seldom {
        Seldom(Mutex::new(None))
    }

    /// Whether to write a line now, and how many were left out since the last one.
    pub fn pass(&self) -> Option<u64> {
        self.pass_at(Instant::now())
    }

    fn pass_at(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock();
        let is_over = |window: &Window| now.saturating_duration_since(window.begin) >= WINDOW;
        if window.as_ref().is_none_or(is_over) {
            let left_out = window.take().map_or(0, |window| window.left_out);
            *window = Some(Window { begin: now, written: 1, left_out: 0 });
            return Some(left_out);
        }
        let window = window.as_mut()?;
        if window.written < LINES_PER_WINDOW {
            window.written += 1;
            return Some(0);
        }
        window.left_out += 1;
        None
    }
}

/// An event of a [`Seldom`] kind: level, kind, then as in `tracing`'s own macros.
macro_rules! seldom {
    ($level:ident, $kind:expr, $($event:tt)+) => {
        match $kind.pass() {
            Some(0) => tracing::$level!($($event)+),
            Some(left_out) => tracing::$level!(left_out, $($event)+),
            None => {}
        }
    };
}
pub(crate) use seldom;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_a_few_lines_and_a_count() {
        let kind = Seldom::new();
        let start = Instant::now();
        let passed = (0..100).filter(|_| kind.pass_at(start).is_some()).count();
        assert_eq!(passed, LINES_PER_WINDOW as usize);
        assert_eq!(kind.pass_at(start + WINDOW), Some(90));
        assert_eq!(kind.pass_at(start + WINDOW), Some(0));
        assert_eq!(kind.pass_at(start + WINDOW * 3), Some(0));
    }
}
