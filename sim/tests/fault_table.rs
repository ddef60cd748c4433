//! The table of faults is complete, every row is true, and docs/faults.md agrees.

use std::sync::Mutex;
use std::time::Duration;

use hyades_sim::crash::within;
use hyades_sim::fault_table::drive::{Drive, scenarios};
use hyades_sim::fault_table::{Fault, ROWS, Row, Seen, Shown, Step, Survives, render, rows_of};
use hyades_sim::in_repository;

const LIMIT: Duration = Duration::from_secs(120);
const DOCUMENT: &str = "docs/faults.md";

#[test]
fn every_step_and_fault_meet_in_exactly_one_row() {
    for step in Step::ALL {
        for fault in Fault::ALL {
            let rows = rows_of(step, fault);
            assert_eq!(rows.len(), 1, "{step:?} and {fault:?}: {rows:?}");
        }
    }
    for row in ROWS {
        let is_impossible = row.seen == Seen::Impossible;
        assert!(!is_impossible || row.shown == Shown::Nowhere, "{row:?}");
        if let Shown::In(file) = row.shown {
            assert!(in_repository(file).exists(), "{file} does not exist");
        }
    }
}

#[test]
fn the_document_is_the_table() {
    let document = in_repository(DOCUMENT);
    let written = std::fs::read_to_string(&document).expect(DOCUMENT);
    let Some(begin) = written.find("| step |") else { panic!("{DOCUMENT} has no table") };
    let head = &written[..begin];
    let expected = format!("{head}{}", render());
    if std::env::var_os("HYADES_RECORD_FAULTS").is_some() {
        std::fs::write(document, expected).expect(DOCUMENT);
        return;
    }
    assert!(written == expected, "{DOCUMENT} is stale: HYADES_RECORD_FAULTS=1 writes it");
}

/// All ways in which a pair can be tried.
fn drives(step: Step, fault: Fault) -> Vec<Drive> {
    let operations: Vec<Option<&'static str>> = match fault {
        Fault::StaleFile => vec![None],
        // Reads, and the last block of a log at rest, which the reads seldom reach.
        Fault::BitFlip if step == Step::LogReading => vec![Some("read"), None],
        Fault::LyingSync => {
            let synced = ["sync", "write durably", "sync directory", "remove", "truncate"];
            step.operations().iter().filter(|name| synced.contains(name)).copied().map(Some).collect()
        }
        Fault::LostWrite | Fault::Misdirected => {
            let written = ["write", "write durably", "remove", "truncate", "sync"];
            let is_meant =
                |name: &&&str| written.contains(*name) && (**name != "sync" || step == Step::LogSyncAtStart);
            step.operations().iter().filter(is_meant).copied().map(Some).collect()
        }
        _ => step.operations().iter().copied().map(Some).collect(),
    };
    let times = match fault {
        // Most reads are not at the end of a log.
        Fault::BitFlip | Fault::StaleFile => 20,
        _ => 2,
    };
    let times = if std::env::var_os("HYADES_CRASH_POINTS").is_some() { times * 6 } else { times };
    let mut drives = Vec::new();
    for scenario in scenarios() {
        for operation in &operations {
            for number in 0..times {
                let is_once =
                    !matches!(fault, Fault::ErrorForEver | Fault::NoSpace | Fault::LyingSync | Fault::Slow);
                let skip = if is_once { number } else { 0 };
                drives.push(Drive { scenario, step, fault, operation: *operation, skip, seed: number });
            }
        }
    }
    drives
}

fn drive_row(row: &Row) -> Result<u32, String> {
    let (mut hits, mut worst) = (0, (false, false));
    for step in row.steps {
        for fault in row.faults {
            let mut pair_hits = 0;
            for drive in drives(*step, *fault) {
                let outcome =
                    within(LIMIT, move || drive.run()).map_err(|error| format!("{drive:?}: {error}"))?;
                let Some((seen, survives)) = outcome else { continue };
                let is_as_said = (seen == row.seen || seen == Seen::Nothing)
                    && (survives == row.survives || survives == Survives::Everything);
                if !is_as_said {
                    return Err(format!(
                        "{drive:?}: {seen:?}, {survives:?}; the row: {:?}, {:?}",
                        row.seen, row.survives
                    ));
                }
                pair_hits += 1;
                worst = (worst.0 || seen == row.seen, worst.1 || survives == row.survives);
            }
            if pair_hits == 0 {
                return Err(format!("{step:?} and {fault:?} never met"));
            }
            hits += pair_hits;
        }
    }
    // The result that the row gives is not only allowed, but does occur.
    if worst == (true, true) {
        Ok(hits)
    } else {
        Err(format!("never as bad as the row says: {worst:?}, {row:?}"))
    }
}

/// The number of threads that try rows. Most of the time they wait.
const THREADS: usize = 6;

#[test]
fn every_row_is_what_happens() {
    let failures = Mutex::new(Vec::new());
    let rows = ROWS.iter().enumerate().filter(|(_, row)| row.shown == Shown::Here);
    let rows = Mutex::new(rows.collect::<Vec<_>>());
    let work = || {
        loop {
            let next = rows.lock().expect("no panic").pop();
            let Some((number, row)) = next else { return };
            match drive_row(row) {
                Ok(hits) => println!("row {number}, {:?} and {:?}: {hits} times", row.steps, row.faults),
                Err(wrong) => failures.lock().expect("no panic").push(format!("row {number}: {wrong}")),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
