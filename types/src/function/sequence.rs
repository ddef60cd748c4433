//! `nextval`, `currval`, `lastval`, `setval`. The compiler passes the number of the sequence if the name is a
//! constant, and the name itself if it is not.

use std::sync::Arc;

use super::{Function, mismatch};
use crate::access::{Caller, ObjectKind, Privileges};
use crate::definition::SequenceId;
use crate::environment::Environment;
use crate::error::Result;
use crate::sequence::{Sequence, SessionSequences};
use crate::value::Value;

fn sequence(
    sequences: &SessionSequences,
    which: &Value,
    caller: Option<&Caller>,
) -> Option<Result<Arc<Sequence>>> {
    match which {
        Value::Text(name) => Some(sequences.by_name(name, caller)),
        Value::Integer(id) => Some(sequences.by_id(SequenceId(id.cast_unsigned()))),
        _ => None,
    }
}

/// Checks the caller's rights.
fn check(function: Function, sequence: &Sequence, environment: &Environment) -> Result<()> {
    let Some(caller) = &environment.caller else { return Ok(()) };
    let wanted = match function {
        Function::OwnNumber => return Ok(()),
        Function::NextNumber => Privileges::USAGE | Privileges::UPDATE,
        Function::CurrentNumber | Function::LastNumber => Privileges::USAGE | Privileges::SELECT,
        _ => Privileges::UPDATE,
    };
    caller.check_any(sequence.id.0, ObjectKind::Sequence, wanted, &sequence.definition.name.name)
}

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let mut sequences = environment.sequences.borrow_mut();
    if function == Function::LastNumber {
        let (sequence, number) = sequences.last()?;
        check(function, &sequence, environment)?;
        return Ok(Value::BigInt(number));
    }
    let caller = environment.caller.as_deref();
    let found = arguments.first().and_then(|which| sequence(&sequences, which, caller));
    let Some(found) = found else { return Err(mismatch(function, arguments)) };
    let found = found?;
    check(function, &found, environment)?;
    let number = match (function, &arguments[1..]) {
        (Function::NextNumber | Function::OwnNumber, []) => sequences.draw(found),
        (Function::CurrentNumber, []) => sequences.current(&found),
        (Function::SetNumber, [Value::BigInt(value)]) => sequences.set(found, *value, true),
        (Function::SetNumber, [Value::BigInt(value), Value::Boolean(is_called)]) => {
            sequences.set(found, *value, *is_called)
        }
        _ => return Err(mismatch(function, arguments)),
    };
    number.map(Value::BigInt)
}
