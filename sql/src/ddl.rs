//! DDL: everything that changes the catalog, from the parsed statement to the changes, a file for each kind
//! of object.
//!
//! A statement is compiled to a `command`. When it runs, the names are looked up in the session's view of the
//! database (`viewpoint`), and the command becomes a list of changes, which the session makes one
//! by one. Some changes are determined only after something has been locked.
//!
//! Files:
//! * statements: `command`, `alteration_steps` (changes that are determined once something is locked);
//! * Tables: `tables` (CREATE, DROP), `wanted` (parts of tables as they are written), `table_as` (CREATE
//!   TABLE AS), `table_like` (LIKE), `truncation`, `temporary`, `checks` (CHECK), `generated_columns`,
//!   `identity_columns`, `foreign_keys`, `storage_parameter` (WITH), `parameter_changes` (SET, RESET).
//! * ALTER TABLE: `alter_table` (the statement), `alteration` (its actions), `column_changes`, `renames`,
//!   `bound` (expressions of altered tables), `filling` (procedures over all rows), `index_constraints`
//!   (USING INDEX).
//! * Indexes: `indexes` (the statements), `index_changes`, `index_expressions` (what they compute from a
//!   row).
//! * Other kinds of objects: `views`, `view_changes`, `materialized_views`, `sequences`, `drawing_defaults`
//!   (defaults that draw from them), `routine_definition` (procedures and functions), `standard_bodies`,
//!   `aggregates`, `types`, `enum_types`, `composite_types`, `domains`, `type_spelling` (types in
//!   stored texts), `stored_texts`, `schemas`, `roles`, `databases`, `stored_settings`
//!   (of roles and databases), `triggers`, `extensions`, `casts`.
//! * For all kinds: `comment_on`, `moves` (SET SCHEMA), `grants` (rights, OWNER TO), `ownership` (who may
//!   change what), `dependents` and `object_drops` (what is dropped together), `pending_checks` (deferred
//!   checks that refuse a change).

mod aggregates;
mod alter_table;
pub(crate) mod alteration;
pub(crate) mod alteration_steps;
mod bound;
mod casts;
mod checks;
mod column_changes;
pub(crate) mod command;
mod comment_on;
mod composite_types;
pub(crate) mod databases;
mod dependents;
pub(crate) mod domains;
mod drawing_defaults;
mod enum_types;
pub(crate) mod extensions;
mod filling;
mod foreign_keys;
mod generated_columns;
mod grants;
mod identity_columns;
mod index_changes;
mod index_constraints;
mod index_expressions;
mod indexes;
pub(crate) mod materialized_views;
mod moves;
mod object_drops;
mod ownership;
mod parameter_changes;
mod pending_checks;
mod renames;
mod roles;
mod routine_definition;
pub(crate) mod schemas;
mod sequences;
pub(crate) mod standard_bodies;
mod storage_parameter;
mod stored_settings;
mod stored_texts;
pub(crate) mod table_as;
mod table_like;
mod tables;
mod temporary;
mod triggers;
mod truncation;
mod type_spelling;
mod types;
mod view_changes;
mod views;
mod wanted;

use hyades_types::definition::CatalogChange;
use hyades_types::error::Result;

use crate::answer::Output;
use crate::emit::Compiler;
use crate::statement::Statement;
use crate::viewpoint::Viewpoint;
use command::{CatalogStatement, SchemaCommand};

impl Compiler<'_> {
    /// Compiles a statement that changes the catalog. `None` for others, and for those of sqlparser
    /// ([`Compiler::schema`]).
    pub(crate) fn catalog_statement(&mut self, statement: &Statement) -> Result<Option<CatalogStatement>> {
        let compiled = match statement {
            Statement::CreateView(create) => self.create_view(create)?,
            Statement::DropView(drop) => self.drop_view(drop),
            Statement::AlterMaterialized(alter) => self.alter_materialized(alter)?,
            Statement::Refresh(refresh) => self.refresh(refresh),
            Statement::CreateTableAs(create) => self.create_table_as(create)?,
            Statement::CreateTableLike(create) => self.create_table_like(create)?,
            Statement::CreateRoutine(create) => self.create_routine(create)?,
            Statement::CreateAggregate(create) => self.create_aggregate(create)?,
            Statement::DropRoutine(drop) => self.drop_routine(drop)?,
            Statement::CreateSchema(create) => self.create_schema(create)?,
            Statement::DropSchema(drop) => self.drop_schema(drop),
            Statement::AlterSchema(alter) => self.alter_schema(alter),
            Statement::Access(command) => self.access(command)?,
            Statement::Database(command) => self.database(command),
            Statement::Move(change) => self.moved(change)?,
            Statement::CreateSequence(create) => self.create_sequence(create)?,
            Statement::AlterSequence(alter) => self.alter_sequence(alter),
            Statement::DropSequence(drop) => self.drop_sequence(drop),
            Statement::Comment(comment) => self.comment(comment)?,
            Statement::CreateType(create) => self.create_type(create)?,
            Statement::AlterType(alter) => self.alter_type(alter),
            Statement::DropType(drop) => self.drop_type(drop),
            Statement::Trigger(command) => self.trigger_command(command)?,
            Statement::Extension(command) => self.extension_command(command),
            Statement::Cast(command) => self.cast_command(command)?,
            Statement::CreateIndex(create) => self.create_index(create)?,
            Statement::DropIndex(drop) => self.drop_index(drop)?,
            Statement::RenameIndex(rename) => self.rename_index(rename),
            Statement::ChangeParameters(change) => self.change_parameters(change),
            Statement::ReindexIndex(name, is_concurrent) => self.reindex(name, *is_concurrent),
            _ => return Ok(None),
        };
        Ok(Some(compiled))
    }
}

impl Viewpoint {
    /// The changes of the catalog that a command makes at once.
    pub(crate) fn changes(
        &mut self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        self.check_may_change(command)?;
        self.refuse_pending(command)?;
        match command {
            SchemaCommand::Create { .. } | SchemaCommand::CreateAs { .. } => {
                self.created_table(command, output)
            }
            SchemaCommand::CreateView { definition, or_replace, names_schema } => {
                self.created_view(definition, *or_replace, *names_schema, output)
            }
            SchemaCommand::DropView(drop) => self.dropped_views(drop, output),
            // See `begun_alteration`.
            SchemaCommand::CreateIndex(wanted) if wanted.is_computed() => Ok(Vec::new()),
            SchemaCommand::CreateIndex(wanted) => self.created_index(wanted, output),
            SchemaCommand::DropIndex(drop) => self.dropped_indexes(drop, output),
            SchemaCommand::RenameIndex(rename) => self.renamed_index(rename, output),
            SchemaCommand::ChangeParameters(change) => self.reparametrized_index(change, output),
            SchemaCommand::Reindex(name, is_concurrent) => self.reindexed(name, *is_concurrent),
            SchemaCommand::CreateSchema { name, owner, if_not_exists, .. } => {
                self.created_schema(name, owner.as_ref(), *if_not_exists, output)
            }
            SchemaCommand::Database(command) => self.check_alone(command).map(|()| Vec::new()),
            // See `late_change`.
            SchemaCommand::DropSchema(_) | SchemaCommand::RenameSchema { .. } | SchemaCommand::Access(_) => {
                Ok(Vec::new())
            }
            SchemaCommand::Move { moved, name, if_exists, to } => {
                self.moved(moved, name, (*if_exists, to), output)
            }
            SchemaCommand::RenameRelation { kind, name, if_exists, to } => {
                self.renamed_relation(kind, (name, *if_exists), to, output)
            }
            SchemaCommand::DiscardTemporaries => self.discarded_temporaries(),
            SchemaCommand::CreateSequence { name, if_not_exists, options } => {
                let name = self.own_name(name);
                self.created_sequence(&name, *if_not_exists, options, output)
            }
            SchemaCommand::AlterSequence { name, if_exists, options } => {
                self.altered_sequence(name, *if_exists, options, output)
            }
            SchemaCommand::DropSequence(drop) => self.dropped_sequences(drop, output),
            SchemaCommand::Type(command) => self.type_changes(command, output),
            SchemaCommand::Extension(command) => self.changed_extensions(command, output),
            SchemaCommand::Cast(command) => self.cast_changes(command, output),
            SchemaCommand::Comment { on, name, text } => self.commented(on, name, text.as_deref()),
            SchemaCommand::Drop { tables, if_exists, cascades } => {
                let dropped = self.existing_tables(tables, *if_exists, output)?;
                self.dropped(&dropped, *cascades, output)
            }
            SchemaCommand::Truncate { tables, cascades, restarts } => {
                self.truncated(tables, *cascades, *restarts, output)
            }
            SchemaCommand::CreateRoutine { definition, or_replace, .. } => {
                self.created_routine(definition, *or_replace)
            }
            SchemaCommand::DropRoutine { kind, if_exists, names, cascades } => {
                self.dropped_routines((*kind, *if_exists), names, *cascades, output)
            }
            // Its changes are determined action by action.
            SchemaCommand::AlterTable { .. } | SchemaCommand::Trigger(_) | SchemaCommand::Refresh(_) => {
                Ok(Vec::new())
            }
        }
    }
}
