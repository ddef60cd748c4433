//! WITH RECURSIVE: a query that reads the rows it has found so far.
//!
//! `left UNION [ALL] right`: the rows of the left side are kept. Then the right side runs again and again,
//! each time over the rows that the previous run has added, until it adds none (PostgreSQL's documentation,
//! 7.8.2). Each step runs only when a reader has reached the end of the kept rows, so an outer LIMIT ends it.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier, TableAlias};

use super::derived::{Columns, first_output};
use super::tree::{
    BoundCommonTable, Branch, CommonTable, Item, Recursion, SelfReference, Source, Subquery, SubqueryKind,
    WorkingTable,
};
use super::{Binder, Bound, Place};
use crate::statement::query_end;

impl Binder<'_> {
    /// Binds a query of WITH RECURSIVE: the last of the visible ones.
    pub(super) fn recursive_common(&mut self, common: &CommonTable) -> Result<BoundCommonTable> {
        let name = &common.name;
        let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } =
            common.query.body.as_ref()
        else {
            let message = format!(
                "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
            );
            self.refer_to_self(SelfReference::Refused(message, Some(common.place)));
            return self.plain_common(common);
        };
        let message =
            format!("recursive reference to query \"{name}\" must not appear within its non-recursive term");
        self.refer_to_self(SelfReference::Refused(message, None));
        let (left_place, right_place) = (first_output(left), first_output(right));
        let before = self.handed_over;
        let (left, mut columns) = self.branch(left)?;
        self.rename_columns(common, &mut columns)?;
        let is_distinct = *set_quantifier != SetQuantifier::All;
        let recursion = self.new_recursion(is_distinct)?;
        self.refer_to_self(SelfReference::Working { recursion, columns: columns.clone(), reads: Vec::new() });
        let (right, right_columns) = self.branch(right)?;
        let reads = match self.common_tables.last().map(|common| &common.own) {
            Some(SelfReference::Working { reads, .. }) => reads.len(),
            _ => 0,
        };
        // Enclosing queries do not depend on these reads.
        self.handed_over -= reads;
        if reads == 0 {
            let clause =
                clause_outside(&common.query).map(|(clause, place)| SelfReference::InClause(clause, place));
            self.refer_to_self(clause.unwrap_or(SelfReference::Hidden));
            return self.plain_common(common);
        }
        self.refer_to_self(SelfReference::Hidden);
        self.check_recursive(common)?;
        let right = self.step_of(common, (right, right_place), &right_columns, (&columns, left_place))?;
        let is_independent = self.handed_over == before;
        let query = self.add_subquery(Subquery {
            branch: left,
            kind: SubqueryKind::Start(recursion),
            is_independent,
            sees_changes: false,
            outer: Vec::new(),
        });
        let step = self.add_subquery(Subquery {
            branch: right,
            kind: SubqueryKind::Step(recursion),
            is_independent: false,
            sees_changes: false,
            outer: Vec::new(),
        });
        Ok(BoundCommonTable { query, columns, recursion: Some((step, recursion)) })
    }

    fn refer_to_self(&mut self, own: SelfReference) {
        if let Some(common) = self.common_tables.last_mut() {
            common.own = own;
        }
    }

    fn new_recursion(&mut self, is_distinct: bool) -> Result<Recursion> {
        Ok(Recursion {
            working: WorkingTable {
                spool: self.slots.new_spool()?,
                from: self.new_register()?,
                to: self.new_register()?,
            },
            count: self.new_register()?,
            is_finished: self.new_register()?,
            seen: if is_distinct { Some(self.slots.new_join()?) } else { None },
        })
    }

    /// Checks for what PostgreSQL refuses.
    fn check_recursive(&self, common: &CommonTable) -> Result<()> {
        clause_outside(&common.query).map_or(Ok(()), |(clause, place)| self.fail_of_clause(clause, place))
    }

    fn fail_of_clause<T>(&self, clause: &str, place: Place) -> Result<T> {
        let message = format!("{clause} in a recursive query is not implemented");
        self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place)
    }

    /// References of queries to themselves, so far.
    pub(super) fn self_references(&self) -> usize {
        let reads = |common: &CommonTable| match &common.own {
            SelfReference::Working { reads, .. } => reads.len(),
            _ => 0,
        };
        self.common_tables.iter().map(reads).sum()
    }

    /// Fails because the last reference is on the nullable side of an outer join.
    pub(super) fn fail_in_outer_join<T>(&self) -> Result<T> {
        let last = self.common_tables.iter().rev().find_map(|common| match &common.own {
            SelfReference::Working { reads, .. } => reads.last().map(|place| (&common.name, *place)),
            _ => None,
        });
        let (name, place) = last.map_or(("", Place::Unknown), |(name, place)| (name.as_str(), place));
        let message = format!("recursive reference to query \"{name}\" must not appear within an outer join");
        self.fail(sqlstate::INVALID_RECURSION, message, place)
    }

    /// The right side with its values converted to the types of the left one.
    fn step_of(
        &mut self,
        common: &CommonTable,
        (right, right_place): (Branch, Place),
        found: &Columns,
        (columns, left_place): (&Columns, Place),
    ) -> Result<Branch> {
        if found.len() != columns.len() {
            let message = "each UNION query must have the same number of columns";
            return self.fail(sqlstate::SYNTAX_ERROR, message, right_place);
        }
        for (at, ((_, own), (_, sql_type))) in columns.iter().zip(found).enumerate() {
            let typed =
                [*own, *sql_type].map(|sql_type| Bound::typed(Expr::Register(0), sql_type, Place::Unknown));
            let overall = self.common_type(&typed, "UNION")?;
            if overall != *own {
                return Err(self.place(mismatch(&common.name, at, *own, overall), left_place));
            }
        }
        self.retyped(right, found, columns)
    }

    /// A reference of a query to itself.
    pub(super) fn working_item(
        &mut self,
        at: usize,
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<Item> {
        let common = &mut self.common_tables[at];
        let (name, working, columns) = match &mut common.own {
            SelfReference::Working { recursion, columns, reads } => {
                reads.push(place);
                if reads.len() > 1 {
                    let message = format!(
                        "recursive reference to query \"{}\" must not appear more than once",
                        common.name
                    );
                    return self.fail(sqlstate::INVALID_RECURSION, message, place);
                }
                (common.name.clone(), recursion.working, columns.clone())
            }
            SelfReference::Refused(message, elsewhere) => {
                let (message, place) = (message.clone(), elsewhere.unwrap_or(place));
                return self.fail(sqlstate::INVALID_RECURSION, message, place);
            }
            SelfReference::InClause(clause, elsewhere) => {
                let (clause, place) = (*clause, *elsewhere);
                return self.fail_of_clause(clause, place);
            }
            SelfReference::Hidden => {
                return self.unsupported(Missing::Recursion, "this reference of a query to itself is", place);
            }
        };
        self.handed_over += 1;
        let own_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let label = own_name.as_ref().map_or(name.clone(), |alias| format!("{name} {alias}"));
        let (derived, relation) = self.derived_relation(0, columns, own_name.unwrap_or(name))?;
        let relation = self.add_relation(relation, alias, place)?;
        Ok(Item::new(Source::Working(working, derived.registers), label, relation))
    }
}

/// The first clause that applies to the rows of both sides, and its place.
fn clause_outside(query: &ast::Query) -> Option<(&'static str, Place)> {
    let (limit, offset) = match &query.limit_clause {
        Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => (
            limit.as_ref().map(|limit| query_end::count(limit).0),
            offset.as_ref().map(|offset| &offset.value),
        ),
        _ => (None, None),
    };
    let order = query.order_by.as_ref().and_then(|order| match &order.kind {
        ast::OrderByKind::Expressions(keys) => keys.first().map(|key| &key.expr),
        ast::OrderByKind::All(_) => None,
    });
    let clauses = [(order, "ORDER BY"), (offset, "OFFSET"), (limit, "LIMIT")];
    let found = clauses.into_iter().find_map(|(expr, clause)| Some((clause, Place::of_expr(expr?))));
    found.or((!query.locks.is_empty()).then_some(("FOR UPDATE/SHARE", Place::Unknown)))
}

fn mismatch(name: &str, column: usize, own: SqlType, overall: SqlType) -> Error {
    let message = format!(
        "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
        column + 1,
        own.name(),
        overall.name()
    );
    Error::input(sqlstate::DATATYPE_MISMATCH, message)
        .with_hint("Cast the output of the non-recursive term to the correct type.")
}
