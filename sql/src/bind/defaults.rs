//! Functions of the catalogue whose parameters have names and defaults.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::Result;
use hyades_types::value::Value;
use sqlparser::ast::FunctionArg;

use super::routine_call::Arguments;
use super::{Binder, Bound, Class, Place};

/// Functions, their parameters, how many of these have no default, and the defaults of the others; the last
/// one is that of all that follow.
type Defaults = (&'static str, &'static [&'static str], usize, &'static [&'static str]);

const OF_PATHS: &[&str] = &["target", "path", "vars", "silent"];
const PATH_DEFAULTS: &[&str] = &["{}", "false"];

const DEFAULTS: &[Defaults] = &[
    ("jsonb_path_exists", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_exists_tz", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_match", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_match_tz", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_query", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_query_tz", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_query_array", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_query_array_tz", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_query_first", OF_PATHS, 2, PATH_DEFAULTS),
    ("jsonb_path_query_first_tz", OF_PATHS, 2, PATH_DEFAULTS),
    ("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"], 0, &["0"]),
    ("parse_ident", &["str", "strict"], 1, &["true"]),
];

/// The arguments in the order of the parameters, with defaults for those that are not given. Returned
/// unchanged if the function has no defaults or the arguments do not fit it.
pub(super) fn with_defaults(function: &str, arguments: Arguments, place: Place) -> Arguments {
    let Some((_, parameters, required, defaults)) = DEFAULTS.iter().find(|known| known.0 == function) else {
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
    let missing = |at: usize| {
        let default = defaults.get(at.saturating_sub(*required)).or(defaults.last());
        let class = Class::Literal(default.copied().unwrap_or_default().to_owned());
        Bound { expr: Expr::Const(Value::Null), class, place }
    };
    let all = given.into_iter().enumerate().map(|(at, one)| one.unwrap_or_else(|| missing(at)));
    Arguments { bound: all.collect(), names: Vec::new() }
}

impl Binder<'_> {
    /// The arguments of a call of a function of the catalogue.
    pub(super) fn arguments_with_defaults(
        &mut self,
        arguments: &[FunctionArg],
        name: &str,
        place: Place,
    ) -> Result<Arguments> {
        let written = self.written_arguments(arguments, name, place)?;
        Ok(with_defaults(name, written, place))
    }
}
