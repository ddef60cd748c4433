//! `to_date` and `to_timestamp`: reading a text by a template.
//!
//! The template has the fields of `to_char`. First every field consumes its part of the text and yields a
//! number ([`Found`]). Then a day and a time are computed from the numbers that were found. Reading is
//! tolerant, as in PostgreSQL: separators may differ and there may be more blanks, unless the template
//! contains `FX`.
//!
//! Reference: PostgreSQL 15's `formatting.c` (`DCH_from_char`, `do_to_timestamp`).

use super::template::{self, MONTHS, ROMAN_MONTHS, WEEKDAYS};
use super::{Function, mismatch};
use crate::collect::List;
use crate::datetime::{
    self, CivilDate, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
    MICROSECONDS_PER_SECOND, civil_from_days, days_from_civil, month_days,
};
use crate::environment::Environment;
use crate::error::{Error, Result, SqlState, sqlstate};
use crate::guest;
use crate::value::Value;

use super::time::iso_weekday;

const INVALID_TIME_ZONE_DISPLACEMENT: SqlState = SqlState("22009");
const DAYS_JULIAN_TO_2000: i64 = 2_451_545;

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let [Value::Text(text), Value::Text(template)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    let found = Reader::new(text, template)?.read()?;
    let local = found.date_and_time(text)?;
    let days = days_of(local.date, local.month);
    if function == Function::ToDate {
        return match i32::try_from(days).ok().filter(|days| datetime::is_valid_date(*days)) {
            Some(days) => Ok(Value::Date(days)),
            None => Err(overflow(format!("date out of range: \"{text}\""))),
        };
    }
    let out_of_range = datetime::timestamp_out_of_range;
    let local = days.checked_mul(MICROSECONDS_PER_DAY).and_then(|midnight| midnight.checked_add(local.time));
    let local = local.ok_or_else(out_of_range)?;
    let instant = match found.zone {
        Some(seconds) => local.checked_sub(seconds * MICROSECONDS_PER_SECOND).ok_or_else(out_of_range)?,
        None => datetime::local_to_utc(local, &environment.time_zone)?,
    };
    if !datetime::is_valid_timestamp(instant) {
        return Err(out_of_range());
    }
    datetime::round_timestamp(instant, found.precision).map(Value::TimestampTz)
}

fn days_of(date: CivilDate, month: i64) -> i64 {
    days_from_civil(date.year, u8::try_from(month).unwrap_or(1), date.day)
}

fn overflow(message: String) -> Error {
    Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, message)
}

fn field_overflow(text: &str) -> Error {
    overflow(format!("date/time field value out of range: \"{text}\""))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::input(sqlstate::INVALID_DATETIME_FORMAT, message.into())
}

/// An element of a template.
enum Node<'t> {
    /// A field: its text, its name, and whether it has `FM` before it or `TH` after it.
    Field {
        shown: &'t str,
        name: &'static str,
        is_filled: bool,
        is_ordinal: bool,
    },
    /// A blank, or another separator between fields.
    Separator,
    Literal(char),
}

fn nodes(template: &str) -> Result<Vec<Node<'_>>> {
    let mut nodes = List::default();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        guest::spend(1)?;
        let prefix = ["FM", "fm", "TM", "tm"].into_iter().find(|prefix| rest.starts_with(prefix));
        let after = prefix.map_or(rest, |_| &rest[2..]);
        if let Some((name, _, length)) = template::field_at(after) {
            let shown = &after[..length];
            rest = &after[length..];
            let is_ordinal = rest.starts_with("TH") || rest.starts_with("th");
            let has_spelling = rest.starts_with("SP") || rest.starts_with("sp");
            rest = if is_ordinal || has_spelling { &rest[2..] } else { rest };
            let is_filled = prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("FM"));
            nodes.push(Node::Field { shown, name, is_filled, is_ordinal })?;
        } else if prefix.is_some() {
            rest = after;
        } else if let Some(quoted) = rest.strip_prefix('"') {
            rest = take_quoted(quoted, &mut nodes)?;
        } else {
            let literal = rest.strip_prefix('\\').filter(|after| after.starts_with('"'));
            rest = literal.unwrap_or(rest);
            let is_separator = literal.is_none() && (first.is_ascii_punctuation() || is_space(first));
            let literal = rest.chars().next().unwrap_or(first);
            let is_separator = is_separator || literal == '"';
            nodes.push(if is_separator { Node::Separator } else { Node::Literal(literal) })?;
            rest = &rest[literal.len_utf8()..];
        }
    }
    Ok(nodes.into_vec())
}

fn take_quoted<'t>(quoted: &'t str, nodes: &mut List<Node<'_>>) -> Result<&'t str> {
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => nodes.push(Node::Literal(characters.next().unwrap_or('\\')))?,
            other => nodes.push(Node::Literal(other))?,
        }
    }
    Ok(characters.as_str())
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

/// Whether a field consists of digits.
fn is_of_digits(name: &str) -> bool {
    !matches!(
        name,
        "A.D."
            | "A.M."
            | "AD"
            | "AM"
            | "B.C."
            | "BC"
            | "P.M."
            | "PM"
            | "DAY"
            | "DY"
            | "FX"
            | "MONTH"
            | "MON"
            | "OF"
            | "RM"
            | "TZH"
            | "TZ"
    )
}

/// The two calendars whose fields must not be mixed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Calendar {
    Gregorian,
    Weeks,
}

fn calendar_of(name: &str) -> Option<Calendar> {
    match name {
        "IDDD" | "ID" | "IW" | "IYYY" | "IYY" | "IY" | "I" => Some(Calendar::Weeks),
        "DDD" | "DD" | "D" | "MM" | "MONTH" | "MON" | "RM" | "WW" | "W" | "Y,YYY" | "YYYY" | "YYY" | "YY"
        | "Y" => Some(Calendar::Gregorian),
        _ => None,
    }
}

/// The values of the fields; 0 for missing ones.
#[derive(Default)]
struct Found {
    calendar: Option<Calendar>,
    hour: i64,
    is_half_day: bool,
    is_afternoon: i64,
    minute: i64,
    second: i64,
    second_of_day: i64,
    millisecond: i64,
    microsecond: i64,
    /// For `FF1` to `FF6`.
    precision: Option<u8>,
    /// Counted from Sunday, which is 1.
    weekday: i64,
    day: i64,
    day_of_year: i64,
    month: i64,
    year: i64,
    year_digits: u8,
    is_before_christ: i64,
    week: i64,
    week_of_month: i64,
    century: i64,
    julian: i64,
    zone_sign: i64,
    zone_hour: i64,
    zone_minute: i64,
    /// Seconds east of Greenwich.
    zone: Option<i64>,
}

/// The state of reading a text by a template.
struct Reader<'t> {
    nodes: Vec<Node<'t>>,
    text: &'t str,
    /// The unread part of the text.
    rest: &'t str,
    /// Skipped blanks and separators that are not in the template.
    skipped: i64,
    is_exact: bool,
    found: Found,
}

/// Stores the number of a field, unless another field contradicts it.
fn set(place: &mut i64, number: i64, shown: &str) -> Result<()> {
    if *place != 0 && *place != number {
        let message = format!("conflicting values for \"{shown}\" field in formatting string");
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(invalid(message).with_detail(detail));
    }
    *place = number;
    Ok(())
}

/// As C's `strtol`: blanks, a sign, digits. Returns the length and the number; the length is 0 without
/// digits.
fn leading_number(text: &str) -> (usize, Option<i64>) {
    let blanks = text.len() - text.trim_start_matches(is_space).len();
    let signed = &text[blanks..];
    let sign = usize::from(signed.starts_with(['+', '-']));
    let digits = signed[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (0, Some(0));
    }
    let number = signed[..sign + digits].trim_start_matches('+').parse().ok();
    (blanks + sign + digits, number)
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, template: &'t str) -> Result<Reader<'t>> {
        let nodes = nodes(template)?;
        let found = Found::default();
        Ok(Reader { nodes, text, rest: text, skipped: 0, is_exact: false, found })
    }

    fn skip_blanks(&mut self) {
        let after = self.rest.trim_start_matches(is_space);
        self.skipped += (self.rest.len() - after.len()) as i64;
        self.rest = after;
    }

    fn skip_character(&mut self) {
        let length = self.rest.chars().next().map_or(0, char::len_utf8);
        self.rest = &self.rest[length..];
    }

    fn read(mut self) -> Result<Found> {
        for at in 0..self.nodes.len() {
            if self.rest.is_empty() {
                break;
            }
            let (is_field, is_exact_field) = match &self.nodes[at] {
                Node::Field { name, .. } => (true, *name == "FX"),
                _ => (false, false),
            };
            if !self.is_exact && !is_exact_field && (is_field || at == 0) {
                self.skip_blanks();
            }
            match self.nodes[at] {
                Node::Separator if self.is_exact => self.skip_character(),
                Node::Separator => {
                    self.skipped -= 1;
                    if self.rest.starts_with(|next: char| is_space(next) || next.is_ascii_punctuation()) {
                        self.skip_character();
                        self.skipped += 1;
                    }
                }
                Node::Literal(_) if !self.is_exact && self.skipped > 0 => self.skipped -= 1,
                Node::Literal(_) => self.skip_character(),
                Node::Field { shown, name, is_ordinal, .. } => {
                    self.read_field(at, name, shown)?;
                    if is_ordinal && is_of_digits(name) {
                        self.skip_character();
                        self.skip_character();
                    }
                    if !self.is_exact {
                        self.skipped = 0;
                        self.skip_blanks();
                    }
                }
            }
        }
        self.found.finish_zone(self.text)?;
        Ok(self.found)
    }

    fn read_field(&mut self, at: usize, name: &'static str, shown: &str) -> Result<()> {
        if let Some(calendar) = calendar_of(name) {
            if self.found.calendar.is_some_and(|known| known != calendar) {
                let hint = "Do not mix Gregorian and ISO week date conventions in a formatting template.";
                return Err(invalid("invalid combination of date conventions").with_hint(hint));
            }
            self.found.calendar = Some(calendar);
        }
        match name {
            "FX" => {
                self.is_exact = true;
                Ok(())
            }
            "TZ" | "OF" => {
                let message = format!("formatting field \"{shown}\" is only supported in to_char");
                Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
            }
            "TZH" | "TZM" => self.read_zone(at, name, shown),
            "Y,YYY" | "YYYY" | "IYYY" | "YYY" | "IYY" | "YY" | "IY" | "Y" | "I" => {
                self.read_year(at, name, shown)
            }
            name if is_of_digits(name) => self.read_digits(at, name, shown),
            _ => self.read_name(name, shown),
        }
    }

    /// Matches one of these names, in upper or lower case.
    fn one_of(&mut self, names: &[&str], shown: &str) -> Result<i64> {
        let begins =
            |name: &str| self.rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let Some(at) = names.iter().position(|name| begins(name)) else {
            let word = self.rest.split(is_space).next().unwrap_or_default();
            let detail = "The given value did not match any of the allowed values for this field.";
            return Err(invalid(format!("invalid value \"{word}\" for \"{shown}\"")).with_detail(detail));
        };
        self.rest = &self.rest[names[at].len()..];
        Ok(at as i64)
    }

    fn read_name(&mut self, name: &str, shown: &str) -> Result<()> {
        // Bounded: by the number of names.
        let short = |names: &[&'static str]| names.iter().map(|name| &name[..3]).collect::<Vec<_>>();
        match name {
            "AM" | "PM" | "A.M." | "P.M." => {
                let names = if name.len() == 2 { ["am", "pm"] } else { ["a.m.", "p.m."] };
                let number = self.one_of(&names, shown)?;
                self.found.is_half_day = true;
                set(&mut self.found.is_afternoon, number, shown)
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                let names = if name.len() == 2 { ["ad", "bc"] } else { ["a.d.", "b.c."] };
                let number = self.one_of(&names, shown)?;
                set(&mut self.found.is_before_christ, number, shown)
            }
            "DAY" | "DY" => {
                // Bounded: by the number of names.
                let names = if name == "DAY" { WEEKDAYS.to_vec() } else { short(&WEEKDAYS) };
                let from_monday = self.one_of(&names, shown)?;
                let from_sunday = (from_monday + 1) % 7;
                set(&mut self.found.weekday, from_sunday, shown)?;
                self.found.weekday += 1;
                Ok(())
            }
            _ => {
                // The longest first, since VIII begins with V.
                // Bounded: by the number of names.
                let roman: Vec<&str> = ROMAN_MONTHS.into_iter().rev().collect();
                let number = match name {
                    "MONTH" => self.one_of(&MONTHS, shown)? + 1,
                    "MON" => self.one_of(&short(&MONTHS), shown)? + 1,
                    _ => 12 - self.one_of(&roman, shown)?,
                };
                set(&mut self.found.month, number, shown)
            }
        }
    }

    /// Whether the number of this field ends at the first non-digit, because the template has no digit after
    /// it.
    fn is_delimited(&self, at: usize) -> bool {
        if matches!(self.nodes[at], Node::Field { is_ordinal: true, .. }) {
            return true;
        }
        match self.nodes.get(at + 1) {
            None | Some(Node::Separator) => true,
            Some(Node::Field { name, .. }) => !is_of_digits(name),
            Some(Node::Literal(character)) => !character.is_ascii_digit(),
        }
    }

    /// The number of a field and its length in characters.
    fn number(&mut self, at: usize, width: usize, shown: &str) -> Result<(i64, usize)> {
        let start = self.rest;
        let after_blanks = start.trim_start_matches(is_space);
        let mut end = width.min(after_blanks.len());
        while !after_blanks.is_char_boundary(end) {
            end += 1;
        }
        let copy = &after_blanks[..end];
        let is_filled = matches!(self.nodes[at], Node::Field { is_filled: true, .. });
        let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let (used, number) = if is_filled || self.is_delimited(at) {
            leading_number(start)
        } else {
            if after_blanks.len() < width {
                let remain = after_blanks.len();
                let message = format!("source string too short for \"{shown}\" formatting field");
                let detail = format!("Field requires {width} characters, but only {remain} remain.");
                return Err(invalid(message).with_detail(detail).with_hint(hint));
            }
            let (used, number) = leading_number(copy);
            if used > 0 && used < width {
                let message = format!("invalid value \"{copy}\" for \"{shown}\"");
                let detail = format!("Field requires {width} characters, but only {used} could be parsed.");
                return Err(invalid(message).with_detail(detail).with_hint(hint));
            }
            (start.len() - after_blanks.len() + used, number)
        };
        if used == 0 {
            let message = format!("invalid value \"{copy}\" for \"{shown}\"");
            return Err(invalid(message).with_detail("Value must be an integer."));
        }
        let Some(number) = number.filter(|number| i32::try_from(*number).is_ok()) else {
            let message = format!("value for \"{shown}\" in source string is out of range");
            let detail = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
            return Err(overflow(message).with_detail(detail));
        };
        self.rest = &start[used..];
        Ok((number, used))
    }

    fn read_digits(&mut self, at: usize, name: &str, shown: &str) -> Result<()> {
        let width = match name {
            "MS" | "IDDD" => 3,
            "ID" => 1,
            "US" => 6,
            name if name.starts_with("FF") => usize::from(name.as_bytes()[2] - b'0'),
            "HH" | "HH12" | "HH24" => 2,
            name => shown_width(name),
        };
        let (number, length) = self.number(at, width, shown)?;
        let found = &mut self.found;
        let places = |most: u32| 10_i64.pow(most.saturating_sub(length as u32));
        match name {
            "HH" | "HH12" => {
                found.is_half_day = true;
                set(&mut found.hour, number, shown)?;
            }
            "HH24" => set(&mut found.hour, number, shown)?,
            "MI" => set(&mut found.minute, number, shown)?,
            "SS" => set(&mut found.second, number, shown)?,
            "SSSS" | "SSSSS" => set(&mut found.second_of_day, number, shown)?,
            "MS" => {
                set(&mut found.millisecond, number, shown)?;
                found.millisecond *= places(3);
            }
            "MM" => set(&mut found.month, number, shown)?,
            "DDD" | "IDDD" => set(&mut found.day_of_year, number, shown)?,
            "DD" => set(&mut found.day, number, shown)?,
            "D" => set(&mut found.weekday, number, shown)?,
            "ID" => {
                set(&mut found.weekday, number, shown)?;
                found.weekday = if number >= 7 { 1 } else { number + 1 };
            }
            "WW" | "IW" => set(&mut found.week, number, shown)?,
            "W" => set(&mut found.week_of_month, number, shown)?,
            "CC" => set(&mut found.century, number, shown)?,
            "J" => set(&mut found.julian, number, shown)?,
            // The day within a quarter would be unknown.
            "Q" => {}
            _ => {
                if name != "US" {
                    found.precision = Some(width as u8);
                }
                set(&mut found.microsecond, number, shown)?;
                found.microsecond *= places(6);
            }
        }
        Ok(())
    }

    fn read_year(&mut self, at: usize, name: &str, shown: &str) -> Result<()> {
        if name == "Y,YYY" {
            let (used, millennia) = leading_number(self.rest);
            let after = self.rest[used..].strip_prefix(',');
            let digits =
                after.map_or(0, |after| after.bytes().take(3).take_while(u8::is_ascii_digit).count());
            let (Some(millennia), Some(after), 1..) = (millennia.filter(|_| used > 0), after, digits) else {
                return Err(invalid("invalid input string for \"Y,YYY\""));
            };
            let years: i64 = after[..digits].parse().unwrap_or(0);
            set(&mut self.found.year, years + millennia * 1000, shown)?;
            self.found.year_digits = 4;
            self.rest = &after[digits..];
            return Ok(());
        }
        let width = shown_width(name);
        let (number, length) = self.number(at, width, shown)?;
        set(&mut self.found.year, number, shown)?;
        if width < 4 && length < 4 {
            self.found.year = near_2020(number);
        }
        self.found.year_digits = width as u8;
        Ok(())
    }

    fn read_zone(&mut self, at: usize, name: &str, shown: &str) -> Result<()> {
        if name == "TZM" {
            if self.found.zone_sign == 0 {
                self.found.zone_sign = 1;
            }
            let (number, _) = self.number(at, 2, shown)?;
            return set(&mut self.found.zone_minute, number, shown);
        }
        let sign = if self.rest.starts_with(['+', '-', ' ']) {
            let sign = self.rest.starts_with('-');
            self.rest = &self.rest[1..];
            sign
        } else {
            // A minus may have been skipped as a separator.
            let before = &self.text[..self.text.len() - self.rest.len()];
            self.skipped > 0 && before.ends_with('-')
        };
        self.found.zone_sign = if sign { -1 } else { 1 };
        let (number, _) = self.number(at, 2, shown)?;
        set(&mut self.found.zone_hour, number, shown)
    }
}

/// The length of a field's name is also that of its number.
fn shown_width(name: &str) -> usize {
    name.len()
}

/// The year with these last digits that is nearest to 2020, as in PostgreSQL.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// A day, not yet validated, and a time of day.
struct Local {
    date: CivilDate,
    month: i64,
    time: i64,
}

/// The known parts of the day.
struct Day {
    year: i64,
    month: i64,
    day: i64,
    has_year: bool,
    has_month: bool,
    has_day: bool,
}

impl Day {
    /// The whole day, by its number since 2000-01-01.
    fn set(&mut self, days: i64) {
        let date = civil_from_days(days);
        (self.year, self.month, self.day) = (date.year, i64::from(date.month), i64::from(date.day));
        (self.has_year, self.has_month, self.has_day) = (true, true, true);
    }
}

/// The Monday of a week of a year.
fn first_of_week(year: i64, week: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - (iso_weekday(fourth) - 1) + (week - 1) * 7
}

impl Found {
    fn finish_zone(&mut self, text: &str) -> Result<()> {
        if self.zone_sign == 0 {
            return Ok(());
        }
        if !(0..=15).contains(&self.zone_hour) || !(0..60).contains(&self.zone_minute) {
            let message = format!("time zone displacement out of range: \"{text}\"");
            return Err(Error::input(INVALID_TIME_ZONE_DISPLACEMENT, message));
        }
        self.zone = Some(self.zone_sign * (self.zone_hour * 3600 + self.zone_minute * 60));
        Ok(())
    }

    fn time(&self, text: &str) -> Result<i64> {
        let or = |number: i64, other: i64| if number != 0 { number } else { other };
        let of_day = self.second_of_day;
        let mut hour = or(self.hour, of_day / 3600);
        let minute = or(self.minute, of_day % 3600 / 60);
        let second = or(self.second, of_day % 60);
        if self.is_half_day {
            hour = hour % 12 + 12 * self.is_afternoon;
        }
        let fraction = self.millisecond * 1000 + self.microsecond;
        let is_valid = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..MICROSECONDS_PER_SECOND).contains(&fraction);
        if !is_valid {
            return Err(field_overflow(text));
        }
        Ok(hour * MICROSECONDS_PER_HOUR
            + minute * MICROSECONDS_PER_MINUTE
            + second * MICROSECONDS_PER_SECOND
            + fraction)
    }

    /// The year; None if there was no field for it.
    fn whole_year(&self) -> Option<i64> {
        let is_before = self.is_before_christ != 0;
        let century = if is_before { -self.century } else { self.century };
        if self.year != 0 && self.century != 0 && self.year_digits <= 2 {
            let year = self.year % 100;
            return Some(match (year, century) {
                (0, 0..) => century * 100,
                (0, _) => century * 100 + 1,
                (_, 0..) => year + (century - 1) * 100,
                _ => (century + 1) * 100 - year + 1,
            });
        }
        if self.year != 0 {
            let year = if is_before { -self.year } else { self.year };
            return Some(if year < 0 { year + 1 } else { year });
        }
        match century {
            0 => None,
            1.. => Some((century - 1) * 100 + 1),
            _ => Some(century * 100 + 1),
        }
    }

    fn date_and_time(&self, text: &str) -> Result<Local> {
        // Checked before anything about the day, as in PostgreSQL, although its errors come last.
        if self.is_half_day {
            self.check_half_day()?;
        }
        let year = self.whole_year();
        let has_year = year.is_some();
        let mut day =
            Day { year: year.unwrap_or(0), month: 1, day: 1, has_year, has_month: false, has_day: false };
        if self.julian != 0 {
            day.set(self.julian - DAYS_JULIAN_TO_2000);
        }
        let mut day_of_year = self.day_of_year;
        if self.week != 0 && self.calendar == Some(Calendar::Weeks) {
            let monday = first_of_week(day.year, self.week);
            let weekday = self.weekday;
            day.set(match weekday {
                0 => monday,
                1 => monday + 6,
                _ => monday + weekday - 2,
            });
        } else if self.week != 0 {
            day_of_year = (self.week - 1) * 7 + 1;
        }
        let of_month = if self.week_of_month != 0 { (self.week_of_month - 1) * 7 + 1 } else { self.day };
        if of_month != 0 {
            (day.day, day.has_day) = (of_month, true);
        }
        if self.month != 0 {
            (day.month, day.has_month) = (self.month, true);
        }
        if day_of_year != 0 && (day.month <= 1 || day.day <= 1) {
            self.place_day_of_year(&mut day, day_of_year)?;
        }
        let is_month = (1..=12).contains(&day.month);
        let is_day = (1..=31).contains(&day.day);
        let last = if is_month { month_days(day.year, day.month as u8) } else { 31 };
        let is_whole = day.has_year && day.has_month && day.has_day;
        if (day.has_month && !is_month) || (day.has_day && !is_day) || (is_whole && day.day > i64::from(last))
        {
            return Err(field_overflow(text));
        }
        let time = self.time(text)?;
        let date = CivilDate { year: day.year, month: day.month as u8, day: day.day as u8 };
        Ok(Local { date, month: day.month, time })
    }

    fn check_half_day(&self) -> Result<()> {
        let hour = if self.hour != 0 { self.hour } else { self.second_of_day / 3600 };
        if (1..=12).contains(&hour) {
            return Ok(());
        }
        let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
        Err(invalid(message).with_hint("Use the 24-hour clock, or give an hour between 1 and 12."))
    }

    fn place_day_of_year(&self, day: &mut Day, day_of_year: i64) -> Result<()> {
        if day.year == 0 && self.is_before_christ == 0 {
            return Err(invalid("cannot calculate day of year without year information"));
        }
        if self.calendar == Some(Calendar::Weeks) {
            day.set(first_of_week(day.year, 1) - 1 + day_of_year);
            return Ok(());
        }
        let (mut month, mut before) = (1_u8, 0);
        while month <= 12 && day_of_year > before + i64::from(month_days(day.year, month)) {
            before += i64::from(month_days(day.year, month));
            month += 1;
        }
        if day.month <= 1 {
            day.month = i64::from(month);
        }
        if day.day <= 1 {
            day.day = day_of_year - before;
        }
        (day.has_month, day.has_day) = (true, true);
        Ok(())
    }
}
