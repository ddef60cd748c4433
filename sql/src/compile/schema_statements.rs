//! CREATE, ALTER and DROP SCHEMA, and SET SCHEMA.
//!
//! Reference: CreateSchemaCommand of PostgreSQL's schemacmds.c.

use hyades_types::definition::RoutineKind;
use hyades_types::error::{Error, Result, sqlstate};

use super::Compiler;
use crate::plan::{Plan, SchemaCommand};
use crate::statement::{AlterSchema, Comment, Commented, CreateSchema, DropSchema, Move, Moved};

/// Names that PostgreSQL keeps for itself.
pub(crate) fn refuse_reserved_schema(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    Err(Error::input(sqlstate::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
        .with_detail("The prefix \"pg_\" is reserved for system schemas."))
}

impl Compiler<'_> {
    pub(super) fn create_schema(&self, create: &CreateSchema) -> Result<Plan> {
        let name = create.name.as_ref().or(create.owner.as_ref()).cloned().unwrap_or_default();
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
            AlterSchema::Owner { name, to } => SchemaCommand::OwnSchema { name, owner: to },
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
        let (name, if_exists, to) = (change.name.clone(), change.if_exists, change.to.clone());
        Ok(self.schema_plan(command, SchemaCommand::Move { moved, name, if_exists, to }))
    }
}
