//! The aggregates of a query, as the executor computes them.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, SqlType};

use super::bound::Place;

/// Registers from here on are placeholders for results of aggregates and for group keys, until the stages
/// that follow the procedure are laid out (`emit::stages`).
pub(crate) const AGGREGATE_PLACEHOLDER: Register = 0xe000;
pub(crate) const GROUP_PLACEHOLDER: Register = 0xf000;

/// The type of the list of arguments of an aggregate of a user. Its elements need not be of one type.
pub(crate) const LIST: SqlType = SqlType::Array(ArrayElement::System(SystemType::Record));

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
    BitAnd,
    BitOr,
    BitXor,
    /// `string_agg(value, delimiter)`.
    StringAgg,
    ArrayAgg(ArrayElement),
    /// The same for arrays, which form one array with one more dimension.
    ArrayOfArrays(ArrayElement),
    /// The list for an aggregate of a user.
    Collect,
    Statistic(Statistic),
    OrderedSet(OrderedSet),
    /// Which keys of the group its grouping set leaves out.
    Grouping,
}

/// Statistics of one number, or of pairs of y and x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    VariancePopulation,
    VarianceSample,
    DeviationPopulation,
    DeviationSample,
    CovariancePopulation,
    CovarianceSample,
    Correlation,
    Count,
    SumXx,
    SumYy,
    SumXy,
    AverageX,
    AverageY,
    Determination,
    Slope,
    Intercept,
}

impl Statistic {
    /// Whether it takes pairs.
    pub(crate) fn is_of_pairs(self) -> bool {
        !matches!(
            self,
            Statistic::VariancePopulation
                | Statistic::VarianceSample
                | Statistic::DeviationPopulation
                | Statistic::DeviationSample
        )
    }
}

/// An aggregate WITHIN GROUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderedSet {
    PercentileContinuous,
    PercentileDiscrete,
    Mode,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

impl OrderedSet {
    /// Whether it is about the row that its direct arguments make, as if that were one of the group.
    pub(crate) fn is_hypothetical(self) -> bool {
        matches!(
            self,
            OrderedSet::Rank | OrderedSet::DenseRank | OrderedSet::PercentRank | OrderedSet::CumeDist
        )
    }
}

impl AggregateKind {
    /// Whether it treats NULL like any other value.
    pub(crate) fn takes_null(self) -> bool {
        match self {
            AggregateKind::CountRows
            | AggregateKind::ArrayAgg(_)
            | AggregateKind::ArrayOfArrays(_)
            | AggregateKind::Collect => true,
            AggregateKind::OrderedSet(set) => set.is_hypothetical(),
            _ => false,
        }
    }

    /// Whether it keeps every value.
    pub(crate) fn keeps_values(self) -> bool {
        matches!(
            self,
            AggregateKind::ArrayAgg(_)
                | AggregateKind::ArrayOfArrays(_)
                | AggregateKind::Collect
                | AggregateKind::OrderedSet(_)
        )
    }
}

/// One aggregate of a query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) arguments: Vec<Expr>,
    /// The type of the first argument, as the executor will see it.
    pub(crate) argument_type: SqlType,
    pub(crate) is_distinct: bool,
    pub(crate) filter: Option<Expr>,
    /// The order in which it takes the rows.
    pub(crate) order: Vec<AggregateOrder>,
    pub(crate) result: SqlType,
}

impl Aggregate {
    /// The direct arguments of an aggregate WITHIN GROUP, which follow its keys.
    pub(crate) fn direct_arguments(&self) -> &[Expr] {
        match self.kind {
            AggregateKind::OrderedSet(_) => self.arguments.get(self.order.len()..).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// A key of ORDER BY in an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AggregateOrder {
    pub(crate) expr: Expr,
    pub(crate) sql_type: SqlType,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
}

/// Whether an aggregate is allowed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateMode {
    Allowed,
    /// Inside the argument of another one.
    Nested,
    /// `in WHERE`: completes `aggregate functions are not allowed`.
    Forbidden(&'static str),
}

/// Where neither an aggregate is allowed nor a set-returning function inside another one.
pub(crate) const IN_FUNCTION: &str = "in functions in FROM";

/// The places where something of a query was named, with the number of that query: how many queries enclose
/// it. Each query is listed once, with its first place.
#[derive(Default)]
pub(super) struct Named {
    pub(super) columns: Vec<(usize, Place)>,
    pub(super) aggregates: Vec<(usize, Place)>,
    /// The same for direct arguments, which do not decide which query the aggregate belongs to.
    pub(super) direct: Vec<Named>,
}

/// Adds a query that is not in the list yet.
pub(super) fn note(list: &mut Vec<(usize, Place)>, level: usize, place: Place) {
    if !list.iter().any(|(known, _)| *known == level) {
        list.push((level, place));
    }
}

/// The innermost query of a list.
pub(super) fn innermost(list: &[(usize, Place)]) -> Option<(usize, Place)> {
    list.iter().copied().max_by_key(|(level, _)| *level)
}

impl Named {
    /// Adds what `other` has named of the queries before this one.
    pub(super) fn add(&mut self, other: Named, before: usize) {
        let lists = [(&mut self.columns, other.columns), (&mut self.aggregates, other.aggregates)];
        for (list, added) in lists {
            added.into_iter().filter(|(at, _)| *at < before).for_each(|(at, place)| note(list, at, place));
        }
        other.direct.into_iter().for_each(|direct| self.add(direct, before));
    }
}
