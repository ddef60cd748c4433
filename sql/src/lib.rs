//! The embeddable Hyades database.
pub mod session;

pub use hyades_engine as engine;
pub use hyades_engine::config::{Config, ProtocolKind};
pub use hyades_engine::error::{Error, Result, sqlstate};
pub use hyades_engine::value::{SqlType, Value};
pub use session::{Database, Session};
