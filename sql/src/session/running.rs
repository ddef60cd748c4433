//! Statements in progress: they survive waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use hyades_engine::db::{CheckpointRequest, Savepoint};
use hyades_engine::procedure::frame::Frame;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, ColumnSource, IndexDefinition, TableDefinition, TableName};
use hyades_types::value::SqlType;

use super::copy_out::CopyWriter;
use super::cursors::KeptRows;
use crate::compile::check::Filling;
use crate::plan::{AlterAction, Plan};
use crate::statement::{AccessCommand, DropSchema, SchemaElement};

/// A statement in progress.
pub(super) enum Running {
    Query(Box<QueryRun>),
    Schema(SchemaRun),
    /// LOCK TABLE: what it has locked stays so.
    Lock(Arc<Plan>),
    Checkpoint(CheckpointRequest),
    /// The rows of CREATE TABLE AS; they begin again with the table.
    Filling(Box<QueryRun>),
    Call(Box<CallRun>),
}

/// A query or a change in progress.
pub(super) struct QueryRun {
    pub(super) plan: Arc<Plan>,
    pub(super) frame: Box<Frame>,
    pub(super) copy: Option<CopyWriter>,
    /// Of DECLARE.
    pub(super) kept: Option<KeptRows>,
    /// When it began, under EXPLAIN ANALYZE.
    pub(super) analyzed: Option<Instant>,
    /// Rows answered.
    pub(super) rows: u64,
    pub(super) savepoint: Savepoint,
    /// It has ended a transaction: it cannot begin again.
    pub(super) is_past_end: bool,
}

/// DDL in progress.
pub(super) struct SchemaRun {
    pub(super) changes: Vec<CatalogChange>,
    pub(super) done: usize,
    /// Of ALTER TABLE: what follows when the changes are made.
    pub(super) alteration: Option<Box<Alteration>>,
    /// What is to be locked before anybody looks what changes.
    pub(super) late: Option<LateChange>,
    /// Of CREATE SCHEMA: what is created in it then.
    pub(super) inside: Option<Box<Inside>>,
    /// The table of an index that comes or goes while others write it, as it was when the statement was read.
    pub(super) beside: Option<(Arc<Table>, Arc<TableDefinition>)>,
    /// It is locked, for an index that goes.
    pub(super) has_table: bool,
    pub(super) savepoint: Savepoint,
}

/// A change of schemas, which are locked first.
pub(super) enum LateChange {
    Drop(DropSchema),
    Rename {
        name: String,
        to: String,
    },
    /// Of roles and rights, which are locked, too.
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

/// What is left to be created inside a new schema.
pub(super) struct Inside {
    pub(super) schema: String,
    pub(super) elements: VecDeque<SchemaElement>,
}

/// ALTER TABLE in progress.
pub(super) struct Alteration {
    pub(super) table: Arc<Table>,
    /// What it was called when it was found.
    pub(super) name: TableName,
    pub(super) is_locked: bool,
    pub(super) steps: VecDeque<AlterStep>,
    /// The action that was begun is to be begun again: what was in its way is gone.
    pub(super) again: bool,
    /// What is run over the rows just now.
    pub(super) query: Option<Box<QueryRun>>,
}

/// What ALTER TABLE does next.
pub(super) enum AlterStep {
    Action(AlterAction),
    /// The rows are tried against a CHECK constraint.
    Prove(String),
    /// A column is computed.
    Fill(Filling),
    /// An index whose columns are computed.
    Index(Box<IndexDefinition>),
    /// The column of this number takes no NULL.
    SetNotNull(u16),
    /// The definition and the columns that an action leads to.
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

    /// A column that was there already is not added, and its constraints are not either.
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
    /// It has ended a transaction: it cannot begin again.
    pub(super) is_past_end: bool,
}
