//! ALTER TABLE: the actions follow one another once the table is locked, each a function of the table that
//! the previous one has left.
//!
//! An action yields catalog changes, and perhaps a procedure to run over the rows, such as a test whether
//! they satisfy a new constraint ([`Stepped`]). If anything fails, all of it is undone together.
//!
//! Reference: PostgreSQL's tablecmds.c.

use std::collections::VecDeque;
use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt, TableLock};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, Deferral, IndexKind, PrimaryKey, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::ast;

use super::alteration_steps::{AlterStep, Alteration};
use super::command::{AlterAction, SchemaCommand};
use super::filling::{compile_filling, compile_validation};
use super::materialized_views::{check_actions, compile_refill};
use super::tables::{check_ordered, primary_key};
use super::wanted::WantedCheck;
use crate::answer::Output;
use crate::emit::run_plan::RunPlan;
use crate::statement::QualifiedName;
use crate::viewpoint::Viewpoint;

/// Gives a table another definition without changing its rows.
pub(crate) fn altered(table: &Table, definition: TableDefinition) -> CatalogChange {
    CatalogChange::AlterTable { id: table.id(), definition: Box::new(definition), columns: None }
}

/// What a step of ALTER TABLE comes to.
pub(crate) enum Stepped {
    /// Nothing is left to do.
    Over,
    Changed(Vec<CatalogChange>),
    /// This must run over the rows before the next step.
    Runs(Box<RunPlan>),
}

impl Viewpoint {
    pub(crate) fn begun_alteration(
        &self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<Option<Box<Alteration>>> {
        let (table, steps) = match command {
            SchemaCommand::AlterTable { table, if_exists, actions, is_materialized } => {
                let table = self.altered_table(table, *if_exists, output)?;
                if let Some(table) = &table {
                    check_actions(&table.definition(), actions, *is_materialized)?;
                }
                (table, actions.iter().cloned().map(AlterStep::Action).collect())
            }
            SchemaCommand::CreateIndex(wanted) if wanted.is_computed() => {
                let action = AlterAction::AddIndex(Box::new(wanted.clone()));
                (self.table_to_index(wanted, output)?, VecDeque::from([AlterStep::Action(action)]))
            }
            SchemaCommand::Trigger(command) => {
                let action = AlterAction::Trigger(command.action.clone());
                (self.table_of_trigger(command, output)?, VecDeque::from([AlterStep::Action(action)]))
            }
            SchemaCommand::Refresh(refresh) => {
                let step = AlterStep::Action(AlterAction::Refresh(refresh.clone()));
                (Some(self.refreshed_table(&refresh.name)?), VecDeque::from([step]))
            }
            _ => return Ok(None),
        };
        let is_beside_readers = matches!(command, SchemaCommand::Refresh(refresh) if refresh.is_concurrent);
        let lock = if is_beside_readers { TableLock::Exclusive } else { TableLock::AccessExclusive };
        Ok(table.map(|table| {
            Box::new(Alteration { name: table.definition().name.clone(), table, lock, steps, again: false })
        }))
    }

    /// Carries out the next step.
    pub(crate) fn alteration_step(
        &mut self,
        alteration: &mut Alteration,
        output: &mut dyn Output,
    ) -> Flow<Stepped> {
        let Some(step) = alteration.steps.pop_front() else { return Ok(Stepped::Over) };
        let table = Arc::clone(&alteration.table);
        let changes = match step {
            AlterStep::Action(action) => {
                let changes = self.changes_of_action(&action, alteration, output);
                let is_to_wait = matches!(changes, Err(Interrupt::Wait(_)));
                if std::mem::take(&mut alteration.again) || is_to_wait {
                    alteration.steps.push_front(AlterStep::Action(action));
                }
                changes?
            }
            AlterStep::SetNotNull(column) => {
                let mut definition = TableDefinition::clone(&table.definition());
                definition.columns[usize::from(column)].is_nullable = false;
                vec![altered(&table, definition)]
            }
            AlterStep::Become { definition, columns } => {
                let (id, columns) = (table.id(), Some(columns));
                vec![CatalogChange::AlterTable { id, definition, columns }]
            }
            AlterStep::Index(index) => {
                vec![CatalogChange::CreateIndex { table: table.id(), index: *index }]
            }
            AlterStep::Prove(constraint) => {
                let tables = self.compiling();
                let compiled = compile_validation(self.context(&tables), &table, &constraint)?;
                return Ok(Stepped::Runs(Box::new(compiled)));
            }
            AlterStep::Refill { is_concurrent } => {
                let tables = self.compiling();
                let compiled = compile_refill(self.context(&tables), &table, is_concurrent, None)?;
                return Ok(Stepped::Runs(Box::new(compiled)));
            }
            AlterStep::Fill(filling) => {
                let tables = self.compiling();
                let compiled = compile_filling(self.context(&tables), &table, &filling)?;
                return Ok(Stepped::Runs(Box::new(compiled)));
            }
        };
        Ok(Stepped::Changed(changes))
    }

    /// Error 0A000 if a view uses the column.
    fn refuse_type_under_views(&self, table: &Table, column: &str) -> Result<()> {
        let at = table.definition().column_index(column).and_then(|at| u16::try_from(at).ok());
        let Some(at) = at else { return Ok(()) };
        if let Some(routine) = self.routines_using(|uses| uses.uses_column(table.id(), column)).next() {
            let name = self.shown_signature(&routine.definition);
            let message = "cannot alter type of a column used by a function or procedure";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_detail(format!("function {name} depends on column \"{column}\"")));
        }
        let Some((view, _)) =
            self.views_over(table.id()).into_iter().find(|(_, own)| own.uses_column(table.id(), at))
        else {
            return Ok(());
        };
        let view = self.described_table(&view);
        let message = "cannot alter type of a column used by a view or rule";
        Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
            .with_detail(format!("rule _RETURN on {view} depends on column \"{column}\"")))
    }

    fn changes_of_action(
        &mut self,
        action: &AlterAction,
        alteration: &mut Alteration,
        output: &mut dyn Output,
    ) -> Flow<Vec<CatalogChange>> {
        let table = Arc::clone(&alteration.table);
        if let AlterAction::SetType { column, .. } = action {
            self.refuse_type_under_views(&table, column)?;
        }
        let changes = match action {
            AlterAction::AddPrimaryKey(key) => self.added_primary_key(&table, key),
            AlterAction::AddUnique(unique) => self.added_unique(&table, unique),
            AlterAction::AddIndex(wanted) => self.added_index(alteration, wanted),
            AlterAction::UseIndex { name, index, is_primary, deferral, position } => {
                let named = (name.as_deref(), index.as_str(), *position);
                self.constraint_of_index(&table, named, (*is_primary, *deferral), output)
            }
            AlterAction::AddForeignKey(foreign_key) => self.added_foreign_key(&table, foreign_key),
            AlterAction::AddCheck(wanted) => self.added_check(alteration, wanted),
            AlterAction::ValidateConstraint(name) => validated(alteration, name),
            AlterAction::DropConstraint { name, may_lack, cascades } => {
                self.dropped_constraint(&table, (name, *may_lack, *cascades), output)
            }
            AlterAction::AddColumn { column, if_not_exists } => {
                self.added_column(alteration, column, *if_not_exists, output)
            }
            AlterAction::DropColumn { name, may_lack, cascades } => {
                return self.dropped_column(alteration, name, (*may_lack, *cascades), output);
            }
            AlterAction::SetType { column, declared, collation, using } => {
                self.retyped_column(alteration, column, (*declared, *collation), using.as_deref())
            }
            AlterAction::SetDefault { column, default } => {
                self.set_default(&table, column, default.as_deref())
            }
            AlterAction::SetNullable { column, is_nullable } => set_nullable(&table, column, *is_nullable),
            AlterAction::AddIdentity { column, identity, options } => {
                self.added_identity(&table, column, (*identity, options))
            }
            AlterAction::SetIdentity { column, identity, options } => {
                self.altered_identity(&table, column, (*identity, options))
            }
            AlterAction::DropIdentity { column, may_lack } => {
                self.dropped_identity(&table, column, *may_lack, output)
            }
            AlterAction::AlterConstraint { name, deferral } => altered_constraint(&table, name, *deferral),
            AlterAction::RenameColumn { from, to } => self.renamed_column(&table, from, to),
            AlterAction::RenameConstraint { from, to } => self.renamed_constraint(&table, from, to),
            AlterAction::SetOwner(role) => {
                let name = &table.definition().name;
                let name = QualifiedName::new(Some(name.schema.clone()), name.name.clone());
                self.relation_object(&name).and_then(|object| self.changed_owner(&object, role))
            }
            AlterAction::ChangeParameters { changes, is_of_view } => {
                self.reparametrized(&table, changes, *is_of_view)
            }
            AlterAction::Refresh(refresh) => self.refreshed(alteration, refresh),
            AlterAction::Trigger(action) => self.changed_triggers(&table, action, output),
        };
        changes.map_err(Interrupt::Failed)
    }

    /// SET and DROP DEFAULT.
    fn set_default(
        &self,
        table: &Arc<Table>,
        name: &str,
        default: Option<&ast::Expr>,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        let at = usize::from(column_of(&definition, name)?);
        if definition.columns[at].identity.is_some() {
            let message =
                format!("column \"{name}\" of relation \"{}\" is an identity column", definition.name.name);
            let error = Error::input(sqlstate::SYNTAX_ERROR, message);
            let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.";
            return Err(if default.is_none() { error.with_hint(hint) } else { error });
        }
        if definition.columns[at].generation.is_some() {
            let message =
                format!("column \"{name}\" of relation \"{}\" is a generated column", definition.name.name);
            let error = Error::input(sqlstate::SYNTAX_ERROR, message);
            let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.";
            return Err(if default.is_none() { error.with_hint(hint) } else { error });
        }
        definition.columns[at].default = match default {
            Some(default) => self.bound_default(&definition.columns[at], default)?,
            None => None,
        };
        Ok(vec![altered(table, definition)])
    }

    fn added_check(&self, alteration: &mut Alteration, wanted: &WantedCheck) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&alteration.table.definition());
        if let Some(name) = wanted.name.as_ref().filter(|name| definition.has_constraint(name)) {
            return Err(duplicate_constraint(&definition, name));
        }
        let check = self.bound_check(&alteration.table, wanted)?;
        if !check.is_not_valid {
            alteration.steps.push_front(AlterStep::Prove(check.name.clone()));
        }
        definition.checks.push(check);
        Ok(vec![altered(&alteration.table, definition)])
    }
}

/// Error 42710 for a constraint.
pub(super) fn duplicate_constraint(definition: &TableDefinition, name: &str) -> Error {
    let table = &definition.name.name;
    let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
    Error::input(sqlstate::DUPLICATE_OBJECT, message)
}

/// Error 42703 for a column.
pub(super) fn no_column(definition: &TableDefinition, name: &str) -> Error {
    let table = &definition.name.name;
    let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
    Error::input(sqlstate::UNDEFINED_COLUMN, message)
}

/// The number of a column, or error 42703.
pub(super) fn column_of(definition: &TableDefinition, name: &str) -> Result<u16> {
    let at = definition.column_index(name).and_then(|at| u16::try_from(at).ok());
    at.ok_or_else(|| no_column(definition, name))
}

/// SET and DROP NOT NULL.
fn set_nullable(table: &Table, name: &str, is_nullable: bool) -> Result<Vec<CatalogChange>> {
    let mut definition = TableDefinition::clone(&table.definition());
    let number = column_of(&definition, name)?;
    let is_key = definition.declared_key().is_some_and(|(_, key)| key.contains(&number));
    let column = &mut definition.columns[usize::from(number)];
    if is_nullable && column.identity.is_some() {
        let message =
            format!("column \"{name}\" of relation \"{}\" is an identity column", definition.name.name);
        return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
    }
    if is_nullable && is_key {
        let message = format!("column \"{name}\" is in a primary key");
        return Err(Error::input(sqlstate::INVALID_TABLE_DEFINITION, message));
    }
    if std::mem::replace(&mut column.is_nullable, is_nullable) == is_nullable {
        return Ok(Vec::new());
    }
    Ok(vec![altered(table, definition)])
}

/// Error 42704 for a constraint.
pub(super) fn no_constraint(definition: &TableDefinition, name: &str) -> Error {
    let table = &definition.name.name;
    let message = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
    Error::input(sqlstate::UNDEFINED_OBJECT, message)
}

/// ALTER CONSTRAINT.
fn altered_constraint(table: &Table, name: &str, deferral: Deferral) -> Result<Vec<CatalogChange>> {
    let mut definition = TableDefinition::clone(&table.definition());
    if !definition.has_constraint(name) {
        return Err(no_constraint(&definition, name));
    }
    let Some(key) = definition.foreign_keys.iter_mut().find(|key| key.name == name) else {
        let table = &definition.name.name;
        let message =
            format!("constraint \"{name}\" of relation \"{table}\" is not a foreign key constraint");
        return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
    };
    if std::mem::replace(&mut key.deferral, deferral) == deferral {
        return Ok(Vec::new());
    }
    Ok(vec![altered(table, definition)])
}

fn validated(alteration: &mut Alteration, name: &str) -> Result<Vec<CatalogChange>> {
    let mut definition = TableDefinition::clone(&alteration.table.definition());
    if let Some(key) = definition.foreign_key(name) {
        let (id, name) = (alteration.table.id(), name.to_owned());
        let change = CatalogChange::ValidateForeignKey { id, name };
        return Ok(if key.is_not_valid { vec![change] } else { Vec::new() });
    }
    let Some(check) = definition.checks.iter_mut().find(|check| check.name == name) else {
        if !definition.has_constraint(name) {
            return Err(no_constraint(&definition, name));
        }
        let table = &definition.name.name;
        let message =
            format!("constraint \"{name}\" of relation \"{table}\" is not a foreign key or check constraint");
        return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
    };
    if !std::mem::replace(&mut check.is_not_valid, false) {
        return Ok(Vec::new());
    }
    alteration.steps.push_front(AlterStep::Prove(name.to_owned()));
    Ok(vec![altered(&alteration.table, definition)])
}

pub(super) fn refuse_second_key(definition: &TableDefinition) -> Result<()> {
    if definition.declared_key().is_none() {
        return Ok(());
    }
    let message = format!("multiple primary keys for table \"{}\" are not allowed", definition.name.name);
    Err(Error::input(sqlstate::INVALID_TABLE_DEFINITION, message))
}

/// Adds a PRIMARY KEY by which the rows are stored.
pub(super) fn added_key(
    definition: &TableDefinition,
    name: Option<&str>,
    columns: &[String],
) -> Result<PrimaryKey> {
    if let Some(missing) = columns.iter().find(|column| definition.column_index(column).is_none()) {
        return Err(Error::input(
            sqlstate::UNDEFINED_COLUMN,
            format!("column \"{missing}\" of relation \"{}\" does not exist", definition.name.name),
        ));
    }
    refuse_second_key(definition)?;
    let key = primary_key(definition, name.map(str::to_owned), columns, IndexKind::Ordered)?;
    for column in &key.columns {
        check_ordered(definition.columns[usize::from(*column)].sql_type)?;
    }
    Ok(key)
}
