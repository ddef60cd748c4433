//! ALTER ... SET SCHEMA, RENAME TO and OWNER TO of relations and routines.

use std::sync::Arc;

use hyades_types::definition::RoutineKind;
use hyades_types::error::Result;
use hyades_types::value::SqlType;

use super::command::{CatalogStatement, SchemaCommand};
use crate::emit::Compiler;
use crate::statement::{AccessCommand, Move, Moved, MovedTo, Owned, RoleName};

impl Compiler<'_> {
    pub(crate) fn moved(&self, change: &Move) -> Result<CatalogStatement> {
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
                return Ok(CatalogStatement::new(command, rename));
            }
        };
        Ok(CatalogStatement::new(command, SchemaCommand::Move { moved, name, if_exists, to }))
    }

    /// ALTER ... OWNER TO.
    pub(super) fn owned(
        &self,
        command: &'static str,
        owned: Owned<Vec<SqlType>>,
        to: RoleName,
    ) -> CatalogStatement {
        CatalogStatement::new(command, SchemaCommand::Access(Arc::new(AccessCommand::Own { owned, to })))
    }
}
