//! COMMENT ON.

use crate::emit::Compiler;
use crate::plan::{Plan, SchemaCommand};
use crate::statement::{Comment, Commented};
use hyades_types::error::Result;

impl Compiler<'_> {
    pub(crate) fn comment(&self, comment: &Comment) -> Result<Plan> {
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
        Ok(Plan::schema("COMMENT", SchemaCommand::Comment { on, name, text }))
    }
}
