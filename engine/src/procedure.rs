//! Procedures: what every request becomes, and how it runs.
//!
//! Files:
//! * the IR: `ir` (instructions), `slots` (numbers of registers, rows and cursors), `expression`, `deep`
//!   (trees beyond a thread's stack), `stage` (sorting and grouping, left to the front end),
//!   `cursor_statement`, `conditions` (names of errors that a block handles);
//! * about it: `effects` (what an instruction does, for every analysis), `read_columns` (how much of a row is
//!   read), `listing` (as text);
//! * `analysis`: what its code needs of itself, and what is left of it when a logged call is replayed;
//! * a run: `frame` and `buffers` (its state), `interpret` (the loop), `execute` (a function for each
//!   instruction), `evaluate` (values of expressions);
//! * data: `access` (what a procedure may do to it), `first_row` (a row made elsewhere), `look_ahead` and
//!   `found_ahead` (prefetching in loops);
//! * rows kept: `spool` (for later), `join_table` (one side of a join), with `join_heads` (the first row of
//!   each key), `joined_row` (a row that is found) and `spilled_join` (rows beyond its memory);
//! * `tape`: what the slices of a replayed call pass to each other;
//! * `compiled_routine`: how a stored routine becomes a procedure.

mod access;
pub mod analysis;
pub mod buffers;
pub mod compiled_routine;
pub mod conditions;
pub mod cursor_statement;
pub mod deep;
pub mod effects;
pub mod evaluate;
mod execute;
mod expression;
pub mod first_row;
mod found_ahead;
pub mod frame;
pub(crate) mod interpret;
pub mod ir;
mod join_heads;
mod join_table;
mod joined_row;
pub mod listing;
mod look_ahead;
mod read_columns;
mod slots;
mod spilled_join;
mod spool;
mod stage;
pub(crate) mod tape;
