//! `to_char`: times and intervals formatted by a template.
//!
//! A template is a text with fields in it (`YYYY-MM-DD HH24:MI`), each with an optional `FM` (no padding)
//! before it or `TH` (ordinal suffix) after it. Quoted text, and text that is not a field, is literal.
//!
//! Reference: PostgreSQL's documentation, section 9.8, and its formatting.c.

use compact_str::{CompactString, format_compact};

use crate::collect::Text;
use crate::datetime::{
    self, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND,
    civil_from_timestamp, days_from_civil,
};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::interval::{DAYS_PER_MONTH, Interval, MONTHS_PER_YEAR};
use crate::value::Value;

use super::time::{iso_weekday, iso_year_and_week};
use super::{Function, mismatch, number_shown, number_template};

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    if let (Function::ToNumber, [Value::Text(text), Value::Text(template)]) = (function, arguments) {
        return Ok(number_template::to_number(text, template)?.map_or(Value::Null, Value::numeric));
    }
    let [value, Value::Text(template)] = arguments else { return Err(mismatch(function, arguments)) };
    if let Some(shown) = number_shown::shown(value, template) {
        return shown.map(Value::Text);
    }
    let moment = match value {
        Value::Timestamp(time) => Moment::of_timestamp(*time),
        Value::TimestampTz(instant) => Moment::of_instant(*instant, environment)?,
        Value::Interval(interval) => Some(Moment::of_interval(*interval)),
        _ => return Err(mismatch(function, arguments)),
    };
    match moment {
        Some(moment) if !template.is_empty() => moment.write(template).map(Value::Text),
        // An infinite time has no fields.
        _ => Ok(Value::Null),
    }
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const ROMAN_MONTHS: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
/// In the order of ISO 8601.
pub(super) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// The width of the longest month and weekday.
const NAME_WIDTH: usize = 9;

/// Fields in upper case. A field that is a prefix of another comes after it. Lower-case fields mean the same,
/// but names are written in lower case.
const FIELDS: [&str; 53] = [
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "D", "FF1", "FF2", "FF3",
    "FF4", "FF5", "FF6", "FX", "HH24", "HH12", "HH", "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I", "J", "MI",
    "MM", "MONTH", "MON", "MS", "OF", "P.M.", "PM", "Q", "RM", "SSSSS", "SSSS", "SS", "TZH", "TZM", "TZ",
    "US", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY",
];
/// Fields whose own case determines the case of a name.
const CAPITALIZED: [(&str, &str); 4] = [("Day", "DAY"), ("Dy", "DY"), ("Month", "MONTH"), ("Mon", "MON")];

/// Fields in which the sign does not take the place of a digit.
const KEEP_DIGITS: [&str; 11] = ["HH", "HH12", "HH24", "MI", "SS", "MM", "CC", "YYYY", "YYY", "YY", "Y"];

/// The case of a field's letters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Capital,
    Capitalized,
    Small,
}

/// A field of a template.
struct Field {
    name: &'static str,
    letters: Letters,
    /// `FM`.
    is_unpadded: bool,
    /// `TM`: names are not padded either.
    is_translated: bool,
    /// `TH` and `th`.
    ordinal: Option<Letters>,
}

/// The field at the beginning of a text, and its length.
pub(super) fn field_at(text: &str) -> Option<(&'static str, Letters, usize)> {
    let capitalized = CAPITALIZED.iter().find(|(written, _)| text.starts_with(written));
    if let Some((written, name)) = capitalized {
        return Some((name, Letters::Capitalized, written.len()));
    }
    let is_small = text.starts_with(|first: char| first.is_ascii_lowercase());
    let begins = |name: &str| match text.get(..name.len()) {
        Some(start) if is_small => start.eq_ignore_ascii_case(name) && start == start.to_ascii_lowercase(),
        Some(start) => start == name,
        None => false,
    };
    let found = FIELDS.into_iter().chain(["Y"]).find(|name| begins(name))?;
    Some((found, if is_small { Letters::Small } else { Letters::Capital }, found.len()))
}

/// The values that a template shows of a time or an interval.
#[derive(Default)]
struct Moment {
    year: i64,
    /// From 1; for an interval, the months beyond whole years.
    month: i64,
    day: i64,
    /// Since midnight, or the time of an interval.
    microseconds: i64,
    day_of_year: i64,
    /// Days since 2000-01-01.
    days: i64,
    is_interval: bool,
    /// Seconds east of Greenwich, and the zone's abbreviation.
    zone: Option<(i64, String)>,
}

impl Moment {
    fn of_timestamp(time: i64) -> Option<Moment> {
        if datetime::is_infinite_timestamp(time) {
            return None;
        }
        let date = civil_from_timestamp(time).date;
        let days = time.div_euclid(MICROSECONDS_PER_DAY);
        Some(Moment {
            year: date.year,
            month: i64::from(date.month),
            day: i64::from(date.day),
            microseconds: time.rem_euclid(MICROSECONDS_PER_DAY),
            day_of_year: days - days_from_civil(date.year, 1, 1) + 1,
            days,
            is_interval: false,
            zone: None,
        })
    }

    fn of_instant(instant: i64, environment: &Environment) -> Result<Option<Moment>> {
        let tz = &environment.time_zone;
        let local = datetime::utc_to_local(instant, tz)?;
        let zone = || (i64::from(datetime::offset_seconds(instant, tz)), datetime::abbreviation(instant, tz));
        Ok(Moment::of_timestamp(local).map(|moment| Moment { zone: Some(zone()), ..moment }))
    }

    fn of_interval(interval: Interval) -> Moment {
        Moment {
            year: i64::from(interval.months / MONTHS_PER_YEAR),
            month: i64::from(interval.months % MONTHS_PER_YEAR),
            day: i64::from(interval.days),
            microseconds: interval.microseconds,
            day_of_year: i64::from(interval.months) * i64::from(DAYS_PER_MONTH) + i64::from(interval.days),
            is_interval: true,
            ..Moment::default()
        }
    }

    fn write(&self, template: &str) -> Result<CompactString> {
        let mut out = Text::default();
        let mut rest = template;
        while let Some(first) = rest.chars().next() {
            guest::spend(8)?;
            let is_unpadded = rest.starts_with("FM") || rest.starts_with("fm");
            let after_prefix = if is_unpadded { &rest[2..] } else { rest };
            let translated = after_prefix.strip_prefix("TM").filter(|rest| field_at(rest).is_some());
            let is_translated = translated.is_some();
            let after_prefix = translated.unwrap_or(after_prefix);
            if let Some((name, letters, length)) = field_at(after_prefix) {
                rest = &after_prefix[length..];
                let ordinal = match rest.get(..2) {
                    Some("TH") => Some(Letters::Capital),
                    Some("th") => Some(Letters::Small),
                    _ => None,
                };
                rest = if ordinal.is_some() { &rest[2..] } else { rest };
                self.write_field(&Field { name, letters, is_unpadded, is_translated, ordinal }, &mut out)?;
            } else if is_unpadded {
                rest = after_prefix;
            } else if let Some(quoted) = rest.strip_prefix('"') {
                rest = copy_quoted(quoted, &mut out)?;
            } else if rest.starts_with("\\\"") {
                out.push('"')?;
                rest = &rest[2..];
            } else {
                out.push(first)?;
                rest = &rest[first.len_utf8()..];
            }
        }
        Ok(out.finish())
    }

    fn write_field(&self, field: &Field, out: &mut Text) -> Result<()> {
        if let Some((number, width)) = self.number(field.name) {
            return push_number(number, width, field, out);
        }
        if self.is_interval && !matches!(field.name, "AM" | "PM" | "A.M." | "P.M." | "FX" | "RM" | "Y,YYY") {
            let message = "invalid format specification for an interval value";
            return Err(Error::input(sqlstate::INVALID_DATETIME_FORMAT, message)
                .with_hint("Intervals are not tied to specific calendar dates."));
        }
        match field.name {
            "Y,YYY" => {
                let year = self.shown_year();
                let text = format_compact!("{},{:03}", year / 1000, year % 1000);
                out.push_str(&text)?;
                push_ordinal(&text, field, out)
            }
            "OF" | "TZ" | "TZH" | "TZM" => self.write_zone(field, out),
            _ => self.write_name(field, out),
        }
    }

    /// The year in common notation: there is no year between 1 BC and 1 AD.
    fn shown_year(&self) -> i64 {
        if self.is_interval { self.year } else { year_of_era(self.year) }
    }

    /// The number of a numeric field, and its width.
    fn number(&self, name: &str) -> Option<(i64, usize)> {
        let part = |unit: i64| self.microseconds / unit;
        let hour = part(MICROSECONDS_PER_HOUR);
        let below_second = part(1) % MICROSECONDS_PER_SECOND;
        let iso_year = || year_of_era(iso_year_and_week(self.days).0);
        let is_calendar = !self.is_interval;
        Some(match name {
            "HH" | "HH12" if hour % 12 == 0 => (12, 2),
            "HH" | "HH12" => (hour % 12, 2),
            "HH24" => (hour, 2),
            "MI" => (part(MICROSECONDS_PER_MINUTE) % 60, 2),
            "SS" => (part(MICROSECONDS_PER_SECOND) % 60, 2),
            "MS" => (below_second / 1000, 3),
            "US" => (below_second, 6),
            "FF1" => (below_second / 100_000, 1),
            "FF2" => (below_second / 10_000, 2),
            "FF3" => (below_second / 1000, 3),
            "FF4" => (below_second / 100, 4),
            "FF5" => (below_second / 10, 5),
            "FF6" => (below_second, 6),
            "SSSS" | "SSSSS" => (part(MICROSECONDS_PER_SECOND), 0),
            "MM" => (self.month, 2),
            "DD" => (self.day, 2),
            "DDD" => (self.day_of_year, 3),
            "WW" => ((self.day_of_year - 1) / 7 + 1, 2),
            "W" => ((self.day - 1) / 7 + 1, 1),
            "CC" if self.is_interval => (self.year / 100, 2),
            "CC" if self.year > 0 => ((self.year - 1) / 100 + 1, 2),
            "CC" => (self.year / 100 - 1, 2),
            "YYYY" => (self.shown_year(), 4),
            "YYY" => (self.shown_year() % 1000, 3),
            "YY" => (self.shown_year() % 100, 2),
            "Y" => (self.shown_year() % 10, 1),
            "Q" if self.month == 0 => return None,
            "Q" => ((self.month - 1) / 3 + 1, 0),
            "IDDD" if is_calendar => (day_of_iso_year(self.days), 3),
            "D" if is_calendar => (iso_weekday(self.days) % 7 + 1, 0),
            "ID" if is_calendar => (iso_weekday(self.days), 0),
            "IW" if is_calendar => (iso_year_and_week(self.days).1, 2),
            "IYYY" if is_calendar => (iso_year(), 4),
            "IYY" if is_calendar => (iso_year() % 1000, 3),
            "IY" if is_calendar => (iso_year() % 100, 2),
            "I" if is_calendar => (iso_year() % 10, 1),
            "J" if is_calendar => (self.days + 2_451_545, 0),
            _ => return None,
        })
    }

    /// A negative month of an interval counts back from the end of a year, and none is its last or, before
    /// zero, its first.
    fn roman_month(&self) -> &'static str {
        let number = match (self.month, self.year) {
            (0, 0) => return "",
            (0, 1..) => 12,
            (0, _) => 1,
            (month, _) if month < 0 => 13 + month,
            (month, _) => month,
        };
        usize::try_from(number - 1).ok().and_then(|at| ROMAN_MONTHS.get(at)).copied().unwrap_or_default()
    }

    fn write_name(&self, field: &Field, out: &mut Text) -> Result<()> {
        let is_afternoon = self.microseconds % MICROSECONDS_PER_DAY >= MICROSECONDS_PER_DAY / 2;
        let month = usize::try_from(self.month - 1).ok();
        let weekday = WEEKDAYS[usize::try_from(iso_weekday(self.days) - 1).unwrap_or(0)];
        let (name, width) = match field.name {
            "AM" | "PM" => (if is_afternoon { "PM" } else { "AM" }, 0),
            "A.M." | "P.M." => (if is_afternoon { "P.M." } else { "A.M." }, 0),
            "AD" | "BC" => (if self.year > 0 { "AD" } else { "BC" }, 0),
            "A.D." | "B.C." => (if self.year > 0 { "A.D." } else { "B.C." }, 0),
            "MONTH" => (month.map_or("", |month| MONTHS[month]), NAME_WIDTH),
            "MON" => (month.map_or("", |month| &MONTHS[month][..3]), 0),
            "DAY" => (weekday, NAME_WIDTH),
            "DY" => (&weekday[..3], 0),
            "RM" => (self.roman_month(), 4),
            _ => return Ok(()),
        };
        let is_padded = !field.is_unpadded && !field.is_translated && !name.is_empty();
        let width = if is_padded { width } else { 0 };
        let written = match field.letters {
            Letters::Capital => name.to_ascii_uppercase(),
            Letters::Capitalized => name.to_owned(),
            Letters::Small => name.to_ascii_lowercase(),
        };
        out.push_str(&format_compact!("{written:width$}"))
    }

    fn write_zone(&self, field: &Field, out: &mut Text) -> Result<()> {
        let offset = self.zone.as_ref().map_or(0, |(offset, _)| *offset);
        let sign = if offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.abs() / 3600, offset.abs() / 60 % 60);
        match (field.name, &self.zone) {
            ("TZ", Some((_, name))) if field.letters == Letters::Small => {
                out.push_str(&name.to_ascii_lowercase())
            }
            ("TZ", Some((_, name))) => out.push_str(name),
            ("TZH", _) => out.push_str(&format_compact!("{sign}{hours:02}")),
            ("TZM", _) => out.push_str(&format_compact!("{minutes:02}")),
            ("OF", _) => {
                let width = if field.is_unpadded { 0 } else { 2 };
                out.push_str(&format_compact!("{sign}{hours:0width$}"))?;
                match minutes {
                    0 => Ok(()),
                    _ => out.push_str(&format_compact!(":{minutes:02}")),
                }
            }
            _ => Ok(()),
        }
    }
}

fn year_of_era(year: i64) -> i64 {
    if year > 0 { year } else { 1 - year }
}

/// Counted from the Monday of the ISO year's first week.
fn day_of_iso_year(days: i64) -> i64 {
    let (_, week) = iso_year_and_week(days);
    (week - 1) * 7 + iso_weekday(days)
}

fn push_number(number: i64, width: usize, field: &Field, out: &mut Text) -> Result<()> {
    let is_fraction = matches!(field.name, "MS" | "US") || field.name.starts_with("FF");
    let width = if field.is_unpadded && !is_fraction { 0 } else { width };
    let width = width + usize::from(number < 0 && width > 0 && KEEP_DIGITS.contains(&field.name));
    let text = format_compact!("{number:0width$}");
    out.push_str(&text)?;
    push_ordinal(&text, field, out)
}

/// `st`, `nd`, `rd` or `th`.
fn push_ordinal(number: &str, field: &Field, out: &mut Text) -> Result<()> {
    let Some(letters) = field.ordinal else { return Ok(()) };
    let mut digits = number.bytes().rev();
    let (last, is_teen) = (digits.next(), digits.next() == Some(b'1'));
    let end = match last {
        Some(b'1') if !is_teen => "st",
        Some(b'2') if !is_teen => "nd",
        Some(b'3') if !is_teen => "rd",
        _ => "th",
    };
    match letters {
        Letters::Small => out.push_str(end),
        _ => out.push_str(&end.to_ascii_uppercase()),
    }
}

/// Copies up to the closing quote; a backslash makes the next character literal. Returns the rest.
fn copy_quoted<'t>(quoted: &'t str, out: &mut Text) -> Result<&'t str> {
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => characters.next().map_or(Ok(()), |next| out.push(next))?,
            other => out.push(other)?,
        }
    }
    Ok(characters.as_str())
}
