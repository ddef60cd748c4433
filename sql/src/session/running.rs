//! Statements in progress, which survive waits.

use std::sync::Arc;
use std::time::Instant;

use hyades_engine::db::{CheckpointRequest, Savepoint};
use hyades_engine::procedure::frame::Frame;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, DatabaseId, TableDefinition, TableId};

use super::cursors::KeptRows;
use super::prepared::Prepared;
use crate::compile::action::Plan;
use crate::copy::intake::Intake;
use crate::copy::writer::CopyWriter;
use crate::ddl::alteration_steps::{Alteration, Inside, LateChange};

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
    /// The command tag, once the procedure has run.
    pub(super) tag: Option<String>,
}

/// DDL in progress.
pub(super) struct SchemaRun {
    pub(super) changes: Vec<CatalogChange>,
    pub(super) done: usize,
    /// For ALTER TABLE: what follows once the changes are made.
    pub(super) alteration: Option<Box<AlterationRun>>,
    /// Determines the changes after locks have been taken.
    pub(super) late: Option<LateChange>,
    /// For commands about databases.
    pub(super) databases: DatabaseProgress,
    /// For CREATE SCHEMA: what is created in it afterwards.
    pub(super) inside: Option<Box<Inside>>,
    /// The table of an index that is built or dropped beside writers, with its definition when the
    /// statement was read.
    pub(super) beside: Option<(Arc<Table>, Arc<TableDefinition>)>,
    /// Whether the table is locked, for an index that is dropped.
    pub(super) has_table: bool,
    /// Whether it is TRUNCATE.
    pub(super) is_truncation: bool,
    /// The triggers of TRUNCATE, if there are some.
    pub(super) truncation: Option<Box<TruncationRun>>,
    /// The materialized view that a routine creates, until its rows are to be computed.
    pub(super) created: Option<TableId>,
    pub(super) savepoint: Savepoint,
}

/// How far the triggers of a TRUNCATE have come.
pub(super) struct TruncationRun {
    pub(super) tables: Vec<TableId>,
    /// How many of them are locked.
    pub(super) locked: usize,
    /// How many of them have had their triggers before, or after, the statement.
    pub(super) fired: usize,
    pub(super) is_emptied: bool,
    /// The triggers of a table that wait.
    pub(super) frame: Option<Box<Frame>>,
}

/// How far a command about databases has come.
#[derive(Default)]
pub(super) struct DatabaseProgress {
    /// How many of the names that it is about are locked.
    pub(super) locked: usize,
    /// Since when it has waited for a database to be without sessions, by the system's clock.
    pub(super) vacating: Option<i64>,
    /// For CREATE DATABASE: the database that is to be copied, and the copy.
    pub(super) copied: Option<(DatabaseId, DatabaseId)>,
}

/// A CALL in progress.
pub(super) struct CallRun {
    pub(super) plan: Arc<Plan>,
    pub(super) frame: Box<Frame>,
    pub(super) savepoint: Savepoint,
    /// It has ended a transaction, so it cannot start again.
    pub(super) is_past_end: bool,
    /// The procedure has run. What is missing is the end of its transaction.
    pub(super) has_run: bool,
}

/// COPY FROM in progress.
pub(super) struct CopyIn {
    pub(super) statement: Arc<Prepared>,
    pub(super) plan: Arc<Plan>,
    pub(super) intake: Intake,
    /// Before the current row, or the triggers of the statement.
    pub(super) savepoint: Savepoint,
    /// Whether the current chunk has been taken. The call with it is being repeated after a wait.
    pub(super) is_taken: bool,
    /// Whether the frame holds a row that is not inserted yet.
    pub(super) is_row_pending: bool,
    pub(super) rows: u64,
    /// Whether the triggers before the statement have run.
    pub(super) has_begun: bool,
    /// How many messages there were before the current row.
    pub(super) notices: usize,
    /// Triggers before or after the statement that wait.
    pub(super) around: Option<Box<Frame>>,
}

/// ALTER TABLE in progress.
pub(super) struct AlterationRun {
    pub(super) alteration: Alteration,
    pub(super) is_locked: bool,
    /// The procedure that is being run over the rows.
    pub(super) query: Option<Box<QueryRun>>,
}

impl AlterationRun {
    pub(super) fn of(alteration: Alteration) -> AlterationRun {
        AlterationRun { alteration, is_locked: false, query: None }
    }
}

/// A deferred check that has begun: its frame, and a savepoint before it.
pub(super) type Checking = (Box<Frame>, Savepoint);
