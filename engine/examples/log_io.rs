//! Measures what a durable write costs on this machine, and what the logs make of it.
//!
//! `cargo run --release -p hyades-engine --example log_io -- device DIRECTORY` times single durable writes,
//! one method after the other. `... -- logs DIRECTORY` appends transactions through the protocols until they
//! are durable. `... -- alone DIRECTORY` lets one client wait for each of its commits. `... -- vectors` times
//! the element-wise maximum. Run it on an otherwise idle machine or under `chrt -r 10`, and say which.
//! Figures: docs/decisions/2026-11-21-log-io.md.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::disk::{AlignedBuffer, Disk, RealDisk};
use hyades_engine::log::durable::Durability;
use hyades_engine::log::manifest::Manifest;
use hyades_engine::log::record::Commit;
use hyades_engine::lsn::LsnVector;
use hyades_engine::protocol::serial::Serial;
use hyades_engine::protocol::taurus::Taurus;
use hyades_engine::protocol::{Append, AppendProgress, CommitPayload, Protocol};
use rustix::fs::OFlags;

const FILE_BYTES: u64 = 256 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mode, directory) = (arguments.next(), arguments.next().map(PathBuf::from));
    match (mode.as_deref(), directory) {
        (Some("device"), Some(directory)) => Ok(measure_device(&directory)?),
        (Some("logs"), Some(directory)) => Ok(measure_logs(&directory)?),
        (Some("alone"), Some(directory)) => Ok(lone_commits(&directory)?),
        (Some("vectors"), None) => {
            measure_vectors();
            Ok(())
        }
        _ => Err("usage: log_io device|logs|alone DIRECTORY, or log_io vectors".into()),
    }
}

#[derive(Clone, Copy)]
enum Method {
    DirectDsync,
    DirectSync,
    BufferedSync,
    /// What the logs use.
    WriteDurable,
}

fn open(path: &Path, method: Method) -> io::Result<File> {
    let flags = match method {
        Method::DirectDsync => OFlags::DIRECT | OFlags::DSYNC,
        Method::DirectSync => OFlags::DIRECT,
        Method::BufferedSync | Method::WriteDurable => OFlags::empty(),
    };
    OpenOptions::new().write(true).custom_flags(flags.bits() as i32).open(path)
}

fn measure_device(directory: &Path) -> io::Result<()> {
    let path = directory.join("log_io.bytes");
    let file = File::create(&path)?;
    let zeroes = AlignedBuffer::new(1 << 20);
    for piece in 0..FILE_BYTES >> 20 {
        file.write_all_at(&zeroes, piece << 20)?;
    }
    file.sync_all()?;
    println!("{:<28} {:>9} {:>9} {:>9} {:>9}", "method", "KiB", "p50 us", "p99 us", "MB/s");
    for kibibytes in [4, 16, 64, 256, 1024] {
        for (name, method) in [
            ("O_DIRECT|O_DSYNC pwrite", Method::DirectDsync),
            ("O_DIRECT pwrite, fdatasync", Method::DirectSync),
            ("buffered pwrite, fdatasync", Method::BufferedSync),
            ("File::write_durable", Method::WriteDurable),
            ("File::write_durable", Method::WriteDurable),
        ] {
            let mut times = time_writes(&path, method, kibibytes << 10)?;
            times.sort_unstable();
            let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6;
            let total: Duration = times.iter().sum();
            let rate = ((times.len() * kibibytes) << 10) as f64 / total.as_secs_f64() / 1e6;
            println!("{name:<28} {kibibytes:>9} {:>9.0} {:>9.0} {rate:>9.0}", at(50), at(99));
        }
    }
    std::fs::remove_file(&path)
}

fn time_writes(path: &Path, method: Method, bytes: usize) -> io::Result<Vec<Duration>> {
    let (file, ours) = (open(path, method)?, RealDisk.open(path)?);
    let mut buffer = AlignedBuffer::new(bytes);
    let count = (FILE_BYTES as usize / bytes).min(2000);
    let mut times = Vec::with_capacity(count);
    for index in 0..count {
        buffer[0] = index as u8;
        let start = Instant::now();
        let offset = (index * bytes) as u64;
        match method {
            Method::WriteDurable => ours.write_durable(offset, &buffer)?,
            Method::DirectDsync => file.write_all_at(&buffer, offset)?,
            Method::DirectSync | Method::BufferedSync => {
                file.write_all_at(&buffer, offset)?;
                file.sync_data()?;
            }
        }
        times.push(start.elapsed());
    }
    Ok(times)
}

const WORKERS: usize = 2;
const OPERATION_BYTES: usize = 120;

fn measure_logs(directory: &Path) -> hyades_types::Result<()> {
    println!("{:<24} {:>12} {:>12}", "protocol", "durable/s", "bytes/txn");
    for (protocol, logs) in [
        (ProtocolKind::Serial, 1),
        (ProtocolKind::Taurus, 1),
        (ProtocolKind::Taurus, 2),
        (ProtocolKind::Taurus, 4),
    ] {
        for _ in 0..3 {
            let data = directory.join("log_io.data");
            let mut config = Config::new(&data);
            (config.protocol, config.logs) = (protocol, logs);
            let mut manifest = Manifest::create();
            let name = format!("{protocol:?}, {logs} logs");
            if protocol == ProtocolKind::Serial {
                drive(&name, Serial::start(&config, &mut manifest)?)?;
            } else {
                drive(&name, Taurus::start(&config, &mut manifest)?)?;
            }
            let _ = std::fs::remove_dir_all(&data);
        }
    }
    Ok(())
}

/// Two workers append transfers of two private tuples as fast as the buffers take them. The clock stops when
/// all are durable.
fn drive<P: Protocol>(name: &str, protocol: P) -> hyades_types::Result<()> {
    let done = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (protocol, done) = (&protocol, &done);
                scope.spawn(move || run_worker(protocol, worker, done))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let done = done.load(Ordering::Relaxed);
    let logs = protocol.logs().into_iter();
    let bytes: u64 = logs.flat_map(|logs| (0..logs.count()).map(|log| logs.watch().durable(log).0)).sum();
    println!("{name:<24} {:>12.0} {:>12.1}", done as f64 / seconds, bytes as f64 / done as f64);
    Ok(())
}

fn run_worker<P: Protocol>(protocol: &P, worker: usize, done: &AtomicU64) -> hyades_types::Result<()> {
    const TUPLES: usize = 1000;
    let tuples: Vec<_> = (0..TUPLES).map(|_| protocol.new_mark()).collect();
    let mut dependencies = protocol.new_dependencies();
    let mut waiting: VecDeque<Durability> = VecDeque::new();
    let watch = protocol.watch();
    let operations = [worker as u8; OPERATION_BYTES];
    let payload = CommitPayload { operations: &operations, commit: Commit::default() };
    let start = Instant::now();
    let mut number = 0_usize;
    let mut progress = AppendProgress::default();
    while start.elapsed() < Duration::from_secs(3) {
        let chosen = [number * 7 % TUPLES, (number * 13 + 1) % TUPLES];
        protocol.begin(&mut dependencies);
        for tuple in chosen {
            protocol.follow(&tuples[tuple], &mut dependencies);
        }
        while let Append::Wait(ticket) =
            protocol.log_commit(worker, &mut dependencies, &payload, &mut progress)?
        {
            ticket.wait();
        }
        for tuple in chosen {
            protocol.write_mark(&dependencies, &tuples[tuple]);
        }
        waiting.push_back(protocol.durability(&watch, &dependencies));
        while waiting.front().is_some_and(Durability::is_durable) {
            waiting.pop_front();
        }
        number += 1;
    }
    waiting.into_iter().try_for_each(Durability::wait)?;
    done.fetch_add(number as u64, Ordering::Relaxed);
    Ok(())
}

/// One client that waits for each of its commits.
fn lone_commits(directory: &Path) -> hyades_types::Result<()> {
    let data = directory.join("log_io.data");
    let mut manifest = Manifest::create();
    let taurus = Taurus::start(&Config::new(&data), &mut manifest)?;
    let mut dependencies = taurus.new_dependencies();
    let payload = CommitPayload { operations: &[7; OPERATION_BYTES], commit: Commit::default() };
    // Wait until the spare segments are prepared: preparing them uses the same device.
    std::thread::sleep(Duration::from_secs(1));
    let mut times = Vec::new();
    let mut progress = AppendProgress::default();
    let watch = taurus.watch();
    for _ in 0..3000 {
        taurus.begin(&mut dependencies);
        let start = Instant::now();
        if let Append::Done(()) = taurus.log_commit(0, &mut dependencies, &payload, &mut progress)? {
            taurus.durability(&watch, &dependencies).wait()?;
            times.push(start.elapsed());
        }
    }
    drop(taurus);
    let _ = std::fs::remove_dir_all(&data);
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6;
    println!("one client, one commit at a time: p50 {:.0} us, p99 {:.0} us", at(50), at(99));
    Ok(())
}

/// The cost of raising one LSN vector by another.
fn measure_vectors() {
    const ROUNDS: u32 = 2_000_000;
    for logs in [1, 2, 4, 8, 16, 64] {
        let sources: Vec<Vec<u64>> =
            (0..64).map(|seed| (0..logs).map(|log| (seed * 31 + log * 17) % 101).collect()).collect();
        let best = (0..5).map(|_| {
            let mut vector = LsnVector::zero(logs as usize);
            let start = Instant::now();
            for round in 0..ROUNDS {
                vector.raise(std::hint::black_box(&sources[round as usize % 64]));
            }
            std::hint::black_box(&vector);
            start.elapsed()
        });
        let best = best.min().unwrap_or_default().as_secs_f64() * 1e9 / f64::from(ROUNDS);
        println!("element-wise maximum of {logs:>2} entries: {best:.1} ns");
    }
}
