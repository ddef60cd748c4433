//! From a stored routine to the procedure that runs.
//!
//! The engine has no SQL text: the front end gives it a [`RoutineCompiler`] when it opens or recovers a
//! database, for sessions and for recovery, which compiles the same source again to replay logged calls. A
//! compiled procedure belongs to one version of the catalog and is kept with the routine until the catalog
//! changes. A transaction that has changed the catalog itself, or reads at a snapshot from before a unique
//! index, compiles its own.

use std::sync::Arc;

use hyades_types::access::Access;
use hyades_types::definition::{RoutineDefinition, RoutineId, TableId, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::sequence::Sequence;

use super::ir::Procedure;
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::Table;

pub use crate::storage::catalog::{CatalogView, Comments, Schemas};
pub use crate::storage::compilations::{Compilation, Compilations};

/// Turns source text into procedures. Must give the same procedure for the same definition and catalog:
/// logged calls are replayed through it.
pub trait RoutineCompiler: Send + Sync {
    fn compile(&self, routine: &RoutineDefinition, catalog: &dyn CatalogView) -> Result<Procedure>;
}

impl Routine {
    /// The routine compiled for the catalog as `view` shows it. Where temporary relations shadow names of the
    /// source, it is compiled for its caller only, each time.
    pub fn procedure(
        &self,
        compiler: Option<&dyn RoutineCompiler>,
        view: &dyn CatalogView,
    ) -> Result<Arc<Procedure>> {
        let Some(schema) = view.temporary_schema() else { return self.shared_procedure(compiler, view) };
        match (self.shared_procedure(compiler, &Permanent(view)), compiler) {
            // Of a member it is not known whether the rest of its cycle is overshadowed.
            (Ok(procedure), _) if !procedure.is_member && !procedure.is_overshadowed(view, schema) => {
                Ok(procedure)
            }
            (Ok(_), Some(compiler)) => compiler.compile(&self.definition, view).map(Arc::new),
            (Err(error), Some(compiler)) => {
                compiler.compile(&self.definition, view).map(Arc::new).map_err(|_| error)
            }
            (outcome, None) => outcome,
        }
    }

    fn shared_procedure(
        &self,
        compiler: Option<&dyn RoutineCompiler>,
        view: &dyn CatalogView,
    ) -> Result<Arc<Procedure>> {
        let version = view.catalog_version();
        if let Some(version) = version
            && let Some(procedure) = self.compiled_procedure(version)
            && procedure.is_current()
        {
            return Ok(procedure);
        }
        let compiler = compiler.ok_or_else(|| {
            let message = format!(
                "{} {} cannot be run: this program has no compiler for routines",
                self.definition.kind.word(),
                self.definition.signature()
            );
            Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
        })?;
        let procedure = Arc::new(compiler.compile(&self.definition, view)?);
        let is_kept = !self.is_dropped() && !procedure.is_member;
        let Some(version) = version.filter(|_| is_kept) else { return Ok(procedure) };
        let kept = self.keep_compiled(version, Arc::clone(&procedure) as _, |kept| {
            kept.downcast_ref::<Procedure>().is_some_and(Procedure::is_current)
        });
        Ok(kept.downcast().unwrap_or(procedure))
    }

    /// The procedure that was compiled under this version of the catalog.
    fn compiled_procedure(&self, catalog_version: u64) -> Option<Arc<Procedure>> {
        self.compiled(catalog_version)?.downcast().ok()
    }

    /// Whether [`Routine::procedure`] would return this one.
    pub(crate) fn would_run(&self, procedure: &Procedure, view: &dyn CatalogView) -> bool {
        let version = view.catalog_version();
        version.is_some_and(|version| self.is_compiled_as(version, procedure))
            && procedure.is_current()
            && view.temporary_schema().is_none_or(|schema| !procedure.is_overshadowed(view, schema))
    }
}

/// A catalog without the temporary relations of the session.
struct Permanent<'a>(&'a dyn CatalogView);

impl CatalogView for Permanent<'_> {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.0.table(name)
    }

    fn table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.0.table_by_id(id)
    }

    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        self.0.routine(id)
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.0.routines_named(name)
    }

    fn sequence_named(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.0.sequence_named(name)
    }

    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>> {
        self.0.type_named(name)
    }

    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>> {
        self.0.type_by_id(id)
    }

    fn schemas(&self) -> Arc<Schemas> {
        self.0.schemas()
    }

    fn comments(&self) -> Arc<Comments> {
        self.0.comments()
    }

    fn access(&self) -> Arc<Access> {
        self.0.access()
    }

    fn catalog_version(&self) -> Option<u64> {
        self.0.catalog_version()
    }

    fn old_snapshot(&self) -> Option<u64> {
        self.0.old_snapshot()
    }

    fn compilations(&self) -> &Compilations {
        self.0.compilations()
    }
}

impl Procedure {
    /// Whether temporary relations in this schema have names that it, or something that it calls, uses for
    /// other relations.
    fn is_overshadowed(&self, view: &dyn CatalogView, schema: &str) -> bool {
        let is_taken = |name: &String| {
            let name = TableName { schema: schema.to_owned(), name: name.clone() };
            view.table(&name).is_some() || view.sequence_named(&name).is_some()
        };
        self.open_names.iter().any(is_taken)
            || self.called().any(|called| called.procedure.is_overshadowed(view, schema))
    }

    /// Whether its tables and types, and those of its callees, are still as they were when it was compiled.
    pub fn is_current(&self) -> bool {
        self.tables.iter().all(|used| used.table.version() == used.version && !used.table.is_dropped())
            && self.types.iter().all(|used| !used.is_superseded())
            && self.casts.iter().all(|used| !used.is_dropped())
            && self.called().all(|called| !called.routine.is_dropped() && called.procedure.is_current())
    }
}
