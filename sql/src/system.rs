//! PostgreSQL's system catalog and information schema, built from what the engine knows when a statement
//! asks.
//!
//! A [`relation::SystemRelation`] is a name and columns. The planner treats it like a query whose rows are
//! kept. A [`snapshot::System`] is the catalog as the statement's transaction sees it: tables, sequences
//! and routines with their numbers (`object_id`), and what views show of the session. `answers` lists the
//! source of each relation's rows.
//!
//! Files: `relation` (the relations, with their columns in `relations.txt`), `row` (values of rows),
//! `class` and `classes` (relations and columns), `constraints`, `routines`, `roles`, `data_types` (from
//! `types.txt`), `cluster` (everything that exists once), `views`, `information_schema`, `definitions`
//! (objects as SQL), `shown_text`, `sizes` (memory and logs), `names` (objects and their numbers),
//! `functions` (those that SQL can call), `visibility` (who sees which rows).

mod answers;
mod class;
mod classes;
mod cluster;
mod comments;
mod constraints;
mod data_types;
mod definitions;
mod functions;
mod information_schema;
mod names;
pub(crate) mod object_id;
pub(crate) mod relation;
mod roles;
mod routines;
pub(crate) mod row;
mod shown_text;
mod sizes;
pub(crate) mod snapshot;
mod user_types;
mod views;
mod visibility;
