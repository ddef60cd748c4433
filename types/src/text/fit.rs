//! The characters that texts may contain, and fitting a text to its type.

use compact_str::CompactString;

use crate::error::{Error, Result, sqlstate};
use crate::memory;
use crate::system_type::SystemType;
use crate::value::SqlType;

/// Bytes of a name, at most.
pub const LONGEST_NAME: usize = 63;

/// Text may hold any character but U+0000.
pub(crate) fn check_text(text: &str) -> Result<()> {
    if text.as_bytes().contains(&0) {
        return Err(Error::input(
            sqlstate::CHARACTER_NOT_IN_REPERTOIRE,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        ));
    }
    Ok(())
}

/// Makes a text fit `varchar(n)` or `char(n)` (other types leave it unchanged). Cutting off more than blanks
/// is an error unless `explicit`.
pub fn fit_text(mut text: CompactString, to: SqlType, explicit: bool) -> Result<CompactString> {
    let limit = match to {
        SqlType::Varchar(Some(limit)) => limit as usize,
        SqlType::Char(limit) if limit > 0 => limit as usize,
        SqlType::System(SystemType::Name) => return Ok(cut_to_bytes(text, LONGEST_NAME)),
        SqlType::System(SystemType::Char) => return Ok(shown_byte(meant_byte(&text))),
        _ => return Ok(text),
    };
    // At most as many bytes as the limit means at most as many characters.
    if text.len() > limit
        && let Some((cut, _)) = text.char_indices().nth(limit)
    {
        if !explicit && text.as_bytes()[cut..].iter().any(|byte| *byte != b' ') {
            let message = format!("value too long for type {}", to.name());
            return Err(Error::input(sqlstate::STRING_DATA_RIGHT_TRUNCATION, message));
        }
        text.truncate(cut);
    }
    if matches!(to, SqlType::Char(_)) {
        if limit > text.capacity() {
            memory::check(limit)?;
        }
        pad(&mut text, limit);
    }
    Ok(text)
}

/// The byte that `"char"` takes from a text: its first byte, or the byte given by three octal digits after a
/// backslash (PostgreSQL's `charin`).
pub(crate) fn meant_byte(text: &str) -> u8 {
    match *text.as_bytes() {
        [b'\\', high @ b'0'..=b'7', middle @ b'0'..=b'7', low @ b'0'..=b'7'] => {
            (high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0')
        }
        [first, ..] => first,
        [] => 0,
    }
}

/// The text of a `"char"`. A byte that is not ASCII is shown as three octal digits after a backslash
/// (PostgreSQL's `charout`).
pub(crate) fn shown_byte(byte: u8) -> CompactString {
    match byte {
        0 => CompactString::default(),
        1..=127 => CompactString::from_iter([char::from(byte)]),
        128.. => compact_str::format_compact!("\\{byte:o}"),
    }
}

/// As many characters as fit into this many bytes.
fn cut_to_bytes(mut text: CompactString, limit: usize) -> CompactString {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
    }
    text
}

/// The number of blanks needed to reach a length in characters.
fn missing_blanks(text: &str, length: usize) -> usize {
    // Vectorised, unlike `is_ascii`: every value of a `char(n)` that is read comes here.
    let is_ascii = text.bytes().fold(0, |all, byte| all | byte) < 0x80;
    length.saturating_sub(if is_ascii { text.len() } else { text.chars().count() })
}

fn push_blanks(text: &mut CompactString, mut missing: usize) {
    const BLANKS: &str = "                                                                ";
    while missing > 0 {
        let some = missing.min(BLANKS.len());
        text.push_str(&BLANKS[..some]);
        missing -= some;
    }
}

/// Blank-pads to a length in characters.
fn pad(text: &mut CompactString, length: usize) {
    let missing = missing_blanks(text, length);
    text.reserve(missing);
    push_blanks(text, missing);
}

/// A padded copy of a text, with a single allocation.
pub fn padded(text: &str, length: usize) -> CompactString {
    let missing = missing_blanks(text, length);
    if missing == 0 {
        return text.into();
    }
    let mut padded = CompactString::with_capacity(text.len() + missing);
    padded.push_str(text);
    push_blanks(&mut padded, missing);
    padded
}
