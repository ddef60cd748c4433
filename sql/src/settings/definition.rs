//! Which settings there are: `definitions.txt`, read once.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::SERVER_VERSION;
use super::number::Unit;

/// Which values a setting takes.
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
    /// Values; those that begin with `~` are taken and not told of, perhaps as another one: `~debug=debug2`.
    Choice(Vec<&'static str>),
    /// Values that work, and values that PostgreSQL has and that are refused.
    Limited(Vec<&'static str>, Vec<&'static str>),
    /// The language of messages, and how numbers, money and times look.
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
    /// PostgreSQL's word for it.
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
    /// As shown: `TimeZone`.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// As SHOW prints it.
    pub(super) default: &'static str,
    /// Told to the client with ParameterStatus when it changes.
    pub(super) is_reported: bool,
    /// Every other value would change what is answered or promised, and does not.
    pub(super) is_fixed: bool,
    /// Least and greatest value, as `pg_settings` shows them; empty for what is no number.
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
    Some(Definition { name, kind, default, is_reported, is_fixed, range, category, description })
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
