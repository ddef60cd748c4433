//! citext: text whose case does not count in comparisons. Its content is the text.
//!
//! Reference: PostgreSQL's contrib/citext.

use std::borrow::Cow;

use super::definition::Definition;
use crate::like::lower_character;

pub(super) static CITEXT: Definition = Definition {
    name: "citext",
    array_names: ("citext[]", "_citext"),
    oid: 16_300,
    is_string: true,
    catalog_functions: ["-", "citextin", "citextout", "citextrecv", "citextsend"],
    parse: |text| Ok(text.as_bytes().to_vec()),
    show: |content, put| {
        put(content);
    },
    read_binary: |bytes, text| text(bytes).map(|text| text.as_bytes().to_vec()),
    write_binary: |content, out| out.extend_from_slice(content),
    sort_key: lower,
    is_content: |bytes| std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0')),
};

/// The text in lower case, as `lower` makes it.
fn lower(content: &[u8]) -> Cow<'_, [u8]> {
    let is_lower = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if content.iter().all(is_lower) {
        return Cow::Borrowed(content);
    }
    match std::str::from_utf8(content) {
        Ok(text) => Cow::Owned(text.chars().map(lower_character).collect::<String>().into_bytes()),
        Err(_) => Cow::Borrowed(content),
    }
}
