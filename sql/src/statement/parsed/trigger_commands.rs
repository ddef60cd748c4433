//! Statements about triggers, as written.

use hyades_types::definition::{Deferral, TriggerEvent, TriggerFiring, TriggerTiming};

use super::qualified_name::QualifiedName;
use crate::statement::deep_text::Written;

/// CREATE TRIGGER.
#[derive(Clone, Debug)]
pub(crate) struct CreateTrigger {
    pub(crate) name: String,
    pub(crate) or_replace: bool,
    pub(crate) timing: TriggerTiming,
    pub(crate) is_for_rows: bool,
    pub(crate) events: Vec<TriggerEvent>,
    /// UPDATE OF.
    pub(crate) columns: Vec<String>,
    /// Of a constraint trigger: when it runs.
    pub(crate) constraint: Option<Deferral>,
    /// FROM.
    pub(crate) referenced: Option<QualifiedName>,
    pub(crate) referencing: Vec<Referencing>,
    pub(crate) condition: Option<Written>,
    pub(crate) function: QualifiedName,
    pub(crate) arguments: Vec<String>,
}

/// An item of REFERENCING.
#[derive(Clone, Debug)]
pub(crate) struct Referencing {
    pub(crate) is_new: bool,
    /// TABLE, else ROW.
    pub(crate) is_table: bool,
    pub(crate) name: String,
}

/// What a statement does with triggers of a table.
#[derive(Clone, Debug)]
pub(crate) enum TriggerAction {
    Create(Box<CreateTrigger>),
    Drop {
        name: String,
        if_exists: bool,
    },
    Rename {
        name: String,
        to: String,
    },
    /// ALTER TABLE ENABLE and DISABLE. `None`: all triggers.
    SetFiring {
        name: Option<String>,
        firing: TriggerFiring,
    },
}

/// CREATE, ALTER and DROP TRIGGER.
#[derive(Clone, Debug)]
pub(crate) struct TriggerCommand {
    pub(crate) table: QualifiedName,
    pub(crate) action: TriggerAction,
}
