//! Calls of routines with polymorphic parameters: the types for which `anyelement` and its relatives stand.
//!
//! Such a routine is compiled for each set of types with which it is called (`Routine::called_with`). What a
//! call refers to is the routine of these types, so nothing but the choice of a routine knows of the others.
//!
//! Reference: PostgreSQL's check_generic_type_consistency and enforce_generic_type_consistency.

use hyades_types::definition::{Returns, RoutineDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::system_type::{Polymorphic, SystemType};
use hyades_types::value::{ArrayElement, SqlType};

use super::coerce::is_implicit;
use super::{Binder, Bound, Class};

/// The types for which the polymorphic types of a signature stand in a call. `None`: no argument says it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Actual {
    /// That of `anyelement`, and of the elements of `anyarray`.
    element: Option<SqlType>,
    /// That of `anycompatible`, and of the elements of `anycompatiblearray`.
    compatible: Option<SqlType>,
}

fn polymorphic(kind: Polymorphic) -> SqlType {
    SqlType::System(SystemType::Polymorphic(kind))
}

/// The type of the elements of an array. The definition of an aggregate may be polymorphic itself.
fn element_of(array: SqlType) -> Option<SqlType> {
    match array.polymorphic() {
        Some(Polymorphic::Array) => Some(polymorphic(Polymorphic::Element)),
        Some(Polymorphic::CompatibleArray) => Some(polymorphic(Polymorphic::Compatible)),
        _ => Some(array.element()?.sql_type().without_modifier()),
    }
}

impl Actual {
    /// What the arguments for polymorphic parameters say. `None` if they do not fit each other.
    pub(super) fn of(binder: &Binder<'_>, given: &[(Polymorphic, &Bound)]) -> Option<Actual> {
        let mut element = None;
        let mut compatible: Vec<Bound> = Vec::new();
        for (kind, bound) in given {
            let known = bound.known_type().map(SqlType::without_modifier);
            let own = match known {
                Some(known) if kind.is_array() => Some(element_of(known)?),
                known => known,
            };
            if kind.is_compatible() {
                let is_said = !kind.is_array() || own.is_some();
                let class = own.map_or_else(|| bound.class.clone(), Class::Typed);
                compatible.extend(is_said.then(|| Bound { class, ..(*bound).clone() }));
            } else if let Some(own) = own
                && element.replace(own).is_some_and(|known| known != own)
            {
                return None;
            }
        }
        let compatible = match compatible.as_slice() {
            [] => None,
            given => Some(binder.common_type(given, "").ok()?.without_modifier()),
        };
        let actual = Actual { element, compatible };
        given.iter().all(|(kind, bound)| actual.admits(*kind, bound.known_type())).then_some(actual)
    }

    /// Whether a parameter may stand for an argument of this type.
    fn admits(self, kind: Polymorphic, given: Option<SqlType>) -> bool {
        let is_array = |sql_type| matches!(sql_type, SqlType::Array(_));
        let stands_for = self.type_of(kind).unwrap_or(None);
        match kind {
            Polymorphic::Element | Polymorphic::Array => true,
            Polymorphic::NonArray => !self.element.is_some_and(is_array),
            Polymorphic::Enum => self.element.is_none_or(|own| matches!(own, SqlType::Enum(_))),
            Polymorphic::Compatible | Polymorphic::CompatibleArray | Polymorphic::CompatibleNonArray => {
                let converts = |from: SqlType, to| from.is_same_base(to) || is_implicit(from, to);
                let fits = given.is_none_or(|from| stands_for.is_none_or(|to| converts(from, to)));
                fits && (kind != Polymorphic::CompatibleNonArray || !self.compatible.is_some_and(is_array))
            }
        }
    }

    /// The type for which a polymorphic type stands, if the arguments say it.
    fn type_of(self, kind: Polymorphic) -> Result<Option<SqlType>> {
        let element = if kind.is_compatible() { self.compatible } else { self.element };
        let Some(element) = element.filter(|_| kind.is_array()) else { return Ok(element) };
        match (ArrayElement::of(element), element.polymorphic()) {
            (_, Some(Polymorphic::Element | Polymorphic::NonArray)) => {
                Ok(Some(polymorphic(Polymorphic::Array)))
            }
            (_, Some(kind)) if kind.is_compatible() => Ok(Some(polymorphic(Polymorphic::CompatibleArray))),
            (Some(element), _) => Ok(Some(SqlType::Array(element))),
            (None, _) => {
                let message = format!("could not find array type for data type {}", element.base_name());
                Err(Error::input(sqlstate::UNDEFINED_OBJECT, message))
            }
        }
    }

    /// The routine that a call of a polymorphic one means.
    pub(super) fn routine(self, declared: &RoutineDefinition) -> Result<RoutineDefinition> {
        for kind in declared.types().filter_map(SqlType::polymorphic) {
            if self.type_of(kind)?.is_none() {
                let kinds = || declared.inputs().filter_map(|input| input.sql_type.polymorphic());
                let message = match kinds().all(Polymorphic::is_compatible) {
                    false => "could not determine polymorphic type because input has type unknown".to_owned(),
                    true => {
                        let name = polymorphic(kind).base_name();
                        format!("could not determine polymorphic type {name} because input has type unknown")
                    }
                };
                return Err(Error::input(sqlstate::DATATYPE_MISMATCH, message));
            }
        }
        let actual = |sql_type: SqlType| match sql_type.polymorphic() {
            Some(kind) => self.type_of(kind).unwrap_or(None).unwrap_or(sql_type),
            None => sql_type,
        };
        Ok(declared.with_actual(actual))
    }
}

/// 42804: the arguments for polymorphic parameters do not fit each other.
pub(super) fn not_alike(given: &[(Polymorphic, &Bound)]) -> Error {
    let mut types = given.iter().filter_map(|(_, bound)| bound.known_type());
    let first = types.next().map_or("unknown", SqlType::base_name);
    let other = types.map(SqlType::base_name).find(|other| *other != first).unwrap_or(first);
    let message = "arguments declared \"anyelement\" are not all alike";
    Error::input(sqlstate::DATATYPE_MISMATCH, message).with_detail(format!("{first} versus {other}"))
}

/// Refuses a result whose type no argument would say.
pub(crate) fn check_results(definition: &RoutineDefinition) -> Result<()> {
    let outputs = definition.parameters.iter().filter(|parameter| parameter.mode.is_output());
    let outputs = outputs.map(|parameter| parameter.sql_type);
    let columns: &[(String, SqlType)] = match &definition.returns {
        Returns::Table(columns) => columns,
        _ => &[],
    };
    let value = match definition.returns {
        Returns::Value(sql_type) | Returns::SetOf(sql_type) => Some(sql_type),
        _ => None,
    };
    let results = value.into_iter().chain(outputs).chain(columns.iter().map(|(_, sql_type)| *sql_type));
    for result in results {
        let Some(kind) = result.polymorphic() else { continue };
        let mut inputs = definition.inputs().filter_map(|input| input.sql_type.polymorphic());
        if inputs.any(|input| input.is_compatible() == kind.is_compatible()) {
            continue;
        }
        let message = "cannot determine result data type";
        let error = Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message);
        return Err(error.with_detail(polymorphic_hint(kind)));
    }
    Ok(())
}

/// Why a polymorphic type cannot be that of a result or of a state.
pub(crate) fn polymorphic_hint(kind: Polymorphic) -> String {
    let inputs = match kind.is_compatible() {
        false => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
        true => {
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or \
             anycompatiblemultirange"
        }
    };
    let own = polymorphic(kind).base_name();
    format!("A result of type {own} requires at least one input of type {inputs}.")
}
