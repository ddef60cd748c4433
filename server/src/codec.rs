//! The PostgreSQL frontend/backend protocol 3.0, as bytes: no sockets, no sessions.
//!
//! Files:
//! * [`frontend`]: messages from clients. A frame (type byte, length, body) is first cut from a byte buffer,
//!   and its length checked against a limit before anything is allocated or awaited. The body is decoded
//!   afterwards into a [`frontend::Message`] that borrows from the buffer.
//! * `reader`: the cursor with which bodies are decoded.
//! * [`startup`]: the untyped first packets (startup, SSL and GSS requests, cancel).
//! * [`backend`]: messages to clients, appended to one reusable `Vec<u8>` so that a whole batch of answers
//!   leaves with a single write. That is why this is own code: codecs that flush per message take three times
//!   the CPU.
//! * [`types`]: the types that clients declare for parameters.
//!
//! Invariants:
//! 1. No sequence of bytes makes a decoder panic, allocate more than it received, or read outside its frame.
//! 2. An error in a body leaves the frame boundary intact: the connection reports it and goes on. An error in
//!    a frame header is final: the stream has lost its boundaries ([`FrameError`]).
//!
//! Reference: PostgreSQL documentation, chapter "Frontend/Backend Protocol".

pub mod backend;
pub mod frontend;
pub mod reader;
pub mod startup;
pub mod types;

#[cfg(test)]
mod tests;

use std::fmt;

/// The stream can no longer be cut into messages: report the error and close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameError {
    pub state: hyades::types::error::SqlState,
    pub message: String,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FrameError {}

impl From<FrameError> for hyades::Error {
    fn from(error: FrameError) -> hyades::Error {
        hyades::Error::input(error.state, error.message)
    }
}
