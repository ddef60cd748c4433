//! Builds a jsonb, from its beginning to its end.
//!
//! Calls follow the order of a text: after `begin_object` keys and values in turn, and one `end` for each
//! beginning. Keys may come in any order and more than once: the last value counts.

use super::depth::too_deep;
use super::node::{
    ARRAY, CONTAINER_HEADER_BYTES, FALSE, LONG, Members, NULL, NUMBER, OBJECT, RawNode, STRING, TRUE,
    is_shallow, key_order,
};
use super::stored::Jsonb;
use super::tape::{ItemKind, Tape};
use crate::error::Result;
use crate::memory;
use crate::numeric;

#[derive(Debug, Default)]
pub(crate) struct Builder {
    out: Vec<u8>,
    /// Where the open containers begin, and how many values each has.
    open: Vec<(usize, u32)>,
}

impl Builder {
    fn counted(&mut self, content: &[u8]) {
        match u8::try_from(content.len()) {
            Ok(length) if length < LONG => self.out.push(length),
            _ => {
                self.out.push(LONG);
                // A value is less than 1 GiB.
                self.out.extend_from_slice(&(content.len() as u32).to_le_bytes());
            }
        }
        self.out.extend_from_slice(content);
    }

    fn tag(&mut self, tag: u8) {
        if let Some((_, count)) = self.open.last_mut() {
            *count += 1;
        }
        self.out.push(tag);
    }

    pub(crate) fn null(&mut self) {
        self.tag(NULL);
    }

    pub(crate) fn boolean(&mut self, truth: bool) {
        self.tag(if truth { TRUE } else { FALSE });
    }

    /// A number in JSON's form.
    ///
    /// # Errors
    /// 22003.
    pub(crate) fn number(&mut self, text: &str) -> Result<()> {
        self.tag(NUMBER);
        let is_plain = text.len() < 1000 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
        if is_plain {
            self.counted(text.as_bytes());
            return Ok(());
        }
        let mut shown = Vec::with_capacity(text.len());
        numeric::write(&numeric::parse(text)?, &mut shown);
        self.counted(&shown);
        Ok(())
    }

    pub(crate) fn string(&mut self, text: &[u8]) {
        self.tag(STRING);
        self.counted(text);
    }

    pub(crate) fn key(&mut self, key: &[u8]) {
        self.counted(key);
    }

    /// Adds a complete node.
    pub(crate) fn node(&mut self, node: RawNode<'_>) {
        let (tag, content) = node.bytes().split_first().unwrap_or((&NULL, &[]));
        self.tag(*tag);
        self.out.extend_from_slice(content);
    }

    pub(crate) fn begin_array(&mut self) {
        self.begin(ARRAY);
    }

    pub(crate) fn begin_object(&mut self) {
        self.begin(OBJECT);
    }

    fn begin(&mut self, tag: u8) {
        self.tag(tag);
        self.open.push((self.out.len() - 1, 0));
        self.out.extend_from_slice(&[0; CONTAINER_HEADER_BYTES - 1]);
    }

    /// Ends the container that was begun last.
    ///
    /// # Errors
    /// 53200, 54000.
    pub(crate) fn end(&mut self) -> Result<()> {
        let Some((start, mut count)) = self.open.pop() else { return Ok(()) };
        let content = start + CONTAINER_HEADER_BYTES;
        if self.out[start] == OBJECT {
            let members = Members::of(&self.out[content..], count as usize);
            if let Some(sorted) = in_order(members) {
                let mut ordered = Builder::default();
                count = sorted.len() as u32;
                for (key, node) in sorted {
                    ordered.counted(key);
                    ordered.node(node);
                }
                self.out.truncate(content);
                self.out.extend_from_slice(&ordered.out);
            }
        }
        let length = self.out.len() - content;
        memory::check_value(length)?;
        self.out[start + 1..start + 5].copy_from_slice(&(length as u32).to_le_bytes());
        self.out[start + 5..content].copy_from_slice(&count.to_le_bytes());
        Ok(())
    }

    /// Adds everything in a text.
    ///
    /// # Errors
    /// 22003, 53200, 54000.
    pub(crate) fn tape(&mut self, tape: &Tape<'_>) -> Result<()> {
        let mut ends: Vec<usize> = Vec::new();
        for (number, item) in tape.items.iter().enumerate() {
            match item.kind {
                ItemKind::Null => self.null(),
                ItemKind::False => self.boolean(false),
                ItemKind::True => self.boolean(true),
                ItemKind::Number => self.number(tape.source(number))?,
                ItemKind::String => self.string(tape.content(number).as_bytes()),
                ItemKind::Key => self.key(tape.content(number).as_bytes()),
                ItemKind::Array => {
                    self.begin_array();
                    ends.push(item.next);
                }
                ItemKind::Object => {
                    self.begin_object();
                    ends.push(item.next);
                }
            }
            while ends.last() == Some(&(number + 1)) {
                ends.pop();
                self.end()?;
            }
        }
        Ok(())
    }

    /// # Errors
    /// 54001 if it nests too deep.
    pub(crate) fn finish(self) -> Result<Jsonb> {
        let jsonb = Jsonb::from_bytes(&self.out);
        if is_shallow(jsonb.root()) { Ok(jsonb) } else { Err(too_deep()) }
    }
}

/// The members in the order of their keys, the last of each key; None if they already are.
fn in_order(members: Members<'_>) -> Option<Vec<(&[u8], RawNode<'_>)>> {
    let mut last: Option<&[u8]> = None;
    let is_sorted = members.into_iter().all(|(key, _)| {
        let is_next = last.is_none_or(|last| key_order(last, key).is_lt());
        last = Some(key);
        is_next
    });
    if is_sorted {
        return None;
    }
    let mut sorted: Vec<_> = members.collect();
    // Stable, so that the last of equal keys stays last.
    sorted.sort_by(|one, other| key_order(one.0, other.0));
    let mut each: Vec<(&[u8], RawNode<'_>)> = Vec::with_capacity(sorted.len());
    for member in sorted {
        match each.last_mut() {
            Some(known) if known.0 == member.0 => *known = member,
            _ => each.push(member),
        }
    }
    Some(each)
}
