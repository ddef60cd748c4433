//! The rights that the user who runs a statement needs: collected while it is bound, checked when it runs.
//!
//! Rights on the tables of a view are checked for the view's owner, those on the tables of a routine for its
//! caller: all of them when it is called, also those that only a branch not taken needs.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::access::{NeededRight, ObjectKind, Privileges};
use hyades_types::definition::{RoutineDefinition, RoutineId, RoutineKind, SequenceId};

use super::Binder;
use crate::system::relation;

impl Binder<'_> {
    fn need(&self, needed: NeededRight) {
        let mut rights = self.rights.borrow_mut();
        let same = |known: &&mut NeededRight| {
            (known.object, known.kind, known.owner_of) == (needed.object, needed.kind, needed.owner_of)
        };
        match rights.iter_mut().find(same) {
            Some(known) => known.privileges = known.privileges | needed.privileges,
            None => rights.push(needed),
        }
    }

    /// Rights on a table or view that is named where names are looked up now.
    pub(crate) fn need_on_table(&self, table: &Arc<Table>, privileges: Privileges) {
        self.need_of(table, privileges, self.expanding.last().map(|view| view.0));
    }

    fn need_of(&self, table: &Arc<Table>, privileges: Privileges, owner_of: Option<u32>) {
        let definition = table.definition();
        let word = if definition.view.is_some() { "view" } else { "table" };
        self.need(NeededRight {
            object: table.id().0,
            kind: ObjectKind::Relation,
            privileges,
            word,
            name: definition.name.name.clone(),
            owner_of,
        });
    }

    /// Rights on a table or view whose rows are changed, and on everything underneath the view.
    pub(crate) fn need_to_change(&self, table: &Arc<Table>, privileges: Privileges) {
        self.need_on_table(table, privileges);
        let mut above = Arc::clone(table);
        loop {
            let definition = above.definition();
            let base = definition.view().and_then(|view| view.base.as_ref());
            let Some(below) = base.and_then(|base| self.context.tables.by_id(base.relation)) else { return };
            self.need_of(&below, privileges, Some(above.id().0));
            above = below;
        }
    }

    pub(crate) fn need_sequence(&self, id: SequenceId, name: &str) {
        self.need(NeededRight {
            object: id.0,
            kind: ObjectKind::Sequence,
            privileges: Privileges::SELECT,
            word: "sequence",
            name: name.to_owned(),
            owner_of: self.expanding.last().map(|view| view.0),
        });
    }

    /// Rights on a relation of the catalog whose contents are not public.
    pub(crate) fn need_catalog(&self, oid: u32, name: &str) {
        if relation::is_secret(name) {
            self.need(NeededRight {
                object: oid,
                kind: ObjectKind::Relation,
                privileges: Privileges::SELECT,
                word: if name == "pg_shadow" { "view" } else { "table" },
                name: name.to_owned(),
                owner_of: None,
            });
        }
    }

    /// The right to call a routine: PostgreSQL checks the user who runs the statement, also inside a view.
    pub(crate) fn need_to_call(&self, id: RoutineId, definition: &RoutineDefinition) {
        let word = if definition.kind == RoutineKind::Procedure { "procedure" } else { "function" };
        self.need(NeededRight {
            object: id.0,
            kind: ObjectKind::Routine,
            privileges: Privileges::EXECUTE,
            word,
            name: definition.name.name.clone(),
            owner_of: None,
        });
    }

    /// Rights on a schema that is written explicitly. Not in the query of a view, whose names were looked up
    /// when it was created.
    pub(crate) fn need_schema(&self, name: &str) {
        if !self.expanding.is_empty() {
            return;
        }
        let Some(id) = self.context.tables.schema(name) else { return };
        self.need(NeededRight {
            object: id.0,
            kind: ObjectKind::Schema,
            privileges: Privileges::USAGE,
            word: "schema",
            name: name.to_owned(),
            owner_of: None,
        });
    }
}
