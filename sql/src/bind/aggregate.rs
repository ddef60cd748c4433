//! Aggregate functions: recognized while binding, computed by the executor.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;
use sqlparser::ast::{DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::aggregation::{Aggregate, AggregateKind, AggregateMode};
use super::bound::no_parameter_type;
use super::coerce::{Category, category};
use super::{AGGREGATE_PLACEHOLDER, Binder, Bound, Class, Place};

fn kind_of(name: &str) -> Option<AggregateKind> {
    Some(match name {
        "count" => AggregateKind::Count,
        "sum" => AggregateKind::Sum,
        "avg" => AggregateKind::Average,
        "min" => AggregateKind::Minimum,
        "max" => AggregateKind::Maximum,
        "bool_and" | "every" => AggregateKind::BoolAnd,
        "bool_or" => AggregateKind::BoolOr,
        _ => return None,
    })
}

/// The type the argument is computed in, and the result's.
fn types(kind: AggregateKind, argument: SqlType) -> Option<(SqlType, SqlType)> {
    use SqlType::{BigInt, Boolean, DoublePrecision, Integer, Interval, Numeric, Real, SmallInt, Text};
    let argument = argument.without_modifier();
    Some(match kind {
        AggregateKind::CountRows | AggregateKind::Count => (argument, BigInt),
        AggregateKind::Sum => match argument {
            SmallInt | Integer => (argument, BigInt),
            BigInt | Numeric(_) => (argument, Numeric(None)),
            Real => (Real, Real),
            DoublePrecision => (DoublePrecision, DoublePrecision),
            Interval(_) => (argument, argument),
            _ => return None,
        },
        AggregateKind::Average => match argument {
            SmallInt | Integer | BigInt | Numeric(_) => (argument, Numeric(None)),
            Real | DoublePrecision => (DoublePrecision, DoublePrecision),
            Interval(_) => (argument, argument),
            _ => return None,
        },
        AggregateKind::Minimum | AggregateKind::Maximum => match category(argument) {
            Category::Boolean | Category::Uuid | Category::Bytea => return None,
            Category::String if !matches!(argument, SqlType::Char(_)) => (Text, Text),
            _ => (argument, argument),
        },
        AggregateKind::BoolAnd | AggregateKind::BoolOr => {
            (argument == Boolean).then_some(())?;
            (Boolean, Boolean)
        }
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
        let Some(kind) = kind_of(name) else {
            if call.filter.is_some() {
                let message = format!("FILTER specified, but {name} is not an aggregate function");
                return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place);
            }
            return Ok(None);
        };
        match self.aggregate_mode {
            AggregateMode::Allowed => {}
            AggregateMode::Nested => {
                return self.fail(
                    sqlstate::GROUPING_ERROR,
                    "aggregate function calls cannot be nested",
                    place,
                );
            }
            AggregateMode::Forbidden(clause) => {
                let message = format!("aggregate functions are not allowed {clause}");
                return self.fail(sqlstate::GROUPING_ERROR, message, place);
            }
        }
        self.aggregate_mode = AggregateMode::Nested;
        let aggregate = self.aggregate(name, kind, call, place);
        self.aggregate_mode = AggregateMode::Allowed;
        let aggregate = aggregate?;
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
        Ok(Some(Bound::typed(Expr::Register(AGGREGATE_PLACEHOLDER + offset), result, place)))
    }

    fn aggregate(
        &mut self,
        name: &str,
        kind: AggregateKind,
        call: &Function,
        place: Place,
    ) -> Result<Aggregate> {
        if call.over.is_some() {
            return self.unsupported("window functions are", place);
        }
        let FunctionArguments::List(list) = &call.args else {
            return self.fail(
                sqlstate::UNDEFINED_FUNCTION,
                format!("function {name}() does not exist"),
                place,
            );
        };
        if !list.clauses.is_empty() || !call.within_group.is_empty() {
            return self.unsupported("ORDER BY in an aggregate is", place);
        }
        let filter = match &call.filter {
            Some(filter) => {
                let bound = self.expression(filter)?;
                Some(self.condition(bound, "FILTER")?)
            }
            None => None,
        };
        let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
                if kind == AggregateKind::Count && !is_distinct =>
            {
                Ok(Aggregate {
                    kind: AggregateKind::CountRows,
                    argument: None,
                    argument_type: SqlType::Boolean,
                    is_distinct: false,
                    filter,
                    result: SqlType::BigInt,
                })
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => {
                let bound = self.expression(argument)?;
                self.aggregate_of(name, kind, bound, (is_distinct, filter), place)
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

    fn aggregate_of(
        &mut self,
        name: &str,
        kind: AggregateKind,
        bound: Bound,
        (is_distinct, filter): (bool, Option<Expr>),
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
        let Some((argument_type, result)) = types(kind, sql_type) else {
            return Err(self.no_function(name, shown, place));
        };
        let argument = self.coerce(bound, argument_type)?;
        Ok(Aggregate { kind, argument: Some(argument), argument_type, is_distinct, filter, result })
    }
}
