//! Views in the place of tables: their queries are bound where they are named.
//!
//! A query that only picks rows and columns is pulled up: its relations and conditions become those of the
//! query that names the view, as if its text stood there. So indexes are found and rows are locked as without
//! the view. Any other view is a query in FROM.
//!
//! Reference: PostgreSQL's is_simple_subquery and pull_up_simple_subquery.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, TableReference};
use hyades_engine::storage::table::Table;
use hyades_types::access::Privileges;
use hyades_types::definition::ViewDefinition;
use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::ast::{self, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins};

use super::derived::columns_of;
use super::scope::{Relation, RelationKind, Scope, Visibility};
use super::tree::{BoundDistinct, BoundQuery, JoinGroup};
use super::{Binder, Place};
use crate::expr;
use crate::statement::split::too_deep;
use crate::statement::{Statement, deep_text, query};

/// How many views may be named within one another.
const DEEPEST_VIEWS: usize = 200;
/// How often views may take part in a statement, and how long their texts may be together.
const MOST_VIEWS: usize = 1_000;
const MOST_VIEW_BYTES: usize = 4 << 20;

/// The query of a view.
pub(crate) fn query_of_view(view: &ViewDefinition) -> Result<ast::Query> {
    match query::parse(&view.query)? {
        Statement::Query(statement) => match *statement {
            ast::Statement::Query(query) => Ok(*query),
            _ => Err(no_query()),
        },
        _ => Err(no_query()),
    }
}

fn no_query() -> Error {
    Error::input(sqlstate::INTERNAL_ERROR, "the definition of a view is not a query")
}

/// Whether rows of one side may be missing anywhere in this FROM.
pub(super) fn has_outer_join(from: &[TableWithJoins]) -> bool {
    let is_outer = |operator: &JoinOperator| {
        !matches!(operator, JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_))
    };
    let in_factor = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => {
            has_outer_join(std::slice::from_ref(table_with_joins))
        }
        _ => false,
    };
    from.iter().any(|joined| {
        in_factor(&joined.relation)
            || joined.joins.iter().any(|join| is_outer(&join.join_operator) || in_factor(&join.relation))
    })
}

/// Whether the query only picks rows and columns.
fn is_simple(query: &BoundQuery, in_outer_join: bool) -> bool {
    let only_picks = query.group.is_none()
        && query.having.is_none()
        && query.aggregates.is_empty()
        && query.windowing.is_empty()
        && query.order.is_empty()
        && matches!(query.distinct, BoundDistinct::No)
        && query.limits.limit.is_none()
        && query.limits.offset.is_none()
        && !query.from.members.is_empty();
    let may_repeat = |part: &Expr| matches!(part, Expr::Query { .. } | Expr::Routine { .. });
    only_picks
        && query.outputs.iter().all(|output| match &output.expr {
            Expr::Column { .. } | Expr::Register(_) => true,
            // For a missing row it would have to be NULL, which it may not be.
            other => !in_outer_join && !expr::is_volatile(other) && !expr::any(other, &may_repeat),
        })
}

/// The expressions that read the columns of the first relation of a scope, which has `width` columns.
pub(super) fn row_columns(scope: &Scope, width: usize) -> Vec<Expr> {
    let relation = scope.relations.first();
    relation.map_or_else(Vec::new, |relation| (0..width).map(|column| relation.column(column)).collect())
}

impl Binder<'_> {
    /// A view in FROM, if this is the name of one.
    pub(super) fn view_group(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
    ) -> Result<Option<JoinGroup>> {
        let Some(view) = self.view_named(name)? else { return Ok(None) };
        self.need_on_table(&view, Privileges::SELECT);
        self.tables_read.push(view.id());
        let (bound, scope) = self.query_of(&view)?;
        let own_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let definition = view.definition();
        let shown = own_name.unwrap_or_else(|| definition.name.name.clone());
        let mut columns = columns_of(&bound);
        for (column, defined) in columns.iter_mut().zip(&definition.columns) {
            column.0.clone_from(&defined.name);
        }
        if !is_simple(&bound, self.in_outer_join) {
            return self.kept_view(bound, scope, columns, (shown, alias)).map(Some);
        }
        let values = bound.outputs.into_iter().map(|output| output.expr).collect();
        let kind = RelationKind::View(values, view);
        let relation = Relation { name: shown, columns, kind, visibility: Visibility::Everywhere };
        let relation = self.add_relation(relation, alias, Place::of(name))?;
        // Code that looks up which table a row slot or register belongs to finds it here.
        let inner = scope.relations.into_iter();
        let inner = inner.map(|inner| Relation { visibility: Visibility::InView, ..inner });
        self.scope.relations.extend(inner);
        let mut group = bound.from;
        group.for_each_item_mut(&mut |item, _| {
            item.relation = relation;
            Ok(())
        })?;
        Ok(Some(group))
    }

    /// The view that a name in FROM refers to.
    pub(crate) fn view_named(&self, name: &ObjectName) -> Result<Option<Arc<Table>>> {
        let (table_name, _) = self.table_name(name)?;
        let table = self.context.tables.table(&table_name);
        let Some(table) = table.filter(|table| table.definition().view.is_some()) else { return Ok(None) };
        if let [single] = crate::statement::names::parts(name)?.as_slice() {
            let single = crate::statement::names::fold(single);
            if self.common_tables.iter().any(|common| common.name == single) {
                return Ok(None);
            }
        }
        Ok(self.system_relation(name)?.is_none().then_some(table))
    }

    /// Binds the query of a view. It sees nothing of the query that names the view.
    pub(super) fn query_of(&mut self, view: &Arc<Table>) -> Result<(BoundQuery, Scope)> {
        let reference = TableReference::new(Arc::clone(view));
        let definition = Arc::clone(&reference.definition);
        let Some(wanted) = definition.view() else { return Err(no_query()) };
        if self.expanding.contains(&view.id()) {
            let message =
                format!("infinite recursion detected in rules for relation \"{}\"", definition.name.name);
            return Err(Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        if self.expanding.len() + usize::from(self.is_of_view) >= DEEPEST_VIEWS {
            return Err(too_deep());
        }
        self.expanded_bytes += wanted.query.len();
        if self.views.len() >= MOST_VIEWS || self.expanded_bytes > MOST_VIEW_BYTES {
            return Err(Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "the statement is too large"));
        }
        self.views.push(reference);
        deep_text::within(&wanted.query, || self.query_of_definition(view, wanted))
    }

    fn query_of_definition(
        &mut self,
        view: &Arc<Table>,
        wanted: &ViewDefinition,
    ) -> Result<(BoundQuery, Scope)> {
        let parsed = query_of_view(wanted)?;
        let sql = std::mem::take(&mut self.sql);
        let names = self.names.take();
        let common_tables = std::mem::take(&mut self.common_tables);
        let surroundings = std::mem::take(&mut self.surroundings);
        let in_outer_join = std::mem::replace(&mut self.in_outer_join, false);
        let first_place = self.column_places.len();
        self.expanding.push(view.id());
        let around = self.go_inside(false);
        let bound = self.bind_query(&parsed);
        let (scope, _) = self.come_back(around);
        self.expanding.pop();
        for place in &mut self.column_places[first_place..] {
            place.2 = Place::Unknown;
        }
        self.in_outer_join = in_outer_join;
        self.surroundings = surroundings;
        self.common_tables = common_tables;
        self.names = names;
        self.sql = sql;
        Ok((bound?, scope))
    }
}
