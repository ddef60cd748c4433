//! Objects by name and by number, as `regclass` and similar types read and show them.

use compact_str::{CompactString, ToCompactString};
use hyades_types::definition::{RoutineDefinition, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::lookup;
use hyades_types::sequence::{no_relation, written_name, written_name_in};
use hyades_types::system_type::SystemType;

use super::snapshot::System;
use super::{object_id, relation};
use crate::statement::kept_names::full_name;

/// The name, quoted if necessary.
pub(super) fn quoted(name: &str) -> String {
    hyades_types::identifier::quoted_identifier(name).to_string()
}

fn undefined(state: hyades_types::error::SqlState, what: &str, name: &str) -> Error {
    Error::input(state, format!("{what} \"{name}\" does not exist"))
}

impl System {
    /// Whether the relation of this name and schema is found without the schema.
    pub(super) fn is_visible(&self, schema: u32, name: &str) -> bool {
        let own = self.schema_name(schema);
        let path = &self.facts.path;
        if schema == object_id::PG_CATALOG {
            return true;
        }
        let hides = |schema: &str| {
            let schema = self.schema_oid(schema);
            self.classes.iter().any(|class| class.schema == schema && class.name == name)
        };
        let is_temporary = path.temporary() == Some(own);
        path.searched().any(|schema| schema == own)
            && (is_temporary || relation::find("pg_catalog", name).is_none())
            && !path.searched().take_while(|schema| *schema != own).any(hides)
    }

    /// The same for a routine.
    pub(super) fn is_routine_visible(&self, definition: &RoutineDefinition) -> bool {
        let is_here = |schema: &&str| {
            self.facts.routines.iter().any(|routine| {
                let other = &routine.definition;
                other.name.schema == **schema
                    && other.name.name == definition.name.name
                    && other.identity() == definition.identity()
            })
        };
        let first = self.facts.path.searched_for_routines().find(is_here);
        first == Some(definition.name.schema.as_str())
    }

    /// The name of a routine, with its schema only if necessary.
    fn shown_routine(&self, definition: &RoutineDefinition) -> String {
        match self.is_routine_visible(definition) {
            true => quoted(&definition.name.name),
            false => full_name(&definition.name),
        }
    }

    /// A name, with its schema only if necessary.
    fn shown_in(&self, schema: u32, name: &str) -> String {
        if self.is_visible(schema, name) {
            quoted(name)
        } else {
            format!("{}.{}", quoted(self.schema_name(schema)), quoted(name))
        }
    }

    pub(super) fn shown_name(&self, name: &TableName) -> String {
        self.shown_in(self.schema_oid(&name.schema), &name.name)
    }

    pub(super) fn shown_object(&self, system_type: SystemType, oid: u32) -> CompactString {
        if oid == 0 {
            return CompactString::const_new("-");
        }
        let shown = match system_type {
            SystemType::RegClass => self.class(oid).map(|class| self.shown_in(class.schema, &class.name)),
            SystemType::RegType => self.type_text(oid),
            SystemType::RegNamespace => {
                self.schemas.iter().find(|(own, _)| *own == oid).map(|(_, name)| quoted(name))
            }
            SystemType::RegRole => self.role_name(oid).map(quoted),
            SystemType::RegProc => self.routine(oid).map(|routine| self.shown_routine(&routine.definition)),
            SystemType::RegProcedure => self.routine(oid).map(|routine| self.signature(&routine.definition)),
            _ => None,
        };
        shown.map_or_else(|| oid.to_compact_string(), CompactString::from)
    }

    fn signature(&self, definition: &RoutineDefinition) -> String {
        let types: Vec<String> =
            definition.inputs().map(|parameter| self.shown_type(parameter.sql_type)).collect();
        format!("{}({})", self.shown_routine(definition), types.join(","))
    }

    pub(super) fn find_object(&self, system_type: SystemType, text: &str) -> Result<u32> {
        match system_type {
            SystemType::RegClass => self.find_class(text),
            SystemType::RegType => {
                self.written_type(text)?.ok_or_else(|| undefined(sqlstate::UNDEFINED_OBJECT, "type", text))
            }
            SystemType::RegNamespace => {
                let (_, name) = written_name(text)?;
                match self.schema_oid(self.facts.path.schema(&name)) {
                    0 => Err(undefined(sqlstate::INVALID_SCHEMA_NAME, "schema", &name)),
                    oid => Ok(oid),
                }
            }
            SystemType::RegRole => {
                let (_, name) = written_name(text)?;
                self.role_named(&name).ok_or_else(|| undefined(sqlstate::UNDEFINED_OBJECT, "role", &name))
            }
            SystemType::RegProc => self.find_routine(text, None),
            _ => {
                let (name, arguments) = text.split_once('(').ok_or_else(|| {
                    Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, "expected a left parenthesis")
                })?;
                let arguments = arguments.trim_end().strip_suffix(')').ok_or_else(|| {
                    Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, "expected a right parenthesis")
                })?;
                self.find_routine(name, Some((arguments, text)))
            }
        }
    }

    fn find_class(&self, text: &str) -> Result<u32> {
        let (schema, name) = written_name_in(text, &self.facts.database)?;
        self.check_schema(schema.as_deref())?;
        let path = &self.facts.path;
        let find = |schema: &str| {
            let schema = self.schema_oid(schema);
            self.classes.iter().find(|class| class.schema == schema && class.name == name)
        };
        let found = match &schema {
            Some(schema) => find(path.schema(schema)),
            None => {
                let temporary = path.temporary().and_then(find);
                let first = temporary.or_else(|| find("pg_catalog"));
                first.or_else(|| path.searched().find_map(find))
            }
        };
        found
            .map(|class| class.oid)
            .ok_or_else(|| no_relation(text, |schema| self.schema_oid(path.schema(schema)) != 0))
    }

    /// A routine of this name. If argument types are given, they must match, and come with the whole text
    /// as written.
    fn find_routine(&self, text: &str, arguments: Option<(&str, &str)>) -> Result<u32> {
        let (schema, own) = written_name(text)?;
        self.check_schema(schema.as_deref())?;
        let path = &self.facts.path;
        let schemas: Vec<&str> = match &schema {
            Some(schema) => vec![path.schema(schema)],
            None => path.searched_for_routines().collect(),
        };
        let wanted = arguments.map(|(list, _)| {
            let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
            items.map(|item| self.written_type(item)).collect::<Result<Vec<_>>>()
        });
        let wanted = wanted.transpose()?;
        let fits = |definition: &RoutineDefinition| match &wanted {
            None => true,
            Some(wanted) => {
                definition.inputs().map(|parameter| Some(parameter.sql_type.oid())).eq(wanted.iter().copied())
            }
        };
        let is_meant = |name: &TableName| name.name == own && schemas.contains(&name.schema.as_str());
        let mut found = self
            .facts
            .routines
            .iter()
            .filter(|routine| is_meant(&routine.definition.name) && fits(&routine.definition));
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(object_id::of_routine(only.id)),
            (Some(_), Some(_)) => {
                let message = format!("more than one function named \"{text}\"");
                Err(Error::input(sqlstate::AMBIGUOUS_FUNCTION, message))
            }
            (None, _) if !lookup(&own).is_empty() => {
                let message = "numbers of built-in functions are not supported yet";
                Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
            }
            (None, _) => {
                let whole = arguments.map_or(text, |(_, whole)| whole);
                Err(undefined(sqlstate::UNDEFINED_FUNCTION, "function", whole))
            }
        }
    }
}
