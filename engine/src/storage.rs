//! Storage: rows, records, tables and their indexes.
//!
//! Files:
//! * `row`: the bytes of a row; `heap_bytes`: byte strings on the heap;
//! * `record`: the stable place of a row, found by key through an index; `history`: earlier versions and
//!   snapshots; `versions`: a record at a snapshot; `read_at_time`: the rows of a
//!   checkpoint's time; `replayed_versions`: rows as a replay of calls changes them;
//! * `ordered_index`, `hash_index`: the two structures; `primary_index`: either of them, addressed by key
//!   bytes; `scan_batch`: what a scan carries from step to step; `prefetch`: a hint to the processor;
//!   `range_notes`: the ranges from which keys were removed since a checkpoint;
//! * `secondary_index`: from other columns to the keys of rows; `unfinished_index`: an index that is being
//!   built;
//! * `table`: a table and its exchangeable state; `row_count`: how many rows it has; `row_pages`:
//!   all rows, page by page; `stored_routine`: a
//!   stored procedure or function; `stored_type`: an enum type;
//! * `catalog`: the set of all of them in a database, and schema changes; `compilations`: keeps it still
//!   while a statement is compiled; `databases`: all catalogs; `common`: what they share; `contents`: a
//!   catalog as the changes that create it;
//! * `opening`: access that a running restart holds back; `bulk_load`: loads all rows of a table at once;
//!   `early_runs`: ranges of keys that are in use before; `key_run`: keys in their order, which both take.

pub(crate) mod bulk_load;
pub mod catalog;
pub(crate) mod common;
pub(crate) mod compilations;
pub(crate) mod contents;
pub mod databases;
mod early_runs;
mod hash_index;
mod heap_bytes;
pub(crate) mod history;
mod key_run;
pub(crate) mod opening;
mod ordered_index;
pub(crate) mod prefetch;
pub mod primary_index;
pub(crate) mod range_notes;
pub(crate) mod read_at_time;
pub mod record;
pub(crate) mod replayed_versions;
pub mod row;
mod row_count;
pub(crate) mod row_pages;
pub mod scan_batch;
pub mod secondary_index;
pub mod stored_routine;
pub mod stored_type;
pub mod table;
pub(crate) mod unfinished_index;
pub(crate) mod versions;

/// Frees the rows and indexes of dropped tables now, unless another thread may still read them. Without this,
/// a later access of any thread does it, and waits for it.
pub fn free_dropped() {
    /// The epoch advances by one with each look, and garbage is freed two epochs later.
    const LOOKS: usize = 4;
    for _ in 0..LOOKS {
        crossbeam_epoch::pin().flush();
    }
}
