//! The list of protocols: where a name becomes one of them.
//!
//! A new protocol is a file beside this one, a name in [`ProtocolKind`], and a line here.

use hyades_types::error::{Error, Result, sqlstate};

use super::none::NoLog;
use super::serial::Serial;
use super::taurus::Taurus;
use super::{Protocol, ReplayOrder};
use crate::config::{Config, ProtocolKind};
use crate::log::manifest::{LogShape, unknown_protocol};

/// What is to be done with a protocol that is known by its kind only.
pub trait WithProtocol {
    type Output;

    fn with<P: Protocol>(self) -> Self::Output;
}

/// Does it with the protocol of this kind.
pub fn with_protocol<W: WithProtocol>(kind: ProtocolKind, what: W) -> W::Output {
    match kind {
        ProtocolKind::None => what.with::<NoLog>(),
        ProtocolKind::Serial => what.with::<Serial>(),
        ProtocolKind::Taurus => what.with::<Taurus>(),
    }
}

/// Refuses what the protocol of this configuration cannot work with.
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

/// Which logs an incarnation has with this configuration.
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

/// How records are ordered in one of so many logs that a protocol of this name has written.
///
/// # Errors
/// The name is unknown, or its protocol writes no logs.
pub fn replay_order(name: &str, logs: usize) -> Result<Box<dyn ReplayOrder>> {
    struct Order(usize);

    impl WithProtocol for Order {
        type Output = Option<Box<dyn ReplayOrder>>;

        fn with<P: Protocol>(self) -> Self::Output {
            P::replay_order(self.0)
        }
    }

    ProtocolKind::named(name)
        .and_then(|kind| with_protocol(kind, Order(logs)))
        .ok_or_else(|| Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, unknown_protocol(name)))
}
