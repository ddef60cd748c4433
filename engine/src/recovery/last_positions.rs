//! What one log says of each table, each call and each sequence: where the last log record that concerns it
//! ends.
//!
//! A summary collects it while the log is read (`log_summary`). A running server keeps it in a file for the
//! next restart (`digest`).

use std::collections::HashMap;
use std::hash::Hash;

use hyades_types::definition::{RoutineId, SequenceId, SequenceState, TableId};

/// What a call names: its routine, and the version of it that ran.
pub(super) type Called = (RoutineId, u32);

/// Where the last log record that concerns each of these ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) tables: HashMap<TableId, u64>,
    pub(super) calls: HashMap<Called, u64>,
    /// Of the log records that change the catalog.
    pub(super) catalog: u64,
    /// Of the log records that draw from sequences.
    pub(super) sequences: u64,
}

/// How far the sequences have come.
pub(super) type Draws = HashMap<SequenceId, Drawn>;

/// The latest states of one sequence in a log. Which of two numbers is the later one depends on the sign of
/// the sequence's increment, which log records do not contain. The sign stays the same during an epoch, so
/// the latest state is the one with the least or the one with the greatest number of the last epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    /// Where the last log record that has a state of it ends.
    pub(super) end: u64,
    /// Of the highest epoch: the state with the least number, and the one with the greatest.
    pub(super) least: SequenceState,
    pub(super) greatest: SequenceState,
}

impl Last {
    pub(super) fn raise_table(&mut self, table: TableId, end: u64) {
        raise(&mut self.tables, table, end);
    }

    pub(super) fn raise_call(&mut self, called: Called, end: u64) {
        raise(&mut self.calls, called, end);
    }

    /// Forgets what ends at this position or before it.
    pub(super) fn forget(&mut self, position: u64) {
        self.tables.retain(|_, end| *end > position);
        self.calls.retain(|_, end| *end > position);
        for end in [&mut self.catalog, &mut self.sequences] {
            if *end <= position {
                *end = 0;
            }
        }
    }
}

fn raise<K: Eq + Hash>(ends: &mut HashMap<K, u64>, key: K, end: u64) {
    let known = ends.entry(key).or_default();
    *known = (*known).max(end);
}

impl Drawn {
    pub(super) fn new(end: u64, state: SequenceState) -> Drawn {
        Drawn { end, least: state, greatest: state }
    }

    /// Adds a state from the log record that ends here.
    pub(super) fn add(&mut self, end: u64, state: SequenceState) {
        self.end = self.end.max(end);
        if state.epoch > self.greatest.epoch {
            (self.least, self.greatest) = (state, state);
        } else if state.epoch == self.greatest.epoch {
            // Only the sign of an increment matters here.
            if state.is_after(self.greatest, 1) {
                self.greatest = state;
            }
            if state.is_after(self.least, -1) {
                self.least = state;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use hyades_types::definition::{RoutineId, SequenceState, TableId};

    use crate::recovery::last_positions::{Drawn, Last};

    #[test]
    fn what_a_checkpoint_holds_is_forgotten() {
        let mut last = Last { catalog: 16, sequences: 24, ..Last::default() };
        last.raise_table(TableId(1), 16);
        last.raise_table(TableId(2), 24);
        last.raise_table(TableId(2), 8);
        last.raise_call((RoutineId(3), 7), 16);
        last.forget(16);
        let expected = Last { tables: [(TableId(2), 24)].into(), sequences: 24, ..Last::default() };
        assert_eq!(last, expected);
    }

    #[test]
    fn the_latest_state_is_kept_whichever_way_a_sequence_counts() {
        let state = |epoch, value, is_called| SequenceState { epoch, value, is_called };
        for increment in [1, -1] {
            let states = [
                state(1, 100, true),
                state(2, 5, false),
                state(2, 5, true),
                state(2, 9, true),
                state(2, 2, true),
                state(1, -100, true),
            ];
            let mut drawn = Drawn::new(8, states[0]);
            states.iter().for_each(|state| drawn.add(16, *state));
            let latest = states.into_iter().reduce(|one, other| match other.is_after(one, increment) {
                true => other,
                false => one,
            });
            let kept = [drawn.least, drawn.greatest];
            assert!(latest.is_some_and(|latest| kept.contains(&latest)), "{drawn:?}");
            assert_eq!(drawn.end, 16);
        }
    }
}
