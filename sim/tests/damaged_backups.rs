//! Damage in each file of a backup with a past: the verdicts of a check, of a restore and of the start of
//! what was restored agree, for the end, for points in every part of the windows, and for every checkpoint.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyades_engine::backup::{
    Place, PointInTime, Verified, back_up, back_up_keeping, restore, verify, windows,
};
use hyades_engine::config::Config;
use hyades_engine::db::{Engine, open};
use hyades_engine::disk::Disk;
use hyades_engine::recovery::{recover, tables_hash};
use hyades_engine::storage::databases::Databases;
use hyades_sim::crash::{Calls, DATA, Life, Scenario, script, take_checkpoint};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::routines::test_compiler;
use hyades_sim::script::Script;

const BACKUP: &str = "/backup";
const RESTORED: &str = "/restored";

/// A time, and the hash of the state that the database had then.
type Moment = (u64, u64);

fn now_us() -> u64 {
    // Whatever was written before is older, and whatever is written afterwards younger.
    std::thread::sleep(Duration::from_millis(2));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    std::thread::sleep(Duration::from_millis(2));
    now.as_micros() as u64
}

fn shared(disk: &SimulatedDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

fn backed_up(disk: &SimulatedDisk) {
    let disk = shared(disk);
    back_up(Place::new(&disk, Path::new(DATA)), Place::new(&disk, Path::new(BACKUP))).expect("backed up");
}

fn verified(disk: &SimulatedDisk) -> hyades_types::Result<Verified> {
    verify(Place::new(&shared(disk), Path::new(BACKUP)))
}

/// The hash of the state after a restore to this point and a start; an error if the restore is refused.
fn restored(disk: &SimulatedDisk, scenario: Scenario, point: PointInTime) -> Result<u64, String> {
    let shared = shared(disk);
    disk.take_away(Path::new(RESTORED));
    restore(Place::new(&shared, Path::new(BACKUP)), Place::new(&shared, Path::new(RESTORED)), point)
        .map_err(|error| error.to_string())?;
    let databases = Arc::new(Databases::new());
    let config = Config { data_directory: RESTORED.into(), ..scenario.config(disk) };
    if let Err(error) = recover(&config, test_compiler(), &databases) {
        panic!("{scenario:?}, {point:?}: it is restored, and does not start: {error}");
    }
    Ok(tables_hash(&databases.tables()).expect("sound rows"))
}

struct Work {
    scenario: Scenario,
    script: Script,
    next: usize,
    moments: Vec<Moment>,
}

impl Work {
    fn go_on(&mut self, engine: &dyn Engine) {
        let mut life = Life::begin_with(engine, 1, self.scenario.calls).expect("begins");
        for number in self.next..self.next + 12 {
            life.run_one(&self.script, number).expect("runs").wait().expect("durable");
        }
        self.next += 12;
        drop(life);
        self.moments.push((now_us(), tables_hash(&engine.tables()).expect("sound rows")));
    }
}

/// A backup that begins with the database, with three checkpoints and two incarnations, a gap in which logs
/// were given up, and another window with two checkpoints. Returns the moments that can be restored, and one
/// in the gap.
fn backup_with_a_past(scenario: Scenario, disk: &SimulatedDisk) -> (Vec<Moment>, u64) {
    let mut work = Work { scenario, script: script(7), next: 0, moments: Vec::new() };
    let mut engine = scenario.open(disk).expect("opens");
    backed_up(disk);
    for step in 0..3 {
        work.go_on(&*engine);
        take_checkpoint(&*engine).expect("taken");
        work.go_on(&*engine);
        backed_up(disk);
        if step == 1 {
            engine.shutdown().expect("stops");
            drop(engine);
            engine = scenario.open(disk).expect("opens again");
        }
    }
    let lost = work.moments.len();
    for _ in 0..2 {
        work.go_on(&*engine);
        take_checkpoint(&*engine).expect("taken");
    }
    backed_up(disk);
    let gap_us = work.moments[lost].0;
    work.moments.drain(lost..);
    work.moments.push((now_us(), tables_hash(&engine.tables()).expect("sound rows")));
    for _ in 0..2 {
        work.go_on(&*engine);
        take_checkpoint(&*engine).expect("taken");
        backed_up(disk);
    }
    engine.shutdown().expect("stops");
    (work.moments, gap_us)
}

fn scenarios() -> [Scenario; 3] {
    [Scenario::serial().with(Calls::Mixed), Scenario::taurus(2).with(Calls::Commands), Scenario::striped(2)]
}

fn check_moments(disk: &SimulatedDisk, scenario: Scenario, moments: &[Moment]) {
    let found = verified(disk).expect("readable");
    assert!(found.damages.is_empty() && found.has_end, "{scenario:?}: {found:?}");
    for (time_us, hash) in moments {
        assert_eq!(restored(disk, scenario, PointInTime::Time(*time_us)), Ok(*hash), "{scenario:?}");
    }
}

/// The database has fallen back to a checkpoint that is older than the newest one of the backup.
#[test]
fn a_backup_goes_on_after_a_restart_from_an_earlier_checkpoint() {
    for scenario in scenarios() {
        let disk = SimulatedDisk::new(2);
        let mut work = Work { scenario, script: script(8), next: 0, moments: Vec::new() };
        let engine = scenario.open(&disk).expect("opens");
        backed_up(&disk);
        for _ in 0..2 {
            work.go_on(&*engine);
            take_checkpoint(&*engine).expect("taken");
            work.go_on(&*engine);
            backed_up(&disk);
        }
        engine.shutdown().expect("stops");
        drop(engine);
        let config = Config { previous_checkpoint: true, ..scenario.config(&disk) };
        let engine = open(config, test_compiler()).expect("opens with the checkpoint before");
        work.go_on(&*engine);
        backed_up(&disk);
        check_moments(&disk, scenario, &work.moments);
        take_checkpoint(&*engine).expect("taken");
        work.go_on(&*engine);
        backed_up(&disk);
        check_moments(&disk, scenario, &work.moments);
        engine.shutdown().expect("stops");
    }
}

/// A damaged checkpoint is not copied, nothing that the backup has is given up for it, and the logs go on.
#[test]
fn a_damaged_checkpoint_is_not_copied() {
    for scenario in scenarios() {
        let disk = SimulatedDisk::new(3);
        let mut work = Work { scenario, script: script(9), next: 0, moments: Vec::new() };
        let engine = scenario.open(&disk).expect("opens");
        work.go_on(&*engine);
        take_checkpoint(&*engine).expect("taken");
        backed_up(&disk);
        work.moments.clear();
        work.go_on(&*engine);
        take_checkpoint(&*engine).expect("taken");
        let checkpoints = Path::new(DATA).join("checkpoints");
        let is_new = |path: &PathBuf| path.to_string_lossy().contains("/00000002-");
        let of_checkpoints = |path: &PathBuf| path.parent() == Some(&checkpoints);
        let parts = disk.paths().into_iter().filter(of_checkpoints).filter(is_new);
        let damaged = parts.filter(|part| disk.flip_bit(part, 13, 3).is_ok()).count();
        assert!(damaged > 0, "no part is damaged");
        work.go_on(&*engine);
        let shared = shared(&disk);
        let places = [DATA, BACKUP].map(|directory| Place::new(&shared, Path::new(directory)));
        for _ in 0..2 {
            let refused = back_up_keeping(places[0], places[1], Some(Duration::ZERO)).expect_err("damaged");
            let refused = refused.to_string();
            assert!(refused.contains("a part of the checkpoint, is damaged"), "{scenario:?}: {refused}");
            assert!(refused.contains("the logs have been copied"), "{scenario:?}: {refused}");
            check_moments(&disk, scenario, &work.moments);
        }
        take_checkpoint(&*engine).expect("taken");
        work.go_on(&*engine);
        engine.shutdown().expect("stops");
    }
}

#[test]
fn a_backup_keeps_what_could_be_restored_before() {
    for scenario in scenarios() {
        let disk = SimulatedDisk::new(1);
        let (moments, gap_us) = backup_with_a_past(scenario, &disk);
        let found = verified(&disk).expect("readable");
        assert!(found.damages.is_empty() && found.lost_checkpoints.is_empty() && found.has_end, "{found:?}");
        assert_eq!(found.windows.len(), 2, "{found:?}");
        for (time_us, hash) in &moments {
            assert!(found.has(*time_us), "{scenario:?}: {time_us} in {found:?}");
            assert_eq!(restored(&disk, scenario, PointInTime::Time(*time_us)), Ok(*hash), "{scenario:?}");
        }
        assert!(!found.has(gap_us));
        for refused_us in [gap_us, now_us()] {
            let refused = restored(&disk, scenario, PointInTime::Time(refused_us)).expect_err("refused");
            assert!(refused.contains("recovery would end before that time: it can be restored"), "{refused}");
        }
    }
}

/// The files of a backup, with the damage that is done to each of them.
fn damages(disk: &SimulatedDisk) -> Vec<(String, PathBuf, Option<Vec<u8>>)> {
    let mut damages = Vec::new();
    for path in disk.paths().into_iter().filter(|path| path.starts_with(BACKUP)) {
        let Ok(content) = disk.content(&path) else { continue };
        let ends_with = |name: &str| path.to_string_lossy().ends_with(name);
        if ends_with("manifest") || ends_with("lock") || content.is_empty() {
            continue;
        }
        let used = content.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        for place in [13, used / 2, used] {
            let mut flipped = content.clone();
            flipped[place.min(used)] ^= 4;
            damages.push((format!("flipped at {place}"), path.clone(), Some(flipped)));
        }
        let half = content[..used / 2].to_vec();
        damages.push((format!("cut to {}", half.len()), path.clone(), Some(half)));
        damages.push(("deleted".to_owned(), path, None));
    }
    damages
}

#[test]
fn the_verdicts_on_a_damaged_backup_agree() {
    for scenario in scenarios() {
        let disk = SimulatedDisk::new(1);
        let (moments, _) = backup_with_a_past(scenario, &disk);
        let whole = verified(&disk).expect("readable");
        let checkpoints =
            whole.windows.iter().flat_map(|window| &window.checkpoints).map(|(number, _)| *number);
        let mut points: Vec<(PointInTime, u64)> =
            moments.iter().map(|(time_us, hash)| (PointInTime::Time(*time_us), *hash)).collect();
        for point in checkpoints.map(PointInTime::Checkpoint).chain([PointInTime::End]) {
            points.push((point, restored(&disk, scenario, point).expect("whole")));
        }
        let (mut harmless, mut partial) = (0, 0);
        for (what, path, content) in damages(&disk) {
            let damaged = disk.after(PowerCut::KeepUnsynced);
            match content {
                Some(content) => damaged.replace(&path, &content),
                None => damaged.take_away(&path),
            }
            let found = verified(&damaged).expect("the manifest is whole");
            let what = format!("{scenario:?}: {} {what}", path.display());
            let mut kept = 0;
            for (point, hash) in &points {
                let is_promised = match point {
                    PointInTime::Time(time_us) => found.has(*time_us),
                    PointInTime::Checkpoint(number) => !found.lost_checkpoints.contains(number),
                    _ => found.has_end,
                };
                let outcome = restored(&damaged, scenario, *point);
                let is_there = outcome.is_ok();
                match outcome {
                    Ok(state) => assert_eq!(state, *hash, "{what}, {point:?}"),
                    Err(error) => assert!(error.contains(BACKUP), "{what}, {point:?}: {error}"),
                }
                assert_eq!(is_there, is_promised, "{what}, {point:?}: {found:?}");
                kept += usize::from(is_there);
            }
            let is_right = found.damages.is_empty() && found.lost_checkpoints.is_empty();
            assert!(!is_right || kept == points.len(), "{what}: {found:?}");
            harmless += usize::from(is_right);
            partial += usize::from(0 < kept && kept < points.len());
        }
        assert!(partial > 10, "{scenario:?}: {partial} damages left some points, {harmless} all");
    }
}

#[test]
fn what_leaves_the_window_is_removed_and_the_rest_stays() {
    for scenario in scenarios() {
        let disk = SimulatedDisk::new(1);
        let (moments, _) = backup_with_a_past(scenario, &disk);
        let files = || disk.paths().iter().filter(|path| path.starts_with(BACKUP)).count();
        let shared = shared(&disk);
        let (data, place) = (Place::new(&shared, Path::new(DATA)), Place::new(&shared, Path::new(BACKUP)));
        for (time_us, _) in &moments {
            let before = files();
            let keep_us = now_us() - time_us;
            back_up_keeping(data, place, Some(Duration::from_micros(keep_us))).expect("backed up");
            let from_us = now_us() - keep_us;
            assert!(files() <= before, "{scenario:?}: {} files, {before} before", files());
            let found = verified(&disk).expect("readable");
            assert!(found.damages.is_empty() && found.has_end, "{scenario:?}: {found:?}");
            for (kept_us, hash) in moments.iter().filter(|(kept_us, _)| *kept_us >= from_us) {
                assert_eq!(restored(&disk, scenario, PointInTime::Time(*kept_us)), Ok(*hash), "{scenario:?}");
            }
        }
        let last = windows(place).expect("readable");
        assert!(last.len() == 1 && last[0].checkpoints.len() <= 2, "{scenario:?}: {last:?}");
        // A second run finds nothing to remove, whatever stands in the way of the first.
        let before = files();
        back_up(data, place).expect("backed up");
        assert_eq!(files(), before);
    }
}
