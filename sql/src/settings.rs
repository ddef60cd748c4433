//! Session settings: SHOW, SET, RESET.
//!
//! A setting has a kind that says which values it accepts, a default, and perhaps a transaction-local or
//! uncommitted value. SET is transactional as in PostgreSQL: a rollback restores what the transaction
//! changed, and SET LOCAL ends with the transaction either way. For this purpose the first change in a
//! transaction remembers the previous value.
//!
//! Settings with an effect: `TimeZone`, `DateStyle`, `IntervalStyle`, `extra_float_digits`, `work_mem`,
//! `temp_file_limit`, `search_path` (`path`), `client_min_messages`, `synchronous_commit`, `hyades.logging`,
//! the transaction defaults, the timeouts (enforced by the server), `application_name`. The others are kept
//! for SHOW, because clients set and read them; docs/sql.md lists them. A value is refused if it ought to
//! change results or guarantees but has no such effect here.
//!
//! Files:
//! * `definition`: the table of settings, with defaults and kinds;
//! * values by kind: `choice` (from a list), `number` (with units), `path` (of schemas), `time_zone`,
//!   `date_style`.
//!
//! `synchronous_commit = off`: the answer to COMMIT is sent before the log is durable. A crash of the
//! process or the machine can then lose the transactions acknowledged in the last moments (those not yet
//! synced by the loggers). The lost transactions always form a dependency-closed set, so the recovered
//! state is still consistent. Nothing else is weakened.

mod choice;
mod date_style;
mod definition;
mod number;
mod path;
mod time_zone;

use std::collections::{BTreeSet, HashMap};

use choice::{choice, encoding, limited, locale, parse_boolean, severity};
use definition::{DEFINITIONS, Definition, Kind, definition};
use hyades_engine::db::{Isolation, Logging};
use hyades_types::access::RoleId;
use hyades_types::environment::Severity;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::refusal::{Missing, refused};
use hyades_types::text::DateStyles;
use jiff::tz::TimeZone;
use number::Unit;

/// The version that clients parse. They choose their catalog queries by its leading number.
pub const SERVER_VERSION: &str = concat!("15.0 (Hyades ", env!("CARGO_PKG_VERSION"), ")");

/// One line of SHOW ALL and of `pg_settings`.
pub(crate) struct Shown {
    pub(crate) name: &'static str,
    /// As SHOW prints it.
    pub(crate) value: String,
    /// In the setting's unit.
    pub(crate) number: String,
    pub(crate) unit: &'static str,
    pub(crate) category: &'static str,
    pub(crate) description: &'static str,
    pub(crate) value_type: &'static str,
    pub(crate) context: &'static str,
    pub(crate) source: &'static str,
    /// The minimum and maximum. Empty unless the setting is a number.
    pub(crate) range: (&'static str, &'static str),
    pub(crate) choices: Vec<&'static str>,
    pub(crate) default: String,
    /// The value that RESET restores.
    pub(crate) reset: String,
}

/// What SET ROLE leaves in `role`: the number of the role that the name meant then, and the name for SHOW.
/// The name may belong to another role later. In this form the number follows every rollback and savepoint.
pub(crate) fn chosen_role(id: RoleId, name: &str) -> String {
    format!("{} {name}", id.0)
}

fn number_of_chosen(role: &str) -> Option<RoleId> {
    role.split_once(' ').and_then(|(id, _)| id.parse().ok()).map(RoleId)
}

/// Settings that RESET ALL leaves alone.
const KEPT: [&str; 2] = ["role", "session_authorization"];

/// `permission denied to set parameter`
pub(crate) fn not_allowed(name: &str) -> Error {
    let message = format!("permission denied to set parameter \"{name}\"");
    Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message)
}

/// Whether only superusers may change a setting, by its lower-case name.
pub(crate) fn is_for_superusers(name: &str) -> bool {
    definition(name).is_some_and(|definition| definition.is_for_superusers)
}

/// The settings of one session. Keys are lower-case names.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The values that differ from the definition's default.
    values: HashMap<String, String>,
    /// The bytes of their names and texts.
    bytes: usize,
    /// The values that RESET restores where they differ from the definition's default: the startup
    /// parameters.
    initial: HashMap<String, String>,
    /// The values that a rollback of the current transaction restores.
    before: Vec<(String, Option<String>)>,
    /// The values that the end of the current transaction restores, because of SET LOCAL.
    local: Vec<(String, Option<String>)>,
    changed: Vec<String>,
    /// Names with a dot that have ever been set. Their value is empty unless it is set.
    custom: BTreeSet<String>,
    time_zone: TimeZone,
    synchronous_commit: bool,
    logging: Logging,
    isolation: Isolation,
    read_only: bool,
    float_digits: i8,
    styles: DateStyles,
    /// `work_mem`, in bytes.
    work_bytes: usize,
    /// `temp_file_limit`, in bytes.
    file_bytes: Option<u64>,
    /// The least severe message that is sent to the client.
    least_message: Severity,
    /// What SET ROLE and SET SESSION AUTHORIZATION chose.
    role: Option<RoleId>,
    session_role: Option<RoleId>,
    /// Whether something that affects compilation was set since the last call of
    /// `take_compiles_differently`.
    compiles_differently: bool,
    /// `current_user`
    user: String,
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

/// The setting's name as SHOW prints it above the column.
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
            custom: BTreeSet::new(),
            time_zone: TimeZone::UTC,
            synchronous_commit: true,
            logging: Logging::Auto,
            isolation: Isolation::ReadCommitted,
            read_only: false,
            float_digits: 1,
            styles: DateStyles::default(),
            work_bytes: 0,
            file_bytes: None,
            least_message: Severity::Notice,
            role: None,
            session_role: None,
            compiles_differently: false,
            user: user.to_owned(),
        };
        settings.initial.insert("session_authorization".to_owned(), user.to_owned());
        settings.refresh("work_mem");
        settings
    }

    /// Applies a startup parameter. Unknown names are kept, and bad values are refused.
    pub(crate) fn set_initial(&mut self, name: &str, value: &str) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        let value = match definition(&lower) {
            Some(Definition { kind: Kind::Internal, .. }) => return Err(cannot_change(&lower)),
            Some(definition) => self.checked(definition, value)?,
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
            let is_chosen =
                lower == "role" || lower == "session_authorization" && self.values.contains_key(&lower);
            let name = value.split_once(' ').map(|(_, name)| name).filter(|_| is_chosen);
            return Some(name.unwrap_or(value).to_owned());
        }
        match lower.as_str() {
            // A transaction's modes are the defaults unless it sets them.
            "transaction_isolation" => self.get("default_transaction_isolation"),
            "transaction_read_only" => self.get("default_transaction_read_only"),
            "transaction_deferrable" => self.get("default_transaction_deferrable"),
            _ => match definition(&lower) {
                Some(definition) => Some(definition.default.to_owned()),
                None => self.custom.contains(&lower).then(String::new),
            },
        }
    }

    /// The name and value for SHOW, or PostgreSQL's error.
    pub(crate) fn show(&self, name: &str) -> Result<(String, String)> {
        let value = self.get(name).ok_or_else(|| unknown(name))?;
        let shown = definition(name).map_or_else(|| name.to_owned(), |definition| definition.name.to_owned());
        Ok((shown, value))
    }

    pub(crate) fn show_all(&self) -> Vec<Shown> {
        let is_hidden = |name: &str| matches!(name, "role" | "session_authorization" | "is_superuser");
        let shown = DEFINITIONS.iter().filter(|definition| !is_hidden(definition.name));
        shown.map(|definition| self.shown(definition)).collect()
    }

    fn shown(&self, definition: &'static Definition) -> Shown {
        let lower = definition.name.to_ascii_lowercase();
        let value = self.get(&lower).unwrap_or_default();
        let unit = definition.kind.unit();
        let number = |value: &str| match definition.kind {
            Kind::Integer { .. } => number::parse_integer(value, unit).map(|number| number.to_string()),
            Kind::Real { .. } => number::parse_real(value, unit).map(number::general),
            _ => Ok(value.to_owned()),
        };
        let number = |value: &str| number(value).unwrap_or_else(|_| value.to_owned());
        let initial = self.initial.get(&lower);
        let context = match &definition.kind {
            Kind::Internal => "internal",
            _ if definition.is_for_superusers => "superuser",
            _ => "user",
        };
        let source = match &definition.kind {
            Kind::Internal => "default",
            _ if self.values.contains_key(&lower) => "session",
            _ if initial.is_some() => "client",
            _ => "default",
        };
        let choices = match &definition.kind {
            Kind::Choice(values) => values.iter().copied().filter(|value| !value.starts_with('~')).collect(),
            Kind::Limited(values, refused) => values.iter().chain(refused).copied().collect(),
            _ => Vec::new(),
        };
        Shown {
            name: definition.name,
            number: number(&value),
            value,
            unit: unit.name(),
            category: definition.category,
            description: definition.description,
            value_type: definition.kind.value_type(),
            context,
            source,
            range: definition.range,
            choices,
            default: number(definition.default),
            reset: number(initial.map_or(definition.default, String::as_str)),
        }
    }

    /// The memory that the values take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn get_flag(&self, name: &str) -> bool {
        self.get(name).as_deref() == Some("on")
    }

    /// Whether statements compiled before the last call must be dropped, because their literals and names
    /// now mean something else.
    pub(crate) fn take_compiles_differently(&mut self) -> bool {
        std::mem::take(&mut self.compiles_differently)
    }

    /// `work_mem` and `temp_file_limit`.
    pub(crate) fn work_memory(&self) -> (usize, Option<u64>) {
        (self.work_bytes, self.file_bytes)
    }

    /// The value of a setting in kB, converted to bytes. Negative if the setting is.
    fn bytes_of(&self, lower: &str) -> i64 {
        let shown = self.get(lower).unwrap_or_default();
        number::parse_integer(&shown, Unit::Kilobytes).map_or(0, |kilobytes| kilobytes.saturating_mul(1024))
    }

    /// Checks a value and converts it to the form in which it is shown.
    fn checked(&self, definition: &Definition, value: &str) -> Result<String> {
        if definition.kind != Kind::DateStyle {
            return checked(definition, value);
        }
        let initial = self.initial.get("datestyle").map_or(definition.default, String::as_str);
        date_style::read(value, self.styles, date_style::of_shown(initial, ""))
            .map(date_style::shown)
            .map_err(|wrong| invalid(definition, value).with_detail(wrong))
    }

    /// `DateStyle` and `IntervalStyle`.
    pub(crate) fn styles(&self) -> DateStyles {
        self.styles
    }

    /// `extra_float_digits`.
    pub(crate) fn float_digits(&self) -> i8 {
        self.float_digits
    }

    /// The schemas that `search_path` names, whether they exist or not, with `$user` replaced.
    pub(crate) fn search_path(&self) -> Vec<String> {
        let named = |schema: String| if schema == "$user" { self.user.clone() } else { schema };
        let path = path::schemas(&self.get("search_path").unwrap_or_default());
        path.unwrap_or_default().into_iter().map(named).collect()
    }

    /// `client_min_messages`: the least severe message that is sent to the client.
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

    /// Whether answers wait until their transactions are durable.
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
            (Some(definition), Some(value)) => Some(self.checked(definition, value)?),
            (None, value) if lower.contains('.') => {
                self.add_custom(name, &lower)?;
                value.map(str::to_owned)
            }
            (None, _) if !self.initial.contains_key(&lower) => {
                return Err(unknown(name));
            }
            (None, Some(value)) => Some(value.to_owned()),
            (_, None) => None,
        };
        // Until the end of the transaction the new value is stored twice, and so is the old one.
        let old_bytes = self.values.get(&lower).map_or(0, String::len);
        memory::check(new.as_ref().map_or(0, String::len) + old_bytes)?;
        let old = self.values.get(&lower).cloned();
        let undo = if is_local { &mut self.local } else { &mut self.before };
        if !undo.iter().any(|(known, _)| *known == lower) {
            undo.push((lower.clone(), old));
        }
        if !is_local {
            // A later SET overrides an earlier SET LOCAL even after the transaction.
            self.local.retain(|(known, _)| *known != lower);
        }
        self.put(lower.clone(), new);
        Ok(self.get(&lower).unwrap_or_default())
    }

    /// Checks a value that sessions are to begin with.
    ///
    /// # Errors
    /// As [`Settings::set`]; 0A000 for what is not a setting of a whole session.
    pub(crate) fn check_stored(&self, name: &str, value: &str) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        match definition(&lower) {
            Some(Definition { kind: Kind::Internal, .. }) => Err(cannot_change(&lower)),
            Some(_) if lower.starts_with("transaction_") || lower == "session_authorization" => Err(refused(
                Missing::Settings,
                &format!("\"{lower}\" as a setting that sessions begin with is"),
            )),
            // Whether the session may take the role is found out when it begins.
            Some(_) if lower == "role" => Ok(()),
            Some(definition) => self.checked(definition, value).map(drop),
            None => self.check_known(name),
        }
    }

    /// Error 42704 for a name that is no setting.
    pub(crate) fn check_known(&self, name: &str) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        match definition(&lower).is_some() || lower.contains('.') {
            true => Ok(()),
            false => Err(unknown(name)),
        }
    }

    /// Records a custom setting of the user.
    fn add_custom(&mut self, name: &str, lower: &str) -> Result<()> {
        let refused = |detail: &str| {
            let message = format!("invalid configuration parameter name \"{name}\"");
            Err(Error::input(sqlstate::INVALID_NAME, message).with_detail(detail))
        };
        let is_simple = |part: &str| {
            let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
            part.starts_with(is_first) && part.chars().all(|c| is_first(c) || c.is_ascii_digit() || c == '$')
        };
        if !name.split('.').all(is_simple) {
            return refused(
                "Custom parameter names must be two or more simple identifiers separated by dots.",
            );
        }
        if lower.starts_with("hyades.") {
            return refused("\"hyades\" is a reserved prefix.");
        }
        if !self.custom.contains(lower) {
            memory::check(lower.len())?;
            self.bytes += lower.len();
            self.custom.insert(lower.to_owned());
        }
        Ok(())
    }

    /// Whether `role` is set to this role. `None`: to no role.
    pub(crate) fn is_role(&self, role: Option<RoleId>) -> bool {
        self.role() == role
    }

    /// The role that SET ROLE chose.
    pub(crate) fn role(&self) -> Option<RoleId> {
        self.role
    }

    /// The role that SET SESSION AUTHORIZATION chose.
    pub(crate) fn session_role(&self) -> Option<RoleId> {
        self.session_role
    }

    /// Sets what `$user` means.
    pub(crate) fn set_user(&mut self, user: &str) {
        user.clone_into(&mut self.user);
    }

    /// Sets whether the session belongs to a superuser, for clients that show it.
    pub(crate) fn set_superuser(&mut self, is_superuser: bool) {
        let value = if is_superuser { "on" } else { "off" };
        if self.get("is_superuser").as_deref() != Some(value) {
            self.initial.insert("is_superuser".to_owned(), value.to_owned());
            self.note_change("is_superuser");
        }
    }

    /// RESET ALL.
    pub(crate) fn reset_all(&mut self) {
        let names: Vec<String> = self.values.keys().cloned().collect();
        for name in names {
            if !name.starts_with("transaction_") && !KEPT.contains(&name.as_str()) {
                // Every name in `values` was accepted before, so its default is too.
                let _ = self.set(&name, None, false);
            }
        }
    }

    /// The state that ROLLBACK TO restores.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            values: self.values.clone(),
            before: self.before.clone(),
            local: self.local.clone(),
            read_only: self.read_only,
        }
    }

    /// Restores the settings of a savepoint.
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

    /// RELEASE keeps everything except READ ONLY, which ends with the subtransaction that set it.
    pub(crate) fn release(&mut self, snapshot: &Snapshot) {
        if self.read_only != snapshot.read_only {
            let name = "transaction_read_only";
            self.put(name.to_owned(), snapshot.values.get(name).cloned());
        }
    }

    /// Restores values at the end of the transaction.
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

    /// The stored form of a mode's value. Without a value, that of the default.
    pub(crate) fn checked_mode(&self, lower: &str, value: Option<&str>) -> Result<String> {
        match (definition(lower), value) {
            (Some(definition), Some(value)) => checked(definition, value),
            _ => Ok(self.get(&format!("default_{lower}")).unwrap_or_default()),
        }
    }

    /// Sets a mode of the transaction, which ends with it.
    pub(crate) fn set_for_transaction(&mut self, name: &str, value: String) {
        if !self.local.iter().any(|(known, _)| known == name) {
            self.local.push((name.to_owned(), self.values.get(name).cloned()));
        }
        self.put(name.to_owned(), Some(value));
    }

    fn put(&mut self, lower: String, value: Option<String>) {
        if value.is_none() && !self.values.contains_key(&lower) {
            return;
        }
        self.note_change(&lower);
        self.bytes += value.as_ref().map_or(0, |value| lower.len() + value.len());
        let old = match value {
            Some(value) => self.values.insert(lower.clone(), value),
            None => self.values.remove(&lower),
        };
        self.bytes -= old.map_or(0, |old| lower.len() + old.len());
        self.refresh(&lower);
    }

    /// Updates values that every statement needs and that are kept parsed.
    fn refresh(&mut self, lower: &str) {
        match lower {
            "timezone" => {
                let name = self.get(lower).unwrap_or_default();
                self.time_zone = time_zone::of_shown(&name);
                self.compiles_differently = true;
            }
            "search_path" => self.compiles_differently = true,
            "datestyle" | "intervalstyle" => {
                let value = |name: &str| self.get(name).unwrap_or_default();
                self.styles = date_style::of_shown(&value("datestyle"), &value("intervalstyle"));
                self.compiles_differently = true;
            }
            "extra_float_digits" => {
                self.float_digits = self.get(lower).and_then(|digits| digits.parse().ok()).unwrap_or(1);
            }
            "work_mem" => self.work_bytes = usize::try_from(self.bytes_of(lower)).unwrap_or(usize::MAX),
            "temp_file_limit" => self.file_bytes = u64::try_from(self.bytes_of(lower)).ok(),
            "client_min_messages" => {
                self.least_message = self.get(lower).map_or(Severity::Notice, |level| severity(&level));
            }
            "role" => {
                let role = self.values.get(lower).or_else(|| self.initial.get(lower));
                self.role = role.and_then(|role| number_of_chosen(role));
            }
            "session_authorization" => {
                self.session_role = self.values.get(lower).and_then(|role| number_of_chosen(role));
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
                    // This includes READ UNCOMMITTED, as in PostgreSQL.
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

    /// Whether reported settings changed since [`Settings::take_changed`] was last called.
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

fn hinted(definition: &Definition, value: &str, wrong: &number::Wrong) -> Error {
    let error = invalid(definition, value);
    match wrong {
        number::Wrong::Syntax => error,
        number::Wrong::Hint(hint) => error.with_hint(*hint),
    }
}

fn out_of_range(definition: &Definition, number: &str) -> Error {
    let unit = definition.kind.unit().name();
    let space = if unit.is_empty() { "" } else { " " };
    let (minimum, maximum) = definition.range;
    Error::input(
        sqlstate::INVALID_PARAMETER_VALUE,
        format!(
            "{number}{space}{unit} is outside the valid range for parameter \"{}\" ({minimum} .. {maximum})",
            definition.name
        ),
    )
}

/// Checks a value and converts it to the form in which it is shown.
fn checked(definition: &Definition, value: &str) -> Result<String> {
    let shown = read(definition, value)?;
    if definition.is_fixed && shown != definition.default {
        return Err(refused(Missing::SettingValues, &format!("{} = {shown} is", definition.name)));
    }
    Ok(shown)
}

fn read(definition: &Definition, value: &str) -> Result<String> {
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
        Kind::Integer { minimum, maximum, unit } => {
            let number =
                number::parse_integer(value, unit).map_err(|wrong| hinted(definition, value, &wrong))?;
            if !(minimum..=maximum).contains(&number) {
                return Err(out_of_range(definition, &number.to_string()));
            }
            Ok(number::shown_integer(number, unit))
        }
        Kind::Real { minimum, maximum, unit } => {
            let number =
                number::parse_real(value, unit).map_err(|wrong| hinted(definition, value, &wrong))?;
            if !(minimum..=maximum).contains(&number) {
                return Err(out_of_range(definition, &number::general(number)));
            }
            Ok(number::shown_real(number, unit))
        }
        Kind::Choice(ref choices) => choice(definition, choices, value),
        Kind::Limited(ref choices, ref refused) => limited(definition, choices, refused, value),
        Kind::Locale => locale(definition, value),
        Kind::Path => match path::schemas(value) {
            Some(_) => Ok(value.to_owned()),
            None => Err(wrong().with_detail("List syntax is invalid.")),
        },
        Kind::TimeZone => {
            time_zone::read(value).map(|(_, name)| name).map_err(|refusal| refusal.into_error(wrong()))
        }
        Kind::DateStyle => {
            let styles = DateStyles::default();
            date_style::read(value, styles, styles)
                .map(date_style::shown)
                .map_err(|detail| wrong().with_detail(detail))
        }
        Kind::Encoding => encoding(definition, value),
    }
}
