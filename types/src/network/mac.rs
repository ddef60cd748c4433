//! Addresses of network cards: the types macaddr (6 bytes) and macaddr8 (8 bytes).

use crate::error::{Error, Result, sqlstate};

use super::syntax;

/// Up to how many digits each byte of a macaddr has, and what separates the bytes.
const FORMS: [(usize, [&str; 5]); 7] = [
    (usize::MAX, [":", ":", ":", ":", ":"]),
    (usize::MAX, ["-", "-", "-", "-", "-"]),
    (2, ["", "", ":", "", ""]),
    (2, ["", "", "-", "", ""]),
    (2, ["", ".", "", ".", ""]),
    (2, ["", "-", "", "-", ""]),
    (2, ["", "", "", "", ""]),
];

/// Reads a macaddr in one of the forms that PostgreSQL knows.
///
/// # Errors
/// 22P02; 22003 if a byte has too many digits.
pub(crate) fn parse_mac(text: &str) -> Result<[u8; 6]> {
    let read = FORMS.iter().find_map(|(digits, separators)| numbers(text, *digits, separators));
    let numbers = read.ok_or_else(|| syntax("macaddr", text))?;
    let mut bytes = [0; 6];
    for (byte, number) in bytes.iter_mut().zip(numbers) {
        *byte = u8::try_from(number).map_err(|_| {
            let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
            Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })?;
    }
    Ok(bytes)
}

fn numbers(text: &str, most_digits: usize, separators: &[&str; 5]) -> Option<[u32; 6]> {
    let mut numbers = [0_u32; 6];
    let mut rest = text;
    for (at, number) in numbers.iter_mut().enumerate() {
        rest = rest.trim_ascii_start();
        let digits = rest.bytes().take(most_digits).take_while(u8::is_ascii_hexdigit).count();
        let (own, after) = rest.split_at(digits);
        // Anything longer is too great, as is the greatest number.
        *number = if digits > 8 { u32::MAX } else { u32::from_str_radix(own, 16).ok()? };
        rest = match separators.get(at) {
            Some(separator) => after.strip_prefix(separator)?,
            None => after,
        };
    }
    rest.trim_ascii().is_empty().then_some(numbers)
}

/// Reads a macaddr8. One of six bytes gets FF and FE in the middle.
///
/// # Errors
/// 22P02.
pub(crate) fn parse_mac8(text: &str) -> Result<[u8; 8]> {
    let bytes = pairs(text.trim_ascii()).ok_or_else(|| syntax("macaddr8", text))?;
    match bytes[..] {
        [a, b, c, d, e, f] => Ok(widened([a, b, c, d, e, f])),
        [a, b, c, d, e, f, g, h] => Ok([a, b, c, d, e, f, g, h]),
        _ => Err(syntax("macaddr8", text)),
    }
}

/// Pairs of digits, always with the same separator where there is one.
fn pairs(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut separator = None;
    let mut rest = text.as_bytes();
    while let [high, low, after @ ..] = rest {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        if bytes.len() == 8 {
            return None;
        }
        bytes.push((digit(*high)? << 4 | digit(*low)?) as u8);
        rest = after;
        if let [next @ (b':' | b'-' | b'.'), after @ ..] = rest {
            if *separator.get_or_insert(*next) != *next {
                return None;
            }
            rest = after;
        }
    }
    rest.is_empty().then_some(bytes)
}

/// The macaddr8 of a macaddr.
pub(crate) fn widened([a, b, c, d, e, f]: [u8; 6]) -> [u8; 8] {
    [a, b, c, 0xff, 0xfe, d, e, f]
}

/// The macaddr of a macaddr8 that was made from one.
///
/// # Errors
/// 22003.
pub(crate) fn narrowed(bytes: [u8; 8]) -> Result<[u8; 6]> {
    match bytes {
        [a, b, c, 0xff, 0xfe, d, e, f] => Ok([a, b, c, d, e, f]),
        _ => {
            let message = "macaddr8 data out of range to convert to macaddr";
            Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message).with_hint(
                "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for \
                 example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.",
            ))
        }
    }
}

/// Appends the text form of either type.
pub(crate) fn write_mac(bytes: &[u8], out: &mut Vec<u8>) {
    let shown: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    out.extend_from_slice(shown.join(":").as_bytes());
}
