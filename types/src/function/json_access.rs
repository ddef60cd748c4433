//! Functions that decompose json and jsonb values: fields, elements, paths, keys, containment.
//!
//! A json is searched in its text, a jsonb in its bytes. A [`Part`] is either. Of several members of a json
//! with the same key the last one counts, except where all of them are listed.
//!
//! Reference: `jsonfuncs.c` and `jsonb_op.c` of PostgreSQL 15.

use super::{Function, mismatch};
use crate::collect::{self, Bytes, List};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::json::{ItemKind, Jsonb, Node, RawNode, Tape, compare, write_jsonb};
use crate::memory;
use crate::value::{ArrayElement, Value};

/// A node of a json or a jsonb.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    Text(&'a Tape<'a>, usize),
    Binary(RawNode<'a>),
}

/// A key and its value.
type Member<'a> = (&'a [u8], Part<'a>);

/// Bytes that are copied in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl<'a> Part<'a> {
    pub(super) fn kind(self) -> Kind {
        match self {
            Part::Text(tape, number) => match tape.items[number].kind {
                ItemKind::Null => Kind::Null,
                ItemKind::False | ItemKind::True => Kind::Boolean,
                ItemKind::Number => Kind::Number,
                ItemKind::String | ItemKind::Key => Kind::String,
                ItemKind::Array => Kind::Array,
                ItemKind::Object => Kind::Object,
            },
            Part::Binary(node) => match node.node() {
                Node::Null => Kind::Null,
                Node::Boolean(_) => Kind::Boolean,
                Node::Number(_) => Kind::Number,
                Node::String(_) => Kind::String,
                Node::Array(_) => Kind::Array,
                Node::Object(_) => Kind::Object,
            },
        }
    }

    fn is_scalar(self) -> bool {
        !matches!(self.kind(), Kind::Array | Kind::Object)
    }

    /// The items of an array; empty for anything else.
    pub(super) fn items(self) -> Result<Vec<Part<'a>>> {
        match self {
            Part::Text(tape, number) if self.kind() == Kind::Array => {
                collect::list(tape.children(number).map(|child| Part::Text(tape, child)))
            }
            Part::Binary(node) => match node.node() {
                Node::Array(items) => collect::list(items.map(Part::Binary)),
                _ => Ok(Vec::new()),
            },
            Part::Text(..) => Ok(Vec::new()),
        }
    }

    /// The members of an object; empty for anything else.
    fn members(self) -> Result<Vec<Member<'a>>> {
        match self {
            Part::Text(tape, number) if self.kind() == Kind::Object => {
                let mut children = tape.children(number);
                let mut members = List::default();
                while let (Some(key), Some(value)) = (children.next(), children.next()) {
                    members.push((tape.content(key).as_bytes(), Part::Text(tape, value)))?;
                }
                Ok(members.into_vec())
            }
            Part::Binary(node) => match node.node() {
                Node::Object(members) => {
                    collect::list(members.map(|(key, value)| (key, Part::Binary(value))))
                }
                _ => Ok(Vec::new()),
            },
            Part::Text(..) => Ok(Vec::new()),
        }
    }

    pub(super) fn field(self, key: &str) -> Result<Option<Part<'a>>> {
        Ok(match self {
            Part::Binary(node) => match node.node() {
                Node::Object(members) => {
                    guest::spend_for(members.count)?;
                    members.find(key.as_bytes()).map(Part::Binary)
                }
                _ => None,
            },
            Part::Text(..) => {
                let found = self.members()?.into_iter().rfind(|(own, _)| *own == key.as_bytes());
                found.map(|(_, value)| value)
            }
        })
    }

    /// Counted from the end if `index` is negative.
    fn element(self, index: i64) -> Result<Option<Part<'a>>> {
        if self.kind() != Kind::Array {
            return Ok(None);
        }
        let items = self.items()?;
        let index = if index < 0 { index + items.len() as i64 } else { index };
        Ok(usize::try_from(index).ok().and_then(|index| items.get(index).copied()))
    }

    /// As a value of its own type, json or jsonb.
    pub(super) fn value(self) -> Result<Value> {
        let bytes = match self {
            Part::Text(tape, number) => tape.source(number).len(),
            Part::Binary(node) => node.bytes().len(),
        };
        memory::check(bytes)?;
        guest::spend_for(bytes / BYTES_PER_UNIT)?;
        Ok(match self {
            Part::Text(tape, number) => Value::Json(tape.source(number).into()),
            Part::Binary(node) => Value::Jsonb(Jsonb::from_bytes(node.bytes())),
        })
    }

    /// As a text: a string without its quotes, NULL for null.
    pub(super) fn text(self) -> Result<Value> {
        let copied = |text: &str| {
            memory::check(text.len())?;
            guest::spend_for(text.len() / BYTES_PER_UNIT)?;
            Ok(Value::text(text))
        };
        match self {
            _ if self.kind() == Kind::Null => Ok(Value::Null),
            Part::Text(tape, number) if self.kind() == Kind::String => copied(tape.content(number)),
            Part::Text(tape, number) => copied(tape.source(number)),
            Part::Binary(node) => match node.node() {
                Node::String(content) | Node::Number(content) => copied(&String::from_utf8_lossy(content)),
                _ => {
                    let mut shown = Bytes::default();
                    write_jsonb(node, &mut shown)?;
                    shown.into_text().map(Value::Text)
                }
            },
        }
    }

    fn given(self, as_text: bool) -> Result<Value> {
        if as_text { self.text() } else { self.value() }
    }

    /// The node at the end of a path.
    fn at(self, path: &[&str]) -> Result<Option<Part<'a>>> {
        let mut part = self;
        for step in path {
            let next = match (part.kind(), index(step)) {
                (Kind::Object, _) => part.field(step)?,
                (Kind::Array, Some(index)) => part.element(index)?,
                _ => None,
            };
            match next {
                Some(next) => part = next,
                None => return Ok(None),
            }
        }
        Ok(Some(part))
    }

    /// Whether it is this string.
    fn is_string(self, key: &str) -> bool {
        match self {
            Part::Text(tape, number) => self.kind() == Kind::String && tape.content(number) == key,
            Part::Binary(node) => matches!(node.node(), Node::String(text) if text == key.as_bytes()),
        }
    }
}

/// An integer in the form of C's `strtol`, which must be the whole text.
pub(super) fn index(text: &str) -> Option<i64> {
    let digits = text.trim_start_matches(|blank: char| matches!(blank, ' ' | '\t'..='\r'));
    let digits =
        if digits.starts_with("+-") { return None } else { digits.strip_prefix('+').unwrap_or(digits) };
    digits.parse::<i32>().ok().map(i64::from)
}

/// The texts of a path; None if one of them is NULL.
fn path_of(arguments: &[Value]) -> Result<Option<Vec<&str>>> {
    let steps = match arguments {
        [Value::Array(array)] => array.values.as_slice(),
        texts => texts,
    };
    if steps.iter().any(Value::is_null) {
        return Ok(None);
    }
    collect::list(steps.iter().filter_map(Value::as_str)).map(Some)
}

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    match arguments {
        [Value::Json(text), rest @ ..] => {
            let resolves = !matches!(function, Function::JsonTypeof | Function::JsonArrayLength);
            let tape = Tape::parse(text, resolves)?;
            taken(function, Part::Text(&tape, 0), rest)?.ok_or_else(|| mismatch(function, arguments))
        }
        [Value::Jsonb(left), Value::Jsonb(right)] => Ok(match function {
            Function::JsonContains => Value::Boolean(contains(left.root(), right.root())?),
            Function::JsonContained => Value::Boolean(contains(right.root(), left.root())?),
            _ => return Err(mismatch(function, arguments)),
        }),
        [Value::Jsonb(value), rest @ ..] => {
            taken(function, Part::Binary(value.root()), rest)?.ok_or_else(|| mismatch(function, arguments))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

/// The result of the function; None if it does not take such arguments.
fn taken(function: Function, whole: Part<'_>, rest: &[Value]) -> Result<Option<Value>> {
    let found = |part: Option<Part<'_>>, as_text: bool| match part {
        None => Ok(Value::Null),
        Some(part) => part.given(as_text),
    };
    Ok(Some(match (function, rest) {
        (Function::JsonGet | Function::JsonGetText, [Value::Text(key)]) => {
            found(whole.field(key)?, function == Function::JsonGetText)?
        }
        (Function::JsonGet | Function::JsonGetText, [Value::Integer(index)]) => {
            // PostgreSQL stores a top-level scalar as an array, which is visible here.
            let is_stored_scalar = matches!(whole, Part::Binary(_)) && whole.is_scalar();
            let part = match is_stored_scalar {
                true => Some(whole).filter(|_| matches!(index, 0 | -1)),
                false => whole.element(i64::from(*index))?,
            };
            found(part, function == Function::JsonGetText)?
        }
        (Function::JsonPath | Function::JsonPathText, path) => {
            let part = match path_of(path)? {
                Some(path) => whole.at(&path)?,
                None => None,
            };
            found(part, function == Function::JsonPathText)?
        }
        (Function::JsonExists, [Value::Text(key)]) => Value::Boolean(has(whole, key)?),
        (Function::JsonExistsAny | Function::JsonExistsAll, [Value::Array(keys)]) => {
            let deciding = function == Function::JsonExistsAny;
            let mut answer = !deciding;
            for key in keys.values.iter().filter_map(Value::as_str) {
                if has(whole, key)? == deciding {
                    answer = deciding;
                    break;
                }
            }
            Value::Boolean(answer)
        }
        (Function::JsonTypeof, []) => Value::text(match whole.kind() {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }),
        (Function::JsonArrayLength, []) => array_length(whole)?,
        (Function::JsonItems | Function::JsonItemsText, []) => items(function, whole)?,
        (Function::JsonObjectKeys | Function::JsonEachKeys, []) => keys(function, whole)?,
        (Function::JsonEachValues | Function::JsonEachValuesText, []) => {
            let as_text = function == Function::JsonEachValuesText;
            let values = whole.members()?.into_iter().map(|(_, value)| value);
            listed(values, whole, as_text)?
        }
        _ => return Ok(None),
    }))
}

fn wrong(message: impl Into<String>) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn prefix(whole: Part<'_>) -> &'static str {
    if matches!(whole, Part::Text(..)) { "json" } else { "jsonb" }
}

/// Whether this is a key of the object, a string in the array, or the string itself.
fn has(whole: Part<'_>, key: &str) -> Result<bool> {
    Ok(match whole.kind() {
        Kind::Object => whole.field(key)?.is_some(),
        Kind::Array => whole.items()?.into_iter().any(|item| item.is_string(key)),
        _ => whole.is_string(key),
    })
}

fn array_length(whole: Part<'_>) -> Result<Value> {
    match whole.kind() {
        Kind::Array => Ok(Value::Integer(i32::try_from(whole.items()?.len()).unwrap_or(i32::MAX))),
        Kind::Object => Err(wrong("cannot get array length of a non-array")),
        _ => Err(wrong("cannot get array length of a scalar")),
    }
}

fn listed<'a>(parts: impl Iterator<Item = Part<'a>>, whole: Part<'a>, as_text: bool) -> Result<Value> {
    let mut values = List::default();
    for part in parts {
        values.push(part.given(as_text)?)?;
    }
    let element = match whole {
        _ if as_text => ArrayElement::Text,
        Part::Text(..) => ArrayElement::Json,
        Part::Binary(_) => ArrayElement::Jsonb,
    };
    Ok(Value::array(element, values.into_vec()))
}

fn items(function: Function, whole: Part<'_>) -> Result<Value> {
    let as_text = function == Function::JsonItemsText;
    let is_binary = matches!(whole, Part::Binary(_));
    let suffix = if as_text { "_text" } else { "" };
    match whole.kind() {
        Kind::Array => listed(whole.items()?.into_iter(), whole, as_text),
        Kind::Object if is_binary => Err(wrong("cannot extract elements from an object")),
        Kind::Object => Err(wrong(format!("cannot call json_array_elements{suffix} on a non-array"))),
        _ if is_binary => Err(wrong("cannot extract elements from a scalar")),
        _ => Err(wrong(format!("cannot call json_array_elements{suffix} on a scalar"))),
    }
}

fn keys(function: Function, whole: Part<'_>) -> Result<Value> {
    let is_each = function == Function::JsonEachKeys;
    let is_binary = matches!(whole, Part::Binary(_));
    match whole.kind() {
        Kind::Object => {
            let mut keys = List::default();
            for (key, _) in whole.members()? {
                keys.push_text(&String::from_utf8_lossy(key))?;
            }
            Ok(Value::array(ArrayElement::Text, keys.into_vec()))
        }
        _ if is_each && is_binary => Err(wrong("cannot call jsonb_each on a non-object")),
        Kind::Array if is_each => Err(wrong("cannot deconstruct an array as an object")),
        _ if is_each => Err(wrong("cannot deconstruct a scalar")),
        Kind::Array => Err(wrong(format!("cannot call {}_object_keys on an array", prefix(whole)))),
        _ => Err(wrong(format!("cannot call {}_object_keys on a scalar", prefix(whole)))),
    }
}

/// `@>`: every member and item of the right value is somewhere at the same level of the left one. A top-level
/// array contains a top-level scalar.
fn contains(left: RawNode<'_>, right: RawNode<'_>) -> Result<bool> {
    match (left.node(), right.is_container()) {
        (Node::Array(mut items), false) => Ok(items.any(|item| compare(item, right).is_eq())),
        _ => contains_part(left, right),
    }
}

/// Pairs that must all hold wait in a list. For an item that is a container any one of several may hold, so
/// each is tried separately.
fn contains_part(left: RawNode<'_>, right: RawNode<'_>) -> Result<bool> {
    let mut waiting = List::default();
    waiting.push((left, right))?;
    while let Some((left, right)) = waiting.pop() {
        match (left.node(), right.node()) {
            (Node::Object(members), Node::Object(wanted)) => {
                for (key, value) in wanted {
                    guest::spend_for(members.count)?;
                    let Some(own) = members.find(key) else { return Ok(false) };
                    waiting.push((own, value))?;
                }
            }
            (Node::Array(items), Node::Array(wanted)) => {
                for value in wanted {
                    guest::spend_for(items.count)?;
                    let is_there = match value.is_container() {
                        false => {
                            items.into_iter().any(|item| !item.is_container() && compare(item, value).is_eq())
                        }
                        true => {
                            let mut is_there = false;
                            for item in items.filter(|item| item.is_container()) {
                                is_there =
                                    stacker::maybe_grow(64 << 10, 1 << 20, || contains_part(item, value))?;
                                if is_there {
                                    break;
                                }
                            }
                            is_there
                        }
                    };
                    if !is_there {
                        return Ok(false);
                    }
                }
            }
            _ if left.is_container() || right.is_container() => return Ok(false),
            _ if compare(left, right).is_ne() => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}
