//! Other readers of logs after a crash: `hyades log` counts the same transactions as recovery, and a copy
//! that was cut short is no database.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hyades_engine::db::{create_copy, open};
use hyades_engine::inspect::{EntryBody, Inspection};
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::databases::Databases;
use hyades_sim::crash::{DATA, FIRST, Scenario, live, recovered_hash, script};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::routines::test_compiler;

/// How many transactions of the last incarnation count according to the inspection.
fn counted(disk: &SimulatedDisk) -> u64 {
    let inspection = Inspection::open_on(Arc::new(disk.clone()), Path::new(DATA)).expect("it has a manifest");
    let incarnation = inspection.incarnation(None).expect("it has logs");
    let cut = inspection.cut(incarnation).expect("no damage");
    let mut counted = 0;
    for log in 0..incarnation.logs {
        let read = inspection.read(incarnation, log, |entry| {
            if let EntryBody::Transaction(transaction) = &entry.body {
                counted += u64::from(transaction.counts(log, entry.end, &cut));
            }
            Ok(ControlFlow::Continue(()))
        });
        read.expect("no damage");
    }
    counted
}

#[test]
fn what_is_said_to_count_is_what_recovery_replays() {
    let scenario = Scenario::taurus(2);
    for point in (60..900).step_by(7) {
        let disk = SimulatedDisk::new(point);
        disk.crash_at(point);
        // It fails on the way, or not at all.
        let _ = live(&disk, scenario, &script(point), 0..FIRST, point);
        let disk = disk.after(PowerCut::Seeded(point));
        let Ok(recovered) = recover(&scenario.config(&disk), test_compiler(), &Arc::new(Databases::new()))
        else {
            continue;
        };
        let replayed = recovered.report.replayed.last().map_or(0, |last| last.transactions);
        if replayed > 0 {
            assert_eq!(counted(&disk), replayed, "cut at {point}");
        }
    }
}

#[test]
fn a_copy_recovers_under_each_protocol() {
    let scenarios = [
        Scenario::taurus(2),
        Scenario::serial(),
        Scenario::silor(2),
        Scenario::plover(3),
        Scenario::taurus_graph(3),
    ];
    for scenario in scenarios {
        let disk = SimulatedDisk::new(1);
        live(&disk, scenario, &script(1), 0..FIRST, 1).expect("lives");
        let recovered = |disk: &SimulatedDisk| {
            let databases = Arc::new(Databases::new());
            recover(&scenario.config(&disk.after(PowerCut::KeepUnsynced)), test_compiler(), &databases)
                .unwrap_or_else(|error| panic!("{scenario:?}: {error}"));
            databases
        };
        let databases = recovered(&disk);
        let copy = SimulatedDisk::new(2);
        create_copy(&scenario.config(&copy), &databases).expect("a copy");
        let hashes =
            [&databases, &recovered(&copy)].map(|databases| state_hash(databases).expect("readable"));
        assert_eq!(hashes[0], hashes[1], "{scenario:?}");
    }
}

#[test]
fn a_copy_that_was_cut_short_is_not_taken_for_the_whole() {
    let scenario = Scenario::taurus(2);
    let disk = SimulatedDisk::new(1);
    live(&disk, scenario, &script(1), 0..FIRST, 1).expect("lives");
    let databases = Arc::new(Databases::new());
    recover(&scenario.config(&disk.after(PowerCut::KeepUnsynced)), test_compiler(), &databases)
        .expect("is whole");
    let whole = state_hash(&databases).expect("readable");
    let mut opened = 0;
    for point in 0.. {
        let copy = SimulatedDisk::new(point);
        copy.crash_at(point);
        let created = create_copy(&scenario.config(&copy), &databases);
        let found = copy.after(PowerCut::Seeded(point));
        if found.content(&Path::new(DATA).join("manifest")).is_ok()
            && open(scenario.config(&found), test_compiler()).is_ok()
        {
            assert_eq!(recovered_hash(&found, scenario), Ok(whole), "cut at {point}");
            opened += 1;
        }
        if !copy.has_crashed() {
            created.expect("nothing went wrong");
            break;
        }
    }
    assert!(opened > 0);
}
