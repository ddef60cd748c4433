//! Settings with a list of values, and the meaning of the values.

use hyades_types::environment::Severity;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};

use super::{Definition, invalid};

/// A boolean as PostgreSQL reads it: any unique prefix of true, false, yes, no, on, off, or 1, 0.
pub(super) fn parse_boolean(value: &str) -> Option<bool> {
    let lower = value.trim().to_ascii_lowercase();
    if lower.is_empty() {
        return None;
    }
    if lower == "1" || lower == "on" || "true".starts_with(&lower) || "yes".starts_with(&lower) {
        return Some(true);
    }
    if lower == "0" || "false".starts_with(&lower) || "no".starts_with(&lower) {
        return Some(false);
    }
    (lower.len() > 1 && "off".starts_with(&lower)).then_some(false)
}

pub(super) fn choice(definition: &Definition, choices: &[&str], value: &str) -> Result<String> {
    let lower = value.trim().to_ascii_lowercase();
    for choice in choices {
        let written = choice.trim_start_matches('~');
        let (name, meant) = written.split_once('=').unwrap_or((written, written));
        if name == lower {
            return Ok(meant.to_owned());
        }
    }
    // A choice between on and off also accepts the other spellings of booleans.
    if let Some(flag) = parse_boolean(&lower) {
        let word = if flag { "on" } else { "off" };
        if choices.contains(&word) {
            return Ok(word.to_owned());
        }
    }
    let told: Vec<&str> = choices.iter().copied().filter(|choice| !choice.starts_with('~')).collect();
    // PostgreSQL shows the name as it was written, which is in lower case without quotes.
    let name = definition.name.to_ascii_lowercase();
    let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
    Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
        .with_hint(format!("Available values: {}.", told.join(", "))))
}

/// Values that PostgreSQL has and that would have an effect there but not here are refused as not
/// supported.
pub(super) fn limited(
    definition: &Definition,
    choices: &[&str],
    missing: &[&str],
    value: &str,
) -> Result<String> {
    match choice(definition, missing, value) {
        Ok(choice) => Err(refused(Missing::SettingValues, &format!("{} = {choice} is", definition.name))),
        Err(_) if choices.contains(&"") && !choices.contains(&value) => {
            Err(invalid(definition, value).with_detail(format!("Tablespace \"{value}\" does not exist.")))
        }
        Err(_) => choice(definition, choices, value),
    }
}

/// Messages are English, and numbers and times are formatted as in the C locale.
pub(super) fn locale(definition: &Definition, value: &str) -> Result<String> {
    let language = value.split(['_', '.']).next().unwrap_or_default();
    if matches!(language, "" | "C" | "POSIX" | "en") {
        return Ok(value.to_owned());
    }
    Err(refused(Missing::SettingValues, &format!("{} = {value} is", definition.name)))
}

/// The least severe message that a level of `client_min_messages` lets through.
pub(super) fn severity(level: &str) -> Severity {
    match level {
        "log" => Severity::Log,
        "notice" | "info" => Severity::Notice,
        "warning" => Severity::Warning,
        "error" | "fatal" | "panic" => Severity::Exception,
        _ => Severity::Debug,
    }
}

pub(super) fn encoding(definition: &Definition, value: &str) -> Result<String> {
    let folded: String = value.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    match folded.as_str() {
        "utf8" | "unicode" => Ok("UTF8".to_owned()),
        "sqlascii" => Ok("SQL_ASCII".to_owned()),
        _ => Err(invalid(definition, value).with_detail("Only UTF8 is supported.")),
    }
}
