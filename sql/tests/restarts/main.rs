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
mod rows_changed_twice;
mod schemas;
mod standard_bodies;
mod temporary_relations;
mod triggers;
mod views;
mod zoned_times;

#[test]
fn rows_that_a_statement_changes_twice_are_recovered() {
    rows_changed_twice::change_rows_twice();
}
