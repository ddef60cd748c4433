//! Object stores that speak S3, as a disk for backups.
//!
//! A backup goes into a bucket as it goes into a directory, but objects do not change and are not renamed:
//!
//! | file | objects |
//! |---|---|
//! | the manifest | one, put last; only in the place of the one that was read, so of two backups at once one is refused |
//! | `x.part`, `x.contents` | one each, put once |
//! | `x.segment`, which grows | `x.segment/<first byte>-<random>`: pieces; a backup puts new data after the existing ones |
//!
//! An object that was put is durable and whole, so a backup that is cut short leaves unreferenced objects and
//! the previous manifest. There may then be two pieces with the same bytes. Either serves.
//!
//! The engine knows no network: this is a [`Disk`] of which it uses [`Disk::replace`], reading and listing.
//! Other operations are refused, or have no meaning here. Each call blocks its thread until the store has
//! replied. If there is no reply the request is retried, but not for ever. [`failure`] words the errors.
//!
//! Memory: one part of an upload, one window for each file that is read, the manifest.

mod failure;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_engine::disk::{Disk, File};
use hyper::body::Bytes;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::{
    ClientOptions, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    RetryConfig, UpdateVersion,
};
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use self::failure::sentence;

/// Larger objects are put in parts of this size.
const PART_BYTES: usize = 8 << 20;
/// The number of bytes that are read at once.
const WINDOW_BYTES: u64 = 4 << 20;
/// The time limit for connecting to a store.
const CONNECT_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);
/// For how long a request is retried, and how often.
const RETRY_LIMIT: std::time::Duration = std::time::Duration::from_secs(30);
const RETRIES: usize = 6;
/// The only object that is ever replaced.
const MANIFEST: &str = "manifest";

/// A prefix in a bucket, as a disk that backups are put on.
pub struct ObjectDisk {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn ObjectStore>,
    runtime: Runtime,
    /// The beginning of all paths, for the engine and for people: `s3://bucket/prefix`.
    root: PathBuf,
    bucket: String,
    prefix: Key,
    /// The manifest that was read last. `None` if there was none.
    manifest: Mutex<Option<UpdateVersion>>,
}

/// How requests are retried that failed for a transient reason.
fn retries() -> RetryConfig {
    RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_LIMIT, ..RetryConfig::default() }
}

/// The bytes of a file that are in one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    from: u64,
    to: u64,
    key: Key,
}

impl ObjectDisk {
    /// Opens `s3://bucket/prefix`. Credentials and endpoint are those of the environment.
    ///
    /// # Errors
    /// A URL without a bucket, settings that make no sense, a bucket that cannot be reached or used.
    pub fn open(url: &str) -> Result<ObjectDisk, String> {
        let rest = url.strip_prefix("s3://").ok_or_else(|| format!("\"{url}\" is not s3://bucket/prefix"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(format!("\"{url}\" names no bucket: it must be s3://bucket/prefix"));
        }
        ObjectDisk::of_builder(AmazonS3Builder::from_env(), retries(), bucket, prefix)
    }

    /// Opens a place in the store that the builder describes, if it can be reached and has the bucket.
    fn of_builder(
        builder: AmazonS3Builder,
        retries: RetryConfig,
        bucket: &str,
        prefix: &str,
    ) -> Result<ObjectDisk, String> {
        check_settings(&builder, bucket)?;
        // Several crates could install a provider, so this one is chosen explicitly.
        drop(rustls::crypto::ring::default_provider().install_default());
        // A private endpoint may well be http://.
        let options = ClientOptions::new().with_connect_timeout(CONNECT_LIMIT).with_allow_http(true);
        let builder = builder.with_client_options(options).with_retry(retries).with_bucket_name(bucket);
        let store = builder.build().map_err(|error| sentence(&error, bucket))?;
        let disk = ObjectDisk::of_store(Arc::new(store), bucket, prefix)?;
        // An error of the bucket is reported for the bucket, and not for a file.
        disk.list(&disk.shared.root).map_err(|error| error.to_string())?;
        Ok(disk)
    }

    /// Opens a place in this store.
    ///
    /// # Errors
    /// An invalid prefix, or threads that cannot be started.
    pub fn of_store(store: Arc<dyn ObjectStore>, bucket: &str, prefix: &str) -> Result<ObjectDisk, String> {
        let key = Key::parse(prefix.trim_matches('/'))
            .map_err(|_| format!("\"{prefix}\" is no prefix of objects"))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hyades-objects")
            .enable_all()
            .build()
            .map_err(|error| format!("could not start a thread: {error}"))?;
        let root = PathBuf::from(format!("s3://{bucket}")).join(key.as_ref());
        let shared = Shared {
            store,
            runtime,
            root,
            bucket: bucket.to_owned(),
            prefix: key,
            manifest: Mutex::default(),
        };
        Ok(ObjectDisk { shared: Arc::new(shared) })
    }

    /// The path that represents the directory of the backup.
    pub fn root(&self) -> &Path {
        &self.shared.root
    }
}

/// Refuses settings of which no request can be made: the library would panic. Values are not shown, since
/// some of them are secret.
fn check_settings(builder: &AmazonS3Builder, bucket: &str) -> Result<(), String> {
    use AmazonS3ConfigKey::{AccessKeyId, Endpoint, Region, SecretAccessKey, Token};
    if !bucket.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
        return Err(format!("\"{bucket}\" is no name of a bucket"));
    }
    let is_url = |text: &str| {
        text.parse::<hyper::Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|host| !host.is_empty())
                && uri.query().is_none()
        })
    };
    if builder.get_config_value(&Endpoint).is_some_and(|endpoint| !is_url(&endpoint)) {
        return Err("AWS_ENDPOINT must be a URL such as https://host:port".to_owned());
    }
    let names = [
        (Region, "AWS_REGION"),
        (AccessKeyId, "AWS_ACCESS_KEY_ID"),
        (SecretAccessKey, "AWS_SECRET_ACCESS_KEY"),
        (Token, "AWS_SESSION_TOKEN"),
    ];
    for (key, name) in names {
        let is_word = |value: &String| !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
        if builder.get_config_value(&key).is_some_and(|value| !is_word(&value)) {
            return Err(format!("{name} must be one word: it is empty, or has spaces or line breaks in it"));
        }
    }
    Ok(())
}

impl Shared {
    fn key(&self, path: &Path) -> io::Result<Key> {
        let inner = path.strip_prefix(&self.root).map_err(|_| unusable("is not in the bucket"))?;
        let mut key = self.prefix.clone();
        for part in inner.components() {
            let part = part.as_os_str().to_str().ok_or_else(|| unusable("is not UTF-8"))?;
            key = key.join(part);
        }
        Ok(key)
    }

    /// Waits for the store's reply.
    fn ask<T>(&self, question: impl Future<Output = object_store::Result<T>>) -> io::Result<T> {
        self.runtime.block_on(question).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &object_store::Error) -> io::Error {
        io::Error::new(failure::kind(error), sentence(error, &self.bucket))
    }

    /// The objects that a file consists of, in order and without a gap from its beginning. Empty if there is
    /// no such file.
    fn pieces(&self, path: &Path) -> io::Result<Vec<Piece>> {
        let key = self.key(path)?;
        if !is_segment(path) {
            return match self.ask(self.store.head(&key)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
                found => Ok(vec![Piece { from: 0, to: found?.size, key }]),
            };
        }
        let objects = self.ask(self.store.list_with_delimiter(Some(&key)))?.objects;
        let piece = |object: object_store::ObjectMeta| {
            let (from, _) = object.location.filename()?.split_once('-')?;
            let from = from.parse().ok()?;
            Some(Piece { from, to: from + object.size, key: object.location })
        };
        Ok(covering(objects.into_iter().filter_map(piece).collect()))
    }

    /// The manifest and its version. A new manifest is put on the condition that this version is still
    /// current.
    fn read_manifest(&self, key: &Key) -> io::Result<Option<(Bytes, UpdateVersion)>> {
        let read = self.ask(async {
            let found = self.store.get(key).await?;
            let version =
                UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            Ok((found.bytes().await?, version))
        });
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Replaces the manifest that was read last.
    fn put_manifest(&self, key: &Key, bytes: Bytes) -> io::Result<()> {
        let mut before = self.manifest.lock();
        let mode = before.clone().map_or(PutMode::Create, PutMode::Update);
        let put = |mode| {
            let options = PutOptions::from(mode);
            self.runtime.block_on(self.store.put_opts(key, PutPayload::from(bytes.clone()), options))
        };
        let done = match put(mode) {
            // In a store without conditional writes the last backup to finish wins.
            Err(object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. }) => {
                put(PutMode::Overwrite)
            }
            done => done,
        };
        let version = match done {
            Ok(done) => UpdateVersion { e_tag: done.e_tag, version: done.version },
            Err(error) if failure::is_overtaken(&error) => match self.read_manifest(key)? {
                // The manifest had arrived, and only the reply was lost.
                Some((there, version)) if there == bytes => version,
                _ => return Err(self.failed(&error)),
            },
            Err(error) => return Err(self.failed(&error)),
        };
        *before = Some(version);
        Ok(())
    }
}

fn length(pieces: &[Piece]) -> u64 {
    pieces.last().map_or(0, |last| last.to)
}

fn is_segment(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "segment")
}

fn is_manifest(key: &Key) -> bool {
    key.filename() == Some(MANIFEST)
}

/// The pieces that cover a file from its beginning without a gap, each beginning where the previous one ends.
fn covering(pieces: BTreeSet<Piece>) -> Vec<Piece> {
    let mut covering: Vec<Piece> = Vec::new();
    for piece in pieces {
        let end = length(&covering);
        if piece.from > end {
            break;
        }
        if piece.to > end {
            covering.push(piece);
        }
    }
    covering
}

fn unusable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("this {what}"))
}

impl Disk for ObjectDisk {
    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let shared = &self.shared;
        let key = shared.key(directory)?;
        let found = shared.ask(shared.store.list_with_delimiter(Some(&key)))?;
        let objects = found.objects.iter().map(|object| &object.location);
        let names = objects.chain(&found.common_prefixes).filter_map(|key| key.filename());
        Ok(names.map(str::to_owned).collect())
    }

    fn exists(&self, path: &Path) -> bool {
        // An error is reported when the file is read.
        let exists = self.shared.pieces(path).map_or(true, |pieces| !pieces.is_empty());
        if !exists && self.shared.key(path).is_ok_and(|key| is_manifest(&key)) {
            *self.shared.manifest.lock() = None;
        }
        exists
    }

    fn create(&self, _path: &Path) -> io::Result<Box<dyn File>> {
        Err(unusable("is an object, which is put as a whole"))
    }

    fn open(&self, _path: &Path) -> io::Result<Box<dyn File>> {
        Err(unusable("is an object, which does not change"))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let key = self.shared.key(path)?;
        let (pieces, window) = if is_manifest(&key) {
            let (bytes, version) = self.shared.read_manifest(&key)?.unzip();
            *self.shared.manifest.lock() = version;
            let whole = |bytes: &Bytes| Piece { from: 0, to: bytes.len() as u64, key: key.clone() };
            (bytes.iter().map(whole).collect(), bytes.unwrap_or_default())
        } else {
            (self.shared.pieces(path)?, Bytes::new())
        };
        if pieces.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no object \"{key}\"")));
        }
        let window = Mutex::new((0, window));
        Ok(Box::new(ObjectReader { shared: Arc::clone(&self.shared), pieces, window }))
    }

    fn replace(&self, path: &Path, fill: &mut dyn FnMut(&dyn File) -> io::Result<()>) -> io::Result<u64> {
        let shared = &self.shared;
        let key = shared.key(path)?;
        let (known, key) = if is_segment(path) {
            let known = length(&shared.pieces(path)?);
            (known, key.join(format!("{known:016}-{:016x}", rand::random::<u64>())))
        } else {
            (0, key)
        };
        let writer = ObjectWriter { shared: Arc::clone(shared), key, known, state: Mutex::default() };
        let done = fill(&writer).and_then(|()| writer.finish());
        if done.is_err() {
            writer.abort();
        }
        done
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(unusable("is an object, which keeps its name"))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let pieces = self.shared.pieces(path)?;
        pieces.iter().try_for_each(|piece| self.shared.ask(self.shared.store.delete(&piece.key)))
    }

    fn sync_directory(&self, _directory: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Excludes no other backup. The second one is refused when it puts its manifest.
    fn lock(&self, _path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }
}

/// A file that is being read.
struct ObjectReader {
    shared: Arc<Shared>,
    pieces: Vec<Piece>,
    /// The bytes that were read last, and their offset.
    window: Mutex<(u64, Bytes)>,
}

impl ObjectReader {
    /// Reads the bytes from `offset` on of the piece that holds them.
    fn read_window(&self, offset: u64) -> io::Result<Bytes> {
        let Some(piece) = self.pieces.iter().find(|piece| (piece.from..piece.to).contains(&offset)) else {
            return Ok(Bytes::new());
        };
        let to = piece.to.min(offset + WINDOW_BYTES);
        let range = offset - piece.from..to - piece.from;
        self.shared.ask(self.shared.store.get_range(&piece.key, range))
    }
}

impl File for ObjectReader {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut window = self.window.lock();
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let (start, bytes) = &*window;
            let place =
                at.checked_sub(*start).map(|place| place as usize).filter(|place| *place < bytes.len());
            let Some(place) = place else {
                let bytes = self.read_window(at)?;
                if bytes.is_empty() {
                    break;
                }
                *window = (at, bytes);
                continue;
            };
            let count = (bytes.len() - place).min(buffer.len() - done);
            buffer[done..done + count].copy_from_slice(&bytes[place..place + count]);
            done += count;
        }
        Ok(done)
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(unusable("is an object, which does not change"))
    }

    fn write_durable(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(unusable("is an object, which does not change"))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(length(&self.pieces))
    }
}

/// An object that is being put, from the first byte to the last.
struct ObjectWriter {
    shared: Arc<Shared>,
    key: Key,
    /// The first bytes of the file, already in other objects.
    known: u64,
    state: Mutex<Upload>,
}

#[derive(Default)]
struct Upload {
    /// Bytes of the file that were written so far.
    written: u64,
    /// Written bytes that are still to be put.
    pending: Vec<u8>,
    put: u64,
    parts: Option<Box<dyn MultipartUpload>>,
}

impl ObjectWriter {
    /// Puts what is pending. Returns the number of bytes of the object.
    fn finish(&self) -> io::Result<u64> {
        let mut upload = self.state.lock();
        let pending = Bytes::from(std::mem::take(&mut upload.pending));
        let put = upload.put + pending.len() as u64;
        if let Some(parts) = &mut upload.parts {
            self.shared.ask(async {
                if !pending.is_empty() {
                    parts.put_part(pending.into()).await?;
                }
                parts.complete().await
            })?;
        } else if is_manifest(&self.key) {
            self.shared.put_manifest(&self.key, pending)?;
        } else if put > 0 || self.known == 0 {
            self.shared.ask(self.shared.store.put(&self.key, pending.into()))?;
        }
        Ok(put)
    }

    /// Discards what was uploaded of an object that will not be completed.
    fn abort(&self) {
        if let Some(mut parts) = self.state.lock().parts.take() {
            // A lifecycle rule of the bucket removes what remains.
            drop(self.shared.ask(parts.abort()));
        }
    }
}

impl File for ObjectWriter {
    fn read_at(&self, _offset: u64, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(unusable("is an object that is not there yet"))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut upload = self.state.lock();
        if offset != upload.written {
            return Err(unusable("is an object, which is written from its beginning to its end"));
        }
        let known = (self.known.saturating_sub(offset) as usize).min(bytes.len());
        upload.written += bytes.len() as u64;
        upload.pending.extend_from_slice(&bytes[known..]);
        // A manifest is put in one request, under its condition.
        while upload.pending.len() >= PART_BYTES && !is_manifest(&self.key) {
            let rest = upload.pending.split_off(PART_BYTES);
            let part = std::mem::replace(&mut upload.pending, rest);
            if upload.parts.is_none() {
                upload.parts = Some(self.shared.ask(self.shared.store.put_multipart(&self.key))?);
            }
            upload.put += part.len() as u64;
            if let Some(parts) = &mut upload.parts {
                self.shared.ask(parts.put_part(part.into()))?;
            }
        }
        Ok(())
    }

    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().written)
    }
}
