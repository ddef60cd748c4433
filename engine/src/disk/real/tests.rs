//! System calls that do less than they were asked to or are interrupted; neighbouring sectors.

use std::io;

use rustix::io::Errno;

use super::{Direct, RealDisk, SECTOR_BYTES, write_whole_sectors};
use crate::disk::{AlignedBuffer, Disk, LEAST_SECTOR_BYTES};

/// Writes three sectors by calls with these results, one after the other, the last of them repeated for ever.
/// Returns the outcome, and what was written where.
fn write(results: &[Result<usize, Errno>]) -> (io::Result<Direct>, Vec<u8>, usize) {
    let bytes: Vec<u8> = (0..3 * SECTOR_BYTES).map(|at| (at % 251) as u8).collect();
    let (mut file, mut calls) = (vec![0; 4 * SECTOR_BYTES], 0);
    let outcome = write_whole_sectors(SECTOR_BYTES as u64, &bytes, |rest, offset| {
        // As in the kernel.
        if !(offset as usize).is_multiple_of(SECTOR_BYTES) || !rest.len().is_multiple_of(SECTOR_BYTES) {
            return Err(Errno::INVAL);
        }
        let result = results[calls.min(results.len() - 1)].map(|count| count.min(rest.len()));
        calls += 1;
        if let Ok(count) = result {
            file[offset as usize..][..count].copy_from_slice(&rest[..count]);
        }
        result
    });
    (outcome, file, calls)
}

fn assert_written(results: &[Result<usize, Errno>]) {
    let (outcome, file, _) = write(results);
    assert_eq!(outcome.expect("written"), Direct::Written, "{results:?}");
    let expected = (0..3 * SECTOR_BYTES).map(|at| (at % 251) as u8);
    assert!(file[..SECTOR_BYTES].iter().all(|byte| *byte == 0), "{results:?}");
    assert!(file[SECTOR_BYTES..].iter().copied().eq(expected), "{results:?}");
}

#[test]
fn what_a_call_leaves_is_written_by_the_next() {
    assert_written(&[Ok(3 * SECTOR_BYTES)]);
    assert_written(&[Ok(SECTOR_BYTES)]);
    assert_written(&[Err(Errno::INTR), Ok(2 * SECTOR_BYTES), Err(Errno::INTR), Ok(SECTOR_BYTES)]);
}

#[test]
fn a_call_that_stops_within_a_sector_is_no_error() {
    assert_written(&[Ok(SECTOR_BYTES + 512), Ok(2 * SECTOR_BYTES)]);
    assert_written(&[Ok(2 * SECTOR_BYTES + 1)]);
    // Not even one sector at a time: falls back to the page cache.
    let (outcome, _, calls) = write(&[Ok(SECTOR_BYTES), Ok(512)]);
    assert_eq!((outcome.expect("no error"), calls), (Direct::Stuck, 2));
}

#[test]
fn what_fails_is_told() {
    assert_eq!(write(&[Err(Errno::INVAL)]).0.expect("no error"), Direct::Refused);
    for (results, expected) in [
        (vec![Err(Errno::IO)], io::Error::from(Errno::IO).kind()),
        (vec![Ok(SECTOR_BYTES), Err(Errno::NOSPC)], io::ErrorKind::StorageFull),
        (vec![Ok(SECTOR_BYTES), Err(Errno::INVAL)], io::ErrorKind::InvalidInput),
        (vec![Ok(0)], io::ErrorKind::WriteZero),
    ] {
        assert_eq!(write(&results).0.expect_err("it fails").kind(), expected, "{results:?}");
    }
}

#[test]
fn small_sectors_leave_alone_what_stands_beside() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = RealDisk.create(&directory.path().join("log")).expect("created");
    file.write_at(0, &vec![0; 2 * SECTOR_BYTES]).expect("written");
    let mut sectors = AlignedBuffer::new(SECTOR_BYTES);
    for (at, sector) in sectors.chunks_mut(LEAST_SECTOR_BYTES).enumerate() {
        sector.fill(at as u8 + 1);
    }
    // Backwards, so that each has a neighbour that must stay unchanged.
    for (at, sector) in sectors.chunks(LEAST_SECTOR_BYTES).enumerate().rev() {
        file.write_durable((at * LEAST_SECTOR_BYTES) as u64, sector).expect("written");
    }
    let mut read = vec![0xff; 2 * SECTOR_BYTES];
    assert_eq!(file.read_at(0, &mut read).expect("read"), read.len());
    assert_eq!(read[..SECTOR_BYTES], sectors[..]);
    assert!(read[SECTOR_BYTES..].iter().all(|byte| *byte == 0));
}
