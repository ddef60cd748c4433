//! Matches against patterns: of which types, and when case does not count in them.

use hyades_types::value::SqlType;

/// Whether a side can be matched against a pattern, or be the pattern.
pub(super) fn is_matchable(side: Option<SqlType>) -> bool {
    side.is_none_or(SqlType::is_string)
}

/// Whether a match disregards case because the operators are those of citext.
pub(super) fn ignores_case(text: Option<SqlType>, pattern: Option<SqlType>) -> bool {
    let is_extended =
        |side: Option<SqlType>| matches!(side, Some(SqlType::Extension(own)) if own.is_string());
    is_extended(text) || (text.is_none() && is_extended(pattern))
}

/// The symbol of the operator that disregards case.
pub(super) fn in_any_case(symbol: &'static str) -> &'static str {
    match symbol {
        "~~" => "~~*",
        "!~~" => "!~~*",
        "~" => "~*",
        "!~" => "!~*",
        other => other,
    }
}
