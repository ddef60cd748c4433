//! What needs no wire: the program `hyades-bench`, which prints one line of JSON for each measurement.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::options::Options;
use super::table::{Line, Target};
use crate::server::with_prefix;
use crate::tools::{self, Spread};

const TRANSFER_NAME: &str = "transfer in process, 2 workers, 2 logs";
const OVERHEAD_NAME: &str = "taurus next to none";
const REPLAY_NAME: &str = "replay, 2 logs, 2 workers";

const TRANSFERS_PER_SECOND: f64 = 500_000.0;
/// Taurus may cost 10 %.
const SHARE_OF_NONE: f64 = 0.9;
const REPLAYED_PER_SECOND: f64 = 1_000_000.0;

pub(super) fn measure(options: &Options, directory: &Path) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    if options.wants(TRANSFER_NAME) || options.wants(OVERHEAD_NAME) {
        lines.extend(transfers(options, directory)?);
    }
    if options.wants(REPLAY_NAME) {
        lines.push(replay(options, directory)?);
    }
    Ok(lines)
}

fn transfers(options: &Options, directory: &Path) -> Result<Vec<Line>> {
    let seconds = options.seconds.to_string();
    let (mut taurus, mut none, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let mut rates = [0.0; 2];
        for (rate, protocol) in rates.iter_mut().zip(["taurus", "none"]) {
            let arguments =
                ["transfer", "--workers", "2", "--logs", "2", "--protocol", protocol, "--seconds", &seconds];
            *rate = per_second(&run(options, directory, &arguments)?)?;
            eprintln!("{TRANSFER_NAME} round {}: {protocol} {rate:.0}/s", round + 1);
        }
        taurus.push(rates[0]);
        none.push(rates[1]);
        ratios.push(rates[0] / rates[1]);
    }
    let (taurus, none) = (Spread::of(&taurus).context("no rounds")?, Spread::of(&none).context("no rounds")?);
    Ok(vec![
        Line {
            name: TRANSFER_NAME,
            measured: taurus,
            unit: "/s",
            beside: None,
            judged: taurus,
            target: Target::AtLeast(TRANSFERS_PER_SECOND),
        },
        Line {
            name: OVERHEAD_NAME,
            measured: taurus,
            unit: "/s",
            beside: Some(("none".to_owned(), none)),
            judged: Spread::of(&ratios).context("no rounds")?,
            target: Target::AtLeast(SHARE_OF_NONE),
        },
    ])
}

fn replay(options: &Options, directory: &Path) -> Result<Line> {
    let mut rates = Vec::new();
    for round in 0..options.rounds {
        let report = run(options, directory, &["replay", "--workers", "2", "--logs", "2"])?;
        // If a recovery produces another state, the measurement is invalid.
        if report["state_matches"].as_bool() != Some(true) {
            bail!("replay did not bring back the same state: {report}");
        }
        let rate = per_second(&report)?;
        eprintln!("{REPLAY_NAME} round {}: {rate:.0}/s", round + 1);
        rates.push(rate);
    }
    let measured = Spread::of(&rates).context("no rounds")?;
    Ok(Line {
        name: REPLAY_NAME,
        measured,
        unit: "/s",
        beside: None,
        judged: measured,
        target: Target::AtLeast(REPLAYED_PER_SECOND),
    })
}

fn run(options: &Options, directory: &Path, arguments: &[&str]) -> Result<serde_json::Value> {
    let data = tempfile::tempdir_in(directory)?;
    let mut command = Command::new(tools::shipped().join("hyades-bench"));
    command.args(arguments).args(["--json", "--directory"]).arg(data.path());
    let printed = tools::output_of(&mut with_prefix(&options.prefix(), &command))?;
    serde_json::from_str(printed.trim()).with_context(|| format!("hyades-bench printed no JSON:\n{printed}"))
}

fn per_second(report: &serde_json::Value) -> Result<f64> {
    report["per_second"].as_f64().with_context(|| format!("no `per_second` in {report}"))
}
