//! The stage that computes window functions.
//!
//! Windows with the same partitions and the same order are computed in one *pass* over the sorted rows. The
//! passes follow one another in the order that PostgreSQL chooses, so that a window whose keys begin another
//! one's needs no sort of its own.
//!
//! Reference: select_active_windows and common_prefix_cmp of PostgreSQL's planner.c.

use hyades_engine::procedure::ir::Register;

use super::stage::{AggregateCall, SortKey};
use crate::bind::windowing::{Exclusion, FrameUnit, WindowFunction};

/// All window functions of a query.
#[derive(Debug)]
pub(crate) struct WindowStage {
    /// How many values a row has when it is fed.
    pub(crate) fed: usize,
    /// This many first values of a row are output, followed by the results. The others serve only for the
    /// computation.
    pub(crate) carried: usize,
    /// If it is not that: which values are output, counting all values of a row and then the results. Each at
    /// most once.
    pub(crate) output: Option<Vec<usize>>,
    pub(crate) passes: Vec<WindowPass>,
}

/// The windows of one partitioning and one order.
#[derive(Debug)]
pub(crate) struct WindowPass {
    /// The keys of the partitions and those of the order, unless the rows are already sorted so.
    pub(crate) sort: Vec<SortKey>,
    pub(crate) partition: Vec<SortKey>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) windows: Vec<StagedWindow>,
}

/// A frame, and the functions that are computed over it. Their results are appended to the row in the order
/// of all calls of all windows.
#[derive(Debug)]
pub(crate) struct StagedWindow {
    pub(crate) frame: StagedFrame,
    pub(crate) calls: Vec<StagedCall>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StagedFrame {
    pub(crate) unit: FrameUnit,
    pub(crate) start: StagedBound,
    pub(crate) end: StagedBound,
    pub(crate) exclusion: Exclusion,
}

impl StagedFrame {
    /// Whether its rows are those before it and some more, whatever the current row is.
    pub(crate) fn only_grows(&self) -> bool {
        matches!(self.start, StagedBound::UnboundedPreceding) && self.exclusion == Exclusion::NoOthers
    }
}

/// A bound of a frame. An offset is in a register, and neither NULL nor a negative number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StagedBound {
    UnboundedPreceding,
    Preceding(Register),
    CurrentRow,
    Following(Register),
    UnboundedFollowing,
}

/// A call of a window function.
#[derive(Debug)]
pub(crate) struct StagedCall {
    pub(crate) function: WindowFunction,
    /// The values that it takes, for functions that are no aggregates.
    pub(crate) arguments: Vec<usize>,
    /// The number of rows that lag and lead look back or ahead, where it is the same for all rows.
    pub(crate) distance: Option<i64>,
    /// What an aggregate takes.
    pub(crate) aggregate: Option<AggregateCall>,
}
