//! CREATE, ALTER and DROP TYPE: what is the same for all kinds of types, and what depends on types. Each kind
//! has a file of its own (`enum_types`).
//!
//! As with foreign keys, everything here looks at definitions that are not locked yet. The engine checks
//! again.
//!
//! Reference: PostgreSQL's typecmds.c.

use std::sync::Arc;

use hyades_engine::storage::catalog::{NewId, duplicate_table, duplicate_type};
use hyades_engine::storage::stored_type::StoredType;
use hyades_types::definition::{CatalogChange, RoutineId, TableName, TypeDefinition, TypeKind};
use hyades_types::enumeration::EnumLabels;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::identifier::quoted_identifier;
use hyades_types::search_path::is_temporary;
use hyades_types::value::SqlType;

use super::command::{CatalogStatement, SchemaCommand, TypeCommand};
use super::dependents::Object;
use super::extensions::required_by_extension;
use super::schemas::no_schema;
use super::type_spelling::{Relabelling, Respelling};
use super::view_changes::redefined;
use crate::answer::Output;
use crate::bind::types;
use crate::emit::Compiler;
use crate::statement::{AlterType, CreateType, DropType, Owned, QualifiedName, TypeAction, WrittenType};
use crate::viewpoint::Viewpoint;

impl Compiler<'_> {
    pub(crate) fn create_type(&mut self, create: &CreateType) -> Result<CatalogStatement> {
        let name = self.created_name(&create.name, None)?;
        let (tag, kind) = match &create.kind {
            WrittenType::Enum(labels) => {
                ("CREATE TYPE", TypeKind::Enum { labels: EnumLabels::numbered(labels)? })
            }
            WrittenType::Composite(attributes) => ("CREATE TYPE", self.created_composite(attributes)?),
            WrittenType::Domain(domain) => ("CREATE DOMAIN", self.created_domain(&name, domain)?),
        };
        Ok(CatalogStatement::new(tag, SchemaCommand::Type(TypeCommand::Create { name, kind })))
    }

    pub(crate) fn alter_type(&self, alter: &AlterType) -> CatalogStatement {
        let tag = if alter.is_domain { "ALTER DOMAIN" } else { "ALTER TYPE" };
        match &alter.action {
            TypeAction::SetOwner(to) => self.owned(tag, Owned::Type(alter.name.clone()), to.clone()),
            _ => CatalogStatement::new(tag, SchemaCommand::Type(TypeCommand::Alter(alter.clone()))),
        }
    }

    pub(super) fn drop_type(&self, drop: &DropType) -> CatalogStatement {
        let tag = if drop.is_domain { "DROP DOMAIN" } else { "DROP TYPE" };
        CatalogStatement::new(tag, SchemaCommand::Type(TypeCommand::Drop(drop.clone())))
    }
}

/// Error 42704 for a type that does not exist.
pub(super) fn no_type(name: &QualifiedName) -> Error {
    let parts = name.database.iter().chain(&name.schema).chain([&name.name]);
    let shown = parts.map(String::as_str).collect::<Vec<&str>>().join(".");
    Error::input(sqlstate::UNDEFINED_OBJECT, format!("type \"{shown}\" does not exist"))
}

/// Error 42P01: ALTER TYPE looks for a composite type among the relations.
fn no_relation(name: &QualifiedName) -> Error {
    Error::input(sqlstate::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", name.shown()))
}

/// Error 42809 for another kind of type, as it is shown.
fn not_a_domain(shown: &str) -> Error {
    Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is not a domain"))
}

impl Viewpoint {
    /// Error 42501 unless the session may run this command.
    pub(super) fn check_type_command(&self, command: &TypeCommand) -> Result<()> {
        match command {
            TypeCommand::Create { name, kind } => {
                self.check_creates_in(name)?;
                let created = |sql_type: SqlType| sql_type.created_type().map(|used| used.id);
                match kind {
                    TypeKind::Enum { .. } | TypeKind::Extension { .. } => Ok(()),
                    TypeKind::Domain { domain } => {
                        self.check_types(created(domain.base).into_iter().chain(domain.parent))
                    }
                    TypeKind::Composite { fields, .. } => {
                        self.check_types(fields.iter().filter_map(|field| created(field.sql_type)))
                    }
                }
            }
            TypeCommand::Alter(AlterType { name, action, .. }) => match action {
                TypeAction::SetOwner(_) => Ok(()),
                TypeAction::SetSchema(to) => {
                    self.check_creates(self.role(), self.search_path().schema(to))?;
                    self.check_type(name, false)
                }
                _ => self.check_type(name, false),
            },
            TypeCommand::Drop(drop) => drop.names.iter().try_for_each(|name| self.check_type(name, true)),
        }
    }

    pub(super) fn type_changes(
        &mut self,
        command: &TypeCommand,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        match command {
            TypeCommand::Create { name, kind } => self.created_type(name, kind.clone()),
            TypeCommand::Alter(alter) => self.altered_type(alter, output),
            TypeCommand::Drop(drop) => self.dropped_types(drop, output),
        }
    }

    /// The name of a type for messages, with its schema if it is not found without.
    pub(super) fn shown_type(&self, stored: &StoredType) -> String {
        let name = stored.name();
        let meant = QualifiedName::new(None, name.name.clone());
        match self.stored_type(&meant).is_some_and(|found| found.name() == name) {
            true => quoted_identifier(&name.name).to_string(),
            false => stored.definition.shown(),
        }
    }

    pub(super) fn stored_type(&self, name: &QualifiedName) -> Option<Arc<StoredType>> {
        let view = self.worker.catalog_view();
        let full = self
            .search_path()
            .find(name.schema.as_deref(), &name.name, |name| view.type_named(name).is_some());
        view.type_named(&full)
    }

    /// The type that a statement alters.
    fn altered(&self, alter: &AlterType) -> Result<Arc<StoredType>> {
        let name = &alter.name;
        let found = self.stored_type(name);
        let is_of_labels =
            matches!(alter.action, TypeAction::AddValue { .. } | TypeAction::RenameValue { .. });
        let is_of_attributes = matches!(alter.action, TypeAction::Attributes(_));
        match &found {
            Some(stored) if alter.is_domain && stored.definition.domain().is_none() => {
                return Err(not_a_domain(&self.shown_type(stored)));
            }
            Some(stored) if is_of_labels && stored.enum_type.is_none() => {
                let message = format!("{} is not an enum", self.shown_type(stored));
                return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            Some(stored) if is_of_attributes && stored.definition.fields().is_none() => {
                return Err(no_relation(name));
            }
            _ => {}
        }
        found.ok_or_else(|| {
            if is_of_attributes {
                return match self.table(&self.meant(name)) {
                    Some(_) => {
                        let message = format!("\"{}\" is not a composite type", name.name);
                        Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                    }
                    None => no_relation(name),
                };
            }
            let built_in = types::built_in(&name.name).filter(|_| name.schema.is_none());
            if built_in.is_some() || self.table(&self.meant(name)).is_some() {
                let shown = built_in.map_or_else(|| name.name.clone(), |known| known.base_name().to_owned());
                if alter.is_domain {
                    return not_a_domain(&shown);
                }
                let message = format!("{shown} is not an enum");
                return Error::input(sqlstate::WRONG_OBJECT_TYPE, message);
            }
            no_type(name)
        })
    }

    fn created_type(&self, name: &TableName, kind: TypeKind) -> Result<Vec<CatalogChange>> {
        self.check_type_name(name)?;
        if matches!(kind, TypeKind::Composite { .. }) && self.is_relation(name) {
            return Err(duplicate_table(name));
        }
        let new_id = || self.worker.new_id(NewId::Object);
        let definition = TypeDefinition::new((new_id(), new_id()), name, kind);
        Ok(vec![CatalogChange::CreateType { definition }])
    }

    /// Also refuses the name of a table, which has a row type of the same name.
    pub(super) fn check_type_name(&self, name: &TableName) -> Result<()> {
        let is_taken = self.worker.catalog_view().type_named(name).is_some() || self.table(name).is_some();
        if is_taken { Err(duplicate_type(name)) } else { Ok(()) }
    }

    /// Error 42710 if a type has the name of a new table.
    pub(super) fn check_row_type_name(&self, name: &TableName) -> Result<()> {
        match self.worker.catalog_view().type_named(name) {
            None => return Ok(()),
            Some(stored) if stored.definition.fields().is_some() => return Err(duplicate_table(name)),
            Some(_) => {}
        }
        Err(duplicate_type(name).with_hint(
            "A relation has an associated type of the same name, so you must use a name that doesn't conflict \
             with any existing type.",
        ))
    }

    fn altered_type(&self, alter: &AlterType, output: &mut dyn Output) -> Result<Vec<CatalogChange>> {
        let stored = self.altered(alter)?;
        if let Some(extension) = stored.extension() {
            let message = format!("altering a type of extension {extension} is not supported yet");
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        let mut definition = stored.definition.clone();
        match &alter.action {
            TypeAction::AddValue { .. } | TypeAction::RenameValue { .. } => {
                return self.altered_labels(&stored, &alter.action, output);
            }
            TypeAction::Rename(name) => {
                let full = TableName { schema: definition.schema.clone(), name: name.clone() };
                self.check_type_name(&full)?;
                name.clone_into(&mut definition.name);
            }
            TypeAction::SetSchema(schema) => {
                let to = self.type_schema(&stored.name(), schema)?;
                if to == definition.schema {
                    return Ok(Vec::new());
                }
                definition.schema = to;
            }
            TypeAction::Attributes(actions) => return self.altered_attributes(&stored, actions, output),
            TypeAction::Domain(action) => return self.altered_domain(&stored, action, output),
            // This is compiled as a statement about rights.
            TypeAction::SetOwner(_) => return Ok(Vec::new()),
        }
        definition.begin_change();
        self.respelled_type(&stored, definition, None)
    }

    /// The schema that a type is moved to.
    fn type_schema(&self, name: &TableName, schema: &str) -> Result<String> {
        if !self.has_schema(schema) {
            return Err(no_schema(schema));
        }
        let to = self.search_path().schema(schema).to_owned();
        if to == name.schema {
            return Ok(to);
        }
        if is_temporary(&to) {
            let message = "cannot move objects into or out of temporary schemas";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if self.schemas().get(&to).is_none() {
            let message = format!("permission denied for schema {to}");
            return Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        let full = TableName { schema: to.clone(), name: name.name.clone() };
        if self.worker.catalog_view().type_named(&full).is_some() || self.table(&full).is_some() {
            let message = format!("type \"{}\" already exists in schema \"{to}\"", full.name);
            return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
        }
        Ok(to)
    }

    /// The changes of a type, and of everything stored as text that contains its name or the renamed label.
    pub(super) fn respelled_type(
        &self,
        stored: &StoredType,
        definition: TypeDefinition,
        label: Option<(&str, &str)>,
    ) -> Result<Vec<CatalogChange>> {
        self.refuse_named_in_bodies("a type", |uses| uses.types.contains(&stored.id()))?;
        let from = stored.name();
        let to = definition.full_name();
        let label =
            label.zip(stored.enum_type).map(|((from, to), enum_type)| Relabelling { enum_type, from, to });
        let respelling = Respelling { session: self, from: &from, to: &to, label };
        let changed = definition.clone();
        let mut changes = vec![CatalogChange::AlterType { definition }];
        for table in self.visible_tables() {
            let mut definition = table.definition().with_type(&changed);
            if !respelling.table(&table, &mut definition)? {
                continue;
            }
            changes.push(redefined(&table, definition));
        }
        changes
            .extend(self.rewritten_domains(Some(&changed), |text, row, to| respelling.text(text, row, to))?);
        let mut routines = self.worker.routines();
        routines.sort_unstable_by_key(|routine| routine.id);
        for routine in routines {
            let mut definition = routine.definition.with_type(&changed);
            if respelling.routine(&mut definition)? {
                let (id, replaces) = (RoutineId(self.worker.new_id(NewId::Object)), Some(routine.id));
                changes.push(CatalogChange::CreateRoutine { id, definition, replaces });
            }
        }
        Ok(changes)
    }

    fn dropped_types(&mut self, drop: &DropType, output: &mut dyn Output) -> Result<Vec<CatalogChange>> {
        let mut dropped: Vec<Object> = Vec::new();
        for name in &drop.names {
            match self.stored_type(name) {
                Some(stored) => {
                    if drop.is_domain && stored.definition.domain().is_none() {
                        return Err(not_a_domain(&format!("\"{}\"", stored.definition.name)));
                    }
                    if let Some(extension) = stored.extension() {
                        let shown = self.shown_type(&stored);
                        return Err(required_by_extension(&format!("type {shown}"), extension));
                    }
                    dropped.push(Object::Type(stored));
                }
                None => self.check_missing_type(name, drop, output)?,
            }
        }
        self.dropped_objects(&dropped, drop.cascades, output)
    }

    /// DROP TYPE for a name that is not one of a type that was created.
    fn check_missing_type(
        &self,
        name: &QualifiedName,
        drop: &DropType,
        output: &mut dyn Output,
    ) -> Result<()> {
        let is_table = self.table(&self.meant(name)).is_some();
        let is_built_in = name.schema.is_none() && types::built_in(&name.name).is_some();
        if drop.is_domain && (is_built_in || is_table) {
            return Err(not_a_domain(&format!("\"{}\"", name.name)));
        }
        if let Some(built_in) = types::built_in(&name.name).filter(|_| name.schema.is_none()) {
            let message = format!(
                "cannot drop type {} because it is required by the database system",
                built_in.base_name()
            );
            return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
        }
        if self.table(&self.meant(name)).is_some() {
            let table = &name.name;
            let message = format!("cannot drop type {table} because table {table} requires it");
            return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_hint(format!("You can drop table {table} instead.")));
        }
        let missing = no_type(name);
        if !drop.if_exists {
            return Err(missing);
        }
        self.note(output, "00000", format!("{missing}, skipping"));
        Ok(())
    }
}
