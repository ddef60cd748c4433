//! What json and jsonb have rules of their own for: subscripts, functions that take values of any type or
//! whole rows, and aggregates.
//!
//! An aggregate of JSON is `array_agg` of the items that the rows give, followed by a function that makes
//! JSON of the array. DISTINCT, ORDER BY and FILTER work as in every aggregate.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast::{self, AccessExpr, Subscript};

use super::bound::no_parameter_type;
use super::coerce::Context;
use super::{Binder, Bound, Class, Place};
use crate::evaluation;

fn is_json(sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::Json | SqlType::Array(ArrayElement::Json))
}

/// The aggregates of JSON: the function that makes the result of the array, its type, and whether it also
/// takes a key.
pub(super) fn json_aggregate(name: &str) -> Option<(Function, SqlType, bool)> {
    Some(match name {
        "json_agg" => (Function::JsonOfRows, SqlType::Json, false),
        "jsonb_agg" => (Function::JsonbOfRows, SqlType::Jsonb, false),
        "json_object_agg" => (Function::JsonOfMembers, SqlType::Json, true),
        "jsonb_object_agg" => (Function::JsonbOfMembers, SqlType::Jsonb, true),
        _ => return None,
    })
}

fn call(function: Function, arguments: Vec<Expr>) -> Expr {
    evaluation::fold_if_constant(Expr::Call { function, arguments })
}

impl Binder<'_> {
    /// 42883 for types without equality: json.
    pub(super) fn check_equality(&self, sql_type: SqlType, place: Place) -> Result<()> {
        self.refuse_rows_as_keys(sql_type, place)?;
        match is_json(sql_type) {
            true => {
                let message =
                    format!("could not identify an equality operator for type {}", sql_type.base_name());
                self.fail(sqlstate::UNDEFINED_FUNCTION, message, place)
            }
            false => Ok(()),
        }
    }

    /// The same for types without an order.
    pub(super) fn check_order(&self, sql_type: SqlType, place: Place) -> Result<()> {
        self.refuse_rows_as_keys(sql_type, place)?;
        if !is_json(sql_type) {
            return Ok(());
        }
        let message = format!("could not identify an ordering operator for type {}", sql_type.base_name());
        let error = Error::input(sqlstate::UNDEFINED_FUNCTION, message)
            .with_hint("Use an explicit ordering operator or modify the query.");
        Err(self.place(error, place))
    }

    /// `jsonb['key'][0]`.
    pub(super) fn json_subscript(&mut self, whole: Bound, chain: &[AccessExpr]) -> Result<Bound> {
        let place = whole.place;
        let mut arguments = vec![whole.expr];
        arguments.extend(self.json_path(chain, place)?.0);
        Ok(Bound::typed(call(Function::JsonPath, arguments), SqlType::Jsonb, place))
    }

    /// The value of a column or a variable of type jsonb after `name[...] = value`.
    pub(crate) fn assigned_member(
        &mut self,
        (whole, name): (Expr, &str),
        chain: &[AccessExpr],
        value: Bound,
        place: Place,
    ) -> Result<Expr> {
        let (path, is_array) = self.json_path(chain, place)?;
        let from = value.type_name();
        let Some(value) = self.try_coerce(value, SqlType::Jsonb, Context::Assignment)? else {
            let message = format!(
                "subscripted assignment to \"{name}\" requires type jsonb but expression is of type {from}"
            );
            let error = Error::input(sqlstate::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.");
            return Err(self.place(error, place));
        };
        let mut arguments = vec![whole, value, Expr::Const(Value::Boolean(is_array))];
        arguments.extend(path);
        Ok(Expr::Call { function: Function::JsonAssigned, arguments })
    }

    /// The subscripts of a jsonb as texts, and whether the first one is a number.
    fn json_path(&mut self, chain: &[AccessExpr], place: Place) -> Result<(Vec<Expr>, bool)> {
        let (mut path, mut is_array) = (Vec::with_capacity(chain.len()), false);
        for (at, access) in chain.iter().enumerate() {
            let AccessExpr::Subscript(Subscript::Index { index }) = access else {
                let place = match access {
                    AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                        upper_bound.as_ref().or(lower_bound.as_ref()).map_or(place, Place::of_expr)
                    }
                    _ => place,
                };
                let message = "jsonb subscript does not support slices";
                return self.fail(sqlstate::DATATYPE_MISMATCH, message, place);
            };
            let index = self.expression(index)?;
            let place = index.place;
            path.push(match index.known_type() {
                Some(SqlType::SmallInt | SqlType::Integer) => {
                    is_array |= at == 0;
                    self.coerce_explicitly(index, SqlType::Text, place)?.expr
                }
                Some(sql_type) if !sql_type.is_text() => {
                    let message = format!("subscript type {} is not supported", sql_type.base_name());
                    let error = Error::input(sqlstate::DATATYPE_MISMATCH, message)
                        .with_hint("jsonb subscript must be coercible to either integer or text.");
                    return Err(self.place(error, place));
                }
                _ => self.coerce(index, SqlType::Text)?,
            });
        }
        Ok((path, is_array))
    }

    /// An argument of a function of JSON, which may be a row.
    pub(super) fn json_argument(&mut self, argument: &ast::Expr) -> Result<Bound> {
        let place = Place::of_expr(argument);
        let Some(row) = self.row(argument)? else { return self.expression(argument) };
        let mut members = Vec::new();
        for (name, field) in row.fields {
            members.push(Expr::Const(Value::text(name.as_str())));
            members.push(self.known_or_text(field)?.0);
        }
        let row = Expr::Call { function: Function::JsonRow, arguments: members };
        Ok(Bound::typed(row, SqlType::Json, place))
    }

    /// Whether the function takes rows.
    pub(super) fn takes_rows(name: &str) -> bool {
        matches!(
            name,
            "row_to_json"
                | "to_json"
                | "to_jsonb"
                | "json_build_array"
                | "jsonb_build_array"
                | "json_build_object"
                | "jsonb_build_object"
        ) || json_aggregate(name).is_some()
    }

    /// Functions that make JSON of a value of any type.
    pub(super) fn try_json_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        place: Place,
    ) -> Result<Option<Bound>> {
        let is_array = |bound: &Bound| matches!(bound.known_type(), Some(SqlType::Array(_)));
        let is_row = |bound: &Bound| matches!(bound.expr, Expr::Call { function: Function::JsonRow, .. });
        let is_composite = |bound: &Bound| matches!(bound.known_type(), Some(SqlType::Composite(_)));
        let (function, result) = match (name, arguments) {
            // What is made of a row is JSON, and no row any more.
            ("row_to_json" | "to_json", [row]) if is_row(row) => (Function::ToJson, SqlType::Json),
            ("row_to_json", [row]) if is_composite(row) => (Function::RowToJson, SqlType::Json),
            ("row_to_json", [row, lines])
                if is_composite(row) && matches!(lines.known_type(), None | Some(SqlType::Boolean)) =>
            {
                (Function::RowToJson, SqlType::Json)
            }
            ("row_to_json", [_]) => {
                return self.unsupported(Missing::RowsAsValues, "rows as values are", place);
            }
            ("to_json", [array]) if is_array(array) => (Function::ArrayToJson, SqlType::Json),
            ("array_to_json", [array]) if is_array(array) => (Function::ArrayToJson, SqlType::Json),
            ("array_to_json", [array, lines])
                if is_array(array) && matches!(lines.known_type(), None | Some(SqlType::Boolean)) =>
            {
                (Function::ArrayToJson, SqlType::Json)
            }
            ("to_json", [_]) => (Function::ToJson, SqlType::Json),
            ("to_jsonb", [_]) => (Function::ToJsonb, SqlType::Jsonb),
            _ => return Ok(None),
        };
        let value = match arguments[0].class {
            Class::Typed(_) => arguments[0].expr.clone(),
            Class::Parameter(number) => return Err(no_parameter_type(number)),
            _ => {
                let message = "could not determine polymorphic type because input has type unknown";
                return self.fail(sqlstate::DATATYPE_MISMATCH, message, Place::Unknown);
            }
        };
        let mut given = vec![value];
        if let Some(lines) = arguments.get(1) {
            given.push(self.coerce(lines.clone(), SqlType::Boolean)?);
        }
        Ok(Some(Bound::typed(call(function, given), result, place)))
    }

    /// `json_populate_record(base, object)` and its like; those for sets return an array.
    pub(super) fn try_populate(
        &mut self,
        name: &str,
        arguments: &[Bound],
        place: Place,
    ) -> Result<Option<Bound>> {
        let (own, is_set) = match name {
            "json_populate_record" => (SqlType::Json, false),
            "jsonb_populate_record" => (SqlType::Jsonb, false),
            "json_populate_recordset" => (SqlType::Json, true),
            "jsonb_populate_recordset" => (SqlType::Jsonb, true),
            _ => return Ok(None),
        };
        let [base, whole] = arguments else { return Err(self.no_function_of(name, arguments, place)) };
        let Some(SqlType::Composite(row_type)) = base.known_type() else {
            return match base.known_type() {
                Some(SqlType::System(SystemType::Record)) => {
                    let what = format!("{name} of a record without a type is");
                    self.unsupported(Missing::RowsAsValues, &what, place)
                }
                Some(_) => {
                    let message = format!("first argument of {name} must be a row type");
                    self.fail(sqlstate::DATATYPE_MISMATCH, message, Place::Unknown)
                }
                None => {
                    let message = "could not determine polymorphic type because input has type unknown";
                    self.fail(sqlstate::DATATYPE_MISMATCH, message, Place::Unknown)
                }
            };
        };
        if whole.known_type().is_some_and(|known| known != own) {
            return Err(self.no_function_of(name, arguments, place));
        }
        let whole = self.coerce(whole.clone(), own)?;
        let of_type = Expr::Const(row_type.nulls());
        let mut given = vec![of_type, base.expr.clone(), whole];
        let element = ArrayElement::Composite(row_type);
        let (function, result) = match is_set {
            false => (Function::PopulatedRow, SqlType::Composite(row_type)),
            true => {
                given.insert(0, Expr::Const(Value::text(name)));
                (Function::PopulatedRows, SqlType::Array(element))
            }
        };
        Ok(Some(Bound::typed(Expr::Call { function, arguments: given }, result, place)))
    }

    /// The item that an aggregate of JSON collects from each row.
    pub(super) fn json_item(
        &mut self,
        name: &str,
        list: &ast::FunctionArgumentList,
        place: Place,
    ) -> Result<Bound> {
        let has_key = json_aggregate(name).is_some_and(|(_, _, has_key)| has_key);
        let mut arguments = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) = argument else {
                return Err(self.no_function(name, "*", place));
            };
            arguments.push(self.json_argument(argument)?);
        }
        let mut known = Vec::with_capacity(arguments.len());
        for argument in &arguments {
            known.push(match argument.class {
                Class::Typed(_) => argument.clone(),
                Class::Parameter(number) => return Err(no_parameter_type(number)),
                _ if !has_key => {
                    let message = "could not determine polymorphic type because input has type unknown";
                    return self.fail(sqlstate::DATATYPE_MISMATCH, message, Place::Unknown);
                }
                _ => Bound::typed(self.coerce(argument.clone(), SqlType::Text)?, SqlType::Text, place),
            });
        }
        Ok(match (known.as_slice(), has_key) {
            ([value], false) => {
                let is_row = matches!(value.expr, Expr::Call { function: Function::JsonRow, .. });
                if is_row || matches!(value.known_type(), Some(SqlType::Array(_) | SqlType::Composite(_))) {
                    let item = call(Function::JsonOfStructure, vec![value.expr.clone()]);
                    return Ok(Bound::typed(item, SqlType::Json, place));
                }
                value.clone()
            }
            ([key, value], true) => {
                let member = call(Function::JsonMember, vec![key.expr.clone(), value.expr.clone()]);
                Bound::typed(member, SqlType::Json, place)
            }
            _ => return Err(self.no_function_of(name, &arguments, place)),
        })
    }

    /// The result of an aggregate of JSON, made of the array of `item`s that it collects.
    pub(super) fn json_result(&self, name: &str, array: Bound, item: Option<&Expr>, place: Place) -> Bound {
        let Some((function, result, has_key)) = json_aggregate(name) else { return array };
        let mut arguments = vec![array.expr];
        if !has_key {
            let has_lines = matches!(item, Some(Expr::Call { function: Function::JsonOfStructure, .. }));
            arguments.push(Expr::Const(Value::Boolean(has_lines)));
        }
        Bound::typed(Expr::Call { function, arguments }, result, place)
    }

    /// The arrays whose elements are the result of a function that takes a JSON value apart, with their
    /// names.
    pub(super) fn json_set(
        &mut self,
        name: &str,
        arguments: &[Bound],
        place: Place,
    ) -> Result<Option<Vec<(&'static str, Bound)>>> {
        let (own, kind) = match name.strip_prefix("jsonb_") {
            Some(kind) => (SqlType::Jsonb, kind),
            None => match name.strip_prefix("json_") {
                Some(kind) => (SqlType::Json, kind),
                None => return Ok(None),
            },
        };
        if own == SqlType::Jsonb && matches!(kind, "path_query" | "path_query_tz") {
            return self.json_path_query(name, arguments, place).map(|array| Some(vec![("", array)]));
        }
        let element = if own == SqlType::Jsonb { ArrayElement::Jsonb } else { ArrayElement::Json };
        let columns: &[(&str, Function, ArrayElement)] = match kind {
            "array_elements" => &[("value", Function::JsonItems, element)],
            "array_elements_text" => &[("value", Function::JsonItemsText, ArrayElement::Text)],
            "object_keys" => &[("", Function::JsonObjectKeys, ArrayElement::Text)],
            "each" => &[
                ("key", Function::JsonEachKeys, ArrayElement::Text),
                ("value", Function::JsonEachValues, element),
            ],
            "each_text" => &[
                ("key", Function::JsonEachKeys, ArrayElement::Text),
                ("value", Function::JsonEachValuesText, ArrayElement::Text),
            ],
            _ => return Ok(None),
        };
        let [argument] = arguments else { return Err(self.no_function_of(name, arguments, place)) };
        if argument.known_type().is_some_and(|known| known != own) {
            return Err(self.no_function_of(name, arguments, place));
        }
        let value = self.coerce(argument.clone(), own)?;
        if columns.len() > 1 && crate::expr::is_volatile(&value) {
            return self.unsupported(
                Missing::ComputedFirst,
                &format!("{name} of a value that changes with every look is"),
                place,
            );
        }
        let arrays = columns.iter().map(|(column, function, element)| {
            let array = Expr::Call { function: *function, arguments: vec![value.clone()] };
            (*column, Bound::typed(array, SqlType::Array(*element), place))
        });
        Ok(Some(arrays.collect()))
    }

    /// The array of what a path finds.
    fn json_path_query(&mut self, name: &str, arguments: &[Bound], place: Place) -> Result<Bound> {
        let path = SqlType::System(SystemType::JsonPath);
        let types = [SqlType::Jsonb, path, SqlType::Jsonb, SqlType::Boolean];
        if !(2..=types.len()).contains(&arguments.len()) {
            return Err(self.no_function_of(name, arguments, place));
        }
        let mut given = Vec::with_capacity(types.len());
        for (argument, own) in arguments.iter().zip(types) {
            match self.try_coerce(argument.clone(), own, Context::Implicit)? {
                Some(expr) => given.push(expr),
                None => return Err(self.no_function_of(name, arguments, place)),
            }
        }
        let call = Expr::Call { function: Function::JsonPathItems, arguments: given };
        Ok(Bound::typed(call, SqlType::Array(ArrayElement::Jsonb), place))
    }
}
