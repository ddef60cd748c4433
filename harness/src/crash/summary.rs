//! What a round, and the whole run, report.

use std::fmt;
use std::time::Duration;

use super::restart::{MiddleKill, Restart};
use super::verify::Verified;
use crate::tools::Spread;

/// A kill during recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecondKill {
    /// The time since the start of the process.
    pub(super) after: Duration,
    /// It had not answered a query yet.
    pub(super) was_recovering: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RoundReport {
    pub(super) restart: Restart,
    pub(super) load_ms: u64,
    /// Acknowledged by this round's clients, not counting pgbench's.
    pub(super) acknowledged: u64,
    pub(super) retries: u64,
    /// Alterations of the ledger's table that were committed in this round.
    pub(super) alterations: i64,
    pub(super) second_kill: Option<SecondKill>,
    pub(super) middle_kills: Vec<MiddleKill>,
    /// How much of the last restart was done when the comparison began, if it was on demand.
    pub(super) read_at_percent: Option<f64>,
    /// From the start of the process to its first answer.
    pub(super) recovery: Duration,
    pub(super) verified: Verified,
}

impl fmt::Display for RoundReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verified { markers, undecided_found, undecided_absent } = self.verified;
        write!(f, "{:<9}  ", self.restart)?;
        write!(f, "killed after {:>4} ms, {:>5} acknowledged", self.load_ms, self.acknowledged)?;
        if let Some(SecondKill { after, was_recovering }) = self.second_kill {
            let state = if was_recovering { "recovering" } else { "ready" };
            write!(f, ", killed again after {} ms ({state})", after.as_millis())?;
        }
        for kill in &self.middle_kills {
            write!(f, ", {kill}")?;
        }
        if let Some(percent) = self.read_at_percent {
            write!(f, ", read at {percent:.0} %")?;
        }
        write!(f, ", back in {} ms: {markers} there, lost 0", self.recovery.as_millis())?;
        if self.alterations > 0 {
            write!(f, ", {} alterations", self.alterations)?;
        }
        if undecided_found + undecided_absent > 0 {
            write!(f, ", {undecided_found} of {} unanswered happened", undecided_found + undecided_absent)?;
        }
        Ok(())
    }
}

#[derive(Default)]
pub(super) struct Summary {
    rounds: u64,
    acknowledged: u64,
    retries: u64,
    alterations: i64,
    undecided_found: u64,
    undecided_absent: u64,
    second_kills: u64,
    second_kills_recovering: u64,
    on_demand: u64,
    read_in_the_middle: u64,
    middle_kills: u64,
    middle_kills_going_on: u64,
    middle_acknowledged: u64,
    recovery_ms: Vec<f64>,
}

impl Summary {
    pub(super) fn add(&mut self, report: &RoundReport) {
        self.rounds += 1;
        self.acknowledged += report.acknowledged;
        self.retries += report.retries;
        self.alterations += report.alterations;
        self.undecided_found += report.verified.undecided_found;
        self.undecided_absent += report.verified.undecided_absent;
        if let Some(second) = report.second_kill {
            self.second_kills += 1;
            self.second_kills_recovering += u64::from(second.was_recovering);
        }
        self.on_demand += u64::from(report.restart == Restart::OnDemand);
        self.read_in_the_middle += u64::from(report.read_at_percent.is_some_and(|percent| percent < 100.0));
        for kill in &report.middle_kills {
            self.middle_kills += 1;
            self.middle_kills_going_on += u64::from(kill.went_on);
            self.middle_acknowledged += kill.acknowledged;
        }
        self.recovery_ms.push(report.recovery.as_secs_f64() * 1e3);
    }
}

/// Only rounds that were verified are counted, so nothing that is counted was lost.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let undecided = self.undecided_found + self.undecided_absent;
        writeln!(f, "crash: {} rounds passed", self.rounds)?;
        writeln!(f, "  acknowledged  {} transactions, all recovered, lost=0", self.acknowledged)?;
        writeln!(f, "  unanswered    {undecided} transactions, of which {} happened", self.undecided_found)?;
        writeln!(f, "  alterations   {} of the ledger's table under load", self.alterations)?;
        writeln!(f, "  conflicts     {} transactions begun again", self.retries)?;
        write!(
            f,
            "  killed again  {} times, of which {} before the first answer",
            self.second_kills, self.second_kills_recovering
        )?;
        write!(
            f,
            "\n  on demand     {} rounds, of which {} were read while the restart went on; \
             killed again {} times, of which {} while it went on, {} acknowledged until then",
            self.on_demand,
            self.read_in_the_middle,
            self.middle_kills,
            self.middle_kills_going_on,
            self.middle_acknowledged
        )?;
        if let Some(Spread { median, minimum, maximum }) = Spread::of(&self.recovery_ms) {
            write!(f, "\n  back in       median {median:.0} ms [{minimum:.0} .. {maximum:.0}]")?;
        }
        Ok(())
    }
}
