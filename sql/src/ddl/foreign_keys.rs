//! Foreign keys: how CREATE and ALTER TABLE define them.

use super::wanted::WantedForeignKey;
use crate::emit::Compiler;
use crate::statement::names::fold;
use crate::statement::places::byte_offset;
use crate::statement::reference_syntax;
use hyades_types::definition::KeyAction;
use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::ast::{
    self, ColumnOption, ConstraintReferenceMatchKind, ForeignKeyConstraint, ReferentialAction, Spanned,
};

impl Compiler<'_> {
    /// The REFERENCES clauses of columns.
    pub(super) fn column_foreign_keys(&self, create: &ast::CreateTable) -> Result<Vec<WantedForeignKey>> {
        let mut wanted = Vec::new();
        for column in &create.columns {
            self.foreign_keys_of(column, &mut wanted)?;
        }
        Ok(wanted)
    }

    /// The same for one column.
    pub(super) fn foreign_keys_of(
        &self,
        column: &ast::ColumnDef,
        wanted: &mut Vec<WantedForeignKey>,
    ) -> Result<()> {
        for option in &column.options {
            if let ColumnOption::ForeignKey(key) = &option.option {
                let mut key = self.foreign_key(key)?;
                key.name = option.name.as_ref().map(fold).or(key.name);
                key.columns = vec![fold(&column.name)];
                wanted.push(key);
            }
        }
        Ok(())
    }

    pub(super) fn foreign_key(&self, key: &ForeignKeyConstraint) -> Result<WantedForeignKey> {
        let is_full = match key.match_kind {
            None | Some(ConstraintReferenceMatchKind::Simple) => false,
            Some(ConstraintReferenceMatchKind::Full) => true,
            Some(ConstraintReferenceMatchKind::Partial) => {
                let message = "MATCH PARTIAL not yet implemented";
                return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
        };
        let sets =
            |action| matches!(action, Some(ReferentialAction::SetNull | ReferentialAction::SetDefault));
        let delete_columns = if sets(key.on_delete) || sets(key.on_update) {
            let table = byte_offset(self.binder.sql, key.foreign_table.span().start);
            reference_syntax::delete_columns(self.binder.sql, table)?
        } else {
            Vec::new()
        };
        Ok(WantedForeignKey {
            name: key.name.as_ref().map(fold),
            columns: key.columns.iter().map(fold).collect(),
            parent: self.name(&key.foreign_table)?,
            parent_columns: key.referred_columns.iter().map(fold).collect(),
            on_delete: action(key.on_delete),
            delete_columns,
            on_update: action(key.on_update),
            is_full,
            deferral: self.deferral(key.characteristics.as_ref())?,
            is_not_valid: false,
        })
    }
}

fn action(action: Option<ReferentialAction>) -> KeyAction {
    match action {
        None | Some(ReferentialAction::NoAction) => KeyAction::NoAction,
        Some(ReferentialAction::Restrict) => KeyAction::Restrict,
        Some(ReferentialAction::Cascade) => KeyAction::Cascade,
        Some(ReferentialAction::SetNull) => KeyAction::SetNull,
        Some(ReferentialAction::SetDefault) => KeyAction::SetDefault,
    }
}
