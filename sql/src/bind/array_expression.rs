//! Arrays in expressions: subscripts, `ARRAY[...]`, ANY and ALL, `||`, and array functions, whose types
//! depend on those of the elements.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::array_value::MOST_DIMENSIONS;
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast::{self, AccessExpr, Subscript};

use super::called_operator::shared_symbol;
use super::coerce::{cast, is_implicit};
use super::expression::boolean;
use super::hstore_expression::HSTORE;
use super::made_rows::{field_expr, row_with};
use super::operator::{comparison_type, from_ast};
use super::row_syntax::row_items;
use super::{Binder, Bound, Class, Place};
use crate::evaluation;
use crate::statement::names::fold;
use crate::statement::query::end_of;

/// A parameter or the result of an array function: the array, its element, or another type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Array,
    Element,
    Is(SqlType),
}

/// Subscripts, or the bounds of slices: then `written` says which of the bounds are written (see
/// `types/src/function/array_subscript.rs`).
struct Subscripts {
    written: Option<i32>,
    bounds: Vec<Expr>,
}

/// The array, or an empty one for NULL.
fn or_empty(array: Expr, element: ArrayElement) -> Expr {
    match array {
        Expr::Const(Value::Null) => Expr::Const(Value::array(element, Vec::new())),
        constant @ Expr::Const(_) => constant,
        array => Expr::Coalesce(vec![array, Expr::Const(Value::array(element, Vec::new()))]),
    }
}

fn element_of(sql_type: SqlType) -> Option<ArrayElement> {
    sql_type.element()
}

/// The symbol of an operator that matches a text against a pattern.
pub(super) fn pattern_symbol(operator: &ast::BinaryOperator) -> Option<&'static str> {
    use ast::BinaryOperator as Ast;
    Some(match operator {
        Ast::PGLikeMatch => "~~",
        Ast::PGNotLikeMatch => "!~~",
        Ast::PGILikeMatch => "~~*",
        Ast::PGNotILikeMatch => "!~~*",
        Ast::PGRegexMatch => "~",
        Ast::PGRegexNotMatch => "!~",
        Ast::PGRegexIMatch => "~*",
        Ast::PGRegexNotIMatch => "!~*",
        _ => return None,
    })
}

impl Binder<'_> {
    /// `name[index]`, `name[first:last]`, and chains of them.
    pub(crate) fn subscript(&mut self, root: &ast::Expr, chain: &[AccessExpr]) -> Result<Bound> {
        let place = Place::of_expr(root);
        if let [AccessExpr::Dot(ast::Expr::Identifier(field)), rest @ ..] = chain
            && let Some(bound) = self.field_of_row(root, field)?
        {
            return self.accessed(bound, rest, place);
        }
        let mut idents = match root {
            ast::Expr::Identifier(ident) => vec![ident.clone()],
            ast::Expr::CompoundIdentifier(idents) => idents.clone(),
            _ => Vec::new(),
        };
        let mut rest = chain;
        while let [AccessExpr::Dot(ast::Expr::Identifier(ident)), after @ ..] = rest
            && !idents.is_empty()
        {
            idents.push(ident.clone());
            rest = after;
        }
        let array = match idents.as_slice() {
            [] => self.expression(root)?,
            [ident] => self.column(ident)?,
            idents => self.qualified_column(idents)?,
        };
        self.accessed(array, rest, place)
    }

    /// What a chain of fields and subscripts leads to.
    fn accessed(&mut self, value: Bound, chain: &[AccessExpr], place: Place) -> Result<Bound> {
        match chain {
            [] => Ok(value),
            [AccessExpr::Dot(ast::Expr::Identifier(field)), rest @ ..] => {
                let field = self.field_of_value(&value, field)?;
                self.accessed(field, rest, place)
            }
            _ => {
                let is_field = |access: &AccessExpr| matches!(access, AccessExpr::Dot(_));
                let split = chain.iter().skip(1).position(is_field).map_or(chain.len(), |at| at + 1);
                let (subscripts, rest) = chain.split_at(split);
                let element = self.element(value, subscripts, place)?;
                self.accessed(element, rest, place)
            }
        }
    }

    /// An element or a part of an array, or of another type that has subscripts.
    fn element(&mut self, array: Bound, rest: &[AccessExpr], place: Place) -> Result<Bound> {
        if array.known_type() == Some(SqlType::Jsonb) && !rest.is_empty() {
            return self.json_subscript(array, rest);
        }
        if array.known_type() == Some(HSTORE) && !rest.is_empty() {
            return self.hstore_subscript(array, rest);
        }
        if array.known_type() == Some(SqlType::System(SystemType::Name))
            && let [AccessExpr::Subscript(Subscript::Index { index })] = rest
        {
            let arguments = vec![array.expr, self.array_bound(Some(index))?];
            let expr = Expr::Call { function: Function::NameCharacter, arguments };
            return Ok(Bound::typed(expr, SqlType::System(SystemType::Char), place));
        }
        let Some(element) = array.known_type().and_then(element_of) else {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                array.type_name()
            );
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, place);
        };
        let Subscripts { written, mut bounds } = self.subscripts(rest, place)?;
        if let Some(written) = written {
            let mut arguments = vec![array.expr, Expr::Const(Value::Integer(written))];
            arguments.append(&mut bounds);
            let expr = Expr::Call { function: Function::ArraySlice, arguments };
            return Ok(Bound::typed(expr, SqlType::Array(element), place));
        }
        let expr = match (array.known_type(), bounds.as_mut_slice()) {
            // A vector counts from 0.
            (Some(SqlType::System(_)), [index]) => {
                let index = Expr::Binary {
                    operator: BinaryOperator::Add,
                    left: Box::new(index.clone()),
                    right: Box::new(Expr::Const(Value::Integer(1))),
                };
                Expr::Element { array: Box::new(array.expr), index: Box::new(index) }
            }
            (_, [index]) => Expr::Element { array: Box::new(array.expr), index: Box::new(index.clone()) },
            _ => {
                let mut arguments = vec![array.expr];
                arguments.append(&mut bounds);
                Expr::Call { function: Function::ArraySubscript, arguments }
            }
        };
        Ok(Bound::typed(expr, element.sql_type(), place))
    }

    /// The contents of the brackets.
    fn subscripts(&mut self, chain: &[AccessExpr], place: Place) -> Result<Subscripts> {
        let is_slice =
            chain.iter().any(|access| matches!(access, AccessExpr::Subscript(Subscript::Slice { .. })));
        let (mut written, mut bounds) = (0, Vec::new());
        if chain.len() > MOST_DIMENSIONS {
            let message = format!(
                "number of array dimensions ({}) exceeds the maximum allowed ({MOST_DIMENSIONS})",
                chain.len()
            );
            return self.fail(sqlstate::PROGRAM_LIMIT_EXCEEDED, message, place);
        }
        for (dimension, access) in chain.iter().enumerate() {
            let (lower, upper) = match access {
                AccessExpr::Subscript(Subscript::Index { index }) => (None, Some(index)),
                AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None }) => {
                    (lower_bound.as_ref(), upper_bound.as_ref())
                }
                _ => return self.unsupported(Missing::Subscripts, "a field of an array's element is", place),
            };
            let is_index = matches!(access, AccessExpr::Subscript(Subscript::Index { .. }));
            if !is_slice {
                bounds.push(self.array_bound(upper)?);
                continue;
            }
            // Next to a slice, an index is a slice from 1.
            bounds.push(if is_index { Expr::Const(Value::Integer(1)) } else { self.array_bound(lower)? });
            bounds.push(self.array_bound(upper)?);
            written |= i32::from(is_index || lower.is_some()) << (2 * dimension);
            written |= i32::from(upper.is_some()) << (2 * dimension + 1);
        }
        Ok(Subscripts { written: is_slice.then_some(written), bounds })
    }

    fn array_bound(&mut self, bound: Option<&ast::Expr>) -> Result<Expr> {
        let Some(bound) = bound else { return Ok(Expr::Const(Value::Null)) };
        let bound = self.expression(bound)?;
        let place = bound.place;
        match self.try_coerce(bound, SqlType::Integer, super::coerce::Context::Assignment)? {
            Some(expr) => Ok(expr),
            None => {
                let message = "array subscript must have type integer";
                self.fail(sqlstate::DATATYPE_MISMATCH, message, place)
            }
        }
    }

    /// The value of a column of arrays, of jsonb or of hstore after `column[...] = value`.
    pub(crate) fn assigned_elements(
        &mut self,
        (array, sql_type, column): (Expr, SqlType, &str),
        chain: &[AccessExpr],
        value: Bound,
        place: Place,
    ) -> Result<Expr> {
        if sql_type == SqlType::Jsonb {
            return self.assigned_member((array, column), chain, value, place);
        }
        if sql_type == HSTORE {
            return self.assigned_pair((array, column), chain, value, place);
        }
        if let (SqlType::Composite(row_type), [AccessExpr::Dot(ast::Expr::Identifier(field)), rest @ ..]) =
            (sql_type, chain)
        {
            return self.assigned_field((array, row_type, column), (field, rest), value, place);
        }
        let SqlType::Array(element) = sql_type else {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                sql_type.base_name()
            );
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, place);
        };
        let is_field = |access: &AccessExpr| matches!(access, AccessExpr::Dot(_));
        if let Some(at) = chain.iter().position(is_field) {
            // The field of an element: the element is assigned with another value of it.
            let (subscripts, rest) = chain.split_at(at);
            let whole = Bound::typed(array.clone(), sql_type, place);
            let known = self.element(whole, subscripts, place)?;
            let target = (known.expr, element.sql_type(), column);
            let changed = self.assigned_elements(target, rest, value, place)?;
            let changed = Bound::typed(changed, element.sql_type(), place);
            return self.assigned_elements((array, sql_type, column), subscripts, changed, place);
        }
        let Subscripts { written, bounds } = self.subscripts(chain, place)?;
        let wanted = if written.is_some() { sql_type } else { element.sql_type() };
        let from = value.type_name();
        let Some(value) = self.try_coerce(value, wanted, super::coerce::Context::Assignment)? else {
            let message = format!(
                "subscripted assignment to \"{column}\" requires type {} but expression is of type {from}",
                wanted.base_name()
            );
            let error = Error::input(sqlstate::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.");
            return Err(self.place(error, place));
        };
        // NULL becomes an array.
        let mut arguments = vec![or_empty(array, element), value];
        arguments.extend(written.map(|written| Expr::Const(Value::Integer(written))));
        arguments.extend(bounds);
        let function = if written.is_some() { Function::ArraySetSlice } else { Function::ArraySet };
        Ok(Expr::Call { function, arguments })
    }

    /// The value of a row after `column.field = value`.
    fn assigned_field(
        &mut self,
        (row, row_type, column): (Expr, CompositeType, &str),
        (field, rest): (&ast::Ident, &[AccessExpr]),
        value: Bound,
        place: Place,
    ) -> Result<Expr> {
        let name = fold(field);
        let Some(field) = row_type.field(&name) else {
            let message = format!(
                "cannot assign to field \"{name}\" of column \"{column}\" because there is no such column in data \
                 type {}",
                row_type.shown()
            );
            return self.fail(sqlstate::UNDEFINED_COLUMN, message, place);
        };
        let value = if rest.is_empty() {
            let from = value.type_name();
            let Some(value) = self.try_coerce(value, field.sql_type, super::coerce::Context::Assignment)?
            else {
                let message = format!(
                    "subfield \"{name}\" is of type {} but expression is of type {from}",
                    field.sql_type.base_name()
                );
                let error = Error::input(sqlstate::DATATYPE_MISMATCH, message)
                    .with_hint("You will need to rewrite or cast the expression.");
                return Err(self.place(error, place));
            };
            value
        } else {
            let target = (field_expr(row.clone(), field), field.sql_type, name.as_str());
            self.assigned_elements(target, rest, value, place)?
        };
        Ok(row_with(row_type, row, field, value))
    }

    /// `ARRAY[...]`.
    pub(crate) fn array(&mut self, items: &[ast::Expr], place: Place) -> Result<Bound> {
        let items = items.iter().map(|item| self.expression(item)).collect::<Result<Vec<Bound>>>()?;
        if items.is_empty() {
            let error =
                Error::input(sqlstate::INDETERMINATE_DATATYPE, "cannot determine type of empty array")
                    .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].");
            return Err(self.place(error, place));
        }
        let common = self.common_type(&items, "ARRAY")?;
        if let SqlType::Array(element) = common {
            let mut arguments = vec![Expr::Const(Value::array(element, Vec::new()))];
            for item in items {
                arguments.push(self.coerce(item, common)?);
            }
            let expr = Expr::Call { function: Function::ArrayOfArrays, arguments };
            return Ok(Bound::typed(evaluation::fold_if_constant(expr), common, place));
        }
        let Some(element) = ArrayElement::of(common) else {
            return self.unsupported(
                Missing::ColumnTypes,
                &format!("arrays of {} are", common.base_name()),
                place,
            );
        };
        let items = items.into_iter().map(|item| self.coerce(item, common)).collect::<Result<Vec<Expr>>>()?;
        Ok(Bound::typed(Expr::Array { element, items }, SqlType::Array(element), place))
    }

    /// `ARRAY[...]::type[]`: every element is converted individually.
    pub(super) fn array_of_type(
        &mut self,
        items: &[ast::Expr],
        element: ArrayElement,
        place: Place,
    ) -> Result<Bound> {
        let array = SqlType::Array(element);
        let empty = Expr::Const(Value::array(element, Vec::new()));
        if items.is_empty() {
            return Ok(Bound::typed(empty, array, place));
        }
        let has_arrays = items.iter().any(|item| matches!(item, ast::Expr::Array(_)));
        let mut parts = Vec::with_capacity(items.len());
        let mut are_arrays = has_arrays;
        for item in items {
            let bound = match item {
                ast::Expr::Array(inner) => self.array_of_type(&inner.elem, element, Place::of_expr(item))?,
                item => self.expression(item)?,
            };
            are_arrays |= matches!(bound.known_type(), Some(SqlType::Array(_)));
            parts.push(bound);
        }
        let to = if are_arrays { array } else { element.sql_type() };
        let mut exprs = if are_arrays { vec![empty] } else { Vec::new() };
        for part in parts {
            let place = part.place;
            exprs.push(self.coerce_explicitly(part, to, place)?.expr);
        }
        let expr = match are_arrays {
            true => Expr::Call { function: Function::ArrayOfArrays, arguments: exprs },
            false => Expr::Array { element, items: exprs },
        };
        Ok(Bound::typed(evaluation::fold_if_constant(expr), array, place))
    }

    /// `left operator ANY (array)` and ALL, and the same with a subquery.
    pub(crate) fn quantified(
        &mut self,
        left: &ast::Expr,
        (operator, is_all): (&ast::BinaryOperator, bool),
        right: &ast::Expr,
    ) -> Result<Bound> {
        let place = Place::OperatorAfter(end_of(left));
        if let Some(symbol) = pattern_symbol(operator) {
            return self.quantified_match(left, (symbol, is_all), right, place);
        }
        let Some(operator) = from_ast(operator).filter(|operator| operator.is_comparison()) else {
            return self.unsupported(Missing::OtherForms, &format!("{operator} with ANY or ALL is"), place);
        };
        // `= ANY` is IN and `<> ALL` is NOT IN, for which there are faster ways.
        let is_in = matches!((operator, is_all), (BinaryOperator::Equal, false));
        let is_not_in = matches!((operator, is_all), (BinaryOperator::NotEqual, true));
        let (left, array) = match right {
            ast::Expr::Subquery(query) if is_in || is_not_in => {
                return self.in_subquery(left, query, is_not_in, place);
            }
            ast::Expr::Subquery(query) if row_items(left).is_some() => {
                return self.row_quantified(left, (operator, is_all), query, place);
            }
            ast::Expr::Subquery(query) => self.found_values(operator, left, query, place)?,
            _ => self.elements(operator, left, right, place)?,
        };
        if !is_in && !is_not_in {
            let (left, array) = (Box::new(left), Box::new(array));
            return Ok(boolean(Expr::Quantified { operator, is_all, left, array }, place));
        }
        let test = Expr::Call { function: Function::EqualsAny, arguments: vec![left, array] };
        Ok(boolean(if is_not_in { Expr::Not(Box::new(test)) } else { test }, place))
    }

    /// Both sides of a comparison of a value with the elements of an array.
    fn elements(
        &mut self,
        operator: BinaryOperator,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place,
    ) -> Result<(Expr, Expr)> {
        let left = self.expression(left)?;
        let right = self.expression(right)?;
        let element = match (right.known_type().and_then(element_of), left.known_type()) {
            (Some(element), _) => element,
            (None, Some(sql_type)) if right.known_type().is_none() => match ArrayElement::of(sql_type) {
                Some(element) => element,
                None => return self.unsupported(Missing::OtherForms, "ANY of this type is", place),
            },
            _ => {
                let message = "op ANY/ALL (array) requires array on right side";
                return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place);
            }
        };
        // The engine compares values of one type, so a wider left side widens the elements too.
        let meeting = left.known_type().and_then(|left| comparison_type(left, element.sql_type()));
        // Trailing blanks of a `char(n)` do not count.
        let common = match meeting.and_then(ArrayElement::of).unwrap_or(element.without_modifier()) {
            ArrayElement::Char => ArrayElement::Text,
            common => common,
        };
        let array = self.coerce(right, SqlType::Array(element))?;
        let right = cast(array, SqlType::Array(element), SqlType::Array(common), false)?;
        let wanted = Bound::typed(Expr::Const(Default::default()), element.sql_type(), place);
        let (left, _, _) = self.operands(operator, left, wanted, place)?;
        Ok((left, right))
    }

    /// An array function, if this is the name of one.
    pub(crate) fn try_array_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        place: Place,
    ) -> Result<Option<Bound>> {
        use Part::{Array, Element, Is};
        const INTEGER: Part = Is(SqlType::Integer);
        const INTEGERS: Part = Is(SqlType::Array(ArrayElement::Integer));
        let (function, parts, result): (Function, &[Part], Part) = match (name, arguments.len()) {
            ("array_length", 2) => (Function::ArrayLength, &[Array, INTEGER], INTEGER),
            ("array_lower", 2) => (Function::ArrayLower, &[Array, INTEGER], INTEGER),
            ("array_upper", 2) => (Function::ArrayUpper, &[Array, INTEGER], INTEGER),
            ("array_ndims", 1) => (Function::ArrayDimensions, &[Array], INTEGER),
            ("array_dims", 1) => (Function::ArrayBounds, &[Array], Is(SqlType::Text)),
            ("cardinality", 1) => (Function::Cardinality, &[Array], INTEGER),
            ("array_to_string", 2) => {
                (Function::ArrayToString, &[Array, Is(SqlType::Text)], Is(SqlType::Text))
            }
            ("array_to_string", 3) => {
                (Function::ArrayToString, &[Array, Is(SqlType::Text), Is(SqlType::Text)], Is(SqlType::Text))
            }
            ("array_append", 2) => (Function::ArrayAppend, &[Array, Element], Array),
            ("array_prepend", 2) => (Function::ArrayPrepend, &[Element, Array], Array),
            ("array_cat", 2) => (Function::ArrayConcat, &[Array, Array], Array),
            ("array_position", 2) => (Function::ArrayPosition, &[Array, Element], INTEGER),
            ("array_position", 3) => (Function::ArrayPosition, &[Array, Element, INTEGER], INTEGER),
            ("array_positions", 2) => (Function::ArrayPositions, &[Array, Element], INTEGERS),
            ("array_remove", 2) => (Function::ArrayRemove, &[Array, Element], Array),
            ("array_replace", 3) => (Function::ArrayReplace, &[Array, Element, Element], Array),
            ("trim_array", 2) => (Function::ArrayTrim, &[Array, INTEGER], Array),
            ("arrayoverlap", 2) => (Function::ArrayOverlaps, &[Array, Array], Is(SqlType::Boolean)),
            ("arraycontains", 2) => (Function::ArrayContains, &[Array, Array], Is(SqlType::Boolean)),
            ("array_fill", 2 | 3) => return self.array_fill(arguments, place).map(Some),
            _ => return Ok(None),
        };
        let Some(element) = self.common_element(arguments, parts) else {
            let types: Vec<&str> = arguments.iter().map(Bound::type_name).collect();
            return Err(self.no_function(name, &types.join(", "), place));
        };
        let type_of = |part: &Part| match part {
            Array => SqlType::Array(element),
            Element => element.sql_type(),
            Is(sql_type) => *sql_type,
        };
        let mut coerced = Vec::with_capacity(parts.len());
        for (argument, part) in arguments.iter().zip(parts) {
            let expr = self.coerce(argument.clone(), type_of(part))?;
            let is_grown = matches!(function, Function::ArrayAppend | Function::ArrayPrepend);
            coerced.push(if is_grown && *part == Array { or_empty(expr, element) } else { expr });
        }
        let expr = Expr::Call { function, arguments: coerced };
        Ok(Some(Bound::typed(evaluation::fold_if_constant(expr), type_of(&result), place)))
    }

    /// The element type of all arrays among the arguments, wide enough for the single elements among them.
    fn common_element(&self, arguments: &[Bound], parts: &[Part]) -> Option<ArrayElement> {
        let mut common: Option<SqlType> = None;
        for (argument, part) in arguments.iter().zip(parts) {
            let own = match (part, argument.known_type()) {
                (Part::Array, Some(sql_type)) => Some(element_of(sql_type)?.without_modifier().sql_type()),
                (Part::Element, Some(sql_type)) => Some(sql_type.without_modifier()),
                _ => None,
            };
            common = match (common, own) {
                (Some(known), Some(own)) if !known.is_same_base(own) => {
                    let wider = if is_implicit(own, known) { known } else { own };
                    let is_wide = is_implicit(own, wider) && is_implicit(known, wider);
                    Some(is_wide.then_some(wider)?)
                }
                (known, own) => known.or(own),
            };
        }
        let has_array = arguments.iter().zip(parts).any(|(argument, part)| {
            matches!(part, Part::Array) && argument.known_type().and_then(element_of).is_some()
        });
        let is_element = parts.contains(&Part::Element);
        if has_array || is_element { common.and_then(ArrayElement::of) } else { None }
    }

    /// `array_fill(value, lengths [, lower bounds])`.
    fn array_fill(&mut self, arguments: &[Bound], place: Place) -> Result<Bound> {
        let Some(element) = arguments[0].known_type().and_then(ArrayElement::of) else {
            let message = "could not determine polymorphic type because input has type unknown";
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, Place::Unknown);
        };
        let mut given = vec![Expr::Const(Value::array(element, Vec::new())), arguments[0].expr.clone()];
        for numbers in &arguments[1..] {
            given.push(self.coerce(numbers.clone(), SqlType::Array(ArrayElement::Integer))?);
        }
        let expr = Expr::Call { function: Function::ArrayFill, arguments: given };
        Ok(Bound::typed(evaluation::fold_if_constant(expr), SqlType::Array(element), place))
    }

    /// `@>`, `<@` and `&&`.
    pub(crate) fn as_sets(
        &mut self,
        left: &ast::Expr,
        operator: &ast::BinaryOperator,
        right: &ast::Expr,
    ) -> Result<Bound> {
        let place = Place::OperatorAfter(end_of(left));
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        if let Some(symbol) = shared_symbol(operator, &left, &right) {
            return self.operator_of(symbol, [left, right], place);
        }
        let shown = format!("{} {operator} {}", left.type_name(), right.type_name());
        let element =
            |side: &Bound| side.known_type().and_then(element_of).map(ArrayElement::without_modifier);
        let common = match (element(&left), element(&right)) {
            (Some(own), Some(other)) if own == other => own,
            (Some(own), None) if right.known_type().is_none() => own,
            (None, Some(other)) if left.known_type().is_none() => other,
            _ => return Err(self.no_operator(&shown, place)),
        };
        let start = left.place;
        let array = SqlType::Array(common);
        let (left, right) = (self.coerce(left, array)?, self.coerce(right, array)?);
        let (function, arguments) = match operator {
            ast::BinaryOperator::PGOverlap => (Function::ArrayOverlaps, vec![left, right]),
            ast::BinaryOperator::ArrowAt => (Function::ArrayContains, vec![right, left]),
            _ => (Function::ArrayContains, vec![left, right]),
        };
        let expr = evaluation::fold_if_constant(Expr::Call { function, arguments });
        Ok(Bound::typed(expr, SqlType::Boolean, start))
    }

    /// `||` where one side is an array.
    pub(crate) fn array_concat(&mut self, left: Bound, right: Bound, place: Place) -> Result<Option<Bound>> {
        let side = |bound: &Bound| bound.known_type().and_then(element_of);
        let name = match (side(&left), side(&right)) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => "array_cat",
            (Some(_), None) if matches!(right.class, Class::Literal(_) | Class::Null) => "array_cat",
            (None, Some(_)) if matches!(left.class, Class::Literal(_) | Class::Null) => "array_cat",
            (Some(_), None) => "array_append",
            (None, Some(_)) => "array_prepend",
        };
        // A literal next to an array is an array too.
        let (left, right) = match (side(&left), side(&right), name) {
            (None, Some(element), "array_cat") => {
                let sql_type = SqlType::Array(element);
                (Bound::typed(self.coerce(left, sql_type)?, sql_type, place), right)
            }
            _ => (left, right),
        };
        self.try_array_call(name, &[left, right], place)
    }
}
