//! `hyades bench` as a user calls it, on a small scale.

use std::process::Output;

use crate::process::{Directory, Server, hyades};

fn bench(arguments: &[&str]) -> Output {
    let small = ["--rows", "200", "--seconds", "1", "--warm-up-seconds", "0", "--json"];
    hyades().arg("bench").args(arguments).args(small).output().unwrap()
}

fn report(arguments: &[&str]) -> serde_json::Value {
    let output = bench(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn one_run_ends_with_a_crash_and_a_recovery() {
    let report = report(&["transfer", "--device", "ram", "--logging", "command", "--recoveries", "2"]);
    assert_eq!(report["variant"], "taurus:command");
    let figures = &report["figures"];
    assert!(
        figures["per_second"].as_f64() > Some(0.0) && figures["syncs_per_transaction"].as_f64() > Some(0.0)
    );
    let recovery = &report["recovery"];
    assert_eq!(recovery["state_matches"], true);
    assert_eq!(recovery["transactions"], figures["acknowledged"]);
    assert_eq!(recovery["rates"].as_array().unwrap().len(), 2);
    let bytes = recovery["records"]["record_bytes"].as_f64().unwrap();
    assert!((20.0..80.0).contains(&bytes), "the size of a command: {bytes}");
    assert_eq!(report["violations"], serde_json::json!([]));
}

#[test]
fn a_comparison_writes_a_page() {
    let directory = Directory::new();
    let page = directory.path().join("page.html");
    let arguments =
        ["smallbank", "--compare", "none,serial:data,taurus", "--device", "nvme", "--rounds", "1"];
    let report = report(&[&arguments[..], &["--report", page.to_str().unwrap()]].concat());
    let names: Vec<&str> =
        report["variants"].as_array().unwrap().iter().map(|one| one["variant"].as_str().unwrap()).collect();
    assert_eq!(names, ["none", "serial:data", "taurus:command", "taurus:data"]);
    let ratios = report["ratios"].as_array().unwrap();
    assert!(ratios.iter().any(|ratio| ratio["what"] == "taurus:command over taurus:data, recovery"));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.matches("<svg").count() >= 3 && page.contains("serial:data over none"), "{page}");
}

#[test]
fn a_server_is_driven_over_the_wire_and_its_ledger_holds() {
    let server = Server::start(&[]);
    let url = format!("postgres://hyades@127.0.0.1:{}/hyades", server.port);
    let directory = Directory::new();
    let ledger = directory.path().join("ledger.json");
    let tpcc = ["tpcc", "--small", "--warehouses", "1", "--connect", &url];
    let run = bench(&[&tpcc[..], &["--ledger", ledger.to_str().unwrap()]].concat());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let verify = || bench(&[&tpcc[..], &["--verify", ledger.to_str().unwrap()]].concat());
    assert!(verify().status.success());
    // The verification notices rows that are gone.
    server.query(&["update history set h_amount = h_amount + 1 where h_c_d_id = 1 and h_c_id = 1"]);
    let verified = verify();
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(!verified.status.success() && said.contains("a condition does not hold"), "{said}");
}

#[test]
fn nonsense_is_refused_with_a_sentence() {
    for (arguments, expected) in [
        (&["ycsb", "--compare", "none"][..], "--compare needs at least two variants"),
        (&["ycsb", "--compare", "none,fast"], "unknown protocol \"fast\""),
        (&["ycsb", "--compare", "none,taurus:loud"], "unknown logging or control in \"taurus:loud\""),
        (&["ycsb", "--read-share", "2"], "must be a number from 0 to 1"),
        (&["ycsb", "--native"], "only transfer has a procedure in the engine's own language"),
        (&["ycsb", "--verify", "x"], "--connect"),
        (&["ycsb", "--connect", "postgres://hyades@127.0.0.1:1/hyades"], "could not connect"),
        (&["checkers"], "checkers"),
    ] {
        let output = bench(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}
