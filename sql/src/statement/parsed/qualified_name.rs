//! The name of an object, as written.

/// A possibly qualified name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QualifiedName {
    /// Only the current database may be named (`crate::statement::written_names`).
    pub(crate) database: Option<String>,
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
}

impl QualifiedName {
    /// A name in the current database.
    pub(crate) fn new(schema: Option<String>, name: String) -> QualifiedName {
        QualifiedName { database: None, schema, name }
    }

    /// The name as it was written.
    pub(crate) fn shown(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        }
    }
}
