//! The server's log: structured events on standard error, text or JSON.
//!
//! A line that cannot be written is lost, with no other consequence: see [`lossy`]. Lines with which a client
//! could flood the log are limited in rate: see [`seldom`].

pub mod lossy;
pub mod seldom;

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use self::lossy::LossyLog;

/// How long the end of the process waits for its last lines to be written.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// While it lives, events are logged. Dropping it waits until they are written.
pub struct Logging(LossyLog);

impl Drop for Logging {
    fn drop(&mut self) {
        self.0.flush(FLUSH_PATIENCE);
    }
}

/// Starts logging, and has panics logged before they unwind.
pub fn start(format: LogFormat, level: LevelFilter) -> io::Result<Logging> {
    let log = LossyLog::start(io::stderr())?;
    let builder = fmt().with_max_level(level).with_writer(log.clone()).with_target(false);
    match format {
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(location, %backtrace, "panic: {message}");
    }));
    Ok(Logging(log))
}

/// The last words of a command. Not `eprintln!`: that panics when standard error cannot be written, and may
/// block for ever on a pipe that is not read.
pub fn complain(sentence: &str) {
    let line = format!("hyades: {sentence}\n");
    let (written, wait) = std::sync::mpsc::channel();
    let write = move || {
        // There is no other place to report a failure.
        let _ = io::stderr().write_all(line.as_bytes());
        let _ = written.send(());
    };
    if std::thread::Builder::new().spawn(write).is_ok() {
        let _ = wait.recv_timeout(FLUSH_PATIENCE);
    }
}
