//! A call of a routine as a transaction: logged as the call (a command) or as what it wrote (data).
//!
//! | logged as | when |
//! |---|---|
//! | command | the transaction is this one call, its compiler vouches that a run can be repeated |
//! | data | everything else; also when something else happens in the transaction after all, when names have changed while it ran, or when the call has computed for long beside what it has written |
//!
//! `Logging::Auto` and `Logging::Command` choose alike: a command wherever that is correct and not dear to
//! replay (docs/decisions/2026-11-27-dear-calls.md). Nothing is ever logged as a command that could not be
//! replayed.

use std::borrow::Cow;

use hyades_types::environment::Environment;
use hyades_types::random::Random;
use hyades_types::value::Value;

use crate::local_arc::LocalArc;
use crate::log::record::command::{
    Captured, CapturedClock, CapturedIdentity, write_arguments, write_command_head,
};
use crate::procedure::frame::Frame;
use crate::procedure::ir::{Procedure, Replayability};
use crate::protocol::Protocol;
use crate::storage::catalog::Catalog;
use crate::storage::stored_routine::Routine;

/// How calls are to be logged (`hyades.logging`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logging {
    #[default]
    Auto,
    Command,
    Data,
}

/// How a call is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggingChoice {
    Command,
    /// With the reason, half a sentence for EXPLAIN.
    Data(Cow<'static, str>),
}

impl LoggingChoice {
    fn data(reason: &'static str) -> LoggingChoice {
        LoggingChoice::Data(Cow::Borrowed(reason))
    }
}

/// Why a call is logged as data if its arguments draw numbers.
pub const ARGUMENTS_DRAW: &str = "its arguments draw numbers from sequences";

/// A call whose replay would take more than this much work of a guest (0.1 ms), and ten times what it takes
/// to replay its rows, is logged as data.
const UNITS_PER_COMMAND: u64 = 10_000;
const UNITS_PER_ROW: u64 = 1_000;

/// The call that a worker's transaction consists of, while nothing else has happened in it.
pub(super) struct Call {
    procedure: LocalArc<Procedure>,
    /// Also in the frame whose run it is.
    number: u64,
    /// Where the encoded arguments begin in the worker's `head`.
    arguments_from: usize,
    has_begun: bool,
    pub(super) has_returned: bool,
    /// Units of work of a guest, as far as looks have learned of them.
    pub(super) worked: u64,
}

impl Call {
    pub(super) fn new(frame: &Frame, arguments_from: usize) -> Call {
        let (procedure, number) = (frame.procedure.clone(), frame.declared);
        Call { procedure, number, arguments_from, has_begun: false, has_returned: false, worked: 0 }
    }

    /// Whether it is better logged as data, having written this many rows.
    pub(super) fn is_dear(&self, rows: usize) -> bool {
        self.worked > UNITS_PER_COMMAND + UNITS_PER_ROW * rows as u64
    }

    /// Whether running this frame is (still) the one run that the call consists of.
    pub(super) fn admits(&mut self, frame: &Frame, head: &[u8]) -> bool {
        if self.has_returned || !self.procedure.is(frame.procedure.shared()) {
            return false;
        }
        if self.has_begun {
            return true;
        }
        self.has_begun = true;
        let is_same = frame.is_at_start() && frame.declared == self.number;
        debug_assert!(!is_same || self.has_arguments_of(frame, head), "arguments were set past their frame");
        is_same
    }

    fn has_arguments_of(&self, frame: &Frame, head: &[u8]) -> bool {
        let mut encoded = Vec::new();
        write_arguments(&mut encoded, &frame.registers[..self.procedure.parameters.len()]);
        encoded == head[self.arguments_from..]
    }
}

/// Whether a compiled routine may be logged as a command, as far as the routine itself is concerned.
pub(super) fn choose<P: Protocol>(logging: Logging, procedure: &Procedure) -> LoggingChoice {
    if logging == Logging::Data {
        return LoggingChoice::data("hyades.logging is data");
    }
    if !P::LOGS_COMMANDS {
        let only_data = "the protocol logs only data: its log does not order calls";
        return LoggingChoice::data(if P::WRITES_LOG { only_data } else { "the protocol writes no log" });
    }
    match &procedure.replay {
        Replayability::Deterministic { .. } => LoggingChoice::Command,
        Replayability::Unknown(reason) => LoggingChoice::Data(reason.clone()),
    }
}

/// Encodes all that is known of a call before it runs and returns where its arguments begin. Gives the
/// environment a random state, which the record contains. The error says why the surroundings cannot be
/// captured.
pub(super) fn encode_head(
    head: &mut Vec<u8>,
    routine: &Routine,
    replay: &Replayability,
    arguments: &[Value],
    environment: &Environment,
) -> Result<usize, &'static str> {
    let Replayability::Deterministic { uses_clock, uses_random, uses_identity } = *replay else {
        return Err("its compiler does not vouch for it");
    };
    let mut captured = Captured::default();
    if uses_clock {
        let Environment { transaction_time, statement_time, .. } = *environment;
        captured.clock = Some(CapturedClock { transaction_time, statement_time });
    }
    if uses_random {
        let seed = environment.random.borrow_mut().number();
        environment.random.replace(Random::seeded(seed));
        captured.random_seed = Some(seed);
    }
    if uses_identity {
        let time_zone = environment.time_zone.iana_name().ok_or("the session's time zone has no name")?;
        if environment.user != environment.session_user {
            return Err("the session has taken another role");
        }
        let (user, database) = (environment.user.as_str(), environment.database.as_str());
        captured.identity = Some(CapturedIdentity { user, database, time_zone });
    }
    head.clear();
    write_command_head(head, routine.id, routine.version_hash(), &captured);
    let arguments_from = head.len();
    write_arguments(head, arguments);
    Ok(arguments_from)
}

/// Whether the procedure is still what the routine means. The error says why not.
pub(super) fn check_routine(
    routine: &Routine,
    procedure: &Procedure,
    catalog: &Catalog,
) -> Result<(), &'static str> {
    match routine.is_dropped() {
        true => Err("the routine has been dropped or replaced"),
        false if routine.is_compiled_as(catalog.version(), procedure) => Ok(()),
        false => Err("the schema has changed since the routine was compiled"),
    }
}
