//! The aggregates of a query, as the executor computes them.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::value::SqlType;

/// Registers from here on are placeholders for results of aggregates and for group keys, until the stages
/// behind the procedure are laid out (`compile::stage`).
pub(crate) const AGGREGATE_PLACEHOLDER: Register = 0xe000;
pub(crate) const GROUP_PLACEHOLDER: Register = 0xf000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    /// `count(*)`.
    CountRows,
    /// `count(x)`.
    Count,
    Sum,
    Average,
    Minimum,
    Maximum,
    BoolAnd,
    BoolOr,
}

/// One aggregate of a query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) argument: Option<Expr>,
    /// Of the argument, as the executor will see it.
    pub(crate) argument_type: SqlType,
    pub(crate) is_distinct: bool,
    pub(crate) filter: Option<Expr>,
    pub(crate) result: SqlType,
}

/// Whether an aggregate may stand here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateMode {
    Allowed,
    /// Inside the argument of another one.
    Nested,
    /// `in WHERE`: completes `aggregate functions are not allowed`.
    Forbidden(&'static str),
}
