//! ALTER TABLE ... ADD, DROP and ALTER COLUMN.
//!
//! The engine rewrites the rows, taking each column from an old one or from a constant
//! (`CatalogChange::AlterTable`). Values that must be computed go into a column of their own first. An
//! UPDATE fills it, and then it takes the place of the old one. Columns after a dropped one move up, in
//! everything that refers to them by number: indexes, constraints, sequences, foreign keys of other tables.
//!
//! Reference: ATExecAddColumn, ATExecDropColumn, ATPrepAlterColumnType of PostgreSQL's tablecmds.c.

use std::sync::Arc;

use hyades_engine::db::{Flow, TableLock, Waiting};
use hyades_engine::procedure::ir::Expr;
use hyades_engine::storage::table::Table;
use hyades_types::cast::{self, CastContext};
use hyades_types::definition::{
    CatalogChange, Collation, ColumnDefinition, ColumnSource, ForeignKey, IndexDefinition, Indexed,
    TableDefinition, TableId, TriggerDefinition,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::text;
use hyades_types::value::{SqlType, Value};
use jiff::tz::TimeZone;
use sqlparser::ast;

use super::alteration::{altered, column_of, no_column};
use super::alteration_steps::{AlterStep, Alteration};
use super::command::AlterAction;
use super::dependents::Object;
use super::drawing_defaults::DrawingDefault;
use super::filling::Filling;
use super::view_changes::{changed_view, replaced_view};
use super::wanted::{NewColumn, WantedIndex, WantedSequence};
use crate::answer::Output;
use crate::bind::deparse::change::Change;
use crate::bind::row_expression::row_type;
use crate::bind::types::Declared;
use crate::emit::unsupported;
use crate::statement::deep_text::Written;
use crate::viewpoint::Viewpoint;

/// The limit is PostgreSQL's.
const MOST_COLUMNS: usize = 1600;

/// The name of a column that exists only while its values are computed.
const NEW_VALUES: &str = "........hyades.new........";

/// Takes all columns from the old row as they are.
pub(super) fn unchanged(definition: &TableDefinition) -> Vec<ColumnSource> {
    (0u16..).zip(&definition.columns).map(|(number, _)| ColumnSource::Old(number)).collect()
}

pub(super) fn rewritten(
    table: &Table,
    definition: TableDefinition,
    columns: Vec<ColumnSource>,
) -> CatalogChange {
    CatalogChange::AlterTable { id: table.id(), definition: Box::new(definition), columns: Some(columns) }
}

/// Adds a column after the last one that statements can see.
fn insert_column(definition: &mut TableDefinition, column: ColumnDefinition) -> u16 {
    let at = u16::try_from(definition.visible_columns().len()).unwrap_or(u16::MAX);
    definition.columns.insert(usize::from(at), column);
    // Only indexes use the columns after it.
    for key in definition.indexes.iter_mut().flat_map(|index| &mut index.columns) {
        if key.column >= at {
            key.column += 1;
        }
    }
    at
}

/// Removes a column and the indexes that read it.
fn without_indexed(table: &Table, gone: u16) -> CatalogChange {
    let old = table.definition();
    let (mut definition, mut columns) = (TableDefinition::clone(&old), vec![gone]);
    for index in old.indexes.iter().filter(|index| old.is_read_by(index, gone)) {
        definition.indexes.retain(|other| other.id != index.id);
        columns.extend(old.computed_for(index));
    }
    without_columns(table, &definition, columns)
}

/// Drops an index before the type of a column changes of which it computes something. The change runs again,
/// and then the index is created again. (Its comment is lost.)
fn set_aside(
    alteration: &mut Alteration,
    definition: &TableDefinition,
    index: &IndexDefinition,
) -> Result<Vec<CatalogChange>> {
    let again = AlterAction::AddIndex(Box::new(WantedIndex::again(definition, index)?));
    alteration.steps.push_front(AlterStep::Action(again));
    alteration.again = true;
    let remaining = definition.without_index(index.id);
    Ok(vec![without_columns(&alteration.table, &remaining, definition.computed_for(index))])
}

/// Removes some columns and what is defined on them.
pub(super) fn without_columns(
    table: &Table,
    definition: &TableDefinition,
    mut gone: Vec<u16>,
) -> CatalogChange {
    let (mut definition, mut columns) = (definition.clone(), unchanged(definition));
    gone.sort_unstable();
    gone.dedup();
    for column in gone.into_iter().rev() {
        columns.remove(usize::from(column));
        definition = without_column(table.id(), &definition, column);
    }
    rewritten(table, definition, columns)
}

/// The names of the columns that are computed from this one.
fn computed_from(definition: &TableDefinition, at: u16) -> Vec<String> {
    let reads = |column: &&ColumnDefinition| {
        column.generation.as_ref().is_some_and(|generation| generation.columns.contains(&at))
    };
    definition.visible_columns().iter().filter(reads).map(|column| column.name.clone()).collect()
}

/// The number of a column after the column `gone` has been removed.
fn moved(column: u16, gone: u16) -> u16 {
    if column > gone { column - 1 } else { column }
}

fn constant_of(default: &Expr, sql_type: SqlType) -> Option<ColumnSource> {
    match default {
        Expr::Const(Value::Null) => Some(ColumnSource::Null),
        Expr::Const(value) => {
            let mut bytes = Vec::new();
            text::write(value, sql_type, &TimeZone::UTC, &mut bytes);
            String::from_utf8(bytes).ok().map(ColumnSource::Constant)
        }
        _ => None,
    }
}

impl Viewpoint {
    pub(super) fn added_column(
        &self,
        alteration: &mut Alteration,
        new: &NewColumn,
        if_not_exists: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let table = Arc::clone(&alteration.table);
        let old = table.definition();
        let column = &new.definition;
        if old.column_index(&column.name).is_some() {
            let (name, table) = (&column.name, &old.name.name);
            let message = format!("column \"{name}\" of relation \"{table}\" already exists");
            if !if_not_exists {
                return Err(Error::input(sqlstate::DUPLICATE_COLUMN, message));
            }
            self.note(output, "42701", format!("{message}, skipping"));
            alteration.forget_column(&column.name);
            return Ok(Vec::new());
        }
        if old.columns.len() >= MOST_COLUMNS {
            let message = format!("tables can have at most {MOST_COLUMNS} columns");
            return Err(Error::input(sqlstate::TOO_MANY_COLUMNS, message));
        }
        let mut definition = TableDefinition::clone(&old);
        let at = insert_column(&mut definition, column.clone());
        if let Some(generation) = &column.generation {
            let read =
                self.bound_generation(&row_type(&definition), usize::from(at), &generation.expression)?;
            definition.columns[usize::from(at)].generation = Some(read);
        }
        let wanted: Vec<_> =
            new.sequence.clone().into_iter().map(|wanted| WantedSequence { column: at, ..wanted }).collect();
        let mut changes = self.created_for_columns(table.id(), &mut definition, &wanted)?;
        let added = Change::Added(table.id(), std::slice::from_ref(&column.name));
        let views = self.changes_of_views(table.id(), &added)?;
        let constant = match (&column.default, wanted.is_empty()) {
            // Its constraints are looked at row by row.
            _ if column.domain.is_some() => None,
            (Some(_), true) => {
                let defaults = self.bound_defaults(&definition)?;
                constant_of(&defaults[usize::from(at)], column.sql_type)
            }
            (None, true) if column.generation.is_none() => Some(ColumnSource::Null),
            (None, true) | (_, false) => None,
        };
        let mut columns = unchanged(&old);
        if let Some(constant) = constant {
            columns.insert(usize::from(at), constant);
            changes.push(rewritten(&table, definition, columns));
            return Ok(changes.into_iter().chain(views).collect());
        }
        columns.insert(usize::from(at), ColumnSource::Null);
        // NOT NULL is set once the values are there.
        definition.columns[usize::from(at)].is_nullable = true;
        changes.push(rewritten(&table, definition, columns));
        changes.extend(views);
        if !column.is_nullable {
            alteration.steps.push_front(AlterStep::SetNotNull(at));
        }
        let filling = if column.generation.is_some() { Filling::Generated(at) } else { Filling::Default(at) };
        alteration.steps.push_front(AlterStep::Fill(filling));
        Ok(changes)
    }

    /// Drops what depends on the column first. The action then runs again.
    pub(super) fn dropped_column(
        &mut self,
        alteration: &mut Alteration,
        name: &str,
        (may_lack, cascades): (bool, bool),
        output: &mut dyn Output,
    ) -> Flow<Vec<CatalogChange>> {
        let table = Arc::clone(&alteration.table);
        let old = table.definition();
        let Ok(gone) = column_of(&old, name) else {
            if !may_lack {
                return Err(no_column(&old, name).into());
            }
            let table = &old.name.name;
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist, skipping");
            self.note(output, "00000", message);
            return Ok(Vec::new());
        };
        if old.columns.len() == 1 {
            return Ok(unsupported(Missing::TablesWithoutColumns, "tables without columns are")?);
        }
        let children = self.locked_children(&old)?;
        let of_table = format!("of table {}", self.shown(&old.name));
        let what = format!("column {name} {of_table}");
        let (mut freed, mut dependents) = self.keys_with_column(&table, gone, &children);
        for default in self.defaults_from_column(&table, gone)? {
            dependents.push(self.described(&Object::Default(Arc::clone(&default.table), default.column)));
            freed.push(CatalogChange::DropDefault { id: default.table.id(), column: default.column });
        }
        freed.extend(self.without_triggers_on(&table, gone, &mut dependents));
        let views = self.views_over(table.id());
        let (using, others): (Vec<_>, Vec<_>) =
            views.into_iter().partition(|(_, view)| view.uses_column(table.id(), gone));
        let mut using: Vec<Object> = using.into_iter().map(|(view, _)| Object::Relation(view)).collect();
        using.extend(self.routines_using(|uses| uses.uses_column(table.id(), name)).map(Object::Routine));
        let mut using = self.with_dependents(&using)?;
        dependents.extend(using.iter().map(|view| self.described(view)));
        let computed = computed_from(&old, gone);
        dependents.extend(computed.iter().map(|name| format!("column {name} {of_table}")));
        if !dependents.is_empty() {
            self.tell_dependents(&what, &dependents, cascades, output)?;
        }
        using.reverse();
        freed.extend(self.drops_of_objects(&using)?);
        if !computed.is_empty() {
            alteration.drop_columns(computed.into_iter().chain([name.to_owned()]));
            return Ok(freed);
        }
        if !freed.is_empty() {
            alteration.again = true;
            return Ok(freed);
        }
        let mut changes = self.without_sequences_of(&table, gone);
        changes.push(without_indexed(&table, gone));
        for (other, view) in others {
            let change = Change::Dropped((table.id(), gone));
            let view = self.with_context(|context| changed_view(&other, &view, context, &change))?;
            changes.push(replaced_view(&other, view.without_column(table.id(), gone)));
        }
        for child in children.into_iter().filter(|child| child.id() != table.id()) {
            let mut definition = TableDefinition::clone(&child.definition());
            for key in definition.foreign_keys.iter_mut().filter(|key| key.parent == table.id()) {
                key.parent_columns.iter_mut().for_each(|column| *column = moved(*column, gone));
            }
            changes.push(altered(&child, definition));
        }
        Ok(changes)
    }

    /// The changes that drop the foreign keys on both sides of a column, and the descriptions of those that
    /// belong to other columns.
    fn keys_with_column(
        &self,
        table: &Arc<Table>,
        gone: u16,
        children: &[Arc<Table>],
    ) -> (Vec<CatalogChange>, Vec<String>) {
        let (mut freed, mut dependents) = (Vec::new(), Vec::new());
        for key in table.definition().foreign_keys.iter().filter(|key| key.columns.contains(&gone)) {
            freed.push(CatalogChange::DropForeignKey { id: table.id(), name: key.name.clone() });
        }
        for child in children {
            let definition = child.definition();
            // Foreign keys of the table itself that contain the column on their own side are dropped
            // without a report.
            let is_freed = |key: &ForeignKey| child.id() == table.id() && key.columns.contains(&gone);
            let keys = definition.foreign_keys.iter().filter(|key| key.parent == table.id());
            for key in keys.filter(|key| key.parent_columns.contains(&gone) && !is_freed(key)) {
                let name = key.name.clone();
                dependents.push(self.described(&Object::Constraint(Arc::clone(child), name.clone())));
                freed.push(CatalogChange::DropForeignKey { id: child.id(), name });
            }
        }
        (freed, dependents)
    }

    /// The change that drops the triggers which refer to a column, if there are any. Their descriptions are
    /// added to `dropped`.
    fn without_triggers_on(
        &self,
        table: &Arc<Table>,
        column: u16,
        dropped: &mut Vec<String>,
    ) -> Option<CatalogChange> {
        let mut definition = TableDefinition::clone(&table.definition());
        let uses = |trigger: &&TriggerDefinition| trigger.uses_column(column);
        let using: Vec<String> =
            definition.triggers.iter().filter(uses).map(|own| own.name.clone()).collect();
        if using.is_empty() {
            return None;
        }
        let described = |name| self.described(&Object::Trigger(Arc::clone(table), name));
        dropped.extend(using.into_iter().map(described));
        definition.triggers.retain(|trigger| !uses(&trigger));
        Some(altered(table, definition))
    }

    /// The tables whose foreign keys refer to this one, each locked.
    fn locked_children(&mut self, definition: &TableDefinition) -> Flow<Vec<Arc<Table>>> {
        let mut children: Vec<Arc<Table>> = Vec::new();
        for child in definition.children() {
            let Some(child) = self.table_by_id(child) else { continue };
            self.worker.lock_table(&child, TableLock::AccessExclusive, Waiting::InQueue)?;
            children.push(child);
        }
        Ok(children)
    }

    /// Returns error 2BP01 if other objects depend on it, or sends the notice that they are dropped too.
    fn tell_dependents(
        &self,
        what: &str,
        dependents: &[String],
        cascades: bool,
        output: &mut dyn Output,
    ) -> Result<()> {
        if !cascades {
            let message = format!("cannot drop {what} because other objects depend on it");
            let details: Vec<String> =
                dependents.iter().map(|dependent| format!("{dependent} depends on {what}")).collect();
            return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_detail(details.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        match dependents {
            [dependent] => self.note(output, "00000", format!("drop cascades to {dependent}")),
            several => {
                self.note(output, "00000", format!("drop cascades to {} other objects", several.len()))
            }
        }
        Ok(())
    }

    /// Defaults of other columns that draw from the sequences of this one.
    fn defaults_from_column(&self, table: &Arc<Table>, gone: u16) -> Result<Vec<DrawingDefault>> {
        let mut owned = self.owned_sequences(&[table.id()]);
        owned.retain(|sequence| sequence.definition.owner.is_some_and(|owner| owner.column == gone));
        let mut defaults = self.drawing_defaults(&owned, &[])?;
        defaults.retain(|default| default.table.id() != table.id() || default.column != gone);
        Ok(defaults)
    }

    /// Sequences owned by a dropped column are dropped too. Those of columns after it are renumbered.
    fn without_sequences_of(&self, table: &Arc<Table>, gone: u16) -> Vec<CatalogChange> {
        let mut changes = Vec::new();
        for sequence in self.owned_sequences(&[table.id()]) {
            let mut definition = sequence.definition.clone();
            let Some(owner) = &mut definition.owner else { continue };
            if owner.column == gone {
                changes.push(CatalogChange::DropSequence { id: sequence.id });
            } else if owner.column > gone {
                owner.column -= 1;
                definition.version = definition.version.wrapping_add(1);
                changes.push(CatalogChange::AlterSequence { id: sequence.id, definition, restart: None });
            }
        }
        changes
    }

    /// ALTER COLUMN ... TYPE.
    pub(super) fn retyped_column(
        &self,
        alteration: &mut Alteration,
        name: &str,
        (Declared { sql_type, domain }, collation): (Declared, Collation),
        using: Option<&ast::Expr>,
    ) -> Result<Vec<CatalogChange>> {
        let table = Arc::clone(&alteration.table);
        let old = table.definition();
        let at = column_of(&old, name)?;
        let column = &old.columns[usize::from(at)];
        check_retyping(column, sql_type)?;
        if let Some(trigger) = old.triggers.iter().find(|trigger| trigger.uses_column(at)) {
            let message = "cannot alter type of a column used in a trigger definition";
            let trigger = self.described(&Object::Trigger(Arc::clone(&table), trigger.name.clone()));
            let detail = format!("{trigger} depends on column \"{name}\"");
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
        }
        if let [other, ..] = computed_from(&old, at).as_slice() {
            let message = "cannot alter type of a column used by a generated column";
            let detail = format!("Column \"{name}\" is used by generated column \"{other}\".");
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
        }
        if let Some(index) = old.indexes.iter().find(|index| old.is_computed_from(index, at)) {
            return set_aside(alteration, &old, index);
        }
        if column.generation.is_some() && using.is_some() {
            let message = "cannot specify USING when altering type of generated column";
            let detail = format!("Column \"{name}\" is a generated column.");
            return Err(Error::input(sqlstate::INVALID_COLUMN_DEFINITION, message).with_detail(detail));
        }
        if self.is_in_foreign_key(&old, table.id(), at) && !is_same_kind(column.sql_type, sql_type) {
            return unsupported(Missing::Dependents, "changing the type of a column of a foreign key is");
        }
        let is_of_another_domain = domain.is_some() && domain != column.domain;
        let computed = self.bound_conversion(&table, at, sql_type, using)? || is_of_another_domain;
        check_default(column, sql_type)?;
        let sequence = self.retyped_identity(table.id(), at, sql_type)?;
        let mut definition = TableDefinition::clone(&old);
        let retyped = &mut definition.columns[usize::from(at)];
        (retyped.sql_type, retyped.domain, retyped.collation) = (sql_type, domain, collation);
        self.rebind_checks(&mut definition, &|check| check.columns.contains(&at))?;
        for check in definition.checks.iter().filter(|check| check.columns.contains(&at)) {
            if !check.is_not_valid {
                alteration.steps.push_front(AlterStep::Prove(check.name.clone()));
            }
        }
        let mut columns = unchanged(&old);
        let mut changes: Vec<CatalogChange> = sequence.into_iter().collect();
        if !computed {
            changes.push(rewritten(&table, definition, columns));
            return Ok(changes);
        }
        let mut wider = TableDefinition::clone(&old);
        let new = u16::try_from(wider.columns.len()).unwrap_or(u16::MAX);
        wider.columns.push(ColumnDefinition { domain, ..ColumnDefinition::new(NEW_VALUES, sql_type) });
        let mut kept = columns.clone();
        columns.push(ColumnSource::Null);
        kept[usize::from(at)] = ColumnSource::Old(new);
        alteration.steps.push_front(AlterStep::Become { definition: Box::new(definition), columns: kept });
        let expr = using.map(|using| Written::new(using.clone()));
        alteration.steps.push_front(AlterStep::Fill(Filling::Converted { into: new, from: at, expr }));
        changes.push(rewritten(&table, wider, columns));
        Ok(changes)
    }

    fn is_in_foreign_key(&self, definition: &TableDefinition, id: TableId, column: u16) -> bool {
        let refers = definition.foreign_keys.iter().any(|key| {
            key.columns.contains(&column) || key.parent == id && key.parent_columns.contains(&column)
        });
        let is_referenced = |child: &TableId| {
            let child = self.table_by_id(*child);
            child.is_some_and(|child| {
                let keys = child.definition().foreign_keys.clone();
                keys.iter().any(|key| key.parent == id && key.parent_columns.contains(&column))
            })
        };
        refers || definition.referenced_by.iter().any(is_referenced)
    }
}

/// Whether equal values of both types have equal keys.
fn is_same_kind(one: SqlType, other: SqlType) -> bool {
    let is_text = |sql_type| matches!(sql_type, SqlType::Text | SqlType::Varchar(_));
    one == other || (is_text(one) && is_text(other))
}

fn check_retyping(column: &ColumnDefinition, sql_type: SqlType) -> Result<()> {
    if column.identity.is_some() && !sql_type.is_integer() {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    Ok(())
}

/// A default is a value of the old type, and must become one of the new type.
fn check_default(column: &ColumnDefinition, sql_type: SqlType) -> Result<()> {
    let is_allowed = column.sql_type.is_same_base(sql_type)
        || cast::allowed(column.sql_type, sql_type).is_some_and(|weakest| weakest <= CastContext::Assignment);
    if column.default.is_none() || is_allowed {
        return Ok(());
    }
    let message = format!(
        "default for column \"{}\" cannot be cast automatically to type {}",
        column.name,
        sql_type.name()
    );
    Err(Error::input(sqlstate::DATATYPE_MISMATCH, message))
}

/// The definition without a column and without what is defined on it.
fn without_column(id: TableId, old: &TableDefinition, gone: u16) -> TableDefinition {
    let mut definition = old.clone();
    if old.columns[usize::from(gone)].indexed().is_none() {
        definition.dropped.push(old.column_number(usize::from(gone)));
        definition.dropped.sort_unstable();
    }
    definition.columns.remove(usize::from(gone));
    definition.primary_key = definition.primary_key.filter(|key| !key.columns.contains(&gone));
    definition.indexes.retain(|index| !index.has_column(gone) && !index.included.contains(&gone));
    definition.foreign_keys.retain(|key| !key.columns.contains(&gone));
    definition.checks.retain(|check| !check.columns.contains(&gone));
    definition.triggers.retain(|trigger| !trigger.uses_column(gone));
    let keys = definition.primary_key.iter_mut().flat_map(|key| &mut key.columns);
    let indexed = definition.indexes.iter_mut().flat_map(|index| {
        let conditions = index.predicate.iter_mut().flat_map(|predicate| &mut predicate.columns);
        index.columns.iter_mut().map(|key| &mut key.column).chain(&mut index.included).chain(conditions)
    });
    let referring = definition.foreign_keys.iter_mut().flat_map(|key| {
        let referenced = if key.parent == id { key.parent_columns.as_mut_slice() } else { &mut [] };
        key.columns.iter_mut().chain(&mut key.delete_columns).chain(referenced)
    });
    let checked = definition.checks.iter_mut().flat_map(|check| &mut check.columns);
    let triggered = definition.triggers.iter_mut().flat_map(|trigger| {
        let conditions = trigger.condition.iter_mut().flat_map(|condition| &mut condition.columns);
        trigger.columns.iter_mut().chain(conditions)
    });
    let generations = definition.columns.iter_mut().filter_map(|column| column.generation.as_mut());
    let read = generations.flat_map(|generation| {
        let indexed = match &mut generation.indexed {
            Some(Indexed::Column(column)) => Some(column),
            _ => None,
        };
        generation.columns.iter_mut().chain(indexed)
    });
    for column in keys.chain(indexed).chain(referring).chain(checked).chain(triggered).chain(read) {
        *column = moved(*column, gone);
    }
    definition
}
