//! `to_char` for numbers: the digits are computed first, then written by the template.
//!
//! Digits for which the template has no room become `#`. A position without a digit is a blank, or nothing
//! with `FM`. The sign precedes the first digit, or is at the position that the template gives.
//!
//! Reference: PostgreSQL 15's `formatting.c` (`numeric_to_char` and similar functions, `NUM_processor`,
//! `NUM_numpart_to_char`).

use compact_str::CompactString;

use super::number_template::{Anchor, Part, Template};
use crate::collect::{Bytes, Sink, Text};
use crate::error::Result;
use crate::guest;
use crate::numeric::{self, Numeric};
use crate::text;
use crate::value::{BigDecimal, SqlType, Value};
use crate::{arithmetic, cast};

/// Significant digits that C guarantees for a float.
const REAL_DIGITS: usize = 6;
const DOUBLE_DIGITS: usize = 15;
const LARGEST_ROMAN: i64 = 3999;
/// No number has more digits than this after the first; what the template has beyond it are zeros.
const MOST_PLACES: usize = 150_000;
const MOST_DOUBLE_PLACES: usize = 1100;

/// The text of a number; None for other types.
pub(super) fn shown(value: &Value, template: &str) -> Option<Result<CompactString>> {
    matches!(
        value,
        Value::Numeric(_) | Value::Integer(_) | Value::BigInt(_) | Value::Real(_) | Value::Double(_)
    )
    .then(|| write(value, template))
}

fn write(value: &Value, template: &str) -> Result<CompactString> {
    if template.is_empty() {
        return Ok(CompactString::default());
    }
    let mut template = Template::read(template)?;
    if template.is_roman {
        let number = roman(value)?;
        return Writer::of_roman(&mut template, number)?.written();
    }
    if template.is_scientific {
        return scientific(value, &template);
    }
    let digits = plain_digits(value, &mut template)?;
    Writer::new(&mut template, &digits)?.written()
}

/// The number's text with as many decimal places as the template has, already multiplied for `V`.
fn plain_digits(value: &Value, template: &mut Template) -> Result<String> {
    let multiplied = template.is_multiplied.then_some(i64::from(template.multiplied));
    if multiplied.is_some() {
        template.before += template.multiplied;
    }
    let whole = |number: String, after: i32| match usize::try_from(after).unwrap_or(0) {
        0 => Ok(number),
        zeros => with_zeros(&format!("{number}."), zeros),
    };
    Ok(match value {
        Value::Integer(number) => {
            let factor = multiplied.map_or(1, |places| ten_to(places) as i32);
            whole(number.wrapping_mul(factor).to_string(), template.after)?
        }
        Value::BigInt(number) => {
            let factor = multiplied.map_or(1, |places| ten_to(places) as i64);
            let product = number.checked_mul(factor);
            let product = product.ok_or_else(|| arithmetic::out_of_range(SqlType::BigInt))?;
            whole(product.to_string(), template.after)?
        }
        Value::Double(number) => {
            let number = multiplied.map_or(*number, |places| number * ten_to(places));
            float_digits(number, &format!("{:.0}", number.abs()), DOUBLE_DIGITS, template)
        }
        Value::Real(number) => {
            let number = multiplied.map_or(*number, |places| number * ten_to(places) as f32);
            float_digits(f64::from(number), &format!("{:.0}", number.abs()), REAL_DIGITS, template)
        }
        _ => {
            let Value::Numeric(number) = value else { return Ok(String::new()) };
            let product = match multiplied {
                Some(places) => {
                    let unit = numeric::power(&numeric::from_i64(10), &numeric::from_i64(places))?;
                    numeric::multiply(number, &unit)?
                }
                None => (**number).clone(),
            };
            text_of(&numeric::round(&product, i64::from(template.after))?)?
        }
    })
}

/// The power of ten, rounded to a double.
fn ten_to(places: i64) -> f64 {
    format!("1e{places}").parse().unwrap_or(f64::INFINITY)
}

/// A number's text with zeros after it.
fn with_zeros(number: &str, zeros: usize) -> Result<String> {
    let mut text = Text::with_capacity(number.len().saturating_add(zeros))?;
    text.push_str(number)?;
    text.fill('0', zeros)?;
    Ok(text.finish().into_string())
}

fn text_of(number: &Numeric) -> Result<String> {
    let zone = &jiff::tz::TimeZone::UTC;
    text::shown(&Value::numeric(number.clone()), zone.into()).map(CompactString::into_string)
}

/// Limits the digits to those that the type guarantees.
fn float_digits(number: f64, whole: &str, most: usize, template: &mut Template) -> String {
    let before = if number.is_finite() { whole.len() } else { special_name(number).len() };
    let room = most.saturating_sub(before).min(usize::try_from(template.after).unwrap_or(0));
    template.after = room as i32;
    match number.is_finite() {
        true => format!("{number:.room$}"),
        false if number < 0.0 => format!("-{}", special_name(number)),
        false => special_name(number).to_owned(),
    }
}

fn special_name(number: f64) -> &'static str {
    if number.is_nan() { "NaN" } else { "Infinity" }
}

/// With `EEEE`; what the template has before and after it does not count.
fn scientific(value: &Value, template: &Template) -> Result<CompactString> {
    let all = usize::try_from(template.after).unwrap_or(0);
    let places = all.min(MOST_PLACES);
    let of_double = |number: f64| {
        let places = places.min(MOST_DOUBLE_PLACES);
        let text = format!("{number:.places$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        (mantissa.to_owned(), format!("e{exponent:+03}"), places)
    };
    let of_decimal = |number: &BigDecimal| {
        let text = numeric::finite::scientific(number, places)?;
        let (mantissa, _) = text.split_once('e').unwrap_or((&text, ""));
        Ok((mantissa.to_owned(), text[mantissa.len()..].to_owned(), places))
    };
    let (mantissa, exponent, shown) = match value {
        Value::Double(number) if number.is_finite() => of_double(*number),
        Value::Real(number) if number.is_finite() => of_double(f64::from(*number)),
        Value::Integer(number) => of_double(f64::from(*number)),
        Value::BigInt(number) => of_decimal(&numeric::finite::from_i64(*number))?,
        Value::Numeric(number) => match number.finite() {
            Some(number) => of_decimal(number)?,
            None => (too_wide(template, 6)?, String::new(), all),
        },
        _ => (too_wide(template, 6)?, String::new(), all),
    };
    let room = if mantissa.starts_with(['-', ' ']) { "" } else { " " };
    let number = with_zeros(&format!("{room}{mantissa}"), all - shown)?;
    Ok(CompactString::from(number + &exponent))
}

/// The text for a number for which the template has no room.
fn too_wide(template: &Template, more: i32) -> Result<String> {
    let length = usize::try_from(template.before + template.after + more).unwrap_or(0);
    let point = usize::try_from(template.before).unwrap_or(0) + usize::from(more > 1);
    let mut signs = Text::with_capacity(length)?;
    for place in 0..length {
        signs.push(match place {
            0 if more > 1 => ' ',
            _ if place == point => '.',
            _ => '#',
        })?;
    }
    Ok(signs.finish().into_string())
}

/// The number in Roman numerals, `#` if it has none.
fn roman(value: &Value) -> Result<String> {
    const ONES: [&str; 10] = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"];
    const TENS: [&str; 10] = ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"];
    const HUNDREDS: [&str; 10] = ["", "C", "CC", "CCC", "CD", "D", "DC", "DCC", "DCCC", "CM"];
    let number = match value {
        Value::Double(number) => number.round_ties_even() as i64,
        Value::Real(number) => number.round_ties_even() as i64,
        other => {
            let whole = cast::cast(other.clone(), SqlType::Integer, true, &jiff::tz::TimeZone::UTC)?;
            whole.as_i64().unwrap_or(0)
        }
    };
    if !(1..=LARGEST_ROMAN).contains(&number) {
        // Bounded: by the largest Roman numeral.
        return Ok("#".repeat(15));
    }
    let digit = |unit: i64| usize::try_from(number / unit % 10).unwrap_or(0);
    // Bounded: by the largest Roman numeral.
    let thousands = "M".repeat(digit(1000));
    // Bounded: by the largest Roman numeral.
    Ok([&thousands, HUNDREDS[digit(100)], TENS[digit(10)], ONES[digit(1)]].concat())
}

/// The state of writing a number by a template.
struct Writer<'t> {
    template: &'t Template,
    /// Without its sign, with its decimal point.
    number: Vec<u8>,
    is_negative: bool,
    out: Text,
    /// Where it ends, if before its last digit.
    cut: Option<usize>,
    /// The number of digits written.
    at: usize,
    /// The last digit that is written with `FM`, which is the last significant one, or the point.
    last_relevant: Option<usize>,
    /// The number of blanks by which the number is shorter than the template.
    blanks: i32,
    /// The positions of the template, and those already processed.
    places: i32,
    current: i32,
    has_sign: bool,
    is_inside: bool,
    /// Bounds and signs, adapted to the number.
    zero_start: i32,
    is_bracketed: bool,
    anchor: Option<Anchor>,
}

impl<'t> Writer<'t> {
    fn of_roman(template: &'t mut Template, number: String) -> Result<Writer<'t>> {
        *template = Template {
            parts: std::mem::take(&mut template.parts),
            is_unpadded: template.is_unpadded,
            is_roman: true,
            ..Template::default()
        };
        let mut writer = Writer::new(template, "")?;
        writer.number = number.into_bytes();
        Ok(writer)
    }

    fn new(template: &'t mut Template, digits: &str) -> Result<Writer<'t>> {
        let is_negative = digits.starts_with('-');
        let digits = digits.trim_start_matches('-');
        let mut number = Bytes::with_capacity(digits.len())?;
        number.put(digits.as_bytes())?;
        let mut number = number.into_vec();
        let before = number.iter().position(|byte| *byte == b'.').unwrap_or(number.len());
        let blanks = (template.before - before as i32).max(0);
        if before as i32 > template.before && !template.is_roman {
            number = too_wide(template, 1)?.into_bytes();
        }
        let mut writer = Writer {
            is_negative,
            out: Text::default(),
            cut: None,
            at: 0,
            last_relevant: None,
            blanks,
            places: template.after + template.before - 1,
            current: 0,
            has_sign: false,
            is_inside: false,
            zero_start: template.zero_start - i32::from(template.zero_start > 0),
            is_bracketed: template.is_bracketed,
            anchor: template.anchor,
            template,
            number,
        };
        writer.place_sign();
        writer.find_last_relevant();
        if !writer.has_sign && writer.blanks == 0 {
            writer.places += 1;
        }
        Ok(writer)
    }

    fn place_sign(&mut self) {
        let template = self.template;
        if template.has_plus || template.has_minus {
            self.has_sign = template.has_minus || !template.has_plus;
            return;
        }
        if !self.is_negative && self.is_bracketed && template.is_unpadded {
            self.is_bracketed = false;
        }
        self.has_sign = !self.is_negative && template.is_unpadded && self.anchor.is_none();
        if self.anchor == Some(Anchor::Before) && template.before == template.digits_before_anchor {
            self.anchor = Some(Anchor::After);
        }
    }

    fn find_last_relevant(&mut self) {
        if !self.template.is_unpadded || !self.template.has_point {
            return;
        }
        let Some(point) = self.number.iter().position(|byte| *byte == b'.') else { return };
        let last = self.number.iter().rposition(|byte| *byte != b'0').unwrap_or(point).max(point);
        // Digits at a 0 of the template are always written.
        let kept = self.template.zero_end - self.blanks;
        let kept = usize::try_from(kept).unwrap_or(0).min(self.number.len() - 1);
        self.last_relevant = Some(last.max(kept));
    }

    fn written(mut self) -> Result<CompactString> {
        let template = self.template;
        for part in template.parts.iter() {
            guest::spend(1)?;
            self.write(*part)?;
        }
        self.out.truncate(self.cut.unwrap_or(usize::MAX));
        Ok(self.out.finish())
    }

    fn write(&mut self, part: Part) -> Result<()> {
        let is_unpadded = self.template.is_unpadded;
        match part {
            Part::Nine | Part::Zero | Part::Point if self.template.is_roman => Ok(()),
            Part::Nine | Part::Zero | Part::Point => self.write_place(part == Part::Zero),
            Part::Group if self.is_inside => self.out.push(','),
            Part::Group => self.push_blank(),
            Part::Currency => self.out.push(' '),
            Part::Roman(is_capital) => {
                let number = String::from_utf8_lossy(&self.number).into_owned();
                let number = if is_capital { number } else { number.to_ascii_lowercase() };
                let width = if is_unpadded { 0 } else { 15 };
                self.out.push_str(&format!("{number:>width$}"))
            }
            Part::Ordinal(is_capital) => self.write_ordinal(is_capital),
            Part::Minus if self.is_negative => self.out.push('-'),
            Part::Plus if !self.is_negative => self.out.push('+'),
            Part::Minus | Part::Plus => self.push_blank(),
            Part::Sign => self.out.push(self.sign()),
            Part::Silent => Ok(()),
            Part::Literal(character) => self.out.push(character),
        }
    }

    fn sign(&self) -> char {
        if self.is_negative { '-' } else { '+' }
    }

    /// Writes nothing with `FM`.
    fn push_blank(&mut self) -> Result<()> {
        if self.template.is_unpadded { Ok(()) } else { self.out.push(' ') }
    }

    fn write_ordinal(&mut self, is_capital: bool) -> Result<()> {
        let template = self.template;
        if template.is_roman || template.has_point || self.is_negative || self.number.first() == Some(&b'#') {
            return Ok(());
        }
        let mut last = self.number.iter().rev();
        let (last, is_teen) = (last.next(), last.next() == Some(&b'1'));
        let end = match last {
            Some(b'1') if !is_teen => "st",
            Some(b'2') if !is_teen => "nd",
            Some(b'3') if !is_teen => "rd",
            _ => "th",
        };
        let end = if is_capital { end.to_ascii_uppercase() } else { end.to_owned() };
        self.out.push_str(&end)
    }

    fn ends_in_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.number.get(last) == Some(&b'.'))
    }

    /// The zero before the point of a number below 1, if the template has no 0 there.
    fn is_idle_zero(&self) -> bool {
        let template = self.template;
        !template.has_zero && self.at == 0 && self.number.first() == Some(&b'0') && template.after != 0
    }

    fn write_sign(&mut self) -> Result<()> {
        match self.anchor {
            Some(Anchor::After) => return Ok(()),
            Some(Anchor::Before) => self.out.push(self.sign())?,
            None if self.is_bracketed => self.out.push(if self.is_negative { '<' } else { ' ' })?,
            None if self.is_negative => self.out.push('-')?,
            None => self.push_blank()?,
        }
        self.has_sign = true;
        Ok(())
    }

    fn write_place(&mut self, is_zero: bool) -> Result<()> {
        let template = self.template;
        self.is_inside = false;
        let begins = self.current >= self.blanks || (template.has_zero && self.zero_start == self.current);
        if !self.has_sign && begins && (!self.is_idle_zero() || self.ends_in_point()) {
            self.write_sign()?;
        }
        if self.current < self.blanks && (self.zero_start > self.current || !template.has_zero) {
            self.push_blank()?;
        } else if self.current < self.blanks {
            self.out.push('0')?;
            self.is_inside = true;
        } else {
            self.write_digit(is_zero)?;
        }
        let mut end = self.places + i32::from(self.blanks > 0) + i32::from(template.has_point);
        if self.last_relevant == Some(self.at) {
            end = self.current;
        }
        if self.current + 1 == end {
            if self.has_sign && self.is_bracketed {
                self.out.push(if self.is_negative { '>' } else { ' ' })?;
            } else if self.anchor == Some(Anchor::After) {
                self.out.push(self.sign())?;
            }
        }
        self.current += 1;
        Ok(())
    }

    fn write_digit(&mut self, is_zero: bool) -> Result<()> {
        // A float may have fewer digits than the template. PostgreSQL's text ends there.
        let byte = self.number.get(self.at).copied().unwrap_or(0);
        if byte == b'.' {
            self.out.push('.')?;
        } else if self.last_relevant.is_some_and(|last| self.at > last) && !is_zero {
            // Trailing zeros are left out.
        } else if self.is_idle_zero() {
            if !self.template.is_unpadded {
                self.out.push(' ')?;
            } else if self.ends_in_point() {
                self.out.push('0')?;
            }
        } else {
            if byte == 0 {
                self.cut = self.cut.or(Some(self.out.len()));
            }
            self.out.push(char::from(byte))?;
            self.is_inside = true;
        }
        self.at += usize::from(byte != 0);
        Ok(())
    }
}
