//! Replaying a transaction: its after-images are installed, its schema changes applied, sequences raised to
//! where it left them, its call run again (`command`).
//!
//! The order is the schedule's business. Rows go through [`Table::install`], schema changes through
//! [`Catalog::apply`], the same for every protocol. No locks and no undo: nothing else runs, and conflicting
//! transactions never replay at the same time.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_epoch as epoch;
use hyades_types::definition::TableId;
use hyades_types::error::{Error, Result};
use hyades_types::foundations::Foundations;

use super::command::{CommandReplay, Place, Program};
use super::on_demand::OnDemand;
use super::schedule::Replay;
use crate::config::{OnRecoveryProgress, RecoveryProgress};
use crate::log::record::{Command, Operation, Operations};
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::storage::catalog::Catalog;
use crate::storage::table::Table;

pub(super) struct Installer {
    pub(super) catalog: Arc<Catalog>,
    pub(super) compiler: Option<Arc<dyn RoutineCompiler>>,
    /// What the calls of the incarnation ran with.
    pub(super) foundations: Foundations,
    /// Calls are not run where their after-images are there.
    pub(super) replays_images: bool,
    pub(super) on_progress: Option<OnRecoveryProgress>,
    pub(super) started: Instant,
    /// What earlier incarnations have contributed.
    pub(super) before: RecoveryProgress,
    /// Who waits for it, if transactions have been let in, or will be.
    pub(super) on_demand: Option<Arc<OnDemand>>,
}

/// The tables a worker has met, most recent first: few, and looked up for every row.
#[derive(Default)]
pub(super) struct RecentTables(Vec<Arc<Table>>);

/// Beyond this many, searching costs more than asking the catalog.
const RECENT_TABLES: usize = 16;

impl RecentTables {
    fn find(&mut self, catalog: &Catalog, id: TableId) -> Option<&Table> {
        let mut place = match self.0.iter().position(|table| table.id() == id) {
            // Nothing may change a table behind its drop: the catalog will say that it does not exist.
            Some(place) if self.0[place].is_dropped() => {
                self.0[place] = catalog.by_id(id)?;
                place
            }
            Some(place) => place,
            None => {
                self.0.truncate(RECENT_TABLES - 1);
                self.0.push(catalog.by_id(id)?);
                self.0.len() - 1
            }
        };
        if place > 0 {
            self.0.swap(place, place - 1);
            place -= 1;
        }
        self.0.get(place).map(Arc::as_ref)
    }
}

/// What one worker keeps between records.
#[derive(Default)]
pub(super) struct Scratch {
    tables: RecentTables,
    commands: CommandReplay,
}

impl Replay for Installer {
    type Scratch = Scratch;

    fn replay(&self, scratch: &mut Scratch, log: usize, end: u64, operations: &[u8]) -> Result<()> {
        if let Some(on_demand) = &self.on_demand {
            on_demand.check_wanted()?;
        }
        let place = Place { log, end };
        if let Some(command) = Command::of(operations) {
            let command = command.map_err(|malformed| place.corrupt(malformed.reason))?;
            if !(self.replays_images && command.has_images) {
                let program = Program { compiler: self.compiler.as_deref(), written_with: &self.foundations };
                return scratch.commands.replay(&self.catalog, program, &command, place);
            }
        }
        let tables = &mut scratch.tables;
        let guard = epoch::pin();
        for operation in Operations::new(operations) {
            let operation = operation.map_err(|malformed| place.corrupt(malformed.reason))?;
            let (table, key, row) = match operation {
                Operation::Put { table, key, row } => (table, key, Some(row)),
                Operation::Delete { table, key } => (table, key, None),
                Operation::Catalog(change) => {
                    self.catalog.apply(&change, &guard)?;
                    continue;
                }
                Operation::Sequence { sequence, state } => {
                    self.catalog.raise_sequence(sequence, state);
                    continue;
                }
                // It is the first operation (see above).
                Operation::Command(command) if self.replays_images && command.has_images => continue,
                Operation::Command(_) => {
                    return Err(place.corrupt("a call stands among changes"));
                }
            };
            match tables.find(&self.catalog, table) {
                Some(table) => table.install(key, row, &guard)?,
                None => {
                    return Err(Error::corrupt(format!(
                        "log {log} changes table {}, which does not exist (in the record that ends at position {end})",
                        table.0
                    )));
                }
            }
        }
        Ok(())
    }

    fn on_watermark(&self, log: usize, position: u64) {
        if let Some(on_demand) = &self.on_demand {
            on_demand.advance(log, position);
        }
    }

    fn on_progress(&self, bytes_done: u64, transactions: u64) {
        let progress = RecoveryProgress {
            bytes_done: self.before.bytes_done + bytes_done,
            bytes_total: self.before.bytes_total,
            transactions: self.before.transactions + transactions,
            seconds: crate::sync::now().duration_since(self.started).as_secs_f64(),
        };
        let mut has_opened = false;
        if let Some(on_demand) = &self.on_demand {
            on_demand.note_progress(&progress);
            has_opened = on_demand.is_open();
        }
        // It is told otherwise once transactions have been let in.
        if let Some(on_progress) = self.on_progress.as_ref().filter(|_| !has_opened) {
            on_progress(&progress);
        }
    }
}
