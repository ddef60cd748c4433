//! What a signal does to a server.
//!
//! | signal                          | effect                                                                |
//! |---------------------------------|-----------------------------------------------------------------------|
//! | SIGTERM, SIGINT                 | drain, then close the database; the second one ends the process at once |
//! | SIGQUIT                         | ends the process at once: the next start recovers                     |
//! | SIGHUP                          | certificate and key of TLS are read again; without TLS it does nothing |
//! | SIGUSR1, SIGUSR2, SIGPIPE       | nothing                                                               |
//! | SIGXFSZ                         | nothing: the write beyond the limit on the size of a file fails       |

use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Sentence;
use crate::tls::Tls;

/// The arrival of a signal that ends a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) name: &'static str,
    /// If set, the server ends without draining.
    pub(super) at_once: bool,
}

/// Signals since this was made. From then on none of them has its default effect.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    hang_up: Signal,
    /// SIGHUP reads its files again.
    tls: Option<Arc<Tls>>,
    /// Never awaited. They only keep these signals from ending the process.
    _ignored: [Signal; 3],
}

impl Signals {
    pub(super) fn new(tls: Option<Arc<Tls>>) -> Result<Signals, Sentence> {
        let listen = |kind| signal(kind).map_err(|error| format!("could not listen for signals: {error}"));
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            quit: listen(SignalKind::quit())?,
            hang_up: listen(SignalKind::hangup())?,
            tls,
            _ignored: [
                listen(SignalKind::user_defined1())?,
                listen(SignalKind::user_defined2())?,
                listen(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
            ],
        })
    }

    /// Waits for the next signal that ends the server.
    pub(super) async fn ending(&mut self) -> Ending {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Ending { name: "SIGTERM", at_once: false },
                _ = self.interrupt.recv() => return Ending { name: "SIGINT", at_once: false },
                _ = self.quit.recv() => return Ending { name: "SIGQUIT", at_once: true },
                _ = self.hang_up.recv() => self.read_again(),
            }
        }
    }

    fn read_again(&self) {
        match self.tls.as_ref().map(|tls| tls.read_again()) {
            None => tracing::info!("SIGHUP changes nothing: there is no file to read again"),
            Some(Ok(())) => tracing::info!("SIGHUP: certificate and key of TLS were read again"),
            Some(Err(sentence)) => {
                tracing::error!("SIGHUP: certificate and key of TLS stay what they were: {sentence}");
            }
        }
    }
}
