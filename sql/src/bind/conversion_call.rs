//! Calls with one argument whose name is that of a type: conversions, `date(now())`.
//!
//! PostgreSQL has many of them as functions of pg_catalog, which is searched before the schemas of users. It
//! treats the others as conversions if no function fits exactly. Here all conversions to built-in types come
//! before the routines of users, so that the texts kept for indexes and generated columns mean the same
//! whatever is created later. Conversions to types of users come after the routines, except for literals,
//! which fit no routine exactly.
//!
//! Reference: func_get_detail of PostgreSQL's parse_func.c.

use hyades_types::error::Result;
use hyades_types::value::SqlType;

use super::coerce::Context;
use super::types::{self, NamedTypes};
use super::{Binder, Bound, Class, Place};

/// What a call means if it does not refer to a routine.
pub(crate) struct Conversion {
    pub(crate) to: SqlType,
    pub(crate) bound: Bound,
    pub(crate) is_before_routines: bool,
}

impl Binder<'_> {
    /// See the module head. `None` if there is no such type, or no conversion.
    pub(crate) fn try_conversion(
        &mut self,
        idents: &[String],
        arguments: &[Bound],
    ) -> Result<Option<Conversion>> {
        let [argument] = arguments else { return Ok(None) };
        let (schema, name) = match idents {
            [name] => (None, name.as_str()),
            [schema, name] => (Some(schema.as_str()), name.as_str()),
            _ => return Ok(None),
        };
        let placed = schema.map(|schema| (schema, Place::Unknown));
        let built_in = match schema {
            None | Some("pg_catalog") => types::built_in(name).filter(|to| to.catalog_name() == name),
            Some(_) => None,
        };
        let named = || self.named_type(placed, name)?.sql_type;
        let Some(to) = built_in.or_else(named) else {
            return Ok(None);
        };
        let is_before_routines = built_in.is_some() || argument.known_type().is_none();
        let place = argument.place;
        let converted = self.try_coerce(argument.clone(), to, Context::Explicit)?;
        Ok(converted.map(|expr| {
            let bound = Bound { expr, class: Class::Typed(to), place };
            Conversion { to, bound, is_before_routines }
        }))
    }
}
