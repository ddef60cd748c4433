//! The life of a server process: bind, recover, serve, drain, close.
//!
//! ```text
//! bind the sockets ---> recover ---> print the ready line ---> serve ---> SIGTERM: drain ---> close the database
//!      (57P03 to whoever connects)                                           second signal: end at once
//! ```
//! Two runtimes: the *listening* one, a single thread (the main one) for accepting, handshakes, cancel requests, timers and
//! signals; and the *workers*, on which sessions run in place. Statements may keep all workers computing; what must
//! get through then does not depend on them.
//!
//! Invariants:
//! 1. Sockets are bound before the data directory is touched, so a second server fails without consequences.
//! 2. Nobody gets a session before recovery is complete.
//! 3. The database is closed only after the last session has ended or its time is up.

mod listener;
mod progress;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyades::engine::recovery::RecoveryReport;
use hyades::{Config, Database};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, oneshot};

use self::listener::Listener;
use crate::connection::handshake::{Authentication, Gate};
use crate::connection::stream::ClientStream;
use crate::connection::{self, Client, Handover, Limits};
use crate::registry::{Phase, Registry};
use crate::users::Users;

/// A client has this long to say who it is.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);
/// Clients that may be in their handshake at the same time.
const HANDSHAKES: usize = 1000;
/// Pause after a failed accept (out of file descriptors, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Sessions told to end have this long to do it.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(5);

/// A sentence for the operator: why the server could not start or ended.
pub type Sentence = String;

/// How clients prove who they are, as chosen by the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationKind {
    Trust,
    Scram,
}

/// Everything chosen at start.
pub struct Options {
    pub config: Config,
    /// `hyades.logging` of a session that does not say otherwise.
    pub logging: &'static str,
    /// `host:port`, at least one.
    pub listen: Vec<String>,
    /// Directory for a Unix socket.
    pub socket_directory: Option<PathBuf>,
    /// `None`: SCRAM if there are users, else trust, but then on loopback addresses only.
    pub authentication: Option<AuthenticationKind>,
    pub users: Users,
    pub max_connections: usize,
    /// How long open transactions may take to finish at shutdown.
    pub drain: Duration,
    pub limits: Limits,
    /// Threads that run sessions; 0 means one for each core.
    pub workers: usize,
}

/// What the accept loops share.
struct Shared {
    gate: Gate,
    database: OnceLock<Database>,
    workers: Handle,
    limits: Limits,
    logging: &'static str,
    handshakes: Arc<Semaphore>,
}

/// Runs a server until a signal ends it.
pub fn run(options: Options) -> Result<(), Sentence> {
    let workers = match options.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let build = |mut builder: Builder| -> Result<Runtime, Sentence> {
        builder.enable_all().build().map_err(|error| format!("could not start threads: {error}"))
    };
    let listening = build(Builder::new_current_thread())?;
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).thread_name("hyades-worker");
    let workers = build(builder)?;
    let outcome = listening.block_on(serve(options, workers.handle().clone()));
    workers.shutdown_background();
    outcome
}

async fn serve(mut options: Options, workers: Handle) -> Result<(), Sentence> {
    let listeners = listener::bind(&options.listen, options.socket_directory.as_deref()).await?;
    let reachable =
        listeners.iter().filter_map(Listener::address).find(|address| !address.ip().is_loopback());
    let users = std::mem::take(&mut options.users);
    let authentication = authentication(options.authentication, users, reachable)?;
    let registry = Arc::new(Registry::new(options.max_connections));
    let shared = Arc::new(Shared {
        gate: Gate { registry: Arc::clone(&registry), authentication },
        database: OnceLock::new(),
        workers,
        limits: options.limits,
        logging: options.logging,
        handshakes: Arc::new(Semaphore::new(HANDSHAKES)),
    });
    let mut signals = Signals::new()?;
    let ready_line = listener::ready_line(&listeners);
    let accepting: Vec<_> = listeners
        .into_iter()
        .map(|listener| tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle())
        .collect();

    let database = tokio::select! {
        opened = open_database(options.config) => opened?,
        name = signals.next() => return Err(format!("ended by {name} before recovery was complete")),
    };
    report_recovery(&database.recovery_report());
    // Set once: this is the only place.
    let _ = shared.database.set(database.clone());
    registry.set_phase(Phase::Serving);
    announce(&ready_line);

    let name = signals.next().await;
    tracing::info!(clients = registry.len(), "shutting down because of {name}");
    accepting.iter().for_each(tokio::task::AbortHandle::abort);
    tokio::select! {
        closed = close(&registry, options.drain, database) => closed,
        name = signals.next() => Err(format!("ended at once by {name}")),
    }
}

/// The only thing ever printed to standard output.
fn announce(ready_line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be listening; that is no reason to stop.
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

/// Runs something that blocks, without keeping the process alive for it.
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
    let opened = on_thread(move || Database::open(config)).await;
    if let Some(line) = line {
        line.clear();
    }
    opened?.map_err(|error| error.to_string())
}

fn report_recovery(report: &RecoveryReport) {
    if report.incarnations == 0 {
        return;
    }
    let seconds = report.seconds.max(1e-6);
    tracing::info!(
        "recovered {} transactions ({} rows in {} tables) from {} logs in {:.2} s ({:.0}/s); {} discarded",
        report.transactions,
        report.rows,
        report.tables,
        report.logs,
        report.seconds,
        report.transactions as f64 / seconds,
        report.discarded,
    );
}

fn authentication(
    kind: Option<AuthenticationKind>,
    users: Users,
    reachable: Option<SocketAddr>,
) -> Result<Authentication, Sentence> {
    let scram = |users| Authentication::Scram { users, secret: rand::random() };
    match (kind, users.is_empty(), reachable) {
        (Some(AuthenticationKind::Trust), ..) => Ok(Authentication::Trust),
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
            Ok(stream) => {
                // Beyond this many a flood is more likely than a crowd.
                if let Ok(permit) = Arc::clone(&shared.handshakes).try_acquire_owned() {
                    let shared = Arc::clone(&shared);
                    tokio::spawn(async move {
                        let welcomed =
                            tokio::time::timeout(HANDSHAKE_TIMEOUT, welcome(stream, &shared)).await;
                        drop(permit);
                        if let Ok(Err(error)) = welcomed {
                            tracing::debug!(%error, "client lost in its handshake");
                        }
                    });
                }
            }
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Leads a client through its handshake and hands it to the workers.
async fn welcome(stream: ClientStream, shared: &Shared) -> std::io::Result<()> {
    stream.configure()?;
    let Some(guest) = shared.gate.admit(stream).await? else {
        return Ok(());
    };
    // The gate opens only after the database is there.
    let Some(database) = shared.database.get() else {
        return Ok(());
    };
    let client = Client {
        startup: guest.startup,
        registration: guest.registration,
        unread: guest.unread,
        limits: shared.limits,
        logging: shared.logging,
        timers: Handle::current(),
    };
    let handover = Handover { stream: guest.stream.detach()?, client };
    shared.workers.spawn(connection::serve(database.clone(), handover));
    Ok(())
}

/// The signals that end a server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Signals, Sentence> {
        let listen = |kind| signal(kind).map_err(|error| format!("could not listen for signals: {error}"));
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for one and gives its name.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scram::Verifier;

    #[test]
    fn trust_is_the_default_only_where_nobody_else_can_reach() {
        let users = || {
            let mut users = Users::default();
            users.insert("ada", Verifier::of_password("x"));
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
        assert!(trusts(Some(AuthenticationKind::Scram), Users::default(), None).is_err());
    }
}
