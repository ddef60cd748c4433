//! What a durable write of 4 KiB costs in space that was prepared in different ways, and while the next
//! segment is being prepared.
//!
//! `cargo run -p hyades-engine --example prepared_space -- DIRECTORY [ROUNDS]`. The ways take turns within a
//! round, so that other load on the machine affects all of them alike. It prints the medians over the rounds
//! of each round's median and 99th percentile, with the smallest and the largest. Figures:
//! docs/decisions/2026-11-22-prepared-segments.md.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyades_engine::disk::{AlignedBuffer, Disk, RealDisk};
use rustix::fs::{FallocateFlags, OFlags, fallocate};

const SEGMENT_BYTES: u64 = 64 << 20;
const WRITES: u64 = 400;
const BLOCK_BYTES: usize = 4096;

/// How the space is prepared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prepared {
    Not,
    Zeroes,
    Allocated,
    ZeroRange,
    WriteZeroes,
}

/// What else is written at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// Zeroes to another file, piece after piece.
    Zeroes,
    /// The same at this many MiB per second, in pieces of this many KiB.
    Paced(u64, u64),
}

const WAYS: [(&str, Prepared, Beside); 10] = [
    ("zeroes written", Prepared::Zeroes, Beside::Nothing),
    ("fallocate", Prepared::Allocated, Beside::Nothing),
    ("FALLOC_FL_ZERO_RANGE", Prepared::ZeroRange, Beside::Nothing),
    ("FALLOC_FL_WRITE_ZEROES", Prepared::WriteZeroes, Beside::Nothing),
    ("not prepared", Prepared::Not, Beside::Nothing),
    ("zeroes; beside it zeroes at full speed", Prepared::Zeroes, Beside::Zeroes),
    ("zeroes; 128 MiB/s, 1 MiB each", Prepared::Zeroes, Beside::Paced(128, 1024)),
    ("zeroes; 64 MiB/s, 1 MiB each", Prepared::Zeroes, Beside::Paced(64, 1024)),
    ("zeroes; 64 MiB/s, 256 KiB each", Prepared::Zeroes, Beside::Paced(64, 256)),
    ("zeroes; 32 MiB/s, 1 MiB each", Prepared::Zeroes, Beside::Paced(32, 1024)),
];

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        return Err(io::Error::other("usage: prepared_space DIRECTORY [ROUNDS]"));
    };
    let rounds: usize = arguments.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(9);
    let mut found = vec![Vec::new(); WAYS.len()];
    for _ in 0..rounds {
        for (way, found) in WAYS.iter().zip(&mut found) {
            match measure(Path::new(&directory), way.1, way.2) {
                Ok(times) => found.push(times),
                Err(error) if error.raw_os_error() == Some(95) => {}
                Err(error) => return Err(error),
            }
        }
    }
    println!("| space | preparing ms | p50 us | p99 us | max us |");
    println!("|---|---|---|---|---|");
    for ((name, ..), found) in WAYS.iter().zip(&found) {
        if found.is_empty() {
            println!("| {name} | not supported here |");
            continue;
        }
        let column = |of: usize| {
            let mut all: Vec<f64> = found.iter().map(|times| times[of]).collect();
            all.sort_by(f64::total_cmp);
            let (least, most) = (all.first().copied().unwrap_or(0.0), all.last().copied().unwrap_or(0.0));
            format!("{:.0} ({least:.0}-{most:.0})", all[all.len() / 2])
        };
        println!("| {name} | {} | {} | {} | {} |", column(0), column(1), column(2), column(3));
    }
    Ok(())
}

/// Milliseconds of preparing, then median, 99th percentile and maximum of the writes in microseconds.
fn measure(directory: &Path, prepared: Prepared, beside: Beside) -> io::Result<[f64; 4]> {
    let (path, other) = (directory.join("segment.one"), directory.join("segment.other"));
    let _ = std::fs::remove_file(&path);
    let begun = Instant::now();
    let file = File::create(&path)?;
    prepare(&file, prepared)?;
    file.sync_all()?;
    let preparing = begun.elapsed().as_secs_f64() * 1e3;
    let is_over = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let zeroing = scope.spawn(|| write_beside(&other, beside, &is_over));
        let times = time_writes(&path);
        is_over.store(true, Ordering::Relaxed);
        match zeroing.join() {
            Ok(outcome) => outcome.and(times),
            Err(_) => Err(io::Error::other("the other thread panicked")),
        }
    });
    for path in [&path, &other] {
        let _ = std::fs::remove_file(path);
    }
    let mut times = times?;
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6;
    Ok([preparing, at(50), at(99), at(100)])
}

fn prepare(file: &File, prepared: Prepared) -> io::Result<()> {
    let flags = match prepared {
        Prepared::Not => return Ok(()),
        Prepared::Zeroes => {
            let zeroes = AlignedBuffer::new(1 << 20);
            for piece in 0..SEGMENT_BYTES >> 20 {
                file.write_all_at(&zeroes, piece << 20)?;
            }
            return Ok(());
        }
        Prepared::Allocated => FallocateFlags::empty(),
        Prepared::ZeroRange => FallocateFlags::ZERO_RANGE,
        // New in Linux 6.17. rustix has no name for it yet.
        Prepared::WriteZeroes => FallocateFlags::from_bits_retain(0x80),
    };
    Ok(fallocate(file, flags, 0, SEGMENT_BYTES)?)
}

fn time_writes(path: &Path) -> io::Result<Vec<Duration>> {
    let file = RealDisk.open(path)?;
    let mut buffer = AlignedBuffer::new(BLOCK_BYTES);
    let mut times = Vec::new();
    for index in 0..WRITES {
        buffer[0] = index as u8;
        let start = Instant::now();
        file.write_durable(index * BLOCK_BYTES as u64, &buffer)?;
        times.push(start.elapsed());
    }
    Ok(times)
}

fn write_beside(path: &Path, beside: Beside, is_over: &AtomicBool) -> io::Result<()> {
    let (rate, piece) = match beside {
        Beside::Nothing => return Ok(()),
        Beside::Zeroes => (u64::MAX, 1 << 20),
        Beside::Paced(mebibytes, kibibytes) => (mebibytes << 20, kibibytes << 10),
    };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let file = options.custom_flags(OFlags::DIRECT.bits() as i32).open(path)?;
    let zeroes = AlignedBuffer::new(piece as usize);
    let (begun, mut written) = (Instant::now(), 0);
    while !is_over.load(Ordering::Relaxed) {
        file.write_all_at(&zeroes, written % SEGMENT_BYTES)?;
        written += piece;
        if written.is_multiple_of(SEGMENT_BYTES) {
            file.sync_all()?;
        }
        let due = Duration::from_secs_f64(written as f64 / rate as f64);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
    }
    Ok(())
}
