//! The log of statements that took long (`log_min_duration_statement`).
//!
//! The time that a statement waited counts. The time that its client took to read the answer does not. Lines
//! are limited in rate, like everything that clients can cause, and show the beginning of the text. The text
//! of a statement with a password in it is left out.

use std::time::{Duration, Instant};

use super::Connection;
use crate::logging::seldom::{Seldom, seldom};

/// The most bytes of a text that are shown.
const SHOWN_BYTES: usize = 1024;

/// When a statement began, if that is needed.
#[derive(Clone, Copy)]
pub(super) struct Watched(Option<(Instant, Duration)>);

impl Watched {
    /// Starts timing a statement.
    pub(super) fn begin(patience: Option<Duration>) -> Watched {
        Watched(patience.map(|patience| (Instant::now(), patience)))
    }
}

impl Connection<'_> {
    /// The statement has ended, successfully or not.
    pub(super) fn note_slow(&self, watched: Watched, text: &str) {
        let Watched(Some((begun, patience))) = watched else { return };
        let took = begun.elapsed();
        if took < patience {
            return;
        }
        static SLOW: Seldom = Seldom::new();
        let process_id = self.registration.control().process_id;
        let duration_ms = took.as_micros() as f64 / 1e3;
        let statement = shown(text);
        seldom!(info, SLOW, process_id, duration_ms, statement, "a statement took long");
    }
}

fn shown(text: &str) -> &str {
    let lower = text.to_ascii_lowercase();
    if lower.contains("password") && (lower.contains("role") || lower.contains("user")) {
        return "(with a password)";
    }
    &text[..text.floor_char_boundary(SHOWN_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_and_a_password_left_out() {
        assert_eq!(shown("select 1"), "select 1");
        assert_eq!(shown(&"ä".repeat(1000)).len(), SHOWN_BYTES);
        assert_eq!(shown("ALTER ROLE ada PASSWORD 'secret'"), "(with a password)");
    }
}
