//! Several variants in one run: measured in turns, so that a slow minute of the machine affects all, and
//! compared by the ratios of neighbouring measurements.
//!
//! All databases are open during all rounds, so they share memory and caches equally. Each round begins with
//! another variant.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::instance::{
    Figures, Instance, Logging, ProgressLine, Recovered, Setting, Side, Variant, headline, verdict,
};
use crate::spread::Spread;
use crate::workload::Workload;
use hyades::ProtocolKind;

pub struct Plan {
    pub setting: Setting,
    pub rounds: u64,
    pub length: Duration,
    pub warm_up: Duration,
    pub crashes: bool,
}

/// One variant and all its results.
pub struct Measured {
    pub variant: Variant,
    pub rounds: Vec<Figures>,
    pub recovered: Option<Recovered>,
}

impl Measured {
    pub fn rate(&self) -> Spread {
        Spread::of(self.rounds.iter().map(|round| round.per_second))
    }
}

/// A ratio that is reported.
#[derive(Clone, Debug, Serialize)]
pub struct Ratio {
    pub what: String,
    pub measured: Spread,
    /// The ratio that the paper reports for its machine.
    pub paper: Option<f64>,
    pub paper_says: Option<&'static str>,
}

pub struct Compared {
    pub measured: Vec<Measured>,
    pub ratios: Vec<Ratio>,
}

/// Ratios of the Taurus paper on eight hard disks (VLDB 2020, section 5.3).
struct PaperRatio {
    workload: &'static str,
    above: (ProtocolKind, Logging),
    below: (ProtocolKind, Logging),
    is_recovery: bool,
    ratio: f64,
    says: &'static str,
}

const SERIAL: ProtocolKind = ProtocolKind::Serial;
const TAURUS: ProtocolKind = ProtocolKind::Taurus;

const PAPER: &[PaperRatio] = &[
    PaperRatio {
        workload: "ycsb",
        above: (TAURUS, Logging::Data),
        below: (SERIAL, Logging::Data),
        is_recovery: false,
        ratio: 7.1,
        says: "YCSB-10G on eight hard disks, figure 9a",
    },
    PaperRatio {
        workload: "ycsb",
        above: (TAURUS, Logging::Command),
        below: (TAURUS, Logging::Data),
        is_recovery: false,
        ratio: 9.2,
        says: "YCSB-10G on eight hard disks, over Silo-R and Plover, which log data as fast as Taurus does, figure 9d",
    },
    PaperRatio {
        workload: "ycsb",
        above: (TAURUS, Logging::Command),
        below: (SERIAL, Logging::Command),
        is_recovery: true,
        ratio: 11.3,
        says: "YCSB-10G on eight hard disks, figure 10d",
    },
    PaperRatio {
        workload: "ycsb",
        above: (TAURUS, Logging::Data),
        below: (SERIAL, Logging::Data),
        is_recovery: true,
        ratio: 5.5,
        says: "YCSB-10G on eight hard disks, figure 10a",
    },
    PaperRatio {
        workload: "tpcc",
        above: (TAURUS, Logging::Command),
        below: (TAURUS, Logging::Data),
        is_recovery: false,
        ratio: 5.2,
        says: "Payment on eight hard disks, over Silo-R, figure 9e",
    },
    PaperRatio {
        workload: "tpcc",
        above: (TAURUS, Logging::Data),
        below: (SERIAL, Logging::Data),
        is_recovery: true,
        ratio: 6.7,
        says: "New-Order on eight hard disks, figure 10c",
    },
    PaperRatio {
        workload: "tpcc",
        above: (TAURUS, Logging::Command),
        below: (TAURUS, Logging::Data),
        is_recovery: true,
        ratio: 7.7,
        says: "New-Order on eight hard disks, figure 10f",
    },
    PaperRatio {
        workload: "tpcc",
        above: (TAURUS, Logging::Command),
        below: (SERIAL, Logging::Command),
        is_recovery: true,
        ratio: 7.1,
        says: "Payment on eight hard disks, figure 10e (New-Order: 17.5)",
    },
];

/// Measures all variants.
///
/// # Errors
/// The first error of any of them.
pub fn run(variants: &[Variant], plan: &Plan, workload: &dyn Workload) -> Result<Compared> {
    let mut instances = Vec::new();
    for (place, variant) in variants.iter().enumerate() {
        let progress = ProgressLine::new(format!("{} {}", workload.name(), variant.name()));
        progress.say("loading");
        let directory = plan.setting.directory.join(place.to_string());
        let setting = Setting { directory, ..plan.setting.clone() };
        let mut instance = Instance::create(*variant, &setting, workload)?;
        if !plan.warm_up.is_zero() {
            progress.say("warming up");
            instance.measure(workload, plan.warm_up, &mut |_, _| {})?;
        }
        instances.push(instance);
    }
    let mut rounds: Vec<Vec<Figures>> = variants.iter().map(|_| Vec::new()).collect();
    for round in 0..plan.rounds {
        for turn in 0..instances.len() {
            let place = (turn + round as usize) % instances.len();
            let name = format!("round {}/{} {}", round + 1, plan.rounds, variants[place].name());
            let mut progress = ProgressLine::new(name);
            let figures = instances[place]
                .measure(workload, plan.length, &mut |count, seconds| progress.show(count, seconds))?;
            rounds[place].push(figures);
        }
    }
    let mut measured = Vec::new();
    for (mut instance, rounds) in instances.into_iter().zip(rounds) {
        let variant = instance.variant;
        verdict(&instance.check(workload)?, None)?;
        let mut recovered = None;
        if variant.is_durable() && plan.crashes {
            ProgressLine::new(variant.name()).say("crashing and recovering");
            recovered = Some(instance.crash_and_recover(workload)?);
        }
        measured.push(Measured { variant, rounds, recovered });
    }
    let ratios = ratios(workload.name(), &measured);
    Ok(Compared { measured, ratios })
}

/// A ratio of two variants, in forward processing or in recovery.
#[derive(Clone, Copy, PartialEq)]
struct Pair {
    above: Variant,
    below: Variant,
    is_recovery: bool,
}

/// The ratio of every variant to the first; then the effects of command logging and of parallel logs, beside
/// the paper's ratios.
fn ratios(workload: &str, measured: &[Measured]) -> Vec<Ratio> {
    let mut pairs = Vec::new();
    if let Some((first, others)) = measured.split_first() {
        let over_first =
            |other: &Measured| Pair { above: other.variant, below: first.variant, is_recovery: false };
        pairs.extend(others.iter().map(over_first));
    }
    let variant = |protocol, logging| Variant::new(protocol, logging);
    for is_recovery in [false, true] {
        for (above, below) in [
            (variant(SERIAL, Logging::Command), variant(SERIAL, Logging::Data)),
            (variant(TAURUS, Logging::Command), variant(TAURUS, Logging::Data)),
            (variant(TAURUS, Logging::Data), variant(SERIAL, Logging::Data)),
            (variant(TAURUS, Logging::Command), variant(SERIAL, Logging::Command)),
        ] {
            let pair = Pair { above, below, is_recovery };
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    pairs.into_iter().filter_map(|pair| ratio(workload, measured, pair)).collect()
}

/// `None` if one of them was not measured.
fn ratio(workload: &str, measured: &[Measured], pair: Pair) -> Option<Ratio> {
    let find = |variant| measured.iter().find(|one| one.variant == variant);
    let (above, below) = (find(pair.above)?, find(pair.below)?);
    let mut what = format!("{} over {}", above.variant.name(), below.variant.name());
    let spread = if pair.is_recovery {
        what += ", recovery";
        let (above, below) = (above.recovered.as_ref()?, below.recovered.as_ref()?);
        Spread::of(above.rates.iter().zip(&below.rates).map(|(above, below)| above / below))
    } else {
        let rounds = above.rounds.iter().zip(&below.rounds);
        Spread::of(rounds.map(|(above, below)| above.per_second / below.per_second))
    };
    let paper = PAPER.iter().find(|paper| {
        let variant = |(protocol, logging)| Variant::new(protocol, logging);
        let its =
            Pair { above: variant(paper.above), below: variant(paper.below), is_recovery: paper.is_recovery };
        paper.workload == workload && its == pair
    });
    Some(Ratio {
        what,
        measured: spread,
        paper: paper.map(|paper| paper.ratio),
        paper_says: paper.map(|paper| paper.says),
    })
}

impl Compared {
    pub fn sides(&self) -> Vec<Side> {
        let side = |one: &Measured| Side {
            name: one.variant.name(),
            figures: one.rounds.clone(),
            recovered: one.recovered.clone(),
        };
        self.measured.iter().map(side).collect()
    }

    /// An error if a recovery produced another state.
    ///
    /// # Errors
    /// See above.
    pub fn verdict(&self) -> Result<()> {
        self.measured.iter().try_for_each(|one| verdict(&[], one.recovered.as_ref()))
    }

    pub fn json(&self, conditions: &serde_json::Value) -> serde_json::Value {
        let sides: Vec<serde_json::Value> = self
            .measured
            .iter()
            .map(|one| {
                json!({
                    "variant": one.variant.name(),
                    "per_second": one.rate(),
                    "rounds": one.rounds,
                    "recovery": one.recovered,
                })
            })
            .collect();
        json!({ "conditions": conditions, "variants": sides, "ratios": self.ratios })
    }

    pub fn text(&self, conditions: &serde_json::Value) -> String {
        let mut text = headline(conditions) + "\n";
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "{:<16} {:>34} {:>10} {:>12} {:>10} {:>14} {:>6}",
            "variant",
            "durable/s: median [min .. max]",
            "p99 us",
            "bytes/txn",
            "syncs/txn",
            "recovered/s",
            "state"
        );
        for one in &self.measured {
            let rate = one.rate();
            let of = |value: fn(&Figures) -> f64| Spread::of(one.rounds.iter().map(value)).median;
            let (recovered, state) = one.recovered.as_ref().map_or_else(
                || ("-".to_owned(), "-"),
                |recovered| {
                    let state = if recovered.state_matches { "same" } else { "OTHER" };
                    (format!("{:.0}", recovered.per_second), state)
                },
            );
            let _ = writeln!(
                text,
                "{:<16} {:>34} {:>10.0} {:>12.1} {:>10.5} {recovered:>14} {state:>6}",
                one.variant.name(),
                format!("{:.0} [{:.0} .. {:.0}]", rate.median, rate.min, rate.max),
                of(|figures| figures.latency_us[2] as f64),
                of(|figures| figures.bytes_per_transaction),
                of(|figures| figures.syncs_per_transaction),
            );
        }
        let _ = writeln!(text, "\nratios: median [min .. max]");
        for ratio in &self.ratios {
            let Spread { median, min, max } = ratio.measured;
            let _ = write!(text, "  {:<44} {median:.2} [{min:.2} .. {max:.2}]", ratio.what);
            let _ = match (ratio.paper, ratio.paper_says) {
                (Some(paper), Some(says)) => writeln!(text, "   paper {paper:.1} ({says})"),
                _ => writeln!(text),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(
        protocol: ProtocolKind,
        logging: Logging,
        rates: [f64; 2],
        recovered: Option<f64>,
    ) -> Measured {
        let side = crate::instance::samples::side("x", 1.0);
        let round = |rate| Figures { per_second: rate, ..side.figures[0].clone() };
        let recovered = recovered.and_then(|rate| {
            let one = side.recovered.clone()?;
            Some(Recovered { per_second: rate, rates: vec![rate], ..one })
        });
        Measured { variant: Variant::new(protocol, logging), rounds: rates.map(round).to_vec(), recovered }
    }

    #[test]
    fn ratios_are_those_of_neighbours_and_stand_beside_the_paper() {
        let all = [
            measured(ProtocolKind::None, Logging::Auto, [100.0, 50.0], None),
            measured(SERIAL, Logging::Data, [1.0, 2.0], Some(10.0)),
            measured(TAURUS, Logging::Data, [8.0, 8.0], Some(30.0)),
        ];
        let ratios = ratios("ycsb", &all);
        let found = |what: &str| {
            let mut with = ratios.iter().filter(|ratio| ratio.what == what);
            let first = with.next().expect("it is compared");
            assert!(with.next().is_none(), "{what} twice");
            first
        };
        assert_eq!(found("taurus:data over none").measured, Spread { median: 0.12, min: 0.08, max: 0.16 });
        let parallel = found("taurus:data over serial:data");
        assert_eq!((parallel.measured.median, parallel.paper), (6.0, Some(7.1)));
        let recovery = found("taurus:data over serial:data, recovery");
        assert_eq!((recovery.measured.median, recovery.paper), (3.0, Some(5.5)));
        assert_eq!(ratios.len(), 4, "what was not measured is not compared");
    }

    #[test]
    fn a_spread_has_a_median() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0]).median, 2.5);
    }
}
