//! ALTER ... SET and RESET of parameters.

use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};

use super::alteration::altered;
use super::storage_parameter::{Holder, changed_parameters};
use super::view_changes::redefined;
use crate::answer::Output;
use crate::statement::{ChangeParameters, ParameterChange};
use crate::viewpoint::Viewpoint;
use crate::viewpoint::tables::FoundIndex;

impl Viewpoint {
    /// Gives a table or a view other parameters.
    pub(super) fn reparametrized(
        &self,
        table: &Table,
        changes: &[ParameterChange],
        is_of_view: bool,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        if is_of_view && definition.view.is_none() {
            let message = format!("\"{}\" is not a view", definition.name.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        definition.parameters = changed_parameters(Holder::of(&definition), &definition.parameters, changes)?;
        Ok(vec![redefined(table, definition)])
    }

    /// ALTER INDEX ... SET and RESET of parameters.
    pub(super) fn reparametrized_index(
        &self,
        change: &ChangeParameters,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let full = self.meant(&change.name);
        let Some(FoundIndex { table, index }) = self.index_named(&full) else {
            if self.is_relation(&full) {
                let message = format!("\"{}\" is not an index", full.name);
                return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            return self.no_index_to_alter(&change.name, change.if_exists, output);
        };
        let mut definition = TableDefinition::clone(&table.definition());
        let named = definition.indexes.iter_mut().find(|own| Some(own.id) == index);
        let (kind, parameters) = match (named, &mut definition.primary_key) {
            (Some(index), _) => (index.kind, &mut index.parameters),
            (None, Some(key)) => (key.index, &mut key.parameters),
            (None, None) => return Ok(Vec::new()),
        };
        *parameters = changed_parameters(Holder::Index(kind), parameters, &change.changes)?;
        Ok(vec![altered(&table, definition)])
    }
}
