//! Casts that users have created: which applies, and what it computes.
//!
//! They come before the conversions by text that all types have. Those of PostgreSQL itself cannot be
//! created again.
//!
//! Reference: find_coercion_pathway and build_coercion_expression of PostgreSQL's parse_coerce.c.

use std::sync::Arc;

use hyades_engine::procedure::ir::Expr;
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{CastMethod, RoutineDefinition, SupportFunction};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};

use super::coerce::{Category, Context, cast, category, is_implicit};
use super::operator::{Signature, signature};
use super::routine_call::{Chosen, value_type};
use super::support_call::BUILT_IN;
use super::{Binder, Bound, Place};

/// The types that an operator is to take instead of those of its sides.
pub(super) type Sides = (SqlType, SqlType);

impl Binder<'_> {
    fn created_casts(&self) -> &[Arc<Routine>] {
        self.created_casts
            .get_or_init(|| self.context.tables.routines_named(&RoutineDefinition::name_of_casts()))
    }

    /// The cast between these types that a user has created, and the context from which on it is applied.
    pub(super) fn created_cast(&self, from: SqlType, to: SqlType) -> Option<(Arc<Routine>, Context)> {
        let casts = self.created_casts();
        let found = casts.iter().find(|routine| {
            let types = routine.definition.cast_types();
            types.is_some_and(|(source, target)| source.is_same_base(from) && target.is_same_base(to))
        })?;
        Some((Arc::clone(found), found.definition.cast.as_ref()?.context))
    }

    /// Whether a value of one type is converted to the other wherever that is needed.
    pub(super) fn converts(&self, from: SqlType, to: SqlType) -> bool {
        match self.created_cast(from, to) {
            Some((_, context)) => context == Context::Implicit,
            None => is_implicit(from, to),
        }
    }

    /// The types to which a value of this type is converted by casts of users wherever that is needed.
    fn implicit_targets(&self, from: SqlType) -> Vec<SqlType> {
        let casts = self.created_casts().iter();
        let targets = casts.filter_map(|routine| {
            let (source, target) = routine.definition.cast_types()?;
            let is_implicit = routine.definition.cast.as_ref()?.context == Context::Implicit;
            (source.is_same_base(from) && is_implicit).then_some(target)
        });
        targets.collect()
    }

    /// The types to which casts of users convert the sides of an operator that has no other meaning, if there
    /// is one choice. PostgreSQL's operators for all enums, arrays or rows are not meant.
    pub(super) fn converted_sides(
        &self,
        operator: BinaryOperator,
        left: SqlType,
        right: SqlType,
    ) -> Option<Sides> {
        if self.created_casts().is_empty() {
            return None;
        }
        let choices = |own: SqlType| [vec![own], self.implicit_targets(own)].concat();
        let is_plain =
            |own: SqlType| !matches!(category(own), Category::Enum | Category::Array | Category::Row);
        let fits = |own: SqlType, wanted: SqlType, taken: SqlType| {
            own == wanted || (wanted.is_same_base(taken) && is_plain(taken))
        };
        let mut found: Vec<Sides> = Vec::new();
        for one in choices(left) {
            for other in choices(right) {
                let Some(Signature { left: first, right: second, .. }) = signature(operator, one, other)
                else {
                    continue;
                };
                if fits(left, one, first) && fits(right, other, second) {
                    found.push((one, other));
                }
            }
        }
        match found.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// A value converted by a cast that a user has created.
    pub(super) fn apply_cast(
        &mut self,
        routine: &Arc<Routine>,
        (expr, from): (Expr, SqlType),
        to: SqlType,
        is_explicit: bool,
    ) -> Result<Expr> {
        let Some(own) = &routine.definition.cast else { return cast(expr, from, to, is_explicit) };
        self.called.push(Arc::clone(routine));
        let is_known = self.casts.borrow().iter().any(|known| known.id == routine.id);
        if !is_known {
            self.casts.borrow_mut().push(Arc::clone(routine));
        }
        match &own.method {
            CastMethod::Function(function) => self.call_of_cast(function, (expr, from), to, is_explicit),
            CastMethod::Text | CastMethod::Same if from.is_string() || to.is_string() => {
                let operand = Box::new(expr);
                Ok(Expr::Cast { operand, to, explicit: is_explicit })
            }
            CastMethod::Text | CastMethod::Same => {
                let text = cast(expr, from, SqlType::Text, true)?;
                cast(text, SqlType::Text, to, is_explicit)
            }
        }
    }

    fn call_of_cast(
        &mut self,
        function: &SupportFunction,
        (expr, from): (Expr, SqlType),
        to: SqlType,
        is_explicit: bool,
    ) -> Result<Expr> {
        let taken = function.types.first().copied().unwrap_or(from);
        let value = cast(expr, from, taken, is_explicit)?;
        let modifier = (Expr::Const(Value::Integer(to.type_modifier())), SqlType::Integer);
        let explicit = (Expr::Const(Value::Boolean(is_explicit)), SqlType::Boolean);
        let arguments = [(value, taken), modifier, explicit].into_iter().take(function.types.len());
        let (call, returned) = self.cast_function(function, arguments.collect())?;
        // A function that gets the modifier has heeded it.
        let to = if function.types.len() > 1 { to.without_modifier() } else { to };
        cast(call, returned, to, is_explicit)
    }

    /// A call of the function of a cast, and the type of its result.
    pub(crate) fn cast_function(
        &mut self,
        function: &SupportFunction,
        arguments: Vec<(Expr, SqlType)>,
    ) -> Result<(Expr, SqlType)> {
        if function.name.schema == BUILT_IN {
            let arguments =
                arguments.into_iter().map(|(expr, own)| Bound::typed(expr, own, Place::Unknown)).collect();
            let bound = self.call_of(&function.name.name, arguments, Place::Unknown)?;
            let returned = bound.known_type().unwrap_or(SqlType::Text);
            return Ok((bound.expr, returned));
        }
        let named = self.context.tables.routines_named(&function.name);
        let found = named.into_iter().find(|routine| routine.definition.identity() == function.types);
        let found = found.and_then(|routine| Some((value_type(&routine.definition)?, routine)));
        let Some((returned, routine)) = found else {
            let message = format!("function {} of a cast does not exist", function.name.name);
            return Err(Error::input(sqlstate::UNDEFINED_FUNCTION, message));
        };
        let callee = self.callee(&Chosen::Stored(routine))?;
        let arguments = arguments.into_iter().map(|(expr, _)| expr).collect();
        Ok((Expr::Routine { callee, arguments }, returned))
    }
}
