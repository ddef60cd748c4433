//! The digest of an incarnation: a file that says what its logs say of each table up to some position of each
//! log (`last_positions`). A restart on demand reads the logs only from there on.
//!
//! ```text
//!   <data>/digests/<incarnation>.digest
//!
//!    0  magic "HYDIGEST"
//!    8  CRC32C of everything after it, little-endian
//!   12  format version, database (16 bytes), timeline (length, name), incarnation, protocol (length, name),
//!       checkpoint, number of logs, and for each log:
//!         from, position, durable; the last change of the catalog, the last draw;
//!         count, (table, end) ...; count, (routine, version hash, end) ...;
//!         count, (sequence, end, its two states) ...;
//!         0, or from version 2 on 1 and: up to where the log was read; count, and for each table:
//!             its number; count, (extent) ...
//!   extent: start, its bytes * 2 + whether it is of a large transaction, position of the block, segment,
//!           offset in it, the bound; least and greatest key, each with its length
//! ```
//!
//! Numbers are varints; positions and the version hash are encoded as in log records. A state is
//! `epoch * 2 + whether the number was drawn`, then the number in zigzag.
//!
//! For each log, the digest says where the last record ends, between `from` and `position`, that concerns a
//! table, a call, the catalog or a sequence. What the checkpoint holds is left out. All transactions in it
//! that change the catalog or draw from a sequence count, wherever the logs end: when the digest was written,
//! the logs were `durable` up to all positions that these transactions name. `durable` also bounds the ends
//! of the logs from below, as anchors do (pitfall 14).
//!
//! `extents` says where the records lie that change rows. All transactions in them count, too.
//!
//! A restart works without the digest. It is not used if it is missing, damaged, of another database or
//! version, of a later checkpoint than the one that the restart begins with, or if the logs do not match it.
//! Then the logs are read from where their replay begins. An old digest is as true as a new one, because the
//! part of the logs that it describes does not change any more.
//!
//! Invariants:
//! 1. `position` is the end of a log record. Every large transaction that is complete only after it begins at
//!    or after it.
//! 2. The file is replaced as a whole.
//! 3. When an incarnation begins, there is no digest of it: a file of that name would belong to another
//!    history of the database, after the other files were replaced by older ones. It is removed first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use hyades_types::definition::{RoutineId, SequenceId, SequenceState, TableId};
use hyades_types::error::{Error, Result};
use smallvec::SmallVec;
use uuid::Uuid;

use super::extents::{Extent, Extents, KEY_BYTES, KeyBounds};
use super::last_positions::{Drawn, Draws, Last};
use crate::config::Config;
use crate::disk::{Disk, restrict};
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::places::log_set;
use crate::log::record::varint::{read_varint, unzigzag, write_varint, zigzag};
use crate::log::record::{read_position, write_position};
use crate::log::set::BlockPlace;
use crate::lsn::{Lsn, LsnVector};

const MAGIC: [u8; 8] = *b"HYDIGEST";
/// Where the checksummed bytes begin.
const CHECKED_FROM: usize = MAGIC.len() + 4;
const FORMAT_VERSION: u64 = 2;
/// The version before, which has no extents.
const OLDEST_FORMAT_VERSION: u64 = 1;
/// Anything longer is not a digest.
const MAX_BYTES: u64 = 256 << 20;
/// In the data directory.
const DIRECTORY: &str = "digests";

/// See the module head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    pub(super) database: Uuid,
    pub(super) incarnation: u64,
    /// As the manifest has them; empty for the timeline of a database that was never restored.
    pub(super) timeline: String,
    pub(super) protocol: String,
    /// The checkpoint of this incarnation that holds what is left out; 0 for none.
    pub(super) checkpoint: u64,
    pub(super) durable: LsnVector,
    pub(super) logs: Vec<LogDigest>,
}

/// What one log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LogDigest {
    pub(super) from: u64,
    pub(super) position: u64,
    pub(super) last: Last,
    /// `None` if they are not known.
    pub(super) extents: Option<Extents>,
    pub(super) draws: Draws,
}

type Unusable = &'static str;

/// The digest of an incarnation of the manifest, without what the last checkpoint holds; `None` if there is
/// none that can be used.
pub(super) fn find(config: &Config, manifest: &Manifest, incarnation: &Incarnation) -> Option<Digest> {
    let path = path(&config.data_directory, incarnation.number);
    if !config.disk.exists(&path) {
        return None;
    }
    let found = read(config.disk.as_ref(), &path).and_then(|digest| {
        digest.check(manifest, incarnation)?;
        Ok(digest)
    });
    match found {
        Ok(digest) => digest.cut_to_use(config, manifest, incarnation),
        Err(reason) => {
            tracing::warn!(
                "\"{}\" is not used, and the logs are read from their beginning: {reason}",
                path.display()
            );
            None
        }
    }
}

/// Removes the digests of incarnations that are still to begin, durably.
pub(crate) fn remove_foreign(config: &Config, manifest: &Manifest) {
    remove_where(config, |number| number >= manifest.next_number());
}

/// Removes all digests, durably: the next restart reads all of the logs.
pub(super) fn remove_all(config: &Config) {
    remove_where(config, |_| true);
}

fn remove_where(config: &Config, goes: impl Fn(u64) -> bool) {
    let directory = config.data_directory.join(DIRECTORY);
    let remove = || -> io::Result<()> {
        if remove_digests(config.disk.as_ref(), &directory, &goes)? {
            config.disk.sync_directory(&directory)?;
        }
        Ok(())
    };
    if let Err(error) = remove() {
        let name = directory.display();
        tracing::warn!(%error, "digests that should be removed are still in \"{name}\": remove that directory before the next start");
    }
}

fn path(data_directory: &Path, incarnation: u64) -> PathBuf {
    data_directory.join(DIRECTORY).join(format!("{incarnation:08}.digest"))
}

/// Which history of the database the manifest belongs to.
pub(super) fn timeline(manifest: &Manifest) -> &str {
    manifest.timeline.as_deref().unwrap_or_default()
}

fn write_text(into: &mut Vec<u8>, text: &str) {
    write_varint(into, text.len() as u64);
    into.extend_from_slice(text.as_bytes());
}

/// The incarnation in the name of a digest, or of a digest that is being written.
fn parse_name(name: &str) -> Option<u64> {
    name.strip_suffix(".digest").or_else(|| name.strip_suffix(".new"))?.parse().ok()
}

/// Returns whether there was any.
fn remove_digests(disk: &dyn Disk, directory: &Path, goes: impl Fn(u64) -> bool) -> io::Result<bool> {
    let names = match disk.list(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        names => names?,
    };
    let mut has_removed = false;
    for name in names.iter().filter(|name| parse_name(name).is_some_and(&goes)) {
        disk.remove(&directory.join(name))?;
        has_removed = true;
    }
    Ok(has_removed)
}

fn read(disk: &dyn Disk, path: &Path) -> std::result::Result<Digest, Unusable> {
    let read = || -> io::Result<Vec<u8>> {
        let file = disk.open_read(path)?;
        let mut bytes = vec![0; file.len()?.min(MAX_BYTES) as usize];
        let read = file.read_at(0, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    };
    Digest::decode(&read().map_err(|_| "it cannot be read")?)
}

impl Digest {
    /// Replaces the digest of its incarnation, durably, and removes those of other incarnations unless
    /// `is_needed`.
    pub(super) fn store(&self, config: &Config, is_needed: impl Fn(u64) -> bool) -> Result<()> {
        let path = path(&config.data_directory, self.incarnation);
        let directory = config.data_directory.join(DIRECTORY);
        let disk = config.disk.as_ref();
        let failed =
            |error: &io::Error| Error::io(format_args!("could not write \"{}\"", path.display()), error);
        if !disk.exists(&directory) {
            let create = || {
                disk.create_directory(&directory)?;
                disk.sync_directory(&config.data_directory)
            };
            create().map_err(|error| failed(&error))?;
            restrict(disk, &directory)?;
        }
        let bytes = self.encode();
        let write = || {
            disk.replace(&path, &mut |file| file.write_at(0, &bytes))?;
            remove_digests(disk, &directory, |number| number != self.incarnation && !is_needed(number))?;
            disk.sync_directory(&directory)
        };
        write().map_err(|error| failed(&error))
    }

    /// Refuses a digest that is not of this incarnation, or does not fit its logs.
    fn check(&self, manifest: &Manifest, incarnation: &Incarnation) -> std::result::Result<(), Unusable> {
        let logs = incarnation.logs;
        let is_of_it = self.database == manifest.database()
            && self.incarnation == incarnation.number
            && self.timeline == timeline(manifest)
            && self.protocol == incarnation.protocol
            && self.logs.len() == logs;
        if !is_of_it {
            return Err("it is of another incarnation or database");
        }
        let from = manifest.replay_from(incarnation);
        let checkpoint = manifest.checkpoint_of(incarnation).map_or(0, |checkpoint| checkpoint.number);
        let begins_after = |(log, one): (usize, &LogDigest)| one.from > from.get(log).0;
        if self.checkpoint > checkpoint || self.logs.iter().enumerate().any(begins_after) {
            return Err("it is of a later checkpoint");
        }
        let is_durable = |(log, one): (usize, &LogDigest)| one.position <= self.durable.get(log).0;
        if !self.logs.iter().enumerate().all(is_durable) {
            return Err("it goes further than the logs were durable");
        }
        let end = incarnation.frozen_end();
        if end.is_some_and(|end| !self.durable.is_covered_by(end.entries())) {
            return Err("the logs ended before the positions that it calls durable");
        }
        Ok(())
    }

    /// The digest without what the last checkpoint holds. `None` if that leaves nothing, or if a segment that
    /// would not be read because of the digest is missing or cut.
    fn cut_to_use(
        mut self,
        config: &Config,
        manifest: &Manifest,
        incarnation: &Incarnation,
    ) -> Option<Digest> {
        let from = manifest.replay_from(incarnation);
        let set = log_set(config, manifest, incarnation);
        let mut is_of_use = false;
        for (log, one) in self.logs.iter_mut().enumerate() {
            if one.position <= from.get(log).0 {
                continue;
            }
            is_of_use = true;
            if let Some(checkpoint) = manifest.checkpoint_of(incarnation) {
                one.last.forget(checkpoint.raised[log]);
                one.extents.iter_mut().for_each(|extents| extents.forget(checkpoint.raised[log]));
                // What begins before the logs do may lie in a segment that is gone.
                let start = incarnation.start(log).0;
                one.extents = one.extents.take().filter(|extents| extents.begin_after(start));
                one.draws.retain(|_, drawn| drawn.end > checkpoint.raised[log]);
            }
            // Reading the whole log reports what is wrong with it.
            if !set.has_segments(log, from.get(log), Lsn(one.position)).unwrap_or(false) {
                tracing::warn!(
                    "the digest of the logs is not used: log {log} lacks a segment before its end"
                );
                return None;
            }
        }
        is_of_use.then_some(self)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[0; CHECKED_FROM - MAGIC.len()]);
        write_varint(&mut bytes, FORMAT_VERSION);
        bytes.extend_from_slice(self.database.as_bytes());
        write_text(&mut bytes, &self.timeline);
        write_varint(&mut bytes, self.incarnation);
        write_text(&mut bytes, &self.protocol);
        write_varint(&mut bytes, self.checkpoint);
        write_varint(&mut bytes, self.logs.len() as u64);
        for (log, one) in self.logs.iter().enumerate() {
            one.encode(self.durable.get(log).0, &mut bytes);
        }
        let checksum = crc32c::crc32c(&bytes[CHECKED_FROM..]);
        bytes[MAGIC.len()..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> std::result::Result<Digest, Unusable> {
        let Some((head, checked)) = bytes.split_at_checked(CHECKED_FROM) else {
            return Err("it is too short");
        };
        let checksum = crc32c::crc32c(checked).to_le_bytes();
        if head[..MAGIC.len()] != MAGIC || head[MAGIC.len()..] != checksum {
            return Err("it is damaged");
        }
        let mut reader = Reader { bytes: checked, offset: 0 };
        let version = reader.number().unwrap_or(0);
        if !(OLDEST_FORMAT_VERSION..=FORMAT_VERSION).contains(&version) {
            return Err("it is of another version");
        }
        let digest = reader.digest(version).filter(|_| reader.offset == checked.len());
        digest.ok_or("it makes no sense")
    }
}

/// The entries of a map, by key: equal digests have equal bytes.
fn in_order<K: Ord, V>(map: &HashMap<K, V>) -> BTreeMap<&K, &V> {
    map.iter().collect()
}

impl LogDigest {
    fn encode(&self, durable: u64, into: &mut Vec<u8>) {
        let LogDigest { from, position, last, extents, draws } = self;
        for position in [*from, *position, durable, last.catalog, last.sequences] {
            write_position(into, position);
        }
        write_varint(into, last.tables.len() as u64);
        for (table, end) in in_order(&last.tables) {
            write_varint(into, u64::from(table.0));
            write_position(into, *end);
        }
        write_varint(into, last.calls.len() as u64);
        for ((routine, version_hash), end) in in_order(&last.calls) {
            write_varint(into, u64::from(routine.0));
            into.extend_from_slice(&version_hash.to_le_bytes());
            write_position(into, *end);
        }
        write_varint(into, draws.len() as u64);
        for (sequence, Drawn { end, least, greatest }) in in_order(draws) {
            write_varint(into, u64::from(sequence.0));
            write_position(into, *end);
            for state in [least, greatest] {
                write_varint(into, state.epoch << 1 | u64::from(state.is_called));
                write_varint(into, zigzag(state.value));
            }
        }
        write_varint(into, u64::from(extents.is_some()));
        if let Some(Extents { tables, read_to, .. }) = extents {
            write_position(into, *read_to);
            write_varint(into, tables.len() as u64);
            for (table, extents) in in_order(tables) {
                write_varint(into, u64::from(table.0));
                write_varint(into, extents.len() as u64);
                extents.iter().for_each(|extent| encode_extent(extent, into));
            }
        }
    }
}

fn encode_extent(extent: &Extent, into: &mut Vec<u8>) {
    let Extent { start, end, block, bound, keys, is_large } = extent;
    write_position(into, *start);
    write_varint(into, (end - start) << 1 | u64::from(*is_large));
    for number in [block.position.0, block.segment, block.offset, *bound] {
        write_varint(into, number);
    }
    for key in [&keys.least, &keys.greatest] {
        write_varint(into, key.len() as u64);
        into.extend_from_slice(key);
    }
}

/// Reads what [`Digest::encode`] wrote; `None` if it did not.
struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        read_varint(self.bytes, &mut self.offset).ok()
    }

    fn id(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn position(&mut self) -> Option<u64> {
        read_position(self.bytes, &mut self.offset).ok().map(|position| position.0)
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let bytes = self.bytes.get(self.offset..)?.get(..length)?;
        self.offset += length;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        std::str::from_utf8(self.bytes(length)?).ok().map(str::to_owned)
    }

    fn array<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        self.bytes(LENGTH)?.try_into().ok()
    }

    /// A number of things, each made by `read` from what follows.
    fn each<T, C: FromIterator<T>>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<C> {
        let count = self.number()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn digest(&mut self, version: u64) -> Option<Digest> {
        let database = Uuid::from_bytes(self.array()?);
        let timeline = self.text()?;
        let incarnation = self.number()?;
        let protocol = self.text()?;
        let checkpoint = self.number()?;
        let logs: Vec<(LogDigest, u64)> = self.each(|reader| reader.log(version))?;
        let durable: Vec<u64> = logs.iter().map(|(_, durable)| *durable).collect();
        let logs = logs.into_iter().map(|(log, _)| log).collect();
        let durable = LsnVector::from_slice(&durable);
        Some(Digest { database, timeline, incarnation, protocol, checkpoint, durable, logs })
    }

    /// What one log says, and up to where it was durable.
    fn log(&mut self, version: u64) -> Option<(LogDigest, u64)> {
        let (from, position, durable) = (self.position()?, self.position()?, self.position()?);
        let (catalog, sequences) = (self.position()?, self.position()?);
        let tables = self.each(|reader| Some((TableId(reader.id()?), reader.position()?)))?;
        let calls = self.each(|reader| {
            let called = (RoutineId(reader.id()?), u32::from_le_bytes(reader.array()?));
            Some((called, reader.position()?))
        })?;
        let draws = self.each(|reader| {
            let (sequence, end) = (SequenceId(reader.id()?), reader.position()?);
            Some((sequence, Drawn { end, least: reader.state()?, greatest: reader.state()? }))
        })?;
        let last = Last { tables, calls, catalog, sequences };
        let has_extents = version > OLDEST_FORMAT_VERSION && self.number()? == 1;
        let extents = if has_extents { Some(self.extents()?) } else { None };
        Some((LogDigest { from, position, last, extents, draws }, durable))
    }

    fn extents(&mut self) -> Option<Extents> {
        let read_to = self.position()?;
        let tables =
            self.each(|reader| Some((TableId(reader.id()?), reader.each(|reader| reader.extent())?)))?;
        Some(Extents { tables, read_to, excluded: BTreeSet::new() })
    }

    fn extent(&mut self) -> Option<Extent> {
        let (start, length) = (self.position()?, self.number()?);
        let end = start.checked_add(length >> 1)?;
        let (position, segment, offset) = (Lsn(self.number()?), self.number()?, self.number()?);
        let (block, bound) = (BlockPlace { position, segment, offset }, self.number()?);
        let keys = KeyBounds { least: self.key()?, greatest: self.key()? };
        Some(Extent { start, end, block, bound, keys, is_large: length & 1 == 1 })
    }

    fn key(&mut self) -> Option<SmallVec<[u8; KEY_BYTES]>> {
        let length = usize::try_from(self.number()?).ok().filter(|length| *length <= KEY_BYTES)?;
        self.bytes(length).map(SmallVec::from_slice)
    }

    fn state(&mut self) -> Option<SequenceState> {
        let epoch = self.number()?;
        let value = unzigzag(self.number()?);
        Some(SequenceState { epoch: epoch >> 1, value, is_called: epoch & 1 == 1 })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use hyades_types::definition::{RoutineId, SequenceId, SequenceState, TableId};
    use uuid::Uuid;

    use crate::log::set::BlockPlace;
    use crate::lsn::{Lsn, LsnVector};
    use crate::recovery::digest::{Digest, LogDigest};
    use crate::recovery::extents::{Extent, Extents, KEY_BYTES, KeyBounds};
    use crate::recovery::last_positions::Drawn;

    fn digest() -> Digest {
        let mut log = LogDigest { from: 8, position: 1 << 40, ..LogDigest::default() };
        (log.last.catalog, log.last.sequences) = (16, 1 << 33);
        for number in 0..300 {
            let end = 8 * u64::from(number);
            log.last.raise_table(TableId(number * 1000), end);
            log.last.raise_call((RoutineId(number), number.wrapping_mul(0x9e37_79b9)), end);
            let state = |value| SequenceState { epoch: end, value, is_called: value > 0 };
            let mut drawn = Drawn::new(end, state(i64::MIN));
            drawn.add(end, state(i64::MAX));
            log.draws.insert(SequenceId(u32::MAX - number), drawn);
        }
        let block = BlockPlace { position: Lsn(1 << 39 | 3), segment: 7, offset: 512 };
        let mut keys = KeyBounds::of(b"");
        keys.add(&[7; KEY_BYTES]);
        let extent = Extent { start: 8, end: 1 << 41, block, bound: u64::MAX, keys, is_large: true };
        let tables = [(TableId(9), vec![extent.clone(), extent]), (TableId(1), Vec::new())].into();
        log.extents = Some(Extents { tables, read_to: 1 << 42, ..Extents::default() });
        Digest {
            database: Uuid::from_bytes([7; 16]),
            incarnation: 12,
            timeline: "a restored one".to_owned(),
            protocol: "taurus".to_owned(),
            checkpoint: 3,
            durable: LsnVector::from_slice(&[1 << 40, 0]),
            logs: vec![log, LogDigest::default()],
        }
    }

    #[test]
    fn what_is_written_is_read_and_equal_digests_have_equal_bytes() {
        let bytes = digest().encode();
        assert_eq!(Digest::decode(&bytes), Ok(digest()));
        assert_eq!(digest().encode(), bytes);
    }

    #[test]
    fn nothing_else_is_read() {
        let bytes = digest().encode();
        for place in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            assert!(Digest::decode(&damaged).is_err(), "byte {place}");
            assert!(Digest::decode(&bytes[..place]).is_err(), "{place} bytes");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(Digest::decode(&longer).is_err());
        // Whatever follows a right checksum, nothing panics, and little memory is taken.
        for place in 12..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] = 0xff;
            let checksum = crc32c::crc32c(&changed[12..]);
            changed[8..12].copy_from_slice(&checksum.to_le_bytes());
            drop(Digest::decode(&changed));
        }
    }
}
