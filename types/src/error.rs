//! Errors, classified by what the caller can do about them.
//!
//! * [`Error::Abort`]: the transaction ran into a conflict; running it again may succeed.
//! * [`Error::Input`]: the user's fault (bad value, missing table, broken constraint); carries a SQLSTATE.
//! * [`Error::Fatal`]: I/O failure or corruption. The database is poisoned; nothing is acknowledged any more.
//!
//! SQLSTATE codes are those of PostgreSQL's appendix A, because clients act on them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// The result of every fallible engine function.
pub type Result<T> = std::result::Result<T, Error>;

/// A five-character SQLSTATE code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub &'static str);

impl SqlState {
    /// Whether the text has the form of a code.
    pub fn is_code(text: &str) -> bool {
        text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    }

    /// The code that RAISE uses for a text: the text itself, if it is a code.
    pub fn named(text: &str) -> SqlState {
        /// Codes invented by programs. A code is five letters or digits, so there are at most 60 million, and
        /// few in one program.
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        if !SqlState::is_code(text) {
            return sqlstate::RAISE_EXCEPTION;
        }
        let mut known = KNOWN.lock();
        if let Some(known) = known.get(text) {
            return SqlState(known);
        }
        let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
        known.insert(kept);
        SqlState(kept)
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The SQLSTATE codes Hyades reports, by PostgreSQL's condition names.
pub mod sqlstate {
    use super::SqlState;

    macro_rules! codes {
        ($($name:ident = $code:literal;)*) => { $(pub const $name: SqlState = SqlState($code);)* };
    }
    codes! {
        PROTOCOL_VIOLATION = "08P01";
        FEATURE_NOT_SUPPORTED = "0A000";
        CARDINALITY_VIOLATION = "21000";
        STRING_DATA_RIGHT_TRUNCATION = "22001";
        SEQUENCE_GENERATOR_LIMIT_EXCEEDED = "2200H";
        NUMERIC_VALUE_OUT_OF_RANGE = "22003";
        INVALID_DATETIME_FORMAT = "22007";
        INVALID_TIME_ZONE_DISPLACEMENT = "22009";
        DATETIME_FIELD_OVERFLOW = "22008";
        DIVISION_BY_ZERO = "22012";
        INVALID_ARGUMENT_FOR_LOG = "2201E";
        INVALID_ARGUMENT_FOR_POWER = "2201F";
        INVALID_ROW_COUNT_IN_LIMIT_CLAUSE = "2201W";
        INVALID_ROW_COUNT_IN_OFFSET_CLAUSE = "2201X";
        CHARACTER_NOT_IN_REPERTOIRE = "22021";
        INVALID_PARAMETER_VALUE = "22023";
        INVALID_PRECEDING_OR_FOLLOWING_SIZE = "22013";
        INVALID_ARGUMENT_FOR_NTILE = "22014";
        INVALID_ARGUMENT_FOR_NTH_VALUE = "22016";
        INVALID_SQL_JSON_SUBSCRIPT = "22033";
        NON_NUMERIC_SQL_JSON_ITEM = "22036";
        SINGLETON_SQL_JSON_ITEM_REQUIRED = "22038";
        SQL_JSON_ARRAY_NOT_FOUND = "22039";
        SQL_JSON_MEMBER_NOT_FOUND = "2203A";
        SQL_JSON_NUMBER_NOT_FOUND = "2203B";
        SQL_JSON_OBJECT_NOT_FOUND = "2203C";
        INVALID_TEXT_REPRESENTATION = "22P02";
        UNTRANSLATABLE_CHARACTER = "22P05";
        INVALID_BINARY_REPRESENTATION = "22P03";
        BAD_COPY_FILE_FORMAT = "22P04";
        NOT_NULL_VIOLATION = "23502";
        FOREIGN_KEY_VIOLATION = "23503";
        UNIQUE_VIOLATION = "23505";
        CHECK_VIOLATION = "23514";
        ACTIVE_SQL_TRANSACTION = "25001";
        NO_ACTIVE_SQL_TRANSACTION = "25P01";
        IN_FAILED_SQL_TRANSACTION = "25P02";
        READ_ONLY_SQL_TRANSACTION = "25006";
        INVALID_SQL_STATEMENT_NAME = "26000";
        INVALID_AUTHORIZATION = "28000";
        INVALID_PASSWORD = "28P01";
        DEPENDENT_OBJECTS_STILL_EXIST = "2BP01";
        INVALID_CURSOR_STATE = "24000";
        INVALID_TRANSACTION_TERMINATION = "2D000";
        INVALID_CURSOR_NAME = "34000";
        INVALID_CURSOR_DEFINITION = "42P11";
        DUPLICATE_CURSOR = "42P03";
        INVALID_CATALOG_NAME = "3D000";
        INVALID_GRANT_OPERATION = "0LP01";
        INVALID_SCHEMA_NAME = "3F000";
        INVALID_SAVEPOINT = "3B001";
        SERIALIZATION_FAILURE = "40001";
        DEADLOCK_DETECTED = "40P01";
        INSUFFICIENT_PRIVILEGE = "42501";
        SYNTAX_ERROR = "42601";
        INVALID_NAME = "42602";
        NAME_TOO_LONG = "42622";
        DUPLICATE_COLUMN = "42701";
        WINDOWING_ERROR = "42P20";
        DUPLICATE_OBJECT = "42710";
        DUPLICATE_FUNCTION = "42723";
        DUPLICATE_ALIAS = "42712";
        AMBIGUOUS_ALIAS = "42P09";
        COLLATION_MISMATCH = "42P21";
        AMBIGUOUS_COLUMN = "42702";
        UNDEFINED_COLUMN = "42703";
        UNDEFINED_OBJECT = "42704";
        AMBIGUOUS_FUNCTION = "42725";
        GROUPING_ERROR = "42803";
        DATATYPE_MISMATCH = "42804";
        WRONG_OBJECT_TYPE = "42809";
        INVALID_FOREIGN_KEY = "42830";
        INVALID_COLUMN_DEFINITION = "42611";
        GENERATED_ALWAYS = "428C9";
        CANNOT_COERCE = "42846";
        UNDEFINED_FUNCTION = "42883";
        UNDEFINED_TABLE = "42P01";
        UNDEFINED_PARAMETER = "42P02";
        DUPLICATE_PREPARED_STATEMENT = "42P05";
        DUPLICATE_DATABASE = "42P04";
        DUPLICATE_SCHEMA = "42P06";
        INVALID_SCHEMA_DEFINITION = "42P15";
        RESERVED_NAME = "42939";
        DUPLICATE_TABLE = "42P07";
        INVALID_COLUMN_REFERENCE = "42P10";
        INVALID_TABLE_DEFINITION = "42P16";
        INVALID_OBJECT_DEFINITION = "42P17";
        INDETERMINATE_DATATYPE = "42P18";
        DISK_FULL = "53100";
        OUT_OF_MEMORY = "53200";
        TOO_MANY_CONNECTIONS = "53300";
        CONFIGURATION_LIMIT_EXCEEDED = "53400";
        SNAPSHOT_TOO_OLD = "72000";
        PROGRAM_LIMIT_EXCEEDED = "54000";
        STATEMENT_TOO_COMPLEX = "54001";
        TOO_MANY_COLUMNS = "54011";
        TOO_MANY_ARGUMENTS = "54023";
        OBJECT_NOT_IN_PREREQUISITE_STATE = "55000";
        OBJECT_IN_USE = "55006";
        CANT_CHANGE_RUNTIME_PARAM = "55P02";
        LOCK_NOT_AVAILABLE = "55P03";
        QUERY_CANCELED = "57014";
        ADMIN_SHUTDOWN = "57P01";
        CANNOT_CONNECT_NOW = "57P03";
        IO_ERROR = "58030";
        UNDEFINED_FILE = "58P01";
        SUCCESSFUL_COMPLETION = "00000";
        WARNING = "01000";
        CASE_NOT_FOUND = "20000";
        NULL_VALUE_NOT_ALLOWED = "22004";
        INVALID_REGULAR_EXPRESSION = "2201B";
        ARRAY_SUBSCRIPT_ERROR = "2202E";
        DATA_EXCEPTION = "22000";
        FUNCTION_EXECUTED_NO_RETURN_STATEMENT = "2F005";
        INVALID_PARAMETER_DEFINITION = "42P13";
        INVALID_RECURSION = "42P19";
        STACKED_DIAGNOSTICS = "0Z002";
        RAISE_EXCEPTION = "P0001";
        NO_DATA_FOUND = "P0002";
        TOO_MANY_ROWS = "P0003";
        TRIGGERED_DATA_CHANGE_VIOLATION = "27000";
        EXTERNAL_ROUTINE_INVOCATION = "39000";
        ASSERT_FAILURE = "P0004";
        INTERNAL_ERROR = "XX000";
        DATA_CORRUPTED = "XX001";
    }
}

/// Why the whole statement or transaction may be run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// This transaction closed a cycle of waits (40P01).
    Deadlock,
    /// What the transaction has read without locks is outdated (40001).
    Serialization,
    /// Another session has an advisory lock that the instruction wants. It runs again when the lock is
    /// granted. Never leaves the interpreter.
    MustWait,
    /// The session must do something before the run goes on. Never leaves the session.
    Suspended,
    /// A table changed between compilation and execution: compile the statement again, then run it. Never
    /// reaches a client.
    StalePlan,
}

/// A mistake in the user's request. Every field is what PostgreSQL would put in its ErrorResponse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    pub state: SqlState,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// 1-based character position in the statement text.
    pub position: Option<u32>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub constraint: Option<String>,
    pub schema: Option<String>,
    pub data_type: Option<String>,
    /// The position within a routine, innermost first, one line each, or the position in the data of COPY.
    pub context: Option<String>,
    /// No handler of a routine may catch it: it depends on what else runs, and a replay could not repeat the
    /// consequences.
    pub is_uncatchable: bool,
}

impl InputError {
    pub fn new(state: SqlState, message: impl Into<String>) -> InputError {
        InputError {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            table: None,
            column: None,
            constraint: None,
            schema: None,
            data_type: None,
            context: None,
            is_uncatchable: false,
        }
    }
}

/// The cause that ended the database's ability to acknowledge anything.
#[derive(Clone, Debug)]
pub struct FatalError {
    pub state: SqlState,
    pub message: String,
}

/// See the module head for the three classes.
#[derive(Clone, Debug)]
pub enum Error {
    Abort(Abort),
    Input(Box<InputError>),
    Fatal(Arc<FatalError>),
}

impl Error {
    /// A user error with nothing but a code and a sentence; refine it with the `with_` methods.
    pub fn input(state: SqlState, message: impl Into<String>) -> Error {
        Error::Input(Box::new(InputError::new(state, message)))
    }

    pub fn fatal(state: SqlState, message: impl Into<String>) -> Error {
        Error::Fatal(Arc::new(FatalError { state, message: message.into() }))
    }

    /// The operating system refused an operation on a file.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Error {
        let state = match error.raw_os_error() {
            Some(28) => sqlstate::DISK_FULL,
            Some(1 | 13) => sqlstate::INSUFFICIENT_PRIVILEGE,
            _ => sqlstate::IO_ERROR,
        };
        Error::fatal(state, format!("{what}: {error}"))
    }

    /// Bytes on disk that no crash can explain.
    pub fn corrupt(message: impl Into<String>) -> Error {
        Error::fatal(sqlstate::DATA_CORRUPTED, message)
    }

    fn edit(mut self, change: impl FnOnce(&mut InputError)) -> Error {
        if let Error::Input(input) = &mut self {
            change(input);
        }
        self
    }

    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Error {
        self.edit(|input| input.detail = Some(detail.into()))
    }

    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Error {
        self.edit(|input| input.hint = Some(hint.into()))
    }

    /// Whether it says nothing about what was to be done, only that it cannot be done here or now: resources
    /// are used up, a limit is exceeded, or an operator has intervened (classes 53, 54 and 57), or it was not
    /// a user error at all.
    pub fn is_of_circumstances(&self) -> bool {
        match self {
            Error::Input(input) => ["53", "54", "57"].iter().any(|class| input.state.0.starts_with(class)),
            Error::Abort(_) | Error::Fatal(_) => true,
        }
    }

    /// See [`InputError::is_uncatchable`].
    #[must_use]
    pub fn uncatchable(self) -> Error {
        self.edit(|input| input.is_uncatchable = true)
    }

    #[must_use]
    pub fn with_position(self, position: u32) -> Error {
        self.edit(|input| input.position = Some(position))
    }

    /// The text that the position refers to is not the client's.
    #[must_use]
    pub fn without_position(self) -> Error {
        self.edit(|input| input.position = None)
    }

    #[must_use]
    pub fn with_table(self, schema: impl Into<String>, table: impl Into<String>) -> Error {
        self.edit(|input| {
            input.schema = Some(schema.into());
            input.table = Some(table.into());
        })
    }

    #[must_use]
    pub fn with_column(self, column: impl Into<String>) -> Error {
        self.edit(|input| input.column = Some(column.into()))
    }

    #[must_use]
    pub fn with_constraint(self, constraint: impl Into<String>) -> Error {
        self.edit(|input| input.constraint = Some(constraint.into()))
    }

    #[must_use]
    pub fn with_context(self, context: impl Into<String>) -> Error {
        self.edit(|input| input.context = Some(context.into()))
    }

    pub fn sqlstate(&self) -> SqlState {
        match self {
            Error::Abort(Abort::Deadlock) => sqlstate::DEADLOCK_DETECTED,
            Error::Abort(Abort::MustWait) => sqlstate::LOCK_NOT_AVAILABLE,
            Error::Abort(Abort::Suspended) => sqlstate::FEATURE_NOT_SUPPORTED,
            Error::Abort(Abort::Serialization | Abort::StalePlan) => sqlstate::SERIALIZATION_FAILURE,
            Error::Input(input) => input.state,
            Error::Fatal(fatal) => fatal.state,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Abort(Abort::Deadlock) => f.write_str("deadlock detected"),
            Error::Abort(Abort::Serialization) => {
                f.write_str("could not serialize access due to concurrent update")
            }
            Error::Abort(Abort::MustWait) => {
                f.write_str("advisory locks that must be waited for are not supported here")
            }
            Error::Abort(Abort::Suspended) => {
                f.write_str("routines that run dynamic statements are not supported here")
            }
            Error::Abort(Abort::StalePlan) => f.write_str("a table changed while the statement was prepared"),
            Error::Input(input) => f.write_str(&input.message),
            Error::Fatal(fatal) => f.write_str(&fatal.message),
        }
    }
}

impl std::error::Error for Error {}

/// Bytes of a text that a message shows, at most.
const MOST_SHOWN: usize = 64 << 10;

/// A text for a message. Messages are built without asking for memory, so a long text is cut.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_SHOWN {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(MOST_SHOWN);
    Cow::Owned(format!("{}...", &text[..end]))
}
