//! Stored definitions as a reader would write them: without schemas where the reader's path finds the same
//! object.
//!
//! A stored text gives every relation and routine with its schema, and no other name has one
//! (`bind::deparse`). So a name in front of a dot is a schema if there is such a relation or routine in it.
//! Otherwise it is the relation of a column.

use hyades_types::definition::TableName;

use super::object_id;
use super::snapshot::System;
use crate::statement::lexer::TokenKind;
use crate::statement::tokens::Tokens;

impl System {
    /// See the module head.
    pub(super) fn unqualified(&self, kept: &str) -> String {
        let Ok(mut tokens) = Tokens::new(kept) else { return kept.to_owned() };
        let (mut shown, mut copied) = (String::with_capacity(kept.len()), 0);
        let mut is_after_dot = false;
        while tokens.peek().kind != TokenKind::End {
            let start = tokens.peek().start;
            if !is_after_dot && let Ok(name) = tokens.qualified_name() {
                let Some(schema) = name.schema else { continue };
                let is_call = tokens.peek().is_symbol("(");
                let name = TableName { schema, name: name.name };
                if self.needs_no_schema(&name, is_call) {
                    let point = kept[start..].find('.').map_or(start, |at| start + at + 1);
                    shown.push_str(&kept[copied..start]);
                    copied = point;
                }
                continue;
            }
            is_after_dot = tokens.next().is_symbol(".");
        }
        shown.push_str(&kept[copied..]);
        shown
    }

    fn needs_no_schema(&self, name: &TableName, is_call: bool) -> bool {
        let schema = self.schema_oid(&name.schema);
        if schema == 0 {
            return false;
        }
        if is_call {
            let routines = self.facts.routines.iter();
            let mut named = routines.filter(|routine| routine.definition.name == *name).peekable();
            return named.peek().is_some()
                && named.all(|routine| self.is_routine_visible(&routine.definition));
        }
        let is_there = self.classes.iter().any(|class| class.schema == schema && class.name == name.name);
        if self.is_visible_type(name) {
            return true;
        }
        (is_there || schema == object_id::PG_CATALOG) && self.is_visible(schema, &name.name)
    }

    /// `pg_get_viewdef`
    pub(super) fn view_text(&self, at: usize, is_pretty: bool) -> Option<String> {
        let view = self.definitions[at].view()?;
        Some(format!("{};", self.unqualified(if is_pretty { &view.pretty } else { &view.query })))
    }
}
