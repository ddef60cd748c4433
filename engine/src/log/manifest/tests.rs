//! A manifest is read back as it was written. Everything else is refused, and nothing is touched.

use super::*;
use crate::disk::controlled::ControlledDisk;

fn data() -> PathBuf {
    PathBuf::from("data")
}

fn stored() -> (ControlledDisk, Arc<dyn Disk>, Manifest) {
    let (memory, disk) = ControlledDisk::shared();
    let mut manifest = Manifest::create();
    let mut config = Config::new(data());
    config.logs = 3;
    for _ in 0..2 {
        let incarnation = manifest.plan_incarnation(&config, LogShape { logs: 3, stripes: 1 });
        manifest.incarnations.push(incarnation);
    }
    manifest.incarnations[0].freeze(&LsnVector::from_slice(&[8, 16]), UpToEnd::default());
    manifest.store(disk.as_ref(), &data()).expect("stored");
    (memory, disk, manifest)
}

fn refusal(disk: &dyn Disk) -> String {
    Manifest::load(disk, &data()).expect_err("refused").to_string()
}

/// Rewrites the JSON and gives it a valid checksum.
fn rewrite(memory: &ControlledDisk, from: &str, to: &str) {
    memory.edit(&data().join(FILE), |bytes| {
        let text = String::from_utf8(bytes.clone()).expect("text");
        let json = text[..text.len() - "crc32c 00000000\n".len()].replace(from, to);
        *bytes = format!("{json}crc32c {:08x}\n", crc32c::crc32c(json.as_bytes())).into_bytes();
    });
}

#[test]
fn it_comes_back_as_it_went() {
    let (_, disk, manifest) = stored();
    let loaded = Manifest::load(disk.as_ref(), &data()).expect("readable").expect("there");
    assert_eq!(loaded, manifest);
    assert_eq!(loaded.next_number(), 3);
    assert_eq!(loaded.incarnations[0].frozen_end(), Some(LsnVector::from_slice(&[8, 16, 0])));
    assert_eq!(loaded.incarnations[1].frozen_end(), None);
    let directory = loaded.incarnations[0].stripe_directory(&data(), 2, 0);
    assert_eq!(directory, data().join("logs").join("log-2"));
    assert!(!disk.exists(&data().join(TEMPORARY_FILE)));
}

#[test]
fn logs_are_spread_over_the_directories() {
    let mut config = Config::new(data());
    config.log_directories = vec![PathBuf::from("/fast"), PathBuf::from("near")];
    let incarnation = Manifest::create().plan_incarnation(&config, LogShape { logs: 2, stripes: 1 });
    assert_eq!(incarnation.stripe_directory(&data(), 0, 0), PathBuf::from("/fast/log-0"));
    assert_eq!(incarnation.stripe_directory(&data(), 1, 0), data().join("near/log-1"));
    assert_eq!(incarnation.protocol_kind().expect("known"), ProtocolKind::Taurus);
}

#[test]
fn an_empty_directory_is_a_new_database_and_a_foreign_one_is_refused() {
    let (_, disk) = ControlledDisk::shared();
    assert_eq!(Manifest::load(disk.as_ref(), &data()).expect("empty"), None);
    for name in [LOCK_FILE, TEMPORARY_FILE] {
        disk.create(&data().join(name)).expect("created");
    }
    assert_eq!(Manifest::load(disk.as_ref(), &data()).expect("only traces of a first start"), None);
    disk.create(&data().join("PG_VERSION")).expect("created");
    let message = refusal(disk.as_ref());
    assert!(message.contains("is not empty and holds no Hyades database (found \"PG_VERSION\""), "{message}");
}

#[test]
fn any_flipped_bit_is_found() {
    let (memory, disk, manifest) = stored();
    let path = data().join(FILE);
    let length = disk.open_read(&path).expect("there").len().expect("known");
    for offset in (0..length as usize).step_by(7) {
        memory.edit(&path, |bytes| bytes[offset] ^= 4);
        assert!(refusal(disk.as_ref()).contains("is damaged"));
        memory.edit(&path, |bytes| bytes[offset] ^= 4);
    }
    for length in [0, 3, 15, 40] {
        memory.edit(&path, |bytes| bytes.truncate(length));
        assert!(refusal(disk.as_ref()).contains("is damaged"));
        manifest.store(disk.as_ref(), &data()).expect("stored");
    }
}

#[test]
fn another_version_and_impossible_content_are_refused() {
    let (memory, disk, manifest) = stored();
    let version = format!("\"format_version\": {FORMAT_VERSION}");
    rewrite(&memory, &version, "\"format_version\": 7, \"new_field\": 1");
    let refused = refusal(disk.as_ref());
    let reads = format!("has data format version 7, this program reads version {FORMAT_VERSION}");
    assert!(refused.contains(&reads), "{refused}");
    for (from, to) in [
        ("\"logs\": 3", "\"logs\": 2"),
        ("\"number\": 2", "\"number\": 1"),
        ("\"database\": \"", "\"database\": \"x"),
        ("\"incarnations\"", "\"incarnation\""),
    ] {
        manifest.store(disk.as_ref(), &data()).expect("stored");
        rewrite(&memory, from, to);
        assert!(refusal(disk.as_ref()).contains("is damaged"), "{to}");
    }
}

#[test]
fn a_data_directory_is_taken_once() {
    let (_, disk) = ControlledDisk::shared();
    let guard = lock_data_directory(&disk, &data()).expect("free");
    let message = lock_data_directory(&disk, &data()).map(|_| ()).expect_err("taken").to_string();
    assert_eq!(message, "data directory \"data\" is in use by another process");
    drop(guard);
    lock_data_directory(&disk, &data()).expect("free again");
}

#[test]
fn stripes_stand_in_directories_by_turns() {
    let mut config = Config::new(data());
    config.log_directories = vec![PathBuf::from("/fast"), PathBuf::from("near")];
    let incarnation = Manifest::create().plan_incarnation(&config, LogShape { logs: 1, stripes: 3 });
    let directories = incarnation.stripe_directories(&data(), 0);
    let expected = ["/fast/log-0", "data/near/log-0-stripe-1", "/fast/log-0-stripe-2"];
    assert_eq!(directories, expected.map(PathBuf::from));
    assert_eq!(incarnation.first_segments.len(), 3);
}

#[test]
fn a_manifest_that_knows_no_stripes_has_one_for_each_log() {
    let config = Config::new(data());
    let incarnation = Manifest::create().plan_incarnation(&config, LogShape { logs: 2, stripes: 1 });
    let json = serde_json::to_string(&incarnation).expect("it has only plain fields");
    assert!(!json.contains("stripes"), "what older programs read is as they wrote it");
    let read: Incarnation = serde_json::from_str(&json).expect("the field is optional");
    assert_eq!(read.stripes, 1);
}

#[test]
fn checkpoints_of_older_programs_hold_a_phase_and_newer_ones_a_time() {
    let common = r#""number": 7, "incarnation": 2, "from": [16], "raised": [64], "settled": [640], "contents_crc32c": 1"#;
    let read = |more: &str| -> Checkpoint {
        serde_json::from_str(&format!("{{{common}, {more}}}")).expect("a checkpoint")
    };
    let (old, new) = (read(r#""is_phase_odd": true"#), read(r#""time": 5"#));
    let at = |time| Commit { time, ..Commit::default() };
    let of_phase = |is_phase_odd| Commit { is_phase_odd, ..Commit::default() };
    let (before, between, after) = (Lsn(64), Lsn(640), Lsn(648));
    for (checkpoint, held, other) in [
        (&old, of_phase(true), of_phase(false)),
        (&new, at(Some(5)), at(Some(6))),
        (&new, at(Some(1)), at(None)),
    ] {
        assert!(checkpoint.holds(0, before, held) && checkpoint.holds(0, before, other));
        assert!(checkpoint.holds(0, between, held) && !checkpoint.holds(0, between, other));
        assert!(!checkpoint.holds(0, after, held) && !checkpoint.holds(0, after, other));
    }
    assert!(!serde_json::to_string(&new).expect("text").contains("phase"));
}
