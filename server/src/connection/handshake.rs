//! From an accepted socket to an authenticated client, before any session exists.
//!
//! ```text
//! SSLRequest                -> 'S' and the handshake of TLS, or 'N'; again
//! GSSENCRequest             -> 'N'; again (each of both at most once)
//! CancelRequest             -> obeyed, closed without a word
//! Startup                   -> refused while starting up or shutting down (57P03)
//!                              trust: nothing more; scram: SASL exchange
//!                              too many connections (53300)
//! ```
//! This runs on the listening thread, not on the workers: a cancel request must get through when all workers
//! are busy with the statements it wants to stop. The whole conversation is bounded in time, and in memory by
//! the limits on startup packets and on SASL messages. The caller may also end it to make room for others.
//! Refusals are logged with their reasons, but seldom: otherwise any client could fill a disk with them.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyades::session::Login;
use hyades::types::access::RoleId;
use hyades::types::error::SqlState;
use hyades::{Database, Error, sqlstate};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::stream::{ClientStream, Socket};
use crate::codec::backend::{self, Severity};
use crate::codec::frontend::{self, Message};
use crate::codec::startup::{self, PROTOCOL_VERSION, Packet, Startup};
use crate::logging::seldom::{Seldom, seldom};
use crate::registry::{NoPlace, Phase, Registration, Registry};
use crate::scram::{self, Exchange};
use crate::tls::{Material, Tls};
use crate::users::Users;

/// How clients prove who they are.
pub enum Authentication {
    /// Clients prove nothing.
    Trust,
    Scram {
        users: Users,
        /// Keeps the salts of unknown users stable while the server runs.
        secret: [u8; 32],
    },
}

/// What the listening thread knows.
pub struct Gate {
    pub registry: Arc<Registry>,
    pub authentication: Authentication,
    /// A client has this long to prove who it is.
    pub patience: Duration,
    /// How long a client with a wrong password waits for the answer. Meanwhile it has a place among the
    /// handshakes, of which others may deprive it, and none among the connections.
    pub failed_login_delay: Duration,
    /// Set before the gate opens.
    pub database: OnceLock<Database>,
    /// `None`: connections are not encrypted.
    pub tls: Option<Arc<Tls>>,
    /// Clients that connect over TCP without TLS are refused.
    pub requires_tls: bool,
}

/// Where a client comes from.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// `None`: the Unix socket.
    pub address: Option<SocketAddr>,
}

impl fmt::Display for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => address.fmt(f),
            None => f.write_str("unix socket"),
        }
    }
}

/// A client that got in.
pub struct Guest {
    pub stream: ClientStream,
    pub startup: Startup,
    pub role: RoleId,
    pub registration: Registration,
    /// Bytes that followed the handshake.
    pub unread: Vec<u8>,
}

const PASSWORD_MESSAGE_LIMIT_BYTES: usize = 2048;

/// Why a client is turned away. `None` when there is nothing to report to it.
type Refusal = Option<Error>;

struct Conversation {
    stream: ClientStream,
    visitor: Visitor,
    input: Vec<u8>,
    /// The user named in the startup packet, once that has arrived.
    user: Option<String>,
    /// The certificate and key that the TLS handshake used.
    material: Option<Arc<Material>>,
}

impl Gate {
    /// Lets a client in. Returns `None` if it was turned away or only wanted to cancel. It must leave when
    /// `evicted` is ready.
    pub async fn admit(
        &self,
        stream: ClientStream,
        visitor: Visitor,
        evicted: impl Future<Output = ()>,
    ) -> io::Result<Option<Guest>> {
        let mut conversation =
            Conversation { stream, visitor, input: Vec::new(), user: None, material: None };
        let outcome = tokio::select! {
            biased;
            outcome = self.converse(&mut conversation) => outcome?,
            () = evicted => Err(refuse(sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already")),
            () = tokio::time::sleep(self.patience) => Err(conversation.too_late()),
        };
        match outcome {
            Ok((startup, role, registration)) => {
                let Conversation { stream, input: unread, .. } = conversation;
                Ok(Some(Guest { stream, startup, role, registration, unread }))
            }
            Err(None) => Ok(None),
            Err(Some(error)) => {
                tracing::debug!(%visitor, %error, "client refused");
                let mut out = Vec::new();
                backend::error_response(&mut out, Severity::Fatal, &error, 0);
                conversation.stream.finish(&out)?;
                Ok(None)
            }
        }
    }

    async fn converse(
        &self,
        conversation: &mut Conversation,
    ) -> io::Result<Result<(Startup, RoleId, Registration), Refusal>> {
        let startup = match self.startup(conversation).await? {
            Ok(startup) => startup,
            Err(refusal) => return Ok(Err(refusal)),
        };
        conversation.user = Some(startup.user.clone());
        if let Some(refusal) = self.refuses_everybody() {
            return Ok(Err(Some(refusal)));
        }
        if self.requires_tls && conversation.visitor.address.is_some() && conversation.material.is_none() {
            return Ok(Err(conversation.not_encrypted()));
        }
        let login = match self.authenticate(conversation, &startup).await? {
            Ok(login) => login,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(match self.registry.register(login.is_superuser) {
            Ok(registration) => Ok((startup, login.role, registration)),
            Err(reason) => Err(Some(self.no_place(reason, conversation))),
        })
    }

    /// Why no client gets in now, if so.
    fn refuses_everybody(&self) -> Option<Error> {
        let sentence = match self.registry.phase() {
            Phase::Serving => return None,
            Phase::Starting => "the database system is starting up",
            Phase::Draining | Phase::Terminating => "the database system is shutting down",
            Phase::Failed => return self.registry.failure(),
        };
        Some(Error::input(sqlstate::CANNOT_CONNECT_NOW, sentence))
    }

    fn no_place(&self, reason: NoPlace, conversation: &Conversation) -> Error {
        static NO_PLACE: Seldom = Seldom::new();
        let sentence = match reason {
            NoPlace::Full => "sorry, too many clients already",
            NoPlace::Reserved => {
                "remaining connection slots are reserved for non-replication superuser connections"
            }
        };
        let (visitor, user) = (conversation.visitor, conversation.user.as_deref());
        seldom!(warn, NO_PLACE, %visitor, user, limit = self.registry.limit(), "connection refused: {sentence}");
        Error::input(sqlstate::TOO_MANY_CONNECTIONS, sentence)
    }

    async fn startup(&self, conversation: &mut Conversation) -> io::Result<Result<Startup, Refusal>> {
        // At most one request for TLS and one for GSS precede the startup packet.
        for _ in 0..3 {
            let packet = loop {
                match startup::packet(&conversation.input) {
                    Ok(Some((packet, size_bytes))) => {
                        conversation.input.drain(..size_bytes);
                        break packet;
                    }
                    Ok(None) => conversation.receive().await?,
                    Err(error) => return Ok(Err(Some(error.into()))),
                }
            };
            match packet {
                Packet::SslRequest | Packet::GssEncryptionRequest if conversation.material.is_some() => break,
                Packet::SslRequest if self.tls.is_some() && conversation.visitor.address.is_some() => {
                    if let Err(refusal) = self.encrypt(conversation).await? {
                        return Ok(Err(refusal));
                    }
                }
                Packet::SslRequest | Packet::GssEncryptionRequest => {
                    conversation.stream.write_all(b"N").await?;
                }
                Packet::Cancel { process_id, secret } => {
                    self.registry.cancel(process_id, &secret);
                    return Ok(Err(None));
                }
                Packet::Startup(startup) => return Ok(Ok(startup)),
            }
        }
        Ok(Err(refuse(sqlstate::PROTOCOL_VIOLATION, "too many encryption requests")))
    }

    /// Does the TLS handshake. It computes for less than a millisecond, here on the listening thread, so that
    /// it works while all workers compute.
    async fn encrypt(&self, conversation: &mut Conversation) -> io::Result<Result<(), Refusal>> {
        // What arrived before the handshake may come from a man in the middle.
        if !conversation.input.is_empty() {
            let error = Error::input(
                sqlstate::PROTOCOL_VIOLATION,
                "received unencrypted data after SSL request",
            )
            .with_detail(
                "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.",
            );
            return Ok(Err(Some(error)));
        }
        let Some(material) = self.tls.as_ref().map(|tls| tls.material()) else {
            return Ok(Ok(()));
        };
        conversation.stream.write_all(b"S").await?;
        let ClientStream::Plain(socket) =
            std::mem::replace(&mut conversation.stream, ClientStream::Plain(Socket::Gone))
        else {
            return Ok(Ok(()));
        };
        match TlsAcceptor::from(Arc::clone(&material.config)).accept(socket).await {
            Ok(stream) => {
                conversation.stream = ClientStream::Tls(Box::new(stream));
                conversation.material = Some(material);
                Ok(Ok(()))
            }
            Err(error) => {
                static NOT_ENCRYPTED: Seldom = Seldom::new();
                let visitor = conversation.visitor;
                seldom!(warn, NOT_ENCRYPTED, %visitor, %error, "a handshake of TLS failed");
                Ok(Err(None))
            }
        }
    }

    async fn authenticate(
        &self,
        conversation: &mut Conversation,
        startup: &Startup,
    ) -> io::Result<Result<Login, Refusal>> {
        let mut out = Vec::new();
        if startup.minor_version > 0 || !startup.protocol_options.is_empty() {
            backend::negotiate_protocol_version(&mut out, PROTOCOL_VERSION, &startup.protocol_options);
        }
        let login = self.login(&startup.user);
        if let Authentication::Scram { users, secret } = &self.authentication {
            // The password that the database knows comes first. A line of the user file for a name that is
            // neither a role nor the first superuser lets no client in.
            let usable = login.as_ref().filter(|login| !login.is_expired);
            let verifier =
                usable.and_then(|login| login.verifier.as_ref().or_else(|| users.verifier(&startup.user)));
            let is_known = verifier.is_some();
            let end_point = conversation.material.as_ref().and_then(|material| material.end_point.clone());
            let mechanisms = scram::mechanisms(end_point.is_some());
            let mut exchange = Exchange::new(&startup.user, verifier, secret, end_point);
            backend::authentication_sasl(&mut out, mechanisms);
            let asked = conversation.ask(&mut out).await?;
            let first = match asked.and_then(|body| initial_response(&body, mechanisms)) {
                Ok(first) => first,
                Err(error) => return Ok(Err(conversation.failed_login(error, is_known))),
            };
            match exchange.first(&first.0, &first.1) {
                Ok(answer) => backend::authentication_sasl_continue(&mut out, &answer),
                Err(error) => return Ok(Err(conversation.failed_login(error, is_known))),
            }
            match conversation.ask(&mut out).await?.and_then(|body| exchange.finish(&body)) {
                Ok(answer) => backend::authentication_sasl_final(&mut out, &answer),
                Err(error) => {
                    let refusal = conversation.failed_login(error, is_known);
                    tokio::time::sleep(self.failed_login_delay).await;
                    return Ok(Err(refusal));
                }
            }
        }
        let login = match self.check_login(startup, login, conversation) {
            Ok(login) => login,
            Err(refusal) => return Ok(Err(refusal)),
        };
        backend::authentication_ok(&mut out);
        conversation.stream.write_all(&out).await?;
        conversation.stream.flush().await?;
        Ok(Ok(login))
    }
}

impl Gate {
    /// Makes the superusers of the user file known to the database, and warns of lines that have no effect:
    /// in files of earlier versions, each name that was no role was a superuser.
    pub fn introduce(&self, database: &Database) {
        let Authentication::Scram { users, .. } = &self.authentication else { return };
        for user in database.name_superusers(users.names(true).map(str::to_owned)) {
            tracing::warn!(
                user,
                "the user file calls a user superuser who is a role in the database, and remains that role"
            );
        }
        for user in users.names(false).filter(|user| database.login(user).is_none()) {
            tracing::warn!(
                user,
                "a line of the user file lets nobody in: there is no role with this name, and the line does not end \
                 in :superuser"
            );
        }
    }

    /// The role that a client names. Where clients prove nothing, every name is that of the first superuser
    /// as long as there have been no roles.
    fn login(&self, user: &str) -> Option<Login> {
        let database = self.database.get()?;
        let is_open = !database.has_had_roles() && matches!(self.authentication, Authentication::Trust);
        database.login(user).or_else(|| is_open.then(Login::of_first_superuser))
    }

    /// Whether the role may log in.
    fn check_login(
        &self,
        startup: &Startup,
        login: Option<Login>,
        conversation: &Conversation,
    ) -> Result<Login, Refusal> {
        let user = &startup.user;
        let (state, sentence) = match login {
            Some(login) if !login.can_log_in => {
                (sqlstate::INVALID_AUTHORIZATION, format!("role \"{user}\" is not permitted to log in"))
            }
            Some(login) => return Ok(login),
            None => (sqlstate::INVALID_AUTHORIZATION, format!("role \"{user}\" does not exist")),
        };
        static NOT_LET_IN: Seldom = Seldom::new();
        let visitor = conversation.visitor;
        seldom!(warn, NOT_LET_IN, %visitor, user, "login failed: {sentence}");
        let error = Error::input(state, sentence);
        Err(Some(match state {
            sqlstate::INSUFFICIENT_PRIVILEGE => error.with_detail("User does not have CONNECT privilege."),
            _ => error,
        }))
    }
}

fn refuse(state: SqlState, sentence: &str) -> Refusal {
    Some(Error::input(state, sentence))
}

/// SASLInitialResponse: mechanism, length, message.
fn initial_response(body: &[u8], mechanisms: &[&str]) -> hyades::Result<(String, Vec<u8>)> {
    let mut reader = crate::codec::reader::Reader::new(body);
    let mechanism = reader.string()?.to_owned();
    if !mechanisms.contains(&mechanism.as_str()) {
        let message = "client selected an invalid SASL authentication mechanism";
        return Err(Error::input(sqlstate::PROTOCOL_VIOLATION, message));
    }
    let length = reader.i32()?;
    let message = reader.take(usize::try_from(length).unwrap_or(0))?.to_vec();
    reader.finish()?;
    Ok((mechanism, message))
}

impl Conversation {
    /// The client learns only in general what it did wrong. The operator learns more.
    fn failed_login(&self, error: Error, is_known: bool) -> Refusal {
        static FAILED_LOGIN: Seldom = Seldom::new();
        let reason = match error.sqlstate() {
            sqlstate::INVALID_PASSWORD if is_known => "wrong password",
            sqlstate::INVALID_PASSWORD => "unknown user",
            _ => "protocol violation",
        };
        let (visitor, user) = (self.visitor, self.user.as_deref());
        seldom!(warn, FAILED_LOGIN, %visitor, user, reason, "login failed: {error}");
        Some(error)
    }

    fn not_encrypted(&self) -> Refusal {
        static NOT_ENCRYPTED: Seldom = Seldom::new();
        let (visitor, user) = (self.visitor, self.user.as_deref());
        seldom!(warn, NOT_ENCRYPTED, %visitor, user, "connection refused: it is not encrypted");
        refuse(sqlstate::INVALID_AUTHORIZATION, "this server accepts connections over TCP only with TLS")
    }

    /// As PostgreSQL, says nothing to clients that have not even sent a startup packet.
    fn too_late(&self) -> Refusal {
        static TOO_LATE: Seldom = Seldom::new();
        let (visitor, user) = (self.visitor, self.user.as_deref());
        seldom!(warn, TOO_LATE, %visitor, user, "a client did not complete its handshake in time");
        self.user.as_ref()?;
        refuse(sqlstate::QUERY_CANCELED, "canceling authentication due to timeout")
    }

    /// Reads more bytes. The end of the stream is an error here.
    async fn receive(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.input).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Sends `out`, empties it, and returns the body of the password message that the client replies with.
    async fn ask(&mut self, out: &mut Vec<u8>) -> io::Result<hyades::Result<Vec<u8>>> {
        self.stream.write_all(out).await?;
        self.stream.flush().await?;
        out.clear();
        loop {
            let frame = match frontend::frame(&self.input, PASSWORD_MESSAGE_LIMIT_BYTES) {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    self.receive().await?;
                    continue;
                }
                Err(error) => return Ok(Err(error.into())),
            };
            let size_bytes = frame.size_bytes();
            let body = match frontend::decode(frame) {
                Ok(Message::Password(body)) => Ok(body.to_vec()),
                Ok(Message::Terminate) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {
                    let message = format!("expected SASL response, got message type {}", frame.kind);
                    Err(Error::input(sqlstate::PROTOCOL_VIOLATION, message))
                }
                Err(error) => Err(error),
            };
            self.input.drain(..size_bytes);
            return Ok(body);
        }
    }
}
