//! Functions of the catalogue whose parameters have names and defaults.

use hyades_engine::procedure::ir::Expr;
use hyades_types::value::Value;

use super::routine_call::Arguments;
use super::{Bound, Class, Place};

/// Functions whose parameters all have the default 0.
const NUMBERS: &[(&str, &[&str])] =
    &[("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"])];

/// The arguments in the order of the parameters, with defaults for those that are not given. Returned
/// unchanged if the function has no defaults or the arguments do not fit it.
pub(super) fn with_defaults(function: &str, arguments: Arguments, place: Place) -> Arguments {
    let Some((_, parameters)) = NUMBERS.iter().find(|(name, _)| *name == function) else { return arguments };
    let mut given: Vec<Option<Bound>> = vec![None; parameters.len()];
    let positional = arguments.bound.len() - arguments.names.len();
    for (at, argument) in arguments.bound.iter().enumerate() {
        let place = match at.checked_sub(positional) {
            None => Some(at),
            Some(named) => parameters.iter().position(|name| *name == arguments.names[named]),
        };
        match place.and_then(|place| given.get_mut(place)) {
            Some(free @ None) => *free = Some(argument.clone()),
            _ => return arguments,
        }
    }
    let zero = || Bound { expr: Expr::Const(Value::Null), class: Class::Literal("0".to_owned()), place };
    Arguments { bound: given.into_iter().map(|one| one.unwrap_or_else(zero)).collect(), names: Vec::new() }
}
