//! Storage: rows, records, tables and their indexes.
//!
//! * `row`: the bytes of a row; `heap_bytes`: byte strings on the heap;
//! * `record`: the stable place of a row, found by key through an index; `history`: what was there before,
//!   and snapshots; `phase_snapshot`: the points in time that checkpoints are of;
//! * `ordered_index`, `hash_index`: the two structures; `primary_index`: either of them behind key bytes;
//!   `scan_batch`: what a scan carries from step to step; `prefetch`: a hint to the processor; `range_notes`:
//!   where keys have left it since a checkpoint;
//! * `secondary_index`: from other columns to the keys of rows; `unfinished_index`: one that is being built;
//! * `table`: a table and its exchangeable state; `stored_routine`: a stored procedure or function;
//!   `catalog`: the set of all of them, and schema changes; `opening`: who waits for a restart; `bulk_load`:
//!   all rows of a table at once.

pub(crate) mod bulk_load;
pub mod catalog;
pub(crate) mod compilations;
mod hash_index;
mod heap_bytes;
pub(crate) mod history;
pub(crate) mod opening;
mod ordered_index;
pub(crate) mod phase_snapshot;
pub(crate) mod prefetch;
pub mod primary_index;
pub(crate) mod range_notes;
pub mod record;
pub mod row;
mod row_count;
pub mod scan_batch;
pub mod secondary_index;
pub mod stored_routine;
pub mod stored_type;
pub mod table;
pub(crate) mod unfinished_index;
mod versions;
