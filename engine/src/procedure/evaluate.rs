//! The values of expressions.
//!
//! [`evaluate`] walks an [`Expr`] over the registers and row slots of a run. Logic is three-valued: a
//! condition is true, false or NULL (unknown). AND and OR stop at the first operand that decides, from left
//! to right. CASE, COALESCE and IN evaluate only what they need.
//!
//! Speed: nearly all expressions of a transaction are over integers, booleans and times. So [`scalar`] comes
//! first: it computes such an expression, down to columns read where they lie, without building a [`Value`].
//! Where it returns `None`, the expression is none of these, or fails, and `general` computes it from values.
//! Nothing has happened yet at that point. (At worst, an expression that is deep on its left side and not a
//! scalar is examined once for every level.) Constants and registers are borrowed, never cloned, by every
//! operator that only looks at its operands, and so are texts where they are compared.
//!
//! Depth: evaluation recurses once per level of the expression. The compiler lets at most [`MAXIMUM_DEPTH`]
//! levels follow each other, which a thread's 2 MiB stack holds even unoptimised, before a
//! [`Deep`](super::ir::Deep) checks the stack. Chains of AND and OR may lean to either side but count as
//! levels. This is not checked again here.
//!
//! Two operands have one type (the compiler inserted casts). `char(n)` is the exception that values do not
//! show: a column or a cast of that type is recognised by its expression, and then trailing blanks do not
//! count in comparisons and are dropped by a cast to `text`. For registers the compiler wraps
//! [`Function::CharToText`](hyades_types::function::Function::CharToText).

use std::borrow::Cow;
use std::cmp::Ordering;

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::operator::BinaryOperator;
use hyades_types::scalar::{Scalar, decide};
use hyades_types::value::{SqlType, Value};
use hyades_types::{arithmetic, cast, compare, function, like, text};
use smallvec::SmallVec;

use super::deep::with_stack;
use super::ir::Expr;

pub use context::Context;
pub(super) use scalar::{Places, scalar};

/// From this many bytes on, comparing texts is counted as work.
const LONG_TEXT: usize = 4096;

/// The deepest nesting of an expression that the compiler allows without a check of the stack.
pub const MAXIMUM_DEPTH: usize = 500;

/// The bytes of the text that an expression is, if no computation is needed. For a `char(n)` column, without
/// its trailing blanks.
pub(super) fn peek_text<'a>(expr: &'a Expr, context: &Context<'a>) -> Option<&'a [u8]> {
    let value = match expr {
        Expr::Const(value) => value,
        Expr::Register(register) => context.registers.get(usize::from(*register))?,
        Expr::Column { row, column } => {
            let (layout, bytes) = context.row(*row)?;
            return if layout.column_type(*column).is_text() { layout.bytes(bytes, *column) } else { None };
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
        Expr::Case { branches, otherwise } => evaluate(chosen(branches, otherwise, context)?, context),
        other => match scalar(other, context) {
            Some(scalar) => Ok(scalar.value()),
            None => general(other, context),
        },
    }
}

/// The value of an expression that is not a scalar.
pub(super) fn general(expr: &Expr, context: &Context<'_>) -> Result<Value> {
    match expr {
        Expr::Const(_) | Expr::Register(_) | Expr::Case { .. } => evaluate(expr, context),
        Expr::Column { row, column } => context.column(*row, *column),
        Expr::Binary { operator, left, right } => binary(*operator, left, right, context),
        Expr::Unary { operator, operand: inner } => arithmetic::unary(*operator, &*operand(inner, context)?),
        Expr::Cast { operand: inner, to, explicit } => {
            let value = evaluate(inner, context)?;
            convert(value, is_char(inner, context), *to, *explicit, context)
        }
        Expr::Call { function, arguments } => call(*function, arguments, context),
        Expr::Element { array, index } => element(array, index, context),
        Expr::Array { element, items } => {
            let values = items.iter().map(|item| evaluate(item, context)).collect::<Result<Vec<Value>>>()?;
            Ok(Value::array(*element, values))
        }
        Expr::Routine { .. } | Expr::Query { .. } => {
            Err(Error::input(sqlstate::INTERNAL_ERROR, "a routine or query stands inside an expression"))
        }
        Expr::Coalesce(candidates) => coalesce(candidates, context),
        Expr::Deep(deep) => {
            guest::pass(deep.parts());
            with_stack(|| evaluate(deep.expr(), context))
        }
        Expr::And(..)
        | Expr::Or(..)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::NotDistinct(..)
        | Expr::InList { .. }
        | Expr::Quantified { .. }
        | Expr::Like { .. } => Ok(general_truth(expr, context)?.map_or(Value::Null, Value::Boolean)),
    }
}

/// One element of an array, which is read in place.
fn element(array: &Expr, index: &Expr, context: &Context<'_>) -> Result<Value> {
    let (array, index) = (operand(array, context)?, operand(index, context)?);
    let (Value::Array(array), Some(index)) = (&*array, index.as_i64()) else { return Ok(Value::Null) };
    Ok(array.place(index).map_or(Value::Null, |place| array.values[place].clone()))
}

/// The result expression that a CASE chooses, not computed yet.
pub(super) fn chosen<'e>(
    branches: &'e [(Expr, Expr)],
    otherwise: &'e Expr,
    context: &Context<'_>,
) -> Result<&'e Expr> {
    for (when, then) in branches {
        // `CASE variable WHEN 1 THEN ... WHEN 2 THEN ...`
        if let Expr::Binary { operator: BinaryOperator::Equal, left, right } = when
            && let (Expr::Register(register), Expr::Const(Value::Integer(wanted))) = (&**left, &**right)
            && let Some(Value::Integer(found)) = context.registers.get(usize::from(*register))
        {
            if found == wanted {
                return Ok(then);
            }
            continue;
        }
        if condition(when, context)? {
            return Ok(then);
        }
    }
    Ok(otherwise)
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

/// Whether a condition is true. False and NULL are not.
#[inline]
pub fn condition(expr: &Expr, context: &Context<'_>) -> Result<bool> {
    match scalar(expr, context).and_then(Scalar::truth) {
        Some(truth) => Ok(truth == Some(true)),
        None => Ok(general_truth(expr, context)? == Some(true)),
    }
}

/// A boolean expression. None is NULL.
fn truth(expr: &Expr, context: &Context<'_>) -> Result<Option<bool>> {
    match scalar(expr, context).and_then(Scalar::truth) {
        Some(truth) => Ok(truth),
        None => general_truth(expr, context),
    }
}

/// The truth of a boolean expression that is not over scalars alone.
fn general_truth(expr: &Expr, context: &Context<'_>) -> Result<Option<bool>> {
    match expr {
        Expr::Binary { operator, left, right } if operator.is_comparison() => {
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
        Expr::Quantified { operator, is_all, left, array } => {
            quantified(*operator, *is_all, (left, array), context)
        }
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
        Expr::Column { row, column } => Ok(context.column(*row, *column)?.is_null()),
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
    guest::spend_for(list.len() * 2)?;
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

/// A comparison with the elements of an array: the first element that decides it (true for ANY, false for
/// ALL) gives the result. Without one, a NULL among them makes it NULL.
fn quantified(
    operator: BinaryOperator,
    is_all: bool,
    (left, array): (&Expr, &Expr),
    context: &Context<'_>,
) -> Result<Option<bool>> {
    let (value, array) = (operand(left, context)?, operand(array, context)?);
    let Value::Array(array) = &*array else { return Ok(None) };
    if array.values.is_empty() {
        return Ok(Some(is_all));
    }
    if value.is_null() {
        return Ok(None);
    }
    guest::spend_for(array.values.len() * 2)?;
    let mut has_null = false;
    for element in &array.values {
        if element.is_null() {
            has_null = true;
        } else if decide(operator, compare::total(&value, element)) != is_all {
            return Ok(Some(!is_all));
        }
    }
    Ok(if has_null { None } else { Some(is_all) })
}

fn comparison(
    operator: BinaryOperator,
    left: &Expr,
    right: &Expr,
    context: &Context<'_>,
) -> Result<Option<bool>> {
    if let (Some(a), Some(b)) = (peek_text(left, context), peek_text(right, context)) {
        if a.len() > LONG_TEXT {
            guest::spend_for(a.len() / 64)?;
        }
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
            matches!(context.column_type(*row, *column), Some(SqlType::Char(_)))
        }
        Expr::Cast { to, .. } => matches!(to, SqlType::Char(_)),
        Expr::Deep(deep) => is_char(deep.expr(), context),
        _ => false,
    }
}

fn binary(operator: BinaryOperator, left: &Expr, right: &Expr, context: &Context<'_>) -> Result<Value> {
    if operator.is_comparison() {
        return Ok(comparison(operator, left, right, context)?.map_or(Value::Null, Value::Boolean));
    }
    let (a, b) = (operand(left, context)?, operand(right, context)?);
    arithmetic::binary(operator, &a, &b)
}

fn call(function: function::Function, arguments: &[Expr], context: &Context<'_>) -> Result<Value> {
    let mut values: SmallVec<[Value; 3]> = SmallVec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(evaluate(argument, context)?);
        // Copies of large values.
        memory::check(0)?;
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
    let environment = context.environment;
    if environment.float_digits < 1
        && to.is_string()
        && matches!(value, Value::Real(_) | Value::Double(_) | Value::Array(_))
    {
        let text = Value::Text(text::shown(&value, environment.text_form())?);
        return cast::cast(text, to, explicit, &environment.time_zone);
    }
    cast::cast(value, to, explicit, environment.reading())
}

mod context;
mod scalar;

#[cfg(test)]
mod postgres;
#[cfg(test)]
mod tests;
