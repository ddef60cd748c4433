//! The order of jsonb values, and an encoding with the same order for indexes.
//!
//! Objects are greater than arrays, then come booleans, numbers, strings, null. Of two containers the one
//! with more elements is greater. A top-level scalar is an array of one item, and less than any other array
//! of one item; so an empty array is less than every scalar, as in PostgreSQL.
//!
//! Reference: `compareJsonbContainers` of PostgreSQL 15.

use std::cmp::Ordering;

use super::node::{Event, Events, Node, RawNode};
use crate::key::parts::{encode_bytes, encode_numeric};
use crate::numeric::{self, Numeric};

const NULL: u8 = 0;
const STRING: u8 = 1;
const NUMBER: u8 = 2;
const BOOLEAN: u8 = 3;
const ARRAY: u8 = 4;
const OBJECT: u8 = 5;

fn rank(event: &Event<'_>) -> u8 {
    match event {
        Event::BeginArray(_) => ARRAY,
        Event::BeginObject(_) => OBJECT,
        Event::Scalar(Node::Null) => NULL,
        Event::Scalar(Node::Number(_)) => NUMBER,
        Event::Scalar(Node::Boolean(_)) => BOOLEAN,
        Event::Key(_) | Event::Scalar(_) | Event::EndArray | Event::EndObject => STRING,
    }
}

/// The number that a node holds.
pub(crate) fn number(text: &[u8]) -> Numeric {
    let text = std::str::from_utf8(text).unwrap_or_default();
    numeric::parse(text).unwrap_or(Numeric::NaN)
}

fn scalar_order(left: Node<'_>, right: Node<'_>) -> Ordering {
    match (left, right) {
        (Node::String(left), Node::String(right)) => left.cmp(right),
        (Node::Boolean(left), Node::Boolean(right)) => left.cmp(&right),
        (Node::Number(left), Node::Number(right)) if left == right => Ordering::Equal,
        (Node::Number(left), Node::Number(right)) => numeric::compare(&number(left), &number(right)),
        _ => Ordering::Equal,
    }
}

pub(crate) fn compare(left: RawNode<'_>, right: RawNode<'_>) -> Ordering {
    if let (Node::Array(items), false) = (left.node(), right.is_container()) {
        return items.count.cmp(&1).then(Ordering::Greater);
    }
    if let (false, Node::Array(items)) = (left.is_container(), right.node()) {
        return 1.cmp(&items.count).then(Ordering::Less);
    }
    // Compared with an object, a scalar is an array, which is less.
    let (mut left, mut right) = (Events::of(left), Events::of(right));
    loop {
        let (Some(one), Some(other)) = (left.next(), right.next()) else { return Ordering::Equal };
        let order = match (one, other) {
            (Event::BeginArray(one), Event::BeginArray(other))
            | (Event::BeginObject(one), Event::BeginObject(other)) => one.cmp(&other),
            (Event::Key(one), Event::Key(other)) => one.cmp(other),
            (Event::Scalar(one_node), Event::Scalar(other_node)) => {
                rank(&one).cmp(&rank(&other)).then_with(|| scalar_order(one_node, other_node))
            }
            (one, other) => rank(&one).cmp(&rank(&other)),
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Appends bytes that compare as the values do.
pub(crate) fn encode_key(root: RawNode<'_>, out: &mut Vec<u8>) {
    // Bounded: by the value, as is what the caller keeps of it.
    let mut inner = Vec::new();
    let is_scalar = !root.is_container();
    if is_scalar {
        head(ARRAY, 1, &mut inner);
        inner.push(0);
    }
    for (number, event) in Events::of(root).enumerate() {
        match event {
            Event::BeginArray(count) => {
                head(ARRAY, count, &mut inner);
                if number == 0 {
                    inner.push(1);
                }
            }
            Event::BeginObject(count) => head(OBJECT, count, &mut inner),
            Event::Key(key) => encode_bytes(key, &mut inner),
            Event::Scalar(node) => scalar(rank(&event), node, &mut inner),
            Event::EndArray | Event::EndObject => {}
        }
    }
    // Encoded once more, so that the end can be found without decoding the content.
    encode_bytes(&inner, out);
}

fn head(rank: u8, count: usize, out: &mut Vec<u8>) {
    out.push(rank);
    out.extend_from_slice(&(count as u32).to_be_bytes());
}

fn scalar(rank: u8, node: Node<'_>, out: &mut Vec<u8>) {
    out.push(rank);
    match node {
        Node::String(text) => encode_bytes(text, out),
        Node::Number(text) => encode_numeric(&number(text), out),
        Node::Boolean(truth) => out.push(u8::from(truth)),
        Node::Null | Node::Array(_) | Node::Object(_) => {}
    }
}
