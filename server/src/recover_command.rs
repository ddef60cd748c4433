//! `hyades recover`: makes a new database from the logs of another one.
//!
//! The old directory is only read. Without `--salvage` it is recovered as a start would do it, or refused.
//! With it, what is damaged and what may depend on that is dropped ([`hyades_engine::recovery::salvage`]),
//! and every dropped transaction that can be read is written down in the new directory, so that people can
//! decide what to do about it.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use hyades::Config;
use hyades_engine::db::{begin_copy, create_copy};
use hyades_engine::inspect::{Entry, EntryBody, Inspection, TransactionEntry};
use hyades_engine::log::manifest::Incarnation;
use hyades_engine::protocol::{Cut, EVERY_STAMP};
use hyades_engine::recovery::recover;
use hyades_engine::recovery::salvage::{Salvage, SalvagedIncarnation, Verdict, salvage};
use hyades_engine::storage::databases::Databases;

use crate::log_command::Failure;
use crate::log_command::dump_command::Printer;
use crate::serve::{Sentence, with_hint};

/// The file in the new directory that lists what a salvage has dropped.
const DROPPED_FILE: &str = "dropped.txt";

#[derive(Args)]
pub struct RecoverArguments {
    /// Data directory of the database; it is only read. No server may have it open.
    #[arg(long)]
    data: PathBuf,
    /// Data directory of the new database; it must be empty or not exist.
    #[arg(long)]
    into: PathBuf,
    /// Drop what is damaged, and every transaction that may depend on it, and keep everything else.
    #[arg(long)]
    salvage: bool,
    /// Threads that replay; 0 means one for each core.
    #[arg(long, default_value_t = 0)]
    recovery_workers: usize,
}

/// Runs the command; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user.
pub fn run(arguments: &RecoverArguments) -> Result<(), Sentence> {
    match recover_into(arguments, &mut io::stdout().lock()) {
        Ok(()) => Ok(()),
        Err(Failure::Output(error)) => Err(format!("could not write: {error}")),
        Err(Failure::Sentence(sentence)) => Err(sentence),
    }
}

fn recover_into(arguments: &RecoverArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let inspection = Inspection::open(&arguments.data)?;
    if inspection.is_in_use() == Some(true) {
        return Err(Failure::Sentence("a server has this directory open".to_owned()));
    }
    let is_empty = |mut entries: std::fs::ReadDir| entries.next().is_none();
    if std::fs::read_dir(&arguments.into).is_ok_and(|entries| !is_empty(entries)) {
        return Err(Failure::Sentence(format!("directory \"{}\" is not empty", arguments.into.display())));
    }
    refuse_inside(&arguments.into, std::slice::from_ref(&arguments.data)).map_err(Failure::Sentence)?;
    let mut config = Config::new(&arguments.data);
    config.recovery_workers = arguments.recovery_workers;
    let mut target = Config::new(&arguments.into);
    if let Ok(last) = inspection.incarnation(None) {
        (target.protocol, target.logs) = (last.protocol_kind()?, last.logs);
    }
    if arguments.salvage {
        return salvage_into(&config, &target, &inspection.tolerating_damage(), out);
    }
    let databases = Arc::new(Databases::new());
    let report = recover(&config, Some(hyades::routine_compiler()), &databases)
        .map_err(|error| with_hint(&error, &arguments.data))?
        .report;
    create_copy(&target, &databases)?;
    writeln!(
        out,
        "recovered {} transactions: {} rows in {} tables, now in \"{}\"",
        report.transactions,
        report.rows,
        report.tables,
        arguments.into.display()
    )?;
    Ok(())
}

/// Refuses to write into, or under, directories that are only read, by whatever name.
///
/// # Errors
/// A sentence for the user.
pub fn refuse_inside(target: &Path, read: &[PathBuf]) -> Result<(), Sentence> {
    let failed = |error: io::Error| format!("could not find \"{}\": {error}", target.display());
    let absolute = std::path::absolute(target).map_err(failed)?;
    let found = |path: &Path| Some((std::fs::canonicalize(path).ok()?, absolute.strip_prefix(path).ok()?));
    let Some((mut resolved, missing)) = absolute.ancestors().find_map(found) else { return Ok(()) };
    // What does not exist is no link, so `..` after it leads back.
    for component in missing.components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            component => resolved.push(component),
        }
    }
    let is_above = |read: &&PathBuf| std::fs::canonicalize(read).is_ok_and(|read| resolved.starts_with(read));
    match read.iter().find(is_above) {
        None => Ok(()),
        Some(read) => Err(format!(
            "directory \"{}\" is inside \"{}\", which is only read",
            target.display(),
            read.display()
        )),
    }
}

fn salvage_into(
    config: &Config,
    target: &Config,
    inspection: &Inspection,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (databases, salvage) = salvage(config, Some(hyades::routine_compiler()))?;
    let copy = begin_copy(target, &databases)?;
    let dropped = match salvage.damages.is_empty() {
        true => None,
        false => Some(write_dropped(&salvage, inspection, &target.data_directory)?),
    };
    copy.finish()?;
    let into = target.data_directory.display();
    let report = &salvage.report;
    for damage in &salvage.damages {
        writeln!(out, "{damage}")?;
    }
    writeln!(
        out,
        "kept {} transactions: {} rows in {} tables, now in \"{into}\"",
        report.transactions, report.rows, report.tables
    )?;
    match dropped {
        None => writeln!(out, "nothing was damaged, and nothing was dropped")?,
        Some((dropped, path)) => writeln!(
            out,
            "dropped {dropped} transactions that can still be read; they are written down in \"{}\"",
            path.display()
        )?,
    }
    Ok(())
}

/// Writes the file of what was dropped. Returns the number of transactions and the path.
fn write_dropped(
    salvage: &Salvage,
    inspection: &Inspection,
    directory: &Path,
) -> Result<(u64, PathBuf), Failure> {
    let path = directory.join(DROPPED_FILE);
    let mut file = BufWriter::new(OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?);
    let dropped = write_down(salvage, inspection, &mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok((dropped, path))
}

/// Writes every dropped transaction that can be read, with the reason. Returns their number.
fn write_down(salvage: &Salvage, inspection: &Inspection, out: &mut dyn Write) -> Result<u64, Failure> {
    for damage in &salvage.damages {
        writeln!(out, "{damage}")?;
    }
    // The logs up to the last incarnation describe every table: table numbers are never reused.
    let printer = Printer::new(inspection, inspection.incarnation(None)?, false)?;
    let mut dropped = 0;
    for salvaged in &salvage.incarnations {
        let is_damaged = salvage.damages.iter().any(|damage| damage.incarnation == salvaged.number);
        if !is_damaged && !salvaged.follows_a_loss() {
            continue;
        }
        let incarnation = inspection.incarnation(Some(salvaged.number))?;
        let cut = match salvaged.known() {
            Some(known) => Cut::at(known, EVERY_STAMP),
            None => inspection.cut(incarnation)?,
        };
        for log in 0..incarnation.logs {
            let mut failed = None;
            inspection.read(incarnation, log, |entry| {
                let EntryBody::Transaction(transaction) = &entry.body else {
                    return Ok(ControlFlow::Continue(()));
                };
                let Some(reason) = reason(salvaged, incarnation, &cut, &entry, transaction) else {
                    return Ok(ControlFlow::Continue(()));
                };
                dropped += 1;
                let (number, end) = (incarnation.number, entry.end);
                let operations = printer.operations(transaction);
                let line =
                    write!(out, "\nincarnation {number}, log {log}, position {end}: {reason}\n{operations}");
                failed = line.err();
                Ok(if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
    }
    Ok(dropped)
}

/// Why a transaction was dropped, if the damage is the reason. `cut` says up to where its incarnation's logs
/// count, as far as that is known.
fn reason(
    salvaged: &SalvagedIncarnation,
    incarnation: &Incarnation,
    cut: &Cut,
    entry: &Entry<'_>,
    transaction: &TransactionEntry<'_>,
) -> Option<String> {
    // Log records after the frozen end have never counted.
    if incarnation.frozen_end().is_some_and(|end| entry.end > end.get(entry.log)) {
        return None;
    }
    if !salvaged.follows_a_loss() && entry.end > salvaged.end(entry.log) {
        return Some("its own log is damaged before it".to_owned());
    }
    match salvaged.verdict(entry.log, (entry.start, entry.end), transaction.follows) {
        // The incarnation never had this transaction, even without the damage.
        None if !transaction.counts(entry.log, entry.end, cut) => None,
        None => Some("it may depend on an earlier incarnation, which has lost something".to_owned()),
        Some(Verdict::Kept | Verdict::Zombie) => None,
        Some(Verdict::Condemned) => Some("it cannot be replayed".to_owned()),
        Some(Verdict::MayDepend { on_log }) => {
            Some(format!("it may depend on what was lost or dropped of log {on_log}"))
        }
    }
}
