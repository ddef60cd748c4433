//! Types that extensions bring: citext and hstore. A database has one only after CREATE EXTENSION.
//!
//! A type is one file, with a `Definition`, and one line of `ALL`. To everything else its values are
//! bytes: their *content*, which is what is stored and logged. Their order, equality and hashes are those of
//! their *sort keys*.
//!
//! Reference: PostgreSQL's contrib/citext and contrib/hstore.

mod citext;
mod definition;
pub(crate) mod hstore;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::iter;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::collect::Sink;
use crate::error::Result;
use definition::{Definition, ReadText};

/// A type that an extension brings. Its serialized name is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionType {
    Citext,
    Hstore,
}

/// In the order of [`ExtensionType`].
static ALL: [(ExtensionType, &Definition); 2] =
    [(ExtensionType::Citext, &citext::CITEXT), (ExtensionType::Hstore, &hstore::HSTORE)];

/// A value of such a type.
#[derive(Clone, PartialEq, Eq)]
pub struct ExtensionValue(
    /// The place of the type in `ALL`, then the content.
    Arc<[u8]>,
);

impl ExtensionType {
    /// All of them.
    pub fn all() -> impl Iterator<Item = ExtensionType> {
        ALL.iter().map(|(own, _)| *own)
    }

    fn definition(self) -> &'static Definition {
        ALL[self as usize].1
    }

    /// The name of the type, and of the extension that brings it.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// `pg_type.oid`
    pub fn oid(self) -> u32 {
        self.definition().oid
    }

    /// `pg_type.oid` of the type of its arrays.
    pub fn array_oid(self) -> u32 {
        self.oid() + 1
    }

    /// The array type as it is shown, its `pg_type.typname`, and its oid.
    pub fn array_names(self) -> (&'static str, &'static str, u32) {
        let (shown, name) = self.definition().array_names;
        (shown, name, self.array_oid())
    }

    /// The type with this name, or that the extension of this name brings.
    pub fn named(name: &str) -> Option<ExtensionType> {
        ExtensionType::all().find(|own| own.name() == name)
    }

    /// The type with this `pg_type.oid`.
    pub fn from_oid(oid: u32) -> Option<ExtensionType> {
        ExtensionType::all().find(|own| own.oid() == oid)
    }

    /// Whether its values are strings, which convert as other strings do.
    pub fn is_string(self) -> bool {
        self.definition().is_string
    }

    /// The names in `pg_type` of the functions that subscript, read, write, receive and send its values.
    pub fn catalog_functions(self) -> [&'static str; 5] {
        self.definition().catalog_functions
    }

    /// The value with this text form.
    ///
    /// # Errors
    /// Those of PostgreSQL for other texts.
    pub fn parse(self, text: &str) -> Result<ExtensionValue> {
        (self.definition().parse)(text).map(|content| self.made(&content))
    }

    /// The value with this binary form.
    pub(crate) fn read_binary(self, bytes: &[u8], text: ReadText) -> Result<ExtensionValue> {
        (self.definition().read_binary)(bytes, text).map(|content| self.made(&content))
    }

    /// The value with this content. `None` if it is not one.
    pub fn from_content(self, content: &[u8]) -> Option<ExtensionValue> {
        (self.definition().is_content)(content).then(|| self.made(content))
    }

    /// The value with these bytes, which are a content.
    pub fn made(self, content: &[u8]) -> ExtensionValue {
        ExtensionValue(iter::once(self as u8).chain(content.iter().copied()).collect())
    }

    /// Whether these bytes are the content of a value.
    pub fn is_content(self, bytes: &[u8]) -> bool {
        (self.definition().is_content)(bytes)
    }
}

impl ExtensionValue {
    pub fn extension_type(&self) -> ExtensionType {
        ALL[usize::from(self.0[0])].0
    }

    fn definition(&self) -> &'static Definition {
        self.extension_type().definition()
    }

    /// The bytes that are stored.
    pub fn content(&self) -> &[u8] {
        &self.0[1..]
    }

    /// Appends the text form.
    pub(crate) fn write<S: Sink>(&self, out: &mut S) -> std::result::Result<(), S::Refusal> {
        let mut result = Ok(());
        (self.definition().show)(self.content(), &mut |piece| {
            result = out.put(piece);
            result.is_ok()
        });
        result
    }

    /// Appends the binary form.
    pub(crate) fn write_binary(&self, out: &mut Vec<u8>) {
        (self.definition().write_binary)(self.content(), out);
    }

    /// Bytes in the order of the values of the type, the same for equal ones.
    pub(crate) fn sort_key(&self) -> Cow<'_, [u8]> {
        (self.definition().sort_key)(self.content())
    }

    /// The order of two values. Those of different types are in no useful one.
    pub(crate) fn order(&self, other: &ExtensionValue) -> Ordering {
        let by_type = self.0[0].cmp(&other.0[0]);
        by_type.then_with(|| self.sort_key().cmp(&other.sort_key()))
    }
}

impl fmt::Debug for ExtensionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = Vec::new();
        let Ok(()) = self.write(&mut shown);
        write!(f, "{} {:?}", self.extension_type().name(), String::from_utf8_lossy(&shown))
    }
}

#[cfg(test)]
mod tests;
