//! Evaluation outside procedures: literals and constants at compile time.
//!
//! Folding never raises an error that the statement might not meet when it runs: `CASE WHEN false THEN 1/0
//! END` compiles. Only immutable expressions are folded. What depends on the session's time zone or the clock
//! is left to run time.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use hyades_engine::procedure::evaluate::{self, Context};
use hyades_engine::procedure::ir::Expr;
use hyades_types::environment::Environment;
use hyades_types::environment::Severity;
use hyades_types::error::Result;
use hyades_types::function::Volatility;
use hyades_types::random::Random;
use hyades_types::text::Reading;
use hyades_types::value::{SqlType, Value};
use hyades_types::{compare, text};
use jiff::tz::TimeZone;

/// Reads a literal.
pub(crate) fn parse_text<'a>(
    literal: &str,
    sql_type: SqlType,
    reading: impl Into<Reading<'a>>,
) -> Result<Value> {
    text::parse(literal, sql_type, reading)
}

/// The order of ORDER BY.
pub(crate) fn total_order(left: &Value, right: &Value) -> Ordering {
    compare::total(left, right)
}

/// An environment to run procedures in.
pub(crate) fn environment(user: &str, database: &str) -> Environment {
    Environment {
        transaction_time: 0,
        statement_time: 0,
        time_zone: TimeZone::UTC,
        float_digits: 1,
        styles: Default::default(),
        least_message: Severity::Notice,
        user: user.to_owned(),
        session_user: user.to_owned(),
        caller: None,
        database: database.to_owned(),
        stop: Arc::default(),
        sessions: None,
        random: RefCell::new(Random::seeded(0)),
        sequences: RefCell::default(),
        catalog: None,
        deferred: Default::default(),
        notifications: RefCell::default(),
        advisory_locks: None,
        sleeps: RefCell::default(),
        cursors: None,
        may_end_transactions: false,
        work_memory: Default::default(),
        trigger_depth: 0,
    }
}

/// Evaluates an expression over registers.
pub(crate) fn evaluate(expr: &Expr, registers: &[Value], environment: &Environment) -> Result<Value> {
    evaluate::evaluate(expr, &Context::of_registers(registers, environment))
}

/// Whether the result depends only on the operand, and not on the session's time zone, `DateStyle`,
/// `IntervalStyle` or `extra_float_digits`.
pub(crate) fn is_immutable_cast(from: SqlType, to: SqlType) -> bool {
    if matches!(from, SqlType::Real | SqlType::DoublePrecision | SqlType::Array(_)) && to.is_string() {
        return false;
    }
    // Elements are read and printed like single values.
    let element = |sql_type| match sql_type {
        SqlType::Array(element) => element.sql_type(),
        other => other,
    };
    let (from, to) = (element(from), element(to));
    // So are fields.
    if let (SqlType::Composite(row_type), other) | (other, SqlType::Composite(row_type)) = (from, to) {
        let mut fields = row_type.fields().iter().map(|field| field.sql_type);
        return fields.all(|field| is_immutable_cast(field, other) && is_immutable_cast(other, field));
    }
    if from.is_oid() || to.is_oid() {
        return false;
    }
    if matches!((from, to), (SqlType::TimeTz(_), SqlType::Time(_) | SqlType::TimeTz(_))) {
        return true;
    }
    let is_zoned = |sql_type| matches!(sql_type, SqlType::TimestampTz(_) | SqlType::TimeTz(_));
    let is_plain = |sql_type: SqlType| {
        let is_span = matches!(sql_type, SqlType::Time(_) | SqlType::Interval(_));
        !sql_type.is_string() && !sql_type.is_datetime() && !is_span
    };
    // Reading or printing a date also depends on settings ('today').
    let is_readable = |one: SqlType, other: SqlType| !one.is_string() || is_plain(other) || other.is_string();
    !is_zoned(from) && !is_zoned(to) && is_readable(from, to) && is_readable(to, from)
}

thread_local! {
    /// For constants, which use none of it.
    static NOWHERE: LazyLock<Environment> = LazyLock::new(|| environment("", ""));
}

/// Computes an expression of constants. An error is that of the statement.
pub(crate) fn fold(expr: Expr) -> Result<Expr> {
    NOWHERE.with(|environment| evaluate(&expr, &[], environment)).map(Expr::Const)
}

/// Longer texts are not worked on at compile time: some functions double them, and an expression can do so
/// again and again.
const LONGEST_FOLDED: usize = 64 << 10;

/// Computes an expression if all its parts are short constants and it is immutable. Leaves it as it is if
/// that fails.
pub(crate) fn fold_if_constant(expr: Expr) -> Expr {
    let mut are_constant = true;
    expr.for_each_part(&mut |part| {
        are_constant &= match part {
            Expr::Const(value) => value.as_str().is_none_or(|text| text.len() <= LONGEST_FOLDED),
            _ => false,
        }
    });
    let is_immutable = match &expr {
        Expr::Call { function, .. } => function.volatility() == Volatility::Immutable,
        Expr::Const(_)
        | Expr::Register(_)
        | Expr::Column { .. }
        | Expr::Cast { .. }
        | Expr::Routine { .. }
        | Expr::Query { .. } => false,
        _ => true,
    };
    if !are_constant || !is_immutable {
        return expr;
    }
    match NOWHERE.with(|environment| evaluate(&expr, &[], environment)) {
        Ok(value) => Expr::Const(value),
        Err(_) => expr,
    }
}

/// Whether a constant is NULL, the number zero or an interval of length zero.
pub(crate) fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Const(Value::Interval(interval)) => interval.span() == 0,
        Expr::Const(value) => value.is_null() || value.as_i64() == Some(0),
        _ => false,
    }
}
