//! The rates of two servers, measured in turns, so that a slow minute of the machine affects both.

use anyhow::{Context, Result};

use super::table::{Line, Target};
use crate::server::Instance;
use crate::tools::Spread;

/// The rates of Hyades and of its peer. The ratio of neighbouring measurements is judged.
pub(super) fn by_turns(
    name: &'static str,
    unit: &'static str,
    rounds: usize,
    target: Target,
    sides: [&Instance; 2],
    rate: impl Fn(&Instance) -> Result<f64>,
) -> Result<Line> {
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for (side, rates) in sides.into_iter().zip(&mut rates) {
            let system = side.system.name();
            let measured = rate(side).with_context(|| format!("{name}: {system}"))?;
            eprintln!("{name} round {}: {system} {measured:.1} {unit}", round + 1);
            rates.push(measured);
        }
    }
    let ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(ours, theirs)| ours / theirs).collect();
    Ok(Line {
        name,
        measured: Spread::of(&rates[0]).context("no rounds")?,
        unit,
        beside: Some(("PostgreSQL".to_owned(), Spread::of(&rates[1]).context("no rounds")?)),
        judged: Spread::of(&ratios).context("no rounds")?,
        target,
    })
}
