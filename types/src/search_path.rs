//! Resolves names without a schema, and the schema part of other names.
//!
//! A session's temporary relations have a schema of their own, `pg_temp_` and a number, which is searched
//! before all others unless the path puts it elsewhere. Its own session calls it `pg_temp`; to other sessions
//! it does not exist.
//!
//! Reference: RangeVarGetRelidExtended and RangeVarGetCreationNamespace of PostgreSQL's namespace.c.

use crate::definition::TableName;

pub use crate::identifier::PUBLIC;

/// A session's name for the schema of its own temporary relations.
pub const TEMPORARY: &str = "pg_temp";

/// Whether a schema is one of those that hold the catalog, which always exist.
pub fn is_system(schema: &str) -> bool {
    matches!(schema, "pg_catalog" | "information_schema" | "pg_toast")
}

/// The schemas in which names are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// The schema of the session's temporary relations; `None` if it has had none.
    temporary: Option<String>,
    /// The existing schemas of the path, in order. [`TEMPORARY`] stands for itself.
    schemas: Vec<String>,
}

impl Default for SearchPath {
    fn default() -> SearchPath {
        SearchPath { temporary: None, schemas: vec![PUBLIC.to_owned()] }
    }
}

impl SearchPath {
    /// The path of these schemas, each of which exists or is [`TEMPORARY`].
    pub fn new(schemas: Vec<String>, temporary: Option<String>) -> SearchPath {
        SearchPath { temporary, schemas }
    }

    /// The schema of the session's temporary relations, if it has had any.
    pub fn temporary(&self) -> Option<&str> {
        self.temporary.as_deref()
    }

    /// The schemas as the path has them, without those that are always searched.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.schemas.iter().filter_map(|schema| self.own(schema))
    }

    /// A schema of the path by its real name; `None` for that of temporary relations if there are none.
    fn own<'p>(&'p self, schema: &'p str) -> Option<&'p str> {
        if schema == TEMPORARY { self.temporary() } else { Some(schema) }
    }

    /// Whether a name without a schema can be in one schema only.
    pub fn is_plain(&self) -> bool {
        self.temporary.is_none() && self.schemas.iter().filter(|schema| *schema != "pg_catalog").count() <= 1
    }

    /// The schemas in which relations are looked up, in order, without the catalog.
    pub fn searched(&self) -> impl Iterator<Item = &str> {
        let is_named = self.schemas.iter().any(|schema| schema == TEMPORARY);
        let first = self.temporary().filter(|_| !is_named);
        first.into_iter().chain(self.named()).filter(|schema| *schema != "pg_catalog")
    }

    /// The schemas in which routines are looked up, which never include that of temporary relations.
    pub fn searched_for_routines(&self) -> impl Iterator<Item = &str> {
        self.named().filter(|schema| *schema != "pg_catalog" && Some(*schema) != self.temporary())
    }

    /// The same path with this schema before all others.
    #[must_use]
    pub fn with_first(&self, schema: &str) -> SearchPath {
        let mut schemas = vec![schema.to_owned()];
        schemas.extend(self.schemas.iter().filter(|other| *other != schema).cloned());
        SearchPath { temporary: self.temporary.clone(), schemas }
    }

    /// The schema in which an object is created whose name has no schema. It may be [`TEMPORARY`].
    pub fn created_in(&self) -> Option<&str> {
        self.schemas.first().map(String::as_str)
    }

    /// The schema that the session means by this name; an empty one, which contains nothing, for another
    /// session's temporary schema.
    pub fn schema<'p>(&'p self, written: &'p str) -> &'p str {
        if written == TEMPORARY {
            return self.temporary().unwrap_or_default();
        }
        let is_of_another = is_temporary(written) && Some(written) != self.temporary();
        if is_of_another { "" } else { written }
    }

    /// The full name for these parts: the first along the path for which `is_there` holds. If there is none,
    /// it is the name that messages should mention.
    pub fn find(
        &self,
        schema: Option<&str>,
        name: &str,
        mut is_there: impl FnMut(&TableName) -> bool,
    ) -> TableName {
        let full = |schema: &str| TableName { schema: schema.to_owned(), name: name.to_owned() };
        if let Some(schema) = schema {
            return full(self.schema(schema));
        }
        let mut searched = self.searched();
        let first = full(searched.next().unwrap_or_default());
        let mut next = searched.next();
        if next.is_none() || is_there(&first) {
            return first;
        }
        while let Some(schema) = next {
            let candidate = full(schema);
            if is_there(&candidate) {
                return candidate;
            }
            next = searched.next();
        }
        self.named().find(|schema| *schema != "pg_catalog").map_or(first, full)
    }
}

/// Whether a schema is one for temporary relations, of any session.
pub fn is_temporary(schema: &str) -> bool {
    schema.strip_prefix("pg_temp_").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    //! Paths with and without temporary relations.

    use super::*;

    fn path(schemas: &[&str], temporary: Option<&str>) -> SearchPath {
        SearchPath::new(
            schemas.iter().map(|&schema| schema.to_owned()).collect(),
            temporary.map(str::to_owned),
        )
    }

    #[test]
    fn temporary_relations_come_first_unless_the_path_says_otherwise() {
        let own = Some("pg_temp_3");
        assert!(path(&["a", "b"], own).searched().eq(["pg_temp_3", "a", "b"]));
        assert!(path(&["a", "pg_temp", "b"], own).searched().eq(["a", "pg_temp_3", "b"]));
        assert!(path(&["a", "pg_temp"], None).searched().eq(["a"]));
        assert!(path(&["pg_temp", "a"], own).searched_for_routines().eq(["a"]));
    }

    #[test]
    fn a_name_leads_to_the_first_schema_that_has_it() {
        let path = path(&["pg_catalog", "a", "b"], Some("pg_temp_3"));
        let found = |name: &TableName| name.schema == "b";
        assert_eq!(path.find(None, "t", found).schema, "b");
        assert_eq!(path.find(None, "t", |_| false).schema, "a");
        assert_eq!(path.find(Some("pg_temp"), "t", found).schema, "pg_temp_3");
        assert_eq!(path.find(Some("pg_temp_4"), "t", found).schema, "");
    }
}
