//! Definitions of sequences: the range of their numbers, their order, and their owners.

use serde::{Deserialize, Serialize};

use crate::definition::{TableId, TableName};
use crate::value::SqlType;

/// Identifies a sequence forever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SequenceId(pub u32);

impl SequenceId {
    /// Numbers of temporary sequences begin here.
    pub const FIRST_TEMPORARY: u32 = 1 << 28;
    /// There are this many of them; then the numbers start over.
    pub const TEMPORARIES: u32 = 1 << 28;

    /// Whether it is private to a session, so that it is not logged.
    pub fn is_temporary(self) -> bool {
        self.0 >= SequenceId::FIRST_TEMPORARY
    }
}

/// The definition that CREATE and ALTER SEQUENCE give. Its numbers and its current state are in
/// `crate::sequence`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceDefinition {
    pub name: TableName,
    /// An integer type.
    pub sql_type: SqlType,
    /// Where RESTART sets it.
    pub start: i64,
    /// Never zero.
    pub increment: i64,
    pub least: i64,
    pub greatest: i64,
    /// How many numbers PostgreSQL would give a session at once. Here it is only shown.
    #[serde(default = "no_cache", skip_serializing_if = "is_no_cache")]
    pub cache: i64,
    /// After the last number comes the first again.
    #[serde(default)]
    pub cycles: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SequenceOwner>,
    /// Counts its alterations: a transaction that alters it sets the next number, and is refused if another
    /// has altered it meanwhile.
    #[serde(default)]
    pub version: u32,
}

fn no_cache() -> i64 {
    1
}

fn is_no_cache(cache: &i64) -> bool {
    *cache == 1
}

/// The column that owns a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceOwner {
    pub table: TableId,
    pub column: u16,
    /// It is the sequence of an identity column, and cannot change its owner.
    #[serde(default)]
    pub is_identity: bool,
}

/// The state of a sequence. Of two states the later one has the higher epoch, or the same epoch and a number
/// that comes after the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceState {
    /// Raised by every operation that makes numbers recur: setval, RESTART, a turn of the direction, a new
    /// cycle.
    pub epoch: u64,
    /// The number drawn last, or the one to be drawn first.
    pub value: i64,
    /// Whether `value` was drawn.
    pub is_called: bool,
}

impl SequenceState {
    /// The state of a new sequence, from which nothing was drawn.
    pub fn first(start: i64) -> SequenceState {
        SequenceState { epoch: 1, value: start, is_called: false }
    }

    /// Whether it is later than the other one, in a sequence with this increment.
    pub fn is_after(self, other: SequenceState, increment: i64) -> bool {
        let place = |state: SequenceState| {
            let value = i128::from(state.value);
            (state.epoch, if increment < 0 { -value } else { value }, state.is_called)
        };
        place(self) > place(other)
    }
}
