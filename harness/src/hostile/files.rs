//! Permissions of the data, and directories that a server must not open.

use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::ground::{Attack, Ground, skip, until};
use super::report::{Observed, Verdict};
use crate::tools;

/// Damages log directories on a simulated disk, one fault at a time.
const SINGLE_FAULTS: &str = "sim/tests/single_faults.rs";

const ATTACKS: [Attack; 7] = [
    Attack { name: "no other user may read anything (umask 000)", brief: true, work: permissions },
    Attack { name: "a second server on the same directory", brief: true, work: second_server },
    Attack { name: "--protocol none on a database with a log", brief: true, work: no_protocol },
    Attack { name: "a missing segment in the middle", brief: true, work: missing_segment },
    Attack { name: "a log cut short after a clean stop", brief: true, work: cut_after_stop },
    Attack { name: "a disk that is full for a while", brief: true, work: full_disk },
    Attack { name: "single faults on log directories (--faults)", brief: false, work: single_faults },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("files", &ATTACKS, report);
}

/// Everything below a directory that users other than the owner may access.
fn open_to_others(directory: &Path, found: &mut Vec<String>) -> Result<()> {
    let permissions = std::fs::symlink_metadata(directory)?;
    if permissions.mode() & 0o077 != 0 {
        found.push(format!("{} {:o}", directory.display(), permissions.permissions().mode() & 0o777));
    }
    if permissions.is_dir() {
        for entry in std::fs::read_dir(directory)? {
            open_to_others(&entry?.path(), found)?;
        }
    }
    Ok(())
}

fn permissions(ground: &Ground) -> Result<Observed> {
    let mut host =
        ground.host_with_prefix(&["sh", "-c", "umask 000; exec \"$0\" \"$@\""], &["--segment-mib", "1"])?;
    let mut client = host.connect()?;
    client.value("create table t (id integer primary key, v text)")?;
    // Makes some segments of each log, and another incarnation.
    client.value("insert into t select g, repeat('x', 1000) from generate_series(1, 5000) g")?;
    host.restart()?;
    host.connect()?.value("insert into t values (0, '')")?;
    let mut found = Vec::new();
    open_to_others(&host.data(), &mut found)?;
    match found.first() {
        Some(first) => bail!("{} files and directories are open to others: {first}", found.len()),
        None => Ok(Observed::default()),
    }
}

/// The error of a server that must not start.
fn refusal(ground: &Ground, data: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("timeout");
    command.arg("10").arg(&ground.binary).args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    let output = command.args(arguments).output().context("cannot start a server")?;
    if output.status.code() != Some(1) {
        bail!("`{}` was not refused: {}", tools::display(&command), output.status);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let sentence = words.lines().find_map(|line| line.strip_prefix("hyades: ")).unwrap_or_default();
    if sentence.is_empty() {
        bail!("refused without a sentence: {words}");
    }
    Ok(sentence.to_owned())
}

fn second_server(ground: &Ground) -> Result<Observed> {
    let mut host = ground.host(&[])?;
    refusal(ground, &host.data(), &[])?;
    host.expect_alive()?;
    Ok(Observed::default())
}

fn no_protocol(ground: &Ground) -> Result<Observed> {
    let mut host = ground.host(&[])?;
    host.connect()?.value("create table t (id integer primary key)")?;
    host.end_with(Signal::TERM)?;
    refusal(ground, &host.data(), &["--protocol", "none"])?;
    host.restart()?;
    host.connect()?.value("select count(*) from t")?;
    Ok(Observed::default())
}

/// One log, so that no other one has anchors that name the missing segment.
fn missing_segment(ground: &Ground) -> Result<Observed> {
    let mut host = ground.host(&["--logs", "1", "--segment-mib", "1"])?;
    let mut client = host.connect()?;
    client.value("create table t (id integer primary key, v text)")?;
    for row in 0..6000 {
        if row % 2000 == 0 {
            client.value(&format!("insert into t values ({row}, repeat('x', 600000))"))?;
        }
        client.value(&format!("insert into t values ({}, 'y')", row + 10_000))?;
        if row > 300 && ground.brief {
            break;
        }
    }
    for row in 0..6 {
        client.value(&format!("insert into t values ({}, repeat('z', 400000))", row + 100_000))?;
    }
    let rows = client.value("select count(*) from t")?;
    host.server.kill()?;
    let segment = host.data().join("logs/log-0/00000001-00000002.segment");
    let kept = host.instance.directory.join("kept");
    std::fs::rename(&segment, &kept).context("no second segment")?;
    let sentence = refusal(ground, &host.data(), &["--logs", "1", "--segment-mib", "1"])?;
    std::fs::rename(&kept, &segment)?;
    host.restart().context("after the segment was put back")?;
    let after = host.connect()?.value("select count(*) from t")?;
    if rows != after {
        bail!("{rows} rows before, {after} after the segment was put back");
    }
    Ok(Observed::note(sentence))
}

fn single_faults(ground: &Ground) -> Result<Observed> {
    if ground.faults == 0 {
        return skip("not asked for");
    }
    if !tools::repository_root().join(SINGLE_FAULTS).exists() {
        return skip(format!("needs {SINGLE_FAULTS}"));
    }
    let mut test = tools::test_of_workspace(&["--test", "single_faults", "--", "--nocapture"]);
    test.env("HYADES_SINGLE_FAULTS", ground.faults.to_string()).env("HYADES_SEED", ground.seed.to_string());
    tools::run(&mut test)?;
    Ok(Observed::note(format!("{} faults", ground.faults)))
}

/// The segments of a log that contain anything, oldest first.
fn used_segments(log: &Path) -> Result<Vec<PathBuf>> {
    let mut segments = Vec::new();
    for entry in std::fs::read_dir(log).context("no log directory")? {
        let path = entry?.path();
        if std::fs::read(&path)?.iter().any(|byte| *byte != 0) {
            segments.push(path);
        }
    }
    segments.sort();
    Ok(segments)
}

/// After a stop nothing can be torn, so a missing end is not forgiven.
fn cut_after_stop(ground: &Ground) -> Result<Observed> {
    let arguments = ["--logs", "1", "--segment-mib", "1"];
    let mut host = ground.host(&arguments)?;
    let mut client = host.connect()?;
    client.value("create table t (id integer primary key)")?;
    for row in 0..200 {
        client.value(&format!("insert into t values ({row})"))?;
    }
    host.end_with(Signal::TERM)?;
    let segments = used_segments(&host.data().join("logs/log-0"))?;
    let last = segments.last().context("no segment is used")?;
    let whole = std::fs::read(last)?;
    let end = whole.iter().rposition(|byte| *byte != 0).unwrap_or_default();
    File::options().write(true).open(last)?.set_len(end as u64 / 2)?;
    let sentence = refusal(ground, &host.data(), &arguments)?;
    std::fs::write(last, &whole)?;
    host.restart().context("after the segment was mended")?;
    let rows = host.connect()?.value("select count(*) from t")?;
    if rows != "200" {
        bail!("{rows} of 200 rows are there");
    }
    Ok(Observed::note(sentence))
}

/// A file system in memory, which disappears when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(directory: PathBuf, mib: u32) -> Result<SmallDisk> {
        std::fs::create_dir_all(&directory)?;
        let size = format!("size={mib}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&directory);
        match tools::output_of(&mut mount) {
            Ok(_) => Ok(SmallDisk(directory)),
            // Not every user may mount.
            Err(error) => skip(format!("cannot mount a small file system: {error}")),
        }
    }

    fn enlarge(&self, mib: u32) -> Result<()> {
        let options = format!("remount,size={mib}m");
        tools::run(Command::new("mount").args(["-o", &options]).arg(&self.0))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The server may not be quite gone: detach the file system as soon as it is.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn full_disk(ground: &Ground) -> Result<Observed> {
    let disk = SmallDisk::mount(ground.directory.join("small"), 40)?;
    let arguments = ["--segment-mib", "1", "--logs", "2"];
    let mut host = ground.host_in(disk.0.join("hyades"), &[], &arguments)?;
    let mut client = host.connect()?;
    client.value("create table t (id integer primary key, v text)")?;
    let mut rows = 0;
    let state = loop {
        let answer = client.query(&format!("insert into t values ({rows}, repeat('x', 300000))"))?;
        if !answer.state().is_empty() || rows > 1000 {
            break answer.state().to_owned();
        }
        rows += 1;
    };
    if state != "53100" {
        bail!("row {rows} got \"{state}\"");
    }
    let there = client.value("select count(*) from t")?;
    if there != rows.to_string() {
        bail!("{rows} rows were acknowledged, {there} are there");
    }
    host.wait_for_line("could not extend log")?;
    let said = host.log().lines().filter(|line| line.contains("could not extend log")).count();
    if !(1..=2).contains(&said) {
        bail!("the log says {said} times that the disk is full, for two logs");
    }
    disk.enlarge(200)?;
    let works = until(Duration::from_secs(20), || {
        Ok(client.query(&format!("insert into t values ({rows}, 'fits')"))?.state().is_empty())
    })?;
    works.context("nothing can be written although there is space")?;
    host.restart()?;
    let after = host.connect()?.value("select count(*) from t")?;
    if after != (rows + 1).to_string() {
        bail!("{} rows were acknowledged, {after} are there after a restart", rows + 1);
    }
    Ok(Observed::note(format!("53100 at row {rows}")))
}
