//! Monitoring over HTTP: `/metrics` for Prometheus, `/health` for load balancers, `/` for people.
//!
//! Runs on the listening thread, like handshakes, so that it responds while all workers compute. There is no
//! authentication, so no data, statement texts or names are shown. The address should be one that only the
//! operator can reach.
//!
//! Invariants:
//! 1. At most [`CONNECTIONS`] clients are served at a time; one more takes the place of the oldest, so slow
//!    clients cannot keep others out. Each has [`PATIENCE`] for a single request and its response.
//! 2. The head of a request has at most [`HEAD_BYTES`]. Bodies are not read.

mod metrics;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyades::engine::recovery::RestartStatus;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, lookup_host};

use crate::connection::handshake::Gate;
use crate::newcomers::{Newcomers, origin};
use crate::registry::Phase;

const CONNECTIONS: usize = 16;
const HEAD_BYTES: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const PAGE: &str = include_str!("http/page.html");

/// Listens on an address. Port 0 takes a free one.
///
/// # Errors
/// A sentence for the operator.
pub async fn bind(name: &str) -> Result<(TcpListener, SocketAddr), String> {
    let refused = |error: std::io::Error| format!("could not listen on {name} for HTTP: {error}");
    let mut addresses = lookup_host(name).await.map_err(refused)?;
    let address = addresses.next().ok_or_else(|| format!("\"{name}\" is not an address for HTTP"))?;
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok((listener, address))
}

/// Serves for as long as the process lives, even while the database recovers and when it is poisoned.
pub async fn serve(listener: TcpListener, gate: Arc<Gate>) {
    let newcomers = Newcomers::new(CONNECTIONS);
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "could not accept a connection of HTTP");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let gate = Arc::clone(&gate);
        let (mut newcomer, _) = newcomers.enter(origin(Some(address.ip())));
        tokio::spawn(async move {
            tokio::select! {
                // A client that takes longer is cut off, and that need not be reported.
                _ = tokio::time::timeout(PATIENCE, converse(stream, gate)) => {}
                () = newcomer.evicted() => {}
            }
        });
        // A request that has arrived is answered before another client can take its place.
        tokio::task::yield_now().await;
    }
}

async fn converse(stream: TcpStream, gate: Arc<Gate>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let response = answered(&request, &gate);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut connection = hyper::server::conn::http1::Builder::new();
    connection.keep_alive(false).max_buf_size(HEAD_BYTES);
    if let Err(error) = connection.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "a request over HTTP failed");
    }
}

fn response(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn answered(request: &Request<Incoming>, gate: &Gate) -> Response<Full<Bytes>> {
    const TEXT: &str = "text/plain; charset=utf-8";
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET is answered\n");
    }
    match request.uri().path() {
        "/health" => {
            let (status, sentence) = health(gate);
            response(status, TEXT, format!("{sentence}\n"))
        }
        "/metrics" => {
            let text = metrics::text(gate, gate.database.get());
            response(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
        }
        "/status.json" => {
            let (_, sentence) = health(gate);
            let json = metrics::json(gate, gate.database.get(), &sentence);
            response(StatusCode::OK, "application/json", json)
        }
        "/" => response(StatusCode::OK, "text/html; charset=utf-8", PAGE),
        _ => response(StatusCode::NOT_FOUND, TEXT, "there is /, /metrics and /health\n"),
    }
}

/// Says that the server works and, while a restart still goes on, how far that is, or why it will never be
/// complete.
fn serving(gate: &Gate) -> String {
    let status = gate.database.get().map(hyades::Database::restart_status);
    match status.filter(|status| !status.is_complete) {
        Some(RestartStatus { failure: Some(failure), .. }) => format!("serving, but {failure}"),
        Some(status) => format!("recovering, {:.0} %", status.percent()),
        None => "serving".to_owned(),
    }
}

/// Whether the server should be given work, and the reason if not.
fn health(gate: &Gate) -> (StatusCode, String) {
    let unwell = |sentence: &str| (StatusCode::SERVICE_UNAVAILABLE, sentence.to_owned());
    match gate.registry.phase() {
        Phase::Serving => (StatusCode::OK, serving(gate)),
        Phase::Starting => unwell("starting up"),
        Phase::Draining | Phase::Terminating => unwell("shutting down"),
        Phase::Failed => {
            let reason = gate.registry.failure().map(|error| error.to_string()).unwrap_or_default();
            unwell(&format!("poisoned: {reason}"))
        }
    }
}
