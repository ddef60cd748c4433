//! Intervals from text and as text.
//!
//! A text is read as in PostgreSQL: split into fields ([`super::fields`]) that are decoded from the last to
//! the first, so that a unit is known before its number. A text that cannot be read in that way may still be
//! in the format of ISO 8601 (`P1Y2M3DT4H5M6S`, `P0001-02-03T04:05:06`). Fractions of units larger than a
//! second go to smaller ones, in floating point, with PostgreSQL's rounding.
//!
//! The output has PostgreSQL's style `postgres`: `1 year 2 mons 3 days 04:05:06.7`. The other styles are in
//! [`super::styled_text`].
//!
//! Reference: `DecodeInterval`, `DecodeISO8601Interval` and `EncodeInterval` of PostgreSQL 15's datetime.c.

use super::decode::{fraction, leading_long, leading_number, microseconds};
use super::fields::{Fields, INTERVAL_ROOM, Look};
use super::unit::unit_named;
use super::{MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND};
use crate::error::{Error, Result, SqlState, sqlstate};
use crate::interval::{
    DAYS_PER_MONTH, Interval, IntervalFields, IntervalModifier, MONTHS_PER_YEAR, out_of_range,
};
use crate::text::IntervalForm;
use crate::text::pieces::{write_fraction, write_integer, write_padded};

const INTERVAL_FIELD_OVERFLOW: SqlState = SqlState("22015");

/// The reason why a text is not an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Syntax,
    /// A field exceeds its limits.
    Field,
}

type Decoded<T> = std::result::Result<T, Problem>;

/// Reads an `interval`. The modifier gives the unit of a number without one, and the fields to keep.
pub fn parse_interval(text: &str, modifier: IntervalModifier, form: IntervalForm) -> Result<Interval> {
    let decoded = match decode(text, modifier.fields, form) {
        Err(Problem::Syntax) => decode_iso(text),
        decoded => decoded,
    };
    let sum = decoded.map_err(|problem| match problem {
        Problem::Syntax => {
            let message = format!("invalid input syntax for type interval: \"{text}\"");
            Error::input(sqlstate::INVALID_DATETIME_FORMAT, message)
        }
        Problem::Field => {
            let message = format!("interval field value out of range: \"{text}\"");
            Error::input(INTERVAL_FIELD_OVERFLOW, message)
        }
    })?;
    let months = i64::from(sum.years) * i64::from(MONTHS_PER_YEAR) + i64::from(sum.months);
    let months = i32::try_from(months).map_err(|_| out_of_range())?;
    Ok(Interval { months, days: sum.days, microseconds: sum.microseconds }.fit(modifier))
}

/// The sum of the fields read so far.
#[derive(Default)]
struct Sum {
    years: i32,
    months: i32,
    days: i32,
    microseconds: i64,
}

/// A number in a text: its integer part, and its fraction.
#[derive(Clone, Copy)]
struct Number {
    whole: i64,
    fraction: f64,
}

impl Number {
    fn of(whole: i64) -> Number {
        Number { whole, fraction: 0.0 }
    }
}

/// Adds `count` times `unit`.
fn add_units(sum: &mut i32, count: i64, unit: i32) -> Decoded<()> {
    let product = i32::try_from(count).ok().and_then(|count| count.checked_mul(unit));
    *sum = product.and_then(|product| sum.checked_add(product)).ok_or(Problem::Field)?;
    Ok(())
}

impl Sum {
    /// Adds this many units, whose length is in microseconds.
    fn add_time(&mut self, number: Number, unit: i64) -> Decoded<()> {
        let product = number.whole.checked_mul(unit);
        let sum = product.and_then(|product| self.microseconds.checked_add(product));
        self.microseconds = sum.ok_or(Problem::Field)?;
        self.add_part_of_time(number.fraction, unit)
    }

    /// Adds a fraction of a unit, whose length is in microseconds.
    fn add_part_of_time(&mut self, fraction: f64, unit: i64) -> Decoded<()> {
        let exact = fraction * unit as f64;
        let mut whole = exact as i64;
        let rest = exact - whole as f64;
        if rest > 0.5 {
            whole += 1;
        } else if rest < -0.5 {
            whole -= 1;
        }
        self.microseconds = self.microseconds.checked_add(whole).ok_or(Problem::Field)?;
        Ok(())
    }

    fn add_part_of_days(&mut self, fraction: f64, unit: i32) -> Decoded<()> {
        let exact = fraction * f64::from(unit);
        let whole = exact as i32;
        self.days = self.days.checked_add(whole).ok_or(Problem::Field)?;
        self.add_part_of_time(exact - f64::from(whole), MICROSECONDS_PER_DAY)
    }

    fn add_days(&mut self, number: Number) -> Decoded<()> {
        add_units(&mut self.days, number.whole, 1)?;
        self.add_part_of_time(number.fraction, MICROSECONDS_PER_DAY)
    }

    fn add_weeks(&mut self, number: Number) -> Decoded<()> {
        const DAYS_PER_WEEK: i32 = 7;
        add_units(&mut self.days, number.whole, DAYS_PER_WEEK)?;
        self.add_part_of_days(number.fraction, DAYS_PER_WEEK)
    }

    fn add_months(&mut self, number: Number) -> Decoded<()> {
        add_units(&mut self.months, number.whole, 1)?;
        self.add_part_of_days(number.fraction, DAYS_PER_MONTH)
    }

    /// Adds this many times `unit` years.
    fn add_years(&mut self, number: Number, unit: i32) -> Decoded<()> {
        add_units(&mut self.years, number.whole, unit)?;
        let months = number.fraction * f64::from(unit) * f64::from(MONTHS_PER_YEAR);
        add_units(&mut self.months, months.round_ties_even() as i64, 1)
    }

    /// Adds this many of a unit; returns the units that this counts as, to detect duplicates.
    fn add(&mut self, number: Number, unit: &str) -> Decoded<u32> {
        match unit {
            "microseconds" => self.add_time(number, 1)?,
            "milliseconds" => self.add_time(number, 1000)?,
            "second" => {
                self.add_time(number, MICROSECONDS_PER_SECOND)?;
                return Ok(if number.fraction == 0.0 { found::SECOND } else { found::SECONDS });
            }
            "minute" => self.add_time(number, MICROSECONDS_PER_MINUTE)?,
            "hour" => self.add_time(number, MICROSECONDS_PER_HOUR)?,
            "day" => self.add_days(number)?,
            "week" => self.add_weeks(number)?,
            "month" => self.add_months(number)?,
            "year" => self.add_years(number, 1)?,
            "decade" => self.add_years(number, 10)?,
            "century" => self.add_years(number, 100)?,
            "millennium" => self.add_years(number, 1000)?,
            _ => return Err(Problem::Syntax),
        }
        found::of(unit).ok_or(Problem::Syntax)
    }

    /// `HH:MM`, `HH:MM:SS`, `MM:SS.f`, `HH:MM:SS.f`, any number of hours.
    fn set_time(&mut self, text: &str, fields: Option<IntervalFields>) -> Decoded<()> {
        let number = |text| leading_number(text).map_err(|()| Problem::Field);
        let narrow = |hour| i32::try_from(hour).map(i64::from).map_err(|_| Problem::Field);
        let (mut hour, rest) = leading_long(text).map_err(|()| Problem::Field)?;
        let (mut minute, rest) = number(rest.strip_prefix(':').ok_or(Problem::Syntax)?)?;
        let (mut second, mut microsecond) = (0, 0);
        let fraction_of = |text| microseconds(text).map_err(|_| Problem::Syntax);
        if rest.starts_with('.') {
            microsecond = fraction_of(rest)?;
            (hour, minute, second) = (0, narrow(hour)?, minute);
        } else if let Some(after) = rest.strip_prefix(':') {
            let (third, rest) = number(after)?;
            second = third;
            if !rest.is_empty() {
                microsecond = fraction_of(rest)?;
            }
        } else if !rest.is_empty() {
            return Err(Problem::Syntax);
        } else if fields == Some(IntervalFields::MinuteToSecond) {
            (hour, minute, second) = (0, narrow(hour)?, minute);
        }
        if hour < 0 || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
            return Err(Problem::Field);
        }
        self.microseconds = microsecond;
        self.add_time(Number::of(hour), MICROSECONDS_PER_HOUR)?;
        self.add_time(Number::of(minute), MICROSECONDS_PER_MINUTE)?;
        self.add_time(Number::of(second), MICROSECONDS_PER_SECOND)
    }

    fn negate(&mut self) -> Decoded<()> {
        let negated = || {
            Some(Sum {
                years: self.years.checked_neg()?,
                months: self.months.checked_neg()?,
                days: self.days.checked_neg()?,
                microseconds: self.microseconds.checked_neg()?,
            })
        };
        *self = negated().ok_or(Problem::Field)?;
        Ok(())
    }
}

/// Units that have been found, since no unit may occur twice.
mod found {
    const UNITS: [&str; 12] = [
        "microseconds",
        "milliseconds",
        "second",
        "minute",
        "hour",
        "day",
        "week",
        "month",
        "year",
        "decade",
        "century",
        "millennium",
    ];
    pub(super) const SECOND: u32 = 1 << 2;
    /// With a fraction, which also counts as milliseconds and microseconds.
    pub(super) const SECONDS: u32 = SECOND | 1 << 1 | 1;
    /// Hours, minutes and seconds.
    pub(super) const TIME: u32 = SECONDS | 1 << 3 | 1 << 4;

    pub(super) fn of(unit: &str) -> Option<u32> {
        UNITS.iter().position(|known| *known == unit).map(|place| 1 << place)
    }
}

fn decode(text: &str, modifier: Option<IntervalFields>, form: IntervalForm) -> Decoded<Sum> {
    let fields = Fields::of(text, INTERVAL_ROOM).ok_or(Problem::Syntax)?;
    // The standard's sign is that of all fields, if no other field has one.
    let is_negative = form == IntervalForm::SqlStandard
        && fields.len() > 0
        && fields.text(0).starts_with('-')
        && (1..fields.len()).all(|index| !fields.text(index).starts_with(['-', '+']));
    let mut sum = Sum::default();
    let mut found_so_far = 0;
    let mut is_ago = false;
    // The unit of the number that comes before.
    let mut unit: Option<&str> = None;
    for index in (0..fields.len()).rev() {
        let text = fields.text(index);
        let found = match fields.look(index) {
            Some(Look::Time) => {
                sum.set_time(text, modifier)?;
                unit = Some("day");
                found::TIME
            }
            Some(Look::Offset) if text.contains(':') && signed_time(&mut sum, text, modifier)? => {
                unit = Some("day");
                found::TIME
            }
            Some(Look::Offset | Look::Date | Look::Number) => {
                let is_years_and_months = text.trim_start_matches('-').contains('-');
                let mut number = number(text)?;
                if is_negative && number.whole >= 0 {
                    number = Number { whole: -number.whole, fraction: -number.fraction.abs() };
                }
                let of_modifier = || modifier.map_or("second", |fields| fields.smallest().name());
                let own = if is_years_and_months { "month" } else { unit.unwrap_or_else(of_modifier) };
                // The number before hours is days.
                unit = Some(if own == "hour" { "day" } else { own });
                sum.add(number, own)?
            }
            _ if text == "ago" => {
                is_ago = true;
                unit = Some("");
                0
            }
            _ => {
                unit = Some(unit_named(text).ok_or(Problem::Syntax)?);
                0
            }
        };
        if found & found_so_far != 0 {
            return Err(Problem::Syntax);
        }
        if is_negative && found == found::TIME && sum.microseconds > 0 {
            sum.microseconds = -sum.microseconds;
        }
        found_so_far |= found;
    }
    if found_so_far == 0 {
        return Err(Problem::Syntax);
    }
    if is_ago {
        sum.negate()?;
    }
    Ok(sum)
}

/// `-04:05`: false, with nothing changed, if it is not a time.
fn signed_time(sum: &mut Sum, text: &str, modifier: Option<IntervalFields>) -> Decoded<bool> {
    let mut time = Sum::default();
    if time.set_time(&text[1..], modifier).is_err() {
        return Ok(false);
    }
    let microseconds = time.microseconds;
    let is_negative = text.starts_with('-');
    sum.microseconds =
        if is_negative { microseconds.checked_neg().ok_or(Problem::Field)? } else { microseconds };
    Ok(true)
}

/// `1`, `-1.5`, or years and months as `1-2`, in months.
fn number(text: &str) -> Decoded<Number> {
    let (whole, rest) = leading_long(text).map_err(|()| Problem::Field)?;
    let is_negative = text.starts_with('-');
    if let Some(months) = rest.strip_prefix('-') {
        let (months, rest) = leading_number(months).map_err(|()| Problem::Field)?;
        if !(0..i64::from(MONTHS_PER_YEAR)).contains(&months) {
            return Err(Problem::Field);
        }
        if !rest.is_empty() {
            return Err(Problem::Syntax);
        }
        let months = if is_negative { -months } else { months };
        let whole = whole.checked_mul(i64::from(MONTHS_PER_YEAR)).and_then(|years| years.checked_add(months));
        return Ok(Number::of(whole.ok_or(Problem::Field)?));
    }
    if rest.is_empty() {
        return Ok(Number::of(whole));
    }
    let fraction = fraction(rest).ok_or(Problem::Syntax)?;
    Ok(Number { whole, fraction: if is_negative { -fraction } else { fraction } })
}

/// The text after `P`, and the state of reading it.
struct IsoReader<'a> {
    rest: &'a str,
    sum: Sum,
    /// Whether `T` has been read.
    is_in_time: bool,
    /// Whether a number has been read in this half.
    has_field: bool,
}

fn decode_iso(text: &str) -> Decoded<Sum> {
    let Some(rest) = text.strip_prefix('P').filter(|rest| !rest.is_empty()) else {
        return Err(Problem::Syntax);
    };
    let mut reader = IsoReader { rest, sum: Sum::default(), is_in_time: false, has_field: false };
    while !reader.rest.is_empty() {
        if reader.begins_time() {
            continue;
        }
        if reader.is_in_time { reader.time()? } else { reader.date()? }
    }
    Ok(reader.sum)
}

impl<'a> IsoReader<'a> {
    /// Consumes a `T`.
    fn begins_time(&mut self) -> bool {
        let Some(rest) = self.rest.strip_prefix('T') else { return false };
        (self.rest, self.is_in_time, self.has_field) = (rest, true, false);
        true
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest.strip_prefix(wanted);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// A number, and how many digits its whole part has.
    fn number(&mut self) -> Decoded<(Number, usize)> {
        let is_part = |character: char| character.is_ascii_digit() || character == '.';
        let unsigned = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let mut end = self.rest.len() - unsigned.len()
            + unsigned.find(|character| !is_part(character)).unwrap_or(unsigned.len());
        if let Some(exponent) = exponent_length(&self.rest[end..]) {
            end += exponent;
        }
        let (text, rest): (&'a str, &'a str) = self.rest.split_at(end);
        let value: f64 = text.parse().map_err(|_| Problem::Syntax)?;
        if value.abs() > 1e15 {
            return Err(Problem::Field);
        }
        self.rest = rest;
        let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        Ok((Number { whole: value.trunc() as i64, fraction: value - value.trunc() }, digits))
    }

    /// A number of the date: with its unit, or the whole alternative form.
    fn date(&mut self) -> Decoded<()> {
        let (number, digits) = self.number()?;
        let is_last = self.rest.is_empty() || self.rest.starts_with('T');
        if is_last && digits == 8 && !self.has_field {
            self.sum.add_years(Number::of(number.whole / 10_000), 1)?;
            self.sum.add_months(Number::of(number.whole / 100 % 100))?;
            return self.sum.add_days(Number { whole: number.whole % 100, ..number });
        }
        if is_last || self.rest.starts_with('-') {
            return self.alternative_date(number);
        }
        match self.unit() {
            'Y' => self.sum.add_years(number, 1)?,
            'M' => self.sum.add_months(number)?,
            'W' => self.sum.add_weeks(number)?,
            'D' => self.sum.add_days(number)?,
            _ => return Err(Problem::Syntax),
        }
        self.has_field = true;
        Ok(())
    }

    /// `YYYY-MM-DD`, whose year has been read.
    fn alternative_date(&mut self, year: Number) -> Decoded<()> {
        if self.has_field {
            return Err(Problem::Syntax);
        }
        self.sum.add_years(year, 1)?;
        if self.take('-') {
            let (months, _) = self.number()?;
            self.sum.add_months(months)?;
            if self.take('-') {
                let (days, _) = self.number()?;
                self.sum.add_days(days)?;
            }
        }
        let is_end = self.rest.is_empty() || self.rest.starts_with('T');
        if is_end { Ok(()) } else { Err(Problem::Syntax) }
    }

    fn time(&mut self) -> Decoded<()> {
        let (number, digits) = self.number()?;
        if self.rest.is_empty() && digits == 6 && !self.has_field {
            self.sum.add_time(Number::of(number.whole / 10_000), MICROSECONDS_PER_HOUR)?;
            self.sum.add_time(Number::of(number.whole / 100 % 100), MICROSECONDS_PER_MINUTE)?;
            self.sum.add_time(Number::of(number.whole % 100), MICROSECONDS_PER_SECOND)?;
            return self.sum.add_part_of_time(number.fraction, 1);
        }
        if self.rest.is_empty() || self.rest.starts_with(':') {
            return self.alternative_time(number);
        }
        match self.unit() {
            'H' => self.sum.add_time(number, MICROSECONDS_PER_HOUR)?,
            'M' => self.sum.add_time(number, MICROSECONDS_PER_MINUTE)?,
            'S' => self.sum.add_time(number, MICROSECONDS_PER_SECOND)?,
            _ => return Err(Problem::Syntax),
        }
        self.has_field = true;
        Ok(())
    }

    /// `HH:MM:SS`, whose hours have been read.
    fn alternative_time(&mut self, hours: Number) -> Decoded<()> {
        if self.has_field {
            return Err(Problem::Syntax);
        }
        self.sum.add_time(hours, MICROSECONDS_PER_HOUR)?;
        for unit in [MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND] {
            if self.take(':') {
                let (number, _) = self.number()?;
                self.sum.add_time(number, unit)?;
            }
        }
        if self.rest.is_empty() { Ok(()) } else { Err(Problem::Syntax) }
    }

    fn unit(&mut self) -> char {
        let mut characters = self.rest.chars();
        let unit = characters.next().unwrap_or_default();
        self.rest = characters.as_str();
        unit
    }
}

/// The length of `e+10` at the beginning of a text, in bytes.
fn exponent_length(text: &str) -> Option<usize> {
    let after = text.strip_prefix(['e', 'E'])?;
    let digits = after.strip_prefix(['+', '-']).unwrap_or(after);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    (count > 0).then(|| text.len() - digits.len() + count)
}

/// `1 year 2 mons 3 days 04:05:06.7`. A part after a negative one shows its sign.
pub fn write_interval(interval: Interval, out: &mut Vec<u8>) {
    let start = out.len();
    let mut is_after_negative = false;
    let parts = [
        (interval.months / MONTHS_PER_YEAR, "year"),
        (interval.months % MONTHS_PER_YEAR, "mon"),
        (interval.days, "day"),
    ];
    for (count, unit) in parts.into_iter().filter(|(count, _)| *count != 0) {
        if out.len() > start {
            out.push(b' ');
        }
        if is_after_negative && count > 0 {
            out.push(b'+');
        }
        write_integer(i64::from(count), out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if count != 1 {
            out.push(b's');
        }
        is_after_negative = count < 0;
    }
    if out.len() > start && interval.microseconds == 0 {
        return;
    }
    if out.len() > start {
        out.push(b' ');
    }
    if interval.microseconds < 0 {
        out.push(b'-');
    } else if is_after_negative {
        out.push(b'+');
    }
    write_span(interval.microseconds, out);
}

/// `HH:MM:SS[.ffffff]` of a time without its sign.
fn write_span(microseconds: i64, out: &mut Vec<u8>) {
    let part = |unit: i64| (microseconds / unit).abs();
    write_padded(part(MICROSECONDS_PER_HOUR), 2, out);
    for number in [part(MICROSECONDS_PER_MINUTE) % 60, part(MICROSECONDS_PER_SECOND) % 60] {
        out.push(b':');
        write_padded(number, 2, out);
    }
    write_fraction((microseconds % MICROSECONDS_PER_SECOND).abs(), out);
}
