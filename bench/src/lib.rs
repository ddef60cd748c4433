//! Workloads in process: what the engine does when no wire and no SQL stand before it.
//!
//! Reading order: [`accounts`] (the table and its procedures), [`client`] (running a procedure to its end from a thread that may
//! block), [`transfer`] (the measured workload), [`replay`] (measuring a restart).
//!
//! What counts (docs/testing.md): a transaction counts when it is durable; every thread drains before its clock stops; the money in
//! the bank is counted afterwards, so a run that lost an update is no measurement.

pub mod accounts;
pub mod client;
pub mod replay;
pub mod transfer;
