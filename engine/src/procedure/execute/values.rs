//! Registers: expressions, tests, loops over integers, elements of arrays.

use std::sync::Arc;

use hyades_types::environment::Environment;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::{Function, call};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::scalar::Scalar;
use hyades_types::value::Value;
use hyades_types::value::array_value::MOST_ELEMENTS;

use crate::procedure::evaluate::{chosen, condition, evaluate, scalar};
use crate::procedure::interpret::{Next, Run};
use crate::procedure::ir::{Expr, Instruction, Label, Procedure, Register};
use crate::txn::{Access, Flow};

/// Bytes that are copied in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 64;
/// A shorter row is copied within the time of an instruction.
const LONG_ROW_BYTES: usize = 4 << 10;

/// The cost of making a value, a copy for example. Only long values count.
#[inline]
pub(super) fn weight(value: &Value) -> usize {
    match value {
        Value::Array(array) => array.values.len(),
        other => other.heap_bytes() / BYTES_PER_UNIT,
    }
}

/// Reports that a row of this length is copied.
#[inline]
pub(super) fn spend_for_row(bytes: usize) -> Result<()> {
    if bytes < LONG_ROW_BYTES { Ok(()) } else { guest::spend_for(bytes / BYTES_PER_UNIT) }
}

impl<T: Access> Run<'_, T> {
    #[inline]
    pub(crate) fn evaluate_into(&mut self, expr: &Expr, into: Register) -> Flow<Next> {
        let expr = match expr {
            Expr::Case { branches, otherwise } => chosen(branches, otherwise, &self.context())?,
            other => other,
        };
        match scalar(expr, self) {
            Some(scalar) => self.frame.registers[usize::from(into)].put_scalar(scalar),
            None => {
                let value = evaluate(expr, &self.context())?;
                guest::spend_for(weight(&value))?;
                self.frame.registers[usize::from(into)].put(value);
                memory::check(0)?;
            }
        }
        Ok(Next::Following)
    }

    #[inline]
    pub(crate) fn jump_unless(&mut self, test: &Expr, to: Label) -> Flow<Next> {
        let holds = match scalar(test, self).and_then(Scalar::truth) {
            Some(truth) => truth == Some(true),
            None => condition(test, &self.context())?,
        };
        Ok(if holds { Next::Following } else { Next::Label(to) })
    }

    pub(crate) fn integer(&self, register: Register) -> i32 {
        match self.frame.registers[usize::from(register)] {
            Value::Integer(number) => number,
            _ => 0,
        }
    }

    #[inline]
    pub(crate) fn for_next(
        &mut self,
        (counter, last, variable): (Register, Register, Register),
        is_reverse: bool,
        end: Label,
    ) -> Next {
        let (now, last) = (self.integer(counter), self.integer(last));
        if if is_reverse { now < last } else { now > last } {
            return Next::Label(end);
        }
        self.frame.registers[usize::from(variable)].put(Value::Integer(now));
        Next::Following
    }

    /// Continues with the test that the step leads to.
    #[inline]
    pub(crate) fn for_step(
        &mut self,
        procedure: &Procedure,
        (counter, step, is_reverse): (Register, Register, bool),
        again: Label,
        end: Label,
    ) -> Flow<Next> {
        let (now, step) = (self.integer(counter), self.integer(step));
        let next = if is_reverse { now.checked_sub(step) } else { now.checked_add(step) };
        let Some(next) = next else { return Ok(Next::Label(end)) };
        self.frame.registers[usize::from(counter)].put(Value::Integer(next));
        let Some(Instruction::ForNext { counter, last, variable, is_reverse, end }) =
            procedure.code.get(again as usize)
        else {
            return Ok(Next::Label(again));
        };
        Ok(match self.for_next((*counter, *last, *variable), *is_reverse, *end) {
            Next::Following => Next::Label(again + 1),
            elsewhere => elsewhere,
        })
    }

    pub(crate) fn set_element(&mut self, instruction: &Instruction) -> Flow<Next> {
        let Instruction::SetElement { array, element, index, value } = instruction else {
            return Ok(Next::Following);
        };
        let context = self.context();
        let (index, value) = (evaluate(index, &context)?, evaluate(value, &context)?);
        // Taken out of its register, because the assignment also borrows the rest of the frame.
        let mut taken = std::mem::take(&mut self.frame.registers[usize::from(*array)]);
        if taken.is_null() {
            taken = Value::array(*element, Vec::new());
        }
        let outcome = assign_element(&mut taken, &index, value, self.context().environment);
        self.frame.registers[usize::from(*array)] = taken;
        outcome?;
        Ok(Next::Following)
    }
}

/// `array[index] := value`. Elements between the end (if there is one) and the index become NULL.
fn assign_element(array: &mut Value, index: &Value, value: Value, environment: &Environment) -> Result<()> {
    let Value::Array(array) = array else {
        return Err(Error::input(sqlstate::INTERNAL_ERROR, "an element was assigned to what is no array"));
    };
    let Some(index) = index.as_i64() else {
        return Err(Error::input(
            sqlstate::NULL_VALUE_NOT_ALLOWED,
            "array subscript in assignment must not be null",
        ));
    };
    // The first element of an empty array has the subscript that it is given.
    if !array.is_plain() || index < 1 || (index > 1 && array.values.is_empty()) {
        let index = i32::try_from(index).map_or(Value::Null, Value::Integer);
        let arguments = [Value::Array(Arc::clone(array)), value, index];
        let Value::Array(assigned) = call(Function::ArraySet, &arguments, environment)? else {
            return Err(Error::input(sqlstate::INTERNAL_ERROR, "an assignment to an array gave none"));
        };
        *array = assigned;
        return Ok(());
    }
    if index > MOST_ELEMENTS as i64 {
        return Err(Error::input(
            sqlstate::PROGRAM_LIMIT_EXCEEDED,
            format!("array size exceeds the maximum allowed ({MOST_ELEMENTS})"),
        ));
    }
    let place = usize::try_from(index - 1).unwrap_or(usize::MAX);
    if Arc::strong_count(array) > 1 {
        memory::check(array.heap_bytes())?;
    }
    let copied = if Arc::strong_count(array) > 1 { array.values.len() } else { 0 };
    guest::spend_for(copied + place.saturating_sub(array.values.len()))?;
    let array = Arc::make_mut(array);
    memory::check_growth::<Value>(array.values.capacity(), place + 1)?;
    if place >= array.values.len() {
        array.values.resize(place + 1, Value::Null);
    }
    array.values[place] = value;
    Ok(())
}
