//! The sockets a server listens on: TCP addresses, and a Unix socket named as PostgreSQL's clients look for
//! it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, lookup_host};

use super::Sentence;
use crate::connection::stream::{ClientStream, Socket};

/// One socket.
pub(super) enum Listener {
    Tcp { listener: TcpListener, address: SocketAddr },
    Unix { listener: UnixListener, directory: PathBuf, path: PathBuf },
}

impl Listener {
    /// Accepts a client. Returns its TCP address too.
    pub(super) async fn accept(&self) -> io::Result<(ClientStream, Option<SocketAddr>)> {
        match self {
            Listener::Tcp { listener, .. } => {
                let (stream, address) = listener.accept().await?;
                Ok((ClientStream::Plain(Socket::Tcp(stream)), Some(address)))
            }
            Listener::Unix { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                Ok((ClientStream::Plain(Socket::Unix(stream)), None))
            }
        }
    }

    /// The TCP address.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Listener::Tcp { address, .. } => Some(*address),
            Listener::Unix { .. } => None,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix { path, .. } = self {
            // If it stays, the next server removes it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Binds all sockets or fails with a sentence. The Unix socket carries the port of the first TCP address.
pub(super) async fn bind(
    listen: &[String],
    socket_directory: Option<&Path>,
) -> Result<Vec<Listener>, Sentence> {
    let mut listeners = Vec::new();
    for name in listen {
        let addresses = lookup_host(name)
            .await
            .map_err(|error| format!("\"{name}\" is not an address to listen on (host:port): {error}"))?;
        // A name like localhost may stand for an address family that this machine lacks.
        let (mut bound, mut failed) = (0, None);
        for address in addresses {
            match TcpListener::bind(address).await.and_then(|listener| Ok((listener.local_addr()?, listener)))
            {
                Ok((address, listener)) => {
                    listeners.push(Listener::Tcp { listener, address });
                    bound += 1;
                }
                Err(error) => failed = Some((address, error)),
            }
        }
        if let Some((address, error)) = failed.filter(|(_, error)| bound == 0 || in_use(error)) {
            return Err(format!("could not listen on {address}: {error}"));
        }
    }
    if let Some(directory) = socket_directory {
        let port = listeners.iter().find_map(Listener::address).map_or(5433, |address| address.port());
        listeners.push(bind_unix(directory, port)?);
    }
    Ok(listeners)
}

fn in_use(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

fn bind_unix(directory: &Path, port: u16) -> Result<Listener, Sentence> {
    let path = directory.join(format!(".s.PGSQL.{port}"));
    let refused = |error: io::Error| format!("could not listen on {}: {error}", path.display());
    let listener = match UnixListener::bind(&path) {
        Err(error) if in_use(&error) => {
            if std::os::unix::net::UnixStream::connect(&path).is_ok() {
                return Err(refused(error));
            }
            // Left behind by a server that was killed.
            std::fs::remove_file(&path).map_err(refused)?;
            UnixListener::bind(&path)
        }
        bound => bound,
    };
    let listener = listener.map_err(refused)?;
    Ok(Listener::Unix { listener, directory: directory.to_owned(), path: path.clone() })
}

/// How to connect from this machine.
pub(super) fn ready_line(listeners: &[Listener]) -> String {
    let (host, port) = match listeners.first() {
        Some(Listener::Tcp { address, .. }) => {
            let host = match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
                ip => ip,
            };
            (host.to_string(), address.port())
        }
        Some(Listener::Unix { directory, .. }) => (directory.display().to_string(), 5433),
        None => ("localhost".to_owned(), 5433),
    };
    format!("hyades is ready: psql -h {host} -p {port} -U {}", crate::users::DEFAULT_USER)
}
