//! From a stored routine to the procedure that runs.
//!
//! The engine has no SQL text: the front end gives it a [`RoutineCompiler`] when it opens or recovers a
//! database, for sessions and for recovery, which compiles the same source again to replay logged calls. A
//! compiled procedure belongs to one version of the catalog and is kept with the routine until the catalog
//! changes; a transaction that has changed the catalog itself compiles for itself.

use std::sync::Arc;

use hyades_types::definition::RoutineDefinition;
use hyades_types::error::{Error, Result, sqlstate};

use super::ir::{Callee, Procedure};
use crate::storage::stored_routine::Routine;

pub use crate::storage::catalog::CatalogView;

/// Turns source text into procedures. Must give the same procedure for the same definition and catalog:
/// logged calls are replayed through it.
pub trait RoutineCompiler: Send + Sync {
    fn compile(&self, routine: &RoutineDefinition, catalog: &dyn CatalogView) -> Result<Procedure>;
}

impl Routine {
    /// The routine compiled for the catalog as `view` shows it.
    pub fn procedure(
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
        let Some(version) = version.filter(|_| !self.is_dropped()) else { return Ok(procedure) };
        let kept = self.keep_compiled(version, Arc::clone(&procedure) as _, |kept| {
            kept.downcast_ref::<Procedure>().is_some_and(Procedure::is_current)
        });
        Ok(kept.downcast().unwrap_or(procedure))
    }

    /// What was compiled under this version of the catalog.
    fn compiled_procedure(&self, catalog_version: u64) -> Option<Arc<Procedure>> {
        self.compiled(catalog_version)?.downcast().ok()
    }

    /// Whether [`Routine::procedure`] would answer this one.
    pub(crate) fn would_run(&self, procedure: &Procedure, view: &dyn CatalogView) -> bool {
        let version = view.catalog_version();
        version.is_some_and(|version| self.is_compiled_as(version, procedure)) && procedure.is_current()
    }
}

impl Procedure {
    /// Whether its tables, and those of what it calls, are still as they were when it was compiled.
    pub fn is_current(&self) -> bool {
        self.tables.iter().all(|used| used.table.version() == used.version && !used.table.is_dropped())
            && self.callees.iter().all(|callee| match callee {
                Callee::Current => true,
                Callee::Procedure { procedure, routine } => !routine.is_dropped() && procedure.is_current(),
            })
    }
}
