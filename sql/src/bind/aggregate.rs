//! Aggregate functions: recognized while binding, computed by the executor.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, OrderByExpr,
};

use super::aggregation::{Aggregate, AggregateKind, AggregateOrder, LIST, OrderedSet, Statistic};
use super::bound::no_parameter_type;
use super::coerce::{Category, category};
use super::json_expression::json_aggregate;
use super::{AGGREGATE_PLACEHOLDER, Binder, Bound, Class, Place};
use crate::expr;

/// The aggregate of this name.
pub(super) fn aggregate_kind(name: &str) -> Option<AggregateKind> {
    Some(match name {
        "count" => AggregateKind::Count,
        "sum" => AggregateKind::Sum,
        "avg" => AggregateKind::Average,
        "min" => AggregateKind::Minimum,
        "max" => AggregateKind::Maximum,
        "bool_and" | "every" => AggregateKind::BoolAnd,
        "bool_or" => AggregateKind::BoolOr,
        "bit_and" => AggregateKind::BitAnd,
        "bit_or" => AggregateKind::BitOr,
        "bit_xor" => AggregateKind::BitXor,
        "string_agg" => AggregateKind::StringAgg,
        "stddev" | "stddev_samp" => AggregateKind::Statistic(Statistic::DeviationSample),
        "stddev_pop" => AggregateKind::Statistic(Statistic::DeviationPopulation),
        "variance" | "var_samp" => AggregateKind::Statistic(Statistic::VarianceSample),
        "var_pop" => AggregateKind::Statistic(Statistic::VariancePopulation),
        "covar_pop" => AggregateKind::Statistic(Statistic::CovariancePopulation),
        "covar_samp" => AggregateKind::Statistic(Statistic::CovarianceSample),
        "corr" => AggregateKind::Statistic(Statistic::Correlation),
        "regr_count" => AggregateKind::Statistic(Statistic::Count),
        "regr_sxx" => AggregateKind::Statistic(Statistic::SumXx),
        "regr_syy" => AggregateKind::Statistic(Statistic::SumYy),
        "regr_sxy" => AggregateKind::Statistic(Statistic::SumXy),
        "regr_avgx" => AggregateKind::Statistic(Statistic::AverageX),
        "regr_avgy" => AggregateKind::Statistic(Statistic::AverageY),
        "regr_r2" => AggregateKind::Statistic(Statistic::Determination),
        "regr_slope" => AggregateKind::Statistic(Statistic::Slope),
        "regr_intercept" => AggregateKind::Statistic(Statistic::Intercept),
        "percentile_cont" => AggregateKind::OrderedSet(OrderedSet::PercentileContinuous),
        "percentile_disc" => AggregateKind::OrderedSet(OrderedSet::PercentileDiscrete),
        "mode" => AggregateKind::OrderedSet(OrderedSet::Mode),
        "rank" => AggregateKind::OrderedSet(OrderedSet::Rank),
        "dense_rank" => AggregateKind::OrderedSet(OrderedSet::DenseRank),
        "percent_rank" => AggregateKind::OrderedSet(OrderedSet::PercentRank),
        "cume_dist" => AggregateKind::OrderedSet(OrderedSet::CumeDist),
        // The element type becomes known with the argument.
        "array_agg" => AggregateKind::ArrayAgg(ArrayElement::Text),
        _ if json_aggregate(name).is_some() => AggregateKind::ArrayAgg(ArrayElement::Text),
        _ => return None,
    })
}

/// Whether calls of this name are aggregates.
pub(super) fn is_aggregate_name(name: &str) -> bool {
    aggregate_kind(name).is_some()
}

/// The type in which the argument is computed, and the type of the result.
pub(super) fn types(kind: AggregateKind, argument: SqlType) -> Option<(SqlType, SqlType)> {
    use SqlType::{
        BigInt, Boolean, Bytea, DoublePrecision, Integer, Interval, Numeric, Real, SmallInt, Text, Time,
    };
    let argument = argument.without_modifier();
    Some(match kind {
        AggregateKind::CountRows | AggregateKind::Count => (argument, BigInt),
        AggregateKind::Sum => match argument {
            SmallInt | Integer => (argument, BigInt),
            BigInt | Numeric(_) => (argument, Numeric(None)),
            Real => (Real, Real),
            DoublePrecision => (DoublePrecision, DoublePrecision),
            Interval(_) | Time(_) => (SqlType::INTERVAL, SqlType::INTERVAL),
            _ => return None,
        },
        AggregateKind::Average => match argument {
            SmallInt | Integer | BigInt | Numeric(_) => (argument, Numeric(None)),
            Real | DoublePrecision => (DoublePrecision, DoublePrecision),
            Interval(_) | Time(_) => (SqlType::INTERVAL, SqlType::INTERVAL),
            _ => return None,
        },
        AggregateKind::Minimum | AggregateKind::Maximum => match category(argument) {
            Category::Boolean
            | Category::Uuid
            | Category::MacAddr
            | Category::Bytea
            | Category::Json
            | Category::Jsonb
            | Category::Extension => return None,
            Category::Network => (SqlType::Inet, SqlType::Inet),
            Category::String if !matches!(argument, SqlType::Char(_) | SqlType::Extension(_)) => (Text, Text),
            _ => (argument, argument),
        },
        AggregateKind::BoolAnd | AggregateKind::BoolOr => {
            (argument == Boolean).then_some(())?;
            (Boolean, Boolean)
        }
        AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => {
            argument.is_integer().then_some((argument, argument))?
        }
        AggregateKind::StringAgg => match argument {
            Bytea => (Bytea, Bytea),
            _ if category(argument) == Category::String => (Text, Text),
            _ => return None,
        },
        AggregateKind::ArrayAgg(element) => (element.sql_type(), SqlType::Array(element)),
        AggregateKind::ArrayOfArrays(element) => (SqlType::Array(element), SqlType::Array(element)),
        AggregateKind::Statistic(_) => match argument {
            SmallInt | Integer | BigInt | Numeric(_) => (Numeric(None), Numeric(None)),
            Real | DoublePrecision => (DoublePrecision, DoublePrecision),
            _ => return None,
        },
        AggregateKind::OrderedSet(OrderedSet::PercentileContinuous) => match argument {
            Interval(_) => (SqlType::INTERVAL, SqlType::INTERVAL),
            _ if argument.is_numeric() => (DoublePrecision, DoublePrecision),
            _ => return None,
        },
        AggregateKind::Collect => (argument, LIST),
        AggregateKind::OrderedSet(_) | AggregateKind::Grouping => (argument, argument),
    })
}

impl Binder<'_> {
    /// Binds a call if its name is an aggregate's.
    pub(crate) fn try_aggregate(
        &mut self,
        name: &str,
        call: &Function,
        place: Place,
    ) -> Result<Option<Bound>> {
        if let Some(bound) = self.try_grouping_call(name, call, place)? {
            return Ok(Some(bound));
        }
        let Some(kind) = aggregate_kind(name) else {
            if call.filter.is_some() {
                return self.no_filter(name, place);
            }
            return Ok(None);
        };
        let mut item = None;
        let bound = self.settled_aggregate("aggregate functions", place, |binder| {
            let aggregate = binder.aggregate(name, kind, call, place)?;
            item = aggregate.arguments.first().cloned();
            Ok(aggregate)
        })?;
        Ok(Some(self.json_result(name, bound, item.as_ref(), place)))
    }

    /// 42809 for FILTER of another function.
    pub(super) fn no_filter<T>(&self, name: &str, place: Place) -> Result<T> {
        let message = format!("FILTER specified, but {name} is not an aggregate function");
        self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place)
    }

    /// The expression that stands for the result of the aggregate, which is computed once however often it is
    /// written.
    pub(super) fn aggregate_result(&mut self, aggregate: Aggregate, place: Place) -> Result<Bound> {
        let result = aggregate.result;
        let number = match self.aggregates.iter().position(|known| *known == aggregate) {
            Some(number) => number,
            None => {
                self.aggregates.push(aggregate);
                self.aggregates.len() - 1
            }
        };
        let offset = Register::try_from(number).ok().filter(|number| *number < 0x1000);
        let Some(offset) = offset else {
            return self.fail(sqlstate::PROGRAM_LIMIT_EXCEEDED, "too many aggregates in one query", place);
        };
        Ok(Bound::typed(Expr::Register(AGGREGATE_PLACEHOLDER + offset), result, place))
    }

    fn aggregate(
        &mut self,
        name: &str,
        kind: AggregateKind,
        call: &Function,
        place: Place,
    ) -> Result<Aggregate> {
        let FunctionArguments::List(list) = &call.args else {
            return self.fail(
                sqlstate::UNDEFINED_FUNCTION,
                format!("function {name}() does not exist"),
                place,
            );
        };
        if let AggregateKind::OrderedSet(set) = kind {
            if !call.within_group.is_empty() {
                return self.ordered_set(name, set, call, list, place);
            }
            if list.args.is_empty() && set.is_hypothetical() {
                return self.needs_window(name, place);
            }
            return self.without_group(name, set, list, place);
        }
        if !call.within_group.is_empty() {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place);
        }
        let filter = self.aggregate_filter(call)?;
        let mut aggregate = self.plain_aggregate(name, kind, list, place)?;
        aggregate.filter = filter;
        self.complete_aggregate(&mut aggregate, list, place)?;
        Ok(aggregate)
    }

    /// DISTINCT and ORDER BY of an aggregate.
    pub(super) fn complete_aggregate(
        &mut self,
        aggregate: &mut Aggregate,
        list: &FunctionArgumentList,
        place: Place,
    ) -> Result<()> {
        aggregate.is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        for clause in &list.clauses {
            let FunctionArgumentClause::OrderBy(keys) = clause else {
                return self.unsupported(Missing::OtherForms, "this clause of an aggregate is", place);
            };
            aggregate.order = keys.iter().map(|key| self.aggregate_order(key)).collect::<Result<_>>()?;
            for (key, order) in keys.iter().zip(&mut aggregate.order) {
                // The same subquery is a different one each time it is bound.
                let is_same = |argument: &&FunctionArg| matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if *expr == key.expr);
                let same = list.args.iter().zip(&aggregate.arguments).find(|(written, _)| is_same(written));
                if let Some((_, argument)) = same
                    && expr::any(argument, &|part| matches!(part, Expr::Query { .. }))
                {
                    order.expr = argument.clone();
                }
            }
        }
        if aggregate.is_distinct && aggregate.order.iter().any(|key| !aggregate.arguments.contains(&key.expr))
        {
            let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            let place = list.clauses.iter().find_map(|clause| match clause {
                FunctionArgumentClause::OrderBy(keys) => keys.first().map(|key| Place::of_expr(&key.expr)),
                _ => None,
            });
            return self.fail(sqlstate::INVALID_COLUMN_REFERENCE, message, place.unwrap_or(Place::Unknown));
        }
        Ok(())
    }

    /// An aggregate with its arguments, whatever else is written in its call.
    pub(super) fn plain_aggregate(
        &mut self,
        name: &str,
        kind: AggregateKind,
        list: &FunctionArgumentList,
        place: Place,
    ) -> Result<Aggregate> {
        match json_aggregate(name) {
            Some(_) => {
                let item = self.json_item(name, list, place)?;
                self.aggregate_of(name, kind, item, place)
            }
            None => self.aggregate_arguments(name, kind, list, place),
        }
    }

    fn aggregate_arguments(
        &mut self,
        name: &str,
        kind: AggregateKind,
        list: &FunctionArgumentList,
        place: Place,
    ) -> Result<Aggregate> {
        match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
                if kind == AggregateKind::Count
                    && list.duplicate_treatment != Some(DuplicateTreatment::Distinct) =>
            {
                Ok(Aggregate {
                    kind: AggregateKind::CountRows,
                    arguments: Vec::new(),
                    argument_type: SqlType::Boolean,
                    is_distinct: false,
                    filter: None,
                    order: Vec::new(),
                    result: SqlType::BigInt,
                })
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))]
                if kind != AggregateKind::StringAgg
                    && !matches!(kind, AggregateKind::Statistic(statistic) if statistic.is_of_pairs()) =>
            {
                let bound = self.expression(argument)?;
                self.aggregate_of(name, kind, bound, place)
            }
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(delimiter)),
            ] if kind == AggregateKind::StringAgg => {
                let (value, delimiter) = (self.expression(argument)?, self.expression(delimiter)?);
                self.string_aggregate(name, value, delimiter, place)
            }
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(first)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(second)),
            ] if matches!(kind, AggregateKind::Statistic(statistic) if statistic.is_of_pairs()) => {
                let (first, second) = (self.expression(first)?, self.expression(second)?);
                self.aggregate_of_pairs(name, kind, (first, second), place)
            }
            [] if kind == AggregateKind::Count => self.fail(
                sqlstate::WRONG_OBJECT_TYPE,
                "count(*) must be used to call a parameterless aggregate function",
                place,
            ),
            arguments => {
                let shown: Vec<&str> = arguments
                    .iter()
                    .map(|argument| match argument {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => {
                            self.expression(argument).map(|bound| bound.type_name())
                        }
                        _ => Ok("*"),
                    })
                    .collect::<Result<_>>()?;
                Err(self.no_function(name, &shown.join(", "), place))
            }
        }
    }

    pub(super) fn aggregate_filter(&mut self, call: &Function) -> Result<Option<Expr>> {
        let Some(filter) = &call.filter else { return Ok(None) };
        self.without_aggregates("in FILTER", |binder| binder.condition_of(filter, "FILTER")).map(Some)
    }

    /// A key of ORDER BY in an aggregate or in a window.
    pub(super) fn aggregate_order(&mut self, key: &OrderByExpr) -> Result<AggregateOrder> {
        let order = self.unchecked_order(key)?;
        self.check_order(order.sql_type, Place::of_expr(&key.expr))?;
        Ok(order)
    }

    /// The same, whose type may have no order.
    pub(super) fn unchecked_order(&mut self, key: &OrderByExpr) -> Result<AggregateOrder> {
        let bound = self.expression(&key.expr)?;
        let (expr, sql_type) = self.known_or_text(bound)?;
        let is_descending = key.options.asc == Some(false);
        let nulls_first = key.options.nulls_first.unwrap_or(is_descending);
        Ok(AggregateOrder { expr, sql_type, is_descending, nulls_first })
    }

    fn string_aggregate(
        &mut self,
        name: &str,
        value: Bound,
        delimiter: Bound,
        place: Place,
    ) -> Result<Aggregate> {
        let shown = format!("{}, {}", value.type_name(), delimiter.type_name());
        let wanted = match (value.known_type(), delimiter.known_type()) {
            (Some(SqlType::Bytea), Some(SqlType::Bytea) | None) | (None, Some(SqlType::Bytea)) => {
                SqlType::Bytea
            }
            (left, right)
                if [left, right].iter().flatten().all(|known| category(*known) == Category::String) =>
            {
                SqlType::Text
            }
            _ => return Err(self.no_function(name, &shown, place)),
        };
        let arguments = vec![self.coerce(value, wanted)?, self.coerce(delimiter, wanted)?];
        Ok(Aggregate {
            kind: AggregateKind::StringAgg,
            arguments,
            argument_type: wanted,
            is_distinct: false,
            filter: None,
            order: Vec::new(),
            result: wanted,
        })
    }

    fn aggregate_of(
        &mut self,
        name: &str,
        kind: AggregateKind,
        bound: Bound,
        place: Place,
    ) -> Result<Aggregate> {
        let shown = bound.type_name();
        let sql_type = match bound.class {
            Class::Typed(sql_type) => sql_type,
            Class::Parameter(number) if kind == AggregateKind::Count => {
                return Err(no_parameter_type(number));
            }
            // An unknown argument is text where text will do, as for PostgreSQL.
            _ if matches!(kind, AggregateKind::Count | AggregateKind::Minimum | AggregateKind::Maximum) => {
                SqlType::Text
            }
            _ if matches!(kind, AggregateKind::BoolAnd | AggregateKind::BoolOr) => SqlType::Boolean,
            _ => {
                let error = Error::input(
                    sqlstate::AMBIGUOUS_FUNCTION,
                    format!("function {name}({shown}) is not unique"),
                )
                .with_hint(
                    "Could not choose a best candidate function. You might need to add explicit type casts.",
                );
                return Err(self.place(error, place));
            }
        };
        let kind = match kind {
            AggregateKind::ArrayAgg(_) => match (ArrayElement::of(sql_type), sql_type) {
                (Some(element), _) => AggregateKind::ArrayAgg(element),
                (None, SqlType::Array(element)) => AggregateKind::ArrayOfArrays(element.without_modifier()),
                (None, _) => {
                    let what = format!("array_agg of {} is", sql_type.base_name());
                    return self.unsupported(Missing::ColumnTypes, &what, place);
                }
            },
            other => other,
        };
        let Some((argument_type, result)) = types(kind, sql_type) else {
            return Err(self.no_function(name, shown, place));
        };
        let argument = self.coerce(bound, argument_type)?;
        Ok(Aggregate {
            kind,
            arguments: vec![argument],
            argument_type,
            is_distinct: false,
            filter: None,
            order: Vec::new(),
            result,
        })
    }
}
