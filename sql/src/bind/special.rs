//! Constructs with a grammar of their own: LIKE, EXTRACT, SUBSTRING, TRIM, POSITION, AT TIME ZONE, COALESCE
//! and the like, and clear refusals of those that are missing.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::refusal::Missing;
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast::{self, TrimWhereField};

use super::any_case::{ignores_case, in_any_case, is_matchable};
use super::coerce::{Category, category};
use super::expression::{boolean, custom_operator};
use super::{Binder, Bound, Class, Place, start_of, types};
use crate::evaluation;
use crate::statement::query::end_of;
use crate::statement::sort_operator;

impl Binder<'_> {
    pub(crate) fn special(&mut self, expr: &ast::Expr) -> Result<Bound> {
        use ast::Expr as Ast;
        let place = Place::of_expr(expr);
        match expr {
            Ast::Like { negated, any: false, expr: operand, pattern, escape_char } => {
                self.like(operand, pattern, escape_char.as_ref(), (*negated, false))
            }
            Ast::ILike { negated, any: false, expr: operand, pattern, escape_char } => {
                self.like(operand, pattern, escape_char.as_ref(), (*negated, true))
            }
            Ast::SimilarTo { negated, expr: operand, pattern, escape_char } => {
                self.similar(operand, pattern, escape_char.as_ref(), *negated)
            }
            Ast::Extract { field, expr: from, .. } => {
                let field = field.to_string().to_ascii_lowercase();
                let field = self.text_literal(field.trim_matches('\''), place);
                let from = self.expression(from)?;
                self.call_of("extract", vec![field, from], place)
            }
            Ast::Ceil { expr: inner, .. } => self.call_on("ceil", &[inner], place),
            Ast::Floor { expr: inner, .. } => self.call_on("floor", &[inner], place),
            Ast::Position { expr: part, r#in } => self.call_on("position", &[r#in, part], place),
            Ast::Substring { expr: inner, substring_from, substring_for, shorthand, .. } => {
                let parts = (substring_from.as_deref(), substring_for.as_deref());
                self.substring(inner, parts, *shorthand, place)
            }
            Ast::Trim { trim_where, trim_what, expr: inner, trim_characters } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "btrim",
                };
                let mut arguments: Vec<&ast::Expr> = vec![inner];
                arguments.extend(trim_what.as_deref());
                arguments.extend(trim_characters.iter().flatten());
                self.call_on(name, &arguments, place)
            }
            Ast::Overlay { expr: inner, overlay_what, overlay_from, overlay_for } => {
                let arguments =
                    [Some(&**inner), Some(overlay_what), Some(overlay_from), overlay_for.as_deref()];
                self.call_on("overlay", &arguments.into_iter().flatten().collect::<Vec<_>>(), place)
            }
            Ast::AtTimeZone { timestamp, time_zone } => {
                self.call_on("timezone", &[time_zone, timestamp], place)
            }
            Ast::Collate { expr: inner, collation } => {
                let name = collation.to_string().replace('"', "").to_ascii_lowercase();
                let base = name.strip_prefix("pg_catalog.").unwrap_or(&name);
                if !matches!(base, "default" | "c" | "posix" | "ucs_basic") {
                    return self.unsupported(Missing::Collations, "collations other than \"C\" are", place);
                }
                self.collated(inner)
            }
            Ast::Subquery(query) => {
                // PostgreSQL points at the parenthesis.
                self.scalar_subquery(query, Place::before(start_of(expr)))
            }
            Ast::Exists { subquery, negated } => self.exists(subquery, *negated, place),
            Ast::InSubquery { expr: left, subquery, negated } => {
                self.in_subquery(left, subquery, *negated, Place::OperatorAfter(end_of(left)))
            }
            Ast::CompoundFieldAccess { root, access_chain } => self.subscript(root, access_chain),
            Ast::Tuple(_) | Ast::QualifiedWildcard(..) => self.row_or_refusal(expr, place),
            Ast::Array(array) => self.array(&array.elem, place),
            Ast::AnyOp { left, compare_op, right, .. } => self.quantified(left, (compare_op, false), right),
            Ast::AllOp { left, compare_op, right } => self.quantified(left, (compare_op, true), right),
            Ast::Interval(interval) => self.interval_literal(interval, place),
            other => self.refuse(other, place),
        }
    }

    fn row_or_refusal(&mut self, expr: &ast::Expr, place: Place) -> Result<Bound> {
        match self.row(expr)? {
            Some(row) => self.row_value(row),
            None => self.refuse(expr, place),
        }
    }

    fn interval_literal(&mut self, literal: &ast::Interval, place: Place) -> Result<Bound> {
        let to = types::interval_literal(literal).map_err(|error| self.place(error, place))?;
        let value = self.expression(&literal.value)?;
        self.coerce_explicitly(value, to, place)
    }

    fn refuse(&mut self, expr: &ast::Expr, place: Place) -> Result<Bound> {
        use ast::Expr as Ast;
        let what = match expr {
            Ast::RLike { .. } => "regular expressions are",
            Ast::JsonAccess { .. } => "type json is",
            Ast::Prefixed { prefix, value } => {
                if let Some((operator, key)) = sort_operator::of_key(expr) {
                    return self.ordered_by(expr, operator, key);
                }
                let shown = format!("{prefix} {}", self.expression(value)?.type_name());
                let error = self.no_operator(&shown, Place::at(prefix.span.start));
                return Err(error.with_hint(
                    "No operator matches the given name and argument type. You might need to add an explicit \
                     type cast.",
                ));
            }
            Ast::GroupingSets(_) | Ast::Cube(_) | Ast::Rollup(_) => "grouping sets in grouping sets are",
            other => {
                return self.unsupported(Missing::OtherForms, &format!("{other} is"), place);
            }
        };
        self.unsupported(Missing::OtherForms, what, place)
    }

    /// A key with an operator other than `<` and `>`.
    fn ordered_by(&mut self, expr: &ast::Expr, operator: &ast::Ident, key: &ast::Expr) -> Result<Bound> {
        let place = Place::at(operator.span.start);
        let bound = self.expression(key)?;
        let is_text = bound.known_type().is_none_or(|known| category(known) == Category::String);
        if is_text && sort_operator::by_pattern(expr).is_some() {
            return Ok(bound);
        }
        let side = || Box::new(key.clone());
        let call = |op| ast::Expr::BinaryOp { left: side(), op, right: side() };
        let known = custom_operator(&operator.value).map(call);
        if known.is_none_or(|call| self.expression(&call).is_err()) {
            let shown = format!("{0} {operator} {0}", bound.type_name());
            return Err(self.no_operator(&shown, place));
        }
        let message = format!("operator {operator} is not a valid ordering operator");
        let hint = "Ordering operators must be \"<\" or \">\" members of btree operator families.";
        Err(self.place(Error::input(sqlstate::WRONG_OBJECT_TYPE, message).with_hint(hint), place))
    }

    fn text_literal(&self, text: &str, place: Place) -> Bound {
        Bound { expr: Expr::Const(Value::Null), class: Class::Literal(text.to_owned()), place }
    }

    fn call_on(&mut self, name: &str, arguments: &[&ast::Expr], place: Place) -> Result<Bound> {
        let bound = arguments.iter().map(|argument| self.expression(argument)).collect::<Result<Vec<_>>>()?;
        self.call_of(name, bound, place)
    }

    fn substring(
        &mut self,
        inner: &ast::Expr,
        (from, length): (Option<&ast::Expr>, Option<&ast::Expr>),
        is_substr: bool,
        place: Place,
    ) -> Result<Bound> {
        let mut arguments = vec![self.expression(inner)?];
        arguments.push(match from {
            Some(from) => self.expression(from)?,
            None => Bound::typed(Expr::Const(Value::Integer(1)), SqlType::Integer, place),
        });
        if let Some(length) = length {
            arguments.push(self.expression(length)?);
        }
        self.call_of(if is_substr { "substr" } else { "substring" }, arguments, place)
    }

    /// SIMILAR TO.
    fn similar(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::ValueWithSpan>,
        is_negated: bool,
    ) -> Result<Bound> {
        let place = Place::OperatorAfter(end_of(operand));
        let mut arguments = Vec::new();
        for side in [operand, pattern] {
            let side = self.expression(side)?;
            if !is_matchable(side.known_type()) {
                let symbol = if is_negated { "!~" } else { "~" };
                return Err(self.no_operator(&format!("{} {symbol} text", side.type_name()), place));
            }
            arguments.push(self.coerce(side, SqlType::Text)?);
        }
        if let Some(escape) = escape {
            let escape = self.expression(&ast::Expr::Value(escape.clone()))?;
            arguments.push(self.coerce(escape, SqlType::Text)?);
        }
        let test = Expr::Call { function: Function::MatchesSimilar, arguments };
        let test = evaluation::fold_if_constant(test);
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, place))
    }

    /// `left LIKE ANY (array)` and the like, and the same with a subquery.
    pub(super) fn quantified_match(
        &mut self,
        left: &ast::Expr,
        (mut symbol, is_all): (&'static str, bool),
        right: &ast::Expr,
        place: Place,
    ) -> Result<Bound> {
        let left = self.expression(left)?;
        let texts = SqlType::Array(ArrayElement::Text);
        let array = match right {
            ast::Expr::Subquery(query) => self.patterns_of_query(query, (&left, symbol), place)?,
            right => {
                let right = self.expression(right)?;
                let element = match right.known_type() {
                    None => None,
                    Some(sql_type) if sql_type.element().is_none() => {
                        let message = "op ANY/ALL (array) requires array on right side";
                        return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place);
                    }
                    Some(sql_type) => sql_type.element().map(ArrayElement::sql_type),
                };
                self.check_match(&left, symbol, element, place)?;
                symbol = if ignores_case(left.known_type(), element) { in_any_case(symbol) } else { symbol };
                self.coerce(right, texts)?
            }
        };
        let left = self.matched_text(left)?;
        let function = if is_all { Function::MatchesAll } else { Function::MatchesAny };
        let arguments = vec![left, array, Expr::Const(Value::text(symbol))];
        Ok(boolean(evaluation::fold_if_constant(Expr::Call { function, arguments }), place))
    }

    /// The text that is matched against a pattern: a `char(n)` with its blanks, as in PostgreSQL's
    /// bpcharlike.
    pub(super) fn matched_text(&mut self, bound: Bound) -> Result<Expr> {
        match bound.class {
            Class::Typed(SqlType::Char(_)) => Ok(bound.expr),
            _ => self.coerce(bound, SqlType::Text),
        }
    }

    /// 42883 unless both sides are text.
    pub(super) fn check_match(
        &self,
        left: &Bound,
        symbol: &str,
        right: Option<SqlType>,
        place: Place,
    ) -> Result<()> {
        if [left.known_type(), right].into_iter().all(is_matchable) {
            return Ok(());
        }
        let right = right.map_or("text", SqlType::base_name);
        Err(self.no_operator(&format!("{} {symbol} {right}", left.type_name()), place))
    }

    /// LIKE and ILIKE; `(is_negated, is_case_insensitive)`.
    pub(crate) fn like(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::ValueWithSpan>,
        (is_negated, case_insensitive): (bool, bool),
    ) -> Result<Bound> {
        let place = Place::OperatorAfter(end_of(operand));
        let bound = self.expression(operand)?;
        let pattern = self.expression(pattern)?;
        let symbol = match (is_negated, case_insensitive) {
            (false, false) => "~~",
            (true, false) => "!~~",
            (false, true) => "~~*",
            (true, true) => "!~~*",
        };
        let shown = format!("{} {symbol} {}", bound.type_name(), pattern.type_name());
        let are_text = [&bound, &pattern].iter().all(|side| is_matchable(side.known_type()));
        let case_insensitive = case_insensitive || ignores_case(bound.known_type(), pattern.known_type());
        if !are_text {
            let error =
                Error::input(sqlstate::UNDEFINED_FUNCTION, format!("operator does not exist: {shown}")).with_hint(
                    "No operator matches the given name and argument types. You might need to add explicit type casts.",
                );
            return Err(self.place(error, place));
        }
        let operand = self.matched_text(bound)?;
        let mut pattern = self.coerce(pattern, SqlType::Text)?;
        if let Some(escape) = escape {
            let escape = self.expression(&ast::Expr::Value(escape.clone()))?;
            let escape = self.coerce(escape, SqlType::Text)?;
            let rewritten = Expr::Call { function: Function::LikeEscape, arguments: vec![pattern, escape] };
            pattern = evaluation::fold_if_constant(rewritten);
        }
        let test = Expr::Like { operand: Box::new(operand), pattern: Box::new(pattern), case_insensitive };
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, place))
    }
}
