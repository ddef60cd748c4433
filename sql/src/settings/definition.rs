//! The list of settings: `definitions.txt`, read once.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::SERVER_VERSION;
use super::number::Unit;

/// The kind of values that a setting accepts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Text,
    Boolean,
    Integer {
        minimum: i64,
        maximum: i64,
        unit: Unit,
    },
    Real {
        minimum: f64,
        maximum: f64,
        unit: Unit,
    },
    /// A list of values. Those that begin with `~` are accepted but not listed, possibly as another value:
    /// `~debug=debug2`.
    Choice(Vec<&'static str>),
    /// Values that work, and values that PostgreSQL has but that are refused here.
    Limited(Vec<&'static str>, Vec<&'static str>),
    /// The language of messages, and the format of numbers, money and times.
    Locale,
    /// A list of schemas.
    Path,
    TimeZone,
    DateStyle,
    Encoding,
    /// Cannot be changed.
    Internal,
}

impl Kind {
    /// PostgreSQL's name for the kind.
    pub(super) fn value_type(&self) -> &'static str {
        match self {
            Kind::Boolean => "bool",
            Kind::Integer { .. } => "integer",
            Kind::Real { .. } => "real",
            Kind::Choice(_) | Kind::Limited(..) => "enum",
            _ => "string",
        }
    }

    pub(super) fn unit(&self) -> Unit {
        match self {
            Kind::Integer { unit, .. } | Kind::Real { unit, .. } => *unit,
            _ => Unit::None,
        }
    }
}

/// A setting.
#[derive(Debug)]
pub(super) struct Definition {
    /// The name as shown: `TimeZone`.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The default as SHOW prints it.
    pub(super) default: &'static str,
    /// Whether a change is reported to the client with ParameterStatus.
    pub(super) is_reported: bool,
    /// Whether every value other than the default is refused, because it ought to change results or
    /// guarantees but has no such effect here.
    pub(super) is_fixed: bool,
    /// Whether only superusers may change it.
    pub(super) is_for_superusers: bool,
    /// The minimum and maximum, as `pg_settings` shows them. Empty unless the setting is a number.
    pub(super) range: (&'static str, &'static str),
    pub(super) category: &'static str,
    pub(super) description: &'static str,
}

/// Sorted by lower-case name: SHOW ALL prints this order.
pub(super) static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let lines = include_str!("definitions.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(parsed).collect()
});

static BY_NAME: LazyLock<HashMap<String, &'static Definition>> = LazyLock::new(|| {
    DEFINITIONS.iter().map(|definition| (definition.name.to_ascii_lowercase(), definition)).collect()
});

/// The setting of this name, whatever its case.
pub(super) fn definition(name: &str) -> Option<&'static Definition> {
    let known = BY_NAME.get(name).copied();
    known.or_else(|| BY_NAME.get(&name.to_ascii_lowercase()).copied())
}

fn parsed(line: &'static str) -> Option<Definition> {
    let mut fields = line.split('|');
    let (name, kind, default) = (fields.next()?, fields.next()?, fields.next()?);
    let range @ (minimum, maximum) = (fields.next()?, fields.next()?);
    let unit = Unit::named(fields.next()?)?;
    let values = fields.next()?;
    let (category, description) = (fields.next()?, fields.next()?);
    let is_for_superusers = kind.starts_with('*');
    let kind = kind.trim_start_matches('*');
    let is_reported = kind.starts_with('!');
    let kind = kind.trim_start_matches('!');
    let is_fixed = kind.starts_with('=');
    let list = |values: &'static str| values.split(',').collect::<Vec<&'static str>>();
    let kind = match kind.trim_start_matches('=') {
        "bool" => Kind::Boolean,
        "int" => Kind::Integer { minimum: minimum.parse().ok()?, maximum: maximum.parse().ok()?, unit },
        "real" => Kind::Real { minimum: minimum.parse().ok()?, maximum: maximum.parse().ok()?, unit },
        "enum" => Kind::Choice(list(values)),
        "limited" => {
            let (values, refused) = values.split_once(';')?;
            Kind::Limited(list(values), if refused.is_empty() { Vec::new() } else { list(refused) })
        }
        "text" => Kind::Text,
        "locale" => Kind::Locale,
        "path" => Kind::Path,
        "zone" => Kind::TimeZone,
        "datestyle" => Kind::DateStyle,
        "encoding" => Kind::Encoding,
        _ => Kind::Internal,
    };
    let default = if default == "SERVER_VERSION" { SERVER_VERSION } else { default };
    Some(Definition {
        name,
        kind,
        default,
        is_reported,
        is_fixed,
        is_for_superusers,
        range,
        category,
        description,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::checked;

    #[test]
    fn every_line_is_a_setting_with_a_default_that_it_takes() {
        let text = include_str!("definitions.txt");
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), DEFINITIONS.len());
        for definition in DEFINITIONS.iter().filter(|definition| definition.kind != Kind::Internal) {
            let shown = checked(definition, definition.default);
            assert_eq!(shown.ok().as_deref(), Some(definition.default), "{}", definition.name);
        }
    }
}
