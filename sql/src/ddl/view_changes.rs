//! How the definitions of views change when what their queries name is renamed or dropped.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, TableDefinition, TableId, ViewDefinition};
use hyades_types::error::Result;
use hyades_types::refusal::{Missing, refused};

use super::alteration::altered;
use super::views::parsed_query;
use crate::bind::deparse::change::Change;
use crate::bind::{BindContext, Binder};
use crate::viewpoint::Viewpoint;

/// The change that gives a view, a materialized view or a table another definition, with the same columns.
pub(super) fn redefined(table: &Table, definition: TableDefinition) -> CatalogChange {
    match definition.view {
        Some(_) => CatalogChange::ReplaceView { id: table.id(), definition: Box::new(definition) },
        None => altered(table, definition),
    }
}

/// The change that gives a view or a materialized view another query.
pub(super) fn replaced_view(table: &Table, view: ViewDefinition) -> CatalogChange {
    let mut definition = TableDefinition::clone(&table.definition());
    if let Some(query) = definition.source_mut() {
        *query = view;
    }
    redefined(table, definition)
}

/// The definition of a view once something that its query names has changed.
pub(super) fn changed_view(
    table: &Table,
    view: &ViewDefinition,
    context: BindContext<'_>,
    change: &Change<'_>,
) -> Result<ViewDefinition> {
    let definition = table.definition();
    let columns = definition.visible_columns();
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let changed = |is_pretty: bool| {
        let query = parsed_query(&view.query)?;
        let mut binder = Binder::new(&view.query, context, &[], 0)?;
        let text = binder.of_kept(|binder| binder.changed_query(&query, &names, is_pretty, change))?;
        text.ok_or_else(|| {
            let name = &definition.name.name;
            let what = format!("renaming what {} \"{name}\" locks is", definition.word());
            refused(Missing::Dependents, &what)
        })
    };
    Ok(ViewDefinition { query: changed(false)?, pretty: changed(true)?, ..view.clone() })
}

/// The same query with other names for the columns of its result.
pub(super) fn with_result_names(
    view: &ViewDefinition,
    names: Vec<String>,
    context: BindContext<'_>,
) -> Result<ViewDefinition> {
    let shown = |is_pretty: bool| {
        let query = parsed_query(&view.query)?;
        let mut binder = Binder::new(&view.query, context, &[], 0)?;
        binder.of_kept(|binder| Ok(binder.shown_query(&query, &names, is_pretty)?.0))
    };
    Ok(ViewDefinition { query: shown(false)?, pretty: shown(true)?, ..view.clone() })
}

impl Viewpoint {
    /// The changes of the views over a table or view once this has happened to it: of those whose queries
    /// must be written otherwise.
    pub(super) fn changes_of_views(&self, table: TableId, change: &Change<'_>) -> Result<Vec<CatalogChange>> {
        let mut changes = Vec::new();
        for (other, view) in self.views_over(table) {
            let changed = self.with_context(|context| changed_view(&other, &view, context, change))?;
            if changed.query != view.query {
                changes.push(replaced_view(&other, changed));
            }
        }
        Ok(changes)
    }

    /// The views and materialized views whose queries name a relation.
    pub(super) fn views_over(&self, relation: TableId) -> Vec<(Arc<Table>, ViewDefinition)> {
        let views = self.visible_tables().into_iter().filter_map(|other| {
            let view = other.definition().source().filter(|view| view.uses_table(relation))?.clone();
            Some((other, view))
        });
        views.collect()
    }
}
