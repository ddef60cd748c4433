//! Which log a worker's records go to.
//!
//! Each worker has a log of its own. Where logs are written in short blocks, every few transactions cost a
//! durable write, a wake-up and an anchor. So a worker whose log has short blocks goes to the next log of a
//! tree: 0 <- 1, 0 <- 2, 2 <- 3, 0 <- 4 and so on, the number without its lowest set bit. Workers that have
//! little to write meet there, in log 0 in the end. A worker in a log with long blocks goes back, a step
//! towards its own. LSN vectors order the transactions wherever they are.
//!
//! A worker looks once in [`COMMITS_BETWEEN_LOOKS`], because what it looks at is written by others all the
//! time, and so that workers do not all run to the log that happens to be empty.

use crate::log::Logs;

const COMMITS_BETWEEN_LOOKS: u32 = 64;
/// Blocks are long from this many times the length on from which they are not short: a worker that has moved
/// must not move back at once.
const LONG: u64 = 4;

/// What a worker remembers of the log that it uses.
#[derive(Debug, Default)]
pub(super) struct LogChoice {
    /// The log, once it has used one.
    log: Option<usize>,
    commits: u32,
    /// How far the log was reserved, and how many blocks of it were durable, at the last look.
    reserved: u64,
    blocks: u64,
}

impl LogChoice {
    /// The log for the next record. Blocks of fewer than `short` bytes are short; 0: always the worker's own
    /// log.
    #[inline]
    pub(super) fn next(&mut self, logs: &Logs, own: usize, short: u64) -> usize {
        self.commits += 1;
        match self.log {
            Some(log) if short == 0 || self.commits < COMMITS_BETWEEN_LOOKS => log,
            Some(log) => self.look(logs, log, own, short),
            None => self.take(logs, own),
        }
    }

    #[cold]
    fn look(&mut self, logs: &Logs, log: usize, own: usize, short: u64) -> usize {
        let blocks = logs.watch().advances(log).wrapping_sub(self.blocks);
        if blocks == 0 {
            return log;
        }
        let block_bytes = logs.reserved(log).0.saturating_sub(self.reserved) / blocks;
        let next = match block_bytes {
            bytes if bytes < short => parent(log),
            bytes if bytes >= short * LONG => towards(log, own),
            _ => log,
        };
        self.take(logs, next)
    }

    fn take(&mut self, logs: &Logs, log: usize) -> usize {
        let (reserved, blocks) = (logs.reserved(log).0, logs.watch().advances(log));
        *self = LogChoice { log: Some(log), commits: 0, reserved, blocks };
        log
    }
}

fn parent(log: usize) -> usize {
    log & log.saturating_sub(1)
}

/// The next log on the way from this one down to the worker's own.
fn towards(log: usize, own: usize) -> usize {
    let mut at = own;
    while at != log && parent(at) != log {
        if at == 0 {
            return own;
        }
        at = parent(at);
    }
    at
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{parent, towards};

    #[test]
    fn all_ways_lead_to_log_0_and_back() {
        for own in 0..64 {
            let mut way = vec![own];
            while way[way.len() - 1] != 0 {
                way.push(parent(way[way.len() - 1]));
            }
            assert!(way.len() <= 7);
            for pair in way.windows(2) {
                assert_eq!(towards(pair[1], own), pair[0]);
            }
            assert_eq!(towards(own, own), own);
        }
        assert_eq!(towards(5, 2), 2, "a log that is not on the way");
    }
}
