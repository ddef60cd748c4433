//! CREATE, ALTER and DROP SCHEMA in a session.
//!
//! A schema that is dropped or renamed is locked before its contents are read, so that nothing can be
//! created, dropped or moved there meanwhile. Objects outside that depend on it are not locked. The engine
//! checks those again.
//!
//! Reference: PostgreSQL's schemacmds.c.

use std::collections::VecDeque;
use std::sync::Arc;

use hyades_engine::procedure::compiled_routine::Schemas;
use hyades_types::access::{Rights, RoleId};
use hyades_types::definition::{CatalogChange, SchemaId};
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::search_path::is_system;

use super::dependents::Object;
use super::running::{Alteration, Inside, LateChange};
use super::{Output, Session};
use crate::compile::action::Action;
use crate::ddl::command::SchemaCommand;
use crate::ddl::schemas::refuse_reserved_schema;
use crate::emit::no_table;
use crate::emit::{shifted, unsupported};
use crate::statement::{DropSchema, QualifiedName, RoleName, SchemaElement};

/// The part of a command that must wait until schemas are locked.
pub(super) fn late_change(command: &SchemaCommand) -> Option<LateChange> {
    match command {
        SchemaCommand::DropSchema(drop) => Some(LateChange::Drop(drop.clone())),
        SchemaCommand::RenameSchema { name, to } => {
            Some(LateChange::Rename { name: name.clone(), to: to.clone() })
        }
        SchemaCommand::Access(command) => Some(LateChange::Access(Arc::clone(command))),
        _ => None,
    }
}

/// Error 3F000 for a schema.
pub(super) fn no_schema(name: &str) -> Error {
    Error::input(sqlstate::INVALID_SCHEMA_NAME, format!("schema \"{name}\" does not exist"))
}

/// The changes that a statement makes at once, and what follows.
pub(super) type Begun = (Vec<CatalogChange>, Option<Box<Alteration>>);

impl Session {
    pub(super) fn schemas(&self) -> Arc<Schemas> {
        self.worker.catalog_view().schemas()
    }

    /// Whether the session sees a schema of this name.
    pub(super) fn has_schema(&self, name: &str) -> bool {
        let own = self.search_path().schema(name);
        is_system(own) || self.schemas().get(own).is_some() || self.search_path().temporary() == Some(own)
    }

    /// The object to be dropped, a `kind` of this name, does not exist. Returns an error, or sends a
    /// notice.
    pub(super) fn nothing_to_drop(
        &self,
        (kind, state): (&str, SqlState),
        name: &QualifiedName,
        if_exists: bool,
        output: &mut dyn Output,
    ) -> Result<()> {
        let missing = name.schema.as_ref().filter(|schema| !self.has_schema(schema));
        let (message, state) = match missing {
            Some(schema) => (format!("schema \"{schema}\" does not exist"), sqlstate::INVALID_SCHEMA_NAME),
            None => (format!("{kind} \"{}\" does not exist", name.name), state),
        };
        if !if_exists {
            return Err(Error::input(state, message));
        }
        self.note(output, "00000", format!("{message}, skipping"));
        Ok(())
    }

    /// Error 42P01, or 3F000 if the schema does not exist either.
    pub(super) fn no_relation(&self, name: &QualifiedName) -> Error {
        self.check_schema(name.schema.as_deref()).err().unwrap_or_else(|| no_table(name))
    }

    /// Error 3F000 for a name in a schema that does not exist.
    pub(super) fn check_schema(&self, schema: Option<&str>) -> Result<()> {
        match schema {
            Some(schema) if !self.has_schema(schema) => Err(no_schema(schema)),
            _ => Ok(()),
        }
    }

    pub(super) fn created_schema(
        &self,
        name: &str,
        owner: Option<&RoleName>,
        if_not_exists: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let owner = owner.map(|owner| self.role_meant(owner)).transpose()?;
        if let Some(owner) = owner
            && !self.access().is_member(self.role(), owner)
        {
            let message = format!("must be member of role \"{}\"", self.role_name(owner));
            return Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        refuse_reserved_schema(name)?;
        if is_system(name) || self.schemas().get(name).is_some() {
            let message = format!("schema \"{name}\" already exists");
            if !if_not_exists {
                return Err(Error::input(sqlstate::DUPLICATE_SCHEMA, message));
            }
            self.note(output, "42P06", format!("{message}, skipping"));
            return Ok(Vec::new());
        }
        let id = SchemaId(self.worker.new_table_id().0);
        let mut changes = vec![CatalogChange::CreateSchema { id, name: name.to_owned() }];
        if let Some(owner) = owner.filter(|owner| *owner != RoleId::OWNER) {
            changes.push(CatalogChange::PutRights { object: id.0, rights: Rights::of(owner) });
        }
        Ok(changes)
    }

    /// The changes of a command whose schemas are locked.
    pub(super) fn changes_of_schemas(
        &mut self,
        change: &LateChange,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        match change {
            LateChange::Drop(drop) => self.dropped_schemas(drop, output),
            LateChange::Rename { name, to } => self.renamed_schema(name, to),
            LateChange::Access(command) => self.access_changes(command, output),
        }
    }

    fn renamed_schema(&self, name: &str, to: &str) -> Result<Vec<CatalogChange>> {
        let id = self.schema_to_change(name)?;
        if is_system(to) || self.schemas().get(to).is_some() {
            let message = format!("schema \"{to}\" already exists");
            return Err(Error::input(sqlstate::DUPLICATE_SCHEMA, message));
        }
        refuse_reserved_schema(to)?;
        let mut changes = vec![CatalogChange::RenameSchema { id, name: to.to_owned() }];
        changes.extend(self.moved_with_schema(name, to)?);
        Ok(changes)
    }

    fn schema_to_change(&self, name: &str) -> Result<SchemaId> {
        match self.schemas().get(name) {
            Some(id) => Ok(id),
            None if self.has_schema(name) => unsupported("changing a schema of the system is not supported"),
            None => Err(no_schema(name)),
        }
    }

    fn dropped_schemas(&self, drop: &DropSchema, output: &mut dyn Output) -> Result<Vec<CatalogChange>> {
        let mut schemas: Vec<(SchemaId, String)> = Vec::with_capacity(drop.names.len());
        for name in &drop.names {
            match self.schemas().get(name) {
                Some(id) if schemas.iter().any(|(known, _)| *known == id) => {}
                Some(id) => schemas.push((id, name.clone())),
                None if is_system(name) => {
                    let message =
                        format!("cannot drop schema {name} because it is required by the database system");
                    return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
                }
                None if drop.if_exists => {
                    let message = format!("schema \"{name}\" does not exist, skipping");
                    self.note(output, "00000", message);
                }
                None => return Err(no_schema(name)),
            }
        }
        let schemas: Vec<Object> = schemas.into_iter().map(|(id, name)| Object::Schema(id, name)).collect();
        self.dropped_objects(&schemas, drop.cascades, output)
    }

    /// The next thing that CREATE SCHEMA creates inside it.
    pub(super) fn begun_element(
        &mut self,
        inside: &mut Inside,
        output: &mut dyn Output,
    ) -> Result<Option<Begun>> {
        let Some(element) = inside.elements.pop_front() else { return Ok(None) };
        let begun = self.element(&inside.schema, &element, output);
        begun.map(Some).map_err(|error| shifted(error, element.offset))
    }

    fn element(&mut self, schema: &str, element: &SchemaElement, output: &mut dyn Output) -> Result<Begun> {
        let plan = self.compile(&element.text, &[], &mut Vec::new())?;
        let Action::Schema(command) = &plan.action else {
            return unsupported("this statement in CREATE SCHEMA is not supported yet");
        };
        let other = match command {
            SchemaCommand::Create { definition, .. } | SchemaCommand::CreateView { definition, .. } => {
                Some(&definition.name.schema)
            }
            SchemaCommand::CreateSequence { name, .. } => Some(&name.schema),
            SchemaCommand::CreateIndex(wanted) => wanted.table.schema.as_ref(),
            _ => return unsupported("this statement in CREATE SCHEMA is not supported yet"),
        };
        if let Some(other) = other.filter(|other| *other != schema) {
            let message = format!(
                "CREATE specifies a schema ({other}) different from the one being created ({schema})"
            );
            return Err(Error::input(sqlstate::INVALID_SCHEMA_DEFINITION, message));
        }
        let changes = self.changes(command, output)?;
        Ok((changes, self.begun_alteration(command, output)?))
    }

    /// What must be created inside the schema that these changes create.
    pub(super) fn inside_of(
        &self,
        command: &SchemaCommand,
        changes: &[CatalogChange],
    ) -> Option<Box<Inside>> {
        match command {
            SchemaCommand::CreateSchema { name, elements, .. } if !changes.is_empty() => {
                let elements: VecDeque<SchemaElement> = elements.iter().cloned().collect();
                Some(Box::new(Inside { schema: name.clone(), elements }))
            }
            _ => None,
        }
    }
}
