//! A new database with the current state of another one, without its history.
//!
//! The schema is one transaction, and the rows follow it in transactions of [`TRANSACTION_BYTES`], each
//! ordered after the schema and after nothing else. Definitions keep their numbers, so that a copy and its
//! original have the same state hash.
//!
//! Until the copy is complete, its manifest says so and it cannot be opened: a copy that was cut short is not
//! taken for a whole one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_epoch::Guard;
use hyades_types::error::{Error, Result, sqlstate};

use super::check;
use crate::checkpoint::schema;
use crate::commit_clock::CommitClock;
use crate::config::Config;
use crate::disk::{Disk, restrict};
use crate::log::manifest::{Manifest, lock_data_directory};
use crate::log::record::{Commit, OperationsWriter};
use crate::protocol::list::{WithProtocol, with_protocol};
use crate::protocol::{Append, AppendProgress, CommitPayload, Protocol};
use crate::storage::databases::Databases;
use crate::storage::row_pages::RowPages;
use crate::storage::table::Table;

/// A transaction ends with the page of an index that reaches this many bytes.
const TRANSACTION_BYTES: usize = 256 << 10;

/// Makes a database in `config.data_directory`, which must be empty or not exist, with everything that the
/// catalog holds, and closes it. Nothing may change in the catalog meanwhile.
///
/// # Errors
/// The directory is not empty, the protocol keeps no logs, or the disk fails.
pub fn create_copy(config: &Config, databases: &Databases) -> Result<()> {
    begin_copy(config, databases)?.finish()
}

/// A copy that holds everything but cannot be opened yet.
pub struct UnfinishedCopy {
    disk: Arc<dyn Disk>,
    data_directory: PathBuf,
    _directory_lock: Box<dyn Send + Sync>,
}

impl UnfinishedCopy {
    /// Makes it a database that can be opened.
    ///
    /// # Errors
    /// The disk fails.
    pub fn finish(self) -> Result<()> {
        Manifest::finish_copy(self.disk.as_ref(), &self.data_directory)
    }
}

/// As [`create_copy`], for a caller that has to put files beside the copy before it counts.
///
/// # Errors
/// As [`create_copy`].
pub fn begin_copy(config: &Config, databases: &Databases) -> Result<UnfinishedCopy> {
    check(config)?;
    let directory_lock = lock_data_directory(&config.disk, &config.data_directory)?;
    if Manifest::load(config.disk.as_ref(), &config.data_directory)?.is_some() {
        let name = config.data_directory.display();
        let message = format!("directory \"{name}\" holds a database already");
        return Err(Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    restrict(config.disk.as_ref(), &config.data_directory)?;
    let mut manifest = Manifest::create_for_copy();
    with_protocol(config.protocol, Write { config, manifest: &mut manifest, databases })?;
    Ok(UnfinishedCopy {
        disk: Arc::clone(&config.disk),
        data_directory: config.data_directory.clone(),
        _directory_lock: directory_lock,
    })
}

struct Write<'a> {
    config: &'a Config,
    manifest: &'a mut Manifest,
    databases: &'a Databases,
}

impl WithProtocol for Write<'_> {
    type Output = Result<()>;

    fn with<P: Protocol>(self) -> Result<()> {
        if !P::WRITES_LOG {
            let message = format!("a copy needs a protocol with logs, not {}", P::KIND.name());
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        write(&P::start(self.config, self.manifest)?, self.databases)
    }
}

/// Appends everything and stops the protocol, so that it is durable.
fn write<P: Protocol>(protocol: &P, databases: &Databases) -> Result<()> {
    let mut writer = Writer {
        protocol,
        dependencies: protocol.new_dependencies(),
        schema: protocol.new_mark(),
        operations: OperationsWriter::new(),
        progress: AppendProgress::default(),
        clock: protocol.clock(),
        worker: 0,
    };
    let tables = databases.tables();
    let definitions = tables.iter().map(|table| (table.id(), (*table.definition()).clone()));
    schema::write(databases, definitions, &mut writer.operations)?;
    writer.commit(true)?;
    for table in &tables {
        writer.copy_rows(table)?;
    }
    writer.commit(false)?;
    protocol.shutdown()
}

struct Writer<'p, P: Protocol> {
    protocol: &'p P,
    dependencies: P::Dependencies,
    /// The mark of the transaction that made the schema.
    schema: Box<[AtomicU64]>,
    operations: OperationsWriter,
    progress: AppendProgress,
    clock: CommitClock,
    /// Goes round, so that all logs are used.
    worker: usize,
}

impl<P: Protocol> Writer<'_, P> {
    /// Commits what has been gathered, if anything.
    fn commit(&mut self, is_schema: bool) -> Result<()> {
        if self.operations.is_empty() {
            return Ok(());
        }
        let protocol = self.protocol;
        protocol.begin(&mut self.dependencies);
        protocol.follow(&self.schema, &mut self.dependencies);
        let commit = Commit { is_barrier: is_schema, time: Some(0), is_phase_odd: false };
        let payload = CommitPayload { operations: self.operations.as_bytes(), commit };
        loop {
            let worker = self.worker;
            match protocol.reserve(worker, &mut self.dependencies, &payload, &mut self.progress)? {
                Append::Done(mut place) => {
                    place.write(&payload);
                    place.publish(Some(self.clock.draw()));
                    break;
                }
                Append::Wait(ticket) => ticket.wait(),
            }
        }
        if is_schema {
            protocol.write_mark(&self.dependencies, &self.schema);
        }
        self.progress.reset();
        self.operations.clear();
        self.worker += 1;
        Ok(())
    }

    fn copy_rows(&mut self, table: &Table) -> Result<()> {
        let mut pages = RowPages::of(table);
        loop {
            let operations = &mut self.operations;
            let mut put = |key: &[u8], row: &[u8], _: &Guard| {
                operations.put(table.id(), key, row);
                Ok(())
            };
            if !pages.next(&mut put)? {
                return Ok(());
            }
            if self.operations.len() >= TRANSACTION_BYTES {
                self.commit(false)?;
            }
        }
    }
}
