//! What a checkpoint sees of the catalog: the tables, with the rows that they have in a phase.
//!
//! Rows have versions, definitions have none, and TRUNCATE and ALTER TABLE exchange a table's whole state
//! while their transaction is still open. So the catalog keeps the states that have been replaced and not yet
//! been given up (`storage::catalog`), and transactions that change the catalog do not begin to commit at the
//! moment of a capture ([`Control::capture`]): then the committed catalog is that of the phase that has
//! ended. For a table whose state an open transaction has replaced, the first of the replaced states counts.

use crate::protocol::Protocol;
use crate::storage::catalog::CommittedTables;
use crate::storage::databases::Databases;
use crate::txn::{Captured, Control};

/// What is committed in a phase and before it.
pub(crate) struct Committed {
    pub(crate) rows: Captured,
    pub(crate) databases: Databases,
    /// With the states that were committed; those of temporary tables are left out.
    pub(crate) tables: CommittedTables,
}

/// Ends a phase; `before` and `after` as for [`Control::capture`].
pub(crate) fn capture<P: Protocol, C: Control<P>>(
    control: &C,
    databases: &Databases,
    before: &mut dyn FnMut(),
    after: &mut dyn FnMut(),
) -> Committed {
    let mut seen = None;
    let rows = control.capture(before, &mut || seen = Some(databases.committed()), after);
    let (databases, tables) = seen.unwrap_or_else(|| databases.committed());
    Committed { rows, databases, tables }
}
