//! CREATE, ALTER and DROP TYPE.

use hyades_types::error::Result;

use crate::emit::Compiler;
use crate::plan::{Plan, SchemaCommand};
use crate::statement::{AlterType, CreateType, Owned, TypeAction};

impl Compiler<'_> {
    pub(crate) fn create_type(&self, create: &CreateType) -> Result<Plan> {
        let name = self.created_name(&create.name, None)?;
        let labels = create.labels.clone();
        Ok(Plan::schema("CREATE TYPE", SchemaCommand::CreateType { name, labels }))
    }

    pub(crate) fn alter_type(&self, alter: &AlterType) -> Plan {
        match &alter.action {
            TypeAction::SetOwner(to) => self.owned("ALTER TYPE", Owned::Type(alter.name.clone()), to.clone()),
            _ => Plan::schema("ALTER TYPE", SchemaCommand::AlterType(alter.clone())),
        }
    }
}
