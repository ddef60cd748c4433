//! The problems that tidy reports.

use std::fmt;

/// A broken rule: where, what, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Problem {
    /// Relative to the root of the checkout.
    pub(super) file: String,
    /// 1-based.
    pub(super) line: usize,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(file: &str, line: usize, message: impl Into<String>) -> Problem {
        Problem { file: file.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}
