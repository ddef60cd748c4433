//! Calls of the functions that compute aggregates of users.
//!
//! A call is a text over `$1`, `$2` and so on. Those of PostgreSQL's functions that exist here only as
//! operators, or only inside of aggregates, are written as expressions that compute the same.

use hyades_engine::procedure::ir::Register;
use hyades_types::definition::SupportFunction;
use hyades_types::error::Result;
use hyades_types::value::SqlType;

use super::visible_variables::Names;
use super::{Binder, Bound};
use crate::statement::kept_names::full_name;
use crate::statement::query::parse_expression;
use crate::system::builtins;

/// The schema of PostgreSQL's own functions.
pub(crate) const BUILT_IN: &str = "pg_catalog";

/// PostgreSQL's functions that only aggregates call.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("booland_statefunc", "$1 and $2"),
    ("boolor_statefunc", "$1 or $2"),
    ("float8_accum", FLOAT_STEP),
    ("float8_avg", "case when $1[1] > 0 then $1[2] / $1[1] end"),
    ("int2_avg_accum", "array[$1[1] + 1, $1[2] + $2]"),
    ("int2_sum", "coalesce($1 + $2, $1, $2::bigint)"),
    ("int4_avg_accum", "array[$1[1] + 1, $1[2] + $2]"),
    ("int4_avg_accum_inv", "array[$1[1] - 1, $1[2] - $2]"),
    ("int4_sum", "coalesce($1 + $2, $1, $2::bigint)"),
    ("int8_avg", "case when $1[1] > 0 then $1[2]::numeric / $1[1] end"),
    ("int8_sum", "coalesce($1 + $2, $1, $2::numeric)"),
    ("int8dec", "$1 - 1"),
    ("int8inc", "$1 + 1"),
    ("int8inc_any", "$1 + 1"),
];

/// The number of values, their sum, and the sum of their squared distances from the mean.
const FLOAT_STEP: &str = "array[$1[1] + 1, $1[2] + $2, case when $1[1] > 0 \
    then $1[3] + ($2 * ($1[1] + 1) - ($1[2] + $2)) ^ 2 / ($1[1] * ($1[1] + 1)) else $2 - $2 end]";

/// The text of a call with so many arguments.
fn written(function: &SupportFunction, count: usize) -> String {
    let numbers: Vec<String> = (1..=count).map(|number| format!("${number}")).collect();
    let numbers = match (numbers.split_last(), function.is_variadic) {
        (Some((last, [])), true) => format!("VARIADIC {last}"),
        (Some((last, first)), true) => format!("{}, VARIADIC {last}", first.join(", ")),
        _ => numbers.join(", "),
    };
    if function.name.schema != BUILT_IN {
        return format!("{}({numbers})", full_name(&function.name));
    }
    let name = function.name.name.as_str();
    if let Some((_, expression)) = EXPRESSIONS.iter().find(|(own, _)| *own == name) {
        return (*expression).to_owned();
    }
    match (builtins::operator_of(name, &function.types), count) {
        (Some(symbol), 2) => format!("$1 {symbol} $2"),
        (Some(symbol), 1) => format!("{symbol} $1"),
        _ if name.ends_with("larger") => format!("greatest({numbers})"),
        _ if name.ends_with("smaller") => format!("least({numbers})"),
        _ => format!("{name}({numbers})"),
    }
}

impl Binder<'_> {
    /// A call with the values of registers.
    pub(crate) fn support_call(
        &mut self,
        function: &SupportFunction,
        arguments: &[(Register, SqlType)],
    ) -> Result<Bound> {
        let parsed = parse_expression(&written(function, arguments.len()))?;
        let names = Names { parameters: arguments.to_vec(), ..Names::default() };
        let around = self.names.replace(names);
        let bound = self.without_noting(|binder| binder.of_kept(|binder| binder.expression(&parsed)));
        self.names = around;
        bound
    }
}
