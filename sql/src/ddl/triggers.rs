//! CREATE, ALTER and DROP TRIGGER, and ENABLE and DISABLE TRIGGER of ALTER TABLE.
//!
//! A trigger is part of its table's definition, so each of them is an alteration of the table: it is decided
//! once the table is locked.
//!
//! Reference for checks, their order and messages: CreateTriggerFiringOn of PostgreSQL's trigger.c.

use std::ops::ControlFlow;
use std::sync::Arc;

use hyades_engine::procedure::ir::RowSlot;
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::table::Table;
use hyades_types::access::{ObjectKind, Privileges, denied};
use hyades_types::definition::{
    CatalogChange, CommentPart, CommentTarget, Returns, RoutineKind, TableDefinition, TriggerCondition,
    TriggerDefinition, TriggerEvent, TriggerFiring, TriggerTiming,
};
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use sqlparser::ast::{Expr, visit_expressions};

use super::alteration::{altered, column_of};
use super::command::{AlterAction, CatalogStatement, SchemaCommand};
use super::renames::with_renamed_column;
use crate::answer::Output;
use crate::bind::row_expression::{columns_of, row_type};
use crate::bind::{Binder, Place};
use crate::emit::Compiler;
use crate::statement::names::fold;
use crate::statement::{CreateTrigger, QualifiedName, TriggerAction, TriggerCommand};
use crate::viewpoint::Viewpoint;

impl Compiler<'_> {
    pub(crate) fn trigger_command(&mut self, command: &TriggerCommand) -> Result<CatalogStatement> {
        let tag = match &command.action {
            TriggerAction::Create(_) => "CREATE TRIGGER",
            TriggerAction::Drop { .. } => "DROP TRIGGER",
            TriggerAction::Rename { .. } => "ALTER TRIGGER",
            TriggerAction::SetFiring { .. } => "ALTER TABLE",
        };
        if let TriggerAction::Create(trigger) = &command.action {
            self.check_condition_of(&command.table, trigger)?;
        }
        Ok(CatalogStatement::new(tag, SchemaCommand::Trigger(command.clone())))
    }

    /// Finds errors in the WHEN clause while their positions are known. It is bound once more when the
    /// table is locked.
    fn check_condition_of(&mut self, name: &QualifiedName, trigger: &CreateTrigger) -> Result<()> {
        let Some(written) = &trigger.condition else { return Ok(()) };
        let Ok(table) = self.named_table(name) else { return Ok(()) };
        let definition = table.definition();
        check_relation(&definition, trigger)?;
        transition_tables(&definition, trigger)?;
        self.binder.trigger_condition(&table, trigger, written).map(drop)
    }
}

fn refused<T>(state: SqlState, message: impl Into<String>) -> Result<T> {
    Err(Error::input(state, message))
}

fn unsupported<T>(message: &str) -> Result<T> {
    refused(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

fn contradictory<T>(message: &str) -> Result<T> {
    refused(sqlstate::INVALID_OBJECT_DEFINITION, message)
}

/// Error 42704 for a trigger.
pub(super) fn no_trigger(definition: &TableDefinition, name: &str) -> Error {
    let message = format!("trigger \"{name}\" for table \"{}\" does not exist", definition.name.name);
    Error::input(sqlstate::UNDEFINED_OBJECT, message)
}

fn duplicate_trigger<T>(definition: &TableDefinition, name: &str) -> Result<T> {
    let message = format!("trigger \"{name}\" for relation \"{}\" already exists", definition.name.name);
    refused(sqlstate::DUPLICATE_OBJECT, message)
}

/// Whether a trigger of this kind may be on this relation.
fn check_relation(definition: &TableDefinition, trigger: &CreateTrigger) -> Result<()> {
    let name = &definition.name.name;
    if definition.materialized.is_some() {
        let message = format!("relation \"{name}\" cannot have triggers");
        return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
            .with_detail("This operation is not supported for materialized views."));
    }
    let (what, detail) = match (definition.view().is_some(), trigger.timing) {
        (false, TriggerTiming::InsteadOf) => ("a table", "Tables cannot have INSTEAD OF triggers."),
        (true, TriggerTiming::Before | TriggerTiming::After) if trigger.is_for_rows => {
            ("a view", "Views cannot have row-level BEFORE or AFTER triggers.")
        }
        (true, _) if trigger.events.contains(&TriggerEvent::Truncate) => {
            ("a view", "Views cannot have TRUNCATE triggers.")
        }
        _ => return check_form(trigger),
    };
    Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is {what}")).with_detail(detail))
}

/// Whether the clauses go together.
fn check_form(trigger: &CreateTrigger) -> Result<()> {
    if trigger.is_for_rows && trigger.events.contains(&TriggerEvent::Truncate) {
        return unsupported("TRUNCATE FOR EACH ROW triggers are not supported");
    }
    if trigger.timing == TriggerTiming::InsteadOf {
        if !trigger.is_for_rows {
            return unsupported("INSTEAD OF triggers must be FOR EACH ROW");
        }
        if trigger.condition.is_some() {
            return unsupported("INSTEAD OF triggers cannot have WHEN conditions");
        }
        if !trigger.columns.is_empty() {
            return unsupported("INSTEAD OF triggers cannot have column lists");
        }
    }
    Ok(())
}

/// The names of the old and the new transition table.
fn transition_tables(
    definition: &TableDefinition,
    trigger: &CreateTrigger,
) -> Result<(Option<String>, Option<String>)> {
    let (mut old, mut new) = (None, None);
    for item in &trigger.referencing {
        if !item.is_table {
            let message = "ROW variable naming in the REFERENCING clause is not supported";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
        }
        if definition.view().is_some() {
            let message = format!("\"{}\" is a view", definition.name.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                .with_detail("Triggers on views cannot have transition tables."));
        }
        if trigger.timing != TriggerTiming::After {
            return contradictory("transition table name can only be specified for an AFTER trigger");
        }
        if trigger.events.contains(&TriggerEvent::Truncate) {
            return unsupported("TRUNCATE triggers with transition tables are not supported");
        }
        if trigger.events.len() > 1 {
            return unsupported(
                "transition tables cannot be specified for triggers with more than one event",
            );
        }
        if !trigger.columns.is_empty() {
            return unsupported("transition tables cannot be specified for triggers with column lists");
        }
        let has = |has: fn(TriggerEvent) -> bool| trigger.events.iter().any(|event| has(*event));
        let (known, exists, words, events) = match item.is_new {
            true => (&mut new, has(TriggerEvent::has_new), "NEW TABLE", "an INSERT or UPDATE"),
            false => (&mut old, has(TriggerEvent::has_old), "OLD TABLE", "a DELETE or UPDATE"),
        };
        if !exists {
            return contradictory(&format!("{words} can only be specified for {events} trigger"));
        }
        if known.replace(item.name.clone()).is_some() {
            return contradictory(&format!("{words} cannot be specified multiple times"));
        }
    }
    if old.is_some() && old == new {
        return contradictory("OLD TABLE name and NEW TABLE name cannot be the same");
    }
    Ok((old, new))
}

/// The columns that a WHEN clause names. It does not depend on those that it reads as parts of a whole row.
fn columns_named(definition: &TableDefinition, written: &Expr) -> Vec<u16> {
    let mut columns = Vec::new();
    let _: ControlFlow<()> = visit_expressions(written, |part| {
        if let Expr::CompoundIdentifier(idents) = part
            && let Some(column) = idents.last()
            && let Ok(column) = column_of(definition, &fold(column))
        {
            columns.push(column);
        }
        ControlFlow::Continue(())
    });
    columns.sort_unstable();
    columns.dedup();
    columns
}

impl Binder<'_> {
    /// The WHEN clause of a trigger of this table.
    fn trigger_condition(
        &mut self,
        table: &Arc<Table>,
        trigger: &CreateTrigger,
        written: &Expr,
    ) -> Result<TriggerCondition> {
        let rows = (self.new_row()?, self.new_row()?);
        let (condition, meanings) = self.noting(|binder| binder.condition_on_rows(table, rows, written));
        let condition = condition?;
        self.refuse_clock_literals(&condition, Place::of_expr(written))?;
        let (old, new) = (columns_of(&condition, rows.0), columns_of(&condition, rows.1));
        self.check_referenced(table, trigger, (&old, &new), Place::of_expr(written))?;
        let [shown, pretty] = self.shown_condition(table, rows, written)?;
        let columns = columns_named(&table.definition(), written);
        Ok(TriggerCondition { expression: self.kept(written, &meanings), shown, pretty, columns })
    }

    fn shown_condition(
        &mut self,
        table: &Arc<Table>,
        rows: (RowSlot, RowSlot),
        written: &Expr,
    ) -> Result<[String; 2]> {
        self.over_rows(table, rows, |binder| Ok(binder.shown_forms(written)))
    }

    fn check_referenced(
        &self,
        table: &Arc<Table>,
        trigger: &CreateTrigger,
        (old, new): (&[u16], &[u16]),
        place: Place,
    ) -> Result<()> {
        let fail = |message: &str| self.fail(sqlstate::INVALID_OBJECT_DEFINITION, message, place);
        let reads_rows = !old.is_empty() || !new.is_empty();
        if !trigger.is_for_rows && reads_rows {
            return fail("statement trigger's WHEN condition cannot reference column values");
        }
        if trigger.events.contains(&TriggerEvent::Insert) && !old.is_empty() {
            return fail("INSERT trigger's WHEN condition cannot reference OLD values");
        }
        if trigger.events.contains(&TriggerEvent::Delete) && !new.is_empty() {
            return fail("DELETE trigger's WHEN condition cannot reference NEW values");
        }
        let definition = table.definition();
        let is_generated = |column: &&u16| definition.columns[usize::from(**column)].generation.is_some();
        match new.iter().find(is_generated) {
            Some(column) if trigger.timing == TriggerTiming::Before => {
                let name = &definition.columns[usize::from(*column)].name;
                let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
                let error = Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message)
                    .with_detail(format!("Column \"{name}\" is a generated column."));
                Err(self.place(error, place))
            }
            _ => Ok(()),
        }
    }
}

impl Viewpoint {
    /// The relation whose triggers a statement changes.
    pub(super) fn table_of_trigger(
        &self,
        command: &TriggerCommand,
        output: &mut dyn Output,
    ) -> Result<Option<Arc<Table>>> {
        match (self.table(&self.meant(&command.table)), &command.action) {
            (Some(table), _) => Ok(Some(table)),
            (None, TriggerAction::Drop { if_exists: true, .. }) => {
                let message = format!("relation \"{}\" does not exist, skipping", command.table.shown());
                self.note(output, "00000", message);
                Ok(None)
            }
            (None, _) => Err(self.no_relation(&command.table)),
        }
    }

    /// Error 42501 unless the session may do this. A right suffices to create a trigger.
    pub(super) fn check_trigger_command(&self, command: &TriggerCommand) -> Result<()> {
        let TriggerAction::Create(trigger) = &command.action else {
            return self.check_parts(&command.table);
        };
        let object = self.relation_object(&command.table)?;
        if !self.privileges(object.id, ObjectKind::Relation).contains(Privileges::TRIGGER) {
            return Err(denied(object.word, &object.name));
        }
        let function = self.trigger_function(&trigger.function)?;
        match self.privileges(function.id.0, ObjectKind::Routine).contains(Privileges::EXECUTE) {
            true => Ok(()),
            false => Err(denied("function", &function.definition.name.name)),
        }
    }

    /// The function of a trigger.
    fn trigger_function(&self, name: &QualifiedName) -> Result<Arc<Routine>> {
        match self.find_routine((Some(RoutineKind::Function), Some(&[])), name)? {
            Ok(function) if function.definition.returns == Returns::Trigger => Ok(function),
            Ok(function) => {
                let message = format!("function {} must return type trigger", function.definition.name.name);
                refused(sqlstate::INVALID_OBJECT_DEFINITION, message)
            }
            Err(missing) => Err(missing.error()),
        }
    }

    /// The changes of the catalog that come to this.
    pub(super) fn changed_triggers(
        &self,
        table: &Arc<Table>,
        action: &TriggerAction,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        let mut comments = Vec::new();
        match action {
            TriggerAction::Create(trigger) => {
                let made = self.made_trigger(table, trigger)?;
                definition.triggers.retain(|known| known.name != made.name);
                definition.triggers.push(made);
            }
            TriggerAction::Drop { name, if_exists } => {
                if definition.trigger(name).is_none() {
                    if !if_exists {
                        return Err(no_trigger(&definition, name));
                    }
                    let relation = &definition.name.name;
                    let message =
                        format!("trigger \"{name}\" for relation \"{relation}\" does not exist, skipping");
                    self.note(output, "00000", message);
                    return Ok(Vec::new());
                }
                definition.triggers.retain(|known| known.name != *name);
                comments.extend(self.moved_comment(table, name, None));
            }
            TriggerAction::Rename { name, to } => {
                if definition.trigger(to).is_some() {
                    return duplicate_trigger(&definition, to);
                }
                let renamed = definition.triggers.iter_mut().find(|known| known.name == *name);
                match renamed {
                    Some(trigger) => trigger.name.clone_from(to),
                    None => return Err(no_trigger(&definition, name)),
                }
                comments.extend(self.moved_comment(table, name, Some(to)));
            }
            TriggerAction::SetFiring { name, firing } => {
                if let Some(name) = name.as_ref().filter(|name| definition.trigger(name).is_none()) {
                    return Err(no_trigger(&definition, name));
                }
                set_firing(&mut definition, name.as_deref(), *firing);
                if definition == *table.definition() {
                    return Ok(Vec::new());
                }
            }
        }
        definition.triggers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok([vec![altered(table, definition)], comments].concat())
    }

    /// The comment on a trigger goes to its new name, or is removed.
    fn moved_comment(&self, table: &Table, from: &str, to: Option<&String>) -> Vec<CatalogChange> {
        let on =
            |name: &str| CommentTarget { object: table.id().0, part: CommentPart::Trigger(name.to_owned()) };
        let comments = self.worker.catalog_view().comments();
        let Some(text) = comments.get(&on(from)).map(|own| String::from(&**own)) else { return Vec::new() };
        let removed = CatalogChange::Comment { on: on(from), text: None };
        let moved = to.map(|to| CatalogChange::Comment { on: on(to), text: Some(text) });
        [removed].into_iter().chain(moved).collect()
    }

    /// Gives a column another name in the WHEN clauses that refer to it.
    pub(super) fn rename_in_triggers(
        &self,
        definition: &mut TableDefinition,
        column: u16,
        (from, to): (&str, &str),
    ) -> Result<()> {
        let row = row_type(definition);
        for condition in definition.triggers.iter_mut().filter_map(|trigger| trigger.condition.as_mut()) {
            if condition.columns.contains(&column) {
                let renamed = with_renamed_column(&condition.expression, from, to)?;
                condition.expression = renamed.to_string();
                [condition.shown, condition.pretty] = self.with_binder(|binder| {
                    let rows = (binder.new_row()?, binder.new_row()?);
                    binder.shown_condition(&row, rows, &renamed)
                })?;
            }
        }
        Ok(())
    }

    fn made_trigger(&self, table: &Arc<Table>, trigger: &CreateTrigger) -> Result<TriggerDefinition> {
        let definition = table.definition();
        check_relation(&definition, trigger)?;
        let (old_table, new_table) = transition_tables(&definition, trigger)?;
        let condition = match &trigger.condition {
            None => None,
            Some(written) => {
                Some(self.with_binder(|binder| binder.trigger_condition(table, trigger, written))?)
            }
        };
        let function = self.trigger_function(&trigger.function)?;
        if let Some(known) = definition.trigger(&trigger.name) {
            if !trigger.or_replace {
                return duplicate_trigger(&definition, &trigger.name);
            }
            if known.constraint.is_some() {
                let message = format!(
                    "trigger \"{}\" for relation \"{}\" is a constraint trigger",
                    trigger.name, definition.name.name
                );
                return refused(sqlstate::DUPLICATE_OBJECT, message);
            }
        }
        if trigger.constraint.is_some() && definition.has_constraint(&trigger.name) {
            return Err(super::alteration::duplicate_constraint(&definition, &trigger.name));
        }
        let mut columns = Vec::with_capacity(trigger.columns.len());
        for name in &trigger.columns {
            let column = column_of(&definition, name)?;
            if columns.contains(&column) {
                let message = format!("column \"{name}\" specified more than once");
                return refused(sqlstate::DUPLICATE_COLUMN, message);
            }
            columns.push(column);
        }
        let referenced = trigger.referenced.as_ref().map(|name| self.existing_table(name)).transpose()?;
        Ok(TriggerDefinition {
            name: trigger.name.clone(),
            timing: trigger.timing,
            is_for_rows: trigger.is_for_rows,
            events: trigger.events.clone(),
            columns,
            function: function.definition.name.clone(),
            arguments: trigger.arguments.clone(),
            condition,
            old_table,
            new_table,
            constraint: trigger.constraint,
            referenced: referenced.map(|table| table.id()),
            firing: TriggerFiring::Origin,
        })
    }

    fn existing_table(&self, name: &QualifiedName) -> Result<Arc<Table>> {
        self.table(&self.meant(name)).ok_or_else(|| self.no_relation(name))
    }
}

fn set_firing(definition: &mut TableDefinition, name: Option<&str>, firing: TriggerFiring) {
    let meant = definition.triggers.iter_mut().filter(|trigger| name.is_none_or(|name| trigger.name == name));
    meant.for_each(|trigger| trigger.firing = firing);
}

/// An action of ALTER TABLE: ENABLE and DISABLE TRIGGER.
pub(super) fn set_firing_action(name: &str, firing: TriggerFiring, is_quoted: bool) -> AlterAction {
    let is_all = !is_quoted && ["all", "user"].iter().any(|word| name.eq_ignore_ascii_case(word));
    let name = if is_all { None } else { Some(name.to_owned()) };
    AlterAction::Trigger(TriggerAction::SetFiring { name, firing })
}
