//! How a killed server is started again: it lets no client in before everything is restored, or it restarts
//! on demand, works with clients, and is killed again while the restart goes on in the background.
//!
//! Each round draws one of the two, unless one was chosen. A [`Watcher`] sees how far a restart is
//! (`hyades_restart`), so that a kill in its middle does not depend on luck.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use postgres::Client;
use rand::RngExt;
use rand::rngs::StdRng;

use super::ledger::Ledger;
use super::load::{Load, Others};
use super::verify;
use crate::server::{Instance, RunningServer};

/// A recovery that takes longer than this has failed.
pub(super) const RECOVERY_LIMIT: Duration = Duration::from_secs(120);

/// The pause between two looks at how far a restart is.
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Restart {
    #[default]
    Complete,
    OnDemand,
}

impl Restart {
    pub(super) fn draw(random: &mut StdRng) -> Restart {
        if random.random_bool(0.5) { Restart::OnDemand } else { Restart::Complete }
    }

    pub(super) fn arguments(self) -> [&'static str; 2] {
        let name = match self {
            Restart::Complete => "complete",
            Restart::OnDemand => "on-demand",
        };
        ["--restart", name]
    }
}

impl fmt::Display for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Restart::Complete => "complete",
            Restart::OnDemand => "on demand",
        })
    }
}

/// A server that restarts on demand and serves clients meanwhile.
pub(super) struct Middle {
    pub(super) server: RunningServer,
    /// The end of the server has been announced to it.
    pub(super) load: Load,
    /// How much of the restart was done at the last look, and whether it was still going on.
    pub(super) percent: f64,
    pub(super) went_on: bool,
}

impl Middle {
    /// Starts the server, has all clients work while the restart goes on, and returns when a random part of
    /// it is done.
    pub(super) fn reach(
        instance: &Instance,
        ledger: &mut Ledger,
        random: &mut StdRng,
        others: Others,
    ) -> Result<Middle> {
        let (mut server, _) = instance.start_ready(RECOVERY_LIMIT)?;
        let mut watcher = Watcher::connect(instance)?;
        verify::decide_generation(instance, ledger)?;
        let load = Load::start(instance, ledger, random.random(), others)?;
        let (percent, went_on) = watcher.wait_for(random.random_range(0.0..1.1), RECOVERY_LIMIT)?;
        let load = load.expect_running(&mut server)?;
        Ok(Middle { server, load, percent, went_on })
    }
}

/// A kill in the middle of a restart on demand, or right after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MiddleKill {
    /// How much of the restart was done at the last look.
    pub(super) percent: f64,
    /// The restart was not complete at the last look.
    pub(super) went_on: bool,
    /// Transactions that were acknowledged between the start and this kill.
    pub(super) acknowledged: u64,
}

impl fmt::Display for MiddleKill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.went_on {
            true => write!(f, "killed in the middle at {:.0} %", self.percent)?,
            false => write!(f, "killed after the restart")?,
        }
        match self.acknowledged {
            0 => Ok(()),
            acknowledged => write!(f, ", {acknowledged} acknowledged until then"),
        }
    }
}

/// Looks at how far the restart of a server is.
pub(super) struct Watcher(Client);

impl Watcher {
    pub(super) fn connect(instance: &Instance) -> Result<Watcher> {
        Ok(Watcher(instance.connect()?))
    }

    /// How much is done, and whether the restart still goes on.
    pub(super) fn look(&mut self) -> Result<(f64, bool)> {
        let sql = "select percent, is_complete from hyades_restart";
        let row = self.0.query_one(sql, &[]).context(sql)?;
        Ok((row.try_get(0)?, !row.try_get::<_, bool>(1)?))
    }

    /// Waits for this share of what remains to be done, or for the end of the restart. Returns the last look.
    pub(super) fn wait_for(&mut self, share: f64, limit: Duration) -> Result<(f64, bool)> {
        let deadline = Instant::now() + limit;
        let (begun, _) = self.look()?;
        loop {
            let (percent, goes_on) = self.look()?;
            if !goes_on || percent > begun + (100.0 - begun) * share {
                return Ok((percent, goes_on));
            }
            if Instant::now() > deadline {
                bail!("the restart is at {percent:.0} % after {} s", limit.as_secs());
            }
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn both_kinds_are_drawn_and_named_as_the_server_knows_them() {
        let mut random = StdRng::seed_from_u64(1);
        let drawn: Vec<Restart> = (0..20).map(|_| Restart::draw(&mut random)).collect();
        assert!(drawn.contains(&Restart::Complete) && drawn.contains(&Restart::OnDemand));
        assert_eq!(Restart::OnDemand.arguments(), ["--restart", "on-demand"]);
    }
}
