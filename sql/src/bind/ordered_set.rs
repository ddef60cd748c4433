//! Aggregates of pairs, and aggregates WITHIN GROUP: their arguments.
//!
//! The sorted expressions and the direct arguments (a fraction, or the values of a hypothetical row) are
//! passed as arguments of one row, so the executor needs nothing new: it sorts the rows by the former, as for
//! ORDER BY inside an aggregate.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::{Function, FunctionArg, FunctionArgExpr, FunctionArgumentList};

use super::aggregate::types;
use super::aggregation::{Aggregate, AggregateKind, AggregateOrder, OrderedSet, Statistic};
use super::{Binder, Bound, Place};

impl Binder<'_> {
    /// `corr(y, x)` and the like.
    pub(super) fn aggregate_of_pairs(
        &mut self,
        name: &str,
        kind: AggregateKind,
        (first, second): (Bound, Bound),
        place: Place,
    ) -> Result<Aggregate> {
        let is_number = |side: &Bound| side.known_type().is_none_or(SqlType::is_numeric);
        if !is_number(&first) || !is_number(&second) {
            return Err(self.no_function_of(name, &[first, second], place));
        }
        let wanted = SqlType::DoublePrecision;
        let arguments = vec![self.coerce(first, wanted)?, self.coerce(second, wanted)?];
        let is_count = kind == AggregateKind::Statistic(Statistic::Count);
        Ok(Aggregate {
            kind,
            arguments,
            argument_type: wanted,
            is_distinct: false,
            filter: None,
            order: Vec::new(),
            result: if is_count { SqlType::BigInt } else { wanted },
        })
    }

    /// `percentile_cont(fraction) WITHIN GROUP (ORDER BY value)` and the like.
    pub(super) fn ordered_set(
        &mut self,
        name: &str,
        set: OrderedSet,
        call: &Function,
        list: &FunctionArgumentList,
        place: Place,
    ) -> Result<Aggregate> {
        let kind = AggregateKind::OrderedSet(set);
        let mut direct = self.direct_arguments(|binder| {
            let bound = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => binder.expression(argument),
                _ => Err(binder.no_function(name, "*", place)),
            });
            bound.collect::<Result<Vec<Bound>>>()
        })?;
        if set.is_hypothetical() {
            return self.hypothetical_set(name, set, call, direct, place);
        }
        let [key] = call.within_group.as_slice() else {
            return Err(self.no_function_of(name, &direct, place));
        };
        let mut order = self.aggregate_order(key)?;
        let sorted = Bound::typed(order.expr.clone(), order.sql_type, place);
        let is_mode = set == OrderedSet::Mode;
        let Some((argument_type, result)) =
            types(kind, order.sql_type).filter(|_| direct.len() == usize::from(!is_mode))
        else {
            direct.push(sorted);
            return Err(self.no_function_of(name, &direct, place));
        };
        order.expr = self.coerce(sorted, argument_type)?;
        order.sql_type = argument_type;
        let mut arguments = vec![order.expr.clone()];
        let mut result = result;
        if let Some(fraction) = direct.pop() {
            let is_array = fraction.known_type().and_then(SqlType::element).is_some();
            let wanted = if is_array {
                let Some(element) = ArrayElement::of(result) else {
                    return self.unsupported(
                        Missing::ColumnTypes,
                        &format!("arrays of {} are", result.base_name()),
                        place,
                    );
                };
                result = SqlType::Array(element);
                SqlType::Array(ArrayElement::DoublePrecision)
            } else {
                SqlType::DoublePrecision
            };
            arguments.push(self.coerce(fraction, wanted)?);
        }
        let filter = self.aggregate_filter(call)?;
        Ok(Aggregate {
            kind,
            arguments,
            argument_type,
            is_distinct: false,
            filter,
            order: vec![order],
            result,
        })
    }

    /// `rank(values) WITHIN GROUP (ORDER BY keys)` and the like.
    fn hypothetical_set(
        &mut self,
        name: &str,
        set: OrderedSet,
        call: &Function,
        direct: Vec<Bound>,
        place: Place,
    ) -> Result<Aggregate> {
        let order = call.within_group.iter().map(|key| self.unchecked_order(key));
        let mut order = order.collect::<Result<Vec<AggregateOrder>>>()?;
        if direct.len() != order.len() {
            let keys = order.iter().map(|key| Bound::typed(key.expr.clone(), key.sql_type, place));
            let (given, wanted) = (direct.len(), order.len());
            let all: Vec<&str> =
                direct.iter().map(Bound::type_name).chain(keys.map(|key| key.type_name())).collect();
            let error = Error::input(
                sqlstate::UNDEFINED_FUNCTION,
                format!("function {name}({}) does not exist", all.join(", ")),
            )
            .with_hint(format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments \
                 (here {given}) must match the number of ordering columns (here {wanted})."
            ));
            return Err(self.place(error, place));
        }
        let mut values = Vec::with_capacity(direct.len());
        for ((value, key), written) in direct.into_iter().zip(&mut order).zip(&call.within_group) {
            let sorted = Bound::typed(key.expr.clone(), key.sql_type, Place::of_expr(&written.expr));
            let common = self.common_type([&sorted, &value], "WITHIN GROUP")?;
            self.check_order(common, sorted.place)?;
            values.push(self.coerce(value, common)?);
            key.expr = self.coerce(sorted, common)?;
            key.sql_type = common;
        }
        let keys = order.iter().map(|key| key.expr.clone());
        let is_number = matches!(set, OrderedSet::Rank | OrderedSet::DenseRank);
        Ok(Aggregate {
            kind: AggregateKind::OrderedSet(set),
            arguments: keys.chain(values).collect(),
            argument_type: order.first().map_or(SqlType::Text, |key| key.sql_type),
            is_distinct: false,
            filter: self.aggregate_filter(call)?,
            order,
            result: if is_number { SqlType::BigInt } else { SqlType::DoublePrecision },
        })
    }
}
