//! Changes of the catalog inside a transaction: one mechanism for all kinds of objects, above every
//! concurrency control.
//!
//! The committed catalog is `storage::catalog`. A transaction that changes it has an [`Overlay`]: a list of
//! changes, in order, that its own look-ups see at once, that a rollback takes back from the end, and that a
//! commit publishes. No other transaction acts on any of it before. The worker owns the overlay; of the
//! transaction it needs only `txn::ObjectAccess`: locks on objects and tables, a place in the log record,
//! savepoints. So a control knows nothing of the catalog, and the catalog does not know which control runs.
//!
//! ```text
//! CatalogChange -> change::apply     locks what it touches, looks again, then notes
//!                    |                 the operation of the log record (in the transaction's undo list)
//!                    |                 its effects (in `changes`): names, states of tables, lists
//!                    v
//!                  look-ups          view: own objects first (`own`), then the committed ones
//!                  undo_to           effects are taken back from the end, each after the rows written later
//!                  publish           effects reach the committed catalog, under the locks of their commit
//! ```
//!
//! New and dropped names stay private until the commit. What changes the definition or the rows of an
//! existing table replaces the state of the table at once, which the lock on the whole table hides; the
//! former state waits in the list. Another session that looks the table up meanwhile finds the new
//! definition, and waits for the table.
//!
//! Files:
//! * `overlay`: the list of changes, and how it ends; `change`: applies a change, with a file for each kind
//!   of object;
//! * `effect`: what a change does, how it is taken back, and how it is published;
//! * `own`: the objects that the transaction has made or dropped, by id and by name; `view`: look-ups;
//! * `capture`: what a checkpoint sees of the catalog.
//!
//! **Invariants.**
//! 1. Whatever a change relies on (names that are free, definitions, users of an object) is locked first and
//!    checked after that, until the end of the transaction. What is no longer as the caller has found it is a
//!    stale plan: the caller looks again.
//! 2. Each change adds an entry to the undo list of the transaction, so the savepoints of the transaction
//!    order rows and changes of the catalog.
//! 3. A name is published while it is still locked: no other transaction can have taken it in between.
//!
//! A new kind of object needs a file in `change`, its arms in `effect::Effect`, and a map in `own`.

mod capture;
mod change;
mod effect;
mod overlay;
mod own;
mod view;

pub(crate) use capture::{Committed, capture};
pub(crate) use change::apply;
pub(crate) use change::databases::copy_database;
pub(crate) use change::indexes::build_index;
pub(crate) use overlay::Overlay;
pub use view::SeenDatabase;
