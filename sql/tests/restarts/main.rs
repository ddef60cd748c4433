//! Schemas and rows across crashes and clean stops.

mod aggregates;
mod altered_tables;
mod casts;
mod composite_types;
mod cursors;
mod databases;
mod domains;
mod enum_types;
mod extension_types;
mod harness;
mod materialized_views;
mod polymorphic_routines;
mod roles;
mod schemas;
mod temporary_relations;
mod triggers;
mod views;
mod zoned_times;
