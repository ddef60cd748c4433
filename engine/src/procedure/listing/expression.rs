//! Expressions as SQL, for EXPLAIN and listings.

use hyades_types::function::Function;
use hyades_types::text;
use hyades_types::value::{SqlType, Value};
use jiff::tz::TimeZone;

use crate::procedure::deep::with_stack;
use crate::procedure::ir::{Expr, Register, RowSlot};

/// The names of a procedure's slots.
pub trait SlotNames {
    fn register(&self, register: Register) -> String;

    fn column(&self, row: RowSlot, column: u16) -> String;

    fn routine(&self, callee: u16) -> String {
        format!("routine {callee}")
    }

    /// Whether the elements of this array are shown like the array itself, because it stands for a relation's
    /// column.
    fn hides_subscript(&self, _array: &Expr) -> bool {
        false
    }
}

/// Conditions joined with AND. `None` if there are none.
pub fn conditions(conditions: &[Expr], names: &dyn SlotNames) -> Option<String> {
    match conditions {
        [] => None,
        [single] => Some(bracketed(single, names)),
        several => {
            let parts: Vec<String> = several.iter().map(|part| bracketed(part, names)).collect();
            Some(format!("({})", parts.join(" AND ")))
        }
    }
}

fn bracketed(expr: &Expr, names: &dyn SlotNames) -> String {
    let text = shown(expr, names);
    if text.starts_with('(') || matches!(expr, Expr::Column { .. } | Expr::Call { .. }) {
        text
    } else {
        format!("({text})")
    }
}

/// Expressions separated by commas.
pub(super) fn list(items: &[Expr], names: &dyn SlotNames) -> String {
    let items: Vec<String> = items.iter().map(|item| shown(item, names)).collect();
    items.join(", ")
}

/// The conditions that AND joins, in order.
fn conjuncts<'e>(expr: &'e Expr, into: &mut Vec<&'e Expr>) {
    match expr {
        Expr::And(left, right) => {
            conjuncts(left, into);
            conjuncts(right, into);
        }
        other => into.push(other),
    }
}

/// An expression as PostgreSQL's deparser prints it.
pub fn shown(expr: &Expr, names: &dyn SlotNames) -> String {
    let show = |expr: &Expr| shown(expr, names);
    match expr {
        Expr::Const(value) => constant(value),
        Expr::Register(register) => names.register(*register),
        Expr::Column { row, column } => names.column(*row, *column),
        Expr::Unary { operator, operand } => format!("({} {})", operator.symbol(), show(operand)),
        Expr::Binary { operator, left, right } => {
            format!("({} {} {})", show(left), operator.symbol(), show(right))
        }
        Expr::And(..) => {
            let mut parts = Vec::new();
            conjuncts(expr, &mut parts);
            let parts: Vec<String> = parts.into_iter().map(|part| bracketed(part, names)).collect();
            format!("({})", parts.join(" AND "))
        }
        Expr::Or(left, right) => format!("({} OR {})", bracketed(left, names), bracketed(right, names)),
        Expr::Not(inner) => match inner.as_ref() {
            Expr::IsNull(inner) => format!("({} IS NOT NULL)", show(inner)),
            other => format!("(NOT {})", bracketed(other, names)),
        },
        Expr::IsNull(inner) => format!("({} IS NULL)", show(inner)),
        Expr::NotDistinct(left, right) => {
            format!("(NOT ({} IS DISTINCT FROM {}))", show(left), show(right))
        }
        Expr::Case { branches, otherwise } => {
            let branches: Vec<String> = branches
                .iter()
                .map(|(when, then)| format!("WHEN {} THEN {}", show(when), show(then)))
                .collect();
            format!("CASE {} ELSE {} END", branches.join(" "), show(otherwise))
        }
        Expr::Deep(deep) => with_stack(|| show(deep.expr())),
        Expr::Coalesce(items) => format!("COALESCE({})", list(items, names)),
        Expr::InList { operand, list: items } => format!("({} IN ({}))", show(operand), list(items, names)),
        Expr::Quantified { operator, is_all, left, array } => {
            let word = if *is_all { "ALL" } else { "ANY" };
            format!("({} {} {word} ({}))", show(left), operator.symbol(), show(array))
        }
        Expr::Like { operand, pattern, case_insensitive } => {
            let symbol = if *case_insensitive { "~~*" } else { "~~" };
            format!("({} {symbol} {})", show(operand), show(pattern))
        }
        Expr::Cast { operand, to, .. } => format!("({})::{}", show(operand), to.name()),
        Expr::Element { array, .. } if names.hides_subscript(array) => show(array),
        Expr::Element { array, index } => format!("({})[{}]", show(array), show(index)),
        Expr::Array { items, .. } => format!("ARRAY[{}]", list(items, names)),
        Expr::Routine { callee, arguments } => {
            format!("{}({})", names.routine(*callee), list(arguments, names))
        }
        Expr::Query { query, .. } => format!("(SubPlan {})", query + 1),
        Expr::Call { function, arguments } => call(*function, arguments, names),
    }
}

fn call(function: Function, arguments: &[Expr], names: &dyn SlotNames) -> String {
    match (function, arguments) {
        (Function::CharToText, _) => format!("({})::text", list(arguments, names)),
        (Function::MatchesAny | Function::MatchesAll, [text, array, Expr::Const(Value::Text(symbol))]) => {
            let word = if function == Function::MatchesAll { "ALL" } else { "ANY" };
            format!("({} {symbol} {word} ({}))", shown(text, names), shown(array, names))
        }
        (Function::EqualsAny | Function::EqualsSorted, [wanted, array]) => {
            format!("({} = ANY ({}))", shown(wanted, names), shown(array, names))
        }
        _ => format!("{}({})", snake_case(&format!("{function:?}")), list(arguments, names)),
    }
}

fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (at, character) in name.chars().enumerate() {
        if character.is_ascii_uppercase() && at > 0 {
            out.push('_');
        }
        out.push(character.to_ascii_lowercase());
    }
    out
}

fn constant(value: &Value) -> String {
    let Some(sql_type) = value.sql_type() else { return "NULL".to_owned() };
    let mut bytes = Vec::new();
    text::write(value, sql_type, &TimeZone::UTC, &mut bytes);
    let shown = String::from_utf8_lossy(&bytes);
    match sql_type {
        SqlType::Boolean => if shown == "t" { "true" } else { "false" }.to_owned(),
        SqlType::Integer => shown.into_owned(),
        SqlType::Numeric(_) if shown.contains('.') => shown.into_owned(),
        _ => format!("'{}'::{}", shown.replace('\'', "''"), sql_type.name()),
    }
}
