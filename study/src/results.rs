//! What has been measured, in a file with a line for each group (JSON). A study that is interrupted goes on
//! where it was.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hyades_bench::compare::{Compared, Measured};
use hyades_bench::instance::Figures;
use serde::{Deserialize, Serialize};

use crate::crossing;
use crate::study::{Figure, Group, Size};

/// Every round's value of each figure.
pub type Values = BTreeMap<Figure, Vec<f64>>;

/// What a group has come to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub key: String,
    pub machine: Machine,
    pub seconds: f64,
    /// By the names of the variants, in the order in which they were measured.
    pub variants: Vec<(String, Values)>,
}

/// Where and when it was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The commit that the working directory is at, if it is a repository.
    pub commit: Option<String>,
    pub processors: usize,
    /// The load average when it began.
    pub load: String,
    pub time: String,
    /// What a line of memory cost that another processor had written, in nanoseconds (`crossing`). A virtual
    /// machine's processors may be close to each other at one time, and far apart at another.
    #[serde(default)]
    pub line_ns: Option<f64>,
}

impl Machine {
    pub fn now() -> Machine {
        let commit = std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
        let commit = commit.ok().filter(|output| output.status.success());
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Machine {
            commit: commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
            time: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
            line_ns: crossing::line_ns().map(|line| line.median),
        }
    }
}

impl Outcome {
    pub fn new(group: &Group, size: Size, machine: Machine, seconds: f64, compared: &Compared) -> Outcome {
        let variants = compared.measured.iter().map(|one| (one.variant.name(), values(one)));
        Outcome { key: group.key(size), machine, seconds, variants: variants.collect() }
    }

    /// All rounds' values of a figure of a variant.
    pub fn values(&self, variant: &str, figure: Figure) -> Option<&[f64]> {
        let (_, values) = self.variants.iter().find(|(name, _)| name == variant)?;
        Some(values.get(&figure)?)
    }
}

fn values(measured: &Measured) -> Values {
    let mut values = Values::new();
    let rounds = |value: fn(&Figures) -> f64| measured.rounds.iter().map(value).collect();
    values.insert(Figure::Rate, rounds(|round| round.per_second));
    values.insert(Figure::Latency, rounds(|round| round.latency_us[2] as f64));
    values.insert(Figure::WorkerTime, rounds(|round| round.worker_ns));
    values.insert(Figure::LoggerTime, rounds(|round| round.logger_ns));
    values.insert(Figure::Writes, rounds(|round| round.syncs_per_transaction));
    values.insert(Figure::WrittenBytes, rounds(|round| round.bytes_per_transaction));
    let again = rounds(|round| 1000.0 * round.retries as f64 / round.acknowledged.max(1) as f64);
    values.insert(Figure::BegunAgain, again);
    let Some(recovered) = &measured.recovered else { return values };
    // Only the first one reads the devices at their speed.
    values.insert(Figure::Recovery, recovered.rates.iter().take(1).copied().collect());
    values.insert(Figure::RecordBytes, vec![recovered.records.record_bytes]);
    values.insert(Figure::DependencyBytes, vec![recovered.records.vector_bytes]);
    if let Some(parallelism) = recovered.records.parallelism {
        values.insert(Figure::ByPositions, vec![parallelism.positions]);
        values.extend(parallelism.named.map(|named| (Figure::ByNames, vec![named])));
        values.insert(Figure::ByConflicts, vec![parallelism.conflicts]);
    }
    values
}

/// The file.
pub struct Results {
    path: PathBuf,
    outcomes: BTreeMap<String, Outcome>,
}

impl Results {
    /// Reads the file in this folder, if there is one. A line that is not whole, because the program was
    /// stopped while it wrote, is left out.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(folder: &Path) -> Result<Results> {
        let path = folder.join("results.jsonl");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
        };
        let outcomes = text.lines().filter_map(|line| serde_json::from_str::<Outcome>(line).ok());
        let outcomes = outcomes.map(|outcome| (outcome.key.clone(), outcome)).collect();
        Ok(Results { path, outcomes })
    }

    pub fn find(&self, key: &str) -> Option<&Outcome> {
        self.outcomes.get(key)
    }

    /// Appends a line to the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, outcome: Outcome) -> Result<()> {
        let written = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            // In one piece, and on a line of its own whatever the last one was.
            file.write_all(format!("\n{}\n", serde_json::to_string(&outcome)?).as_bytes())?;
            file.sync_all()
        };
        written().with_context(|| format!("could not write {}", self.path.display()))?;
        self.outcomes.insert(outcome.key.clone(), outcome);
        Ok(())
    }
}
