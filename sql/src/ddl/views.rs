//! CREATE and DROP VIEW, and what depends on tables, views and routines through views.
//!
//! The query is bound to get its columns, and printed in the form in which it is kept: with stars expanded,
//! types written out, and names qualified, so that it keeps its present meaning (`bind::deparse`). As with
//! foreign keys, what is looked at when the statement runs is not locked yet. The engine checks again.
//!
//! Reference: DefineView and checkViewTupleDesc of PostgreSQL's view.c, findDependentObjects of dependency.c.

use std::sync::Arc;

use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, TableDefinition, TableId, TableName, ViewDefinition,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refusal};
use hyades_types::value::SqlType;
use sqlparser::ast;

use super::command::{CatalogStatement, SchemaCommand};
use super::storage_parameter::{Holder, new_parameters};
use super::table_as::named_results;
use crate::answer::{Output, ResultColumn};
use crate::bind::deparse::Uses;
use crate::bind::deparse::change::Change;
use crate::bind::derived::changes_rows;
use crate::bind::{BindContext, Binder};
use crate::emit::{Compiler, impossible, shifted, unsupported};
use crate::statement::deep_text::with_stack_for;
use crate::statement::names::quoted;
use crate::statement::{CreateView, DropView, Statement, query};
use crate::viewpoint::Viewpoint;

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::input(sqlstate::SYNTAX_ERROR, message))
}

pub(super) fn parsed_query(text: &str) -> Result<ast::Query> {
    match query::parse(text)? {
        Statement::Query(statement) => match *statement {
            ast::Statement::Query(query) => Ok(*query),
            _ => invalid("views must be defined by a query"),
        },
        Statement::CreateTableAs(_) => {
            Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, "views must not contain SELECT INTO"))
        }
        _ => invalid("views must be defined by a query"),
    }
}

/// Prints the query of a view whose columns have these names.
fn printed(
    text: &str,
    context: BindContext<'_>,
    names: &[String],
    is_pretty: bool,
) -> Result<(String, Uses)> {
    let query = parsed_query(text)?;
    Binder::new(text, context, &[], 0)?.shown_query(&query, names, is_pretty)
}

/// `None` if it has failed because of what it is, not because of circumstances.
fn unless_of_circumstances<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_of_circumstances() => Err(error),
        Err(_) => Ok(None),
    }
}

/// What a view keeps of a cast that it applies.
fn identity(cast: &Arc<Routine>) -> (TableName, Vec<SqlType>) {
    (cast.definition.name.clone(), cast.definition.identity())
}

/// The definition of a view of this query.
pub(crate) fn view_of(text: &str, context: BindContext<'_>, names: &[String]) -> Result<ViewDefinition> {
    let (query, uses) = printed(text, context, names, false)?;
    let (pretty, _) = printed(text, context, names, true)?;
    // The printed query must mean the same, which shows in printing it again: the text must be the same. All
    // types are written out in it.
    let mut binder = Binder::new(&query, context, &[], 0)?;
    let again = parsed_query(&query).and_then(|parsed| binder.shown_query(&parsed, names, false));
    let again = unless_of_circumstances(again)?.filter(|(again, _)| *again == query);
    let types = binder.types.take().iter().map(|stored| stored.id()).collect();
    // Readers of the view must be able to bind it.
    let bound = || {
        let mut compiler = Compiler::new(&query, context, &[], 0)?;
        compiler.query(&parsed_query(&query)?)?;
        let called = std::mem::take(&mut compiler.binder.called);
        Ok(called.into_iter().filter(|routine| routine.definition.cast.is_some()).collect::<Vec<_>>())
    };
    let (Some(_), Some(casts)) = (again, unless_of_circumstances(bound())?) else {
        tracing::debug!(%query, "the query of a view is not what it was when it is printed");
        return Err(refusal(Missing::OtherForms, "this query is not supported in a view yet"));
    };
    let base = Binder::new(&query, context, &[], 0)?.base_of(&parsed_query(&query)?)?;
    Ok(ViewDefinition {
        base,
        query,
        pretty,
        tables: uses.tables.into_iter().collect(),
        columns: uses.columns.into_iter().collect(),
        routines: uses.routines.into_iter().chain(casts.iter().map(identity)).collect(),
        types,
    })
}

impl Compiler<'_> {
    pub(crate) fn create_view(&mut self, create: &CreateView) -> Result<CatalogStatement> {
        let parameters = new_parameters(Holder::View, &create.options)?;
        let name = self.created_relation(&create.name, None, create.is_temporary)?;
        let text = match create.is_recursive {
            false => create.query.clone(),
            true => recursive_query(create),
        };
        let context = self.binder.context;
        let bound = with_stack_for(&text, || {
            let query = parsed_query(&text)?;
            let changes =
                |with: &ast::With| with.cte_tables.iter().any(|table| changes_rows(&table.query.body));
            if query.with.as_ref().is_some_and(changes) {
                return impossible("views must not contain data-modifying statements in WITH");
            }
            let mut inner = Compiler::new(&text, context, &[], 0)?;
            inner.binder.is_of_view = true;
            let columns = inner.query(&query)?.columns.unwrap_or_default();
            let columns = named_columns(&create.columns, columns)?;
            let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
            Ok((columns, view_of(&text, context, &names)?))
        });
        let (columns, view) = bound.map_err(|error| match create.is_recursive {
            false => shifted(error, create.query_offset),
            true => error,
        })?;
        let definition = TableDefinition {
            view: Some(Box::new(view)),
            parameters,
            ..TableDefinition::of_columns(name, columns)
        };
        let command = SchemaCommand::CreateView {
            definition: Box::new(definition),
            or_replace: create.or_replace,
            names_schema: create.name.schema.is_some(),
        };
        Ok(CatalogStatement::new("CREATE VIEW", command))
    }

    pub(crate) fn drop_view(&self, drop: &DropView) -> CatalogStatement {
        let command = SchemaCommand::DropView(drop.clone());
        let tag = if drop.is_materialized { "DROP MATERIALIZED VIEW" } else { "DROP VIEW" };
        CatalogStatement::new(tag, command)
    }
}

/// `WITH RECURSIVE name (columns) AS (query) SELECT columns FROM name`.
fn recursive_query(create: &CreateView) -> String {
    let columns: Vec<String> = create.columns.iter().map(|column| quoted(column)).collect();
    let (name, columns) = (quoted(&create.name.name), columns.join(", "));
    format!("WITH RECURSIVE {name} ({columns}) AS ({}) SELECT {columns} FROM {name}", create.query)
}

fn named_columns(names: &[String], columns: Vec<ResultColumn>) -> Result<Vec<ColumnDefinition>> {
    if names.len() > columns.len() {
        return invalid("CREATE VIEW specifies more column names than columns");
    }
    let defined = named_results(names, columns)?;
    if defined.is_empty() {
        return unsupported(Missing::TablesWithoutColumns, "views without columns are");
    }
    Ok(defined)
}

/// Error 42809 for a relation that is dropped as something that it is not.
pub(crate) fn wrong_kind(definition: &TableDefinition, wanted: &str) -> Error {
    let (name, word) = (&definition.name.name, definition.word());
    Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {} {wanted}", article(wanted)))
        .with_hint(format!("Use DROP {} to remove a {word}.", word.to_ascii_uppercase()))
}

fn article(word: &str) -> &'static str {
    if word.starts_with('i') { "an" } else { "a" }
}

/// Error 42809 for something that cannot be done to a view or a materialized view. `action` is a part of
/// ALTER TABLE.
pub(super) fn refuse_action(definition: &TableDefinition, action: &str) -> Error {
    let message =
        format!("ALTER action {action} cannot be performed on relation \"{}\"", definition.name.name);
    Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
        .with_detail(format!("This operation is not supported for {}s.", definition.word()))
}

/// A view that replaces another must have the same columns, and may have more.
fn check_replaced(old: &TableDefinition, new: &TableDefinition) -> Result<()> {
    let invalid = |message: String| Error::input(sqlstate::INVALID_TABLE_DEFINITION, message);
    if new.columns.len() < old.columns.len() {
        return Err(invalid("cannot drop columns from view".to_owned()));
    }
    for (old, new) in old.columns.iter().zip(&new.columns) {
        if old.name != new.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name);
            return Err(invalid(message)
                .with_hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."));
        }
        if old.sql_type != new.sql_type {
            return Err(invalid(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                old.name,
                old.sql_type.name(),
                new.sql_type.name()
            )));
        }
    }
    Ok(())
}

impl Viewpoint {
    pub(super) fn created_view(
        &mut self,
        definition: &TableDefinition,
        or_replace: bool,
        names_schema: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = definition.clone();
        let uses_temporary =
            definition.view().is_some_and(|view| view.tables.iter().any(|used| used.is_temporary()));
        if uses_temporary && definition.name.schema != hyades_types::search_path::TEMPORARY {
            let message = format!("view \"{}\" will be a temporary view", definition.name.name);
            self.note(output, "00000", message);
            if names_schema {
                return Err(Error::input(
                    sqlstate::INVALID_TABLE_DEFINITION,
                    "cannot create temporary relation in non-temporary schema",
                ));
            }
            definition.name.schema = hyades_types::search_path::TEMPORARY.to_owned();
        }
        let definition = self.own_definition(&definition);
        let old = self.table(&definition.name);
        if let Some(old) = old.filter(|_| or_replace) {
            let known = old.definition();
            if known.view.is_none() {
                let message = format!("\"{}\" is not a view", known.name.name);
                return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            check_replaced(&known, &definition)?;
            let added = definition.visible_columns().iter().skip(known.visible_columns().len());
            let added: Vec<String> = added.map(|column| column.name.clone()).collect();
            let others = self.changes_of_views(old.id(), &Change::Added(old.id(), &added))?;
            let definition = Box::new(TableDefinition { triggers: known.triggers.clone(), ..definition });
            let replaced = CatalogChange::ReplaceView { id: old.id(), definition };
            return Ok(std::iter::once(replaced).chain(others).collect());
        }
        if self.is_relation(&definition.name) {
            let message = format!("relation \"{}\" already exists", definition.name.name);
            return Err(Error::input(sqlstate::DUPLICATE_TABLE, message));
        }
        let id = self.new_table_id(&definition.name.schema);
        Ok(vec![CatalogChange::CreateTable { id, definition }])
    }

    pub(super) fn dropped_views(
        &mut self,
        drop: &DropView,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let wanted = if drop.is_materialized { "materialized view" } else { "view" };
        let mut views: Vec<Arc<Table>> = Vec::with_capacity(drop.names.len());
        for name in &drop.names {
            let full = self.meant(name);
            match self.table(&full) {
                Some(table) if table.definition().word() != wanted => {
                    return Err(wrong_kind(&table.definition(), wanted));
                }
                Some(view) => {
                    if !views.iter().any(|known| known.id() == view.id()) {
                        views.push(view);
                    }
                }
                None if self.is_relation(&full) => {
                    let message = format!("\"{}\" is not a {wanted}", name.name);
                    let (command, word) = match self.is_index(&full) {
                        true => ("DROP INDEX", "an index"),
                        false => ("DROP SEQUENCE", "a sequence"),
                    };
                    return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                        .with_hint(format!("Use {command} to remove {word}.")));
                }
                None => {
                    let view = (wanted, sqlstate::UNDEFINED_TABLE);
                    self.nothing_to_drop(view, name, drop.if_exists, output)?;
                }
            }
        }
        self.dropped(&views, drop.cascades, output)
    }

    /// The changes that drop views, and perhaps tables. Those that use others are dropped first.
    pub(super) fn drops_of(relations: impl IntoIterator<Item = Arc<Table>>) -> Vec<CatalogChange> {
        let mut left: Vec<Arc<Table>> = relations.into_iter().collect();
        let mut changes = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_used = |id: TableId| {
                left.iter().any(|other| other.definition().source().is_some_and(|view| view.uses_table(id)))
            };
            let at = left.iter().position(|relation| !is_used(relation.id())).unwrap_or(0);
            changes.push(CatalogChange::DropTable { id: left.remove(at).id() });
        }
        changes
    }
}
