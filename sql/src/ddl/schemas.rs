//! CREATE, ALTER and DROP SCHEMA.
//!
//! Reference: CreateSchemaCommand of PostgreSQL's schemacmds.c.

use hyades_types::error::{Error, Result, sqlstate};

use super::command::{CatalogStatement, SchemaCommand};
use crate::bind::Place;
use crate::emit::Compiler;
use crate::statement::{AlterSchema, CreateSchema, DropSchema, Owned, RoleName};

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
                return self.binder.unsupported("a schema with the name of this role is", Place::Unknown);
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
