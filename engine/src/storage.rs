//! Storage: rows, records, tables and their indexes.
pub mod table;
