//! Functions that make a jsonb from another: concatenation, deleting, setting, inserting, and printing over
//! several lines.
//!
//! Reference: `jsonfuncs.c` of PostgreSQL 15 (`setPath`, `IteratorConcat`).

use super::json_access::index;
use super::{Function, mismatch};
use crate::collect::{self, Bytes, List, Sink};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::json::{
    Builder, Event, Events, ItemKind, Items, Jsonb, Members, Node, RawNode, Tape, write_escaped,
    write_indented,
};
use crate::memory;
use crate::value::{ArrayValue, Value};

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    Ok(Value::Jsonb(match (function, arguments) {
        (Function::JsonConcat, [Value::Jsonb(left), Value::Jsonb(right)]) => concat(left, right)?,
        (Function::JsonDelete, [Value::Jsonb(value), Value::Text(key)]) => without_keys(value, &[key])?,
        (Function::JsonDelete, [Value::Jsonb(value), Value::Array(keys)]) => {
            if keys.dimensions().len() > 1 {
                return Err(wrong_subscripts());
            }
            without_keys(value, &collect::list(keys.values.iter().filter_map(Value::as_str))?)?
        }
        (Function::JsonDelete, [Value::Jsonb(value), Value::Integer(index)]) => {
            without_item(value, i64::from(*index))?
        }
        (Function::JsonDeletePath, [Value::Jsonb(value), Value::Array(path)]) => {
            changed(value, path, Change::Delete)?
        }
        (Function::JsonSet, [Value::Jsonb(value), Value::Array(path), Value::Jsonb(new), rest @ ..]) => {
            let creates = rest.first() != Some(&Value::Boolean(false));
            changed(value, path, Change::Set { new: new.root(), creates })?
        }
        (Function::JsonInsert, [Value::Jsonb(value), Value::Array(path), Value::Jsonb(new), rest @ ..]) => {
            let is_after = rest.first() == Some(&Value::Boolean(true));
            changed(value, path, Change::Insert { new: new.root(), is_after })?
        }
        (Function::JsonSetLax, [value, path, new, creates, treatment]) => {
            return set_lax([value, path, new, creates], treatment);
        }
        (Function::JsonStripNulls, [Value::Jsonb(value)]) => without_nulls(value)?,
        (Function::JsonStripNulls, [Value::Json(text)]) => return text_without_nulls(text),
        (Function::JsonPretty, [Value::Jsonb(value)]) => {
            let mut shown = Bytes::default();
            write_indented(value.root(), &mut shown)?;
            return shown.into_text().map(Value::Text);
        }
        _ => return Err(mismatch(function, arguments)),
    }))
}

fn wrong(message: impl Into<String>) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn wrong_subscripts() -> Error {
    Error::input(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
}

/// The members of both objects, or the items of both, where a value that is not an array counts as an array
/// of one item.
fn concat(left: &Jsonb, right: &Jsonb) -> Result<Jsonb> {
    let mut builder = Builder::default();
    if let (Node::Object(own), Node::Object(other)) = (left.root().node(), right.root().node()) {
        // An empty operand changes nothing.
        builder.begin_object()?;
        for (key, value) in own.chain(other) {
            builder.member(key, value)?;
        }
    } else {
        builder.begin_array()?;
        for side in [left, right] {
            match side.root().node() {
                Node::Array(mut items) => items.try_for_each(|item| builder.node(item))?,
                _ => builder.node(side.root())?,
            }
        }
    }
    builder.end()?;
    builder.finish()
}

/// The value without the members with these keys, or the strings in an array.
fn without_keys(value: &Jsonb, keys: &[&str]) -> Result<Jsonb> {
    let mut keys = collect::list(keys.iter().map(|key| key.as_bytes()))?;
    collect::sort(&mut keys, Ord::cmp)?;
    let is_one = |text: &[u8]| keys.binary_search(&text).is_ok();
    let mut builder = Builder::default();
    match value.root().node() {
        Node::Object(members) => {
            builder.begin_object()?;
            for (key, value) in members.filter(|(key, _)| !is_one(key)) {
                builder.member(key, value)?;
            }
        }
        Node::Array(items) => {
            builder.begin_array()?;
            let is_kept = |item: &RawNode<'_>| !matches!(item.node(), Node::String(text) if is_one(text));
            items.filter(is_kept).try_for_each(|item| builder.node(item))?;
        }
        _ => return Err(wrong("cannot delete from scalar")),
    }
    builder.end()?;
    builder.finish()
}

fn without_item(value: &Jsonb, index: i64) -> Result<Jsonb> {
    let items = match value.root().node() {
        Node::Array(items) => items,
        Node::Object(_) => return Err(wrong("cannot delete from object using integer index")),
        _ => return Err(wrong("cannot delete from scalar")),
    };
    let index = if index < 0 { index + items.count as i64 } else { index };
    let mut builder = Builder::default();
    builder.begin_array()?;
    let is_kept = |(number, _): &(usize, RawNode<'_>)| i64::try_from(*number) != Ok(index);
    items.enumerate().filter(is_kept).try_for_each(|(_, item)| builder.node(item))?;
    builder.end()?;
    builder.finish()
}

/// The operation at the end of a path.
#[derive(Clone, Copy)]
enum Change<'a> {
    Delete,
    Set { new: RawNode<'a>, creates: bool },
    Insert { new: RawNode<'a>, is_after: bool },
}

impl<'a> Change<'a> {
    /// The value to insert where there was none.
    fn created(self) -> Option<RawNode<'a>> {
        match self {
            Change::Delete => None,
            Change::Set { new, creates } => creates.then_some(new),
            Change::Insert { new, .. } => Some(new),
        }
    }
}

fn changed(value: &Jsonb, path: &ArrayValue, change: Change<'_>) -> Result<Jsonb> {
    if path.dimensions().len() > 1 {
        return Err(wrong_subscripts());
    }
    let is_empty = match value.root().node() {
        Node::Array(items) => items.count == 0,
        Node::Object(members) => members.count == 0,
        _ if matches!(change, Change::Delete) => return Err(wrong("cannot delete path in scalar")),
        _ => return Err(wrong("cannot set path in scalar")),
    };
    let changes_nothing = matches!(change, Change::Delete | Change::Set { creates: false, .. });
    if path.values.is_empty() || (is_empty && changes_nothing) {
        return Ok(value.clone());
    }
    let mut builder = Builder::default();
    // The rest of each enclosing node after the node that is being changed.
    let mut rests: List<Rest<'_>> = List::default();
    let mut node = value.root();
    for (level, step) in path.values.iter().enumerate() {
        let Some(step) = step.as_str() else {
            let message = format!("path element at position {} is null", level + 1);
            return Err(Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        };
        let is_last = level + 1 == path.values.len();
        let next = match node.node() {
            Node::Object(members) => in_object(members, step, is_last, change, &mut builder, &mut rests)?,
            Node::Array(items) => {
                let place = place_in_array(items.count, step, level)?;
                in_array(items, place, is_last, change, &mut builder, &mut rests)?
            }
            _ => {
                builder.node(node)?;
                None
            }
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    finished(builder, rests)
}

/// The part of a node after the place of the change.
pub(super) enum Rest<'a> {
    Members(Members<'a>),
    Items(Items<'a>),
}

/// The changed value, once what follows the change in each enclosing node, the outermost first, is copied.
pub(super) fn finished(mut builder: Builder, rests: List<Rest<'_>>) -> Result<Jsonb> {
    for rest in rests.into_vec().into_iter().rev() {
        match rest {
            Rest::Members(members) => {
                for (key, value) in members {
                    builder.member(key, value)?;
                }
            }
            Rest::Items(mut items) => items.try_for_each(|item| builder.node(item))?,
        }
        builder.end()?;
    }
    builder.finish()
}

/// Begins the object and copies the members before the key; returns the value to continue with.
fn in_object<'a>(
    mut members: Members<'a>,
    step: &str,
    is_last: bool,
    change: Change<'_>,
    builder: &mut Builder,
    rests: &mut List<Rest<'a>>,
) -> Result<Option<RawNode<'a>>> {
    builder.begin_object()?;
    let mut next = None;
    let mut is_found = false;
    for (key, value) in members.by_ref() {
        if key != step.as_bytes() {
            builder.member(key, value)?;
            continue;
        }
        is_found = true;
        if !is_last {
            builder.key(key)?;
            next = Some(value);
            break;
        }
        match change {
            Change::Delete => {}
            Change::Set { new, .. } => {
                builder.member(key, new)?;
            }
            Change::Insert { .. } => {
                let hint = "Try using the function jsonb_set to replace key value.";
                return Err(wrong("cannot replace existing key").with_hint(hint));
            }
        }
        break;
    }
    if let (false, true, Some(new)) = (is_found, is_last, change.created()) {
        builder.member(step.as_bytes(), new)?;
    }
    rests.push(Rest::Members(members))?;
    Ok(next)
}

/// The number of an item; `None` for a place before all of them.
fn place_in_array(count: usize, step: &str, level: usize) -> Result<Option<usize>> {
    let Some(number) = index(step) else {
        let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
        return Err(Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message));
    };
    let number = if number < 0 { number + count as i64 } else { number };
    Ok(usize::try_from(number).ok().map(|number| number.min(count)))
}

fn in_array<'a>(
    mut items: Items<'a>,
    place: Option<usize>,
    is_last: bool,
    change: Change<'_>,
    builder: &mut Builder,
    rests: &mut List<Rest<'a>>,
) -> Result<Option<RawNode<'a>>> {
    builder.begin_array()?;
    let created = change.created().filter(|_| is_last);
    let mut next = None;
    match place {
        None => created.into_iter().try_for_each(|new| builder.node(new))?,
        Some(place) => {
            items.by_ref().take(place).try_for_each(|item| builder.node(item))?;
            match (items.next(), is_last) {
                (Some(item), false) => next = Some(item),
                (Some(item), true) => match change {
                    Change::Delete => {}
                    Change::Set { new, .. } => builder.node(new)?,
                    Change::Insert { new, is_after } => {
                        let (first, second) = if is_after { (item, new) } else { (new, item) };
                        builder.node(first)?;
                        builder.node(second)?;
                    }
                },
                (None, _) => created.into_iter().try_for_each(|new| builder.node(new))?,
            }
        }
    }
    rests.push(Rest::Items(items))?;
    Ok(next)
}

/// `jsonb_set_lax`: handles NULL as the new value.
fn set_lax([value, path, new, creates]: [&Value; 4], treatment: &Value) -> Result<Value> {
    let (Value::Jsonb(target), Value::Array(steps), Value::Boolean(creates)) = (value, path, creates) else {
        return Ok(Value::Null);
    };
    let set =
        |new: RawNode<'_>| changed(target, steps, Change::Set { new, creates: *creates }).map(Value::Jsonb);
    let unknown = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";
    match (treatment.as_str(), new) {
        (None, _) => Err(wrong(unknown)),
        (_, Value::Jsonb(new)) => set(new.root()),
        (Some("use_json_null"), _) => set(Jsonb::parse("null")?.root()),
        (Some("delete_key"), _) => changed(target, steps, Change::Delete).map(Value::Jsonb),
        (Some("return_target"), _) => Ok(value.clone()),
        (Some("raise_exception"), _) => {
            let error = Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null");
            let hint = "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.";
            let detail = "Exception was raised because null_value_treatment is \"raise_exception\".";
            Err(error.with_detail(detail).with_hint(hint))
        }
        _ => Err(wrong(unknown)),
    }
}

/// The value without members that are null, at any depth.
fn without_nulls(value: &Jsonb) -> Result<Jsonb> {
    let mut builder = Builder::default();
    let mut waiting: Option<&[u8]> = None;
    for event in Events::of(value.root()) {
        if let Event::Key(key) = event {
            waiting = Some(key);
            continue;
        }
        if let Some(key) = waiting.take() {
            if matches!(event, Event::Scalar(Node::Null)) {
                continue;
            }
            builder.key(key)?;
        }
        match event {
            Event::BeginArray(_) => builder.begin_array()?,
            Event::BeginObject(_) => builder.begin_object()?,
            Event::EndArray | Event::EndObject => builder.end()?,
            Event::Scalar(Node::Boolean(truth)) => builder.boolean(truth)?,
            Event::Scalar(Node::Number(digits)) => builder.number(&String::from_utf8_lossy(digits))?,
            Event::Scalar(Node::String(text)) => builder.string(text)?,
            Event::Scalar(_) | Event::Key(_) => builder.null()?,
        }
    }
    builder.finish()
}

/// The same for a json: its parts, without the text between them.
fn text_without_nulls(text: &str) -> Result<Value> {
    let tape = Tape::parse(text, true)?;
    let mut out = Bytes::default();
    // Where the open containers end, and how each is closed.
    let mut open: List<(usize, u8)> = List::default();
    let mut is_first = true;
    let mut number = 0;
    while let Some(item) = tape.items.get(number) {
        if item.kind == ItemKind::Key && tape.items[number + 1].kind == ItemKind::Null {
            number += 2;
        } else {
            let is_value = out.last() == Some(&b':');
            if !is_first && !is_value {
                out.push(b',')?;
            }
            is_first = false;
            match item.kind {
                ItemKind::Array | ItemKind::Object => {
                    let is_array = item.kind == ItemKind::Array;
                    out.push(if is_array { b'[' } else { b'{' })?;
                    open.push((item.next, if is_array { b']' } else { b'}' }))?;
                    is_first = true;
                }
                ItemKind::String | ItemKind::Key => {
                    write_escaped(tape.content(number).as_bytes(), &mut out)?;
                    if item.kind == ItemKind::Key {
                        out.push(b':')?;
                    }
                }
                _ => out.put(tape.source(number).as_bytes())?,
            }
            number += 1;
        }
        while let Some(&(end, bracket)) = open.last()
            && end == number
        {
            open.pop();
            out.push(bracket)?;
            is_first = false;
        }
    }
    memory::check(out.len())?;
    Ok(Value::Json(String::from_utf8_lossy(&out).into()))
}
