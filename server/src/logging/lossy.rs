//! Writes log lines to an output that may block or fail.
//!
//! ```text
//! threads --try_send--> queue of lines, bounded ---> thread "hyades-log" --write--> standard error
//!             |                                              |
//!             +-- full: counted, dropped                     +-- failed: counted, dropped
//! ```
//! A server must not end, and no statement may wait, because the log cannot be written: a full disk, a closed
//! pipe, a pipe that is not read. So threads leave their lines in a queue, and one other thread writes them
//! and may block for any length of time. When lines can be written again, a line reports how many were lost
//! so far.
//!
//! Invariants:
//! 1. Logging never waits, never fails and never panics.
//! 2. Memory is bounded, by the number of lines in the queue and by the length that a line is cut to.
//! 3. A line is written whole or counted as lost, and lines keep their order.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// The most lines that may wait to be written.
const LINES: usize = 4096;
/// The length to which lines are cut. A panic with its backtrace fits.
const LINE_BYTES: usize = 32 << 10;
/// How soon lost lines are reported once the queue is empty.
const REPORT_AFTER: Duration = Duration::from_millis(100);

enum Item {
    Line(Vec<u8>),
    /// Asks for a signal once everything before it has been dealt with.
    Mark(SyncSender<()>),
}

/// Accepts lines. Clones share one queue.
#[derive(Clone)]
pub struct LossyLog {
    queue: SyncSender<Item>,
    /// Lines lost since the start.
    lost: Arc<AtomicU64>,
}

/// The writing end of a [`LossyLog`].
struct LineWriter<W> {
    queue: Receiver<Item>,
    lost: Arc<AtomicU64>,
    /// How many of the lost lines have been reported.
    reported: u64,
    /// Whether the last line could be written.
    works: bool,
    out: W,
}

/// Collects the line of one event, and queues it when dropped.
pub struct Line {
    log: LossyLog,
    bytes: Vec<u8>,
}

impl LossyLog {
    /// Starts the thread that writes to `out`. Lost lines are reported through `tracing`, so that they look
    /// like the others.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<LossyLog> {
        let (log, writer) = LossyLog::new(out, LINES);
        std::thread::Builder::new().name("hyades-log".to_owned()).spawn(move || writer.run())?;
        Ok(log)
    }

    fn new<W: Write>(out: W, lines: usize) -> (LossyLog, LineWriter<W>) {
        let (sender, receiver) = sync_channel(lines);
        let lost = Arc::new(AtomicU64::new(0));
        let log = LossyLog { queue: sender, lost: Arc::clone(&lost) };
        (log, LineWriter { queue: receiver, lost, reported: 0, works: false, out })
    }

    fn leave(&self, mut line: Vec<u8>) {
        if line.len() > LINE_BYTES {
            line.truncate(LINE_BYTES - 1);
            line.push(b'\n');
        }
        if self.queue.try_send(Item::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines so far have been written or lost, but no longer than `patience`.
    pub fn flush(&self, patience: Duration) {
        let (done, wait) = sync_channel(1);
        // If the queue is full the writer is stuck, so waiting would be pointless.
        if self.queue.try_send(Item::Mark(done)).is_ok() {
            let _ = wait.recv_timeout(patience);
        }
    }
}

impl<'a> MakeWriter<'a> for LossyLog {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { log: self.clone(), bytes: Vec::new() }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            self.log.leave(std::mem::take(&mut self.bytes));
        }
    }
}

impl<W: Write> LineWriter<W> {
    fn run(mut self) {
        while self
            .turn(|lines| tracing::warn!(lines, "lines of this log were lost: they could not be written"))
        {
        }
    }

    /// Handles one item, or reports what was lost. Returns false when no logger is left.
    fn turn(&mut self, report: impl FnOnce(u64)) -> bool {
        let lost = self.lost.load(Ordering::Relaxed);
        let item = if self.works && lost > self.reported {
            self.queue.recv_timeout(REPORT_AFTER)
        } else {
            self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match item {
            Ok(Item::Line(line)) => self.write(&line),
            // The caller of `flush` may have stopped waiting.
            Ok(Item::Mark(done)) => drop(done.try_send(())),
            Err(RecvTimeoutError::Timeout) => {
                self.reported = lost;
                // The queue was empty a moment ago. If this line is lost, a later report covers it.
                report(lost);
            }
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    fn write(&mut self, line: &[u8]) {
        self.works = self.out.write_all(line).and_then(|()| self.out.flush()).is_ok();
        if !self.works {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts lines while `works` is set.
    #[derive(Default)]
    struct Out {
        full: bool,
        text: String,
    }

    impl Write for &mut Out {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.full {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.text.push_str(std::str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn log_line(log: &LossyLog, text: &str) {
        log.make_writer().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn lines_beyond_the_queue_are_counted_and_reported_once() {
        let mut out = Out::default();
        let (log, mut writer) = LossyLog::new(&mut out, 2);
        for line in ["one\n", "two\n", "three\n", "four\n"] {
            log_line(&log, line);
        }
        let mut reports = Vec::new();
        for _ in 0..3 {
            assert!(writer.turn(|lost| reports.push(lost)));
        }
        log_line(&log, "five\n");
        drop(log);
        while writer.turn(|lost| reports.push(lost)) {}
        assert_eq!((out.text.as_str(), reports), ("one\ntwo\nfive\n", vec![2]));
    }

    #[test]
    fn lines_that_cannot_be_written_are_reported_when_one_can() {
        let mut out = Out { full: true, text: String::new() };
        let (log, mut writer) = LossyLog::new(&mut out, 8);
        let mut reports = Vec::new();
        log_line(&log, "lost\n");
        assert!(writer.turn(|lost| reports.push(lost)));
        writer.out.full = false;
        log_line(&log, "kept\n");
        for _ in 0..2 {
            assert!(writer.turn(|lost| reports.push(lost)));
        }
        drop(log);
        assert!(!writer.turn(|lost| reports.push(lost)));
        assert_eq!((out.text.as_str(), reports), ("kept\n", vec![1]));
    }

    #[test]
    fn a_long_line_is_cut_and_stays_a_line() {
        let mut out = Out::default();
        let (log, mut writer) = LossyLog::new(&mut out, 1);
        log_line(&log, &"x".repeat(LINE_BYTES * 2));
        assert!(writer.turn(|_| ()));
        assert_eq!((out.text.len(), out.text.ends_with("x\n")), (LINE_BYTES, true));
    }

    #[test]
    fn a_flush_ends_when_everything_is_written_or_patience_is_over() {
        let (log, mut writer) = LossyLog::new(io::sink(), 2);
        // There is no writer: the wait ends by itself.
        log.flush(Duration::from_millis(1));
        let flushing = std::thread::spawn(move || log.flush(Duration::from_secs(60)));
        while writer.turn(|_| ()) {}
        flushing.join().unwrap();
    }
}
