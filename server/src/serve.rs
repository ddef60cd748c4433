//! The life of a server process: bind, recover, serve, drain, close.
//!
//! ```text
//! bind the sockets ---> recover ---> print the ready line ---> serve ---> SIGTERM: drain ---> close the database
//!      (57P03 for clients that connect)                                      second signal: end at once
//! ```
//! The *listening* thread (the main one) accepts, leads clients through their handshakes, and handles cancel
//! requests, timers, HTTP and signals. Sessions run in place on the *workers* ([`workers`]). Statements may
//! keep all workers computing, so nothing that must get through then depends on the workers. [`signals`]
//! defines what signals do, and [`crate::newcomers`] decides which clients may be in a handshake.
//!
//! Files:
//! * `listener`: TCP and Unix sockets; [`workers`]: the threads of sessions; [`signals`]: what signals do;
//! * [`restarting`]: connections while recovery is still running; `progress`: how far it is, on a terminal.
//!
//! A poisoned database ends every connection and refuses new ones with the reason, so that health checks
//! fail. With [`Options::exit_when_poisoned`] the process ends, so that its supervisor starts another.
//!
//! Invariants:
//! 1. Sockets are bound before the data directory is touched, so a second server fails without consequences.
//! 2. No client gets a session before recovery is complete, or lets transactions in earlier ([`restarting`]).
//! 3. The database is closed only after the last session has ended or its time is up.
//! 4. Clients in their handshake, even a thousand of them, never keep another client out.

mod listener;
mod progress;
mod restarting;
mod signals;
mod workers;

use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyades::engine::disk::RealDisk;
use hyades::engine::inspect::Inspection;
use hyades::engine::log::manifest::Manifest;
use hyades::engine::recovery::FAILS_TOO;
use hyades::types::error::FatalError;
use hyades::{Config, Database, sqlstate};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, oneshot};

use self::listener::Listener;
use self::restarting::{report_memory, report_recovery};
use self::signals::Signals;
use self::workers::Workers;
use crate::connection::handshake::{Authentication, Gate, Visitor};
use crate::connection::stream::ClientStream;
use crate::connection::{self, Client, Handover, Limits};
use crate::hang_up::HangUpWatch;
use crate::http;
use crate::logging::seldom::{Seldom, seldom};
use crate::newcomers::{Newcomers, origin};
use crate::registry::{Phase, Registry};
use crate::tls::Tls;
use crate::users::Users;

/// The number of clients that may be in their handshake at the same time.
const HANDSHAKES: usize = 1000;
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The pause after file descriptors ran out. A client in its handshake has been evicted to free one.
const DESCRIPTOR_PAUSE: Duration = Duration::from_millis(5);
/// The minimum that the database and the log need, on top of one for each client.
const OWN_DESCRIPTORS: u64 = 200;
/// If the process ends when the database is poisoned, clients have this long to read why.
const POISONED_PATIENCE: Duration = Duration::from_secs(1);
/// Sessions that were told to end have this long to do so. The database is closed without those that do not:
/// what they have not committed is in no log.
const TERMINATION_TIMEOUT: Duration = Duration::from_millis(900);

/// Threads beyond those that workers and connections may need.
const SPARE_THREADS: usize = 64;
/// Appended to the error when damaged logs are refused.
const SALVAGE_HINT: &str =
    "\"hyades recover --salvage\" makes a new database of what does not depend on the damage";

const PREVIOUS_CHECKPOINT_HINT: &str =
    "\"hyades serve\" begins with the checkpoint before it and replays the logs from there on";

const NO_CHECKPOINT_HINT: &str =
    "put the file back if you have it, or make a database of a backup with \"hyades restore\"";

/// A sentence for the operator that says why the server could not start, or why it ended.
pub type Sentence = String;

/// How clients prove who they are, as chosen by the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationKind {
    Trust,
    Scram,
}

/// All that is chosen at start.
pub struct Options {
    pub config: Config,
    /// Settings of a session that does not choose its own.
    pub settings: Vec<(String, String)>,
    /// `host:port`, at least one.
    pub listen: Vec<String>,
    /// Directory for a Unix socket.
    pub socket_directory: Option<PathBuf>,
    /// `None`: SCRAM if there are users, else trust, but then on loopback addresses only.
    pub authentication: Option<AuthenticationKind>,
    pub users: Users,
    /// `None`: connections are not encrypted.
    pub tls: Option<Tls>,
    /// Clients that connect over TCP without TLS are refused.
    pub requires_tls: bool,
    /// The address at which an operator looks at the server over HTTP.
    pub http: Option<String>,
    pub max_connections: usize,
    /// How many of `max_connections` are reserved for superusers.
    pub superuser_reserved_connections: usize,
    /// The most connections of a role that has no limit of its own and is no superuser.
    pub connections_per_role: Option<usize>,
    /// How long a client with a wrong password waits for the answer.
    pub failed_login_delay: Duration,
    /// A client has this long to prove who it is.
    pub handshake_patience: Duration,
    /// End the process when the database is poisoned.
    pub exit_when_poisoned: bool,
    /// How long open transactions may take to finish at shutdown.
    pub drain: Duration,
    pub limits: Limits,
    /// Threads that run sessions; 0 means one for each core.
    pub workers: usize,
}

/// How a server ended after it had started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to end, and the database is closed.
    Stopped,
    /// The database was poisoned.
    Poisoned,
}

/// What the accept loops share.
struct Shared {
    gate: Arc<Gate>,
    workers: Arc<Workers>,
    limits: Limits,
    settings: Arc<Vec<(String, String)>>,
    newcomers: Arc<Newcomers>,
    hang_ups: Arc<HangUpWatch>,
    connections_per_role: Option<usize>,
}

/// Runs a server until a signal or a poisoned database ends it.
pub fn run(options: Options) -> Result<Ended, Sentence> {
    let workers = match options.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let no_threads = |error: std::io::Error| format!("could not start threads: {error}");
    let listening = Builder::new_current_thread().enable_all().build().map_err(no_threads)?;
    let workers = Workers::start(workers, options.max_connections, SPARE_THREADS).map_err(no_threads)?;
    let workers = Arc::new(workers);
    let outcome = listening.block_on(serve(options, Arc::clone(&workers)));
    workers.shut_down();
    outcome
}

async fn serve(mut options: Options, workers: Arc<Workers>) -> Result<Ended, Sentence> {
    let tls = options.tls.take().map(Arc::new);
    let mut signals = Signals::new(tls.clone())?;
    raise_descriptor_limit(options.max_connections);
    let listeners = listener::bind(&options.listen, options.socket_directory.as_deref()).await?;
    let http = match options.http.take() {
        Some(name) => Some(http::bind(&name).await?),
        None => None,
    };
    let shared = Arc::new(share(&mut options, tls, &listeners, workers)?);
    if let Some((listener, address)) = http {
        tracing::info!("metrics and status are at http://{address}/");
        tokio::spawn(http::serve(listener, Arc::clone(&shared.gate)));
    }
    tokio::spawn(Arc::clone(&shared.workers).keep_polled());
    let registry = Arc::clone(&shared.gate.registry);
    let poisoned = announce_poison(&mut options.config, &registry);
    let ready_line = listener::ready_line(&listeners);
    let accepting: Vec<_> = listeners
        .into_iter()
        .map(|listener| tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle())
        .collect();

    let database = tokio::select! {
        opened = open_database(options.config) => opened?,
        signal = signals.ending() => return Err(format!("ended by {} before recovery was complete", signal.name)),
    };
    if database.restart_status().is_complete {
        report_recovery(&database.recovery_report());
        report_memory(database.memory_limits());
    } else {
        tokio::spawn(restarting::follow(database.clone()));
    }
    shared.gate.introduce(&database);
    // This is the only place that sets it.
    let _ = shared.gate.database.set(database.clone());
    // It may be poisoned already.
    registry.begin_serving();
    announce(&ready_line);

    let signal = tokio::select! {
        signal = signals.ending() => signal,
        () = poisoned.notified(), if options.exit_when_poisoned => {
            tracing::error!("ending because the database is poisoned");
            // Threads of the log may hang on a broken device for ever. Leaking the last owner means that
            // nothing waits for them.
            std::mem::forget(database);
            let _ = tokio::time::timeout(POISONED_PATIENCE, registry.wait_until_empty()).await;
            return Ok(Ended::Poisoned);
        }
    };
    if signal.at_once {
        return Err(format!("ended at once by {}", signal.name));
    }
    tracing::info!(clients = registry.len(), "shutting down because of {}", signal.name);
    accepting.iter().for_each(tokio::task::AbortHandle::abort);
    tokio::select! {
        closed = close(&registry, options.drain, database) => closed.map(|()| Ended::Stopped),
        signal = signals.ending() => Err(format!("ended at once by {}", signal.name)),
    }
}

/// What the accept loops need, from the options.
fn share(
    options: &mut Options,
    tls: Option<Arc<Tls>>,
    listeners: &[Listener],
    workers: Arc<Workers>,
) -> Result<Shared, Sentence> {
    let reachable =
        listeners.iter().filter_map(Listener::address).find(|address| !address.ip().is_loopback());
    let users = std::mem::take(&mut options.users);
    let authentication = authentication(options.authentication, users, reachable)?;
    if matches!(authentication, Authentication::Trust) {
        warn_of_trust(reachable);
    }
    let gate = Arc::new(Gate {
        registry: Arc::new(Registry::new(options.max_connections, options.superuser_reserved_connections)),
        authentication,
        patience: options.handshake_patience,
        failed_login_delay: options.failed_login_delay,
        database: OnceLock::new(),
        tls,
        requires_tls: options.requires_tls,
    });
    let hang_ups = HangUpWatch::start(&gate.registry)
        .map_err(|error| format!("could not start to watch for clients that leave: {error}"))?;
    Ok(Shared {
        gate,
        workers,
        limits: options.limits,
        settings: Arc::new(std::mem::take(&mut options.settings)),
        newcomers: Newcomers::new(HANDSHAKES),
        hang_ups: Arc::new(hang_ups),
        connections_per_role: options.connections_per_role,
    })
}

/// As initdb warns: the operator may not know that passwords are not the default.
fn warn_of_trust(reachable: Option<SocketAddr>) {
    let who = match reachable {
        Some(address) => format!("everybody who reaches {address}"),
        None => "every user of this machine".to_owned(),
    };
    tracing::warn!(
        "authentication is \"trust\": {who} is let in without a password, as the superuser, too; give --user-file \
         or the environment variable HYADES_PASSWORD to ask for passwords"
    );
}

/// Notifies all connections when the database is poisoned. The log already gives the reason.
fn announce_poison(config: &mut Config, registry: &Arc<Registry>) -> Arc<Notify> {
    let poisoned = Arc::new(Notify::new());
    config.on_failure = Some(Arc::new({
        let (registry, poisoned) = (Arc::clone(registry), Arc::clone(&poisoned));
        move |failure: &Arc<FatalError>| {
            registry.fail(failure);
            poisoned.notify_one();
        }
    }));
    poisoned
}

/// Raises the limit on file descriptors as far as this process may, and warns when that is not enough.
fn raise_descriptor_limit(connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let allowed = if raised.is_ok() { limit.maximum } else { limit.current };
    let wanted = connections as u64 + OWN_DESCRIPTORS;
    if let Some(allowed) = allowed.filter(|allowed| *allowed < wanted) {
        tracing::warn!(
            allowed,
            wanted,
            "there may be fewer file descriptors (ulimit -n) than connections need"
        );
    }
}

/// The only thing ever printed to standard output.
fn announce(ready_line: &str) {
    let mut out = std::io::stdout().lock();
    // There may be no reader. That is no reason to stop.
    let _ = writeln!(out, "{ready_line}").and_then(|()| out.flush());
}

async fn close(registry: &Registry, drain: Duration, database: Database) -> Result<(), Sentence> {
    registry.set_phase(Phase::Draining);
    if tokio::time::timeout(drain, registry.wait_until_empty()).await.is_err() {
        tracing::warn!(clients = registry.len(), "ending transactions that are still open");
        registry.set_phase(Phase::Terminating);
        if tokio::time::timeout(TERMINATION_TIMEOUT, registry.wait_until_empty()).await.is_err() {
            tracing::warn!(clients = registry.len(), "some sessions did not end");
        }
    }
    on_thread(move || database.shutdown())
        .await?
        .map_err(|error| format!("the database could not be closed cleanly: {error}"))?;
    tracing::info!("shut down");
    Ok(())
}

/// Runs blocking work on a thread that does not keep the process alive.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Sentence> {
    let (sender, receiver) = oneshot::channel();
    std::thread::Builder::new()
        .name("hyades-database".to_owned())
        // The receiver is gone only when the process is ending.
        .spawn(move || sender.send(work()).is_ok())
        .map_err(|error| format!("could not start threads: {error}"))?;
    receiver.await.map_err(|_| "the thread that opens and closes the database panicked".to_owned())
}

async fn open_database(mut config: Config) -> Result<Database, Sentence> {
    let line = progress::attach(&mut config);
    let data_directory = config.data_directory.clone();
    let opened = on_thread(move || Database::open(config)).await;
    if let Some(line) = line {
        line.clear();
    }
    opened?.map_err(|error| with_hint(&error, &data_directory))
}

/// Why a database in this directory was refused, and what to do about it if anything helps.
pub fn with_hint(error: &hyades::Error, data_directory: &Path) -> Sentence {
    let is_damage = matches!(error.sqlstate(), sqlstate::DATA_CORRUPTED | sqlstate::UNDEFINED_FILE);
    if is_damage && Inspection::open(data_directory).is_ok() {
        let manifest = Manifest::read(&RealDisk, data_directory).ok().flatten();
        let has_earlier = manifest.is_some_and(|manifest| {
            manifest.backup.is_none() && manifest.has_beginning_before_last_checkpoint()
        });
        let sentence = error.to_string();
        let hint = match sentence.contains("checkpoint") {
            false => SALVAGE_HINT,
            true if has_earlier && !sentence.contains(FAILS_TOO) => PREVIOUS_CHECKPOINT_HINT,
            true => NO_CHECKPOINT_HINT,
        };
        return format!("{sentence}\n{hint}");
    }
    error.to_string()
}

fn authentication(
    kind: Option<AuthenticationKind>,
    users: Users,
    reachable: Option<SocketAddr>,
) -> Result<Authentication, Sentence> {
    let scram = |users| Authentication::Scram { users, secret: rand::random() };
    match (kind, users.is_empty(), reachable) {
        (Some(AuthenticationKind::Trust), true, _) => Ok(Authentication::Trust),
        (Some(AuthenticationKind::Trust), false, _) => {
            Err("--auth trust would let in everybody without a password, but there are users with passwords: leave out \
                 --auth trust, or --user-file and the environment variable HYADES_PASSWORD"
                .to_owned())
        }
        (Some(AuthenticationKind::Scram), true, _) => {
            Err("--auth scram lets nobody in without --user-file or the environment variable HYADES_PASSWORD"
                .to_owned())
        }
        (_, false, _) => Ok(scram(users)),
        (None, true, None) => Ok(Authentication::Trust),
        (None, true, Some(address)) => Err(format!(
            "other machines can reach {address}: give --user-file or the environment variable HYADES_PASSWORD, \
             or say --auth trust to let in everybody"
        )),
    }
}

async fn accept(listener: Listener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => welcome(stream, address, &shared),
            Err(error) => {
                static CANNOT_ACCEPT: Seldom = Seldom::new();
                seldom!(warn, CANNOT_ACCEPT, %error, "could not accept a connection");
                let out_of_descriptors =
                    matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE));
                let made_room = out_of_descriptors && shared.newcomers.evict().is_some();
                tokio::time::sleep(if made_room { DESCRIPTOR_PAUSE } else { ACCEPT_PAUSE }).await;
            }
        }
    }
}

/// Begins a client's handshake, if necessary by evicting another client from its own.
fn welcome(stream: ClientStream, address: Option<SocketAddr>, shared: &Arc<Shared>) {
    let (mut newcomer, evicted) = shared.newcomers.enter(origin(address.map(|address| address.ip())));
    if let Some(origin) = evicted {
        static FLOODED: Seldom = Seldom::new();
        let from = origin.map_or("unix socket".to_owned(), |address| address.to_string());
        seldom!(warn, FLOODED, from, "a client lost its place: too many have not completed their handshakes");
    }
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        if let Err(error) = lead_in(stream, address, &shared, newcomer.evicted()).await {
            tracing::debug!(%error, "client lost in its handshake");
        }
    });
}

/// Leads a client through its handshake and hands it to the workers.
async fn lead_in(
    stream: ClientStream,
    address: Option<SocketAddr>,
    shared: &Shared,
    evicted: impl Future<Output = ()>,
) -> std::io::Result<()> {
    stream.configure()?;
    let Some(guest) = shared.gate.admit(stream, Visitor { address }, evicted).await? else {
        return Ok(());
    };
    // The gate opens only after the database is there.
    let Some(database) = shared.gate.database.get() else {
        return Ok(());
    };
    let client = Client {
        startup: guest.startup,
        role: guest.role,
        connections_per_role: shared.connections_per_role,
        registration: guest.registration,
        unread: guest.unread,
        limits: shared.limits,
        settings: Arc::clone(&shared.settings),
        timers: Handle::current(),
        hang_ups: Arc::clone(&shared.hang_ups),
    };
    let handover = Handover { stream: guest.stream.detach()?, client };
    let database = database.clone();
    shared.workers.run(move || connection::serve(database, handover)).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scram::Verifier;

    #[test]
    fn trust_is_the_default_only_on_local_addresses() {
        let users = || {
            let mut users = Users::default();
            users.insert("ada", Verifier::of_password("x"), true);
            users
        };
        let outside = Some("10.0.0.1:5433".parse().unwrap());
        let trusts = |kind, users, reachable| {
            authentication(kind, users, reachable).map(|chosen| matches!(chosen, Authentication::Trust))
        };
        assert_eq!(trusts(None, Users::default(), None), Ok(true));
        assert!(trusts(None, Users::default(), outside).is_err());
        assert_eq!(trusts(None, users(), outside), Ok(false));
        assert_eq!(trusts(None, users(), None), Ok(false));
        assert_eq!(trusts(Some(AuthenticationKind::Trust), Users::default(), outside), Ok(true));
        assert!(trusts(Some(AuthenticationKind::Trust), users(), None).is_err());
        assert!(trusts(Some(AuthenticationKind::Scram), Users::default(), None).is_err());
    }
}
