//! The meaning of SQL in Hyades, without a database: values and their types, the results of functions and
//! operators, text and binary forms, keys, definitions of tables and routines, errors with their SQLSTATEs.
//!
//! Files, in reading order:
//! * `value`: types and values; `error`: errors and SQLSTATEs; `refusal`: what is missing, and the way round
//!   it;
//! * `text`: PostgreSQL's text form, in and out; `binary`: its binary wire form; `array`, `rows`: both forms
//!   of arrays and of rows;
//! * `operator`: which operators there are; `arithmetic`, `compare`, `cast`, `function`, `like`: the
//!   operations of expressions, with PostgreSQL's results and errors;
//! * `numeric`, `datetime`, `interval`, `zoned_time`: decimal numbers, the calendar, time spans and times
//!   with a zone, which those share;
//! * `json`: the types json and jsonb; `json_path`: paths into them; `enumeration`: enum types; `network`:
//!   network addresses;
//!   `extension` and `extension_cast`: types that extensions bring;
//! * `float`: elementary functions; `random`: random numbers; both the same on every machine; `foundations`:
//!   the versions on which results depend;
//! * `identifier`: names as SQL writes them;
//! * `environment`: what a computation may read of its surroundings; `guest`, `memory`: how much time and
//!   memory it may take; `collect`: lists and texts that keep to that;
//! * `advisory`, `cursors`, `deferred_checks`, `notifications`, `sleeps`: what routines do in their session
//!   besides computing, as interfaces and lists that the session implements or works off;
//! * `scalar`: the values that fit a machine word, for the interpreter; `key`: order-preserving bytes for
//!   indexes;
//! * `definition`: tables and routines; `sequence`: numbers that are given out once; `search_path`: how names
//!   are resolved;
//! * `access`: roles, owners and access lists;
//! * `generators`: random types and values, for property tests;
//! * `system_type`, `system_catalog`: types of PostgreSQL's catalog, and the view that computations have of
//!   ours.

pub mod access;
pub mod advisory;
pub mod arithmetic;
pub mod array;
pub mod binary;
pub mod cast;
pub mod collect;
pub mod compare;
pub mod cursors;
pub mod datetime;
pub mod deferred_checks;
pub mod definition;
pub mod enumeration;
pub mod environment;
pub mod error;
pub mod extension;
mod extension_cast;
pub mod float;
pub mod foundations;
pub mod function;
#[cfg(any(test, feature = "generators"))]
pub mod generators;
pub mod guest;
pub mod identifier;
pub mod interval;
pub mod json;
mod json_path;
pub mod key;
pub mod like;
pub mod memory;
pub mod network;
pub mod notifications;
pub mod numeric;
pub mod operator;
pub mod random;
pub mod refusal;
mod rows;
pub mod scalar;
pub mod search_path;
pub mod sequence;
pub mod sleeps;
pub mod system_catalog;
pub mod system_type;
pub mod text;
pub mod value;
pub mod zoned_time;

pub use error::{Error, Result};
