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

use super::{SqlType, Value, compare};
use crate::error::{Error, Result, sqlstate};
use crate::procedure::frame::Environment;

pub use catalog::{lookup, names};
pub use time::now_us;

/// A scalar function, chosen by the compiler from name and argument types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    // Numbers
    Abs,
    Ceiling,
    Floor,
    /// To an integer, or (`numeric` only) to a number of places.
    Round,
    Truncate,
    SquareRoot,
    CubeRoot,
    Power,
    Exponential,
    NaturalLogarithm,
    Logarithm10,
    /// `log(base, number)`.
    LogarithmOfBase,
    Modulo,
    DivideWhole,
    Sign,
    Pi,
    Degrees,
    Radians,
    Sine,
    Cosine,
    Tangent,
    ArcSine,
    ArcCosine,
    ArcTangent,
    ArcTangent2,
    Random,
    // Any type
    Greatest,
    Least,
    NullIf,
    // Strings
    /// Characters of a text, bytes of a bytea.
    Length,
    /// Characters of a `char(n)`, without its trailing blanks.
    LengthOfChar,
    OctetLength,
    BitLength,
    Lower,
    Upper,
    InitialCapitals,
    Substring,
    Left,
    Right,
    PadLeft,
    PadRight,
    TrimBoth,
    TrimLeft,
    TrimRight,
    Replace,
    Repeat,
    /// `position(string, part)`, also `strpos`.
    Position,
    Reverse,
    Md5,
    Concat,
    ConcatWithSeparator,
    /// `format(text, ...)`.
    Format,
    Ascii,
    Chr,
    SplitPart,
    Translate,
    StartsWith,
    ToHex,
    QuoteIdentifier,
    QuoteLiteral,
    /// Rewrites a LIKE pattern from another escape character to the backslash.
    LikeEscape,
    /// See the module head.
    CharToText,
    // Date and time
    /// `now()`, `current_timestamp`, `transaction_timestamp()`.
    Now,
    StatementTimestamp,
    ClockTimestamp,
    CurrentDate,
    LocalTimestamp,
    DateTrunc,
    /// `double precision`.
    DatePart,
    /// `numeric`.
    Extract,
    ToTimestamp,
    MakeDate,
    /// `AT TIME ZONE`.
    Timezone,
    IsFinite,
    // Arrays
    ArrayLength,
    ArrayLower,
    ArrayUpper,
    Cardinality,
    ArrayAppend,
    ArrayPrepend,
    ArrayConcat,
    ArrayPosition,
    ArrayFill,
    /// `value = ANY (array)`.
    EqualsAny,
    /// The elements that are not NULL, in order, each once. Only the compiler calls it.
    ArrayDistinct,
    // Others
    GenRandomUuid,
}

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
        match self {
            Function::Random | Function::GenRandomUuid | Function::ClockTimestamp => Volatility::Volatile,
            Function::Now
            | Function::StatementTimestamp
            | Function::CurrentDate
            | Function::LocalTimestamp
            | Function::DateTrunc
            | Function::DatePart
            | Function::Extract
            | Function::Concat
            | Function::ConcatWithSeparator
            | Function::Format => Volatility::Stable,
            _ => Volatility::Immutable,
        }
    }
}

/// The result for these arguments, which fit a signature of the function.
pub fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    if function.is_strict() && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    match function {
        Function::Greatest => Ok(extreme(arguments, std::cmp::Ordering::Greater)),
        Function::Least => Ok(extreme(arguments, std::cmp::Ordering::Less)),
        Function::NullIf => match arguments {
            [left, right] if compare::equal(left, right) == Some(true) => Ok(Value::Null),
            [left, _] => Ok(left.clone()),
            _ => Err(mismatch(function, arguments)),
        },
        Function::Random => {
            Ok(Value::Double(environment.random.borrow_mut().fraction()))
        }
        Function::GenRandomUuid => {
            let bytes = environment.random.borrow_mut().bytes();
            Ok(Value::Uuid(uuid::Builder::from_random_bytes(bytes).into_uuid().into_bytes()))
        }
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
        | Function::ArrayDistinct => array::call(function, arguments),
        Function::Concat | Function::ConcatWithSeparator => string::concat(function, arguments, environment),
        Function::Format => format::call(function, arguments, environment),
        _ => match math::call(function, arguments) {
            Some(result) => result,
            None => string::call(function, arguments),
        },
    }
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
