//! ALTER TABLE in progress, and other changes that are determined only after locks have been taken.

use std::collections::VecDeque;
use std::sync::Arc;

use hyades_engine::db::TableLock;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{ColumnSource, IndexDefinition, TableDefinition, TableName};
use hyades_types::value::SqlType;

use super::command::AlterAction;
use super::filling::Filling;
use crate::statement::{AccessCommand, DatabaseCommand, DropSchema, SchemaElement};

/// A change that is determined only after schemas have been locked.
pub(crate) enum LateChange {
    Drop(DropSchema),
    Rename {
        name: String,
        to: String,
    },
    /// A change of roles and rights, which are locked instead.
    Access(Arc<AccessCommand<Vec<SqlType>>>),
    /// A change of databases, whose names are locked.
    Database(Arc<DatabaseCommand>),
}

impl LateChange {
    pub(crate) fn schemas(&self) -> Vec<String> {
        match self {
            LateChange::Drop(drop) => drop.names.clone(),
            LateChange::Rename { name, to } => vec![name.clone(), to.clone()],
            LateChange::Access(_) | LateChange::Database(_) => Vec::new(),
        }
    }
}

/// What must still be created inside a new schema.
pub(crate) struct Inside {
    pub(crate) schema: String,
    pub(crate) elements: VecDeque<SchemaElement>,
}

/// ALTER TABLE in progress.
pub(crate) struct Alteration {
    pub(crate) table: Arc<Table>,
    /// The name under which the table was found.
    pub(crate) name: TableName,
    /// How the table is locked.
    pub(crate) lock: TableLock,
    pub(crate) steps: VecDeque<AlterStep>,
    /// The current action must run again, because an obstacle to it has been removed.
    pub(crate) again: bool,
}

/// A step of ALTER TABLE.
pub(crate) enum AlterStep {
    Action(AlterAction),
    /// Checks the rows against a CHECK constraint.
    Prove(String),
    /// Computes a column.
    Fill(Filling),
    /// Computes the rows of a materialized view.
    Refill {
        is_concurrent: bool,
    },
    /// Adds an index whose columns have been computed.
    Index(Box<IndexDefinition>),
    /// Sets NOT NULL for the column with this number.
    SetNotNull(u16),
    /// Installs the definition and the columns that an action leads to.
    Become {
        definition: Box<TableDefinition>,
        columns: Vec<ColumnSource>,
    },
}

impl Alteration {
    /// What computes the rows of a new materialized view.
    pub(crate) fn first_rows(table: Arc<Table>) -> Alteration {
        let name = table.definition().name.clone();
        let steps = VecDeque::from([AlterStep::Refill { is_concurrent: false }]);
        Alteration { table, name, lock: TableLock::AccessExclusive, steps, again: false }
    }

    /// Whether the next step is OWNER TO, before which roles and rights must be locked.
    pub(crate) fn changes_owner(&self) -> bool {
        matches!(self.steps.front(), Some(AlterStep::Action(AlterAction::SetOwner(_))))
    }

    /// Drops these columns next, in this order.
    pub(crate) fn drop_columns(&mut self, names: impl DoubleEndedIterator<Item = String>) {
        for name in names.rev() {
            let drop = AlterAction::DropColumn { name, may_lack: true, cascades: true };
            self.steps.push_front(AlterStep::Action(drop));
        }
    }

    /// Skips the constraints of a column that exists already and is therefore not added.
    pub(crate) fn forget_column(&mut self, name: &str) {
        let is_of_column = |columns: &[String]| matches!(columns, [column] if column == name);
        self.steps.retain(|step| match step {
            AlterStep::Action(AlterAction::AddPrimaryKey(key)) => !is_of_column(&key.columns),
            AlterStep::Action(AlterAction::AddUnique(unique)) => !is_of_column(&unique.columns),
            AlterStep::Action(AlterAction::AddForeignKey(key)) => !is_of_column(&key.columns),
            _ => true,
        });
    }
}
