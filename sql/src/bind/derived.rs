//! Queries whose rows are read like a table's: in FROM, of WITH, VALUES, and the sides of UNION, INTERSECT
//! and EXCEPT.
//!
//! Each is a subquery of its own, whose rows are kept when they are first needed. A query that consists of
//! one of these reads them as a SELECT of all columns would, so ORDER BY, LIMIT and everything around it use
//! the same code.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Result, sqlstate};
use hyades_types::guest;
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier, TableAlias};

use super::aggregation::AggregateMode;
use super::bound::start_of_query;
use super::scope::{Relation, RelationKind, Scope, Visibility};
use super::select_list::check_width;
use super::subquery::Nested;
use super::tree::{
    BoundCommonTable, BoundDistinct, BoundQuery, Branch, CommonTable, DerivedTable, Item, JoinGroup,
    OutputColumn, QueryBody, SelfReference, Source, Subquery, SubqueryKind,
};
use super::windowing::Windowing;
use super::{Binder, Bound, Class, Place};
use crate::statement::names::fold;

/// The cost of a branch of a UNION or the like, besides its expressions, as work of a guest, and of a look
/// at one.
const UNITS_PER_BRANCH: u32 = 50;
const UNITS_PER_LOOK_AT_BRANCH: u32 = 2;

/// Names and types of columns.
pub(crate) type Columns = Vec<(String, SqlType)>;

impl Binder<'_> {
    /// `(SELECT ...) AS name` in FROM.
    pub(super) fn derived_item(
        &mut self,
        query: &ast::Query,
        alias: Option<&TableAlias>,
        is_lateral: bool,
    ) -> Result<Item> {
        let Some(alias) = alias else {
            let error = hyades_types::error::Error::input(
                sqlstate::SYNTAX_ERROR,
                "subquery in FROM must have an alias",
            )
            .with_hint("For example, FROM (SELECT ...) [AS] foo.");
            return Err(self.place(error, Place::before(start_of_query(query))));
        };
        let (query, columns, outer) = if is_lateral {
            self.lateral_rows_of(query)?
        } else {
            let (query, columns) = self.rows_of(query)?;
            (query, columns, Vec::new())
        };
        let name = self.alias(&alias.name)?;
        let (mut derived, relation) = self.derived_relation(query, columns, name.clone())?;
        derived.outer = outer;
        self.add_derived((derived, relation), Some(alias), name)
    }

    /// A reference to a query of WITH.
    pub(super) fn common_item(
        &mut self,
        name: &str,
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<Option<Item>> {
        let Some(at) = self.common_tables.iter().rposition(|common| common.name == name) else {
            return Ok(None);
        };
        let common = self.common_tables[at].clone();
        if common.bound.is_none() && changes_rows(&common.query.body) {
            let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
            return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
        }
        if !matches!(common.own, SelfReference::Hidden) {
            return self.working_item(at, alias, place).map(Some);
        }
        let bound = match common.bound {
            Some(bound) => bound,
            None => self.bind_common(at, &common)?,
        };
        let BoundCommonTable { query, columns, recursion } = bound;
        let own_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let label = own_name.as_ref().map_or(name.to_owned(), |alias| format!("{name} {alias}"));
        let name = own_name.unwrap_or_else(|| name.to_owned());
        let (mut derived, relation) = self.derived_relation(query, columns, name)?;
        derived.recursion = recursion;
        self.add_derived((derived, relation), alias, label).map(Some)
    }

    /// Binds a query of WITH, which sees the earlier ones.
    fn bind_common(&mut self, at: usize, common: &CommonTable) -> Result<BoundCommonTable> {
        let before = self.handed_over;
        let later = self.common_tables.split_off(at + usize::from(common.is_recursive));
        let bound = match common.is_recursive {
            true => self.recursive_common(common),
            false => self.plain_common(common),
        };
        self.common_tables.extend(later);
        self.common_tables[at].own = SelfReference::Hidden;
        let bound = bound?;
        if self.handed_over == before {
            self.common_tables[at].bound = Some(bound.clone());
        }
        Ok(bound)
    }

    /// The same for a query that does not refer to itself.
    pub(super) fn plain_common(&mut self, common: &CommonTable) -> Result<BoundCommonTable> {
        let (query, mut columns) = self.rows_of(&common.query)?;
        self.rename_columns(common, &mut columns)?;
        Ok(BoundCommonTable { query, columns, recursion: None })
    }

    /// Gives columns the names that the WITH clause lists.
    pub(crate) fn rename_columns(&self, common: &CommonTable, columns: &mut Columns) -> Result<()> {
        if common.column_names.len() > columns.len() {
            let message = format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                common.name,
                columns.len(),
                common.column_names.len()
            );
            return self.fail(sqlstate::INVALID_COLUMN_REFERENCE, message, common.place);
        }
        for (column, name) in columns.iter_mut().zip(&common.column_names) {
            column.0.clone_from(name);
        }
        Ok(())
    }

    /// A query whose rows are kept already. It has no code.
    pub(crate) fn kept_query(&mut self) -> u16 {
        self.add_subquery(Subquery {
            branch: Branch { body: QueryBody::Values(Vec::new()), scope: Scope::default() },
            kind: SubqueryKind::Rows,
            is_independent: true,
            sees_changes: false,
            outer: Vec::new(),
        })
    }

    /// A view whose rows are kept like those of a query.
    pub(super) fn kept_view(
        &mut self,
        bound: BoundQuery,
        scope: Scope,
        columns: Columns,
        (name, alias): (String, Option<&TableAlias>),
    ) -> Result<JoinGroup> {
        let branch = Branch { body: QueryBody::Select(Box::new(bound)), scope };
        let number = self.keep_rows(branch, self.handed_over);
        let derived = self.derived_relation(number, columns, name.clone())?;
        self.add_derived(derived, alias, name).map(JoinGroup::of)
    }

    pub(super) fn add_derived(
        &mut self,
        (derived, relation): (DerivedTable, Relation),
        alias: Option<&TableAlias>,
        label: String,
    ) -> Result<Item> {
        let relation = self.add_relation(relation, alias, Place::Unknown)?;
        Ok(Item::new(Source::Query(derived), label, relation))
    }

    pub(super) fn derived_relation(
        &mut self,
        query: u16,
        columns: Columns,
        name: String,
    ) -> Result<(DerivedTable, Relation)> {
        let registers = columns.iter().map(|_| self.new_register()).collect::<Result<Vec<Register>>>()?;
        self.note_registers(query, &registers);
        let kind = RelationKind::Registers(registers.clone());
        let relation = Relation { name, columns, kind, visibility: Visibility::Everywhere };
        Ok((DerivedTable { query, registers, outer: Vec::new(), recursion: None }, relation))
    }

    /// Makes the queries of WITH visible from now on.
    pub(crate) fn with_clause(&mut self, with: &ast::With) -> Result<()> {
        let first = self.common_tables.len();
        for table in &with.cte_tables {
            if changes_rows(&table.query.body) {
                let message = "WITH clause containing a data-modifying statement must be at the top level";
                let place = Place::at(table.alias.name.span.start);
                return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
            }
            self.declare_common(table, first, with.recursive)?;
        }
        self.bind_commons(first)
    }

    /// Declares the name of a query of WITH. The first query of that WITH has the number `first`.
    pub(crate) fn declare_common(
        &mut self,
        table: &ast::Cte,
        first: usize,
        is_recursive: bool,
    ) -> Result<()> {
        let name = self.alias(&table.alias.name)?;
        let place = Place::at(table.alias.name.span.start);
        if self.common_tables[first..].iter().any(|known| known.name == name) {
            let message = format!("WITH query name \"{name}\" specified more than once");
            return self.fail(sqlstate::DUPLICATE_ALIAS, message, place);
        }
        let column_names = table.alias.columns.iter().map(|column| fold(&column.name)).collect();
        let (query, own) = (table.query.clone(), SelfReference::Hidden);
        let common = CommonTable { name, place, column_names, query, is_recursive, own, bound: None };
        self.common_tables.push(common);
        Ok(())
    }

    /// Binds the queries of WITH from this number on.
    pub(crate) fn bind_commons(&mut self, first: usize) -> Result<()> {
        // It must be valid even if nothing refers to it.
        for at in first..self.common_tables.len() {
            let name = self.common_tables[at].name.clone();
            let scope = std::mem::take(&mut self.scope);
            let known = self.common_tables.split_off(at + 1);
            let outcome = self.common_item(&name, None, Place::Unknown);
            self.common_tables.extend(known);
            self.scope = scope;
            outcome?;
        }
        Ok(())
    }

    /// Binds a query whose rows are to be kept, next to the current one.
    fn rows_of(&mut self, query: &ast::Query) -> Result<(u16, Columns)> {
        let before = self.handed_over;
        let mut rows = Vec::new();
        let (branch, columns) = self.beside(|binder| {
            let bound = binder.bind_query(query)?;
            let columns = columns_of(&bound);
            rows = binder.row_columns(&bound);
            Ok((QueryBody::Select(Box::new(bound)), columns))
        })?;
        let number = self.keep_rows(branch, before);
        self.note_columns(number, &rows);
        Ok((number, columns))
    }

    /// The same for a query that sees the items before it in FROM. Also returns what it reads of them.
    pub(super) fn lateral_rows_of(&mut self, query: &ast::Query) -> Result<(u16, Columns, Vec<Expr>)> {
        let Nested { query, scope, captured } = self.bind_nested(query)?;
        let columns = columns_of(&query);
        let rows = self.row_columns(&query);
        let (expressions, outer): (Vec<Expr>, Vec<Register>) = captured.into_iter().unzip();
        let branch = Branch { body: QueryBody::Select(Box::new(query)), scope };
        let is_independent = outer.is_empty();
        let number = self.add_subquery(Subquery {
            branch,
            kind: SubqueryKind::Rows,
            is_independent,
            sees_changes: false,
            outer,
        });
        self.note_columns(number, &rows);
        Ok((number, columns, expressions))
    }

    pub(super) fn keep_rows(&mut self, branch: Branch, before: usize) -> u16 {
        let is_independent = self.handed_over == before;
        self.add_subquery(Subquery {
            branch,
            kind: SubqueryKind::Rows,
            is_independent,
            sees_changes: false,
            outer: Vec::new(),
        })
    }

    /// Binds something with a scope of its own.
    fn beside(
        &mut self,
        bind: impl FnOnce(&mut Self) -> Result<(QueryBody, Columns)>,
    ) -> Result<(Branch, Columns)> {
        let around = self.go_inside(false);
        let bound = bind(self);
        let (own, _) = self.come_back(around);
        let (body, columns) = bound?;
        Ok((Branch { body, scope: own }, columns))
    }

    /// A query whose body is VALUES or combines two others: all columns of those rows.
    pub(super) fn combined_query(&mut self, query: &ast::Query) -> Result<BoundQuery> {
        if !query.locks.is_empty() {
            let what = if matches!(query.body.as_ref(), SetExpr::Query(_)) {
                "a locking clause after parentheses is"
            } else {
                "a locking clause over VALUES, UNION, INTERSECT or EXCEPT is"
            };
            return self.lacks(Missing::LockingClauses, what);
        }
        let before = self.handed_over;
        let (branch, columns) = self.branch(&query.body)?;
        let number = self.keep_rows(branch, before);
        let name = if matches!(query.body.as_ref(), SetExpr::Values(_)) { "*VALUES*" } else { "*SELECT*" };
        let (derived, relation) = self.derived_relation(number, columns, name.to_owned())?;
        let outputs: Vec<OutputColumn> = relation
            .columns
            .iter()
            .zip(&derived.registers)
            .map(|((name, sql_type), register)| OutputColumn {
                name: name.clone(),
                expr: Expr::Register(*register),
                sql_type: *sql_type,
                place: Place::Unknown,
                column_places: (0, 0),
            })
            .collect();
        self.scope = Scope::of(relation);
        let order = self.order(query, &outputs)?;
        self.aggregate_mode = AggregateMode::Forbidden("in LIMIT");
        let limits = self.limits(query)?;
        Ok(BoundQuery {
            from: JoinGroup::of(Item::new(Source::Query(derived), name.to_owned(), 0)),
            outputs,
            group: None,
            having: None,
            having_places: (0, 0),
            sets: Vec::new(),
            order,
            distinct: BoundDistinct::No,
            limits,
            aggregates: Vec::new(),
            windowing: Windowing::default(),
        })
    }

    /// The names of the columns of a body.
    pub(super) fn columns_of_body(&mut self, body: &SetExpr) -> Result<Vec<String>> {
        let (_, columns) = self.branch(body)?;
        Ok(columns.into_iter().map(|(name, _)| name).collect())
    }

    pub(super) fn branch(&mut self, body: &SetExpr) -> Result<(Branch, Columns)> {
        guest::spend(UNITS_PER_BRANCH)?;
        match body {
            SetExpr::Values(values) => self.beside(|binder| binder.values_body(values)),
            SetExpr::SetOperation { op, set_quantifier, left, right } => {
                self.both((*op, *set_quantifier), left, right)
            }
            SetExpr::Query(query) => self.beside(|binder| {
                let bound = binder.bind_query(query)?;
                let columns = columns_of(&bound);
                Ok((QueryBody::Select(Box::new(bound)), columns))
            }),
            SetExpr::Select(_) => self.branch(&SetExpr::Query(Box::new(query_of(body)))),
            _ => self.lacks(Missing::OtherForms, "this form of query is"),
        }
    }

    fn both(
        &mut self,
        (operator, quantifier): (SetOperator, SetQuantifier),
        left: &SetExpr,
        right: &SetExpr,
    ) -> Result<(Branch, Columns)> {
        let word = operator.to_string();
        let is_all = match quantifier {
            SetQuantifier::All => true,
            SetQuantifier::None | SetQuantifier::Distinct => false,
            _ => return self.lacks(Missing::Dialects, &format!("{word} BY NAME is")),
        };
        let place = first_output(right);
        let (left_body, right_body) = (left, right);
        let (left, left_columns) = self.branch(left)?;
        let (right, right_columns) = self.branch(right)?;
        if left_columns.len() != right_columns.len() {
            let message = format!("each {word} query must have the same number of columns");
            return self.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        let mut columns = Vec::with_capacity(left_columns.len());
        for (at, ((name, left_type), (_, right_type))) in left_columns.iter().zip(&right_columns).enumerate()
        {
            // A NULL that was converted to another type than text has that type.
            let is_unknown = |branch, body, sql_type: SqlType| {
                sql_type == SqlType::Text && (is_null(branch, at) || is_literal(body, at))
            };
            let common =
                match [is_unknown(&left, left_body, *left_type), is_unknown(&right, right_body, *right_type)]
                {
                    [true, false] => *right_type,
                    [false, true] => *left_type,
                    _ => {
                        let typed = [*left_type, *right_type]
                            .map(|sql_type| Bound::typed(Expr::Register(0), sql_type, place));
                        self.common_type(&typed, &word)?
                    }
                };
            // The place is looked for only where it is needed: it may be at the end of a long chain.
            if !is_all && self.check_equality(common, Place::Unknown).is_err() {
                self.check_equality(common, first_output(left_body))?;
            }
            columns.push((name.clone(), common));
        }
        let left = self.retyped(left, &left_columns, &columns)?;
        let right = self.retyped(right, &right_columns, &columns)?;
        let body = QueryBody::Both { operator, is_all, sides: Box::new([left, right]) };
        Ok((Branch { body, scope: Scope::default() }, columns))
    }

    /// The branch with its values converted to these types.
    pub(super) fn retyped(&mut self, mut branch: Branch, from: &Columns, to: &Columns) -> Result<Branch> {
        // Otherwise a chain of many branches would be walked again for each of them.
        if from.iter().zip(to).all(|((_, from), (_, to))| from == to) {
            return Ok(branch);
        }
        guest::spend(UNITS_PER_BRANCH)?;
        let mut convert = |expr: &mut Expr, at: usize, place: Place| -> Result<()> {
            let (from, to) = (from[at].1, to[at].1);
            if from != to && *expr != Expr::Const(Value::Null) {
                let whole = std::mem::replace(expr, Expr::Register(0));
                // It is a literal. Other texts are not converted.
                let class = match &whole {
                    Expr::Const(Value::Text(text)) if from == SqlType::Text => {
                        Class::Literal(text.to_string())
                    }
                    _ => Class::Typed(from),
                };
                *expr = self.coerce(Bound { expr: whole, class, place }, to)?;
            }
            Ok(())
        };
        match &mut branch.body {
            QueryBody::Select(query) => {
                for (at, output) in query.outputs.iter_mut().enumerate() {
                    convert(&mut output.expr, at, output.place)?;
                    output.sql_type = to[at].1;
                }
            }
            QueryBody::Values(rows) => {
                for row in rows {
                    let mut values = row.iter_mut().enumerate();
                    values.try_for_each(|(at, value)| convert(value, at, Place::Unknown))?;
                }
            }
            // It stands in FROM and is never combined with another.
            QueryBody::System(_) => {}
            QueryBody::Both { sides, .. } => {
                let [left, right] = sides.as_mut();
                for side in [left, right] {
                    let own = std::mem::replace(
                        side,
                        Branch { body: QueryBody::Values(Vec::new()), scope: Scope::default() },
                    );
                    *side = self.retyped(own, from, to)?;
                }
            }
        }
        Ok(branch)
    }

    fn values_body(&mut self, values: &ast::Values) -> Result<(QueryBody, Columns)> {
        let (rows, columns) = self.values_rows(values)?;
        Ok((QueryBody::Values(rows), columns))
    }

    /// The rows of VALUES, of common types.
    pub(crate) fn values_rows(&mut self, values: &ast::Values) -> Result<(Vec<Vec<Expr>>, Columns)> {
        let mode = std::mem::replace(&mut self.aggregate_mode, AggregateMode::Forbidden("in VALUES"));
        let rows = self.typed_values_rows(values);
        self.aggregate_mode = mode;
        rows
    }

    fn typed_values_rows(&mut self, values: &ast::Values) -> Result<(Vec<Vec<Expr>>, Columns)> {
        let mut rows: Vec<Vec<Bound>> = Vec::new();
        for row in &values.rows {
            check_width(row.content.len())?;
            let row = row.content.iter().map(|item| self.expression(item)).collect::<Result<Vec<_>>>()?;
            if rows.first().is_some_and(|first| first.len() != row.len()) {
                let place = row.first().map_or(Place::Unknown, |item| item.place);
                let message = "VALUES lists must all be the same length";
                return self.fail(sqlstate::SYNTAX_ERROR, message, place);
            }
            rows.push(row);
        }
        let width = rows.first().map_or(0, Vec::len);
        let types = (0..width)
            .map(|column| self.common_type(rows.iter().map(|row| &row[column]), "VALUES"))
            .collect::<Result<Vec<SqlType>>>()?;
        let mut converted = Vec::with_capacity(rows.len());
        for row in rows {
            let row = row.into_iter().zip(&types).map(|(item, sql_type)| self.coerce(item, *sql_type));
            converted.push(row.collect::<Result<Vec<Expr>>>()?);
        }
        let columns = types.iter().enumerate();
        let columns = columns.map(|(at, sql_type)| (format!("column{}", at + 1), *sql_type)).collect();
        Ok((converted, columns))
    }
}

/// A query that consists of only this body.
pub(super) fn query_of(body: &SetExpr) -> ast::Query {
    ast::Query {
        with: None,
        body: Box::new(body.clone()),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// Whether this column is the literal NULL, which can have any type.
fn is_null(branch: &Branch, column: usize) -> bool {
    guest::pass(UNITS_PER_LOOK_AT_BRANCH);
    match &branch.body {
        QueryBody::Select(query) => {
            query.outputs.get(column).is_some_and(|output| output.expr == Expr::Const(Value::Null))
        }
        QueryBody::Values(_) | QueryBody::System(_) => false,
        QueryBody::Both { sides, .. } => sides.iter().all(|side| is_null(side, column)),
    }
}

/// Whether this column is written as a text literal without a type.
fn is_literal(body: &SetExpr, column: usize) -> bool {
    guest::pass(UNITS_PER_LOOK_AT_BRANCH);
    match body {
        SetExpr::Select(select) => match select.projection.get(column) {
            Some(ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }) => {
                let has_all = select.projection.iter().take(column).all(|item| {
                    matches!(item, ast::SelectItem::UnnamedExpr(_) | ast::SelectItem::ExprWithAlias { .. })
                });
                let is_text =
                    |value: &ast::ValueWithSpan| matches!(value.value, ast::Value::SingleQuotedString(_));
                has_all && matches!(expr, ast::Expr::Value(value) if is_text(value))
            }
            _ => false,
        },
        SetExpr::Query(query) => is_literal(&query.body, column),
        _ => false,
    }
}

/// Where the first column of these rows is written.
pub(super) fn first_output(body: &SetExpr) -> Place {
    match body {
        SetExpr::Select(select) => match select.projection.first() {
            Some(ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }) => {
                Place::of_expr(expr)
            }
            _ => Place::Unknown,
        },
        SetExpr::Query(query) => first_output(&query.body),
        SetExpr::Values(values) => {
            let first = values.rows.first().and_then(|row| row.content.first());
            first.map_or(Place::Unknown, Place::of_expr)
        }
        SetExpr::SetOperation { left, .. } => first_output(left),
        _ => Place::Unknown,
    }
}

pub(super) fn columns_of(query: &BoundQuery) -> Columns {
    query.outputs.iter().map(|output| (output.name.clone(), output.sql_type)).collect()
}

/// INSERT, UPDATE and DELETE.
pub(crate) fn changes_rows(body: &SetExpr) -> bool {
    matches!(body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_))
}
