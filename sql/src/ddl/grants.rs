//! GRANT and REVOKE of rights, and OWNER TO. Statements about roles are compiled here too (`roles` carries
//! them out).
//!
//! Reference: PostgreSQL's aclchk.c (ExecGrantStmt_oids, restrict_and_check_grant, select_best_grantor).

use std::sync::Arc;

use hyades_engine::db::SeenDatabase;
use hyades_types::access::{
    Access, Grant, ObjectKind, Privileges, Refused, Rights, RoleId, denied, not_owner,
};
use hyades_types::definition::{CatalogChange, RoutineKind, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;

use super::command::{CatalogStatement, SchemaCommand};
use super::schemas::no_schema;
use super::types::no_type;
use crate::answer::Output;
use crate::emit::Compiler;
use crate::statement::role_syntax::privileges;
use crate::statement::{
    AccessCommand, Granted, GrantedOn, Moved, Owned, QualifiedName, RoleName, WrittenParameter,
};
use crate::viewpoint::Viewpoint;

impl Compiler<'_> {
    /// Roles and rights.
    pub(crate) fn access(&self, command: &AccessCommand<Vec<WrittenParameter>>) -> Result<CatalogStatement> {
        let (tag, command) = match command.clone() {
            AccessCommand::CreateRole { name, options } => {
                ("CREATE ROLE", AccessCommand::CreateRole { name, options })
            }
            AccessCommand::AlterRole { name, options } => {
                ("ALTER ROLE", AccessCommand::AlterRole { name, options })
            }
            AccessCommand::Settings { of, change } => {
                let tag = if of.is_of_database { "ALTER DATABASE" } else { "ALTER ROLE" };
                (tag, AccessCommand::Settings { of, change })
            }
            AccessCommand::RenameRole { name, to } => ("ALTER ROLE", AccessCommand::RenameRole { name, to }),
            AccessCommand::DropRoles { names, if_exists } => {
                ("DROP ROLE", AccessCommand::DropRoles { names, if_exists })
            }
            AccessCommand::GrantRoles { is_revoke, roles, members, option, grantor } => (
                if is_revoke { "REVOKE ROLE" } else { "GRANT ROLE" },
                AccessCommand::GrantRoles { is_revoke, roles, members, option, grantor },
            ),
            AccessCommand::Grant(granted) => {
                let tag = if granted.is_revoke { "REVOKE" } else { "GRANT" };
                (tag, AccessCommand::Grant(self.granted(granted)?))
            }
            // Compiled together with the object whose owner changes.
            AccessCommand::Own { .. } => {
                return self.binder.lacks(Missing::Dialects, "this OWNER TO is");
            }
        };
        Ok(CatalogStatement::new(tag, SchemaCommand::Access(Arc::new(command))))
    }

    fn granted(&self, granted: Granted<Vec<WrittenParameter>>) -> Result<Granted<Vec<SqlType>>> {
        let Granted { is_revoke, privileges, on, grantees, option, cascades, grantor } = granted;
        let on = match on {
            GrantedOn::Tables(names) => GrantedOn::Tables(names),
            GrantedOn::Sequences(names) => GrantedOn::Sequences(names),
            GrantedOn::Routines(kind, routines) => {
                let typed = |(name, arguments): (_, Option<Vec<WrittenParameter>>)| {
                    Ok((name, self.signature(arguments.as_deref())?))
                };
                GrantedOn::Routines(kind, routines.into_iter().map(typed).collect::<Result<_>>()?)
            }
            GrantedOn::Schemas(names) => GrantedOn::Schemas(names),
            GrantedOn::Databases(names) => GrantedOn::Databases(names),
            GrantedOn::Types(names) => GrantedOn::Types(names),
            GrantedOn::AllTables(schemas) => GrantedOn::AllTables(schemas),
            GrantedOn::AllSequences(schemas) => GrantedOn::AllSequences(schemas),
            GrantedOn::AllRoutines(kind, schemas) => GrantedOn::AllRoutines(kind, schemas),
        };
        Ok(Granted { is_revoke, privileges, on, grantees, option, cascades, grantor })
    }
}

/// An object that rights can be granted on.
pub(super) struct Object {
    pub(super) id: u32,
    pub(super) kind: ObjectKind,
    /// The kind of object in messages.
    pub(super) word: &'static str,
    pub(super) name: String,
    /// Its schema, if it is in one.
    pub(super) schema: Option<String>,
    /// For a database: itself. Its rights are in its own catalog.
    pub(super) database: Option<SeenDatabase>,
}

impl Object {
    /// The catalog's rights among which those on the object are.
    fn access<'a>(&'a self, viewpoint: &'a Viewpoint) -> &'a Arc<Access> {
        self.database.as_ref().map_or(viewpoint.access(), |database| &database.access)
    }

    /// The change that gives the object these rights.
    fn put(&self, viewpoint: &Viewpoint, rights: Rights) -> CatalogChange {
        let change = CatalogChange::PutRights { object: self.id, rights };
        match &self.database {
            Some(database) if database.id != viewpoint.database => {
                CatalogChange::InDatabase { database: database.id, change: Box::new(change) }
            }
            _ => change,
        }
    }
}

fn invalid_grant<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::input(sqlstate::INVALID_GRANT_OPERATION, message))
}

/// The kind of an object, and its name in messages of GRANT.
fn kind_of(on: &GrantedOn<Vec<SqlType>>) -> (ObjectKind, &'static str) {
    match on {
        GrantedOn::Tables(_) | GrantedOn::AllTables(_) => (ObjectKind::Relation, "relation"),
        GrantedOn::Sequences(_) | GrantedOn::AllSequences(_) => (ObjectKind::Sequence, "sequence"),
        GrantedOn::Routines(kind, _) | GrantedOn::AllRoutines(kind, _) => (
            ObjectKind::Routine,
            match kind {
                Some(RoutineKind::Function) => "function",
                Some(RoutineKind::Procedure) => "procedure",
                Some(RoutineKind::Aggregate) => "aggregate",
                None => "routine",
            },
        ),
        GrantedOn::Schemas(_) => (ObjectKind::Schema, "schema"),
        GrantedOn::Databases(_) => (ObjectKind::Database, "database"),
        GrantedOn::Types(_) => (ObjectKind::Type, "type"),
    }
}

impl Viewpoint {
    pub(super) fn granted_rights(
        &self,
        granted: &Granted<Vec<SqlType>>,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        if let Some(grantor) = &granted.grantor
            && self.role_meant(grantor)? != self.role()
        {
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, "grantor must be current user"));
        }
        let (kind, shown) = kind_of(&granted.on);
        let wanted = granted.privileges.as_deref().map(privileges).transpose()?;
        let allowed = match kind {
            // Sequences may be named like tables.
            ObjectKind::Relation => ObjectKind::Relation.all() | Privileges::USAGE,
            kind => kind.all(),
        };
        if let Some(wrong) = wanted.and_then(|wanted| (wanted - allowed).each().next()) {
            return invalid_grant(format!("invalid privilege type {} for {shown}", wrong.1));
        }
        let grantees = granted.grantees.iter().map(|grantee| match grantee {
            RoleName::Public => Ok(RoleId::PUBLIC),
            named => self.role_meant(named),
        });
        let grantees: Vec<RoleId> = grantees.collect::<Result<_>>()?;
        let mut changes = Vec::new();
        for object in self.objects_of(&granted.on)? {
            changes.extend(self.changed_rights(&object, wanted, (granted, &grantees), output)?);
        }
        Ok(changes)
    }

    /// GRANT or REVOKE on one object.
    fn changed_rights(
        &self,
        object: &Object,
        wanted: Option<Privileges>,
        (granted, grantees): (&Granted<Vec<SqlType>>, &[RoleId]),
        output: &mut dyn Output,
    ) -> Result<Option<CatalogChange>> {
        let mut wanted_here = wanted.unwrap_or(object.kind.all());
        if object.kind == ObjectKind::Sequence && !object.kind.all().contains(wanted_here) {
            let message =
                format!("sequence \"{}\" only supports USAGE, SELECT, and UPDATE privileges", object.name);
            self.warn(output, "0LP01", &message);
            wanted_here = wanted_here & object.kind.all();
        } else if !object.kind.all().contains(wanted_here) {
            let wrong = (wanted_here - object.kind.all()).each().next().map_or("", |(_, word, _)| word);
            return invalid_grant(format!("invalid privilege type {wrong} for {}", object.word));
        }
        let access = object.access(self);
        let mut rights = access.rights(object.id);
        let (grantor, grantable) = self.best_grantor(object, &rights, wanted_here);
        let given = wanted_here & grantable;
        if given.is_empty() {
            let held = access.privileges(self.role(), object.id, object.kind);
            if held.is_empty() {
                return Err(denied(object.word, &object.name));
            }
        }
        if given != wanted_here && !(granted.is_revoke && wanted.is_none()) && !wanted_here.is_empty() {
            let (code, none, some) = match granted.is_revoke {
                true => ("01006", "no privileges could be revoked", "not all privileges could be revoked"),
                false => ("01007", "no privileges were granted", "not all privileges were granted"),
            };
            if wanted.is_some() || given.is_empty() {
                let words = if given.is_empty() { none } else { some };
                self.warn(output, code, format!("{words} for \"{}\"", object.name));
            }
        }
        if given.is_empty() {
            return Ok(None);
        }
        for grantee in grantees {
            let grant = Grant { grantee: *grantee, grantor, privileges: given, option: granted.option };
            let changed = match granted.is_revoke {
                true => access.revoked(&rights, object.kind, grant, granted.cascades),
                false => access.granted(&rights, object.kind, grant),
            };
            rights = changed.or_else(refusal)?;
        }
        Ok(Some(object.put(self, rights)))
    }

    /// The role on whose behalf the session grants, and what it may grant as that role.
    fn best_grantor(&self, object: &Object, rights: &Rights, wanted: Privileges) -> (RoleId, Privileges) {
        let access = self.access();
        if access.has_privileges_of(self.role(), rights.owner) {
            return (rights.owner, object.kind.all());
        }
        let items = rights.list(object.kind);
        let grantable = |role: RoleId| {
            let own = items.iter().filter(|item| item.grantee == role);
            own.fold(Privileges::NONE, |all, item| all | item.grantable)
        };
        let own = (self.role(), grantable(self.role()));
        let groups = items.iter().map(|item| item.grantee);
        let groups = groups.filter(|role| access.has_privileges_of(self.role(), *role));
        let candidates = std::iter::once(own).chain(groups.map(|role| (role, grantable(role))));
        let count = |(_, privileges): &(RoleId, Privileges)| (*privileges & wanted).each().count();
        // The first of those with the most rights.
        candidates.fold(own, |best, one| if count(&one) > count(&best) { one } else { best })
    }

    /// The objects that a statement grants on.
    fn objects_of(&self, on: &GrantedOn<Vec<SqlType>>) -> Result<Vec<Object>> {
        match on {
            GrantedOn::Tables(names) => names.iter().map(|name| self.relation_object(name)).collect(),
            GrantedOn::Sequences(names) => names
                .iter()
                .map(|name| match self.relation_object(name)? {
                    object if object.kind == ObjectKind::Sequence => Ok(object),
                    object => Err(hyades_types::sequence::not_a_sequence(&object.name)),
                })
                .collect(),
            GrantedOn::Routines(kind, routines) => routines
                .iter()
                .map(|(name, arguments)| self.routine_object(*kind, name, arguments.as_deref()))
                .collect(),
            GrantedOn::Schemas(names) => names.iter().map(|name| self.schema_object(name)).collect(),
            GrantedOn::Databases(names) => names.iter().map(|name| self.database_object(name)).collect(),
            GrantedOn::Types(names) => names.iter().map(|name| self.type_object(name)).collect(),
            GrantedOn::AllTables(schemas) => {
                self.check_schemas(schemas)?;
                let tables = self.visible_tables();
                let names = tables.iter().map(|table| table.definition().name.clone());
                self.all_relations(names.collect(), schemas)
            }
            GrantedOn::AllSequences(schemas) => {
                self.check_schemas(schemas)?;
                let sequences = self.worker.sequences();
                let names = sequences.iter().map(|sequence| sequence.definition.name.clone());
                self.all_relations(names.collect(), schemas)
            }
            GrantedOn::AllRoutines(kind, schemas) => {
                self.check_schemas(schemas)?;
                let routines = self.worker.routines();
                let is_meant = |definition: &hyades_types::definition::RoutineDefinition| {
                    schemas.contains(&definition.name.schema)
                        && kind.is_none_or(|kind| kind == definition.kind)
                };
                let meant = routines.iter().filter(|routine| is_meant(&routine.definition));
                Ok(meant.map(|routine| object_of_routine(routine)).collect())
            }
        }
    }

    fn check_schemas(&self, schemas: &[String]) -> Result<()> {
        schemas.iter().try_for_each(|schema| self.check_schema(Some(schema)))
    }

    fn all_relations(&self, names: Vec<TableName>, schemas: &[String]) -> Result<Vec<Object>> {
        let meant = names.into_iter().filter(|name| schemas.contains(&name.schema));
        let named = |name: TableName| QualifiedName::new(Some(name.schema), name.name);
        meant.map(|name| self.relation_object(&named(name))).collect()
    }

    /// A table, view or sequence.
    pub(super) fn relation_object(&self, name: &QualifiedName) -> Result<Object> {
        self.check_names_schema(name.schema.as_deref())?;
        let full = self.meant(name);
        let object = |id, kind, word| Object {
            id,
            kind,
            word,
            name: full.name.clone(),
            schema: Some(full.schema.clone()),
            database: None,
        };
        if let Some(table) = self.table(&full) {
            let word = table.definition().word();
            return Ok(object(table.id().0, ObjectKind::Relation, word));
        }
        if let Some(sequence) = self.worker.catalog_view().sequence_named(&full) {
            return Ok(object(sequence.id.0, ObjectKind::Sequence, "sequence"));
        }
        if self.is_relation(&full) {
            let message = format!("\"{}\" is an index", full.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        Err(self.no_relation(name))
    }

    fn routine_object(
        &self,
        kind: Option<RoutineKind>,
        name: &QualifiedName,
        arguments: Option<&[SqlType]>,
    ) -> Result<Object> {
        self.check_names_schema(name.schema.as_deref())?;
        let routine = self.routine_meant((kind, arguments), name)?;
        Ok(object_of_routine(&routine))
    }

    pub(super) fn schema_object(&self, name: &str) -> Result<Object> {
        let id = self.schemas().get(name).ok_or_else(|| no_schema(name))?;
        Ok(Object {
            id: id.0,
            kind: ObjectKind::Schema,
            word: "schema",
            name: name.to_owned(),
            schema: None,
            database: None,
        })
    }

    pub(super) fn type_object(&self, name: &QualifiedName) -> Result<Object> {
        self.check_names_schema(name.schema.as_deref())?;
        let stored = self.stored_type(name).ok_or_else(|| no_type(name))?;
        Ok(Object {
            id: stored.id(),
            kind: ObjectKind::Type,
            word: "type",
            name: stored.name().name.clone(),
            schema: Some(stored.name().schema.clone()),
            database: None,
        })
    }

    /// OWNER TO.
    pub(super) fn owned_object(
        &self,
        owned: &Owned<Vec<SqlType>>,
        to: &RoleName,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let object = match owned {
            Owned::Schema(name) => self.schema_object(name)?,
            Owned::Database(name) => self.database_object(name)?,
            Owned::Type(name) => self.type_object(name)?,
            Owned::Object { moved: Moved::Routine { kind, arguments }, name, .. } => {
                Object { word: "function", ..self.routine_object(*kind, name, arguments.as_deref())? }
            }
            Owned::Object { moved, name, if_exists } => {
                let full = self.meant(name);
                if *if_exists && !self.is_relation(&full) {
                    let message = format!("relation \"{}\" does not exist, skipping", name.name);
                    self.note(output, "00000", message);
                    return Ok(Vec::new());
                }
                self.of_moved_kind(moved, self.relation_object(name)?)?
            }
        };
        self.changed_owner(&object, to)
    }

    fn of_moved_kind(&self, moved: &Moved<Vec<SqlType>>, object: Object) -> Result<Object> {
        match moved.view_word() {
            Some(wanted) if wanted != object.word => {
                let message = format!("\"{}\" is not a {wanted}", object.name);
                Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message))
            }
            None if *moved == Moved::Sequence && object.word != "sequence" => {
                Err(hyades_types::sequence::not_a_sequence(&object.name))
            }
            _ => Ok(object),
        }
    }

    /// Changes the owner of an object and of the sequences that belong to its columns.
    pub(super) fn changed_owner(&self, object: &Object, to: &RoleName) -> Result<Vec<CatalogChange>> {
        let access = object.access(self);
        if !access.is_owner(self.role(), object.id) {
            return Err(not_owner(object.word, &object.name));
        }
        let to = self.role_meant(to)?;
        if access.owner(object.id) == to {
            return Ok(Vec::new());
        }
        if !self.is_superuser() {
            if !access.is_member(self.role(), to) {
                let message = format!("must be member of role \"{}\"", self.role_name(to));
                return Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message));
            }
            if let Some(schema) = &object.schema {
                self.check_creates(to, schema)?;
            }
            if object.kind == ObjectKind::Schema {
                self.check_creates_schemas()?;
            }
            if object.kind == ObjectKind::Database {
                self.check_creates_databases("permission denied to change owner of database")?;
            }
        }
        let handed_on = |id: u32| access.with_owner(&access.rights(id), to);
        let change = |id: u32| CatalogChange::PutRights { object: id, rights: handed_on(id) };
        let mut changes = vec![object.put(self, handed_on(object.id))];
        if object.kind == ObjectKind::Relation {
            let owned = self.owned_sequences(&[hyades_types::definition::TableId(object.id)]);
            changes.extend(owned.iter().map(|sequence| change(sequence.id.0)));
        }
        Ok(changes)
    }
}

fn object_of_routine(routine: &hyades_engine::storage::stored_routine::Routine) -> Object {
    let definition = &routine.definition;
    Object {
        id: routine.id.0,
        kind: ObjectKind::Routine,
        word: definition.kind.word(),
        name: definition.name.name.clone(),
        schema: Some(definition.name.schema.clone()),
        database: None,
    }
}

fn refusal<T>(refused: Refused) -> Result<T> {
    match refused {
        Refused::Dependent => {
            Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, "dependent privileges exist")
                .with_hint("Use CASCADE to revoke them too."))
        }
        Refused::Circle => invalid_grant("grant options cannot be granted back to your own grantor"),
        Refused::PublicOption => invalid_grant("grant options can only be granted to roles"),
    }
}
