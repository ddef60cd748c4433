//! Functions of FROM whose rows are those of a table.
//!
//! A query that is kept names the columns of such a function in a list, which counts them. So the query uses
//! columns of the table, and is printed again when the table gets or loses one.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::RoutineKind;
use hyades_types::error::Result;
use hyades_types::refusal::{Missing, refused};

use super::super::Place;
use super::Deparser;
use super::change::Change;
use super::item_columns::{FunctionItem, List, free_name};
use crate::statement::call_syntax::{Called, rows_from};
use crate::statement::names::{fold, parts};

impl Deparser<'_, '_> {
    /// Notes which columns of tables the columns of this item show, and the names that its list will have.
    pub(super) fn note_function_rows(&mut self, item: FunctionItem<'_>) -> Result<()> {
        let FunctionItem { number, name, arguments, with_ordinality } = item;
        let single = [Called { name, arguments, columns: Vec::new() }];
        let several: Option<Vec<Called<'_>>> =
            rows_from(name, arguments).and_then(|functions| functions.into_iter().collect());
        let functions = several.as_deref().unwrap_or(&single);
        let is_alone = functions.len() == 1 && !with_ordinality;
        for (at, called) in functions.iter().enumerate() {
            let Some(table) = self.table_of_rows(called)? else { continue };
            let id = table.id();
            self.uses.tables.insert(id);
            let changes = self.change.is_some_and(|change| change.is_of(id));
            let Some(level) = self.levels.last_mut() else { continue };
            let (Some(relation), Some(item)) =
                (level.scope.relations.get(number), level.items.get_mut(number))
            else {
                continue;
            };
            let count = table.definition().visible_columns().len();
            // It is not known how many columns the functions before it have.
            if at > 0 || count > relation.columns.len() {
                if changes && matches!(self.change, Some(Change::Added(..))) {
                    let what = "another column for rows that a view shows after those of another function is";
                    return Err(refused(Missing::Dependents, what));
                }
                let all = (0..count).filter_map(|column| Some((id, u16::try_from(column).ok()?)));
                self.uses.columns.extend(all);
                continue;
            }
            for (column, shown) in (0..).zip(item.shown.iter_mut().take(count)) {
                shown.insert((id, column));
            }
            let mut names: Vec<String> = relation.columns.iter().map(|(name, _)| name.clone()).collect();
            match self.change {
                Some(Change::Added(_, new)) if changes && !is_alone => {
                    for (plus, name) in new.iter().enumerate() {
                        names.insert(count + plus, free_name(name, &names));
                    }
                }
                Some(Change::Dropped((_, column))) if changes && usize::from(*column) < count => {
                    names.remove(usize::from(*column));
                }
                _ => continue,
            }
            item.list = List::Names(names);
        }
        Ok(())
    }

    /// The table whose rows a function returns.
    fn table_of_rows(&mut self, called: &Called<'_>) -> Result<Option<Arc<Table>>> {
        let idents: Vec<String> = parts(called.name)?.into_iter().map(fold).collect();
        let written = self.binder.written_arguments(called.arguments, &idents.join("."), Place::Unknown)?;
        let chosen = self.binder.choose_routine(&idents, &written, RoutineKind::Function, Place::Unknown)?;
        let table = chosen.and_then(|chosen| chosen.definition().traits.row_of);
        Ok(table.and_then(|table| self.binder.context.tables.by_id(table)))
    }
}
