//! The engine as the layers above see it: [`Engine`] and [`Worker`], both object-safe, and [`open`], the only
//! list of protocols.
//!
//! A [`Worker`] drives one transaction at a time through its life: it runs procedures in it, appends its log
//! record, releases its locks (precommitted), and hands out the [`Durability`] that the answer must wait for.
//! Code that is generic over the protocol ends in this file. Each call of a worker is one virtual call, and
//! no virtual call happens per row.
//!
//! Files:
//! * a worker's work: `call` (calls, as commands or as data), `schema_work` (DDL), `publication` (what else
//!   a commit shows), `names` (what an answer that rests on names must wait for);
//! * in the background and at a stop: `janitor` (cleaning up), `followers` (of a restart that goes on),
//!   `unlogged_draws` (numbers of sequences);
//! * `statistics`: figures for operators; `copy`: the state of a database in a new one, for salvage.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hyades_types::definition::{DatabaseId, TableName};
use hyades_types::environment::Environment;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory::Limits;
use parking_lot::Mutex;

use crate::catalog::{Overlay, capture};
use crate::checkpoint::Checkpointer;
use crate::checkpoint::load::Loaded;
use crate::config::{Config, ProtocolKind};
use crate::disk::{LEAST_SECTOR_BYTES, SECTOR_BYTES, restrict};
use crate::local_arc::LocalArc;
use crate::log::BACKLOG_BYTES;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::{Manifest, check_configuration, lock_data_directory};
use crate::lsn::{Lsn, TransactionPlace};
use crate::mutant::{self, Mutant};
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::procedure::frame::{Frame, RowSink};
use crate::procedure::interpret;
use crate::protocol::list::{self, WithProtocol, with_protocol};
use crate::protocol::{AppendProgress, Protocol};
use crate::recovery::{
    Digester, RecoveryReport, RestartStatus, Restarted, Restarting, remove_foreign_digests, restart,
};
use crate::storage::catalog::Catalog;
use crate::storage::databases::Databases;
use crate::storage::stored_routine::Routine;
use crate::storage::table::Table;
use crate::ticket::Ticket;
use crate::txn::{CommitStep, Control, Ending, Transaction, Transactions};

mod call;
mod copy;
mod followers;
mod janitor;
mod names;
mod publication;
mod schema_work;
mod statistics;
mod unlogged_draws;

pub use self::call::{ARGUMENTS_DRAW, Logging, LoggingChoice};
use self::call::{Call, check_routine, choose, encode_head};
pub use self::copy::{UnfinishedCopy, begin_copy, create_copy};
use self::followers::followers;
use self::janitor::Janitor;
use self::names::NamesDurability;
use self::publication::Publication;
pub use self::schema_work::Schema;
pub use self::statistics::{EngineStatistics, LogStatistics};
use self::unlogged_draws::log_unlogged;
pub use crate::catalog::SeenDatabase;
pub use crate::checkpoint::{CheckpointRequest, CheckpointStatus};
pub use crate::txn::{Flow, Interrupt, Isolation, Savepoint, TableLock, Waiting};

/// One open database.
pub trait Engine: Send + Sync {
    /// A worker for one session in [`DatabaseId::FIRST`]. Cheap: any number may exist, and a worker may move
    /// between threads.
    fn worker(&self) -> Box<dyn Worker>;
    /// A worker in this database; `None` if it does not exist.
    fn worker_in(&self, database: DatabaseId) -> Option<Box<dyn Worker>>;
    /// The committed databases, each with its catalog.
    fn databases(&self) -> &Arc<Databases>;
    /// The committed table of this name in [`DatabaseId::FIRST`].
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.databases().first().by_name(name)
    }
    /// The committed tables of all databases, by name.
    fn tables(&self) -> Vec<Arc<Table>> {
        self.databases().tables()
    }
    /// The committed routines of all databases, by name.
    fn routines(&self) -> Vec<Arc<Routine>> {
        self.databases().routines()
    }
    /// Writes out and syncs what is buffered, then stops the loggers. Transactions that try to commit
    /// afterwards fail.
    fn shutdown(&self) -> Result<()>;
    /// What recovery found when the database was opened. Empty until the restart is complete.
    fn recovery_report(&self) -> RecoveryReport;
    /// How far the restart has come.
    fn restart_status(&self) -> RestartStatus;
    /// `None` if the restart is complete, else a ticket that fires when it is complete or has failed.
    ///
    /// # Errors
    /// The reason why the restart will never be complete. The database is poisoned, or works without the
    /// tables that could not be recovered.
    fn wait_for_restart(&self) -> Result<Option<Ticket>>;
    /// Adds to `answer` what must be durable before a client may be told what names mean. Looking up a name
    /// takes no lock, so the caller calls this after its look-ups (pitfall 7).
    fn wait_for_names(&self, answer: &mut Durability);
    /// Keys whose row is gone and that are still in their index, because their absence must still be seen or
    /// because they have not been purged yet.
    fn tombstones(&self) -> usize;
    /// The numbers ([`Work::lock_owner`]) of the workers whose transactions that of this worker waits for.
    fn blockers(&self, worker: u64) -> Vec<u64>;
    /// How far the logs have come, and what memory is used for.
    fn statistics(&self) -> EngineStatistics;
    /// How much memory the database was given.
    fn memory_limits(&self) -> Limits;
    /// Where temporary files go: the data directory, if it is a directory of the operating system.
    fn temporary_directory(&self) -> Option<Arc<Path>>;
    /// Asks for a checkpoint of what is committed now.
    ///
    /// # Errors
    /// The protocol keeps no logs.
    fn request_checkpoint(&self) -> Result<CheckpointRequest>;
    /// The last checkpoint. `None` without logs.
    fn checkpoint_status(&self) -> Option<CheckpointStatus>;
}

/// What a session needs: transactions, and tables and routines as its transaction sees them.
pub trait Worker: Work + Schema {}

impl<W: Work + Schema> Worker for W {}

/// Runs one transaction at a time.
pub trait Work: Send {
    /// Starts a transaction. None may be open.
    fn begin(&mut self);
    /// Sets how much of other transactions the open transaction sees, before it has read or written anything.
    /// The default is serializable.
    fn isolate(&mut self, isolation: Isolation);
    /// The open transaction cannot be repeated: if it is serializable, it locks what it reads from here on,
    /// under every concurrency control. Fails if what it has read is outdated.
    fn lock_reads(&mut self) -> Flow<()>;
    /// Whether the open transaction reads without locks and its commit may fail for that (40001).
    fn is_checked(&self) -> bool;
    fn in_transaction(&self) -> bool;
    /// Declares that the transaction just begun will be one run of this frame of the routine's procedure
    /// ([`Schema::procedure`]), with the arguments that are in its first registers now, in this environment,
    /// and then commit. So it may be logged as that call. If anything else happens in the transaction, it is
    /// logged as data after all. May give the environment another random state.
    fn begin_call(
        &mut self,
        routine: &Routine,
        frame: &mut Frame,
        environment: &Environment,
        logging: Logging,
    ) -> LoggingChoice;
    /// Runs the frame's procedure from its current position until it returns. Emitted rows go to `sink`,
    /// which must not wait for a client, since locks are held.
    fn run(&mut self, frame: &mut Frame, environment: &mut Environment, sink: &mut dyn RowSink) -> Flow<()>;
    /// Makes the sequences, as the open transaction sees them, visible to the environment's functions. Needed
    /// after the transaction's schema changes, and after its end, before anything is evaluated outside of
    /// [`Work::run`].
    fn show_sequences(&self, environment: &mut Environment);
    /// Puts the numbers that the environment's functions have drawn into the log record of the open
    /// transaction. Needed after anything was evaluated outside of [`Work::run`].
    fn note_draws(&mut self, environment: &mut Environment);
    fn savepoint(&mut self) -> Savepoint;
    /// Undoes everything since the savepoint; a serializable transaction keeps its locks. Also withdraws a
    /// pending wait. An error answer may go out when the returned handle is durable (pitfall 7), because it
    /// reveals what the transaction has seen.
    fn rollback_to(&mut self, savepoint: Savepoint) -> Durability;
    /// Whether a commit would take far less than a quantum, so that it need not run as a guest. The commit
    /// never asks for memory.
    fn commits_soon(&self) -> bool {
        false
    }
    /// The number under which the locks of its transactions are known. It changes after some billion of them.
    fn lock_owner(&self) -> u64;
    /// Whether the open transaction is serializable and another one waits for one of its locks.
    fn is_waited_for(&self) -> bool;
    /// Precommits: appends the log record and releases the locks. The answer may go out when the returned
    /// handle is durable. On `Failed` the transaction is still open and must be rolled back.
    fn commit(&mut self) -> Flow<Durability>;
    /// Undoes everything. Also withdraws a pending wait. The answer may go out when the returned handle is
    /// durable (pitfall 7).
    fn rollback(&mut self) -> Durability;
    /// Declares whether the caller waits for the durability of the next commits before it sends any answer,
    /// and calls [`Work::hasten`] just before. Then no logger is woken for them at once.
    fn promise_to_wait(&mut self, promises: bool);
    /// The caller is about to wait for commits that it has promised to wait for. If no other session waits,
    /// the log is written by the calling thread, which takes as long as the device, mostly less than a
    /// millisecond; otherwise its logger is woken.
    fn hasten(&mut self);
    /// The place of the worker's last transaction that wrote anything. `None` if there is none, or without
    /// logs.
    fn last_commit(&self) -> Option<TransactionPlace>;
}

/// Opens or creates the database in `config.data_directory`: recovers what its logs hold, begins a new
/// incarnation, and starts the protocol. Nothing is written before all existing files have been understood.
/// Without a compiler, which the SQL front end provides, no routine can be run and no logged call replayed.
pub fn open(config: Config, compiler: Option<Arc<dyn RoutineCompiler>>) -> Result<Arc<dyn Engine>> {
    check(&config)?;
    check_configuration(&config)?;
    let directory_lock = lock_data_directory(&config.disk, &config.data_directory)?;
    let Restarting { databases, mut manifest, loaded, restarted } = restart(&config, compiler.as_ref())?;
    restrict(config.disk.as_ref(), &config.data_directory)?;
    remove_foreign_digests(&config, &manifest);
    let start = Start {
        config: &config,
        manifest: &mut manifest,
        schema: (databases, compiler),
        restarted,
        checkpoint: loaded,
        directory_lock,
    };
    with_protocol(config.protocol, start)
}

/// An in-memory database of what a recovery has found, for inspection. Writes to it are not logged, and the
/// databases must have no other user.
///
/// # Errors
/// A thread that cannot be started.
pub fn open_recovered(
    config: &Config,
    databases: Arc<Databases>,
    compiler: Option<Arc<dyn RoutineCompiler>>,
) -> Result<Arc<dyn Engine>> {
    let start = Start {
        config,
        manifest: &mut Manifest::create(),
        restarted: Restarted::already(&databases),
        schema: (databases, compiler),
        checkpoint: None,
        directory_lock: Box::new(()),
    };
    with_protocol(ProtocolKind::None, start)
}

/// What a database is built from, once it is known what its logs hold.
struct Start<'a> {
    config: &'a Config,
    manifest: &'a mut Manifest,
    schema: (Arc<Databases>, Option<Arc<dyn RoutineCompiler>>),
    restarted: Restarted,
    checkpoint: Option<Loaded>,
    directory_lock: Box<dyn Send + Sync>,
}

impl WithProtocol for Start<'_> {
    type Output = Result<Arc<dyn Engine>>;

    fn with<P: Protocol>(self) -> Self::Output {
        let protocol = Arc::new(P::start(self.config, self.manifest)?);
        let Start { config, schema, restarted, checkpoint, directory_lock, .. } = self;
        type Open<P> = Database<P, Transactions<P>>;
        Ok(Arc::new(Open::new(protocol, schema, config, (restarted, checkpoint), directory_lock)?))
    }
}

/// Refuses settings that make no sense, before anything is touched.
fn check(config: &Config) -> Result<()> {
    let refuse = |message: String| Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    list::check(config)?;
    let sector = SECTOR_BYTES as u64;
    if config.segment_bytes < 64 * sector || !config.segment_bytes.is_multiple_of(sector) {
        return refuse(format!(
            "the segment size must be a multiple of {sector} bytes and at least {}",
            64 * sector
        ));
    }
    let is_sector =
        |bytes: usize| bytes.is_power_of_two() && (LEAST_SECTOR_BYTES..=SECTOR_BYTES).contains(&bytes);
    if config.log_sector_bytes.is_some_and(|bytes| !is_sector(bytes)) {
        return refuse(format!(
            "a sector of a log must be a power of two from {LEAST_SECTOR_BYTES} to {SECTOR_BYTES} bytes"
        ));
    }
    if !config.log_buffer_bytes.is_power_of_two() || config.log_buffer_bytes < 1 << 16 {
        return refuse("the log buffer size must be a power of two and at least 64 KiB".to_owned());
    }
    Ok(())
}

/// The implementation of [`Engine`].
struct Database<P: Protocol, C: Control<P>> {
    protocol: Arc<P>,
    databases: Arc<Databases>,
    control: Arc<C>,
    compiler: Option<Arc<dyn RoutineCompiler>>,
    restarted: Arc<Restarted>,
    memory: Limits,
    temporary: Option<Arc<Path>>,
    janitor: Mutex<Option<Janitor>>,
    /// For a protocol with logs.
    checkpointer: Option<Checkpointer>,
    /// For such a protocol, if restarts are on demand.
    digester: Option<Digester>,
    next_worker: AtomicUsize,
    is_shut_down: AtomicBool,
    names: Arc<NamesDurability>,
    /// Released when the last user of the database is gone.
    _directory_lock: Box<dyn Send + Sync>,
}

impl<P: Protocol, C: Control<P>> Database<P, C> {
    fn new(
        protocol: Arc<P>,
        (databases, compiler): (Arc<Databases>, Option<Arc<dyn RoutineCompiler>>),
        config: &Config,
        (restarted, checkpoint): (Restarted, Option<Loaded>),
        directory_lock: Box<dyn Send + Sync>,
    ) -> Result<Database<P, C>> {
        restarted.let_in(followers(protocol.logs()))?;
        let restarted = Arc::new(restarted);
        let control = Arc::new(C::new(Arc::clone(&protocol), config));
        let janitor = Mutex::new(Some(Janitor::start(control.caretaker())?));
        let checkpointer = match protocol.logs() {
            None => None,
            Some(logs) => {
                let (captured, committed) = (Arc::clone(&control), Arc::clone(&databases));
                let capture = Box::new(move |raised: &mut dyn FnMut(), settled: &mut dyn FnMut()| {
                    capture(&*captured, &committed, raised, settled)
                });
                let (found, target) = (Arc::clone(&restarted), config.recovery_target);
                let rate = move || {
                    let report = found.report();
                    if let Some(target) = target.filter(|target| report.misses(*target)) {
                        let (loading, target) = (report.checkpoint_seconds, target.as_secs_f64());
                        tracing::warn!(
                            "a restart within {target} s cannot be met: loading the checkpoint alone took {loading:.1} s"
                        );
                    }
                    report.replay_speed()
                };
                let opening = Arc::clone(&databases);
                Some(Checkpointer::start(config, logs, capture, checkpoint, (opening, Box::new(rate)))?)
            }
        };
        let digester = protocol.logs().map(|logs| Digester::start(config, logs)).transpose()?.flatten();
        Ok(Database {
            protocol,
            databases,
            control,
            compiler,
            restarted,
            memory: config.memory,
            temporary: config.data_directory.is_dir().then(|| Arc::from(config.data_directory.as_path())),
            janitor,
            checkpointer,
            digester,
            next_worker: AtomicUsize::new(0),
            is_shut_down: AtomicBool::new(false),
            names: Arc::default(),
            _directory_lock: directory_lock,
        })
    }

    fn worker_of(&self, database: DatabaseId, catalog: Arc<Catalog>) -> Box<dyn Worker> {
        Box::new(DatabaseWorker {
            watch: self.protocol.watch(),
            protocol: Arc::clone(&self.protocol),
            transaction: self.control.transaction(),
            overlay: Overlay::new(Arc::clone(&self.databases), database, catalog),
            compiler: self.compiler.clone(),
            names: Arc::clone(&self.names),
            restarted: Arc::clone(&self.restarted),
            number: self.next_worker.fetch_add(1, Ordering::Relaxed),
            gave_way_at: Lsn::ZERO,
            calls: 0,
            is_open: false,
            call: None,
            head: Vec::new(),
            append: AppendProgress::default(),
        })
    }
}

impl<P: Protocol, C: Control<P>> Engine for Database<P, C> {
    fn worker(&self) -> Box<dyn Worker> {
        self.worker_of(DatabaseId::FIRST, Arc::clone(self.databases.first()))
    }

    fn worker_in(&self, database: DatabaseId) -> Option<Box<dyn Worker>> {
        Some(self.worker_of(database, self.databases.catalog(database)?))
    }

    fn databases(&self) -> &Arc<Databases> {
        &self.databases
    }

    fn shutdown(&self) -> Result<()> {
        if self.is_shut_down.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.restarted.stop();
        if let Some(janitor) = self.janitor.lock().take() {
            janitor.stop();
        }
        if let Some(checkpointer) = &self.checkpointer {
            checkpointer.stop();
        }
        if let Some(digester) = &self.digester {
            digester.stop();
        }
        if let Err(error) = log_unlogged(&*self.protocol, &self.databases) {
            // The database is poisoned, or its logs are full: the same as after a crash.
            tracing::warn!(%error, "numbers drawn by transactions that did not commit may be drawn again");
        }
        self.protocol.shutdown()
    }

    fn recovery_report(&self) -> RecoveryReport {
        self.restarted.report()
    }

    fn restart_status(&self) -> RestartStatus {
        self.restarted.status()
    }

    fn wait_for_restart(&self) -> Result<Option<Ticket>> {
        self.restarted.wait()
    }

    fn wait_for_names(&self, answer: &mut Durability) {
        self.names.add_to(answer);
    }

    fn tombstones(&self) -> usize {
        self.control.tombstones()
    }

    fn blockers(&self, worker: u64) -> Vec<u64> {
        self.control.blockers(worker)
    }

    fn statistics(&self) -> EngineStatistics {
        let versions = self.control.version_bytes();
        EngineStatistics::of(self.protocol.logs(), &self.databases, versions)
    }

    fn memory_limits(&self) -> Limits {
        self.memory
    }

    fn temporary_directory(&self) -> Option<Arc<Path>> {
        self.temporary.clone()
    }

    fn request_checkpoint(&self) -> Result<CheckpointRequest> {
        let checkpointer = self.checkpointer.as_ref().ok_or_else(|| {
            let message =
                format!("the protocol {} keeps nothing that a checkpoint could stand for", P::KIND.name());
            Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })?;
        Ok(checkpointer.request())
    }

    fn checkpoint_status(&self) -> Option<CheckpointStatus> {
        self.checkpointer.as_ref().map(Checkpointer::status)
    }
}

impl<P: Protocol, C: Control<P>> Drop for Database<P, C> {
    fn drop(&mut self) {
        if let Err(error) = self.shutdown() {
            tracing::error!(%error, "the database did not shut down cleanly");
        }
    }
}

/// The implementation of [`Worker`].
struct DatabaseWorker<P: Protocol, T: Transaction<P>> {
    protocol: Arc<P>,
    watch: LocalArc<DurableWatch>,
    transaction: T,
    overlay: Overlay,
    compiler: Option<Arc<dyn RoutineCompiler>>,
    names: Arc<NamesDurability>,
    restarted: Arc<Restarted>,
    /// Chooses the log, so that sessions are spread evenly.
    number: usize,
    /// How far its log was filled when the worker last gave way.
    gave_way_at: Lsn,
    is_open: bool,
    /// The call that the open transaction consists of, and the bytes with which its log record begins.
    call: Option<Call>,
    head: Vec<u8>,
    /// The number of the last call.
    calls: u64,
    /// How far an attempt to commit that has to wait has come.
    append: AppendProgress,
}

impl<P: Protocol, T: Transaction<P>> DatabaseWorker<P, T> {
    /// An interrupted COMMIT is not continued: if the transaction commits anything instead, that is appended
    /// from its beginning.
    fn give_up_commit(&mut self) {
        if !mutant::is_active(Mutant::FragmentsOfAnother) {
            self.append.reset();
        }
    }

    /// The caller goes on without waiting for the last commit.
    #[inline]
    fn tell_logger(&mut self) {
        if let (Some(log), Some(logs)) = (self.append.take_untold(), self.protocol.logs()) {
            logs.ring(log);
        }
    }

    fn log_as_data(&mut self) {
        self.call = None;
        self.transaction.log_as_data();
    }

    /// Offers the processor to the loggers now and then, when they lag behind. Where every processor has a
    /// busy worker, they would otherwise get their turn only by time slices, of 100 ms under real-time
    /// scheduling, and locks would keep traces for as long.
    fn give_way(&mut self) {
        if let Some(filled) = self.protocol.backlog(self.number)
            && filled.0 - self.gave_way_at.0 >= BACKLOG_BYTES
        {
            self.gave_way_at = filled;
            crate::sync::yield_now();
        }
    }
}

impl<P: Protocol, T: Transaction<P>> Work for DatabaseWorker<P, T> {
    fn begin(&mut self) {
        assert!(!self.is_open, "a worker runs one transaction at a time");
        self.tell_logger();
        self.transaction.begin();
        self.is_open = true;
        self.call = None;
    }

    fn isolate(&mut self, isolation: Isolation) {
        assert!(self.is_open, "a transaction has a level");
        self.transaction.isolate(isolation);
    }

    fn lock_reads(&mut self) -> Flow<()> {
        self.transaction.lock_reads()
    }

    fn is_checked(&self) -> bool {
        self.transaction.is_checked()
    }

    fn in_transaction(&self) -> bool {
        self.is_open
    }

    fn begin_call(
        &mut self,
        routine: &Routine,
        frame: &mut Frame,
        environment: &Environment,
        logging: Logging,
    ) -> LoggingChoice {
        assert!(self.is_open, "a call is a transaction");
        let procedure = &frame.procedure;
        let choice = choose::<P>(logging, procedure);
        if choice != LoggingChoice::Command {
            return choice;
        }
        if environment.sequences.borrow().has_draws() {
            return LoggingChoice::Data(ARGUMENTS_DRAW.into());
        }
        if !self.transaction.is_serializable() && !mutant::is_active(Mutant::CommandsAtAnyLevel) {
            return LoggingChoice::Data("it is not serializable".into());
        }
        let check = || check_routine(routine, procedure, self.overlay.catalog());
        let arguments = &frame.registers[..procedure.parameters.len()];
        let begun = encode_head(&mut self.head, routine, &procedure.replay, arguments, environment)
            .and_then(|from| self.transaction.begin_command(check, &self.head).map(|()| from));
        match begun {
            Ok(from) => {
                self.calls += 1;
                frame.declared = self.calls;
                self.call = Some(Call::new(frame, from));
            }
            Err(reason) => return LoggingChoice::Data(reason.into()),
        }
        LoggingChoice::Command
    }

    fn run(&mut self, frame: &mut Frame, environment: &mut Environment, sink: &mut dyn RowSink) -> Flow<()> {
        assert!(self.is_open, "a procedure runs inside a transaction");
        if let Some(call) = &mut self.call
            && !call.admits(frame, &self.head)
        {
            self.log_as_data();
        }
        self.show_sequences(environment);
        self.transaction.resume_statement();
        let worked = guest::worked();
        let Self { overlay, transaction, .. } = self;
        let mut undo = |transaction: &mut T, savepoint, environment: &mut Environment| {
            overlay.undo_to(savepoint, transaction);
            environment.sequences.get_mut().own = overlay.own_sequences();
        };
        let mut outcome = interpret::run(transaction, frame, environment, sink, &mut undo);
        if matches!(outcome, Err(Interrupt::Failed(Error::Input(_))))
            && let Err(outdated) = self.transaction.check_reads()
        {
            outcome = Err(outdated.into());
        }
        let goes_on = |stop: &Interrupt| {
            matches!(stop, Interrupt::Failed(Error::Abort(Abort::Suspended)) | Interrupt::Wait(_))
        };
        if !outcome.as_ref().is_err_and(goes_on) {
            self.transaction.end_statement();
        }
        self.note_draws(environment);
        if let Some(call) = &mut self.call {
            call.worked += guest::worked().wrapping_sub(worked);
            match outcome {
                Ok(()) if call.worked > 0 && call.is_dear(self.transaction.savepoint().changes) => {
                    self.log_as_data();
                }
                Ok(()) => call.has_returned = true,
                Err(Interrupt::Wait(_)) => {}
                // What follows is no longer the call: the transaction may be rolled back in part and then
                // committed.
                Err(Interrupt::Failed(_)) => self.log_as_data(),
            }
        }
        outcome
    }

    fn show_sequences(&self, environment: &mut Environment) {
        environment.sequences.get_mut().own = self.overlay.own_sequences();
    }

    fn note_draws(&mut self, environment: &mut Environment) {
        let sequences = environment.sequences.get_mut();
        if sequences.has_draws() {
            let draws = sequences.take_draws();
            self.log_as_data();
            self.overlay.note_draws(draws, &mut self.transaction);
        }
    }

    fn savepoint(&mut self) -> Savepoint {
        self.transaction.savepoint()
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Durability {
        self.give_up_commit();
        self.log_as_data();
        self.overlay.undo_to(savepoint, &mut self.transaction);
        self.protocol.durability(&self.watch, self.transaction.seen())
    }

    fn commits_soon(&self) -> bool {
        self.overlay.is_empty() && self.transaction.commits_soon()
    }

    fn lock_owner(&self) -> u64 {
        self.transaction.worker()
    }

    fn is_waited_for(&self) -> bool {
        self.is_open && self.transaction.is_waited_for()
    }

    fn commit(&mut self) -> Flow<Durability> {
        assert!(self.is_open, "only an open transaction commits");
        if self.call.as_ref().is_some_and(|call| !call.has_returned) {
            self.log_as_data();
        }
        let sequences = self.overlay.sequence_states();
        let ending = Ending { sequences: &sequences, is_barrier: self.overlay.is_shared() };
        let Self { transaction, protocol, watch, names, overlay, append, .. } = self;
        let mut publication = Publication {
            protocol: &**protocol,
            watch,
            names,
            overlay,
            has_written: false,
            mark: Box::default(),
        };
        let step = CommitStep { worker: self.number, ending, progress: append };
        transaction.commit(step, &mut publication)?;
        let has_written = publication.has_written;
        self.overlay.end();
        if has_written
            && let Some(work) = self.call.as_ref().map(|call| call.worked).filter(|work| *work > 0)
            && let Some(logs) = self.protocol.logs()
        {
            logs.note_work(work);
        }
        self.is_open = false;
        self.restarted.note_commit();
        self.give_way();
        Ok(self.protocol.durability(&self.watch, self.transaction.dependencies()))
    }

    fn rollback(&mut self) -> Durability {
        self.append.reset();
        self.overlay.undo(&mut self.transaction);
        self.transaction.rollback();
        self.overlay.end();
        self.is_open = false;
        self.protocol.durability(&self.watch, self.transaction.dependencies())
    }

    fn promise_to_wait(&mut self, promises: bool) {
        self.append.be_quiet(promises);
    }

    fn hasten(&mut self) {
        if let (Some(log), Some(logs)) = (self.append.take_untold(), self.protocol.logs())
            && !logs.write_if_alone(log)
        {
            logs.ring(log);
        }
    }

    fn last_commit(&self) -> Option<TransactionPlace> {
        let (log, end) = self.append.last()?;
        let incarnation = self.protocol.logs()?.manifest().incarnations.last()?.number;
        Some(TransactionPlace { incarnation, log, end })
    }
}

impl<P: Protocol, T: Transaction<P>> Drop for DatabaseWorker<P, T> {
    /// A session that ends in the middle of a transaction leaves nothing of it. What it has committed is
    /// written.
    fn drop(&mut self) {
        if self.is_open {
            self.rollback();
        }
        self.tell_logger();
    }
}
