//! `CREATE TABLE t (LIKE other ...)`: what is taken over of the other table is written out as text in the
//! place of LIKE, and the statement then compiled as if it had been written so. Only indexes that are no
//! constraints have no text there ([`CopiedIndex`]).
//!
//! Reference: transformTableLikeClause of PostgreSQL 15's `parse_utilcmd.c`.

use hyades_types::definition::{ColumnDefinition, Identity, IndexDefinition, TableDefinition};
use hyades_types::error::{Error, Result};
use hyades_types::identifier::quoted_identifier;
use hyades_types::value::SqlType;

use super::{Compiler, compile_for, unsupported};
use crate::plan::{Action, CopiedIndex, Plan, SchemaCommand};
use crate::statement::{CreateTableLike, LikeClause, LikeParts};

impl Compiler<'_> {
    pub(super) fn create_table_like(&mut self, create: &CreateTableLike) -> Result<Plan> {
        let mut text = String::new();
        let (mut copied, mut defaults) = (Vec::new(), Vec::new());
        let mut done = 0;
        for LikeClause { start, end, table, position, parts } in &create.clauses {
            let found = self.named_table(table).map_err(|error| error.with_position(*position));
            let definition = found?.definition();
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
                for index in indexes {
                    copied.push(copied_index(&definition, index)?);
                }
            }
        }
        text.push_str(&create.text[done..]);
        let mut plan = compile_for(&text, self.binder.context, &[], &mut Vec::new(), self.purpose)
            .map_err(Error::without_position)?;
        if let Action::Schema(SchemaCommand::Create { definition, indexes, .. }) = &mut plan.action {
            *indexes = copied;
            for (name, default) in defaults {
                // As it was written, which the catalog shows.
                if let Some(at) = definition.column_index(&name) {
                    definition.columns[at].default = Some(default);
                }
            }
        }
        Ok(plan)
    }

    /// The elements of CREATE TABLE that make these parts of a table.
    fn written_out(&self, table: &TableDefinition, parts: LikeParts) -> Vec<String> {
        // An index has columns that no statement sees.
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
                elements.push(format!("UNIQUE{nulls} ({})", names(&mut unique.key_columns())));
            }
        }
        elements
    }

    fn column_written(&self, column: &ColumnDefinition, parts: LikeParts) -> String {
        let mut text = format!("{} {}", quoted_identifier(&column.name), type_written(column.sql_type));
        match (column.identity, &column.generation) {
            (Some(identity), _) if parts.identity => {
                let when = match identity {
                    Identity::Always => "ALWAYS",
                    Identity::ByDefault => "BY DEFAULT",
                };
                text.push_str(&format!(" GENERATED {when} AS IDENTITY"));
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

/// The type's name, which means it whatever the search path is.
fn type_written(sql_type: SqlType) -> String {
    let Some(enum_type) = sql_type.enum_type() else { return sql_type.name().into_owned() };
    let definition = enum_type.definition();
    let brackets = if matches!(sql_type, SqlType::Array(_)) { "[]" } else { "" };
    format!("{}.{}{brackets}", quoted_identifier(&definition.schema), quoted_identifier(&definition.name))
}

fn copied_index(table: &TableDefinition, index: &IndexDefinition) -> Result<CopiedIndex> {
    let is_computed = |column: u16| table.columns[usize::from(column)].indexed().is_some();
    if index.predicate.is_some() || index.key_columns().any(is_computed) {
        return unsupported(format!(
            "LIKE ... INCLUDING INDEXES of \"{}\", which is partial or on an expression, is not supported yet",
            index.name
        ));
    }
    let name = |column: u16| table.columns[usize::from(column)].name.clone();
    Ok(CopiedIndex {
        index: index.clone(),
        columns: index.key_columns().map(name).collect(),
        included: index.included.iter().map(|column| name(*column)).collect(),
    })
}
