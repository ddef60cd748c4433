//! The list of protocols, which turns a name into a protocol.
//!
//! A new protocol is a file beside this one, a name in [`ProtocolKind`], and a line here.

use hyades_types::error::{Error, Result, sqlstate};

use super::none::NoLog;
use super::plover::Plover;
use super::serial::Serial;
use super::silor::SiloR;
use super::taurus::Taurus;
use super::taurus_graph::TaurusGraph;
use super::{Protocol, Recovery};
use crate::config::{Config, ProtocolKind};
use crate::log::manifest::{LogShape, unknown_protocol};

/// An operation on a protocol of which only the kind is known.
pub trait WithProtocol {
    type Output;

    fn with<P: Protocol>(self) -> Self::Output;
}

/// Performs the operation with the protocol of this kind.
pub fn with_protocol<W: WithProtocol>(kind: ProtocolKind, what: W) -> W::Output {
    match kind {
        ProtocolKind::None => what.with::<NoLog>(),
        ProtocolKind::Serial => what.with::<Serial>(),
        ProtocolKind::Taurus => what.with::<Taurus>(),
        ProtocolKind::TaurusGraph => what.with::<TaurusGraph>(),
        ProtocolKind::SiloR => what.with::<SiloR>(),
        ProtocolKind::Plover => what.with::<Plover>(),
    }
}

/// Refuses a configuration that its protocol cannot work with.
///
/// # Errors
/// [`Protocol::check`].
pub(crate) fn check(config: &Config) -> Result<()> {
    struct Check<'a>(&'a Config);

    impl WithProtocol for Check<'_> {
        type Output = Result<()>;

        fn with<P: Protocol>(self) -> Result<()> {
            P::check(self.0)
        }
    }

    with_protocol(config.protocol, Check(config))
}

/// Whether a log record of this protocol may hold a call in place of changes.
fn logs_commands(kind: ProtocolKind) -> bool {
    struct LogsCommands;

    impl WithProtocol for LogsCommands {
        type Output = bool;

        fn with<P: Protocol>(self) -> bool {
            P::LOGS_COMMANDS
        }
    }

    with_protocol(kind, LogsCommands)
}

/// Whether its records name those that they follow.
pub(crate) fn has_ids(kind: ProtocolKind) -> bool {
    recovery(kind.name(), 1).is_ok_and(|recovery| recovery.has_ids())
}

/// Why calls cannot be logged as commands with this protocol, if it has logs.
pub fn why_no_commands(kind: ProtocolKind) -> Option<String> {
    if logs_commands(kind) || kind == ProtocolKind::None {
        return None;
    }
    let name = kind.name();
    Some(format!("the logs of the protocol {name} do not say in which order calls ran"))
}

/// The logs that an incarnation has with this configuration.
pub fn log_shape(config: &Config) -> LogShape {
    struct Shape<'a>(&'a Config);

    impl WithProtocol for Shape<'_> {
        type Output = LogShape;

        fn with<P: Protocol>(self) -> LogShape {
            P::log_shape(self.0)
        }
    }

    with_protocol(config.protocol, Shape(config))
}

/// How the records are read that the protocol of this name has written to this many logs.
///
/// # Errors
/// The name is unknown, or its protocol writes no logs.
pub fn recovery(name: &str, logs: usize) -> Result<Box<dyn Recovery>> {
    struct OfLogs(usize);

    impl WithProtocol for OfLogs {
        type Output = Option<Box<dyn Recovery>>;

        fn with<P: Protocol>(self) -> Self::Output {
            P::recovery(self.0)
        }
    }

    ProtocolKind::named(name)
        .and_then(|kind| with_protocol(kind, OfLogs(logs)))
        .ok_or_else(|| Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, unknown_protocol(name)))
}
