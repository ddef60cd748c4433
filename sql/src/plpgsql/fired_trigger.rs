//! The trigger whose function is being compiled.

use hyades_engine::procedure::ir::Register;
use hyades_types::value::{SqlType, Value};

use crate::bind::visible_variables::Columns;

/// The trigger whose function is being compiled.
pub(super) struct FiredTrigger {
    /// The types of the procedure's parameters.
    pub(super) parameters: Vec<SqlType>,
    /// The records `OLD` and `NEW`, and whether there is such a row.
    pub(super) old: (Columns, bool),
    pub(super) new: (Columns, bool),
    /// Whether a row was returned. `None`: it does not matter.
    pub(super) verdict: Option<Register>,
    /// `TG_OP` and so on, which do not change.
    pub(super) constants: Vec<(Register, Value)>,
}
