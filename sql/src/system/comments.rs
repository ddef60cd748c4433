//! Comments on objects: `pg_description`, and the functions that show one.

use hyades_types::definition::{CommentPart, RoutineId, SequenceId};
use hyades_types::search_path::PUBLIC;
use hyades_types::value::Value;

use super::builtins;
use super::cluster;
use super::object_id::{self, Part};
use super::row::{NamedRow, int4, oid, text};
use super::snapshot::System;

/// A comment: the number of the object, of its catalog and of a column, and the text.
type Shown<'s> = (u32, u32, u16, &'s str);

/// The numbers of catalogs by name.
const CATALOGS: [(&str, u32); 10] = [
    ("pg_extension", object_id::PG_EXTENSION),
    ("pg_language", object_id::PG_LANGUAGE),
    ("pg_class", object_id::PG_CLASS),
    ("pg_proc", object_id::PG_PROC),
    ("pg_operator", object_id::PG_OPERATOR),
    ("pg_cast", object_id::PG_CAST),
    ("pg_type", object_id::PG_TYPE),
    ("pg_namespace", object_id::PG_NAMESPACE),
    ("pg_constraint", object_id::PG_CONSTRAINT),
    ("pg_trigger", object_id::PG_TRIGGER),
];

impl System {
    /// The comments on existing objects.
    fn comments(&self) -> impl Iterator<Item = Shown<'_>> {
        let public = self.schema_oid(PUBLIC);
        let is_own = public != 0 && !self.facts.comments.iter().any(|(on, _)| on.object == public);
        let standard = (public, object_id::PG_NAMESPACE, 0, cluster::PUBLIC_COMMENT);
        let said = self.facts.comments.iter().filter_map(|(on, comment)| {
            let (number, catalog, column) = self.place_of(on.object, &on.part)?;
            Some((number, catalog, column, &**comment))
        });
        let of_system = cluster::COMMENTS.map(|(own, catalog, text)| (own, catalog, 0, text));
        let built_in = builtins::COMMENTS.iter().map(|(own, catalog, text)| (*own, *catalog, 0, *text));
        said.chain(is_own.then_some(standard)).chain(of_system).chain(built_in)
    }

    fn place_of(&self, object: u32, part: &CommentPart) -> Option<(u32, u32, u16)> {
        if let Some(table) = self.definition(object) {
            return Some(match part {
                CommentPart::Whole => (object, object_id::PG_CLASS, 0),
                CommentPart::Column(column) => (object, object_id::PG_CLASS, *column),
                CommentPart::Constraint(name) if table.has_constraint(name) => {
                    (object_id::of_part(object, Part::Constraint, name), object_id::PG_CONSTRAINT, 0)
                }
                CommentPart::PrimaryKeyIndex => {
                    let name = &table.primary_key.as_ref()?.name;
                    (object_id::of_part(object, Part::Index, name), object_id::PG_CLASS, 0)
                }
                CommentPart::Trigger(name) if table.trigger(name).is_some() => {
                    (object_id::of_part(object, Part::Trigger, name), object_id::PG_TRIGGER, 0)
                }
                CommentPart::Constraint(_) | CommentPart::Trigger(_) => return None,
            });
        }
        if self.class(object).is_some() {
            return Some((object, object_id::PG_CLASS, 0));
        }
        let sequence = object_id::of_sequence(SequenceId(object));
        if self.facts.sequences.iter().any(|own| own.id.0 == object) {
            return Some((sequence, object_id::PG_CLASS, 0));
        }
        if self.facts.routines.iter().any(|own| own.id.0 == object) {
            return Some((object_id::of_routine(RoutineId(object)), object_id::PG_PROC, 0));
        }
        if self.facts.casts.iter().any(|own| own.id.0 == object) {
            return Some((object_id::of_routine(RoutineId(object)), object_id::PG_CAST, 0));
        }
        if self.facts.types.iter().any(|own| own.id() == object) {
            return Some((object, object_id::PG_TYPE, 0));
        }
        let is_schema = self.schemas.iter().any(|(own, _)| *own == object);
        is_schema.then_some((object, object_id::PG_NAMESPACE, 0))
    }

    /// `pg_description`
    pub(super) fn description_rows(&self) -> Vec<NamedRow> {
        let row = |(number, catalog, column, comment): Shown<'_>| {
            vec![
                ("objoid", oid(number)),
                ("classoid", oid(catalog)),
                ("objsubid", int4(column)),
                ("description", text(comment)),
            ]
        };
        self.comments().map(row).collect()
    }

    /// `obj_description` with a catalog's name or without, `col_description` with a column's number.
    pub(super) fn description(&self, number: u32, of: Option<&Value>) -> Value {
        let (catalog, column) = match of {
            Some(Value::Text(name)) => {
                let Some((_, catalog)) = CATALOGS.into_iter().find(|(own, _)| own == name) else {
                    return Value::Null;
                };
                (Some(catalog), 0)
            }
            Some(column) => (
                Some(object_id::PG_CLASS),
                column.as_i64().and_then(|own| u16::try_from(own).ok()).unwrap_or(0),
            ),
            None => (None, 0),
        };
        let is_meant = |(own, own_catalog, own_column, _): &Shown<'_>| {
            *own == number && *own_column == column && catalog.is_none_or(|wanted| wanted == *own_catalog)
        };
        self.comments().find(is_meant).map_or(Value::Null, |(.., comment)| text(comment))
    }
}
