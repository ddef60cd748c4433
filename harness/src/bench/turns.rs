//! Two servers, measured in turns, so that a slow minute of the machine affects both.

use anyhow::{Context, Result, ensure};

use super::table::{Line, Target};
use crate::server::{Instance, RunningServer};

/// A server and its place.
pub(super) struct Side {
    pub(super) instance: Instance,
    /// Ends the server when the measurement is over.
    pub(super) server: RunningServer,
}

/// What one measurement has brought.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) per_second: f64,
    pub(super) transactions: f64,
}

/// The name and the target of a server's processor time for each transaction, as a multiple of PostgreSQL's.
pub(super) type ProcessorTarget = (&'static str, f64);

/// The rates of Hyades and of its peer. The ratio of neighbouring measurements is judged.
pub(super) fn by_turns(
    name: &'static str,
    unit: &'static str,
    rounds: usize,
    target: Target,
    sides: &[Side; 2],
    rate: impl Fn(&Instance) -> Result<f64>,
) -> Result<Line> {
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for (Side { instance, .. }, rates) in sides.iter().zip(&mut rates) {
            let system = instance.system.name();
            let measured = rate(instance).with_context(|| format!("{name}: {system}"))?;
            eprintln!("{name} round {}: {system} {measured:.1} {unit}", round + 1);
            rates.push(measured);
        }
    }
    Line::compared(name, unit, &rates[0], ("PostgreSQL", &rates[1]), target)
}

/// The rates, and, if it is named, how much processor time the server takes for each transaction, in user
/// mode and in the kernel, with all its threads and processes. Where clients share the processors, the rate
/// says as much of them as of the server.
pub(super) fn by_turns_with_processor(
    (name, target): (&'static str, Target),
    processor: Option<ProcessorTarget>,
    rounds: usize,
    sides: &[Side; 2],
    run: impl Fn(&Instance) -> Result<Turn>,
) -> Result<Vec<Line>> {
    let (mut rates, mut times_us) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..rounds {
        for (place, Side { instance, server }) in sides.iter().enumerate() {
            let system = instance.system.name();
            let before = server.processor_seconds();
            let turn = run(instance).with_context(|| format!("{name}: {system}"))?;
            let seconds = server.processor_seconds() - before;
            ensure!(turn.transactions > 0.0, "{name}: {system} ran no transaction");
            let time_us = seconds * 1e6 / turn.transactions;
            let rate = turn.per_second;
            eprintln!("{name} round {}: {system} {rate:.1} /s, {time_us:.2} us of processor time", round + 1);
            rates[place].push(rate);
            times_us[place].push(time_us);
        }
    }
    let mut lines = vec![Line::compared(name, "/s", &rates[0], ("PostgreSQL", &rates[1]), target)?];
    if let Some((name, most)) = processor {
        let target = Target::AtMost(most);
        lines.push(Line::compared(name, "us", &times_us[0], ("PostgreSQL", &times_us[1]), target)?);
    }
    Ok(lines)
}
