//! `hyades log` on a small database, compared with the expected output.

use std::path::Path;
use std::process::Output;

use hyades::{Config, Database, ProtocolKind};

use crate::process::{Directory, Server, hyades};

const SCHEMA: &str = "create table t (id int primary key, name text, amount bigint not null)";

/// Runs the statements of one session, so that the logs are the same in every run.
fn build(directory: &Path, protocol: ProtocolKind) {
    let mut config = Config::new(directory);
    config.protocol = protocol;
    config.segment_bytes = 1 << 20;
    config.log_buffer_bytes = 1 << 16;
    config.shared_block_bytes = 0;
    let database = Database::open(config).unwrap();
    {
        let mut first = database.connect().unwrap();
        let mut second = database.connect().unwrap();
        first.execute(SCHEMA, &[]).unwrap();
        first.execute("insert into t values (1, 'one', 10), (2, null, 20)", &[]).unwrap();
        second.execute("update t set amount = amount + 1 where id = 1", &[]).unwrap();
        first.execute("insert into t values (3, 'three', 30)", &[]).unwrap();
        second.execute("delete from t where id = 2", &[]).unwrap();
    }
    database.shutdown().unwrap();
}

const TRANSFER: &str =
    "create procedure transfer(source int, target int, amounts bigint[], why text) language plpgsql as $$
begin
    update t set amount = amount - amounts[1] where id = source;
    update t set amount = amount + amounts[1] where id = target;
end
$$";

/// Two versions of a procedure, called as commands and once as data.
fn build_calls(directory: &Path, protocol: ProtocolKind) {
    build(directory, protocol);
    let mut config = Config::new(directory);
    config.protocol = protocol;
    config.segment_bytes = 1 << 20;
    config.log_buffer_bytes = 1 << 16;
    config.shared_block_bytes = 0;
    let database = Database::open(config).unwrap();
    {
        let mut session = database.connect().unwrap();
        session.execute(TRANSFER, &[]).unwrap();
        session.execute("call transfer(1, 3, '{4}', 'rent')", &[]).unwrap();
        session.execute("set hyades.logging = 'data'", &[]).unwrap();
        session.execute("call transfer(1, 3, '{5}', null)", &[]).unwrap();
        session.execute("set hyades.logging = 'auto'", &[]).unwrap();
        session.execute(&TRANSFER.replace("create", "create or replace"), &[]).unwrap();
        session.execute("call transfer(3, 1, '{6,7}', null)", &[]).unwrap();
    }
    database.shutdown().unwrap();
}

fn log(directory: &Path, arguments: &[&str]) -> Output {
    let (command, options) = arguments.split_first().unwrap();
    hyades().arg("log").arg(command).arg("--data").arg(directory).args(options).output().unwrap()
}

fn printed(directory: &Path, arguments: &[&str]) -> String {
    let output = log(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(directory: &Path, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&printed(directory, arguments)).unwrap()
}

fn refusal(directory: &Path, arguments: &[&str]) -> String {
    let output = log(directory, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn dump_shows_transactions_with_vectors_and_rows() {
    let directory = Directory::new();
    build(directory.path(), ProtocolKind::Taurus);
    let expected = include_str!("log_command/dump.expected");
    assert_eq!(printed(directory.path(), &["dump"]), expected);
    let lines = printed(directory.path(), &["dump", "--json", "--log", "1"]);
    let rows: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    let update = &rows[0]["operations"][0];
    assert_eq!((&update["operation"], &update["table"]), (&"patch".into(), &"public.t".into()));
    assert_eq!(update["content"], serde_json::json!({ "amount": "11" }));
    assert_eq!(rows[1]["operations"][0]["operation"], "delete");
    assert_eq!(rows[1]["counts"], true);
    // A range: the second record of log 1.
    let from = rows[0]["end"].to_string();
    let second = printed(directory.path(), &["dump", "--json", "--log", "1", "--from", &from]);
    assert_eq!(second.trim(), lines.lines().nth(1).unwrap());
    let first = printed(directory.path(), &["dump", "--json", "--log", "1", "--limit", "1"]);
    assert_eq!(first.trim(), lines.lines().next().unwrap());
}

#[test]
fn dump_and_stat_show_how_far_sequences_have_come() {
    let directory = Directory::new();
    let mut config = Config::new(directory.path());
    config.protocol = ProtocolKind::Serial;
    let database = Database::open(config).unwrap();
    let mut session = database.connect().unwrap();
    for sql in ["create sequence s", "select nextval('s'), nextval('s')", "select setval('s', 7, false)"] {
        session.query(sql, &[]).unwrap();
    }
    drop(session);
    database.shutdown().unwrap();
    let lines = printed(directory.path(), &["dump", "--json"]);
    let rows = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let rows: Vec<serde_json::Value> = rows.collect();
    // Also what changes no row has a time: a checkpoint cuts by it.
    let times: Vec<u64> = rows.iter().map(|row| row["time"].as_u64().unwrap()).collect();
    assert!(times.len() == 3 && times[0] > 0 && times.is_sorted_by(|one, next| one < next), "{times:?}");
    let shown: Vec<String> = rows
        .iter()
        .filter(|row| row["operations"][0]["operation"] == "sequence")
        .map(|row| format!("{} {}", row["operations"][0]["table"], row["operations"][0]["content"]))
        .collect();
    let expected = [
        r#""public.s" {"epoch":1,"is_called":true,"value":2}"#,
        r#""public.s" {"epoch":2,"is_called":false,"value":7}"#,
    ];
    assert_eq!(shown, expected);
    assert!(printed(directory.path(), &["stat"]).contains("0 puts, 0 patches, 0 deletes, 2 sequences"));
}

#[test]
fn stat_counts_records_by_kind() {
    let directory = Directory::new();
    build(directory.path(), ProtocolKind::Taurus);
    let stat = json(directory.path(), &["stat", "--json"]);
    assert_eq!(stat["incarnations"].as_array().unwrap().len(), 1);
    let logs = stat["logs"].as_array().unwrap();
    let count = |kind: &str| logs.iter().map(|log| log[kind]["count"].as_u64().unwrap()).sum::<u64>();
    assert_eq!((count("data"), count("schema"), count("command")), (4, 1, 0));
    let total = |field: &str| logs.iter().map(|log| log[field].as_u64().unwrap()).sum::<u64>();
    let operations = (total("puts"), total("patches"), total("deletes"), total("discarded"));
    assert_eq!(operations, (3, 1, 1, 0));
    for log in logs {
        let kinds = ["data", "command", "schema", "fragment", "anchor", "filler"];
        let bytes: u64 = kinds.iter().map(|kind| log[kind]["bytes"].as_u64().unwrap()).sum();
        assert_eq!(bytes, log["record_bytes"].as_u64().unwrap(), "every byte belongs to a record");
        assert_eq!(log["counts_to"], log["record_bytes"]);
        assert!(log["segment_bytes"].as_u64() > log["record_bytes"].as_u64());
    }
    let text = printed(directory.path(), &["stat"]);
    let is_final = text.contains("* incarnation 1: taurus, 2 logs, ended at [") && !text.contains("note:");
    assert!(is_final, "a clean stop enters the ends: {text}");
    // A kill is simulated by copying the files while they are in use.
    let killed = Directory::new();
    let mut config = Config::new(directory.path());
    (config.segment_bytes, config.log_buffer_bytes) = (1 << 20, 1 << 16);
    let database = Database::open(config).unwrap();
    let copy = std::process::Command::new("cp")
        .arg("-r")
        .arg(directory.path().join("."))
        .arg(killed.path())
        .status()
        .unwrap();
    assert!(copy.success());
    database.shutdown().unwrap();
    let text = printed(killed.path(), &["stat"]);
    assert!(text.contains("* incarnation 2: taurus, 2 logs, not ended"), "{text}");
    assert!(text.contains("has not been recovered yet"), "{text}");
    // The next start freezes the end, and the note disappears.
    build_nothing(killed.path());
    let text = printed(killed.path(), &["stat", "--incarnation", "2"]);
    assert!(
        text.contains("* incarnation 2: taurus, 2 logs, ended at [") && !text.contains("note:"),
        "{text}"
    );
}

#[test]
fn calls_are_shown_with_routine_and_arguments() {
    for protocol in [ProtocolKind::Taurus, ProtocolKind::Serial] {
        let directory = Directory::new();
        build_calls(directory.path(), protocol);
        let dump = printed(directory.path(), &["dump"]);
        let calls: Vec<&str> = dump.lines().map(str::trim).filter(|line| line.starts_with("call ")).collect();
        assert_eq!(calls.len(), 2, "{dump}");
        let shown: Vec<&str> =
            calls.iter().map(|call| call.rsplit_once(" version=").expect("a version").0).collect();
        assert_eq!(
            shown,
            [
                r#"call public.transfer("1", "3", "{4}", "rent")"#,
                r#"call public.transfer("3", "1", "{6,7}", NULL)"#
            ]
        );
        // Calls that were logged as data, or with another version, are distinguished.
        assert_eq!(dump.matches("    patch public.t ").count(), 2, "{dump}");
        let lines = printed(directory.path(), &["dump", "--json"]);
        let operations: Vec<serde_json::Value> = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["operations"][0].clone())
            .filter(|operation| operation["operation"] == "call")
            .collect();
        assert_eq!(operations[0]["routine"], "public.transfer");
        assert_eq!(operations[0]["arguments"], serde_json::json!(["1", "3", "{4}", "rent"]));
        assert_eq!(operations[1]["arguments"][3], serde_json::Value::Null);
        assert_eq!(operations[0]["captured"], serde_json::json!({}));
        assert_ne!(operations[0]["write_set_hash"], operations[1]["write_set_hash"]);

        let stat = json(directory.path(), &["stat", "--json"]);
        let logs = stat["logs"].as_array().unwrap();
        let count = |kind: &str| logs.iter().map(|log| log[kind]["count"].as_u64().unwrap()).sum::<u64>();
        assert_eq!((count("command"), count("data"), count("schema")), (2, 1, 2));
        let calls: Vec<&serde_json::Value> =
            logs.iter().flat_map(|log| log["calls"].as_array().unwrap()).collect();
        assert_eq!(calls.len(), 2, "two versions: {stat}");
        assert!(calls.iter().all(|call| call["routine"] == "public.transfer" && call["count"] == 1));
        let text = printed(directory.path(), &["stat"]);
        assert!(text.contains("public.transfer"), "{text}");
        // The log does not say which keys a call writes, so even the order by conflicts places it after what
        // its vector names.
        let graph = json(directory.path(), &["graph", "--json"]);
        assert_eq!((&graph["transactions"], &graph["without_keys"]), (&5.into(), &4.into()), "{graph}");
        let dot = printed(directory.path(), &["graph", "--dot"]);
        assert_eq!(dot.matches("\\npublic.transfer\"").count(), 2, "{dot}");
    }
}

fn build_nothing(directory: &Path) {
    let mut config = Config::new(directory);
    config.segment_bytes = 1 << 20;
    Database::open(config).unwrap().shutdown().unwrap();
}

#[test]
fn graph_tells_work_and_span() {
    let directory = Directory::new();
    build(directory.path(), ProtocolKind::Taurus);
    let graph = json(directory.path(), &["graph", "--json"]);
    assert_eq!(graph["transactions"], 5);
    // Schema change, first insert, then its update, its delete and another insert.
    let order = |name: &str| (graph["orders"][name]["work"].as_u64(), graph["orders"][name]["span"].as_u64());
    assert_eq!(order("serial"), (Some(5), Some(5)));
    assert_eq!(order("conflict"), (Some(5), Some(3)));
    let span = graph["orders"]["lv"]["span"].as_u64().unwrap();
    assert!((3..=5).contains(&span), "{graph}");
    let dot = printed(directory.path(), &["graph", "--dot"]);
    assert!(dot.starts_with("digraph log {") && dot.ends_with("}\n") && dot.contains("color=red"), "{dot}");
    let by_operations = json(directory.path(), &["graph", "--json", "--cost", "operations"]);
    assert_eq!(by_operations["orders"]["serial"]["work"], 6);

    let serial = Directory::new();
    build(serial.path(), ProtocolKind::Serial);
    let graph = json(serial.path(), &["graph", "--json"]);
    assert_eq!(graph["orders"]["lv"]["span"], 5, "{graph}");
    assert_eq!(graph["orders"]["conflict"]["span"], 3);
}

#[test]
fn logs_of_the_dependency_graph_show_what_records_name() {
    let directory = Directory::new();
    build(directory.path(), ProtocolKind::TaurusGraph);
    let dump = printed(directory.path(), &["dump"]);
    assert!(dump.contains(" follows 0:") || dump.contains(" follows 1:"), "{dump}");
    let records: Vec<serde_json::Value> =
        printed(directory.path(), &["dump", "--json"]).lines().map(|line| line.parse().unwrap()).collect();
    let transactions: Vec<_> = records.iter().filter(|record| record["kind"] == "transaction").collect();
    assert!(transactions.len() >= 5 && transactions.iter().all(|one| one["counts"] == true), "{dump}");
    let id = |record: &serde_json::Value| (record["log"].as_u64(), record["end"].as_u64());
    let ids: Vec<_> = transactions.iter().map(|record| id(record)).collect();
    let named = |record: &serde_json::Value| record["follows"].as_array().cloned().unwrap_or_default();
    let all: Vec<_> = transactions.iter().flat_map(|record| named(record)).collect();
    assert!(!all.is_empty(), "{dump}");
    assert!(all.iter().all(|named| ids.contains(&(named[0].as_u64(), named[1].as_u64()))), "{dump}");
    let stat = json(directory.path(), &["stat", "--json"]);
    let sum: u64 = stat["logs"].as_array().unwrap().iter().map(|log| log["named"].as_u64().unwrap()).sum();
    assert_eq!(sum, all.len() as u64, "{stat}");
    let graph = json(directory.path(), &["graph", "--json"]);
    let span = |name: &str| graph["orders"][name]["span"].as_u64().unwrap();
    assert!((3..=5).contains(&span("named")) && span("named") <= span("positions"), "{graph}");
}

#[test]
fn logs_of_silor_and_plover_show_stamps() {
    logs_show_stamps(ProtocolKind::SiloR);
    logs_show_stamps(ProtocolKind::Plover);
}

fn logs_show_stamps(protocol: ProtocolKind) {
    let directory = Directory::new();
    build(directory.path(), protocol);
    let dump = printed(directory.path(), &["dump"]);
    assert!(dump.contains("milestone time ") && dump.contains(" stamp 1"), "{dump}");
    let records: Vec<serde_json::Value> =
        printed(directory.path(), &["dump", "--json"]).lines().map(|line| line.parse().unwrap()).collect();
    let of_kind = |kind: &str| records.iter().filter(|record| record["kind"] == kind).collect::<Vec<_>>();
    let transactions = of_kind("transaction");
    assert!(transactions.len() >= 5, "{dump}");
    let last = of_kind("milestone").iter().map(|one| one["stamp"].as_u64().unwrap()).max();
    assert!(transactions.iter().all(|one| one["counts"] == true && one["stamp"].as_u64() <= last), "{dump}");
    let stat = printed(directory.path(), &["stat"]);
    assert!(stat.contains("  milestone ") && stat.contains("complete up to stamp "), "{stat}");
    assert_eq!(json(directory.path(), &["stat", "--json"])["logs"][0]["last_milestone"].as_u64(), last);
    let graph = log(directory.path(), &["graph"]);
    let said = String::from_utf8_lossy(&graph.stderr).into_owned();
    assert!(!graph.status.success() && said.contains("do not say which transactions"), "{said}");
    let parent = Directory::new();
    let mut salvage = hyades();
    salvage.args(["recover", "--salvage", "--data"]).arg(directory.path());
    salvage.arg("--into").arg(parent.path().join("copy"));
    let said = String::from_utf8_lossy(&salvage.output().unwrap().stderr).into_owned();
    assert!(said.contains("cannot be salvaged: they do not say"), "{said}");
}

#[test]
fn a_running_database_may_be_looked_at() {
    let server = Server::start(&[]);
    let data = server.data_directory();
    let text = printed(&data, &["stat"]);
    assert!(text.contains("a server has this directory open"), "{text}");
    assert_eq!(json(&data, &["stat", "--json"])["is_in_use"], true);
    printed(&data, &["dump"]);
}

#[test]
fn nonsense_is_refused_with_a_sentence() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    assert!(refusal(&data, &["stat"]).contains("there is no Hyades database in directory"));
    assert!(!data.exists(), "looking creates nothing");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("letters.txt"), "dear").unwrap();
    assert!(refusal(&data, &["dump"]).contains("is not empty and holds no Hyades database"));
    std::fs::remove_file(data.join("letters.txt")).unwrap();
    build(&data, ProtocolKind::Taurus);
    assert!(refusal(&data, &["dump", "--log", "2"]).contains("no log 2: its logs are numbered from 0 to 1"));
    assert!(refusal(&data, &["graph", "--incarnation", "7"]).contains("the database has no incarnation 7"));
    assert!(refusal(&data, &["graph", "--from", "999999"]).contains("no transaction in this range"));
    // Damage is reported with its place.
    std::fs::remove_file(data.join("logs/log-1/00000001-00000001.segment")).unwrap();
    assert!(refusal(&data, &["stat"]).contains("log 1 of incarnation 1 is missing"));
}
