//! A cache line that several processors write: only one of them has it at a time.

/// No thread has had it: the first access is part of what a transaction costs anyway.
const NONE: usize = usize::MAX;

/// See the module head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    owner: usize,
    /// When it is where it goes.
    free_at: u64,
}

impl Line {
    pub(super) fn new() -> Line {
        Line { owner: NONE, free_at: 0 }
    }

    /// A thread changes the line. Returns when it has: the line comes to it after all who asked before, and
    /// takes `move_ns` on its way. A thread that has it already pays nothing more than it does when it is
    /// alone.
    pub(super) fn change(&mut self, thread: usize, now: u64, move_ns: u64) -> u64 {
        let begin = self.free_at.max(now);
        let cost = if self.owner == thread || self.owner == NONE { 0 } else { move_ns };
        (self.owner, self.free_at) = (thread, begin + cost);
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_moves_once_for_each_change_of_hands() {
        let mut line = Line::new();
        assert_eq!(line.change(1, 10, 100), 10);
        assert_eq!(line.change(1, 20, 100), 20);
        assert_eq!(line.change(2, 30, 100), 130);
        assert_eq!(line.change(1, 40, 100), 230, "after the one before");
        assert_eq!(line.change(1, 500, 100), 500);
    }
}
