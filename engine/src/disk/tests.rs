//! The operating system's files do what the trait promises.

use std::path::PathBuf;

use super::*;

/// A directory that is removed at the end of the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn scratch(base: PathBuf, name: &str) -> Scratch {
    let directory = base.join(format!("hyades-disk-{name}-{}", std::process::id()));
    RealDisk.create_directory(&directory).expect("created");
    Scratch(directory)
}

/// Writes in every possible way and reads it back.
fn exercise(directory: &Path) {
    let path = directory.join("file");
    let file = RealDisk.create(&path).expect("created");
    let mut aligned = AlignedBuffer::new(2 * SECTOR_BYTES);
    assert_eq!(aligned.as_ptr().addr() % SECTOR_BYTES, 0);
    aligned.fill(1);
    file.write_at(0, &aligned).expect("direct");
    aligned.fill(2);
    file.write_durable(SECTOR_BYTES as u64, &aligned).expect("direct and durable");
    // Memory that direct I/O refuses.
    let unaligned = vec![3; 2 * SECTOR_BYTES + 1];
    file.write_durable(4 * SECTOR_BYTES as u64, &unaligned[1..]).expect("through the page cache");
    file.write_at(5, b"small").expect("through the page cache");
    file.sync().expect("synced");
    let reader = RealDisk.open_read(&path).expect("opened");
    let mut bytes = vec![0xff; 7 * SECTOR_BYTES];
    assert_eq!(reader.read_at(0, &mut bytes).expect("read"), 6 * SECTOR_BYTES);
    assert_eq!(&bytes[4..11], b"\x01small\x01");
    for (sector, expected) in [(1, 2), (2, 2), (3, 0), (4, 3), (5, 3)] {
        let sector = &bytes[sector * SECTOR_BYTES..][..SECTOR_BYTES];
        assert!(sector.iter().all(|byte| *byte == expected));
    }
    file.truncate(SECTOR_BYTES as u64).expect("truncated");
    assert_eq!(reader.len().expect("known"), SECTOR_BYTES as u64);
    assert_eq!(reader.read_at(SECTOR_BYTES as u64, &mut bytes).expect("read"), 0);
    assert!(!reader.is_empty().expect("known"));
}

#[test]
fn files_keep_what_is_written() {
    exercise(&scratch(std::env::temp_dir(), "written").0);
}

#[test]
fn a_file_system_without_direct_writes_serves_too() {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        exercise(&scratch(memory, "memory").0);
    }
}

#[test]
fn directories_list_rename_and_remove() {
    let scratch = scratch(std::env::temp_dir(), "directory");
    let path = |name: &str| scratch.0.join(name);
    drop(RealDisk.create(&path("a")).expect("created"));
    assert!(RealDisk.create(&path("a")).is_err(), "it exists");
    assert!(RealDisk.open(&path("b")).is_err(), "it does not exist");
    RealDisk.rename(&path("a"), &path("b")).expect("renamed");
    RealDisk.sync_directory(&scratch.0).expect("synced");
    assert_eq!(RealDisk.list(&scratch.0).expect("listed"), ["b"]);
    assert!(RealDisk.exists(&path("b")) && !RealDisk.exists(&path("a")));
    RealDisk.remove(&path("b")).expect("removed");
    assert!(RealDisk.list(&scratch.0).expect("listed").is_empty());
    assert!(RealDisk.list(&path("nowhere")).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
}

#[test]
fn a_lock_is_held_once() {
    let scratch = scratch(std::env::temp_dir(), "lock");
    let path = scratch.0.join("lock");
    let guard = RealDisk.lock(&path).expect("free");
    let refused = RealDisk.lock(&path).map(|_| ()).expect_err("held");
    assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    drop(guard);
    RealDisk.lock(&path).expect("free again");
}

#[test]
fn a_lock_that_a_child_has_inherited_is_given_up() {
    let scratch = scratch(std::env::temp_dir(), "inherited-lock");
    let path = scratch.0.join("lock");
    let guard = real::FileLock::take(&path).expect("free");
    // What a process has between its fork and its exec: the same open file.
    let inherited = guard.0.try_clone().expect("duplicated");
    drop(guard);
    RealDisk.lock(&path).expect("free again");
    drop(inherited);
}
