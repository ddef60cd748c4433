//! Deciding how rows are found: join order and access paths.
//!
//! `order` orders the loops over FROM (`order/search` finds the cheapest order with the numbers of
//! `order/estimate`), `level` is what they become, `access` chooses how each table is read, `implication`
//! says whether one condition follows from others, `index_expressions` finds the values that indexes compute
//! in the conditions of a statement, `judged_size` notes for which sizes of tables a plan was made. `stage`
//! is what the executor does with the rows that a procedure finds.

pub(crate) mod access;
pub(crate) mod implication;
pub(crate) mod index_expressions;
pub(crate) mod judged_size;
pub(crate) mod level;
pub(crate) mod order;
pub(crate) mod stage;
