//! CREATE, ALTER and DROP SCHEMA, and SET SCHEMA.
//!
//! Reference: CreateSchemaCommand of PostgreSQL's schemacmds.c.

use std::sync::Arc;

use hyades_types::definition::RoutineKind;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;

use super::Compiler;
use crate::bind::Place;
use crate::plan::{Plan, SchemaCommand};
use crate::statement::{
    AccessCommand, AlterSchema, Comment, Commented, CreateSchema, DropSchema, Granted, GrantedOn, Move,
    Moved, MovedTo, Owned, RoleName, WrittenParameter,
};

/// Refuses names that PostgreSQL reserves for itself.
pub(crate) fn refuse_reserved_schema(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    Err(Error::input(sqlstate::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
        .with_detail("The prefix \"pg_\" is reserved for system schemas."))
}

impl Compiler<'_> {
    pub(super) fn create_schema(&self, create: &CreateSchema) -> Result<Plan> {
        let name = match (&create.name, &create.owner) {
            (Some(name), _) | (None, Some(RoleName::Named(name))) => name.clone(),
            (None, _) => {
                return self.binder.unsupported("a schema with the name of this role is", Place::Unknown);
            }
        };
        let (owner, if_not_exists) = (create.owner.clone(), create.if_not_exists);
        let elements = create.elements.clone();
        Ok(self.schema_plan(
            "CREATE SCHEMA",
            SchemaCommand::CreateSchema { name, owner, if_not_exists, elements },
        ))
    }

    pub(super) fn drop_schema(&self, drop: &DropSchema) -> Plan {
        self.schema_plan("DROP SCHEMA", SchemaCommand::DropSchema(drop.clone()))
    }

    pub(super) fn alter_schema(&self, alter: &AlterSchema) -> Plan {
        let command = match alter.clone() {
            AlterSchema::Rename { name, to } => SchemaCommand::RenameSchema { name, to },
            AlterSchema::Owner { name, to } => return self.owned("ALTER SCHEMA", Owned::Schema(name), to),
        };
        self.schema_plan("ALTER SCHEMA", command)
    }

    pub(super) fn comment(&self, comment: &Comment) -> Result<Plan> {
        let on = match comment.on.clone() {
            Commented::Table => Commented::Table,
            Commented::View => Commented::View,
            Commented::Index => Commented::Index,
            Commented::Sequence => Commented::Sequence,
            Commented::Type => Commented::Type,
            Commented::Schema => Commented::Schema,
            Commented::Column(column) => Commented::Column(column),
            Commented::Constraint(constraint) => Commented::Constraint(constraint),
            Commented::Routine { kind, arguments } => {
                Commented::Routine { kind, arguments: self.signature(arguments.as_deref())? }
            }
        };
        let (name, text) = (comment.name.clone(), comment.text.clone());
        Ok(self.schema_plan("COMMENT", SchemaCommand::Comment { on, name, text }))
    }

    pub(super) fn moved(&self, change: &Move) -> Result<Plan> {
        let (command, moved) = match &change.moved {
            Moved::Table => ("ALTER TABLE", Moved::Table),
            Moved::View => ("ALTER VIEW", Moved::View),
            Moved::Sequence => ("ALTER SEQUENCE", Moved::Sequence),
            Moved::Routine { kind, arguments } => {
                let arguments = self.signature(arguments.as_deref())?;
                let command = match kind {
                    Some(RoutineKind::Function) => "ALTER FUNCTION",
                    Some(RoutineKind::Procedure) => "ALTER PROCEDURE",
                    None => "ALTER ROUTINE",
                };
                (command, Moved::Routine { kind: *kind, arguments })
            }
        };
        let (name, if_exists) = (change.name.clone(), change.if_exists);
        let to = match &change.to {
            MovedTo::Schema(schema) => schema.clone(),
            MovedTo::Owner(role) => {
                return Ok(self.owned(command, Owned::Object { moved, name, if_exists }, role.clone()));
            }
            MovedTo::Name(to) => {
                let rename = SchemaCommand::RenameRelation { kind: moved, name, if_exists, to: to.clone() };
                return Ok(self.schema_plan(command, rename));
            }
        };
        Ok(self.schema_plan(command, SchemaCommand::Move { moved, name, if_exists, to }))
    }

    /// ALTER ... OWNER TO.
    pub(super) fn owned(&self, command: &'static str, owned: Owned<Vec<SqlType>>, to: RoleName) -> Plan {
        self.schema_plan(command, SchemaCommand::Access(Arc::new(AccessCommand::Own { owned, to })))
    }

    /// Roles and rights.
    pub(super) fn access(&self, command: &AccessCommand<Vec<WrittenParameter>>) -> Result<Plan> {
        let (tag, command) = match command.clone() {
            AccessCommand::CreateRole { name, options } => {
                ("CREATE ROLE", AccessCommand::CreateRole { name, options })
            }
            AccessCommand::AlterRole { name, options } => {
                ("ALTER ROLE", AccessCommand::AlterRole { name, options })
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
                return self.binder.unsupported("this OWNER TO is", Place::Unknown);
            }
        };
        Ok(self.schema_plan(tag, SchemaCommand::Access(Arc::new(command))))
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
