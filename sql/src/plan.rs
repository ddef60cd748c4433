//! Deciding how rows are found: join order and access paths.
//!
//! Files:
//! * `order`: the order of the loops over FROM, the cheapest by its estimates; `level`: what they become;
//! * `access`: how each table is read, with `implication` (whether one condition follows from others) and
//!   `index_expressions` (the values that indexes compute in the conditions of a statement);
//! * `judged_size`: for which sizes of tables a plan was made;
//! * `stage`: what the executor does with the rows that a procedure finds; `window_stage`: the same for
//!   window functions.

pub(crate) mod access;
pub(crate) mod implication;
pub(crate) mod index_expressions;
pub(crate) mod judged_size;
pub(crate) mod level;
pub(crate) mod order;
pub(crate) mod stage;
pub(crate) mod window_stage;
