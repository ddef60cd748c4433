//! Who may change the schema: the owners of existing objects, and roles that may create new ones.
//!
//! As in PostgreSQL, only the objects that a statement names are checked, not those affected with them
//! (CASCADE, indexes of a table). Names that do not exist are reported by the statement itself. Temporary
//! objects belong to the session.

use hyades_types::access::{DATABASE_OBJECT, ObjectKind, Privileges, RoleId, denied, not_owner};
use hyades_types::definition::{SequenceId, TableName};
use hyades_types::error::Result;
use hyades_types::search_path::{TEMPORARY, is_temporary};

use super::Session;
use super::grant_commands::Object;
use crate::plan::{AlterAction, SchemaCommand, WantedForeignKey};
use crate::statement::{AlterType, Commented, QualifiedName, TypeAction};

impl Session {
    /// Error 42501 unless the session may run this command. Roles and rights have checks of their own.
    pub(super) fn check_may_change(&self, command: &SchemaCommand) -> Result<()> {
        if self.is_superuser() { Ok(()) } else { self.check_change(command) }
    }

    fn check_change(&self, command: &SchemaCommand) -> Result<()> {
        match command {
            SchemaCommand::Create { definition, foreign_keys, .. } => {
                self.check_creates_in(&definition.name)?;
                self.check_references(foreign_keys.iter())
            }
            SchemaCommand::CreateAs { definition, .. } => self.check_creates_in(&definition.name),
            SchemaCommand::CreateView { definition, .. } => {
                self.check_creates_in(&definition.name)?;
                self.check_relations([&named(&definition.name)], false)
            }
            SchemaCommand::CreateSequence { name, .. } | SchemaCommand::CreateType { name, .. } => {
                self.check_creates_in(name)
            }
            SchemaCommand::CreateRoutine { definition, .. } => {
                self.check_creates_in(&definition.name)?;
                let routines = self.worker.routines_named(&definition.name);
                let same = routines.iter().find(|other| other.definition.is_same_routine(definition));
                let word = definition.kind.word();
                same.map_or(Ok(()), |same| self.check_owner(same.id.0, (word, &definition.name.name), None))
            }
            SchemaCommand::CreateSchema { .. } => self.check_creates_schemas(),
            SchemaCommand::RenameSchema { name, .. } => {
                self.check_schema_owner(name)?;
                self.check_creates_schemas()
            }
            SchemaCommand::DropSchema(drop) => {
                drop.names.iter().try_for_each(|name| self.check_schema_owner(name))
            }
            SchemaCommand::DropView(drop) => self.check_relations(&drop.names, true),
            SchemaCommand::DropSequence(drop) => self.check_relations(&drop.names, true),
            SchemaCommand::Drop { tables, .. } => self.check_relations(tables, true),
            SchemaCommand::AlterSequence { name, .. } => self.check_relations([name], false),
            SchemaCommand::CreateIndex(wanted) => self.check_relations([&wanted.table], false),
            SchemaCommand::DropIndex(drop) => drop.names.iter().try_for_each(|name| self.check_index(name)),
            SchemaCommand::RenameIndex(rename) => self.check_index(&rename.index),
            SchemaCommand::Reindex(name, _) => self.check_index(name),
            SchemaCommand::AlterTable { table, actions, .. } => {
                self.check_relations([table], false)?;
                let keys = actions.iter().filter_map(|action| match action {
                    AlterAction::AddForeignKey(key) => Some(key),
                    _ => None,
                });
                self.check_references(keys)
            }
            SchemaCommand::RenameRelation { name, .. } if self.is_index(&self.meant(name)) => {
                self.check_index(name)
            }
            SchemaCommand::RenameRelation { name, .. } => self.check_relations([name], false),
            SchemaCommand::Move { name, to, moved, .. } => {
                match moved {
                    crate::statement::Moved::Routine { kind, arguments } => {
                        self.check_routine((*kind, arguments.as_deref()), name)?;
                    }
                    _ => self.check_relations([name], false)?,
                }
                self.check_creates(self.role(), self.search_path().schema(to))
            }
            other => self.check_other_change(other),
        }
    }

    /// The same for objects other than relations.
    fn check_other_change(&self, command: &SchemaCommand) -> Result<()> {
        match command {
            SchemaCommand::AlterType(AlterType { name, action }) => match action {
                TypeAction::SetOwner(_) => Ok(()),
                _ => self.check_type(name),
            },
            SchemaCommand::DropType(drop) => drop.names.iter().try_for_each(|name| self.check_type(name)),
            SchemaCommand::DropRoutine { kind, names, .. } => names
                .iter()
                .try_for_each(|(name, arguments)| self.check_routine((*kind, arguments.as_deref()), name)),
            SchemaCommand::Comment { on, name, .. } => match on {
                Commented::Schema => self.check_schema_owner(&name.name),
                Commented::Type => self.check_type(name),
                Commented::Routine { kind, arguments } => {
                    self.check_routine((*kind, arguments.as_deref()), name)
                }
                Commented::Index => self.check_index(name),
                _ => self.check_relations([name], false),
            },
            // Roles and rights have checks of their own.
            _ => Ok(()),
        }
    }

    /// Checks that the session owns an object or, if `schema` is given, the schema that contains it.
    pub(super) fn check_owner(
        &self,
        object: u32,
        (word, name): (&str, &str),
        schema: Option<&str>,
    ) -> Result<()> {
        let access = self.access();
        if object >= SequenceId::FIRST_TEMPORARY || access.is_owner(self.role(), object) {
            return Ok(());
        }
        let schema = schema.and_then(|schema| self.schemas().get(schema));
        match schema.is_some_and(|schema| access.is_owner(self.role(), schema.0)) {
            true => Ok(()),
            false => Err(not_owner(word, name)),
        }
    }

    fn check_relations<'n>(
        &self,
        names: impl IntoIterator<Item = &'n QualifiedName>,
        is_drop: bool,
    ) -> Result<()> {
        for name in names {
            let Ok(object) = self.relation_object(name) else { continue };
            let schema = object.schema.as_deref().filter(|_| is_drop);
            self.check_owner(object.id, (object.word, &object.name), schema)?;
        }
        Ok(())
    }

    fn check_index(&self, name: &QualifiedName) -> Result<()> {
        let full = self.meant(name);
        let Some(found) = self.index_named(&full) else { return Ok(()) };
        self.check_owner(found.table.id().0, ("index", &full.name), Some(&full.schema))
    }

    fn check_type(&self, name: &QualifiedName) -> Result<()> {
        let Ok(Object { id, word, name, schema, .. }) = self.type_object(name) else { return Ok(()) };
        self.check_owner(id, (word, &name), schema.as_deref())
    }

    fn check_routine(
        &self,
        wanted: (Option<hyades_types::definition::RoutineKind>, Option<&[hyades_types::value::SqlType]>),
        name: &QualifiedName,
    ) -> Result<()> {
        let Ok(routine) = self.routine_meant(wanted, name) else { return Ok(()) };
        let definition = &routine.definition;
        let described = (definition.kind.word(), definition.name.name.as_str());
        self.check_owner(routine.id.0, described, Some(&definition.name.schema))
    }

    fn check_schema_owner(&self, name: &str) -> Result<()> {
        let Some(id) = self.schemas().get(name) else { return Ok(()) };
        self.check_owner(id.0, ("schema", name), None)
    }

    /// Checks that a role may create objects in a schema.
    pub(super) fn check_creates(&self, role: RoleId, schema: &str) -> Result<()> {
        let Some(id) = self.schemas().get(schema) else { return Ok(()) };
        match self.access().privileges(role, id.0, ObjectKind::Schema).contains(Privileges::CREATE) {
            true => Ok(()),
            false => Err(denied("schema", schema)),
        }
    }

    fn check_creates_in(&self, name: &TableName) -> Result<()> {
        match name.schema == TEMPORARY || is_temporary(&name.schema) {
            true => self.check_temporary(),
            false => self.check_creates(self.role(), &name.schema),
        }
    }

    /// Checks that the session may create schemas.
    pub(super) fn check_creates_schemas(&self) -> Result<()> {
        match self.privileges(DATABASE_OBJECT, ObjectKind::Database).contains(Privileges::CREATE) {
            true => Ok(()),
            false => Err(denied("database", &self.environment.database)),
        }
    }

    fn check_references<'k>(&self, keys: impl Iterator<Item = &'k WantedForeignKey>) -> Result<()> {
        for key in keys {
            let Some(parent) = self.table(&self.meant(&key.parent)) else { continue };
            self.check_privileges(&parent, Privileges::REFERENCES)?;
        }
        Ok(())
    }

    /// Error 42501 unless the session has one of these privileges on a table.
    pub(super) fn check_privileges(
        &self,
        table: &hyades_engine::storage::table::Table,
        wanted: Privileges,
    ) -> Result<()> {
        let id = table.id();
        if self.is_superuser()
            || id.is_temporary()
            || self.privileges(id.0, ObjectKind::Relation).intersects(wanted)
        {
            return Ok(());
        }
        let definition = table.definition();
        let word = if definition.view.is_some() { "view" } else { "table" };
        Err(denied(word, &definition.name.name))
    }
}

fn named(name: &TableName) -> QualifiedName {
    QualifiedName { schema: Some(name.schema.clone()), name: name.name.clone() }
}
