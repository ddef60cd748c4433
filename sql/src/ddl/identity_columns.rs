//! ALTER COLUMN ... ADD GENERATED AS IDENTITY, SET GENERATED and related forms, DROP IDENTITY.
//!
//! The DEFAULT of an identity column draws from a sequence of its own, which is dropped when the column is
//! no longer an identity column.
//!
//! Reference: ATExecSetIdentity and ATExecDropIdentity of PostgreSQL's tablecmds.c, transformAlterTableStmt
//! of parse_utilcmd.c.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, Identity, TableDefinition, TableId};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::sequence::Sequence;
use hyades_types::value::SqlType;

use super::alteration::{altered, column_of};
use super::dependents::Object;
use super::wanted::WantedSequence;
use crate::answer::Output;
use crate::statement::SequenceOptions;
use crate::viewpoint::Viewpoint;

fn not_in_state<T>(message: String) -> Result<T> {
    Err(Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
}

impl Viewpoint {
    /// ADD GENERATED AS IDENTITY.
    pub(super) fn added_identity(
        &self,
        table: &Arc<Table>,
        name: &str,
        (identity, options): (Identity, &SequenceOptions),
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        let number = column_of(&definition, name)?;
        let column = &mut definition.columns[usize::from(number)];
        let of = format!("column \"{name}\" of relation \"{}\"", definition.name.name);
        if !column.sql_type.is_integer() {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        if column.is_nullable {
            return not_in_state(format!("{of} must be declared NOT NULL before identity can be added"));
        }
        if column.identity.is_some() {
            return not_in_state(format!("{of} is already an identity column"));
        }
        if column.default.is_some() {
            return not_in_state(format!("{of} already has a default value"));
        }
        column.identity = Some(identity);
        let wanted = WantedSequence { column: number, is_identity: true, options: options.clone() };
        let mut changes = self.created_for_columns(table.id(), &mut definition, &[wanted])?;
        changes.push(altered(table, definition));
        Ok(changes)
    }

    /// SET GENERATED, SET of options of the sequence, and RESTART.
    pub(super) fn altered_identity(
        &self,
        table: &Arc<Table>,
        name: &str,
        (identity, options): (Option<Identity>, &SequenceOptions),
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        let number = column_of(&definition, name)?;
        let column = &mut definition.columns[usize::from(number)];
        let Some(known) = column.identity else {
            let table = &definition.name.name;
            return not_in_state(format!(
                "column \"{name}\" of relation \"{table}\" is not an identity column"
            ));
        };
        let mut changes = Vec::new();
        if *options != SequenceOptions::default()
            && let Some(sequence) = self.identity_sequence(table.id(), number)
        {
            changes.push(self.sequence_change(&sequence, options)?);
        }
        if let Some(identity) = identity.filter(|identity| *identity != known) {
            column.identity = Some(identity);
            changes.push(altered(table, definition));
        }
        Ok(changes)
    }

    /// DROP IDENTITY. The sequence is dropped, which fails if other defaults draw from it.
    pub(super) fn dropped_identity(
        &self,
        table: &Arc<Table>,
        name: &str,
        may_lack: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        let number = column_of(&definition, name)?;
        let column = &mut definition.columns[usize::from(number)];
        if column.identity.take().is_none() {
            let table = &definition.name.name;
            let message = format!("column \"{name}\" of relation \"{table}\" is not an identity column");
            if !may_lack {
                return not_in_state(message);
            }
            self.note(output, "00000", format!("{message}, skipping"));
            return Ok(Vec::new());
        }
        column.default = None;
        let mut changes = vec![altered(table, definition)];
        if let Some(sequence) = self.identity_sequence(table.id(), number) {
            changes.extend(self.dropped_objects(&[Object::Sequence(sequence)], false, output)?);
        }
        Ok(changes)
    }

    /// The change of a column's sequence when the column gets another type.
    pub(super) fn retyped_identity(
        &self,
        table: TableId,
        column: u16,
        sql_type: SqlType,
    ) -> Result<Option<CatalogChange>> {
        let Some(sequence) = self.identity_sequence(table, column) else { return Ok(None) };
        let options = SequenceOptions {
            type_name: Some(sql_type.base_name().to_owned()),
            ..SequenceOptions::default()
        };
        self.sequence_change(&sequence, &options).map(Some)
    }

    fn identity_sequence(&self, table: TableId, column: u16) -> Option<Arc<Sequence>> {
        let mut owned = self.owned_sequences(&[table]);
        owned.retain(|one| {
            one.definition.owner.is_some_and(|owner| owner.is_identity && owner.column == column)
        });
        owned.pop()
    }
}
