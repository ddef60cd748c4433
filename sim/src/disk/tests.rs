//! The simulated disk keeps its own promises, so that a failing crash test points to the engine.

use std::path::Path;

use super::*;

const SECTOR: usize = hyades_engine::disk::SECTOR_BYTES;

/// Sector-aligned bytes, as a durable write requires them.
#[repr(align(4096))]
struct Aligned([u8; SECTOR]);

fn disk() -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    disk.create_directory(Path::new("/data")).unwrap();
    disk.sync_directory(Path::new("/data")).unwrap();
    disk
}

fn durable_file(disk: &SimulatedDisk, name: &str, bytes: &[u8]) -> Box<dyn File> {
    let file = disk.create(Path::new(name)).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync().unwrap();
    disk.sync_directory(Path::new("/data")).unwrap();
    file
}

#[test]
fn synced_bytes_and_names_survive_any_power_cut() {
    let disk = disk();
    durable_file(&disk, "/data/a", &[7; 5000]);
    for seed in 0..50 {
        let found = disk.after_power_cut(seed);
        assert_eq!(found.content(Path::new("/data/a")).unwrap(), vec![7; 5000]);
    }
}

#[test]
fn unsynced_sectors_are_lost_kept_and_torn_independently() {
    let disk = disk();
    let file = durable_file(&disk, "/data/a", &[1; 4 * SECTOR]);
    file.write_at(0, &[2; 4 * SECTOR]).unwrap();
    let (mut lost, mut kept, mut torn, mut mixed) = (0, 0, 0, 0);
    for seed in 0..100 {
        let content = disk.after_power_cut(seed).content(Path::new("/data/a")).unwrap();
        assert_eq!(content.len(), 4 * SECTOR);
        let mut kinds = Vec::new();
        for sector in content.chunks(SECTOR) {
            let twos = sector.iter().filter(|byte| **byte == 2).count();
            assert_eq!(twos + sector.iter().filter(|byte| **byte == 1).count(), SECTOR);
            kinds.push(twos);
        }
        lost += kinds.iter().filter(|twos| **twos == 0).count();
        kept += kinds.iter().filter(|twos| **twos == SECTOR).count();
        torn += kinds.iter().filter(|twos| **twos != 0 && **twos != SECTOR).count();
        mixed += usize::from(kinds.iter().any(|twos| *twos != kinds[0]));
    }
    assert!(lost > 20 && kept > 20 && torn > 20 && mixed > 20, "{lost} {kept} {torn} {mixed}");
}

#[test]
fn a_durable_write_needs_no_sync_but_alignment() {
    let disk = disk();
    let file = durable_file(&disk, "/data/a", &[]);
    let aligned = Aligned([9; SECTOR]);
    file.write_durable(4096, &aligned.0).unwrap();
    assert!(file.write_durable(100, &aligned.0).is_err());
    assert!(file.write_durable(0, &aligned.0[..8]).is_err());
    let content = disk.after(PowerCut::LoseUnsynced).content(Path::new("/data/a")).unwrap();
    assert_eq!(content[..SECTOR], [0; SECTOR]);
    assert_eq!(content[SECTOR..], [9; SECTOR]);
}

#[test]
fn a_name_is_durable_only_with_its_directory() {
    let disk = disk();
    let file = disk.create(Path::new("/data/a")).unwrap();
    file.write_at(0, b"x").unwrap();
    file.sync().unwrap();
    assert!(!disk.after(PowerCut::LoseUnsynced).exists(Path::new("/data/a")));
    let found = (0..40).filter(|seed| disk.after_power_cut(*seed).exists(Path::new("/data/a"))).count();
    assert!(found > 5 && found < 35, "{found}");
}

#[test]
fn a_rename_is_atomic_and_shows_unsynced_content() {
    let disk = disk();
    durable_file(&disk, "/data/manifest", b"old");
    let file = disk.create(Path::new("/data/manifest.new")).unwrap();
    file.write_at(0, b"new").unwrap();
    disk.rename(Path::new("/data/manifest.new"), Path::new("/data/manifest")).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..100 {
        let found = disk.after_power_cut(seed);
        assert!(found.exists(Path::new("/data/manifest")));
        seen.insert(found.content(Path::new("/data/manifest")).unwrap());
    }
    // Not synced before the rename: the new name may belong to an empty or zeroed file.
    assert!(seen.contains(&b"old"[..]) && seen.contains(&b"new"[..]) && seen.len() > 2);
}

#[test]
fn a_process_kill_keeps_what_was_written_and_a_later_power_cut_takes_it() {
    let disk = disk();
    let file = durable_file(&disk, "/data/a", b"old");
    file.write_at(0, b"new").unwrap();
    let killed = disk.after_process_kill(3);
    assert_eq!(killed.content(Path::new("/data/a")).unwrap(), b"new");
    let lost = killed.after(PowerCut::LoseUnsynced);
    assert_eq!(lost.content(Path::new("/data/a")).unwrap(), b"old");
    killed.open(Path::new("/data/a")).unwrap().sync().unwrap();
    let kept = killed.after(PowerCut::LoseUnsynced);
    assert_eq!(kept.content(Path::new("/data/a")).unwrap(), b"new");
}

#[test]
fn from_the_crash_on_everything_fails() {
    let disk = disk();
    let file = durable_file(&disk, "/data/a", &[1; SECTOR]);
    disk.crash_at(disk.operations() + 1);
    file.write_at(0, &[2; SECTOR]).unwrap();
    assert!(file.sync().is_err());
    assert!(disk.has_crashed());
    assert!(file.read_at(0, &mut [0; 8]).is_err());
    assert!(disk.create(Path::new("/data/b")).is_err());
    assert!(disk.describe_operation(disk.operations() - 1).unwrap().contains("sync"));
}

#[test]
fn a_failed_sync_is_never_made_good_by_another() {
    let disk = disk();
    let file = durable_file(&disk, "/data/a", &[1; SECTOR]);
    file.write_at(0, &[2; SECTOR]).unwrap();
    disk.fail_next_sync();
    assert!(file.sync().is_err());
    file.sync().unwrap();
    assert_eq!(disk.content(Path::new("/data/a")).unwrap()[0], 2);
    let lost = (0..40).filter(|seed| {
        let found = disk.after_power_cut(*seed);
        found.content(Path::new("/data/a")).unwrap()[0] == 1
    });
    assert!(lost.count() > 5);
}

#[test]
fn a_full_disk_refuses_with_no_space_left() {
    let disk = disk();
    disk.limit_bytes(Some(2 * SECTOR as u64));
    let file = disk.create(Path::new("/data/a")).unwrap();
    file.write_at(0, &[1; SECTOR]).unwrap();
    let error = file.write_at(SECTOR as u64, &[1; 2 * SECTOR]).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(28));
    assert_eq!(disk.used_bytes(), 2 * SECTOR as u64);
    file.write_at(0, &[3; SECTOR]).unwrap();
}

#[test]
fn locks_exclude_and_end_with_the_guard() {
    let disk = disk();
    let guard = disk.lock(Path::new("/data/lock")).unwrap();
    let refused = disk.lock(Path::new("/data/lock")).err().unwrap();
    assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    drop(guard);
    disk.lock(Path::new("/data/lock")).unwrap();
}

#[test]
fn a_flipped_bit_is_read_back_and_stays() {
    let disk = disk();
    durable_file(&disk, "/data/a", &[0; 10]);
    disk.flip_bit(Path::new("/data/a"), 3, 6).unwrap();
    assert_eq!(disk.after_power_cut(0).content(Path::new("/data/a")).unwrap()[3], 64);
    assert!(disk.flip_bit(Path::new("/data/a"), 10, 0).is_err());
}
