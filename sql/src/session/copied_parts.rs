//! What CREATE TABLE ... LIKE copies besides what CREATE TABLE itself can express: indexes that are not
//! constraints, and comments.
//!
//! Texts refer to columns by name, and the names are the same in both tables. Column numbers are looked up
//! again.
//!
//! Reference: expandTableLikeClause and generateClonedIndexStmt of PostgreSQL's parse_utilcmd.c.

use hyades_types::definition::{
    CatalogChange, CommentPart, CommentTarget, IndexColumn, IndexDefinition, Indexed, TableDefinition,
    TableId,
};
use hyades_types::error::{Error, Result, sqlstate};

use super::Session;
use crate::ddl::wanted::{CopiedComments, CopiedIndex, CopiedKey};

fn number(definition: &TableDefinition, name: &str) -> Result<u16> {
    let at = definition.column_index(name).and_then(|at| u16::try_from(at).ok());
    at.ok_or_else(|| Error::input(sqlstate::INTERNAL_ERROR, "a copied column is not there"))
}

fn numbers(definition: &TableDefinition, names: &[String]) -> Result<Vec<u16>> {
    let mut numbers = names.iter().map(|name| number(definition, name)).collect::<Result<Vec<u16>>>()?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number of the column that a copied index is on. A computed column is added to the table for it.
fn key(definition: &mut TableDefinition, copied: &CopiedKey, old: &TableDefinition) -> Result<u16> {
    let (column, read) = match copied {
        CopiedKey::Column(name) => return number(definition, name),
        CopiedKey::Computed(column, read) => (column, read),
    };
    let mut column = column.as_ref().clone();
    if let Some(generation) = &mut column.generation {
        generation.columns = numbers(definition, read)?;
        if let Some(Indexed::Column(at)) = &mut generation.indexed {
            *at = number(definition, &old.columns[usize::from(*at)].name)?;
        }
    }
    definition.columns.push(column);
    Ok(u16::try_from(definition.columns.len() - 1).unwrap_or(u16::MAX))
}

impl Session {
    /// Copies the indexes of the tables named by LIKE. Returns the old and new number of each index whose
    /// comment must be copied.
    pub(super) fn copied_indexes(
        &self,
        definition: &mut TableDefinition,
        copied: &[CopiedIndex],
    ) -> Result<Vec<(TableId, TableId)>> {
        let mut commented = Vec::new();
        for CopiedIndex { index, keys, included, conditions, has_comment, from } in copied {
            let names: Vec<String> =
                keys.iter().map(|key| key.name().to_owned()).chain(included.iter().cloned()).collect();
            let name = self.made_up_index(definition, &names, "idx");
            let mut columns = Vec::with_capacity(keys.len());
            for (old, copied) in index.columns.iter().zip(keys) {
                columns.push(IndexColumn { column: key(definition, copied, from)?, ..*old });
            }
            let included =
                included.iter().map(|name| number(definition, name)).collect::<Result<Vec<u16>>>()?;
            let mut predicate = index.predicate.clone();
            if let Some(predicate) = &mut predicate {
                predicate.columns = numbers(definition, conditions)?;
            }
            let id = self.new_table_id(&definition.name.schema);
            if *has_comment {
                commented.push((index.id, id));
            }
            definition.indexes.push(IndexDefinition {
                id,
                name,
                columns,
                included,
                predicate,
                ..index.clone()
            });
        }
        Ok(commented)
    }

    /// Copies the comments of the tables named by LIKE. `indexes` has the old and new numbers of indexes
    /// that were copied.
    pub(super) fn copied_comments(
        &self,
        (id, definition): (TableId, &TableDefinition),
        copied: &[CopiedComments],
        indexes: &[(TableId, TableId)],
    ) -> Vec<CatalogChange> {
        let comments = self.worker.catalog_view().comments();
        let mut changes = Vec::new();
        let mut copy = |from: CommentTarget, on: CommentTarget| {
            if let Some(text) = comments.get(&from) {
                changes.push(CatalogChange::Comment { on, text: Some(text.to_string()) });
            }
        };
        let whole = |id: TableId| CommentTarget { object: id.0, part: CommentPart::Whole };
        for CopiedComments { from, of_checks, of_keys } in copied {
            let old = from.definition();
            let part = |part: &CommentPart| CommentTarget { object: from.id().0, part: part.clone() };
            let own = |part: CommentPart| CommentTarget { object: id.0, part };
            for (at, column) in old.visible_columns().iter().enumerate() {
                let Some(now) = definition.column_index(&column.name) else { continue };
                let on = own(CommentPart::Column(definition.column_number(now)));
                copy(part(&CommentPart::Column(old.column_number(at))), on);
            }
            for check in old.checks.iter().filter(|_| *of_checks) {
                let of_check = CommentPart::Constraint(check.name.clone());
                copy(part(&of_check), own(of_check));
            }
            if !of_keys {
                continue;
            }
            if old.primary_key.is_some() {
                copy(part(&CommentPart::PrimaryKeyIndex), own(CommentPart::PrimaryKeyIndex));
            }
            let names = |table: &TableDefinition, index: &IndexDefinition| -> Vec<String> {
                index.key_columns().map(|column| table.columns[usize::from(column)].name.clone()).collect()
            };
            for index in old.indexes.iter().filter(|index| index.is_constraint) {
                let is_copy = |other: &&IndexDefinition| {
                    other.is_constraint && names(definition, other) == names(&old, index)
                };
                if let Some(copied) = definition.indexes.iter().find(is_copy) {
                    copy(whole(index.id), whole(copied.id));
                }
            }
        }
        for (from, to) in indexes {
            copy(whole(*from), whole(*to));
        }
        changes
    }
}
