//! DDL: everything that changes the catalog, a file for each kind of object.
//!
//! `command` is what such a statement compiles to, `wanted` are parts of tables as they are written.
//!
//! * Tables: `tables` (CREATE, DROP, TRUNCATE), `table_as` (CREATE TABLE AS), `table_like` (LIKE),
//!   `alter_table`, `checks` (CHECK constraints), `generated_columns`, `foreign_keys`, `storage_parameter`
//!   (WITH), `filling` (procedures over all rows of a table that is altered).
//! * Indexes: `indexes`, `index_expressions` (what they compute from a row).
//! * Other objects: `views`, `sequences`, `routine_definition` (procedures and functions), `enum_types`,
//!   `schemas`.
//! * For all kinds: `comment_on`, `moves` (SET SCHEMA, RENAME TO, OWNER TO), `grants` (roles and rights).

mod alter_table;
mod checks;
pub(crate) mod command;
mod comment_on;
mod enum_types;
pub(crate) mod filling;
mod foreign_keys;
mod generated_columns;
mod grants;
pub(crate) mod index_expressions;
mod indexes;
mod moves;
mod routine_definition;
pub(crate) mod schemas;
mod sequences;
mod storage_parameter;
pub(crate) mod table_as;
mod table_like;
pub(crate) mod tables;
mod views;
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
