//! The types json and jsonb: the form of their values, and how they are read, printed and compared.
//!
//! A `json` keeps its text, which has passed [`validate`]. A `jsonb` is a [`Jsonb`]: bytes in a form of its
//! own, which rows and log records contain unchanged:
//!
//! ```text
//!   node:   tag, then
//!     0 null, 1 false, 2 true
//!     3 number, 4 string: length, content        length: 1 byte, or FF and u32
//!     5 array:  u32 bytes of the items, u32 number of items, items (nodes)
//!     6 object: u32 bytes of the members, u32 number of members, members: length, key, node
//! ```
//! * A number is the text of a finite numeric as PostgreSQL prints it, which keeps its scale.
//! * The members of an object are in the order of their keys, by length and then by bytes, each key once.
//! * Numbers are little-endian. The form is canonical: values with equal bytes print equally in PostgreSQL.
//! * Nothing nests deeper than 10,000 arrays and objects (`depth`).
//!
//! Files:
//! * json to jsonb: `lexer` reads tokens, `tape` lists the parts of a text, `builder` writes the bytes;
//! * jsonb: `stored` owns the bytes, `node` walks through them, `order` compares them and encodes index keys,
//!   `shown` prints them;
//! * `depth`: the limit on nesting.
//!
//! Why not a crate: PostgreSQL's messages, its order and the scale of its numerics are part of the types, and
//! no JSON parser preserves them. A flat form can be copied out of a row and searched without being built up.
//!
//! Traversals of a value are not recursive, because its depth is chosen by the client.
//!
//! Reference: `jsonapi.c`, `jsonb.c` and `jsonb_util.c` of PostgreSQL 15.

mod builder;
mod depth;
mod lexer;
mod node;
mod order;
mod shown;
mod stored;
mod tape;

use crate::error::Result;

pub(crate) use builder::Builder;
pub(crate) use node::{Event, Events, Items, Members, Node, RawNode};
pub(crate) use order::{compare, encode_key, number};
pub(crate) use shown::{write_escaped, write_indented, write_jsonb};
pub use stored::Jsonb;
pub(crate) use tape::{ItemKind, Tape};

impl Jsonb {
    /// Reads a JSON text.
    ///
    /// # Errors
    /// 22P02, 22P05 for U+0000, 22003 for a number out of the range of numeric, 54001.
    pub fn parse(text: &str) -> Result<Jsonb> {
        let tape = Tape::parse(text, true)?;
        let mut builder = Builder::default();
        builder.tape(&tape)?;
        builder.finish()
    }
}

/// Checks that a text is JSON, as the type json does: escapes are checked for their form, but not for their
/// meaning.
///
/// # Errors
/// 22P02, 54001.
pub fn validate(text: &str) -> Result<()> {
    Tape::parse(text, false).map(|_| ())
}

#[cfg(test)]
mod tests;
