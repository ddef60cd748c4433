//! DDL: everything that changes the catalog, from the parsed statement to the changes, a file for each kind
//! of object.
//!
//! A statement is compiled to a `command`. When it runs, the names are looked up in the session's view of the
//! database (`viewpoint`), and the command becomes a list of changes (`changes`), which the session makes one
//! by one. Some changes are determined only after something has been locked (`alteration_steps`).
//!
//! * Tables: `tables` (CREATE, DROP), `wanted` (parts of tables as they are written), `table_as` (CREATE
//!   TABLE AS), `table_like` (LIKE), `truncation`, `temporary`, `checks` (CHECK), `generated_columns`,
//!   `identity_columns`, `foreign_keys`, `storage_parameter` (WITH).
//! * ALTER TABLE: `alter_table` (the statement), `alteration` (its actions), `column_changes`, `renames`,
//!   `bound` (expressions of altered tables), `filling` (procedures over all rows), `index_constraints`
//!   (USING INDEX).
//! * Indexes: `indexes` (the statements), `index_changes`, `index_expressions` (what they compute from a
//!   row).
//! * Other kinds of objects: `views`, `sequences`, `drawing_defaults` (defaults that draw from them),
//!   `routine_definition` (procedures and functions), `enum_types`, `type_spelling` (types in stored texts),
//!   `schemas`, `roles`.
//! * For all kinds: `comment_on`, `moves` (SET SCHEMA), `grants` (rights, OWNER TO), `ownership` (who may
//!   change what), `dependents` and `object_drops` (what is dropped together), `pending_checks` (deferred
//!   checks that refuse a change).

pub(crate) mod alter_table;
pub(crate) mod alteration;
pub(crate) mod alteration_steps;
pub(crate) mod bound;
pub(crate) mod changes;
pub(crate) mod checks;
pub(crate) mod column_changes;
pub(crate) mod command;
pub(crate) mod comment_on;
pub(crate) mod dependents;
pub(crate) mod drawing_defaults;
pub(crate) mod enum_types;
pub(crate) mod filling;
pub(crate) mod foreign_keys;
pub(crate) mod generated_columns;
pub(crate) mod grants;
pub(crate) mod identity_columns;
pub(crate) mod index_changes;
pub(crate) mod index_constraints;
pub(crate) mod index_expressions;
pub(crate) mod indexes;
pub(crate) mod moves;
pub(crate) mod object_drops;
pub(crate) mod ownership;
pub(crate) mod pending_checks;
pub(crate) mod renames;
pub(crate) mod roles;
pub(crate) mod routine_definition;
pub(crate) mod schemas;
pub(crate) mod sequences;
pub(crate) mod storage_parameter;
pub(crate) mod table_as;
pub(crate) mod table_like;
pub(crate) mod tables;
pub(crate) mod temporary;
pub(crate) mod truncation;
pub(crate) mod type_spelling;
pub(crate) mod views;
pub(crate) mod wanted;

use hyades_types::error::Result;

use crate::emit::Compiler;
use crate::statement::Statement;
use command::CatalogStatement;

impl Compiler<'_> {
    /// Compiles a statement that changes the catalog. `None` for others, and for those of sqlparser
    /// ([`Compiler::schema`]).
    pub(crate) fn catalog_statement(&mut self, statement: &Statement) -> Result<Option<CatalogStatement>> {
        let compiled = match statement {
            Statement::CreateView(create) => self.create_view(create)?,
            Statement::DropView(drop) => self.drop_view(drop),
            Statement::CreateTableAs(create) => self.create_table_as(create)?,
            Statement::CreateTableLike(create) => self.create_table_like(create)?,
            Statement::CreateRoutine(create) => self.create_routine(create)?,
            Statement::DropRoutine(drop) => self.drop_routine(drop)?,
            Statement::CreateSchema(create) => self.create_schema(create)?,
            Statement::DropSchema(drop) => self.drop_schema(drop),
            Statement::AlterSchema(alter) => self.alter_schema(alter),
            Statement::Access(command) => self.access(command)?,
            Statement::Move(change) => self.moved(change)?,
            Statement::CreateSequence(create) => self.create_sequence(create)?,
            Statement::AlterSequence(alter) => self.alter_sequence(alter),
            Statement::DropSequence(drop) => self.drop_sequence(drop),
            Statement::Comment(comment) => self.comment(comment)?,
            Statement::CreateType(create) => self.create_type(create)?,
            Statement::AlterType(alter) => self.alter_type(alter),
            Statement::DropType(drop) => self.drop_type(drop),
            Statement::CreateIndex(create) => self.create_index(create)?,
            Statement::DropIndex(drop) => self.drop_index(drop)?,
            Statement::RenameIndex(rename) => self.rename_index(rename),
            Statement::ReindexIndex(name, is_concurrent) => self.reindex(name, *is_concurrent),
            _ => return Ok(None),
        };
        Ok(Some(compiled))
    }
}
