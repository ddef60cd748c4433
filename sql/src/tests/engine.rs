//! The engine under these tests: the real one, without logs, on a simulated disk, and with trouble
//! injected.
//!
//! A single session never waits by itself. [`Trouble`] makes a worker wait every second time, which must
//! not show in the answers to a client.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_engine::config::{Config, ControlKind, ProtocolKind};
use hyades_engine::db::{
    CheckpointRequest, CheckpointStatus, Engine, EngineStatistics, Flow, Interrupt, Isolation, Logging,
    LoggingChoice, Savepoint, Schema, SeenDatabase, TableLock, Waiting, Work, Worker, open,
};
use hyades_engine::log::durable::Durability;
use hyades_engine::lsn::TransactionPlace;
use hyades_engine::procedure::compiled_routine::CatalogView;
use hyades_engine::procedure::frame::{Frame, Request, RowSink};
use hyades_engine::procedure::ir::Procedure;
use hyades_engine::recovery::{RecoveryReport, RestartStatus};
use hyades_engine::storage::catalog::NewId;
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_engine::ticket::{Ticket, ticket};
use hyades_sim::disk::SimulatedDisk;
use hyades_types::definition::{
    CatalogChange, DatabaseId, IndexDefinition, RoutineId, TableDefinition, TableName,
};
use hyades_types::environment::Environment;
use hyades_types::error::{Abort, Error, Result};
use hyades_types::memory::{Keeper, Limits};
use hyades_types::sequence::Sequence;
use hyades_types::value::Value;

/// The trouble to inject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trouble {
    #[default]
    None,
    /// Every second call must wait.
    Waits,
    /// Runs end with a stale plan after they have done their work: the first of each transaction, and then
    /// one more often than before goes well in between.
    StalePlans,
    /// All runs end with a stale plan.
    NothingFits,
    /// `work_mem` is one byte, so that everything that can be is written to files.
    LittleMemory,
    /// None, but under this concurrency control.
    Control(ControlKind),
}

pub(crate) struct TestEngine {
    trouble: Trouble,
    /// Runs of procedures whose first row was made elsewhere.
    pub(crate) offered_rows: Arc<AtomicU64>,
    inner: Arc<dyn Engine>,
}

struct TestWorker {
    trouble: Trouble,
    offered_rows: Arc<AtomicU64>,
    calls: u64,
    /// The number of runs that ended so in the transaction, and of those that went well since the last one.
    stale_runs: u32,
    good_runs: u32,
    is_past_end: bool,
    inner: Box<dyn Worker>,
}

impl TestEngine {
    pub(crate) fn with(trouble: Trouble) -> TestEngine {
        let control = if let Trouble::Control(control) = trouble { control } else { ControlKind::default() };
        let config = Config {
            protocol: ProtocolKind::None,
            control,
            disk: Arc::new(SimulatedDisk::new(1)),
            ..Config::new("/data")
        };
        let inner = open(config, Some(crate::routine_compiler())).expect("an empty disk");
        TestEngine { trouble, offered_rows: Arc::default(), inner }
    }

    fn troubled(&self, inner: Box<dyn Worker>) -> Box<dyn Worker> {
        Box::new(TestWorker {
            trouble: self.trouble,
            offered_rows: Arc::clone(&self.offered_rows),
            calls: 0,
            stale_runs: 0,
            good_runs: 0,
            is_past_end: false,
            inner,
        })
    }
}

impl Engine for TestEngine {
    fn worker(&self) -> Box<dyn Worker> {
        self.troubled(self.inner.worker())
    }
    fn worker_in(&self, database: DatabaseId) -> Option<Box<dyn Worker>> {
        Some(self.troubled(self.inner.worker_in(database)?))
    }
    fn databases(&self) -> &Arc<Databases> {
        self.inner.databases()
    }
    fn shutdown(&self) -> Result<()> {
        self.inner.shutdown()
    }
    fn recovery_report(&self) -> RecoveryReport {
        self.inner.recovery_report()
    }

    fn restart_status(&self) -> RestartStatus {
        self.inner.restart_status()
    }

    fn wait_for_restart(&self) -> Result<Option<Ticket>> {
        self.inner.wait_for_restart()
    }
    fn wait_for_names(&self, answer: &mut Durability) {
        self.inner.wait_for_names(answer);
    }
    fn statistics(&self) -> EngineStatistics {
        self.inner.statistics()
    }

    fn tombstones(&self) -> usize {
        self.inner.tombstones()
    }

    fn blockers(&self, worker: u64) -> Vec<u64> {
        self.inner.blockers(worker)
    }
    fn memory_limits(&self) -> Limits {
        self.inner.memory_limits()
    }

    fn temporary_directory(&self) -> Option<Arc<Path>> {
        self.inner.temporary_directory()
    }

    fn request_checkpoint(&self) -> Result<CheckpointRequest> {
        self.inner.request_checkpoint()
    }

    fn checkpoint_status(&self) -> Option<CheckpointStatus> {
        self.inner.checkpoint_status()
    }
}

impl TestWorker {
    fn wait(&mut self) -> Flow<()> {
        self.calls += 1;
        if self.trouble == Trouble::Waits && self.calls % 2 == 1 {
            let (ticket, signal) = ticket();
            signal.fire();
            return Err(Interrupt::Wait(ticket));
        }
        Ok(())
    }
}

impl Work for TestWorker {
    fn begin(&mut self) {
        self.inner.begin();
    }

    fn isolate(&mut self, isolation: Isolation) {
        self.inner.isolate(isolation);
    }
    fn lock_reads(&mut self) -> Flow<()> {
        self.inner.lock_reads()
    }
    fn is_checked(&self) -> bool {
        self.inner.is_checked()
    }

    fn in_transaction(&self) -> bool {
        self.inner.in_transaction()
    }

    fn begin_call(
        &mut self,
        routine: &Routine,
        frame: &mut Frame,
        environment: &Environment,
        logging: Logging,
    ) -> LoggingChoice {
        self.inner.begin_call(routine, frame, environment, logging)
    }

    fn run(&mut self, frame: &mut Frame, environment: &mut Environment, sink: &mut dyn RowSink) -> Flow<()> {
        self.wait()?;
        if self.trouble == Trouble::LittleMemory {
            environment.work_memory.bytes = 1;
        }
        self.offered_rows.fetch_add(u64::from(frame.has_offered_row()), Ordering::Relaxed);
        let outcome = self.inner.run(frame, environment, sink);
        // A run that has ended a transaction cannot start again.
        self.is_past_end |= matches!(frame.request, Some(Request::EndTransaction { .. }));
        outcome?;
        if self.trouble == Trouble::NothingFits {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        let is_stale = self.trouble == Trouble::StalePlans && self.good_runs >= self.stale_runs;
        if is_stale && !std::mem::take(&mut self.is_past_end) {
            (self.stale_runs, self.good_runs) = (self.stale_runs + 1, 0);
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        self.good_runs += 1;
        Ok(())
    }

    fn show_sequences(&self, environment: &mut Environment) {
        self.inner.show_sequences(environment);
    }

    fn note_draws(&mut self, environment: &mut Environment) {
        self.inner.note_draws(environment);
    }

    fn savepoint(&mut self) -> Savepoint {
        self.inner.savepoint()
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Durability {
        self.inner.rollback_to(savepoint)
    }

    fn commits_soon(&self) -> bool {
        self.inner.commits_soon()
    }

    fn lock_owner(&self) -> u64 {
        self.inner.lock_owner()
    }

    fn is_waited_for(&self) -> bool {
        self.inner.is_waited_for()
    }

    fn commit(&mut self) -> Flow<Durability> {
        self.wait()?;
        (self.stale_runs, self.good_runs) = (0, 0);
        self.inner.commit()
    }

    fn promise_to_wait(&mut self, promises: bool) {
        self.inner.promise_to_wait(promises);
    }

    fn hasten(&mut self) {
        self.inner.hasten();
    }

    fn last_commit(&self) -> Option<TransactionPlace> {
        self.inner.last_commit()
    }
    fn rollback(&mut self) -> Durability {
        self.inner.rollback()
    }
}

impl Schema for TestWorker {
    fn change_catalog(&mut self, change: CatalogChange) -> Flow<()> {
        self.wait()?;
        self.inner.change_catalog(change)
    }

    fn lock_table(&mut self, table: &Arc<Table>, lock: TableLock, waiting: Waiting) -> Flow<()> {
        self.wait()?;
        self.inner.lock_table(table, lock, waiting)
    }

    fn lock_database(&mut self, name: &str) -> Flow<()> {
        self.wait()?;
        self.inner.lock_database(name)
    }

    fn copy_database(&mut self, from: DatabaseId, to: DatabaseId) -> Flow<()> {
        self.wait()?;
        self.inner.copy_database(from, to)
    }

    fn databases(&self) -> Vec<SeenDatabase> {
        self.inner.databases()
    }

    fn is_changed_by_others(&self, table: &Table) -> bool {
        self.inner.is_changed_by_others(table)
    }

    fn outlast_change(&mut self, table: &Table) -> Flow<()> {
        self.inner.outlast_change(table)
    }

    fn build_index(
        &mut self,
        table: &Arc<Table>,
        planned: &Arc<TableDefinition>,
        index: &IndexDefinition,
    ) -> Flow<()> {
        self.wait()?;
        self.inner.build_index(table, planned, index)
    }

    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.inner.table(name)
    }

    fn tables(&self) -> Vec<Arc<Table>> {
        self.inner.tables()
    }

    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        self.inner.routine(id)
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.inner.routines_named(name)
    }

    fn routines(&self) -> Vec<Arc<Routine>> {
        self.inner.routines()
    }

    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>> {
        self.inner.procedure(routine)
    }

    fn would_run(&self, routine: &Routine, procedure: &Procedure) -> bool {
        self.inner.would_run(routine, procedure)
    }

    fn logging_choice(&self, routine: &Routine, logging: Logging) -> LoggingChoice {
        self.inner.logging_choice(routine, logging)
    }

    fn catalog_view(&self) -> &dyn CatalogView {
        self.inner.catalog_view()
    }

    fn new_id(&self, of: NewId) -> u32 {
        self.inner.new_id(of)
    }

    fn set_temporary_schema(&mut self, schema: &str, keeper: Keeper) {
        self.inner.set_temporary_schema(schema, keeper);
    }

    fn forget_temporaries(&mut self) {
        self.inner.forget_temporaries();
    }

    fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.inner.sequences()
    }

    fn types(&self) -> Vec<Arc<StoredType>> {
        self.inner.types()
    }

    fn lock_access(&mut self) -> Flow<()> {
        self.inner.lock_access()
    }

    fn lock_schema(&mut self, name: &str) -> Flow<()> {
        self.inner.lock_schema(name)
    }
}

/// Accepts every answer and keeps none.
pub(super) struct Silent;

impl crate::session::Output for Silent {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
    fn notice(&mut self, _notice: crate::session::Notice) {}
    fn restart(&mut self) {}
}
