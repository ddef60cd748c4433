//! DDL: everything that changes the catalog, a file for each kind of object.
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
