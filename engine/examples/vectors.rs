//! Maintains the LSN vectors of transactions and does nothing else, for a profiler:
//! `vectors MODE LOGS NAMED TRANSACTIONS`.
//!
//! Each transaction follows two others and leaves a mark. MODE `taurus` is the protocol itself, which also
//! gives each transaction its place in a log in memory. `scalar` and `vector` are the vectors as the paper
//! has them (Taurus, VLDB 2020, algorithms 1 and 5): one entry for each log, element by element, or with
//! AVX2. NAMED is the number of entries above the floor. `cargo xtask cost --vectors` runs it under
//! callgrind, with different numbers of transactions, and divides the difference.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_engine::config::Config;
use hyades_engine::disk::MemoryDisk;
use hyades_engine::log::manifest::Manifest;
use hyades_engine::log::record::Commit;
use hyades_engine::protocol::taurus::Taurus;
use hyades_engine::protocol::{Append, AppendProgress, CommitPayload, Protocol};

/// Far above all that the logs of an example reach: it stays above the floor.
const FAR: u64 = 1 << 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, numbers @ ..] = arguments.as_slice() else { return Err("vectors MODE LOGS ...".into()) };
    let numbers = numbers.iter().map(|text| text.parse()).collect::<Result<Vec<usize>, _>>()?;
    let [logs, named, transactions] = numbers[..] else { return Err("LOGS NAMED TRANSACTIONS".into()) };
    if !(1..=64).contains(&logs) || named > logs {
        return Err("between 1 and 64 logs, of which some are named".into());
    }
    match mode.as_str() {
        "taurus" => taurus(logs, named, transactions)?,
        "scalar" => Dense::new(logs, named).scalar(transactions),
        #[cfg(target_arch = "x86_64")]
        "vector" if std::is_x86_feature_detected!("avx2") => {
            let mut dense = Dense::new(logs, named);
            // SAFETY: the processor has it.
            #[allow(unsafe_code)]
            unsafe {
                dense.vector(transactions);
            }
        }
        _ => return Err("MODE is taurus, scalar or vector, which needs AVX2".into()),
    }
    Ok(())
}

fn taurus(logs: usize, named: usize, transactions: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::new("data");
    config.disk = Arc::new(MemoryDisk::default());
    config.logs = logs;
    let taurus = Taurus::start(&config, &mut Manifest::create())?;
    let marks = [taurus.new_mark(), taurus.new_mark()];
    for mark in &marks {
        let (names, entries) = mark.split_first().ok_or("a mark has words")?;
        names.store(u64::MAX >> (64 - named), Ordering::Relaxed);
        entries.iter().for_each(|entry| entry.store(FAR, Ordering::Relaxed));
    }
    maintain(&taurus, &marks, transactions)?;
    taurus.shutdown()?;
    Ok(())
}

// `cargo xtask cost --vectors` counts instructions in functions of this name.
#[inline(never)]
fn maintain(
    taurus: &Taurus,
    marks: &[Box<[AtomicU64]>],
    transactions: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let (mut dependencies, mut progress) = (taurus.new_dependencies(), AppendProgress::default());
    let own = taurus.new_mark();
    let payload = CommitPayload { operations: b"operations", commit: Commit::default() };
    for _ in 0..transactions {
        taurus.begin(&mut dependencies);
        marks.iter().for_each(|mark| taurus.follow(mark, &mut dependencies));
        while let Append::Wait(ticket) = taurus.log_commit(0, &mut dependencies, &payload, &mut progress)? {
            ticket.wait();
        }
        taurus.write_mark(&dependencies, black_box(&own));
    }
    Ok(())
}

/// The vectors of the paper.
struct Dense {
    followed: [Vec<u64>; 2],
    floor: Vec<u64>,
    anchor: Vec<u64>,
    own: Vec<u64>,
    left: Vec<u64>,
}

impl Dense {
    fn new(logs: usize, named: usize) -> Dense {
        let followed: Vec<u64> = (0..logs).map(|log| if log < named { FAR } else { 0 }).collect();
        let zeroes = vec![0; logs];
        let (floor, anchor, own, left) = (zeroes.clone(), zeroes.clone(), zeroes.clone(), zeroes);
        Dense { followed: [followed.clone(), followed], floor, anchor, own, left }
    }

    #[inline(never)]
    fn scalar(&mut self, transactions: usize) {
        for _ in 0..transactions {
            black_box(self.maintain());
        }
    }

    /// The same loops, compiled for AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn vector(&mut self, transactions: usize) {
        for _ in 0..transactions {
            black_box(self.maintain());
        }
    }

    /// One transaction. Returns the bitmap of its record.
    #[inline(always)]
    fn maintain(&mut self) -> u64 {
        let Dense { followed, floor, anchor, own, left } = black_box(self);
        own.fill(0);
        followed.iter().for_each(|followed| raise(own, followed));
        raise(own, floor);
        let above = own.iter().zip(anchor.iter()).enumerate();
        let bitmap = above.fold(0, |word, (log, (entry, anchor))| word | u64::from(entry > anchor) << log);
        left.copy_from_slice(own);
        bitmap
    }
}

/// ElemWiseMax (section 3.1).
#[inline(always)]
fn raise(own: &mut [u64], other: &[u64]) {
    for (own, other) in own.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}
