//! Who may change the schema: the owners of existing objects, and roles that may create new ones.
//!
//! As in PostgreSQL, only the objects that a statement names are checked, not those affected with them
//! (CASCADE, indexes of a table). Names that do not exist are reported by the statement itself. Temporary
//! objects belong to the session.

use hyades_engine::storage::table::Table;
use hyades_types::access::{DATABASE_OBJECT, ObjectKind, Privileges, Rights, RoleId, denied, not_owner};
use hyades_types::definition::{
    CatalogChange, RoutineDefinition, RoutineKind, SequenceId, TableDefinition, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::search_path::{TEMPORARY, is_temporary};
use hyades_types::value::SqlType;

use super::command::{AlterAction, SchemaCommand};
use super::grants::Object;
use super::wanted::WantedForeignKey;
use crate::answer::Output;
use crate::statement::{Commented, Maintained, Moved, QualifiedName};
use crate::viewpoint::Viewpoint;

impl Viewpoint {
    /// The rights of an object that the session has created, which belongs to its role.
    pub(crate) fn rights_of_new(
        &self,
        change: &CatalogChange,
        next: Option<&CatalogChange>,
    ) -> Option<CatalogChange> {
        let object = match change {
            CatalogChange::CreateTable { id, .. } => id.0,
            CatalogChange::CreateSequence { id, .. } => id.0,
            // A cast belongs to the owners of its types.
            CatalogChange::CreateRoutine { id, definition, replaces: None } if definition.cast.is_none() => {
                id.0
            }
            CatalogChange::CreateSchema { id, .. } => id.0,
            CatalogChange::CreateType { definition } => definition.id,
            _ => return None,
        };
        let is_said = matches!(next, Some(CatalogChange::PutRights { object: own, .. }) if *own == object);
        let role = self.role();
        if is_said || role == RoleId::OWNER || change.is_temporary() {
            return None;
        }
        Some(CatalogChange::PutRights { object, rights: Rights::of(role) })
    }

    /// Error 42501 unless the session may run this command. Roles and rights have checks of their own.
    pub(super) fn check_may_change(&self, command: &SchemaCommand) -> Result<()> {
        if self.is_superuser() { Ok(()) } else { self.check_change(command) }
    }

    fn check_change(&self, command: &SchemaCommand) -> Result<()> {
        match command {
            SchemaCommand::RenameSchema { name, .. } => {
                self.check_schema_owner(name)?;
                self.check_creates_schemas()
            }
            SchemaCommand::DropSchema(drop) => {
                drop.names.iter().try_for_each(|name| self.check_schema_owner(name))
            }
            SchemaCommand::DropView(drop) => self.check_relations(&drop.names, true),
            SchemaCommand::Refresh(refresh) => {
                // Another error comes first for a view.
                match self.table(&self.meant(&refresh.name)) {
                    Some(table) if table.definition().view.is_none() => {
                        self.check_relations([&refresh.name], false)
                    }
                    _ => self.check_names_schema(refresh.name.schema.as_deref()),
                }
            }
            SchemaCommand::DropSequence(drop) => self.check_relations(&drop.names, true),
            SchemaCommand::Drop { tables, .. } => self.check_relations(tables, true),
            SchemaCommand::AlterSequence { name, .. } => self.check_relations([name], false),
            SchemaCommand::DropIndex(drop) => {
                drop.names.iter().try_for_each(|name| self.check_index(name, true))
            }
            SchemaCommand::RenameIndex(rename) => {
                self.check_index(&rename.index, false)?;
                self.check_adds_beside(&rename.index)
            }
            SchemaCommand::Reindex(name, _) => self.check_index(name, false),
            SchemaCommand::ChangeParameters(change) => self.check_index(&change.name, false),
            SchemaCommand::AlterTable { table, actions, .. } => {
                self.check_relations([table], false)?;
                if actions.iter().any(adds_index) {
                    self.check_adds_beside(table)?;
                }
                self.check_types(actions.iter().filter_map(type_of))?;
                let keys = actions.iter().filter_map(|action| match action {
                    AlterAction::AddForeignKey(key) => Some(key),
                    _ => None,
                });
                self.check_references(keys)
            }
            SchemaCommand::RenameRelation { name, .. } => {
                match self.is_index(&self.meant(name)) {
                    true => self.check_index(name, false)?,
                    false => self.check_relations([name], false)?,
                }
                self.check_adds_beside(name)
            }
            SchemaCommand::Move { name, to, moved, .. } => {
                let creates = || self.check_creates(self.role(), self.search_path().schema(to));
                match moved {
                    Moved::Routine { kind, arguments } => {
                        creates()?;
                        self.check_routine((*kind, arguments.as_deref()), name, false)
                    }
                    _ => {
                        self.check_relations([name], false)?;
                        creates()
                    }
                }
            }
            other => self.check_other_change(other),
        }
    }

    /// The same for commands that create something.
    fn check_creation(&self, command: &SchemaCommand) -> Result<()> {
        match command {
            SchemaCommand::Create { definition, foreign_keys, .. } => {
                self.check_creates_in(&definition.name)?;
                self.check_types(types_of(definition))?;
                self.check_references(foreign_keys.iter())
            }
            SchemaCommand::CreateAs { definition, .. } => {
                self.check_creates_in(&definition.name)?;
                self.check_types(types_of(definition))
            }
            SchemaCommand::CreateView { definition, .. } => {
                self.check_creates_in(&definition.name)?;
                let old = self.table(&definition.name).filter(|old| !old.id().is_temporary());
                if let Some(old) = old {
                    let described = (old.definition().word(), definition.name.name.as_str());
                    self.check_owner(old.id().0, described, None)?;
                }
                self.check_types(types_of(definition))
            }
            SchemaCommand::CreateSequence { name, .. } => self.check_creates_in(name),
            SchemaCommand::CreateRoutine { definition, .. } => {
                self.check_creates_in(&definition.name)?;
                let routines = self.worker.routines_named(&definition.name);
                self.check_types(types_in(definition))?;
                let same = routines.iter().find(|other| other.definition.is_same_routine(definition));
                let word = definition.kind.word();
                same.map_or(Ok(()), |same| self.check_owner(same.id.0, (word, &definition.name.name), None))
            }
            SchemaCommand::CreateSchema { .. } => self.check_creates_schemas(),
            SchemaCommand::CreateIndex(wanted) => {
                self.check_relations([&wanted.table], false)?;
                self.check_adds_beside(&wanted.table)
            }
            _ => Ok(()),
        }
    }

    /// The same for objects other than relations.
    fn check_other_change(&self, command: &SchemaCommand) -> Result<()> {
        match command {
            SchemaCommand::Type(command) => self.check_type_command(command),
            SchemaCommand::Trigger(command) => self.check_trigger_command(command),
            SchemaCommand::Extension(_) => self.check_creates_schemas(),
            SchemaCommand::Cast(command) => self.check_cast_command(command),
            SchemaCommand::DropRoutine { kind, names, .. } => {
                names.iter().try_for_each(|(name, arguments)| {
                    self.check_routine((*kind, arguments.as_deref()), name, true)
                })
            }
            SchemaCommand::Comment { on, name, .. } => match on {
                Commented::Schema => self.check_schema_owner(&name.name),
                Commented::Type => self.check_type(name, false),
                Commented::Cast(types) => self.check_cast_owner(types),
                Commented::Routine { kind, arguments } => {
                    self.check_routine((*kind, arguments.as_deref()), name, false)
                }
                Commented::Index => self.check_index(name, false),
                Commented::Column(_) | Commented::Constraint(_) | Commented::Trigger(_) => {
                    self.check_parts(name)
                }
                _ => self.check_relations([name], false),
            },
            // Roles and rights have checks of their own.
            other => self.check_creation(other),
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
            self.check_names_schema(name.schema.as_deref())?;
            let Ok(object) = self.relation_object(name) else { continue };
            let schema = object.schema.as_deref().filter(|_| is_drop);
            self.check_owner(object.id, (object.word, &object.name), schema)?;
        }
        Ok(())
    }

    fn check_index(&self, name: &QualifiedName, is_drop: bool) -> Result<()> {
        self.check_names_schema(name.schema.as_deref())?;
        let full = self.meant(name);
        let Some(found) = self.index_named(&full) else { return Ok(()) };
        self.check_owner(
            found.table.id().0,
            ("index", &full.name),
            Some(full.schema.as_str()).filter(|_| is_drop),
        )
    }

    pub(super) fn check_type(&self, name: &QualifiedName, is_drop: bool) -> Result<()> {
        self.check_names_schema(name.schema.as_deref())?;
        let Ok(Object { id, word, name, schema, .. }) = self.type_object(name) else { return Ok(()) };
        self.check_owner(id, (word, &name), schema.as_deref().filter(|_| is_drop))
    }

    fn check_routine(
        &self,
        wanted: (Option<RoutineKind>, Option<&[SqlType]>),
        name: &QualifiedName,
        is_drop: bool,
    ) -> Result<()> {
        self.check_names_schema(name.schema.as_deref())?;
        let Ok(routine) = self.routine_meant(wanted, name) else { return Ok(()) };
        let definition = &routine.definition;
        let described = (definition.kind.word(), definition.name.name.as_str());
        let schema = Some(definition.name.schema.as_str()).filter(|_| is_drop);
        self.check_owner(routine.id.0, described, schema)
    }

    /// The owner of a relation may describe and change its parts.
    pub(super) fn check_parts(&self, name: &QualifiedName) -> Result<()> {
        self.check_names_schema(name.schema.as_deref())?;
        let Ok(object) = self.relation_object(name) else { return Ok(()) };
        self.check_owner(object.id, ("relation", &object.name), None)
    }

    /// Checks that the session may give another name to a relation, or an index to it: both create a name in
    /// its schema.
    fn check_adds_beside(&self, relation: &QualifiedName) -> Result<()> {
        let name = self.meant(relation);
        match is_temporary(&name.schema) {
            true => Ok(()),
            false => self.check_creates(self.role(), &name.schema),
        }
    }

    /// Whether VACUUM and ANALYZE, which skip others, may work on the object.
    fn may_maintain(&self, object: u32) -> bool {
        let access = self.access();
        object >= SequenceId::FIRST_TEMPORARY
            || access.is_owner(self.role(), object)
            || access.is_owner(self.role(), DATABASE_OBJECT)
    }

    /// Checks that the session may do maintenance on these objects, or warns that some are skipped.
    pub(crate) fn check_maintenance(
        &self,
        command: &str,
        on: &Maintained,
        output: &mut dyn Output,
    ) -> Result<()> {
        if let Maintained::Database(name) = on
            && *name != self.environment.database
        {
            let message = "can only reindex the currently open database";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if self.is_superuser() {
            return Ok(());
        }
        match on {
            Maintained::Nothing => Ok(()),
            Maintained::Tables(names) if command == "REINDEX" => self.check_relations(names, false),
            Maintained::Tables(names) => {
                for name in names {
                    self.check_names_schema(name.schema.as_deref())?;
                    let Ok(object) = self.relation_object(name) else { continue };
                    if !self.may_maintain(object.id) {
                        let (name, verb) = (&object.name, command.to_ascii_lowercase());
                        let reason = format!("only table or database owner can {verb} it");
                        self.warn(output, "01000", format!("skipping \"{name}\" --- {reason}"));
                    }
                }
                Ok(())
            }
            Maintained::Schema(name) => self.check_schema_owner(name),
            Maintained::Database(_) if self.access().is_owner(self.role(), DATABASE_OBJECT) => Ok(()),
            Maintained::Database(name) => Err(not_owner("database", name)),
        }
    }

    /// Checks that the session may use these types in definitions.
    pub(super) fn check_types(&self, types: impl IntoIterator<Item = u32>) -> Result<()> {
        for id in types {
            if !self.privileges(id, ObjectKind::Type).contains(Privileges::USAGE) {
                let stored = self.worker.catalog_view().type_by_id(id);
                return Err(denied("type", &stored.map_or(String::new(), |stored| self.shown_type(&stored))));
            }
        }
        Ok(())
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

    pub(super) fn check_creates_in(&self, name: &TableName) -> Result<()> {
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
            self.check_names_schema(key.parent.schema.as_deref())?;
            let Some(parent) = self.table(&self.meant(&key.parent)) else { continue };
            self.check_privileges(&parent, Privileges::REFERENCES)?;
        }
        Ok(())
    }

    /// Error 42501 unless the session has one of these privileges on a table.
    pub(super) fn check_privileges(&self, table: &Table, wanted: Privileges) -> Result<()> {
        self.check_privileges_of(self.role(), table, wanted)
    }

    /// The same for another role.
    pub(crate) fn check_privileges_of(&self, role: RoleId, table: &Table, wanted: Privileges) -> Result<()> {
        let id = table.id();
        if id.is_temporary() || self.access().privileges(role, id.0, ObjectKind::Relation).intersects(wanted)
        {
            return Ok(());
        }
        let definition = table.definition();
        Err(denied(definition.word(), &definition.name.name))
    }
}

/// The types of the columns of a table or view.
fn types_of(definition: &TableDefinition) -> impl Iterator<Item = u32> {
    definition.types().map(|used| used.id).chain(definition.domains())
}

/// The types of a routine's parameters and results.
fn types_in(definition: &RoutineDefinition) -> impl Iterator<Item = u32> {
    definition.types().filter_map(own_type)
}

/// The number of the type, if a user has created it.
pub(super) fn own_type(sql_type: SqlType) -> Option<u32> {
    sql_type.created_type().map(|used| used.id)
}

/// The type that an action of ALTER TABLE gives to a column.
fn type_of(action: &AlterAction) -> Option<u32> {
    let (sql_type, domain) = match action {
        AlterAction::AddColumn { column, .. } => (column.definition.sql_type, column.definition.domain),
        AlterAction::SetType { declared, .. } => (declared.sql_type, declared.domain),
        _ => return None,
    };
    domain.or_else(|| own_type(sql_type))
}

/// Whether an action of ALTER TABLE creates an index.
fn adds_index(action: &AlterAction) -> bool {
    matches!(action, AlterAction::AddPrimaryKey(_) | AlterAction::AddUnique(_) | AlterAction::AddIndex(_))
}
