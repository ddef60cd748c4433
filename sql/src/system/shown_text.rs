//! Stored definitions as a reader would write them: without schemas where the reader's path finds the same
//! object.
//!
//! A stored text gives every relation, routine and type with its schema (`statement::kept_names`). It is
//! rendered here each time it is read, so it follows the reader's path and every change of a name.

use hyades_types::definition::TableName;
use hyades_types::function::lookup;
use hyades_types::search_path::PUBLIC;

use super::class::{Class, ClassKind};
use super::constraints::RETURN_RULE;
use super::data_types;
use super::names::quoted;
use super::object_id::{self, Part};
use super::snapshot::System;
use crate::statement::deep_text::with_stack_for;
use crate::statement::kept_names::{NameOf, full_name, respelled_expression, respelled_query};
use crate::statement::standard_body::statements;

/// Functions and aggregates that are found before those of users and that are in no list of the catalogue.
const OTHERS: &[&str] = &[
    "avg",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "currval",
    "every",
    "generate_series",
    "grouping",
    "lastval",
    "max",
    "min",
    "mode",
    "nextval",
    "percentile_cont",
    "percentile_disc",
    "row",
    "setval",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "unnest",
    "user",
    "var_pop",
    "var_samp",
    "variance",
    "version",
];
/// What names of such functions begin with.
const BEGINNINGS: &[&str] = &[
    "array_", "bit_", "covar_", "current_", "enum_", "json", "pg_", "regr_", "row_to_", "session_", "to_json",
];

/// As long as SELECT, which stands for it.
const RETURN: &str = "RETURN";

/// The byte at which this character begins.
fn byte_at(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

/// Whether a call of this name without a schema may mean a function of the catalogue.
fn is_of_catalogue(name: &str) -> bool {
    !lookup(name).is_empty()
        || data_types::written(name).is_some()
        || OTHERS.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

impl System {
    /// An expression. See the module head.
    pub(super) fn unqualified(&self, kept: &str) -> String {
        if !self.may_name(kept) {
            return kept.to_owned();
        }
        let shown = with_stack_for(kept, || {
            respelled_expression(kept, &|of, schema, name| self.reader_name(of, schema, name))
        });
        shown.ok().flatten().unwrap_or_else(|| kept.to_owned())
    }

    /// Whether the text may name an object. Parsing those that cannot would make lists of defaults slow.
    fn may_name(&self, kept: &str) -> bool {
        kept.contains('.') || self.facts.types.iter().any(|stored| kept.contains(&stored.name().name))
    }

    /// The name as the reader would write it, or `None` if it stays as it is kept.
    fn reader_name(&self, of: NameOf, schema: Option<&str>, name: &str) -> Option<String> {
        let full = |schema: &str| TableName { schema: schema.to_owned(), name: name.to_owned() };
        match (of, schema) {
            (NameOf::Type, schema) => {
                // Texts of older versions leave out `public`.
                let full = full(schema.unwrap_or(PUBLIC));
                let shown = if self.is_visible_type(&full) { quoted(name) } else { full_name(&full) };
                self.type_named(&full).map(|_| shown)
            }
            (NameOf::Relation, Some(schema)) => self.finds_relation(&full(schema)).then(|| quoted(name)),
            (NameOf::Routine, Some(schema)) => self.finds_routine(&full(schema)).then(|| quoted(name)),
            (_, None) => None,
        }
    }

    /// Whether the name without its schema means the same routines, whatever the arguments are.
    fn finds_routine(&self, name: &TableName) -> bool {
        if is_of_catalogue(&name.name) {
            return false;
        }
        let path: Vec<&str> = self.facts.path.searched_for_routines().collect();
        let names = self.facts.routines.iter().map(|routine| &routine.definition.name);
        let is_found = |found: &&TableName| found.name == name.name && path.contains(&found.schema.as_str());
        let mut found = names.filter(is_found).peekable();
        found.peek().is_some() && found.all(|found| found.schema == name.schema)
    }

    fn finds_relation(&self, name: &TableName) -> bool {
        let schema = self.schema_oid(&name.schema);
        let is_there = self.classes.iter().any(|class| class.schema == schema && class.name == name.name);
        schema != 0 && (is_there || schema == object_id::PG_CATALOG) && self.is_visible(schema, &name.name)
    }

    /// `pg_get_viewdef`
    pub(super) fn view_text(&self, at: usize, is_pretty: bool) -> Option<String> {
        let view = self.definitions[at].source()?;
        let kept = if is_pretty { &view.pretty } else { &view.query };
        let shown = with_stack_for(kept, || {
            respelled_query(kept, &|of, schema, name| self.reader_name(of, schema, name))
        });
        Some(format!("{};", shown.ok().flatten().as_deref().unwrap_or(kept)))
    }

    /// The body of a routine in standard SQL.
    pub(super) fn shown_body(&self, kept: &str) -> String {
        let respell = |of: NameOf, schema: Option<&str>, name: &str| self.reader_name(of, schema, name);
        let shown = with_stack_for(kept, || {
            let mut shown = String::with_capacity(kept.len());
            let mut copied = 0;
            for part in statements(kept)? {
                let (at, length) = (byte_at(kept, part.start), part.text.len());
                shown.push_str(&kept[copied..at]);
                let text = respelled_query(&part.text, &respell)?.unwrap_or(part.text);
                match part.is_return {
                    true => shown.push_str(&format!("{RETURN}{}", &text[RETURN.len()..])),
                    false => shown.push_str(&text),
                }
                copied = at + length;
            }
            shown.push_str(&kept[copied..]);
            Ok::<String, hyades_types::error::Error>(shown)
        });
        shown.unwrap_or_else(|_| kept.to_owned())
    }

    /// `pg_get_ruledef` of the rule that a view is.
    pub(super) fn rule_text(&self, oid: u32, is_pretty: bool) -> Option<String> {
        let is_meant = |class: &&Class| object_id::of_part(class.oid, Part::Rule, RETURN_RULE) == oid;
        let class = self.classes.iter().find(is_meant)?;
        let (ClassKind::View(at) | ClassKind::Materialized(at)) = class.kind else { return None };
        let name = &self.definitions[at].name;
        let name = if is_pretty { self.shown_name(name) } else { full_name(name) };
        let query = self.view_text(at, is_pretty)?;
        Some(format!("CREATE RULE \"{RETURN_RULE}\" AS\n    ON SELECT TO {name} DO INSTEAD {query}"))
    }
}
