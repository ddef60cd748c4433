//! Times single durable writes of one 4 KiB sector: the device's own time for one commit, measured beside the
//! databases.
//!
//! The file is written once before the clock starts, so that block allocation is not timed, and opened with
//! O_DIRECT and O_DSYNC. Where the file system does not support O_DIRECT, each write is followed by
//! fdatasync.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::fs::OFlags;
use serde_json::json;

use crate::tools::quantile;

const SECTOR_BYTES: usize = 4096;
const FILE_SECTORS: u64 = 256;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Directory on the device to measure.
    #[arg(long)]
    directory: PathBuf,
    #[arg(long, default_value_t = 2000)]
    writes: u64,
}

/// Durable writes of one sector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SyncTimes {
    pub(crate) median_us: f64,
    pub(crate) p99_us: f64,
}

/// Prints what [`parse`] reads.
pub(crate) fn run(options: &Options) -> Result<()> {
    let path = options.directory.join("sync-probe");
    let result = probe(&path, options.writes);
    // The file is no longer needed. Failing to remove it does not affect the measurement.
    let _ = std::fs::remove_file(&path);
    let times = result?;
    println!("{}", json!({ "median_us": times.median_us, "p99_us": times.p99_us }));
    Ok(())
}

pub(crate) fn parse(printed: &str) -> Result<SyncTimes> {
    let value: serde_json::Value =
        serde_json::from_str(printed.trim()).context("the probe printed no JSON")?;
    let number = |name: &str| value[name].as_f64().with_context(|| format!("the probe printed no {name}"));
    Ok(SyncTimes { median_us: number("median_us")?, p99_us: number("p99_us")? })
}

fn probe(path: &Path, writes: u64) -> Result<SyncTimes> {
    std::fs::write(path, vec![0_u8; SECTOR_BYTES * FILE_SECTORS as usize])?;
    File::open(path)?.sync_all()?;
    let flags = OFlags::WRONLY | OFlags::DSYNC;
    let (file, syncs_itself) = match rustix::fs::open(path, flags | OFlags::DIRECT, rustix::fs::Mode::empty())
    {
        Ok(descriptor) => (File::from(descriptor), true),
        Err(_) => (File::options().write(true).open(path)?, false),
    };
    let memory = vec![0x5a_u8; 2 * SECTOR_BYTES];
    let start = memory.as_ptr().align_offset(SECTOR_BYTES);
    let sector = &memory[start..start + SECTOR_BYTES];
    let mut times_ns = Vec::with_capacity(writes as usize);
    for write in 0..writes {
        let start = Instant::now();
        file.write_all_at(sector, (write % FILE_SECTORS) * SECTOR_BYTES as u64)?;
        if !syncs_itself {
            file.sync_data()?;
        }
        times_ns.push(start.elapsed().as_nanos() as u64);
    }
    times_ns.sort_unstable();
    let us = |fraction| quantile(&times_ns, fraction).map(|ns| ns as f64 / 1e3).context("no writes");
    Ok(SyncTimes { median_us: us(0.5)?, p99_us: us(0.99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_measures_and_its_output_is_read() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let times = probe(&directory.path().join("x"), 5).expect("the directory can be written");
        assert!(times.median_us > 0.0 && times.median_us <= times.p99_us);
        let printed = json!({ "median_us": 80.5, "p99_us": 110.0 }).to_string();
        assert_eq!(parse(&printed).expect("valid"), SyncTimes { median_us: 80.5, p99_us: 110.0 });
        assert!(parse("oops").is_err());
    }
}
