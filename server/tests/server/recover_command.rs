//! `hyades recover`: new databases of whole and of damaged ones.

use std::path::Path;
use std::process::Output;

use hyades::{Config, Database, ProtocolKind, Value};

use crate::process::{Directory, hyades};

/// Rows of which each call changes one, in logs of one block for each transaction.
fn build(directory: &Path) {
    let mut config = Config::new(directory);
    config.protocol = ProtocolKind::Serial;
    config.segment_bytes = 1 << 20;
    config.log_buffer_bytes = 1 << 16;
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
    let offset = (1 + block) * 4096 + 60;
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
    // Nothing is put on top of something.
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
    assert!(text.contains("log 0 of incarnation 1: everything behind position"), "{text}");
    let kept = rows(&copy);
    let whole: Vec<Vec<Value>> =
        (1..=kept.len() as i32).map(|id| vec![Value::Integer(id), Value::BigInt(i64::from(id))]).collect();
    assert!((5..25).contains(&kept.len()), "{text}");
    assert_eq!(kept, whole);
    // Every call behind the damaged block is written down, and the one in it cannot be.
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
