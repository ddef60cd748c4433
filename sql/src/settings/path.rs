//! `search_path`: which schemas unqualified names mean.
//!
//! There is one schema for tables and routines, `public`, and the functions of `pg_catalog`, which are found
//! always. So all that a path decides is whether `public` is among its schemas, and where CREATE would
//! create.
//!
//! Reference: SplitIdentifierString of varlena.c, quote_identifier of ruleutils.c.

use crate::statement::names::DEFAULT_SCHEMA;

/// What a path means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SearchPath {
    /// Whether unqualified names find what is in `public`.
    pub(crate) sees_public: bool,
    /// The first schema that exists, where CREATE creates.
    pub(crate) first: Option<Schema>,
}

/// The schemas that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schema {
    Public,
    Catalog,
}

impl Schema {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Schema::Public => DEFAULT_SCHEMA,
            Schema::Catalog => "pg_catalog",
        }
    }
}

impl Default for SearchPath {
    fn default() -> SearchPath {
        SearchPath { sees_public: true, first: Some(Schema::Public) }
    }
}

impl SearchPath {
    /// A path that was checked with [`schemas`] before.
    pub(crate) fn of(path: &str, user: &str) -> SearchPath {
        let known = schemas(path).unwrap_or_default().into_iter().filter_map(|schema| {
            let schema = if schema == "$user" { user.to_owned() } else { schema };
            [Schema::Public, Schema::Catalog].into_iter().find(|known| known.name() == schema)
        });
        let known: Vec<Schema> = known.collect();
        SearchPath { sees_public: known.contains(&Schema::Public), first: known.first().copied() }
    }

    /// The schema that an unqualified name is looked up in; empty where none can have it.
    pub(crate) fn schema(self) -> &'static str {
        if self.sees_public { DEFAULT_SCHEMA } else { "" }
    }
}

/// The names of a list: folded to lower case unless they stand in double quotes. `None` if it is no list.
pub(crate) fn schemas(path: &str) -> Option<Vec<String>> {
    let mut rest = path.trim();
    let mut names = Vec::new();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted)?,
            None => {
                let end = rest.find([',', '"']).unwrap_or(rest.len());
                let name = rest[..end].trim_end();
                let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
                (is_name.then(|| name.to_ascii_lowercase())?, &rest[end..])
            }
        };
        names.push(name);
        rest = behind.trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// The name up to the closing quote, and what stands behind it.
fn quoted_name(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (part, behind) = rest.split_once('"')?;
        name.push_str(part);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, behind)),
        }
    }
}
