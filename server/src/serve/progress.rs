//! The line that shows on a terminal how far recovery has come.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyades::Config;
use hyades::engine::config::RecoveryProgress;
use parking_lot::Mutex;

/// The line on standard error; rewritten in place.
pub(super) struct ProgressLine {
    shown: AtomicBool,
    /// One writer at a time.
    writing: Mutex<()>,
}

/// Has recovery report its progress, if standard error is a terminal.
pub(super) fn attach(config: &mut Config) -> Option<Arc<ProgressLine>> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let line = Arc::new(ProgressLine { shown: AtomicBool::new(false), writing: Mutex::new(()) });
    config.on_recovery_progress = Some(Arc::new({
        let line = Arc::clone(&line);
        move |progress: &RecoveryProgress| line.show(&describe(progress))
    }));
    Some(line)
}

fn describe(progress: &RecoveryProgress) -> String {
    let fraction = progress.bytes_done as f64 / progress.bytes_total.max(1) as f64;
    let seconds = progress.seconds.max(1e-6);
    let left_seconds = if fraction > 0.0 { seconds / fraction - seconds } else { 0.0 };
    format!(
        "recovering: {:.0} % of {} MiB, {} transactions, {:.0} MiB/s, {left_seconds:.0} s left",
        fraction * 100.0,
        progress.bytes_total >> 20,
        progress.transactions,
        progress.bytes_done as f64 / seconds / f64::from(1 << 20),
    )
}

impl ProgressLine {
    fn show(&self, text: &str) {
        let _writing = self.writing.lock();
        self.shown.store(true, Ordering::Relaxed);
        // Return to the start of the line and clear it. A lost line does no harm.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{text}");
    }

    /// Clears the line for later output.
    pub(super) fn clear(&self) {
        let _writing = self.writing.lock();
        if self.shown.load(Ordering::Relaxed) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_rate_and_time_left() {
        let progress = RecoveryProgress {
            bytes_done: 256 << 20,
            bytes_total: 1024 << 20,
            transactions: 1000,
            seconds: 2.0,
        };
        let line = "recovering: 25 % of 1024 MiB, 1000 transactions, 128 MiB/s, 6 s left";
        assert_eq!(describe(&progress), line);
        describe(&RecoveryProgress::default());
    }
}
