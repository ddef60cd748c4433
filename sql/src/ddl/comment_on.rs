//! COMMENT ON: the object that the comment is on.
//!
//! Reference: CommentObject of PostgreSQL's comment.c, get_object_address of objectaddress.c.

use hyades_types::definition::{CatalogChange, CommentPart, CommentTarget};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::sequence::not_a_sequence;
use hyades_types::value::SqlType;

use super::alteration::no_column;
use super::command::{CatalogStatement, SchemaCommand};
use super::schemas::no_schema;
use super::triggers::no_trigger;
use super::types::no_type;
use crate::emit::Compiler;
use crate::statement::{Comment, Commented, QualifiedName};
use crate::viewpoint::Viewpoint;

impl Compiler<'_> {
    pub(crate) fn comment(&self, comment: &Comment) -> Result<CatalogStatement> {
        let on = match comment.on.clone() {
            Commented::Table => Commented::Table,
            Commented::View => Commented::View,
            Commented::MaterializedView => Commented::MaterializedView,
            Commented::Index => Commented::Index,
            Commented::Sequence => Commented::Sequence,
            Commented::Type => Commented::Type,
            Commented::Schema => Commented::Schema,
            Commented::Column(column) => Commented::Column(column),
            Commented::Constraint(constraint) => Commented::Constraint(constraint),
            Commented::Trigger(trigger) => Commented::Trigger(trigger),
            Commented::Extension => Commented::Extension,
            Commented::Cast(types) => Commented::Cast(self.cast_types(&types)?),
            Commented::Routine { kind, arguments } => {
                Commented::Routine { kind, arguments: self.signature(arguments.as_deref())? }
            }
        };
        let (name, text) = (comment.name.clone(), comment.text.clone());
        Ok(CatalogStatement::new("COMMENT", SchemaCommand::Comment { on, name, text }))
    }
}

fn wrong_kind<T>(name: &str, kind: &str) -> Result<T> {
    Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {kind}")))
}

impl Viewpoint {
    pub(super) fn commented(
        &self,
        on: &Commented<Vec<SqlType>>,
        name: &QualifiedName,
        text: Option<&str>,
    ) -> Result<Vec<CatalogChange>> {
        let (object, part) = match on {
            Commented::Schema => {
                let schemas = self.worker.catalog_view().schemas();
                let id = schemas.get(&name.name).ok_or_else(|| no_schema(&name.name))?;
                (id.0, CommentPart::Whole)
            }
            Commented::Type => match self.stored_type(name) {
                Some(stored) => (stored.id(), CommentPart::Whole),
                None => return Err(no_type(name)),
            },
            Commented::Routine { kind, arguments } => {
                let routine = self.routine_meant((*kind, arguments.as_deref()), name)?;
                (routine.id.0, CommentPart::Whole)
            }
            Commented::Cast(types) => (self.cast_meant(types)?.id.0, CommentPart::Whole),
            Commented::Extension => return self.commented_extension(&name.name, text),
            relation => self.commented_relation(relation, name)?,
        };
        let (on, text) = (CommentTarget { object, part }, text.map(str::to_owned));
        Ok(vec![CatalogChange::Comment { on, text }])
    }

    fn commented_relation(
        &self,
        on: &Commented<Vec<SqlType>>,
        name: &QualifiedName,
    ) -> Result<(u32, CommentPart)> {
        let full = self.meant(name);
        let found = self.table(&full);
        let Some(table) = found else {
            if let Some(sequence) = self.worker.catalog_view().sequence_named(&full) {
                return match on {
                    Commented::Sequence => Ok((sequence.id.0, CommentPart::Whole)),
                    other => wrong_kind(&full.name, other.article()),
                };
            }
            return match (self.commented_index(&full), on) {
                (Some(index), Commented::Index) => Ok(index),
                (Some(_), Commented::Sequence) => Err(not_a_sequence(&full.name)),
                (Some(_), other) => wrong_kind(&full.name, other.article()),
                (None, _) => Err(self.no_relation(name)),
            };
        };
        let definition = table.definition();
        let part = match (on, definition.word()) {
            (Commented::Table, "table")
            | (Commented::View, "view")
            | (Commented::MaterializedView, "materialized view") => CommentPart::Whole,
            (Commented::Column(column), _) => {
                let at = definition.column_index(column).ok_or_else(|| no_column(&definition, column))?;
                CommentPart::Column(definition.column_number(at))
            }
            (Commented::Constraint(constraint), _) => match definition.has_constraint(constraint) {
                true => CommentPart::Constraint(constraint.clone()),
                false => {
                    let table = &definition.name.name;
                    let message = format!("constraint \"{constraint}\" for table \"{table}\" does not exist");
                    return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message));
                }
            },
            (Commented::Trigger(trigger), _) => match definition.trigger(trigger) {
                Some(_) => CommentPart::Trigger(trigger.clone()),
                None => return Err(no_trigger(&definition, trigger)),
            },
            (Commented::Sequence, _) => return Err(not_a_sequence(&full.name)),
            (other, _) => return wrong_kind(&full.name, other.article()),
        };
        Ok((table.id().0, part))
    }

    fn commented_index(&self, name: &hyades_types::definition::TableName) -> Option<(u32, CommentPart)> {
        let found = self.index_named(name)?;
        Some(match found.index {
            Some(id) => (id.0, CommentPart::Whole),
            None => (found.table.id().0, CommentPart::PrimaryKeyIndex),
        })
    }
}

impl<A> Commented<A> {
    /// The kind with its article, as in messages that say something is not of this kind.
    fn article(&self) -> &'static str {
        match self {
            Commented::View => "a view",
            Commented::MaterializedView => "a materialized view",
            Commented::Index => "an index",
            Commented::Sequence => "a sequence",
            _ => "a table",
        }
    }
}
