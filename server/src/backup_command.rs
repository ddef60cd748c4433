//! `hyades backup`, `hyades restore` and `hyades check`.
//!
//! They work on files: a backup of a running server needs nothing from it (`hyades_engine::backup`).

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use clap::Args;
use hyades::verification::{VerifiedConstraints, verify_constraints};
use hyades::{Config, Database};
use hyades_engine::backup::{
    BackupReport, Place, PointInTime, Restorable, Restored, Verified, Window, back_up_keeping, restore,
    shown, shown_time, verify, windows,
};
use hyades_engine::disk::{Disk, RealDisk};
use hyades_engine::inspect::Inspection;
use hyades_engine::log::manifest::Manifest;
use hyades_engine::lsn::TransactionPlace;
use hyades_engine::recovery::{check_indexes, recover, state_hash};
use hyades_engine::storage::databases::Databases;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tokio::signal::unix::{SignalKind, signal};

use crate::log_command::Failure;
use crate::logging;
use crate::object_disk::ObjectDisk;
use crate::recover_command::refuse_inside;
use crate::serve::{Sentence, with_hint};

#[derive(Args)]
pub struct BackupArguments {
    /// Data directory of the database; a server may have it open.
    #[arg(long)]
    data: PathBuf,
    /// Directory of the backup, or s3://bucket/prefix: new, empty, or an older backup of the same database,
    /// to which new data is added.
    #[arg(long, value_name = "PLACE")]
    into: String,
    /// Continue until SIGTERM or SIGINT, and back up new data at this interval (10s, 5min): if the machine is
    /// lost, so is the data since the last backup.
    #[arg(long, value_name = "TIME", value_parser = pause)]
    every: Option<Duration>,
    /// Remove what only points in time longer ago than this need (12h, 7d); without it, everything is kept.
    #[arg(long, value_name = "TIME", value_parser = pause)]
    keep: Option<Duration>,
}

/// A time that is not zero.
fn pause(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("must be a number and ms, s, min, h or d".to_owned()),
    };
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_ms)) {
        Some(0) | None => Err("must be more than 0".to_owned()),
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
    }
}

#[derive(Args)]
pub struct RestoreArguments {
    /// Directory of the backup, or s3://bucket/prefix; it is only read.
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Data directory of the new database; it must be empty or not exist.
    #[arg(long, required_unless_present = "list")]
    into: Option<PathBuf>,
    /// Restore nothing, but say which points in time can be restored.
    #[arg(long, conflicts_with_all = ["into", "to_time", "to_checkpoint", "to_txn"])]
    list: bool,
    /// As the database was at this time: \"2026-11-24 18:30:00\" in this machine's time zone, or with an
    /// offset or Z; the end of the backup unless given.
    #[arg(long, value_name = "TIME", value_parser = point_in_time)]
    to_time: Option<u64>,
    /// As the database was at the time of a checkpoint: with what that of this number holds, and nothing
    /// else.
    #[arg(long, value_name = "NUMBER", conflicts_with = "to_time")]
    to_checkpoint: Option<u64>,
    /// As the database was with this transaction: incarnation/log/position, as hyades_last_commit() returns
    /// it in SQL; the last two are what hyades log dump prints.
    #[arg(long, value_name = "PLACE", value_parser = transaction_place, conflicts_with_all = ["to_time", "to_checkpoint"])]
    to_txn: Option<TransactionPlace>,
    /// With --to-txn: just before that transaction, without it and without all that depends on it.
    #[arg(long, requires = "to_txn")]
    exclusive: bool,
}

impl RestoreArguments {
    fn point(&self) -> PointInTime {
        match (self.to_time, self.to_checkpoint, self.to_txn) {
            (Some(time_us), ..) => PointInTime::Time(time_us),
            (_, Some(number), _) => PointInTime::Checkpoint(number),
            (_, _, Some(place)) => PointInTime::Transaction { place, is_exclusive: self.exclusive },
            (None, None, None) => PointInTime::End,
        }
    }
}

fn transaction_place(text: &str) -> Result<TransactionPlace, &'static str> {
    text.parse()
}

#[derive(Args)]
pub struct CheckArguments {
    /// Data directory of a database that no server has open, or a backup, also as s3://bucket/prefix; it is
    /// only read.
    #[arg(long, value_name = "PLACE")]
    data: String,
    /// Threads that load and replay; 0 means one for each core.
    #[arg(long, default_value_t = 0)]
    recovery_workers: usize,
    /// Compare nothing: load and replay twice, and report the speed of the second pass, which reads the files
    /// from memory.
    #[arg(long)]
    in_memory: bool,
}

/// Microseconds since 1970.
fn point_in_time(text: &str) -> Result<u64, String> {
    let in_utc = text.parse::<jiff::Timestamp>();
    let time = in_utc.or_else(|_| {
        let local = text.parse::<DateTime>();
        local.and_then(|local| local.to_zoned(TimeZone::system())).map(|zoned| zoned.timestamp())
    });
    let time =
        time.map_err(|_| "must be a time such as \"2026-11-24 18:30:00\" or \"2026-11-24T18:30:00Z\"")?;
    u64::try_from(time.as_microsecond()).map_err(|_| "must not be before 1970".to_owned())
}

fn said(outcome: Result<(), Failure>) -> Result<(), Sentence> {
    outcome.map_err(|failure| match failure {
        Failure::Output(error) => format!("could not write: {error}"),
        Failure::Sentence(sentence) => sentence,
    })
}

/// The place of a backup: a directory, and the disk that it is on.
struct Spot {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    /// Whether the disk is the operating system's.
    is_of_files: bool,
}

impl Spot {
    /// A directory of the operating system.
    fn of_files(directory: &Path) -> Spot {
        Spot { disk: Arc::new(RealDisk), directory: directory.to_owned(), is_of_files: true }
    }

    /// A directory, `file:///directory` or `s3://bucket/prefix`.
    fn open(place: &str) -> Result<Spot, Sentence> {
        if place.starts_with("s3://") {
            let disk = ObjectDisk::open(place)?;
            let directory = disk.root().to_owned();
            return Ok(Spot { disk: Arc::new(disk), directory, is_of_files: false });
        }
        match place.split_once("://") {
            // Such a name was not meant as a directory.
            None if place.starts_with("s3:") => Err(Spot::unknown(place)),
            None => Ok(Spot::of_files(Path::new(place))),
            Some(("file", path)) if path.starts_with('/') => Ok(Spot::of_files(Path::new(path))),
            Some(_) => Err(Spot::unknown(place)),
        }
    }

    fn unknown(place: &str) -> Sentence {
        format!("\"{place}\" must be a directory, file:///directory or s3://bucket/prefix")
    }

    fn place(&self) -> Place<'_> {
        Place::new(&self.disk, &self.directory)
    }
}

/// Runs `hyades backup`; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user.
pub fn run_backup(arguments: &BackupArguments) -> Result<(), Sentence> {
    let BackupArguments { data, into, every, keep } = arguments;
    let (data, into) = (Spot::of_files(data), Spot::open(into)?);
    if into.is_of_files {
        refuse_inside(&into.directory, &directories_of(&data.directory))?;
    }
    let stop = every.map(|every| Ok::<_, Sentence>((every, StopSignal::listen()?))).transpose()?;
    let round = || back_up_keeping(data.place(), into.place(), *keep).map_err(|error| error.to_string());
    let tell = |report: &BackupReport| said(tell_backup(report, &into.directory, &mut io::stdout().lock()));
    tell(&round()?)?;
    let Some((every, stop)) = stop else { return Ok(()) };
    let mut failure = String::new();
    while !stop.came_within(every) {
        match round() {
            Ok(report) => {
                failure.clear();
                if report.copied_files > 0 {
                    tell(&report)?;
                }
            }
            // The next round may succeed, and existing data stays. The same failure is reported only once.
            Err(error) if error != failure => {
                logging::complain(&format!("the backup failed and will be retried: {error}"));
                failure = error;
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// The directories of a database that are only read: its data directory, and those of its logs.
fn directories_of(data: &Path) -> Vec<PathBuf> {
    let mut directories = vec![data.to_owned()];
    // A database that cannot be read is refused later.
    if let Ok(Some(manifest)) = Manifest::read(&RealDisk, data) {
        for incarnation in &manifest.incarnations {
            directories.extend(incarnation.directories.iter().map(|directory| data.join(directory)));
            for log in 0..incarnation.logs {
                directories.extend(incarnation.stripe_directories(data, log));
            }
        }
    }
    directories
}

/// SIGTERM or SIGINT. The first one lets the current round end, the second one ends the process.
struct StopSignal {
    came: Receiver<()>,
    /// No round is under way.
    is_pause: Arc<AtomicBool>,
}

impl StopSignal {
    fn listen() -> Result<StopSignal, Sentence> {
        let failed = |error: io::Error| format!("could not listen for signals: {error}");
        let (sender, came) = channel();
        let is_pause = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (mut terminate, mut interrupt) = {
            let _entered = runtime.enter();
            (
                signal(SignalKind::terminate()).map_err(failed)?,
                signal(SignalKind::interrupt()).map_err(failed)?,
            )
        };
        let mut next = move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            });
        };
        let is_paused = Arc::clone(&is_pause);
        let wait = move || {
            next();
            if !is_paused.load(Ordering::Acquire) {
                logging::complain("this round is finished first; another signal ends it at once");
            }
            // A receiver that is gone has ended.
            let _ = sender.send(());
            next();
            // A copy cut short does not count and does no harm.
            std::process::exit(1);
        };
        std::thread::Builder::new().name("hyades-signals".to_owned()).spawn(wait).map_err(failed)?;
        Ok(StopSignal { came, is_pause })
    }

    /// Waits for the signal, at most for `pause`. Returns whether it came.
    fn came_within(&self, pause: Duration) -> bool {
        self.is_pause.store(true, Ordering::Release);
        let came = self.came.recv_timeout(pause);
        self.is_pause.store(false, Ordering::Release);
        came != Err(RecvTimeoutError::Timeout)
    }
}

fn tell_backup(report: &BackupReport, into: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let BackupReport { checkpoint, copied_files, copied_bytes, known_files, windows, lost } = report;
    let what = match checkpoint {
        Some(number) => format!("checkpoint {number} and the logs after it"),
        None => "all logs (there is no checkpoint yet)".to_owned(),
    };
    let mib = *copied_bytes as f64 / f64::from(1 << 20);
    writeln!(
        out,
        "backed up {what} into \"{}\": {copied_files} files copied ({mib:.1} MiB), {known_files} were there already",
        into.display()
    )?;
    if let Some(lost) = lost {
        writeln!(out, "{lost}")?;
    }
    tell_windows(windows, out)
}

fn tell_windows(windows: &[Window], out: &mut dyn Write) -> Result<(), Failure> {
    for window in windows {
        writeln!(out, "it can be restored to points in time {}", shown(window.from_us, window.to_us))?;
    }
    Ok(())
}

fn tell_list(windows: &[Window], out: &mut dyn Write) -> Result<(), Failure> {
    tell_windows(windows, out)?;
    for (number, from_us) in windows.iter().flat_map(|window| &window.checkpoints) {
        writeln!(out, "checkpoint {number}, of {}", shown_time(*from_us))?;
    }
    Ok(())
}

/// Runs `hyades restore`; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user.
pub fn run_restore(arguments: &RestoreArguments) -> Result<(), Sentence> {
    let from = Spot::open(&arguments.from)?;
    let Some(into) = arguments.into.as_ref().filter(|_| !arguments.list) else {
        let windows = windows(from.place()).map_err(|error| error.to_string())?;
        return said(tell_list(&windows, &mut io::stdout().lock()));
    };
    if from.is_of_files {
        refuse_inside(into, std::slice::from_ref(&from.directory))?;
    }
    let target = Spot::of_files(into);
    let restored =
        restore(from.place(), target.place(), arguments.point()).map_err(|error| error.to_string())?;
    said(tell_restored(&restored, into, &mut io::stdout().lock()))
}

fn tell_restored(restored: &Restored, into: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let Restored { checkpoint, copied_files, copied_bytes, to_us } = restored;
    let mib = *copied_bytes as f64 / f64::from(1 << 20);
    let from =
        checkpoint.map_or_else(|| "the logs alone".to_owned(), |number| format!("checkpoint {number}"));
    writeln!(
        out,
        "restored from {from}: {copied_files} files ({mib:.1} MiB), now in \"{}\"",
        into.display()
    )?;
    if *to_us > 0 {
        writeln!(out, "the last that counts was written at {}", shown_time(*to_us))?;
    }
    writeln!(out, "start it with: hyades serve --data \"{}\"", into.display())?;
    Ok(())
}

/// Runs `hyades check`; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user: what is wrong.
pub fn run_check(arguments: &CheckArguments) -> Result<(), Sentence> {
    said(check(arguments, &mut io::stdout().lock()))
}

fn check(arguments: &CheckArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let spot = Spot::open(&arguments.data)?;
    let Spot { disk, directory, .. } = &spot;
    let data = directory.as_path();
    let is_backup = Manifest::read(disk.as_ref(), data)?.is_some_and(|manifest| manifest.backup.is_some());
    if !is_backup && Inspection::open(data)?.is_in_use() == Some(true) {
        let message =
            "a server has this directory open: check a backup of it, which hyades backup makes meanwhile";
        return Err(Failure::Sentence(message.to_owned()));
    }
    let mut config = Config::new(data);
    config.disk = Arc::clone(disk);
    config.recovery_workers = arguments.recovery_workers;
    config.reads_backups = true;
    if arguments.in_memory {
        return tell_apply_rate(&config, out);
    }
    if is_backup {
        check_points(&spot, out)?;
    }
    let databases = Arc::new(Databases::new());
    let report = recover(&config, Some(hyades::routine_compiler()), &databases)
        .map_err(|error| with_hint(&error, data))?
        .report;
    let checked = check_indexes(&databases)?;
    if let Some(number) = report.checkpoint {
        let (rows, mib) = (report.checkpoint_rows, report.checkpoint_bytes as f64 / f64::from(1 << 20));
        writeln!(out, "checkpoint {number}: {rows} rows, {mib:.1} MiB, all checksums right")?;
    }
    writeln!(
        out,
        "logs: {} transactions replayed from {} bytes, all checksums right",
        report.transactions, report.log_bytes
    )?;
    writeln!(
        out,
        "{} rows in {} tables; {} indexes with {} entries agree with them; state {:016x}",
        checked.rows,
        checked.tables,
        checked.indexes,
        checked.entries,
        state_hash(&databases)?
    )?;
    for tail in report.tails.iter().filter(|tail| tail.is_torn()) {
        writeln!(out, "{tail}")?;
    }
    check_constraints(&config, databases, out)
}

/// Checks that a backup can be restored to every point that it advertises.
fn check_points(backup: &Spot, out: &mut dyn Write) -> Result<(), Failure> {
    let Verified { windows, restorable, lost_checkpoints, has_end, damages } = verify(backup.place())?;
    if damages.is_empty() && lost_checkpoints.is_empty() {
        return tell_windows(&windows, out);
    }
    for damage in &damages {
        writeln!(out, "{damage}")?;
    }
    for Restorable { from_us, before_us } in &restorable {
        writeln!(
            out,
            "it can still be restored to points in time {}",
            shown(*from_us, before_us.saturating_sub(1))
        )?;
    }
    writeln!(out, "it can{} be restored to its end", if has_end { " still" } else { "not" })?;
    for number in &lost_checkpoints {
        writeln!(out, "it cannot be restored to checkpoint {number}")?;
    }
    let message = "the backup is damaged: it cannot be restored to all points that it has";
    Err(Failure::Sentence(message.to_owned()))
}

/// Reports how fast checkpoint and logs are applied when no read waits for a disk.
fn tell_apply_rate(config: &Config, out: &mut dyn Write) -> Result<(), Failure> {
    let apply = || {
        let databases = Arc::new(Databases::new());
        let recovered = recover(config, Some(hyades::routine_compiler()), &databases);
        recovered.map(|recovered| recovered.report).map_err(|error| with_hint(&error, &config.data_directory))
    };
    // The first pass brings the files into the page cache. What it has loaded is freed before the second one.
    apply()?;
    hyades_engine::storage::free_dropped();
    let report = apply()?;
    let bytes = report.checkpoint_bytes + report.log_bytes;
    let replay_seconds: f64 = report.replayed.iter().map(|incarnation| incarnation.seconds).sum();
    let rate = |bytes: u64, seconds: f64| bytes as f64 / seconds.max(f64::EPSILON) / 1e6;
    writeln!(
        out,
        "apply rate: {:.1} MB/s, {:.0} rows/s: {bytes} bytes and {} rows in {:.3} s",
        rate(bytes, report.seconds),
        report.rows as f64 / report.seconds.max(f64::EPSILON),
        report.rows,
        report.seconds
    )?;
    writeln!(
        out,
        "checkpoint: {:.1} MB/s, {} bytes in {:.3} s; logs: {:.1} MB/s, {} bytes in {replay_seconds:.3} s, and {:.3} s to find \
         their ends",
        rate(report.checkpoint_bytes, report.checkpoint_seconds),
        report.checkpoint_bytes,
        report.checkpoint_seconds,
        rate(report.log_bytes, replay_seconds),
        report.log_bytes,
        report.cut_seconds
    )?;
    Ok(())
}

/// Looks for rows that break a constraint.
fn check_constraints(config: &Config, databases: Arc<Databases>, out: &mut dyn Write) -> Result<(), Failure> {
    let database = Database::of_recovered(config, databases)?;
    let mut written = Ok(());
    let found = verify_constraints(&database, |sentence| {
        if written.is_ok() {
            written = writeln!(out, "{sentence}");
        }
    })?;
    database.shutdown()?;
    written?;
    let VerifiedConstraints { constraints, violations } = found;
    if violations > 0 {
        let message = format!("rows break constraints: {violations} violations of {constraints} constraints");
        return Err(Failure::Sentence(message));
    }
    writeln!(out, "{constraints} constraints hold")?;
    Ok(())
}
