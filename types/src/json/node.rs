//! Walking through the bytes of a jsonb.

use super::depth::MOST_DEPTH;
use crate::numeric::{self, Numeric};

pub(super) const NULL: u8 = 0;
pub(super) const FALSE: u8 = 1;
pub(super) const TRUE: u8 = 2;
pub(super) const NUMBER: u8 = 3;
pub(super) const STRING: u8 = 4;
pub(super) const ARRAY: u8 = 5;
pub(super) const OBJECT: u8 = 6;

/// The length follows in four bytes.
pub(super) const LONG: u8 = 0xff;
/// Tag, length in bytes and number of the elements of a container.
pub(super) const CONTAINER_HEADER_BYTES: usize = 9;

/// The bytes of exactly one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawNode<'a>(&'a [u8]);

/// A decoded node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node<'a> {
    Null,
    Boolean(bool),
    /// A numeric as text.
    Number(&'a [u8]),
    String(&'a [u8]),
    Array(Items<'a>),
    Object(Members<'a>),
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    let four = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
    four.map_or(0, |four| u32::from_le_bytes(*four) as usize)
}

/// The content that a length counts, and the rest.
fn counted(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (start, length) = match bytes.first() {
        Some(&LONG) => (5, u32_at(bytes, 1)),
        Some(&length) => (1, usize::from(length)),
        None => (0, 0),
    };
    bytes.get(start..).and_then(|rest| rest.split_at_checked(length)).unwrap_or((&[], &[]))
}

/// The first node and the rest.
fn first(bytes: &[u8]) -> (RawNode<'_>, &[u8]) {
    let length = match bytes.first() {
        Some(&(NUMBER | STRING)) => bytes.len() - counted(&bytes[1..]).1.len(),
        Some(&(ARRAY | OBJECT)) => CONTAINER_HEADER_BYTES + u32_at(bytes, 1),
        _ => 1,
    };
    let (node, rest) = bytes.split_at(length.min(bytes.len()));
    (RawNode(node), rest)
}

impl<'a> RawNode<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> RawNode<'a> {
        RawNode(bytes)
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn is_container(self) -> bool {
        matches!(self.0.first(), Some(&(ARRAY | OBJECT)))
    }

    pub(crate) fn node(self) -> Node<'a> {
        let content = self.0.get(CONTAINER_HEADER_BYTES..).unwrap_or_default();
        match self.0.first() {
            Some(&FALSE) => Node::Boolean(false),
            Some(&TRUE) => Node::Boolean(true),
            Some(&NUMBER) => Node::Number(counted(&self.0[1..]).0),
            Some(&STRING) => Node::String(counted(&self.0[1..]).0),
            Some(&ARRAY) => Node::Array(Items { rest: content, count: u32_at(self.0, 5) }),
            Some(&OBJECT) => Node::Object(Members { rest: content, count: u32_at(self.0, 5) }),
            _ => Node::Null,
        }
    }
}

/// The remaining items of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Items<'a> {
    rest: &'a [u8],
    pub(crate) count: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = RawNode<'a>;

    fn next(&mut self) -> Option<RawNode<'a>> {
        self.count = self.count.checked_sub(1)?;
        let (node, rest) = first(self.rest);
        self.rest = rest;
        Some(node)
    }
}

/// The remaining members of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members<'a> {
    rest: &'a [u8],
    pub(crate) count: usize,
}

impl<'a> Members<'a> {
    /// Members in any order, from bytes in their form.
    pub(super) fn of(rest: &'a [u8], count: usize) -> Members<'a> {
        Members { rest, count }
    }

    /// The value of a key.
    pub(crate) fn find(mut self, key: &[u8]) -> Option<RawNode<'a>> {
        self.find_map(|(own, value)| (own == key).then_some(value))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], RawNode<'a>);

    fn next(&mut self) -> Option<(&'a [u8], RawNode<'a>)> {
        self.count = self.count.checked_sub(1)?;
        let (key, rest) = counted(self.rest);
        let (node, rest) = first(rest);
        self.rest = rest;
        Some((key, node))
    }
}

/// The events of a traversal of a value from its beginning to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// With the number of items.
    BeginArray(usize),
    /// With the number of members.
    BeginObject(usize),
    Key(&'a [u8]),
    /// Null, a boolean, a number or a string.
    Scalar(Node<'a>),
    EndArray,
    EndObject,
}

#[derive(Debug)]
enum Open<'a> {
    Array(Items<'a>),
    Object(Members<'a>),
}

/// Traverses a value, without recursion.
#[derive(Debug)]
pub(crate) struct Events<'a> {
    open: Vec<Open<'a>>,
    /// The next node: the root, or the value of the key that was returned last.
    waiting: Option<RawNode<'a>>,
}

impl<'a> Events<'a> {
    pub(crate) fn of(root: RawNode<'a>) -> Events<'a> {
        Events { open: Vec::new(), waiting: Some(root) }
    }

    fn begin(&mut self, node: RawNode<'a>) -> Event<'a> {
        match node.node() {
            Node::Array(items) => {
                self.open.push(Open::Array(items));
                Event::BeginArray(items.count)
            }
            Node::Object(members) => {
                self.open.push(Open::Object(members));
                Event::BeginObject(members.count)
            }
            scalar => Event::Scalar(scalar),
        }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        if let Some(node) = self.waiting.take() {
            return Some(self.begin(node));
        }
        match self.open.last_mut()? {
            Open::Array(items) => match items.next() {
                Some(node) => Some(self.begin(node)),
                None => {
                    self.open.pop();
                    Some(Event::EndArray)
                }
            },
            Open::Object(members) => match members.next() {
                Some((key, value)) => {
                    self.waiting = Some(value);
                    Some(Event::Key(key))
                }
                None => {
                    self.open.pop();
                    Some(Event::EndObject)
                }
            },
        }
    }
}

/// Whether the value keeps to the limit on nesting.
pub(super) fn is_shallow(root: RawNode<'_>) -> bool {
    let mut events = Events::of(root);
    while events.next().is_some() {
        if events.open.len() > MOST_DEPTH {
            return false;
        }
    }
    true
}

/// The order of keys: by length, then by bytes.
pub(super) fn key_order(left: &[u8], right: &[u8]) -> std::cmp::Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Reads a length and its content, if the length is in its shortest form.
fn take_counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&short, mut rest) = bytes.split_first()?;
    let length = if short == LONG {
        let (long, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        let length = u32::from_le_bytes(*long) as usize;
        (length >= usize::from(LONG)).then_some(length)?
    } else {
        usize::from(short)
    };
    let (content, after) = rest.split_at_checked(length)?;
    *bytes = after;
    Some(content)
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

fn is_number(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(number @ Numeric::Finite(_)) = numeric::parse(text) else { return false };
    // Bounded: by the depth, which is limited.
    let mut shown = Vec::new();
    numeric::write(&number, &mut shown);
    numeric::is_within_limits(&number) && shown == bytes
}

/// An array or object whose end has not been seen yet.
struct Unfinished<'a> {
    is_object: bool,
    /// The remaining length in bytes at its end, and the remaining items or members.
    end: usize,
    count: usize,
    last_key: Option<&'a [u8]>,
}

/// Whether bytes are exactly one node in its canonical form. Reads nothing before it has been checked.
pub(super) fn is_canonical(bytes: &[u8]) -> bool {
    check(bytes).is_some()
}

fn check(bytes: &[u8]) -> Option<()> {
    let mut rest = bytes;
    // Bounded: by the depth, which is limited.
    let mut open: Vec<Unfinished<'_>> = Vec::new();
    loop {
        if let Some(container) = open.last_mut() {
            // At its end as many bytes must remain as were computed at its beginning.
            if container.count == 0 {
                if rest.len() != container.end {
                    return None;
                }
                open.pop();
                if open.is_empty() {
                    return rest.is_empty().then_some(());
                }
                continue;
            }
            container.count -= 1;
            if container.is_object {
                let key = take_counted(&mut rest)?;
                let is_next = container.last_key.is_none_or(|last| key_order(last, key).is_lt());
                (is_next && is_text(key)).then_some(())?;
                container.last_key = Some(key);
            }
        }
        let (&tag, after) = rest.split_first()?;
        rest = after;
        match tag {
            NULL | FALSE | TRUE => {}
            NUMBER => is_number(take_counted(&mut rest)?).then_some(())?,
            STRING => is_text(take_counted(&mut rest)?).then_some(())?,
            ARRAY | OBJECT => {
                let (head, after) = rest.split_at_checked(CONTAINER_HEADER_BYTES - 1)?;
                rest = after;
                let (length, count) = (u32_at(head, 0), u32_at(head, 4));
                let end = rest.len().checked_sub(length)?;
                if open.len() == MOST_DEPTH || open.last().is_some_and(|around| end < around.end) {
                    return None;
                }
                open.push(Unfinished { is_object: tag == OBJECT, end, count, last_key: None });
                continue;
            }
            _ => return None,
        }
        if open.is_empty() {
            return rest.is_empty().then_some(());
        }
    }
}
