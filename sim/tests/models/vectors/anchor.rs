//! A logger before the crash: the steps of an anchor, and how the floor rises.

use super::{Done, Entry, LOGS, Names, Positions, Rule, Run, advanced};

/// The steps of an anchor. Most are taken for one log after another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    NameEachLog,
    Append,
    PublishEachLog,
    FindBusyLogs,
    FindLowestOfEachLog,
    Enter,
    /// The logs that will lag are noted, then the floor rises: for one entry, then for the next.
    RaiseFloor,
    Leave,
}

impl Duty {
    const COUNT: usize = 8;

    fn of_anchor(rule: Rule) -> [Duty; Duty::COUNT] {
        let mut duties = [
            Duty::NameEachLog,
            Duty::Append,
            Duty::PublishEachLog,
            Duty::FindBusyLogs,
            Duty::FindLowestOfEachLog,
            Duty::Enter,
            Duty::RaiseFloor,
            Duty::Leave,
        ];
        if rule == Rule::AnchorPublishedEarly {
            duties.swap(1, 2);
        }
        duties
    }

    fn times(self) -> usize {
        match self {
            Duty::NameEachLog | Duty::PublishEachLog | Duty::FindBusyLogs => LOGS,
            Duty::FindLowestOfEachLog => LOGS,
            Duty::RaiseFloor => 2 * LOGS,
            Duty::Append | Duty::Enter | Duty::Leave => 1,
        }
    }
}

#[derive(Default)]
pub(super) struct Logger {
    done: Done,
    named: Positions,
    busy: Names,
    lowest: Positions,
    /// Where the floor is below that.
    rises: Names,
    lagging: Names,
}

impl Run {
    pub(super) fn step_of_logger(&mut self, log: usize) {
        let done = self.loggers[log].done;
        if done == (0, 0) && log == self.quiet && self.random.percent(90) {
            return;
        }
        let duty = Duty::of_anchor(self.rule)[done.0];
        if duty == Duty::Enter && self.raising.is_some() && self.rule != Rule::FloorRaisedTogether {
            return;
        }
        let next = advanced(done, duty.times());
        self.loggers[log].done = (next.0 % Duty::COUNT, next.1);
        match duty {
            Duty::NameEachLog => {
                let of = &self.logs[done.1];
                self.loggers[log].named[done.1] = match self.rule {
                    Rule::AnchorsOfReserved => of.reserved(),
                    Rule::AnchorsInsideRecords => of.durable,
                    _ => of.whole(),
                };
            }
            Duty::Append => _ = self.logs[log].append(1, Entry::Anchor(self.loggers[log].named)),
            Duty::PublishEachLog => self.logs[log].anchor[done.1] = self.loggers[log].named[done.1],
            Duty::FindBusyLogs => {
                let of = &self.logs[done.1];
                let is_at_work = match self.rule {
                    Rule::AnyAtWork => self.random.percent(50),
                    _ => of.reserved() > of.durable,
                };
                self.loggers[log].busy[done.1] = log == done.1 || is_at_work;
            }
            Duty::FindLowestOfEachLog => {
                let busy = self.logs.iter().zip(self.loggers[log].busy).filter(|(_, is_busy)| *is_busy);
                let anchors = busy.map(|(other, _)| other.anchor[done.1]);
                let found = if self.rule == Rule::FloorOfLargest { anchors.max() } else { anchors.min() };
                self.loggers[log].lowest[done.1] = found.unwrap_or(0);
            }
            Duty::Enter => self.raising = Some(log),
            Duty::RaiseFloor => match self.rule {
                Rule::LaggingAfterRise => self.raise_floor(log, done.1 % LOGS, done.1 < LOGS),
                _ => self.raise_floor(log, done.1 / 2, done.1.is_multiple_of(2)),
            },
            Duty::Leave => {
                self.logs[log].lagging = self.loggers[log].lagging;
                self.raising = None;
            }
        }
    }

    /// One of the two steps that raise the floor in one entry.
    fn raise_floor(&mut self, log: usize, of: usize, is_first: bool) {
        let one = &mut self.loggers[log];
        if is_first {
            one.rises[of] = self.floor[of] < one.lowest[of];
        }
        let notes_lagging = is_first != (self.rule == Rule::LaggingAfterRise);
        if one.rises[of] && notes_lagging {
            for (other, is_busy) in self.logs.iter_mut().zip(one.busy) {
                other.lagging[of] |= !is_busy && other.anchor[of] < one.lowest[of];
            }
        } else if one.rises[of] {
            self.floor[of] = one.lowest[of];
        }
        if !is_first {
            one.lagging[of] = self.floor[of] > one.named[of];
        }
    }
}
