//! Cursors: the query of DECLARE.
//!
//! A cursor on the rows of one table also keeps their primary keys, after the columns that it shows, for
//! WHERE CURRENT OF (`emit::current_of`). If there is none, it keeps the keys under which they are stored.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::ast::{self, GroupByExpr, Ident, SelectItem, SetExpr, TableFactor};

use super::action::{Action, DeclarePlan, Plan};
use crate::emit::changing_with::changes_rows;
use crate::emit::{Compiler, shifted};
use crate::statement::deep_text::with_stack_for;
use crate::statement::locking::{name_of, unpack};
use crate::statement::names::{fold, parts};
use crate::statement::window_syntax::has_window_call;
use crate::statement::{DeclareCursor, QualifiedName, Statement, cursor_syntax, query, split};

impl Compiler<'_> {
    pub(super) fn declare_cursor(&mut self, cursor: &DeclareCursor) -> Result<Plan> {
        with_stack_for(&cursor.query, || self.declare(cursor))
            .map_err(|error| shifted(error, cursor.query_offset))
    }

    fn declare(&self, cursor: &DeclareCursor) -> Result<Plan> {
        let Statement::Query(statement) = query::parse(&cursor.query)? else {
            let message = "SELECT ... INTO is not allowed here";
            let error = Error::input(sqlstate::SYNTAX_ERROR, message);
            return Err(match cursor_syntax::into_position(&cursor.query)? {
                Some(position) => error.with_position(position),
                None => error,
            });
        };
        let ast::Statement::Query(query) = &*statement else {
            return Err(Error::input(sqlstate::SYNTAX_ERROR, "a cursor is for a query"));
        };
        let plain = self.declared(cursor, query, None)?;
        check_options(cursor, query)?;
        let Some((table, query)) = self.keyed(query) else { return Ok(plain) };
        // Rows of aggregates and the like have no key.
        Ok(self.declared(cursor, &query, Some((&table, &plain))).unwrap_or(plain))
    }

    /// `keyed`: the table whose primary key comes after the columns of the plan without it.
    fn declared(
        &self,
        cursor: &DeclareCursor,
        query: &ast::Query,
        keyed: Option<(&Arc<Table>, &Plan)>,
    ) -> Result<Plan> {
        let text = cursor.query.as_str();
        let parameters = split::survey(text)?.parameters;
        let mut inner = Compiler::new(text, self.binder.context, &self.binder.parameter_types, parameters)?;
        inner.purpose = self.purpose;
        inner.keeps_row_keys = keyed.is_some_and(|(table, _)| table.definition().primary_key.is_none());
        let compiled = inner.query(query)?;
        let mut columns = compiled.columns.unwrap_or_default();
        let mut table = keyed.map(|(table, _)| table.id());
        if let Some((_, Plan { action: Action::Declare(plain), .. })) = keyed {
            table = table.filter(|_| columns.len() > plain.columns.len());
            columns.truncate(plain.columns.len());
        }
        let declare = DeclarePlan {
            cursor: cursor.clone(),
            run: compiled.run,
            columns,
            is_scrollable: !cursor.is_forward && query.locks.is_empty(),
            table,
        };
        Ok(Plan {
            parameters: inner.binder.finished_parameters()?,
            is_read_only: query.locks.is_empty(),
            ..Plan::simple("DECLARE CURSOR", Action::Declare(Box::new(declare)))
        })
    }

    /// The query with the primary key of its table, if there is one, appended to its columns, if it shows the
    /// rows of one table.
    fn keyed(&self, query: &ast::Query) -> Option<(Arc<Table>, ast::Query)> {
        let SetExpr::Select(select) = &*query.body else { return None };
        let is_grouped = match &select.group_by {
            GroupByExpr::All(_) => true,
            GroupByExpr::Expressions(expressions, _) => !expressions.is_empty(),
        };
        if is_grouped || select.having.is_some() || select.distinct.is_some() || has_window_call(query) {
            return None;
        }
        let [from] = select.from.as_slice() else { return None };
        let TableFactor::Table { name, alias, args: None, .. } = &from.relation else { return None };
        if !from.joins.is_empty() {
            return None;
        }
        let named = match parts(name).ok()?.as_slice() {
            [name] => QualifiedName::new(None, fold(name)),
            [schema, name] => QualifiedName::new(Some(fold(schema)), fold(name)),
            [database, schema, name] if fold(database) == self.binder.context.database => {
                QualifiedName::new(Some(fold(schema)), fold(name))
            }
            _ => return None,
        };
        let is_common =
            |with: &ast::With| with.cte_tables.iter().any(|table| fold(&table.alias.name) == named.name);
        if query.with.as_ref().is_some_and(is_common) {
            return None;
        }
        let table = self.named_table(&named).ok()?;
        let definition = table.definition();
        let Some(key) = &definition.primary_key else { return Some((Arc::clone(&table), query.clone())) };
        let label = alias.as_ref().map_or_else(|| named.name.clone(), |alias| fold(&alias.name));
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let mut query = query.clone();
        let SetExpr::Select(select) = &mut *query.body else { return None };
        for column in &key.columns {
            let column = definition.columns.get(usize::from(*column))?;
            let path = [label.as_str(), &column.name].map(|name| Ident::with_quote('"', name));
            select.projection.push(SelectItem::UnnamedExpr(ast::Expr::CompoundIdentifier(path.into())));
        }
        Some((Arc::clone(&table), query))
    }
}

/// Which options a query allows.
fn check_options(cursor: &DeclareCursor, query: &ast::Query) -> Result<()> {
    if changes_rows(query) {
        let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let Some(lock) = query.locks.first() else { return Ok(()) };
    let lock = name_of(unpack(lock).strength);
    let refused = |message: String, detail: &str| {
        Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(detail))
    };
    if cursor.is_holdable {
        let message = format!("DECLARE CURSOR WITH HOLD ... {lock} is not supported");
        return refused(message, "Holdable cursors must be READ ONLY.");
    }
    if cursor.is_scroll {
        let message = format!("DECLARE SCROLL CURSOR ... {lock} is not supported");
        return refused(message, "Scrollable cursors must be READ ONLY.");
    }
    if cursor.is_insensitive {
        let message = format!("DECLARE INSENSITIVE CURSOR ... {lock} is not valid");
        return Err(Error::input(sqlstate::INVALID_CURSOR_DEFINITION, message)
            .with_detail("Insensitive cursors must be READ ONLY."));
    }
    Ok(())
}
