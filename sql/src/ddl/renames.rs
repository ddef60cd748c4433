//! RENAME of tables, views, sequences, columns, constraints, and of indexes that ALTER TABLE names.
//!
//! Conditions that use a column are stored as text, so they are rewritten.

use std::ops::ControlFlow;
use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{BodyUses, CatalogChange, CheckConstraint, TableDefinition, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::sequence::not_a_sequence;
use hyades_types::value::SqlType;
use sqlparser::ast::{self, visit_expressions_mut};

use super::alteration::{altered, duplicate_constraint};
use super::view_changes::with_result_names;
use super::wanted::WantedCheck;
use crate::answer::Output;
use crate::bind::deparse::change::Change;
use crate::bind::row_expression::row_type;
use crate::statement::deep_text::Written;
use crate::statement::names::fold;
use crate::statement::query::parse_expression;
use crate::statement::{Moved, QualifiedName, RenameIndex};
use crate::viewpoint::Viewpoint;

/// The expression with a column renamed.
pub(super) fn with_renamed_column(text: &str, from: &str, to: &str) -> Result<ast::Expr> {
    let mut expr = parse_expression(text)?;
    let _: ControlFlow<()> = visit_expressions_mut(&mut expr, |part| {
        // Of the rows of a trigger, columns have qualified names.
        let column = match part {
            ast::Expr::Identifier(ident) => Some(ident),
            ast::Expr::CompoundIdentifier(idents) => idents.last_mut(),
            _ => None,
        };
        if let Some(ident) = column.filter(|ident| fold(ident) == from) {
            *ident = ast::Ident::with_quote('"', to);
        }
        ControlFlow::Continue(())
    });
    Ok(expr)
}

impl Viewpoint {
    /// ALTER TABLE, VIEW or SEQUENCE ... RENAME TO. As in PostgreSQL, ALTER TABLE takes any of them.
    pub(super) fn renamed_relation(
        &self,
        kind: &Moved<Vec<SqlType>>,
        (name, if_exists): (&QualifiedName, bool),
        to: &str,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let full = self.meant(name);
        let wrong_kind = |wanted: &str| {
            let message = format!("\"{}\" is not a {wanted}", full.name);
            Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message))
        };
        if let Some(table) = self.table(&full) {
            let word = table.definition().word();
            return match kind.view_word() {
                Some(wanted) if wanted != word => wrong_kind(wanted),
                None if *kind == Moved::Sequence => Err(not_a_sequence(&full.name)),
                _ => self.renamed_table(&table, to),
            };
        }
        let sequence = self.worker.catalog_view().sequence_named(&full);
        if let Some(wanted) = kind.view_word().filter(|_| sequence.is_some() || self.is_index(&full)) {
            return wrong_kind(wanted);
        }
        match (kind, sequence) {
            (_, Some(sequence)) => self.renamed_sequence(sequence, to),
            (Moved::Sequence, None) if self.is_index(&full) => Err(not_a_sequence(&full.name)),
            _ => {
                let rename = RenameIndex { index: name.clone(), if_exists, name: to.to_owned() };
                self.renamed_index(&rename, output)
            }
        }
    }

    fn renamed_table(&self, table: &Arc<Table>, name: &str) -> Result<Vec<CatalogChange>> {
        self.refuse_taken(&TableName { name: name.to_owned(), ..table.definition().name.clone() })?;
        self.moved_table(table, name)
    }

    /// Error 42P07 if a relation already has this name.
    pub(super) fn refuse_taken(&self, name: &TableName) -> Result<()> {
        if self.is_relation(name) {
            let message = format!("relation \"{}\" already exists", name.name);
            return Err(Error::input(sqlstate::DUPLICATE_TABLE, message));
        }
        Ok(())
    }

    pub(super) fn renamed_column(
        &self,
        table: &Arc<Table>,
        from: &str,
        to: &str,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        let Some(at) = definition.column_index(from) else {
            let message = format!("column \"{from}\" does not exist");
            return Err(Error::input(sqlstate::UNDEFINED_COLUMN, message));
        };
        if definition.column_index(to).is_some() {
            let table = &definition.name.name;
            let message = format!("column \"{to}\" of relation \"{table}\" already exists");
            return Err(Error::input(sqlstate::DUPLICATE_COLUMN, message));
        }
        let is_named = |uses: &BodyUses| uses.uses_column(table.id(), from);
        self.refuse_named_in_bodies(&format!("column \"{from}\""), is_named)?;
        to.clone_into(&mut definition.columns[at].name);
        let number = u16::try_from(at).unwrap_or(u16::MAX);
        for check in &mut definition.checks {
            if check.columns.contains(&number) {
                check.expression = with_renamed_column(&check.expression, from, to)?.to_string();
            }
        }
        self.rebind_checks(&mut definition, &|check| check.columns.contains(&number))?;
        let mut rewritten = Vec::new();
        for (other, column) in definition.columns.iter().enumerate() {
            let Some(generation) = &column.generation else { continue };
            if generation.indexed.is_none() && generation.columns.contains(&number) {
                rewritten.push((other, with_renamed_column(&generation.expression, from, to)?.to_string()));
            }
        }
        let row = row_type(&definition);
        for (other, expression) in rewritten {
            let read = self.bound_generation(&row, other, &expression)?;
            definition.columns[other].generation = Some(read);
        }
        self.rename_in_triggers(&mut definition, number, (from, to))?;
        self.rename_in_indexes(&mut definition, number, (from, to))?;
        if let Some(query) = definition.source() {
            let names = definition.visible_columns().iter().map(|column| column.name.clone()).collect();
            let query = self.with_context(|context| with_result_names(query, names, context))?;
            definition.source_mut().into_iter().for_each(|own| own.clone_from(&query));
        }
        let mut changes = vec![altered(table, definition)];
        let change = Change::Column((table.id(), number), to);
        changes.extend(self.changes_of_views(table.id(), &change)?);
        Ok(changes)
    }

    pub(super) fn renamed_constraint(
        &self,
        table: &Arc<Table>,
        from: &str,
        to: &str,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        if !definition.has_constraint(from) {
            let table = &definition.name.name;
            let message = format!("constraint \"{from}\" for table \"{table}\" does not exist");
            return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message));
        }
        let is_key = definition.primary_key.as_ref().is_some_and(|key| key.name == from);
        let index = definition.index_named(from).map(|index| index.id);
        if is_key || index.is_some() {
            self.refuse_taken(&TableName { name: to.to_owned(), ..definition.name.clone() })?;
            return Ok(vec![CatalogChange::RenameIndex { table: table.id(), index, name: to.to_owned() }]);
        }
        if definition.has_constraint(to) {
            return Err(duplicate_constraint(&definition, to));
        }
        let checks = definition.checks.iter_mut().map(|check| &mut check.name);
        let keys = definition.foreign_keys.iter_mut().map(|key| &mut key.name);
        let triggers = definition.triggers.iter_mut().filter(|trigger| trigger.constraint.is_some());
        let triggers = triggers.map(|trigger| &mut trigger.name);
        for name in checks.chain(keys).chain(triggers).filter(|name| *name == from) {
            to.clone_into(name);
        }
        Ok(vec![altered(table, definition)])
    }

    /// Binds some conditions of a table again, because its columns have changed.
    pub(super) fn rebind_checks(
        &self,
        definition: &mut TableDefinition,
        is_touched: &dyn Fn(&CheckConstraint) -> bool,
    ) -> Result<()> {
        let row = row_type(definition);
        for check in definition.checks.iter_mut().filter(|check| is_touched(check)) {
            let wanted = WantedCheck {
                name: Some(check.name.clone()),
                expr: Written::new(parse_expression(&check.expression)?),
                is_not_valid: check.is_not_valid,
            };
            *check = self.bound_check(&row, &wanted)?;
        }
        Ok(())
    }
}
