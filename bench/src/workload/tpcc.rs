//! TPC-C, revision 5.11: all five transactions (`bench/workloads/tpcc_*.sql`).
//!
//! Files:
//! * [`load`]: the population; `scale`: its size, and which transactions are run;
//! * [`input`]: what terminals enter; `calls`: the transactions as calls;
//! * [`checks`]: the twelve consistency conditions.
//!
//! Terminals and their keying and think times are left out, so rates are not tpmC and must not be called
//! that.

mod calls;
pub mod checks;
pub mod input;
pub mod load;
mod scale;

use anyhow::Result;

use super::{Call, Calls, Connection, Trace, Violation, Workload};
use calls::{CALLS, TRACES};

pub use scale::{DISTRICTS, Mix, Scale, Tpcc};

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn schema(&self) -> Vec<&'static str> {
        vec![
            include_str!("../../workloads/tpcc_schema.sql"),
            include_str!("../../workloads/tpcc_procedures.sql"),
        ]
    }

    /// The items, and the warehouses.
    fn parts(&self) -> u64 {
        1 + self.warehouses
    }

    fn load(&self, part: u64, connection: &mut dyn Connection) -> Result<()> {
        match part {
            0 => load::items(self, connection),
            warehouse => load::warehouse(self, warehouse, connection),
        }
    }

    fn calls(&self) -> &'static [Call] {
        CALLS
    }

    fn stream(&self, worker: u64, workers: u64, seed: u64) -> Box<dyn Calls> {
        Box::new(input::Terminals::new(self, worker, workers, seed))
    }

    fn traces(&self) -> &'static [Trace] {
        TRACES
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Violation>> {
        checks::all(self, connection)
    }

    fn describe(&self) -> String {
        let scale = if self.scale == Scale::SPEC { "" } else { ", a small population" };
        format!("{} warehouses, {}{scale}", self.warehouses, self.mix.name())
    }
}
