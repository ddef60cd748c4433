//! The catalog: which schemas, tables, sequences and routines exist, and the schema changes.
//!
//! [`Catalog`] holds the *committed* tables as an immutable snapshot that a change copies and exchanges:
//! looking a table up costs a reference count, and schema changes are rare. The changes of a running
//! transaction are private to it until it commits; `crate::catalog` keeps them, and publishes them here.
//!
//! What changes the definition or the rows of an existing table replaces the state of the table
//! ([`Catalog::replace_state`]) by one made from it: [`TableState::truncated`],
//! [`TableState::with_primary_key`], [`TableState::altered`], [`TableState::with_index`],
//! [`TableState::with_definition`] for whatever leaves the rows as they are, `with_types`, and
//! `with_unfinished_index` for an index that is built beside writers ([`Catalog::exchange`]).
//!
//! Replay does all of it in one step by [`Catalog::apply`], through the same functions.
//!
//! Several databases, each with a catalog, are `storage::databases`.
//!
//! Files, each for changes of one kind of object:
//! * tables that exist: `alteration` (ALTER TABLE), `indexes`, `references` (foreign keys), `replaced`
//!   (states that open transactions have replaced);
//! * others: `schemas`, `sequences`, `types`, `routines`;
//! * what goes with objects: `comments`, `access` (owners and rights).
//!
//! Invariants:
//! 1. A table, index, sequence or routine id is given out once, also across restarts (every id that replay
//!    meets raises the counter).
//! 2. Names are unique: those of tables, indexes and sequences together, and those of routines together with
//!    the types of their inputs.
//! 3. `version` grows with every committed change that can alter the meaning of source text for all
//!    sessions: not with TRUNCATE, nor with changes of temporary relations.

use std::collections::HashMap;
use std::ops::{Bound, Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch::Guard;
use hyades_types::access::Access;
use hyades_types::definition::{
    CatalogChange, IndexDefinition, PrimaryKey, RoutineId, SequenceId, TableDefinition, TableId, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::sequence::Sequence;
use hyades_types::{memory, text};
use jiff::tz::TimeZone;
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};

use super::common::Common;
use super::compilations::Compilations;
use super::opening::Opening;
use super::primary_index::PrimaryIndex;
use super::record::Record;
use super::scan_batch::{ScanBatch, ScanDirection};
use super::stored_routine::Routine;
use super::stored_type::StoredType;
use super::table::{Table, TableState};

mod access;
mod alteration;
mod comments;
mod indexes;
mod references;
mod replaced;
mod routines;
mod schemas;
mod sequences;
mod types;

pub(crate) use access::{AccessChange, hand_on_rights};
pub(crate) use comments::put_comment;
pub use comments::{Comment, Comments};
pub(crate) use replaced::CommittedTables;
pub use routines::{duplicate_cast, duplicate_routine};
pub use schemas::{Schemas, duplicate_schema};
pub use types::duplicate_type;

/// What a new number is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewId {
    /// Anything that outlives its session: all share one sequence of numbers.
    Object,
    /// A temporary table, or an index of one.
    TemporaryTable,
    TemporarySequence,
}

/// The committed tables, sequences and routines of one database, by name and by id.
pub struct Catalog {
    tables: RwLock<Arc<Snapshot>>,
    common: Arc<Common>,
    version: AtomicU64,
    schema_version: AtomicU64,
    access_version: AtomicU64,
    compilations: Compilations,
    /// See `replaced`.
    replaced: Mutex<HashMap<TableId, Arc<TableState>>>,
}

/// A change of the committed names; no compilation runs meanwhile.
struct NamesChange<'a> {
    snapshot: RwLockWriteGuard<'a, Arc<Snapshot>>,
    _alone: RwLockWriteGuard<'a, ()>,
}

impl Deref for NamesChange<'_> {
    type Target = Arc<Snapshot>;

    fn deref(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }
}

impl DerefMut for NamesChange<'_> {
    fn deref_mut(&mut self) -> &mut Arc<Snapshot> {
        &mut self.snapshot
    }
}

/// Tables and routines as seen by everyone ([`Catalog`]), by a running transaction with its own changes, or
/// by replay.
pub trait CatalogView {
    /// The table of this name.
    fn table(&self, name: &TableName) -> Option<Arc<Table>>;
    fn table_by_id(&self, id: TableId) -> Option<Arc<Table>>;
    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>>;
    /// The routines of this name, which differ in the types of their inputs.
    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>>;
    fn sequence_named(&self, name: &TableName) -> Option<Arc<Sequence>>;
    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>>;
    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>>;
    /// The schemas by their names, those of temporary relations left out.
    fn schemas(&self) -> Arc<Schemas>;
    fn comments(&self) -> Arc<Comments>;
    /// Roles and rights.
    fn access(&self) -> Arc<Access>;
    /// The version of the committed catalog; `None` if the transaction has changed something itself, or reads
    /// at an old snapshot. Temporary relations do not count.
    fn catalog_version(&self) -> Option<u64>;
    /// The time of the snapshot that is read at, if there is one and some unique index is newer. The snapshot
    /// may see several rows with the same values there (`Table::is_unique_at`).
    fn old_snapshot(&self) -> Option<u64> {
        None
    }
    /// The schema of the session's temporary relations, if it has had any.
    fn temporary_schema(&self) -> Option<&str> {
        None
    }
    /// Held by a compilation while it runs.
    fn compilations(&self) -> &Compilations;
}

impl CatalogView for Catalog {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.by_name(name)
    }

    fn table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.by_id(id)
    }

    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        self.tables.read().routines.get(&id).map(Arc::clone)
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.tables.read().routines_by_name.get(name).cloned().unwrap_or_default()
    }

    fn sequence_named(&self, name: &TableName) -> Option<Arc<Sequence>> {
        Catalog::sequence_named(self, name)
    }

    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>> {
        self.tables.read().types_by_name.get(name).map(Arc::clone)
    }

    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>> {
        self.tables.read().types.get(&id).map(Arc::clone)
    }

    fn schemas(&self) -> Arc<Schemas> {
        Arc::clone(&self.tables.read().schemas)
    }

    fn comments(&self) -> Arc<Comments> {
        Catalog::comments(self)
    }

    fn access(&self) -> Arc<Access> {
        Catalog::access(self)
    }

    fn catalog_version(&self) -> Option<u64> {
        Some(self.version())
    }

    fn compilations(&self) -> &Compilations {
        &self.compilations
    }
}

#[derive(Clone, Default)]
struct Snapshot {
    by_id: HashMap<TableId, Arc<Table>>,
    by_name: HashMap<TableName, Arc<Table>>,
    routines: HashMap<RoutineId, Arc<Routine>>,
    routines_by_name: HashMap<TableName, Vec<Arc<Routine>>>,
    /// The names of routines that were dropped, for messages.
    former_routines: HashMap<RoutineId, String>,
    sequences: HashMap<SequenceId, Arc<Sequence>>,
    sequences_by_name: HashMap<TableName, Arc<Sequence>>,
    types: HashMap<u32, Arc<StoredType>>,
    types_by_name: HashMap<TableName, Arc<StoredType>>,
    schemas: Arc<Schemas>,
    comments: Arc<Comments>,
    access: Arc<Access>,
}

impl Default for Catalog {
    fn default() -> Catalog {
        Catalog::new()
    }
}

impl Catalog {
    /// No tables, and no schema but `public`, in an engine of its own.
    pub fn new() -> Catalog {
        Catalog::sharing(Arc::default())
    }

    /// The catalog of a new database.
    pub(super) fn sharing(common: Arc<Common>) -> Catalog {
        Catalog {
            tables: RwLock::default(),
            common,
            version: AtomicU64::new(0),
            schema_version: AtomicU64::new(0),
            access_version: AtomicU64::new(0),
            compilations: Compilations::default(),
            replaced: Mutex::default(),
        }
    }

    /// A copy of the current content, for a reader that looks at it later. Tables and sequences themselves go
    /// on changing.
    fn frozen(&self, common: &Arc<Common>) -> Catalog {
        Catalog { tables: RwLock::new(self.snapshot()), ..Catalog::sharing(Arc::clone(common)) }
    }

    /// Closed while a restart goes on.
    pub(crate) fn changes(&self) -> &Opening {
        &self.common.changes
    }

    /// See invariant 3.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// A change is published; the transaction that publishes it still holds its locks.
    pub fn count_change(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// As [`Catalog::count_change`], unless the change is visible to one session only.
    fn count_shared_change(&self, is_temporary: bool) {
        if !is_temporary {
            self.count_change();
        }
    }

    /// A number never used before.
    pub fn new_id(&self, of: NewId) -> u32 {
        match of {
            NewId::Object => self.common.new_id(),
            NewId::TemporaryTable => {
                TableId::FIRST_TEMPORARY + self.common.new_temporary() % TableId::TEMPORARIES
            }
            NewId::TemporarySequence => {
                SequenceId::FIRST_TEMPORARY + self.common.new_temporary() % SequenceId::TEMPORARIES
            }
        }
    }

    fn reserve_id(&self, id: u32) {
        self.common.reserve_id(id);
    }

    /// Keeps ids up to this one from being given out; for ids read from logs and checkpoints.
    pub fn reserve_table_id(&self, id: TableId) {
        if id.is_temporary() {
            return;
        }
        self.reserve_id(id.0);
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.tables.read())
    }

    fn change_names(&self) -> NamesChange<'_> {
        let alone = self.compilations.exclude();
        NamesChange { snapshot: self.tables.write(), _alone: alone }
    }

    /// Exchanges the state of a table while no compilation runs; returns the old one. The caller holds the
    /// table's write lock, or exchanges a state that others may go on using.
    pub(crate) fn exchange(&self, table: &Table, state: Arc<TableState>, guard: &Guard) -> Arc<TableState> {
        let _alone = self.compilations.exclude();
        table.replace_state(state, guard)
    }

    fn replace_definition(&self, table: &Table, definition: TableDefinition, guard: &Guard) {
        let state = table.state(guard).with_definition(definition);
        self.exchange(table, Arc::new(state), guard);
    }

    pub fn by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().by_id.get(&id).map(Arc::clone)
    }

    pub fn by_name(&self, name: &TableName) -> Option<Arc<Table>> {
        self.tables.read().by_name.get(name).map(Arc::clone)
    }

    /// All committed tables, ordered by schema and name.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let snapshot = self.snapshot();
        let mut tables: Vec<(&TableName, &Arc<Table>)> = snapshot.by_name.iter().collect();
        tables.sort_unstable_by_key(|(name, _)| *name);
        tables.into_iter().map(|(_, table)| Arc::clone(table)).collect()
    }

    /// Whether some committed table is like this.
    pub(crate) fn any_table(&self, is_wanted: impl Fn(&Table) -> bool) -> bool {
        self.snapshot().by_id.values().any(|table| is_wanted(table))
    }

    /// Publishes a new table. 42P07 if the name is taken.
    pub fn add(&self, table: Arc<Table>) -> Result<()> {
        let name = table.definition().name.clone();
        self.add_as(name, table)
    }

    /// The same under the name that the table had when it was made.
    pub(crate) fn add_as(&self, name: TableName, table: Arc<Table>) -> Result<()> {
        let mut tables = self.change_names();
        if tables.by_name.contains_key(&name) || tables.sequences_by_name.contains_key(&name) {
            return Err(duplicate_table(&name));
        }
        if tables.by_id.contains_key(&table.id()) {
            return Err(Error::corrupt(format!("table id {} is used twice", table.id().0)));
        }
        self.reserve_table_id(table.id());
        table.definition().indexes.iter().for_each(|index| self.reserve_table_id(index.id));
        let snapshot = Arc::make_mut(&mut tables);
        snapshot.by_id.insert(table.id(), Arc::clone(&table));
        let is_temporary = table.id().is_temporary();
        snapshot.by_name.insert(name, table);
        self.count_shared_change(is_temporary);
        Ok(())
    }

    /// Takes a table out and marks it dropped. Its rows go when the last plan and transaction have released
    /// it. A transaction that commits a DROP frees them earlier (`catalog`).
    pub fn remove(&self, id: TableId) -> Option<Arc<Table>> {
        let mut tables = self.change_names();
        let table = tables.by_id.get(&id).map(Arc::clone)?;
        table.mark_dropped();
        let snapshot = Arc::make_mut(&mut tables);
        snapshot.by_id.remove(&id);
        snapshot.by_name.remove(&table.definition().name);
        snapshot.forget_comments(id.0);
        self.count_shared_change(id.is_temporary());
        Some(table)
    }

    /// A table has another name. 42P07 if that is taken.
    pub fn rename(&self, from: &TableName, to: TableName, table: &Arc<Table>) -> Result<()> {
        let mut tables = self.change_names();
        let is_taken = tables.by_name.get(&to).is_some_and(|named| !Arc::ptr_eq(named, table));
        if is_taken || tables.sequences_by_name.contains_key(&to) {
            return Err(duplicate_table(&to));
        }
        let snapshot = Arc::make_mut(&mut tables);
        // Another transaction may have taken the name that has become free.
        if snapshot.by_name.get(from).is_some_and(|named| Arc::ptr_eq(named, table)) {
            snapshot.by_name.remove(from);
        }
        snapshot.by_name.insert(to, Arc::clone(table));
        self.count_shared_change(table.id().is_temporary());
        Ok(())
    }

    /// Applies a committed change: what replay does. Schema changes are barriers: everything appended before
    /// this one has been replayed. Later records that do not depend on what it changes may be replayed at the
    /// same time, so the catalog is changed under its lock, and a table by one exchange of its state. Records
    /// that do depend on it follow it because of the locks that it held.
    ///
    /// Any failure means that the log and the state it is replayed on do not belong together.
    pub fn apply(&self, change: &CatalogChange, guard: &Guard) -> Result<()> {
        self.count_change();
        match change {
            CatalogChange::CreateTable { id, definition } => {
                check_definition(definition)?;
                self.add(Arc::new(Table::new(*id, definition.clone()))).map_err(corrupt)
            }
            CatalogChange::DropTable { id } => self.existing(*id).map(|table| {
                self.remove(table.id());
            }),
            CatalogChange::Truncate { id } => {
                self.apply_new_state(*id, guard, |table| Ok(table.state(guard).truncated()))
            }
            CatalogChange::AddPrimaryKey { id, primary_key } => self.apply_new_state(*id, guard, |table| {
                table.state(guard).with_primary_key(primary_key, guard).map_err(corrupt)
            }),
            CatalogChange::AddForeignKey { id, foreign_key } => {
                self.apply_add_foreign_key(*id, foreign_key, guard)
            }
            CatalogChange::DropForeignKey { id, name } => self.apply_drop_foreign_key(*id, name, guard),
            CatalogChange::ValidateForeignKey { id, name } => {
                self.apply_validate_foreign_key(*id, name, guard)
            }
            CatalogChange::CreateIndex { table, index } => self.apply_create_index(*table, index, guard),
            CatalogChange::DropIndex { table, index } => self.apply_drop_index(*table, *index, guard),
            CatalogChange::RenameIndex { table, index, name } => {
                self.apply_rename_index(*table, *index, name, guard)
            }
            CatalogChange::ReplaceView { id, definition } => {
                self.apply_new_state(*id, guard, |_| Ok(TableState::new(Arc::from(definition.clone()))))
            }
            CatalogChange::CreateRoutine { id, definition, replaces } => {
                self.apply_create_routine(*id, definition, *replaces)
            }
            CatalogChange::DropRoutine { id } => self.apply_drop_routine(*id),
            CatalogChange::CreateSequence { id, definition } => self.apply_create_sequence(*id, definition),
            CatalogChange::AlterSequence { id, definition, restart } => {
                self.apply_alter_sequence(*id, definition, *restart)
            }
            CatalogChange::DropSequence { id } => self.apply_drop_sequence(*id),
            CatalogChange::DropDefault { id, column } => self.apply_drop_default(*id, *column, guard),
            CatalogChange::AlterTable { id, definition, columns } => {
                self.apply_alter_table(*id, definition, columns.as_deref(), guard)
            }
            CatalogChange::RenameTable { id, name, schema } => {
                self.apply_rename_table(*id, (name, schema.as_deref()), guard)
            }
            CatalogChange::CreateSchema { id, name } => self.apply_create_schema(*id, name),
            CatalogChange::DropSchema { id } => self.apply_drop_schema(*id),
            CatalogChange::RenameSchema { id, name } => self.apply_rename_schema(*id, name),
            CatalogChange::CreateType { definition } => self.apply_create_type(definition),
            CatalogChange::AlterType { definition } => self.apply_alter_type(definition, guard),
            CatalogChange::DropType { id } => self.apply_drop_type(*id),
            CatalogChange::Comment { on, text } => {
                self.put_comment(on, text.as_deref().map(|text| Comment::new(text, None)).as_ref());
                Ok(())
            }
            CatalogChange::PutRole { .. }
            | CatalogChange::DropRole { .. }
            | CatalogChange::PutSettings { .. }
            | CatalogChange::PutRights { .. } => self.apply_access_change(change),
            CatalogChange::PutDatabase { .. }
            | CatalogChange::DropDatabase { .. }
            | CatalogChange::InDatabase { .. } => {
                Err(Error::corrupt("a change of databases is in one of them".to_owned()))
            }
        }
    }

    /// The table gets the state that a function makes from it.
    fn apply_new_state(
        &self,
        id: TableId,
        guard: &Guard,
        state_from: impl FnOnce(&Table) -> Result<TableState>,
    ) -> Result<()> {
        let table = self.existing(id)?;
        let state = state_from(&table)?;
        self.exchange(&table, Arc::new(state), guard);
        Ok(())
    }

    pub(super) fn existing(&self, id: TableId) -> Result<Arc<Table>> {
        self.by_id(id)
            .ok_or_else(|| Error::corrupt(format!("the log changes table {}, which does not exist", id.0)))
    }
}

/// A user error is impossible when replaying a change that was once committed.
pub(super) fn corrupt(error: Error) -> Error {
    match error {
        Error::Input(input) => Error::corrupt(format!("a logged schema change fails: {}", input.message)),
        other => other,
    }
}

/// `relation "t" already exists`.
pub fn duplicate_table(name: &TableName) -> Error {
    Error::input(sqlstate::DUPLICATE_TABLE, format!("relation \"{}\" already exists", name.name))
}

/// Whether a definition from a log makes sense.
fn check_definition(definition: &TableDefinition) -> Result<()> {
    let columns = definition.columns.len();
    let key_columns = definition.primary_key.iter().flat_map(|key| key.columns.iter().copied());
    let mut keys = key_columns.chain(definition.indexes.iter().flat_map(IndexDefinition::key_columns));
    if columns > usize::from(u16::MAX) || keys.any(|column| usize::from(column) >= columns) {
        return Err(Error::corrupt(format!(
            "the logged definition of \"{}\" is inconsistent",
            definition.name.name
        )));
    }
    Ok(())
}

impl TableState {
    /// The same table without rows.
    #[must_use]
    pub fn truncated(&self) -> TableState {
        TableState::new(Arc::clone(self.definition())).charged_like(self)
    }

    /// The same rows under a primary key, whose columns become NOT NULL. The caller holds the table's write
    /// lock, so that no row changes meanwhile.
    ///
    /// Errors, as PostgreSQL's: 42P16 if there is a primary key already, 42703 if a column does not exist,
    /// 23502 if a key column contains NULL, 23505 if two rows have the same key.
    pub fn with_primary_key(&self, primary_key: &PrimaryKey, guard: &Guard) -> Result<TableState> {
        let definition = self.definition_with_key(primary_key)?;
        self.check_not_null(primary_key, guard)?;
        let new = TableState::new(Arc::new(definition)).charged_like(self);
        let mut key = Vec::new();
        self.for_each_row(guard, |row| {
            memory::admit_row(row.len())?;
            new.encode_key(row, &mut key);
            if !new.index().get_or_insert(&key, Some(row), guard).1 {
                return Err(self.duplicate_key(&primary_key.name, &primary_key.columns, row));
            }
            new.exchange_entries(&key, (None, Some(row)), guard);
            new.count_added(1);
            Ok(())
        })?;
        Ok(new)
    }

    fn definition_with_key(&self, primary_key: &PrimaryKey) -> Result<TableDefinition> {
        let table = &self.definition().name.name;
        if self.definition().primary_key.is_some() {
            return Err(Error::input(
                sqlstate::INVALID_TABLE_DEFINITION,
                format!("multiple primary keys for table \"{table}\" are not allowed"),
            ));
        }
        let mut definition = TableDefinition::clone(self.definition());
        for &column in &primary_key.columns {
            let column = definition.columns.get_mut(usize::from(column)).ok_or_else(|| {
                Error::input(
                    sqlstate::UNDEFINED_COLUMN,
                    format!("column number {column} of relation \"{table}\" does not exist"),
                )
            })?;
            column.is_nullable = false;
        }
        definition.primary_key = Some(primary_key.clone());
        Ok(definition)
    }

    /// Before any key is compared, as PostgreSQL does it.
    fn check_not_null(&self, primary_key: &PrimaryKey, guard: &Guard) -> Result<()> {
        self.for_each_row(guard, |row| {
            let null = primary_key.columns.iter().find(|&&column| self.layout().is_null(row, column));
            null.map_or(Ok(()), |&column| {
                let TableName { schema, name: table } = &self.definition().name;
                let column = &self.definition().columns[usize::from(column)].name;
                let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
                Err(Error::input(sqlstate::NOT_NULL_VIOLATION, message)
                    .with_table(schema, table)
                    .with_column(column))
            })
        })
    }

    pub(crate) fn duplicate_key(&self, index: &str, columns: &[u16], row: &[u8]) -> Error {
        let message = format!("could not create unique index \"{index}\"");
        let key = self.describe_key(columns, row, &TimeZone::UTC);
        Error::input(sqlstate::UNIQUE_VIOLATION, message)
            .with_detail(format!("{key} is duplicated."))
            .with_table(&self.definition().name.schema, &self.definition().name.name)
            .with_constraint(index)
    }

    /// `Key (a, b)=(1, x)`, as PostgreSQL's details of unique violations begin.
    pub fn describe_key(&self, columns: &[u16], row: &[u8], time_zone: &TimeZone) -> String {
        let names: Vec<&str> = columns.iter().map(|&column| self.definition().key_name(column)).collect();
        let values: Vec<_> = columns
            .iter()
            .map(|&column| text::format(&self.layout().value(row, column), time_zone))
            .collect();
        format!("Key ({})=({})", names.join(", "), values.join(", "))
    }

    /// Every row, in the order of the index. The caller keeps writers away.
    pub fn for_each_row(&self, guard: &Guard, mut see: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for_each_record(self.index(), guard, |_, record| record.row(guard).map_or(Ok(()), &mut see))
    }
}

/// Passes every key and record of an index to `see`, in order. The caller keeps writers away.
pub(crate) fn for_each_record(
    index: &PrimaryIndex,
    guard: &Guard,
    mut see: impl FnMut(&[u8], &Record) -> Result<()>,
) -> Result<()> {
    let mut batch = ScanBatch::new();
    let mut last: Option<Vec<u8>> = None;
    loop {
        let from = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let page = index.scan(from, ScanDirection::Forward, usize::MAX, &mut batch, guard);
        for (key, record) in page.iter() {
            see(key, record)?;
        }
        if batch.reaches_end() {
            return Ok(());
        }
        let key = last.get_or_insert_default();
        key.clear();
        key.extend_from_slice(batch.last_key().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests;
