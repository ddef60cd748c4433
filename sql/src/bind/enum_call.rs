//! `enum_first`, `enum_last` and `enum_range`: the values of an enum type, which are known when a statement
//! is compiled. The arguments only say which type it is, and may be NULL.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::value::{ArrayElement, SqlType, Value};

use super::{Binder, Bound, Class, Place};
use crate::evaluation;

/// Both bounds of the one dimension of a slice are written (`function::array_subscript`).
const BOTH_BOUNDS: i32 = 3;

impl Binder<'_> {
    pub(super) fn try_enum_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        place: Place,
    ) -> Result<Option<Bound>> {
        let is_meant = matches!(
            (name, arguments.len()),
            ("enum_first" | "enum_last" | "enum_range", 1) | ("enum_range", 2)
        );
        if !is_meant {
            return Ok(None);
        }
        let known = arguments.iter().find_map(|argument| argument.known_type()?.enum_type());
        let Some(enum_type) = known else { return Err(self.no_function_of(name, arguments, place)) };
        let sql_type = SqlType::Enum(enum_type);
        if arguments.iter().any(|argument| argument.known_type().is_some_and(|own| own != sql_type)) {
            return Err(self.no_function_of(name, arguments, place));
        }
        let element = ArrayElement::Enum(enum_type);
        let values: Vec<Value> = enum_type.values().map(Value::Enum).collect();
        if values.is_empty() && name != "enum_range" {
            let message = format!("enum {} contains no values", enum_type.shown());
            return self.fail(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message, Place::Unknown);
        }
        let (expr, result) = match name {
            "enum_first" => (Expr::Const(values.first().cloned().unwrap_or_default()), sql_type),
            "enum_last" => (Expr::Const(values.last().cloned().unwrap_or_default()), sql_type),
            _ => {
                let all = Expr::Const(Value::array(element, values));
                let expr = match arguments {
                    [first, last] => self.enum_slice(all, sql_type, [first, last])?,
                    _ => all,
                };
                (expr, SqlType::Array(element))
            }
        };
        Ok(Some(Bound { expr, class: Class::Typed(result), place }))
    }

    /// From one value to another. NULL means the first, or the last.
    fn enum_slice(&mut self, all: Expr, sql_type: SqlType, ends: [&Bound; 2]) -> Result<Expr> {
        let mut arguments = vec![all.clone(), Expr::Const(Value::Integer(BOTH_BOUNDS))];
        for (end, default) in ends.into_iter().zip([1, i32::MAX]) {
            let value = self.coerce(end.clone(), sql_type)?;
            let position =
                Expr::Call { function: Function::ArrayPosition, arguments: vec![all.clone(), value] };
            arguments.push(Expr::Coalesce(vec![position, Expr::Const(Value::Integer(default))]));
        }
        Ok(evaluation::fold_if_constant(Expr::Call { function: Function::ArraySlice, arguments }))
    }
}
