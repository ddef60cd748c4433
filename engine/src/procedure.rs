//! Procedures: the IR (`ir`), the state of a run (`frame`, `buffers`), the value of an expression
//! (`evaluate`), what a procedure may do to data (`access`), the interpreter (`interpret`, with a function
//! for each instruction in `execute`, and `look_ahead` and `found_ahead` for prefetching in loops).
//! `effects` says what an instruction does, for the analysis of procedures. `listing` prints procedures.
//! `spool` keeps rows for later, `join_table` one side of a join, whose rows `join_heads` finds.
//! `compiled_routine` gets from a stored routine to its procedure.

mod access;
pub mod buffers;
pub mod compiled_routine;
pub mod conditions;
pub mod cursor_statement;
pub mod deep;
pub mod effects;
pub mod evaluate;
mod execute;
mod expression;
mod found_ahead;
pub mod frame;
pub(crate) mod interpret;
pub mod ir;
mod join_heads;
mod join_table;
mod joined_row;
pub mod listing;
mod look_ahead;
mod slots;
mod spilled_join;
mod spool;
mod stage;
