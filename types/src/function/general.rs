//! Functions of values of any type, and of a statement's environment.

use std::cmp::Ordering;

use crate::compare;
use crate::environment::Environment;
use crate::error::Result;
use crate::guest::Stop;
use crate::value::{ArrayElement, Value};

use super::{Function, mismatch};

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    match function {
        Function::Greatest => Ok(extreme(arguments, Ordering::Greater, compare::total)),
        Function::Least => Ok(extreme(arguments, Ordering::Less, compare::total)),
        Function::GreatestOfChar => Ok(extreme(arguments, Ordering::Greater, without_blanks)),
        Function::LeastOfChar => Ok(extreme(arguments, Ordering::Less, without_blanks)),
        Function::NullIf => match arguments {
            [left, right] if compare::equal(left, right) == Some(true) => Ok(Value::Null),
            [left, _] => Ok(left.clone()),
            _ => Err(mismatch(function, arguments)),
        },
        Function::TriggerDepth => {
            Ok(Value::Integer(i32::try_from(environment.trigger_depth).unwrap_or(i32::MAX)))
        }
        Function::Random => Ok(Value::Double(environment.random.borrow_mut().fraction())),
        Function::CurrentUser => Ok(Value::text(environment.user.as_str())),
        Function::SessionUser => Ok(Value::text(environment.session_user.as_str())),
        Function::CurrentDatabase => Ok(Value::text(environment.database.as_str())),
        Function::GenRandomUuid => {
            let bytes = environment.random.borrow_mut().bytes();
            Ok(Value::Uuid(uuid::Builder::from_random_bytes(bytes).into_uuid().into_bytes()))
        }
        Function::CancelBackend => stop_session(arguments, Stop::Cancel, environment),
        Function::BlockingProcesses => blocking_sessions(arguments, environment),
        Function::TerminateBackend => stop_session(arguments, Stop::End, environment),
        _ => Err(mismatch(function, arguments)),
    }
}

/// The order of values of `char(n)`.
fn without_blanks(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Text(one), Value::Text(other)) => one.trim_end_matches(' ').cmp(other.trim_end_matches(' ')),
        _ => compare::total(one, other),
    }
}

/// GREATEST and LEAST: NULLs are left out, and of equal values the first is the result.
fn extreme(arguments: &[Value], wanted: Ordering, order: fn(&Value, &Value) -> Ordering) -> Value {
    let mut best = &Value::Null;
    for argument in arguments.iter().filter(|argument| !argument.is_null()) {
        if best.is_null() || order(argument, best) == wanted {
            best = argument;
        }
    }
    best.clone()
}

fn blocking_sessions(arguments: &[Value], environment: &Environment) -> Result<Value> {
    let found = match (arguments, &environment.sessions) {
        ([Value::Integer(process)], Some(sessions)) => sessions.blocking(*process),
        _ => Vec::new(),
    };
    // Bounded: by the number of sessions.
    Ok(Value::array(ArrayElement::Integer, found.into_iter().map(Value::Integer).collect()))
}

fn stop_session(arguments: &[Value], stop: Stop, environment: &Environment) -> Result<Value> {
    match (arguments, &environment.sessions) {
        ([Value::Integer(process)], Some(sessions)) => sessions.stop(*process, stop).map(Value::Boolean),
        _ => Ok(Value::Boolean(false)),
    }
}
