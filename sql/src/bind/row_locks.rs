//! Locking clauses of SELECT: which items of FROM they lock, and how.

use hyades_engine::procedure::ir::Intent;
use hyades_types::access::Privileges;
use hyades_types::error::{Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::ast::{Distinct, GroupByExpr, Query, Select};

use super::scope::RelationKind;
use super::tree::{JoinGroup, Source};
use super::{Binder, Place};
use crate::statement::locking::{Locking, name_of, unpack};

impl Binder<'_> {
    /// Gives each item of FROM the intent that the query's locking clauses ask for.
    pub(crate) fn lock_items(&self, query: &Query, from: &mut JoinGroup) -> Result<()> {
        for clause in &query.locks {
            let place = clause.of.as_ref().map_or(Place::Unknown, Place::of);
            self.lock_by(&unpack(clause), place, from)?;
        }
        Ok(())
    }

    fn lock_by(&self, locking: &Locking, place: Place, from: &mut JoinGroup) -> Result<()> {
        let clause = name_of(locking.strength);
        if locking.is_qualified {
            let message = format!("{clause} must specify unqualified relation names");
            return self.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        for table in &locking.tables {
            if !self.scope.named().any(|(_, relation)| relation.name == *table) {
                let message = format!("relation \"{table}\" in {clause} clause not found in FROM clause");
                return self.fail(sqlstate::UNDEFINED_TABLE, message, place);
            }
        }
        let mut unseen = locking.tables.clone();
        from.for_each_item_mut(&mut |item, is_nullable| {
            let relation = &self.scope.relations[item.relation];
            let is_named = locking.tables.contains(&relation.name);
            unseen.retain(|table| *table != relation.name);
            if !is_named && !locking.tables.is_empty() {
                return Ok(());
            }
            if let Source::Table { table, .. } = &item.source
                && table.definition().materialized.is_some()
            {
                let name = &table.definition().name.name;
                let message = format!("cannot lock rows in materialized view \"{name}\"");
                return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, Place::Unknown);
            }
            match &item.source {
                // Locking rows keeps others from changing them, so it needs UPDATE.
                Source::Table { table, .. } => match &relation.kind {
                    RelationKind::View(_, view) => self.need_to_change(view, Privileges::UPDATE),
                    _ => self.need_on_table(table, Privileges::UPDATE),
                },
                Source::Query(_) | Source::Working(..) => {
                    return self.unsupported(
                        Missing::LockingClauses,
                        "a locking clause over a query in FROM is",
                        place,
                    );
                }
                Source::Series(_) | Source::Routine(_) if is_named => {
                    let message = format!("{clause} cannot be applied to a function");
                    return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
                }
                Source::Series(_) | Source::Routine(_) => return Ok(()),
            }
            if is_nullable {
                let message = format!("{clause} cannot be applied to the nullable side of an outer join");
                return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, Place::Unknown);
            }
            // If there are several clauses, the strongest applies, and NOWAIT takes precedence over SKIP
            // LOCKED.
            let known = item.locking;
            let strength = known.map_or(locking.strength, |(known, _)| known.max(locking.strength));
            let impatience = known.and_then(|(_, impatience)| impatience).max(locking.impatience);
            item.locking = Some((strength, impatience));
            item.intent = Intent::chosen(strength, impatience);
            Ok(())
        })?;
        // A remaining name is that of a join, or of a relation on the kept side of a full one.
        let relation = self.scope.named().find(|(_, relation)| unseen.contains(&relation.name));
        let Some((_, relation)) = relation else { return Ok(()) };
        let (what, place) = match relation.kind {
            RelationKind::Values(_) => ("a join", place),
            _ => ("the nullable side of an outer join", Place::Unknown),
        };
        self.fail(sqlstate::FEATURE_NOT_SUPPORTED, format!("{clause} cannot be applied to {what}"), place)
    }

    /// Refuses the clauses under which the rows of the result are not read one by one.
    pub(crate) fn check_locking(
        &self,
        query: &Query,
        select: &Select,
        (has_aggregates, has_windows): (bool, bool),
    ) -> Result<()> {
        let Some(clause) = query.locks.first() else { return Ok(()) };
        let is_grouped = match &select.group_by {
            GroupByExpr::Expressions(expressions, _) => !expressions.is_empty(),
            GroupByExpr::All(_) => true,
        };
        let with = if select.distinct.as_ref().is_some_and(|distinct| !matches!(distinct, Distinct::All)) {
            "DISTINCT clause"
        } else if is_grouped {
            "GROUP BY clause"
        } else if select.having.is_some() {
            "HAVING clause"
        } else if has_aggregates {
            "aggregate functions"
        } else if has_windows {
            "window functions"
        } else {
            return Ok(());
        };
        let message = format!("{} is not allowed with {with}", name_of(unpack(clause).strength));
        self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, Place::Unknown)
    }
}
