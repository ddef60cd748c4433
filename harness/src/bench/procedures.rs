//! Procedures in process: `hyades bench transfer|ycsb|tpcc --compare`, with the variants taking turns in one
//! process.
//!
//! Transfer is the procedure in the engine's own language: durable transfers between random accounts out of
//! a million. The parameters of the others, in SQL, are those of the authors' code in the project's notes
//! on measuring: YCSB with 262,144 rows, Zipf 0.6, two accesses, half of them writes; TPC-C with four
//! warehouses, half Payment and half New-Order. All have two workers and two logs. Every transaction is
//! acknowledged durably, including the read-only quarter of YCSB. Each run ends with a crash and recoveries
//! from all kinds of logs. A state that differs, or a condition of the workload that does not hold, is an
//! error.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::options::Options;
use super::table::{Line, Target};
use crate::server::with_prefix;
use crate::tools::{self, Spread};

/// The longest measurement: data logging writes more than half a gigabyte per second, and the rows that TPC-C
/// inserts stay in memory.
const LONGEST_SECONDS: u64 = 3;
const RECOVERIES: &str = "3";
/// Taken before anything is measured: docs/benchmarks.md, "The lines of cargo xtask bench".
const RESERVED_MIB: &str = "3072";

/// One workload, and the lines with the rates of its variants.
struct Names {
    workload: &'static [&'static str],
    variants: &'static str,
    rates: &'static [(&'static str, f64)],
}

/// The native procedure is always logged as data.
const TRANSFER: Names = Names {
    workload: &["transfer", "--native", "--rows", "1000000", "--theta", "0"],
    variants: "none,taurus:data",
    rates: &[],
};
const YCSB: Names = Names {
    workload: &["ycsb"],
    variants: "none,taurus:command,taurus:data",
    rates: &[
        ("YCSB procedure, none", 1_200_000.0),
        ("YCSB procedure, taurus command", 1_000_000.0),
        ("YCSB procedure, taurus data", 700_000.0),
    ],
};
const TPCC: Names = Names {
    workload: &["tpcc", "--warehouses", "4", "--mix", "half"],
    variants: YCSB.variants,
    rates: &[
        ("TPC-C procedures, none", 200_000.0),
        ("TPC-C procedures, taurus command", 180_000.0),
        ("TPC-C procedures, taurus data", 150_000.0),
    ],
};
const TRANSFER_NAME: &str = "transfer in process, 2 workers, 2 logs";
const OVERHEAD_NAME: &str = "taurus next to none";
const REPLAY_NAME: &str = "replay, 2 logs, 2 workers";
const RECOVERY_NAME: &str = "recovery of a YCSB command log next to none forward";
const RECORD_NAME: &str = "TPC-C command record";
const DEPENDENCY_NAME: &str = "TPC-C command record, dependencies";

const TRANSFERS_PER_SECOND: f64 = 500_000.0;
/// Taurus may cost 10 %.
const SHARE_OF_NONE: f64 = 0.9;
const REPLAYED_PER_SECOND: f64 = 1_000_000.0;
const RECORD_BYTES: f64 = 120.0;
const DEPENDENCY_BYTES: f64 = 16.0;

pub(super) fn measure(options: &Options, directory: &Path) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    if wants(options, &TRANSFER, &[TRANSFER_NAME, OVERHEAD_NAME, REPLAY_NAME]) {
        lines.extend(transfers(&compare(options, directory, &TRANSFER)?)?);
    }
    if wants(options, &YCSB, &[RECOVERY_NAME]) {
        let report = compare(options, directory, &YCSB)?;
        lines.extend(rates(&YCSB, &report)?);
        lines.push(recovery(&report)?);
    }
    if wants(options, &TPCC, &[RECORD_NAME, DEPENDENCY_NAME]) {
        let report = compare(options, directory, &TPCC)?;
        lines.extend(rates(&TPCC, &report)?);
        lines.extend(records(&report)?);
    }
    Ok(lines)
}

fn wants(options: &Options, names: &Names, more: &[&str]) -> bool {
    names.rates.iter().any(|(name, _)| options.wants(name)) || more.iter().any(|name| options.wants(name))
}

fn compare(options: &Options, directory: &Path, names: &Names) -> Result<serde_json::Value> {
    let data = tempfile::tempdir_in(directory)?;
    eprintln!("{}: {} rounds of {}", names.workload[0], options.rounds, names.variants);
    let mut command = Command::new(tools::shipped().join("hyades"));
    command.arg("bench").args(names.workload).args(["--compare", names.variants]);
    command.args(["--workers", "2", "--logs", "2", "--recovery-workers", "2", "--recoveries", RECOVERIES]);
    command.args(["--rounds", &options.rounds.to_string()]);
    command.args(["--seconds", &options.seconds.min(LONGEST_SECONDS).to_string()]);
    command.args(["--reserve-memory-mib", RESERVED_MIB]);
    command.args(["--json", "--directory"]).arg(data.path());
    let printed = tools::output_of(&mut with_prefix(&options.prefix(), &command))?;
    serde_json::from_str(&printed).with_context(|| format!("hyades bench printed no JSON:\n{printed}"))
}

fn transfers(report: &serde_json::Value) -> Result<Vec<Line>> {
    let [none, taurus] = &report["variants"].as_array().context("no variants")?[..] else {
        bail!("not two variants: {report}");
    };
    let (none_rate, taurus_rate) = (spread(&none["per_second"])?, spread(&taurus["per_second"])?);
    let replayed = Spread::of(&numbers(&taurus["recovery"]["rates"])?).context("no recoveries")?;
    let line = |name, measured, beside, judged, least| Line {
        name,
        measured,
        unit: "/s",
        beside,
        judged,
        target: Target::AtLeast(least),
    };
    let beside = Some(("none".to_owned(), none_rate));
    let share = spread(&report["ratios"][0]["measured"])?;
    Ok(vec![
        line(TRANSFER_NAME, taurus_rate, None, taurus_rate, TRANSFERS_PER_SECOND),
        line(OVERHEAD_NAME, taurus_rate, beside, share, SHARE_OF_NONE),
        line(REPLAY_NAME, replayed, None, replayed, REPLAYED_PER_SECOND),
    ])
}

fn rates(names: &Names, report: &serde_json::Value) -> Result<Vec<Line>> {
    let lines = names.rates.iter().enumerate().map(|(variant, (name, target))| {
        let measured = spread(&report["variants"][variant]["per_second"])?;
        Ok(Line {
            name,
            measured,
            unit: "/s",
            beside: None,
            judged: measured,
            target: Target::AtLeast(*target),
        })
    });
    lines.collect()
}

/// The rate of transactions in the log, which are those that wrote, compared with all that ran without a log.
fn recovery(report: &serde_json::Value) -> Result<Line> {
    let rates = numbers(&report["variants"][1]["recovery"]["rates"])?;
    let forward = spread(&report["variants"][0]["per_second"])?;
    let ratios: Vec<f64> = rates.iter().map(|rate| rate / forward.median).collect();
    Ok(Line {
        name: RECOVERY_NAME,
        measured: Spread::of(&rates).context("no recoveries")?,
        unit: "/s",
        beside: Some(("none forward".to_owned(), forward)),
        judged: Spread::of(&ratios).context("no recoveries")?,
        target: Target::AtLeast(1.0),
    })
}

fn records(report: &serde_json::Value) -> Result<Vec<Line>> {
    let records = &report["variants"][1]["recovery"]["records"];
    let line = |name, field, limit| {
        let bytes = records[field].as_f64().with_context(|| format!("no {field} in {records}"))?;
        let measured = Spread::of(&[bytes]).context("one value")?;
        Ok::<Line, anyhow::Error>(Line {
            name,
            measured,
            unit: "bytes",
            beside: None,
            judged: measured,
            target: Target::AtMost(limit),
        })
    };
    Ok(vec![
        line(RECORD_NAME, "record_bytes", RECORD_BYTES)?,
        line(DEPENDENCY_NAME, "vector_bytes", DEPENDENCY_BYTES)?,
    ])
}

fn spread(json: &serde_json::Value) -> Result<Spread> {
    let number = |name: &str| json[name].as_f64().with_context(|| format!("no {name} in {json}"));
    Ok(Spread { median: number("median")?, minimum: number("min")?, maximum: number("max")? })
}

fn numbers(json: &serde_json::Value) -> Result<Vec<f64>> {
    let Some(values) = json.as_array() else { bail!("no numbers: {json}") };
    values.iter().map(|value| value.as_f64().with_context(|| format!("no number: {value}"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> serde_json::Value {
        let rate = |median: f64| json!({ "median": median, "min": median - 1.0, "max": median + 1.0 });
        let recovery =
            json!({ "rates": [3.0, 1.0, 2.0], "records": { "record_bytes": 90.5, "vector_bytes": 2.0 } });
        json!({ "variants": [
            { "per_second": rate(4.0) },
            { "per_second": rate(3.0), "recovery": recovery },
            { "per_second": rate(2.0), "recovery": null },
        ] })
    }

    #[test]
    fn lines_are_made_of_a_comparison() {
        let lines = rates(&YCSB, &report()).expect("three variants");
        let medians: Vec<f64> = lines.iter().map(|line| line.measured.median).collect();
        assert_eq!(medians, [4.0, 3.0, 2.0]);
        let recovery = recovery(&report()).expect("three recoveries");
        assert_eq!((recovery.measured.median, recovery.judged.median), (2.0, 0.5));
        let records = records(&report()).expect("two figures");
        assert!(records.iter().all(Line::is_met));
        assert_eq!(records[0].measured.median, 90.5);
    }

    #[test]
    fn transfers_are_judged_by_their_rate_their_share_and_their_replay() {
        let rate = |median: f64| json!({ "median": median, "min": median, "max": median });
        let recovery = json!({ "rates": [2e6, 3e6, 1e6] });
        let report = json!({
            "variants": [{ "per_second": rate(1e6) }, { "per_second": rate(8e5), "recovery": recovery }],
            "ratios": [{ "measured": rate(0.8) }],
        });
        let lines = transfers(&report).expect("two variants");
        assert_eq!(lines.iter().map(|line| line.judged.median).collect::<Vec<_>>(), [8e5, 0.8, 2e6]);
        assert_eq!(lines.iter().map(Line::is_met).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn a_report_without_figures_is_an_error() {
        assert!(transfers(&json!({})).is_err());
        assert!(rates(&TPCC, &json!({})).is_err());
        assert!(recovery(&json!({ "variants": [] })).is_err());
        assert!(records(&json!({ "variants": [] })).is_err());
    }
}
