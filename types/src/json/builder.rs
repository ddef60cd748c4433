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
use crate::collect::{self, Bytes, List, Sink};
use crate::error::Result;
use crate::guest;
use crate::memory;
use crate::numeric;

#[derive(Debug, Default)]
pub(crate) struct Builder {
    out: Bytes,
    /// Where the open containers begin, and how many values each has.
    open: List<(usize, u32)>,
}

impl Builder {
    fn counted(&mut self, content: &[u8]) -> Result<()> {
        match u8::try_from(content.len()) {
            Ok(length) if length < LONG => self.out.push(length)?,
            _ => {
                self.out.push(LONG)?;
                // A value is less than 1 GiB.
                self.out.put(&(content.len() as u32).to_le_bytes())?;
            }
        }
        self.out.put(content)
    }

    fn tag(&mut self, tag: u8) -> Result<()> {
        if let Some((_, count)) = self.open.last_mut() {
            *count += 1;
        }
        self.out.push(tag)
    }

    pub(crate) fn null(&mut self) -> Result<()> {
        self.tag(NULL)
    }

    pub(crate) fn boolean(&mut self, truth: bool) -> Result<()> {
        self.tag(if truth { TRUE } else { FALSE })
    }

    /// A number in JSON's form.
    ///
    /// # Errors
    /// 22003, 53200.
    pub(crate) fn number(&mut self, text: &str) -> Result<()> {
        self.tag(NUMBER)?;
        let is_plain = text.len() < 1000 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
        if is_plain {
            return self.counted(text.as_bytes());
        }
        // Bounded: by the length of a numeric.
        let mut shown = Vec::with_capacity(text.len());
        numeric::write(&numeric::parse(text)?, &mut shown);
        self.counted(&shown)
    }

    pub(crate) fn string(&mut self, text: &[u8]) -> Result<()> {
        self.tag(STRING)?;
        self.counted(text)
    }

    pub(crate) fn key(&mut self, key: &[u8]) -> Result<()> {
        self.counted(key)
    }

    /// Adds a complete node.
    pub(crate) fn node(&mut self, node: RawNode<'_>) -> Result<()> {
        let (tag, content) = node.bytes().split_first().unwrap_or((&NULL, &[]));
        self.tag(*tag)?;
        self.out.put(content)
    }

    /// Adds a member.
    pub(crate) fn member(&mut self, key: &[u8], node: RawNode<'_>) -> Result<()> {
        self.key(key)?;
        self.node(node)
    }

    pub(crate) fn begin_array(&mut self) -> Result<()> {
        self.begin(ARRAY)
    }

    pub(crate) fn begin_object(&mut self) -> Result<()> {
        self.begin(OBJECT)
    }

    fn begin(&mut self, tag: u8) -> Result<()> {
        self.tag(tag)?;
        self.open.push((self.out.len() - 1, 0))?;
        self.out.put(&[0; CONTAINER_HEADER_BYTES - 1])
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
            if let Some(sorted) = in_order(members)? {
                let mut ordered = Builder::default();
                count = sorted.len() as u32;
                for (key, node) in sorted {
                    ordered.member(key, node)?;
                }
                self.out.truncate(content);
                self.out.put(&ordered.out)?;
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
        let mut ends: List<usize> = List::default();
        for (number, item) in tape.items.iter().enumerate() {
            match item.kind {
                ItemKind::Null => self.null()?,
                ItemKind::False => self.boolean(false)?,
                ItemKind::True => self.boolean(true)?,
                ItemKind::Number => self.number(tape.source(number))?,
                ItemKind::String => self.string(tape.content(number).as_bytes())?,
                ItemKind::Key => self.key(tape.content(number).as_bytes())?,
                ItemKind::Array => {
                    self.begin_array()?;
                    ends.push(item.next)?;
                }
                ItemKind::Object => {
                    self.begin_object()?;
                    ends.push(item.next)?;
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
    /// 54001 if it nests too deep, 53200.
    pub(crate) fn finish(self) -> Result<Jsonb> {
        memory::check(self.out.len())?;
        guest::spend_for(self.out.len() / CHECKED_PER_UNIT)?;
        let jsonb = Jsonb::from_bytes(&self.out);
        if is_shallow(jsonb.root()) { Ok(jsonb) } else { Err(too_deep()) }
    }
}

/// Bytes whose nesting is checked in about ten nanoseconds.
const CHECKED_PER_UNIT: usize = 8;

/// A key and its value.
type Member<'a> = (&'a [u8], RawNode<'a>);

/// The members in the order of their keys, the last of each key; None if they already are.
fn in_order(members: Members<'_>) -> Result<Option<Vec<Member<'_>>>> {
    let mut last: Option<&[u8]> = None;
    guest::spend_for(members.count)?;
    let is_sorted = members.into_iter().all(|(key, _)| {
        let is_next = last.is_none_or(|last| key_order(last, key).is_lt());
        last = Some(key);
        is_next
    });
    if is_sorted {
        return Ok(None);
    }
    let mut sorted = collect::list(members)?;
    // Stable, so that the last of equal keys stays last.
    collect::sort(&mut sorted, |one, other| key_order(one.0, other.0))?;
    let mut each: List<Member<'_>> = List::with_capacity(sorted.len())?;
    for member in sorted {
        match each.last_mut() {
            Some(known) if known.0 == member.0 => *known = member,
            _ => each.push(member)?,
        }
    }
    Ok(Some(each.into_vec()))
}
