//! One log: its buffer, and what its logger does (`engine/src/log/{buffer,logger}.rs`).
//!
//! ```text
//!        taken (room is free again)          reserved           taken + capacity - slack
//!           |---- the next block ----------------|----- free -----------|
//! ```
//!
//! A logger that has something to write lingers since its last block, unless an answer waits or much is
//! ready. Then it takes all, up to the length of a block, computes for the block and for its bytes, and waits
//! for the device.

use super::device::Device;
use super::line::Line;

/// Mirrors of constants of the engine that are not public, with their places.
pub(super) mod engine {
    /// `log/buffer.rs`: reservations at once, and the shares of the ring that they may take together.
    pub(crate) const SLOTS: u64 = 64;
    pub(crate) const MAX_SMALL_BYTES: u64 = 4_096;
    pub(crate) const MAX_LARGE_BYTES: u64 = 1 << 20;
    pub(crate) const CONTROL_BYTES: u64 = 4_096;
    /// `log/store/block.rs`.
    pub(crate) const BLOCK_HEADER_BYTES: u64 = 56;
    pub(crate) const MAX_BLOCK_BYTES: u64 = 1 << 20;
    /// `disk.rs`: of a device in memory.
    pub(crate) const SECTOR_BYTES: u64 = 4_096;
    /// `log/logger.rs`.
    pub(crate) const LINGER_NS: u64 = 1_000_000;
    pub(crate) const LINGER_BYTES: u64 = 256 << 10;
    /// `log.rs`: the worker of a log with so much under way offers its processor.
    pub(crate) const BACKLOG_BYTES: u64 = 32 << 10;
    /// `protocol/anchors.rs`: an anchor is due after so much of the log.
    pub(crate) const ANCHOR_LOG_BYTES: u64 = 16 << 10;
    /// `protocol/taurus/log_choice.rs`.
    pub(crate) const COMMITS_BETWEEN_LOOKS: u32 = 64;
    pub(crate) const LONG: u64 = 4;
    /// `ticket.rs`: a thread polls for so long before it parks, which is about what parking costs.
    pub(crate) const SPIN_NS: u64 = 20_000;
    /// `log/record.rs`: the bytes of an anchor of eight logs and of a milestone, headers included.
    pub(crate) const ANCHOR_BYTES: u64 = 88;
    pub(crate) const MILESTONE_BYTES: u64 = 48;
}

/// Bytes of a ring that reservations leave free, so that several may pass the check at once.
pub(super) fn slack_bytes(ring: u64) -> u64 {
    let small = engine::MAX_SMALL_BYTES.min(ring / 8 / engine::SLOTS);
    engine::SLOTS * small + engine::MAX_LARGE_BYTES.min(ring / 8) + engine::CONTROL_BYTES
}

/// Where a logger is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Looks for work.
    Look,
    /// Lingers, and has been told not to.
    Lingers,
    Hurries,
    /// Computes for a block that ends here.
    Computes {
        end: u64,
        bytes: u64,
    },
    /// The block is durable.
    Durable {
        end: u64,
    },
    /// Sleeps until its bell rings.
    Sleeps,
}

/// See the module head.
pub(super) struct Log {
    pub(super) reserved: u64,
    pub(super) taken: u64,
    pub(super) durable: u64,
    pub(super) line: Line,
    pub(super) at: At,
    /// When the last block was begun. `None` after having slept.
    pub(super) last_write: Option<u64>,
    pub(super) blocks: u64,
    /// The end of the last anchor, or where the log was when others got theirs.
    pub(super) anchored: u64,
    /// The stamp that the last milestone names, the one that the last durable one does, and those between.
    pub(super) named: u64,
    pub(super) durable_stamp: u64,
    pub(super) milestones: Vec<(u64, u64)>,
    /// Plover: the sequence number of the last record, and the latch.
    pub(super) sequence: u64,
    pub(super) latch: Latch,
    /// Workers that wait for room.
    pub(super) room_waiters: Vec<usize>,
    pub(super) device: Option<Device>,
}

/// Held while places are reserved; given in the order of requests.
#[derive(Debug)]
pub(super) struct Latch {
    pub(super) line: Line,
    pub(super) owner: Option<usize>,
    pub(super) waiters: Vec<usize>,
}

impl Log {
    pub(super) fn new(device: Option<Device>) -> Log {
        Log {
            reserved: 0,
            taken: 0,
            durable: 0,
            line: Line::new(),
            at: At::Look,
            last_write: None,
            blocks: 0,
            anchored: 0,
            named: 0,
            durable_stamp: 0,
            milestones: Vec::new(),
            sequence: 0,
            latch: Latch { line: Line::new(), owner: None, waiters: Vec::new() },
            room_waiters: Vec::new(),
            device,
        }
    }

    pub(super) fn has_room(&self, ring: u64, bytes: u64) -> bool {
        self.reserved + bytes + slack_bytes(ring) <= self.taken + ring
    }

    pub(super) fn ready(&self) -> u64 {
        self.reserved - self.taken
    }

    /// How long it lingers from now on, if nothing is urgent.
    pub(super) fn lingers_until(&self, now: u64, linger_ns: u64) -> Option<u64> {
        let until = self.last_write? + linger_ns;
        (until > now && self.ready() < engine::LINGER_BYTES).then_some(until)
    }

    /// Appends a control record. The loggers' room is never used up here.
    pub(super) fn append_control(&mut self, bytes: u64) -> u64 {
        self.reserved += bytes;
        self.reserved
    }

    /// Takes the next block, whose room is free from now on. Returns where it ends, and the bytes that it
    /// takes on the device.
    pub(super) fn take(&mut self, now: u64) -> (u64, u64) {
        self.last_write = Some(now);
        let payload = self.ready().min(engine::MAX_BLOCK_BYTES - engine::BLOCK_HEADER_BYTES);
        self.taken += payload;
        (self.taken, (payload + engine::BLOCK_HEADER_BYTES).next_multiple_of(engine::SECTOR_BYTES))
    }

    /// A block is durable. Returns whether a milestone was in it.
    pub(super) fn note_durable(&mut self, end: u64) -> bool {
        self.durable = end;
        self.blocks += 1;
        let before = self.durable_stamp;
        let done = self.milestones.partition_point(|(place, _)| *place <= end);
        if let Some((_, stamp)) = self.milestones.drain(..done).next_back() {
            self.durable_stamp = stamp;
        }
        self.durable_stamp > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_padded_and_a_milestone_counts_when_it_is_durable() {
        let mut log = Log::new(None);
        log.reserved = 5_000;
        let end = log.append_control(engine::MILESTONE_BYTES);
        log.milestones.push((end, 7));
        let (end, bytes) = log.take(10);
        assert_eq!((end, bytes, log.ready()), (5_048, 8_192, 0));
        assert!(!log.note_durable(100) && log.durable_stamp == 0);
        assert!(log.note_durable(end) && log.durable_stamp == 7 && log.milestones.is_empty());
        assert_eq!((log.lingers_until(11, 1_000), log.lingers_until(1_010, 1_000)), (Some(1_010), None));
    }

    #[test]
    fn a_full_ring_has_no_room() {
        let mut log = Log::new(None);
        let ring = 1 << 20;
        assert_eq!(slack_bytes(ring), 64 * 2_048 + (1 << 17) + 4_096);
        log.reserved = ring - slack_bytes(ring) - 100;
        assert!(log.has_room(ring, 100) && !log.has_room(ring, 101));
    }
}
