//! Settings that concern the connection itself: those reported to the client, and timeouts.
//!
//! Reading a setting from the session allocates, so timeouts are read when they may have changed (after SET,
//! RESET, DISCARD and at the end of a transaction that held one), never for each statement.

use std::time::Duration;

use hyades::types::error::SqlState;
use hyades::{Error, Session};
use tokio::time::Instant;

use crate::codec::backend;

/// Reported when a session begins, as in PostgreSQL.
const REPORTED: [&str; 13] = [
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

/// Appends a ParameterStatus for each reported setting.
pub(super) fn report_all(out: &mut Vec<u8>, session: &mut Session) {
    for name in REPORTED {
        if let Some(value) = session.setting(name) {
            backend::parameter_status(out, name, &value);
        }
    }
    // These are reported above already.
    session.take_changed_settings();
}

/// `None` stands for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Timeouts {
    pub(super) statement: Option<Duration>,
    pub(super) lock: Option<Duration>,
    pub(super) idle_in_transaction: Option<Duration>,
    pub(super) idle_session: Option<Duration>,
    /// Of a SERIALIZABLE transaction for whose locks others wait.
    pub(super) idle_blocker: Option<Duration>,
    /// Statements that take longer are logged. Zero logs all.
    pub(super) log_after: Option<Duration>,
    /// A setting was changed in the open transaction, whose end may change it back.
    pub(super) changed_in_transaction: bool,
}

impl Timeouts {
    pub(super) fn of(session: &Session) -> Timeouts {
        let read = |name| session.setting(name).as_deref().and_then(duration);
        Timeouts {
            statement: read("statement_timeout"),
            lock: read("lock_timeout"),
            idle_in_transaction: read("idle_in_transaction_session_timeout"),
            idle_session: read("idle_session_timeout"),
            idle_blocker: read("hyades.idle_blocker_timeout"),
            log_after: session.setting("log_min_duration_statement").as_deref().and_then(log_after),
            changed_in_transaction: false,
        }
    }
}

/// `-1` means never, `0` always.
fn log_after(text: &str) -> Option<Duration> {
    if text == "0" { Some(Duration::ZERO) } else { duration(text) }
}

/// A duration as SHOW prints it (`0`, `250`, `250ms`, `2s`, `1min`); milliseconds without a unit; `None` for
/// zero.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit_ms = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let milliseconds = number.parse::<u64>().ok()?.saturating_mul(unit_ms);
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

/// Sleeps until the deadline; forever without one.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

pub(super) fn idle_in_transaction_error() -> Error {
    Error::input(SqlState("25P03"), "terminating connection due to idle-in-transaction timeout")
}

pub(super) fn idle_blocker_error() -> Error {
    idle_in_transaction_error()
        .with_detail("Other transactions were waiting for locks of this SERIALIZABLE transaction.")
        .with_hint("A superuser may change hyades.idle_blocker_timeout.")
}

pub(super) fn idle_session_error() -> Error {
    Error::input(SqlState("57P05"), "terminating connection due to idle-session timeout")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_show_prints_them() {
        let ms = |ms| Some(Duration::from_millis(ms));
        for (text, expected) in [
            ("0", None),
            ("250", ms(250)),
            ("250ms", ms(250)),
            ("2s", ms(2000)),
            ("1min", ms(60_000)),
            ("99999999999999999999", None),
            ("", None),
            ("5 parsecs", None),
        ] {
            assert_eq!(duration(text), expected, "{text}");
        }
        assert_eq!((log_after("-1"), log_after("0")), (None, ms(0)));
        assert_eq!(log_after("250ms"), ms(250));
    }
}
