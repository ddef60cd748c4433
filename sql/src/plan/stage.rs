//! Stages: operations that need all rows at once (aggregates, sorting, DISTINCT). The procedure feeds and
//! reads them, the executor carries them out.

use hyades_engine::procedure::ir::Register;
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::SetOperator;

use crate::bind::aggregation::AggregateKind;

/// UNION, INTERSECT and EXCEPT. The last value of an input row says whether it comes from the second query.
#[derive(Debug)]
pub(crate) struct Combination {
    /// Columns of type `character`, whose trailing blanks do not count.
    pub(crate) chars: Vec<usize>,
    pub(crate) operator: SetOperator,
    pub(crate) is_all: bool,
}

/// ARRAY (SELECT ...): its input is the elements of one array.
#[derive(Debug)]
pub(crate) struct ArrayOf {
    pub(crate) element: ArrayElement,
    /// The elements come out in order, each once, NULL last. For IN (SELECT ...), which searches them.
    pub(crate) is_set: bool,
}

/// DISTINCT, ORDER BY, OFFSET and LIMIT, in this order, over the rows that a procedure feeds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorting {
    pub(crate) distinct: Distinct,
    /// Values of type `character`, whose trailing blanks do not make rows distinct.
    pub(crate) chars: Vec<usize>,
    pub(crate) sort: Vec<SortKey>,
    /// Registers that hold non-negative row counts. NULL means no limit.
    pub(crate) limit: Option<Register>,
    pub(crate) offset: Option<Register>,
    /// Rows that are equal to the last one in all keys are output, too.
    pub(crate) with_ties: bool,
    /// How many of the values are output. The others serve only for sorting.
    pub(crate) width: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Distinct {
    #[default]
    No,
    /// Rows are duplicates if these first values are equal.
    Rows(usize),
    /// The same where the rows are sorted by all of these values, which makes duplicates neighbours.
    Sorted,
    /// DISTINCT ON: for each combination of these values, the first row after sorting.
    On(Vec<usize>),
}

/// GROUP BY and aggregates: one row for each group is output, its keys first and then the results.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    /// This many first values of a row are the keys of its group.
    pub(crate) keys: usize,
    /// Keys of type `character`, whose trailing blanks do not count.
    pub(crate) chars: Vec<usize>,
    /// Without GROUP BY there is exactly one group, even if there are no rows.
    pub(crate) is_grouped: bool,
    /// Grouping sets: a row goes to one group of each set, whose other keys are NULL. If empty, all keys
    /// form one set.
    pub(crate) sets: Vec<Vec<usize>>,
    pub(crate) calls: Vec<AggregateCall>,
}

/// An aggregate over values of the input rows.
#[derive(Clone, Debug)]
pub(crate) struct AggregateCall {
    pub(crate) kind: AggregateKind,
    /// The values it takes.
    pub(crate) arguments: Vec<usize>,
    pub(crate) argument_type: SqlType,
    /// The value that must be true for a row to count.
    pub(crate) filter: Option<usize>,
    pub(crate) is_distinct: bool,
    /// The order in which it takes the rows.
    pub(crate) order: Vec<SortKey>,
}

impl AggregateCall {
    /// Whether it takes every row in input order.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.filter.is_none() && !self.is_distinct && self.order.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SortKey {
    pub(crate) value: usize,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
    pub(crate) is_char: bool,
}

impl SortKey {
    /// Like `ORDER BY value` for a type other than `character`.
    pub(crate) fn ascending(value: usize) -> SortKey {
        SortKey { value, is_descending: false, nulls_first: false, is_char: false }
    }
}
