//! The table of SQL's scalar functions. One row contains everything about a function:
//!
//! ```text
//! Name: strict or sees_null, what it looks at, the module that computes it { "name" => (ARGUMENTS) ->
//! RESULT, ...; }
//! ```
//!
//! A `strict` function is not run if an argument is NULL: its result is NULL. There are no defaults: a new
//! row must say all of this before it compiles. `; true` after the arguments allows the last one to be
//! repeated.
//!
//! The names and types are those of PostgreSQL 15's `pg_proc`. Functions for which its grammar has special
//! syntax (`GREATEST`, `CURRENT_TIMESTAMP`, `EXTRACT`, `POSITION`, `TRIM`) are listed under that word.
//! `varchar` arguments are passed as `text`. Functions without names are chosen by the compiler.

use super::argument_functions::argument_functions;
use super::catalog_functions::catalog_functions;
use super::extension_functions::extension_functions;
use super::type_patterns::*;
use super::{
    LooksAt, Signature, argument_list, array, array_search, array_subscript, binary_form, bytes, concat,
    crypto, date_reading, degrees, format, general, hash, hstore, identifier, interval, json_access,
    json_assigned, json_build, json_change, json_path, json_record, make_time, math, network, overlay,
    pattern_matching, quantified_match, regular_expression, row_text, row_value, sequence, session, sleep,
    string, system, template, time, whole_number,
};

extension_functions! {
    // Numbers
    Abs: strict, NOTHING, math {
        "abs" =>
            (INT2) -> INT2,
            (INT4) -> INT4,
            (INT8) -> INT8,
            (FLOAT4) -> FLOAT4,
            (FLOAT8) -> FLOAT8,
            (NUMERIC) -> NUMERIC;
    }
    Ceiling: strict, NOTHING, math {
        "ceil" | "ceiling" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC;
    }
    Floor: strict, NOTHING, math {
        "floor" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC;
    }
    /// To an integer, or (`numeric` only) to a number of decimal places.
    Round: strict, NOTHING, math {
        "round" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC, (NUMERIC, INT4) -> NUMERIC;
    }
    Truncate: strict, NOTHING, math {
        "trunc" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC, (NUMERIC, INT4) -> NUMERIC;
    }
    SquareRoot: strict, NOTHING, math {
        "sqrt" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC;
    }
    CubeRoot: strict, NOTHING, math {
        "cbrt" => (FLOAT8) -> FLOAT8;
    }
    Power: strict, NOTHING, math {
        "power" | "pow" => (FLOAT8, FLOAT8) -> FLOAT8, (NUMERIC, NUMERIC) -> NUMERIC;
    }
    Exponential: strict, NOTHING, math {
        "exp" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC;
    }
    NaturalLogarithm: strict, NOTHING, math {
        "ln" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC;
    }
    Logarithm10: strict, NOTHING, math {
        "log10" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC;
        "log" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC;
    }
    /// `log(base, number)`.
    LogarithmOfBase: strict, NOTHING, math {
        "log" => (NUMERIC, NUMERIC) -> NUMERIC;
    }
    Modulo: strict, NOTHING, math {
        "mod" =>
            (INT2, INT2) -> INT2,
            (INT4, INT4) -> INT4,
            (INT8, INT8) -> INT8,
            (NUMERIC, NUMERIC) -> NUMERIC;
    }
    DivideWhole: strict, NOTHING, math {
        "div" => (NUMERIC, NUMERIC) -> NUMERIC;
    }
    Gcd: strict, NOTHING, whole_number {
        "gcd" => (INT4, INT4) -> INT4, (INT8, INT8) -> INT8, (NUMERIC, NUMERIC) -> NUMERIC;
    }
    Lcm: strict, NOTHING, whole_number {
        "lcm" => (INT4, INT4) -> INT4, (INT8, INT8) -> INT8, (NUMERIC, NUMERIC) -> NUMERIC;
    }
    Factorial: strict, NOTHING, whole_number {
        "factorial" => (INT8) -> NUMERIC;
    }
    Scale: strict, NOTHING, whole_number {
        "scale" => (NUMERIC) -> INT4;
    }
    MinimumScale: strict, NOTHING, whole_number {
        "min_scale" => (NUMERIC) -> INT4;
    }
    TrimScale: strict, NOTHING, whole_number {
        "trim_scale" => (NUMERIC) -> NUMERIC;
    }
    WidthBucket: strict, NOTHING, whole_number {
        "width_bucket" =>
            (FLOAT8, FLOAT8, FLOAT8, INT4) -> INT4,
            (NUMERIC, NUMERIC, NUMERIC, INT4) -> INT4;
    }
    Sign: strict, NOTHING, math {
        "sign" => (FLOAT8) -> FLOAT8, (NUMERIC) -> NUMERIC;
    }
    Pi: strict, NOTHING, math {
        "pi" => () -> FLOAT8;
    }
    Degrees: strict, NOTHING, math {
        "degrees" => (FLOAT8) -> FLOAT8;
    }
    Radians: strict, NOTHING, math {
        "radians" => (FLOAT8) -> FLOAT8;
    }
    Sine: strict, NOTHING, math {
        "sin" => (FLOAT8) -> FLOAT8;
    }
    Cosine: strict, NOTHING, math {
        "cos" => (FLOAT8) -> FLOAT8;
    }
    Tangent: strict, NOTHING, math {
        "tan" => (FLOAT8) -> FLOAT8;
    }
    ArcSine: strict, NOTHING, math {
        "asin" => (FLOAT8) -> FLOAT8;
    }
    ArcCosine: strict, NOTHING, math {
        "acos" => (FLOAT8) -> FLOAT8;
    }
    ArcTangent: strict, NOTHING, math {
        "atan" => (FLOAT8) -> FLOAT8;
    }
    ArcTangent2: strict, NOTHING, math {
        "atan2" => (FLOAT8, FLOAT8) -> FLOAT8;
    }
    SineDegrees: strict, NOTHING, degrees {
        "sind" => (FLOAT8) -> FLOAT8;
    }
    CosineDegrees: strict, NOTHING, degrees {
        "cosd" => (FLOAT8) -> FLOAT8;
    }
    TangentDegrees: strict, NOTHING, degrees {
        "tand" => (FLOAT8) -> FLOAT8;
    }
    CotangentDegrees: strict, NOTHING, degrees {
        "cotd" => (FLOAT8) -> FLOAT8;
    }
    ArcSineDegrees: strict, NOTHING, degrees {
        "asind" => (FLOAT8) -> FLOAT8;
    }
    ArcCosineDegrees: strict, NOTHING, degrees {
        "acosd" => (FLOAT8) -> FLOAT8;
    }
    ArcTangentDegrees: strict, NOTHING, degrees {
        "atand" => (FLOAT8) -> FLOAT8;
    }
    HyperbolicSine: strict, NOTHING, degrees {
        "sinh" => (FLOAT8) -> FLOAT8;
    }
    HyperbolicCosine: strict, NOTHING, degrees {
        "cosh" => (FLOAT8) -> FLOAT8;
    }
    HyperbolicTangent: strict, NOTHING, degrees {
        "tanh" => (FLOAT8) -> FLOAT8;
    }
    HyperbolicArcSine: strict, NOTHING, degrees {
        "asinh" => (FLOAT8) -> FLOAT8;
    }
    HyperbolicArcCosine: strict, NOTHING, degrees {
        "acosh" => (FLOAT8) -> FLOAT8;
    }
    HyperbolicArcTangent: strict, NOTHING, degrees {
        "atanh" => (FLOAT8) -> FLOAT8;
    }
    Cotangent: strict, NOTHING, degrees {
        "cot" => (FLOAT8) -> FLOAT8;
    }
    ArcTangent2Degrees: strict, NOTHING, degrees {
        "atan2d" => (FLOAT8, FLOAT8) -> FLOAT8;
    }
    TriggerDepth: strict, NOTHING, general {
        "pg_trigger_depth" => () -> INT4;
    }
    Random: strict, CHANCE, general {
        "random" => () -> FLOAT8;
    }
    // Any type
    Greatest: sees_null, NOTHING, general {
        "greatest" => (COMMON; true) -> COMMON;
    }
    Least: sees_null, NOTHING, general {
        "least" => (COMMON; true) -> COMMON;
    }
    /// The same for `char(n)`, whose trailing blanks do not count.
    GreatestOfChar: sees_null, NOTHING, general {}
    LeastOfChar: sees_null, NOTHING, general {}
    NullIf: sees_null, NOTHING, general {
        "nullif" => (COMMON, COMMON) -> COMMON;
    }
    // Strings
    /// Characters of a text, bytes of a bytea.
    Length: strict, NOTHING, string {
        "length" => (TEXT) -> INT4, (BYTEA) -> INT4;
        "char_length" | "character_length" => (TEXT) -> INT4;
    }
    /// Characters of a `char(n)`, without its trailing blanks.
    LengthOfChar: strict, NOTHING, string {
        "length" => (CHAR) -> INT4;
        "char_length" | "character_length" => (CHAR) -> INT4;
    }
    OctetLength: strict, NOTHING, string {
        "octet_length" => (TEXT) -> INT4, (CHAR) -> INT4, (BYTEA) -> INT4;
    }
    BitLength: strict, NOTHING, string {
        "bit_length" => (TEXT) -> INT4, (BYTEA) -> INT4;
    }
    Lower: strict, NOTHING, string {
        "lower" => (TEXT) -> TEXT;
    }
    Upper: strict, NOTHING, string {
        "upper" => (TEXT) -> TEXT;
    }
    InitialCapitals: strict, NOTHING, string {
        "initcap" => (TEXT) -> TEXT;
    }
    Substring: strict, NOTHING, string {
        "substr" | "substring" =>
            (TEXT, INT4) -> TEXT,
            (TEXT, INT4, INT4) -> TEXT,
            (BYTEA, INT4) -> BYTEA,
            (BYTEA, INT4, INT4) -> BYTEA;
    }
    Left: strict, NOTHING, string {
        "left" => (TEXT, INT4) -> TEXT;
    }
    Right: strict, NOTHING, string {
        "right" => (TEXT, INT4) -> TEXT;
    }
    PadLeft: strict, NOTHING, string {
        "lpad" => (TEXT, INT4) -> TEXT, (TEXT, INT4, TEXT) -> TEXT;
    }
    PadRight: strict, NOTHING, string {
        "rpad" => (TEXT, INT4) -> TEXT, (TEXT, INT4, TEXT) -> TEXT;
    }
    TrimBoth: strict, NOTHING, string {
        "trim" | "btrim" => (TEXT) -> TEXT, (TEXT, TEXT) -> TEXT, (BYTEA, BYTEA) -> BYTEA;
    }
    TrimLeft: strict, NOTHING, string {
        "ltrim" => (TEXT) -> TEXT, (TEXT, TEXT) -> TEXT, (BYTEA, BYTEA) -> BYTEA;
    }
    TrimRight: strict, NOTHING, string {
        "rtrim" => (TEXT) -> TEXT, (TEXT, TEXT) -> TEXT, (BYTEA, BYTEA) -> BYTEA;
    }
    Replace: strict, NOTHING, string {
        "replace" => (TEXT, TEXT, TEXT) -> TEXT;
    }
    Repeat: strict, NOTHING, string {
        "repeat" => (TEXT, INT4) -> TEXT;
    }
    /// `position(string, part)`, also `strpos`.
    Position: strict, NOTHING, string {
        "strpos" => (TEXT, TEXT) -> INT4;
        "position" => (TEXT, TEXT) -> INT4, (BYTEA, BYTEA) -> INT4;
    }
    Reverse: strict, NOTHING, string {
        "reverse" => (TEXT) -> TEXT;
    }
    Md5: strict, NOTHING, string {
        "md5" => (TEXT) -> TEXT, (BYTEA) -> TEXT;
    }
    Hash: strict, NOTHING, hash {
        "hashtext" => (TEXT) -> INT4;
        "hashtextextended" => (TEXT, INT8) -> INT8;
    }
    Concat: sees_null, IDENTITY, concat {
        "concat" => (ANY; true) -> TEXT;
    }
    ConcatWithSeparator: sees_null, IDENTITY, concat {
        "concat_ws" => (TEXT, ANY; true) -> TEXT;
    }
    /// `format(text, ...)`.
    Format: sees_null, IDENTITY, format {
        "format" => (TEXT) -> TEXT, (TEXT, ANY; true) -> TEXT;
    }
    Ascii: strict, NOTHING, string {
        "ascii" => (TEXT) -> INT4;
    }
    Chr: strict, NOTHING, string {
        "chr" => (INT4) -> TEXT;
    }
    SplitPart: strict, NOTHING, string {
        "split_part" => (TEXT, TEXT, INT4) -> TEXT;
    }
    Translate: strict, NOTHING, string {
        "translate" => (TEXT, TEXT, TEXT) -> TEXT;
    }
    StartsWith: strict, NOTHING, string {
        "starts_with" => (TEXT, TEXT) -> BOOL;
    }
    ToHex: strict, NOTHING, string {
        "to_hex" => (INT4) -> TEXT, (INT8) -> TEXT;
    }
    QuoteIdentifier: strict, NOTHING, string {
        "quote_ident" => (TEXT) -> TEXT;
    }
    QuoteLiteral: strict, NOTHING, string {
        "quote_literal" => (TEXT) -> TEXT;
    }
    /// `NULL` of none.
    QuoteNullable: sees_null, NOTHING, string {
        "quote_nullable" => (TEXT) -> TEXT;
    }
    Overlay: strict, NOTHING, overlay {
        "overlay" =>
            (TEXT, TEXT, INT4) -> TEXT,
            (TEXT, TEXT, INT4, INT4) -> TEXT,
            (BYTEA, BYTEA, INT4) -> BYTEA,
            (BYTEA, BYTEA, INT4, INT4) -> BYTEA;
    }
    // Byte strings
    Encode: strict, NOTHING, bytes {
        "encode" => (BYTEA, TEXT) -> TEXT;
    }
    Decode: strict, NOTHING, bytes {
        "decode" => (TEXT, TEXT) -> BYTEA;
    }
    Sha224: strict, NOTHING, bytes {
        "sha224" => (BYTEA) -> BYTEA;
    }
    Sha256: strict, NOTHING, bytes {
        "sha256" => (BYTEA) -> BYTEA;
    }
    Sha384: strict, NOTHING, bytes {
        "sha384" => (BYTEA) -> BYTEA;
    }
    Sha512: strict, NOTHING, bytes {
        "sha512" => (BYTEA) -> BYTEA;
    }
    GetByte: strict, NOTHING, bytes {
        "get_byte" => (BYTEA, INT4) -> INT4;
    }
    SetByte: strict, NOTHING, bytes {
        "set_byte" => (BYTEA, INT4, INT4) -> BYTEA;
    }
    GetBit: strict, NOTHING, bytes {
        "get_bit" => (BYTEA, INT8) -> INT4;
    }
    SetBit: strict, NOTHING, bytes {
        "set_bit" => (BYTEA, INT8, INT4) -> BYTEA;
    }
    BitCount: strict, NOTHING, bytes {
        "bit_count" => (BYTEA) -> INT8;
    }
    /// Rewrites a LIKE pattern from another escape character to the backslash.
    LikeEscape: strict, NOTHING, string {
        "like_escape" => (TEXT, TEXT) -> TEXT;
    }
    /// See the module head.
    CharToText: strict, NOTHING, string {}
    /// `~`
    MatchesPattern: strict, NOTHING, regular_expression {}
    /// `~*`
    MatchesPatternInAnyCase: strict, NOTHING, regular_expression {}
    RegexpMatch: strict, NOTHING, pattern_matching {
        "regexp_match" => (TEXT, TEXT) -> TEXTS, (TEXT, TEXT, TEXT) -> TEXTS;
    }
    /// A row of `regexp_matches` is a text here, which the compiler turns into an array.
    RegexpMatches: strict, NOTHING, pattern_matching {}
    RegexpLike: strict, NOTHING, pattern_matching {
        "regexp_like" => (TEXT, TEXT) -> BOOL, (TEXT, TEXT, TEXT) -> BOOL;
    }
    RegexpCount: strict, NOTHING, pattern_matching {
        "regexp_count" =>
            (TEXT, TEXT) -> INT4,
            (TEXT, TEXT, INT4) -> INT4,
            (TEXT, TEXT, INT4, TEXT) -> INT4;
    }
    RegexpInstr: strict, NOTHING, pattern_matching {
        "regexp_instr" =>
            (TEXT, TEXT) -> INT4,
            (TEXT, TEXT, INT4) -> INT4,
            (TEXT, TEXT, INT4, INT4) -> INT4,
            (TEXT, TEXT, INT4, INT4, INT4) -> INT4,
            (TEXT, TEXT, INT4, INT4, INT4, TEXT) -> INT4,
            (TEXT, TEXT, INT4, INT4, INT4, TEXT, INT4) -> INT4;
    }
    RegexpSubstr: strict, NOTHING, pattern_matching {
        "regexp_substr" =>
            (TEXT, TEXT) -> TEXT,
            (TEXT, TEXT, INT4) -> TEXT,
            (TEXT, TEXT, INT4, INT4) -> TEXT,
            (TEXT, TEXT, INT4, INT4, TEXT) -> TEXT,
            (TEXT, TEXT, INT4, INT4, TEXT, INT4) -> TEXT;
    }
    RegexpReplace: strict, NOTHING, pattern_matching {
        "regexp_replace" =>
            (TEXT, TEXT, TEXT) -> TEXT,
            (TEXT, TEXT, TEXT, TEXT) -> TEXT,
            (TEXT, TEXT, TEXT, INT4) -> TEXT,
            (TEXT, TEXT, TEXT, INT4, INT4) -> TEXT,
            (TEXT, TEXT, TEXT, INT4, INT4, TEXT) -> TEXT;
    }
    RegexpSplit: strict, NOTHING, pattern_matching {
        "regexp_split_to_array" => (TEXT, TEXT) -> TEXTS, (TEXT, TEXT, TEXT) -> TEXTS;
    }
    /// `substring(text FROM pattern)`
    SubstringByPattern: strict, NOTHING, pattern_matching {
        "substring" => (TEXT, TEXT) -> TEXT;
    }
    /// `substring(text SIMILAR pattern ESCAPE escape)`
    SubstringSimilar: strict, NOTHING, pattern_matching {
        "substring" => (TEXT, TEXT, TEXT) -> TEXT;
    }
    /// `SIMILAR TO`
    MatchesSimilar: strict, NOTHING, pattern_matching {}
    // Date and time
    /// `now()`, `current_timestamp`, `transaction_timestamp()`.
    Now: strict, TIMES, time {
        "now" | "current_timestamp" | "transaction_timestamp" => () -> TIMESTAMPTZ;
    }
    StatementTimestamp: strict, TIMES, time {
        "statement_timestamp" => () -> TIMESTAMPTZ;
    }
    ClockTimestamp: strict, CLOCK, time {
        "clock_timestamp" => () -> TIMESTAMPTZ;
    }
    CurrentDate: strict, LOCAL_TIME, time {
        "current_date" => () -> DATE;
    }
    LocalTime: strict, LOCAL_TIME, time {
        "localtime" => () -> TIME;
    }
    CurrentTime: strict, LOCAL_TIME, time {
        "current_time" => () -> TIMETZ;
    }
    LocalTimestamp: strict, LOCAL_TIME, time {
        "localtimestamp" => () -> TIMESTAMP;
    }
    DateTrunc: strict, IDENTITY, time {
        "date_trunc" =>
            (TEXT, TIMESTAMPTZ) -> TIMESTAMPTZ,
            (TEXT, TIMESTAMP) -> TIMESTAMP,
            (TEXT, TIMESTAMPTZ, TEXT) -> TIMESTAMPTZ,
            (TEXT, INTERVAL) -> INTERVAL;
    }
    /// `double precision`.
    DatePart: strict, IDENTITY, time {
        "date_part" =>
            (TEXT, TIMESTAMPTZ) -> FLOAT8,
            (TEXT, TIMESTAMP) -> FLOAT8,
            (TEXT, DATE) -> FLOAT8,
            (TEXT, TIME) -> FLOAT8,
            (TEXT, TIMETZ) -> FLOAT8,
            (TEXT, INTERVAL) -> FLOAT8;
    }
    /// `numeric`.
    Extract: strict, IDENTITY, time {
        "extract" =>
            (TEXT, TIMESTAMPTZ) -> NUMERIC,
            (TEXT, TIMESTAMP) -> NUMERIC,
            (TEXT, DATE) -> NUMERIC,
            (TEXT, TIME) -> NUMERIC,
            (TEXT, TIMETZ) -> NUMERIC,
            (TEXT, INTERVAL) -> NUMERIC;
    }
    ToTimestamp: strict, NOTHING, time {
        "to_timestamp" => (FLOAT8) -> TIMESTAMPTZ;
    }
    /// By a template, as `to_date`.
    ReadTimestamp: strict, IDENTITY, date_reading {
        "to_timestamp" => (TEXT, TEXT) -> TIMESTAMPTZ;
    }
    ToDate: strict, NOTHING, date_reading {
        "to_date" => (TEXT, TEXT) -> DATE;
    }
    /// By a template. The time zone's name may be a part of it.
    ToChar: strict, IDENTITY, template {
        "to_char" =>
            (TIMESTAMPTZ, TEXT) -> TEXT,
            (TIMESTAMP, TEXT) -> TEXT,
            (INTERVAL, TEXT) -> TEXT,
            (NUMERIC, TEXT) -> TEXT,
            (INT4, TEXT) -> TEXT,
            (INT8, TEXT) -> TEXT,
            (FLOAT4, TEXT) -> TEXT,
            (FLOAT8, TEXT) -> TEXT;
    }
    ToNumber: strict, NOTHING, template {
        "to_number" => (TEXT, TEXT) -> NUMERIC;
    }
    MakeDate: strict, NOTHING, make_time {
        "make_date" => (INT4, INT4, INT4) -> DATE;
    }
    MakeTime: strict, NOTHING, make_time {
        "make_time" => (INT4, INT4, FLOAT8) -> TIME;
    }
    MakeTimestamp: strict, NOTHING, make_time {
        "make_timestamp" => (INT4, INT4, INT4, INT4, INT4, FLOAT8) -> TIMESTAMP;
    }
    MakeTimestampTz: strict, IDENTITY, make_time {
        "make_timestamptz" =>
            (INT4, INT4, INT4, INT4, INT4, FLOAT8) -> TIMESTAMPTZ,
            (INT4, INT4, INT4, INT4, INT4, FLOAT8, TEXT) -> TIMESTAMPTZ;
    }
    /// `AT TIME ZONE`.
    Timezone: strict, NOTHING, time {
        "timezone" =>
            (TEXT, TIMESTAMPTZ) -> TIMESTAMP,
            (TEXT, TIMESTAMP) -> TIMESTAMPTZ,
            (INTERVAL, TIMESTAMPTZ) -> TIMESTAMP,
            (INTERVAL, TIMESTAMP) -> TIMESTAMPTZ,
            (INTERVAL, TIMETZ) -> TIMETZ;
    }
    /// The same for a time of day: the zone has its offset of today.
    TimezoneToday: strict, TIMES, time {
        "timezone" => (TEXT, TIMETZ) -> TIMETZ;
    }
    IsFinite: strict, NOTHING, time {
        "isfinite" => (DATE) -> BOOL, (TIMESTAMP) -> BOOL, (TIMESTAMPTZ) -> BOOL, (INTERVAL) -> BOOL;
    }
    // Intervals
    /// `timestamptz + interval`, in the session's time zone.
    AddInterval: strict, IDENTITY, interval {
        "timestamptz_pl_interval" => (TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ;
    }
    SubtractInterval: strict, IDENTITY, interval {
        "timestamptz_mi_interval" => (TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ;
    }
    Age: strict, IDENTITY, interval {
        "age" => (TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL, (TIMESTAMP, TIMESTAMP) -> INTERVAL;
    }
    /// At the beginning of today.
    AgeToday: strict, LOCAL_TIME, interval {
        "age" => (TIMESTAMPTZ) -> INTERVAL, (TIMESTAMP) -> INTERVAL;
    }
    JustifyHours: strict, NOTHING, interval {
        "justify_hours" => (INTERVAL) -> INTERVAL;
    }
    JustifyDays: strict, NOTHING, interval {
        "justify_days" => (INTERVAL) -> INTERVAL;
    }
    JustifyInterval: strict, NOTHING, interval {
        "justify_interval" => (INTERVAL) -> INTERVAL;
    }
    /// Years, months, weeks, days, hours, minutes, seconds.
    MakeInterval: strict, NOTHING, interval {
        "make_interval" => (INT4, INT4, INT4, INT4, INT4, INT4, FLOAT8) -> INTERVAL;
    }
    /// Whether periods overlap: start and end of each, in any order.
    Overlaps: sees_null, NOTHING, interval {
        "overlaps" =>
            (TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP) -> BOOL,
            (TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL,
            (TIME, TIME, TIME, TIME) -> BOOL,
            (TIMETZ, TIMETZ, TIMETZ, TIMETZ) -> BOOL;
    }
    DateBin: strict, NOTHING, interval {
        "date_bin" =>
            (INTERVAL, TIMESTAMP, TIMESTAMP) -> TIMESTAMP,
            (INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ) -> TIMESTAMPTZ;
    }
    // Arrays
    ArrayLength: strict, NOTHING, array {}
    ArrayLower: strict, NOTHING, array {}
    ArrayUpper: strict, NOTHING, array {}
    Cardinality: strict, NOTHING, array {}
    /// With or without a text for NULL.
    ArrayToString: sees_null, IDENTITY, array {}
    ArrayAppend: sees_null, NOTHING, array {}
    ArrayPrepend: sees_null, NOTHING, array {}
    ArrayConcat: sees_null, NOTHING, array {}
    ArrayDimensions: strict, NOTHING, array {}
    /// `array_dims`.
    ArrayBounds: strict, NOTHING, array {}
    /// An empty array that gives the element type, the value, lengths, and lower bounds if present.
    ArrayFill: sees_null, NOTHING, array {}
    /// With or without the text that stands for NULL.
    StringToArray: sees_null, NOTHING, array {
        "string_to_array" => (TEXT, TEXT) -> TEXTS, (TEXT, TEXT, TEXT) -> TEXTS;
    }
    /// One dimension that counts from 1, whatever dimensions the array has.
    ArrayFlat: strict, NOTHING, array {}
    /// `ARRAY[array, ...]`; the first argument is an empty array.
    ArrayOfArrays: sees_null, NOTHING, array {}
    ArrayPosition: sees_null, NOTHING, array_search {}
    ArrayPositions: sees_null, NOTHING, array_search {}
    ArrayRemove: sees_null, NOTHING, array_search {}
    ArrayReplace: sees_null, NOTHING, array_search {}
    ArrayTrim: strict, NOTHING, array_search {}
    ArrayContains: strict, NOTHING, array_search {}
    ArrayOverlaps: strict, NOTHING, array_search {}
    /// Elements and slices: `array_subscript` describes the arguments.
    ArraySubscript: strict, NOTHING, array_subscript {}
    ArraySlice: sees_null, NOTHING, array_subscript {}
    ArraySet: sees_null, NOTHING, array_subscript {}
    ArraySetSlice: sees_null, NOTHING, array_subscript {}
    /// `value = ANY (array)`.
    EqualsAny: sees_null, NOTHING, array {}
    /// The same for a sorted array, NULL last: looks only at a few of its elements. Only the compiler calls
    /// it.
    EqualsSorted: sees_null, NOTHING, array {}
    /// `text ~~ ANY (array)`, and the same with other pattern operators: the last argument is the operator's
    /// symbol.
    MatchesAny: sees_null, NOTHING, quantified_match {}
    MatchesAll: sees_null, NOTHING, quantified_match {}
    /// The elements that are not NULL, sorted and without duplicates. Only the compiler calls it.
    ArrayDistinct: strict, NOTHING, array {}
    // JSON; operators are listed under their symbols
    JsonGet: strict, NOTHING, json_access {
        "->" => (JSON, TEXT) -> JSON, (JSON, INT4) -> JSON, (JSONB, TEXT) -> JSONB, (JSONB, INT4) -> JSONB;
    }
    JsonGetText: strict, NOTHING, json_access {
        "->>" => (JSON, TEXT) -> TEXT, (JSON, INT4) -> TEXT, (JSONB, TEXT) -> TEXT, (JSONB, INT4) -> TEXT;
    }
    JsonPath: strict, NOTHING, json_access {
        "#>" => (JSON, TEXTS) -> JSON, (JSONB, TEXTS) -> JSONB;
        "json_extract_path" => (JSON, TEXT; true) -> JSON;
        "jsonb_extract_path" => (JSONB, TEXT; true) -> JSONB;
    }
    JsonPathText: strict, NOTHING, json_access {
        "#>>" => (JSON, TEXTS) -> TEXT, (JSONB, TEXTS) -> TEXT;
        "json_extract_path_text" => (JSON, TEXT; true) -> TEXT;
        "jsonb_extract_path_text" => (JSONB, TEXT; true) -> TEXT;
    }
    JsonContains: strict, NOTHING, json_access { "@>" | "jsonb_contains" => (JSONB, JSONB) -> BOOL; }
    JsonContained: strict, NOTHING, json_access { "<@" | "jsonb_contained" => (JSONB, JSONB) -> BOOL; }
    JsonExists: strict, NOTHING, json_access { "?" | "jsonb_exists" => (JSONB, TEXT) -> BOOL; }
    JsonExistsAny: strict, NOTHING, json_access { "?|" | "jsonb_exists_any" => (JSONB, TEXTS) -> BOOL; }
    JsonExistsAll: strict, NOTHING, json_access { "?&" | "jsonb_exists_all" => (JSONB, TEXTS) -> BOOL; }
    JsonTypeof: strict, NOTHING, json_access { "json_typeof" => (JSON) -> TEXT; "jsonb_typeof" => (JSONB) -> TEXT; }
    JsonArrayLength: strict, NOTHING, json_access { "json_array_length" => (JSON) -> INT4; "jsonb_array_length" => (JSONB) -> INT4; }
    // The results of set-returning functions of a json, as an array. Only the compiler calls them.
    JsonItems: strict, NOTHING, json_access {}
    JsonItemsText: strict, NOTHING, json_access {}
    JsonObjectKeys: strict, NOTHING, json_access {}
    JsonEachKeys: strict, NOTHING, json_access {}
    JsonEachValues: strict, NOTHING, json_access {}
    JsonEachValuesText: strict, NOTHING, json_access {}
    JsonConcat: strict, NOTHING, json_change { "||" | "jsonb_concat" => (JSONB, JSONB) -> JSONB; }
    JsonDelete: strict, NOTHING, json_change {
        "-" | "jsonb_delete" => (JSONB, TEXT) -> JSONB, (JSONB, INT4) -> JSONB, (JSONB, TEXTS) -> JSONB;
    }
    JsonDeletePath: strict, NOTHING, json_change { "#-" | "jsonb_delete_path" => (JSONB, TEXTS) -> JSONB; }
    JsonSet: strict, NOTHING, json_change {
        "jsonb_set" => (JSONB, TEXTS, JSONB) -> JSONB, (JSONB, TEXTS, JSONB, BOOL) -> JSONB;
    }
    JsonSetLax: sees_null, NOTHING, json_change {
        "jsonb_set_lax" => (JSONB, TEXTS, JSONB, BOOL, TEXT) -> JSONB;
    }
    JsonInsert: strict, NOTHING, json_change {
        "jsonb_insert" => (JSONB, TEXTS, JSONB) -> JSONB, (JSONB, TEXTS, JSONB, BOOL) -> JSONB;
    }
    JsonStripNulls: strict, NOTHING, json_change { "json_strip_nulls" => (JSON) -> JSON; "jsonb_strip_nulls" => (JSONB) -> JSONB; }
    JsonPretty: strict, NOTHING, json_change { "jsonb_pretty" => (JSONB) -> TEXT; }
    ToJson: strict, IDENTITY, json_build {}
    ToJsonb: strict, IDENTITY, json_build {}
    ArrayToJson: strict, IDENTITY, json_build {}
    JsonBuildArray: sees_null, IDENTITY, json_build { "json_build_array" => () -> JSON, (ANY; true) -> JSON; }
    JsonbBuildArray: sees_null, IDENTITY, json_build { "jsonb_build_array" => () -> JSONB, (ANY; true) -> JSONB; }
    JsonBuildObject: sees_null, IDENTITY, json_build { "json_build_object" => () -> JSON, (ANY; true) -> JSON; }
    JsonbBuildObject: sees_null, IDENTITY, json_build {
        "jsonb_build_object" => () -> JSONB, (ANY; true) -> JSONB;
    }
    JsonObject: strict, NOTHING, json_build { "json_object" => (TEXTS) -> JSON, (TEXTS, TEXTS) -> JSON; }
    JsonbObject: strict, NOTHING, json_build { "jsonb_object" => (TEXTS) -> JSONB, (TEXTS, TEXTS) -> JSONB; }
    /// `"key" : value`, a member for the aggregates that build objects. Only the compiler calls this and
    /// those below.
    JsonMember: sees_null, IDENTITY, json_build {}
    PopulatedRow: sees_null, IDENTITY, json_record {}
    PopulatedRows: sees_null, IDENTITY, json_record {}
    RowToJson: strict, IDENTITY, json_build {}
    /// For an array of the rows' values, and whether each but the first begins a new line.
    JsonOfRows: strict, IDENTITY, json_build {}
    JsonbOfRows: strict, IDENTITY, json_build {}
    JsonOfStructure: strict, IDENTITY, json_build {}
    JsonRow: sees_null, IDENTITY, json_build {}
    // Rows: see the modules.
    Row: sees_null, NOTHING, row_value {}
    RowField: strict, NOTHING, row_value {}
    RowWith: sees_null, NOTHING, row_value {}
    RowIsNull: sees_null, NOTHING, row_value {}
    RowIsNotNull: sees_null, NOTHING, row_value {}
    RowText: sees_null, IDENTITY, row_text {}
    RecordField: strict, NOTHING, row_text {}
    JsonOfMembers: strict, NOTHING, json_build {}
    JsonbOfMembers: strict, NOTHING, json_build {}
    // Network addresses
    NetworkHost: strict, NOTHING, network { "host" => (INET) -> TEXT; }
    NetworkAbbreviated: strict, NOTHING, network { "abbrev" => (INET) -> TEXT, (CIDR) -> TEXT; }
    NetworkFamily: strict, NOTHING, network { "family" => (INET) -> INT4; }
    NetworkMaskLength: strict, NOTHING, network { "masklen" => (INET) -> INT4; }
    NetworkWithMaskLength: strict, NOTHING, network { "set_masklen" => (INET, INT4) -> INET, (CIDR, INT4) -> CIDR; }
    NetworkBroadcast: strict, NOTHING, network { "broadcast" => (INET) -> INET; }
    NetworkOf: strict, NOTHING, network { "network" => (INET) -> CIDR; }
    NetworkMask: strict, NOTHING, network { "netmask" => (INET) -> INET; }
    NetworkHostMask: strict, NOTHING, network { "hostmask" => (INET) -> INET; }
    NetworkIsSameFamily: strict, NOTHING, network { "inet_same_family" => (INET, INET) -> BOOL; }
    NetworkMerge: strict, NOTHING, network { "inet_merge" => (INET, INET) -> CIDR; }
    NetworkIsWithin: strict, NOTHING, network { "<<" | "network_sub" => (INET, INET) -> BOOL; }
    NetworkIsWithinOrEqual: strict, NOTHING, network { "<<=" | "network_subeq" => (INET, INET) -> BOOL; }
    NetworkContains: strict, NOTHING, network { ">>" | "network_sup" => (INET, INET) -> BOOL; }
    NetworkContainsOrEqual: strict, NOTHING, network { ">>=" | "network_supeq" => (INET, INET) -> BOOL; }
    NetworkOverlaps: strict, NOTHING, network { "&&" | "network_overlap" => (INET, INET) -> BOOL; }
    /// `~`, also of the addresses of network cards, as are the two that follow.
    NetworkNot: strict, NOTHING, network {
        "inetnot" => (INET) -> INET;
        "macaddr_not" => (MACADDR) -> MACADDR;
        "macaddr8_not" => (MACADDR8) -> MACADDR8;
    }
    NetworkAnd: strict, NOTHING, network {
        "&" => (INET, INET) -> INET, (MACADDR, MACADDR) -> MACADDR, (MACADDR8, MACADDR8) -> MACADDR8;
        "inetand" => (INET, INET) -> INET;
        "macaddr_and" => (MACADDR, MACADDR) -> MACADDR;
        "macaddr8_and" => (MACADDR8, MACADDR8) -> MACADDR8;
    }
    NetworkOr: strict, NOTHING, network {
        "|" => (INET, INET) -> INET, (MACADDR, MACADDR) -> MACADDR, (MACADDR8, MACADDR8) -> MACADDR8;
        "inetor" => (INET, INET) -> INET;
        "macaddr_or" => (MACADDR, MACADDR) -> MACADDR;
        "macaddr8_or" => (MACADDR8, MACADDR8) -> MACADDR8;
    }
    NetworkPlus: strict, NOTHING, network {
        "+" => (INET, INT8) -> INET, (INT8, INET) -> INET;
        "inetpl" => (INET, INT8) -> INET;
    }
    NetworkMinus: strict, NOTHING, network {
        "-" => (INET, INT8) -> INET, (INET, INET) -> INT8;
        "inetmi_int8" => (INET, INT8) -> INET;
        "inetmi" => (INET, INET) -> INT8;
    }
    MacTruncated: strict, NOTHING, network { "trunc" => (MACADDR) -> MACADDR, (MACADDR8) -> MACADDR8; }
    MacWithSeventhBit: strict, NOTHING, network { "macaddr8_set7bit" => (MACADDR8) -> MACADDR8; }
    // Others
    GenRandomUuid: strict, CHANCE, general {
        "gen_random_uuid" => () -> UUID;
    }
    CurrentUser: strict, IDENTITY, general {}
    SessionUser: strict, IDENTITY, general {}
    CurrentDatabase: strict, IDENTITY, general {}
    /// `pg_cancel_backend`
    CancelBackend: strict, SESSIONS, general {
        "pg_cancel_backend" => (INT4) -> BOOL;
    }
    /// `pg_terminate_backend`
    TerminateBackend: strict, SESSIONS, general {
        "pg_terminate_backend" => (INT4) -> BOOL;
    }
    /// `pg_blocking_pids`
    BlockingProcesses: strict, SESSIONS, general {
        "pg_blocking_pids" => (INT4) -> INT4S;
    }
    // Advisory locks; a result of type void is an empty text
    AdvisoryLock: strict, SESSIONS, session { "pg_advisory_lock" => (INT8) -> TEXT, (INT4, INT4) -> TEXT; }
    AdvisoryLockShared: strict, SESSIONS, session { "pg_advisory_lock_shared" => (INT8) -> TEXT, (INT4, INT4) -> TEXT; }
    AdvisoryTransactionLock: strict, SESSIONS, session { "pg_advisory_xact_lock" => (INT8) -> TEXT, (INT4, INT4) -> TEXT; }
    AdvisoryTransactionLockShared: strict, SESSIONS, session { "pg_advisory_xact_lock_shared" => (INT8) -> TEXT, (INT4, INT4) -> TEXT; }
    TryAdvisoryLock: strict, SESSIONS, session { "pg_try_advisory_lock" => (INT8) -> BOOL, (INT4, INT4) -> BOOL; }
    TryAdvisoryLockShared: strict, SESSIONS, session { "pg_try_advisory_lock_shared" => (INT8) -> BOOL, (INT4, INT4) -> BOOL; }
    TryAdvisoryTransactionLock: strict, SESSIONS, session { "pg_try_advisory_xact_lock" => (INT8) -> BOOL, (INT4, INT4) -> BOOL; }
    TryAdvisoryTransactionLockShared: strict, SESSIONS, session { "pg_try_advisory_xact_lock_shared" => (INT8) -> BOOL, (INT4, INT4) -> BOOL; }
    AdvisoryUnlock: strict, SESSIONS, session { "pg_advisory_unlock" => (INT8) -> BOOL, (INT4, INT4) -> BOOL; }
    AdvisoryUnlockShared: strict, SESSIONS, session { "pg_advisory_unlock_shared" => (INT8) -> BOOL, (INT4, INT4) -> BOOL; }
    AdvisoryUnlockAll: strict, SESSIONS, session { "pg_advisory_unlock_all" => () -> TEXT; }
    // The result is an empty text, as above.
    Sleep: strict, SESSIONS, sleep { "pg_sleep" => (FLOAT8) -> TEXT; }
    SleepFor: strict, SESSIONS, sleep { "pg_sleep_for" => (INTERVAL) -> TEXT; }
    SleepUntil: strict, SESSIONS, sleep { "pg_sleep_until" => (TIMESTAMPTZ) -> TEXT; }
    /// `pg_notify`
    Notify: sees_null, SESSIONS, session { "pg_notify" => (TEXT, TEXT) -> TEXT; }

    // Sequences. If the name is a constant, the compiler passes the number of the sequence, an integer.
    NextNumber: strict, SEQUENCES, sequence {
        "nextval" => (TEXT) -> INT8;
    }
    /// For the default of an identity column, which draws for every role that may insert rows.
    OwnNumber: strict, SEQUENCES, sequence {}
    CurrentNumber: strict, SEQUENCES, sequence {
        "currval" => (TEXT) -> INT8;
    }
    LastNumber: sees_null, SEQUENCES, sequence {
        "lastval" => () -> INT8;
    }
    SetNumber: strict, SEQUENCES, sequence {
        "setval" => (TEXT, INT8) -> INT8, (TEXT, INT8, BOOL) -> INT8;
    }
}
