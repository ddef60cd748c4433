//! FROM: how its items are joined, and which of their names are visible where.
//!
//! The condition of a join sees the two sides of that join and nothing else. An item that is LATERAL, or the
//! argument of a function, sees all items before it.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use sqlparser::ast::{
    Ident, Join, JoinConstraint, JoinOperator, ObjectName, Spanned, TableAlias, TableWithJoins,
};

use super::scope::{MergedColumn, Relation, RelationKind, ScopeColumn, Visibility};
use super::tree::{JoinGroup, JoinMember, OuterJoin};
use super::view::has_outer_join;
use super::{Binder, Bound, Class, Place};
use crate::expr;
use crate::statement::names::{fold, parts};
use crate::statement::{query, using_alias};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Inner,
    Left,
    Right,
    Full,
}

/// The ranges of the two sides of a join in the scope.
#[derive(Clone, Copy)]
struct Sides {
    first_relation: usize,
    first_column: usize,
    /// The first column of the right side.
    middle: usize,
}

impl Binder<'_> {
    /// Binds FROM, and fills the scope.
    pub(crate) fn from(&mut self, from: &[TableWithJoins]) -> Result<JoinGroup> {
        let around = std::mem::replace(&mut self.in_outer_join, has_outer_join(from));
        let joined = self.without_aggregates("in FROM clause of their own query level", |binder| {
            from.iter().try_fold(JoinGroup::default(), |mut group, joined| {
                group.append(binder.joined(joined)?);
                Ok(group)
            })
        });
        self.in_outer_join = around;
        joined
    }

    fn joined(&mut self, joined: &TableWithJoins) -> Result<JoinGroup> {
        let (first_relation, first_column) = (self.scope.relations.len(), self.scope.columns.len());
        let before = self.self_references();
        let mut left = self.factor(&joined.relation)?;
        for join in &joined.joins {
            let (kind, constraint) = self.kind_of(join)?;
            let middle = self.scope.columns.len();
            let first_of_right = self.scope.relations.len();
            let (in_left, handed_over) = (self.self_references(), self.handed_over);
            let mut right = self.factor(&join.relation)?;
            let extends_left = matches!(kind, Kind::Right | Kind::Full) && in_left > before;
            let extends_right = matches!(kind, Kind::Left | Kind::Full) && self.self_references() > in_left;
            if extends_left || extends_right {
                return self.fail_in_outer_join();
            }
            if kind == Kind::Full {
                right = self.right_of_full_join(&left, right, first_of_right, handed_over)?;
            }
            let on = self.join_condition(kind, constraint, Sides { first_relation, first_column, middle })?;
            left = match kind {
                Kind::Inner => {
                    left.append(right);
                    left.conditions.extend(on);
                    left
                }
                Kind::Left => outer(false, left, right, on),
                Kind::Right => outer(false, std::mem::take(&mut right), left, on),
                Kind::Full => outer(true, left, right, on),
            };
        }
        Ok(left)
    }

    fn kind_of<'j>(&self, join: &'j Join) -> Result<(Kind, &'j JoinConstraint)> {
        let (kind, constraint) = match &join.join_operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (Kind::Inner, constraint),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (Kind::Left, constraint),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                (Kind::Right, constraint)
            }
            JoinOperator::FullOuter(constraint) => (Kind::Full, constraint),
            JoinOperator::CrossJoin(_) => (Kind::Inner, &JoinConstraint::None),
            _ => return self.lacks(Missing::OtherForms, "this kind of join is"),
        };
        let is_cross = matches!(join.join_operator, JoinOperator::CrossJoin(_));
        match constraint {
            JoinConstraint::None if !is_cross => Err(query::error_after(self.sql, join.relation.span().end)),
            _ => Ok((kind, constraint)),
        }
    }

    fn join_condition(&mut self, kind: Kind, constraint: &JoinConstraint, sides: Sides) -> Result<Vec<Expr>> {
        let mut on = Vec::new();
        match constraint {
            JoinConstraint::None => {}
            JoinConstraint::On(condition) => {
                let mut outside = self.scope.columns.split_off(sides.first_column);
                std::mem::swap(&mut outside, &mut self.scope.columns);
                let first_visible = std::mem::replace(&mut self.scope.first_visible, sides.first_relation);
                let condition = self.without_aggregates("in JOIN conditions", |binder| {
                    binder.condition_of(condition, "JOIN/ON")
                });
                self.scope.first_visible = first_visible;
                outside.append(&mut self.scope.columns);
                self.scope.columns = outside;
                expr::conjuncts(condition?, &mut on);
            }
            JoinConstraint::Using(columns) => {
                let (columns, alias) = using_alias::unpack(columns);
                let names = columns.iter().map(|name| self.using_name(name)).collect::<Result<Vec<_>>>()?;
                for (at, name) in names.iter().enumerate() {
                    if names[..at].contains(name) {
                        let message =
                            format!("column name \"{name}\" appears more than once in USING clause");
                        return self.fail(sqlstate::DUPLICATE_COLUMN, message, Place::Unknown);
                    }
                }
                self.merge(kind, &names, sides, &mut on)?;
                if let Some(alias) = alias {
                    self.name_merged(alias, names.len())?;
                }
            }
            JoinConstraint::Natural => {
                let (left, right) =
                    self.scope.columns[sides.first_column..].split_at(sides.middle - sides.first_column);
                let name = |column: &ScopeColumn| self.scope.column_name(*column).to_owned();
                let there: Vec<String> = right.iter().map(name).collect();
                let names: Vec<String> = left.iter().map(name).filter(|name| there.contains(name)).collect();
                self.merge(kind, &names, sides, &mut on)?;
            }
        }
        Ok(on)
    }

    fn using_name(&self, name: &ObjectName) -> Result<String> {
        let idents: Vec<&Ident> = parts(name)?;
        match idents.as_slice() {
            [ident] => Ok(fold(ident)),
            _ => self.fail(sqlstate::SYNTAX_ERROR, "syntax error at or near \".\"", Place::of(name)),
        }
    }

    /// Merges each pair of columns of these names into one. The merged columns come first.
    fn merge(&mut self, kind: Kind, names: &[String], sides: Sides, on: &mut Vec<Expr>) -> Result<()> {
        let Sides { first_column, middle, .. } = sides;
        let mut right = self.scope.columns.split_off(middle);
        let mut left = self.scope.columns.split_off(first_column);
        for name in names {
            let sides =
                [self.take_named(&mut left, name, "left")?, self.take_named(&mut right, name, "right")?];
            let [from_left, from_right] = sides.map(|column| self.scope_column(column, Place::Unknown));
            let merged = self.merged(kind, name, &from_left, &from_right)?;
            let (left_key, right_key, _) =
                self.operands(BinaryOperator::Equal, from_left, from_right, Place::Unknown)?;
            on.push(Expr::Binary {
                operator: BinaryOperator::Equal,
                left: Box::new(left_key),
                right: Box::new(right_key),
            });
            self.scope.merged.push(merged);
            self.scope.columns.push(ScopeColumn::Merged(self.scope.merged.len() - 1));
        }
        self.scope.columns.extend(left);
        self.scope.columns.extend(right);
        Ok(())
    }

    /// `USING (...) AS alias`: the columns merged last can also be named as columns of the alias.
    fn name_merged(&mut self, alias: &str, count: usize) -> Result<()> {
        let merged = &self.scope.merged[self.scope.merged.len() - count..];
        let columns = merged.iter().map(|column| (column.name.clone(), column.sql_type)).collect();
        let kind = RelationKind::Values(merged.iter().map(|column| column.expr.clone()).collect());
        let (name, visibility) = (alias.to_owned(), Visibility::Qualified);
        self.add_relation(Relation { name, columns, kind, visibility }, None, Place::Unknown)?;
        Ok(())
    }

    /// Removes the column of this name from one side.
    fn take_named(&self, columns: &mut Vec<ScopeColumn>, name: &str, side: &str) -> Result<ScopeColumn> {
        let is_named = |column: &ScopeColumn| self.scope.column_name(*column) == name;
        let Some(at) = columns.iter().position(is_named) else {
            let message =
                format!("column \"{name}\" specified in USING clause does not exist in {side} table");
            return self.fail(sqlstate::UNDEFINED_COLUMN, message, Place::Unknown);
        };
        let column = columns.remove(at);
        if columns.iter().any(is_named) {
            let message = format!("common column name \"{name}\" appears more than once in {side} table");
            return self.fail(sqlstate::AMBIGUOUS_COLUMN, message, Place::Unknown);
        }
        Ok(column)
    }

    /// The value comes from the side whose rows are all kept, in a full join from either. In an inner join it
    /// comes from the side that already has the common type, as in buildMergedJoinVar of PostgreSQL's
    /// parse_clause.c: 5 and 5.00 are equal, but are shown differently.
    fn merged(&mut self, kind: Kind, name: &str, left: &Bound, right: &Bound) -> Result<MergedColumn> {
        let both = [left.clone(), right.clone()];
        let sql_type = self.common_type(&both, "JOIN/USING")?;
        let typed = |binder: &mut Self, bound: &Bound| match bound.class {
            Class::Typed(own) if own == sql_type => Ok(bound.expr.clone()),
            _ => binder.coerce(bound.clone(), sql_type),
        };
        let is_typed = |bound: &Bound| bound.class == Class::Typed(sql_type);
        let expr = match kind {
            Kind::Inner if !is_typed(left) && is_typed(right) => typed(self, right)?,
            Kind::Inner | Kind::Left => typed(self, left)?,
            Kind::Right => typed(self, right)?,
            Kind::Full => Expr::Coalesce(vec![typed(self, left)?, typed(self, right)?]),
        };
        Ok(MergedColumn { name: name.to_owned(), expr, sql_type })
    }

    /// `(a JOIN b ON ...)`, which may have a name of its own: then the relations inside cannot be named.
    pub(super) fn nested_join(
        &mut self,
        joined: &TableWithJoins,
        alias: Option<&TableAlias>,
    ) -> Result<JoinGroup> {
        let (first_relation, first_column) = (self.scope.relations.len(), self.scope.columns.len());
        let group = self.joined(joined)?;
        let Some(alias) = alias else { return Ok(group) };
        let inner = self.scope.columns.split_off(first_column);
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for column in inner {
            let name = self.scope.column_name(column).to_owned();
            let bound = self.scope_column(column, Place::Unknown);
            let Class::Typed(sql_type) = bound.class else { continue };
            columns.push((name, sql_type));
            values.push(bound.expr);
        }
        for relation in &mut self.scope.relations[first_relation..] {
            relation.visibility = Visibility::Hidden;
        }
        let name = self.alias(&alias.name)?;
        let kind = RelationKind::Values(values);
        let relation = Relation { name, columns, kind, visibility: Visibility::Everywhere };
        self.add_relation(relation, Some(alias), Place::Unknown)?;
        Ok(group)
    }
}

fn outer(is_full: bool, left: JoinGroup, right: JoinGroup, on: Vec<Expr>) -> JoinGroup {
    let join = OuterJoin { is_full, left, right, on };
    JoinGroup { members: vec![JoinMember::Outer(Box::new(join))], conditions: Vec::new() }
}
