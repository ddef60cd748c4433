//! `pg_sleep` and its kin. No thread sleeps: the first call notes when it is to end and makes the run wait,
//! and when the time has come the same instruction runs again, and returns ([`crate::sleeps`]).

use crate::datetime::add_interval_in;
use crate::environment::Environment;
use crate::error::{Abort, Error, Result, sqlstate};
use crate::value::Value;

use super::{Function, mismatch, now_us};

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let until = || match arguments {
        [Value::Double(seconds)] if function == Function::Sleep => {
            Ok(now_us().saturating_add((seconds * 1e6) as i64))
        }
        [Value::Interval(interval)] => add_interval_in(now_us(), *interval, &environment.time_zone),
        [Value::TimestampTz(time)] => Ok(*time),
        _ => Err(mismatch(function, arguments)),
    };
    if environment.advisory_locks.is_none() {
        let message = "functions that sleep are not supported outside of sessions";
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    match environment.sleeps.borrow_mut().has_ended(now_us(), until)? {
        true => Ok(Value::text("")),
        false => Err(Error::Abort(Abort::MustWait)),
    }
}
