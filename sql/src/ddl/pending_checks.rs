//! Commands that must wait for deferred checks.

use hyades_engine::storage::table::Table;
use hyades_types::deferred_checks::{CheckKind, DeferrableCheck};
use hyades_types::error::{Error, Result, sqlstate};

use super::command::{AlterAction, SchemaCommand};
use crate::statement::{ChangeParameters, QualifiedName, RenameIndex, TriggerAction, TriggerCommand};
use crate::viewpoint::Viewpoint;

impl Viewpoint {
    /// Error 55006 for a command that changes a table with pending checks, because these refer to its rows
    /// by key and to its constraints by name.
    pub(super) fn refuse_pending(&self, command: &SchemaCommand) -> Result<()> {
        if !self.environment.deferred.is_pending() {
            return Ok(());
        }
        let refuse = |name: &QualifiedName, command: &str| match self.table(&self.meant(name)) {
            Some(table) => self.refuse_pending_of(&table, command),
            None => Ok(()),
        };
        match command {
            SchemaCommand::AlterTable { table, actions, .. } => {
                let is_harmless = |action: &AlterAction| matches!(action, AlterAction::RenameColumn { .. });
                if actions.iter().all(is_harmless) { Ok(()) } else { refuse(table, "ALTER TABLE") }
            }
            SchemaCommand::Trigger(TriggerCommand { table, action: TriggerAction::Rename { .. } }) => {
                refuse(table, "ALTER TRIGGER")
            }
            SchemaCommand::CreateIndex(wanted) => refuse(&wanted.table, "CREATE INDEX"),
            SchemaCommand::Truncate { tables, .. } => {
                tables.iter().try_for_each(|name| refuse(name, "TRUNCATE"))
            }
            SchemaCommand::Drop { tables, .. } => {
                tables.iter().try_for_each(|name| refuse(name, "DROP TABLE"))
            }
            SchemaCommand::RenameIndex(RenameIndex { index: name, .. })
            | SchemaCommand::ChangeParameters(ChangeParameters { name, .. }) => {
                match self.index_named(&self.meant(name)) {
                    Some(found) => self.refuse_pending_of(&found.table, "ALTER INDEX"),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn refuse_pending_of(&self, table: &Table, command: &str) -> Result<()> {
        let is_of_table = |check: &DeferrableCheck| match check.kind {
            CheckKind::Missing | CheckKind::Twin | CheckKind::Trigger(_) => check.table == table.id(),
            // These are kept under the other table.
            CheckKind::Removed | CheckKind::Moved => self.table_by_id(check.table).is_some_and(|child| {
                let definition = child.definition();
                definition.foreign_key(&check.constraint).is_some_and(|key| key.parent == table.id())
            }),
        };
        if !self.environment.deferred.waiting().any(is_of_table) {
            return Ok(());
        }
        let name = &table.definition().name.name;
        let message = format!("cannot {command} \"{name}\" because it has pending trigger events");
        Err(Error::input(sqlstate::OBJECT_IN_USE, message))
    }
}
