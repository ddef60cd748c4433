//! The calls of `pg_sleep` in the instruction that a run waits in.
//!
//! An instruction may have several, and all of them run again after each wait. So those that have ended are
//! counted, as long as the instruction has not.

use crate::error::Result;

/// The sleeps of the instruction that waits for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sleeps {
    /// How many calls have ended.
    ended: usize,
    /// How many were met since the instruction began, or began again.
    met: usize,
    /// When the call that is waited for ends, on the clock of `now()`.
    until: Option<i64>,
}

impl Sleeps {
    /// How many microseconds are left at this time, if a call is waited for. The instruction is going to run
    /// again.
    pub fn begin_again(&mut self, now: i64) -> Option<i64> {
        self.met = 0;
        self.until.map(|until| until.saturating_sub(now).max(0))
    }

    /// Whether anything is left of an instruction that has waited.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.until.is_none() && self.ended == 0 && self.met == 0
    }

    /// Whether the next call has ended; `until` is asked when it begins.
    ///
    /// # Errors
    /// Those of `until`.
    pub fn has_ended(&mut self, now: i64, until: impl FnOnce() -> Result<i64>) -> Result<bool> {
        self.met += 1;
        if self.met <= self.ended {
            return Ok(true);
        }
        let until = match self.until {
            Some(until) => until,
            None => *self.until.insert(until()?),
        };
        if now < until {
            return Ok(false);
        }
        (self.ended, self.until) = (self.met, None);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_instruction_end_one_after_the_other() {
        let mut sleeps = Sleeps::default();
        let past = || Ok(0);
        let future = || Ok(i64::MAX);
        assert!(sleeps.has_ended(1, past).unwrap());
        assert!(!sleeps.has_ended(1, future).unwrap());
        assert!(sleeps.begin_again(1).is_some_and(|left| left > 0));
        assert!(sleeps.has_ended(1, || panic!("it has ended")).unwrap());
        assert!(!sleeps.has_ended(1, || panic!("it has begun")).unwrap());
        sleeps.until = Some(0);
        sleeps.begin_again(1);
        assert!(sleeps.has_ended(1, || panic!("it has ended")).unwrap());
        assert!(sleeps.has_ended(1, || panic!("it has begun")).unwrap());
        assert!(!sleeps.is_empty());
    }
}
