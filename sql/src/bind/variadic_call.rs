//! Calls with VARIADIC: `format('%s', VARIADIC array)`.
//!
//! The array stands for the last arguments of a variadic function, which has a computation of its own for
//! that (`Function::of_array`). For any other function the word says nothing.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::{Function as Computation, TypePattern, lookup};
use hyades_types::refusal::Missing;
use hyades_types::value::{ArrayElement, SqlType};

use super::routine_call::Arguments;
use super::{Binder, Bound, Place};
use crate::evaluation;
use crate::statement::call_syntax::VARIADIC;

impl Arguments {
    /// Whether the last one, and no other, stands after VARIADIC.
    pub(super) fn is_variadic(&self) -> bool {
        matches!(self.names.as_slice(), [name] if name == VARIADIC)
    }
}

impl Binder<'_> {
    /// A call with bound arguments, the last of which stands after VARIADIC.
    pub(super) fn variadic_call(&mut self, name: &str, arguments: Vec<Bound>, place: Place) -> Result<Bound> {
        let count = arguments.len();
        let fits = |signature: &&hyades_types::function::Signature| {
            let first = signature.arguments.iter().zip(&arguments).take(count - 1);
            let fits = |(pattern, bound): (&TypePattern, &Bound)| match (pattern, bound.known_type()) {
                (TypePattern::Exact(wanted), Some(own)) => super::coerce::is_implicit(own, *wanted),
                _ => true,
            };
            signature.is_variadic && signature.arguments.len() == count && first.into_iter().all(fits)
        };
        let Some(signature) = lookup(name).iter().find(fits) else {
            let has_one = lookup(name).iter().any(|signature| signature.is_variadic);
            return match has_one {
                true => Err(self.no_function_of(name, &arguments, place)),
                false => self.call_of(name, arguments, place),
            };
        };
        let mut given = Vec::with_capacity(count);
        let last = signature.arguments[count - 1];
        for (at, bound) in arguments.into_iter().enumerate() {
            let is_array = matches!(bound.known_type(), Some(SqlType::Array(_)));
            given.push(match signature.arguments[at] {
                TypePattern::Exact(wanted) if at + 1 == count => {
                    let element = ArrayElement::of(wanted).unwrap_or(ArrayElement::Text);
                    self.coerce(bound, SqlType::Array(element))?
                }
                TypePattern::Exact(wanted) => self.coerce(bound, wanted)?,
                _ if at + 1 == count && !is_array => {
                    let message = "VARIADIC argument must be an array";
                    return self.fail(sqlstate::DATATYPE_MISMATCH, message, bound.place);
                }
                _ => bound.expr,
            });
        }
        let function: Computation = match last {
            TypePattern::Exact(_) => signature.function,
            _ => match signature.function.of_array() {
                Some(function) => function,
                None => {
                    return self.unsupported(Missing::OtherForms, &format!("{name} with VARIADIC is"), place);
                }
            },
        };
        let result = match signature.result {
            TypePattern::Exact(result) => result,
            _ => SqlType::Text,
        };
        let expr = Expr::Call { function, arguments: given };
        Ok(Bound::typed(evaluation::fold_if_constant(expr), result, place))
    }
}
