//! Measures a restart: a bank is filled and worked on, closed, opened again, and must hold the same.

use hyades_engine::config::Config;
use hyades_engine::db;
use hyades_types::definition::IndexKind;
use hyades_types::error::Result;

use crate::accounts::{self, Audit};
use crate::transfer::{self, Until};

/// The work before the restart.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub accounts: u64,
    pub transactions: u64,
    pub workers: u64,
    pub index: IndexKind,
}

/// The results of the restart.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Transfers in the logs. The transactions that filled the bank are replayed too, but not counted.
    pub transfers: u64,
    /// The time of the whole recovery.
    pub seconds: f64,
    pub log_bytes: u64,
    /// The states before and after.
    pub audits: [Audit; 2],
}

impl Outcome {
    pub fn per_second(&self) -> f64 {
        self.transfers as f64 / self.seconds
    }

    pub fn state_matches(&self) -> bool {
        self.audits[0] == self.audits[1]
    }
}

/// `config` names an empty data directory and a protocol that survives a restart.
pub fn run(config: &Config, plan: &Plan, seed: u64) -> Result<Outcome> {
    let engine = db::open(config.clone(), None)?;
    let table = accounts::create(&engine, plan.accounts, plan.index)?;
    let until = Until::Transactions(plan.transactions / plan.workers);
    let forward = transfer::run(&engine, plan.accounts, plan.workers, until, seed)?;
    let before = accounts::audit(&engine, &table)?;
    transfer::check(&before, plan.accounts)?;
    engine.shutdown()?;
    drop((table, engine));

    let engine = db::open(config.clone(), None)?;
    let report = engine.recovery_report().clone();
    let after = accounts::audit(&engine, &accounts::find(&engine)?)?;
    engine.shutdown()?;
    Ok(Outcome {
        transfers: forward.transactions,
        seconds: report.seconds,
        log_bytes: report.log_bytes,
        audits: [before, after],
    })
}
