//! Where names without a schema lead to, and what the schema of a name means.
//!
//! A session's temporary relations have a schema of their own, `pg_temp_` and a number, which is searched
//! before all others unless the path names it at another place. It is called `pg_temp` by its session, and
//! does not exist for the others.
//!
//! Reference: RangeVarGetRelidExtended and RangeVarGetCreationNamespace of PostgreSQL's namespace.c.

use crate::definition::TableName;

/// What a session calls the schema of its own temporary relations.
pub const TEMPORARY: &str = "pg_temp";

/// The schema where tables are made unless something else is said.
pub const PUBLIC: &str = "public";

/// Whether a schema is one of those that hold the catalog, which are always there.
pub fn is_system(schema: &str) -> bool {
    matches!(schema, "pg_catalog" | "information_schema" | "pg_toast")
}

/// The schemas that names are looked up in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// The schema of the session's temporary relations; `None` if it has had none.
    temporary: Option<String>,
    /// The schemas of the path that are there, in order. [`TEMPORARY`] stands for itself.
    schemas: Vec<String>,
}

impl Default for SearchPath {
    fn default() -> SearchPath {
        SearchPath { temporary: None, schemas: vec![PUBLIC.to_owned()] }
    }
}

impl SearchPath {
    /// The path of these schemas, which exist, or are [`TEMPORARY`].
    pub fn new(schemas: Vec<String>, temporary: Option<String>) -> SearchPath {
        SearchPath { temporary, schemas }
    }

    /// The schema of the session's temporary relations, if it has had any.
    pub fn temporary(&self) -> Option<&str> {
        self.temporary.as_deref()
    }

    /// The schemas as the path has them, those that are always searched left out.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.schemas.iter().filter_map(|schema| self.own(schema))
    }

    /// A schema of the path by its real name; `None` for that of temporary relations where there are none.
    fn own<'p>(&'p self, schema: &'p str) -> Option<&'p str> {
        if schema == TEMPORARY { self.temporary() } else { Some(schema) }
    }

    /// Whether a name without a schema can lead to one schema only.
    pub fn is_plain(&self) -> bool {
        self.temporary.is_none() && self.schemas.iter().filter(|schema| *schema != "pg_catalog").count() <= 1
    }

    /// The schemas in which relations are looked up, in order; without the catalog.
    pub fn searched(&self) -> impl Iterator<Item = &str> {
        let is_named = self.schemas.iter().any(|schema| schema == TEMPORARY);
        let first = self.temporary().filter(|_| !is_named);
        first.into_iter().chain(self.named()).filter(|schema| *schema != "pg_catalog")
    }

    /// The schemas in which routines are looked up: never that of temporary relations.
    pub fn searched_for_routines(&self) -> impl Iterator<Item = &str> {
        self.named().filter(|schema| *schema != "pg_catalog" && Some(*schema) != self.temporary())
    }

    /// The same with this schema before all others.
    #[must_use]
    pub fn with_first(&self, schema: &str) -> SearchPath {
        let mut schemas = vec![schema.to_owned()];
        schemas.extend(self.schemas.iter().filter(|other| *other != schema).cloned());
        SearchPath { temporary: self.temporary.clone(), schemas }
    }

    /// Where something new goes whose name has no schema. It may be [`TEMPORARY`].
    pub fn created_in(&self) -> Option<&str> {
        self.schemas.first().map(String::as_str)
    }

    /// The schema that this one, as written, means for the session; an empty one, which has nothing, if it is
    /// not the session's.
    pub fn schema<'p>(&'p self, written: &'p str) -> &'p str {
        if written == TEMPORARY {
            return self.temporary().unwrap_or_default();
        }
        let is_of_another = is_temporary(written) && Some(written) != self.temporary();
        if is_of_another { "" } else { written }
    }

    /// The name that these parts mean: the first that `is_there` along the path. If none is, it is the one
    /// that messages are about.
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

/// Whether a schema is one of temporary relations, of whatever session.
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
