//! PostgreSQL's system catalog and information schema, built from what the engine knows when a statement
//! asks.
//!
//! A [`relation::SystemRelation`] is a name and columns. The planner treats it like a query whose rows are
//! kept. A [`snapshot::System`] is the catalog as the statement's transaction sees it: tables, sequences
//! and routines with their numbers (`object_id`), and what views show of the session. `answers` lists the
//! source of each relation's rows.
//!
//! Files:
//! * the frame: `relation` (the relations, with their columns in `relations.txt`), `answers` (which function
//!   makes the rows of which), `row` (values of rows), `snapshot` (what is known when a statement begins),
//!   `object_id` (numbers of objects), `names` (objects by name and number);
//! * rows: `class` and `classes` (relations and columns), `constraints`, `routines`, `roles`, `comments`,
//!   `triggers`, `casts`, `extensions`, `available_extensions` (those that can be created), `data_types`
//!   (from `types.txt`), `operator_classes`, `user_types` (those that users have created) and `domains`,
//!   `cluster` (everything that exists once), `builtins` (functions, operators and casts, from
//!   `functions.txt` and other files), `sizes` (memory and logs);
//! * `views` and `statistics`: the views on those; `information_schema` and `granted` (its views about
//!   privileges), with `visibility` (who sees which rows);
//! * functions that SQL can call: `functions`; `definitions` (objects as SQL), `shown_text` (that SQL without
//!   schemas that the reader's path finds anyway).

mod answers;
pub(crate) mod available_extensions;
pub(crate) mod builtins;
mod casts;
mod class;
mod classes;
mod cluster;
mod comments;
mod constraints;
mod data_types;
mod definitions;
mod domains;
mod extensions;
mod functions;
mod granted;
mod information_schema;
mod names;
pub(crate) mod object_id;
pub(crate) mod operator_classes;
pub(crate) mod relation;
mod roles;
mod routines;
pub(crate) mod row;
mod shown_text;
mod sizes;
pub(crate) mod snapshot;
mod statistics;
mod triggers;
mod user_types;
mod views;
mod visibility;

pub(crate) use data_types::physical_form;
