//! The values of expressions.
//!
//! [`evaluate`] walks an [`Expr`] over the registers and row slots of a run. Logic is three-valued: a condition is true,
//! false or NULL (unknown); AND and OR stop at the first operand that decides, from left to right; CASE, COALESCE and IN
//! evaluate only what they need.
//!
//! Speed: most expressions of a transaction are `column = parameter` or `column + parameter` over integers. Both operands
//! are first looked at in place ([`peek`]): an integer in a row, a register or a constant is read without building a [`Value`],
//! and two of the same type go straight to the machine operation. Constants and registers are borrowed, never cloned, by
//! every operator that only looks at its operands.
//!
//! Depth: evaluation recurses once per level of the expression. The compiler refuses expressions deeper than
//! [`MAXIMUM_DEPTH`] (54001), which a thread's 2 MiB stack holds even unoptimised; chains of AND and OR may lean to either
//! side but count as levels. Nothing here checks it again.
//!
//! Two operands have one type (the compiler inserted casts). `char(n)` is the exception that values do not show: a column or
//! a cast of that type is recognised by its expression, and then trailing blanks do not count in comparisons and are dropped
//! by a cast to `text`; for registers the compiler wraps [`Function::CharToText`](crate::value::function::Function::CharToText).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::SmallVec;

use super::frame::{Environment, RowBuffer};
use super::ir::{BinaryOperator, Expr};
use crate::error::{Error, Result, sqlstate};
use crate::storage::row::RowLayout;
use crate::txn::RowInPlace;
use crate::value::{SqlType, Value, arithmetic, cast, compare, function, like};

/// Levels of nesting that the compiler lets an expression have.
pub const MAXIMUM_DEPTH: usize = 500;

/// What an expression can see.
pub struct Context<'a> {
    pub registers: &'a [Value],
    pub rows: &'a [RowBuffer],
    /// For each row slot, where its row stands in its table; `None` if the buffer holds it.
    pub rows_in_place: &'a [Option<RowInPlace<'a>>],
    /// The layout of the row in each row slot; None for a slot that was never filled.
    pub layouts: &'a [Option<Arc<RowLayout>>],
    pub environment: &'a Environment,
}

/// An integer where it lies.
#[derive(Clone, Copy)]
enum Peek {
    Integer(i32),
    BigInt(i64),
    SmallInt(i16),
    Null,
}

impl<'a> Context<'a> {
    /// For expressions over registers alone.
    pub fn of_registers(registers: &'a [Value], environment: &'a Environment) -> Context<'a> {
        Context { registers, rows: &[], rows_in_place: &[], layouts: &[], environment }
    }

    fn layout(&self, row: u16) -> Result<&'a RowLayout> {
        match self.layouts.get(usize::from(row)) {
            Some(Some(layout)) => Ok(layout),
            _ => Err(Error::input(sqlstate::INTERNAL_ERROR, format!("row slot {row} has no layout"))),
        }
    }

    fn row(&self, row: u16) -> Result<&'a [u8]> {
        if let Some(Some(row)) = self.rows_in_place.get(usize::from(row)) {
            return Ok(row.bytes);
        }
        match self.rows.get(usize::from(row)) {
            Some(buffer) if !buffer.bytes.is_empty() => Ok(&buffer.bytes),
            _ => Err(Error::input(sqlstate::INTERNAL_ERROR, format!("row slot {row} is empty"))),
        }
    }

    fn column(&self, row: u16, column: u16) -> Result<Value> {
        Ok(self.layout(row)?.value(self.row(row)?, column))
    }

    fn register(&self, register: u16) -> Result<&'a Value> {
        self.registers.get(usize::from(register)).ok_or_else(|| {
            Error::input(sqlstate::INTERNAL_ERROR, format!("register {register} does not exist"))
        })
    }
}

/// The integer (or NULL) that an expression is, if that can be seen without computing.
#[inline]
fn peek(expr: &Expr, context: &Context<'_>) -> Option<Peek> {
    let value = match expr {
        Expr::Const(value) => value,
        Expr::Register(register) => context.registers.get(usize::from(*register))?,
        Expr::Column { row, column } => {
            let layout = context.layout(*row).ok()?;
            let sql_type = layout.column_type(*column);
            if !sql_type.is_integer() {
                return None;
            }
            return Some(match (sql_type, layout.bytes(context.row(*row).ok()?, *column)) {
                (_, None) => Peek::Null,
                (SqlType::Integer, Some(&[a, b, c, d])) => Peek::Integer(i32::from_le_bytes([a, b, c, d])),
                (SqlType::BigInt, Some(bytes)) => Peek::BigInt(i64::from_le_bytes(bytes.try_into().ok()?)),
                (_, Some(bytes)) => Peek::SmallInt(i16::from_le_bytes(bytes.try_into().ok()?)),
            });
        }
        Expr::Element { array, index } => peek_element(array, index, context)?,
        _ => return None,
    };
    match *value {
        Value::Integer(number) => Some(Peek::Integer(number)),
        Value::BigInt(number) => Some(Peek::BigInt(number)),
        Value::SmallInt(number) => Some(Peek::SmallInt(number)),
        _ => None,
    }
}

/// The element of an array in a register, where it lies.
fn peek_element<'a>(array: &Expr, index: &Expr, context: &Context<'a>) -> Option<&'a Value> {
    let (Expr::Register(array), Some(Peek::Integer(index))) = (array, peek(index, context)) else {
        return None;
    };
    let Value::Array(array) = context.registers.get(usize::from(*array))? else { return None };
    array.values.get(usize::try_from(index).ok()?.checked_sub(1)?)
}

/// A conversion between integers that cannot fail, of an integer where it lies.
#[inline]
fn widened(expr: &Expr, to: SqlType, context: &Context<'_>) -> Option<Value> {
    Some(match (to, peek(expr, context)?) {
        (SqlType::BigInt, Peek::Integer(number)) => Value::BigInt(i64::from(number)),
        (SqlType::BigInt, Peek::SmallInt(number)) => Value::BigInt(i64::from(number)),
        (SqlType::Integer, Peek::SmallInt(number)) => Value::Integer(i32::from(number)),
        _ => return None,
    })
}

/// The bytes of the text that an expression is, if that can be seen without computing; of a `char(n)` column without its
/// trailing blanks.
fn peek_text<'a>(expr: &'a Expr, context: &Context<'a>) -> Option<&'a [u8]> {
    let value = match expr {
        Expr::Const(value) => value,
        Expr::Register(register) => context.registers.get(usize::from(*register))?,
        Expr::Column { row, column } => {
            let layout = context.layout(*row).ok().filter(|layout| layout.column_type(*column).is_text())?;
            return layout.bytes(context.row(*row).ok()?, *column);
        }
        _ => return None,
    };
    value.as_str().map(str::as_bytes)
}

/// The value of an expression, borrowed where it already exists.
#[inline]
pub(super) fn operand<'a>(expr: &'a Expr, context: &Context<'a>) -> Result<Cow<'a, Value>> {
    match expr {
        Expr::Const(value) => Ok(Cow::Borrowed(value)),
        Expr::Register(register) => context.register(*register).map(Cow::Borrowed),
        other => evaluate(other, context).map(Cow::Owned),
    }
}

/// The value of an expression.
pub fn evaluate(expr: &Expr, context: &Context<'_>) -> Result<Value> {
    match expr {
        Expr::Const(value) => Ok(value.clone()),
        Expr::Register(register) => context.register(*register).cloned(),
        Expr::Column { row, column } => context.column(*row, *column),
        Expr::Binary { operator, left, right } => binary(*operator, left, right, context),
        Expr::Unary { operator, operand: inner } => arithmetic::unary(*operator, &*operand(inner, context)?),
        Expr::Cast { operand: inner, to, explicit } => {
            if let Some(value) = widened(inner, *to, context) {
                return Ok(value);
            }
            let value = evaluate(inner, context)?;
            convert(value, is_char(inner, context), *to, *explicit, context)
        }
        Expr::Call { function, arguments } => call(*function, arguments, context),
        Expr::Case { branches, otherwise } => case(branches, otherwise, context),
        Expr::Element { array, index } => element(array, index, context),
        Expr::Array { element, items } => {
            let values = items.iter().map(|item| evaluate(item, context)).collect::<Result<Vec<Value>>>()?;
            Ok(Value::array(*element, values))
        }
        Expr::Routine { .. } => {
            Err(Error::input(sqlstate::INTERNAL_ERROR, "a routine was called inside an expression"))
        }
        Expr::Coalesce(candidates) => coalesce(candidates, context),
        Expr::And(..)
        | Expr::Or(..)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::NotDistinct(..)
        | Expr::InList { .. }
        | Expr::Like { .. } => Ok(truth(expr, context)?.map_or(Value::Null, Value::Boolean)),
    }
}

/// One value of an array, which is only looked at where it lies.
fn element(array: &Expr, index: &Expr, context: &Context<'_>) -> Result<Value> {
    let (array, index) = (operand(array, context)?, operand(index, context)?);
    let (Value::Array(array), Some(index)) = (&*array, index.as_i64()) else { return Ok(Value::Null) };
    let place = index.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    Ok(place.and_then(|place| array.values.get(place)).cloned().unwrap_or(Value::Null))
}

fn case(branches: &[(Expr, Expr)], otherwise: &Expr, context: &Context<'_>) -> Result<Value> {
    for (when, then) in branches {
        // `CASE variable WHEN 1 THEN ... WHEN 2 THEN ...`
        if let Expr::Binary { operator: BinaryOperator::Equal, left, right } = when
            && let (Expr::Register(register), Expr::Const(Value::Integer(wanted))) = (&**left, &**right)
            && let Some(Value::Integer(found)) = context.registers.get(usize::from(*register))
        {
            if found == wanted {
                return evaluate(then, context);
            }
            continue;
        }
        if condition(when, context)? {
            return evaluate(then, context);
        }
    }
    evaluate(otherwise, context)
}

fn coalesce(candidates: &[Expr], context: &Context<'_>) -> Result<Value> {
    for candidate in candidates {
        let value = evaluate(candidate, context)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

/// Whether a condition is true; false and NULL are not.
pub fn condition(expr: &Expr, context: &Context<'_>) -> Result<bool> {
    Ok(truth(expr, context)? == Some(true))
}

/// A boolean expression; None is NULL.
fn truth(expr: &Expr, context: &Context<'_>) -> Result<Option<bool>> {
    match expr {
        Expr::Binary { operator, left, right } if is_comparison(*operator) => {
            comparison(*operator, left, right, context)
        }
        Expr::And(left, right) => match truth(left, context)? {
            Some(false) => Ok(Some(false)),
            Some(true) => truth(right, context),
            None => Ok(if truth(right, context)? == Some(false) { Some(false) } else { None }),
        },
        Expr::Or(left, right) => match truth(left, context)? {
            Some(true) => Ok(Some(true)),
            Some(false) => truth(right, context),
            None => Ok(if truth(right, context)? == Some(true) { Some(true) } else { None }),
        },
        Expr::Not(inner) => Ok(truth(inner, context)?.map(|truth| !truth)),
        Expr::IsNull(inner) => is_null(inner, context).map(Some),
        Expr::NotDistinct(left, right) => {
            let (a, b) = (operand(left, context)?, operand(right, context)?);
            if a.is_null() || b.is_null() {
                return Ok(Some(a.is_null() == b.is_null()));
            }
            Ok(Some(order(&a, &b, is_char(left, context) || is_char(right, context)).is_eq()))
        }
        Expr::InList { operand: inner, list } => in_list(inner, list, context),
        Expr::Like { operand: inner, pattern, case_insensitive } => {
            let (text, pattern) = (operand(inner, context)?, operand(pattern, context)?);
            match (&*text, &*pattern) {
                (Value::Null, _) | (_, Value::Null) => Ok(None),
                (Value::Text(text), Value::Text(pattern)) if *case_insensitive => {
                    like::matches_ignoring_case(text, pattern).map(Some)
                }
                (Value::Text(text), Value::Text(pattern)) => like::matches(text, pattern).map(Some),
                (text, _) => Err(not_boolean(text)),
            }
        }
        other => match &*operand(other, context)? {
            Value::Boolean(truth) => Ok(Some(*truth)),
            Value::Null => Ok(None),
            value => Err(not_boolean(value)),
        },
    }
}

fn not_boolean(value: &Value) -> Error {
    Error::input(sqlstate::INTERNAL_ERROR, format!("{value:?} where a condition was expected"))
}

fn is_null(expr: &Expr, context: &Context<'_>) -> Result<bool> {
    match expr {
        Expr::Column { row, column } => Ok(context.layout(*row)?.is_null(context.row(*row)?, *column)),
        other => Ok(operand(other, context)?.is_null()),
    }
}

/// `a IN (b, ...)`: true if one is equal, else NULL if `a` or one of them is NULL, else false.
fn in_list(inner: &Expr, list: &[Expr], context: &Context<'_>) -> Result<Option<bool>> {
    let value = operand(inner, context)?;
    if value.is_null() {
        return Ok(if list.is_empty() { Some(false) } else { None });
    }
    let as_char = is_char(inner, context);
    let mut has_null = false;
    for candidate in list {
        let candidate = operand(candidate, context)?;
        if candidate.is_null() {
            has_null = true;
        } else if order(&value, &candidate, as_char).is_eq() {
            return Ok(Some(true));
        }
    }
    Ok(if has_null { None } else { Some(false) })
}

fn is_comparison(operator: BinaryOperator) -> bool {
    matches!(
        operator,
        BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterEqual
    )
}

/// What a comparison makes of an order.
#[inline]
fn decide(operator: BinaryOperator, order: Ordering) -> bool {
    match operator {
        BinaryOperator::Equal => order.is_eq(),
        BinaryOperator::NotEqual => order.is_ne(),
        BinaryOperator::Less => order.is_lt(),
        BinaryOperator::LessEqual => order.is_le(),
        BinaryOperator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }
}

#[inline]
fn comparison(
    operator: BinaryOperator,
    left: &Expr,
    right: &Expr,
    context: &Context<'_>,
) -> Result<Option<bool>> {
    match (peek(left, context), peek(right, context)) {
        (Some(Peek::Integer(a)), Some(Peek::Integer(b))) => return Ok(Some(decide(operator, a.cmp(&b)))),
        (Some(Peek::BigInt(a)), Some(Peek::BigInt(b))) => return Ok(Some(decide(operator, a.cmp(&b)))),
        (Some(Peek::SmallInt(a)), Some(Peek::SmallInt(b))) => return Ok(Some(decide(operator, a.cmp(&b)))),
        (Some(Peek::Null), _) => {
            // The other side may still fail.
            operand(right, context)?;
            return Ok(None);
        }
        _ => {}
    }
    if let (Some(a), Some(b)) = (peek_text(left, context), peek_text(right, context)) {
        let order = if is_char(left, context) || is_char(right, context) {
            compare::char_order(a, b)
        } else {
            a.cmp(b)
        };
        return Ok(Some(decide(operator, order)));
    }
    let (a, b) = (operand(left, context)?, operand(right, context)?);
    if a.is_null() || b.is_null() {
        return Ok(None);
    }
    let as_char = matches!(*a, Value::Text(_)) && (is_char(left, context) || is_char(right, context));
    Ok(Some(decide(operator, order(&a, &b, as_char))))
}

#[inline]
fn order(left: &Value, right: &Value, as_char: bool) -> Ordering {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) if as_char => compare::char_order(a.as_bytes(), b.as_bytes()),
        (a, b) => compare::total(a, b),
    }
}

/// Whether an expression is known to be of type `char(n)`.
fn is_char(expr: &Expr, context: &Context<'_>) -> bool {
    match expr {
        Expr::Column { row, column } => {
            context.layout(*row).is_ok_and(|layout| matches!(layout.column_type(*column), SqlType::Char(_)))
        }
        Expr::Cast { to, .. } => matches!(to, SqlType::Char(_)),
        _ => false,
    }
}

fn binary(operator: BinaryOperator, left: &Expr, right: &Expr, context: &Context<'_>) -> Result<Value> {
    if is_comparison(operator) {
        return Ok(comparison(operator, left, right, context)?.map_or(Value::Null, Value::Boolean));
    }
    match (peek(left, context), peek(right, context)) {
        (Some(Peek::Integer(a)), Some(Peek::Integer(b))) => return arithmetic::integer(operator, a, b),
        (Some(Peek::BigInt(a)), Some(Peek::BigInt(b))) => return arithmetic::bigint(operator, a, b),
        _ => {}
    }
    let (a, b) = (operand(left, context)?, operand(right, context)?);
    arithmetic::binary(operator, &a, &b)
}

fn call(function: function::Function, arguments: &[Expr], context: &Context<'_>) -> Result<Value> {
    let mut values: SmallVec<[Value; 3]> = SmallVec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(evaluate(argument, context)?);
    }
    function::call(function, &values, context.environment)
}

fn convert(
    value: Value,
    from_char: bool,
    to: SqlType,
    explicit: bool,
    context: &Context<'_>,
) -> Result<Value> {
    let value = match value {
        Value::Text(mut text) if from_char && !matches!(to, SqlType::Char(_)) => {
            text.truncate(text.trim_end_matches(' ').len());
            Value::Text(text)
        }
        other => other,
    };
    cast::cast(value, to, explicit, &context.environment.time_zone)
}

#[cfg(test)]
mod postgres;
#[cfg(test)]
mod tests;
