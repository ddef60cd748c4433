//! Printing of expressions: columns, constants, operators and conversions.

use hyades_types::error::Result;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::text;
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::{self, Expr as Ast};

use super::super::aggregation::AggregateMode;
use super::super::any_case::ignores_case;
use super::super::called_operator::{is_shared, shared_symbol, symbol_of};
use super::super::expression::signed_digits;
use super::super::operator::{from_ast, shown_operands};
use super::super::row_syntax::row_items;
use super::super::scope::{ScopeColumn, Visibility};
use super::super::types;
use super::super::{Bound, Class, Place};
use super::Deparser;
use crate::evaluation;
use crate::statement::dialect::symmetric_bound;
use crate::statement::kept_names::full_name;
use crate::statement::kept_names::quoted_literal;
use crate::statement::names::{fold, quoted};

/// The kind of a printed expression, which decides whether it needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Never needs parentheses.
    Simple,
    /// This operator between two operands, or in front of one.
    Operator(&'static str),
    And,
    Or,
    Not,
    /// `IS NULL` and the like, and subqueries.
    Test,
    /// ANY and ALL of an array, which take no operator next to them.
    Quantified,
}

/// The construct that contains a printed expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// An operator. The flag: as its first operand.
    Operator(&'static str, bool),
    And,
    Or,
    Not,
    Test,
    Cast,
}

/// A printed expression.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) shape: Shape,
    /// A word like `current_date`, which looks like a column.
    pub(super) is_word: bool,
}

impl Shown {
    pub(super) fn simple(text: impl Into<String>) -> Shown {
        Shown { text: text.into(), shape: Shape::Simple, is_word: false }
    }
}

/// PostgreSQL's isSimpleNode.
fn is_safe(shape: Shape, around: Around) -> bool {
    match (shape, around) {
        (Shape::Simple, _) => true,
        (Shape::Operator(own), Around::Operator(outer, is_first)) => {
            let weak = |symbol: &str| matches!(symbol, "+" | "-");
            let strong = |symbol: &str| matches!(symbol, "*" | "/" | "%");
            match (strong(own), weak(own)) {
                (true, _) if weak(outer) => true,
                (true, _) => strong(outer) && is_first,
                (_, true) => weak(outer) && is_first,
                _ => false,
            }
        }
        (Shape::Operator(_) | Shape::Test, Around::And | Around::Or | Around::Not) => true,
        (Shape::And | Shape::Not, Around::And | Around::Or) | (Shape::Or, Around::Or) => true,
        _ => false,
    }
}

impl Deparser<'_, '_> {
    /// With parentheses where it needs them. Without pretty-printing, every expression already has its own.
    pub(super) fn inside(&self, shown: Shown, around: Around) -> String {
        match self.is_pretty && !is_safe(shown.shape, around) {
            true => format!("({})", shown.text),
            false => shown.text,
        }
    }

    /// Puts what is not simple in parentheses, unless pretty-printing leaves them to the enclosing
    /// expression.
    pub(super) fn whole(&self, text: String, shape: Shape) -> Shown {
        let text = if self.is_pretty { text } else { format!("({text})") };
        Shown { text, shape, is_word: false }
    }

    pub(super) fn bound(&mut self, node: &Ast) -> Result<Bound> {
        self.binder.aggregate_mode = AggregateMode::Allowed;
        self.binder.expression(node)
    }

    pub(super) fn condition(&mut self, node: &Ast) -> Result<Shown> {
        self.expression_as(node, SqlType::Boolean)
    }

    /// The expression as it is printed where this type is wanted.
    pub(super) fn expression_as(&mut self, node: &Ast, to: SqlType) -> Result<Shown> {
        let bound = self.bound(node)?;
        match bound.class {
            Class::Literal(literal) => self.constant(&literal, to),
            Class::Null => Ok(Shown::simple(format!("NULL::{}", self.binder.spelled_type(to)))),
            Class::Parameter(_) => self.expression(node),
            Class::Typed(from) if from == to || from.without_modifier() == to => self.expression(node),
            Class::Typed(_) => self.cast(node, to),
        }
    }

    /// The same without implied conversions.
    pub(super) fn expression_as_written(&mut self, node: &Ast, to: SqlType) -> Result<Shown> {
        match self.bound(node)?.class {
            Class::Typed(_) => self.expression(node),
            _ => self.expression_as(node, to),
        }
    }

    pub(super) fn cast(&mut self, node: &Ast, to: SqlType) -> Result<Shown> {
        let inner = self.expression(node)?;
        Ok(self.converted(inner, &self.binder.spelled_type(to)))
    }

    fn cast_to_domain(&mut self, node: &Ast, base: SqlType, domain: u32) -> Result<Shown> {
        let inner = self.expression_as(node, base.without_modifier())?;
        let name = full_name(&self.binder.domain(domain)?.name());
        Ok(self.converted(inner, &name))
    }

    fn converted(&self, inner: Shown, to: &str) -> Shown {
        let inner = match self.is_pretty {
            true => self.inside(inner, Around::Cast),
            false => format!("({})", inner.text),
        };
        Shown::simple(format!("{inner}::{to}"))
    }

    /// A constant of this type.
    pub(super) fn constant(&mut self, literal: &str, to: SqlType) -> Result<Shown> {
        // The fields of an interval decide how its text is read.
        let base = if matches!(to, SqlType::Interval(_)) { to } else { to.without_modifier() };
        let parsed = evaluation::parse_text(literal, base, self.binder.reading());
        let value = match parsed {
            Ok(value) if !matches!(base, SqlType::System(_)) => {
                // Not in the creator's time zone: other sessions read it, too.
                text::format(&value, &jiff::tz::TimeZone::UTC).into_string()
            }
            _ => literal.to_owned(),
        };
        Ok(Shown::simple(match base {
            SqlType::Boolean => if value == "t" { "true" } else { "false" }.to_owned(),
            SqlType::Integer if !value.starts_with('-') => value,
            SqlType::Numeric(_) if to == base && value.contains('.') && !value.starts_with('-') => value,
            _ => format!("{}::{}", quoted_literal(&value), self.binder.spelled_type(to)),
        }))
    }

    /// An expression with its own type.
    pub(super) fn expression(&mut self, node: &Ast) -> Result<Shown> {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.expression_here(node))
    }

    fn expression_here(&mut self, node: &Ast) -> Result<Shown> {
        match node {
            Ast::Identifier(ident) => self.identifier(ident),
            Ast::CompoundIdentifier(idents) => {
                let names: Vec<String> = idents.iter().map(fold).collect();
                match self.column(&names).map(Shown::simple).or_else(|| self.parameter(&names)) {
                    Some(shown) => Ok(shown),
                    None => self.binder.unsupported(
                        Missing::OtherForms,
                        "this name in a definition is",
                        Place::of_expr(node),
                    ),
                }
            }
            Ast::Value(_) | Ast::TypedString(_) | Ast::Interval(_) => self.literal(node),
            Ast::Nested(inner) => self.expression(inner),
            Ast::BinaryOp { left, op, right } => self.binary_operator(left, op, right),
            Ast::UnaryOp { op: ast::UnaryOperator::Not, expr } => {
                let inner = self.condition(expr)?;
                let inner = self.inside(inner, Around::Not);
                Ok(self.whole(format!("NOT {inner}"), Shape::Not))
            }
            Ast::UnaryOp { op: ast::UnaryOperator::Minus, .. } if signed_digits(node).is_some() => {
                self.literal(node)
            }
            Ast::UnaryOp { op, expr } => {
                let symbol = match op {
                    ast::UnaryOperator::Minus => "-",
                    ast::UnaryOperator::Plus => "+",
                    _ => "~",
                };
                let inner = self.expression(expr)?;
                let inner = self.inside(inner, Around::Operator("", true));
                Ok(self.whole(format!("{symbol} {inner}"), Shape::Operator("")))
            }
            Ast::Cast { expr, data_type, .. } => self.written_cast(expr, data_type),
            Ast::IsNull(inner) => self.test(inner, None, "IS NULL"),
            Ast::IsNotNull(inner) => self.test(inner, None, "IS NOT NULL"),
            Ast::IsTrue(inner) => self.test(inner, Some(SqlType::Boolean), "IS TRUE"),
            Ast::IsNotTrue(inner) => self.test(inner, Some(SqlType::Boolean), "IS NOT TRUE"),
            Ast::IsFalse(inner) => self.test(inner, Some(SqlType::Boolean), "IS FALSE"),
            Ast::IsNotFalse(inner) => self.test(inner, Some(SqlType::Boolean), "IS NOT FALSE"),
            Ast::IsUnknown(inner) => self.test(inner, Some(SqlType::Boolean), "IS UNKNOWN"),
            Ast::IsNotUnknown(inner) => self.test(inner, Some(SqlType::Boolean), "IS NOT UNKNOWN"),
            Ast::IsDistinctFrom(left, right) => self.distinct(left, right),
            Ast::IsNotDistinctFrom(left, right) => {
                let test = self.distinct(left, right)?;
                let test = self.inside(test, Around::Not);
                Ok(self.whole(format!("NOT {test}"), Shape::Not))
            }
            Ast::Between { expr, negated, low, high } => self.between(expr, low, high, *negated),
            Ast::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            other => self.construct(other),
        }
    }

    /// `None`: `ARRAY[]`, which has no type of its own.
    fn written_cast(&mut self, expr: &Ast, data_type: &ast::DataType) -> Result<Shown> {
        let to = types::declared(data_type, self.binder)?;
        if let Some(domain) = to.domain {
            return self.cast_to_domain(expr, to.sql_type, domain);
        }
        let to = to.sql_type;
        if let (Ast::Array(array), SqlType::Array(element)) = (expr, to)
            && !array.elem.is_empty()
            && !array.elem.iter().any(|item| matches!(item, Ast::Array(_)))
        {
            return self.array_of(&array.elem, element, to);
        }
        match self.bound_or_empty_array(expr)? {
            None => Ok(Shown::simple(format!("ARRAY[]::{}", self.binder.spelled_type(to)))),
            Some(Class::Literal(literal)) => self.constant(&literal, to),
            Some(Class::Null) => Ok(Shown::simple(format!("NULL::{}", self.binder.spelled_type(to)))),
            Some(Class::Typed(from)) if from == to => self.expression(expr),
            // `1.5::numeric(10,2)`
            Some(Class::Typed(from)) if from == to.without_modifier() && is_literal(expr) => {
                let inner = self.expression(expr)?.text;
                let bare = inner.split("::").next().unwrap_or_default();
                Ok(Shown::simple(format!("{bare}::{}", self.binder.spelled_type(to))))
            }
            Some(_) => self.cast(expr, to),
        }
    }

    /// `ARRAY[...]::type[]`: the conversion is that of each element.
    fn array_of(&mut self, items: &[Ast], element: ArrayElement, to: SqlType) -> Result<Shown> {
        let of = element.without_modifier().sql_type();
        let items = items.iter().map(|item| Ok(self.expression_as(item, of)?.text));
        let array = Shown::simple(format!("ARRAY[{}]", items.collect::<Result<Vec<String>>>()?.join(", ")));
        Ok(if of == element.sql_type() {
            array
        } else {
            self.converted(array, &self.binder.spelled_type(to))
        })
    }

    fn bound_or_empty_array(&mut self, node: &Ast) -> Result<Option<Class>> {
        match node {
            Ast::Array(array) if array.elem.is_empty() => Ok(None),
            _ => Ok(Some(self.bound(node)?.class)),
        }
    }

    fn identifier(&mut self, ident: &ast::Ident) -> Result<Shown> {
        let name = fold(ident);
        if ident.quote_style.is_none()
            && matches!(
                name.as_str(),
                "current_schema"
                    | "current_role"
                    | "current_user"
                    | "session_user"
                    | "user"
                    | "current_catalog"
                    | "current_date"
                    | "current_time"
                    | "current_timestamp"
                    | "localtime"
                    | "localtimestamp"
            )
        {
            return Ok(Shown { is_word: true, ..Shown::simple(name.to_uppercase()) });
        }
        match self.column(std::slice::from_ref(&name)) {
            Some(text) => Ok(Shown::simple(text)),
            None if let Some(parameter) = self.parameter(std::slice::from_ref(&name)) => Ok(parameter),
            // A whole row of a trigger.
            None if self
                .binder
                .scope
                .relations
                .iter()
                .any(|relation| relation.visibility == Visibility::Qualified && relation.name == name) =>
            {
                Ok(Shown::simple(format!("{}.*", quoted(&name))))
            }
            None => self.binder.unsupported(
                Missing::OtherForms,
                "this name in a definition is",
                Place::at(ident.span.start),
            ),
        }
    }

    /// A column of this query or of an enclosing one, the nearest first.
    pub(super) fn column(&mut self, names: &[String]) -> Option<String> {
        for level in (0..self.levels.len()).rev() {
            let is_own = level + 1 == self.levels.len();
            let scope = if is_own { &self.binder.scope } else { &self.levels[level].scope };
            let found = match names {
                [name] => scope.columns.iter().copied().find(|column| scope.column_name(*column) == name),
                [.., relation, name] => scope.named().find_map(|(number, shown)| {
                    let column = shown.columns.iter().position(|(own, _)| own == name)?;
                    (shown.name == *relation).then_some(ScopeColumn::Of { relation: number, column })
                }),
                [] => None,
            };
            if let Some(found) = found {
                return Some(self.column_text(level, found));
            }
        }
        None
    }

    fn literal(&mut self, node: &Ast) -> Result<Shown> {
        match self.bound(node)?.class {
            Class::Literal(literal) => self.constant(&literal, SqlType::Text),
            Class::Null => Ok(Shown::simple("NULL::text")),
            Class::Parameter(_) => self.binder.lacks(Missing::KeptValues, "parameters in definitions are"),
            Class::Typed(sql_type) => match node {
                Ast::Value(ast::ValueWithSpan { value: ast::Value::Placeholder(name), .. })
                    if let Some(parameter) = self.numbered_parameter(name) =>
                {
                    Ok(parameter)
                }
                Ast::Value(ast::ValueWithSpan { value: ast::Value::Boolean(truth), .. }) => {
                    Ok(Shown::simple(truth.to_string()))
                }
                Ast::TypedString(typed) => match self.bound(&Ast::Value(typed.value.clone()))?.class {
                    Class::Literal(literal) => self.constant(&literal, sql_type),
                    _ => self.binder.lacks(Missing::KeptValues, "this literal in a definition is"),
                },
                Ast::Interval(interval) => match self.bound(&interval.value)?.class {
                    Class::Literal(literal) => self.constant(&literal, sql_type),
                    _ => self.binder.lacks(Missing::KeptValues, "this literal in a definition is"),
                },
                node => {
                    let (digits, is_negative) = signed_digits(node).unwrap_or_default();
                    let sign = if is_negative { "-" } else { "" };
                    match sql_type {
                        SqlType::BigInt => Ok(Shown::simple(format!("'{sign}{digits}'::bigint"))),
                        _ => self.constant(&format!("{sign}{digits}"), sql_type),
                    }
                }
            },
        }
    }

    fn test(&mut self, inner: &Ast, to: Option<SqlType>, words: &str) -> Result<Shown> {
        let inner = match to {
            Some(to) => self.expression_as(inner, to)?,
            None => self.expression(inner)?,
        };
        let inner = self.inside(inner, Around::Test);
        Ok(self.whole(format!("{inner} {words}"), Shape::Test))
    }

    fn distinct(&mut self, left: &Ast, right: &Ast) -> Result<Shown> {
        let shown = self.operator(left, (BinaryOperator::Equal, "IS DISTINCT FROM"), right)?;
        Ok(Shown { shape: Shape::Test, ..shown })
    }

    fn between(&mut self, inner: &Ast, low: &Ast, high: &Ast, is_negated: bool) -> Result<Shown> {
        if let Some(low) = symmetric_bound(low) {
            let one = self.between(inner, low, high, is_negated)?;
            let other = self.between(inner, high, low, is_negated)?;
            return Ok(self.joined_conditions(vec![one, other], is_negated));
        }
        let (first, second) = match is_negated {
            false => (BinaryOperator::GreaterEqual, BinaryOperator::LessEqual),
            true => (BinaryOperator::Less, BinaryOperator::Greater),
        };
        let low = self.operator(inner, (first, first.symbol()), low)?;
        let high = self.operator(inner, (second, second.symbol()), high)?;
        Ok(self.joined_conditions(vec![low, high], !is_negated))
    }

    /// The conditions joined by AND or OR.
    pub(super) fn joined_conditions(&self, conditions: Vec<Shown>, is_and: bool) -> Shown {
        let (around, shape, word) = match is_and {
            true => (Around::And, Shape::And, " AND "),
            false => (Around::Or, Shape::Or, " OR "),
        };
        let mut text = String::new();
        for condition in conditions {
            let part = self.inside(condition, around);
            if !text.is_empty() {
                // CASE begins a line of its own.
                text.push_str(if part.starts_with('\n') { word.trim_end() } else { word });
            }
            text.push_str(&part);
        }
        self.whole(text, shape)
    }

    fn binary_operator(&mut self, left: &Ast, op: &ast::BinaryOperator, right: &Ast) -> Result<Shown> {
        use ast::BinaryOperator as Op;
        match op {
            Op::And | Op::Or => {
                let mut operands = vec![right];
                let mut rest = left;
                loop {
                    match rest {
                        Ast::BinaryOp { left, op: next, right } if next == op => {
                            operands.push(right);
                            rest = left;
                        }
                        Ast::Nested(inner) if matches!(&**inner, Ast::BinaryOp { op: next, .. } if next == op) =>
                        {
                            rest = inner;
                        }
                        _ => break,
                    }
                }
                operands.push(rest);
                let conditions = operands.into_iter().rev().map(|operand| self.condition(operand));
                let conditions = conditions.collect::<Result<Vec<Shown>>>()?;
                return Ok(self.joined_conditions(conditions, *op == Op::And));
            }
            Op::PGLikeMatch => return self.pattern(left, "~~", right),
            Op::PGNotLikeMatch => return self.pattern(left, "!~~", right),
            Op::PGILikeMatch => return self.pattern(left, "~~*", right),
            Op::PGNotILikeMatch => return self.pattern(left, "!~~*", right),
            Op::PGRegexMatch => return self.pattern(left, "~", right),
            Op::PGRegexNotMatch => return self.pattern(left, "!~", right),
            Op::PGRegexIMatch => return self.pattern(left, "~*", right),
            Op::PGRegexNotIMatch => return self.pattern(left, "!~*", right),
            Op::PGCustomBinaryOperator(parts) => {
                if let Some(op) = parts.last().and_then(|op| crate::bind::expression::custom_operator(op)) {
                    return self.binary_operator(left, &op, right);
                }
            }
            _ => {}
        }
        if let Some(shown) = self.called_operator(left, op, right)? {
            return Ok(shown);
        }
        let Some(operator) = from_ast(op) else {
            return self.binder.lacks(Missing::OtherForms, "this operator in a definition is");
        };
        if let (Some(left), Some(right)) = (row_items(left), row_items(right)) {
            return self.rows(&left, operator, &right);
        }
        let mut query = right;
        while let Ast::Nested(inner) = query {
            query = inner;
        }
        if let (Some(_), Ast::Subquery(query)) = (row_items(left), query) {
            return self.compared_with_query(left, (operator, operator.symbol()), query);
        }
        self.operator(left, (operator, operator.symbol()), right)
    }

    /// An operator that is a function. `None` for others.
    fn called_operator(
        &mut self,
        left: &Ast,
        op: &ast::BinaryOperator,
        right: &Ast,
    ) -> Result<Option<Shown>> {
        if symbol_of(op).is_none() && !is_shared(op) {
            return Ok(None);
        }
        if row_items(left).is_some() || row_items(right).is_some() {
            return Ok(None);
        }
        let sides = [self.bound(left)?, self.bound(right)?];
        let symbol = symbol_of(op).or_else(|| shared_symbol(op, &sides[0], &sides[1]));
        let Some(symbol) = symbol else { return Ok(None) };
        let mut shown = Vec::with_capacity(2);
        for ((side, to), is_left) in
            [left, right].into_iter().zip(self.binder.shown_arguments(symbol, &sides)).zip([true, false])
        {
            let side = match to {
                Some(to) => self.expression_as(side, to)?,
                None => self.expression(side)?,
            };
            shown.push(self.inside(side, Around::Operator(symbol, is_left)));
        }
        Ok(Some(self.whole(format!("{} {symbol} {}", shown[0], shown[1]), Shape::Operator(symbol))))
    }

    fn rows(&mut self, left: &[&Ast], operator: BinaryOperator, right: &[&Ast]) -> Result<Shown> {
        if matches!(operator, BinaryOperator::Equal | BinaryOperator::NotEqual) {
            let pairs = left.iter().zip(right);
            let conditions =
                pairs.map(|(left, right)| self.operator(left, (operator, operator.symbol()), right));
            let mut conditions = conditions.collect::<Result<Vec<Shown>>>()?;
            if conditions.len() == 1
                && let Some(only) = conditions.pop()
            {
                return Ok(only);
            }
            return Ok(self.joined_conditions(conditions, operator == BinaryOperator::Equal));
        }
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (left, right) in left.iter().zip(right) {
            let (one, other) = self.operand_pair(left, operator, right)?;
            before.push(one.text);
            after.push(other.text);
        }
        let text = format!("ROW({}) {} ROW({})", before.join(", "), operator.symbol(), after.join(", "));
        Ok(self.whole(text, Shape::Operator("")))
    }

    /// Both operands as the operator takes them.
    fn operand_pair(&mut self, left: &Ast, operator: BinaryOperator, right: &Ast) -> Result<(Shown, Shown)> {
        let types = (self.bound(left)?.known_type(), self.bound(right)?.known_type());
        Ok(match shown_operands(operator, types.0, types.1) {
            Some((one, other)) => (self.expression_as(left, one)?, self.expression_as(right, other)?),
            None => (self.expression(left)?, self.expression(right)?),
        })
    }

    fn operator(
        &mut self,
        left: &Ast,
        (operator, symbol): (BinaryOperator, &'static str),
        right: &Ast,
    ) -> Result<Shown> {
        let (left, right) = self.operand_pair(left, operator, right)?;
        let left = self.inside(left, Around::Operator(symbol, true));
        let right = self.inside(right, Around::Operator(symbol, false));
        Ok(self.whole(format!("{left} {symbol} {right}"), Shape::Operator(symbol)))
    }

    /// LIKE, regular expressions and the like.
    pub(super) fn pattern(&mut self, left: &Ast, symbol: &'static str, right: &Ast) -> Result<Shown> {
        let own = self.bound(left)?.known_type();
        let other = self.bound(right)?.known_type();
        let beside = own.or(other).filter(|_| ignores_case(own, other));
        let to = match own.or(beside) {
            Some(own @ SqlType::Extension(_)) if beside.is_some() => own,
            Some(own @ (SqlType::Char(_) | SqlType::Bytea | SqlType::System(_))) => own,
            _ => SqlType::Text,
        };
        let left = self.expression_as(left, to)?;
        let pattern = match to {
            SqlType::Bytea => SqlType::Bytea,
            SqlType::Extension(_) if other.is_none_or(|other| other == to) => to,
            _ => SqlType::Text,
        };
        let right = self.expression_as(right, pattern)?;
        let left = self.inside(left, Around::Operator(symbol, true));
        let right = self.inside(right, Around::Operator(symbol, false));
        Ok(self.whole(format!("{left} {symbol} {right}"), Shape::Operator(symbol)))
    }

    /// Constants become an array. Items that read a column are compared one by one.
    fn in_list(&mut self, left: &Ast, list: &[Ast], is_negated: bool) -> Result<Shown> {
        let operator = if is_negated { BinaryOperator::NotEqual } else { BinaryOperator::Equal };
        let (operator, symbol) = (operator, operator.symbol());
        if let Some(row) = row_items(left) {
            let tests = list.iter().map(|item| {
                let items = row_items(item).unwrap_or_default();
                self.rows(&row, operator, &items)
            });
            let tests = tests.collect::<Result<Vec<Shown>>>()?;
            return Ok(self.alternatives(tests, is_negated));
        }
        let mut bound = vec![self.bound(left)?];
        let (mut constants, mut others) = (Vec::new(), Vec::new());
        for item in list {
            let one = self.bound(item)?;
            match crate::expr::reads_nothing(&one.expr) {
                true => {
                    bound.push(one);
                    constants.push(item);
                }
                false => others.push(item),
            }
        }
        if constants.len() < 2 {
            let tests = list.iter().map(|item| self.operator(left, (operator, symbol), item));
            let tests = tests.collect::<Result<Vec<Shown>>>()?;
            return Ok(self.alternatives(tests, is_negated));
        }
        let common = self.binder.common_type(&bound, "IN")?.without_modifier();
        let compared = shown_operands(operator, bound[0].known_type().or(Some(common)), Some(common));
        let (left_type, item_type) = compared.unwrap_or((common, common));
        let items = constants.iter().map(|item| Ok(self.expression_as(item, common)?.text));
        let items = items.collect::<Result<Vec<String>>>()?.join(", ");
        let array = match (item_type == common, self.is_pretty) {
            (true, _) => format!("ARRAY[{items}]"),
            (false, true) => format!("ARRAY[{items}]::{}[]", item_type.base_name()),
            (false, false) => format!("(ARRAY[{items}])::{}[]", item_type.base_name()),
        };
        let shown = self.expression_as(left, left_type)?;
        let shown = self.inside(shown, Around::Operator(symbol, true));
        let word = if is_negated { "ALL" } else { "ANY" };
        let mut tests = vec![self.whole(format!("{shown} {symbol} {word} ({array})"), Shape::Quantified)];
        for item in others {
            tests.push(self.operator(left, (operator, symbol), item)?);
        }
        Ok(self.alternatives(tests, is_negated))
    }

    /// Any of the tests, or all of them if they are negated.
    fn alternatives(&self, mut tests: Vec<Shown>, is_negated: bool) -> Shown {
        match tests.pop() {
            Some(only) if tests.is_empty() => only,
            Some(last) => {
                tests.push(last);
                self.joined_conditions(tests, is_negated)
            }
            None => Shown::simple("false"),
        }
    }
}

fn is_literal(node: &Ast) -> bool {
    match node {
        Ast::Nested(inner) => is_literal(inner),
        Ast::Value(_) => true,
        node => signed_digits(node).is_some(),
    }
}
