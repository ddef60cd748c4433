//! What a logger does in a step: `engine/src/log/logger.rs`, with the duties that the protocols give it
//! (`protocol/anchors.rs`, `protocol/milestones.rs`, `protocol/silor.rs`, `protocol/plover.rs`).

use super::log::{At, engine};
use super::processors::Next;
use super::rule::Rule;
use super::simulation::{OVERSLEEP_NS, Simulation};

impl Simulation<'_> {
    fn thread_of_log(&self, log: usize) -> usize {
        self.setting.workers + log
    }

    /// Wakes a logger that sleeps, and one that lingers if it is urgent. Returns what that costs the caller.
    pub(super) fn ring(&mut self, log: usize, is_urgent: bool) -> u64 {
        match self.logs[log].at {
            At::Sleeps => self.logs[log].at = At::Look,
            At::Lingers if is_urgent => self.logs[log].at = At::Hurries,
            _ => return 0,
        }
        let at = self.processors.now() + self.costs.wake_ns;
        self.processors.wake_at(self.thread_of_log(log), at);
        self.costs.unpark_ns
    }

    /// Whether there is something that the last milestone does not name.
    fn news(&self, log: usize) -> Option<u64> {
        let newest = match self.setting.rule {
            Rule::Epoch => self.epochs.closed,
            Rule::Sequence => self.logs.iter().map(|log| log.sequence).max().unwrap_or(0),
            _ => return None,
        };
        (newest > self.logs[log].named).then_some(newest)
    }

    fn is_urgent(&self, log: usize) -> bool {
        match self.setting.rule {
            Rule::Epoch => self.news(log).is_some(),
            _ => self.waiters > 0,
        }
    }

    fn linger_ns(&self) -> u64 {
        match self.setting.rule {
            Rule::Epoch => self.setting.epoch_ns,
            _ => engine::LINGER_NS,
        }
    }

    pub(super) fn step_logger(&mut self, log: usize) -> Next {
        loop {
            let now = self.processors.now();
            match self.logs[log].at {
                At::Look | At::Sleeps => {
                    if self.logs[log].ready() > 0 {
                        let until = self.logs[log].lingers_until(now, self.linger_ns());
                        let waits_for_room = !self.logs[log].room_waiters.is_empty();
                        match until.filter(|_| !waits_for_room && !self.is_urgent(log)) {
                            None => return self.begin_block(log),
                            Some(until) => {
                                self.logs[log].at = At::Lingers;
                                return Next::BlockUntil(until + OVERSLEEP_NS);
                            }
                        }
                    }
                    if !self.append_when_idle(log) {
                        (self.logs[log].at, self.logs[log].last_write) = (At::Sleeps, None);
                        return Next::Block;
                    }
                }
                At::Lingers | At::Hurries => return self.begin_block(log),
                At::Computes { end, bytes } => {
                    let one = &mut self.logs[log];
                    one.at = At::Durable { end };
                    if let Some(device) = &mut one.device {
                        let done = device.write(now, bytes);
                        if done > now {
                            return Next::BlockUntil(done + OVERSLEEP_NS);
                        }
                    }
                }
                At::Durable { end } => {
                    self.logs[log].at = At::Look;
                    self.note_durable(log, end);
                }
            }
        }
    }

    fn begin_block(&mut self, log: usize) -> Next {
        self.append_before_block(log);
        let one = &mut self.logs[log];
        let before = one.taken;
        let (end, bytes) = one.take(self.processors.now());
        one.at = At::Computes { end, bytes };
        let waiters = std::mem::take(&mut one.room_waiters);
        waiters.into_iter().for_each(|worker| self.processors.wake(worker, engine::SPIN_NS));
        let costs = self.costs;
        Next::Run((costs.block_ns + costs.byte_ns * (end - before) as f64) as u64)
    }

    /// The control record that is due when a block is written.
    fn append_before_block(&mut self, log: usize) {
        match self.setting.rule {
            Rule::None | Rule::Position => {}
            Rule::Vector { .. } => {
                let one = &mut self.logs[log];
                if one.reserved - one.anchored >= engine::ANCHOR_LOG_BYTES {
                    one.anchored = one.append_control(engine::ANCHOR_BYTES);
                }
            }
            Rule::Epoch | Rule::Sequence => {
                if let Some(newest) = self.news(log) {
                    self.append_milestone(log, newest);
                }
            }
        }
    }

    fn append_milestone(&mut self, log: usize, stamp: u64) {
        let one = &mut self.logs[log];
        let end = one.append_control(engine::MILESTONE_BYTES);
        (one.named, one.sequence) = (stamp, one.sequence.max(stamp));
        one.milestones.push((end, stamp));
    }

    fn append_when_idle(&mut self, log: usize) -> bool {
        match self.setting.rule {
            Rule::Epoch | Rule::Sequence => match self.news(log) {
                Some(newest) => {
                    self.append_milestone(log, newest);
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    /// A block of a log is durable.
    fn note_durable(&mut self, log: usize, end: u64) {
        let has_milestone = self.logs[log].note_durable(end);
        if self.setting.rule.has_stamps() {
            let all = self.logs.iter().map(|log| log.durable_stamp).min().unwrap_or(0);
            if has_milestone && all > self.durable_stamp {
                self.durable_stamp = all;
                self.release(self.logs.len());
            }
            if self.setting.rule == Rule::Sequence {
                let named = self.logs[log].named;
                for other in (0..self.logs.len()).filter(|other| *other != log) {
                    if self.logs[other].sequence < named {
                        self.ring(other, true);
                    }
                }
            }
            return;
        }
        self.release(log);
    }

    /// Wakes the workers whose answers may leave.
    fn release(&mut self, log: usize) {
        let waiting = std::mem::take(&mut self.waiting[log]);
        for worker in waiting {
            match self.first_open(worker) {
                None => {
                    self.waiters -= 1;
                    self.processors.wake(worker, engine::SPIN_NS);
                }
                // For the same log, or a later one.
                Some((next, _)) => self.waiting[next].push(worker),
            }
        }
    }
}
