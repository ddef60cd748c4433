//! What COPY compiles to.

use std::sync::Arc;

use hyades_engine::procedure::ir::Procedure;
use hyades_engine::storage::table::Table;
use hyades_types::value::SqlType;

use crate::answer::CopyColumns;
use crate::emit::run_plan::RunPlan;
use crate::statement::{CopyFormat, CopyOptions};

/// How COPY FROM converts a field besides reading its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForcedField {
    /// FORCE_NULL.
    pub(crate) to_null: bool,
    /// FORCE_NOT_NULL.
    pub(crate) to_text: bool,
}

#[derive(Debug)]
pub(crate) struct CopyInPlan {
    pub(crate) table: Arc<Table>,
    /// The columns of the data, in order.
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) options: CopyOptions,
    /// For each column.
    pub(crate) forced: Vec<ForcedField>,
    /// Inserts one row, with the columns' values as parameters.
    pub(crate) insert: Arc<Procedure>,
    /// The triggers before and after the statement.
    pub(crate) before: Option<Arc<Procedure>>,
    pub(crate) after: Option<Arc<Procedure>>,
}

#[derive(Debug)]
pub(crate) struct CopyOutPlan {
    pub(crate) run: RunPlan,
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) options: CopyOptions,
    /// For each column, whether its values are always quoted (CSV).
    pub(crate) force_quote: Vec<bool>,
}

/// A compiled COPY.
pub(crate) enum CopyPlan {
    In(Arc<CopyInPlan>),
    /// COPY TO, and whether it leaves the database unchanged.
    Out(Box<CopyOutPlan>, bool),
}

/// What the client learns of the data.
pub(crate) fn described(columns: usize, options: &CopyOptions) -> CopyColumns {
    CopyColumns { count: columns, is_binary: options.format == CopyFormat::Binary }
}
