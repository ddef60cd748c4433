//! Changes through views: the rows that change are those of the underlying table.
//!
//! A view that picks rows and columns of one table shows each of its rows once, so an INSERT, UPDATE or
//! DELETE of the view becomes one of the table: columns are renamed, and the conditions of the view apply
//! here too. For other views PostgreSQL's messages say why they cannot be changed.
//!
//! Reference: view_query_is_auto_updatable and view_col_is_auto_updatable of PostgreSQL's rewriteHandler.c.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{TableDefinition, ViewBase};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::ast::{self, GroupByExpr, Query, Select, SelectItem, SetExpr, TableFactor};

use super::Binder;
use super::aggregate::is_aggregate_name;
use super::scope::{Relation, RelationKind, Visibility};
use super::tree::{JoinMember, Source};
use super::view::{query_of_view, row_columns};
use crate::statement::deep_text;
use crate::statement::names::{fold, parts};

/// What a statement does to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewChange {
    Insert,
    Update,
    Delete,
}

impl ViewChange {
    /// The words for messages: the verb, the participle, and the command of a trigger.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            ViewChange::Insert => ("insert into", "inserting into", "INSERT"),
            ViewChange::Update => ("update", "updating", "UPDATE"),
            ViewChange::Delete => ("delete from", "deleting from", "DELETE"),
        }
    }
}

/// A view whose rows are changed.
#[derive(Clone, Debug)]
pub(crate) struct ThroughView {
    pub(crate) view: Arc<Table>,
    /// For each of its columns, the number of the column of the underlying table.
    pub(crate) columns: Vec<Option<usize>>,
}

/// The target of a change.
pub(crate) struct ChangeTarget {
    /// The table whose rows change.
    pub(crate) table: Arc<Table>,
    pub(crate) row: RowSlot,
    /// What the statement sees of the target.
    pub(crate) relation: Relation,
    /// The conditions of a view on its rows.
    pub(crate) conditions: Vec<Expr>,
    pub(crate) through: Option<ThroughView>,
}

impl ThroughView {
    /// The column of the underlying table that a column of the view shows.
    pub(crate) fn column(&self, name: &str, change: ViewChange) -> Result<Option<usize>> {
        let definition = self.view.definition();
        let Some(at) = definition.column_index(name) else { return Ok(None) };
        self.column_at(at, change).map(Some)
    }

    /// The same for a column given by its number.
    pub(crate) fn column_at(&self, at: usize, change: ViewChange) -> Result<usize> {
        self.columns.get(at).copied().flatten().ok_or_else(|| {
            let definition = self.view.definition();
            let verb = if change == ViewChange::Insert { "insert into" } else { "update" };
            let column = definition.columns.get(at).map(|column| column.name.clone()).unwrap_or_default();
            let message = format!("cannot {verb} column \"{column}\" of view \"{}\"", definition.name.name);
            Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_detail("View columns that are not columns of their base relation are not updatable.")
        })
    }
}

impl Binder<'_> {
    /// The table of this name, or the one underneath a view.
    pub(crate) fn change_target(
        &mut self,
        table: Arc<Table>,
        alias: Option<String>,
        change: ViewChange,
    ) -> Result<ChangeTarget> {
        let definition = table.definition();
        // Only the procedure that computes its rows is inside of it.
        if definition.materialized.is_some() && !self.expanding.contains(&table.id()) {
            let message = format!("cannot change materialized view \"{}\"", definition.name.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        if definition.view.is_none() {
            let row = self.new_row()?;
            let relation = Relation::table(&table, alias, row);
            return Ok(ChangeTarget { table, row, relation, conditions: Vec::new(), through: None });
        }
        let refused = |reason: &str| not_updatable(&definition, change, reason);
        let (bound, _) = self.query_of(&table)?;
        let item = match bound.from.members.as_slice() {
            [JoinMember::Item(item)] => match &item.source {
                Source::Table { table, row, .. } => Some((Arc::clone(table), *row)),
                _ => None,
            },
            _ => None,
        };
        let (Some((base, row)), true) = (item, definition.view().is_some_and(|view| view.base.is_some()))
        else {
            let (view, reason) = self.reason_of(&table)?;
            return Err(not_updatable(&view.definition(), change, reason));
        };
        let columns: Vec<Option<usize>> = bound
            .outputs
            .iter()
            .map(|output| match &output.expr {
                Expr::Column { row: read, column } if *read == row => Some(usize::from(*column)),
                _ => None,
            })
            .collect();
        if change != ViewChange::Delete && columns.iter().all(Option::is_none) {
            return Err(refused("Views that have no updatable columns are not automatically updatable."));
        }
        let shown = definition.columns.iter().zip(&bound.outputs);
        let relation = Relation {
            name: alias.unwrap_or_else(|| definition.name.name.clone()),
            columns: shown.map(|(column, output)| (column.name.clone(), output.sql_type)).collect(),
            kind: RelationKind::View(
                bound.outputs.into_iter().map(|output| output.expr).collect(),
                Arc::clone(&table),
            ),
            visibility: Visibility::Everywhere,
        };
        let through = Some(ThroughView { view: table, columns });
        Ok(ChangeTarget { table: base, row, relation, conditions: bound.from.conditions, through })
    }

    /// The table that is changed by a change of this one.
    pub(crate) fn table_below(&self, table: Arc<Table>) -> Arc<Table> {
        let mut table = table;
        loop {
            let definition = table.definition();
            let base = definition.view().and_then(|view| view.base.as_ref());
            match base.and_then(|base| self.context.tables.by_id(base.relation)) {
                Some(below) => table = below,
                None => return table,
            }
        }
    }

    /// Which view, this one or one underneath it, cannot be changed, and why.
    fn reason_of(&self, view: &Arc<Table>) -> Result<(Arc<Table>, &'static str)> {
        let mut view = Arc::clone(view);
        loop {
            let definition = view.definition();
            let Some(wanted) = definition.view() else { return Ok((view, NOT_SINGLE)) };
            let found = deep_text::within(&wanted.query, || Ok(reason(self, &query_of_view(wanted)?)))?;
            if let Some(reason) = found {
                return Ok((view, reason));
            }
            match wanted.tables.first().and_then(|below| self.context.tables.by_id(*below)) {
                Some(below) if below.definition().view.is_some() => view = below,
                _ => return Ok((view, NOT_SINGLE)),
            }
        }
    }

    /// What can be changed through a view of this query.
    pub(crate) fn base_of(&mut self, query: &Query) -> Result<Option<ViewBase>> {
        if reason(self, query).is_some() {
            return Ok(None);
        }
        let SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
        let [from] = select.from.as_slice() else { return Ok(None) };
        let TableFactor::Table { name, .. } = &from.relation else { return Ok(None) };
        if self.system_relation(name)?.is_some() {
            return Ok(None);
        }
        let table = self.table(name)?;
        let definition = table.definition();
        if definition.materialized.is_some() {
            return Ok(None);
        }
        let below = match definition.view() {
            None => None,
            Some(view) => match &view.base {
                Some(base) => Some(base.columns.clone()),
                None => return Ok(None),
            },
        };
        let bound = self.bind_query(query)?;
        let width = definition.columns.len();
        let places = row_columns(&self.scope, width);
        let is_changed = |column: &u16| match &below {
            None => true,
            Some(columns) => columns.get(usize::from(*column)).is_some_and(Option::is_some),
        };
        let mut columns: Vec<Option<u16>> = Vec::with_capacity(bound.outputs.len());
        for output in &bound.outputs {
            let at = places.iter().position(|place| *place == output.expr);
            let column = at.and_then(|at| u16::try_from(at).ok()).filter(is_changed);
            // A column that is shown twice cannot be changed through either.
            columns.push(column.filter(|column| !columns.contains(&Some(*column))));
        }
        Ok(Some(ViewBase { relation: table.id(), columns }))
    }
}

const NOT_SINGLE: &str =
    "Views that do not select from a single table or view are not automatically updatable.";

/// Why a view of this query cannot be changed.
fn reason(binder: &Binder<'_>, query: &Query) -> Option<&'static str> {
    let select = match query.body.as_ref() {
        SetExpr::Select(select) => select,
        SetExpr::Query(inner) => return reason(binder, inner),
        SetExpr::SetOperation { .. } => {
            return Some("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
        }
        _ => return Some(NOT_SINGLE),
    };
    if select.distinct.is_some() {
        return Some("Views containing DISTINCT are not automatically updatable.");
    }
    if !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty()) {
        return Some("Views containing GROUP BY are not automatically updatable.");
    }
    if select.having.is_some() {
        return Some("Views containing HAVING are not automatically updatable.");
    }
    if query.with.is_some() {
        return Some("Views containing WITH are not automatically updatable.");
    }
    if query.limit_clause.is_some() {
        return Some("Views containing LIMIT or OFFSET are not automatically updatable.");
    }
    if let Some(reason) = reason_of_list(binder, select) {
        return Some(reason);
    }
    match select.from.as_slice() {
        [only] if only.joins.is_empty() => match &only.relation {
            TableFactor::Table { args: None, sample: None, .. } => None,
            _ => Some(NOT_SINGLE),
        },
        _ => Some(NOT_SINGLE),
    }
}

fn reason_of_list(binder: &Binder<'_>, select: &Select) -> Option<&'static str> {
    let mut found = None;
    for item in &select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
        let _ = ast::visit_expressions(expr, |part: &ast::Expr| {
            if let ast::Expr::Function(call) = part {
                let idents = parts(&call.name).unwrap_or_default();
                let names: Vec<String> = idents.into_iter().map(fold).collect();
                let name = names.last().cloned().unwrap_or_default();
                if call.over.is_some() {
                    found = Some("Views that return window functions are not automatically updatable.");
                } else if is_aggregate_name(&name) || binder.means_aggregate(&names, call) {
                    found = Some("Views that return aggregate functions are not automatically updatable.");
                }
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
    }
    found
}

fn not_updatable(definition: &TableDefinition, change: ViewChange, reason: &str) -> Error {
    let (verb, participle, command) = change.words();
    let message = format!("cannot {verb} view \"{}\"", definition.name.name);
    Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_detail(reason).with_hint(format!(
        "To enable {participle} the view, provide an INSTEAD OF {command} trigger or an unconditional ON \
         {command} DO INSTEAD rule."
    ))
}

/// 0A000 for a form of change that is not supported through views yet.
pub(crate) fn unsupported_through(binder: &Binder<'_>, what: &str) -> Result<()> {
    binder.lacks(Missing::WholeRows, &format!("{what} of a view is"))
}
