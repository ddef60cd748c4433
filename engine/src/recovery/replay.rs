//! Replays a transaction: its rows are installed or patched, its schema changes applied, sequences raised to
//! where it left them, and its call is run again (`command`).
//!
//! Who calls (`by_key`, `schedule`) decides on the order. Rows go through [`Table::install`], schema changes
//! through [`Catalog::apply`], the same for every protocol. There are no locks and no undo: nothing else
//! runs, and no row is changed by two workers at the same time.

use std::hash::BuildHasher;
use std::iter;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::definition::TableId;
use hyades_types::error::{Error, Result};
use hyades_types::foundations::Foundations;
use smallvec::SmallVec;

use super::by_key::{Keyed, Kind, PlacedChange, ReplayByKey};
use super::command::{CommandReplay, Place, Program};
use super::logged_patch::read_patch;
use super::on_demand::OnDemand;
use super::passes::{MergedKeys, Selection};
use super::schedule::{Piece, RecordPlace, Replay};
use crate::config::{OnRecoveryProgress, RecoveryProgress, Slicing};
use crate::log::record::{Command, Operation, Operations};
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::storage::databases::Databases;
use crate::storage::primary_index::Nearby;
use crate::storage::row::RowPatch;
use crate::storage::table::{Table, TableState};
use crate::txn::replay_versions::{ReplayVersions, VersionWriter};

pub(super) struct Installer {
    pub(super) databases: Arc<Databases>,
    pub(super) compiler: Option<Arc<dyn RoutineCompiler>>,
    /// What the calls of the incarnation ran with.
    pub(super) foundations: Foundations,
    /// Whether calls with after-images are not run, but replayed from those.
    pub(super) replays_images: bool,
    pub(super) slicing: Option<Slicing>,
    pub(super) on_progress: Option<OnRecoveryProgress>,
    pub(super) started: Instant,
    /// What earlier incarnations have contributed.
    pub(super) before: RecoveryProgress,
    /// What waits for the replay, if transactions have been let in, or will be.
    pub(super) on_demand: Option<Arc<OnDemand>>,
    /// What is replayed, if not everything.
    pub(super) selection: Option<Arc<Selection>>,
    /// What calls read that are replayed later than others.
    pub(super) versions: Arc<ReplayVersions>,
}

/// The tables that a worker has met, most recent first. They are few, and looked up for every row.
#[derive(Default)]
pub(super) struct RecentTables(Vec<Arc<Table>>);

/// Beyond this many, searching costs more than asking the catalog.
const RECENT_TABLES: usize = 16;

impl RecentTables {
    fn find(&mut self, databases: &Databases, id: TableId) -> Option<&Arc<Table>> {
        let mut place = match self.0.iter().position(|table| table.id() == id) {
            // Nothing may change a table after its drop: the catalog will say that it does not exist.
            Some(place) if self.0[place].is_dropped() => {
                self.0[place] = databases.by_id(id)?;
                place
            }
            Some(place) => place,
            None => {
                self.0.truncate(RECENT_TABLES - 1);
                self.0.push(databases.by_id(id)?);
                self.0.len() - 1
            }
        };
        if place > 0 {
            self.0.swap(place, place - 1);
            place -= 1;
        }
        self.0.get(place)
    }
}

/// What one worker keeps between records.
#[derive(Default)]
pub(super) struct Scratch {
    tables: RecentTables,
    commands: CommandReplay,
    patch: RowPatch,
    writer: Option<VersionWriter>,
}

impl Scratch {
    /// The writer of this worker, and what else it keeps.
    fn with_writer(&mut self, versions: &Arc<ReplayVersions>) -> (&mut VersionWriter, Rest<'_>) {
        let Scratch { tables, commands, patch, writer } = self;
        (writer.get_or_insert_with(|| VersionWriter::new(versions)), Rest { tables, commands, patch })
    }
}

/// See [`Scratch`].
struct Rest<'s> {
    tables: &'s mut RecentTables,
    commands: &'s mut CommandReplay,
    patch: &'s mut RowPatch,
}

/// What becomes of a row.
enum Change<'r> {
    Put(&'r [u8]),
    /// It gets these [`crate::log::record::Pieces`].
    Patch(&'r [u8]),
}

/// Consecutive rows of one table in a record, taken together so that none waits alone for memory.
struct Group<'r, 'g> {
    table: TableId,
    rows: SmallVec<[(Place, &'r [u8], Change<'r>); GROUP_ROWS]>,
    /// Where the previous rows went, if they were of this table.
    target: Option<(&'g TableState, Nearby<'g>)>,
}

/// About as many as the processor fetches at the same time.
const GROUP_ROWS: usize = 16;

impl Default for Group<'_, '_> {
    fn default() -> Self {
        Group { table: TableId(0), rows: SmallVec::new(), target: None }
    }
}

impl Group<'_, '_> {
    /// Whether another row of this table has room.
    fn takes(&self, table: TableId) -> bool {
        self.table == table && self.rows.len() < GROUP_ROWS
    }
}

impl Installer {
    fn find<'t>(&self, tables: &'t mut RecentTables, table: TableId, place: Place) -> Result<&'t Arc<Table>> {
        tables.find(&self.databases, table).ok_or_else(|| {
            let Place { log, end } = place;
            Error::corrupt(format!(
                "log {log} changes table {}, which does not exist (in the record that ends at position {end})",
                table.0
            ))
        })
    }

    fn takes_table(&self, table: TableId) -> bool {
        self.selection.as_ref().is_none_or(|selection| selection.takes_table(table))
    }

    /// The keys of a table whose changes are in their rows already.
    fn merged_keys(&self, table: TableId) -> Option<&MergedKeys> {
        self.selection.as_ref().and_then(|selection| selection.merged_keys(table))
    }

    /// Whether the change of this row is in it already.
    fn is_merged(&self, table: TableId, key: &[u8]) -> bool {
        self.merged_keys(table).is_some_and(|keys| keys.has(key))
    }

    fn check_wanted(&self) -> Result<()> {
        self.on_demand.as_ref().map_or(Ok(()), |on_demand| on_demand.check_wanted())
    }

    /// Replays changes in their order, each from a log record at some place.
    fn replay_in_order<'r>(
        &self,
        scratch: &mut Scratch,
        changes: impl Iterator<Item = (Place, &'r [u8])>,
    ) -> Result<()> {
        self.check_wanted()?;
        let guard = epoch::pin();
        let mut group = Group::default();
        for (place, change) in changes {
            let mut operations = Operations::new(change);
            while let Some(operation) = operations.next() {
                let operation = operation.map_err(|malformed| place.corrupt(malformed.reason))?;
                if let Some((table, _)) = operation.row()
                    && group.table != table
                    && !self.takes_table(table)
                {
                    operations.pass_rows_of(table).map_err(|malformed| place.corrupt(malformed.reason))?;
                    continue;
                }
                if let Some((table, key)) = operation.row()
                    && self.is_merged(table, key)
                {
                    continue;
                }
                let changed = match operation {
                    Operation::Put { table, key, row } => Some((table, key, Change::Put(row))),
                    Operation::Patch { table, key, pieces } => Some((table, key, Change::Patch(pieces))),
                    _ => None,
                };
                if let Some((table, key, change)) = changed {
                    if !group.takes(table) {
                        self.install(&mut group, scratch, &guard)?;
                        if group.table != table {
                            group = Group { table, ..Group::default() };
                        }
                    }
                    group.rows.push((place, key, change));
                    continue;
                }
                self.install(&mut group, scratch, &guard)?;
                group.target = None;
                self.replay_other(operation, &mut scratch.tables, place, &guard)?;
            }
        }
        self.install(&mut group, scratch, &guard)
    }

    /// The same for one transaction, with what calls may still read kept.
    fn replay_versions<'r>(
        &self,
        scratch: &mut Scratch,
        record: RecordPlace,
        changes: impl Iterator<Item = &'r [u8]>,
    ) -> Result<()> {
        self.check_wanted()?;
        let place = Place::of(record);
        let (writer, Rest { tables, patch, .. }) = scratch.with_writer(&self.versions);
        let guard = epoch::pin();
        writer.at(record.time, |writer| {
            for change in changes {
                let mut operations = Operations::new(change);
                while let Some(operation) = operations.next() {
                    let operation = operation.map_err(|malformed| place.corrupt(malformed.reason))?;
                    let Some((id, key)) = operation.row() else {
                        self.replay_other(operation, tables, place, &guard)?;
                        continue;
                    };
                    if !self.takes_table(id) {
                        operations.pass_rows_of(id).map_err(|malformed| place.corrupt(malformed.reason))?;
                        continue;
                    }
                    if self.is_merged(id, key) {
                        continue;
                    }
                    let table = self.find(tables, id, place)?;
                    let state = table.state(&guard);
                    if let Operation::Patch { pieces, .. } = operation {
                        read_patch(pieces, patch).map_err(|malformed| place.corrupt(malformed.reason))?;
                    }
                    let written = writer.write(table, |history, leave| match operation {
                        Operation::Put { row, .. } => {
                            state.install_version(key, Some(row), history, leave, &guard)
                        }
                        Operation::Patch { .. } => {
                            state.patch_version(key, patch.bytes(), history, leave, &guard)
                        }
                        _ => state.install_version(key, None, history, leave, &guard),
                    });
                    written?;
                }
            }
            Ok(())
        })
    }

    /// Replays an operation that neither puts nor patches a row.
    fn replay_other(
        &self,
        operation: Operation<'_>,
        tables: &mut RecentTables,
        place: Place,
        guard: &Guard,
    ) -> Result<()> {
        match operation {
            Operation::Put { .. } | Operation::Patch { .. } => {}
            Operation::Delete { table, key } => {
                self.find(tables, table, place)?.install(key, None, guard)?;
            }
            Operation::Catalog(change) => self.databases.apply(&change, guard)?,
            Operation::Sequence { sequence, state } => self.databases.raise_sequence(sequence, state),
            // It is the first operation (see `replay`).
            Operation::Command(command) if self.replays_images && command.has_images => {}
            Operation::Command(_) => return Err(place.corrupt("a call stands among changes")),
        }
        Ok(())
    }

    /// Makes the changes of a group in their table, and empties the group.
    #[allow(unsafe_code)] // As declared.
    fn install<'g>(&self, group: &mut Group<'_, 'g>, scratch: &mut Scratch, guard: &'g Guard) -> Result<()> {
        let Some((place, ..)) = group.rows.first() else { return Ok(()) };
        let (state, near) = match &mut group.target {
            Some(target) => target,
            None => {
                let state = self.find(&mut scratch.tables, group.table, *place)?.state(guard);
                group.target.insert((state, Nearby::default()))
            }
        };
        let (state, index) = (*state, state.index());
        let mut records = SmallVec::<[_; GROUP_ROWS]>::new();
        for (number, (_, key, _)) in group.rows.iter().enumerate() {
            let (record, was_near) = index.get_near(near, key, guard);
            record.inspect(|record| record.prefetch());
            records.push(record);
            if number == 1 && !was_near {
                // They come in no particular order.
                group.rows[2..].iter().for_each(|(_, key, _)| index.prefetch(key, guard));
            }
        }
        for (record, (place, key, change)) in records.into_iter().zip(group.rows.drain(..)) {
            match change {
                // SAFETY: the other changes of this row are replayed before or after it, and no transaction
                // is let in to the row before all of them have been (`on_demand`).
                Change::Put(row) => unsafe { state.install_over(record, key, row, guard) }?,
                Change::Patch(pieces) => {
                    read_patch(pieces, &mut scratch.patch)
                        .map_err(|malformed| place.corrupt(malformed.reason))?;
                    // SAFETY: as above.
                    unsafe { state.patch_over(record, key, scratch.patch.bytes(), guard) }?;
                }
            }
        }
        Ok(())
    }
}

/// Divides the changes of a transaction into pieces of about this many bytes, no two of which have a key in
/// common. Empty if the transaction does anything other than change rows.
fn divide(operations: &[u8], piece_bytes: usize) -> Vec<Piece> {
    let mut ascending: Vec<Piece> = Vec::new();
    let mut last: Option<(TableId, &[u8])> = None;
    let mut reader = Operations::new(operations);
    let (mut begin, mut start) = (0, 0);
    while let Some(operation) = reader.next() {
        let Some((table, key)) = operation.ok().and_then(|operation| operation.row()) else {
            return Vec::new();
        };
        if last.is_some_and(|last| last >= (table, key)) {
            return divide_by_key(operations, operations.len().div_ceil(piece_bytes));
        }
        last = Some((table, key));
        if start - begin >= piece_bytes {
            ascending.push(iter::once(begin..start).collect());
            begin = start;
        }
        start = reader.offset();
    }
    ascending.push(iter::once(begin..start).collect());
    ascending
}

/// The same for keys in any order, some of which may come several times.
fn divide_by_key(operations: &[u8], count: usize) -> Vec<Piece> {
    let hashes = foldhash::fast::FixedState::default();
    let mut pieces: Vec<Piece> = vec![Piece::new(); count.max(1)];
    let mut reader = Operations::new(operations);
    let mut start = 0;
    while let Some(operation) = reader.next() {
        let Some((_, key)) = operation.ok().and_then(|operation| operation.row()) else {
            return Vec::new();
        };
        let place = ((u64::from(hashes.hash_one(key) as u32) * pieces.len() as u64) >> 32) as usize;
        pieces[place].push(start..reader.offset());
        start = reader.offset();
    }
    pieces
}

impl Replay for Installer {
    type Scratch = Scratch;

    fn replay(&self, scratch: &mut Scratch, record: RecordPlace, operations: &[u8]) -> Result<()> {
        let place = Place::of(record);
        if let Some(command) = Command::of(operations) {
            let command = command.map_err(|malformed| place.corrupt(malformed.reason))?;
            if !(self.replays_images && command.has_images) {
                self.check_wanted()?;
                let called = (command.routine, command.version_hash);
                if self.selection.as_ref().is_some_and(|selection| !selection.takes_call(called)) {
                    return Ok(());
                }
                let program = Program {
                    compiler: self.compiler.as_deref(),
                    written_with: &self.foundations,
                    slicing: self.slicing,
                };
                let (writer, Rest { commands, .. }) = scratch.with_writer(&self.versions);
                return writer.at(record.time, |writer| {
                    commands.replay(&self.databases, program, &command, (place, writer))
                });
            }
        }
        if self.versions.are_kept() {
            return self.replay_versions(scratch, record, iter::once(operations));
        }
        self.replay_in_order(scratch, iter::once((place, operations)))
    }

    fn divide(&self, operations: &[u8], piece_bytes: usize) -> Vec<Piece> {
        divide(operations, piece_bytes)
    }

    fn replay_piece(
        &self,
        scratch: &mut Scratch,
        record: RecordPlace,
        operations: &[u8],
        piece: &Piece,
    ) -> Result<()> {
        let changes = piece.iter().map(|range| &operations[range.clone()]);
        if self.versions.are_kept() {
            return self.replay_versions(scratch, record, changes);
        }
        self.replay_in_order(scratch, changes.map(|change| (Place::of(record), change)))
    }

    fn on_low(&self, low: u64) {
        self.versions.raise_low(low);
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
        // Progress is reported in another way once transactions have been let in.
        if let Some(on_progress) = self.on_progress.as_ref().filter(|_| !has_opened) {
            on_progress(&progress);
        }
    }
}

/// A key without what tells it from its neighbours: a few keys that follow each other are replayed together,
/// as they lie together in the index.
fn neighbourhood(key: &[u8]) -> (&[u8], u8) {
    const KEYS: u32 = 4; // As a power of two.
    key.split_last().map_or((key, 0), |(last, rest)| (rest, last >> KEYS))
}

impl ReplayByKey for Installer {
    fn route(
        &self,
        (log, end): (usize, u64),
        operations: &[u8],
        mut pass: impl FnMut(Keyed),
    ) -> Result<Kind> {
        let place = Place { log, end };
        let hashes = foldhash::fast::FixedState::default();
        let mut rest = Operations::new(operations);
        let (mut taken, mut merged) = (None, None);
        loop {
            let start = rest.offset();
            let Some(operation) = rest.next() else { return Ok(Kind::Rows) };
            let operation = operation.map_err(|malformed| place.corrupt(malformed.reason))?;
            let (hash, table) = match &operation {
                Operation::Put { table, key, .. }
                | Operation::Patch { table, key, .. }
                | Operation::Delete { table, key } => {
                    if taken != Some(*table) && !self.takes_table(*table) {
                        rest.pass_rows_of(*table).map_err(|malformed| place.corrupt(malformed.reason))?;
                        continue;
                    }
                    if taken != Some(*table) {
                        (taken, merged) = (Some(*table), self.merged_keys(*table));
                    }
                    if merged.is_some_and(|merged: &MergedKeys| merged.has(key)) {
                        continue;
                    }
                    (hashes.hash_one((table.0, neighbourhood(key))), table.0)
                }
                Operation::Sequence { sequence, .. } => (hashes.hash_one(sequence.0), 0),
                Operation::Catalog(_) => return Ok(Kind::Catalog),
                Operation::Command(_) if start > 0 => {
                    return Err(place.corrupt("a call stands among changes"));
                }
                Operation::Command(command) if self.replays_images && command.has_images => continue,
                Operation::Command(command) => {
                    let called = (command.routine, command.version_hash);
                    let is_taken =
                        self.selection.as_ref().is_none_or(|selection| selection.takes_call(called));
                    return Ok(if is_taken { Kind::Call } else { Kind::Rows });
                }
            };
            pass(Keyed { hash, table, range: start..rest.offset() });
        }
    }

    fn replay_changes<'r>(
        &self,
        scratch: &mut Scratch,
        changes: impl Iterator<Item = PlacedChange<'r>>,
    ) -> Result<()> {
        self.replay_in_order(scratch, changes.map(|((log, end), change)| (Place { log, end }, change)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
