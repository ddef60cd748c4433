//! Calls of aggregates of users.
//!
//! The executor collects the arguments of a group's rows in a list, row after row; it is one array, whose
//! elements need not be of one type. The aggregate's own procedure then computes the result from the list
//! (`plpgsql::aggregate_fold`): it is called like a function, so all that is known of calls (what they may
//! write, whether they can be repeated) is known of aggregates.

use hyades_engine::procedure::ir::Expr;
use hyades_types::definition::{ParameterMode, RoutineDefinition, RoutineKind};
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::lookup;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
};

use super::aggregate::aggregate_kind;
use super::aggregation::{Aggregate, AggregateKind, AggregateOrder, LIST};
use super::routine_call::{Arguments, Chosen, value_type};
use super::window_call::is_window_function;
use super::{Binder, Bound, Place};

/// The number of arguments of a call. `name(*)` has none.
fn count_of(list: &FunctionArgumentList) -> usize {
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => 0,
        arguments => arguments.len(),
    }
}

impl Binder<'_> {
    /// Whether a call means an aggregate of a user: one takes so many arguments, and no function does.
    /// PostgreSQL's own are found before.
    pub(super) fn means_aggregate(&self, parts: &[String], call: &Function) -> bool {
        let FunctionArguments::List(list) = &call.args else { return false };
        if let [name] = parts {
            let is_hidden = match aggregate_kind(name) {
                Some(AggregateKind::OrderedSet(_)) => !call.within_group.is_empty(),
                Some(_) => true,
                None => !lookup(name).is_empty() || is_window_function(name),
            };
            if is_hidden {
                return false;
            }
        }
        let count = count_of(list);
        let takes = |definition: &RoutineDefinition| {
            let inputs = definition.inputs().count();
            let last = definition.inputs().last();
            let is_variadic = last.is_some_and(|last| last.mode == ParameterMode::Variadic);
            inputs == count || (is_variadic && count > inputs)
        };
        let mut is_one = false;
        for candidate in self.candidates(parts) {
            let definition = candidate.definition();
            match definition.kind {
                RoutineKind::Aggregate => is_one |= takes(definition),
                _ if takes(definition) => return false,
                _ => {}
            }
        }
        is_one
    }

    /// Binds a call if it means an aggregate of a user.
    pub(super) fn try_user_aggregate(
        &mut self,
        parts: &[String],
        call: &Function,
        place: Place,
    ) -> Result<Option<Bound>> {
        let FunctionArguments::List(list) = &call.args else { return Ok(None) };
        if !self.means_aggregate(parts, call) {
            return Ok(None);
        }
        let name = parts.join(".");
        self.refuse_within_group(&name, call, list, place)?;
        let mut found = None;
        let bound = self.settled_aggregate("aggregate functions", place, |binder| {
            let filter = binder.aggregate_filter(call)?;
            let (chosen, mut aggregate, types) = binder.user_aggregate(parts, list, place)?;
            found = Some(chosen);
            aggregate.filter = filter;
            binder.complete_aggregate(&mut aggregate, list, place)?;
            if aggregate.is_distinct {
                Self::order_by_arguments(&mut aggregate, &types);
            }
            Ok(aggregate)
        })?;
        let Some(chosen) = found else { return Ok(None) };
        self.folded(&chosen, bound).map(Some)
    }

    /// There are no ordered-set aggregates of users. The keys of one would be among its arguments.
    pub(super) fn refuse_within_group(
        &mut self,
        name: &str,
        call: &Function,
        list: &FunctionArgumentList,
        place: Place,
    ) -> Result<()> {
        if call.within_group.is_empty() {
            return Ok(());
        }
        let mut arguments = self.written_arguments(&list.args, name, place)?;
        for key in &call.within_group {
            arguments.bound.push(self.expression(&key.expr)?);
        }
        Err(self.no_function(name, &arguments.shown(), place))
    }

    /// PostgreSQL sorts the arguments of an aggregate with DISTINCT.
    fn order_by_arguments(aggregate: &mut Aggregate, types: &[SqlType]) {
        for (expr, sql_type) in aggregate.arguments.iter().zip(types) {
            if !aggregate.order.iter().any(|key| key.expr == *expr) {
                let (expr, sql_type) = (expr.clone(), *sql_type);
                let key = AggregateOrder { expr, sql_type, is_descending: false, nulls_first: false };
                aggregate.order.push(key);
            }
        }
    }

    /// The aggregate that a call means, its list, and the types of its arguments.
    pub(super) fn user_aggregate(
        &mut self,
        parts: &[String],
        list: &FunctionArgumentList,
        place: Place,
    ) -> Result<(Chosen, Aggregate, Vec<SqlType>)> {
        let name = parts.join(".");
        let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let arguments = match count_of(list) {
            0 if is_distinct => {
                let message = "DISTINCT specified, but the aggregate takes no arguments";
                return self.fail(sqlstate::SYNTAX_ERROR, message, place);
            }
            0 => Arguments::default(),
            _ => self.written_arguments(&list.args, &name, place)?,
        };
        let chosen = self.choose_routine(parts, &arguments, RoutineKind::Function, place)?;
        let Some(chosen) = chosen else {
            return Err(self.no_function(&name, &arguments.shown(), place));
        };
        if chosen.definition().inputs().count() == 0 && !list.args.is_empty() && count_of(list) > 0 {
            return Err(self.no_function(&name, &arguments.shown(), place));
        }
        if let Some((_, stored)) = chosen.stored() {
            self.note_routine(place, &stored.definition.name);
            self.called.push(std::sync::Arc::clone(stored));
        }
        let mut arguments = self.routine_arguments(&chosen, &arguments, false)?;
        let mut types = chosen.definition().input_types();
        if arguments.is_empty() {
            // Something has to be collected of each row.
            arguments.push(Expr::Const(Value::Boolean(true)));
            types.push(SqlType::Boolean);
        }
        let aggregate = Aggregate {
            kind: AggregateKind::Collect,
            arguments,
            argument_type: types[0],
            is_distinct: false,
            filter: None,
            order: Vec::new(),
            result: LIST,
        };
        Ok((chosen, aggregate, types))
    }

    /// The result of an aggregate, computed from its list.
    pub(super) fn folded(&mut self, chosen: &Chosen, list: Bound) -> Result<Bound> {
        let callee = self.callee(chosen)?;
        let result = value_type(chosen.definition()).unwrap_or(SqlType::Text);
        let expr = Expr::Routine { callee, arguments: vec![list.expr] };
        Ok(Bound::typed(expr, result, list.place))
    }
}
