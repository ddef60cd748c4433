//! How long a connection handles its input before the other connections of its worker get a turn.
//!
//! A statement that takes long hands its worker over (`host`). Many short ones in a row do not: each begins
//! as a new guest. So the task goes to the end of its worker's queue when it has worked for about a quantum,
//! between two messages or statements.

use std::time::{Duration, Instant};

/// As long as a statement may keep its worker.
const LENGTH: Duration = hyades::types::guest::QUANTUM;
/// Messages between two looks at the clock. Even the shortest ones take longer than a look.
const STEPS_PER_LOOK: u32 = 4;

#[derive(Default)]
pub(super) struct Stint {
    steps: u32,
    /// When the first look was taken. A short stint needs no clock.
    began: Option<Instant>,
}

impl Stint {
    /// Counts one more step. Returns true when it is time to let others run, and begins the next stint.
    #[inline]
    pub(super) fn is_over(&mut self) -> bool {
        self.steps += 1;
        self.steps.is_multiple_of(STEPS_PER_LOOK) && self.look()
    }

    fn look(&mut self) -> bool {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        let is_over = now - began >= LENGTH;
        if is_over {
            self.began = None;
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stint_ends_when_its_time_is_up_however_many_steps_it_takes() {
        let mut stint = Stint::default();
        let short = (0..STEPS_PER_LOOK * 2).filter(|_| stint.is_over()).count();
        assert_eq!(short, 0);
        let mut steps = 0;
        while !stint.is_over() {
            std::thread::sleep(LENGTH);
            steps += 1;
            assert!(steps <= STEPS_PER_LOOK, "{steps} long steps");
        }
        assert!(!stint.is_over());
    }
}
