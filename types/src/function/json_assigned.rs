//! Assignment to a part of a jsonb: `value['key'][0] = new`.
//!
//! What the subscripts lead through and does not exist is made: an array for a subscript that is a whole
//! number, with nulls before its only item, and an object for any other.
//!
//! Reference: `jsonb_set_element` and `push_path` of PostgreSQL 15's `jsonfuncs.c`.

use super::json_access::index;
use super::json_change::{Rest, finished};
use super::{Function, mismatch};
use crate::collect::{self, List};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::json::{Builder, Items, Jsonb, Members, Node, RawNode};
use crate::value::Value;

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    let [whole, new, Value::Boolean(is_array), path @ ..] = arguments else {
        return Err(mismatch(function, arguments));
    };
    if path.iter().any(Value::is_null) {
        let message = "jsonb subscript in assignment must not be null";
        return Err(Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
    }
    let path = collect::list(path.iter().filter_map(Value::as_str))?;
    let (null, empty) = (Jsonb::parse("null")?, Jsonb::parse(if *is_array { "[]" } else { "{}" })?);
    let of = |value: &'_ Value| matches!(value, Value::Jsonb(_) | Value::Null);
    if !of(whole) || !of(new) || path.is_empty() {
        return Err(mismatch(function, arguments));
    }
    let new = if let Value::Jsonb(new) = new { new } else { &null };
    let whole = if let Value::Jsonb(whole) = whole { whole } else { &empty };
    assigned(whole.root(), &path, new.root()).map(Value::Jsonb)
}

fn wrong(message: impl Into<String>) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn assigned(whole: RawNode<'_>, path: &[&str], new: RawNode<'_>) -> Result<Jsonb> {
    let mut builder = Builder::default();
    let mut rests: List<Rest<'_>> = List::default();
    let mut node = whole;
    for level in 0..path.len() {
        let rest = &path[level..];
        let (next, after) = match node.node() {
            Node::Object(members) => in_object(members, rest, new, &mut builder)?,
            Node::Array(items) => in_array(items, rest, level, new, &mut builder)?,
            _ => {
                let detail = "The path assumes key is a composite object, but it is a scalar value.";
                return Err(wrong("cannot replace existing key").with_detail(detail));
            }
        };
        rests.push(after)?;
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    finished(builder, rests)
}

/// Begins an object, up to the value of the first subscript, which is returned if the path goes on in it.
fn in_object<'a>(
    mut members: Members<'a>,
    path: &[&str],
    new: RawNode<'_>,
    builder: &mut Builder,
) -> Result<(Option<RawNode<'a>>, Rest<'a>)> {
    let step = path[0].as_bytes();
    builder.begin_object()?;
    for (key, value) in members.by_ref() {
        if key != step {
            builder.member(key, value)?;
        } else if path.len() == 1 {
            builder.member(key, new)?;
            return Ok((None, Rest::Members(members)));
        } else {
            builder.key(key)?;
            return Ok((Some(value), Rest::Members(members)));
        }
    }
    builder.key(step)?;
    made(&path[1..], new, builder)?;
    Ok((None, Rest::Members(members)))
}

/// The same for an array.
fn in_array<'a>(
    mut items: Items<'a>,
    path: &[&str],
    level: usize,
    new: RawNode<'_>,
    builder: &mut Builder,
) -> Result<(Option<RawNode<'a>>, Rest<'a>)> {
    let (step, count) = (path[0], items.count);
    let Some(number) = index(step) else {
        let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
        return Err(Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message));
    };
    let place = if number < 0 { number + count as i64 } else { number };
    let Ok(place) = usize::try_from(place) else {
        let message = format!("path element at position {} is out of range: {number}", level + 1);
        return Err(wrong(message));
    };
    builder.begin_array()?;
    items.by_ref().take(place).try_for_each(|item| builder.node(item))?;
    match items.next() {
        Some(item) if path.len() > 1 => return Ok((Some(item), Rest::Items(items))),
        Some(_) => builder.node(new)?,
        None => {
            nulls(place.saturating_sub(count), builder)?;
            made(&path[1..], new, builder)?;
        }
    }
    Ok((None, Rest::Items(items)))
}

fn nulls(count: usize, builder: &mut Builder) -> Result<()> {
    for _ in 0..count {
        guest::spend(1)?;
        builder.null()?;
    }
    Ok(())
}

/// The new value inside of all that its path needs.
fn made(path: &[&str], new: RawNode<'_>, builder: &mut Builder) -> Result<()> {
    for step in path {
        match index(step) {
            Some(number) => {
                builder.begin_array()?;
                nulls(usize::try_from(number).unwrap_or(0), builder)?;
            }
            None => {
                builder.begin_object()?;
                builder.key(step.as_bytes())?;
            }
        }
    }
    builder.node(new)?;
    path.iter().try_for_each(|_| builder.end())
}
