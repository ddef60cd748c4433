//! The result of an attack, as a line of a table.

use std::time::Duration;

use super::ping::Pings;

/// Whether the condition has held.
pub(super) enum Outcome {
    Passed,
    Failed(String),
    /// The server lacks what the attack is about.
    Skipped(String),
}

/// Other observations.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) pings: Option<Pings>,
    /// The server's peak memory (VmHWM) during the attack, in KiB, and its upper bound.
    pub(super) peak_kib: Option<u64>,
    pub(super) limit_kib: Option<u64>,
    /// In a few words: the answer, a number of tries.
    pub(super) note: String,
}

impl Observed {
    pub(super) fn note(note: impl Into<String>) -> Observed {
        Observed { note: note.into(), ..Observed::default() }
    }
}

pub(super) struct Verdict {
    pub(super) group: &'static str,
    pub(super) name: String,
    pub(super) outcome: Outcome,
    pub(super) observed: Observed,
    /// The server's process ended by itself.
    pub(super) aborted: bool,
    pub(super) took: Duration,
}

/// Printed above every group's table.
pub(super) const HEADING: &str = "                                                      verdict  pings p50    p99     max ms  peak/limit MiB    s  seen";

impl Verdict {
    pub(super) fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }

    pub(super) fn line(&self) -> String {
        let (word, why) = match &self.outcome {
            Outcome::Passed => ("passed", ""),
            Outcome::Failed(why) => ("FAILED", why.as_str()),
            Outcome::Skipped(why) => ("skipped", why.as_str()),
        };
        let pings = self.observed.pings.map_or_else(
            || format!("{:>27}", "-"),
            |pings| {
                let [p50, p99, max] = [pings.p50, pings.p99, pings.max].map(|micros| micros as f64 / 1e3);
                format!("{p50:>11.1} {p99:>6.1} {max:>7.1}   ")
            },
        );
        let mib = |kib: Option<u64>| kib.map_or_else(|| "-".to_owned(), |kib| (kib >> 10).to_string());
        let memory = format!("{}/{}", mib(self.observed.peak_kib), mib(self.observed.limit_kib));
        let aborted = if self.aborted { "ABORTED " } else { "" };
        let separator = if why.is_empty() || self.observed.note.is_empty() { "" } else { "; " };
        format!(
            "{:<54.54} {word:<7} {pings} {memory:>12} {:>5.1}  {aborted}{why}{separator}{}",
            self.name,
            self.took.as_secs_f64(),
            self.observed.note
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_seen() {
        let pings = Pings { count: 9, p50: 1200, p99: 3400, max: 5600 };
        let observed = Observed {
            pings: Some(pings),
            peak_kib: Some(200 << 10),
            limit_kib: Some(256 << 10),
            note: "53200".into(),
        };
        let verdict = Verdict {
            group: "memory",
            name: "sort".into(),
            outcome: Outcome::Failed("too much".into()),
            observed,
            aborted: true,
            took: Duration::from_millis(1500),
        };
        assert!(verdict.failed());
        let line = verdict.line();
        for part in ["sort ", "FAILED", "1.2    3.4     5.6", "200/256", "1.5  ABORTED too much; 53200"] {
            assert!(line.contains(part), "{line}");
        }
    }
}
