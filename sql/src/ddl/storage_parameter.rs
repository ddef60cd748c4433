//! Parameters of tables, indexes and views: `WITH (fillfactor = 90)`. They have no effect in memory, but are
//! kept and shown. Their names and values are checked as in PostgreSQL.
//!
//! Reference: PostgreSQL's documentation of CREATE TABLE, reloptions.c.

use hyades_types::definition::{IndexKind, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use crate::emit::unsupported;
use crate::statement::ParameterChange;

enum Kind {
    Boolean,
    Integer(i64, i64),
    Real(f64, f64),
}

const LARGEST: i64 = i32::MAX as i64;

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "autovacuum_enabled" | "user_catalog_table" | "vacuum_truncate" | "oids" => Kind::Boolean,
        "fillfactor" => Kind::Integer(10, 100),
        "parallel_workers" => Kind::Integer(0, 1024),
        "toast_tuple_target" => Kind::Integer(128, 8160),
        "autovacuum_vacuum_threshold" | "autovacuum_analyze_threshold" => Kind::Integer(0, LARGEST),
        "autovacuum_vacuum_insert_threshold" | "log_autovacuum_min_duration" => Kind::Integer(-1, LARGEST),
        "autovacuum_vacuum_cost_limit" => Kind::Integer(1, 10_000),
        "autovacuum_freeze_min_age" | "autovacuum_multixact_freeze_min_age" => {
            Kind::Integer(0, 1_000_000_000)
        }
        "autovacuum_freeze_max_age" => Kind::Integer(100_000, 2_000_000_000),
        "autovacuum_multixact_freeze_max_age" => Kind::Integer(10_000, 2_000_000_000),
        "autovacuum_freeze_table_age" | "autovacuum_multixact_freeze_table_age" => {
            Kind::Integer(0, 2_000_000_000)
        }
        "autovacuum_vacuum_scale_factor"
        | "autovacuum_vacuum_insert_scale_factor"
        | "autovacuum_analyze_scale_factor" => Kind::Real(0.0, 100.0),
        "autovacuum_vacuum_cost_delay" => Kind::Real(0.0, 100.0),
        _ => return None,
    })
}

fn invalid(message: String) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn out_of_bounds(name: &str, value: &str, smallest: &str, largest: &str) -> Error {
    invalid(format!("value {value} out of bounds for option \"{name}\""))
        .with_detail(format!("Valid values are between \"{smallest}\" and \"{largest}\"."))
}

/// Whose parameters they are.
#[derive(Clone, Copy)]
pub(super) enum Holder {
    Table,
    View,
    Index(IndexKind),
}

impl Holder {
    pub(super) fn of(definition: &TableDefinition) -> Holder {
        if definition.view.is_some() { Holder::View } else { Holder::Table }
    }

    /// 22023 for a parameter that PostgreSQL does not know, or for a value that it does not accept.
    fn check(self, name: &str, value: &str) -> Result<()> {
        match self {
            Holder::Table => check(name, value, kind(name)),
            Holder::View => check_of_view(name, value),
            Holder::Index(index) => check(name, value, kind_of_index(name, index)),
        }
    }

    /// Long values have no table of their own, so what is said of it is only checked.
    fn check_of_long_values(self, name: &str, value: &str) -> Result<()> {
        match name.split_once('.') {
            Some(("toast", name)) if matches!(self, Holder::Table) => self.check(name, value),
            Some((space, _)) => Err(invalid(format!("unrecognized parameter namespace \"{space}\""))),
            None => Ok(()),
        }
    }
}

/// The parameters of a new relation, as they are kept.
pub(super) fn new_parameters(holder: Holder, written: &[(String, String)]) -> Result<Vec<String>> {
    let mut kept: Vec<String> = Vec::with_capacity(written.len());
    for (name, value) in written {
        holder.check_of_long_values(name, value)?;
        if name.contains('.') {
            continue;
        }
        if kept.iter().any(|own| is_named(own, name)) {
            return Err(invalid(format!("parameter \"{name}\" specified more than once")));
        }
        holder.check(name, value)?;
        kept.push(format!("{name}={value}"));
    }
    Ok(kept)
}

/// The same once they have been changed.
pub(super) fn changed_parameters(
    holder: Holder,
    known: &[String],
    changes: &[ParameterChange],
) -> Result<Vec<String>> {
    let mut kept = known.to_vec();
    for change in changes {
        match change {
            ParameterChange::Set(written) => {
                let new = new_parameters(holder, written)?;
                kept.retain(|own| !written.iter().any(|(name, _)| is_named(own, name)));
                kept.extend(new);
            }
            ParameterChange::Reset(names) => {
                kept.retain(|own| !names.iter().any(|name| is_named(own, name)));
            }
        }
    }
    Ok(kept)
}

fn is_named(parameter: &str, name: &str) -> bool {
    parameter.split_once('=').is_some_and(|(own, _)| own == name)
}

fn kind_of_index(name: &str, index: IndexKind) -> Option<Kind> {
    match name {
        "fillfactor" => Some(Kind::Integer(10, 100)),
        "deduplicate_items" if index == IndexKind::Ordered => Some(Kind::Boolean),
        _ => None,
    }
}

fn check_of_view(name: &str, value: &str) -> Result<()> {
    match name {
        "security_invoker" => {
            check(name, value, Some(Kind::Boolean))?;
            match is_true(value) {
                Some(true) => unsupported(Missing::SecurityInvoker, "security_invoker is"),
                _ => Ok(()),
            }
        }
        "security_barrier" => check(name, value, Some(Kind::Boolean)),
        "check_option" => unsupported(Missing::CheckOption, "WITH CHECK OPTION is"),
        _ => check(name, value, None),
    }
}

/// As PostgreSQL reads a truth value: the beginning of a word is enough.
fn is_true(value: &str) -> Option<bool> {
    let value = value.to_ascii_lowercase();
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || value == "1" {
        return Some(true);
    }
    (begins("false", 1) || begins("no", 1) || begins("off", 2) || value == "0").then_some(false)
}

fn check(name: &str, value: &str, kind: Option<Kind>) -> Result<()> {
    let wrong = |what: &str| invalid(format!("invalid value for {what} option \"{name}\": {value}"));
    match kind {
        None => Err(invalid(format!("unrecognized parameter \"{name}\""))),
        Some(Kind::Boolean) => {
            let is_true = is_true(value).ok_or_else(|| wrong("boolean"))?;
            if name == "oids" && is_true {
                let message = "tables declared WITH OIDS are not supported";
                return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            Ok(())
        }
        Some(Kind::Integer(smallest, largest)) => {
            let number: i64 = value.parse().map_err(|_| wrong("integer"))?;
            if (smallest..=largest).contains(&number) {
                return Ok(());
            }
            Err(out_of_bounds(name, value, &smallest.to_string(), &largest.to_string()))
        }
        Some(Kind::Real(smallest, largest)) => {
            let number: f64 = value.parse().map_err(|_| wrong("floating point"))?;
            if (smallest..=largest).contains(&number) {
                return Ok(());
            }
            Err(out_of_bounds(name, value, &format!("{smallest:.6}"), &format!("{largest:.6}")))
        }
    }
}
