//! Concurrent list-append transactions through the engine, checked by the history checker, also across
//! crashes, as statements and as calls logged in every way.
//!
//! The same workload with row or gap locks skipped on purpose must be caught.

use std::sync::Arc;
use std::time::Duration;

use hyades_engine::config::{Config, ControlKind, ProtocolKind};
use hyades_engine::db::{self, Engine, Isolation};
use hyades_engine::mutant::{self, Mutant};
use hyades_sim::client;
use hyades_sim::crash::{Calls, Scenario, within};
use hyades_sim::disk::SimulatedDisk;
use hyades_sim::history::{History, Recorder};
use hyades_sim::routines::test_compiler;
use hyades_sim::serializability::{AnomalyKind, CheckOptions, check, explain};
use hyades_sim::workload;
use hyades_types::definition::IndexKind;

/// A database without calls.
type Kind = (ProtocolKind, ControlKind, IndexKind);

fn open((protocol, control, index): Kind, row_locks_before_table: u32) -> Arc<dyn Engine> {
    let mut config = Config::new("/db");
    config.control = control;
    config.disk = Arc::new(SimulatedDisk::new(1));
    config.protocol = protocol;
    config.segment_bytes = 1 << 20;
    config.log_buffer_bytes = 1 << 20;
    config.shared_block_bytes = 0;
    config.row_locks_before_table = row_locks_before_table;
    let engine = db::open(config, test_compiler()).expect("opens");
    client::create_tables(&*engine, index).expect("tables");
    engine
}

fn record(kind: Kind, isolation: Isolation, transactions: u32, seed: u64) -> History {
    // In every second history transactions lock the table as soon as they can.
    let engine = open(kind, if seed.is_multiple_of(2) { u32::MAX } else { 2 });
    let recorder = Arc::new(Recorder::default());
    workload::run(&engine, &recorder, transactions, (Calls::Never, isolation), seed);
    recorder.history()
}

fn assert_serializable(kind: Kind) {
    for seed in 0..4 {
        let history = record(kind, Isolation::Serializable, 400, seed);
        match check(&history, CheckOptions { real_time: true }) {
            Ok(report) => assert!(report.edges > 500, "the sessions hardly met: {report:?}"),
            Err(anomalies) => panic!("seed {seed}: {}", explain(&anomalies)),
        }
    }
}

fn assert_serializable_across_crashes(scenario: Scenario, seeds: u64) {
    let mut edges = 0;
    for seed in 0..seeds {
        match within(Duration::from_secs(60), move || workload::crash_twice(scenario, seed)) {
            Ok(report) => edges += report.edges,
            Err(error) => panic!("seed {seed}, {scenario:?}: {error}"),
        }
    }
    // How far a life gets before its crash depends on the scheduler, and commands need few of the counted
    // operations.
    assert!(edges as u64 > 20 * seeds, "only {edges} dependencies in {seeds} histories");
    println!("{scenario:?}: {seeds} histories with two crashes each, {edges} dependencies");
}

/// Histories of sessions at a weaker level beside serializable ones, with all the guarantees of the level.
/// Some must show what only this level permits, or the test proves nothing.
fn assert_level(isolation: Isolation, typical: AnomalyKind) {
    let mut shows = 0;
    for seed in 0..12 {
        let index = if seed % 3 == 0 { IndexKind::Hash } else { IndexKind::Ordered };
        let protocol = if seed % 4 == 0 { ProtocolKind::None } else { ProtocolKind::Taurus };
        let control = ControlKind::ALL[seed as usize % 3];
        let history = record((protocol, control, index), isolation, 400, seed);
        if let Err(anomalies) = workload::judge(&history, isolation) {
            panic!("{isolation:?}, seed {seed}: {}", explain(&anomalies));
        }
        let all = check(&history, CheckOptions::default()).err().unwrap_or_default();
        shows += usize::from(all.iter().any(|anomaly| anomaly.kind == typical));
    }
    assert!(shows > 0, "{isolation:?}: no history shows {typical}");
    println!("{isolation:?}: {shows} of 12 histories show {typical}");
    for scenario in scenarios() {
        let scenario = scenario.at(isolation);
        for seed in 0..8 {
            let judged = within(Duration::from_secs(60), move || workload::crash_twice(scenario, seed));
            judged.unwrap_or_else(|error| panic!("seed {seed}, {scenario:?}: {error}"));
        }
    }
}

/// The scenarios that take turns in long runs.
fn scenarios() -> [Scenario; 12] {
    [
        Scenario::taurus(2),
        Scenario::taurus(4).with(Calls::Mixed),
        Scenario::taurus(2).with(Calls::Commands),
        Scenario::taurus(2).with(Calls::Mixed).escalating(),
        Scenario::serial().with(Calls::Mixed),
        Scenario::striped(2).with(Calls::Commands),
        Scenario::taurus(2).with(Calls::Mixed).checkpointing(),
        Scenario::taurus(4).with(Calls::Commands).checkpointing(),
        Scenario::serial().with(Calls::Mixed).checkpointing(),
        Scenario::silor(2).with(Calls::Data).checkpointing(),
        Scenario::plover(3).with(Calls::Data).checkpointing(),
        Scenario::taurus_graph(3).with(Calls::Mixed).checkpointing(),
    ]
}

/// Runs this many transactions at each level, in histories with two crashes each.
fn assert_long_histories(transactions: usize) {
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
    for (control, isolation) in
        ControlKind::ALL.into_iter().flat_map(|control| levels.map(|level| (control, level)))
    {
        let (mut done, mut seed) = (0, 1000);
        while done < transactions {
            let scenario = scenarios()[seed as usize % scenarios().len()].under(control).at(isolation);
            let run = move || workload::crash_twice_within(scenario, (300, 500), seed);
            match within(Duration::from_secs(120), run) {
                Ok((_, count)) => done += count,
                Err(error) => panic!("seed {seed}, {scenario:?}: {error}"),
            }
            seed += 1;
        }
        println!(
            "{} {isolation:?}: {done} transactions in {} histories with two crashes each",
            control.name(),
            seed - 1000
        );
    }
}

#[test]
fn histories_are_strictly_serializable() {
    let wanted = std::env::var("HYADES_HISTORIES").ok().and_then(|value| value.parse().ok());
    assert_long_histories(wanted.unwrap_or(5_000));
    assert_level(Isolation::ReadCommitted, AnomalyKind::GSingle);
    assert_level(Isolation::RepeatableRead, AnomalyKind::G2);
    for control in ControlKind::ALL {
        assert_serializable((ProtocolKind::Taurus, control, IndexKind::Ordered));
        assert_serializable((ProtocolKind::Taurus, control, IndexKind::Hash));
        assert_serializable((ProtocolKind::Serial, control, IndexKind::Ordered));
        assert_serializable((ProtocolKind::None, control, IndexKind::Ordered));
    }
    assert_serializable_across_crashes(Scenario::taurus(2), 60);
    assert_serializable_across_crashes(Scenario::serial(), 10);
    for logs in [2, 4] {
        assert_serializable_across_crashes(Scenario::taurus(logs).with(Calls::Mixed), 12);
    }
    assert_serializable_across_crashes(Scenario::taurus(2).with(Calls::Commands), 12);
    assert_serializable_across_crashes(Scenario::taurus(2).escalating(), 20);
    assert_serializable_across_crashes(Scenario::taurus(2).checkpointing(), 20);
    assert_serializable_across_crashes(Scenario::taurus(2).with(Calls::Commands).checkpointing(), 20);
    assert_serializable_across_crashes(Scenario::taurus(4).with(Calls::Mixed).escalating(), 12);
    assert_serializable_across_crashes(Scenario::taurus(2).with(Calls::Commands).escalating(), 12);
    assert_serializable_across_crashes(Scenario::serial().with(Calls::Mixed), 4);
    assert_serializable_across_crashes(Scenario::silor(2), 20);
    assert_serializable_across_crashes(Scenario::silor(3).with(Calls::Data).escalating(), 12);
    assert_serializable_across_crashes(Scenario::silor(2).checkpointing(), 12);
    assert_serializable_across_crashes(Scenario::plover(2), 20);
    assert_serializable_across_crashes(Scenario::plover(3).with(Calls::Data).escalating(), 12);
    assert_serializable_across_crashes(Scenario::plover(2).checkpointing(), 12);
    assert_serializable_across_crashes(Scenario::taurus_graph(2), 20);
    assert_serializable_across_crashes(Scenario::taurus_graph(3).with(Calls::Mixed).escalating(), 12);
    assert_serializable_across_crashes(Scenario::taurus_graph(3).with(Calls::Commands).naming(1), 12);
    assert_serializable_across_crashes(Scenario::taurus_graph(2).checkpointing(), 12);
    for control in [ControlKind::Optimistic, ControlKind::MultiVersion] {
        for calls in [Calls::Never, Calls::Commands, Calls::Mixed] {
            assert_serializable_across_crashes(Scenario::taurus(2).with(calls).under(control), 12);
            assert_serializable_across_crashes(Scenario::serial().with(calls).under(control), 12);
            assert_serializable_across_crashes(Scenario::taurus_graph(2).with(calls).under(control), 12);
        }
        let scenario = Scenario::taurus(4).with(Calls::Mixed).under(control);
        assert_serializable_across_crashes(scenario.escalating().checkpointing(), 12);
    }
    mutants_are_caught();
}

/// In the same test, because mutants are active for the whole process.
fn mutants_are_caught() {
    let (locks, newest) = (ControlKind::TwoPhaseLocking, ControlKind::Optimistic);
    for (mutant, control) in [
        (Mutant::SkipRowLock, locks),
        (Mutant::SkipGapLock, locks),
        (Mutant::LookBeforeDraw, newest),
        (Mutant::RangesNotLookedAt, newest),
    ] {
        mutant::activate(Some(mutant));
        // Short histories: only at the beginning of each are keys absent, and phantoms possible.
        let caught = (0..1000).find(|seed| {
            let kind = (ProtocolKind::None, control, IndexKind::Ordered);
            let history = record(kind, Isolation::Serializable, 30, 2 * seed);
            check(&history, CheckOptions::default()).is_err()
        });
        mutant::activate(None);
        println!("{mutant:?}: caught in history {caught:?}");
        assert!(caught.is_some(), "{mutant:?} was not caught");
    }
    mutant::activate(Some(Mutant::PlacesBesideTimes));
    let scenario = Scenario::serial().with(Calls::Commands).under(newest);
    let caught = (0..1000).find(|seed| {
        let seed = *seed;
        within(Duration::from_secs(60), move || workload::crash_twice(scenario, seed)).is_err()
    });
    mutant::activate(None);
    println!("PlacesBesideTimes: caught in history {caught:?}");
    assert!(caught.is_some(), "PlacesBesideTimes was not caught");
}
