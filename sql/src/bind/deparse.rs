//! Queries and expressions as PostgreSQL's `pg_get_viewdef` and `pg_get_expr` print them.
//!
//! The parser's tree is printed, with the types that the binder finds: a [`Deparser`] walks a query as
//! binding does, binds FROM, and asks the binder for the type of every part of an expression it prints. So
//! stars become columns, every column is qualified with its relation, every literal has its type, and implied
//! conversions are written out. Relations and routines are printed with their schemas, whatever the search
//! path is: this is the form in which definitions are kept, and they mean the same for every user.
//! `system::shown_text` leaves out what a reader's path makes unnecessary.
//!
//! This file prints a query and its clauses.
//!
//! Files:
//! * `from_items`: FROM; `item_columns`: the names of its columns, with `function_rows` for those of
//!   functions, and `change`: what may happen to them; `shown_windows`: OVER and WINDOW;
//! * `expressions`; `calls`: functions and constructs like them; `bodies`: statements in routines.
//!
//! Invariant: what is printed, parsed and printed again is the same text. The code that stores a definition
//! checks this.
//!
//! Reference: PostgreSQL's ruleutils.c. Indentation is that of its `PRETTYFLAG_INDENT`, parentheses are those
//! with or without its `PRETTYFLAG_PAREN`.

mod bodies;
mod calls;
pub(crate) mod change;
pub(crate) mod expressions;
mod from_items;
mod function_rows;
mod item_columns;
mod shown_windows;

use std::collections::BTreeSet;

use hyades_types::definition::{TableId, TableName};
use hyades_types::error::Result;
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;
use sqlparser::ast::{self, GroupByExpr, LimitClause, OrderByKind, Query, Select, SelectItem, SetExpr};

use super::aggregation::AggregateMode;
use super::group_by::nested_sets;
use super::scope::{Relation, RelationKind, Scope, ScopeColumn, Visibility};
use super::select::clause_around;
use super::{Binder, Place};
use crate::statement::locking;
use crate::statement::names::{fold, parts};
use crate::statement::query_end;
use change::Change;
use expressions::Shape;
use item_columns::{ItemColumns, Walk};

/// A name in quotes if it is a word that needs them.
fn quoted(name: &str) -> String {
    hyades_types::identifier::quoted_identifier(name).into_string()
}

/// How much further a query is indented than the one that encloses it.
const STEP: i32 = 8;

/// The objects that a definition names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    pub(crate) tables: BTreeSet<TableId>,
    /// Columns of tables.
    pub(crate) columns: BTreeSet<(TableId, u16)>,
    /// Routines, each with the types of the arguments that a caller gives.
    pub(crate) routines: Vec<(TableName, Vec<SqlType>)>,
}

/// The relations of a query, and the names that they and their columns are printed under.
struct Level {
    scope: Scope,
    names: Vec<String>,
    /// Empty where FROM is not printed.
    items: Vec<ItemColumns>,
}

/// An item of a select list.
struct Target {
    name: String,
    text: String,
    shape: Shape,
    is_column: bool,
}

/// See the module head.
pub(crate) struct Deparser<'b, 'a> {
    binder: &'b mut Binder<'a>,
    /// Prints as few parentheses as possible.
    is_pretty: bool,
    /// Qualifies columns with their relations.
    has_prefixes: bool,
    indent: i32,
    /// The names for the columns of the query that is printed next, if they differ from the query's own.
    result_names: Option<Vec<String>>,
    /// The levels, innermost last.
    levels: Vec<Level>,
    uses: Uses,
    /// What is printed as it will be after this.
    change: Option<&'b Change<'b>>,
    /// The new name cannot be printed everywhere.
    is_ambiguous: bool,
    /// No clause begins a line.
    is_on_one_line: bool,
    /// The next SELECT is printed as RETURN.
    is_return: bool,
}

impl Binder<'_> {
    /// The same query once something that it names has changed. `None` if other words of it would have to
    /// change as well.
    pub(crate) fn changed_query(
        &mut self,
        query: &Query,
        names: &[String],
        is_pretty: bool,
        change: &Change<'_>,
    ) -> Result<Option<String>> {
        let mut deparser = Deparser::new(self, is_pretty, true);
        deparser.result_names = Some(names.to_vec());
        deparser.change = Some(change);
        let text = deparser.query(query, 0, true)?;
        Ok((!deparser.is_ambiguous).then_some(text))
    }

    /// The query of a view whose columns have these names, bound only for printing, and the objects that it
    /// names.
    pub(crate) fn shown_query(
        &mut self,
        query: &Query,
        names: &[String],
        is_pretty: bool,
    ) -> Result<(String, Uses)> {
        let mut deparser = Deparser::new(self, is_pretty, true);
        deparser.result_names = Some(names.to_vec());
        let text = deparser.query(query, 0, true)?;
        Ok((text, deparser.uses))
    }
}

impl Binder<'_> {
    /// An expression over the row, or the rows, in scope, as it is kept to be shown: with all parentheses,
    /// and with few.
    pub(crate) fn shown_forms(&mut self, expr: &ast::Expr) -> [String; 2] {
        [false, true].map(|is_pretty| {
            let shown = self.shown_expression(expr, is_pretty);
            self.kept_text(&shown)
        })
    }

    /// The default of a column of this type as it is kept and shown. `None` for a form that is not known
    /// here.
    pub(crate) fn shown_default(&mut self, expr: &ast::Expr, to: SqlType) -> Option<String> {
        let mode = self.aggregate_mode;
        let shown = Deparser::new(self, false, false).expression_as_written(expr, to);
        self.aggregate_mode = mode;
        shown.ok().map(|shown| self.kept_text(&shown.text))
    }

    /// An expression over the row, or the rows, in scope, as the catalog shows it. A form that is not known
    /// here is shown as it was written.
    fn shown_expression(&mut self, expr: &ast::Expr, is_pretty: bool) -> String {
        let scope = self.scope.clone();
        let has_prefixes = scope.relations.iter().any(|one| one.visibility == Visibility::Qualified);
        let mode = self.aggregate_mode;
        let mut deparser = Deparser::new(self, is_pretty, has_prefixes);
        deparser.push_level(scope);
        let shown = deparser.expression(expr);
        self.aggregate_mode = mode;
        if let Ok(shown) = shown {
            return shown.text;
        }
        // Parentheses around the whole are its own: there would be more each time that it is shown and read.
        let mut written = expr;
        while let ast::Expr::Nested(inner) = written {
            written = inner;
        }
        let (_, meanings) = self.noting(|binder| binder.expression(written));
        let written = meanings.fixed(written, self.reading());
        if is_pretty { written.to_string() } else { format!("({written})") }
    }
}

impl<'b, 'a> Deparser<'b, 'a> {
    fn new(binder: &'b mut Binder<'a>, is_pretty: bool, has_prefixes: bool) -> Deparser<'b, 'a> {
        let (levels, uses) = (Vec::new(), Uses::default());
        let (result_names, change) = (None, None);
        Deparser {
            binder,
            is_pretty,
            has_prefixes,
            indent: 0,
            result_names,
            levels,
            uses,
            change,
            is_ambiguous: false,
            is_on_one_line: false,
            is_return: false,
        }
    }

    /// Begins a line with this word, indented by `plus` characters more than the level says.
    fn line(&mut self, out: &mut String, word: &str, (before, after): (i32, i32), plus: usize) {
        self.indent += before;
        if !self.is_on_one_line {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            let blanks = usize::try_from(self.indent).unwrap_or(0) + plus;
            out.extend(std::iter::repeat_n(' ', blanks));
        } else if matches!(word, "WHEN " | "ELSE " | "END") {
            out.push(' ');
        }
        out.push_str(word);
        self.indent = (self.indent + after).max(0);
    }

    /// The same for a clause of a query.
    fn clause(&mut self, out: &mut String, word: &str, plus: usize) {
        self.line(out, word, (-STEP, STEP), plus);
    }

    /// Makes the relations of a query visible from now on.
    fn push_level(&mut self, scope: Scope) {
        let mut names: Vec<String> = Vec::with_capacity(scope.relations.len());
        for relation in &scope.relations {
            let is_taken = |name: &String| {
                names.contains(name) || self.levels.iter().any(|level| level.names.contains(name))
            };
            let own = self.new_name_of(relation).unwrap_or(&relation.name);
            let mut numbers = (1u32..).map(|number| format!("{own}_{number}"));
            let own = Some(own.to_owned()).filter(|name| !is_taken(name));
            let name = own.or_else(|| numbers.find(|name| !is_taken(name)));
            names.push(name.unwrap_or_default());
        }
        self.levels.push(Level { scope, names, items: Vec::new() });
    }

    /// Finds the names that the columns of this FROM, whose level is the innermost, are printed under.
    fn name_columns(&mut self, from: &[ast::TableWithJoins]) -> Result<()> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let binder = &*self.binder;
        let is_common = |name: &str| binder.common_tables.iter().any(|common| common.name == *name);
        let table_of = |name: &ast::ObjectName| match parts(name).ok()?.as_slice() {
            [single] if is_common(&fold(single)) => None,
            _ => binder.table(name).ok(),
        };
        let Walk { items, compared, functions, .. } = Walk::over(from, &level.scope, self.change, &table_of);
        level.items = items;
        self.uses.columns.extend(compared);
        functions.into_iter().try_for_each(|item| self.note_function_rows(item))
    }

    /// The new name of a relation that is printed under its own name.
    fn new_name_of(&self, relation: &Relation) -> Option<&'b str> {
        let Some(Change::Relation(id, to)) = self.change else { return None };
        let (RelationKind::Table { table, .. } | RelationKind::View(_, table)) = &relation.kind else {
            return None;
        };
        (table.id() == *id && table.definition().name.name == relation.name).then_some(to)
    }

    /// A query nested in the current one. `sees_around`: it can name the relations of the current one.
    fn nested(&mut self, query: &Query, sees_around: bool, has_names: bool) -> Result<String> {
        self.binder.aggregate_mode = AggregateMode::Allowed;
        let saved = self.binder.go_inside(sees_around);
        let text = self.query(query, self.indent, has_names);
        self.binder.come_back(saved);
        text
    }

    fn query(&mut self, query: &Query, indent: i32, has_names: bool) -> Result<String> {
        let outer = std::mem::replace(&mut self.indent, indent);
        let visible = self.binder.common_tables.len();
        let levels = self.levels.len();
        let text = self.query_here(query, has_names);
        self.levels.truncate(levels);
        self.binder.common_tables.truncate(visible);
        self.indent = outer;
        text
    }

    fn query_here(&mut self, query: &Query, has_names: bool) -> Result<String> {
        let names = self.result_names.take();
        if let Some(with) = &query.with {
            self.binder.with_clause(with)?;
        }
        let mut out = String::new();
        match query.body.as_ref() {
            SetExpr::Select(select) => {
                self.binder.scope = Scope::default();
                self.binder.from(&select.from)?;
                self.push_level(self.binder.scope.clone());
                self.name_columns(&select.from)?;
                self.with(query, &mut out)?;
                self.within_windows(&select.named_window, |deparser| {
                    let targets = deparser.select(select, &mut out, (names, has_names))?;
                    deparser.order(query, &mut out, Some(&targets))
                })?;
            }
            SetExpr::Query(inner) if clause_around(query).is_none() => {
                self.result_names = names;
                return self.query(inner, self.indent, has_names);
            }
            body => {
                self.push_level(Scope::default());
                self.with(query, &mut out)?;
                match body {
                    SetExpr::Values(values) => self.only_values(values, names, &mut out)?,
                    body => {
                        self.combined(body, &mut out, (names.as_ref(), has_names))?;
                    }
                }
                self.order(query, &mut out, None)?;
            }
        }
        self.limits(query, &mut out)?;
        self.locks(query, &mut out)?;
        Ok(out)
    }

    fn with(&mut self, query: &Query, out: &mut String) -> Result<()> {
        let Some(with) = &query.with else { return Ok(()) };
        self.indent += STEP;
        let first = self.binder.common_tables.len().saturating_sub(with.cte_tables.len());
        out.push_str(if with.recursive { " WITH RECURSIVE " } else { " WITH " });
        for (at, table) in with.cte_tables.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            out.push_str(&quoted(&fold(&table.alias.name)));
            if !table.alias.columns.is_empty() {
                let names = table.alias.columns.iter().map(|column| quoted(&fold(&column.name)));
                out.push_str(&format!("({})", names.collect::<Vec<String>>().join(", ")));
            }
            out.push_str(match table.materialized {
                None => " AS (",
                Some(ast::CteAsMaterialized::Materialized) => " AS MATERIALIZED (",
                Some(ast::CteAsMaterialized::NotMaterialized) => " AS NOT MATERIALIZED (",
            });
            self.line(out, "", (0, 0), 0);
            // A query of WITH does not see those after it.
            let visible = first + at + usize::from(with.recursive);
            let later = self.binder.common_tables.split_off(visible.min(self.binder.common_tables.len()));
            let text = self.nested(&table.query, false, true);
            self.binder.common_tables.extend(later);
            out.push_str(&text?);
            self.line(out, "", (0, 0), 0);
            out.push(')');
        }
        self.indent -= STEP;
        self.line(out, "", (0, 0), 0);
        Ok(())
    }

    fn select(
        &mut self,
        select: &Select,
        out: &mut String,
        (names, has_names): (Option<Vec<String>>, bool),
    ) -> Result<Vec<Target>> {
        self.indent += STEP;
        if !self.is_on_one_line {
            out.push(' ');
        }
        let is_return = std::mem::take(&mut self.is_return);
        out.push_str(if is_return { "RETURN" } else { "SELECT" });
        let mut targets = self.targets(&select.projection)?;
        if is_return {
            targets.iter_mut().for_each(|target| "?column?".clone_into(&mut target.name));
        }
        match &select.distinct {
            None | Some(ast::Distinct::All) => {}
            Some(ast::Distinct::Distinct) => out.push_str(" DISTINCT"),
            Some(ast::Distinct::On(keys)) => {
                let keys = keys.iter().map(|key| self.sort_key(key, Some(&targets), false));
                let keys = keys.collect::<Result<Vec<String>>>()?;
                out.push_str(&format!(" DISTINCT ON ({})", keys.join(", ")));
            }
        }
        self.target_list(&targets, out, (&names.unwrap_or_default(), has_names));
        self.printed_from(&select.from, out)?;
        if let Some(selection) = &select.selection {
            self.clause(out, " WHERE ", 1);
            let condition = self.condition(selection)?;
            out.push_str(&condition.text);
        }
        if let GroupByExpr::Expressions(keys, _) = &select.group_by
            && !keys.is_empty()
        {
            self.clause(out, " GROUP BY ", 1);
            let keys = keys.iter().map(|key| self.grouping_item(key, &targets));
            out.push_str(&keys.collect::<Result<Vec<String>>>()?.join(", "));
        }
        if let Some(having) = &select.having {
            self.clause(out, " HAVING ", 0);
            let condition = self.condition(having)?;
            out.push_str(&condition.text);
        }
        self.window_clause(&select.named_window, out)?;
        Ok(targets)
    }

    /// The select list with its stars expanded.
    fn targets(&mut self, items: &[SelectItem]) -> Result<Vec<Target>> {
        let mut targets = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    let name = match item {
                        SelectItem::ExprWithAlias { alias, .. } => fold(alias),
                        _ => super::select_list::column_name(expr),
                    };
                    let is_column =
                        matches!(expr, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
                    let shown = self.expression(expr)?;
                    let is_column = is_column && shown.shape == Shape::Simple && !shown.is_word;
                    targets.push(Target { name, text: shown.text, shape: shown.shape, is_column });
                }
                SelectItem::Wildcard(_) => {
                    for column in self.binder.scope.columns.clone() {
                        targets.push(self.column_target(column));
                    }
                }
                SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let relation = parts(name)?.last().map(|ident| fold(ident)).unwrap_or_default();
                    let relation = self.binder.relation(&relation, Place::Unknown)?;
                    for column in 0..self.binder.scope.relations[relation].columns.len() {
                        targets.push(self.column_target(ScopeColumn::Of { relation, column }));
                    }
                }
                _ => {
                    return self.binder.lacks(Missing::OtherForms, "this item of a select list is");
                }
            }
        }
        Ok(targets)
    }

    fn column_target(&mut self, column: ScopeColumn) -> Target {
        let name = self.binder.scope.column_name(column).to_owned();
        let text = self.column_text(self.levels.len() - 1, column);
        Target { name, text, shape: Shape::Simple, is_column: true }
    }

    fn target_list(&mut self, targets: &[Target], out: &mut String, (names, has_names): (&[String], bool)) {
        for (at, target) in targets.iter().enumerate() {
            out.push_str(if at == 0 { " " } else { ", " });
            let mut text = target.text.clone();
            let name = names.get(at).unwrap_or(&target.name);
            let own = target.text.rsplit('.').next().unwrap_or_default();
            let is_named = match target.is_column {
                true => own == quoted(name),
                false => !has_names && name == "?column?",
            };
            if !is_named {
                text.push_str(&format!(" AS {}", quoted(name)));
            }
            if text.starts_with('\n') {
                out.truncate(out.trim_end_matches(' ').len());
            } else if at > 0 {
                self.clause(out, "", 4);
            }
            out.push_str(&text);
        }
    }

    /// VALUES as a whole query. Columns with other names get them from a SELECT around it.
    fn only_values(
        &mut self,
        values: &ast::Values,
        names: Option<Vec<String>>,
        out: &mut String,
    ) -> Result<()> {
        self.indent += STEP;
        out.push(' ');
        let text = self.values(values)?;
        let names = names.unwrap_or_default();
        let own = |at: usize| format!("column{}", at + 1);
        if names.iter().enumerate().all(|(at, name)| *name == own(at)) {
            out.push_str(&text);
            return Ok(());
        }
        let columns = names.iter().enumerate().map(|(at, name)| {
            let as_name = if *name == own(at) { String::new() } else { format!(" AS {}", quoted(name)) };
            format!("\"*VALUES*\".{}{as_name}", own(at))
        });
        let columns = columns.collect::<Vec<String>>();
        out.push_str("SELECT ");
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
                self.clause(out, "", 4);
            }
            out.push_str(column);
        }
        self.clause(out, " FROM ", 2);
        out.push_str(&format!("({text}) \"*VALUES*\""));
        Ok(())
    }

    fn values(&mut self, values: &ast::Values) -> Result<String> {
        let scope = std::mem::take(&mut self.binder.scope);
        let (_, columns) = self.binder.values_rows(values)?;
        self.binder.scope = scope;
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            let items = row.content.iter().zip(&columns);
            let items = items.map(|(item, (_, sql_type))| Ok(self.expression_as(item, *sql_type)?.text));
            rows.push(format!("({})", items.collect::<Result<Vec<String>>>()?.join(",")));
        }
        Ok(format!("VALUES {}", rows.join(", ")))
    }

    /// UNION, INTERSECT and EXCEPT.
    fn combined(
        &mut self,
        body: &SetExpr,
        out: &mut String,
        (names, has_names): (Option<&Vec<String>>, bool),
    ) -> Result<()> {
        let SetExpr::SetOperation { op, set_quantifier, left, right } = body else {
            self.result_names = names.cloned();
            return self.side(body, out, has_names);
        };
        let is_all = *set_quantifier == ast::SetQuantifier::All;
        let is_other = match unwrapped(left) {
            SetExpr::SetOperation { op: inner, set_quantifier, .. } => {
                (inner, *set_quantifier == ast::SetQuantifier::All) != (op, is_all)
            }
            _ => false,
        };
        let further = if is_other { STEP } else { 0 };
        if is_other {
            out.push('(');
            self.line(out, "", (further, 0), 0);
        }
        self.combined(unwrapped(left), out, (names, has_names))?;
        self.line(out, if is_other { ") " } else { "" }, (-further, 0), 0);
        out.push_str(&format!("{op} "));
        if is_all {
            out.push_str("ALL ");
        }
        let right = unwrapped(right);
        let is_nested = matches!(right, SetExpr::SetOperation { .. });
        let further = if is_nested { STEP } else { 0 };
        if is_nested {
            out.push('(');
        }
        self.line(out, "", (further, 0), 0);
        self.combined(right, out, (names, false))?;
        self.indent -= further;
        if is_nested {
            self.line(out, ")", (0, 0), 0);
        }
        Ok(())
    }

    /// One side of UNION and the like.
    fn side(&mut self, body: &SetExpr, out: &mut String, has_names: bool) -> Result<()> {
        let whole = match body {
            SetExpr::Query(query) => query.as_ref().clone(),
            body => super::derived::query_of(body),
        };
        let needs_parentheses = clause_around(&whole).is_some();
        let text = self.nested(&whole, false, has_names)?;
        match needs_parentheses {
            true => out.push_str(&format!("({text})")),
            false => out.push_str(&text),
        }
        Ok(())
    }

    fn order(&mut self, query: &Query, out: &mut String, targets: Option<&[Target]>) -> Result<()> {
        let Some(order_by) = &query.order_by else { return Ok(()) };
        let OrderByKind::Expressions(keys) = &order_by.kind else { return Ok(()) };
        self.clause(out, " ORDER BY ", 1);
        let names = match targets {
            Some(_) => Vec::new(),
            None => self.binder.columns_of_body(&query.body)?,
        };
        let mut shown = Vec::with_capacity(keys.len());
        for key in keys {
            let mut text = match targets {
                Some(_) => self.sort_key(&key.expr, targets, false)?,
                None => self.column_number(&key.expr, &names)?,
            };
            text.push_str(order_words(key.options.asc == Some(false), key.options.nulls_first));
            shown.push(text);
        }
        out.push_str(&shown.join(", "));
        Ok(())
    }

    /// A sort key of the rows of UNION and the like.
    fn column_number(&mut self, key: &ast::Expr, names: &[String]) -> Result<String> {
        if let ast::Expr::Identifier(ident) = key
            && let Some(at) = names.iter().position(|name| *name == fold(ident))
        {
            return Ok((at + 1).to_string());
        }
        match super::select::ordinal(key) {
            Some(number) => Ok(number.to_string()),
            None => self.binder.unsupported(
                Missing::OtherForms,
                "this key of ORDER BY in a view is",
                Place::of_expr(key),
            ),
        }
    }

    /// An item of GROUP BY.
    fn grouping_item(&mut self, item: &ast::Expr, targets: &[Target]) -> Result<String> {
        let (word, lists) = match item {
            ast::Expr::GroupingSets(lists) => ("GROUPING SETS ", lists),
            ast::Expr::Rollup(lists) => ("ROLLUP", lists),
            ast::Expr::Cube(lists) => ("CUBE", lists),
            ast::Expr::Tuple(items) => return self.grouping_list(items, targets, true),
            key => return self.sort_key(key, Some(targets), true),
        };
        let is_sets = matches!(item, ast::Expr::GroupingSets(_));
        let mut shown = Vec::with_capacity(lists.len());
        let mut waiting: Vec<Vec<ast::Expr>> = lists.iter().rev().cloned().collect();
        while let Some(list) = waiting.pop() {
            let inner =
                if let [only] = list.as_slice() { nested_sets(only).filter(|_| is_sets) } else { None };
            match inner {
                // Nested grouping sets are flattened.
                Some(ast::Expr::GroupingSets(inner)) => waiting.extend(inner.into_iter().rev()),
                Some(inner) => shown.push(self.grouping_item(&inner, targets)?),
                None => shown.push(self.grouping_list(&list, targets, is_sets || list.len() != 1)?),
            }
        }
        Ok(format!("{word}({})", shown.join(", ")))
    }

    fn grouping_list(
        &mut self,
        list: &[ast::Expr],
        targets: &[Target],
        in_parentheses: bool,
    ) -> Result<String> {
        let keys = list.iter().map(|key| self.sort_key(key, Some(targets), true));
        let keys = keys.collect::<Result<Vec<String>>>()?.join(", ");
        Ok(if in_parentheses { format!("({keys})") } else { keys })
    }

    /// A key of ORDER BY, GROUP BY or DISTINCT ON: numbers and names of the select list are replaced by what
    /// they stand for.
    fn sort_key(
        &mut self,
        key: &ast::Expr,
        targets: Option<&[Target]>,
        prefers_columns: bool,
    ) -> Result<String> {
        let targets = targets.unwrap_or_default();
        let number = super::select::ordinal(key).and_then(|number| usize::try_from(number).ok());
        let target = match (number, key) {
            (Some(number), _) => targets.get(number.wrapping_sub(1)),
            (None, ast::Expr::Identifier(ident)) => {
                let name = fold(ident);
                let is_hidden = prefers_columns && self.binder.find_column(&name, Place::Unknown)?.is_some();
                targets.iter().find(|target| target.name == name).filter(|_| !is_hidden)
            }
            _ => None,
        };
        let (text, shape, is_column) = match target {
            Some(target) => (target.text.clone(), target.shape, target.is_column),
            None => {
                let shown = self.expression(key)?;
                let is_column = matches!(key, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
                (shown.text, shown.shape, is_column)
            }
        };
        let needs_parentheses = !is_column && (self.is_pretty || shape == Shape::Simple);
        Ok(if needs_parentheses { format!("({text})") } else { text })
    }

    fn limits(&mut self, query: &Query, out: &mut String) -> Result<()> {
        let (mut limit, mut offset) = (None, None);
        if let Some(LimitClause::LimitOffset { limit: count, offset: first, .. }) = &query.limit_clause {
            limit = count.as_ref();
            offset = first.as_ref().map(|offset| &offset.value);
        }
        let (limit, with_ties) = limit.map(query_end::count).unzip();
        let (before, after) = match with_ties {
            Some(true) => (" FETCH FIRST (", ") ROWS WITH TIES"),
            _ => (" LIMIT ", ""),
        };
        for (expr, before, after) in [(offset, " OFFSET ", ""), (limit, before, after)] {
            let Some(expr) = expr else { continue };
            self.clause(out, before, 0);
            let shown = self.expression_as_written(expr, SqlType::BigInt)?;
            out.push_str(&shown.text);
            out.push_str(after);
        }
        Ok(())
    }

    fn locks(&mut self, query: &Query, out: &mut String) -> Result<()> {
        for clause in &query.locks {
            let clause = locking::unpack(clause);
            let Some(level) = self.levels.last() else { return Ok(()) };
            let names_relation = matches!(self.change, Some(Change::Relation(..)));
            self.is_ambiguous |= names_relation && !clause.tables.is_empty();
            let tables: Vec<String> = match clause.tables.is_empty() {
                false => clause.tables.clone(),
                true => level.names.clone(),
            };
            for table in tables {
                self.clause(out, &format!(" {}", locking::name_of(clause.strength)), 0);
                out.push_str(&format!(" OF {}", quoted(&table)));
                match clause.impatience {
                    None => {}
                    Some(impatience) => out.push_str(locking::impatience_words(impatience)),
                }
            }
        }
        Ok(())
    }

    /// How a column of a level is printed.
    fn column_text(&mut self, level: usize, column: ScopeColumn) -> String {
        let scope = &self.levels[level].scope;
        let found = match column {
            ScopeColumn::Of { relation, column } => Some((relation, column)),
            ScopeColumn::Merged(at) => {
                let wanted = &scope.merged[at].expr;
                scope.relations.iter().enumerate().find_map(|(number, relation)| {
                    let mut columns = 0..relation.columns.len();
                    columns.find(|column| relation.column(*column) == *wanted).map(|column| (number, column))
                })
            }
        };
        let Some((relation, column)) = found else { return quoted(scope.column_name(column)) };
        let shown = &scope.relations[relation];
        let name = match self.levels[level].items.get(relation) {
            Some(item) if column < item.names.len() => {
                self.uses.columns.extend(&item.shown[column]);
                quoted(&item.names[column])
            }
            _ => {
                if let RelationKind::Table { table, .. } = &shown.kind {
                    self.uses.columns.insert((table.id(), u16::try_from(column).unwrap_or(u16::MAX)));
                }
                quoted(&shown.columns[column].0)
            }
        };
        match self.has_prefixes {
            true => format!("{}.{name}", quoted(&self.levels[level].names[relation])),
            false => name,
        }
    }
}

/// The direction of a key, if it is not the default.
pub(crate) fn order_words(is_descending: bool, nulls_first: Option<bool>) -> &'static str {
    match (is_descending, nulls_first.unwrap_or(is_descending)) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// The body without redundant parentheses.
fn unwrapped(body: &SetExpr) -> &SetExpr {
    match body {
        SetExpr::Query(query) if clause_around(query).is_none() => unwrapped(&query.body),
        body => body,
    }
}
