//! Storage parameters of CREATE TABLE and CREATE INDEX: `WITH (fillfactor = 90)`. They have no effect in
//! memory. Their names and values are checked as in PostgreSQL, so that mistakes are reported immediately.
//!
//! Reference: PostgreSQL's documentation of CREATE TABLE, reloptions.c.

use hyades_types::definition::IndexKind;
use hyades_types::error::{Error, Result, sqlstate};

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

/// 22023 for a parameter that PostgreSQL does not know, or for a value that it does not accept.
pub(super) fn check_storage_parameter(name: &str, value: &str) -> Result<()> {
    check(name, value, kind(name))
}

/// The same for an index.
pub(super) fn check_index_parameter(name: &str, value: &str, index: IndexKind) -> Result<()> {
    let kind = match name {
        "fillfactor" => Some(Kind::Integer(10, 100)),
        "deduplicate_items" if index == IndexKind::Ordered => Some(Kind::Boolean),
        _ => None,
    };
    check(name, value, kind)
}

fn check(name: &str, value: &str, kind: Option<Kind>) -> Result<()> {
    let wrong = |what: &str| invalid(format!("invalid value for {what} option \"{name}\": {value}"));
    match kind {
        None => Err(invalid(format!("unrecognized parameter \"{name}\""))),
        Some(Kind::Boolean) => {
            let word = value.to_ascii_lowercase();
            let is_true = matches!(word.as_str(), "true" | "on" | "yes" | "1" | "t" | "y");
            if !is_true && !matches!(word.as_str(), "false" | "off" | "no" | "0" | "f" | "n") {
                return Err(wrong("boolean"));
            }
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
