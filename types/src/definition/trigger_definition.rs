//! Triggers: functions that run before, after or instead of changes of a table's rows.
//!
//! A trigger belongs to its table, in whose definition it stands, so that statements on the table become
//! stale when it changes.

use serde::{Deserialize, Serialize};

use super::reference::Deferral;
use super::relation::{TableId, TableName};

/// What a trigger runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TriggerEvent {
    Insert,
    Delete,
    Update,
    Truncate,
}

impl TriggerEvent {
    /// The word for it: the value of `TG_OP`.
    pub fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }

    /// Whether there is a row before the change.
    pub fn has_old(self) -> bool {
        matches!(self, TriggerEvent::Delete | TriggerEvent::Update)
    }

    /// Whether there is a row after the change.
    pub fn has_new(self) -> bool {
        matches!(self, TriggerEvent::Insert | TriggerEvent::Update)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TriggerTiming {
    Before,
    After,
    InsteadOf,
}

impl TriggerTiming {
    /// The words for it: the value of `TG_WHEN`.
    pub fn words(self) -> &'static str {
        match self {
            TriggerTiming::Before => "BEFORE",
            TriggerTiming::After => "AFTER",
            TriggerTiming::InsteadOf => "INSTEAD OF",
        }
    }
}

/// In which sessions a trigger runs, by their setting `session_replication_role`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerFiring {
    /// Not in those that replicate changes.
    #[default]
    Origin,
    Never,
    /// Only in those that replicate changes.
    Replica,
    Always,
}

/// WHEN: the trigger runs only where this holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerCondition {
    /// The condition as SQL text; the SQL front end compiles it.
    pub expression: String,
    /// The same as PostgreSQL would show it, with explicit types and parentheses.
    pub shown: String,
    /// The same with as few parentheses as possible. Empty in definitions of before 2026-11-28.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pretty: String,
    /// The columns of the old and the new row that it refers to, each once.
    pub columns: Vec<u16>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggerDefinition {
    /// Unique among those of its table. Triggers for the same event run in the order of their names.
    pub name: String,
    pub timing: TriggerTiming,
    /// FOR EACH ROW; else once for each statement.
    pub is_for_rows: bool,
    /// Each once.
    pub events: Vec<TriggerEvent>,
    /// UPDATE OF: it runs only for statements that set one of these columns. Empty: for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<u16>,
    /// A function without parameters.
    pub function: TableName,
    /// `TG_ARGV`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<TriggerCondition>,
    /// REFERENCING OLD TABLE AS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_table: Option<String>,
    /// REFERENCING NEW TABLE AS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_table: Option<String>,
    /// Set if it is a constraint trigger: when it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Deferral>,
    /// FROM of a constraint trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referenced: Option<TableId>,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub firing: TriggerFiring,
}

impl TriggerDefinition {
    /// Whether it may wait for the end of the transaction.
    pub fn can_be_deferred(&self) -> bool {
        self.constraint.is_some_and(|deferral| deferral != Deferral::Never)
    }

    /// Whether a statement that does this, and sets these columns, is one that the trigger runs for.
    pub fn is_for(&self, event: TriggerEvent, set: &[u16]) -> bool {
        self.events.contains(&event)
            && (event != TriggerEvent::Update
                || self.columns.is_empty()
                || self.columns.iter().any(|column| set.contains(column)))
    }

    /// Whether it refers to this column.
    pub fn uses_column(&self, column: u16) -> bool {
        self.columns.contains(&column)
            || self.condition.as_ref().is_some_and(|condition| condition.columns.contains(&column))
    }

    /// Whether it reads the rows that the statement has changed as tables.
    pub fn has_transition_tables(&self) -> bool {
        self.old_table.is_some() || self.new_table.is_some()
    }
}
