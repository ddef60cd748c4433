//! ALTER TABLE: from the parser's tree to actions, in the order in which they are done.
//!
//! What an action means is decided from the table as it is then, when it is locked (`alteration`),
//! so only names and forms are checked here.
//!
//! Reference: ATPrepCmd of PostgreSQL's tablecmds.c, for the passes.

use hyades_types::definition::ColumnDefinition;
use hyades_types::definition::{Identity, TriggerFiring};
use hyades_types::error::{Error, Result};
use sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, ColumnOption, ColumnOptionDef, GeneratedAs, SqlOption,
    TableConstraint,
};

use super::checks::wanted_check;
use super::command::{AlterAction, SchemaCommand};
use super::tables::parameter_value;
use super::triggers::set_firing_action;
use super::wanted::{NewColumn, WantedForeignKey};
use crate::bind::types;
use crate::emit::Compiler;
use crate::statement::alteration_syntax::{
    IdentityChange, collation, constraint_change, constraint_position, identity_change,
};
use crate::statement::deep_text::Written;
use crate::statement::missing::missing_action;
use crate::statement::names::fold;
use crate::statement::query::loose_default;
use crate::statement::{ParameterChange, RoleName};

impl Compiler<'_> {
    pub(super) fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<SchemaCommand> {
        let table = self.name(&alter.name)?;
        let mut actions = Vec::with_capacity(alter.operations.len());
        for operation in &alter.operations {
            if let AlterTableOperation::AddColumn {
                column_def, if_not_exists, column_position: None, ..
            } = operation
            {
                self.added_column(&table.name, column_def, *if_not_exists, &mut actions)?;
            } else if let AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } =
                operation
            {
                actions.extend(column_names.iter().map(|name| AlterAction::DropColumn {
                    name: fold(name),
                    may_lack: *if_exists,
                    cascades: matches!(drop_behavior, Some(ast::DropBehavior::Cascade)),
                }));
            } else {
                actions.push(self.action(operation)?);
            }
        }
        // Stable: within a pass, actions are done in the order in which they are written.
        actions.sort_by_key(pass);
        Ok(SchemaCommand::AlterTable { table, if_exists: alter.if_exists, actions, is_materialized: false })
    }

    fn action(&self, operation: &AlterTableOperation) -> Result<AlterAction> {
        use AlterTableOperation as Do;
        match operation {
            Do::AddConstraint { constraint, not_valid } => self.added_constraint(constraint, *not_valid),
            Do::ValidateConstraint { name } => Ok(AlterAction::ValidateConstraint(fold(name))),
            Do::DropConstraint { if_exists, name, drop_behavior } => Ok(AlterAction::DropConstraint {
                name: fold(name),
                may_lack: *if_exists,
                cascades: matches!(drop_behavior, Some(ast::DropBehavior::Cascade)),
            }),
            Do::AlterColumn { column_name, op } => self.altered_column(fold(column_name), op),
            Do::RenameColumn { old_column_name, new_column_name } => {
                Ok(AlterAction::RenameColumn { from: fold(old_column_name), to: fold(new_column_name) })
            }
            Do::RenameConstraint { old_name, new_name } => {
                Ok(AlterAction::RenameConstraint { from: fold(old_name), to: fold(new_name) })
            }
            Do::SetOptionsParens { options } => {
                let parameters = options.iter().filter_map(|option| match option {
                    SqlOption::KeyValue { key, value } => Some((fold(key), parameter_value(value))),
                    SqlOption::Ident(name) => Some((fold(name), "true".to_owned())),
                    _ => None,
                });
                let changes = vec![ParameterChange::Set(parameters.collect())];
                Ok(AlterAction::ChangeParameters { changes, is_of_view: false })
            }
            Do::OwnerTo { new_owner } => Ok(AlterAction::SetOwner(match new_owner {
                ast::Owner::Ident(ident) => RoleName::Named(fold(ident)),
                ast::Owner::CurrentRole | ast::Owner::CurrentUser => RoleName::Current,
                ast::Owner::SessionUser => RoleName::Session,
            })),
            Do::EnableTrigger { name } => Ok(firing(name, TriggerFiring::Origin)),
            Do::DisableTrigger { name } => Ok(firing(name, TriggerFiring::Never)),
            Do::EnableReplicaTrigger { name } => Ok(firing(name, TriggerFiring::Replica)),
            Do::EnableAlwaysTrigger { name } => Ok(firing(name, TriggerFiring::Always)),
            other => self.refuse_action(other),
        }
    }

    fn refuse_action<T>(&self, operation: &AlterTableOperation) -> Result<T> {
        let shown = operation.to_string().to_ascii_lowercase();
        let words: Vec<&str> = shown.split_whitespace().take(2).collect();
        let name = words.join(" ");
        let what = format!("ALTER TABLE ... {} is", name.to_ascii_uppercase());
        self.binder.unsupported_at(missing_action(&name), &what, &words)
    }

    /// A new column, and its constraints as actions of their own.
    fn added_column(
        &mut self,
        table: &str,
        written: &ast::ColumnDef,
        if_not_exists: bool,
        actions: &mut Vec<AlterAction>,
    ) -> Result<()> {
        let (mut keys, mut uniques) = (Vec::new(), Vec::new());
        let is_default = |option: &ColumnOptionDef| matches!(option.option, ColumnOption::Default(_));
        let mut plain = written.clone();
        plain.options.retain(|option| !is_default(option));
        let mut definition = self.column_definition(&plain, &mut keys, &mut uniques)?;
        for option in &written.options {
            if let ColumnOption::Default(expr) = &option.option {
                definition.default = self.later_default(expr, &definition)?;
            }
        }
        let sequence = self.column_sequence(table, written, &mut definition, 0)?;
        definition.generation = self.unread_generation(table, written)?;
        let column = Box::new(NewColumn { definition, sequence });
        actions.push(AlterAction::AddColumn { column, if_not_exists });
        actions.extend(keys.into_iter().map(AlterAction::AddPrimaryKey));
        actions.extend(uniques.into_iter().map(|mut unique| {
            unique.is_of_new_table = false;
            AlterAction::AddUnique(unique)
        }));
        for option in &written.options {
            if let ColumnOption::Check(check) = &option.option {
                actions.push(AlterAction::AddCheck(wanted_check(check, option.name.as_ref(), false)?));
            }
        }
        let mut foreign_keys = Vec::new();
        self.foreign_keys_of(written, &mut foreign_keys)?;
        actions.extend(foreign_keys.into_iter().map(AlterAction::AddForeignKey));
        Ok(())
    }

    /// A DEFAULT whose errors have no position, as in PostgreSQL for existing tables.
    fn later_default(&mut self, expr: &ast::Expr, column: &ColumnDefinition) -> Result<Option<String>> {
        if let Some(error) = loose_default(self.binder.sql, expr) {
            return Err(error);
        }
        self.kept_default(expr, column).map_err(Error::without_position)
    }

    fn altered_column(&self, column: String, operation: &AlterColumnOperation) -> Result<AlterAction> {
        use AlterColumnOperation as Do;
        Ok(match operation {
            Do::SetNotNull => AlterAction::SetNullable { column, is_nullable: false },
            Do::DropNotNull => AlterAction::SetNullable { column, is_nullable: true },
            Do::SetDefault { value } => {
                if let Some(deferral) = constraint_change(self.binder.sql, value)? {
                    return Ok(AlterAction::AlterConstraint { name: column, deferral });
                }
                if let Some(change) = identity_change(self.binder.sql, value)? {
                    return Ok(match change {
                        IdentityChange::Set(identity, options) => {
                            AlterAction::SetIdentity { column, identity, options }
                        }
                        IdentityChange::Drop { may_lack } => AlterAction::DropIdentity { column, may_lack },
                    });
                }
                if let Some(error) = loose_default(self.binder.sql, value) {
                    return Err(error);
                }
                AlterAction::SetDefault { column, default: Some(Written::new(value.clone())) }
            }
            Do::DropDefault => AlterAction::SetDefault { column, default: None },
            Do::SetDataType { data_type, using, .. } => {
                let declared = types::declared_column(data_type, &self.binder)?;
                let (collation, using) = using.as_ref().map_or((None, None), collation);
                let collation = collation.map(|own| self.collation(declared.sql_type, own)).transpose();
                let collation = collation.map_err(Error::without_position)?.unwrap_or_default();
                AlterAction::SetType { column, declared, collation, using: using.cloned().map(Written::new) }
            }
            Do::AddGenerated { generated_as, sequence_options } => {
                let identity = match generated_as {
                    Some(GeneratedAs::ByDefault) => Identity::ByDefault,
                    _ => Identity::Always,
                };
                let options = self.identity_options(sequence_options.as_deref())?;
                AlterAction::AddIdentity { column, identity, options }
            }
        })
    }

    fn added_constraint(&self, constraint: &TableConstraint, is_not_valid: bool) -> Result<AlterAction> {
        match constraint {
            TableConstraint::ForeignKey(key) => {
                let foreign_key = WantedForeignKey { is_not_valid, ..self.foreign_key(key)? };
                Ok(AlterAction::AddForeignKey(foreign_key))
            }
            TableConstraint::Unique(unique) => Ok(AlterAction::AddUnique(self.unique(unique)?)),
            TableConstraint::UniqueUsingIndex(using) | TableConstraint::PrimaryKeyUsingIndex(using) => {
                let deferral = self.deferral(using.characteristics.as_ref())?;
                let (name, index) = (using.name.as_ref().map(fold), fold(&using.index_name));
                let is_primary = matches!(constraint, TableConstraint::PrimaryKeyUsingIndex(_));
                let position = constraint_position(self.binder.sql, &using.index_name, name.is_some());
                Ok(AlterAction::UseIndex { name, index, is_primary, deferral, position })
            }
            TableConstraint::Check(check) => {
                Ok(AlterAction::AddCheck(wanted_check(check, None, is_not_valid)?))
            }
            other => Ok(AlterAction::AddPrimaryKey(self.table_constraint(other)?)),
        }
    }
}

fn firing(name: &ast::Ident, firing: TriggerFiring) -> AlterAction {
    set_firing_action(&fold(name), firing, name.quote_style.is_some())
}

/// The passes in which PostgreSQL executes the actions.
fn pass(action: &AlterAction) -> u8 {
    match action {
        AlterAction::DropConstraint { .. }
        | AlterAction::DropColumn { .. }
        | AlterAction::DropIdentity { .. }
        | AlterAction::SetDefault { default: None, .. }
        | AlterAction::SetNullable { is_nullable: true, .. } => 0,
        AlterAction::SetType { .. } => 1,
        AlterAction::AddColumn { .. } => 2,
        AlterAction::SetNullable { .. } | AlterAction::AddIdentity { .. } => 3,
        AlterAction::AddPrimaryKey(_)
        | AlterAction::AddUnique(_)
        | AlterAction::AddIndex(_)
        | AlterAction::UseIndex { .. } => 4,
        AlterAction::AddForeignKey(_) | AlterAction::AddCheck(_) | AlterAction::SetDefault { .. } => 5,
        AlterAction::ValidateConstraint(_)
        | AlterAction::RenameColumn { .. }
        | AlterAction::RenameConstraint { .. }
        | AlterAction::SetIdentity { .. }
        | AlterAction::AlterConstraint { .. }
        | AlterAction::SetOwner(_)
        | AlterAction::ChangeParameters { .. }
        | AlterAction::Refresh(_)
        | AlterAction::Trigger(_) => 6,
    }
}
