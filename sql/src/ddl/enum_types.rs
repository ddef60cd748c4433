//! CREATE, ALTER and DROP TYPE.

use hyades_types::error::Result;

use super::command::{CatalogStatement, SchemaCommand};
use crate::emit::Compiler;
use crate::statement::DropType;
use crate::statement::{AlterType, CreateType, Owned, TypeAction};

impl Compiler<'_> {
    pub(crate) fn create_type(&self, create: &CreateType) -> Result<CatalogStatement> {
        let name = self.created_name(&create.name, None)?;
        let labels = create.labels.clone();
        Ok(CatalogStatement::new("CREATE TYPE", SchemaCommand::CreateType { name, labels }))
    }

    pub(crate) fn alter_type(&self, alter: &AlterType) -> CatalogStatement {
        match &alter.action {
            TypeAction::SetOwner(to) => self.owned("ALTER TYPE", Owned::Type(alter.name.clone()), to.clone()),
            _ => CatalogStatement::new("ALTER TYPE", SchemaCommand::AlterType(alter.clone())),
        }
    }

    pub(super) fn drop_type(&self, drop: &DropType) -> CatalogStatement {
        CatalogStatement::new("DROP TYPE", SchemaCommand::DropType(drop.clone()))
    }
}
