//! Which query an aggregate belongs to.
//!
//! An aggregate is computed by the query of the innermost column that its arguments name, and if they name
//! none by the query in which it is written. In `SELECT (SELECT sum(o.x) FROM i) FROM o` it is an aggregate
//! of the outer query: its arguments are taken out of the subquery, as if they had been written in the outer
//! query, and its result is passed in like a column. What had been passed to the subquery for the arguments
//! alone is withdrawn: it would be a column that is not grouped.
//!
//! Whether an aggregate is allowed here depends on the query it belongs to.
//!
//! Reference: section 4.2.7 of PostgreSQL's documentation; check_agg_arguments of parse_agg.c.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};

use super::aggregation::{Aggregate, AggregateMode, Named, innermost, note};
use super::{Binder, Bound, Place};
use crate::expr;

impl Binder<'_> {
    /// The number of the current query.
    pub(super) fn level(&self) -> usize {
        self.surroundings.len()
    }

    /// A column of this query is named.
    pub(super) fn note_column(&mut self, level: usize, place: Place) {
        note(&mut self.named.columns, level, place);
    }

    /// Binds something that must not contain an aggregate of this query. `clause` says where it stands.
    pub(super) fn without_aggregates<T>(
        &mut self,
        clause: &'static str,
        bind: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let around = std::mem::replace(&mut self.aggregate_mode, AggregateMode::Forbidden(clause));
        let bound = bind(self);
        self.aggregate_mode = around;
        bound
    }

    /// Binds direct arguments of an aggregate.
    pub(super) fn direct_arguments<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = std::mem::take(&mut self.named);
        let bound = bind(self);
        let named = std::mem::replace(&mut self.named, around);
        self.named.direct.push(named);
        bound
    }

    /// The expression that stands for the result of an aggregate, given what binds it. `what` may not be
    /// allowed here.
    pub(super) fn settled_aggregate(
        &mut self,
        what: &str,
        place: Place,
        bind: impl FnOnce(&mut Self) -> Result<Aggregate>,
    ) -> Result<Bound> {
        let captured: Vec<usize> = self.surroundings.iter().map(|around| around.captured.len()).collect();
        let outside = std::mem::take(&mut self.named);
        let mode = self.aggregate_mode;
        if mode == AggregateMode::Allowed {
            self.aggregate_mode = AggregateMode::Nested;
        }
        let bound = bind(self);
        self.aggregate_mode = mode;
        let named = std::mem::replace(&mut self.named, outside);
        let mut aggregate = bound?;
        let level = self.level_of_aggregate(&named)?;
        let mode = self.surroundings.get(level).map_or(self.aggregate_mode, |around| around.mode);
        match mode {
            AggregateMode::Allowed => {}
            AggregateMode::Nested => return self.nested_aggregate(place),
            AggregateMode::Forbidden(clause) => {
                let message = format!("{what} are not allowed {clause}");
                return self.fail(sqlstate::GROUPING_ERROR, message, place);
            }
        }
        note(&mut self.named.aggregates, level, place);
        self.named.add(named, level + 1);
        if level == self.level() {
            return self.aggregate_result(aggregate, place);
        }
        self.take_out(&mut aggregate, level);
        for (around, before) in self.surroundings.iter_mut().zip(captured).skip(level) {
            around.captured.truncate(before);
        }
        let inner =
            std::mem::replace(&mut self.aggregates, std::mem::take(&mut self.surroundings[level].aggregates));
        let result = self.aggregate_result(aggregate, place);
        let outer = std::mem::replace(&mut self.aggregates, inner);
        self.surroundings[level].aggregates = outer;
        self.hand_over(level, result?)
    }

    fn nested_aggregate<T>(&self, place: Place) -> Result<T> {
        self.fail(sqlstate::GROUPING_ERROR, "aggregate function calls cannot be nested", place)
    }

    /// The number of the query that an aggregate belongs to, given what its arguments have named.
    fn level_of_aggregate(&self, named: &Named) -> Result<usize> {
        let found = [innermost(&named.columns), innermost(&named.aggregates)].into_iter().flatten();
        let own = self.level() - usize::from(self.call_level == Some(self.level()));
        let level = found.map(|(level, _)| level).max().unwrap_or(own);
        if let Some((_, place)) = named.aggregates.iter().find(|(at, _)| *at == level) {
            return self.nested_aggregate(*place);
        }
        for direct in &named.direct {
            if let Some((at, place)) = innermost(&direct.columns)
                && at > level
            {
                let message =
                    "outer-level aggregate cannot contain a lower-level variable in its direct arguments";
                return self.fail(sqlstate::GROUPING_ERROR, message, place);
            }
            if let Some((at, place)) = innermost(&direct.aggregates)
                && at >= level
            {
                return self.nested_aggregate(place);
            }
        }
        Ok(level)
    }

    /// Expresses what an aggregate computes in terms of the query with this number.
    fn take_out(&self, aggregate: &mut Aggregate, level: usize) {
        let ordered = aggregate.order.iter_mut().map(|key| &mut key.expr);
        for part in aggregate.arguments.iter_mut().chain(&mut aggregate.filter).chain(ordered) {
            for around in self.surroundings[level..].iter().rev() {
                expr::replace(part, &mut |part| match part {
                    Expr::Register(register) => {
                        let handed = around.captured.iter().find(|(_, own)| own == register);
                        handed.map(|(outside, _)| outside.clone())
                    }
                    _ => None,
                });
            }
        }
    }
}
