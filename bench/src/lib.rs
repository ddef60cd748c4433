//! The benchmarks of Hyades: workloads, what they run on, and what is reported (docs/benchmarks.md).
//!
//! Reading order: [`workload`] (what is run), [`target`] (a database in this process or a server), [`device`]
//! (simulated disks), [`drive`] (workers with unacknowledged transactions in flight), [`instance`] (open,
//! load, measure, crash, recover), [`command_line`] (`hyades bench`), [`ledger`] (what clients know, for
//! tests that kill the server), [`compare`] (several variants in one run), [`report`] (the page of a report).
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
pub mod report;
mod spread;
pub mod target;
pub mod workload;
