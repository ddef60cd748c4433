//! Calls of window functions and of aggregates over windows.
//!
//! While a query is bound, its calls and the windows that they name are collected ([`WindowCalls`]). The
//! windows themselves are bound when everything else is (`window_definition`), as in PostgreSQL: an error in
//! a window is reported after one in the select list.
//!
//! Reference: ParseFuncOrColumn of PostgreSQL's parse_func.c and transformWindowFuncCall of parse_agg.c.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::value::SqlType;
use sqlparser::ast::{
    self, DuplicateTreatment, Function, FunctionArgumentClause, FunctionArguments, WindowType,
};

use super::aggregate::aggregate_kind;
use super::aggregation::{AGGREGATE_PLACEHOLDER, Aggregate, AggregateKind, AggregateMode, OrderedSet};
use super::coerce::is_implicit;
use super::routine_call::Chosen as Routine;
use super::windowing::{WINDOW_PLACEHOLDER, WindowCall, WindowFunction, WindowMode, WrittenWindow};
use super::{Binder, Bound, Class, Place};
use crate::expr;
use crate::statement::names::{fold, parts};

/// The function of this name, if it is a window function and no aggregate.
fn function_named(name: &str) -> Option<WindowFunction> {
    Some(match name {
        "row_number" => WindowFunction::RowNumber,
        "rank" => WindowFunction::Rank,
        "dense_rank" => WindowFunction::DenseRank,
        "percent_rank" => WindowFunction::PercentRank,
        "cume_dist" => WindowFunction::CumeDist,
        "ntile" => WindowFunction::Ntile,
        "lag" => WindowFunction::Lag,
        "lead" => WindowFunction::Lead,
        "first_value" => WindowFunction::FirstValue,
        "last_value" => WindowFunction::LastValue,
        "nth_value" => WindowFunction::NthValue,
        _ => return None,
    })
}

/// Whether a call is one of a window function. Those of the rank family are also aggregates WITHIN GROUP.
pub(super) fn is_window_function(name: &str) -> bool {
    function_named(name).is_some()
}

/// The function, its arguments, and the types of the first argument and of the result.
struct Chosen {
    function: WindowFunction,
    arguments: Vec<Expr>,
    argument_type: SqlType,
    result: SqlType,
    /// Whether the result is that of an aggregate of this name, which may have a JSON form.
    is_aggregate: bool,
    /// The aggregate of a user that computes the result from a list.
    folds: Option<Routine>,
}

impl Chosen {
    fn aggregate(aggregate: Aggregate) -> Chosen {
        Chosen {
            function: WindowFunction::Aggregate(aggregate.kind),
            arguments: aggregate.arguments,
            argument_type: aggregate.argument_type,
            result: aggregate.result,
            is_aggregate: true,
            folds: None,
        }
    }
}

impl Binder<'_> {
    /// Sets whether window functions are allowed. Returns what was set before.
    pub(super) fn set_window_mode(&mut self, mode: WindowMode) -> Option<WindowMode> {
        self.windows.as_mut().map(|windows| std::mem::replace(&mut windows.mode, mode))
    }

    fn window_mode(&self) -> Option<WindowMode> {
        self.windows.as_ref().map(|windows| windows.mode)
    }

    /// Whether this is inside the arguments of a window function.
    pub(super) fn is_in_window_call(&self) -> bool {
        self.window_mode() == Some(WindowMode::Nested)
    }

    /// Whether this is inside a window.
    pub(super) fn is_in_window(&self) -> bool {
        self.window_mode() == Some(WindowMode::InWindow)
    }

    /// Binds a call with OVER.
    pub(super) fn window_call(
        &mut self,
        name: &str,
        call: &Function,
        over: &WindowType,
        place: Place,
    ) -> Result<Bound> {
        let first = self.column_places.len();
        let FunctionArguments::List(list) = &call.args else {
            return Err(self.no_function(name, "", place));
        };
        let around = self.set_window_mode(WindowMode::Nested);
        let chosen = self.chosen_window_function(name, call, list, place);
        self.set_window_mode(WindowMode::Allowed);
        let filter = match &call.filter {
            Some(_) if chosen.is_ok() => self.aggregate_filter(call),
            _ => Ok(None),
        };
        if let Some(around) = around {
            self.set_window_mode(around);
        }
        let Chosen { function, arguments, argument_type, result, is_aggregate, folds } = chosen?;
        let filter = filter?;
        if filter.is_some() && !is_aggregate {
            let message = "FILTER is not implemented for non-aggregate window functions";
            return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
        }
        self.check_window_mode(place)?;
        let window = self.window_number(over)?;
        let item = arguments.first().cloned();
        let name = name.to_owned();
        let call =
            WindowCall { name: name.clone(), function, arguments, argument_type, filter, window, result };
        let bound = self.window_result(call, first, place)?;
        if let Some(routine) = folds {
            return self.folded(&routine, bound);
        }
        Ok(match is_aggregate {
            true => self.json_result(&name, bound, item.as_ref(), place),
            false => bound,
        })
    }

    /// Refuses a call where none is allowed.
    fn check_window_mode(&self, place: Place) -> Result<()> {
        let refuse = |state: SqlState, message: &str| self.fail(state, message, place);
        match (self.window_mode(), self.aggregate_mode) {
            (Some(WindowMode::InWindow), _) => {
                let message = "window functions are not allowed in window definitions";
                refuse(sqlstate::WINDOWING_ERROR, message)
            }
            (_, AggregateMode::Nested) => {
                let message = "aggregate function calls cannot contain window function calls";
                refuse(sqlstate::GROUPING_ERROR, message)
            }
            (Some(WindowMode::Nested), _) => {
                refuse(sqlstate::WINDOWING_ERROR, "window function calls cannot be nested")
            }
            (_, AggregateMode::Forbidden(clause)) | (Some(WindowMode::Forbidden(clause)), _) => {
                let message = format!("window functions are not allowed {clause}");
                refuse(sqlstate::WINDOWING_ERROR, &message)
            }
            (Some(WindowMode::Allowed), AggregateMode::Allowed) => Ok(()),
            (None, AggregateMode::Allowed) => {
                refuse(sqlstate::WINDOWING_ERROR, "window functions are not allowed in this context")
            }
        }
    }

    /// The function with its arguments, without what else is written in the call.
    fn chosen_window_function(
        &mut self,
        name: &str,
        call: &Function,
        list: &ast::FunctionArgumentList,
        place: Place,
    ) -> Result<Chosen> {
        let idents: Vec<String> = parts(&call.name)?.into_iter().map(fold).collect();
        if self.means_aggregate(&idents, call) {
            self.refuse_within_group(name, call, list, place)?;
            let (routine, aggregate, _) = self.user_aggregate(&idents, list, place)?;
            self.check_plain_call(list, place)?;
            return Ok(Chosen { folds: Some(routine), ..Chosen::aggregate(aggregate) });
        }
        let kind = aggregate_kind(name);
        let is_plain = list.args.is_empty() && call.within_group.is_empty();
        if let Some(kind) = kind
            && (function_named(name).is_none() || !is_plain)
        {
            return self.windowed_aggregate(name, kind, call, list, place);
        }
        let Some(function) = function_named(name) else {
            if self.is_set_call(call) {
                return self.no_window_function(name, place);
            }
            let arguments = self.written_arguments(&list.args, name, place)?;
            if call.filter.is_some() {
                return self.no_filter(name, place);
            }
            self.call_of(name, arguments.bound, place)?;
            return self.no_window_function(name, place);
        };
        if !call.within_group.is_empty() {
            let message = format!("WITHIN GROUP specified, but {name} is not an aggregate function");
            return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place);
        }
        let arguments = self.written_arguments(&list.args, name, place)?.bound;
        let chosen = self.window_arguments(name, function, arguments, place)?;
        self.check_plain_call(list, place)?;
        Ok(chosen)
    }

    /// Refuses DISTINCT and ORDER BY among the arguments.
    fn check_plain_call(&self, list: &ast::FunctionArgumentList, place: Place) -> Result<()> {
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
            let message = "DISTINCT is not implemented for window functions";
            return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
        }
        if list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_))) {
            let message = "aggregate ORDER BY is not implemented for window functions";
            return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
        }
        Ok(())
    }

    fn windowed_aggregate(
        &mut self,
        name: &str,
        kind: AggregateKind,
        call: &Function,
        list: &ast::FunctionArgumentList,
        place: Place,
    ) -> Result<Chosen> {
        if let AggregateKind::OrderedSet(set) = kind {
            if call.within_group.is_empty() {
                return self.without_group(name, set, list, place);
            }
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
        }
        if !call.within_group.is_empty() {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place);
        }
        let aggregate = self.plain_aggregate(name, kind, list, place)?;
        self.check_plain_call(list, place)?;
        Ok(Chosen::aggregate(aggregate))
    }

    /// 42809 for another function with OVER.
    pub(super) fn no_window_function<T>(&self, name: &str, place: Place) -> Result<T> {
        let message =
            format!("OVER specified, but {name} is not a window function nor an aggregate function");
        self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place)
    }

    /// The error of an aggregate WITHIN GROUP without one. Only those that take any number of arguments are
    /// found by the direct arguments alone.
    pub(super) fn without_group<T>(
        &mut self,
        name: &str,
        set: OrderedSet,
        list: &ast::FunctionArgumentList,
        place: Place,
    ) -> Result<T> {
        if !set.is_hypothetical() {
            let arguments = self.written_arguments(&list.args, name, place)?;
            return Err(self.no_function_of(name, &arguments.bound, place));
        }
        let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
        self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place)
    }

    /// 42809 for a window function without a window.
    pub(super) fn needs_window<T>(&self, name: &str, place: Place) -> Result<T> {
        let message = format!("window function {name} requires an OVER clause");
        self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place)
    }

    /// The arguments of a window function in the types that it takes.
    fn window_arguments(
        &mut self,
        name: &str,
        function: WindowFunction,
        arguments: Vec<Bound>,
        place: Place,
    ) -> Result<Chosen> {
        use WindowFunction as Of;
        let is_integer = |bound: &Bound| {
            bound.known_type().is_none_or(|own| own == SqlType::Integer || is_implicit(own, SqlType::Integer))
        };
        let chosen = |arguments, result| Chosen {
            function,
            arguments,
            argument_type: result,
            result,
            is_aggregate: false,
            folds: None,
        };
        match (function, arguments.as_slice()) {
            (Of::RowNumber | Of::Rank | Of::DenseRank, []) => Ok(chosen(Vec::new(), SqlType::BigInt)),
            (Of::PercentRank | Of::CumeDist, []) => Ok(chosen(Vec::new(), SqlType::DoublePrecision)),
            (Of::Ntile, [buckets]) if is_integer(buckets) => {
                Ok(chosen(vec![self.coerce(buckets.clone(), SqlType::Integer)?], SqlType::Integer))
            }
            (Of::Lag | Of::Lead | Of::FirstValue | Of::LastValue, [value]) => {
                let (value, result) = Self::window_value(value)?;
                Ok(chosen(vec![value], result))
            }
            (Of::Lag | Of::Lead | Of::NthValue, [value, number]) if is_integer(number) => {
                let (value, result) = Self::window_value(value)?;
                let number = self.coerce(number.clone(), SqlType::Integer)?;
                Ok(chosen(vec![value, number], result))
            }
            (Of::Lag | Of::Lead, [value, number, otherwise]) if is_integer(number) => {
                let Ok(common) = self.common_type([value, otherwise], name) else {
                    return Err(self.no_function_of(name, &arguments, place));
                };
                let number = self.coerce(number.clone(), SqlType::Integer)?;
                let (value, otherwise) = (value.clone(), otherwise.clone());
                let arguments = vec![self.coerce(value, common)?, number, self.coerce(otherwise, common)?];
                Ok(chosen(arguments, common))
            }
            _ => Err(self.no_function_of(name, &arguments, place)),
        }
    }

    /// An argument of any type, which must be known.
    fn window_value(value: &Bound) -> Result<(Expr, SqlType)> {
        match value.class {
            Class::Typed(sql_type) => Ok((value.expr.clone(), sql_type.without_modifier())),
            _ => {
                let message = "could not determine polymorphic type because input has type unknown";
                Err(Error::input(sqlstate::DATATYPE_MISMATCH, message))
            }
        }
    }

    /// The number of the window that OVER names.
    fn window_number(&mut self, over: &WindowType) -> Result<usize> {
        let Some(windows) = &mut self.windows else { return Ok(0) };
        match over {
            WindowType::NamedWindow(ident) => {
                let name = fold(ident);
                let found = windows.written.iter().position(|known| known.name.as_ref() == Some(&name));
                match found {
                    Some(number) => Ok(number),
                    None => self.no_window(&name, Place::at(ident.span.start)),
                }
            }
            WindowType::WindowSpec(spec) => {
                let known = windows.written.iter().position(|known| known.spec == *spec);
                Ok(known.unwrap_or_else(|| {
                    windows.written.push(WrittenWindow { name: None, spec: spec.clone() });
                    windows.written.len() - 1
                }))
            }
        }
    }

    pub(super) fn no_window<T>(&self, name: &str, place: Place) -> Result<T> {
        let message = format!("window \"{name}\" does not exist");
        self.fail(sqlstate::UNDEFINED_OBJECT, message, place)
    }

    /// The expression that stands for the result of a call, which is computed once however often it is
    /// written.
    fn window_result(&mut self, call: WindowCall, first: usize, place: Place) -> Result<Bound> {
        let places = (first, self.column_places.len());
        let Some(windows) = &mut self.windows else {
            return self.fail(sqlstate::INTERNAL_ERROR, "a window function outside of a query", place);
        };
        let result = call.result;
        let is_volatile = call.arguments.iter().chain(&call.filter).any(expr::is_volatile);
        let known = windows.calls.iter().position(|known| !is_volatile && *known == call);
        let number = known.unwrap_or_else(|| {
            windows.calls.push(call);
            windows.column_places.push(places);
            windows.calls.len() - 1
        });
        let most = AGGREGATE_PLACEHOLDER - WINDOW_PLACEHOLDER;
        let Some(offset) = Register::try_from(number).ok().filter(|number| *number < most) else {
            let message = "too many window functions in one query";
            return self.fail(sqlstate::PROGRAM_LIMIT_EXCEEDED, message, place);
        };
        Ok(Bound::typed(Expr::Register(WINDOW_PLACEHOLDER + offset), result, place))
    }
}
