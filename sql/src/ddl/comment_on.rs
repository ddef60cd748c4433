//! COMMENT ON.

use hyades_types::error::Result;

use super::command::{CatalogStatement, SchemaCommand};
use crate::emit::Compiler;
use crate::statement::{Comment, Commented};

impl Compiler<'_> {
    pub(crate) fn comment(&self, comment: &Comment) -> Result<CatalogStatement> {
        let on = match comment.on.clone() {
            Commented::Table => Commented::Table,
            Commented::View => Commented::View,
            Commented::Index => Commented::Index,
            Commented::Sequence => Commented::Sequence,
            Commented::Type => Commented::Type,
            Commented::Schema => Commented::Schema,
            Commented::Column(column) => Commented::Column(column),
            Commented::Constraint(constraint) => Commented::Constraint(constraint),
            Commented::Routine { kind, arguments } => {
                Commented::Routine { kind, arguments: self.signature(arguments.as_deref())? }
            }
        };
        let (name, text) = (comment.name.clone(), comment.text.clone());
        Ok(CatalogStatement::new("COMMENT", SchemaCommand::Comment { on, name, text }))
    }
}
