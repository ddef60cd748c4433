//! What an answer waits for, by protocol (`engine/src/protocol/`), and what a row leads its next reader to.

use hyades::ProtocolKind;

/// The rule by which answers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// At once: no log.
    None,
    /// The log is durable up to the record; for a reader, up to what was reserved when it ended.
    Position,
    /// Every log is durable up to what the transaction follows there. `shares`: workers whose logs have short
    /// blocks meet in one.
    Vector { shares: bool },
    /// The epoch is closed, and durable in every log.
    Epoch,
    /// Every log has a durable milestone for the sequence number. A record has a part for each log that its
    /// rows are in.
    Sequence,
}

impl Rule {
    pub fn of(protocol: ProtocolKind) -> Rule {
        match protocol {
            ProtocolKind::None => Rule::None,
            ProtocolKind::Serial => Rule::Position,
            ProtocolKind::Taurus => Rule::Vector { shares: true },
            ProtocolKind::TaurusGraph => Rule::Vector { shares: false },
            ProtocolKind::SiloR => Rule::Epoch,
            ProtocolKind::Plover => Rule::Sequence,
        }
    }

    /// Whether one number, over all logs, says what is durable.
    pub(super) fn has_stamps(self) -> bool {
        matches!(self, Rule::Epoch | Rule::Sequence)
    }

    /// Words of a row's mark.
    fn words(self, logs: usize) -> usize {
        match self {
            Rule::None | Rule::Position => 0,
            Rule::Vector { .. } => logs,
            Rule::Epoch | Rule::Sequence => 1,
        }
    }
}

/// What an answer waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// The log (after the last one: the stamp), and how far.
    One(u32, u64),
    Many(Box<[(u32, u64)]>),
}

impl Need {
    /// The first that is not durable.
    pub(super) fn open(&self, durable: impl Fn(usize) -> u64) -> Option<(usize, u64)> {
        let is_open = |(log, needed): &(u32, u64)| *needed > durable(*log as usize);
        let wide = |(log, needed): (u32, u64)| (log as usize, needed);
        match self {
            Need::Nothing => None,
            Need::One(log, needed) => Some((*log, *needed)).filter(is_open).map(wide),
            Need::Many(all) => all.iter().copied().find(is_open).map(wide),
        }
    }

    /// Of the entries of a vector that are not durable.
    pub(super) fn of_vector(vector: &[u64], durable: impl Fn(usize) -> u64) -> Need {
        let open = |(log, entry): (usize, &u64)| (*entry > durable(log)).then_some((log as u32, *entry));
        let mut all = vector.iter().enumerate().filter_map(open);
        match (all.next(), all.next()) {
            (None, _) => Need::Nothing,
            (Some((log, entry)), None) => Need::One(log, entry),
            (Some(first), Some(second)) => Need::Many([first, second].into_iter().chain(all).collect()),
        }
    }
}

/// The marks of all rows.
pub(super) struct Marks {
    words: usize,
    all: Vec<u64>,
}

impl Marks {
    pub(super) fn new(rule: Rule, logs: usize, rows: usize) -> Marks {
        let words = rule.words(logs);
        Marks { words, all: vec![0; words * rows] }
    }

    /// Words of a mark.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// The transaction follows what the row leads to.
    pub(super) fn follow(&self, row: u32, into: &mut [u64]) {
        let mark = &self.all[row as usize * self.words..][..self.words];
        into.iter_mut().zip(mark).for_each(|(entry, mark)| *entry = (*entry).max(*mark));
    }

    /// Transactions that touch the row later follow this one.
    pub(super) fn leave(&mut self, row: u32, vector: &[u64]) {
        self.all[row as usize * self.words..][..self.words].copy_from_slice(vector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_waits_for_what_is_not_durable() {
        let durable = |log: usize| [10, 20, 30][log];
        assert_eq!(Need::of_vector(&[10, 20, 30], durable), Need::Nothing);
        assert_eq!(Need::of_vector(&[10, 21, 30], durable), Need::One(1, 21));
        let many = Need::of_vector(&[11, 20, 31], durable);
        assert_eq!(many.open(durable), Some((0, 11)));
        assert_eq!(many.open(|_| 11), Some((2, 31)));
        assert_eq!(many.open(|_| 31), None);
    }

    #[test]
    fn rows_lead_to_their_last_writers() {
        let mut marks = Marks::new(Rule::Vector { shares: true }, 2, 3);
        marks.leave(1, &[5, 0]);
        let mut vector = vec![1, 7];
        marks.follow(1, &mut vector);
        marks.follow(2, &mut vector);
        assert_eq!(vector, [5, 7]);
    }
}
