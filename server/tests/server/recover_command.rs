//! `hyades recover`: new databases from intact and from damaged ones.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Output;

use hyades::{Config, Database, ProtocolKind, Value};
use hyades_engine::disk::RealDisk;
use hyades_engine::disk::SECTOR_BYTES;
use hyades_engine::inspect::{EntryBody, Inspection};
use hyades_engine::log::manifest::{Incarnation, Manifest, UpToEnd};
use hyades_engine::lsn::{Lsn, LsnVector};
use hyades_engine::protocol::Cut;

use crate::process::{Directory, hyades};

/// Rows of which each call changes one, in logs of one block for each transaction.
fn build(directory: &Path) {
    let mut config = Config::new(directory);
    config.protocol = ProtocolKind::Serial;
    config.segment_bytes = 1 << 20;
    config.log_buffer_bytes = 1 << 16;
    config.log_sector_bytes = Some(SECTOR_BYTES);
    let database = Database::open(config).unwrap();
    {
        let mut session = database.connect().unwrap();
        session.execute("create table t (id int primary key, amount bigint)", &[]).unwrap();
        let add = "create procedure add(i int, d int) language plpgsql as $$ begin
            insert into t values (i, d) on conflict (id) do update set amount = t.amount + excluded.amount;
            end $$";
        session.execute(add, &[]).unwrap();
        for number in 1..=30 {
            session.execute(&format!("call add({number}, {number})"), &[]).unwrap();
        }
    }
    database.shutdown().unwrap();
}

/// Changes a byte in the block of this number, counted from 0.
fn damage(directory: &Path, block: u64) {
    use std::os::unix::fs::FileExt;
    let segment = directory.join("logs/log-0/00000001-00000001.segment");
    let file = std::fs::OpenOptions::new().read(true).write(true).open(segment).unwrap();
    let offset = (1 + block) * SECTOR_BYTES as u64 + 60;
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[!byte[0]], offset).unwrap();
}

fn recover(from: &Path, into: &Path, options: &[&str]) -> Output {
    hyades().arg("recover").arg("--data").arg(from).arg("--into").arg(into).args(options).output().unwrap()
}

fn printed(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).unwrap()
}

fn refusal(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.stdout.is_empty());
    std::str::from_utf8(&output.stderr).unwrap()
}

fn rows(directory: &Path) -> Vec<Vec<Value>> {
    let mut config = Config::new(directory);
    config.protocol = ProtocolKind::Serial;
    let database = Database::open(config).unwrap();
    let rows = database.connect().unwrap().query("select id, amount from t order by id", &[]).unwrap();
    database.shutdown().unwrap();
    rows
}

#[test]
fn a_whole_database_is_copied_without_its_history() {
    let (directory, parent) = (Directory::new(), Directory::new());
    build(directory.path());
    let copy = parent.path().join("copy");
    let output = recover(directory.path(), &copy, &[]);
    assert!(printed(&output).starts_with("recovered 32 transactions: 30 rows in 1 tables"), "{output:?}");
    assert_eq!(rows(&copy), rows(directory.path()));
    // An existing database is not overwritten.
    assert!(refusal(&recover(directory.path(), &copy, &[])).contains("is not empty"));
    assert!(
        refusal(&recover(&copy.join("nothing"), &parent.path().join("other"), &[])).contains("no Hyades")
    );
}

#[test]
fn a_damaged_database_is_refused_with_the_way_out_and_salvaged() {
    let (directory, parent) = (Directory::new(), Directory::new());
    build(directory.path());
    damage(directory.path(), 12);
    let before = std::fs::read(directory.path().join("manifest")).unwrap();
    let copy = parent.path().join("copy");
    let refused = recover(directory.path(), &copy, &[]);
    assert!(refusal(&refused).contains("is damaged at byte 53248"), "{refused:?}");
    assert!(refusal(&refused).contains("hyades recover --salvage"), "{refused:?}");
    assert!(!copy.exists());
    let serve = hyades().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path()).output();
    assert!(refusal(&serve.unwrap()).contains("hyades recover --salvage"));

    let output = recover(directory.path(), &copy, &["--salvage"]);
    let text = printed(&output);
    assert!(text.contains("log 0 of incarnation 1: everything after position"), "{text}");
    let kept = rows(&copy);
    let whole: Vec<Vec<Value>> =
        (1..=kept.len() as i32).map(|id| vec![Value::Integer(id), Value::BigInt(i64::from(id))]).collect();
    assert!((5..25).contains(&kept.len()), "{text}");
    assert_eq!(kept, whole);
    // Every call after the damaged block is written down. The one in it cannot be.
    let dropped = std::fs::read_to_string(copy.join("dropped.txt")).unwrap();
    let last = "call public.add(\"30\", \"30\")";
    let first = format!("call public.add(\"{0}\", \"{0}\")", kept.len() + 2);
    assert!(dropped.contains(last) && dropped.contains(&first), "{dropped}");
    assert_eq!(dropped.matches("its own log is damaged before it").count(), 30 - kept.len() - 1, "{dropped}");
    assert_eq!(std::fs::read(directory.path().join("manifest")).unwrap(), before);
}

#[test]
fn what_is_whole_is_salvaged_whole() {
    let (directory, parent) = (Directory::new(), Directory::new());
    build(directory.path());
    let copy = parent.path().join("copy");
    let output = recover(directory.path(), &copy, &["--salvage"]);
    assert!(printed(&output).contains("nothing was damaged, and nothing was dropped"), "{output:?}");
    assert_eq!(rows(&copy), rows(directory.path()));
    assert!(!copy.join("dropped.txt").exists());
}

/// What a salvage has written down.
fn dropped(from: &Path, into: &Path) -> String {
    let output = recover(from, into, &["--salvage"]);
    assert!(printed(&output).contains("they are written down in"), "{output:?}");
    std::fs::read_to_string(into.join("dropped.txt")).unwrap()
}

#[test]
fn a_log_without_its_beginning_is_written_down_too() {
    let (directory, parent) = (Directory::new(), Directory::new());
    build(directory.path());
    let segment = directory.path().join("logs/log-0/00000001-00000001.segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[30] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let dropped = dropped(directory.path(), &parent.path().join("copy"));
    for number in 1..=30 {
        assert!(dropped.contains(&format!("call public.add(\"{number}\", \"{number}\")")), "{dropped}");
    }
    assert_eq!(dropped.matches("its own log is damaged before it").count(), 32, "{dropped}");
}

#[test]
fn what_is_left_of_a_large_transaction_is_not_taken_for_the_whole() {
    let (directory, parent) = (Directory::new(), Directory::new());
    let mut config = Config::new(directory.path());
    config.protocol = ProtocolKind::Serial;
    (config.segment_bytes, config.log_buffer_bytes) = (1 << 20, 1 << 16);
    let database = Database::open(config).unwrap();
    let mut session = database.connect().unwrap();
    session.execute("create table t (id int primary key, content text)", &[]).unwrap();
    for (number, letter) in (1..=3).zip(["a", "b", "c"]) {
        session
            .execute(&format!("insert into t values ({number}, repeat('{letter}', 200000))"), &[])
            .unwrap();
    }
    drop(session);
    database.shutdown().unwrap();
    drop(database);
    // Damages the middle of the second one.
    let segment = directory.path().join("logs/log-0/00000001-00000001.segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    let of_second: Vec<usize> =
        (0..bytes.len()).filter(|place| bytes[*place..].starts_with(b"bbbb")).collect();
    bytes[of_second[of_second.len() / 2]] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let dropped = dropped(directory.path(), &parent.path().join("copy"));
    assert_eq!(dropped.matches("its first fragments are lost").count(), 1, "{}", dropped.len());
    assert_eq!(dropped.matches("put public.t id=\"3\" content=\"ccc").count(), 1, "{}", dropped.len());
    assert!(!dropped.contains("    damaged") && !dropped.contains("bbb"), "{}", dropped.len());
}

/// The ends of those transactions of an incarnation that count, or of those that do not.
fn ends(inspection: &Inspection, incarnation: &Incarnation, counting: bool) -> Vec<(usize, Lsn)> {
    let cut = Cut::of(incarnation).unwrap();
    let mut found = Vec::new();
    for log in 0..incarnation.logs {
        let read = inspection.read(incarnation, log, |entry| {
            if let EntryBody::Transaction(transaction) = &entry.body
                && transaction.counts(log, entry.end, &cut) == counting
            {
                found.push((log, entry.end));
            }
            Ok(ControlFlow::Continue(()))
        });
        read.unwrap();
    }
    found
}

#[test]
fn what_never_counted_is_not_among_the_dropped() {
    let (directory, parent) = (Directory::new(), Directory::new());
    for _ in 0..2 {
        let mut config = Config::new(directory.path());
        (config.logs, config.shared_block_bytes) = (2, 0);
        (config.segment_bytes, config.log_buffer_bytes) = (1 << 20, 1 << 16);
        let database = Database::open(config).unwrap();
        let mut sessions = [database.connect().unwrap(), database.connect().unwrap()];
        sessions[0].execute("create table if not exists t (id int primary key, n int)", &[]).unwrap();
        sessions[0].execute("insert into t values (1, 0) on conflict (id) do nothing", &[]).unwrap();
        for number in 0..40 {
            sessions[number % 2].execute("update t set n = n + 1", &[]).unwrap();
        }
        drop(sessions);
        database.shutdown().unwrap();
    }
    // As if the second start had found only a part of log 0.
    let mut manifest = Manifest::load(&RealDisk, directory.path()).unwrap().unwrap();
    let whole = Inspection::open(directory.path()).unwrap();
    let second = manifest.incarnations.last_mut().unwrap();
    let of_log = |log: usize| {
        ends(&whole, whole.incarnation(None).unwrap(), true).into_iter().filter(move |one| one.0 == log)
    };
    let middle = of_log(0).nth(10).unwrap().1;
    let last = second.frozen_end().unwrap().get(1);
    second.freeze(&LsnVector::from_slice(&[middle.0, last.0]), UpToEnd::default());
    manifest.store(&RealDisk, directory.path()).unwrap();
    let torn = Inspection::open(directory.path()).unwrap();
    let second = torn.incarnation(None).unwrap();
    assert!(ends(&torn, second, false).iter().any(|(log, _)| *log == 1));
    let segment = directory.path().join("logs/log-0/00000001-00000001.segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[SECTOR_BYTES + 60] ^= 1;
    std::fs::write(&segment, bytes).unwrap();

    let dropped = dropped(directory.path(), &parent.path().join("copy"));
    let is_there =
        |(log, end): (usize, Lsn)| dropped.contains(&format!("incarnation 2, log {log}, position {end}: "));
    assert!(ends(&torn, second, true).into_iter().all(is_there), "{dropped}");
    assert!(!ends(&torn, second, false).into_iter().any(is_there), "{dropped}");
}

#[test]
fn nothing_is_put_into_the_damaged_directory() {
    let directory = Directory::new();
    build(directory.path());
    damage(directory.path(), 12);
    let before = std::fs::read_dir(directory.path()).unwrap().count();
    for inside in ["copy", "logs/log-0/copy", "new/../logs/copy"] {
        let refused = recover(directory.path(), &directory.path().join(inside), &["--salvage"]);
        assert!(refusal(&refused).contains("which is only read"), "{refused:?}");
    }
    // From outside, by directories that do not exist.
    let name = directory.path().file_name().unwrap();
    let around = directory.path().parent().unwrap().join("no/such/../..").join(name).join("copy");
    let refused = recover(directory.path(), &around, &["--salvage"]);
    assert!(refusal(&refused).contains("which is only read"), "{refused:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), before);
}
