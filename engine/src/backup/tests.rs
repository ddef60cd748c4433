//! Cases found in review: backups beside checkpoints that give logs up, restarts between backups, restored
//! databases that go their own way.

use crate::storage::catalog::NewId;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyades_types::definition::{CatalogChange, CommentTarget, SchemaId};
use parking_lot::Mutex;

use super::files::{Until, extent};
use super::{BackupReport, Place, PointInTime, back_up, restore};
use crate::config::{Config, ProtocolKind};
use crate::db::{Engine, Interrupt, open};
use crate::disk::{Disk, File, MemoryDisk};
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::set::LogSource;
use crate::log::store::LogReader;
use crate::sync::microseconds_since_1970;

fn a_time() -> u64 {
    std::thread::sleep(Duration::from_millis(5));
    let now = microseconds_since_1970();
    std::thread::sleep(Duration::from_millis(5));
    now
}

fn start(disk: &Arc<dyn Disk>, directory: &str) -> Arc<dyn Engine> {
    let config = Config {
        disk: Arc::clone(disk),
        segment_bytes: 64 * 4096,
        log_buffer_bytes: 1 << 16,
        checkpoint_log_bytes: 0,
        ..Config::new(directory)
    };
    open(config, None).expect("opens")
}

fn change(engine: &dyn Engine, change: CatalogChange) {
    let mut worker = engine.worker();
    worker.begin();
    worker.change_catalog(change).ok().expect("made");
    loop {
        match worker.commit() {
            Ok(done) => return done.wait().expect("durable"),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => panic!("{error}"),
        }
    }
}

fn make(engine: &dyn Engine, name: &str) {
    let id = SchemaId(engine.worker().new_id(NewId::Object));
    change(engine, CatalogChange::CreateSchema { id, name: name.to_owned() });
}

/// Fills some segments of the log.
fn fill(engine: &dyn Engine) {
    for number in 0..12 {
        let on = CommentTarget { object: 2200, part: Default::default() };
        change(engine, CatalogChange::Comment { on, text: Some(format!("{number} ").repeat(40_000)) });
    }
}

fn has(engine: &dyn Engine, names: &[&str]) -> Vec<bool> {
    let worker = engine.worker();
    let schemas = worker.catalog_view().schemas();
    names.iter().map(|name| schemas.get(name).is_some()).collect()
}

fn checkpoint(engine: &dyn Engine) {
    let request = engine.request_checkpoint().expect("logs");
    request.ticket().wait();
    request.outcome().expect("answered").expect("taken");
}

fn place<'p>(disk: &'p Arc<dyn Disk>, directory: &'p str) -> Place<'p> {
    Place::new(disk, Path::new(directory))
}

fn backed_up(disk: &Arc<dyn Disk>, from: &str, into: &str) -> hyades_types::Result<BackupReport> {
    back_up(place(disk, from), place(disk, into))
}

/// Which of these are there after a restore.
fn restored(disk: &Arc<dyn Disk>, into: &str, point: PointInTime, names: &[&str]) -> Vec<bool> {
    restore(place(disk, "/b"), place(disk, into), point).expect("restored");
    let engine = start(disk, into);
    let found = has(&*engine, names);
    engine.shutdown().expect("stops");
    found
}

fn memory() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::default())
}

#[test]
fn a_restart_and_a_checkpoint_between_two_backups_leave_no_hole() {
    const NAMES: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];
    let disk = memory();
    let engine = start(&disk, "/d");
    make(&*engine, "s1");
    checkpoint(&*engine);
    backed_up(&disk, "/d", "/b").expect("backed up");
    make(&*engine, "s2");
    let before_restart = a_time();
    engine.shutdown().expect("stops");
    drop(engine);
    let engine = start(&disk, "/d");
    make(&*engine, "s3");
    let after_restart = a_time();
    make(&*engine, "s4");
    checkpoint(&*engine);
    make(&*engine, "s5");
    backed_up(&disk, "/d", "/b").expect("backed up");
    engine.shutdown().expect("stops");
    let expected = |count: usize| (0..NAMES.len()).map(|number| number < count).collect::<Vec<bool>>();
    assert_eq!(restored(&disk, "/r1", PointInTime::Time(before_restart), &NAMES), expected(2));
    assert_eq!(restored(&disk, "/r2", PointInTime::Time(after_restart), &NAMES), expected(3));
    assert_eq!(restored(&disk, "/r3", PointInTime::End, &NAMES), expected(5));
}

#[test]
fn a_restored_database_does_not_go_into_the_backup_that_it_came_from() {
    let disk = memory();
    let engine = start(&disk, "/d");
    make(&*engine, "s1");
    checkpoint(&*engine);
    backed_up(&disk, "/d", "/b").expect("backed up");
    let time = a_time();
    make(&*engine, "s2");
    checkpoint(&*engine);
    backed_up(&disk, "/d", "/b").expect("backed up");
    engine.shutdown().expect("stops");
    assert_eq!(restored(&disk, "/r", PointInTime::Time(time), &["s1", "s2"]), [true, false]);
    let engine = start(&disk, "/r");
    make(&*engine, "other");
    checkpoint(&*engine);
    let refused = backed_up(&disk, "/r", "/b").expect_err("refused").to_string();
    assert!(refused.contains("have gone different ways"), "{refused}");
    backed_up(&disk, "/r", "/another").expect("backed up");
    assert_eq!(restored(&disk, "/r2", PointInTime::End, &["s1", "s2", "other"]), [true, true, false]);
}

/// A disk on which something happens when a directory is listed for the first time.
struct Hooked {
    inner: Arc<dyn Disk>,
    directory: &'static str,
    hook: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Disk for Hooked {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.create_directory(path)
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let hook = self.hook.lock().take_if(|_| directory.starts_with(self.directory));
        if let Some(hook) = hook {
            hook();
        }
        self.inner.list(directory)
    }
    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.inner.create(path)
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.inner.open(path)
    }
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.inner.open_read(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.inner.sync_directory(directory)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.inner.lock(path)
    }
}

#[test]
fn checkpoints_that_overtake_a_copy_have_it_begin_anew() {
    let disk = memory();
    let engine = start(&disk, "/d");
    make(&*engine, "s1");
    checkpoint(&*engine);
    backed_up(&disk, "/d", "/b").expect("backed up");
    fill(&*engine);
    checkpoint(&*engine);
    make(&*engine, "s2");
    fill(&*engine);
    let running = Arc::clone(&engine);
    let overtake = move || {
        checkpoint(&*running);
        checkpoint(&*running);
    };
    let hook = Mutex::new(Some(Box::new(overtake) as Box<dyn FnOnce() + Send>));
    let hooked: Arc<dyn Disk> = Arc::new(Hooked { inner: Arc::clone(&disk), directory: "/d/logs", hook });
    let report = backed_up(&hooked, "/d", "/b").expect("backed up");
    assert_eq!((report.checkpoint, report.lost.is_some()), (Some(4), true), "{report:?}");
    assert_eq!(restored(&disk, "/r", PointInTime::End, &["s1", "s2"]), [true, true]);
    engine.shutdown().expect("stops");
}

#[test]
fn a_log_that_begins_within_its_last_block_has_the_rest_of_it() {
    let disk = memory();
    let config = Config { protocol: ProtocolKind::Serial, disk: Arc::clone(&disk), ..Config::new("/d") };
    let engine = open(config, None).expect("opens");
    let mut worker = engine.worker();
    let mut last = None;
    for number in 0..40 {
        worker.begin();
        let id = SchemaId(worker.new_id(NewId::Object));
        let change = CatalogChange::CreateSchema { id, name: format!("s{number}") };
        worker.change_catalog(change).ok().expect("made");
        last = worker.commit().ok();
    }
    last.expect("committed").wait().expect("durable");
    drop(worker);
    engine.shutdown().expect("stops");
    let manifest = Manifest::read(disk.as_ref(), Path::new("/d")).expect("readable").expect("there");
    let incarnation = &manifest.incarnations[0];
    let files = manifest.log_files(Path::new("/d"), incarnation, 0);
    let mut reader = LogReader::open(&disk, &files).expect("a log");
    let mut starts = Vec::new();
    while let Some(chunk) = reader.next_chunk().expect("undamaged") {
        starts.extend(chunk.records().map(|record| record.expect("well-formed").start.0));
    }
    let end = incarnation.frozen_end().expect("it was closed").get(0);
    for start in starts {
        let incarnation = Incarnation { starts: vec![start], ..incarnation.clone() };
        let found =
            extent(place(&disk, "/d"), &manifest, &incarnation, 0, Until::time(u64::MAX)).expect("undamaged");
        assert_eq!(found.end, end, "from {start}");
    }
}
