//! The rights that the user who runs a statement needs: collected while it is bound, checked when it runs.
//!
//! Rights on the tables of a view are checked for the view's owner, those on the tables of a routine for its
//! caller: all of them when it is called, also those that only a branch not taken needs.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::access::{NeededRight, ObjectKind, Privileges, denied};
use hyades_types::definition::{RoutineDefinition, RoutineId, RoutineKind, SequenceId};
use hyades_types::error::Result;
use hyades_types::text::{DateStyles, Reading};

use super::{Binder, Place, SchemaGate};
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
        let word = definition.word();
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

    /// Fails if a schema has been refused.
    pub(crate) fn check_schemas(&self) -> Result<()> {
        self.context.gate.map_or(Ok(()), SchemaGate::check)
    }

    /// Refuses to copy the definition of a table that the user may not read.
    pub(crate) fn check_readable(&self, table: &Arc<Table>) {
        let Some(gate) = self.context.gate else { return };
        if !gate.caller.may_read(table.id().0) {
            let definition = table.definition();
            gate.refuse(denied(definition.word(), &definition.name.name));
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

    /// Binds a text that is kept in the catalog, such as a default. Its names were looked up when it was
    /// written, and have their schemas since then.
    pub(crate) fn of_kept<T>(&mut self, bind: impl FnOnce(&mut Self) -> T) -> T {
        let was_kept = std::mem::replace(&mut self.is_kept, true);
        let bound = bind(self);
        self.is_kept = was_kept;
        bound
    }

    /// The settings by which literals are read. Those of kept texts are spelled so that the default styles of
    /// dates give their meaning.
    pub(crate) fn reading(&self) -> Reading<'_> {
        let mut reading = self.context.reading();
        if self.is_kept || !self.expanding.is_empty() {
            reading.styles = DateStyles::default();
        }
        reading
    }

    /// Rights on a schema that is written explicitly. Not in the query of a view and other kept texts, whose
    /// names were looked up when they were written.
    pub(crate) fn need_schema(&self, name: &str, place: Place) {
        if !self.expanding.is_empty() || self.is_kept {
            return;
        }
        let Some(id) = self.context.tables.schema(name) else { return };
        if let Some(gate) = self.context.gate.filter(|gate| !gate.admits(id)) {
            gate.refuse(self.place(denied("schema", name), place));
        }
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
