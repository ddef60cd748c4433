//! What SQL means in Hyades, without a database: values and their types, what functions and operators make of
//! them, text and binary forms, keys, definitions of tables and routines, errors with their SQLSTATEs.
//!
//! Reading order:
//! * `value`: types and values; `error`: errors and SQLSTATEs;
//! * `text`: PostgreSQL's text form, in and out; `binary`: its binary wire form;
//! * `operator`, `arithmetic`, `compare`, `cast`, `function`, `like`: what expressions do, with PostgreSQL's
//!   results and errors;
//! * `numeric`, `datetime`, `interval`: the decimal numbers, the calendar and the spans of time that those
//!   share; `array_value`, `array`: arrays and their forms;
//! * `json`: the types json and jsonb; `enumeration`: enum types;
//! * `float`: elementary functions; `random`: random numbers; both the same on every machine, and
//!   `foundations` says of which version;
//! * `identifier`: names as SQL writes them;
//! * `environment`: what a computation may look at; `guest`, `memory`: how much it may take;
//! * `scalar`: the values that fit a machine word, for the interpreter; `key`: order-preserving bytes for
//!   indexes;
//! * `definition`: tables and routines; `search_path`: where their names lead;
//! * `access`: roles, owners and access lists;
//! * `system_type`, `system_catalog`: types of PostgreSQL's catalog, and what computations see of ours.

pub mod access;
pub mod advisory;
pub mod arithmetic;
pub mod array;
pub mod array_value;
pub mod binary;
pub mod cast;
pub mod compare;
pub mod cursors;
pub mod datetime;
pub mod deferred_checks;
pub mod definition;
pub mod enumeration;
pub mod environment;
pub mod error;
pub mod float;
pub mod foundations;
pub mod function;
#[cfg(any(test, feature = "generators"))]
pub mod generators;
pub mod guest;
pub mod identifier;
pub mod interval;
pub mod json;
pub mod key;
pub mod like;
pub mod memory;
pub mod notifications;
pub mod numeric;
pub mod operator;
pub mod random;
pub mod scalar;
pub mod search_path;
pub mod sequence;
pub mod system_catalog;
pub mod system_type;
pub mod text;
pub mod value;

pub use error::{Error, Result};
