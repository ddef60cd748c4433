//! `hyades study` on small databases: that it replays what a start would replay. Its figures depend on the
//! machine.

use std::path::Path;

use hyades::{Config, Database};
use serde_json::Value;

use crate::process::{Directory, hyades};

/// Logs of one procedure that has been called so often by each of two sessions.
fn build(directory: &Path, calls: u64, logging: &str) {
    let mut config = Config::new(directory);
    config.segment_bytes = 1 << 20;
    config.log_buffer_bytes = 1 << 16;
    config.shared_block_bytes = 0;
    let database = Database::open(config).unwrap();
    {
        let mut sessions = [database.connect().unwrap(), database.connect().unwrap()];
        sessions[0].execute("create table t (id int primary key, amount bigint not null)", &[]).unwrap();
        sessions[0].execute("insert into t select i, 0 from generate_series(0, 99) as s(i)", &[]).unwrap();
        let procedure = "create procedure add(what int) language plpgsql as $$ begin
            update t set amount = (amount * 3 + what) % 1000003 where id = what; end $$";
        sessions[0].execute(procedure, &[]).unwrap();
        for session in &mut sessions {
            session.execute(&format!("set hyades.logging = '{logging}'"), &[]).unwrap();
        }
        for call in 0..calls {
            for session in &mut sessions {
                session.execute(&format!("call add({})", call % 7), &[]).unwrap();
            }
        }
    }
    database.shutdown().unwrap();
}

fn json(arguments: &[&str], directory: &Path) -> Value {
    let output = hyades().args(arguments).arg(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn study(directory: &Path) -> Value {
    json(&["study", "replay-model", "--workers", "3", "--rounds", "2", "--json"], directory)
}

/// Checks what was replayed, and returns the number of transactions that were replayed key by key, in each
/// order.
fn by_key(directory: &Path, study: &Value) -> Vec<u64> {
    let verified = json(&["log", "verify", "--json", "--data"], directory);
    assert_eq!(study["state_hash"], verified["state_hash"]);
    assert_eq!(study["transactions"], verified["transactions"]);
    let studied = study["studied"].as_array().unwrap();
    for one in studied {
        let workers: Vec<&Value> =
            one["workers"].as_array().unwrap().iter().map(|row| &row["workers"]).collect();
        assert_eq!(workers, [1, 3], "{one}");
        assert_eq!(one["workers"][0]["simulated_speed_up"], 1.0, "{one}");
        assert!(one["workers"][0]["error"].is_number(), "one worker is measured: {one}");
        let shares = one["workers"][1]["simulated_shares"].as_object().unwrap();
        let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{one}");
    }
    studied.iter().map(|one| one["transactions_by_key"].as_u64().unwrap()).collect()
}

#[test]
fn changes_of_rows_are_studied_in_both_orders() {
    let directory = Directory::new();
    build(directory.path(), 200, "data");
    let study = study(directory.path());
    assert_eq!(by_key(directory.path(), &study), [study["transactions"].as_u64().unwrap(), 0]);
}

#[test]
fn calls_are_studied_in_the_order_of_their_positions() {
    let directory = Directory::new();
    build(directory.path(), 200, "command");
    let study = study(directory.path());
    let by_key = by_key(directory.path(), &study);
    assert!(by_key.len() == 1 && by_key[0] < 100, "{study}");
}

#[test]
fn what_cannot_be_studied_is_refused() {
    let directory = Directory::new();
    let refusal = |arguments: &[&str]| {
        let output = hyades().args(["study", "replay-model"]).args(arguments).output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    let path = directory.path().to_str().unwrap();
    assert!(refusal(&[path]).contains("there is no Hyades database"), "{}", refusal(&[path]));
    assert!(refusal(&[path, "--workers", "0"]).contains("must be a number from 1 to 256"));
    let database = Database::open(Config::new(directory.path().join("empty"))).unwrap();
    database.shutdown().unwrap();
    drop(database);
    let empty = directory.path().join("empty");
    let refused = refusal(&[empty.to_str().unwrap()]);
    assert!(refused.contains("hold nothing to replay"), "{refused}");
}
