//! What a checkpoint sees of the catalog: the tables, with the rows that they have at a time.
//!
//! Rows have versions, definitions have none, and TRUNCATE and ALTER TABLE exchange a table's whole state
//! while their transaction is still open. So the catalog keeps the states that have been replaced and not yet
//! been given up (`storage::catalog`), and transactions that change the catalog do not begin to commit at the
//! moment of a capture ([`Control::capture`]): then the committed catalog is that of the time that is
//! taken. For a table whose state an open transaction has replaced, the first of the replaced states counts.

use crate::protocol::Protocol;
use crate::storage::catalog::CommittedTables;
use crate::storage::databases::Databases;
use crate::txn::{Captured, Control};

/// What is committed at a time.
pub(crate) struct Committed {
    pub(crate) rows: Captured,
    pub(crate) databases: Databases,
    /// With the states that were committed; those of temporary tables are left out.
    pub(crate) tables: CommittedTables,
}

/// Takes a time; `raised` and `settled` as for [`Control::capture`].
pub(crate) fn capture<P: Protocol, C: Control<P>>(
    control: &C,
    databases: &Databases,
    raised: &mut dyn FnMut(),
    settled: &mut dyn FnMut(),
) -> Committed {
    let mut seen = None;
    let rows = control.capture(raised, &mut || seen = Some(databases.committed()), settled);
    let (databases, tables) = seen.unwrap_or_else(|| databases.committed());
    Committed { rows, databases, tables }
}
