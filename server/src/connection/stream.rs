//! The socket of a client: TCP or Unix, and TLS over TCP.
//!
//! Sockets are set up so that the server notices a client that vanished silently. Keepalive probes find a
//! machine that is gone while the connection is idle. The user timeout finds one while answers are
//! unacknowledged.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyades::session::Encryption;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

use crate::tls;

const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;
/// Answers that stay unacknowledged for this long end the connection. Generous, because the kernel does not
/// distinguish a client that is gone from one that merely reads nothing.
const UNACKNOWLEDGED_MS: u32 = 600_000;

/// A socket of the current runtime, or of none.
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// On its way from one runtime to another.
    BetweenTcp(std::net::TcpStream),
    BetweenUnix(std::os::unix::net::UnixStream),
    /// Taken away by a handshake that did not succeed.
    Gone,
}

/// A client's socket, and what encrypts it.
pub enum ClientStream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// A stream that belongs to no runtime: for the way from the listening thread to the workers.
pub struct DetachedStream(ClientStream);

impl DetachedStream {
    pub fn attach(self) -> io::Result<ClientStream> {
        self.0.moved(|socket| {
            Ok(match socket {
                Socket::BetweenTcp(stream) => Socket::Tcp(TcpStream::from_std(stream)?),
                Socket::BetweenUnix(stream) => Socket::Unix(UnixStream::from_std(stream)?),
                other => other,
            })
        })
    }
}

/// Polls now, with a waker that does nothing: the caller polls again later.
fn at_once<T>(poll: impl FnOnce(&mut Context<'_>) -> Poll<io::Result<T>>) -> io::Result<T> {
    match poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl ClientStream {
    pub fn detach(self) -> io::Result<DetachedStream> {
        let detached = self.moved(|socket| {
            Ok(match socket {
                Socket::Tcp(stream) => Socket::BetweenTcp(stream.into_std()?),
                Socket::Unix(stream) => Socket::BetweenUnix(stream.into_std()?),
                other => other,
            })
        })?;
        Ok(DetachedStream(detached))
    }

    /// Replaces the underlying socket.
    fn moved(mut self, change: impl FnOnce(Socket) -> io::Result<Socket>) -> io::Result<ClientStream> {
        let socket = match &mut self {
            ClientStream::Plain(socket) => socket,
            ClientStream::Tls(stream) => stream.get_mut().0,
        };
        *socket = change(std::mem::replace(socket, Socket::Gone))?;
        Ok(self)
    }

    fn socket(&self) -> &Socket {
        match self {
            ClientStream::Plain(socket) => socket,
            ClientStream::Tls(stream) => stream.get_ref().0,
        }
    }

    /// What the client and the server have agreed on, if the connection is encrypted.
    pub fn encryption(&self) -> Option<Encryption> {
        match self {
            ClientStream::Plain(_) => None,
            ClientStream::Tls(stream) => Some(tls::agreed(stream.get_ref().1)),
        }
    }

    /// The client's address. `None` for a Unix socket.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        match self.socket() {
            Socket::Tcp(stream) => stream.peer_addr().ok(),
            _ => None,
        }
    }

    /// Sends answers at once, and notices clients that die silently.
    pub fn configure(&self) -> io::Result<()> {
        let Socket::Tcp(stream) = self.socket() else {
            return Ok(());
        };
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
        sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES)?;
        sockopt::set_tcp_user_timeout(stream, UNACKNOWLEDGED_MS)?;
        Ok(())
    }

    /// Whether the client has closed its side, even if bytes from it are still unread.
    pub fn hung_up(&self) -> bool {
        let Some(descriptor) = self.socket().descriptor() else {
            return true;
        };
        let mut polled = [PollFd::new(&descriptor, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut polled, Some(&now)), Ok(count) if count > 0)
    }

    /// The descriptor of the socket, unless that is gone.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.socket().descriptor()
    }

    /// Writes as much as the socket takes, without waiting. Encrypted bytes may still be held back.
    pub fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ClientStream::Plain(Socket::Tcp(stream)) => stream.try_write(bytes),
            ClientStream::Plain(Socket::Unix(stream)) => stream.try_write(bytes),
            ClientStream::Plain(_) => Err(io::ErrorKind::NotConnected.into()),
            ClientStream::Tls(stream) => at_once(|context| Pin::new(stream).poll_write(context, bytes)),
        }
    }

    /// Waits until the socket takes more of `bytes` or, when there are none left, what is held back. Returns
    /// how many of the bytes it took.
    pub async fn write_on(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return self.flush().await.map(|()| 0);
        }
        match self.write(bytes).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            count => Ok(count),
        }
    }

    /// Whether written bytes still wait for the socket.
    pub fn holds_back(&self) -> bool {
        matches!(self, ClientStream::Tls(stream) if stream.get_ref().1.wants_write())
    }

    /// Writes the last bytes of a conversation and closes it, as far as the socket takes them without
    /// waiting.
    pub fn finish(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() {
            self.try_write(bytes)?;
        }
        match at_once(|context| Pin::new(self).poll_shutdown(context)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            outcome => outcome,
        }
    }
}

impl Socket {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Socket::Tcp(stream) => Some(stream.as_fd()),
            Socket::Unix(stream) => Some(stream.as_fd()),
            Socket::BetweenTcp(stream) => Some(stream.as_fd()),
            Socket::BetweenUnix(stream) => Some(stream.as_fd()),
            Socket::Gone => None,
        }
    }
}

fn not_connected<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Socket::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            _ => not_connected(),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            _ => not_connected(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            _ => not_connected(),
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            ClientStream::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            ClientStream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            ClientStream::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            ClientStream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            ClientStream::Plain(_) => Poll::Ready(Ok(())),
            ClientStream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            ClientStream::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            ClientStream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
