//! A JSON text as a flat list of its parts, in the order of the text.
//!
//! Each part knows its text and the part that follows it and everything inside it. Members of an object are
//! two parts, the key and the value.

use compact_str::CompactString;

use super::depth::{MOST_DEPTH, too_deep};
use super::lexer::{Expected, Lexer, Token};
use crate::collect::List;
use crate::error::Result;
use crate::guest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Null,
    False,
    True,
    Number,
    String,
    Key,
    Array,
    Object,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    start: usize,
    end: usize,
    /// The number of the first part after this one and everything inside it.
    pub(crate) next: usize,
    resolved: Option<CompactString>,
}

/// Bytes that are read in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 8;

/// The parts of a JSON text; the first is the whole.
#[derive(Debug)]
pub(crate) struct Tape<'t> {
    text: &'t str,
    pub(crate) items: List<Item>,
}

impl<'t> Tape<'t> {
    /// `resolves`: whether escapes in strings are resolved, which fails for some that are well-formed.
    ///
    /// # Errors
    /// 22P02, 22P05, 54001, 53200.
    pub(crate) fn parse(text: &'t str, resolves: bool) -> Result<Tape<'t>> {
        let mut lexer = Lexer::new(text, resolves);
        let mut tape = Tape { text, items: List::default() };
        let mut open: List<usize> = List::default();
        lexer.advance()?;
        loop {
            tape.value(&mut lexer, &mut open)?;
            // A value ends here, or an empty container has just been opened.
            loop {
                let Some(&container) = open.last() else {
                    return match lexer.token {
                        Token::End => Ok(tape),
                        _ => Err(lexer.unexpected(Expected::End)),
                    };
                };
                let is_object = tape.items[container].kind == ItemKind::Object;
                let is_empty = container + 1 == tape.items.len();
                match (lexer.token, is_object) {
                    (Token::ArrayEnd, false) | (Token::ObjectEnd, true) => {
                        let next = tape.items.len();
                        tape.items[container].next = next;
                        tape.items[container].end = lexer.end;
                        open.pop();
                        lexer.advance()?;
                        continue;
                    }
                    (_, false) if is_empty => {}
                    (Token::String, true) if is_empty => tape.key(&mut lexer)?,
                    (_, true) if is_empty => return Err(lexer.unexpected(Expected::ObjectFirst)),
                    (Token::Comma, false) => lexer.advance()?,
                    (Token::Comma, true) => {
                        lexer.advance()?;
                        tape.key(&mut lexer)?;
                    }
                    (_, false) => return Err(lexer.unexpected(Expected::ArrayNext)),
                    (_, true) => return Err(lexer.unexpected(Expected::ObjectNext)),
                }
                break;
            }
        }
    }

    fn push(&mut self, kind: ItemKind, lexer: &mut Lexer<'t>) -> Result<()> {
        let (start, end) = (lexer.start, lexer.end);
        guest::spend_for((end - start) / BYTES_PER_UNIT)?;
        let next = self.items.len() + 1;
        self.items.push(Item { kind, start, end, next, resolved: lexer.resolved.take() })?;
        lexer.advance()
    }

    /// A scalar, or the beginning of a container.
    fn value(&mut self, lexer: &mut Lexer<'t>, open: &mut List<usize>) -> Result<()> {
        let kind = match lexer.token {
            Token::ObjectStart => ItemKind::Object,
            Token::ArrayStart => ItemKind::Array,
            Token::String => ItemKind::String,
            Token::Number => ItemKind::Number,
            Token::True => ItemKind::True,
            Token::False => ItemKind::False,
            Token::Null => ItemKind::Null,
            _ => return Err(lexer.unexpected(Expected::Value)),
        };
        if matches!(kind, ItemKind::Object | ItemKind::Array) {
            if open.len() == MOST_DEPTH {
                return Err(too_deep());
            }
            open.push(self.items.len())?;
        }
        self.push(kind, lexer)
    }

    fn key(&mut self, lexer: &mut Lexer<'t>) -> Result<()> {
        if lexer.token != Token::String {
            return Err(lexer.unexpected(Expected::Key));
        }
        self.push(ItemKind::Key, lexer)?;
        if lexer.token != Token::Colon {
            return Err(lexer.unexpected(Expected::Colon));
        }
        lexer.advance()
    }

    /// The source text of a part.
    pub(crate) fn source(&self, number: usize) -> &'t str {
        let item = &self.items[number];
        &self.text[item.start..item.end]
    }

    /// The meaning of a string or a key.
    pub(crate) fn content(&self, number: usize) -> &str {
        let item = &self.items[number];
        match &item.resolved {
            Some(resolved) => resolved,
            None => &self.text[item.start + 1..item.end - 1],
        }
    }

    /// The numbers of the parts directly in a container; for an object, of keys and values in turn.
    pub(crate) fn children(&self, container: usize) -> impl Iterator<Item = usize> {
        let end = self.items[container].next;
        let mut at = container + 1;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let child = at;
            at = self.items[child].next;
            Some(child)
        })
    }
}
