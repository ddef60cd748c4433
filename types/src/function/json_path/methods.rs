//! Methods of items.

use super::run::{Place, Run, number_of, of_arithmetic, put_number};
use super::{Failure, Found, Item, Outcome, path_error};
use jiff::tz::TimeZone;

use crate::error::sqlstate;
use crate::json::Node;
use crate::json_path::PathMethod;
use crate::numeric;
use crate::refusal::{Missing, refused};
use crate::text::{self, Reading};
use crate::value::{SqlType, Value};

/// Ids of objects are their places, and this much for each value that they may be a part of.
const IDS_OF_A_VALUE: u64 = 10_000_000_000;

impl Run<'_> {
    pub(super) fn method(
        &mut self,
        place: Place,
        method: &PathMethod,
        item: &Item,
        found: &mut Found,
        unwraps: bool,
    ) -> Outcome<bool> {
        let is_of_items = !matches!(method, PathMethod::Type | PathMethod::Size);
        if is_of_items && unwraps && item.is_array() {
            return self.unwrapped(place, item, found);
        }
        let value = match method {
            PathMethod::Type => {
                let name = type_name(item);
                Item::made(|builder| builder.string(name.as_bytes()))?
            }
            PathMethod::Size => match item.node() {
                Node::Array(items) => Item::made(|builder| builder.number(&items.count.to_string()))?,
                _ if self.path.is_lax => Item::made(|builder| builder.number("1"))?,
                _ => {
                    return self.missing(
                        sqlstate::SQL_JSON_ARRAY_NOT_FOUND,
                        "jsonpath item method .size() can only be applied to an array",
                    );
                }
            },
            PathMethod::Abs | PathMethod::Floor | PathMethod::Ceiling => rounded(method, item)?,
            PathMethod::Double => double(item)?,
            PathMethod::KeyValue => return self.members(place, item, found),
            PathMethod::Datetime(_) => {
                let refusal = refused(Missing::OtherForms, "the jsonpath method .datetime() is");
                return Err(Failure::Other(refusal));
            }
        };
        self.next(place, &value, found)
    }

    /// keyvalue().
    fn members(&mut self, place: Place, item: &Item, found: &mut Found) -> Outcome<bool> {
        let Node::Object(members) = item.node() else {
            let message = "jsonpath item method .keyvalue() can only be applied to an object";
            return path_error(sqlstate::SQL_JSON_OBJECT_NOT_FOUND, message);
        };
        let id = item.base * IDS_OF_A_VALUE + item.start as u64;
        let mut has_found = false;
        for (key, value) in members {
            let mut member = Item::made(|builder| {
                builder.begin_object()?;
                builder.key(b"key")?;
                builder.string(key)?;
                builder.member(b"value", value)?;
                builder.key(b"id")?;
                builder.number(&id.to_string())?;
                builder.end()
            })?;
            member.base = self.next_base;
            self.next_base += 1;
            has_found = self.next(place, &member, found)?;
            if has_found && found.is_test {
                return Ok(true);
            }
        }
        Ok(has_found)
    }
}

fn type_name(item: &Item) -> &'static str {
    match item.node() {
        Node::Null => "null",
        Node::Boolean(_) => "boolean",
        Node::Number(_) => "number",
        Node::String(_) => "string",
        Node::Array(_) => "array",
        Node::Object(_) => "object",
    }
}

fn rounded(method: &PathMethod, item: &Item) -> Outcome<Item> {
    if !matches!(item.node(), Node::Number(_)) {
        let message =
            format!("jsonpath item method .{}() can only be applied to a numeric value", method.name());
        return path_error(sqlstate::NON_NUMERIC_SQL_JSON_ITEM, message);
    }
    let value = number_of(item);
    let value = match method {
        PathMethod::Abs => numeric::absolute(&value),
        PathMethod::Floor => numeric::floor(&value)?,
        _ => numeric::ceiling(&value)?,
    };
    Ok(Item::made(|builder| put_number(builder, &value))?)
}

fn double(item: &Item) -> Outcome<Item> {
    let read = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        match text::parse(digits, SqlType::DoublePrecision, Reading::from(&TimeZone::UTC))
            .map_err(of_arithmetic)
        {
            Ok(Value::Double(value)) if value.is_finite() => Ok(Some(value)),
            Ok(_) | Err(Failure::Path(_)) => Ok(None),
            Err(other) => Err(other),
        }
    };
    match item.node() {
        Node::Number(digits) => match read(digits)? {
            Some(_) => Ok(item.clone()),
            None => path_error(
                sqlstate::NON_NUMERIC_SQL_JSON_ITEM,
                "numeric argument of jsonpath item method .double() is out of range for type double precision",
            ),
        },
        Node::String(digits) => match read(digits)? {
            Some(value) => {
                let value = numeric::from_f64(value)?;
                Ok(Item::made(|builder| put_number(builder, &value))?)
            }
            None => path_error(
                sqlstate::NON_NUMERIC_SQL_JSON_ITEM,
                "string argument of jsonpath item method .double() is not a valid representation of a double \
                 precision number",
            ),
        },
        _ => path_error(
            sqlstate::NON_NUMERIC_SQL_JSON_ITEM,
            "jsonpath item method .double() can only be applied to a string or numeric value",
        ),
    }
}
