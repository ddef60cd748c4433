//! One client's conversation, from its first query to its end.
//!
//! ```text
//!        +--> receive ---> process every whole message ---> await durability ---> one write --+
//!        +------------------------------------------------------------------------------------+
//! ```
//! Sessions run in place on the connection's task. Answers collect in one buffer; before it is written the
//! task awaits [`Session::pending_durability`], so nothing leaves that a crash could undo, and a whole batch
//! of pipelined messages costs one wait and one write.
//!
//! Files:
//! * [`handshake`]: before there is a session; [`stream`]: the socket;
//! * [`extended`]: Parse, Bind, Describe, Execute, Close, Sync; `portals`: what they name; [`simple`]: Query;
//!   [`copy_data`]: data of COPY FROM STDIN;
//! * [`oversized`]: messages for which there is no memory;
//! * [`execute`]: running a statement and buffering its rows; `completion`: what its end changes for the
//!   connection; `settings`: those that the client is told of, and timeouts; `slow`: the log of long
//!   statements;
//! * [`wait`]: waiting for a ticket; `turn`: victims of deadlocks wait for each other before they try again;
//! * [`host`]: what happens when a statement computes for long; [`stint`]: what happens when many short ones
//!   do.
//!
//! A future is as large as the largest future it awaits, and is moved once at each level. What happens seldom
//! (waits, texts to be parsed, COPY) is boxed, so that a prepared statement does not carry it along.
//!
//! Invariants:
//! 1. Bytes are written only after the answers in them are durable (architecture invariant 1).
//! 2. While a statement runs, nothing is written to the socket. Results are in memory, so a slow client holds
//!    no locks except those of a transaction that it keeps open itself.
//! 3. After an error of the extended protocol, messages are skipped until Sync; after every Query and every
//!    Sync exactly one ReadyForQuery is sent.
//! 4. However a connection ends, its session is dropped, which rolls back its transaction.

mod completion;
mod copy_data;
mod execute;
mod extended;
pub mod handshake;
mod host;
mod oversized;
mod portals;
mod settings;
mod simple;
mod slow;
mod stint;
pub mod stream;
mod turn;
mod wait;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use hyades::session::{SessionOptions, TransactionStatus};
use hyades::types::access::RoleId;
use hyades::types::memory::Account;
use hyades::types::refusal::{Missing, refused};
use hyades::{Database, Error, Session, sqlstate};
use jiff::tz::TimeZone;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Handle;

use self::host::WorkerHost;
use self::portals::{Portals, Statements};
use self::settings::Timeouts;
use self::stint::Stint;
use self::stream::{ClientStream, DetachedStream};
use self::turn::Turn;
use crate::codec::backend::{self, Severity};
use crate::codec::frontend::{Frame, Message, decode, frame};
use crate::codec::startup::Startup;
use crate::hang_up::HangUpWatch;
use crate::logging::seldom::{Seldom, seldom};
use crate::registry::{Phase, Registration};

/// Bytes to read from the socket at once.
const READ_BYTES: usize = 16 << 10;
/// Buffers larger than this are freed when they are empty.
const KEPT_BUFFER_BYTES: usize = 256 << 10;
/// Once answers exceed this, they are sent at the next Sync without looking for more messages first.
const SEND_BYTES: usize = 256 << 10;

/// Between looks at whether others wait for the locks of a session that has been idle for long.
const BETWEEN_LOOKS_AT_WAITERS: Duration = Duration::from_secs(1);

/// What bounds a connection apart from its memory account.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest message a client may send.
    pub message_bytes: usize,
}

/// A client on its way to a worker.
pub struct Handover {
    pub stream: DetachedStream,
    pub client: Client,
}

/// What a worker needs to know of a client.
pub struct Client {
    pub startup: Startup,
    /// The role that was found in the handshake.
    pub role: RoleId,
    pub connections_per_role: Option<usize>,
    pub registration: Registration,
    pub unread: Vec<u8>,
    pub limits: Limits,
    /// Default settings. The client may override them.
    pub settings: Arc<Vec<(String, String)>>,
    /// A runtime whose timers fire even when all workers compute.
    pub timers: Handle,
    pub hang_ups: Arc<HangUpWatch>,
}

/// Which messages are expected now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Ready,
    /// After an error of the extended protocol.
    SkipToSync,
    /// COPY FROM STDIN is under way.
    CopyIn {
        simple: bool,
    },
}

/// Answers held back until they are durable.
#[derive(Default)]
struct Answers {
    bytes: Vec<u8>,
    /// The client waits for them.
    due: bool,
    /// How many of them are ReadyForQuery messages.
    ready: usize,
}

struct Connection<'a> {
    stream: &'a mut ClientStream,
    session: Session,
    registration: Registration,
    limits: Limits,
    timers: Handle,
    input: Vec<u8>,
    /// The other half of a pair of input buffers: one is being processed while the next fills.
    spare_input: Vec<u8>,
    /// Bytes still to come of a message that was refused.
    unwanted_bytes: usize,
    answers: Answers,
    statements: Statements,
    portals: Portals,
    mode: Mode,
    /// Statements of a simple query that are still to run.
    remaining: VecDeque<(usize, String)>,
    time_zone: TimeZone,
    timeouts: Timeouts,
    closing: bool,
    /// Where the answers of the open implicit transaction begin: they are taken back if it cannot be
    /// committed.
    implicit_start: Option<usize>,
    turn: Turn,
}

/// Serves a client until one side ends it. A panic ends this client only.
pub async fn serve(database: Database, handover: Handover) {
    let Handover { stream, client } = handover;
    let mut stream = match stream.attach() {
        Ok(stream) => stream,
        Err(error) => {
            tracing::warn!(%error, "a connection was lost on its way to the workers");
            return;
        }
    };
    let process_id = client.registration.control().process_id;
    let Startup { user, database: name, .. } = &client.startup;
    tracing::debug!(process_id, user, database = name, "client connected");
    // All memory that the connection takes is on its account: socket buffers, parameters and answers too.
    let account = Arc::new(database.account());
    let conversation = async {
        match Connection::open(&database, &mut stream, client, Arc::clone(&account)).await? {
            Some(connection) => connection.run().await,
            None => Ok(()),
        }
    };
    let survived = survive(conversation, &account).await;
    match survived {
        Some(Ok(())) => {
            // The client may have left already.
            let _ = stream.finish(b"");
            tracing::debug!(process_id, "client disconnected");
        }
        Some(Err(error)) => tracing::debug!(process_id, %error, "client lost"),
        None => {
            let error = Error::input(sqlstate::INTERNAL_ERROR, "internal error, see the server's log");
            let mut out = Vec::new();
            backend::error_response(&mut out, Severity::Fatal, &error, 0);
            // The client may be gone as well. Then nothing can be reported.
            let _ = stream.finish(&out);
            tracing::error!(process_id, "a panic ended the connection");
        }
    }
}

/// Runs a future to its end, at the expense of an account. Returns `None` if it panicked. The panic itself is
/// reported by the panic hook.
async fn survive<F: Future>(future: F, account: &Account) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let output = poll_fn(|context| {
        let entered = account.enter();
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        account.leave(entered);
        match polled {
            Ok(poll) => poll.map(Some),
            Err(_) => std::task::Poll::Ready(None),
        }
    })
    .await;
    // Dropping what panicked may panic again.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(future)));
    output.filter(|_| dropped.is_ok())
}

/// Tells the client why it gets no session.
async fn refuse(stream: &mut ClientStream, error: &Error) -> io::Result<()> {
    let mut out = Vec::new();
    backend::error_response(&mut out, Severity::Fatal, error, 0);
    stream.write_all(&out).await?;
    stream.flush().await
}

impl<'a> Connection<'a> {
    /// Opens the session. Returns `None` if it was refused, after reporting that to the client.
    async fn open(
        database: &Database,
        stream: &'a mut ClientStream,
        client: Client,
        account: Arc<Account>,
    ) -> io::Result<Option<Connection<'a>>> {
        let Client { startup, registration, unread, limits, settings, timers, hang_ups, .. } = client;
        let options = SessionOptions {
            user: startup.user,
            role: Some(client.role),
            sessions_per_role: client.connections_per_role,
            database: startup.database,
            enters_any_database: false,
            defaults: settings.to_vec(),
            parameters: startup.parameters,
        };
        let mut session = match database.session_with(options, account) {
            Ok(session) => session,
            Err(error) => {
                refuse(stream, &error).await?;
                return Ok(None);
            }
        };
        session.promise_to_wait();
        registration.control().attach(session.stop_request());
        let host = WorkerHost { control: Arc::clone(registration.control()) };
        session.attach(stream.peer_address(), stream.encryption(), Box::new(host.clone()));
        session.set_host(Box::new(host));
        if let Some(socket) = stream.descriptor()
            && let Err(error) = hang_ups.add(socket, registration.control().process_id)
        {
            tracing::warn!(%error, "if this client leaves while it computes, that will be seen late");
        }
        session.set_process(registration.control().process_id);
        let mut answers = Answers::default();
        settings::report_all(&mut answers.bytes, &mut session);
        let control = registration.control();
        backend::backend_key_data(&mut answers.bytes, control.process_id, control.secret);
        let mut connection = Connection {
            stream,
            time_zone: session.time_zone(),
            timeouts: Timeouts::of(&session),
            session,
            registration,
            limits,
            timers,
            input: unread,
            spare_input: Vec::new(),
            unwanted_bytes: 0,
            answers,
            statements: Statements::default(),
            portals: Portals::default(),
            mode: Mode::Ready,
            remaining: VecDeque::new(),
            closing: false,
            implicit_start: None,
            turn: Turn::default(),
        };
        connection.ready();
        Ok(Some(connection))
    }

    async fn run(mut self) -> io::Result<()> {
        loop {
            self.process_input().await?;
            if self.answers.due {
                self.send().await?;
            }
            if self.closing || !self.receive().await? {
                return Ok(());
            }
        }
    }

    /// Handles every whole message received so far.
    async fn process_input(&mut self) -> io::Result<()> {
        let batch = std::mem::replace(&mut self.input, std::mem::take(&mut self.spare_input));
        let mut position = 0;
        let mut stint = Stint::default();
        if self.mode == Mode::Ready {
            // A cancel that came while nothing ran must not hit what runs next.
            self.registration.control().withdraw_cancel();
        }
        // A request to end the connection is never withdrawn.
        if self.is_to_end() {
            let error = self.session.abandon(self.registration.registry().ending_error());
            self.end_with(&error);
        }
        while !self.closing {
            match frame(&batch[position..], self.limits.message_bytes) {
                Ok(None) => {
                    if self.refuse_oversized(&batch[position..]).await {
                        position = batch.len();
                    }
                    break;
                }
                Ok(Some(frame)) => {
                    position += frame.size_bytes();
                    // After Execute, Sync ends the implicit transaction.
                    self.session.set_last(batch.get(position) == Some(&b'S'));
                    self.handle(frame).await?;
                }
                Err(error) => self.end_with(&error.into()),
            }
            if stint.is_over() {
                tokio::task::yield_now().await;
            }
        }
        self.put_back(batch, position);
        Ok(())
    }

    /// Makes the rest of a processed batch, followed by what was read ahead meanwhile, the input again.
    fn put_back(&mut self, mut batch: Vec<u8>, processed: usize) {
        batch.drain(..processed);
        batch.append(&mut self.input);
        if batch.is_empty() && batch.capacity() > KEPT_BUFFER_BYTES {
            batch = Vec::new();
        }
        self.spare_input = std::mem::replace(&mut self.input, batch);
        if self.spare_input.capacity() > KEPT_BUFFER_BYTES {
            self.spare_input = Vec::new();
        }
    }

    async fn handle(&mut self, frame: Frame<'_>) -> io::Result<()> {
        match (self.mode, frame.kind) {
            (Mode::CopyIn { simple }, _) => {
                Box::pin(self.handle_in_copy(frame, simple)).await;
                return Ok(());
            }
            (Mode::SkipToSync, b'S' | b'X') | (Mode::Ready, _) => self.mode = Mode::Ready,
            (Mode::SkipToSync, _) => return Ok(()),
        }
        let outcome = match decode(frame) {
            Ok(message) => self.dispatch(message).await,
            Err(error) => {
                let error = self.session.abandon(error);
                Box::pin(self.report_undone(frame.kind, error)).await;
                Ok(())
            }
        };
        if let Err(error) = outcome {
            self.skip_after(&error);
        }
        if self.answers.ready > 0 && self.answers.bytes.len() > SEND_BYTES {
            Box::pin(self.send()).await?;
        }
        Ok(())
    }

    /// Reports why a message was not processed.
    async fn report_undone(&mut self, kind: u8, error: Error) {
        match kind {
            b'Q' | b'F' | b'S' => self.end_query(Err(error), 0).await,
            _ => self.skip_after(&error),
        }
    }

    /// An `Err` is an error of the extended protocol. Query and Sync report their own.
    async fn dispatch(&mut self, message: Message<'_>) -> hyades::Result<()> {
        match message {
            Message::Query(sql) => Box::pin(self.simple_query(sql)).await,
            Message::Parse { name, query, parameter_types } => {
                return Box::pin(self.parse(name, query, parameter_types)).await;
            }
            Message::Bind(bind) => return self.bind(&bind),
            Message::Describe { target, name } => return self.describe(target, name),
            Message::Execute { portal, max_rows } => return self.execute(portal, max_rows).await,
            Message::Close { target, name } => self.close(target, name),
            Message::Sync => self.sync().await,
            Message::Flush => self.answers.due = true,
            Message::Terminate => self.closing = true,
            // Left over from a COPY that failed.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
            Message::FunctionCall => {
                let what = "function calls through the protocol are";
                let error = self.session.abandon(refused(Missing::ProtocolCalls, what));
                Box::pin(self.end_query(Err(error), 0)).await;
            }
            Message::Password(_) => {
                let message = "invalid frontend message type 112";
                self.end_with(&Error::input(sqlstate::PROTOCOL_VIOLATION, message));
            }
        }
        Ok(())
    }

    /// Reports an error of the extended protocol.
    fn skip_after(&mut self, error: &Error) {
        self.report(error, 0);
        self.mode = Mode::SkipToSync;
    }

    /// Appends an error. `position_offset` maps a position in the statement to one in the text the client
    /// sent.
    fn report(&mut self, error: &Error, position_offset: usize) {
        // Why the database is poisoned was logged where it was found.
        if let Error::Fatal(fatal) = error
            && self.registration.registry().phase() != Phase::Failed
        {
            static FATAL: Seldom = Seldom::new();
            seldom!(error, FATAL, state = fatal.state.0, "{}", fatal.message);
        }
        let severity = if self.closing { Severity::Fatal } else { Severity::Error };
        backend::error_response(&mut self.answers.bytes, severity, error, position_offset);
        self.answers.due = true;
    }

    /// Reports an error and ends the connection.
    fn end_with(&mut self, error: &Error) {
        self.closing = true;
        self.report(error, 0);
    }

    /// Sends the notices that the session has kept.
    fn tell_notices(&mut self) {
        for notice in self.session.take_notices() {
            backend::notice_response(&mut self.answers.bytes, &notice);
        }
    }

    /// Remembers where a statement's answers begin, if it may open an implicit transaction.
    fn begin_answers(&mut self) {
        if self.implicit_start.is_none() && self.session.transaction_status() == TransactionStatus::Idle {
            self.implicit_start = Some(self.answers.bytes.len());
        }
    }

    /// Commits the implicit transaction. If that fails, none of it was done, so its answers are taken back.
    async fn commit_implicit(&mut self) {
        let committed = self.complete(Session::end_implicit).await;
        self.tell_notices();
        if let Err(error) = committed {
            self.answers.bytes.truncate(self.implicit_start.unwrap_or(usize::MAX));
            self.report(&error, 0);
        }
        self.implicit_start = None;
    }

    /// Appends ReadyForQuery, preceded by the settings that changed.
    fn ready(&mut self) {
        if self.closing {
            return;
        }
        for (name, value) in self.session.take_changed_settings() {
            backend::parameter_status(&mut self.answers.bytes, &name, &value);
            if name == "TimeZone" {
                self.time_zone = self.session.time_zone();
            }
        }
        let status = self.session.transaction_status();
        self.turn.note(status);
        if status == TransactionStatus::Idle {
            self.portals.clear();
        }
        self.tell_notifications();
        backend::ready_for_query(&mut self.answers.bytes, status);
        self.answers.due = true;
        self.answers.ready += 1;
    }

    /// Sends what other sessions have notified this one of.
    fn tell_notifications(&mut self) {
        for told in self.session.take_notifications() {
            let out = &mut self.answers.bytes;
            backend::notification_response(out, told.process, &told.channel, &told.payload);
        }
    }

    /// Awaits durability, then writes all answers.
    async fn send(&mut self) -> io::Result<()> {
        let durability = self.session.pending_durability();
        if !durability.is_durable() {
            self.session.hasten();
            if let Err(error) = durability.await {
                self.withhold(&error);
            }
        }
        let bytes = std::mem::take(&mut self.answers.bytes);
        let sent = self.write(&bytes).await;
        self.answers = Answers { bytes, due: false, ready: 0 };
        self.implicit_start = self.implicit_start.map(|_| 0);
        self.answers.bytes.clear();
        self.answers.bytes.shrink_to(KEPT_BUFFER_BYTES);
        if self.portals.is_empty() {
            self.session.settle_account(self.answers.bytes.capacity() + self.input.capacity());
        }
        sent
    }

    /// The answers will never become durable: the client gets the reason instead.
    fn withhold(&mut self, error: &Error) {
        self.answers.bytes.clear();
        let ready = std::mem::take(&mut self.answers.ready);
        match (ready, self.mode) {
            (0, Mode::Ready) => self.skip_after(error),
            (0, Mode::SkipToSync) => self.report(error, 0),
            (1, Mode::Ready) => {
                self.report(error, 0);
                self.ready();
            }
            // With several answers the client could not tell which ones are missing.
            _ => self.end_with(error),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = match self.stream.try_write(bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        while written < bytes.len() || self.stream.holds_back() {
            tokio::select! {
                count = self.stream.write_on(&bytes[written..]) => written += count?,
                () = self.registration.control().wake.notified() => {
                    if self.is_to_end() {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits for bytes from the client. Returns false when the conversation is over.
    async fn receive(&mut self) -> io::Result<bool> {
        let status = self.session.transaction_status();
        let (patience, end, mut look_at_waiters): (_, fn() -> Error, _) = match status {
            TransactionStatus::Idle => (self.timeouts.idle_session, settings::idle_session_error, None),
            _ => {
                let patience = self.timeouts.idle_in_transaction;
                (patience, settings::idle_in_transaction_error, self.first_look_at_waiters())
            }
        };
        let deadline = patience.map(|patience| tokio::time::Instant::now() + patience);
        let held = self.turn.is_held();
        let silence = held.then(|| tokio::time::Instant::now() + turn::LONGEST_SILENCE);
        loop {
            if let Some(error) = self.must_leave(status) {
                self.end_with(&error);
                self.send().await?;
                return Ok(false);
            }
            // Clients do not expect notifications between the messages of a batch.
            if self.mode == Mode::Ready && self.answers.bytes.is_empty() && self.session.has_notifications() {
                self.tell_notifications();
                self.send().await?;
                continue;
            }
            if self.input.capacity() - self.input.len() < READ_BYTES / 4 {
                self.input.reserve(READ_BYTES);
            }
            tokio::select! {
                biased;
                count = self.stream.read_buf(&mut self.input) => {
                    let count = count?;
                    self.drop_unwanted();
                    return Ok(count > 0);
                }
                () = self.registration.control().wake.notified() => {}
                () = settings::until(silence), if self.turn.is_held() => self.turn.give_up(),
                () = settings::until(deadline), if deadline.is_some() => return self.leave(end()).await,
                () = settings::until(look_at_waiters), if look_at_waiters.is_some() => {
                    if self.session.is_waited_for() {
                        return self.leave(settings::idle_blocker_error()).await;
                    }
                    look_at_waiters = Some(tokio::time::Instant::now() + BETWEEN_LOOKS_AT_WAITERS);
                }
            }
        }
    }

    /// When to check whether others wait for the locks of the open transaction, if those could be in their
    /// way although it only reads.
    fn first_look_at_waiters(&self) -> Option<tokio::time::Instant> {
        let patience = self.timeouts.idle_blocker.filter(|_| self.session.locks_what_it_reads())?;
        Some(tokio::time::Instant::now() + patience)
    }

    /// Ends the connection, which has been silent for too long.
    async fn leave(&mut self, error: Error) -> io::Result<bool> {
        let error = self.session.abandon(error);
        self.end_with(&error);
        self.send().await?;
        Ok(false)
    }

    /// Why this connection must end now that it waits for its client: a shutdown, or a request to terminate
    /// it.
    fn must_leave(&mut self, status: TransactionStatus) -> Option<Error> {
        let idle = status == TransactionStatus::Idle && self.mode == Mode::Ready;
        if self.registration.control().is_terminated() {
            return Some(self.session.abandon(self.registration.registry().ending_error()));
        }
        match self.registration.registry().phase() {
            Phase::Starting | Phase::Serving => None,
            Phase::Draining if !idle => None,
            Phase::Draining | Phase::Terminating | Phase::Failed => {
                Some(self.session.abandon(self.registration.registry().ending_error()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hyades::types::memory::Limits;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_survived_wherever_it_happens() {
        struct PanicsWhenDropped;
        impl Drop for PanicsWhenDropped {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        let account = Account::new(Limits::NONE);
        assert_eq!(survive(async { 7 }, &account).await, Some(7));
        let late = async {
            tokio::task::yield_now().await;
            panic!("after a wait");
        };
        assert_eq!(
            survive::<std::pin::Pin<Box<dyn Future<Output = ()>>>>(Box::pin(late), &account).await,
            None
        );
        let dropped = async {
            let _guard = PanicsWhenDropped;
            7
        };
        assert_eq!(survive(dropped, &account).await, None);
    }
}
