//! Logs written by hand: every record, vector, block boundary and sync chosen by the test.
//!
//! The engine's own writer decides these by timing. A test of recovery must be able to say "this block was
//! synced, that record spans two blocks, this transaction depends on that position", and then what must be
//! recovered.
//!
//! The rows are those of one table, `t (key bigint primary key, value bigint)`; see [`Change`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::disk::{Disk, File, SECTOR_BYTES};
use hyades_engine::log::manifest::{Incarnation, Manifest};
use hyades_engine::log::record::{
    Commit, CommitHeader, OperationsWriter, encode_anchor, encode_commit, encode_fragment, filler_header,
};
use hyades_engine::log::store::block::{BLOCK_HEADER_BYTES, BlockHeader, SegmentHeader, encode_block_header};
use hyades_engine::log::store::{LogIdentity, segment_path};
use hyades_engine::lsn::Lsn;
use hyades_engine::protocol::RecordId;
use hyades_engine::protocol::compress_all;
use hyades_engine::protocol::list::log_shape;
use hyades_engine::protocol::taurus_graph::write_field;
use hyades_engine::recovery::{Recovered, recover};
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::table::{Table, TableState};
use hyades_types::Result;
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, IndexKind, PrimaryKey, TableDefinition, TableId, TableName,
};
use hyades_types::value::{SqlType, Value};

use crate::disk::SimulatedDisk;

/// The table's id in every hand-written log.
pub const TABLE: TableId = TableId(16_384);
/// Segments are small, so that tests cross their boundaries. A block that does not fit is split, so that
/// every segment is filled to its end.
const SEGMENT_BYTES: u64 = 16 * SECTOR_BYTES as u64;

/// The change that a hand-written transaction makes.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    CreateTable,
    DropTable,
    Truncate,
    Put { key: i64, value: i64 },
    Delete { key: i64 },
}

/// The definition of the table.
pub fn table_definition() -> TableDefinition {
    let column =
        |name: &str| ColumnDefinition { is_nullable: false, ..ColumnDefinition::new(name, SqlType::BigInt) };
    TableDefinition {
        name: TableName { schema: "public".to_owned(), name: "t".to_owned() },
        columns: vec![column("key"), column("value")],
        primary_key: Some(PrimaryKey {
            name: "t_pkey".to_owned(),
            columns: vec![0],
            index: IndexKind::Ordered,
            parameters: Vec::new(),
        }),
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        view: None,
        materialized: None,
        checks: Vec::new(),
        triggers: Vec::new(),
        dropped: Vec::new(),
        parameters: Vec::new(),
    }
}

/// The operations of a transaction, encoded.
pub fn encode_changes(changes: &[Change]) -> Vec<u8> {
    static ENCODER: LazyLock<Arc<TableState>> =
        LazyLock::new(|| Table::new(TABLE, table_definition()).shared_state());
    let state = &*ENCODER;
    let mut writer = OperationsWriter::new();
    let encode = |key: i64, value: i64| {
        let (mut row, mut key_bytes) = (Vec::new(), Vec::new());
        state.layout().encode(&[Value::BigInt(key), Value::BigInt(value)], &mut row);
        state.encode_key(&row, &mut key_bytes);
        (key_bytes, row)
    };
    for change in changes {
        let catalog_change = match change {
            Change::Put { key, value } => {
                let (key, row) = encode(*key, *value);
                writer.put(TABLE, &key, &row);
                continue;
            }
            Change::Delete { key } => {
                writer.delete(TABLE, &encode(*key, 0).0);
                continue;
            }
            Change::CreateTable => CatalogChange::CreateTable { id: TABLE, definition: table_definition() },
            Change::DropTable => CatalogChange::DropTable { id: TABLE },
            Change::Truncate => CatalogChange::Truncate { id: TABLE },
        };
        // A definition always has a JSON form.
        let _ = writer.change_catalog(&catalog_change);
    }
    writer.as_bytes().to_vec()
}

/// The rows of the table. Empty if it does not exist.
pub fn table_rows(databases: &Databases) -> Result<BTreeMap<i64, i64>> {
    let mut rows = BTreeMap::new();
    let Some(table) = databases.by_id(TABLE) else { return Ok(rows) };
    let guard = crossbeam_epoch::pin();
    let state = table.state(&guard);
    state.for_each_row(&guard, |row| {
        if let (Value::BigInt(key), Value::BigInt(value)) =
            (state.layout().value(row, 0), state.layout().value(row, 1))
        {
            rows.insert(key, value);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// What [`HandWritten::recover`] found.
pub struct Found {
    pub recovered: Recovered,
    pub databases: Arc<Databases>,
    pub rows: BTreeMap<i64, i64>,
}

/// One log of the running incarnation.
struct HandWrittenLog {
    identity: LogIdentity,
    directory: PathBuf,
    file: Box<dyn File>,
    /// Sequence number of the open segment and where its next block goes.
    sequence: u64,
    offset: u64,
    /// Records that are not in a block yet, and the stream position where they begin.
    pending: Vec<u8>,
    written: u64,
    anchor: Vec<u64>,
}

/// A data directory and the running incarnation's logs.
pub struct HandWritten {
    pub disk: SimulatedDisk,
    pub config: Config,
    logs: Vec<HandWrittenLog>,
    /// The commit clock, if records have times.
    clock: Option<u64>,
}

impl HandWritten {
    /// Opens the directory on this disk as a start of the server would: recovers, then begins an incarnation.
    pub fn open(disk: &SimulatedDisk, protocol: ProtocolKind, logs: usize) -> Result<(HandWritten, Found)> {
        let config = config(disk, protocol, logs);
        let mut found = find(&config)?;
        let incarnation = found.recovered.manifest.plan_incarnation(&config, log_shape(&config));
        let written = begin(disk, &config, &found.recovered.manifest, &incarnation)
            .map_err(|error| hyades_types::Error::io("could not create the hand-written logs", &error))?;
        found.recovered.manifest.incarnations.push(incarnation);
        found.recovered.manifest.store(disk, &config.data_directory)?;
        Ok((HandWritten { disk: disk.clone(), config, logs: written, clock: None }, found))
    }

    /// Recovers from a disk without beginning anything.
    pub fn recover(disk: &SimulatedDisk) -> Result<Found> {
        find(&config(disk, ProtocolKind::Taurus, 2))
    }

    /// From now on records have commit times, in the order in which they are appended.
    #[must_use]
    pub fn dated(self) -> HandWritten {
        HandWritten { clock: Some(1), ..self }
    }

    /// As [`HandWritten::append`], without a time.
    pub fn append_undated(&mut self, log: usize, vector: &[u64], changes: &[Change]) -> u64 {
        let clock = self.clock.take();
        let end = self.append(log, vector, changes);
        self.clock = clock;
        end
    }

    /// Appends a transaction with this pre-append LV and returns its end. [`HandWritten::write`] writes it.
    pub fn append(&mut self, log: usize, vector: &[u64], changes: &[Change]) -> u64 {
        self.append_with(log, changes, |anchor, header| _ = compress_all(vector, |of| anchor[of], header))
    }

    /// Appends a transaction of the dependency graph that names these records, each by its log and its end,
    /// and what lies before these positions. Returns its end.
    pub fn append_naming(
        &mut self,
        log: usize,
        (named, positions): (&[(usize, u64)], &[u64]),
        changes: &[Change],
    ) -> u64 {
        let mut ids: Vec<RecordId> = named.iter().map(|(log, end)| RecordId::new(*log, Lsn(*end))).collect();
        ids.sort_unstable();
        self.append_with(log, changes, |anchor, header| write_field(positions, &ids, anchor, header))
    }

    fn append_with(
        &mut self,
        log: usize,
        changes: &[Change],
        field: impl FnOnce(&[u64], &mut Vec<u8>),
    ) -> u64 {
        let operations = encode_changes(changes);
        self.clock = self.clock.map(|clock| clock + 1);
        let is_barrier = changes.iter().any(|change| matches!(change, Change::CreateTable));
        let commit = Commit { time: self.clock, is_barrier, ..Commit::default() };
        let log = &mut self.logs[log];
        let mut record = Vec::new();
        let field = |header: &mut Vec<u8>| field(&log.anchor, header);
        let says = CommitHeader { fragment_of: None, commit };
        let length = encode_commit(&mut record, says, field, operations.len());
        log.push(record, &operations, length)
    }

    /// Appends one fragment of a large transaction. The last one carries the LV.
    pub fn append_fragment(&mut self, log: usize, id: u64, vector: Option<&[u64]>, operations: &[u8]) -> u64 {
        let log = &mut self.logs[log];
        let mut record = Vec::new();
        let length = match vector {
            Some(vector) => {
                let commit = CommitHeader { fragment_of: Some(id), ..CommitHeader::default() };
                let field = |header: &mut Vec<u8>| _ = compress_all(vector, |of| log.anchor[of], header);
                encode_commit(&mut record, commit, field, operations.len())
            }
            None => encode_fragment(&mut record, id, operations.len()),
        };
        log.push(record, operations, length)
    }

    /// Appends an anchor. Later vectors are compressed against it.
    pub fn append_anchor(&mut self, log: usize, durable: &[u64]) -> u64 {
        let log = &mut self.logs[log];
        let mut record = Vec::new();
        encode_anchor(&mut record, durable, self.clock);
        log.anchor = durable.to_vec();
        let length = record.len();
        log.push(record, &[], length)
    }

    pub fn append_filler(&mut self, log: usize, length: u32) -> u64 {
        self.logs[log].push(filler_header(length).to_vec(), &[], length as usize)
    }

    /// The end of everything appended to the log.
    pub fn end(&self, log: usize) -> u64 {
        self.logs[log].written + self.logs[log].pending.len() as u64
    }

    /// Where the log's next block goes: file and offset.
    pub fn next_block(&self, log: usize) -> (PathBuf, u64) {
        let log = &self.logs[log];
        (segment_path(&log.directory, log.identity.incarnation, log.sequence), log.offset)
    }

    /// Writes the pending records as one block, not durably.
    pub fn write(&mut self, log: usize) {
        self.write_part(log, usize::MAX);
    }

    /// Writes the first bytes of the pending records as one block (more where a segment ends), so that a
    /// record may span two blocks.
    pub fn write_part(&mut self, log: usize, most_bytes: usize) {
        let disk = self.disk.clone();
        let log = &mut self.logs[log];
        let mut payload: Vec<u8> = log.pending.drain(..most_bytes.min(log.pending.len())).collect();
        while !payload.is_empty() {
            if log.offset == SEGMENT_BYTES {
                log.next_segment(&disk);
            }
            let room = (SEGMENT_BYTES - log.offset) as usize - BLOCK_HEADER_BYTES;
            let rest = payload.split_off(room.min(payload.len()));
            log.write_block(&payload);
            payload = rest;
        }
    }

    pub fn sync(&mut self, log: usize) {
        let _ = self.logs[log].file.sync();
    }

    /// Writes and syncs every log.
    pub fn sync_all(&mut self) {
        for log in 0..self.logs.len() {
            self.write(log);
            self.sync(log);
        }
    }
}

impl HandWrittenLog {
    fn push(&mut self, mut record: Vec<u8>, body: &[u8], length: usize) -> u64 {
        record.extend_from_slice(body);
        record.resize(length, 0);
        self.pending.extend_from_slice(&record);
        self.written + self.pending.len() as u64
    }

    fn write_block(&mut self, payload: &[u8]) {
        let header = BlockHeader::new(self.written, payload.len(), SECTOR_BYTES, 0);
        let mut block = vec![0; header.store_bytes() as usize];
        block[BLOCK_HEADER_BYTES..BLOCK_HEADER_BYTES + payload.len()].copy_from_slice(payload);
        encode_block_header(&mut block, &self.identity, &header);
        // Tests plan for writes that fail.
        let _ = self.file.write_at(self.offset, &block);
        self.offset += block.len() as u64;
        self.written += payload.len() as u64;
    }

    fn next_segment(&mut self, disk: &SimulatedDisk) {
        let _ = self.file.sync();
        self.sequence += 1;
        if let Ok(file) = create_segment(disk, &self.directory, self.identity, self.sequence, self.written) {
            self.file = file;
        }
        self.offset = SECTOR_BYTES as u64;
    }
}

fn config(disk: &SimulatedDisk, protocol: ProtocolKind, logs: usize) -> Config {
    Config {
        protocol,
        logs,
        recovery_workers: 2,
        disk: Arc::new(disk.clone()),
        ..Config::new(Path::new("/data"))
    }
}

fn find(config: &Config) -> Result<Found> {
    let databases = Arc::new(Databases::new());
    let recovered = recover(config, None, &databases)?;
    let rows = table_rows(&databases)?;
    Ok(Found { recovered, databases, rows })
}

fn begin(
    disk: &SimulatedDisk,
    config: &Config,
    manifest: &Manifest,
    incarnation: &Incarnation,
) -> std::io::Result<Vec<HandWrittenLog>> {
    disk.create_directory(&config.data_directory)?;
    let mut logs = Vec::new();
    for log in 0..incarnation.logs {
        let identity = manifest.identity(incarnation.number, log);
        let directory = incarnation.stripe_directory(&config.data_directory, log, 0);
        disk.create_directory(&directory)?;
        let file = create_segment(disk, &directory, identity, 1, 0)?;
        logs.push(HandWrittenLog {
            identity,
            directory,
            file,
            sequence: 1,
            offset: SECTOR_BYTES as u64,
            pending: Vec::new(),
            written: 0,
            anchor: vec![0; incarnation.logs],
        });
    }
    Ok(logs)
}

fn create_segment(
    disk: &SimulatedDisk,
    directory: &Path,
    identity: LogIdentity,
    sequence: u64,
    position: u64,
) -> std::io::Result<Box<dyn File>> {
    let path = segment_path(directory, identity.incarnation, sequence);
    if disk.exists(&path) {
        disk.remove(&path)?;
    }
    let file = disk.create(&path)?;
    let mut sector = vec![0; SECTOR_BYTES];
    SegmentHeader { identity, sequence, position, segment_bytes: SEGMENT_BYTES }.encode(&mut sector);
    file.write_at(0, &sector)?;
    file.sync()?;
    disk.sync_directory(directory)?;
    Ok(file)
}
