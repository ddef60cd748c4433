//! Measures what is missing, and writes the pages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyades_bench::command_line::Scratch;
use hyades_bench::compare::{self, Plan};
use hyades_bench::instance::{Replay, Setting};

use crate::events::model::{self, Modelled};
use crate::results::{Machine, Outcome, Results};
use crate::study::{Evidence, Group, IN_FLIGHT, Size, Study};
use crate::{figures, page};

/// How studies are run.
pub struct Options {
    /// Where results and pages go.
    pub folder: PathBuf,
    pub size: Size,
    /// A document whose tables are written anew.
    pub document: Option<PathBuf>,
}

/// Runs studies, and tells how far it has come.
///
/// # Errors
/// A measurement that is none (`hyades_bench`), or files that cannot be written. What was measured before
/// that is kept.
pub fn run(studies: &[&'static Study], options: &Options, progress: &mut dyn Write) -> Result<()> {
    let Options { folder, size, document } = options;
    fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    let mut results = Results::open(folder)?;
    let mut missing: Vec<(&str, Group)> = Vec::new();
    for study in studies {
        for group in (study.groups)(*size) {
            let key = group.key(*size);
            let is_known = results.find(&key).is_some();
            if !is_known && !missing.iter().any(|(_, other)| other.key(*size) == key) {
                missing.push((study.name, group));
            }
        }
    }
    let (begun, all) = (Instant::now(), missing.len());
    for (number, (study, group)) in missing.iter().enumerate() {
        let left = match number {
            0 => String::new(),
            _ => {
                format!(", about {} left", duration(begun.elapsed() / number as u32 * (all - number) as u32))
            }
        };
        writeln!(progress, "[{}/{all}] {study}, {}{left}", number + 1, group.at)?;
        progress.flush()?;
        results.add(measure(group, *size)?)?;
        // What is there can be looked at while the rest is measured.
        write_pages(studies, *size, &results, None, folder)?;
    }
    let mut modelled = None;
    if studies.iter().any(|study| study.evidence == Evidence::Simulated) {
        writeln!(progress, "simulating")?;
        progress.flush()?;
        modelled = model::run(&results, *size);
    }
    write_pages(studies, *size, &results, modelled.as_ref(), folder)?;
    if let Some(document) = document {
        figures::write(document, studies, *size, &results)?;
    }
    writeln!(progress, "see {}", folder.join("index.html").display())?;
    Ok(())
}

fn measure(group: &Group, size: Size) -> Result<Outcome> {
    let (scratch, machine, begun) = (Scratch::new(None)?, Machine::now(), Instant::now());
    let workload = group.load.workload(size);
    let plan = Plan {
        setting: Setting {
            workers: group.workers,
            logs: group.logs,
            device: group.device,
            in_flight: IN_FLIGHT,
            seed: 1,
            directory: scratch.0.clone(),
            recovery_workers: 0,
            replay: Replay::Keys,
            recoveries: 1,
            orders: group.orders,
        },
        rounds: size.rounds(),
        length: size.length(),
        warm_up: size.length() / 2,
        crashes: true,
    };
    let compared = compare::run(&group.variants, &plan, workload.as_ref())?;
    compared.verdict()?;
    Ok(Outcome::new(group, size, machine, begun.elapsed().as_secs_f64(), &compared))
}

fn write_pages(
    studies: &[&'static Study],
    size: Size,
    results: &Results,
    modelled: Option<&Modelled>,
    folder: &Path,
) -> Result<()> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))
    };
    for study in studies {
        write(&format!("{}.html", study.name), page::study(study, size, results, modelled))?;
    }
    write("index.html", page::index(studies, size, results))
}

fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 90 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
