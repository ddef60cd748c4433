//! Statements in progress, which survive waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use hyades_engine::db::{CheckpointRequest, Savepoint};
use hyades_engine::procedure::frame::Frame;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, ColumnSource, IndexDefinition, TableDefinition, TableName};
use hyades_types::value::SqlType;

use super::cursors::KeptRows;
use super::prepared::Prepared;
use crate::compile::action::Plan;
use crate::copy::intake::Intake;
use crate::copy::writer::CopyWriter;
use crate::ddl::command::AlterAction;
use crate::ddl::filling::Filling;
use crate::statement::{AccessCommand, DropSchema, SchemaElement};

/// A statement in progress.
pub(super) enum Running {
    Query(Box<QueryRun>),
    Schema(SchemaRun),
    /// LOCK TABLE. Tables that it has locked stay locked.
    Lock(Arc<Plan>),
    Checkpoint(CheckpointRequest),
    /// The rows of CREATE TABLE AS. To run again, it starts with creating the table.
    Filling(Box<QueryRun>),
    Call(Box<CallRun>),
}

/// A query or a change in progress.
pub(super) struct QueryRun {
    pub(super) plan: Arc<Plan>,
    pub(super) frame: Box<Frame>,
    pub(super) copy: Option<CopyWriter>,
    /// The rows, for DECLARE.
    pub(super) kept: Option<KeptRows>,
    /// The time when it began, under EXPLAIN ANALYZE.
    pub(super) analyzed: Option<Instant>,
    /// The number of rows returned.
    pub(super) rows: u64,
    pub(super) savepoint: Savepoint,
    /// It has ended a transaction, so it cannot start again.
    pub(super) is_past_end: bool,
}

/// DDL in progress.
pub(super) struct SchemaRun {
    pub(super) changes: Vec<CatalogChange>,
    pub(super) done: usize,
    /// For ALTER TABLE: what follows once the changes are made.
    pub(super) alteration: Option<Box<Alteration>>,
    /// Determines the changes after locks have been taken.
    pub(super) late: Option<LateChange>,
    /// For CREATE SCHEMA: what is created in it afterwards.
    pub(super) inside: Option<Box<Inside>>,
    /// The table of an index that is built or dropped beside writers, with its definition when the
    /// statement was read.
    pub(super) beside: Option<(Arc<Table>, Arc<TableDefinition>)>,
    /// Whether the table is locked, for an index that is dropped.
    pub(super) has_table: bool,
    pub(super) savepoint: Savepoint,
}

/// A change that is determined only after schemas have been locked.
pub(super) enum LateChange {
    Drop(DropSchema),
    Rename {
        name: String,
        to: String,
    },
    /// A change of roles and rights, which are locked instead.
    Access(Arc<AccessCommand<Vec<SqlType>>>),
}

impl LateChange {
    pub(super) fn schemas(&self) -> Vec<String> {
        match self {
            LateChange::Drop(drop) => drop.names.clone(),
            LateChange::Rename { name, to } => vec![name.clone(), to.clone()],
            LateChange::Access(_) => Vec::new(),
        }
    }
}

/// What must still be created inside a new schema.
pub(super) struct Inside {
    pub(super) schema: String,
    pub(super) elements: VecDeque<SchemaElement>,
}

/// ALTER TABLE in progress.
pub(super) struct Alteration {
    pub(super) table: Arc<Table>,
    /// The name under which the table was found.
    pub(super) name: TableName,
    pub(super) is_locked: bool,
    pub(super) steps: VecDeque<AlterStep>,
    /// The current action must run again, because an obstacle to it has been removed.
    pub(super) again: bool,
    /// The procedure that is being run over the rows.
    pub(super) query: Option<Box<QueryRun>>,
}

/// A step of ALTER TABLE.
pub(super) enum AlterStep {
    Action(AlterAction),
    /// Checks the rows against a CHECK constraint.
    Prove(String),
    /// Computes a column.
    Fill(Filling),
    /// Adds an index whose columns have been computed.
    Index(Box<IndexDefinition>),
    /// Sets NOT NULL for the column with this number.
    SetNotNull(u16),
    /// Installs the definition and the columns that an action leads to.
    Become {
        definition: Box<TableDefinition>,
        columns: Vec<ColumnSource>,
    },
}

impl Alteration {
    /// Drops these columns next, in this order.
    pub(super) fn drop_columns(&mut self, names: impl DoubleEndedIterator<Item = String>) {
        for name in names.rev() {
            let drop = AlterAction::DropColumn { name, may_lack: true, cascades: true };
            self.steps.push_front(AlterStep::Action(drop));
        }
    }

    /// Skips the constraints of a column that exists already and is therefore not added.
    pub(super) fn forget_column(&mut self, name: &str) {
        let is_of_column = |columns: &[String]| matches!(columns, [column] if column == name);
        self.steps.retain(|step| match step {
            AlterStep::Action(AlterAction::AddPrimaryKey(key)) => !is_of_column(&key.columns),
            AlterStep::Action(AlterAction::AddUnique(unique)) => !is_of_column(&unique.columns),
            AlterStep::Action(AlterAction::AddForeignKey(key)) => !is_of_column(&key.columns),
            _ => true,
        });
    }
}

/// A CALL in progress.
pub(super) struct CallRun {
    pub(super) plan: Arc<Plan>,
    pub(super) frame: Box<Frame>,
    pub(super) savepoint: Savepoint,
    /// It has ended a transaction, so it cannot start again.
    pub(super) is_past_end: bool,
}

/// COPY FROM in progress.
pub(super) struct CopyIn {
    pub(super) statement: Arc<Prepared>,
    pub(super) plan: Arc<Plan>,
    pub(super) intake: Intake,
    pub(super) savepoint: Savepoint,
    /// Whether the current chunk has been taken. The call with it is being repeated after a wait.
    pub(super) is_taken: bool,
    /// Whether the frame holds a row that is not inserted yet.
    pub(super) is_row_pending: bool,
    pub(super) rows: u64,
}
