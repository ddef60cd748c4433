//! The walk over sqlparser's expressions.

use hyades_engine::procedure::deep::LEVELS;
use hyades_engine::procedure::evaluate::MAXIMUM_DEPTH;
use hyades_engine::procedure::ir::{Deep, Expr};
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::any_case::{ignores_case, is_matchable};
use super::called_operator::{shared_symbol, symbol_of};
use super::coerce::Context;
use super::operator::from_ast;
use super::row_syntax::{expands_array, is_row_constructor, row_items, with_rows, written_row};
use super::{Binder, Bound, Class, DEEPEST_EXPRESSION, Place, start_of, types};
use crate::evaluation;
use crate::expr;
use crate::statement::dialect::symmetric_bound;
use crate::statement::operator_signs::is_of_postgresql;
use crate::statement::query::end_of;
use crate::statement::split::too_deep;

/// Stack kept free for the deepest leaf, and the size of the segment added when less is left.
const RED_ZONE_BYTES: usize = 128 << 10;
const STACK_SEGMENT_BYTES: usize = 2 << 20;

/// The cost of binding one node of an expression, in work units of a guest.
const UNITS_PER_NODE: u32 = 20;

impl Binder<'_> {
    /// Binds an expression. Nesting is bounded, and the stack grows with it.
    pub(crate) fn expression(&mut self, node: &ast::Expr) -> Result<Bound> {
        if self.depth >= DEEPEST_EXPRESSION {
            return Err(too_deep());
        }
        guest::spend(UNITS_PER_NODE)?;
        self.depth += 1;
        let bound = stacker::maybe_grow(RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || self.expression_inner(node));
        self.depth -= 1;
        let mut bound = bound?;
        // Where a part is used twice (BETWEEN, CASE over a value), each level doubles what it contains.
        memory::check(0)?;
        if self.has_collation {
            self.check_collations(node)?;
        }
        if self.depth == 0 && expr::depth_exceeds(&bound.expr, MAXIMUM_DEPTH) {
            return Err(too_deep());
        }
        if self.depth > 0 && self.depth.is_multiple_of(LEVELS) && expr::depth_exceeds(&bound.expr, LEVELS / 2)
        {
            bound.expr = Expr::Deep(Deep::new(bound.expr));
        }
        Ok(bound)
    }

    /// Binds a condition of a clause.
    pub(crate) fn condition_of(&mut self, expr: &ast::Expr, clause: &str) -> Result<Expr> {
        let bound = self.expression(expr)?;
        self.condition(bound, clause)
    }

    fn expression_inner(&mut self, expr: &ast::Expr) -> Result<Bound> {
        use ast::Expr as Ast;
        match expr {
            Ast::Identifier(ident) => self.identifier(ident),
            Ast::CompoundIdentifier(idents) => self.qualified_column(idents),
            Ast::Value(value) => self.literal(value),
            Ast::Nested(inner) => self.expression(inner),
            Ast::BinaryOp { left, op: ast::BinaryOperator::Overlaps, right } => {
                self.overlaps(left, right, Place::of_expr(left))
            }
            Ast::BinaryOp { left, op, right } => self.binary_op(left, op, right),
            Ast::UnaryOp { op: ast::UnaryOperator::Not, expr: inner } => self.negation(inner),
            // The sign belongs to the number when its type is chosen: -2147483648 is an integer.
            Ast::UnaryOp { op: ast::UnaryOperator::Minus, .. } if signed_digits(expr).is_some() => {
                let (digits, is_negative) = signed_digits(expr).unwrap_or_default();
                let sign = if is_negative { "-" } else { "" };
                self.number(&format!("{sign}{digits}"), Place::of_expr(expr))
            }
            Ast::UnaryOp { op, expr: inner } => {
                let operand = self.expression(inner)?;
                let place = operand.place;
                self.unary(op, operand, place)
            }
            Ast::Cast {
                kind: kind @ (ast::CastKind::Cast | ast::CastKind::DoubleColon),
                expr: inner,
                data_type,
                ..
            } => self.converted(inner, data_type, *kind == ast::CastKind::DoubleColon),
            Ast::TypedString(typed) => self.typed_literal(typed),
            Ast::IsNull(inner) => self.is_null(inner, false),
            Ast::IsNotNull(inner) => self.is_null(inner, true),
            Ast::IsTrue(inner) => self.is_truth(inner, Some(true), false),
            Ast::IsNotTrue(inner) => self.is_truth(inner, Some(true), true),
            Ast::IsFalse(inner) => self.is_truth(inner, Some(false), false),
            Ast::IsNotFalse(inner) => self.is_truth(inner, Some(false), true),
            Ast::IsUnknown(inner) => self.is_truth(inner, None, false),
            Ast::IsNotUnknown(inner) => self.is_truth(inner, None, true),
            Ast::IsDistinctFrom(left, right) => self.distinct(left, right, true),
            Ast::IsNotDistinctFrom(left, right) => self.distinct(left, right, false),
            Ast::Between { expr: inner, negated, low, high } => self.between(inner, low, high, *negated),
            Ast::InList { expr: inner, list, negated } => self.in_list(inner, list, *negated),
            Ast::Function(call) if is_row_constructor(call) || expands_array(call) => {
                let row = match with_rows(call) {
                    Some(call) => self.row(&Ast::Function(call))?,
                    None => self.row(expr)?,
                };
                match row {
                    Some(row) => self.row_value(row),
                    None => {
                        self.unsupported(Missing::RowsAsValues, "this form of ROW is", Place::of_expr(expr))
                    }
                }
            }
            Ast::Function(call) => self.call(call),
            Ast::Case { operand, conditions, else_result, .. } => {
                let place = Place::of_expr(expr);
                self.without_set_calls("CASE", |binder| {
                    binder.case(operand.as_deref(), conditions, else_result.as_deref(), place)
                })
            }
            other => self.special(other),
        }
    }

    fn identifier(&mut self, ident: &ast::Ident) -> Result<Bound> {
        if ident.quote_style.is_none() {
            let name = ident.value.to_ascii_lowercase();
            let place = Place::at(ident.span.start);
            match name.as_str() {
                "current_schema" | "current_role" | "current_user" | "session_user" | "user"
                | "current_catalog" | "current_date" | "current_time" | "current_timestamp" | "localtime"
                | "localtimestamp" => {
                    return self.call_of(&name, Vec::new(), place);
                }
                "default" => {
                    return self.fail(
                        sqlstate::SYNTAX_ERROR,
                        "DEFAULT is not allowed in this context",
                        place,
                    );
                }
                _ => {}
            }
        }
        self.column(ident)
    }

    fn literal(&mut self, literal: &ast::ValueWithSpan) -> Result<Bound> {
        use ast::Value as Ast;
        let place = Place::at(literal.span.start);
        let unknown = |text: &str| Bound {
            expr: Expr::Const(Value::Null),
            class: Class::Literal(text.to_owned()),
            place,
        };
        Ok(match &literal.value {
            Ast::Number(digits, _) => self.number(digits, place)?,
            Ast::SingleQuotedString(text)
            | Ast::EscapedStringLiteral(text)
            | Ast::UnicodeStringLiteral(text)
            | Ast::NationalStringLiteral(text) => unknown(text),
            Ast::DollarQuotedString(quoted) => unknown(&quoted.value),
            Ast::Boolean(truth) => Bound::typed(Expr::Const(Value::Boolean(*truth)), SqlType::Boolean, place),
            Ast::Null => Bound { expr: Expr::Const(Value::Null), class: Class::Null, place },
            Ast::Placeholder(name) => self.parameter(name, place)?,
            Ast::HexStringLiteral(_) | Ast::SingleQuotedByteStringLiteral(_) => {
                return self.unsupported(Missing::BitStrings, "bit strings are", place);
            }
            other => {
                let message = format!("syntax error at or near \"{other}\"");
                return self.fail(sqlstate::SYNTAX_ERROR, message, place);
            }
        })
    }

    /// An integer literal has the smallest of the types int4, int8 and numeric that holds it.
    fn number(&mut self, digits: &str, place: Place) -> Result<Bound> {
        if digits.trim_start_matches('-').bytes().all(|digit| digit.is_ascii_digit()) {
            if let Ok(number) = digits.parse::<i32>() {
                return Ok(Bound::typed(Expr::Const(Value::Integer(number)), SqlType::Integer, place));
            }
            if let Ok(number) = digits.parse::<i64>() {
                return Ok(Bound::typed(Expr::Const(Value::BigInt(number)), SqlType::BigInt, place));
            }
        }
        let sql_type = SqlType::Numeric(None);
        let value = evaluation::parse_text(digits, sql_type, self.context.time_zone)
            .map_err(|error| self.place(error, place))?;
        Ok(Bound::typed(Expr::Const(value), sql_type, place))
    }

    fn parameter(&mut self, name: &str, place: Place) -> Result<Bound> {
        let number: Option<u16> = name.strip_prefix('$').and_then(|digits| digits.parse().ok());
        let index = number.and_then(|number| number.checked_sub(1));
        if self.names.is_some()
            && let Some(variable) = self.numbered_variable(index.map_or(usize::MAX, usize::from), place)?
        {
            return Ok(variable);
        }
        let Some(index) = index.filter(|index| usize::from(*index) < self.parameter_types.len()) else {
            return self.fail(sqlstate::UNDEFINED_PARAMETER, format!("there is no parameter {name}"), place);
        };
        let expr = Expr::Register(index);
        Ok(match self.parameter_types[usize::from(index)] {
            Some(sql_type) => Bound::typed(expr, sql_type, place),
            None => Bound { expr, class: Class::Parameter(index), place },
        })
    }

    fn unknown_operator(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        place: Place,
    ) -> Result<Bound> {
        let symbol = op.to_string();
        if !matches!(op, ast::BinaryOperator::Custom(_)) || is_of_postgresql(&symbol) {
            return self.unsupported(Missing::Operators, &format!("operator {op} is"), place);
        }
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let shown = format!("{} {symbol} {}", left.type_name(), right.type_name());
        Err(self.no_operator(&shown, place))
    }

    fn negation(&mut self, negated: &ast::Expr) -> Result<Bound> {
        let operand = self.expression(negated)?;
        // A chain of them looks for its beginning once.
        let is_chain = matches!(negated, ast::Expr::UnaryOp { op: ast::UnaryOperator::Not, .. });
        let place = if is_chain { operand.place } else { Place::of_expr(negated) };
        let condition = self.condition(operand, "NOT")?;
        Ok(boolean(Expr::Not(Box::new(condition)), place))
    }

    fn binary_op(&mut self, left: &ast::Expr, op: &ast::BinaryOperator, right: &ast::Expr) -> Result<Bound> {
        use ast::BinaryOperator as Ast;
        match op {
            Ast::And | Ast::Or => return self.chain(left, op, right),
            Ast::PGLikeMatch => return self.like(left, right, None, (false, false)),
            Ast::PGNotLikeMatch => return self.like(left, right, None, (true, false)),
            Ast::PGILikeMatch => return self.like(left, right, None, (false, true)),
            Ast::PGNotILikeMatch => return self.like(left, right, None, (true, true)),
            Ast::AtArrow | Ast::ArrowAt | Ast::PGOverlap => return self.as_sets(left, op, right),
            Ast::PGRegexMatch => return self.matches(left, right, (false, false)),
            Ast::PGRegexNotMatch => return self.matches(left, right, (true, false)),
            Ast::PGRegexIMatch => return self.matches(left, right, (false, true)),
            Ast::PGRegexNotIMatch => return self.matches(left, right, (true, true)),
            Ast::PGCustomBinaryOperator(parts) => {
                if let Some(op) = parts.last().and_then(|symbol| custom_operator(symbol)) {
                    return self.binary_op(left, &op, right);
                }
            }
            _ => {}
        }
        if let Some(symbol) = symbol_of(op) {
            return self.called_operation(left, symbol, right);
        }
        let place = Place::OperatorAfter(end_of(left));
        let Some(operator) = from_ast(op) else { return self.unknown_operator(left, op, right, place) };
        if let Some(bound) = self.whole_row_comparison(left, operator, right, place)? {
            return Ok(bound);
        }
        if row_items(left).is_some() || row_items(right).is_some() {
            return self.row_comparison(left, operator, right, place);
        }
        let left = self.expression(left)?;
        let right = self.expression(right)?;
        if let Some(symbol) = shared_symbol(op, &left, &right) {
            return self.operator_of(symbol, [left, right], place);
        }
        if operator == BinaryOperator::Concat
            && [&left, &right].iter().any(|side| matches!(side.known_type(), Some(SqlType::Array(_))))
            && let Some(bound) = self.array_concat(left.clone(), right.clone(), place)?
        {
            return Ok(bound);
        }
        self.binary(operator, left, right, place)
    }

    /// `type 'text'`
    fn typed_literal(&mut self, typed: &ast::TypedString) -> Result<Bound> {
        let place = Place::of(&typed.value);
        let type_place = match &typed.data_type {
            ast::DataType::Custom(name, _) => Place::of(name),
            _ => place,
        };
        let to = types::declared(&typed.data_type, self).map_err(|error| self.place(error, type_place))?;
        let bound = self.literal(&typed.value)?;
        self.coerce_to(bound, to, place)
    }

    /// `CAST (inner AS type)`, `inner::type`.
    fn converted(&mut self, inner: &ast::Expr, data_type: &ast::DataType, is_infix: bool) -> Result<Bound> {
        if let Some(member) = self.member_as(inner, data_type)? {
            return Ok(member);
        }
        let end = end_of(inner);
        let to =
            types::declared(data_type, self).map_err(|error| self.place(error, Place::TypeAfter(end)))?;
        if let (ast::Expr::Array(array), SqlType::Array(element)) = (inner, to.sql_type) {
            let bound = self.array_of_type(&array.elem, element, Place::of_expr(inner))?;
            return self.checked_bound(bound, to.domain);
        }
        let place = if is_infix { Place::CastAfter(end) } else { Place::CastBefore(start_of(inner)) };
        if let (SqlType::Composite(row_type), Some(_)) = (to.sql_type, written_row(inner))
            && let Some(fields) = self.row_fields(inner)?
        {
            let fields = fields.into_iter().map(|(_, field)| field).collect();
            let row = self.row_as(fields, row_type, Context::Explicit, place)?;
            return self.checked_bound(Bound::typed(row, to.sql_type, place), to.domain);
        }
        let bound = self.expression(inner)?;
        self.coerce_to(bound, to, place)
    }

    /// `~`, `!~`, `~*` and `!~*`.
    fn matches(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        (is_negated, in_any_case): (bool, bool),
    ) -> Result<Bound> {
        let symbol = [["~", "~*"], ["!~", "!~*"]][usize::from(is_negated)][usize::from(in_any_case)];
        let place = Place::OperatorAfter(end_of(left));
        let left = self.expression(left)?;
        let right = self.expression(right)?;
        let in_any_case = in_any_case || ignores_case(left.known_type(), right.known_type());
        if !is_matchable(left.known_type()) || !is_matchable(right.known_type()) {
            let shown = format!("{} {symbol} {}", left.type_name(), right.type_name());
            return Err(self.no_operator(&shown, place));
        }
        let start = left.place;
        let arguments = vec![self.matched_text(left)?, self.coerce(right, SqlType::Text)?];
        let function = if in_any_case { Function::MatchesPatternInAnyCase } else { Function::MatchesPattern };
        let test = evaluation::fold_if_constant(Expr::Call { function, arguments });
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, start))
    }

    /// A chain of ANDs or ORs, which the parser nests to the left, as a balanced tree.
    fn chain(&mut self, left: &ast::Expr, op: &ast::BinaryOperator, right: &ast::Expr) -> Result<Bound> {
        let is_and = *op == ast::BinaryOperator::And;
        let clause = if is_and { "AND" } else { "OR" };
        let mut operands = vec![right];
        let mut rest = left;
        while let ast::Expr::BinaryOp { left, op: next, right } = rest
            && next == op
        {
            operands.push(right);
            rest = left;
        }
        operands.push(rest);
        let place = Place::of_expr(rest);
        let conditions = operands
            .into_iter()
            .rev()
            .map(|operand| self.condition_of(operand, clause))
            .collect::<Result<Vec<Expr>>>()?;
        let joined = expr::balanced(conditions, if is_and { Expr::And } else { Expr::Or });
        Ok(boolean(joined.unwrap_or(Expr::Const(Value::Boolean(is_and))), place))
    }

    fn row_comparison(
        &mut self,
        left: &ast::Expr,
        operator: BinaryOperator,
        right: &ast::Expr,
        place: Place,
    ) -> Result<Bound> {
        let mut query = right;
        while let ast::Expr::Nested(inner) = query {
            query = inner;
        }
        if let (Some(left), ast::Expr::Subquery(query)) = (row_items(left), query) {
            return self.row_compared_with_query(&left, operator, query, place);
        }
        let (Some(left), Some(right)) = (row_items(left), row_items(right)) else {
            let (left, right) = (self.expression(left)?, self.expression(right)?);
            let is_typed = |side: &Bound| matches!(side.known_type(), Some(SqlType::Composite(_)));
            if is_typed(&left) || is_typed(&right) {
                return self.binary(operator, left, right, place);
            }
            return self.unsupported(Missing::RowsAsValues, "rows as values are", place);
        };
        if left.len() != right.len() {
            return self.fail(sqlstate::SYNTAX_ERROR, "unequal number of entries in row expressions", place);
        }
        let mut pairs = Vec::with_capacity(left.len());
        for (left, right) in left.into_iter().zip(right) {
            pairs.push((self.expression(left)?, self.expression(right)?));
        }
        Ok(boolean(self.compared_rows(operator, pairs, place)?, place))
    }

    /// Equality compares the columns one by one. Order is decided by the first columns that differ.
    pub(super) fn compared_rows(
        &mut self,
        operator: BinaryOperator,
        pairs: Vec<(Bound, Bound)>,
        place: Place,
    ) -> Result<Expr> {
        let is_equality = matches!(operator, BinaryOperator::Equal | BinaryOperator::NotEqual);
        if is_equality {
            let conditions = pairs
                .into_iter()
                .map(|(left, right)| Ok(self.binary(operator, left, right, place)?.expr))
                .collect::<Result<Vec<Expr>>>()?;
            let is_equal = operator == BinaryOperator::Equal;
            let joined = expr::balanced(conditions, if is_equal { Expr::And } else { Expr::Or });
            return Ok(joined.unwrap_or(Expr::Const(Value::Boolean(is_equal))));
        }
        let (strict, weak) = match operator {
            BinaryOperator::Less | BinaryOperator::LessEqual => {
                (BinaryOperator::Less, BinaryOperator::LessEqual)
            }
            BinaryOperator::Greater | BinaryOperator::GreaterEqual => {
                (BinaryOperator::Greater, BinaryOperator::GreaterEqual)
            }
            _ => return self.unsupported(Missing::RowsAsValues, "this operator of rows is", place),
        };
        let first = pairs.first().cloned();
        let is_single = pairs.len() == 1;
        let mut whole: Option<Expr> = None;
        for (left, right) in pairs.into_iter().rev() {
            whole = Some(match whole {
                None => self.binary(operator, left, right, place)?.expr,
                Some(rest) => {
                    let before = self.binary(strict, left.clone(), right.clone(), place)?.expr;
                    let equal = self.binary(BinaryOperator::Equal, left, right, place)?.expr;
                    Expr::Or(Box::new(before), Box::new(Expr::And(Box::new(equal), Box::new(rest))))
                }
            });
        }
        let whole = whole.unwrap_or(Expr::Const(Value::Boolean(true)));
        match first {
            // The extra condition follows from the rest, and a range of a key can begin with it.
            Some((left, right)) if !is_single => {
                let bound = self.binary(weak, left, right, place)?.expr;
                Ok(Expr::And(Box::new(bound), Box::new(whole)))
            }
            _ => Ok(whole),
        }
    }

    /// `(a, b) IN ((1, 2), (3, 4))`.
    fn row_in_list(&mut self, left: &[&ast::Expr], list: &[ast::Expr], place: Place) -> Result<Expr> {
        let mut tests = Vec::with_capacity(list.len());
        for item in list {
            let Some(right) = row_items(item) else {
                return self.unsupported(Missing::RowsAsValues, "rows as values are", place);
            };
            if left.len() != right.len() {
                let message = "unequal number of entries in row expressions";
                return self.fail(sqlstate::SYNTAX_ERROR, message, place);
            }
            let mut pairs = Vec::with_capacity(left.len());
            for (left, right) in left.iter().zip(right) {
                pairs.push((self.expression(left)?, self.expression(right)?));
            }
            tests.push(self.compared_rows(BinaryOperator::Equal, pairs, place)?);
        }
        Ok(expr::balanced(tests, Expr::Or).unwrap_or(Expr::Const(Value::Boolean(false))))
    }

    fn is_null(&mut self, inner: &ast::Expr, is_negated: bool) -> Result<Bound> {
        if let Some(bound) = self.row_is_null(inner, is_negated)? {
            return Ok(bound);
        }
        let bound = self.expression(inner)?;
        let (place, class) = (bound.place, bound.class.clone());
        let expr = match bound.class {
            // A parameter that is only tested for NULL gets no type from that (42P18 unless another use gives
            // it one).
            Class::Typed(_) | Class::Parameter(_) => bound.expr,
            _ => self.coerce(bound, SqlType::Text)?,
        };
        if let Class::Typed(SqlType::Composite(_)) = class {
            let function = if is_negated { Function::RowIsNotNull } else { Function::RowIsNull };
            return Ok(boolean(Expr::Call { function, arguments: vec![expr] }, place));
        }
        let test = Expr::IsNull(Box::new(expr));
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, place))
    }

    /// IS [NOT] TRUE, FALSE, UNKNOWN.
    fn is_truth(&mut self, inner: &ast::Expr, wanted: Option<bool>, is_negated: bool) -> Result<Bound> {
        let clause = match (wanted, is_negated) {
            (Some(true), false) => "IS TRUE",
            (Some(true), true) => "IS NOT TRUE",
            (Some(false), false) => "IS FALSE",
            (Some(false), true) => "IS NOT FALSE",
            (None, false) => "IS UNKNOWN",
            (None, true) => "IS NOT UNKNOWN",
        };
        let place = Place::of_expr(inner);
        let condition = Box::new(self.condition_of(inner, clause)?);
        let test = match wanted {
            Some(truth) => Expr::NotDistinct(condition, Box::new(Expr::Const(Value::Boolean(truth)))),
            None => Expr::IsNull(condition),
        };
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, place))
    }

    fn distinct(&mut self, left: &ast::Expr, right: &ast::Expr, is_distinct: bool) -> Result<Bound> {
        let place = Place::OperatorAfter(end_of(left));
        let test = match self.distinct_rows(left, right, place)? {
            Some(test) => test,
            None => {
                let left = self.expression(left)?;
                let right = self.expression(right)?;
                let (left, right, _) = self.operands(BinaryOperator::Equal, left, right, place)?;
                Expr::NotDistinct(Box::new(left), Box::new(right))
            }
        };
        Ok(boolean(if is_distinct { Expr::Not(Box::new(test)) } else { test }, place))
    }

    fn between(
        &mut self,
        inner: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        is_negated: bool,
    ) -> Result<Bound> {
        if let Some(low) = symmetric_bound(low) {
            let one = self.between(inner, low, high, is_negated)?;
            let other = self.between(inner, high, low, is_negated)?;
            let (one, other) = (Box::new(one.expr), Box::new(other.expr));
            let test = if is_negated { Expr::And(one, other) } else { Expr::Or(one, other) };
            return Ok(boolean(test, Place::of_expr(inner)));
        }
        let place = Place::OperatorAfter(end_of(inner));
        let operand = self.expression(inner)?;
        let low = self.expression(low)?;
        // A parameter that got its type from the first comparison keeps it in the second.
        let above = self.binary(BinaryOperator::GreaterEqual, operand.clone(), low, place)?;
        let operand = if operand.known_type().is_none() { self.expression(inner)? } else { operand };
        let high = self.expression(high)?;
        let below = self.binary(BinaryOperator::LessEqual, operand, high, place)?;
        let test = Expr::And(Box::new(above.expr), Box::new(below.expr));
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, Place::of_expr(inner)))
    }

    fn in_list(&mut self, inner: &ast::Expr, list: &[ast::Expr], is_negated: bool) -> Result<Bound> {
        let place = Place::OperatorAfter(end_of(inner));
        if let Some(row) = row_items(inner) {
            let test = self.row_in_list(&row, list, place)?;
            let test = if is_negated { Expr::Not(Box::new(test)) } else { test };
            return Ok(boolean(test, Place::of_expr(inner)));
        }
        let operand = self.expression(inner)?;
        let mut items = Vec::with_capacity(list.len() + 1);
        for item in list {
            items.push(self.expression(item)?);
        }
        let is_char = |bound: &Bound| matches!(bound.class, Class::Typed(SqlType::Char(_)));
        if is_char(&operand) || items.iter().any(is_char) {
            let test = self.in_list_of_chars(operand, items, place)?;
            return Ok(boolean(
                if is_negated { Expr::Not(Box::new(test)) } else { test },
                Place::of_expr(inner),
            ));
        }
        // Like PostgreSQL, look for one type for all. If there is none, some pair has no operator.
        let all = std::iter::once(&operand).chain(&items);
        let common = match self.common_type(all, "IN") {
            Ok(common) => common,
            Err(_) => {
                for item in items {
                    self.binary(BinaryOperator::Equal, operand.clone(), item, place)?;
                }
                return self.fail(sqlstate::DATATYPE_MISMATCH, "IN types cannot be matched", place);
            }
        };
        let common = if common.is_text() { SqlType::Text } else { common.without_modifier() };
        let operand = self.coerce(operand, common)?;
        let list = items.into_iter().map(|item| self.coerce(item, common)).collect::<Result<Vec<Expr>>>()?;
        let test = Expr::InList { operand: Box::new(operand), list };
        Ok(boolean(if is_negated { Expr::Not(Box::new(test)) } else { test }, Place::of_expr(inner)))
    }

    /// IN with a `char(n)` among the types. Whether trailing blanks count then depends on which types are
    /// compared, so it is done as in PostgreSQL (transformAExprIn): an item that reads a row is compared
    /// individually, and so is a single constant. Several constants get a common type with the operand.
    fn in_list_of_chars(&mut self, operand: Bound, items: Vec<Bound>, place: Place) -> Result<Expr> {
        let parameters = self.parameter_types.len();
        let reads_row = |expr: &Expr| match expr {
            Expr::Column { .. } => true,
            Expr::Register(register) => usize::from(*register) >= parameters,
            _ => false,
        };
        let (mut alone, constants): (Vec<Bound>, Vec<Bound>) =
            items.into_iter().partition(|item| expr::any(&item.expr, &reads_row));
        let mut tests = Vec::new();
        if constants.len() > 1 {
            let common =
                self.common_type(std::iter::once(&operand).chain(&constants), "IN")?.without_modifier();
            let as_text = |binder: &mut Self, item: Bound| {
                let value = binder.coerce(item, common)?;
                super::coerce::cast(value, common, SqlType::Text, false)
            };
            let list =
                constants.into_iter().map(|item| as_text(self, item)).collect::<Result<Vec<Expr>>>()?;
            let operand = as_text(self, operand.clone())?;
            tests.push(Expr::InList { operand: Box::new(operand), list });
        } else {
            alone.extend(constants);
        }
        for item in alone {
            tests.push(self.binary(BinaryOperator::Equal, operand.clone(), item, place)?.expr);
        }
        let tests = tests.into_iter().reduce(|one, other| Expr::Or(Box::new(one), Box::new(other)));
        Ok(tests.unwrap_or(Expr::Const(Value::Boolean(false))))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        place: Place,
    ) -> Result<Bound> {
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for when in conditions {
            let test = match operand {
                None => self.condition_of(&when.condition, "CASE/WHEN")?,
                Some(operand) => {
                    let place = Place::of_expr(&when.condition);
                    let left = self.expression(operand)?;
                    let right = self.expression(&when.condition)?;
                    self.binary(BinaryOperator::Equal, left, right, place)?.expr
                }
            };
            tests.push(test);
            results.push(self.expression(&when.result)?);
        }
        results.push(match otherwise {
            Some(otherwise) => self.expression(otherwise)?,
            None => Bound { expr: Expr::Const(Value::Null), class: Class::Null, place },
        });
        // PostgreSQL considers ELSE first.
        let common = self.common_type(results.iter().rev().take(1).chain(results.iter()), "CASE")?;
        let mut coerced =
            results.into_iter().map(|result| self.coerce(result, common)).collect::<Result<Vec<Expr>>>()?;
        let otherwise = coerced.pop().unwrap_or(Expr::Const(Value::Null));
        let branches = tests.into_iter().zip(coerced).collect();
        let case = Expr::Case { branches, otherwise: Box::new(otherwise) };
        Ok(Bound::typed(case, common, place))
    }

    /// COALESCE, with the common type of all arguments.
    pub(crate) fn coalesce(&mut self, arguments: Vec<Bound>, place: Place) -> Result<Bound> {
        let common = self.common_type(&arguments, "COALESCE")?;
        let items =
            arguments.into_iter().map(|item| self.coerce(item, common)).collect::<Result<Vec<Expr>>>()?;
        Ok(Bound::typed(Expr::Coalesce(items), common, place))
    }

    /// An output column or VALUES item of unknown type is text.
    pub(crate) fn known_or_text(&mut self, bound: Bound) -> Result<(Expr, SqlType)> {
        match bound.class {
            Class::Typed(sql_type) => Ok((bound.expr, sql_type)),
            _ => Ok((self.coerce(bound, SqlType::Text)?, SqlType::Text)),
        }
    }

    /// An expression of this type that may not read any column: LIMIT, arguments of a function in FROM.
    pub(crate) fn columnless(&mut self, expr: &ast::Expr, to: SqlType, clause: &str) -> Result<Expr> {
        let forbidden = match clause {
            "LIMIT" | "FETCH FIRST" => "in LIMIT",
            "OFFSET" => "in OFFSET",
            _ => "in this context",
        };
        let bound = self.without_aggregates(forbidden, |binder| binder.without_columns(expr, clause))?;
        self.columnless_as(bound, to, clause)
    }
}

pub(crate) fn boolean(expr: Expr, place: Place) -> Bound {
    Bound::typed(evaluation::fold_if_constant(expr), SqlType::Boolean, place)
}

/// A number, possibly after signs and in parentheses, and whether it is negative.
pub(super) fn signed_digits(mut expr: &ast::Expr) -> Option<(&str, bool)> {
    let mut is_negative = false;
    loop {
        expr = match expr {
            ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Number(digits, _), .. }) => {
                return Some((digits, is_negative));
            }
            ast::Expr::Nested(inner) => inner,
            ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr: inner } => {
                is_negative = !is_negative;
                inner
            }
            _ => return None,
        }
    }
}

/// `OPERATOR(pg_catalog.=)`.
pub(super) fn custom_operator(symbol: &str) -> Option<ast::BinaryOperator> {
    use ast::BinaryOperator as Ast;
    Some(match symbol {
        "=" => Ast::Eq,
        "<>" => Ast::NotEq,
        "<" => Ast::Lt,
        "<=" => Ast::LtEq,
        ">" => Ast::Gt,
        ">=" => Ast::GtEq,
        "+" => Ast::Plus,
        "-" => Ast::Minus,
        "*" => Ast::Multiply,
        "/" => Ast::Divide,
        "~~" => Ast::PGLikeMatch,
        "!~~" => Ast::PGNotLikeMatch,
        "~" => Ast::PGRegexMatch,
        "!~" => Ast::PGRegexNotMatch,
        "~*" => Ast::PGRegexIMatch,
        "!~*" => Ast::PGRegexNotIMatch,
        "->" => Ast::Arrow,
        "->>" => Ast::LongArrow,
        "#>" => Ast::HashArrow,
        "#>>" => Ast::HashLongArrow,
        "#-" => Ast::HashMinus,
        "?" => Ast::Question,
        "?|" => Ast::QuestionPipe,
        "?&" => Ast::QuestionAnd,
        "@?" => Ast::AtQuestion,
        "@@" => Ast::AtAt,
        "@>" => Ast::AtArrow,
        "<@" => Ast::ArrowAt,
        "||" => Ast::StringConcat,
        _ => return None,
    })
}
