//! Schemas and rows across crashes and clean stops.

mod altered_tables;
mod harness;
mod temporary_relations;
mod views;
