//! The rows of `function_table` for functions of argument lists, of records made of JSON, of SQL/JSON paths,
//! of identifiers and of binary forms. They are appended to those of that module, and form one table with
//! them.

macro_rules! argument_functions {
    ($($rows:tt)*) => { catalog_functions! { $($rows)*
    // Argument lists
    CountNulls: sees_null, NOTHING, argument_list { "num_nulls" => (ANY; true) -> INT4; }
    CountNonNulls: sees_null, NOTHING, argument_list { "num_nonnulls" => (ANY; true) -> INT4; }
    // Calls with VARIADIC: the last argument is the array of the others. Only the compiler calls them.
    CountNullsIn: sees_null, NOTHING, argument_list {}
    CountNonNullsIn: sees_null, NOTHING, argument_list {}
    ConcatArray: sees_null, IDENTITY, argument_list {}
    ConcatArrayWithSeparator: sees_null, IDENTITY, argument_list {}
    FormatArray: sees_null, IDENTITY, argument_list {}
    JsonBuildArrayOf: sees_null, IDENTITY, argument_list {}
    JsonbBuildArrayOf: sees_null, IDENTITY, argument_list {}
    JsonBuildObjectOf: sees_null, IDENTITY, argument_list {}
    JsonbBuildObjectOf: sees_null, IDENTITY, argument_list {}
    // JSON as rows of columns with types
    /// The records that `json_to_record` and its like make rows of, as an array. The first argument is the
    /// name of that function.
    JsonRecords: sees_null, NOTHING, json_record {}
    /// The text of a member of such a record, in the form that its column's type reads.
    JsonRecordMember: strict, NOTHING, json_record {}
    /// A jsonb after `whole[...] = new`: the old one, the new part, whether an array is made where there is
    /// none, and the subscripts.
    JsonAssigned: sees_null, NOTHING, json_assigned {}
    // SQL/JSON paths.
    JsonPathExists: strict, NOTHING, json_path {
        "jsonb_path_exists" | "jsonb_path_exists_tz" =>
            (JSONB, JSONPATH) -> BOOL, (JSONB, JSONPATH, JSONB) -> BOOL, (JSONB, JSONPATH, JSONB, BOOL) -> BOOL;
    }
    JsonPathExistsQuietly: strict, NOTHING, json_path {
        "@?" | "jsonb_path_exists_opr" => (JSONB, JSONPATH) -> BOOL;
    }
    JsonPathMatches: strict, NOTHING, json_path {
        "jsonb_path_match" | "jsonb_path_match_tz" =>
            (JSONB, JSONPATH) -> BOOL, (JSONB, JSONPATH, JSONB) -> BOOL, (JSONB, JSONPATH, JSONB, BOOL) -> BOOL;
    }
    JsonPathMatchesQuietly: strict, NOTHING, json_path {
        "@@" | "jsonb_path_match_opr" => (JSONB, JSONPATH) -> BOOL;
    }
    JsonPathFirst: strict, NOTHING, json_path {
        "jsonb_path_query_first" | "jsonb_path_query_first_tz" =>
            (JSONB, JSONPATH) -> JSONB, (JSONB, JSONPATH, JSONB) -> JSONB, (JSONB, JSONPATH, JSONB, BOOL) -> JSONB;
    }
    JsonPathArray: strict, NOTHING, json_path {
        "jsonb_path_query_array" | "jsonb_path_query_array_tz" =>
            (JSONB, JSONPATH) -> JSONB, (JSONB, JSONPATH, JSONB) -> JSONB, (JSONB, JSONPATH, JSONB, BOOL) -> JSONB;
    }
    /// What a path finds, as an array. Only the compiler calls it.
    JsonPathItems: strict, NOTHING, json_path {}
    // Texts
    ParseIdentifier: strict, NOTHING, identifier { "parse_ident" => (TEXT) -> TEXTS, (TEXT, BOOL) -> TEXTS; }
    Unescape: strict, NOTHING, identifier { "unistr" => (TEXT) -> TEXT; }
    /// A bound or the step of a series of `numeric`, named by the first argument: no infinity.
    SeriesNumber: strict, NOTHING, argument_list {}
    BinaryForm: strict, NOTHING, binary_form {
        "boolsend" => (BOOL) -> BYTEA;
        "byteasend" => (BYTEA) -> BYTEA;
        "charsend" => (LETTER) -> BYTEA;
        "namesend" => (NAME) -> BYTEA;
        "int2send" => (INT2) -> BYTEA;
        "int4send" => (INT4) -> BYTEA;
        "int8send" => (INT8) -> BYTEA;
        "textsend" | "varcharsend" => (TEXT) -> BYTEA;
        "bpcharsend" => (CHAR) -> BYTEA;
        "oidsend" => (OID) -> BYTEA;
        "float4send" => (FLOAT4) -> BYTEA;
        "float8send" => (FLOAT8) -> BYTEA;
        "numeric_send" => (NUMERIC) -> BYTEA;
        "uuid_send" => (UUID) -> BYTEA;
        "date_send" => (DATE) -> BYTEA;
        "time_send" => (TIME) -> BYTEA;
        "timetz_send" => (TIMETZ) -> BYTEA;
        "timestamp_send" => (TIMESTAMP) -> BYTEA;
        "timestamptz_send" => (TIMESTAMPTZ) -> BYTEA;
        "interval_send" => (INTERVAL) -> BYTEA;
        "json_send" => (JSON) -> BYTEA;
        "jsonb_send" => (JSONB) -> BYTEA;
        "inet_send" => (INET) -> BYTEA;
        "cidr_send" => (CIDR) -> BYTEA;
        "macaddr_send" => (MACADDR) -> BYTEA;
        "macaddr8_send" => (MACADDR8) -> BYTEA;
    }
    } };
}

pub(super) use argument_functions;
