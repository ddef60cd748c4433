//! A value of type jsonb: bytes in the form that `node` reads.

use std::fmt;
use std::sync::Arc;

use super::node::{self, RawNode};
use super::shown::write_jsonb;

/// A value of type jsonb; see the head of [`crate::json`] for its bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Jsonb(Arc<[u8]>);

impl fmt::Debug for Jsonb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Bounded: by the value; for tests and logs of the server.
        let mut text = Vec::new();
        let Ok(()) = write_jsonb(self.root(), &mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl Jsonb {
    /// From the bytes of another `Jsonb`.
    ///
    /// # Panics
    /// Later, if [`Jsonb::is_canonical`] does not hold for them.
    pub fn from_bytes(bytes: &[u8]) -> Jsonb {
        Jsonb(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether these bytes are a value in its canonical form.
    pub fn is_canonical(bytes: &[u8]) -> bool {
        node::is_canonical(bytes)
    }

    pub(crate) fn root(&self) -> RawNode<'_> {
        RawNode::of(&self.0)
    }
}
