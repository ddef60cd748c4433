//! Calls of routines: overloads, defaults, results.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Callee, CalleeIndex, Expr};
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{Returns, RoutineDefinition, RoutineKind, RoutineParameter, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;
use sqlparser::ast::FunctionArg;

use super::callee::{CalleeEntry, callee_of, itself};
use super::coerce::{Category, category, is_implicit, is_preferred};
use super::types::other_database;
use super::{Binder, Bound, Class, Place};
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

    /// Which argument each parameter gets. `None` if they do not fit.
    fn arranged(&self, wanted: &[&RoutineParameter]) -> Option<Vec<Option<usize>>> {
        let names = self.parameter_names();
        let positional = self.bound.len() - names.len();
        if positional > wanted.len() {
            return None;
        }
        let mut arranged: Vec<Option<usize>> = (0..positional).map(Some).collect();
        arranged.resize(wanted.len(), None);
        for (at, name) in names.iter().enumerate() {
            let place = wanted.iter().position(|parameter| parameter.name.as_ref() == Some(name))?;
            if arranged[place].replace(positional + at).is_some() {
                return None;
            }
        }
        let is_filled = |(given, parameter): (&Option<usize>, &&RoutineParameter)| {
            given.is_some() || parameter.default.is_some()
        };
        arranged.iter().zip(wanted).all(is_filled).then_some(arranged)
    }
}

/// The routine that a call refers to.
#[derive(Clone)]
pub(crate) enum Chosen {
    /// The routine that is being compiled.
    Current(Arc<RoutineDefinition>),
    Stored(Arc<Routine>),
}

impl Chosen {
    pub(crate) fn definition(&self) -> &RoutineDefinition {
        match self {
            Chosen::Current(definition) => definition,
            Chosen::Stored(routine) => &routine.definition,
        }
    }
}

/// The parameters that a call supplies. For CALL these include output-only parameters.
fn wanted(definition: &RoutineDefinition, is_call: bool) -> Vec<&RoutineParameter> {
    definition.parameters.iter().filter(|parameter| is_call || parameter.mode.is_input()).collect()
}

/// How well the arguments fit: larger is better, `None` is not at all.
fn fit(
    definition: &RoutineDefinition,
    arguments: &Arguments,
    is_call: bool,
) -> Option<(usize, usize, usize)> {
    let wanted = wanted(definition, is_call);
    let arranged = arguments.arranged(&wanted)?;
    let mut fit = (0, 0, 0);
    for (at, parameter) in arranged.into_iter().zip(wanted) {
        let (Some(at), wanted) = (at, &parameter.sql_type) else { continue };
        let argument = &arguments.bound[at];
        match argument.known_type() {
            Some(own) if own.is_same_base(*wanted) => fit.0 += 1,
            Some(own) if is_implicit(own, *wanted) => fit.2 += usize::from(is_preferred(*wanted)),
            Some(_) => return None,
            None => {
                fit.2 += usize::from(is_preferred(*wanted));
                fit.1 += usize::from(category(*wanted) == Category::String);
            }
        }
    }
    Some(fit)
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
            let current = self.current.as_ref().filter(|current| current.name == name);
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
        &self,
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
        let mut best: Option<(Chosen, (usize, usize, usize))> = None;
        let mut is_tied = false;
        for candidate in candidates {
            let Some(fit) = fit(candidate.definition(), arguments, is_call) else { continue };
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
            (RoutineKind::Function, RoutineKind::Procedure) => {
                let error = Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is not a procedure"))
                    .with_hint("To call a function, use SELECT.");
                Err(self.place(error, place))
            }
            (RoutineKind::Procedure, RoutineKind::Function) => {
                let error = Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is a procedure"))
                    .with_hint("To call a procedure, use CALL.");
                Err(self.place(error, place))
            }
            _ => Ok(Some(chosen)),
        }
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
            None => Err(self.no_function(name, "*", place)),
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
            let bound = match (given.map(|at| arguments.bound[at].clone()), &parameter.default) {
                (Some(given), _) => given,
                (None, Some(default)) => self.default_argument(default)?,
                (None, None) => continue,
            };
            coerced.push(self.coerce(bound, parameter.sql_type.without_modifier())?);
        }
        Ok(coerced)
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
        let callee = match chosen {
            Chosen::Current(definition) => itself(definition),
            Chosen::Stored(routine) => {
                self.need_to_call(routine.id, &routine.definition);
                callee_of(self.context.tables, routine, routine)?
            }
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
        if chosen.definition().returns == Returns::Trigger {
            let message = "trigger functions can only be called as triggers";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        let Some(result) = value_type(chosen.definition()) else {
            let what = match chosen.definition().returns {
                Returns::Record => "functions with several output parameters in expressions are",
                _ => "set-returning functions outside of FROM are",
            };
            return self.unsupported(Missing::SetFunctions, what, place);
        };
        if let Chosen::Stored(routine) = &chosen {
            self.note_routine(place, &routine.definition.name);
            self.called.push(Arc::clone(routine));
        }
        let arguments = self.routine_arguments(&chosen, arguments, false)?;
        let callee = self.callee(&chosen)?;
        let expr = Expr::Routine { callee, arguments };
        Ok(Some(Bound { expr, class: Class::Typed(result), place }))
    }
}
