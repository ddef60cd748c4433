//! Statements in progress: they survive waits.

use std::sync::Arc;

use hyades_engine::db::Savepoint;
use hyades_engine::procedure::frame::Frame;
use hyades_types::definition::CatalogChange;

use super::copy_out::CopyWriter;
use crate::plan::Plan;

/// A statement in progress.
pub(super) enum Running {
    Query(Box<QueryRun>),
    Schema(SchemaRun),
    /// The rows of CREATE TABLE AS; they begin again with the table.
    Filling(Box<QueryRun>),
    Call(Box<CallRun>),
}

/// A query or a change in progress.
pub(super) struct QueryRun {
    pub(super) plan: Arc<Plan>,
    pub(super) frame: Box<Frame>,
    pub(super) copy: Option<CopyWriter>,
    /// Rows answered.
    pub(super) rows: u64,
    pub(super) savepoint: Savepoint,
}

/// DDL in progress.
pub(super) struct SchemaRun {
    pub(super) changes: Vec<CatalogChange>,
    pub(super) done: usize,
    pub(super) savepoint: Savepoint,
}

/// A CALL in progress.
pub(super) struct CallRun {
    pub(super) plan: Arc<Plan>,
    pub(super) frame: Box<Frame>,
    pub(super) savepoint: Savepoint,
}
