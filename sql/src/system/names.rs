//! Objects by name and by number, as `regclass` and similar types read and show them.

use compact_str::{CompactString, ToCompactString};
use hyades_types::definition::{RoutineDefinition, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::sequence::{no_relation, written_name, written_name_in};
use hyades_types::system_type::SystemType;

use super::builtins::{self, BuiltIn};
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

/// Whether a function of the catalog, which comes first in every path, has the same name and inputs.
fn is_hidden_by_built_in(definition: &RoutineDefinition) -> bool {
    let types = || definition.inputs().map(|parameter| parameter.sql_type.oid());
    let mut same = builtins::named(&definition.name.name).iter();
    same.any(|function| types().eq(function.arguments.iter().copied()))
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
        if is_hidden_by_built_in(definition) {
            return false;
        }
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
    pub(super) fn shown_routine(&self, definition: &RoutineDefinition) -> String {
        match self.is_routine_visible(definition) {
            true => quoted(&definition.name.name),
            false => full_name(&definition.name),
        }
    }

    /// The same where the name alone has to say which one it is.
    fn shown_by_name(&self, definition: &RoutineDefinition) -> String {
        let name = &definition.name;
        let is_alone = builtins::named(&name.name).is_empty() && self.created_under(&name.name) == 1;
        match is_alone && self.is_routine_visible(definition) {
            true => quoted(&name.name),
            false => full_name(name),
        }
    }

    pub(super) fn shown_built_in(&self, function: &BuiltIn) -> String {
        let others = self.created_under(function.name);
        match builtins::named(function.name).len() + others {
            1 => quoted(function.name),
            _ => format!("pg_catalog.{}", quoted(function.name)),
        }
    }

    /// How many routines of this name the path finds.
    fn created_under(&self, name: &str) -> usize {
        let schemas: Vec<&str> = self.facts.path.searched_for_routines().collect();
        let is_found = |own: &TableName| own.name == name && schemas.contains(&own.schema.as_str());
        self.facts.routines.iter().filter(|routine| is_found(&routine.definition.name)).count()
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
            SystemType::RegProc => match self.routine(oid) {
                Some(routine) => Some(self.shown_by_name(&routine.definition)),
                None => builtins::by_oid(oid).map(|function| self.shown_built_in(function)),
            },
            SystemType::RegProcedure => match self.routine(oid) {
                Some(routine) => Some(self.signature(&routine.definition)),
                None => builtins::by_oid(oid).map(|function| function.signature(self)),
            },
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
            let list = Some(list.trim()).filter(|list| !list.is_empty());
            let items = list.into_iter().flat_map(|list| list.split(',').map(str::trim));
            let read = |item: &str| match item {
                "" => Err(Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, "expected a type name")),
                item => self.written_type(item),
            };
            items.map(read).collect::<Result<Vec<_>>>()
        });
        let wanted = wanted.transpose()?;
        let fits = |inputs: &mut dyn Iterator<Item = u32>| {
            wanted.as_ref().is_none_or(|wanted| inputs.map(Some).eq(wanted.iter().copied()))
        };
        let is_in_catalog = schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
        let built_in = if is_in_catalog { builtins::named(&own) } else { &[] };
        let built_in = built_in.iter().filter(|function| fits(&mut function.arguments.iter().copied()));
        let is_meant = |definition: &RoutineDefinition| {
            let types = &mut definition.inputs().map(|parameter| parameter.sql_type.oid());
            let is_hidden = || schema.is_none() && is_hidden_by_built_in(definition);
            let is_named = definition.name.name == own && schemas.contains(&definition.name.schema.as_str());
            is_named && fits(types) && !is_hidden()
        };
        let created = self.facts.routines.iter().filter(|routine| is_meant(&routine.definition));
        let mut found = built_in
            .map(|function| function.oid)
            .chain(created.map(|routine| object_id::of_routine(routine.id)));
        match (found.next(), found.next()) {
            // One of the catalog comes before others with the same types.
            (Some(first), next) if next.is_none() || (wanted.is_some() && is_in_catalog) => Ok(first),
            (Some(_), _) => {
                let message = format!("more than one function named \"{text}\"");
                Err(Error::input(sqlstate::AMBIGUOUS_FUNCTION, message))
            }
            (None, _) => {
                let whole = arguments.map_or(text, |(_, whole)| whole);
                Err(undefined(sqlstate::UNDEFINED_FUNCTION, "function", whole))
            }
        }
    }
}
