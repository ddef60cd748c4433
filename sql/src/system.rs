//! PostgreSQL's system catalog and information schema, made of what the engine knows when a statement asks.
//!
//! A [`relation::SystemRelation`] is a name and columns; the planner takes it for a query whose rows are
//! kept.
//! A [`snapshot::System`] is what there is as the statement's transaction sees it: tables, sequences and
//! routines with their numbers (`object_id`), and what of the session shows in views. `answers` says which
//! relation has which rows.
//!
//! Files: `relation` (the relations, their columns are in `relations.txt`), `row` (values of rows), `class`
//! and `classes` (relations and columns), `constraints`, `routines`, `roles`, `data_types` (in `types.txt`),
//! `cluster` (all that there is one of), `views`, `information_schema`, `definitions` (objects as SQL),
//! `shown_text`, `sizes` (memory and logs), `names` (objects and their numbers), `functions` (what SQL can
//! call).

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
