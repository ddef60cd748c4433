//! `to_char` for numbers and `to_number`: the elements of number templates, and reading a text by a template.
//!
//! A template (`FM999,990.00S`) is a list of parts: positions of digits, signs, literal text. It is parsed
//! once and summarised (the number of digits before and after the point, where zeros begin, the position of
//! the sign), because the first digit cannot be written before that is known. `number_shown` does the
//! writing.
//!
//! Reference: PostgreSQL 15's `formatting.c` (`NUMDesc_prepare`, `NUM_numpart_from_char`), in the locale "C",
//! in which `D` is `.`, `G` is `,` and `L` a blank.

use crate::collect::List;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;
use crate::numeric::{self, Numeric};

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `9`
    Nine,
    /// `0`
    Zero,
    /// `.` and `D`
    Point,
    /// `,` and `G`
    Group,
    /// `L`
    Currency,
    /// `RN` (true) and `rn`
    Roman(bool),
    /// `TH` (true) and `th`
    Ordinal(bool),
    /// `MI`
    Minus,
    /// `PL`
    Plus,
    /// `SG`
    Sign,
    /// A part that only changes how others are written: `B`, `C`, `EEEE`, `FM`, `PR`, `S`, `SP`, `V`.
    Silent,
    Literal(char),
}

/// The position of the sign for `S`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Before,
    After,
}

/// A template and its summary.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    pub(super) parts: List<Part>,
    /// Digits before the point, after it, and after `V`.
    pub(super) before: i32,
    pub(super) after: i32,
    pub(super) multiplied: i32,
    pub(super) zero_start: i32,
    pub(super) zero_end: i32,
    pub(super) anchor: Option<Anchor>,
    /// Digits before the `S` that precedes the point.
    pub(super) digits_before_anchor: i32,
    pub(super) has_point: bool,
    pub(super) has_zero: bool,
    pub(super) is_blank: bool,
    pub(super) is_unpadded: bool,
    pub(super) is_bracketed: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    pub(super) is_roman: bool,
    pub(super) is_multiplied: bool,
    pub(super) is_scientific: bool,
}

/// Names of parts in search order; in upper or lower case, not mixed.
const NAMES: [&str; 20] = [
    ",", ".", "0", "9", "B", "C", "D", "EEEE", "FM", "G", "L", "MI", "PL", "PR", "RN", "SG", "SP", "S", "TH",
    "V",
];

fn refused(message: &str) -> Error {
    Error::input(sqlstate::SYNTAX_ERROR, message)
}

impl Template {
    pub(super) fn read(text: &str) -> Result<Template> {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            // The names are compared with the text.
            guest::spend(4)?;
            let begins =
                |name: &&str| rest.starts_with(*name) || rest.starts_with(&name.to_ascii_lowercase());
            if let Some(name) = NAMES.into_iter().find(begins) {
                let is_capital = rest.starts_with(name);
                template.take(name, is_capital)?;
                rest = &rest[name.len()..];
            } else if let Some(quoted) = rest.strip_prefix('"') {
                rest = template.take_quoted(quoted)?;
            } else {
                let literal = rest.strip_prefix('\\').filter(|after| after.starts_with('"'));
                rest = literal.unwrap_or(rest);
                let literal = rest.chars().next().unwrap_or(first);
                template.parts.push(Part::Literal(literal))?;
                rest = &rest[literal.len_utf8()..];
            }
        }
        Ok(template)
    }

    /// Consumes the text up to the closing quote; a backslash makes the next character literal. Returns the
    /// rest.
    fn take_quoted<'t>(&mut self, quoted: &'t str) -> Result<&'t str> {
        let mut characters = quoted.chars();
        while let Some(character) = characters.next() {
            let literal = match character {
                '"' => break,
                '\\' => characters.next().unwrap_or('\\'),
                other => other,
            };
            self.parts.push(Part::Literal(literal))?;
        }
        Ok(characters.as_str())
    }

    /// A part by its name.
    fn take(&mut self, name: &str, is_capital: bool) -> Result<()> {
        if self.is_scientific && name != "EEEE" {
            return Err(refused("\"EEEE\" must be the last pattern used"));
        }
        let part = match name {
            "9" | "0" => self.take_digit(name)?,
            "." | "D" => self.take_point()?,
            "S" | "MI" | "PL" | "SG" | "PR" => self.take_sign(name)?,
            "," | "G" => Part::Group,
            "L" => Part::Currency,
            "TH" => Part::Ordinal(is_capital),
            "RN" => {
                self.is_roman = true;
                Part::Roman(is_capital)
            }
            "B" => {
                self.is_blank |= self.before == 0 && self.after == 0 && !self.has_zero;
                Part::Silent
            }
            "FM" => {
                self.is_unpadded = true;
                Part::Silent
            }
            "V" if self.has_point => return Err(refused("cannot use \"V\" and decimal point together")),
            "V" => {
                self.is_multiplied = true;
                Part::Silent
            }
            "EEEE" => self.take_exponent()?,
            _ => Part::Silent,
        };
        self.parts.push(part)
    }

    fn take_digit(&mut self, name: &str) -> Result<Part> {
        if self.is_bracketed {
            return Err(refused(&format!("\"{name}\" must be ahead of \"PR\"")));
        }
        if name == "9" {
            if self.is_multiplied {
                self.multiplied += 1;
            } else if self.has_point {
                self.after += 1;
            } else {
                self.before += 1;
            }
            return Ok(Part::Nine);
        }
        if !self.has_zero && !self.has_point {
            self.has_zero = true;
            self.zero_start = self.before + 1;
        }
        if self.has_point {
            self.after += 1;
        } else {
            self.before += 1;
        }
        self.zero_end = self.before + self.after;
        Ok(Part::Zero)
    }

    fn take_point(&mut self) -> Result<Part> {
        if self.has_point {
            return Err(refused("multiple decimal points"));
        }
        if self.is_multiplied {
            return Err(refused("cannot use \"V\" and decimal point together"));
        }
        self.has_point = true;
        Ok(Part::Point)
    }

    fn take_sign(&mut self, name: &str) -> Result<Part> {
        let has_anchor = self.anchor.is_some();
        match name {
            "S" => {
                if has_anchor {
                    return Err(refused("cannot use \"S\" twice"));
                }
                if self.has_plus || self.has_minus || self.is_bracketed {
                    return Err(refused("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                self.anchor = Some(if self.has_point { Anchor::After } else { Anchor::Before });
                self.digits_before_anchor = self.before;
                Ok(Part::Silent)
            }
            "PR" => {
                if has_anchor || self.has_plus || self.has_minus {
                    return Err(refused("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.is_bracketed = true;
                Ok(Part::Silent)
            }
            _ if has_anchor => Err(refused(&format!("cannot use \"S\" and \"{name}\" together"))),
            _ => {
                self.has_minus |= name != "PL";
                self.has_plus |= name != "MI";
                Ok(match name {
                    "MI" => Part::Minus,
                    "PL" => Part::Plus,
                    _ => Part::Sign,
                })
            }
        }
    }

    fn take_exponent(&mut self) -> Result<Part> {
        if self.is_scientific {
            return Err(refused("cannot use \"EEEE\" twice"));
        }
        let has_others = self.is_blank
            || self.is_unpadded
            || self.anchor.is_some()
            || self.is_bracketed
            || self.has_minus
            || self.has_plus
            || self.is_roman
            || self.is_multiplied;
        if has_others {
            let detail = "\"EEEE\" may only be used together with digit and decimal point patterns.";
            return Err(refused("\"EEEE\" is incompatible with other formats").with_detail(detail));
        }
        self.is_scientific = true;
        Ok(Part::Silent)
    }
}

/// `to_number`; None without a template.
pub(super) fn to_number(text: &str, template: &str) -> Result<Option<Numeric>> {
    if template.is_empty() {
        return Ok(None);
    }
    let template = Template::read(template)?;
    let unsupported = |name: &str| {
        let message = format!("\"{name}\" not supported for input");
        Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
    };
    if template.is_scientific {
        return unsupported("EEEE");
    }
    if template.is_roman {
        return unsupported("RN");
    }
    // For the digits, and the number's text made of them.
    memory::check(text.len().saturating_mul(3))?;
    let mut reader = Reader {
        template: &template,
        text: text.as_bytes(),
        at: 0,
        sign: b' ',
        digits: Vec::new(),
        read_before: 0,
        read_after: 0,
        has_read_point: false,
    };
    for part in template.parts.iter() {
        guest::spend(1)?;
        if reader.at >= reader.text.len() {
            break;
        }
        reader.read(*part);
    }
    let scale = reader.read_after;
    let precision = template.before + template.multiplied + scale;
    let number = numeric::parse(&reader.written())?;
    let limit = |number: i32| u16::try_from(number).unwrap_or(u16::MAX);
    let number =
        numeric::apply_modifier(&number, limit(precision), i16::try_from(scale).unwrap_or(i16::MAX))?;
    if !template.is_multiplied {
        return Ok(Some(number));
    }
    let unit = numeric::power(&numeric::from_i64(10), &numeric::from_i64(-i64::from(template.multiplied)))?;
    numeric::multiply(&number, &unit).map(Some)
}

/// The state of reading a text by a template.
struct Reader<'t> {
    template: &'t Template,
    text: &'t [u8],
    at: usize,
    /// A blank until a sign has been read.
    sign: u8,
    /// Including the point.
    digits: Vec<u8>,
    read_before: i32,
    read_after: i32,
    has_read_point: bool,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_character(&mut self) {
        self.at += 1;
        while self.byte().is_some_and(|byte| byte & 0xc0 == 0x80) {
            self.at += 1;
        }
    }

    /// Skips this many characters that are not part of a number.
    fn skip_others(&mut self, characters: usize) {
        for _ in 0..characters {
            match self.byte() {
                None | Some(b'0'..=b'9' | b'.' | b',' | b'+' | b'-') => return,
                Some(_) => self.skip_character(),
            }
        }
    }

    /// The sign and the digits as the text of a number.
    fn written(&self) -> String {
        let digits = self.digits.strip_suffix(b".").unwrap_or(&self.digits);
        // Bounded: by the text, for which its reader has asked.
        [&[self.sign], digits].concat().iter().map(|byte| char::from(*byte)).collect()
    }

    fn read(&mut self, part: Part) {
        match part {
            Part::Nine | Part::Zero | Part::Point => {
                self.read_place(part != Part::Point);
                self.at += 1;
            }
            Part::Group => {
                let is_inside = !self.template.is_unpadded;
                if is_inside && self.byte() == Some(b',') {
                    self.at += 1;
                }
            }
            Part::Currency => self.skip_others(1),
            Part::Ordinal(_) => {
                if !self.template.has_point {
                    self.skip_others(2);
                }
            }
            Part::Minus => self.read_sign(b"-"),
            Part::Plus => self.read_sign(b"+"),
            Part::Sign => self.read_sign(b"-+"),
            Part::Literal(_) => self.skip_character(),
            Part::Silent | Part::Roman(_) => {}
        }
    }

    fn read_sign(&mut self, signs: &[u8]) {
        match self.byte() {
            Some(sign) if signs.contains(&sign) => {
                self.sign = sign;
                self.at += 1;
            }
            _ => self.skip_others(1),
        }
    }

    /// Reads a digit or the point, and a sign that precedes the first digit or follows the last. The caller
    /// advances past the position itself.
    fn read_place(&mut self, is_digit: bool) {
        if self.byte() == Some(b' ') {
            self.at += 1;
        }
        if self.sign == b' ' && is_digit && self.read_before + self.read_after == 0 {
            let is_anchored = self.template.anchor == Some(Anchor::Before);
            match self.byte() {
                Some(sign @ (b'-' | b'+')) => {
                    self.sign = sign;
                    self.at += 1;
                }
                Some(b'<') if self.template.is_bracketed && !is_anchored => {
                    self.sign = b'-';
                    self.at += 1;
                }
                _ => {}
            }
        }
        let Some(byte) = self.byte() else { return };
        let mut has_read = false;
        if byte.is_ascii_digit() {
            if self.has_read_point && self.read_after == self.template.after {
                return;
            }
            self.digits.push(byte);
            *(if self.has_read_point { &mut self.read_after } else { &mut self.read_before }) += 1;
            has_read = true;
        } else if self.template.has_point && !self.has_read_point && byte == b'.' {
            self.digits.push(byte);
            self.has_read_point = true;
            has_read = true;
        }
        if self.sign == b' ' && self.read_before + self.read_after > 0 {
            self.read_trailing_sign(byte, has_read);
        }
    }

    /// The exact position of a sign after the number is hard to define: `FM9999.9999999S` reads `123.001-`.
    fn read_trailing_sign(&mut self, byte: u8, has_read: bool) {
        let template = self.template;
        if template.anchor.is_some() && has_read {
            if let Some(sign @ (b'-' | b'+')) = self.text.get(self.at + 1) {
                self.sign = *sign;
                self.at += 1;
            }
        } else if !has_read
            && template.anchor.is_none()
            && (template.has_plus || template.has_minus)
            && matches!(byte, b'-' | b'+')
        {
            self.sign = byte;
        }
    }
}
