//! The embeddable Hyades database: SQL compiled to procedures, sessions, a blocking API.
//!
//! Files, in reading order:
//! * `statement`: text to statements;
//! * `bind`: names and types, with `evaluation` (literals and constants) and `expr` (inspecting and rewriting
//!   expressions);
//! * `viewpoint`: what a session sees of the database;
//! * `plan`: join order and access paths; `emit`: procedures; `explain`: how EXPLAIN prints them;
//! * `copy`: COPY; `ddl`: changes of the catalog; `compile`: from a text to what runs;
//! * `executor`: what procedures cannot do; `plpgsql`: bodies of routines;
//! * `system`: PostgreSQL's catalog; `settings`: SHOW, SET, RESET;
//! * `session`: the conversation with a client; `answer`: what a client receives; `password`: verifiers of
//!   passwords;
//! * `connection`: the blocking API; `verification`: whether rows satisfy their constraints.

mod answer;
mod bind;
mod compile;
pub mod connection;
mod copy;
mod ddl;
mod emit;
mod evaluation;
mod executor;
mod explain;
mod expr;
pub mod password;
mod plan;
mod plpgsql;
pub mod session;
mod settings;
mod statement;
mod system;
#[cfg(test)]
mod tests;
pub mod verification;
mod viewpoint;

pub use connection::{Connection, Transaction};
pub use hyades_engine as engine;
pub use hyades_engine::config::{Config, ControlKind, ProtocolKind};
pub use hyades_types as types;
pub use hyades_types::error::{Error, Result, sqlstate};
pub use hyades_types::value::{SqlType, Value};
pub use session::{Database, Session, routine_compiler};
pub use settings::SERVER_VERSION;
