//! What happens to tables and columns that a kept query names.

use hyades_types::definition::TableId;

/// What happens to something that a query names.
pub(crate) enum Change<'a> {
    /// A table or view gets another name.
    Relation(TableId, &'a str),
    /// The column of this number of a table gets another name.
    Column((TableId, u16), &'a str),
    /// A table or view gets columns of these names after those that it has.
    Added(TableId, &'a [String]),
    /// A table loses a column, which the query does not use.
    Dropped((TableId, u16)),
}

impl Change<'_> {
    /// Whether it is about the columns of this table or view.
    pub(super) fn is_of(&self, table: TableId) -> bool {
        match self {
            Change::Relation(..) => false,
            Change::Column((id, _), _) | Change::Added(id, _) | Change::Dropped((id, _)) => *id == table,
        }
    }

    /// The name of a column afterwards.
    pub(super) fn new_name<'n>(&'n self, number: u16, name: &'n str) -> &'n str {
        match self {
            Change::Column((_, at), to) if *at == number => to,
            _ => name,
        }
    }

    pub(super) fn drops(&self, number: u16) -> bool {
        matches!(self, Change::Dropped((_, at)) if *at == number)
    }

    pub(super) fn new_names(&self) -> &[String] {
        if let Change::Added(_, names) = self { names } else { &[] }
    }
}
