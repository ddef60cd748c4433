//! CREATE, ALTER and DROP DATABASE, and the rights on databases.
//!
//! Each is decided after the names that it is about are locked. A database that is dropped, renamed or copied
//! must have no session but this one: the changes say so, and the session sees to it
//! (`session/vacating.rs`).
//!
//! Reference: PostgreSQL's dbcommands.c.

use std::sync::Arc;

use hyades_engine::db::SeenDatabase;
use hyades_engine::storage::catalog::NewId;
use hyades_engine::storage::databases::duplicate_database;
use hyades_types::access::{DATABASE_OBJECT, ObjectKind, Rights, RoleId, no_database, not_owner};
use hyades_types::definition::{CatalogChange, DatabaseDefinition, DatabaseId};
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::refusal::{Missing, refused};

use super::command::{CatalogStatement, SchemaCommand};
use super::grants::Object;
use crate::answer::Output;
use crate::emit::Compiler;
use crate::statement::{DatabaseCommand, DatabaseOptions, Owned};
use crate::viewpoint::{Viewpoint, refuse_in_block};

/// The database that CREATE DATABASE copies unless told otherwise.
const TEMPLATE: &str = "template1";

/// What a command about databases does.
#[derive(Default)]
pub(crate) struct DatabaseChanges {
    pub(crate) changes: Vec<CatalogChange>,
    /// The database that no other session may be in.
    pub(crate) vacated: Option<Vacated>,
    /// The database that is copied, and the copy.
    pub(crate) copied: Option<(DatabaseId, DatabaseId)>,
}

/// A database that no other session may be in.
#[derive(Clone, Debug)]
pub(crate) struct Vacated {
    pub(crate) id: DatabaseId,
    /// As it is called in messages.
    pub(crate) described: String,
    /// The other sessions are ended.
    pub(crate) is_forced: bool,
}

impl Compiler<'_> {
    pub(crate) fn database(&self, command: &DatabaseCommand) -> CatalogStatement {
        let tag = match command {
            DatabaseCommand::Create { .. } => "CREATE DATABASE",
            DatabaseCommand::Drop { .. } => "DROP DATABASE",
            DatabaseCommand::Own { name, to } => {
                return self.owned("ALTER DATABASE", Owned::Database(name.clone()), to.clone());
            }
            DatabaseCommand::Alter { .. } | DatabaseCommand::Rename { .. } => "ALTER DATABASE",
        };
        CatalogStatement::new(tag, SchemaCommand::Database(Arc::new(command.clone())))
    }
}

/// Whether the command must be a transaction of its own, and its name.
pub(crate) fn is_alone(command: &DatabaseCommand) -> Option<&'static str> {
    match command {
        DatabaseCommand::Create { .. } => Some("CREATE DATABASE"),
        DatabaseCommand::Drop { .. } => Some("DROP DATABASE"),
        _ => None,
    }
}

/// The names of databases that a command is about.
pub(crate) fn names(command: &DatabaseCommand) -> Vec<String> {
    match command {
        DatabaseCommand::Create { name, options } => {
            vec![name.clone(), options.template.clone().unwrap_or_else(|| TEMPLATE.to_owned())]
        }
        DatabaseCommand::Rename { name, to } => vec![name.clone(), to.clone()],
        DatabaseCommand::Alter { name, .. }
        | DatabaseCommand::Own { name, .. }
        | DatabaseCommand::Drop { name, .. } => vec![name.clone()],
    }
}

fn failed<T>(state: SqlState, message: impl Into<String>) -> Result<T> {
    Err(Error::input(state, message))
}

impl Viewpoint {
    /// Error 25001 for a command that must be a transaction of its own and is not.
    pub(super) fn check_alone(&self, command: &DatabaseCommand) -> Result<()> {
        is_alone(command).map_or(Ok(()), |name| refuse_in_block(self.is_whole_transaction, name))
    }

    /// The database of this name, as the transaction sees it.
    pub(super) fn database_named(&self, name: &str) -> Result<SeenDatabase> {
        let known = self.worker.databases();
        known.into_iter().find(|one| one.definition.name == name).ok_or_else(|| no_database(name))
    }

    /// What a command does. The names that it is about are locked.
    pub(crate) fn database_changes(
        &mut self,
        command: &DatabaseCommand,
        output: &mut dyn Output,
    ) -> Result<DatabaseChanges> {
        match command {
            DatabaseCommand::Create { name, options } => self.created_database(name, options),
            DatabaseCommand::Alter { name, options } => self.altered_database(name, options),
            DatabaseCommand::Rename { name, to } => self.renamed_database(name, to),
            DatabaseCommand::Drop { name, if_exists, is_forced } => {
                match (self.database_named(name), if_exists) {
                    (Ok(database), _) => self.dropped_database(&database, *is_forced),
                    (Err(error), false) => Err(error),
                    (Err(_), true) => {
                        self.note(output, "00000", format!("database \"{name}\" does not exist, skipping"));
                        Ok(DatabaseChanges::default())
                    }
                }
            }
            // Compiled as a change of rights.
            DatabaseCommand::Own { .. } => Ok(DatabaseChanges::default()),
        }
    }

    /// Error 42501, in these words, unless the session may create databases.
    pub(super) fn check_creates_databases(&self, denied: &str) -> Result<()> {
        let role = self.access().role(self.role());
        match self.is_superuser() || role.is_some_and(|role| role.creates_databases) {
            true => Ok(()),
            false => failed(sqlstate::INSUFFICIENT_PRIVILEGE, denied),
        }
    }

    fn created_database(&self, name: &str, options: &DatabaseOptions) -> Result<DatabaseChanges> {
        let owner = options.owner.as_ref().map(|owner| self.role_meant(owner)).transpose()?;
        let owner = owner.unwrap_or_else(|| self.role());
        self.check_creates_databases("permission denied to create database")?;
        if !self.access().is_member(self.role(), owner) {
            let message = format!("must be member of role \"{}\"", self.role_name(owner));
            return failed(sqlstate::INSUFFICIENT_PRIVILEGE, message);
        }
        let template = options.template.as_deref().unwrap_or(TEMPLATE);
        let Ok(source) = self.database_named(template) else {
            let message = format!("template database \"{template}\" does not exist");
            return failed(sqlstate::INVALID_CATALOG_NAME, message);
        };
        if !source.definition.is_template && !source.access.is_owner(self.role(), DATABASE_OBJECT) {
            let message = format!("permission denied to copy database \"{template}\"");
            return failed(sqlstate::INSUFFICIENT_PRIVILEGE, message);
        }
        if self.database_named(name).is_ok() {
            return Err(duplicate_database(name));
        }
        let id = DatabaseId(self.worker.new_id(NewId::Object));
        let definition = changed(&DatabaseDefinition::new(name), options);
        let mut changes = vec![CatalogChange::PutDatabase { id, definition }];
        if owner != RoleId::OWNER {
            let rights = CatalogChange::PutRights { object: DATABASE_OBJECT, rights: Rights::of(owner) };
            changes.push(CatalogChange::InDatabase { database: id, change: Box::new(rights) });
        }
        let vacated =
            Vacated { id: source.id, described: format!("source database \"{template}\""), is_forced: false };
        Ok(DatabaseChanges { changes, vacated: Some(vacated), copied: Some((source.id, id)) })
    }

    fn altered_database(&self, name: &str, options: &DatabaseOptions) -> Result<DatabaseChanges> {
        let database = self.own_database(name)?;
        if options.allows_connections == Some(false) && database.id == self.database {
            let message = "cannot disallow connections for current database";
            return failed(sqlstate::INVALID_PARAMETER_VALUE, message);
        }
        let definition = changed(&database.definition, options);
        let changes = vec![CatalogChange::PutDatabase { id: database.id, definition }];
        Ok(DatabaseChanges { changes, ..DatabaseChanges::default() })
    }

    fn renamed_database(&self, name: &str, to: &str) -> Result<DatabaseChanges> {
        let database = self.own_database(name)?;
        self.check_creates_databases("permission denied to rename database")?;
        if self.database_named(to).is_ok() {
            return Err(duplicate_database(to));
        }
        if database.id == self.database {
            return failed(sqlstate::FEATURE_NOT_SUPPORTED, "current database cannot be renamed");
        }
        let definition = DatabaseDefinition { name: to.to_owned(), ..(*database.definition).clone() };
        let changes = vec![CatalogChange::PutDatabase { id: database.id, definition }];
        let vacated =
            Vacated { id: database.id, described: format!("database \"{name}\""), is_forced: false };
        Ok(DatabaseChanges { changes, vacated: Some(vacated), copied: None })
    }

    fn dropped_database(&self, database: &SeenDatabase, is_forced: bool) -> Result<DatabaseChanges> {
        let name = &database.definition.name;
        if !database.access.is_owner(self.role(), DATABASE_OBJECT) {
            return Err(not_owner("database", name));
        }
        if database.definition.is_template {
            return failed(sqlstate::WRONG_OBJECT_TYPE, "cannot drop a template database");
        }
        if database.id == self.database {
            return failed(sqlstate::OBJECT_IN_USE, "cannot drop the currently open database");
        }
        if database.id == DatabaseId::FIRST {
            let what = format!("dropping the database \"{name}\", which was the first one, is");
            return Err(refused(Missing::FirstDatabase, &what));
        }
        let mut changes = self.forgotten_settings(database.id);
        changes.push(CatalogChange::DropDatabase { id: database.id });
        let vacated = Vacated { id: database.id, described: format!("database \"{name}\""), is_forced };
        Ok(DatabaseChanges { changes, vacated: Some(vacated), copied: None })
    }

    /// The database of this name, of which the session is an owner.
    fn own_database(&self, name: &str) -> Result<SeenDatabase> {
        let database = self.database_named(name)?;
        match database.access.is_owner(self.role(), DATABASE_OBJECT) {
            true => Ok(database),
            false => Err(not_owner("database", name)),
        }
    }

    /// A database, as something that rights are granted on.
    pub(super) fn database_object(&self, name: &str) -> Result<Object> {
        let database = self.database_named(name)?;
        Ok(Object {
            id: DATABASE_OBJECT,
            kind: ObjectKind::Database,
            word: "database",
            name: name.to_owned(),
            schema: None,
            database: Some(database),
        })
    }
}

fn changed(definition: &DatabaseDefinition, options: &DatabaseOptions) -> DatabaseDefinition {
    DatabaseDefinition {
        is_template: options.is_template.unwrap_or(definition.is_template),
        allows_connections: options.allows_connections.unwrap_or(definition.allows_connections),
        connection_limit: options.connection_limit.unwrap_or(definition.connection_limit),
        ..definition.clone()
    }
}
