//! Session settings: SHOW, SET, RESET.
//!
//! A setting has a kind that says which values it takes, a default, and perhaps a transaction-local or not
//! yet committed value. SET is transactional as in PostgreSQL: a rollback restores what the transaction
//! changed, SET LOCAL ends with the transaction either way. For that the first change in a transaction
//! remembers the value from before.
//!
//! What works: `TimeZone`, `extra_float_digits`, `search_path` (`path`), `client_min_messages`,
//! `synchronous_commit`, `hyades.logging`, the transaction defaults, the timeouts (enforced by the server),
//! `application_name`. The others are kept for SHOW, because clients set and read them; docs/sql.md lists
//! them. A value that would change answers or promises and does not is refused.
//!
//! `synchronous_commit = off`: the answer to COMMIT goes out before the log is durable. A crash of the
//! process or the machine can then lose the transactions acknowledged within the last moments (those not yet
//! synced by the loggers), always a dependency-closed set: what is recovered is still consistent. Nothing
//! else is weakened.

mod choice;
mod path;
mod time_zone;

use std::collections::HashMap;

use choice::{choice, date_style, encoding, limited, locale, parse_boolean, severity};
use hyades_engine::db::{Isolation, Logging};
use hyades_types::environment::Severity;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use jiff::tz::TimeZone;

/// Which values a setting takes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Boolean,
    Integer {
        minimum: i64,
        maximum: i64,
    },
    /// Milliseconds; units are understood, shown as PostgreSQL shows them.
    Milliseconds,
    /// Kilobytes; units are understood.
    Kilobytes,
    Real,
    Choice(&'static [&'static str]),
    /// Values that work, and values that PostgreSQL has and that are refused.
    Limited(&'static [&'static str], &'static [&'static str]),
    /// The language of messages, and how numbers, money and times look.
    Locale,
    /// A list of schemas.
    Path,
    TimeZone,
    DateStyle,
    Encoding,
    /// Cannot be changed.
    Internal,
}

impl Kind {
    /// PostgreSQL's word for it.
    fn value_type(self) -> &'static str {
        match self {
            Kind::Boolean => "bool",
            Kind::Integer { .. } | Kind::Milliseconds | Kind::Kilobytes => "integer",
            Kind::Real => "real",
            Kind::Choice(_) | Kind::Limited(..) => "enum",
            _ => "string",
        }
    }
}

struct Definition {
    /// As shown: `TimeZone`.
    name: &'static str,
    kind: Kind,
    default: &'static str,
    /// Told to the client with ParameterStatus when it changes.
    is_reported: bool,
    description: &'static str,
}

const fn define(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    description: &'static str,
) -> Definition {
    Definition { name, kind, default, is_reported: false, description }
}

const fn report(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    description: &'static str,
) -> Definition {
    Definition { name, kind, default, is_reported: true, description }
}

const LEVELS: Kind = Kind::Choice(&["serializable", "repeatable read", "read committed", "read uncommitted"]);
const MESSAGE_LEVELS: Kind = Kind::Choice(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error", "info", "fatal",
    "panic",
]);

/// The version that clients parse; its leading number decides which catalog queries they send.
pub const SERVER_VERSION: &str = concat!("15.0 (Hyades ", env!("CARGO_PKG_VERSION"), ")");

/// Sorted by lower-case name: SHOW ALL prints this order, lookups search it.
static DEFINITIONS: &[Definition] = &[
    report(
        "application_name",
        Kind::Text,
        "",
        "Sets the application name to be reported in statistics and logs.",
    ),
    define(
        "backslash_quote",
        Kind::Limited(&["safe_encoding", "on"], &["off"]),
        "safe_encoding",
        "Sets whether \"\\'\" is allowed in string literals.",
    ),
    define("bytea_output", Kind::Limited(&["hex"], &["escape"]), "hex", "Sets the output format for bytea."),
    define(
        "check_function_bodies",
        Kind::Boolean,
        "on",
        "Check routine bodies during CREATE FUNCTION and CREATE PROCEDURE.",
    ),
    report("client_encoding", Kind::Encoding, "UTF8", "Sets the client's character set encoding."),
    define(
        "client_min_messages",
        MESSAGE_LEVELS,
        "notice",
        "Sets the message levels that are sent to the client.",
    ),
    report("DateStyle", Kind::DateStyle, "ISO, MDY", "Sets the display format for date and time values."),
    define(
        "deadlock_timeout",
        Kind::Milliseconds,
        "1s",
        "Sets the time to wait on a lock before checking for deadlock.",
    ),
    define(
        "default_table_access_method",
        Kind::Limited(&["heap"], &[]),
        "heap",
        "Sets the default table access method for new tables.",
    ),
    define(
        "default_tablespace",
        Kind::Limited(&["", "pg_default"], &[]),
        "",
        "Sets the default tablespace to create tables and indexes in.",
    ),
    define(
        "default_transaction_deferrable",
        Kind::Boolean,
        "off",
        "Sets the default deferrable status of new transactions.",
    ),
    define(
        "default_transaction_isolation",
        LEVELS,
        "read committed",
        "Sets the transaction isolation level of each new transaction.",
    ),
    report(
        "default_transaction_read_only",
        Kind::Boolean,
        "off",
        "Sets the default read-only status of new transactions.",
    ),
    define("enable_hashjoin", Kind::Boolean, "on", "Enables the planner's use of hash join plans."),
    define("enable_indexscan", Kind::Boolean, "on", "Enables the planner's use of index-scan plans."),
    define("enable_mergejoin", Kind::Boolean, "on", "Enables the planner's use of merge join plans."),
    define("enable_nestloop", Kind::Boolean, "on", "Enables the planner's use of nested-loop join plans."),
    define("enable_seqscan", Kind::Boolean, "on", "Enables the planner's use of sequential-scan plans."),
    define(
        "escape_string_warning",
        Kind::Boolean,
        "on",
        "Warn about backslash escapes in ordinary string literals.",
    ),
    define(
        "extra_float_digits",
        Kind::Integer { minimum: -15, maximum: 3 },
        "1",
        "Sets the number of digits displayed for floating-point values.",
    ),
    define("geqo", Kind::Boolean, "on", "Enables genetic query optimization."),
    define(
        "hyades.logging",
        Kind::Choice(&["auto", "command", "data"]),
        "auto",
        "Sets whether calls of procedures are logged as commands or as what they write.",
    ),
    define(
        "idle_in_transaction_session_timeout",
        Kind::Milliseconds,
        "0",
        "Sets the maximum allowed idle time between queries, when in a transaction.",
    ),
    define(
        "idle_session_timeout",
        Kind::Milliseconds,
        "0",
        "Sets the maximum allowed idle time between queries, when not in a transaction.",
    ),
    report("in_hot_standby", Kind::Internal, "off", "Shows whether hot standby is currently active."),
    report("integer_datetimes", Kind::Internal, "on", "Shows whether datetimes are integer based."),
    report(
        "IntervalStyle",
        Kind::Limited(&["postgres"], &["postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
        "Sets the display format for interval values.",
    ),
    report("is_superuser", Kind::Internal, "on", "Shows whether the current user is a superuser."),
    define("jit", Kind::Boolean, "off", "Allow JIT compilation."),
    define("lc_collate", Kind::Internal, "C", "Shows the collation order locale."),
    define("lc_ctype", Kind::Internal, "C", "Shows the character classification and case conversion locale."),
    define("lc_messages", Kind::Locale, "C", "Sets the language in which messages are displayed."),
    define("lc_monetary", Kind::Locale, "C", "Sets the locale for formatting monetary amounts."),
    define("lc_numeric", Kind::Locale, "C", "Sets the locale for formatting numbers."),
    define("lc_time", Kind::Locale, "C", "Sets the locale for formatting date and time values."),
    define(
        "lock_timeout",
        Kind::Milliseconds,
        "0",
        "Sets the maximum allowed duration of any wait for a lock.",
    ),
    define(
        "log_statement",
        Kind::Limited(&["none"], &["ddl", "mod", "all"]),
        "none",
        "Sets the type of statements logged.",
    ),
    define(
        "maintenance_work_mem",
        Kind::Kilobytes,
        "64MB",
        "Sets the maximum memory to be used for maintenance operations.",
    ),
    define("max_identifier_length", Kind::Internal, "63", "Shows the maximum identifier length."),
    define("max_index_keys", Kind::Internal, "32", "Shows the maximum number of index keys."),
    define(
        "random_page_cost",
        Kind::Real,
        "4",
        "Sets the planner's estimate of the cost of a nonsequentially fetched disk page.",
    ),
    define("role", Kind::Text, "none", "Sets the current role."),
    define("row_security", Kind::Boolean, "on", "Enable row security."),
    define(
        "search_path",
        Kind::Path,
        "\"$user\", public",
        "Sets the schema search order for names that are not schema-qualified.",
    ),
    report("server_encoding", Kind::Internal, "UTF8", "Shows the server (database) character set encoding."),
    report("server_version", Kind::Internal, SERVER_VERSION, "Shows the server version."),
    define("server_version_num", Kind::Internal, "150000", "Shows the server version as an integer."),
    report("session_authorization", Kind::Text, "", "Sets the session user name."),
    define("ssl", Kind::Internal, "off", "Enables SSL connections."),
    report(
        "standard_conforming_strings",
        Kind::Limited(&["on"], &["off"]),
        "on",
        "Causes '...' strings to treat backslashes literally.",
    ),
    define(
        "statement_timeout",
        Kind::Milliseconds,
        "0",
        "Sets the maximum allowed duration of any statement.",
    ),
    define(
        "synchronous_commit",
        Kind::Choice(&["local", "remote_write", "remote_apply", "on", "off"]),
        "on",
        "Sets the current transaction's synchronization level.",
    ),
    define("synchronize_seqscans", Kind::Boolean, "on", "Enable synchronized sequential scans."),
    define(
        "tcp_keepalives_idle",
        Kind::Integer { minimum: 0, maximum: 2_147_483_647 },
        "0",
        "Time between issuing TCP keepalives.",
    ),
    define(
        "temp_buffers",
        Kind::Kilobytes,
        "8MB",
        "Sets the maximum number of temporary buffers used by each session.",
    ),
    report(
        "TimeZone",
        Kind::TimeZone,
        "UTC",
        "Sets the time zone for displaying and interpreting time stamps.",
    ),
    define(
        "transaction_deferrable",
        Kind::Boolean,
        "off",
        "Whether to defer a read-only serializable transaction until it can be executed with no possible serialization failures.",
    ),
    define(
        "transaction_isolation",
        LEVELS,
        "read committed",
        "Sets the current transaction's isolation level.",
    ),
    define("transaction_read_only", Kind::Boolean, "off", "Sets the current transaction's read-only status."),
    define("wal_level", Kind::Internal, "replica", "Sets the level of information written to the WAL."),
    define("work_mem", Kind::Kilobytes, "4MB", "Sets the maximum memory to be used for query workspaces."),
    define(
        "xmloption",
        Kind::Choice(&["content", "document"]),
        "content",
        "Sets whether XML data in implicit parsing and serialization operations is to be considered as documents or content fragments.",
    ),
];

/// One line of SHOW ALL.
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) default: &'static str,
    pub(crate) description: &'static str,
    pub(crate) value_type: &'static str,
    pub(crate) context: &'static str,
}

/// The settings of one session. Keys are lower-case names.
#[derive(Debug)]
pub(crate) struct Settings {
    /// What differs from the definition's default.
    values: HashMap<String, String>,
    /// Of their names and texts.
    bytes: usize,
    /// What RESET goes back to, where it is not the definition's default: the startup parameters.
    initial: HashMap<String, String>,
    /// What a rollback of the current transaction restores.
    before: Vec<(String, Option<String>)>,
    /// What the end of the current transaction restores: SET LOCAL.
    local: Vec<(String, Option<String>)>,
    changed: Vec<String>,
    time_zone: TimeZone,
    synchronous_commit: bool,
    logging: Logging,
    isolation: Isolation,
    read_only: bool,
    float_digits: i8,
    /// The least severe message that the client gets.
    least_message: Severity,
    /// Whether something that is read while compiling was set since the last look.
    compiles_differently: bool,
}

/// The settings at a savepoint.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    values: HashMap<String, String>,
    before: Vec<(String, Option<String>)>,
    local: Vec<(String, Option<String>)>,
    read_only: bool,
}

impl Snapshot {
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }
}

fn definition(lower: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.name.eq_ignore_ascii_case(lower))
}

/// The setting's name as SHOW heads its column.
pub(crate) fn shown_name(name: &str) -> &str {
    definition(name).map_or(name, |definition| definition.name)
}

impl Settings {
    pub(crate) fn new(user: &str) -> Settings {
        let mut settings = Settings {
            values: HashMap::new(),
            bytes: 0,
            initial: HashMap::new(),
            before: Vec::new(),
            local: Vec::new(),
            changed: DEFINITIONS
                .iter()
                .filter(|definition| definition.is_reported)
                .map(|definition| definition.name.to_ascii_lowercase())
                .collect(),
            time_zone: TimeZone::UTC,
            synchronous_commit: true,
            logging: Logging::Auto,
            isolation: Isolation::ReadCommitted,
            read_only: false,
            float_digits: 1,
            least_message: Severity::Notice,
            compiles_differently: false,
        };
        settings.initial.insert("session_authorization".to_owned(), user.to_owned());
        settings
    }

    /// Applies a startup parameter. Unknown names are kept, bad values refused.
    pub(crate) fn set_initial(&mut self, name: &str, value: &str) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        let value = match definition(&lower) {
            Some(Definition { kind: Kind::Internal, .. }) => return Err(cannot_change(&lower)),
            Some(definition) => checked(definition, value)?,
            None => value.to_owned(),
        };
        self.initial.insert(lower.clone(), value);
        self.note_change(&lower);
        self.refresh(&lower);
        Ok(())
    }

    /// The value as SHOW prints it.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let lower = name.to_ascii_lowercase();
        if let Some(value) = self.values.get(&lower).or_else(|| self.initial.get(&lower)) {
            return Some(value.clone());
        }
        match lower.as_str() {
            // A transaction's modes are the defaults unless it says otherwise.
            "transaction_isolation" => self.get("default_transaction_isolation"),
            "transaction_read_only" => self.get("default_transaction_read_only"),
            "transaction_deferrable" => self.get("default_transaction_deferrable"),
            _ => definition(&lower).map(|definition| definition.default.to_owned()),
        }
    }

    /// The value, or PostgreSQL's error.
    pub(crate) fn show(&self, name: &str) -> Result<(String, String)> {
        let value = self.get(name).ok_or_else(|| unknown(name))?;
        let shown = definition(name).map_or_else(|| name.to_owned(), |definition| definition.name.to_owned());
        Ok((shown, value))
    }

    pub(crate) fn show_all(&self) -> Vec<Shown> {
        DEFINITIONS
            .iter()
            .map(|definition| Shown {
                name: definition.name.to_owned(),
                value: self.get(definition.name).unwrap_or_default(),
                default: definition.default,
                description: definition.description,
                value_type: definition.kind.value_type(),
                context: if matches!(definition.kind, Kind::Internal) { "internal" } else { "user" },
            })
            .collect()
    }

    /// What they take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn get_flag(&self, name: &str) -> bool {
        self.get(name).as_deref() == Some("on")
    }

    /// Whether statements compiled before the last call must be forgotten: their literals and names meant
    /// something else.
    pub(crate) fn take_compiles_differently(&mut self) -> bool {
        std::mem::take(&mut self.compiles_differently)
    }

    /// `extra_float_digits`.
    pub(crate) fn float_digits(&self) -> i8 {
        self.float_digits
    }

    /// The schemas that `search_path` names, there or not, `$user` replaced.
    pub(crate) fn search_path(&self) -> Vec<String> {
        let user = self.initial.get("session_authorization").map_or("", String::as_str);
        let named = |schema: String| if schema == "$user" { user.to_owned() } else { schema };
        let path = path::schemas(&self.get("search_path").unwrap_or_default());
        path.unwrap_or_default().into_iter().map(named).collect()
    }

    /// `client_min_messages`: the least severe message that the client gets.
    pub(crate) fn least_message(&self) -> Severity {
        self.least_message
    }

    pub(crate) fn time_zone(&self) -> &TimeZone {
        &self.time_zone
    }

    /// The level of the current transaction, or of the next one.
    pub(crate) fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Whether the current transaction, or the next one, may only read.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether answers wait until their transaction is durable.
    pub(crate) fn is_commit_synchronous(&self) -> bool {
        self.synchronous_commit
    }

    /// How calls are logged.
    pub(crate) fn logging(&self) -> Logging {
        self.logging
    }

    /// SET. `None` is DEFAULT. Returns the new value.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>, is_local: bool) -> Result<String> {
        let lower = name.to_ascii_lowercase();
        let new = match (definition(&lower), value) {
            (Some(Definition { kind: Kind::Internal, .. }), _) => return Err(cannot_change(&lower)),
            (Some(definition), Some(value)) => Some(checked(definition, value)?),
            (None, Some(value)) if lower.contains('.') => Some(value.to_owned()),
            (None, _) if !lower.contains('.') && !self.initial.contains_key(&lower) => {
                return Err(unknown(name));
            }
            (None, Some(value)) => Some(value.to_owned()),
            (_, None) => None,
        };
        if lower == "session_authorization" || lower == "role" {
            self.check_role(&lower, new.as_deref())?;
        }
        // It is there twice until the end of the transaction, and so is what it was before.
        let old_bytes = self.values.get(&lower).map_or(0, String::len);
        memory::check(new.as_ref().map_or(0, String::len) + old_bytes)?;
        let old = self.values.get(&lower).cloned();
        let undo = if is_local { &mut self.local } else { &mut self.before };
        if !undo.iter().any(|(known, _)| *known == lower) {
            undo.push((lower.clone(), old));
        }
        if !is_local {
            // A later SET overrides an earlier SET LOCAL also after the transaction.
            self.local.retain(|(known, _)| *known != lower);
        }
        self.put(lower.clone(), new);
        Ok(self.get(&lower).unwrap_or_default())
    }

    fn check_role(&self, lower: &str, value: Option<&str>) -> Result<()> {
        let user = self.initial.get("session_authorization").map_or("", String::as_str);
        match value {
            None => Ok(()),
            Some(value) if value == user || value == "default" || (lower == "role" && value == "none") => {
                Ok(())
            }
            Some(value) => Err(Error::input(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("role \"{value}\" does not exist"),
            )),
        }
    }

    /// RESET ALL.
    pub(crate) fn reset_all(&mut self) {
        let names: Vec<String> = self.values.keys().cloned().collect();
        for name in names {
            if !name.starts_with("transaction_") {
                // Every name in `values` was accepted before, so its default is too.
                let _ = self.set(&name, None, false);
            }
        }
    }

    /// What ROLLBACK TO goes back to.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            values: self.values.clone(),
            before: self.before.clone(),
            local: self.local.clone(),
            read_only: self.read_only,
        }
    }

    /// Goes back to a savepoint.
    pub(crate) fn roll_back_to(&mut self, snapshot: &Snapshot) {
        let names = self.values.keys().chain(snapshot.values.keys());
        let changed: Vec<String> =
            names.filter(|name| self.values.get(*name) != snapshot.values.get(*name)).cloned().collect();
        for name in changed {
            let value = snapshot.values.get(&name).cloned();
            self.put(name, value);
        }
        self.before.clone_from(&snapshot.before);
        self.local.clone_from(&snapshot.local);
    }

    /// RELEASE keeps all but READ ONLY, which ends with what it was said in.
    pub(crate) fn release(&mut self, snapshot: &Snapshot) {
        if self.read_only != snapshot.read_only {
            let name = "transaction_read_only";
            self.put(name.to_owned(), snapshot.values.get(name).cloned());
        }
    }

    /// The transaction ended.
    pub(crate) fn end_transaction(&mut self, is_committed: bool) {
        if self.before.is_empty() && self.local.is_empty() {
            return;
        }
        for (name, value) in std::mem::take(&mut self.local) {
            self.put(name, value);
        }
        let before = std::mem::take(&mut self.before);
        if !is_committed {
            for (name, value) in before {
                self.put(name, value);
            }
        }
    }

    /// A mode's value as it is kept; without one, the default's.
    pub(crate) fn checked_mode(&self, lower: &str, value: Option<&str>) -> Result<String> {
        match (definition(lower), value) {
            (Some(definition), Some(value)) => checked(definition, value),
            _ => Ok(self.get(&format!("default_{lower}")).unwrap_or_default()),
        }
    }

    /// A mode of the transaction, which ends with it.
    pub(crate) fn set_for_transaction(&mut self, name: &str, value: String) {
        if !self.local.iter().any(|(known, _)| known == name) {
            self.local.push((name.to_owned(), self.values.get(name).cloned()));
        }
        self.put(name.to_owned(), Some(value));
    }

    fn put(&mut self, lower: String, value: Option<String>) {
        self.note_change(&lower);
        self.bytes += value.as_ref().map_or(0, |value| lower.len() + value.len());
        let old = match value {
            Some(value) => self.values.insert(lower.clone(), value),
            None => self.values.remove(&lower),
        };
        self.bytes -= old.map_or(0, |old| lower.len() + old.len());
        self.refresh(&lower);
    }

    /// Values that are needed for every statement are kept ready.
    fn refresh(&mut self, lower: &str) {
        match lower {
            "timezone" => {
                let name = self.get(lower).unwrap_or_default();
                self.time_zone = time_zone::of_shown(&name);
                self.compiles_differently = true;
            }
            "search_path" => self.compiles_differently = true,
            "extra_float_digits" => {
                self.float_digits = self.get(lower).and_then(|digits| digits.parse().ok()).unwrap_or(1);
            }
            "client_min_messages" => {
                self.least_message = self.get(lower).map_or(Severity::Notice, |level| severity(&level));
            }
            "synchronous_commit" => self.synchronous_commit = self.get(lower).as_deref() != Some("off"),
            "hyades.logging" => {
                self.logging = match self.get(lower).as_deref() {
                    Some("command") => Logging::Command,
                    Some("data") => Logging::Data,
                    _ => Logging::Auto,
                };
            }
            "transaction_isolation" | "default_transaction_isolation" => {
                self.isolation = match self.get("transaction_isolation").as_deref() {
                    Some("serializable") => Isolation::Serializable,
                    Some("repeatable read") => Isolation::RepeatableRead,
                    // READ UNCOMMITTED too, as in PostgreSQL.
                    _ => Isolation::ReadCommitted,
                };
            }
            "transaction_read_only" | "default_transaction_read_only" => {
                self.read_only = self.get_flag("transaction_read_only");
            }
            _ => {}
        }
    }

    fn note_change(&mut self, lower: &str) {
        let is_reported = definition(lower).is_some_and(|definition| definition.is_reported);
        if is_reported && !self.changed.iter().any(|known| known == lower) {
            self.changed.push(lower.to_owned());
        }
    }

    /// Whether reported settings changed since they were last taken.
    pub(crate) fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Reported settings changed since the last call.
    pub(crate) fn take_changed(&mut self) -> Vec<(String, String)> {
        if self.changed.is_empty() {
            return Vec::new();
        }
        std::mem::take(&mut self.changed)
            .into_iter()
            .filter_map(|lower| {
                let definition = definition(&lower)?;
                Some((definition.name.to_owned(), self.get(&lower)?))
            })
            .collect()
    }
}

fn unknown(name: &str) -> Error {
    Error::input(sqlstate::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

fn cannot_change(name: &str) -> Error {
    let name = definition(name).map_or(name, |definition| definition.name);
    Error::input(sqlstate::CANT_CHANGE_RUNTIME_PARAM, format!("parameter \"{name}\" cannot be changed"))
}

fn invalid(definition: &Definition, value: &str) -> Error {
    Error::input(
        sqlstate::INVALID_PARAMETER_VALUE,
        format!("invalid value for parameter \"{}\": \"{value}\"", definition.name),
    )
}

/// Checks a value and brings it into the form in which it is shown.
fn checked(definition: &Definition, value: &str) -> Result<String> {
    let wrong = || invalid(definition, value);
    match definition.kind {
        Kind::Text => Ok(value.to_owned()),
        Kind::Internal => Err(cannot_change(definition.name)),
        Kind::Boolean => {
            let flag = parse_boolean(value).ok_or_else(|| {
                Error::input(
                    sqlstate::INVALID_PARAMETER_VALUE,
                    format!("parameter \"{}\" requires a Boolean value", definition.name),
                )
            })?;
            Ok(if flag { "on" } else { "off" }.to_owned())
        }
        Kind::Integer { minimum, maximum } => {
            let number: i64 = value.trim().parse().map_err(|_| wrong())?;
            if !(minimum..=maximum).contains(&number) {
                return Err(Error::input(
                    sqlstate::INVALID_PARAMETER_VALUE,
                    format!(
                        "{number} is outside the valid range for parameter \"{}\" ({minimum} .. {maximum})",
                        definition.name
                    ),
                ));
            }
            Ok(number.to_string())
        }
        Kind::Milliseconds => with_unit(value, &TIME_UNITS).ok_or_else(wrong),
        Kind::Kilobytes => with_unit(value, &MEMORY_UNITS).ok_or_else(wrong),
        Kind::Real => value.trim().parse::<f64>().map(|number| number.to_string()).map_err(|_| wrong()),
        Kind::Choice(choices) => choice(definition, choices, value),
        Kind::Limited(choices, refused) => limited(definition, choices, refused, value),
        Kind::Locale => locale(definition, value),
        Kind::Path => match path::schemas(value) {
            Some(_) => Ok(value.to_owned()),
            None => Err(wrong().with_detail("List syntax is invalid.")),
        },
        Kind::TimeZone => {
            time_zone::read(value).map(|(_, name)| name).map_err(|refusal| refusal.into_error(wrong()))
        }
        Kind::DateStyle => date_style(definition, value),
        Kind::Encoding => encoding(definition, value),
    }
}

/// Names of units and how many of the base unit they are, largest first.
type Units = [(&'static str, i64); 5];
const TIME_UNITS: Units = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];
const MEMORY_UNITS: Units = [("TB", 1 << 30), ("GB", 1 << 20), ("MB", 1 << 10), ("kB", 1), ("B", 0)];

fn with_unit(value: &str, units: &Units) -> Option<String> {
    let value = value.trim();
    let digits_end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let number: i64 = value[..digits_end].parse().ok()?;
    let unit = value[digits_end..].trim();
    let factor =
        if unit.is_empty() { 1 } else { units.iter().find(|(name, factor)| *name == unit && *factor > 0)?.1 };
    let base = number.checked_mul(factor)?;
    if base == 0 {
        return Some("0".to_owned());
    }
    let (name, factor) = units.iter().find(|(_, factor)| *factor > 0 && base % factor == 0)?;
    Some(format!("{}{name}", base / factor))
}
