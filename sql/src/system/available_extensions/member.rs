//! What an extension consists of.

use hyades_types::definition::{DeclaredVolatility, Returns};
use hyades_types::extension::ExtensionType;
use hyades_types::value::SqlType;

/// What a function of an extension returns.
pub(crate) enum Results {
    Value(SqlType),
    SetOf(SqlType),
    /// Rows of columns with these names.
    Table(&'static [(&'static str, SqlType)]),
}

/// A function of an extension.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static [SqlType],
    pub(crate) results: Results,
    pub(crate) volatility: DeclaredVolatility,
    pub(crate) is_strict: bool,
    pub(crate) body: &'static str,
}

impl Member {
    /// The same, which is also called with NULL.
    pub(super) const fn called_on_null(self) -> Member {
        Member { is_strict: false, ..self }
    }

    pub(crate) fn returns(&self) -> Returns {
        match self.results {
            Results::Value(sql_type) => Returns::Value(sql_type),
            Results::SetOf(sql_type) => Returns::SetOf(sql_type),
            Results::Table(columns) => Returns::Table(
                columns.iter().map(|(name, sql_type)| ((*name).to_owned(), *sql_type)).collect(),
            ),
        }
    }
}

pub(super) const fn member(
    name: &'static str,
    arguments: &'static [SqlType],
    result: SqlType,
    volatility: DeclaredVolatility,
    body: &'static str,
) -> Member {
    let results = Results::Value(result);
    Member { name, arguments, results, volatility, is_strict: true, body }
}

/// A function that returns rows and is immutable.
pub(super) const fn set(
    name: &'static str,
    arguments: &'static [SqlType],
    results: Results,
    body: &'static str,
) -> Member {
    Member { name, arguments, results, volatility: DeclaredVolatility::Immutable, is_strict: true, body }
}

/// An extension that can be created.
pub(crate) struct Available {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) comment: &'static str,
    pub(crate) members: &'static [Member],
}

impl Available {
    /// The type that it brings, which has its name.
    pub(crate) fn brings(&self) -> Option<ExtensionType> {
        ExtensionType::named(self.name)
    }
}
