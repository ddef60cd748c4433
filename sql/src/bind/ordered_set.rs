//! Aggregates of pairs, and aggregates WITHIN GROUP: their arguments.
//!
//! The sorted expression and the fraction are passed as arguments of one row, so the executor needs nothing
//! new: it sorts the rows by the first, as for ORDER BY inside an aggregate.

use hyades_types::error::Result;
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::{Function, FunctionArg, FunctionArgExpr, FunctionArgumentList};

use super::aggregate::types;
use super::aggregation::{Aggregate, AggregateKind, OrderedSet, Statistic};
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
        kind: AggregateKind,
        call: &Function,
        list: &FunctionArgumentList,
        place: Place,
    ) -> Result<Aggregate> {
        let mut direct = self.direct_arguments(|binder| {
            let bound = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => binder.expression(argument),
                _ => Err(binder.no_function(name, "*", place)),
            });
            bound.collect::<Result<Vec<Bound>>>()
        })?;
        let [key] = call.within_group.as_slice() else {
            return Err(self.no_function_of(name, &direct, place));
        };
        let mut order = self.aggregate_order(key)?;
        let sorted = Bound::typed(order.expr.clone(), order.sql_type, place);
        let is_mode = kind == AggregateKind::OrderedSet(OrderedSet::Mode);
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
                    return self.unsupported(&format!("arrays of {} are", result.base_name()), place);
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
}
