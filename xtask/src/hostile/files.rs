//! Who may read the data, and directories that a server must not open.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::ground::{Attack, Ground, skip};
use super::report::{Observed, Verdict};
use crate::tools;

/// Damages log directories on a simulated disk, one fault at a time.
const SINGLE_FAULTS: &str = "sim/tests/single_faults.rs";

const ATTACKS: [Attack; 5] = [
    Attack { name: "no other user may read anything (umask 000)", brief: true, work: permissions },
    Attack { name: "a second server on the same directory", brief: true, work: second_server },
    Attack { name: "--protocol none on a database with a log", brief: true, work: no_protocol },
    Attack { name: "a missing segment in the middle", brief: true, work: missing_segment },
    Attack { name: "single faults on log directories (--faults)", brief: false, work: single_faults },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("files", &ATTACKS, report);
}

/// Everything below a directory that others than the owner may touch.
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
        ground.host_behind(&["sh", "-c", "umask 000; exec \"$0\" \"$@\""], &["--segment-mib", "1"])?;
    let mut client = host.connect()?;
    client.value("create table t (id integer primary key, v text)")?;
    // Some segments of each log, and another incarnation.
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

/// What a server says that must not start.
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

/// One log, so that no other one has anchors that name what is missing.
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
    let mut test = tools::cargo();
    test.args(["test", "--quiet", "--package", "hyades-sim", "--test", "single_faults", "--", "--nocapture"]);
    test.env("HYADES_SINGLE_FAULTS", ground.faults.to_string()).env("HYADES_SEED", ground.seed.to_string());
    tools::run(&mut test)?;
    Ok(Observed::note(format!("{} faults", ground.faults)))
}
