//! `cargo xtask conformance`: tries every protocol with every concurrency control and kind of logging, and
//! prints a line for each. With `--only taurus`, those whose protocol's name begins like that.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use hyades_sim::conformance::{Extent, Verdict, cells};

/// One crash point in so many, and histories at each level.
const SHORT: Extent = Extent { stride: 20, histories: 2 };
const LONG: Extent = Extent { stride: 1, histories: 40 };

fn main() -> ExitCode {
    let (mut extent, mut only) = (LONG, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--short" => extent = SHORT,
            "--only" => only = arguments.next().unwrap_or_default(),
            other => {
                eprintln!("{other} is not understood: --short, --only PROTOCOL, or nothing");
                return ExitCode::FAILURE;
            }
        }
    }
    let cells: Vec<_> = cells().into_iter().filter(|cell| cell.protocol.starts_with(&only)).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(0));
    let judge = || {
        while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begun = Instant::now();
            let verdict = cell.judge(extent);
            let seconds = begun.elapsed().as_secs();
            let Ok(mut wrong) = wrong.lock() else { return };
            *wrong += usize::from(matches!(verdict, Verdict::Wrong(_)));
            let control = cell.control.name();
            println!("{:<18} {control:<5} {:<8} {seconds:>4} s  {verdict}", cell.protocol, cell.logging);
        }
    };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|threads| {
        for _ in 0..jobs {
            threads.spawn(judge);
        }
    });
    match wrong.into_inner() {
        Ok(0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
