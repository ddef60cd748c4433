//! Scalar functions: which exist ([`lookup`], for the binder) and what they compute ([`call`]).
//!
//! A [`Function`] is one implementation; it finds the types of its arguments from the values, so that `abs` is one function
//! with six signatures. The compiler casts arguments to the signature it chose, NULLs are passed as [`Value::Null`], and
//! a strict function is not run on one: its result is NULL.
//!
//! Values do not tell `char(n)` from `text`, so what depends on it is a function of its own: [`Function::LengthOfChar`], and
//! [`Function::CharToText`] (PostgreSQL's cast of `char` to `text`: without trailing blanks). The compiler wraps every
//! `char(n)` operand that meets a `text` one, or a signature that wants `text`, in the latter; comparisons of two `char(n)`
//! operands become comparisons of text when both are wrapped, which ignores trailing blanks as SQL wants.
//!
//! Function files: `array`, `catalog` (names and signatures), `format`, `math`, `string`, `time`.

mod array;
mod catalog;
mod format;
mod math;
mod string;
mod time;

use crate::compare;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::guest::Stop;
use crate::memory;
use crate::value::{SqlType, Value};

pub use catalog::{lookup, names};
pub use time::now_us;

/// The functions, each with what its result depends on besides its arguments. There is no default.
macro_rules! functions {
    ($($(#[$about:meta])* $function:ident: $looks_at:ident),+ $(,)?) => {
        /// A scalar function, chosen by the compiler from name and argument types.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Function {
            $($(#[$about])* $function,)+
        }

        impl Function {
            /// What the result depends on besides the arguments.
            pub fn looks_at(self) -> LooksAt {
                match self {
                    $(Function::$function => LooksAt::$looks_at,)+
                }
            }
        }
    };
}

functions! {
    // Numbers
    Abs: NOTHING,
    Ceiling: NOTHING,
    Floor: NOTHING,
    /// To an integer, or (`numeric` only) to a number of places.
    Round: NOTHING,
    Truncate: NOTHING,
    SquareRoot: NOTHING,
    CubeRoot: NOTHING,
    Power: NOTHING,
    Exponential: NOTHING,
    NaturalLogarithm: NOTHING,
    Logarithm10: NOTHING,
    /// `log(base, number)`.
    LogarithmOfBase: NOTHING,
    Modulo: NOTHING,
    DivideWhole: NOTHING,
    Sign: NOTHING,
    Pi: NOTHING,
    Degrees: NOTHING,
    Radians: NOTHING,
    Sine: NOTHING,
    Cosine: NOTHING,
    Tangent: NOTHING,
    ArcSine: NOTHING,
    ArcCosine: NOTHING,
    ArcTangent: NOTHING,
    ArcTangent2: NOTHING,
    Random: CHANCE,
    // Any type
    Greatest: NOTHING,
    Least: NOTHING,
    NullIf: NOTHING,
    // Strings
    /// Characters of a text, bytes of a bytea.
    Length: NOTHING,
    /// Characters of a `char(n)`, without its trailing blanks.
    LengthOfChar: NOTHING,
    OctetLength: NOTHING,
    BitLength: NOTHING,
    Lower: NOTHING,
    Upper: NOTHING,
    InitialCapitals: NOTHING,
    Substring: NOTHING,
    Left: NOTHING,
    Right: NOTHING,
    PadLeft: NOTHING,
    PadRight: NOTHING,
    TrimBoth: NOTHING,
    TrimLeft: NOTHING,
    TrimRight: NOTHING,
    Replace: NOTHING,
    Repeat: NOTHING,
    /// `position(string, part)`, also `strpos`.
    Position: NOTHING,
    Reverse: NOTHING,
    Md5: NOTHING,
    Concat: IDENTITY,
    ConcatWithSeparator: IDENTITY,
    /// `format(text, ...)`.
    Format: IDENTITY,
    Ascii: NOTHING,
    Chr: NOTHING,
    SplitPart: NOTHING,
    Translate: NOTHING,
    StartsWith: NOTHING,
    ToHex: NOTHING,
    QuoteIdentifier: NOTHING,
    QuoteLiteral: NOTHING,
    /// Rewrites a LIKE pattern from another escape character to the backslash.
    LikeEscape: NOTHING,
    /// See the module head.
    CharToText: NOTHING,
    // Date and time
    /// `now()`, `current_timestamp`, `transaction_timestamp()`.
    Now: TIMES,
    StatementTimestamp: TIMES,
    ClockTimestamp: CLOCK,
    CurrentDate: LOCAL_TIME,
    LocalTimestamp: LOCAL_TIME,
    DateTrunc: IDENTITY,
    /// `double precision`.
    DatePart: IDENTITY,
    /// `numeric`.
    Extract: IDENTITY,
    ToTimestamp: NOTHING,
    MakeDate: NOTHING,
    /// `AT TIME ZONE`.
    Timezone: NOTHING,
    IsFinite: NOTHING,
    // Arrays
    ArrayLength: NOTHING,
    ArrayLower: NOTHING,
    ArrayUpper: NOTHING,
    Cardinality: NOTHING,
    ArrayAppend: NOTHING,
    ArrayPrepend: NOTHING,
    ArrayConcat: NOTHING,
    ArrayPosition: NOTHING,
    ArrayFill: NOTHING,
    /// `value = ANY (array)`.
    EqualsAny: NOTHING,
    /// The same for an array in order, NULL last: looks only at a few of its elements. Only the compiler calls it.
    EqualsSorted: NOTHING,
    /// The elements that are not NULL, in order, each once. Only the compiler calls it.
    ArrayDistinct: NOTHING,
    // Others
    GenRandomUuid: CHANCE,
    /// Also `session_user`: nobody becomes somebody else.
    CurrentUser: IDENTITY,
    CurrentDatabase: IDENTITY,
    /// `pg_cancel_backend`
    CancelBackend: SESSIONS,
    /// `pg_terminate_backend`
    TerminateBackend: SESSIONS,
}

/// Bytes of text that a function looks at in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 8;

/// How far the result depends on more than the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Always the same: may be computed at compile time.
    Immutable,
    /// The same within a statement (transaction time, session time zone).
    Stable,
    /// Different at every call.
    Volatile,
}

/// What a computation depends on besides its arguments, registers and rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LooksAt {
    /// The time of day at this very moment, which nothing captures.
    pub clock: bool,
    /// When the transaction and the statement began.
    pub times: bool,
    /// The session's random generator.
    pub chance: bool,
    /// User, database or time zone of the session.
    pub identity: bool,
    /// What other sessions do, or it acts on them.
    pub sessions: bool,
}

impl LooksAt {
    pub const NOTHING: LooksAt =
        LooksAt { clock: false, times: false, chance: false, identity: false, sessions: false };
    pub const CLOCK: LooksAt = LooksAt { clock: true, ..LooksAt::NOTHING };
    pub const TIMES: LooksAt = LooksAt { times: true, ..LooksAt::NOTHING };
    pub const CHANCE: LooksAt = LooksAt { chance: true, ..LooksAt::NOTHING };
    /// Texts made from times need the time zone too.
    pub const IDENTITY: LooksAt = LooksAt { identity: true, ..LooksAt::NOTHING };
    pub const SESSIONS: LooksAt = LooksAt { sessions: true, ..LooksAt::NOTHING };
    pub const LOCAL_TIME: LooksAt = LooksAt::TIMES.and(LooksAt::IDENTITY);

    /// What either of them looks at.
    #[must_use]
    pub const fn and(self, other: LooksAt) -> LooksAt {
        LooksAt {
            clock: self.clock || other.clock,
            times: self.times || other.times,
            chance: self.chance || other.chance,
            identity: self.identity || other.identity,
            sessions: self.sessions || other.sessions,
        }
    }
}

/// A type in a [`Signature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypePattern {
    /// This type, whatever its modifiers.
    Exact(SqlType),
    /// Any type, taken as it is.
    Any,
    /// The common type of all arguments so marked (as for CASE); as a result, that type.
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

impl Function {
    /// Whether a NULL argument makes the result NULL without a call.
    pub fn is_strict(self) -> bool {
        !matches!(
            self,
            Function::Greatest
                | Function::Least
                | Function::NullIf
                | Function::Concat
                | Function::ConcatWithSeparator
                | Function::Format
                | Function::ArrayAppend
                | Function::ArrayPrepend
                | Function::ArrayConcat
                | Function::ArrayPosition
                | Function::ArrayFill
                | Function::EqualsAny
        )
    }

    pub fn volatility(self) -> Volatility {
        let looks_at = self.looks_at();
        if looks_at.clock || looks_at.chance || looks_at.sessions {
            Volatility::Volatile
        } else if looks_at == LooksAt::NOTHING {
            Volatility::Immutable
        } else {
            Volatility::Stable
        }
    }
}

/// The result for these arguments, which fit a signature of the function.
pub fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let Weight { has_null, units, heap_bytes } = weight(arguments);
    if has_null && function.is_strict() {
        return Ok(Value::Null);
    }
    guest::spend_for(units)?;
    match function {
        Function::Greatest => Ok(extreme(arguments, std::cmp::Ordering::Greater)),
        Function::Least => Ok(extreme(arguments, std::cmp::Ordering::Less)),
        Function::NullIf => match arguments {
            [left, right] if compare::equal(left, right) == Some(true) => Ok(Value::Null),
            [left, _] => Ok(left.clone()),
            _ => Err(mismatch(function, arguments)),
        },
        Function::Random => Ok(Value::Double(environment.random.borrow_mut().fraction())),
        Function::CurrentUser => Ok(Value::text(environment.user.as_str())),
        Function::CurrentDatabase => Ok(Value::text(environment.database.as_str())),
        Function::GenRandomUuid => {
            let bytes = environment.random.borrow_mut().bytes();
            Ok(Value::Uuid(uuid::Builder::from_random_bytes(bytes).into_uuid().into_bytes()))
        }
        Function::CancelBackend => stop_session(arguments, Stop::Cancel, environment),
        Function::TerminateBackend => stop_session(arguments, Stop::End, environment),
        Function::Now
        | Function::StatementTimestamp
        | Function::ClockTimestamp
        | Function::CurrentDate
        | Function::LocalTimestamp
        | Function::DateTrunc
        | Function::DatePart
        | Function::Extract
        | Function::ToTimestamp
        | Function::MakeDate
        | Function::Timezone
        | Function::IsFinite => time::call(function, arguments, environment),
        Function::ArrayLength
        | Function::ArrayLower
        | Function::ArrayUpper
        | Function::Cardinality
        | Function::ArrayAppend
        | Function::ArrayPrepend
        | Function::ArrayConcat
        | Function::ArrayPosition
        | Function::ArrayFill
        | Function::EqualsAny
        | Function::EqualsSorted
        | Function::ArrayDistinct => array::call(function, arguments),
        Function::Concat | Function::ConcatWithSeparator => string::concat(function, arguments, environment),
        Function::Format => format::call(function, arguments, environment),
        _ => match math::call(function, arguments) {
            Some(result) => result,
            None => {
                // Most results are as long as the argument.
                memory::check(heap_bytes)?;
                string::call(function, arguments)
            }
        },
    }
}

fn stop_session(arguments: &[Value], stop: Stop, environment: &Environment) -> Result<Value> {
    match (arguments, &environment.sessions) {
        ([Value::Integer(process)], Some(sessions)) => sessions.stop(*process, stop).map(Value::Boolean),
        _ => Ok(Value::Boolean(false)),
    }
}

/// What a function is given.
#[derive(Default)]
struct Weight {
    has_null: bool,
    /// About what there is to do: nearly all functions look once at everything.
    units: usize,
    /// As of [`Value::heap_bytes`].
    heap_bytes: usize,
}

#[inline]
fn weight(arguments: &[Value]) -> Weight {
    let mut weight = Weight { units: arguments.len(), ..Weight::default() };
    for argument in arguments {
        match argument {
            Value::Null => weight.has_null = true,
            Value::Text(_) | Value::Bytea(_) => {
                let bytes = argument.heap_bytes();
                weight.heap_bytes += bytes;
                weight.units += bytes / BYTES_PER_UNIT;
            }
            Value::Array(array) => weight.units += array.values.len(),
            _ => {}
        }
    }
    weight
}

/// GREATEST and LEAST: NULLs are left out.
fn extreme(arguments: &[Value], wanted: std::cmp::Ordering) -> Value {
    let mut best = &Value::Null;
    for argument in arguments.iter().filter(|argument| !argument.is_null()) {
        if best.is_null() || compare::total(argument, best) == wanted {
            best = argument;
        }
    }
    best.clone()
}

/// The compiler chose a signature that the values do not fit.
fn mismatch(function: Function, arguments: &[Value]) -> Error {
    Error::input(sqlstate::INTERNAL_ERROR, format!("function {function:?} cannot take {arguments:?}"))
}

#[cfg(test)]
mod tests;
