//! Expressions as the catalog shows them: CHECK constraints and generated columns.
//!
//! PostgreSQL prints the tree that it keeps: every operator in parentheses, literals with their types, the
//! conversions that it has inserted, and other words for some forms (`IN` is `= ANY (ARRAY[...])`). Hyades
//! keeps the text, so the tree is parsed again, and the types of its parts tell what PostgreSQL would have
//! inserted. A form that is not known here is shown as it was written. Types are printed with their schemas,
//! and [`Binder::kept_text`] adds those of routines and relations: this is the form that is kept, and
//! `system::shown_text` leaves out what a reader's path makes unnecessary.
//!
//! Reference: get_rule_expr and get_const_expr of PostgreSQL's ruleutils.c.

use hyades_engine::procedure::ir::Expr;
use hyades_types::function::{TypePattern, lookup};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};
use hyades_types::{memory, text};
use sqlparser::ast;

use super::called_operator::{is_shared, shared_symbol, symbol_of};
use super::coerce::{Category, category};
use super::operator::{from_ast, signature, type_beside};
use super::scope::Visibility;
use super::types::{self, written_type};
use super::{Binder, Bound, Class, Place};
use crate::evaluation;
use crate::statement::dialect::symmetric_bound;
use crate::statement::kept_names::full_name;
use crate::statement::names::{fold, quoted};

/// A part of an expression: how it is shown, and what is known about its type.
struct Part {
    shown: String,
    class: Class,
}

impl Part {
    fn typed(shown: String, sql_type: SqlType) -> Part {
        Part { shown, class: Class::Typed(sql_type) }
    }

    fn truth(shown: String) -> Part {
        Part::typed(shown, SqlType::Boolean)
    }

    fn sql_type(&self) -> Option<SqlType> {
        match self.class {
            Class::Typed(sql_type) => Some(sql_type),
            _ => None,
        }
    }

    /// Cast to a type that it does not have.
    fn cast(&self, to: SqlType) -> String {
        format!("({})::{}", self.shown, written_type(to))
    }
}

impl Binder<'_> {
    /// The expression as PostgreSQL would print it. Names of columns come from the scope.
    pub(crate) fn shown_expression(&mut self, expr: &ast::Expr) -> String {
        if let Some(part) = self.part(expr) {
            return part.shown;
        }
        // Parentheses around the whole are its own: there would be more each time that it is shown and read.
        let mut written = expr;
        while let ast::Expr::Nested(inner) = written {
            written = inner;
        }
        let (_, meanings) = self.noting(|binder| binder.expression(written));
        format!("({})", meanings.fixed(written, self.reading()))
    }

    fn part(&mut self, expr: &ast::Expr) -> Option<Part> {
        use ast::Expr as Ast;
        memory::check(0).ok()?;
        match expr {
            Ast::Nested(inner) => self.part(inner),
            Ast::Identifier(_) | Ast::CompoundIdentifier(_) => self.named(expr),
            Ast::Value(_) | Ast::TypedString(_) | Ast::Interval(_) => self.literal_part(expr),
            Ast::UnaryOp { op: ast::UnaryOperator::Not, expr: inner } => {
                let inner = self.part(inner)?;
                Some(Part::truth(format!("(NOT {})", inner.shown)))
            }
            Ast::UnaryOp { op, expr: inner } => self.signed(expr, *op, inner),
            Ast::BinaryOp { left, op: op @ (ast::BinaryOperator::And | ast::BinaryOperator::Or), right } => {
                let word = if *op == ast::BinaryOperator::And { "AND" } else { "OR" };
                let mut parts = Vec::new();
                self.chained(left, op, &mut parts)?;
                parts.push(self.part(right)?.shown);
                // CASE begins with a line break.
                let rest = parts.iter().skip(1).map(|part| match part.starts_with('\n') {
                    true => format!(" {word}{part}"),
                    false => format!(" {word} {part}"),
                });
                let rest = rest.collect::<String>();
                Some(Part::truth(format!("({}{rest})", parts.first()?)))
            }
            Ast::BinaryOp { left, op, right } => self.operation(left, op, right),
            Ast::IsNull(inner) => self.tested(inner, "IS NULL"),
            Ast::IsNotNull(inner) => self.tested(inner, "IS NOT NULL"),
            Ast::IsTrue(inner) => self.tested(inner, "IS TRUE"),
            Ast::IsNotTrue(inner) => self.tested(inner, "IS NOT TRUE"),
            Ast::IsFalse(inner) => self.tested(inner, "IS FALSE"),
            Ast::IsNotFalse(inner) => self.tested(inner, "IS NOT FALSE"),
            Ast::IsUnknown(inner) => self.tested(inner, "IS UNKNOWN"),
            Ast::IsNotUnknown(inner) => self.tested(inner, "IS NOT UNKNOWN"),
            Ast::IsDistinctFrom(left, right) => {
                self.compared(left, BinaryOperator::Equal, right, "IS DISTINCT FROM")
            }
            Ast::IsNotDistinctFrom(left, right) => {
                let test = self.compared(left, BinaryOperator::Equal, right, "IS DISTINCT FROM")?;
                Some(Part::truth(format!("(NOT {})", test.shown)))
            }
            Ast::Between { expr: inner, negated, low, high } => {
                self.shown_between(inner, low, high, *negated)
            }
            Ast::InList { expr: inner, list, negated } => self.listed(inner, list, *negated),
            Ast::Like { negated, any: false, expr: inner, pattern, escape_char: None } => {
                self.matched(inner, if *negated { "!~~" } else { "~~" }, pattern)
            }
            Ast::ILike { negated, any: false, expr: inner, pattern, escape_char: None } => {
                self.matched(inner, if *negated { "!~~*" } else { "~~*" }, pattern)
            }
            Ast::Cast { expr: inner, .. } => self.converted_part(expr, inner),
            Ast::Case { operand, conditions, else_result, .. } => {
                self.case_part(expr, operand.as_deref(), conditions, else_result.as_deref())
            }
            Ast::Function(call) => self.called(expr, call),
            _ => None,
        }
    }

    fn bound_part(&mut self, expr: &ast::Expr) -> Option<Bound> {
        self.expression(expr).ok()
    }

    /// A column, or a keyword that stands for a function.
    fn named(&mut self, expr: &ast::Expr) -> Option<Part> {
        let sql_type = self.bound_part(expr)?.known_type()?;
        let name = match expr {
            ast::Expr::Identifier(ident) => {
                let name = fold(ident);
                let relations = &self.scope.relations;
                if relations.iter().any(|one| one.columns.iter().any(|(own, _)| *own == name)) {
                    quoted(&name)
                } else if relations.iter().any(|one| one.name == name) {
                    format!("{}.*", quoted(&name))
                } else {
                    name.to_ascii_uppercase()
                }
            }
            // The rows of a trigger: nothing else tells them apart.
            ast::Expr::CompoundIdentifier(idents)
                if self.scope.relations.iter().any(|one| one.visibility == Visibility::Qualified) =>
            {
                let parts: Vec<String> = idents.iter().map(|ident| quoted(&fold(ident))).collect();
                parts.join(".")
            }
            ast::Expr::CompoundIdentifier(idents) => quoted(&fold(idents.last()?)),
            _ => return None,
        };
        Some(Part::typed(name, sql_type))
    }

    fn literal_part(&mut self, expr: &ast::Expr) -> Option<Part> {
        let bound = self.bound_part(expr)?;
        let shown = match (&bound.class, &bound.expr) {
            (Class::Typed(sql_type), Expr::Const(value)) => constant(value, *sql_type)?,
            (Class::Null, _) => "NULL".to_owned(),
            (Class::Literal(written), _) => literal(written, "unknown"),
            _ => return None,
        };
        Some(Part { shown, class: bound.class })
    }

    fn signed(&mut self, whole: &ast::Expr, op: ast::UnaryOperator, inner: &ast::Expr) -> Option<Part> {
        let bound = self.bound_part(whole)?;
        let sql_type = bound.known_type()?;
        if matches!(inner, ast::Expr::Value(_))
            && let Expr::Const(value) = &bound.expr
        {
            return Some(Part::typed(constant(value, sql_type)?, sql_type));
        }
        let inner = self.part(inner)?;
        Some(Part::typed(format!("({op} {})", inner.shown), sql_type))
    }

    /// The operands of a chain of ANDs or ORs, which leans to the left.
    fn chained(&mut self, expr: &ast::Expr, op: &ast::BinaryOperator, into: &mut Vec<String>) -> Option<()> {
        match expr {
            ast::Expr::Nested(inner) => self.chained(inner, op, into),
            ast::Expr::BinaryOp { left, op: own, right } if own == op => {
                self.chained(left, op, into)?;
                into.push(self.part(right)?.shown);
                Some(())
            }
            other => {
                into.push(self.part(other)?.shown);
                Some(())
            }
        }
    }

    fn tested(&mut self, inner: &ast::Expr, test: &str) -> Option<Part> {
        let inner = self.part(inner)?;
        Some(Part::truth(format!("({} {test})", inner.shown)))
    }

    fn operation(&mut self, left: &ast::Expr, op: &ast::BinaryOperator, right: &ast::Expr) -> Option<Part> {
        use ast::BinaryOperator as Ast;
        let symbol = match op {
            Ast::PGLikeMatch => "~~",
            Ast::PGNotLikeMatch => "!~~",
            Ast::PGILikeMatch => "~~*",
            Ast::PGNotILikeMatch => "!~~*",
            Ast::PGRegexMatch => "~",
            Ast::PGRegexNotMatch => "!~",
            Ast::PGRegexIMatch => "~*",
            Ast::PGRegexNotIMatch => "!~*",
            other => {
                if symbol_of(other).is_some() || is_shared(other) {
                    let sides = [self.bound_part(left)?, self.bound_part(right)?];
                    let symbol = symbol_of(other).or_else(|| shared_symbol(other, &sides[0], &sides[1]));
                    if let Some(symbol) = symbol {
                        return self.called_part(left, symbol, right, &sides);
                    }
                }
                let operator = from_ast(other)?;
                return self.compared(left, operator, right, operator.symbol());
            }
        };
        self.matched(left, symbol, right)
    }

    /// An operator that is a function.
    fn called_part(
        &mut self,
        left: &ast::Expr,
        symbol: &'static str,
        right: &ast::Expr,
        sides: &[Bound; 2],
    ) -> Option<Part> {
        let place = Place::Unknown;
        let result = self.operator_of(symbol, sides.clone(), place).ok()?.known_type()?;
        let types = self.shown_arguments(symbol, sides);
        let mut shown = Vec::with_capacity(2);
        for (side, to) in [left, right].into_iter().zip(types) {
            let part = self.part(side)?;
            shown.push(self.as_type(&part, to?)?);
        }
        Some(Part::typed(format!("({} {symbol} {})", shown[0], shown[1]), result))
    }

    /// The two operands of an operator, each as the operator takes it.
    fn compared(
        &mut self,
        left: &ast::Expr,
        operator: BinaryOperator,
        right: &ast::Expr,
        symbol: &str,
    ) -> Option<Part> {
        let (left, right) = (self.part(left)?, self.part(right)?);
        self.compared_parts(&left, operator, &right, symbol)
    }

    fn compared_parts(
        &mut self,
        left: &Part,
        operator: BinaryOperator,
        right: &Part,
        symbol: &str,
    ) -> Option<Part> {
        let types = match (left.sql_type(), right.sql_type()) {
            (Some(left), Some(right)) => (left, right),
            (Some(left), None) => (left, unknown_beside(operator, left)),
            (None, Some(right)) => (unknown_beside(operator, right), right),
            (None, None) => (SqlType::Text, SqlType::Text),
        };
        let signature = signature(operator, types.0, types.1)?;
        let first = self.operand_part(left, operator, types, signature.left)?;
        let second = self.operand_part(right, operator, (types.1, types.0), signature.right)?;
        Some(Part::typed(format!("({first} {symbol} {second})"), signature.result))
    }

    fn operand_part(
        &mut self,
        part: &Part,
        operator: BinaryOperator,
        (own, other): (SqlType, SqlType),
        wanted: SqlType,
    ) -> Option<String> {
        if part.sql_type().is_none() {
            return self.given_type(part, own);
        }
        Some(match is_converted(operator, own, other, wanted) {
            true => part.cast(wanted.without_modifier()),
            false => part.shown.clone(),
        })
    }

    /// A literal without a type of its own, where this type is wanted.
    fn given_type(&mut self, part: &Part, wanted: SqlType) -> Option<String> {
        match &part.class {
            Class::Null => Some(format!("NULL::{}", written_type(wanted.without_modifier()))),
            Class::Literal(written) => {
                let base = wanted.without_modifier();
                let value = evaluation::parse_text(written, base, self.reading()).ok()?;
                constant(&value, base)
            }
            _ => None,
        }
    }

    /// LIKE and the like: operators on texts.
    fn matched(&mut self, left: &ast::Expr, symbol: &str, pattern: &ast::Expr) -> Option<Part> {
        let mut sides = Vec::new();
        for side in [left, pattern] {
            let part = self.part(side)?;
            sides.push(match part.sql_type() {
                None => self.given_type(&part, SqlType::Text)?,
                Some(SqlType::Varchar(_)) => part.cast(SqlType::Text),
                Some(_) => part.shown,
            });
        }
        Some(Part::truth(format!("({} {symbol} {})", sides[0], sides[1])))
    }

    /// IN: one comparison with an array if the items read no column, else one comparison for each.
    fn listed(&mut self, inner: &ast::Expr, list: &[ast::Expr], is_negated: bool) -> Option<Part> {
        let operator = if is_negated { BinaryOperator::NotEqual } else { BinaryOperator::Equal };
        let bound = list.iter().map(|item| self.bound_part(item)).collect::<Option<Vec<Bound>>>()?;
        let operand = self.part(inner)?;
        let items = list.iter().map(|item| self.part(item)).collect::<Option<Vec<Part>>>()?;
        if items.len() == 1 || bound.iter().any(|item| crate::expr::reads_row(&item.expr)) {
            let mut tests = Vec::new();
            for item in &items {
                tests.push(self.compared_parts(&operand, operator, item, operator.symbol())?.shown);
            }
            if tests.len() == 1 {
                return tests.pop().map(Part::truth);
            }
            let word = if is_negated { " AND " } else { " OR " };
            return Some(Part::truth(format!("({})", tests.join(word))));
        }
        let own = self.bound_part(inner)?;
        let common = self.common_type(std::iter::once(&own).chain(&bound), "IN").ok()?.without_modifier();
        let mut shown = Vec::new();
        for item in &items {
            shown.push(self.as_type(item, common)?);
        }
        let word = if is_negated { "ALL" } else { "ANY" };
        let array = format!("ARRAY[{}]", shown.join(", "));
        let (operand, array) = match common {
            SqlType::Varchar(_) => (operand.cast(SqlType::Text), format!("({array})::text[]")),
            _ => (self.as_type(&operand, common)?, array),
        };
        Some(Part::truth(format!("({operand} {} {word} ({array}))", operator.symbol())))
    }

    /// A part converted to the common type of several.
    fn as_type(&mut self, part: &Part, common: SqlType) -> Option<String> {
        match part.sql_type() {
            None => self.given_type(part, common),
            Some(own) if own.is_same_base(common) => Some(part.shown.clone()),
            Some(_) => Some(part.cast(common)),
        }
    }

    fn converted_part(&mut self, whole: &ast::Expr, inner: &ast::Expr) -> Option<Part> {
        let domain = match whole {
            ast::Expr::Cast { data_type, .. } => types::declared(data_type, self).ok()?.domain,
            _ => None,
        };
        let part = self.converted_to_base(whole, inner)?;
        match domain {
            Some(domain) => {
                let name = full_name(&self.domain(domain).ok()?.name());
                Some(Part::typed(format!("({})::{name}", part.shown), part.sql_type()?))
            }
            None => Some(part),
        }
    }

    fn converted_to_base(&mut self, whole: &ast::Expr, inner: &ast::Expr) -> Option<Part> {
        let bound = self.bound_part(whole)?;
        let to = bound.known_type()?;
        let (part, base) = (self.part(inner)?, to.without_modifier());
        let shown = match (part.sql_type(), &bound.expr) {
            // The fields of an interval decide how a text is read.
            (None, Expr::Const(value)) if matches!(to, SqlType::Interval(_)) => constant(value, to)?,
            (None, _) => {
                let shown = self.given_type(&part, base)?;
                let bare = shown.strip_suffix(&format!("::{}", written_type(base)));
                match to == base {
                    true => shown,
                    false => format!("{}::{}", bare.unwrap_or(&shown), written_type(to)),
                }
            }
            (Some(own), _) if own == to => part.shown,
            // `1.5::numeric(10,2)`
            (Some(own), _) if own == base && matches!(inner, ast::Expr::Value(_)) => {
                format!("{}::{}", part.shown, written_type(to))
            }
            _ => part.cast(to),
        };
        Some(Part::typed(shown, to))
    }

    fn shown_between(
        &mut self,
        inner: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        is_negated: bool,
    ) -> Option<Part> {
        let (first, second, word) = match is_negated {
            false => (BinaryOperator::GreaterEqual, BinaryOperator::LessEqual, "AND"),
            true => (BinaryOperator::Less, BinaryOperator::Greater, "OR"),
        };
        if let Some(low) = symmetric_bound(low) {
            let one = self.shown_between(inner, low, high, is_negated)?;
            let other = self.shown_between(inner, high, low, is_negated)?;
            let word = if is_negated { "AND" } else { "OR" };
            return Some(Part::truth(format!("({} {word} {})", one.shown, other.shown)));
        }
        let low = self.compared(inner, first, low, first.symbol())?;
        let high = self.compared(inner, second, high, second.symbol())?;
        Some(Part::truth(format!("({} {word} {})", low.shown, high.shown)))
    }

    fn case_part(
        &mut self,
        whole: &ast::Expr,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
    ) -> Option<Part> {
        let common = self.bound_part(whole)?.known_type()?;
        let mut shown = "\nCASE".to_owned();
        if let Some(operand) = operand {
            shown.push_str(&format!(" {}", self.part(operand)?.shown));
        }
        for when in conditions {
            let condition = self.part(&when.condition)?;
            let condition = match (condition.sql_type(), operand) {
                (None, Some(operand)) => {
                    let beside = self.bound_part(operand)?.known_type()?;
                    self.given_type(&condition, beside)?
                }
                _ => condition.shown,
            };
            let result = self.part(&when.result)?;
            let result = self.as_type(&result, common)?;
            shown.push_str(&format!("\n    WHEN {condition} THEN {result}"));
        }
        let otherwise = match otherwise {
            Some(otherwise) => {
                let otherwise = self.part(otherwise)?;
                self.as_type(&otherwise, common)?
            }
            None => format!("NULL::{}", written_type(common.without_modifier())),
        };
        shown.push_str(&format!("\n    ELSE {otherwise}\nEND"));
        Some(Part::typed(shown, common))
    }

    /// A call of a function of the catalogue, or of a routine.
    fn called(&mut self, whole: &ast::Expr, call: &ast::Function) -> Option<Part> {
        let (bound, meanings) = self.noting(|binder| binder.bound_part(whole));
        let bound = bound?;
        let sql_type = bound.known_type()?;
        let name = call.name.0.last()?.as_ident().map(fold)?;
        let routine = meanings.routine(call);
        let list = match &call.args {
            ast::FunctionArguments::List(list) => list,
            // `CURRENT_DATE`
            ast::FunctionArguments::None => return Some(Part::typed(name.to_ascii_uppercase(), sql_type)),
            ast::FunctionArguments::Subquery(_) => return None,
        };
        let mut arguments = Vec::new();
        for argument in &list.args {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) = argument else {
                return None;
            };
            arguments.push(self.part(argument)?);
        }
        if routine.is_none() && matches!(name.as_str(), "coalesce" | "greatest" | "least") {
            let mut shown = Vec::new();
            for argument in &arguments {
                shown.push(self.as_type(argument, sql_type)?);
            }
            return Some(Part::typed(
                format!("{}({})", name.to_ascii_uppercase(), shown.join(", ")),
                sql_type,
            ));
        }
        let given: Vec<Expr> = match &bound.expr {
            Expr::Call { arguments, .. } | Expr::Routine { arguments, .. } => arguments.clone(),
            _ if arguments.is_empty() => Vec::new(),
            _ => return None,
        };
        if given.len() != arguments.len() {
            return None;
        }
        let mut shown = Vec::new();
        for (at, (part, given)) in arguments.iter().zip(&given).enumerate() {
            shown.push(self.argument(part, given, routine.is_none() && takes_text(&name, at))?);
        }
        let name = routine.map_or_else(|| quoted(&name), full_name);
        Some(Part::typed(format!("{name}({})", shown.join(", ")), sql_type))
    }

    /// An argument as the function takes it. `given` is the value that it receives.
    fn argument(&mut self, part: &Part, given: &Expr, takes_text: bool) -> Option<String> {
        let wanted = match given {
            Expr::Const(value) => value.sql_type(),
            Expr::Cast { to, .. } => Some(*to),
            _ => None,
        };
        match (part.sql_type(), wanted) {
            (None, Some(wanted)) => self.given_type(part, wanted),
            (None, None) => None,
            (Some(SqlType::Varchar(_) | SqlType::Char(_)), _) if takes_text => Some(part.cast(SqlType::Text)),
            (Some(own), Some(wanted)) if !own.is_same_base(wanted) => {
                Some(part.cast(wanted.without_modifier()))
            }
            _ => Some(part.shown.clone()),
        }
    }
}

/// What a literal becomes next to an operand of this type.
fn unknown_beside(operator: BinaryOperator, known: SqlType) -> SqlType {
    match known {
        SqlType::Char(_) if operator.is_comparison() => SqlType::Char(0),
        _ => type_beside(operator, known),
    }
}

/// Whether some overload of a function of the catalogue takes a text at this position.
fn takes_text(name: &str, at: usize) -> bool {
    let is_text = |pattern: Option<&TypePattern>| pattern == Some(&TypePattern::Exact(SqlType::Text));
    lookup(name).iter().any(|signature| is_text(signature.arguments.get(at)))
}

/// Whether PostgreSQL inserts a conversion of an operand. It has operators between types of one kind.
fn is_converted(operator: BinaryOperator, own: SqlType, other: SqlType, wanted: SqlType) -> bool {
    let are_both = |is: fn(SqlType) -> bool| is(own) && is(other);
    let is_float = |sql_type| matches!(sql_type, SqlType::Real | SqlType::DoublePrecision);
    let is_char = |sql_type| matches!(sql_type, SqlType::Char(_));
    let is_sum = matches!(
        operator,
        BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Multiply | BinaryOperator::Divide
    );
    if are_both(SqlType::is_integer) || (is_float(own) && is_float(wanted)) {
        return !operator.is_comparison() && !is_sum && !own.is_same_base(wanted);
    }
    if matches!(own, SqlType::Varchar(_)) {
        return true;
    }
    let is_date = category(own) == Category::DateTime;
    let is_as_it_is = are_both(is_char)
        || (is_date && operator.is_comparison())
        || (is_date && matches!(other, SqlType::Interval(_)))
        || (operator == BinaryOperator::Concat && !own.is_text());
    !is_as_it_is && !own.is_same_base(wanted)
}

fn literal(text: &str, type_name: &str) -> String {
    format!("'{}'::{type_name}", text.replace('\'', "''"))
}

/// A constant with its type, which is left out for numbers whose type shows in the literal.
pub(crate) fn constant(value: &Value, sql_type: SqlType) -> Option<String> {
    if value.is_null() {
        return Some(format!("NULL::{}", written_type(sql_type.without_modifier())));
    }
    let mut bytes = Vec::new();
    text::write(value, sql_type, &jiff::tz::TimeZone::UTC, &mut bytes);
    let written = String::from_utf8(bytes).ok()?;
    let is_plain = match sql_type {
        SqlType::Boolean => return Some(if written == "t" { "true" } else { "false" }.to_owned()),
        SqlType::Integer => !written.starts_with('-'),
        SqlType::Numeric(_) => {
            written.starts_with(|first: char| first.is_ascii_digit()) && written.contains(['.', 'e', 'E'])
        }
        _ => false,
    };
    let shown_type =
        if matches!(sql_type, SqlType::Interval(_)) { sql_type } else { sql_type.without_modifier() };
    if is_plain { Some(written) } else { Some(literal(&written, &written_type(shown_type))) }
}
