//! Backups in an object store, the library's own in memory: cut short at each object, two at once, pieces.
//! `answers` tests the replies of a store in trouble.

mod answers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyades::{Config, Connection, Database};
use hyades_engine::backup::{BackupReport, Place, PointInTime, back_up, restore};
use hyades_engine::disk::MemoryDisk;
use hyades_engine::log::manifest::FORMAT_VERSION;
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::databases::Databases;
use object_store::memory::InMemory;

use super::*;

fn objects(store: &Arc<InMemory>) -> Arc<dyn Disk> {
    Arc::new(ObjectDisk::of_store(Arc::clone(store) as Arc<dyn ObjectStore>, "bucket", "a/backup").unwrap())
}

fn backup_place(disk: &Arc<dyn Disk>) -> Place<'_> {
    Place::new(disk, Path::new("s3://bucket/a/backup"))
}

/// A database in memory, open, with a session.
struct Live {
    disk: Arc<dyn Disk>,
    database: Database,
    connection: Connection,
}

impl Live {
    fn begin() -> Live {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
        let database = Database::open(config(&disk, "/data")).unwrap();
        let connection = database.connect().unwrap();
        let mut live = Live { disk, database, connection };
        live.run("create table t (id int primary key, note text)");
        live
    }

    fn run(&mut self, sql: &str) {
        self.connection.execute(sql, &[]).unwrap();
    }

    /// Inserts rows of `bytes` each.
    fn insert(&mut self, rows: std::ops::Range<u32>, bytes: usize) {
        for id in rows {
            self.run(&format!("insert into t values ({id}, repeat('x', {bytes}))"));
        }
    }

    fn back_up(&self, into: &Arc<dyn Disk>) -> hyades_types::Result<BackupReport> {
        back_up(Place::new(&self.disk, Path::new("/data")), backup_place(into))
    }

    fn stop(self) {
        drop(self.connection);
        self.database.shutdown().unwrap();
    }
}

fn config(disk: &Arc<dyn Disk>, directory: &str) -> Config {
    Config {
        disk: Arc::clone(disk),
        segment_bytes: 64 * 4096,
        log_buffer_bytes: 1 << 16,
        ..Config::new(directory)
    }
}

/// The state hash of a database restored from the backup.
fn restored(store: &Arc<InMemory>) -> u64 {
    let (from, into): (_, Arc<dyn Disk>) = (objects(store), Arc::new(MemoryDisk::default()));
    restore(backup_place(&from), Place::new(&into, Path::new("/new")), PointInTime::End).unwrap();
    let databases = Arc::new(Databases::new());
    recover(&config(&into, "/new"), Some(hyades::routine_compiler()), &databases).unwrap();
    state_hash(&databases).unwrap()
}

fn keys(store: &Arc<InMemory>, prefix: &str) -> Vec<String> {
    let disk = ObjectDisk::of_store(Arc::clone(store) as Arc<dyn ObjectStore>, "bucket", prefix).unwrap();
    disk.list(disk.root()).unwrap()
}

fn remove(store: &Arc<InMemory>, file: &str) {
    objects(store).remove(&Path::new("s3://bucket/a/backup").join(file)).unwrap();
}

/// A store that fails at some object.
struct Cut {
    inner: Arc<dyn Disk>,
    left: AtomicUsize,
    /// Whether the object at which it fails is put, so that only the reply is lost.
    is_put: bool,
}

impl Disk for Cut {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.create_directory(path)
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
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
    fn replace(&self, path: &Path, fill: &mut dyn FnMut(&dyn File) -> io::Result<()>) -> io::Result<u64> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 || (left == 1 && !self.is_put) {
            self.left.store(0, Ordering::Relaxed);
            return Err(io::Error::other("the store is lost"));
        }
        let bytes = self.inner.replace(path, fill)?;
        self.left.store(left - 1, Ordering::Relaxed);
        if left == 1 { Err(io::Error::other("the store is lost")) } else { Ok(bytes) }
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
fn a_backup_that_is_cut_short_at_any_object_leaves_the_one_before_and_can_be_made_again() {
    let mut live = Live::begin();
    live.insert(0..50, 2000);
    let store = Arc::new(InMemory::new());
    live.back_up(&objects(&store)).unwrap();
    let before = restored(&store);
    live.run("checkpoint");
    live.insert(50..250, 2000);
    live.run("delete from t where id % 7 = 0");
    let after = {
        let whole = Arc::new(store.fork());
        live.back_up(&objects(&whole)).unwrap();
        restored(&whole)
    };
    assert_ne!(before, after);
    let (mut cuts, mut lost_answers) = (0, 0);
    'all: for is_put in [false, true] {
        for at in 1.. {
            let store = Arc::new(store.fork());
            let cut: Arc<dyn Disk> =
                Arc::new(Cut { inner: objects(&store), left: AtomicUsize::new(at), is_put });
            if live.back_up(&cut).is_ok() {
                assert!(at > 4, "{at}");
                continue 'all;
            }
            cuts += 1;
            let found = restored(&store);
            if is_put && found == after {
                lost_answers += 1;
            } else {
                assert_eq!(found, before, "cut at object {at}");
            }
            live.back_up(&objects(&store)).unwrap();
            assert_eq!(restored(&store), after, "cut at object {at}");
        }
    }
    // That of the manifest, which is put last.
    assert_eq!(lost_answers, 1, "of {cuts}");
    live.stop();
}

#[test]
fn a_first_backup_that_is_cut_short_can_be_made_again() {
    let mut live = Live::begin();
    live.insert(0..100, 2000);
    live.run("checkpoint");
    let whole = Arc::new(InMemory::new());
    live.back_up(&objects(&whole)).unwrap();
    let expected = restored(&whole);
    for at in 1.. {
        let store = Arc::new(InMemory::new());
        let cut: Arc<dyn Disk> =
            Arc::new(Cut { inner: objects(&store), left: AtomicUsize::new(at), is_put: false });
        if live.back_up(&cut).is_ok() {
            break;
        }
        let (from, into): (_, Arc<dyn Disk>) = (objects(&store), Arc::new(MemoryDisk::default()));
        let refused =
            restore(backup_place(&from), Place::new(&into, Path::new("/new")), PointInTime::End).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("there is no backup") || refused.contains("was not finished"), "{refused}");
        live.back_up(&objects(&store)).unwrap();
        assert_eq!(restored(&store), expected, "cut at object {at}");
    }
    live.stop();
}

#[test]
fn only_what_is_new_is_put_and_pieces_make_one_file() {
    let mut live = Live::begin();
    live.insert(0..5, 10);
    let store = Arc::new(InMemory::new());
    let disk = objects(&store);
    let first = live.back_up(&disk).unwrap();
    assert!(first.copied_files > 0, "{first:?}");
    // Idle loggers may still write down how far the other logs are.
    let is_at_rest = |_: &u32| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        live.back_up(&disk).unwrap().copied_bytes == 0
    };
    assert!((0..200).any(|attempt| is_at_rest(&attempt)), "it puts something every time");
    live.insert(5..6, 10);
    let second = live.back_up(&disk).unwrap();
    assert!(second.copied_bytes > 0 && second.copied_bytes <= 16384, "{second:?}");
    live.insert(6..200, 5000);
    let third = live.back_up(&disk).unwrap();
    assert!(third.copied_bytes > 194 * 5000, "{third:?}");
    let pieces = |log| keys(&store, &format!("a/backup/logs/log-{log}/00000001-00000001.segment")).len();
    assert!(pieces(0) > 1 || pieces(1) > 1, "{} and {}", pieces(0), pieces(1));
    assert!(!keys(&store, "a/backup").iter().any(|name| name.contains("new")));
    let expected = {
        let whole = Arc::new(InMemory::new());
        live.back_up(&objects(&whole)).unwrap();
        restored(&whole)
    };
    assert_eq!(restored(&store), expected);
    live.stop();
}

#[test]
fn of_two_backups_at_once_the_second_is_refused() {
    let mut live = Live::begin();
    let store = Arc::new(InMemory::new());
    let (one, other) = (objects(&store), objects(&store));
    let manifest = PathBuf::from("s3://bucket/a/backup/manifest");
    let put = |disk: &Arc<dyn Disk>| disk.replace(&manifest, &mut |file| file.write_at(0, b"{}"));
    assert!(!one.exists(&manifest));
    live.back_up(&other).unwrap();
    let refused = put(&one).unwrap_err().to_string();
    assert!(refused.contains("another backup has been made there meanwhile"), "{refused}");
    assert!(one.exists(&manifest));
    live.insert(0..5, 10);
    live.back_up(&other).unwrap();
    let refused = put(&one).unwrap_err().to_string();
    assert!(refused.contains("another backup has been made there meanwhile"), "{refused}");
    restored(&store);
    live.stop();
}

#[test]
fn another_database_is_refused_and_so_is_what_has_lost_its_manifest() {
    let (mut live, other) = (Live::begin(), Live::begin());
    live.insert(0..50, 100);
    live.run("checkpoint");
    let store = Arc::new(InMemory::new());
    live.back_up(&objects(&store)).unwrap();
    let before = restored(&store);
    let refused = other.back_up(&objects(&store)).unwrap_err().to_string();
    assert!(refused.contains("\"s3://bucket/a/backup\" holds a backup of another database"), "{refused}");
    assert_eq!(restored(&store), before);
    remove(&store, "manifest");
    for live in [&live, &other] {
        let refused = live.back_up(&objects(&store)).unwrap_err().to_string();
        assert!(refused.contains("\"s3://bucket/a/backup/manifest\" is missing"), "{refused}");
    }
    live.stop();
    other.stop();
}

#[test]
fn parts_that_lie_where_no_manifest_is_are_put_anew() {
    let mut live = Live::begin();
    live.insert(0..50, 100);
    live.run("checkpoint");
    let whole = Arc::new(InMemory::new());
    live.back_up(&objects(&whole)).unwrap();
    let part = PathBuf::from("s3://bucket/a/backup/checkpoints/00000001-0.part");
    let length = objects(&whole).open_read(&part).unwrap().len().unwrap();
    let store = Arc::new(InMemory::new());
    let foreign = vec![b'x'; length as usize];
    objects(&store).replace(&part, &mut |file| file.write_at(0, &foreign)).unwrap();
    live.back_up(&objects(&store)).unwrap();
    assert_eq!(restored(&store), restored(&whole));
    live.stop();
}

#[test]
fn a_manifest_that_arrived_without_its_answer_is_ours() {
    let store = Arc::new(InMemory::new());
    let manifest = PathBuf::from("s3://bucket/a/backup/manifest");
    let (one, other) = (objects(&store), objects(&store));
    let put = |disk: &Arc<dyn Disk>, bytes: &[u8]| {
        disk.replace(&manifest, &mut |file| file.write_at(0, bytes)).map_err(|error| error.to_string())
    };
    // As far as the first one knows, there is no manifest: it takes the same bytes for its own, but no
    // others.
    assert!(!one.exists(&manifest));
    put(&other, b"the first").unwrap();
    let refused = put(&one, b"another").unwrap_err();
    assert!(refused.contains("another backup has been made there meanwhile"), "{refused}");
    put(&one, b"the first").unwrap();
    // From there on it knows the current version.
    put(&one, b"the second").unwrap();
    put(&other, b"the third").unwrap_err();
}

#[test]
fn a_manifest_is_read_as_one_however_fast_it_is_replaced() {
    let store = Arc::new(InMemory::new());
    let manifest = PathBuf::from("s3://bucket/a/backup/manifest");
    let (reader, writer) = (objects(&store), objects(&store));
    let put = |bytes: &[u8]| writer.replace(&manifest, &mut |file| file.write_at(0, bytes)).unwrap();
    put(b"short");
    let file = reader.open_read(&manifest).unwrap();
    put(b"much longer");
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!((file.read_at(0, &mut bytes).unwrap(), bytes.as_slice()), (5, &b"short"[..]));
    let refused = reader.replace(&manifest, &mut |file| file.write_at(0, b"x")).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn a_large_object_is_put_in_parts_and_is_not_there_if_it_fails() {
    let store = Arc::new(InMemory::new());
    let disk = objects(&store);
    let part = PathBuf::from("s3://bucket/a/backup/checkpoints/00000001-0.part");
    let mebibytes = 2 * PART_BYTES / (1 << 20) + 3;
    let fill = |file: &dyn File, mebibytes: usize| {
        (0..mebibytes).try_for_each(|at| file.write_at((at as u64) << 20, &vec![at as u8; 1 << 20]))
    };
    let failed = disk.replace(&part, &mut |file| {
        fill(file, mebibytes)?;
        Err(io::Error::other("the source is gone"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "the source is gone");
    assert!(!disk.exists(&part));
    assert_eq!(disk.replace(&part, &mut |file| fill(file, mebibytes)).unwrap(), (mebibytes as u64) << 20);
    let file = disk.open_read(&part).unwrap();
    for at in 0..mebibytes {
        let mut byte = [0];
        assert_eq!(file.read_at(((at as u64) << 20) + 17, &mut byte).unwrap(), 1);
        assert_eq!(usize::from(byte[0]), at);
    }
}

#[test]
fn a_missing_object_and_a_newer_version_are_said_and_nothing_is_made() {
    let mut live = Live::begin();
    live.insert(0..5, 10);
    live.run("checkpoint");
    live.insert(5..10, 10);
    let store = Arc::new(InMemory::new());
    live.back_up(&objects(&store)).unwrap();
    live.stop();
    let refused = |store: &Arc<InMemory>| {
        let (from, into): (_, Arc<dyn Disk>) = (objects(store), Arc::new(MemoryDisk::default()));
        let target = Place::new(&into, Path::new("/new"));
        let error = restore(backup_place(&from), target, PointInTime::End).unwrap_err().to_string();
        assert!(!into.exists(Path::new("/new/manifest")));
        error
    };
    for file in ["checkpoints/00000001-0.part", "logs/log-0/00000001-00000001.segment"] {
        let store = Arc::new(store.fork());
        remove(&store, file);
        let error = refused(&store);
        assert!(error.contains(file) && error.contains("missing"), "{error}");
    }
    let short = Arc::new(store.fork());
    let part = PathBuf::from("s3://bucket/a/backup/checkpoints/00000001-0.part");
    objects(&short).replace(&part, &mut |file| file.write_at(0, b"short")).unwrap();
    let error = refused(&short);
    assert!(error.contains("00000001-0.part") && error.contains("is not as long as it was"), "{error}");
    let disk = objects(&store);
    let manifest = PathBuf::from("s3://bucket/a/backup/manifest");
    let file = disk.open_read(&manifest).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    let json = String::from_utf8(bytes).unwrap();
    let (json, _) = json.rsplit_once("crc32c ").unwrap();
    let json = json.replace(&format!("\"format_version\": {FORMAT_VERSION}"), "\"format_version\": 99");
    let edited = format!("{json}crc32c {:08x}\n", crc32c::crc32c(json.as_bytes()));
    disk.replace(&manifest, &mut |file| file.write_at(0, edited.as_bytes())).unwrap();
    let error = refused(&store);
    assert!(error.contains("data format version 99"), "{error}");
}

#[test]
fn pieces_cover_a_file_up_to_the_first_gap() {
    let piece = |from, to, name: &str| Piece { from, to, key: Key::from(name) };
    let all =
        [piece(0, 10, "a"), piece(0, 4, "b"), piece(4, 10, "c"), piece(10, 12, "d"), piece(13, 20, "e")];
    let chosen = covering(BTreeSet::from(all));
    assert_eq!(length(&chosen), 12);
    assert!(chosen.windows(2).all(|pair| pair[1].from <= pair[0].to));
    assert_eq!(covering(BTreeSet::from([piece(1, 2, "a")])), []);
}
