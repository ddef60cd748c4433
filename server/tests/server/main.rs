//! The real binary, driven by psql, by tokio-postgres, by `hyades bench`, and by hand-written bytes.
//!
//! Every test starts its own server on a free port with its own data directory. psql must be installed.

#![allow(clippy::unwrap_used)] // clippy exempts functions marked as tests, not the helpers between them

mod analyze_command;
mod answers;
mod bench_command;
mod check_command;
mod checkpoints;
mod cursors;
mod databases;
mod deep;
mod drivers;
mod foreign_keys;
mod guests;
mod hostile;
mod http;
mod lifecycle;
mod log_command;
mod log_files;
mod memory;
mod notifications;
mod operation;
mod procedures;
mod process;
mod psql;
mod raw;
mod recover_command;
mod roles;
mod study_command;
mod tls;
mod top;
mod tour;
mod wire;
