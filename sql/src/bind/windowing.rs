//! The windows of a query, and the calls of window functions, as the executor computes them.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::value::SqlType;
use sqlparser::ast::{self, NamedWindowExpr, WindowSpec};

use super::aggregation::{AGGREGATE_PLACEHOLDER, AggregateKind, AggregateOrder};
use crate::statement::names::fold;
pub(crate) use crate::statement::window_syntax::Exclusion;

/// Registers from here on, up to those that stand for aggregates, are placeholders for results of window
/// functions, until the stages that follow the procedure are laid out (`emit::windows`).
pub(crate) const WINDOW_PLACEHOLDER: Register = 0xd800;

/// Whether it stands for the result of a window function.
pub(crate) fn is_window_result(expr: &Expr) -> bool {
    matches!(expr, Expr::Register(register) if (WINDOW_PLACEHOLDER..AGGREGATE_PLACEHOLDER).contains(register))
}

/// What is computed over a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    Aggregate(AggregateKind),
}

impl WindowFunction {
    /// Whether it looks at the frame.
    pub(crate) fn uses_frame(self) -> bool {
        matches!(
            self,
            WindowFunction::FirstValue
                | WindowFunction::LastValue
                | WindowFunction::NthValue
                | WindowFunction::Aggregate(_)
        )
    }
}

/// A call of a window function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WindowCall {
    pub(crate) name: String,
    pub(crate) function: WindowFunction,
    pub(crate) arguments: Vec<Expr>,
    /// The type of an aggregate's first argument.
    pub(crate) argument_type: SqlType,
    pub(crate) filter: Option<Expr>,
    /// The number of its window.
    pub(crate) window: usize,
    pub(crate) result: SqlType,
}

/// How a frame counts its offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameUnit {
    Rows,
    Range,
    Groups,
}

/// The distance of a bound from the current row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offset {
    /// The same for all rows.
    pub(crate) expr: Expr,
    /// `bigint` for rows and groups.
    pub(crate) sql_type: SqlType,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FrameBound {
    UnboundedPreceding,
    Preceding(Offset),
    CurrentRow,
    Following(Offset),
    UnboundedFollowing,
}

impl FrameBound {
    pub(crate) fn offset(&self) -> Option<&Offset> {
        match self {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            _ => None,
        }
    }
}

/// The rows of a partition that a window function looks at, given the current row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) unit: FrameUnit,
    pub(crate) start: FrameBound,
    pub(crate) end: FrameBound,
    pub(crate) exclusion: Exclusion,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame {
            unit: FrameUnit::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclusion: Exclusion::NoOthers,
        }
    }
}

/// A window.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) partition: Vec<AggregateOrder>,
    pub(crate) order: Vec<AggregateOrder>,
    pub(crate) frame: Frame,
    /// Whether a frame is written.
    pub(crate) has_frame: bool,
    /// Range in `Binder::column_places` of the columns it names.
    pub(crate) column_places: (usize, usize),
}

impl Window {
    /// The keys of the partitions, then those of the order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &AggregateOrder> {
        self.partition.iter().chain(&self.order)
    }
}

/// What a query computes over windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windowing {
    pub(crate) windows: Vec<Window>,
    pub(crate) calls: Vec<WindowCall>,
    /// For each call, the range in `Binder::column_places` of the columns it names.
    pub(crate) column_places: Vec<(usize, usize)>,
}

impl Windowing {
    /// Whether there is nothing to compute.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// All expressions that are evaluated for each row.
    pub(crate) fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let calls = self.calls.iter_mut();
        let of_calls = calls.flat_map(|call| call.arguments.iter_mut().chain(&mut call.filter));
        let windows = self.windows.iter_mut();
        let keys = windows.flat_map(|window| window.partition.iter_mut().chain(&mut window.order));
        of_calls.chain(keys.map(|key| &mut key.expr))
    }

    /// The same, each with the range in `Binder::column_places` where the columns that it names are.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = (&Expr, (usize, usize))> {
        let of_calls = self.calls.iter().zip(&self.column_places);
        let of_calls = of_calls.flat_map(|(call, places)| {
            call.arguments.iter().chain(&call.filter).map(move |expr| (expr, *places))
        });
        let keys = self.windows.iter().flat_map(|window| {
            let places = window.column_places;
            window.keys().map(move |key| (&key.expr, places))
        });
        of_calls.chain(keys)
    }
}

/// Whether a call of a window function is allowed here, apart from where aggregates are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowMode {
    Allowed,
    /// Inside the arguments of another one.
    Nested,
    /// In a window.
    InWindow,
    /// `in HAVING`: completes `window functions are not allowed`.
    Forbidden(&'static str),
}

/// A window as it is written.
pub(super) struct WrittenWindow {
    /// Its name in the clause WINDOW.
    pub(super) name: Option<String>,
    pub(super) spec: WindowSpec,
}

/// The calls of window functions of the query that is being bound.
pub(crate) struct WindowCalls {
    pub(super) mode: WindowMode,
    /// Those of the clause WINDOW first.
    pub(super) written: Vec<WrittenWindow>,
    pub(super) calls: Vec<WindowCall>,
    /// For each call, the range in `Binder::column_places` of the columns it names.
    pub(super) column_places: Vec<(usize, usize)>,
}

impl WindowCalls {
    /// None yet, with the windows of a clause WINDOW.
    pub(crate) fn of(clause: &[ast::NamedWindowDefinition]) -> WindowCalls {
        let written = clause.iter().filter_map(|ast::NamedWindowDefinition(name, window)| match window {
            NamedWindowExpr::WindowSpec(spec) => {
                Some(WrittenWindow { name: Some(fold(name)), spec: spec.clone() })
            }
            // Refused when the statement is parsed.
            NamedWindowExpr::NamedWindow(_) => None,
        });
        WindowCalls {
            mode: WindowMode::Allowed,
            written: written.collect(),
            calls: Vec::new(),
            column_places: Vec::new(),
        }
    }

    /// The name of a window of the clause WINDOW that is written like this one.
    pub(super) fn name_of(&self, spec: &WindowSpec) -> Option<&str> {
        let same = self.written.iter().find(|written| written.spec == *spec);
        same.and_then(|written| written.name.as_deref())
    }
}
