//! The Hyades server: PostgreSQL's wire protocol in front of [`hyades::Database`].
//!
//! Reading order: [`codec`] (bytes), [`scram`], [`users`] and [`tls`] (who gets in), [`registry`] (who is
//! connected), [`connection`] (one client's conversation), [`serve`] (the whole life of a server process).
//! The other commands: [`log_command`] (inspects logs), [`recover_command`] (makes a new database from them),
//! [`backup_command`] (backups, points in time, checks) with [`object_disk`] (in object stores), [`http`] and
//! [`top_command`] (for operators).

pub mod backup_command;
pub mod codec;
pub mod connection;
pub mod hang_up;
pub mod http;
pub mod log_command;
pub mod logging;
mod newcomers;
pub mod object_disk;
pub mod recover_command;
pub mod registry;
pub mod scram;
pub mod serve;
pub mod tls;
pub mod top_command;
pub mod users;
