//! The other sessions: each sends a statement, mostly `select 1`, every few milliseconds while an attack
//! runs, and records how long the answers took.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::client::Client;
use crate::tools;

/// What is sent.
pub(super) const USUAL: &str = "select 1";
const SESSIONS: usize = 4;
const INTERVAL: Duration = Duration::from_millis(5);

/// The bounds on these times.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) p99: Duration,
    pub(super) max: Duration,
}

impl Bounds {
    /// On a machine with nothing else to do.
    pub(super) const STRICT: Bounds =
        Bounds { p99: Duration::from_millis(20), max: Duration::from_millis(100) };
    /// Only requires an answer, on a machine that may be busy with other work.
    pub(super) const ALIVE: Bounds = Bounds { p99: Duration::from_secs(8), max: Duration::from_secs(8) };
}

/// How long answers took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pings {
    pub(super) count: usize,
    pub(super) p50: u64,
    pub(super) p99: u64,
    pub(super) max: u64,
}

impl Pings {
    fn of(mut micros: Vec<u64>) -> Option<Pings> {
        micros.sort_unstable();
        let at = |fraction| tools::quantile(&micros, fraction);
        Some(Pings { count: micros.len(), p50: at(0.5)?, p99: at(0.99)?, max: at(1.0)? })
    }

    /// Describes a violation of the bounds, if there is one.
    pub(super) fn beyond(&self, bounds: Bounds) -> Option<String> {
        let is_beyond = |micros: u64, bound: Duration| Duration::from_micros(micros) > bound;
        (is_beyond(self.p99, bounds.p99) || is_beyond(self.max, bounds.max)).then(|| {
            format!(
                "other sessions waited: p99 {:.1} ms, longest {:.1} ms",
                self.p99 as f64 / 1e3,
                self.max as f64 / 1e3
            )
        })
    }
}

/// Sessions that ping until they are stopped.
pub(super) struct Pingers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<Vec<u64>>>>,
}

impl Pingers {
    pub(super) fn start(port: u16) -> Result<Pingers> {
        let pinger = |_| Ok((Client::connect(port)?, USUAL.to_owned()));
        Ok(Pingers::with((0..SESSIONS).map(pinger).collect::<Result<_>>()?))
    }

    /// Pings with these sessions, each with a statement of its own.
    pub(super) fn with(sessions: Vec<(Client, String)>) -> Pingers {
        let stop = Arc::new(AtomicBool::new(false));
        let ping = |(client, statement): (Client, String)| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || ping(client, &statement, &stop))
        };
        Pingers { threads: sessions.into_iter().map(ping).collect(), stop }
    }

    /// A missing answer is a failure, as is an error.
    pub(super) fn finish(mut self) -> Result<Pings> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(micros) => all.extend(micros?),
                Err(_) => anyhow::bail!("a pinging thread panicked"),
            }
        }
        Pings::of(all).ok_or_else(|| anyhow::anyhow!("not one ping was answered"))
    }
}

impl Drop for Pingers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn ping(mut client: Client, statement: &str, stop: &AtomicBool) -> Result<Vec<u64>> {
    let mut micros = Vec::new();
    loop {
        let start = Instant::now();
        client.value(statement)?;
        micros.push(u64::try_from(start.elapsed().as_micros())?);
        if stop.load(Ordering::Relaxed) {
            return Ok(micros);
        }
        std::thread::sleep(INTERVAL.saturating_sub(start.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bounds_are_held_to() {
        let quick = Pings::of(vec![1000; 100]).expect("not empty");
        assert_eq!(quick, Pings { count: 100, p50: 1000, p99: 1000, max: 1000 });
        assert_eq!(quick.beyond(Bounds::STRICT), None);
        let mut once = vec![1000; 999];
        once.push(150_000);
        let once = Pings::of(once).expect("not empty");
        assert!(once.beyond(Bounds::STRICT).is_some_and(|words| words.contains("longest 150.0 ms")));
        assert_eq!(once.beyond(Bounds::ALIVE), None);
        let often = Pings::of(vec![30_000; 10]).expect("not empty");
        assert!(often.beyond(Bounds::STRICT).is_some());
        assert_eq!(Pings::of(Vec::new()), None);
    }
}
