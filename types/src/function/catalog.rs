//! Names and signatures of the scalar functions, for the binder.
//!
//! The names and types are those of PostgreSQL 15's `pg_proc`; what its grammar makes of special syntax (`GREATEST`,
//! `CURRENT_TIMESTAMP`, `EXTRACT`, `POSITION`, `TRIM`) is listed under the word itself. `varchar` arguments pass as `text`.

use super::{Function, Signature, TypePattern};
use crate::value::SqlType;

const BOOL: TypePattern = TypePattern::Exact(SqlType::Boolean);
const INT2: TypePattern = TypePattern::Exact(SqlType::SmallInt);
const INT4: TypePattern = TypePattern::Exact(SqlType::Integer);
const INT8: TypePattern = TypePattern::Exact(SqlType::BigInt);
const FLOAT4: TypePattern = TypePattern::Exact(SqlType::Real);
const FLOAT8: TypePattern = TypePattern::Exact(SqlType::DoublePrecision);
const NUMERIC: TypePattern = TypePattern::Exact(SqlType::Numeric(None));
const TEXT: TypePattern = TypePattern::Exact(SqlType::Text);
const CHAR: TypePattern = TypePattern::Exact(SqlType::Char(0));
const BYTEA: TypePattern = TypePattern::Exact(SqlType::Bytea);
const DATE: TypePattern = TypePattern::Exact(SqlType::Date);
const TIMESTAMP: TypePattern = TypePattern::Exact(SqlType::Timestamp);
const TIMESTAMPTZ: TypePattern = TypePattern::Exact(SqlType::TimestampTz);
const UUID: TypePattern = TypePattern::Exact(SqlType::Uuid);
const ANY: TypePattern = TypePattern::Any;
const COMMON: TypePattern = TypePattern::Common;

/// `signatures![Function(ARGUMENTS) -> RESULT, ...]`; `; true` after the arguments lets the last one repeat.
macro_rules! signatures {
    ($($function:ident($($argument:ident),* $(; $variadic:literal)?) -> $result:ident),+ $(,)?) => {
        const {
            &[$(Signature {
                function: Function::$function,
                arguments: &[$($argument),*],
                is_variadic: false $(|| $variadic)?,
                result: $result,
            }),+]
        }
    };
}

/// A function that looks a name up, and the list of the names that it knows.
macro_rules! catalog {
    ($lookup:ident, $names:ident: $($($name:literal)|+ => $signatures:expr),+ $(,)?) => {
        fn $lookup(name: &str) -> &'static [Signature] {
            match name {
                $($($name)|+ => $signatures,)+
                _ => &[],
            }
        }

        const $names: &[&str] = &[$($($name),+),+];
    };
}

/// The overloads of a function name (lower case), none if it does not exist.
pub fn lookup(name: &str) -> &'static [Signature] {
    let found = numbers(name);
    if !found.is_empty() {
        return found;
    }
    let found = strings(name);
    if !found.is_empty() {
        return found;
    }
    others(name)
}

/// All names that [`lookup`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    NUMBERS.iter().chain(STRINGS).chain(OTHERS).copied()
}

catalog! { numbers, NUMBERS:
    "abs" => signatures![
        Abs(INT2) -> INT2,
        Abs(INT4) -> INT4,
        Abs(INT8) -> INT8,
        Abs(FLOAT4) -> FLOAT4,
        Abs(FLOAT8) -> FLOAT8,
        Abs(NUMERIC) -> NUMERIC,
    ],
    "ceil" | "ceiling" => signatures![Ceiling(FLOAT8) -> FLOAT8, Ceiling(NUMERIC) -> NUMERIC],
    "floor" => signatures![Floor(FLOAT8) -> FLOAT8, Floor(NUMERIC) -> NUMERIC],
    "round" => {
        signatures![Round(FLOAT8) -> FLOAT8, Round(NUMERIC) -> NUMERIC, Round(NUMERIC, INT4) -> NUMERIC]
    },
    "trunc" => signatures![
        Truncate(FLOAT8) -> FLOAT8,
        Truncate(NUMERIC) -> NUMERIC,
        Truncate(NUMERIC, INT4) -> NUMERIC,
    ],
    "sqrt" => signatures![SquareRoot(FLOAT8) -> FLOAT8, SquareRoot(NUMERIC) -> NUMERIC],
    "cbrt" => signatures![CubeRoot(FLOAT8) -> FLOAT8],
    "power" | "pow" => signatures![Power(FLOAT8, FLOAT8) -> FLOAT8, Power(NUMERIC, NUMERIC) -> NUMERIC],
    "exp" => signatures![Exponential(FLOAT8) -> FLOAT8, Exponential(NUMERIC) -> NUMERIC],
    "ln" => signatures![NaturalLogarithm(FLOAT8) -> FLOAT8, NaturalLogarithm(NUMERIC) -> NUMERIC],
    "log10" => signatures![Logarithm10(FLOAT8) -> FLOAT8, Logarithm10(NUMERIC) -> NUMERIC],
    "log" => signatures![
        Logarithm10(FLOAT8) -> FLOAT8,
        Logarithm10(NUMERIC) -> NUMERIC,
        LogarithmOfBase(NUMERIC, NUMERIC) -> NUMERIC,
    ],
    "mod" => signatures![
        Modulo(INT2, INT2) -> INT2,
        Modulo(INT4, INT4) -> INT4,
        Modulo(INT8, INT8) -> INT8,
        Modulo(NUMERIC, NUMERIC) -> NUMERIC,
    ],
    "div" => signatures![DivideWhole(NUMERIC, NUMERIC) -> NUMERIC],
    "sign" => signatures![Sign(FLOAT8) -> FLOAT8, Sign(NUMERIC) -> NUMERIC],
    "pi" => signatures![Pi() -> FLOAT8],
    "degrees" => signatures![Degrees(FLOAT8) -> FLOAT8],
    "radians" => signatures![Radians(FLOAT8) -> FLOAT8],
    "sin" => signatures![Sine(FLOAT8) -> FLOAT8],
    "cos" => signatures![Cosine(FLOAT8) -> FLOAT8],
    "tan" => signatures![Tangent(FLOAT8) -> FLOAT8],
    "asin" => signatures![ArcSine(FLOAT8) -> FLOAT8],
    "acos" => signatures![ArcCosine(FLOAT8) -> FLOAT8],
    "atan" => signatures![ArcTangent(FLOAT8) -> FLOAT8],
    "atan2" => signatures![ArcTangent2(FLOAT8, FLOAT8) -> FLOAT8],
    "random" => signatures![Random() -> FLOAT8],
}

catalog! { strings, STRINGS:
    "length" => signatures![Length(TEXT) -> INT4, LengthOfChar(CHAR) -> INT4, Length(BYTEA) -> INT4],
    "char_length" | "character_length" => signatures![Length(TEXT) -> INT4, LengthOfChar(CHAR) -> INT4],
    "octet_length" => {
        signatures![OctetLength(TEXT) -> INT4, OctetLength(CHAR) -> INT4, OctetLength(BYTEA) -> INT4]
    },
    "bit_length" => signatures![BitLength(TEXT) -> INT4, BitLength(BYTEA) -> INT4],
    "lower" => signatures![Lower(TEXT) -> TEXT],
    "upper" => signatures![Upper(TEXT) -> TEXT],
    "initcap" => signatures![InitialCapitals(TEXT) -> TEXT],
    "substr" | "substring" => signatures![
        Substring(TEXT, INT4) -> TEXT,
        Substring(TEXT, INT4, INT4) -> TEXT,
        Substring(BYTEA, INT4) -> BYTEA,
        Substring(BYTEA, INT4, INT4) -> BYTEA,
    ],
    "left" => signatures![Left(TEXT, INT4) -> TEXT],
    "right" => signatures![Right(TEXT, INT4) -> TEXT],
    "lpad" => signatures![PadLeft(TEXT, INT4) -> TEXT, PadLeft(TEXT, INT4, TEXT) -> TEXT],
    "rpad" => signatures![PadRight(TEXT, INT4) -> TEXT, PadRight(TEXT, INT4, TEXT) -> TEXT],
    "trim" | "btrim" => signatures![
        TrimBoth(TEXT) -> TEXT,
        TrimBoth(TEXT, TEXT) -> TEXT,
        TrimBoth(BYTEA, BYTEA) -> BYTEA,
    ],
    "ltrim" => signatures![
        TrimLeft(TEXT) -> TEXT,
        TrimLeft(TEXT, TEXT) -> TEXT,
        TrimLeft(BYTEA, BYTEA) -> BYTEA,
    ],
    "rtrim" => signatures![
        TrimRight(TEXT) -> TEXT,
        TrimRight(TEXT, TEXT) -> TEXT,
        TrimRight(BYTEA, BYTEA) -> BYTEA,
    ],
    "replace" => signatures![Replace(TEXT, TEXT, TEXT) -> TEXT],
    "repeat" => signatures![Repeat(TEXT, INT4) -> TEXT],
    "strpos" => signatures![Position(TEXT, TEXT) -> INT4],
    "position" => signatures![Position(TEXT, TEXT) -> INT4, Position(BYTEA, BYTEA) -> INT4],
    "reverse" => signatures![Reverse(TEXT) -> TEXT],
    "md5" => signatures![Md5(TEXT) -> TEXT, Md5(BYTEA) -> TEXT],
    "concat" => signatures![Concat(ANY; true) -> TEXT],
    "concat_ws" => signatures![ConcatWithSeparator(TEXT, ANY; true) -> TEXT],
    "format" => signatures![Format(TEXT) -> TEXT, Format(TEXT, ANY; true) -> TEXT],
    "ascii" => signatures![Ascii(TEXT) -> INT4],
    "chr" => signatures![Chr(INT4) -> TEXT],
    "split_part" => signatures![SplitPart(TEXT, TEXT, INT4) -> TEXT],
    "translate" => signatures![Translate(TEXT, TEXT, TEXT) -> TEXT],
    "starts_with" => signatures![StartsWith(TEXT, TEXT) -> BOOL],
    "to_hex" => signatures![ToHex(INT4) -> TEXT, ToHex(INT8) -> TEXT],
    "quote_ident" => signatures![QuoteIdentifier(TEXT) -> TEXT],
    "quote_literal" => signatures![QuoteLiteral(TEXT) -> TEXT],
    "like_escape" => signatures![LikeEscape(TEXT, TEXT) -> TEXT],
}

catalog! { others, OTHERS:
    "greatest" => signatures![Greatest(COMMON; true) -> COMMON],
    "least" => signatures![Least(COMMON; true) -> COMMON],
    "nullif" => signatures![NullIf(COMMON, COMMON) -> COMMON],
    "now" | "current_timestamp" | "transaction_timestamp" => signatures![Now() -> TIMESTAMPTZ],
    "statement_timestamp" => signatures![StatementTimestamp() -> TIMESTAMPTZ],
    "clock_timestamp" => signatures![ClockTimestamp() -> TIMESTAMPTZ],
    "current_date" => signatures![CurrentDate() -> DATE],
    "localtimestamp" => signatures![LocalTimestamp() -> TIMESTAMP],
    "date_trunc" => signatures![
        DateTrunc(TEXT, TIMESTAMPTZ) -> TIMESTAMPTZ,
        DateTrunc(TEXT, TIMESTAMP) -> TIMESTAMP,
        DateTrunc(TEXT, TIMESTAMPTZ, TEXT) -> TIMESTAMPTZ,
    ],
    "date_part" => signatures![
        DatePart(TEXT, TIMESTAMPTZ) -> FLOAT8,
        DatePart(TEXT, TIMESTAMP) -> FLOAT8,
        DatePart(TEXT, DATE) -> FLOAT8,
    ],
    "extract" => signatures![
        Extract(TEXT, TIMESTAMPTZ) -> NUMERIC,
        Extract(TEXT, TIMESTAMP) -> NUMERIC,
        Extract(TEXT, DATE) -> NUMERIC,
    ],
    "to_timestamp" => signatures![ToTimestamp(FLOAT8) -> TIMESTAMPTZ],
    "make_date" => signatures![MakeDate(INT4, INT4, INT4) -> DATE],
    "timezone" => signatures![
        Timezone(TEXT, TIMESTAMPTZ) -> TIMESTAMP,
        Timezone(TEXT, TIMESTAMP) -> TIMESTAMPTZ,
    ],
    "isfinite" => {
        signatures![IsFinite(DATE) -> BOOL, IsFinite(TIMESTAMP) -> BOOL, IsFinite(TIMESTAMPTZ) -> BOOL]
    },
    "gen_random_uuid" => signatures![GenRandomUuid() -> UUID],
    "pg_cancel_backend" => signatures![CancelBackend(INT4) -> BOOL],
    "pg_terminate_backend" => signatures![TerminateBackend(INT4) -> BOOL],
}
