//! The benchmarks of Hyades: workloads, what they run on, and what is reported (docs/benchmarks.md).
//!
//! Files, in reading order:
//! * [`workload`]: what is run; [`generator`]: its random keys and texts, from a seed;
//! * [`target`]: a database in this process or a server; [`device`]: simulated disks;
//! * [`drive`]: workers with unacknowledged transactions in flight; `processor_time`: what their threads use;
//!   [`instance`]: open, load, measure, crash, recover; [`cost`]: the same call again and again, with nothing
//!   else at work;
//! * [`command_line`]: `hyades bench`; [`compare`]: several variants in one run; `spread`: how far repeated
//!   runs are apart; [`report`]: the page of a report;
//! * [`ledger`]: what clients know, for tests that kill the server.
//!
//! Rules of measurement (docs/testing.md): a transaction counts when it is durable; every worker drains
//! before its clock stops; the contents of the database are checked afterwards, so a run that lost an update
//! is no measurement.

pub mod command_line;
pub mod compare;
pub mod cost;
pub mod device;
pub mod drive;
pub mod generator;
pub mod instance;
pub mod ledger;
mod processor_time;
pub mod report;
pub mod spread;
pub mod target;
pub mod workload;
