//! No logging: nothing survives the process. The baseline for the cost of durability.
//!
//! # Paper
//! None. The baseline "no logging" of every evaluation.
//!
//! # Idea
//! Do nothing, through the same calls as the others.
//!
//! # Log record
//! There is none.
//!
//! # Invariants
//! None.
//!
//! # Commit
//! At once.
//!
//! # Durability
//! None. Every answer goes out at once.
//!
//! # Recovery
//! The logs that other protocols wrote in earlier incarnations are read. Runs under this one leave nothing.
//!
//! # Where we differ from the paper and why
//! There is no paper.

use hyades_types::error::Result;

use super::{Append, AppendProgress, CommitPayload, Protocol, Recovery, Reserved};
use crate::config::{Config, ProtocolKind};
use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::{LogShape, Manifest};

/// The protocol without logs: nothing survives the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl Protocol for NoLog {
    const KIND: ProtocolKind = ProtocolKind::None;
    const WRITES_LOG: bool = false;
    const LOGS_COMMANDS: bool = false;
    const REPLAYS_IN_LOG_ORDER: bool = false;
    const LEAVES_MARKS: bool = false;

    type Dependencies = ();

    fn log_shape(_config: &Config) -> LogShape {
        LogShape { logs: 0, stripes: 1 }
    }

    fn start(_config: &Config, _manifest: &mut Manifest) -> Result<NoLog> {
        Ok(NoLog)
    }

    fn new_dependencies(&self) {}

    fn begin(&self, _dependencies: &mut ()) {}

    fn reserve<'a>(
        &'a self,
        _worker: usize,
        _dependencies: &mut (),
        _payload: &CommitPayload<'_>,
        _progress: &'a mut AppendProgress,
    ) -> Result<Append<Reserved<'a>>> {
        Ok(Append::Done(Reserved::without_place()))
    }

    fn durability(&self, _watch: &LocalArc<DurableWatch>, _dependencies: &()) -> Durability {
        Durability::immediate()
    }

    fn recovery(_logs: usize) -> Option<Box<dyn Recovery>> {
        None
    }
}
