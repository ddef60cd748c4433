//! CREATE, ALTER and DROP SCHEMA.
//!
//! A schema that is dropped or renamed is locked before its contents are read, so that nothing can be
//! created, dropped or moved there meanwhile. Objects outside that depend on it are not locked. The engine
//! checks those again.
//!
//! Reference: PostgreSQL's schemacmds.c.

use hyades_engine::storage::catalog::NewId;
use std::sync::Arc;

use hyades_types::access::{Rights, RoleId};
use hyades_types::definition::{CatalogChange, SchemaId};
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::search_path::is_system;

use super::alteration_steps::LateChange;
use super::command::{CatalogStatement, SchemaCommand};
use super::dependents::Object;
use crate::answer::Output;
use crate::emit::{Compiler, no_table, unsupported};
use crate::statement::{AlterSchema, CreateSchema, DropSchema, Owned, QualifiedName, RoleName};
use crate::viewpoint::Viewpoint;

/// Refuses names that PostgreSQL reserves for itself.
pub(crate) fn refuse_reserved_schema(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    Err(Error::input(sqlstate::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
        .with_detail("The prefix \"pg_\" is reserved for system schemas."))
}

impl Compiler<'_> {
    pub(crate) fn create_schema(&self, create: &CreateSchema) -> Result<CatalogStatement> {
        let name = match (&create.name, &create.owner) {
            (Some(name), _) | (None, Some(RoleName::Named(name))) => name.clone(),
            (None, _) => {
                return self.binder.lacks(Missing::SchemaOfRole, "a schema with the name of this role is");
            }
        };
        let (owner, if_not_exists) = (create.owner.clone(), create.if_not_exists);
        let elements = create.elements.clone();
        Ok(CatalogStatement::new(
            "CREATE SCHEMA",
            SchemaCommand::CreateSchema { name, owner, if_not_exists, elements },
        ))
    }

    pub(crate) fn drop_schema(&self, drop: &DropSchema) -> CatalogStatement {
        CatalogStatement::new("DROP SCHEMA", SchemaCommand::DropSchema(drop.clone()))
    }

    pub(crate) fn alter_schema(&self, alter: &AlterSchema) -> CatalogStatement {
        let command = match alter.clone() {
            AlterSchema::Rename { name, to } => SchemaCommand::RenameSchema { name, to },
            AlterSchema::Owner { name, to } => return self.owned("ALTER SCHEMA", Owned::Schema(name), to),
        };
        CatalogStatement::new("ALTER SCHEMA", command)
    }
}

/// The part of a command that must wait until schemas are locked.
pub(crate) fn late_change(command: &SchemaCommand) -> Option<LateChange> {
    match command {
        SchemaCommand::DropSchema(drop) => Some(LateChange::Drop(drop.clone())),
        SchemaCommand::RenameSchema { name, to } => {
            Some(LateChange::Rename { name: name.clone(), to: to.clone() })
        }
        SchemaCommand::Access(command) => Some(LateChange::Access(Arc::clone(command))),
        SchemaCommand::Database(command) => Some(LateChange::Database(Arc::clone(command))),
        _ => None,
    }
}

/// Error 3F000 for a schema.
pub(crate) fn no_schema(name: &str) -> Error {
    Error::input(sqlstate::INVALID_SCHEMA_NAME, format!("schema \"{name}\" does not exist"))
}

impl Viewpoint {
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
    pub(crate) fn no_relation(&self, name: &QualifiedName) -> Error {
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
        let id = SchemaId(self.worker.new_id(NewId::Object));
        let mut changes = vec![CatalogChange::CreateSchema { id, name: name.to_owned() }];
        if let Some(owner) = owner.filter(|owner| *owner != RoleId::OWNER) {
            changes.push(CatalogChange::PutRights { object: id.0, rights: Rights::of(owner) });
        }
        Ok(changes)
    }

    /// The changes of a command whose schemas are locked.
    pub(crate) fn changes_of_schemas(
        &mut self,
        change: &LateChange,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        match change {
            LateChange::Drop(drop) => self.dropped_schemas(drop, output),
            LateChange::Rename { name, to } => self.renamed_schema(name, to),
            LateChange::Access(command) => self.access_changes(command, output),
            // See `database_changes`.
            LateChange::Database(_) => Ok(Vec::new()),
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
            None if self.has_schema(name) => {
                unsupported(Missing::SystemSchemas, "changing a schema of the system is")
            }
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
}
