//! Queries inside expressions: bound here, compiled by `emit::subquery`, placed where the expression is
//! evaluated.
//!
//! A subquery sees the columns of the enclosing queries. Each column that it reads is passed to it in a
//! register of its own, so its code does not depend on where the column comes from. The values passed are
//! parts of the expression ([`Expr::Query`]), which planning treats like any other.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast;

use super::aggregation::{Aggregate, AggregateMode, Named};
use super::expression::boolean;
use super::operator::comparison_type;
use super::row_syntax::row_items;
use super::scope::Scope;
use super::tree::{BoundQuery, Branch, QueryBody, RowTest, Subquery, SubqueryKind, Surroundings};
use super::windowing::WindowCalls;
use super::{Binder, Bound, Class, Place};

/// A nested query, and what it reads of the current one: the expression there, and the register here.
pub(super) struct Nested {
    pub(super) query: BoundQuery,
    pub(super) scope: Scope,
    pub(super) captured: Vec<(Expr, Register)>,
}

/// The state of a query while a nested one is bound.
pub(super) struct Around {
    is_seen: bool,
    aggregates: Vec<Aggregate>,
    mode: AggregateMode,
    hints: Vec<(SqlType, String)>,
    named: Named,
    windows: Option<WindowCalls>,
}

impl Binder<'_> {
    /// `(SELECT ...)` as a value.
    pub(crate) fn scalar_subquery(&mut self, query: &ast::Query, place: Place) -> Result<Bound> {
        let nested = self.bind_nested(query)?;
        let [output] = nested.query.outputs.as_slice() else {
            return self.fail(sqlstate::SYNTAX_ERROR, "subquery must return only one column", place);
        };
        let sql_type = output.sql_type;
        Ok(Bound::typed(self.add_nested(nested, SubqueryKind::Value), sql_type, place))
    }

    /// `(SELECT ...)` as a row: its values, or NULLs if there is no row. The first value is the expression
    /// that computes all.
    pub(crate) fn row_subquery(&mut self, query: &ast::Query) -> Result<Vec<Bound>> {
        let nested = self.bind_nested(query)?;
        let columns: Vec<(SqlType, Place)> =
            nested.query.outputs.iter().map(|output| (output.sql_type, output.place)).collect();
        let registers = columns.iter().map(|_| self.new_register()).collect::<Result<Vec<Register>>>()?;
        let (first, width) = (registers.first().copied().unwrap_or_default(), registers.len());
        let width = u16::try_from(width).unwrap_or(u16::MAX);
        let row = self.add_nested(nested, SubqueryKind::Row { first, width });
        let values = std::iter::once(row).chain(registers.iter().skip(1).copied().map(Expr::Register));
        Ok(values
            .zip(columns)
            .map(|(value, (sql_type, place))| Bound::typed(value, sql_type, place))
            .collect())
    }

    /// EXISTS.
    pub(crate) fn exists(&mut self, query: &ast::Query, is_negated: bool, place: Place) -> Result<Bound> {
        let nested = self.bind_nested(query)?;
        let test = self.add_nested(nested, SubqueryKind::Exists);
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, place))
    }

    /// `left [NOT] IN (SELECT ...)`, `left = ANY (SELECT ...)`: the values to search become an array.
    pub(crate) fn in_subquery(
        &mut self,
        left: &ast::Expr,
        query: &ast::Query,
        is_negated: bool,
        place: Place,
    ) -> Result<Bound> {
        let test = match row_items(left) {
            Some(items) => self.row_in_subquery(&items, query, place)?,
            None => {
                let (left, array) = self.found_values(BinaryOperator::Equal, left, query, place)?;
                let is_set = matches!(&array, Expr::Query { outer, .. } if outer.is_empty());
                let function = if is_set { Function::EqualsSorted } else { Function::EqualsAny };
                Expr::Call { function, arguments: vec![left, array] }
            }
        };
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, place))
    }

    /// The left side of a comparison with each value of a subquery, and those values as an array: a sorted
    /// one if it is built once and only searched.
    pub(super) fn found_values(
        &mut self,
        operator: BinaryOperator,
        left: &ast::Expr,
        query: &ast::Query,
        place: Place,
    ) -> Result<(Expr, Expr)> {
        // The query first: of several errors, PostgreSQL reports that of the query.
        let mut nested = self.bind_nested(query)?;
        let left = self.expression(left)?;
        let [output] = nested.query.outputs.as_slice() else {
            return self.fail(sqlstate::SYNTAX_ERROR, "subquery has too many columns", place);
        };
        let found = Bound::typed(output.expr.clone(), output.sql_type, output.place);
        let sql_type = output.sql_type;
        let common = comparison_type(left.known_type().unwrap_or(sql_type), sql_type);
        let (left, found, _) = self.operands(operator, left, found, place)?;
        let Some(element) = common.and_then(ArrayElement::of) else {
            return self.unsupported(
                Missing::OtherForms,
                &format!("IN with a subquery of {} is", sql_type.base_name()),
                place,
            );
        };
        nested.query.outputs[0].expr = found;
        nested.query.outputs[0].sql_type = element.sql_type();
        let is_set = operator == BinaryOperator::Equal && nested.captured.is_empty();
        let kind = if is_set { SubqueryKind::Set(element) } else { SubqueryKind::Array(element) };
        Ok((left, self.add_nested(nested, kind)))
    }

    /// The values of a subquery as an array of patterns for the left side.
    pub(super) fn patterns_of_query(
        &mut self,
        query: &ast::Query,
        (left, symbol): (&Bound, &str),
        place: Place,
    ) -> Result<Expr> {
        let mut nested = self.bind_nested(query)?;
        let [output] = nested.query.outputs.as_slice() else {
            return self.fail(sqlstate::SYNTAX_ERROR, "subquery has too many columns", place);
        };
        let found = Bound::typed(output.expr.clone(), output.sql_type, output.place);
        self.check_match(left, symbol, found.known_type(), place)?;
        nested.query.outputs[0].expr = self.coerce(found, SqlType::Text)?;
        nested.query.outputs[0].sql_type = SqlType::Text;
        Ok(self.add_nested(nested, SubqueryKind::Array(ArrayElement::Text)))
    }

    /// `(a, b) IN (SELECT x, y ...)`: the values on the left are passed to the subquery, which compares its
    /// rows with them one by one.
    fn row_in_subquery(&mut self, left: &[&ast::Expr], query: &ast::Query, place: Place) -> Result<Expr> {
        let (nested, test) = self.row_beside_query(left, BinaryOperator::Equal, query, place)?;
        Ok(self.add_nested(nested, SubqueryKind::Any(test)))
    }

    /// `(a, b) < ANY (SELECT x, y ...)`, and ALL: no row for which the comparison is false.
    pub(super) fn row_quantified(
        &mut self,
        left: &ast::Expr,
        (operator, is_all): (BinaryOperator, bool),
        query: &ast::Query,
        place: Place,
    ) -> Result<Bound> {
        let left = row_items(left).unwrap_or_default();
        let (nested, mut test) = self.row_beside_query(&left, operator, query, place)?;
        if is_all {
            test.condition = Expr::Not(Box::new(test.condition));
        }
        let found = self.add_nested(nested, SubqueryKind::Any(test));
        Ok(boolean(if is_all { Expr::Not(Box::new(found)) } else { found }, place))
    }

    /// `(a, b) = (SELECT x, y ...)`: the comparison with its single row.
    pub(super) fn row_compared_with_query(
        &mut self,
        left: &[&ast::Expr],
        operator: BinaryOperator,
        query: &ast::Query,
        place: Place,
    ) -> Result<Bound> {
        let (nested, test) = self.row_beside_query(left, operator, query, place)?;
        Ok(boolean(self.add_nested(nested, SubqueryKind::Compared(test)), place))
    }

    /// A subquery, and the comparison of a row with one of its rows.
    fn row_beside_query(
        &mut self,
        left: &[&ast::Expr],
        operator: BinaryOperator,
        query: &ast::Query,
        place: Place,
    ) -> Result<(Nested, RowTest)> {
        let left = left.iter().map(|item| self.expression(item)).collect::<Result<Vec<Bound>>>()?;
        let mut nested = self.bind_nested(query)?;
        let outputs = nested.query.outputs.clone();
        if outputs.len() != left.len() {
            let amount = if outputs.len() < left.len() { "few" } else { "many" };
            let message = format!("subquery has too {amount} columns");
            return self.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        let (mut values, mut pairs) = (Vec::new(), Vec::new());
        for (left, output) in left.into_iter().zip(outputs) {
            let (given, found) = (self.new_register()?, self.new_register()?);
            let beside = Bound::typed(Expr::Register(found), output.sql_type, output.place);
            let (expr, sql_type) = match left.class {
                Class::Typed(sql_type) => (left.expr, sql_type),
                _ => (self.coerce(left, output.sql_type)?, output.sql_type),
            };
            let handed = Bound::typed(Expr::Register(given), sql_type, place);
            pairs.push((handed, beside));
            nested.captured.push((expr, given));
            values.push((found, output.sql_type));
        }
        let condition = self.compared_rows(operator, pairs, place)?;
        Ok((nested, RowTest { values, condition }))
    }

    /// `ARRAY(SELECT ...)`.
    pub(crate) fn array_subquery(&mut self, query: &ast::Query, place: Place) -> Result<Bound> {
        let nested = self.bind_nested(query)?;
        let [output] = nested.query.outputs.as_slice() else {
            return self.fail(sqlstate::SYNTAX_ERROR, "subquery must return only one column", place);
        };
        let Some(element) = ArrayElement::of(output.sql_type) else {
            let what = format!("arrays of {} are", output.sql_type.base_name());
            return self.unsupported(Missing::ColumnTypes, &what, place);
        };
        let expr = self.add_nested(nested, SubqueryKind::Array(element));
        Ok(Bound::typed(expr, SqlType::Array(element), place))
    }

    /// Binds a query nested in the current one, and records what it reads of that.
    pub(super) fn bind_nested(&mut self, query: &ast::Query) -> Result<Nested> {
        let around = self.go_inside(true);
        let bound = self.bind_query(query);
        let (own, captured) = self.come_back(around);
        Ok(Nested { query: bound?, scope: own, captured })
    }

    /// Enters a query nested in the current one, with a scope of its own.
    pub(super) fn go_inside(&mut self, sees_around: bool) -> Around {
        let scope = std::mem::take(&mut self.scope);
        let forbidden = AggregateMode::Forbidden("in this context");
        let mode = std::mem::replace(&mut self.aggregate_mode, forbidden);
        let mut aggregates = std::mem::take(&mut self.aggregates);
        match sees_around {
            true => {
                let aggregates = std::mem::take(&mut aggregates);
                self.surroundings.push(Surroundings { scope, captured: Vec::new(), aggregates, mode });
            }
            false => self.beside.push(scope),
        }
        Around {
            is_seen: sees_around,
            aggregates,
            mode,
            hints: std::mem::take(&mut self.output_hints),
            named: std::mem::take(&mut self.named),
            windows: self.windows.take(),
        }
    }

    /// Ends what [`Binder::go_inside`] begins. Returns the nested scope, and what was read of the enclosing
    /// one.
    pub(super) fn come_back(&mut self, around: Around) -> (Scope, Vec<(Expr, Register)>) {
        self.output_hints = around.hints;
        self.aggregate_mode = around.mode;
        self.aggregates = around.aggregates;
        self.windows = around.windows;
        let named = std::mem::replace(&mut self.named, around.named);
        // What was named of the nested query itself does not concern the others.
        self.named.add(named, self.level());
        let own = std::mem::take(&mut self.scope);
        let mut captured = Vec::new();
        if !around.is_seen {
            self.scope = self.beside.pop().unwrap_or_default();
        } else if let Some(around) = self.surroundings.pop() {
            self.scope = around.scope;
            self.aggregates = around.aggregates;
            captured = around.captured;
        }
        (own, captured)
    }

    /// The types of the columns of a nested query.
    pub(super) fn types_of_nested(&mut self, query: &ast::Query) -> Result<Vec<SqlType>> {
        let nested = self.bind_nested(query)?;
        Ok(nested.query.outputs.iter().map(|output| output.sql_type).collect())
    }

    fn add_nested(&mut self, nested: Nested, kind: SubqueryKind) -> Expr {
        let Nested { query, scope, captured } = nested;
        let (expressions, outer): (Vec<Expr>, Vec<Register>) = captured.into_iter().unzip();
        let branch = Branch { body: QueryBody::Select(Box::new(query)), scope };
        let is_independent = outer.is_empty();
        let query = self.add_subquery(Subquery { branch, kind, is_independent, sees_changes: false, outer });
        Expr::Query { query, outer: expressions }
    }

    /// Registers a subquery and returns its number.
    pub(crate) fn add_subquery(&mut self, subquery: Subquery) -> u16 {
        self.subqueries.push(Subquery { sees_changes: self.sees_changes, ..subquery });
        u16::try_from(self.subqueries.len() - 1).unwrap_or(u16::MAX)
    }

    /// The column of this name in the enclosing queries, the nearest first.
    pub(super) fn find_outer_column(&mut self, name: &str, place: Place) -> Result<Option<Bound>> {
        for depth in (0..self.surroundings.len()).rev() {
            let found = self.at_depth(depth, |binder| binder.find_column(name, place))?;
            if let Some(found) = found {
                self.note_column(depth, place);
                return self.hand_over(depth, found).map(Some);
            }
        }
        Ok(None)
    }

    /// The same for `table.column`, if an enclosing query has such a table and this one does not.
    pub(super) fn find_outer_qualified(
        &mut self,
        (table, column): (&str, &str),
        place: Place,
    ) -> Result<Option<Bound>> {
        if self.scope.named().any(|(_, relation)| relation.name == table) {
            return Ok(None);
        }
        let Some(depth) = self.surroundings.iter().rposition(|around| around.has(table)) else {
            return Ok(None);
        };
        let found = self.at_depth(depth, |binder| binder.column_of_relation(table, column, place))?;
        self.note_column(depth, place);
        self.hand_over(depth, found).map(Some)
    }

    fn at_depth<T>(&mut self, depth: usize, look: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        std::mem::swap(&mut self.scope, &mut self.surroundings[depth].scope);
        let named = std::mem::take(&mut self.named);
        let found = look(self);
        self.named = named;
        std::mem::swap(&mut self.scope, &mut self.surroundings[depth].scope);
        found
    }

    /// Passes a value of this enclosing query inwards, from subquery to subquery.
    pub(super) fn hand_over(&mut self, depth: usize, found: Bound) -> Result<Bound> {
        self.handed_over += 1;
        let mut expr = found.expr;
        for at in depth..self.surroundings.len() {
            let known = self.surroundings[at].captured.iter().find(|(known, _)| *known == expr);
            let register = match known {
                Some((_, register)) => *register,
                None => {
                    let register = self.new_register()?;
                    self.surroundings[at].captured.push((expr, register));
                    register
                }
            };
            expr = Expr::Register(register);
        }
        Ok(Bound { expr, ..found })
    }
}
