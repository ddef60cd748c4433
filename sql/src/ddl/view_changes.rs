//! How the definitions of views change when what their queries name is renamed or dropped.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, TableDefinition, TableId, ViewDefinition};
use hyades_types::error::{Error, Result, sqlstate};

use super::views::parsed_query;
use crate::bind::deparse::Renaming;
use crate::bind::{BindContext, Binder};
use crate::viewpoint::Viewpoint;

/// The change that gives a view another query.
pub(super) fn replaced_view(table: &Table, view: ViewDefinition) -> CatalogChange {
    let definition =
        TableDefinition { view: Some(Box::new(view)), ..TableDefinition::clone(&table.definition()) };
    CatalogChange::ReplaceView { id: table.id(), definition: Box::new(definition) }
}

/// The definition of a view once something in its query is renamed.
pub(super) fn renamed_view(
    table: &Table,
    view: &ViewDefinition,
    context: BindContext<'_>,
    renaming: &Renaming<'_>,
) -> Result<ViewDefinition> {
    let definition = table.definition();
    let names: Vec<String> = definition.columns.iter().map(|column| column.name.clone()).collect();
    let renamed = |is_pretty: bool| {
        let query = parsed_query(&view.query)?;
        let mut binder = Binder::new(&view.query, context, &[], 0)?;
        let text = binder.of_kept(|binder| binder.renamed_query(&query, &names, is_pretty, renaming))?;
        text.ok_or_else(|| {
            let name = &definition.name.name;
            let message =
                format!("renaming what view \"{name}\" names in a join or a list is not supported yet");
            Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Drop the view, and create it again afterwards.")
        })
    };
    Ok(ViewDefinition { query: renamed(false)?, pretty: renamed(true)?, ..view.clone() })
}

impl Viewpoint {
    /// The views whose queries name a relation.
    pub(super) fn views_over(&self, relation: TableId) -> Vec<(Arc<Table>, ViewDefinition)> {
        let views = self.visible_tables().into_iter().filter_map(|other| {
            let view = other.definition().view.as_deref().filter(|view| view.uses_table(relation))?.clone();
            Some((other, view))
        });
        views.collect()
    }
}
