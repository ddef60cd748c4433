//! Arrays in expressions: subscripts, `ARRAY[...]`, ANY and ALL, `||`, and their functions, whose types
//! depend on the elements'.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast::{self, AccessExpr, Subscript};

use super::coerce::cast;
use super::expression::boolean;
use super::operator::{comparison_type, from_ast};
use super::{Binder, Bound, Class, Place};
use crate::evaluation;
use crate::statement::query::end_of;

fn element_of(sql_type: SqlType) -> Option<ArrayElement> {
    sql_type.element()
}

impl Binder<'_> {
    /// `name[index]`.
    pub(crate) fn subscript(&mut self, root: &ast::Expr, chain: &[AccessExpr]) -> Result<Bound> {
        let place = Place::of_expr(root);
        let mut idents = match root {
            ast::Expr::Identifier(ident) => vec![ident.clone()],
            ast::Expr::CompoundIdentifier(idents) => idents.clone(),
            _ => Vec::new(),
        };
        let mut rest = chain;
        while let [AccessExpr::Dot(ast::Expr::Identifier(ident)), behind @ ..] = rest
            && !idents.is_empty()
        {
            idents.push(ident.clone());
            rest = behind;
        }
        let array = match idents.as_slice() {
            [] => self.expression(root)?,
            [ident] => self.column(ident)?,
            idents => self.qualified_column(idents)?,
        };
        let [AccessExpr::Subscript(Subscript::Index { index })] = rest else {
            return self.unsupported("slices and arrays of several dimensions are", place);
        };
        let Some(element) = array.known_type().and_then(element_of) else {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                array.type_name()
            );
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, place);
        };
        let index = self.expression(index)?;
        let index_place = index.place;
        let Some(index) = self.try_coerce(index, SqlType::Integer, super::coerce::Context::Assignment)?
        else {
            let message = "array subscript must have type integer";
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, index_place);
        };
        let index = match array.known_type() {
            // A vector counts from 0.
            Some(SqlType::System(_)) => Expr::Binary {
                operator: BinaryOperator::Add,
                left: Box::new(index),
                right: Box::new(Expr::Const(Value::Integer(1))),
            },
            _ => index,
        };
        let expr = Expr::Element { array: Box::new(array.expr), index: Box::new(index) };
        Ok(Bound::typed(expr, element.sql_type(), place))
    }

    /// `ARRAY[...]`.
    pub(crate) fn array(&mut self, items: &[ast::Expr], place: Place) -> Result<Bound> {
        let items = items.iter().map(|item| self.expression(item)).collect::<Result<Vec<Bound>>>()?;
        if items.is_empty() {
            let error = hyades_types::error::Error::input(
                sqlstate::INDETERMINATE_DATATYPE,
                "cannot determine type of empty array",
            )
            .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].");
            return Err(self.place(error, place));
        }
        let common = self.common_type(&items, "ARRAY")?;
        let Some(element) = ArrayElement::of(common) else {
            return self.unsupported(&format!("arrays of {} are", common.base_name()), place);
        };
        let items = items.into_iter().map(|item| self.coerce(item, common)).collect::<Result<Vec<Expr>>>()?;
        Ok(Bound::typed(Expr::Array { element, items }, SqlType::Array(element), place))
    }

    /// `left operator ANY (array)` and ALL, and the same with a subquery.
    pub(crate) fn quantified(
        &mut self,
        left: &ast::Expr,
        (operator, is_all): (&ast::BinaryOperator, bool),
        right: &ast::Expr,
    ) -> Result<Bound> {
        let place = Place::OperatorAfter(end_of(left));
        let Some(operator) = from_ast(operator).filter(|operator| operator.is_comparison()) else {
            return self.unsupported(&format!("{operator} with ANY or ALL is"), place);
        };
        // They look for the value, and there are quicker ways to do that.
        let is_in = matches!((operator, is_all), (BinaryOperator::Equal, false));
        let is_not_in = matches!((operator, is_all), (BinaryOperator::NotEqual, true));
        let (left, array) = match right {
            ast::Expr::Subquery(query) if is_in || is_not_in => {
                return self.in_subquery(left, query, is_not_in, place);
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

    /// Both sides of a comparison with the elements of an array.
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
                None => return self.unsupported("ANY of this type is", place),
            },
            _ => {
                let message = "op ANY/ALL (array) requires array on right side";
                return self.fail(sqlstate::WRONG_OBJECT_TYPE, message, place);
            }
        };
        // The engine compares values of one type, so a wider left side widens the elements too.
        let meeting = left.known_type().and_then(|left| comparison_type(left, element.sql_type()));
        let common = meeting.and_then(ArrayElement::of).unwrap_or(element);
        let array = self.coerce(right, SqlType::Array(element))?;
        let right = cast(array, SqlType::Array(element), SqlType::Array(common), false)?;
        let wanted = Bound::typed(Expr::Const(Default::default()), element.sql_type(), place);
        let (left, _, _) = self.operands(operator, left, wanted, place)?;
        Ok((left, right))
    }

    /// A function of arrays, if the name is one's.
    pub(crate) fn try_array_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        place: Place,
    ) -> Result<Option<Bound>> {
        let function = match (name, arguments.len()) {
            ("array_length", 2) => Function::ArrayLength,
            ("array_lower", 2) => Function::ArrayLower,
            ("array_upper", 2) => Function::ArrayUpper,
            ("cardinality", 1) => Function::Cardinality,
            ("array_to_string", 2 | 3) => Function::ArrayToString,
            ("array_append", 2) => Function::ArrayAppend,
            ("array_prepend", 2) => Function::ArrayPrepend,
            ("array_cat", 2) => Function::ArrayConcat,
            ("array_position", 2) => Function::ArrayPosition,
            ("array_fill", 2) => return self.array_fill(arguments, place).map(Some),
            _ => return Ok(None),
        };
        let at = usize::from(function == Function::ArrayPrepend);
        let Some(element) = arguments[at].known_type().and_then(element_of) else {
            let types: Vec<&str> = arguments.iter().map(Bound::type_name).collect();
            return Err(self.no_function(name, &types.join(", "), place));
        };
        let array = SqlType::Array(element);
        let types: &[SqlType] = match function {
            Function::Cardinality => &[array],
            Function::ArrayToString => &[array, SqlType::Text, SqlType::Text],
            Function::ArrayAppend | Function::ArrayPosition => &[array, element.sql_type()],
            Function::ArrayPrepend => &[element.sql_type(), array],
            Function::ArrayConcat => &[array, array],
            _ => &[array, SqlType::Integer],
        };
        let mut coerced = Vec::with_capacity(types.len());
        for (argument, sql_type) in arguments.iter().zip(types) {
            coerced.push(self.coerce(argument.clone(), *sql_type)?);
        }
        let result = match function {
            Function::ArrayAppend | Function::ArrayPrepend | Function::ArrayConcat => array,
            Function::ArrayToString => SqlType::Text,
            _ => SqlType::Integer,
        };
        let expr = Expr::Call { function, arguments: coerced };
        Ok(Some(Bound::typed(evaluation::fold_if_constant(expr), result, place)))
    }

    /// `array_fill(value, ARRAY[length])`.
    fn array_fill(&mut self, arguments: &[Bound], place: Place) -> Result<Bound> {
        let element = arguments[0].known_type().and_then(ArrayElement::of);
        let (Some(element), Expr::Array { items, .. }) = (element, &arguments[1].expr) else {
            return self.unsupported("this form of array_fill is", place);
        };
        let [length] = items.as_slice() else {
            return self.unsupported("arrays of several dimensions are", place);
        };
        let arguments = vec![arguments[0].expr.clone(), length.clone()];
        let expr = Expr::Call { function: Function::ArrayFill, arguments };
        Ok(Bound::typed(expr, SqlType::Array(element), place))
    }

    /// `||` where a side is an array.
    pub(crate) fn array_concat(&mut self, left: Bound, right: Bound, place: Place) -> Result<Option<Bound>> {
        let side = |bound: &Bound| bound.known_type().and_then(element_of);
        let name = match (side(&left), side(&right)) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => "array_cat",
            (Some(_), None) if matches!(right.class, Class::Literal(_)) => "array_cat",
            (None, Some(_)) if matches!(left.class, Class::Literal(_)) => "array_cat",
            (Some(_), None) => "array_append",
            (None, Some(_)) => "array_prepend",
        };
        // A literal beside an array is an array too.
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
