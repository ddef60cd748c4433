//! Functions of the catalogue whose parameters have names and defaults.

use hyades_engine::procedure::ir::Expr;
use hyades_types::value::Value;

use super::routine_call::Arguments;
use super::{Bound, Class, Place};

/// Functions, their parameters, how many of these have no default, and the default of the others.
type Defaults = (&'static str, &'static [&'static str], usize, &'static str);

const DEFAULTS: &[Defaults] = &[
    ("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"], 0, "0"),
    ("parse_ident", &["str", "strict"], 1, "true"),
];

/// The arguments in the order of the parameters, with defaults for those that are not given. Returned
/// unchanged if the function has no defaults or the arguments do not fit it.
pub(super) fn with_defaults(function: &str, arguments: Arguments, place: Place) -> Arguments {
    let Some((_, parameters, required, default)) = DEFAULTS.iter().find(|known| known.0 == function) else {
        return arguments;
    };
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
    if given.iter().take(*required).any(Option::is_none) {
        return arguments;
    }
    let class = || Class::Literal((*default).to_owned());
    let missing = || Bound { expr: Expr::Const(Value::Null), class: class(), place };
    Arguments { bound: given.into_iter().map(|one| one.unwrap_or_else(missing)).collect(), names: Vec::new() }
}
