//! Whether one condition follows from others, so that an index on some rows serves a statement.
//!
//! A condition is taken as alternatives (OR, IN, = ANY), each of them as parts that hold together (AND, NOT
//! IN). It follows from another condition if each alternative of that one implies all parts of one of its
//! own. Whether one part implies another depends on operators and constants.
//!
//! Reference: PostgreSQL's predtest.c; the comparisons are its table BT_implic_table.

use std::borrow::Cow;

use hyades_engine::procedure::ir::Expr;
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator::{self, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
use hyades_types::value::{SqlType, Value};

use crate::bind::operator::mirrored;
use crate::evaluation::fold_if_constant;

/// Longer lists are not taken apart: they imply only themselves, as in PostgreSQL (MAX_SAOP_ARRAY_SIZE).
const LONGEST_LIST: usize = 100;

/// At most this many parts of the conditions are compared with those of the wanted one.
const MOST_PARTS: usize = 300;

/// Whether rows that satisfy all the conditions satisfy this one.
pub(crate) fn is_implied(wanted: &Expr, conditions: &[Expr]) -> bool {
    if conditions.contains(wanted) {
        return true;
    }
    let wanted = alternatives(wanted);
    let known: Vec<_> = conditions.iter().flat_map(parts).take(MOST_PARTS).collect();
    // The parts of each alternative that the conditions do not imply yet.
    let open = |one| {
        let is_open = |part: &Cow<'_, Expr>| !known.iter().any(|known| implies(known, part));
        parts(one).into_iter().filter(is_open).collect()
    };
    let open: Vec<Vec<Cow<'_, Expr>>> = wanted.iter().map(|one| open(one)).collect();
    let some_hold = |known: &[Cow<'_, Expr>]| {
        open.iter().any(|parts| parts.iter().all(|part| known.iter().any(|known| implies(known, part))))
    };
    some_hold(&[])
        || conditions.iter().any(|condition| alternatives(condition).iter().all(|one| some_hold(&parts(one))))
}

/// The alternatives of which one holds if the condition does, or the condition itself if it has none.
fn alternatives(condition: &Expr) -> Vec<Cow<'_, Expr>> {
    let mut found = Vec::new();
    let mut stack = vec![condition];
    while let Some(one) = stack.pop() {
        if let Expr::Or(left, right) = one {
            stack.extend([&**right, &**left]);
        } else if let Some((operand, values)) = listed(one) {
            if found.len() + values.len() > LONGEST_LIST {
                return vec![Cow::Borrowed(condition)];
            }
            // NULL equals nothing.
            let values = values.into_iter().filter(|value| **value != Expr::Const(Value::Null));
            found.extend(values.map(|value| Cow::Owned(compared(operand, Equal, &value))));
        } else {
            found.push(Cow::Borrowed(one));
        }
        if found.len() > LONGEST_LIST {
            return vec![Cow::Borrowed(condition)];
        }
    }
    found
}

/// The parts that all hold if the condition does.
fn parts(condition: &Expr) -> Vec<Cow<'_, Expr>> {
    let mut found = Vec::new();
    let mut stack = vec![condition];
    while let Some(one) = stack.pop() {
        match one {
            Expr::And(left, right) => stack.extend([&**right, &**left]),
            Expr::Not(inner) => match listed(inner) {
                Some((operand, values)) if values.len() <= LONGEST_LIST => {
                    found.extend(values.iter().map(|value| Cow::Owned(compared(operand, NotEqual, value))));
                }
                _ => found.push(Cow::Borrowed(one)),
            },
            _ => found.push(Cow::Borrowed(one)),
        }
    }
    found
}

fn compared(operand: &Expr, operator: BinaryOperator, value: &Expr) -> Expr {
    Expr::Binary { operator, left: Box::new(operand.clone()), right: Box::new(value.clone()) }
}

/// `operand IN (values)`, or `= ANY` of a constant array.
fn listed(condition: &Expr) -> Option<(&Expr, Vec<Cow<'_, Expr>>)> {
    match condition {
        Expr::InList { operand, list } => {
            Some((operand, list.iter().take(LONGEST_LIST + 1).map(Cow::Borrowed).collect()))
        }
        Expr::Call { function: Function::EqualsAny | Function::EqualsSorted, arguments } => {
            let [operand, Expr::Const(Value::Array(array))] = arguments.as_slice() else { return None };
            let values = array.values.iter().take(LONGEST_LIST + 1);
            Some((operand, values.map(|value| Cow::Owned(Expr::Const(value.clone()))).collect()))
        }
        _ => None,
    }
}

/// Whether rows that satisfy one part satisfy another.
fn implies(condition: &Expr, wanted: &Expr) -> bool {
    if condition == wanted {
        return true;
    }
    if let Some(value) = not_null(wanted) {
        return compares(condition, value);
    }
    let (Some((known, known_operator, bound)), Some((value, operator, limit))) =
        (against_constant(condition), against_constant(wanted))
    else {
        return false;
    };
    if bound.is_null() && known == value {
        // No row satisfies it.
        return true;
    }
    // The relation that must hold between the constant of the condition and the wanted one.
    let relation = match (known_operator, operator) {
        (Equal, operator) => operator,
        (NotEqual, NotEqual) => Equal,
        (Less, Less | LessEqual | NotEqual) | (LessEqual, LessEqual) => LessEqual,
        (LessEqual, Less | NotEqual) => Less,
        (Greater, Greater | GreaterEqual | NotEqual) | (GreaterEqual, GreaterEqual) => GreaterEqual,
        (GreaterEqual, Greater | NotEqual) => Greater,
        _ => return false,
    };
    let (bound, limit) = match (bound.as_i64(), limit.as_i64()) {
        (Some(bound), Some(limit)) if integer_under_casts(known) == integer_under_casts(value) => {
            (Value::BigInt(bound), Value::BigInt(limit))
        }
        _ if known == value => (bound.clone(), limit.clone()),
        _ => return false,
    };
    let holds = compared(&Expr::Const(bound), relation, &Expr::Const(limit));
    fold_if_constant(holds) == Expr::Const(Value::Boolean(true))
}

/// The value that is compared as a wider integer.
fn integer_under_casts(mut value: &Expr) -> &Expr {
    while let Expr::Cast { operand, to: SqlType::Integer | SqlType::BigInt, explicit: false } = value {
        value = operand;
    }
    value
}

/// `value IS NOT NULL`.
fn not_null(wanted: &Expr) -> Option<&Expr> {
    let Expr::Not(inner) = wanted else { return None };
    let Expr::IsNull(value) = &**inner else { return None };
    Some(value)
}

/// Whether a condition compares this value with others, so the value is not NULL in rows that satisfy the
/// condition.
fn compares(condition: &Expr, value: &Expr) -> bool {
    match condition {
        Expr::Binary { left, right, operator } => {
            operator.is_comparison() && (**left == *value || **right == *value)
        }
        Expr::InList { operand, .. } => **operand == *value,
        Expr::Call { function: Function::EqualsAny | Function::EqualsSorted, arguments } => {
            arguments.first() == Some(value)
        }
        Expr::Not(inner) => matches!(**inner, Expr::Binary { .. }) && compares(inner, value),
        _ => false,
    }
}

/// `value < constant`, or the same with exchanged sides or negated.
fn against_constant(condition: &Expr) -> Option<(&Expr, BinaryOperator, &Value)> {
    if let Expr::Not(inner) = condition {
        let (value, operator, constant) = against_constant(inner)?;
        let operator = match operator {
            Equal => NotEqual,
            NotEqual => Equal,
            Less => GreaterEqual,
            LessEqual => Greater,
            Greater => LessEqual,
            GreaterEqual => Less,
            _ => return None,
        };
        return Some((value, operator, constant));
    }
    let Expr::Binary { operator, left, right } = condition else { return None };
    match (&**left, &**right) {
        _ if !operator.is_comparison() => None,
        (Expr::Const(_), Expr::Const(_)) => None,
        (value, Expr::Const(constant)) => Some((value, *operator, constant)),
        (Expr::Const(constant), value) => Some((value, mirrored(*operator), constant)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyades_types::value::ArrayElement;
    use proptest::prelude::*;

    use super::*;

    fn column(column: u16) -> Expr {
        Expr::Column { row: 0, column }
    }

    fn constant() -> impl Strategy<Value = Value> {
        prop_oneof![8 => (0..4).prop_map(Value::Integer), 1 => Just(Value::Null)]
    }

    /// A comparison of one of two columns, a list, or the negation of one of these.
    fn part() -> impl Strategy<Value = Expr> {
        let operator = prop::sample::select(vec![Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual]);
        let against =
            (0..2_u16, operator, constant(), any::<bool>()).prop_map(|(at, operator, value, swap)| {
                let (left, right) = (Box::new(column(at)), Box::new(Expr::Const(value)));
                let (left, right) = if swap { (right, left) } else { (left, right) };
                Expr::Binary { operator, left, right }
            });
        let wide = (0..2_u16, -1..5_i64).prop_map(|(at, value)| {
            let operand = Box::new(column(at));
            let left = Expr::Cast { operand, to: SqlType::BigInt, explicit: false };
            compared(&left, Greater, &Expr::Const(Value::BigInt(value)))
        });
        let listed = (0..2_u16, prop::collection::vec(constant(), 0..3), any::<bool>()).prop_map(
            |(at, values, is_array)| {
                if is_array || values.is_empty() {
                    let array = Value::array(ArrayElement::of(SqlType::Integer).unwrap(), values);
                    let arguments = vec![column(at), Expr::Const(array)];
                    return Expr::Call { function: Function::EqualsAny, arguments };
                }
                let list = values.into_iter().map(Expr::Const).collect();
                Expr::InList { operand: Box::new(column(at)), list }
            },
        );
        let known = (0..2_u16).prop_map(|at| Expr::IsNull(Box::new(column(at))));
        let plain = prop_oneof![6 => against, 1 => wide, 3 => listed, 1 => known];
        (plain, 0..4).prop_map(|(plain, denied)| if denied == 0 { Expr::Not(Box::new(plain)) } else { plain })
    }

    fn condition() -> impl Strategy<Value = Expr> {
        part().prop_recursive(2, 6, 2, |inner| {
            (inner.clone(), inner, any::<bool>()).prop_map(|(one, other, is_or)| {
                let (one, other) = (Box::new(one), Box::new(other));
                if is_or { Expr::Or(one, other) } else { Expr::And(one, other) }
            })
        })
    }

    fn folded(mut condition: Expr, row: &[Value; 2]) -> Expr {
        match condition {
            Expr::Column { column, .. } => Expr::Const(row[usize::from(column)].clone()),
            // Only integers are cast here.
            Expr::Cast { operand, .. } => match folded(*operand, row) {
                Expr::Const(value) => Expr::Const(value.as_i64().map_or(Value::Null, Value::BigInt)),
                other => other,
            },
            _ => {
                condition.for_each_part_mut(&mut |part| *part = folded(part.clone(), row));
                fold_if_constant(condition)
            }
        }
    }

    fn holds(condition: &Expr, row: &[Value; 2]) -> bool {
        let Expr::Const(value) = folded(condition.clone(), row) else {
            panic!("{condition:?} is not folded")
        };
        value == Value::Boolean(true)
    }

    fn rows() -> impl Iterator<Item = [Value; 2]> {
        let values = || (-2..7).map(Value::Integer).chain([Value::Null]);
        values().flat_map(move |one| values().map(move |other| [one.clone(), other]))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn rows_of_the_conditions_are_rows_of_what_they_imply(
            conditions in prop::collection::vec(condition(), 1..3),
            wanted in condition(),
        ) {
            if is_implied(&wanted, &conditions) {
                for row in rows() {
                    let satisfies = conditions.iter().all(|condition| holds(condition, &row));
                    prop_assert!(!satisfies || holds(&wanted, &row), "{row:?}");
                }
            }
        }
    }
}
