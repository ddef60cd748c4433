//! `CREATE TABLE t (LIKE other ...)`: the parts copied from the other table are written out as text in place
//! of LIKE, and the statement is then compiled as if it had been written so.
//!
//! Indexes that are not constraints, and comments, cannot be written there ([`CopiedIndex`],
//! [`CopiedComments`]). They are copied when the statement runs. Texts refer to columns by name, and the
//! names are the same in both tables. Column numbers are looked up again.
//!
//! Reference: transformTableLikeClause, expandTableLikeClause and generateClonedIndexStmt of PostgreSQL 15's
//! `parse_utilcmd.c`.

use std::sync::Arc;

use hyades_types::definition::{
    CatalogChange, Collation, ColumnDefinition, CommentPart, CommentTarget, Identity, IndexColumn,
    IndexDefinition, Indexed, SequenceDefinition, TableDefinition, TableId, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::identifier::quoted_identifier;
use hyades_types::sequence::written_name;

use super::command::{CatalogStatement, SchemaCommand};
use super::wanted::{CopiedComments, CopiedIndex, CopiedKey};
use crate::bind::types::written_type;
use crate::emit::Compiler;
use crate::statement::deep_text::with_stack_for;
use crate::statement::kept_names::full_name;
use crate::statement::{self, CreateTableLike, LikeClause, LikeParts, Statement, split};
use crate::viewpoint::Viewpoint;

impl Compiler<'_> {
    pub(crate) fn create_table_like(&mut self, create: &CreateTableLike) -> Result<CatalogStatement> {
        let mut text = String::new();
        let (mut copied, mut defaults) = (Vec::new(), Vec::new());
        let (mut copied_comments, mut of_keys) = (Vec::new(), Vec::new());
        let mut done = 0;
        for LikeClause { start, end, table, position, parts } in &create.clauses {
            let found = self.named_table(table).map_err(|error| error.with_position(*position))?;
            self.binder.check_readable(&found);
            let definition = found.definition();
            text.push_str(&create.text[done..*start]);
            text.push_str(&self.written_out(&definition, *parts).join(", "));
            done = *end;
            if parts.defaults {
                let columns = definition.columns.iter().filter(|column| column.identity.is_none());
                defaults.extend(
                    columns.filter_map(|column| Some((column.name.clone(), column.default.clone()?))),
                );
            }
            if parts.indexes {
                let indexes = definition.indexes.iter().filter(|index| !index.is_constraint);
                copied.extend(indexes.map(|index| copied_index(&definition, index, parts.comments)));
            }
            if parts.indexes {
                of_keys.extend(parameters_of_keys(&definition));
            }
            if parts.comments {
                let (of_checks, of_keys) = (parts.constraints, parts.indexes);
                copied_comments.push(CopiedComments { from: Arc::clone(&found), of_checks, of_keys });
            }
        }
        text.push_str(&create.text[done..]);
        let mut written = with_stack_for(&text, || self.written(&text)).map_err(Error::without_position)?;
        if let SchemaCommand::Create { definition, indexes, comments, uniques, .. } = &mut written.command {
            for (columns, parameters) in of_keys {
                let names = definition.primary_key.as_ref().map(|key| names_of(definition, &key.columns));
                if let Some(key) =
                    definition.primary_key.as_mut().filter(|_| names.as_ref() == Some(&columns))
                {
                    key.parameters = parameters;
                } else if let Some(unique) = uniques.iter_mut().find(|unique| unique.columns == columns) {
                    unique.parameters = parameters;
                }
            }
            (*indexes, *comments) = (copied, copied_comments);
            for (name, default) in defaults {
                // As it was originally written, which is what the catalog shows.
                if let Some(at) = definition.column_index(&name) {
                    definition.columns[at].default = Some(default);
                }
            }
        }
        Ok(written)
    }

    /// The statement in which no LIKE is left.
    fn written(&self, text: &str) -> Result<CatalogStatement> {
        split::check_memory(text)?;
        let survey = split::survey(text)?;
        let Statement::Query(create) = statement::parse(text)? else {
            return Err(Error::corrupt("a CREATE TABLE that creates no table"));
        };
        Compiler::new(text, self.binder.context, &[], survey.parameters)?.schema(&create)
    }

    /// The elements of CREATE TABLE that define these parts of a table.
    fn written_out(&self, table: &TableDefinition, parts: LikeParts) -> Vec<String> {
        // An index has columns that are invisible to statements.
        let columns = table.columns.iter().filter(|column| column.indexed().is_none());
        let mut elements: Vec<String> = columns.map(|column| self.column_written(column, parts)).collect();
        if parts.constraints {
            let written = |name: &str, condition: &str| {
                format!("CONSTRAINT {} CHECK ({condition})", quoted_identifier(name))
            };
            elements.extend(table.checks.iter().map(|check| written(&check.name, &check.expression)));
        }
        if parts.indexes {
            let names = |columns: &mut dyn Iterator<Item = u16>| {
                let name = |column: u16| quoted_identifier(&table.columns[usize::from(column)].name);
                columns.map(name).collect::<Vec<_>>().join(", ")
            };
            if let Some(key) = &table.primary_key {
                elements.push(format!("PRIMARY KEY ({})", names(&mut key.columns.iter().copied())));
            }
            for unique in table.indexes.iter().filter(|index| index.is_constraint) {
                let nulls = if unique.nulls_are_equal { " NULLS NOT DISTINCT" } else { "" };
                let kind = if unique.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
                let when = unique.deferral.words();
                elements.push(format!("{kind}{nulls} ({}){when}", names(&mut unique.key_columns())));
            }
        }
        elements
    }

    /// The options of an identity column's sequence.
    fn options_written(&self, column: &ColumnDefinition) -> String {
        let drawn = column.default.as_deref().and_then(|default| default.split('\'').nth(1));
        let named = drawn.and_then(|name| written_name(&name.replace("\"\"", "\"")).ok());
        let Some((Some(schema), name)) = named else { return String::new() };
        let Some(sequence) = self.binder.context.tables.sequence(&TableName { schema, name }) else {
            return String::new();
        };
        let SequenceDefinition { start, increment, least, greatest, cache, cycles, .. } = sequence.definition;
        let cycle = if cycles { "CYCLE" } else { "NO CYCLE" };
        format!(
            " (START WITH {start} INCREMENT BY {increment} MINVALUE {least} MAXVALUE {greatest} \
             CACHE {cache} {cycle})"
        )
    }

    fn column_written(&self, column: &ColumnDefinition, parts: LikeParts) -> String {
        let domain = column.domain.and_then(|domain| self.binder.domain(domain).ok());
        let of_type = match domain {
            Some(domain) => full_name(&domain.name()).into(),
            None => written_type(column.sql_type),
        };
        let collation = match column.collation {
            Collation::Default => "",
            Collation::C => " COLLATE \"C\"",
            Collation::Posix => " COLLATE \"POSIX\"",
        };
        let mut text = format!("{} {of_type}{collation}", quoted_identifier(&column.name));
        match (column.identity, &column.generation) {
            (Some(identity), _) if parts.identity => {
                let when = match identity {
                    Identity::Always => "ALWAYS",
                    Identity::ByDefault => "BY DEFAULT",
                };
                text.push_str(&format!(" GENERATED {when} AS IDENTITY{}", self.options_written(column)));
            }
            (None, Some(generation)) if parts.generated => {
                text.push_str(&format!(" GENERATED ALWAYS AS ({}) STORED", generation.expression));
            }
            (None, None) if parts.defaults => {
                if let Some(default) = &column.default {
                    text.push_str(&format!(" DEFAULT {default}"));
                }
            }
            _ => {}
        }
        if !column.is_nullable {
            text.push_str(" NOT NULL");
        }
        text
    }
}

/// The storage parameters of the indexes of a table's constraints, each with the columns of the constraint.
fn parameters_of_keys(table: &TableDefinition) -> Vec<(Vec<String>, Vec<String>)> {
    let key = table.primary_key.iter().map(|key| (names_of(table, &key.columns), key.parameters.clone()));
    let uniques = table.indexes.iter().filter(|index| index.is_constraint).map(|index| {
        let columns: Vec<u16> = index.key_columns().collect();
        (names_of(table, &columns), index.parameters.clone())
    });
    key.chain(uniques).collect()
}

fn names_of(table: &TableDefinition, columns: &[u16]) -> Vec<String> {
    columns.iter().map(|at| table.columns[usize::from(*at)].name.clone()).collect()
}

/// An index of a table that LIKE names, and what it is on by name.
fn copied_index(table: &Arc<TableDefinition>, index: &IndexDefinition, has_comment: bool) -> CopiedIndex {
    let name = |column: &u16| table.columns[usize::from(*column)].name.clone();
    let key = |at: u16| {
        let column = &table.columns[usize::from(at)];
        match column.generation.as_ref().filter(|generation| generation.indexed.is_some()) {
            Some(generation) => {
                let read = generation.columns.iter().map(name).collect();
                CopiedKey::Computed(Box::new(column.clone()), read)
            }
            None => CopiedKey::Column(column.name.clone()),
        }
    };
    let conditions = index.predicate.iter().flat_map(|predicate| &predicate.columns);
    CopiedIndex {
        keys: index.key_columns().map(key).collect(),
        included: index.included.iter().map(name).collect(),
        conditions: conditions.map(name).collect(),
        index: index.clone(),
        has_comment,
        from: Arc::clone(table),
    }
}

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

impl Viewpoint {
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
