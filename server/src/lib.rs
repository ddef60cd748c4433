//! The Hyades server: PostgreSQL's wire protocol in front of [`hyades::Database`].
//!
//! Files, in reading order:
//! * bytes: [`codec`];
//! * who gets in: [`scram`], [`users`], [`tls`], `newcomers` (limits on clients that have not authenticated);
//! * who is there: [`registry`] (connected clients), [`hang_up`] (those that left during a statement);
//! * [`connection`]: one client's conversation; [`serve`]: the whole life of a server process;
//! * for operators: [`logging`] (the server's log), [`http`], [`top_command`];
//! * the other commands: [`analyze_command`] (how calls are replayed), [`log_command`] (inspects logs),
//!   [`study_command`] (replays them in simulated time), [`recover_command`] (makes a new database from
//!   them), [`backup_command`] (backups, points in time, checks) with [`object_disk`] (in object stores).

pub mod analyze_command;
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
pub mod study_command;
pub mod tls;
pub mod top_command;
pub mod users;
