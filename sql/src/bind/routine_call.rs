//! Calls of routines: overloads, defaults, results.

use std::ops::Range;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Callee, CalleeIndex, Expr};
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{
    ParameterMode, Returns, RoutineDefinition, RoutineKind, RoutineParameter, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::system_type::{Polymorphic, SystemType};
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::FunctionArg;

use super::callee::{CalleeEntry, callee_of, itself};
use super::coerce::{Category, category, is_preferred};
use super::polymorphic::{Actual, not_alike};
use super::types::other_database;
use super::{Binder, Bound, Class, Place};
use crate::evaluation;
use crate::statement::names::{positional_after_named, split_arguments};
use crate::statement::query::{CallSyntax, parse_expression};

/// The arguments of a call. Those given by name come after the others.
#[derive(Clone, Default)]
pub(crate) struct Arguments {
    pub(crate) bound: Vec<Bound>,
    /// The names of the last arguments.
    pub(crate) names: Vec<String>,
}

impl Arguments {
    /// The names of parameters. VARIADIC, which says nothing about a routine, is none.
    fn parameter_names(&self) -> &[String] {
        if self.is_variadic() { &[] } else { &self.names }
    }

    /// `integer, c => text`, for messages.
    pub(crate) fn shown(&self) -> String {
        let names = self.parameter_names();
        let positional = self.bound.len() - names.len();
        let shown = self.bound.iter().enumerate().map(|(at, bound)| match at.checked_sub(positional) {
            Some(named) => format!("{} => {}", names[named], bound.type_name()),
            None => bound.type_name().to_owned(),
        });
        shown.collect::<Vec<String>>().join(", ")
    }

    /// What each parameter gets. `None` if they do not fit.
    pub(crate) fn arranged(&self, wanted: &[&RoutineParameter]) -> Option<Vec<Given>> {
        let names = self.parameter_names();
        let positional = self.bound.len() - names.len();
        let takes_rest = wanted.last().is_some_and(|last| last.mode == ParameterMode::Variadic);
        let is_expanded = takes_rest && !self.is_variadic() && positional >= wanted.len();
        let single = if is_expanded { wanted.len() - 1 } else { positional };
        if single > wanted.len() || (takes_rest && !names.is_empty()) {
            return None;
        }
        let mut arranged: Vec<Given> = (0..single).map(Given::One).collect();
        arranged.extend(is_expanded.then_some(Given::Elements(single..positional)));
        arranged.resize(wanted.len(), Given::Nothing);
        for (at, name) in names.iter().enumerate() {
            let place = wanted.iter().position(|parameter| parameter.name.as_ref() == Some(name))?;
            if !matches!(arranged[place], Given::Nothing) {
                return None;
            }
            arranged[place] = Given::One(positional + at);
        }
        let is_filled = |(given, parameter): (&Given, &&RoutineParameter)| {
            !matches!(given, Given::Nothing) || parameter.default.is_some()
        };
        arranged.iter().zip(wanted).all(is_filled).then_some(arranged)
    }
}

/// What a parameter gets in a call.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// Its default.
    Nothing,
    /// The argument with this number.
    One(usize),
    /// Of a VARIADIC parameter: the elements of its array.
    Elements(Range<usize>),
}

impl Given {
    /// The numbers of the arguments.
    fn numbers(&self) -> Range<usize> {
        match self {
            Given::Nothing => 0..0,
            Given::One(at) => *at..*at + 1,
            Given::Elements(range) => range.clone(),
        }
    }

    /// The type that the parameter wants of each argument.
    pub(crate) fn wanted(&self, parameter: SqlType) -> SqlType {
        let polymorphic = |kind| SqlType::System(SystemType::Polymorphic(kind));
        match (self, parameter, parameter.polymorphic()) {
            (Given::Elements(_), _, Some(Polymorphic::Array)) => polymorphic(Polymorphic::Element),
            (Given::Elements(_), _, Some(Polymorphic::CompatibleArray)) => {
                polymorphic(Polymorphic::Compatible)
            }
            (Given::Elements(_), SqlType::Array(element), _) => element.sql_type(),
            _ => parameter,
        }
    }
}

/// The routine that a call refers to.
#[derive(Clone)]
pub(crate) enum Chosen {
    /// The routine that is being compiled.
    Current(Arc<RoutineDefinition>),
    Stored(Arc<Routine>),
    /// A polymorphic routine with the types of the call, and the routine as it is stored.
    Actual(Arc<Routine>, Arc<Routine>),
}

impl Chosen {
    pub(crate) fn definition(&self) -> &RoutineDefinition {
        match self {
            Chosen::Current(definition) => definition,
            Chosen::Stored(routine) | Chosen::Actual(routine, _) => &routine.definition,
        }
    }

    /// The routine that is called, and the one that is stored, unless it is being compiled.
    pub(crate) fn stored(&self) -> Option<(&Arc<Routine>, &Arc<Routine>)> {
        match self {
            Chosen::Current(_) => None,
            Chosen::Stored(routine) => Some((routine, routine)),
            Chosen::Actual(routine, stored) => Some((routine, stored)),
        }
    }
}

/// The parameters that a call supplies. For CALL these include output-only parameters.
fn wanted(definition: &RoutineDefinition, is_call: bool) -> Vec<&RoutineParameter> {
    definition.parameters.iter().filter(|parameter| is_call || parameter.mode.is_input()).collect()
}

/// How well arguments fit: larger is better.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    exact: usize,
    /// Literals that would become text.
    strings: usize,
    /// Arguments that are converted to a preferred type.
    preferred: usize,
    /// Whether the arguments are taken as they stand, not as elements of an array.
    is_plain: bool,
}

/// `None` if they do not fit at all.
fn fit(
    binder: &Binder<'_>,
    definition: &RoutineDefinition,
    arguments: &Arguments,
    is_call: bool,
) -> Option<Fit> {
    let parameters = wanted(definition, is_call);
    let arranged = arguments.arranged(&parameters)?;
    let is_plain = !arranged.iter().any(|given| matches!(given, Given::Elements(_)));
    let mut fit = Fit { is_plain, ..Fit::default() };
    let mut polymorphic = Vec::new();
    for (given, parameter) in arranged.iter().zip(parameters) {
        let wanted = given.wanted(parameter.sql_type);
        for argument in &arguments.bound[given.numbers()] {
            if let Some(kind) = wanted.polymorphic() {
                polymorphic.push((kind, argument));
                continue;
            }
            match argument.known_type() {
                Some(own) if own.is_same_base(wanted) => fit.exact += 1,
                Some(own) if binder.converts(own, wanted) => {
                    fit.preferred += usize::from(is_preferred(wanted))
                }
                Some(_) => return None,
                None => {
                    fit.preferred += usize::from(is_preferred(wanted));
                    fit.strings += usize::from(category(wanted) == Category::String);
                }
            }
        }
    }
    Actual::of(binder, &polymorphic).map(|_| fit)
}

/// The type of a function's value. `None` if it has none or several.
pub(crate) fn value_type(definition: &RoutineDefinition) -> Option<SqlType> {
    match &definition.returns {
        Returns::Value(sql_type) => Some(*sql_type),
        // PostgreSQL's void shows as an empty text.
        Returns::Nothing => Some(SqlType::Text),
        _ => None,
    }
}

impl Binder<'_> {
    /// The routines of this name along the path. Of two with the same parameters the first one on the path.
    pub(super) fn candidates(&self, parts: &[String]) -> Vec<Chosen> {
        let mut candidates: Vec<Chosen> = Vec::new();
        let Some(own) = parts.last() else { return candidates };
        let path = self.context.path;
        let schemas: Vec<&str> = match parts {
            [.., schema, _] => {
                self.need_schema(schema, Place::Unknown);
                vec![path.schema(schema)]
            }
            _ => path.searched_for_routines().collect(),
        };
        for schema in schemas {
            let name = TableName { schema: schema.to_owned(), name: own.clone() };
            // What a polymorphic routine means by its own name depends on the arguments.
            let is_own =
                |current: &&Arc<RoutineDefinition>| current.name == name && current.declared.is_none();
            let current = self.current.as_ref().filter(is_own);
            let known = candidates.len();
            candidates.extend(current.cloned().map(Chosen::Current));
            for routine in self.context.tables.routines_named(&name) {
                let is_own = current.is_some_and(|current| current.is_same_routine(&routine.definition));
                let types = routine.definition.identity();
                let is_hidden = candidates[..known].iter().any(|one| one.definition().identity() == types);
                if !is_own && !is_hidden {
                    candidates.push(Chosen::Stored(routine));
                }
            }
        }
        candidates
    }

    /// The routine of this name that takes these arguments. `Ok(None)` if there is no routine of that name.
    pub(crate) fn choose_routine(
        &mut self,
        parts: &[String],
        arguments: &Arguments,
        kind: RoutineKind,
        place: Place,
    ) -> Result<Option<Chosen>> {
        let parts = match parts {
            [database, rest @ ..] if rest.len() == 2 => {
                if database != self.context.database {
                    return Err(self.place(other_database(&parts.join(".")), place));
                }
                rest
            }
            parts => parts,
        };
        let candidates = self.candidates(parts);
        if candidates.is_empty() {
            return Ok(None);
        }
        let is_call = kind == RoutineKind::Procedure;
        let shown = format!("{}({})", parts.join("."), arguments.shown());
        let mut best: Option<(Chosen, Fit)> = None;
        let mut is_tied = false;
        for candidate in candidates {
            let Some(fit) = fit(self, candidate.definition(), arguments, is_call) else { continue };
            match &best {
                Some((_, known)) if fit < *known => {}
                Some((_, known)) if fit == *known => is_tied = true,
                _ => {
                    best = Some((candidate, fit));
                    is_tied = false;
                }
            }
        }
        let Some((chosen, _)) = best else { return Ok(None) };
        if is_tied {
            let error =
                Error::input(sqlstate::AMBIGUOUS_FUNCTION, format!("{} {shown} is not unique", kind.word()))
                    .with_hint(format!(
                        "Could not choose a best candidate {}. You might need to add explicit type casts.",
                        kind.word()
                    ));
            return Err(self.place(error, place));
        }
        match (chosen.definition().kind, kind) {
            (RoutineKind::Function | RoutineKind::Aggregate, RoutineKind::Procedure) => {
                let error = Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is not a procedure"))
                    .with_hint("To call a function, use SELECT.");
                Err(self.place(error, place))
            }
            (RoutineKind::Procedure, RoutineKind::Function) => {
                let error = Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is a procedure"))
                    .with_hint("To call a procedure, use CALL.");
                Err(self.place(error, place))
            }
            _ => self.with_actual_types(chosen, arguments, is_call).map(Some),
        }
    }

    /// What a call means, if the routine may be polymorphic.
    fn with_actual_types(&mut self, chosen: Chosen, arguments: &Arguments, is_call: bool) -> Result<Chosen> {
        let Chosen::Stored(stored) = &chosen else { return Ok(chosen) };
        if !stored.definition.is_polymorphic() {
            return Ok(chosen);
        }
        let wanted = wanted(&stored.definition, is_call);
        let arranged = arguments.arranged(&wanted).unwrap_or_default();
        let mut said = Vec::new();
        for (given, parameter) in arranged.into_iter().zip(wanted) {
            let Some(kind) = given.wanted(parameter.sql_type).polymorphic() else { continue };
            match (&given, &parameter.default) {
                (Given::Nothing, Some(default)) => said.push((kind, self.default_argument(default)?)),
                _ => {
                    let own = arguments.bound[given.numbers()].iter().cloned();
                    said.extend(own.map(|bound| (kind, bound)));
                }
            }
        }
        let said: Vec<(Polymorphic, &Bound)> = said.iter().map(|(kind, bound)| (*kind, bound)).collect();
        // A default may not fit what the caller gives.
        let actual = Actual::of(self, &said).ok_or_else(|| not_alike(&said))?;
        let routine = stored.called_with(actual.routine(&stored.definition)?);
        Ok(Chosen::Actual(routine, Arc::clone(stored)))
    }

    /// The arguments of a CALL.
    pub(crate) fn call_arguments(&mut self, call: &CallSyntax) -> Result<Arguments> {
        let before = self.subqueries.len();
        let bound = call.arguments.iter().map(|argument| self.expression(argument));
        let bound = bound.collect::<Result<_>>()?;
        if self.subqueries.len() > before {
            let message = "cannot use subquery in CALL argument";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(Arguments { bound, names: call.names.clone() })
    }

    /// The arguments of a call in an expression.
    pub(crate) fn written_arguments(
        &mut self,
        arguments: &[FunctionArg],
        name: &str,
        place: Place,
    ) -> Result<Arguments> {
        let (exprs, names) = split_arguments(arguments, |argument| {
            let place = argument.map_or(Place::Unknown, Place::of_expr);
            self.place(positional_after_named(), place)
        })?;
        let bound = exprs.into_iter().map(|argument| match argument {
            Some(argument) if Self::takes_rows(name) => self.json_argument(argument),
            Some(argument) => self.expression(argument),
            None => Err(self.no_function(name, "", place)),
        });
        Ok(Arguments { bound: bound.collect::<Result<_>>()?, names })
    }

    /// 42883 for a CALL.
    pub(crate) fn no_procedure(&self, name: &str, arguments: &Arguments, place: Place) -> Error {
        let message = format!("procedure {name}({}) does not exist", arguments.shown());
        let error = Error::input(sqlstate::UNDEFINED_FUNCTION, message).with_hint(
            "No procedure matches the given name and argument types. You might need to add explicit type casts.",
        );
        self.place(error, place)
    }

    /// The arguments converted to the routine's parameters, with defaults filled in.
    pub(crate) fn routine_arguments(
        &mut self,
        chosen: &Chosen,
        arguments: &Arguments,
        is_call: bool,
    ) -> Result<Vec<Expr>> {
        let wanted = wanted(chosen.definition(), is_call);
        let arranged = arguments.arranged(&wanted).unwrap_or_default();
        let mut coerced = Vec::with_capacity(wanted.len());
        for (given, parameter) in arranged.into_iter().zip(wanted) {
            if !parameter.mode.is_input() {
                continue;
            }
            let sql_type = self.current_type(parameter.sql_type).without_modifier();
            let bound = match (&given, &parameter.default) {
                (Given::One(at), _) => arguments.bound[*at].clone(),
                (Given::Elements(range), _) => {
                    coerced.push(self.variadic_array(&arguments.bound[range.clone()], sql_type)?);
                    continue;
                }
                (Given::Nothing, Some(default)) => self.default_argument(default)?,
                (Given::Nothing, None) => continue,
            };
            coerced.push(self.coerce(bound, sql_type)?);
        }
        Ok(coerced)
    }

    /// The array of a VARIADIC parameter.
    fn variadic_array(&mut self, given: &[Bound], array: SqlType) -> Result<Expr> {
        let element = array.element().unwrap_or(ArrayElement::Text);
        let wanted = element.sql_type();
        let items = given.iter().map(|bound| self.coerce(bound.clone(), wanted)).collect::<Result<_>>()?;
        Ok(evaluation::fold_if_constant(Expr::Array { element, items }))
    }

    fn default_argument(&mut self, default: &str) -> Result<Bound> {
        let parsed = parse_expression(default)?;
        let scope = std::mem::take(&mut self.scope);
        let names = self.names.take();
        let bound = self.without_noting(|binder| binder.of_kept(|binder| binder.expression(&parsed)));
        self.scope = scope;
        self.names = names;
        bound.map(|bound| Bound { place: Place::Unknown, ..bound })
    }

    /// The number by which the code calls it.
    pub(crate) fn callee(&mut self, chosen: &Chosen) -> Result<CalleeIndex> {
        let callee = match (chosen, chosen.stored()) {
            (_, Some((routine, stored))) => {
                self.need_to_call(stored.id, &stored.definition);
                callee_of(self.context.tables, routine, stored)?
            }
            (chosen, None) => itself(chosen.definition()),
        };
        self.callee_number(CalleeEntry { callee, is_strict: chosen.definition().is_strict })
    }

    pub(crate) fn callee_number(&self, entry: CalleeEntry) -> Result<CalleeIndex> {
        let mut callees = self.callees.borrow_mut();
        let known = callees.iter().position(|known| known.is_same(&entry));
        let index = known.unwrap_or_else(|| {
            callees.push(entry);
            callees.len() - 1
        });
        CalleeIndex::try_from(index).map_err(|_| {
            Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "the statement calls too many routines")
        })
    }

    /// Whether a routine that the code calls ends transactions.
    pub(crate) fn ends_transactions(&self, callee: CalleeIndex) -> bool {
        match self.callees.borrow().get(usize::from(callee)).map(|entry| &entry.callee) {
            Some(Callee::Procedure(called)) => called.procedure.ends_transactions(),
            _ => false,
        }
    }

    /// A call of a function in an expression, if a function of that name exists.
    pub(crate) fn try_routine(
        &mut self,
        parts: &[String],
        arguments: &Arguments,
        place: Place,
    ) -> Result<Option<Bound>> {
        let Some(chosen) = self.choose_routine(parts, arguments, RoutineKind::Function, place)? else {
            return Ok(None);
        };
        if chosen.definition().kind == RoutineKind::Aggregate {
            return self.unsupported(Missing::Aggregates, "this form of a call of an aggregate is", place);
        }
        if chosen.definition().returns == Returns::Trigger {
            let message = "trigger functions can only be called as triggers";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        let Some(result) = value_type(&self.current_definition(chosen.definition())) else {
            let what = match chosen.definition().returns {
                Returns::Record => "functions with several output parameters in expressions are",
                _ => "set-returning functions outside of FROM are",
            };
            return self.unsupported(Missing::SetFunctions, what, place);
        };
        if let Some((_, stored)) = chosen.stored() {
            self.note_routine(place, &stored.definition.name);
            self.called.push(Arc::clone(stored));
        }
        let arguments = self.routine_arguments(&chosen, arguments, false)?;
        let callee = self.callee(&chosen)?;
        let expr = Expr::Routine { callee, arguments };
        Ok(Some(Bound { expr, class: Class::Typed(result), place }))
    }
}
