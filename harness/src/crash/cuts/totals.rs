//! What a round of cuts, and the whole run, report.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::disks::Cut;
use super::moment::{Aftermath, Moment};
use crate::crash::restart::Restart;
use crate::crash::verify::Verified;
use crate::tools::Spread;

/// One cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) moment: Moment,
    pub(super) cut: Cut,
    /// Since the load began, or since the process was started.
    pub(super) after: Duration,
    pub(super) aftermath: Aftermath,
    /// Transactions acknowledged before the cut, since the start of the server.
    pub(super) acknowledged: u64,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (moment, cut, after) = (self.moment.name(), self.cut.name(), self.after.as_millis());
        write!(f, "{cut} cut {moment} after {after} ms")?;
        if self.acknowledged > 0 {
            write!(f, ", {} acknowledged", self.acknowledged)?;
        }
        if self.aftermath != Aftermath::Killed {
            write!(f, ", {}", self.aftermath.name())?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct RoundReport {
    pub(super) restart: Restart,
    pub(super) cuts: Vec<Done>,
    /// `hyades check` has read the files that the last cut left.
    pub(super) is_checked: bool,
    /// From the start of the process to its first answer.
    pub(super) recovery: Duration,
    pub(super) verified: Verified,
}

impl fmt::Display for RoundReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<9}  ", self.restart)?;
        for done in &self.cuts {
            write!(f, "{done}; ")?;
        }
        if self.is_checked {
            write!(f, "checked, ")?;
        }
        let Verified { markers, undecided_found, undecided_absent } = self.verified;
        write!(f, "back in {} ms: {markers} there, lost 0", self.recovery.as_millis())?;
        if undecided_found + undecided_absent > 0 {
            write!(f, ", {undecided_found} of {} unanswered happened", undecided_found + undecided_absent)?;
        }
        Ok(())
    }
}

#[derive(Default)]
pub(super) struct Totals {
    rounds: u64,
    /// For each moment, its cuts, and how many of them cut the power.
    cuts: BTreeMap<Moment, (u64, u64)>,
    of_one_disk: BTreeMap<Cut, u64>,
    refused: u64,
    exited: u64,
    acknowledged: u64,
    undecided_found: u64,
    undecided_absent: u64,
    on_demand: u64,
    checks: u64,
    pub(super) backups: u64,
    recovery_ms: Vec<f64>,
}

impl Totals {
    pub(super) fn add_cut(&mut self, done: &Done) {
        let (all, of_power) = self.cuts.entry(done.moment).or_default();
        *all += 1;
        *of_power += u64::from(done.cut == Cut::Power);
        if done.cut != Cut::Power {
            *self.of_one_disk.entry(done.cut).or_default() += 1;
        }
        self.refused += u64::from(done.aftermath == Aftermath::Refused);
        self.exited += u64::from(done.aftermath == Aftermath::Exited);
        self.acknowledged += done.acknowledged;
    }

    pub(super) fn add(&mut self, report: &RoundReport) {
        self.rounds += 1;
        report.cuts.iter().for_each(|done| self.add_cut(done));
        self.undecided_found += report.verified.undecided_found;
        self.undecided_absent += report.verified.undecided_absent;
        self.on_demand += u64::from(report.restart == Restart::OnDemand);
        self.checks += u64::from(report.is_checked);
        self.recovery_ms.push(report.recovery.as_secs_f64() * 1e3);
    }

    fn all_cuts(&self) -> u64 {
        self.cuts.values().map(|(all, _)| all).sum()
    }
}

/// Only rounds that were verified are counted, so nothing that is counted was lost.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cuts: {} cuts in {} rounds passed", self.all_cuts(), self.rounds)?;
        for moment in Moment::ALL {
            let (all, of_power) = self.cuts.get(&moment).copied().unwrap_or_default();
            writeln!(f, "  {:<22}  {all:>4}, of which {of_power} of all power", moment.name())?;
        }
        for (cut, count) in &self.of_one_disk {
            writeln!(f, "  {:<22}  {count:>4} times lost alone", cut.name())?;
        }
        let undecided = self.undecided_found + self.undecided_absent;
        writeln!(f, "  acknowledged  {} transactions, all recovered, lost=0", self.acknowledged)?;
        writeln!(f, "  unanswered    {undecided} transactions, of which {} happened", self.undecided_found)?;
        writeln!(
            f,
            "  looked at     {} servers that refused all clients, {} that ended themselves",
            self.refused, self.exited
        )?;
        writeln!(
            f,
            "  checked       {} databases before their start, {} backups",
            self.checks, self.backups
        )?;
        write!(f, "  on demand     {} rounds", self.on_demand)?;
        if let Some(Spread { median, minimum, maximum }) = Spread::of(&self.recovery_ms) {
            write!(f, "\n  back in       median {median:.0} ms [{minimum:.0} .. {maximum:.0}]")?;
        }
        Ok(())
    }
}
