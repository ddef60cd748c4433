//! What the logs say of each table, before any of it is replayed: how far they must have been replayed until
//! a table is recovered.
//!
//! A data record names its tables. A call names its routine, and the compiled procedure all tables that it
//! may look at or write. So opening a table after the last call that may use it disturbs no replay of a call.
//! The logs of the incarnation that crashed are read once for this and for the cut (`cut`, `log_summary`);
//! those of earlier ones are read here.
//!
//! A *need* is a position for each log of one incarnation. Everything that concerns a table has been replayed
//! when the watermarks of the replay have passed its need: they pass a record only after it was replayed,
//! which happens only after everything that it depends on. Earlier incarnations have been replayed before.
//!
//! A call that the replay may refuse, because its routine is not there as it ran, must be replayed before
//! transactions are let in: after that, a start must not be refused any more.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use hyades_types::definition::TableId;
use hyades_types::error::Result;
use parking_lot::Mutex;

use super::each_log::for_each_log;
use super::extents::Extents;
use super::last_positions::{Called, Last};
use super::log_summary::{LogSummary, Said};
use super::records::Damaged;
use crate::config::Config;
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::places::log_set;
use crate::log::set::LogSet;
use crate::lsn::{Lsn, LsnVector};
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::protocol::Cut;
use crate::storage::catalog::CatalogView;
use crate::storage::databases::Databases;

/// How far an incarnation must have been replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Its place among the incarnations that are replayed.
    pub(super) incarnation: usize,
    /// For each of its logs.
    pub(super) positions: Vec<u64>,
}

impl Need {
    /// Extends it to cover the other need, too.
    fn join(&mut self, other: &Need) {
        if other.incarnation > self.incarnation {
            self.clone_from(other);
        } else if other.incarnation == self.incarnation {
            for (position, other) in self.positions.iter_mut().zip(&other.positions) {
                *position = (*position).max(*other);
            }
        }
    }
}

/// What the logs hold that are to be replayed.
#[derive(Default)]
pub(super) struct Tail {
    /// For each log of each incarnation, where the records lie that change rows; `None` if it is not known.
    extents: Vec<Vec<Option<Extents>>>,
    tables: HashMap<TableId, Need>,
    calls: HashMap<Called, Need>,
    catalog: Option<Need>,
    sequences: Option<Need>,
}

impl Tail {
    /// Adds what the logs of the incarnation at this place say. It follows those that were added before.
    pub(super) fn add(&mut self, incarnation: usize, said: Vec<Said>) {
        let logs = said.len();
        let (last, extents): (Vec<Last>, _) = said.into_iter().map(|said| (said.last, said.extents)).unzip();
        self.extents.push(extents);
        for (log, last) in last.into_iter().enumerate() {
            let Last { tables, calls, catalog, sequences } = last;
            let need = |end: u64| {
                let mut positions = vec![0; logs];
                positions[log] = end;
                Need { incarnation, positions }
            };
            tables.into_iter().for_each(|(table, end)| raise(&mut self.tables, table, need(end)));
            calls.into_iter().for_each(|(called, end)| raise(&mut self.calls, called, need(end)));
            for (end, into) in [(catalog, &mut self.catalog), (sequences, &mut self.sequences)] {
                if end > 0 {
                    into.get_or_insert_with(|| need(end)).join(&need(end));
                }
            }
        }
    }

    /// Where the records lie that change rows, for each log of each incarnation. `None` if that is not known
    /// of all of them.
    pub(super) fn take_extents(&mut self) -> Option<Vec<Vec<Extents>>> {
        let of_each = |logs: Vec<Option<Extents>>| logs.into_iter().collect();
        std::mem::take(&mut self.extents).into_iter().map(of_each).collect()
    }

    /// What must be replayed before the catalog is recovered and no sequence hands out a number twice; `None`
    /// if the catalog was not changed: then the sequences that were drawn from are already as far as they
    /// were.
    pub(super) fn need_of_catalog(&self) -> Option<Need> {
        let mut need = self.catalog.clone()?;
        if let Some(sequences) = &self.sequences {
            need.join(sequences);
        }
        Some(need)
    }

    /// The calls that may not be replayed as they ran, given the catalog as it is.
    pub(super) fn doubtful_calls(
        &self,
        databases: &Databases,
        compiler: Option<&dyn RoutineCompiler>,
    ) -> Vec<Called> {
        let called = self.calls.keys().copied();
        called.filter(|called| !is_there(*called, databases, compiler)).collect()
    }

    /// What must be replayed until these calls have been.
    pub(super) fn need_of_calls(&self, calls: &[Called]) -> Option<Need> {
        let mut needs = calls.iter().filter_map(|called| self.calls.get(called));
        let mut need = needs.next()?.clone();
        needs.for_each(|other| need.join(other));
        Some(need)
    }

    /// The calls, and the tables that each of them may look at or write, once the catalog is recovered.
    pub(super) fn calls(
        &self,
        databases: &Databases,
        compiler: Option<&dyn RoutineCompiler>,
    ) -> Vec<(Called, Vec<TableId>)> {
        let tables: Vec<TableId> = databases.tables().iter().map(|table| table.id()).collect();
        let tables_of = |(id, _): Called| {
            let procedure = databases.catalog_of_routine(id).and_then(|catalog| {
                let routine = catalog.routine(id)?;
                routine.procedure(compiler, &*catalog).ok()
            });
            // A routine that cannot be compiled any more, or is gone, may use any table.
            let is_used =
                |table: &&TableId| procedure.as_ref().is_none_or(|procedure| procedure.uses_table(**table));
            tables.iter().filter(is_used).copied().collect()
        };
        self.calls.keys().map(|called| (*called, tables_of(*called))).collect()
    }

    /// What must be replayed before each table is recovered.
    pub(super) fn needs_of_tables(&self, calls: &[(Called, Vec<TableId>)]) -> HashMap<TableId, Need> {
        let mut needs = self.tables.clone();
        for (called, tables) in calls {
            if let Some(need) = self.calls.get(called) {
                tables.iter().for_each(|table| raise(&mut needs, *table, need.clone()));
            }
        }
        needs
    }
}

/// Whether the replay finds the routine as it ran (`command`).
pub(super) fn is_there(
    (routine, version_hash): Called,
    databases: &Databases,
    compiler: Option<&dyn RoutineCompiler>,
) -> bool {
    let Some(catalog) = databases.catalog_of_routine(routine).filter(|_| compiler.is_some()) else {
        return false;
    };
    let routine = catalog.routine(routine).filter(|routine| routine.version_hash() == version_hash);
    routine.is_some_and(|routine| routine.procedure(compiler, &*catalog).is_ok())
}

fn raise<K: Eq + Hash>(needs: &mut HashMap<K, Need>, key: K, need: Need) {
    match needs.get_mut(&key) {
        Some(known) => known.join(&need),
        None => drop(needs.insert(key, need)),
    }
}

/// What the logs of an incarnation that has ended say. Raises the sequences that are there.
pub(super) fn read_ended(
    config: &Config,
    manifest: &Manifest,
    incarnation: &Incarnation,
    workers: usize,
    databases: &Arc<Databases>,
) -> Result<Vec<Said>> {
    let cut = Cut::of(incarnation).unwrap_or_else(|| Cut::at(&LsnVector::zero(incarnation.logs), 0));
    let set = log_set(config, manifest, incarnation);
    let summaries = LogSummary::of_each(config, manifest, incarnation, databases)?.into_iter().map(Some);
    let summaries = Mutex::new(summaries.collect::<Vec<_>>());
    let read = move |log: usize| {
        let Some(summary) = summaries.lock()[log].take() else { return Ok(None) };
        Ok(read(set.as_ref(), log, cut.limit.get(log), summary)?.conclude(&cut))
    };
    Ok(for_each_log(incarnation.logs, workers, read)?.into_iter().flatten().collect())
}

/// Reads one log up to its end.
fn read(set: &dyn LogSet, log: usize, end: Lsn, mut summary: LogSummary) -> Result<LogSummary> {
    summary.set_limit(end);
    let mut source = set.source(log, summary.position())?;
    while summary.position() < end {
        let Some(chunk) = source.next_chunk()? else {
            // The files were longer when the manifest was written.
            if let Some(found) = source.end() {
                found.check(end)?;
            }
            let reason = "it is shorter than the manifest says";
            return Err(Damaged::new(summary.position(), reason).in_log_of(set, log));
        };
        summary.take(set, &chunk)?;
        summary.check_limit(set, &chunk)?;
    }
    Ok(summary)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use hyades_types::definition::{
        CatalogChange, Returns, RoutineDefinition, RoutineId, RoutineKind, TableName,
    };
    use hyades_types::error::Result;

    use crate::procedure::compiled_routine::RoutineCompiler;
    use crate::procedure::ir::Procedure;
    use crate::recovery::tail::{Need, Tail, raise};
    use crate::storage::catalog::CatalogView;
    use crate::storage::databases::Databases;

    /// Compiles everything to nothing.
    struct Nothing;

    impl RoutineCompiler for Nothing {
        fn compile(&self, _: &RoutineDefinition, _: &dyn CatalogView) -> Result<Procedure> {
            Ok(Procedure::default())
        }
    }

    #[test]
    fn a_call_is_doubtful_unless_its_routine_is_there_as_it_ran() {
        let definition = RoutineDefinition {
            name: TableName { schema: "public".to_owned(), name: "touch".to_owned() },
            kind: RoutineKind::Procedure,
            parameters: Vec::new(),
            returns: Returns::Nothing,
            language: "test".to_owned(),
            body: String::new(),
            path: None,
            is_strict: false,
            traits: Default::default(),
            uses: None,
            aggregate: None,
            cast: None,
            declared: None,
        };
        let (databases, id) = (Databases::new(), RoutineId(9));
        let create = CatalogChange::CreateRoutine { id, definition, replaces: None };
        databases.apply(&create, &crossbeam_epoch::pin()).unwrap();
        let version_hash = databases.routines()[0].version_hash();
        let (as_it_ran, other) = ((id, version_hash), (id, version_hash ^ 1));
        let gone = (RoutineId(10), version_hash);
        let mut tail = Tail::default();
        for (called, end) in [(as_it_ran, 30), (other, 20), (gone, 10)] {
            raise(&mut tail.calls, called, Need { incarnation: 0, positions: vec![end] });
        }
        let mut doubtful = tail.doubtful_calls(&databases, Some(&Nothing));
        doubtful.sort_unstable();
        let mut expected = vec![other, gone];
        expected.sort_unstable();
        assert_eq!(doubtful, expected);
        assert_eq!(tail.need_of_calls(&doubtful), Some(Need { incarnation: 0, positions: vec![20] }));
        assert_eq!(tail.need_of_calls(&[]), None);
        assert_eq!(tail.doubtful_calls(&databases, None).len(), 3);
    }
}
