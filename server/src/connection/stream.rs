//! The socket of a client: TCP or Unix.
//!
//! Sockets are set up so that a vanished client is noticed although it says nothing: keepalive probes find a
//! machine that is gone while the connection is idle, the user timeout finds one while answers wait to be
//! taken.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;
/// Answers that nobody takes for this long end the connection. Generous, because the kernel does not tell a
/// client that is gone from one that merely reads nothing.
const UNACKNOWLEDGED_MS: u32 = 600_000;

/// A socket that belongs to no runtime: for the way from the listening thread to the workers.
pub enum DetachedStream {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

/// A socket of the current runtime.
pub enum ClientStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl DetachedStream {
    pub fn attach(self) -> io::Result<ClientStream> {
        Ok(match self {
            DetachedStream::Tcp(stream) => ClientStream::Tcp(TcpStream::from_std(stream)?),
            DetachedStream::Unix(stream) => ClientStream::Unix(UnixStream::from_std(stream)?),
        })
    }
}

impl ClientStream {
    pub fn detach(self) -> io::Result<DetachedStream> {
        Ok(match self {
            ClientStream::Tcp(stream) => DetachedStream::Tcp(stream.into_std()?),
            ClientStream::Unix(stream) => DetachedStream::Unix(stream.into_std()?),
        })
    }

    /// Where the client is; `None` behind a Unix socket.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        match self {
            ClientStream::Tcp(stream) => stream.peer_addr().ok(),
            ClientStream::Unix(_) => None,
        }
    }

    /// Answers leave at once; silent deaths are noticed.
    pub fn configure(&self) -> io::Result<()> {
        let ClientStream::Tcp(stream) = self else {
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
        let descriptor = self.as_fd();
        let mut polled = [PollFd::new(&descriptor, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut polled, Some(&now)), Ok(count) if count > 0)
    }

    /// Writes without waiting, as much as the socket takes.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ClientStream::Tcp(stream) => stream.try_write(bytes),
            ClientStream::Unix(stream) => stream.try_write(bytes),
        }
    }
}

impl AsFd for ClientStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            ClientStream::Tcp(stream) => stream.as_fd(),
            ClientStream::Unix(stream) => stream.as_fd(),
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
            ClientStream::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            ClientStream::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            ClientStream::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            ClientStream::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            ClientStream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            ClientStream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
