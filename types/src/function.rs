//! Scalar functions: their signatures ([`lookup`], for the binder) and their results ([`call`]).
//! `function_table` has a row for each.
//!
//! A [`Function`] is one implementation. It determines the types of its arguments from the values, so that
//! `abs` is one function with six signatures. The compiler casts arguments to the signature it chose. NULLs
//! are passed as [`Value::Null`]. A strict function is not run on a NULL: its result is NULL.
//!
//! Values do not distinguish `char(n)` from `text`, so operations that depend on it are functions of their
//! own: [`Function::LengthOfChar`], and [`Function::CharToText`] (PostgreSQL's cast of `char` to `text`:
//! without trailing blanks). The compiler wraps every `char(n)` operand that is combined with a `text` one,
//! or passed to a signature with `text`, in the latter. Comparisons of two `char(n)` operands become
//! comparisons of text when both are wrapped, which ignores trailing blanks as SQL requires.
//!
//! Files:
//! * the table: `function_table`, `argument_functions`, `extension_functions` and `catalog_functions` (rows),
//!   `type_patterns` (their notation);
//! * numbers: `math`, `degrees`, `whole_number`;
//! * texts and bytes: `string`, `bytes`, `concat`, `format`, `overlay`, `hash`, `crypto`,
//!   `identifier` (names, escapes), `binary_form`;
//! * `argument_list`: arguments that are counted, or given as an array;
//! * patterns: `regular_expression` (translation to the library's), `pattern_matching` (functions with them),
//!   `quantified_match` (with ANY and ALL);
//! * times: `time`, `interval`, `make_time`, `units`;
//! * templates: `template` (times to text), `date_reading` (text to times), `number_template`,
//!   `number_shown`;
//! * rows: `row_value`, `row_text`; arrays: `array`, `array_search`, `array_subscript`;
//! * json: `json_access`, `json_build`, `json_change`, `json_assigned` (to a part), `json_record` (rows),
//!   `json_path` (SQL/JSON paths);
//!   `network` (addresses), `hstore`;
//! * what lies outside the arguments: `general` (the statement's environment), `sequence`, `session`
//!   (advisory locks, notifications), `sleep`, `system` (queries to the catalog).

mod argument_functions;
mod argument_list;
mod array;
mod array_search;
mod array_subscript;
mod binary_form;
mod bytes;
mod catalog_functions;
mod concat;
mod crypto;
mod date_reading;
mod degrees;
mod extension_functions;
mod format;
mod function_table;
mod general;
mod hash;
mod hstore;
mod identifier;
mod interval;
mod json_access;
mod json_assigned;
mod json_build;
mod json_change;
mod json_path;
mod json_record;
mod make_time;
mod math;
mod network;
mod number_shown;
mod number_template;
mod overlay;
mod pattern_matching;
mod quantified_match;
mod regular_expression;
mod row_text;
mod row_value;
mod sequence;
mod session;
mod sleep;
mod string;
mod system;
mod template;
mod time;
mod type_patterns;
mod units;
mod whole_number;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::value::{SqlType, Value};

pub use array::accumulated;
pub use function_table::{FUNCTIONS, Function};
pub use session::queue as queue_notification;
pub use time::now_us;

/// Arguments that the message about unsuitable ones shows, at most.
const FEW_SHOWN: usize = 8;

/// Bytes of text that a function processes in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 8;

/// How far the result depends on more than the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Always the same, so it may be computed at compile time.
    Immutable,
    /// The same within a statement (transaction time, session time zone).
    Stable,
    /// Different for every call.
    Volatile,
}

/// What a computation depends on besides its arguments, registers and rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LooksAt {
    /// The current time of day, which is not captured.
    pub clock: bool,
    /// When the transaction and the statement began.
    pub times: bool,
    /// The session's random generator.
    pub chance: bool,
    /// Random numbers of the operating system, which are not captured.
    pub entropy: bool,
    /// User, database or time zone of the session.
    pub identity: bool,
    /// The activity of other sessions, or it acts on them.
    pub sessions: bool,
    /// The state of sequences, or it draws from them.
    pub sequences: bool,
    /// The existing tables, types and other objects.
    pub catalog: bool,
}

impl LooksAt {
    pub const NOTHING: LooksAt = LooksAt {
        clock: false,
        times: false,
        chance: false,
        entropy: false,
        identity: false,
        sessions: false,
        sequences: false,
        catalog: false,
    };
    pub const CLOCK: LooksAt = LooksAt { clock: true, ..LooksAt::NOTHING };
    pub const TIMES: LooksAt = LooksAt { times: true, ..LooksAt::NOTHING };
    pub const CHANCE: LooksAt = LooksAt { chance: true, ..LooksAt::NOTHING };
    pub const ENTROPY: LooksAt = LooksAt { entropy: true, ..LooksAt::NOTHING };
    /// Texts made from times depend on the time zone too.
    pub const IDENTITY: LooksAt = LooksAt { identity: true, ..LooksAt::NOTHING };
    pub const SESSIONS: LooksAt = LooksAt { sessions: true, ..LooksAt::NOTHING };
    pub const SEQUENCES: LooksAt = LooksAt { sequences: true, ..LooksAt::NOTHING };
    pub const CATALOG: LooksAt = LooksAt { catalog: true, ..LooksAt::NOTHING };
    pub const LOCAL_TIME: LooksAt = LooksAt::TIMES.and(LooksAt::IDENTITY);

    /// Everything that either of them looks at.
    #[must_use]
    pub const fn and(self, other: LooksAt) -> LooksAt {
        LooksAt {
            clock: self.clock || other.clock,
            times: self.times || other.times,
            chance: self.chance || other.chance,
            entropy: self.entropy || other.entropy,
            identity: self.identity || other.identity,
            sessions: self.sessions || other.sessions,
            sequences: self.sequences || other.sequences,
            catalog: self.catalog || other.catalog,
        }
    }
}

/// A type in a [`Signature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypePattern {
    /// This type, with any modifiers.
    Exact(SqlType),
    /// Any type, taken as it is.
    Any,
    /// The common type of all arguments marked this way (as for CASE); as a result, that type.
    Common,
}

/// One overload of a named function.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    pub function: Function,
    pub arguments: &'static [TypePattern],
    /// The last argument may be given more than once (but not left out).
    pub is_variadic: bool,
    pub result: TypePattern,
}

impl Signature {
    pub fn is_strict(&self) -> bool {
        self.function.is_strict()
    }

    pub fn volatility(&self) -> Volatility {
        self.function.volatility()
    }
}

/// Computes a function of a module.
type Call = fn(Function, &[Value], &Environment) -> Result<Value>;

impl Function {
    fn row(self) -> &'static type_patterns::Row {
        &function_table::TABLE[self as usize]
    }

    /// The dependencies of the result besides the arguments.
    pub fn looks_at(self) -> LooksAt {
        self.row().looks_at
    }

    /// Whether a NULL argument makes the result NULL without a call.
    pub fn is_strict(self) -> bool {
        self.row().is_strict
    }

    pub fn volatility(self) -> Volatility {
        let looks_at = self.looks_at();
        if looks_at.clock || looks_at.chance || looks_at.entropy || looks_at.sessions || looks_at.sequences {
            Volatility::Volatile
        } else if looks_at == LooksAt::NOTHING && self != Function::TriggerDepth {
            Volatility::Immutable
        } else {
            Volatility::Stable
        }
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
    let mut by_name: HashMap<&str, Vec<Signature>> = HashMap::new();
    for (names, signatures) in function_table::TABLE.iter().flat_map(|row| row.overloads) {
        for name in *names {
            by_name.entry(name).or_default().extend_from_slice(signatures);
        }
    }
    by_name
});

/// The overloads of a function name (lower case); none if the function does not exist.
pub fn lookup(name: &str) -> &'static [Signature] {
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

/// All names that [`lookup`] knows, in the order of the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    let mut seen = HashSet::new();
    let rows = function_table::TABLE
        .iter()
        .flat_map(|row| row.overloads)
        .flat_map(|(names, _)| names.iter().copied());
    rows.filter(move |name| seen.insert(*name))
}

/// The result for these arguments, which fit a signature of the function.
pub fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let row = function.row();
    let Weight { has_null, units } = weight(arguments);
    if has_null && row.is_strict {
        return Ok(Value::Null);
    }
    guest::spend_for(units)?;
    (row.call)(function, arguments, environment)
}

/// The arguments of a function.
#[derive(Default)]
struct Weight {
    has_null: bool,
    /// An estimate of the work: nearly all functions look at everything once.
    units: usize,
}

#[inline]
fn weight(arguments: &[Value]) -> Weight {
    let mut weight = Weight { units: arguments.len(), ..Weight::default() };
    for argument in arguments {
        match argument {
            Value::Null => weight.has_null = true,
            Value::Text(_) | Value::Bytea(_) | Value::Json(_) | Value::Jsonb(_) | Value::Extension(_) => {
                weight.units += argument.heap_bytes() / BYTES_PER_UNIT;
            }
            Value::Array(array) => weight.units += array.values.len(),
            _ => {}
        }
    }
    weight
}

/// The error for values that do not fit the signature that the compiler chose.
fn mismatch(function: Function, arguments: &[Value]) -> Error {
    // Not the values, which may be long.
    let types: Vec<Option<SqlType>> = arguments.iter().take(FEW_SHOWN).map(Value::sql_type).collect();
    Error::input(sqlstate::INTERNAL_ERROR, format!("function {function:?} cannot take {types:?}"))
}

#[cfg(test)]
mod tests;
