//! Definitions of sequences: the range of their numbers, the way through it, and whose they are.

use serde::{Deserialize, Serialize};

use crate::definition::{TableId, TableName};
use crate::value::SqlType;

/// Identifies a sequence for ever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SequenceId(pub u32);

impl SequenceId {
    /// Numbers of temporary sequences begin here.
    pub const FIRST_TEMPORARY: u32 = 1 << 28;
    /// There are so many of them; then the first comes again.
    pub const TEMPORARIES: u32 = 1 << 28;

    /// Whether it is a session's own, and no log tells of it.
    pub fn is_temporary(self) -> bool {
        self.0 >= SequenceId::FIRST_TEMPORARY
    }
}

/// What CREATE and ALTER SEQUENCE say. Its numbers, and how far it has come, are `crate::sequence`'s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceDefinition {
    pub name: TableName,
    /// An integer type.
    pub sql_type: SqlType,
    /// Where RESTART leads.
    pub start: i64,
    /// Never zero.
    pub increment: i64,
    pub least: i64,
    pub greatest: i64,
    /// Behind the last number comes the first again.
    #[serde(default)]
    pub cycles: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SequenceOwner>,
    /// How often it has been altered: who alters it says so by the next number, and is refused if somebody
    /// else has altered it meanwhile.
    #[serde(default)]
    pub version: u32,
}

/// The column that a sequence goes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceOwner {
    pub table: TableId,
    pub column: u16,
    /// It is the sequence of an identity column, and cannot be given away.
    #[serde(default)]
    pub is_identity: bool,
}

/// How far a sequence has come. Of two states the later one has the higher epoch, or the same and a number
/// that comes after the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceState {
    /// Raised by whatever makes numbers come again: setval, RESTART, a turn of the direction, a new cycle.
    pub epoch: u64,
    /// The number drawn last, or the one to be drawn first.
    pub value: i64,
    /// Whether `value` was drawn.
    pub is_called: bool,
}

impl SequenceState {
    /// Before anything was drawn from a new sequence.
    pub fn first(start: i64) -> SequenceState {
        SequenceState { epoch: 1, value: start, is_called: false }
    }

    /// Whether it is later than the other one, in a sequence with this increment.
    pub fn is_behind(self, other: SequenceState, increment: i64) -> bool {
        let place = |state: SequenceState| {
            let value = i128::from(state.value);
            (state.epoch, if increment < 0 { -value } else { value }, state.is_called)
        };
        place(self) > place(other)
    }
}
