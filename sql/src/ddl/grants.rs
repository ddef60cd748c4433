//! Roles and rights: CREATE, ALTER and DROP ROLE, GRANT and REVOKE.

use std::sync::Arc;

use hyades_types::error::Result;
use hyades_types::value::SqlType;

use super::command::{CatalogStatement, SchemaCommand};
use crate::bind::Place;
use crate::emit::Compiler;
use crate::statement::{AccessCommand, Granted, GrantedOn, WrittenParameter};

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
