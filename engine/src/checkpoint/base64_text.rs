//! Bytes as base64 in files that people can read, for serde.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&STANDARD.encode(bytes))
}

pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Box<[u8]>, D::Error> {
    let text = String::deserialize(from)?;
    STANDARD.decode(text).map(Into::into).map_err(|_| D::Error::custom("no base64"))
}
