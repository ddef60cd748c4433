//! What the server sends to a client: columns, command tags and messages, and the trait that receives them
//! ([`Output`]).

use std::borrow::Cow;

use hyades_engine::procedure::frame::Message;
use hyades_types::environment::Severity;
use hyades_types::error::Result;
use hyades_types::value::{SqlType, Value};

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    pub name: String,
    pub sql_type: SqlType,
    /// Table id and 1-based attribute number of the column it is a plain copy of.
    pub source: Option<(u32, i16)>,
}

/// What a statement will return when it is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// An empty statement.
    Empty,
    /// Only a command tag.
    NoData,
    Rows(Vec<ResultColumn>),
    CopyIn(CopyColumns),
    CopyOut(CopyColumns),
}

/// The columns of COPY's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyColumns {
    pub count: usize,
    /// They are in binary form, otherwise in text or CSV.
    pub is_binary: bool,
}

/// How a statement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The statement is done; this is its command tag (`UPDATE 1`); empty for an empty statement.
    Tag(Cow<'static, str>),
    /// Feed the data with [`Session::copy_feed`](crate::Session::copy_feed), then
    /// [`Session::copy_finish`](crate::Session::copy_finish).
    CopyIn,
}

/// The transaction status of a session, as ReadyForQuery reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    Failed,
}

/// A message sent in addition to the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// NOTICE, WARNING ...
    pub severity: &'static str,
    pub state: &'static str,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

impl Notice {
    pub(crate) fn new(severity: &'static str, state: &'static str, message: impl Into<String>) -> Notice {
        Notice { severity, state, message: message.into(), detail: None, hint: None }
    }

    /// A message that a routine raised.
    pub(crate) fn of(message: Message) -> Notice {
        let severity = match message.severity {
            Severity::Debug => "DEBUG",
            Severity::Log => "LOG",
            Severity::Info => "INFO",
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
            Severity::Exception => "ERROR",
        };
        Notice {
            severity,
            state: message.state.0,
            message: message.text,
            detail: message.detail,
            hint: message.hint,
        }
    }
}

/// Receives what a statement returns. Must not wait for a client: locks are held. All output is held back
/// until the durability of the answer is known.
pub trait Output {
    fn row(&mut self, values: &mut [Value]) -> Result<()>;
    /// One row of COPY TO data.
    fn copy_data(&mut self, bytes: &[u8]) -> Result<()>;
    fn notice(&mut self, notice: Notice);
    /// Discards the rows of the running statement: it is being retried, and the client has seen none of them.
    fn restart(&mut self);
}
