//! Secondary indexes: entries ordered by some columns, each of which leads to a row by its key.
//!
//! ```text
//! entry   | column | column | ... | key of the row: its primary key, or its row number |
//! column  | 1 | the value as in keys, its bits flipped if DESC |     not NULL
//!         | 0 or 2 | as many zeros as a value of this type has |     NULL: before the others, or after
//! ```
//!
//! So every entry is unique, whether or not the index is, and comparing bytes compares columns. An entry says
//! no more about a row than where it may be found. It is inserted before the row gets these values, and stays
//! as long as some version of the row has them that may still be read. A reader that reaches a row by an
//! entry looks at the version it sees, and skips the row unless that version has just this entry
//! ([`SecondaryIndex::is_entry_of`]). Each version has one entry, so no scan meets a row twice.
//!
//! Rows are found through the primary index, not by an address in the entry. This costs a second descent, but
//! records may come and go without a look at other indexes.

use std::ops::Bound;
use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::definition::{IndexColumn, IndexDefinition, IndexKind};
use hyades_types::key;
use hyades_types::memory::Keeper;
use hyades_types::value::SqlType;

use super::primary_index::PrimaryIndex;
use super::row::RowLayout;
use super::scan_batch::{ScanBatch, ScanDirection};
use super::unfinished_index::UnfinishedIndex;

const NULL_FIRST: u8 = 0;
/// The first byte of a column unless it is NULL.
pub(crate) const VALUE: u8 = 1;
const NULL_LAST: u8 = 2;

/// Most entries are shorter: room for one of this length is reserved at once.
pub(crate) const ENTRY_BYTES: usize = 64;

/// The number of entries looked at in one step when just one is expected.
const FEW_ENTRIES: usize = 4;

/// From some columns of a table's rows to the rows' keys; see the module head.
pub struct SecondaryIndex {
    definition: IndexDefinition,
    columns: Box<[EntryColumn]>,
    /// Length of every row's key, where all have the same.
    key_width: Option<usize>,
    /// Shared by states whose definitions of it differ only in names.
    entries: Arc<PrimaryIndex>,
    /// For a unique index: to snapshots of this time and later no two rows have the same values. Older ones
    /// may see rows that were gone when it was made.
    unique_since: u64,
    /// Set while it is being built, and no definition of a table lists it.
    unfinished: Option<Arc<UnfinishedIndex>>,
}

#[derive(Clone, Copy)]
struct EntryColumn {
    column: u16,
    sql_type: SqlType,
    /// The bytes of a value are combined with this by exclusive or.
    mask: u8,
    null: u8,
}

impl EntryColumn {
    fn fixed_width(self) -> Option<usize> {
        self.sql_type.stored_bytes()
    }
}

impl SecondaryIndex {
    /// Without entries, for a table whose keys have this width. Panics if a column does not exist
    /// (`storage::catalog` checks definitions that come from outside).
    pub(crate) fn new(
        definition: &IndexDefinition,
        layout: &RowLayout,
        key_width: Option<usize>,
    ) -> SecondaryIndex {
        let column = |key: &IndexColumn| EntryColumn {
            column: key.column,
            sql_type: layout.column_type(key.column),
            mask: if key.is_descending { 0xff } else { 0 },
            null: if key.nulls_first { NULL_FIRST } else { NULL_LAST },
        };
        let columns: Box<[EntryColumn]> = definition.columns.iter().map(column).collect();
        let widths = columns.iter().map(|column| column.fixed_width().map(|width| 1 + width));
        let width = widths.chain([key_width]).sum::<Option<usize>>();
        SecondaryIndex {
            definition: definition.clone(),
            columns,
            key_width,
            entries: Arc::new(PrimaryIndex::new(IndexKind::Ordered, width)),
            unique_since: 0,
            unfinished: None,
        }
    }

    /// As [`PrimaryIndex::charge_to`].
    pub(super) fn charge_to(&mut self, keeper: &Keeper) {
        self.entries.charge_to(keeper);
    }

    /// Whether both have the same entries.
    pub(super) fn shares_entries(&self, other: &SecondaryIndex) -> bool {
        Arc::ptr_eq(&self.entries, &other.entries)
    }

    /// This index, to be built while rows are being written.
    pub(super) fn unfinished_one(self) -> SecondaryIndex {
        SecondaryIndex { unfinished: Some(Arc::default()), ..self }
    }

    pub(crate) fn unfinished(&self) -> Option<&UnfinishedIndex> {
        self.unfinished.as_deref()
    }

    /// The same entries under a definition that differs only in names.
    pub(super) fn with_definition(&self, definition: &IndexDefinition) -> SecondaryIndex {
        SecondaryIndex {
            definition: definition.clone(),
            columns: self.columns.clone(),
            key_width: self.key_width,
            entries: Arc::clone(&self.entries),
            unique_since: self.unique_since,
            unfinished: None,
        }
    }

    pub(super) fn unique_since(&self) -> u64 {
        self.unique_since
    }

    pub(super) fn note_unique_since(&mut self, time: u64) {
        self.unique_since = time;
    }

    pub fn definition(&self) -> &IndexDefinition {
        &self.definition
    }

    /// The entries, as keys of records without a row.
    pub fn entries(&self) -> &PrimaryIndex {
        &self.entries
    }

    /// Frees some entries; true when there are none, or another state shares them.
    pub(super) fn free_some(&mut self) -> bool {
        Arc::get_mut(&mut self.entries).is_none_or(PrimaryIndex::free_some)
    }

    /// Appends the columns of a row's entry; returns whether one is NULL.
    pub fn append_columns(&self, layout: &RowLayout, row: &[u8], out: &mut Vec<u8>) -> bool {
        let mut has_null = false;
        for column in &self.columns {
            if layout.is_null(row, column.column) {
                out.push(column.null);
                out.resize(out.len() + column.fixed_width().unwrap_or(0), 0);
                has_null = true;
            } else {
                self.append_masked(*column, out, |out| layout.encode_key(row, &[column.column], out));
            }
        }
        has_null
    }

    fn append_masked(&self, column: EntryColumn, out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
        out.push(VALUE);
        let start = out.len();
        append(out);
        if column.mask != 0 {
            out[start..].iter_mut().for_each(|byte| *byte ^= column.mask);
        }
    }

    /// Appends a value, which `append` encodes as in keys, for the column at this position of the index.
    pub(crate) fn append_value(&self, place: usize, out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
        if let Some(column) = self.columns.get(place) {
            self.append_masked(*column, out, append);
        }
    }

    /// The type of the column at this position of the index.
    pub(crate) fn column_type(&self, place: usize) -> SqlType {
        self.columns[place].sql_type
    }

    /// Replaces the content of `entry` by that of the row under `key`.
    pub fn encode(&self, layout: &RowLayout, row: &[u8], key: &[u8], entry: &mut Vec<u8>) {
        entry.clear();
        entry.reserve(ENTRY_BYTES);
        self.append_columns(layout, row, entry);
        entry.extend_from_slice(key);
    }

    /// Whether this is the entry of the row under this key; `scratch` is reused memory.
    pub(crate) fn is_entry_of(
        &self,
        entry: &[u8],
        layout: &RowLayout,
        (key, row): (&[u8], &[u8]),
        scratch: &mut Vec<u8>,
    ) -> bool {
        self.encode(layout, row, key, scratch);
        scratch == entry
    }

    /// Where the row's key begins in an entry.
    pub fn key_start(&self, entry: &[u8]) -> usize {
        match self.key_width {
            Some(width) => entry.len().saturating_sub(width),
            None => self.columns_length(entry).unwrap_or(entry.len()),
        }
    }

    /// Whether these bytes are values of all columns.
    pub(crate) fn is_whole_value(&self, columns: &[u8]) -> bool {
        self.columns_length(columns) == Some(columns.len())
    }

    /// Whether one of the columns at the beginning of an entry is NULL.
    pub(crate) fn has_null(&self, entry: &[u8]) -> bool {
        let mut has_null = false;
        self.walk_columns(entry, |head| has_null |= head != VALUE);
        has_null
    }

    /// Length in bytes of the columns at the beginning of an entry; `None` if they are not complete.
    fn columns_length(&self, entry: &[u8]) -> Option<usize> {
        self.walk_columns(entry, |_| {})
    }

    /// Passes the first byte of each column to `see`.
    fn walk_columns(&self, entry: &[u8], mut see: impl FnMut(u8)) -> Option<usize> {
        let mut at = 0;
        for column in &self.columns {
            let head = entry.get(at)?;
            see(*head);
            at += 1;
            let rest = &entry[at..];
            at += match column.fixed_width() {
                Some(width) if width <= rest.len() => width,
                Some(_) => return None,
                None if *head == VALUE => key::encoded_length(column.sql_type, rest, column.mask)?,
                None => 0,
            };
        }
        Some(at)
    }

    /// Whether rows with these columns exclude each other, given whether one of the columns is NULL.
    pub(crate) fn is_exclusive(&self, has_null: bool) -> bool {
        self.definition.is_unique && (!has_null || self.definition.nulls_are_equal)
    }

    /// The keys of the rows to which the entries with exactly these columns lead.
    pub(crate) fn rows_with(&self, columns: &[u8], guard: &Guard) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let mut batch = ScanBatch::new();
        let mut from = Bound::Included(columns.to_vec());
        loop {
            let start = from.as_ref().map(Vec::as_slice);
            let page = self.entries.scan(start, ScanDirection::Forward, FEW_ENTRIES, &mut batch, guard);
            for (entry, _) in page.iter() {
                let Some(key) = entry.strip_prefix(columns) else { return keys };
                keys.push(key.to_vec());
            }
            match batch.last_key() {
                Some(last) if !batch.reaches_end() => from = Bound::Excluded(last.to_vec()),
                _ => return keys,
            }
        }
    }

    /// Whether two versions of a row certainly have the same entry.
    pub(super) fn is_untouched(&self, layout: &RowLayout, old: &[u8], new: &[u8]) -> bool {
        self.columns.iter().all(|column| layout.is_same(old, new, column.column))
    }

    /// Whether the patch of a row leaves all values alone that its entry depends on.
    pub(super) fn is_unpatched(&self, layout: &RowLayout, row: &[u8], patch: &[u8]) -> bool {
        self.columns.iter().all(|column| !layout.is_patched(row, column.column, patch))
    }

    /// Gives the row under `key` the entry that belongs to it, in the place of its old one. For recovery,
    /// where there are no versions.
    pub(super) fn exchange(
        &self,
        layout: &RowLayout,
        key: &[u8],
        (old, new): (Option<&[u8]>, Option<&[u8]>),
        guard: &Guard,
    ) {
        if let (Some(old), Some(new)) = (old, new)
            && self.is_untouched(layout, old, new)
        {
            return;
        }
        let entry = |row: &[u8]| {
            let mut entry = Vec::new();
            self.encode(layout, row, key, &mut entry);
            entry
        };
        let (old, new) = (old.map(entry), new.map(entry));
        if old == new {
            return;
        }
        if let Some(new) = new {
            self.entries.get_or_insert(&new, None, guard);
        }
        if let Some(old) = old {
            self.entries.remove(&old, guard);
        }
    }
}
