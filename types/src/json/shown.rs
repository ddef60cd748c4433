//! The texts of jsonb values, and of strings in JSON.
//!
//! Reference: `JsonbToCStringWorker` and `escape_json` of PostgreSQL 15.

use super::node::{Event, Events, Node, RawNode};

/// Appends a string in quotes.
pub(crate) fn write_escaped(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        match byte {
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0..b' ' => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
}

fn write_scalar(node: Node<'_>, out: &mut Vec<u8>) {
    match node {
        Node::Boolean(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
        Node::Number(digits) => out.extend_from_slice(digits),
        Node::String(text) => write_escaped(text, out),
        Node::Null | Node::Array(_) | Node::Object(_) => out.extend_from_slice(b"null"),
    }
}

/// Appends the text form.
pub(crate) fn write_jsonb(root: RawNode<'_>, out: &mut Vec<u8>) {
    write(root, None, out);
}

/// The same with line breaks and blanks: `jsonb_pretty`.
pub(crate) fn write_indented(root: RawNode<'_>, out: &mut Vec<u8>) {
    write(root, Some(4), out);
}

fn write(root: RawNode<'_>, indent: Option<usize>, out: &mut Vec<u8>) {
    let line = |level: usize, out: &mut Vec<u8>| {
        if let Some(indent) = indent {
            out.push(b'\n');
            out.extend(std::iter::repeat_n(b' ', level * indent));
        }
    };
    let mut level = 0;
    let mut is_first = true;
    let mut is_value = true;
    for event in Events::of(root) {
        let is_end = matches!(event, Event::EndArray | Event::EndObject);
        if is_end {
            level -= 1;
            line(level, out);
        } else if !is_value {
            if !is_first {
                out.push(b',');
                if indent.is_none() {
                    out.push(b' ');
                }
            }
            line(level, out);
        }
        is_value = false;
        is_first = false;
        match event {
            Event::BeginArray(_) | Event::BeginObject(_) => {
                out.push(if matches!(event, Event::BeginArray(_)) { b'[' } else { b'{' });
                level += 1;
                is_first = true;
            }
            Event::Key(key) => {
                write_escaped(key, out);
                out.extend_from_slice(b": ");
                is_value = true;
            }
            Event::Scalar(node) => write_scalar(node, out),
            Event::EndArray => out.push(b']'),
            Event::EndObject => out.push(b'}'),
        }
    }
}
