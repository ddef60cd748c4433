//! Functions that act on other sessions: advisory locks and notifications.

use crate::advisory::{AdvisoryKey, AdvisoryLocks, AdvisoryRequest};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::value::Value;

use super::{Function, mismatch};

/// PostgreSQL's limits.
const LONGEST_CHANNEL_BYTES: usize = 63;
const LONGEST_PAYLOAD_BYTES: usize = 7999;

/// The parameters that the names of `pg_advisory_lock` and similar functions encode.
struct Asked {
    is_shared: bool,
    is_of_session: bool,
    waits: bool,
}

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let asked = |is_shared, is_of_session, waits| Asked { is_shared, is_of_session, waits };
    match function {
        Function::Notify => notify(arguments, environment),
        Function::AdvisoryLock => lock(arguments, environment, &asked(false, true, true)),
        Function::AdvisoryLockShared => lock(arguments, environment, &asked(true, true, true)),
        Function::AdvisoryTransactionLock => lock(arguments, environment, &asked(false, false, true)),
        Function::AdvisoryTransactionLockShared => lock(arguments, environment, &asked(true, false, true)),
        Function::TryAdvisoryLock => lock(arguments, environment, &asked(false, true, false)),
        Function::TryAdvisoryLockShared => lock(arguments, environment, &asked(true, true, false)),
        Function::TryAdvisoryTransactionLock => lock(arguments, environment, &asked(false, false, false)),
        Function::TryAdvisoryTransactionLockShared => {
            lock(arguments, environment, &asked(true, false, false))
        }
        Function::AdvisoryUnlock => unlock(arguments, environment, false),
        Function::AdvisoryUnlockShared => unlock(arguments, environment, true),
        Function::AdvisoryUnlockAll => {
            locks(environment)?.release_all();
            Ok(Value::text(""))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

fn locks(environment: &Environment) -> Result<&dyn AdvisoryLocks> {
    environment.advisory_locks.as_deref().ok_or_else(|| {
        Error::input(sqlstate::FEATURE_NOT_SUPPORTED, "advisory locks are not supported outside of sessions")
    })
}

fn key(arguments: &[Value]) -> Option<AdvisoryKey> {
    match arguments {
        [Value::BigInt(number)] => {
            let bits = number.cast_unsigned();
            let (class, object) = ((bits >> 32) as u32, u32::try_from(bits & 0xffff_ffff).ok()?);
            Some(AdvisoryKey { class, object, is_pair: false })
        }
        [Value::Integer(class), Value::Integer(object)] => {
            Some(AdvisoryKey { class: class.cast_unsigned(), object: object.cast_unsigned(), is_pair: true })
        }
        _ => None,
    }
}

fn lock(arguments: &[Value], environment: &Environment, asked: &Asked) -> Result<Value> {
    let key = key(arguments).ok_or_else(|| mismatch(Function::AdvisoryLock, arguments))?;
    let request = AdvisoryRequest { key, is_shared: asked.is_shared, is_of_session: asked.is_of_session };
    let is_held = locks(environment)?.acquire(request, asked.waits)?;
    Ok(if asked.waits { Value::text("") } else { Value::Boolean(is_held) })
}

fn unlock(arguments: &[Value], environment: &Environment, is_shared: bool) -> Result<Value> {
    let key = key(arguments).ok_or_else(|| mismatch(Function::AdvisoryUnlock, arguments))?;
    Ok(Value::Boolean(locks(environment)?.release(key, is_shared)))
}

fn notify(arguments: &[Value], environment: &Environment) -> Result<Value> {
    let text = |value: Option<&Value>| match value {
        Some(Value::Text(text)) => text.to_string(),
        _ => String::new(),
    };
    queue(environment, text(arguments.first()), text(arguments.get(1)))?;
    Ok(Value::text(""))
}

/// NOTIFY: sent when the transaction commits.
///
/// # Errors
/// 22023 for a name or a payload that is too long.
pub fn queue(environment: &Environment, channel: String, payload: String) -> Result<()> {
    let refused = |message: &str| Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    if channel.is_empty() {
        return refused("channel name cannot be empty");
    }
    if channel.len() > LONGEST_CHANNEL_BYTES {
        return refused("channel name too long");
    }
    if payload.len() > LONGEST_PAYLOAD_BYTES {
        return refused("payload string too long");
    }
    let mut notifications = environment.notifications.borrow_mut();
    notifications.add(channel, payload);
    Ok(())
}
