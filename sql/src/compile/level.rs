//! *Levels*: the nested loops that FROM becomes.
//!
//! Each level finds the rows of one relation, given those of the levels before it. Inner joins may be
//! reordered: at each step the relation with the best access comes next. A left join keeps its place; when
//! nothing was found the rest runs once more with the relation's columns NULL. There is no hash join yet: a
//! join without a usable key costs the product of both sides.

use hyades_engine::procedure::ir::{Expr, Intent};

use super::access::Choice;
use crate::bind::tree::Source;

/// One loop.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) source: Source,
    pub(crate) choice: Choice,
    pub(crate) is_left_join: bool,
    /// For a left join: conditions of WHERE, checked also when nothing was found.
    pub(crate) after: Vec<Expr>,
    pub(crate) intent: Intent,
    /// Whether a scan that skips locked rows keeps the locks of those that pass.
    pub(crate) is_kept: bool,
    /// `table` or `table alias`, for EXPLAIN.
    pub(crate) label: String,
}
