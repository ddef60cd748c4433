//! The texts of jsonb values, and of strings in JSON.
//!
//! Reference: `JsonbToCStringWorker` and `escape_json` of PostgreSQL 15.

use super::node::{Event, Events, Node, RawNode};
use crate::collect::{Sink, Taken};

/// Appends a string in quotes.
pub(crate) fn write_escaped<S: Sink>(text: &[u8], out: &mut S) -> Taken<S> {
    out.put(b"\"")?;
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.iter().take(PLAIN_AT_ONCE).take_while(|byte| is_plain(**byte)).count();
        out.put(&rest[..plain])?;
        rest = &rest[plain..];
        if let Some((byte, after)) = rest.split_first().filter(|(byte, _)| !is_plain(**byte)) {
            put_special(*byte, out)?;
            rest = after;
        }
    }
    out.put(b"\"")
}

/// Bytes without an escape that are copied at once.
const PLAIN_AT_ONCE: usize = 4096;

fn is_plain(byte: u8) -> bool {
    byte >= b' ' && !matches!(byte, b'"' | b'\\')
}

fn put_special<S: Sink>(byte: u8, out: &mut S) -> Taken<S> {
    match byte {
        8 => out.put(b"\\b"),
        12 => out.put(b"\\f"),
        b'\n' => out.put(b"\\n"),
        b'\r' => out.put(b"\\r"),
        b'\t' => out.put(b"\\t"),
        b'"' => out.put(b"\\\""),
        b'\\' => out.put(b"\\\\"),
        _ => out.put(format!("\\u{byte:04x}").as_bytes()),
    }
}

fn write_scalar<S: Sink>(node: Node<'_>, out: &mut S) -> Taken<S> {
    match node {
        Node::Boolean(truth) => out.put(if truth { &b"true"[..] } else { b"false" }),
        Node::Number(digits) => out.put(digits),
        Node::String(text) => write_escaped(text, out),
        Node::Null | Node::Array(_) | Node::Object(_) => out.put(b"null"),
    }
}

/// Appends the text form.
pub(crate) fn write_jsonb<S: Sink>(root: RawNode<'_>, out: &mut S) -> Taken<S> {
    write(root, None, out)
}

/// The same with line breaks and blanks: `jsonb_pretty`.
pub(crate) fn write_indented<S: Sink>(root: RawNode<'_>, out: &mut S) -> Taken<S> {
    write(root, Some(4), out)
}

/// A line break and blanks, if there are lines.
fn line<S: Sink>(level: usize, indent: Option<usize>, out: &mut S) -> Taken<S> {
    const BLANKS: &[u8] = &[b' '; 64];
    let Some(indent) = indent else { return Ok(()) };
    out.put(b"\n")?;
    let mut missing = level * indent;
    while missing > 0 {
        let some = missing.min(BLANKS.len());
        out.put(&BLANKS[..some])?;
        missing -= some;
    }
    Ok(())
}

fn write<S: Sink>(root: RawNode<'_>, indent: Option<usize>, out: &mut S) -> Taken<S> {
    let mut level = 0;
    let mut is_first = true;
    let mut is_value = true;
    for event in Events::of(root) {
        let is_end = matches!(event, Event::EndArray | Event::EndObject);
        if is_end {
            level -= 1;
            line(level, indent, out)?;
        } else if !is_value {
            if !is_first {
                out.put(if indent.is_none() { &b", "[..] } else { b"," })?;
            }
            line(level, indent, out)?;
        }
        is_value = false;
        is_first = false;
        match event {
            Event::BeginArray(_) | Event::BeginObject(_) => {
                out.put(if matches!(event, Event::BeginArray(_)) { b"[" } else { b"{" })?;
                level += 1;
                is_first = true;
            }
            Event::Key(key) => {
                write_escaped(key, out)?;
                out.put(b": ")?;
                is_value = true;
            }
            Event::Scalar(node) => write_scalar(node, out)?,
            Event::EndArray => out.put(b"]")?,
            Event::EndObject => out.put(b"}")?,
        }
    }
    Ok(())
}
