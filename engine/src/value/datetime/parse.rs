//! Dates and times from text.
//!
//! Read in two steps, as PostgreSQL does: the text is cut into tokens by the look of their characters, then each token fills
//! fields by what it can be. Accepted are ISO 8601 (`2001-02-03 04:05:06.7+08`, also with `T`, also without separators),
//! `2/3/2001` (month first), names of months (`Feb 3, 2001`, `3-Feb-2001`), AM and PM, BC and AD, `Z`, offsets, names and usual
//! abbreviations of time zones, names of weekdays (ignored), and the words `epoch`, `infinity`, `-infinity`. Not accepted:
//! `now`, `today` and their like (a value read from text must not depend on the clock), Julian days, days of the year, three
//! lone numbers (`1 2 3`), and offsets written behind a zone's name (`GMT+3`).
//!
//! Reference: PostgreSQL documentation, section 8.5.1 and appendix B.

use jiff::tz::{Offset, TimeZone};

use super::{
    DATE_INFINITY, DATE_MINUS_INFINITY, DAYS_1970_TO_2000, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR,
    MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY,
    days_from_civil, is_valid_date, is_valid_timestamp, local_to_utc, month_days,
};
use crate::error::{Error, Result, sqlstate};
use crate::value::text::{INVALID_TIME_ZONE_DISPLACEMENT, is_blank};

/// Why a text is no date or time; becomes an error once the whole text is at hand.
enum Problem {
    Syntax,
    /// A field is beyond its limits.
    Field,
    /// The month or day is, perhaps because they are in another order.
    MonthDay,
    Displacement,
    Zone(String),
}

type Parsed<T> = std::result::Result<T, Problem>;

impl Problem {
    fn into_error(self, type_name: &str, text: &str) -> Error {
        let field = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, message)
        };
        match self {
            Problem::Syntax => {
                let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
                Error::input(sqlstate::INVALID_DATETIME_FORMAT, message)
            }
            Problem::Field => field(),
            Problem::MonthDay => field().with_hint("Perhaps you need a different \"datestyle\" setting."),
            Problem::Displacement => {
                let message = format!("time zone displacement out of range: \"{text}\"");
                Error::input(INVALID_TIME_ZONE_DISPLACEMENT, message)
            }
            Problem::Zone(name) => unknown_zone(&name),
        }
    }
}

fn unknown_zone(name: &str) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
}

/// What a token looks like.
enum Token {
    /// `1999-01-08`, `1/8/1999`, `8-jan-1999`.
    Date,
    /// `04:05:06.789`.
    Time,
    /// Digits, perhaps with a fraction.
    Number,
    /// `+08:00`.
    Offset,
    Word,
}

#[derive(Clone)]
enum Zone {
    /// Seconds east of Greenwich.
    Fixed(i32),
    Named(TimeZone),
}

#[derive(Default)]
struct Fields {
    year: Option<i64>,
    /// A year of at most two digits, in this century or the last.
    is_short_year: bool,
    month: Option<u8>,
    day: Option<u8>,
    /// Microseconds of the day.
    time: Option<i64>,
    is_afternoon: Option<bool>,
    zone: Option<Zone>,
    is_bc: bool,
}

/// What a text stands for.
enum Moment {
    Infinity,
    MinusInfinity,
    Epoch,
    /// Day since 2000-01-01, microseconds of the day (24 hours at most), zone.
    Local(i64, i64, Option<Zone>),
}

/// A `date`; a time of day is checked and dropped.
pub fn parse_date(text: &str) -> Result<i32> {
    let days = match parse(text).map_err(|problem| problem.into_error("date", text))? {
        Moment::Infinity => return Ok(DATE_INFINITY),
        Moment::MinusInfinity => return Ok(DATE_MINUS_INFINITY),
        Moment::Epoch => -DAYS_1970_TO_2000,
        Moment::Local(days, _, _) => days,
    };
    i32::try_from(days).ok().filter(|days| is_valid_date(*days)).ok_or_else(|| {
        Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{text}\""))
    })
}

fn out_of_range(text: &str) -> Error {
    Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, format!("timestamp out of range: \"{text}\""))
}

fn microseconds(days: i64, time: i64) -> Option<i64> {
    days.checked_mul(MICROSECONDS_PER_DAY)?.checked_add(time)
}

/// A `timestamp`; a time zone is checked and dropped.
pub fn parse_timestamp(text: &str) -> Result<i64> {
    match parse(text).map_err(|problem| problem.into_error("timestamp", text))? {
        Moment::Infinity => Ok(TIMESTAMP_INFINITY),
        Moment::MinusInfinity => Ok(TIMESTAMP_MINUS_INFINITY),
        Moment::Epoch => Ok(-DAYS_1970_TO_2000 * MICROSECONDS_PER_DAY),
        Moment::Local(days, time, _) => microseconds(days, time)
            .filter(|time| is_valid_timestamp(*time))
            .ok_or_else(|| out_of_range(text)),
    }
}

/// A `timestamptz`; without a zone in the text, the time is in `tz`.
pub fn parse_timestamptz(text: &str, tz: &TimeZone) -> Result<i64> {
    let (days, time, zone) =
        match parse(text).map_err(|problem| problem.into_error("timestamp with time zone", text))? {
            Moment::Infinity => return Ok(TIMESTAMP_INFINITY),
            Moment::MinusInfinity => return Ok(TIMESTAMP_MINUS_INFINITY),
            Moment::Epoch => return Ok(-DAYS_1970_TO_2000 * MICROSECONDS_PER_DAY),
            Moment::Local(days, time, zone) => (days, time, zone),
        };
    let local = microseconds(days, time).ok_or_else(|| out_of_range(text))?;
    match zone {
        Some(Zone::Fixed(seconds)) => local
            .checked_sub(i64::from(seconds) * MICROSECONDS_PER_SECOND)
            .filter(|time| is_valid_timestamp(*time))
            .ok_or_else(|| out_of_range(text)),
        Some(Zone::Named(zone)) => local_to_utc(local, &zone).map_err(|_| out_of_range(text)),
        None => local_to_utc(local, tz).map_err(|_| out_of_range(text)),
    }
}

/// A time zone by name or abbreviation, as AT TIME ZONE takes it.
pub fn named_time_zone(name: &str) -> Result<TimeZone> {
    match zone(&name.trim_matches(is_blank).to_ascii_lowercase()) {
        Some(Zone::Named(zone)) => Ok(zone),
        Some(Zone::Fixed(seconds)) => {
            Offset::from_seconds(seconds).map(TimeZone::fixed).map_err(|_| unknown_zone(name))
        }
        None => Err(unknown_zone(name)),
    }
}

fn parse(text: &str) -> Parsed<Moment> {
    let lower = text.trim_matches(is_blank).to_ascii_lowercase();
    match lower.as_str() {
        "infinity" => return Ok(Moment::Infinity),
        "-infinity" => return Ok(Moment::MinusInfinity),
        "epoch" => return Ok(Moment::Epoch),
        _ => {}
    }
    let mut fields = Fields::default();
    let mut rest = lower.as_str();
    while let Some((token, text, behind)) = next_token(rest)? {
        rest = behind;
        match token {
            Token::Date => fields.date(text)?,
            Token::Time => fields.time(text)?,
            Token::Number => fields.number(text)?,
            Token::Offset => fields.zone(Zone::Fixed(offset_seconds(text)?))?,
            Token::Word => fields.word(text)?,
        }
    }
    fields.finish()
}

/// The first token, its text, and what follows it.
fn next_token(text: &str) -> Parsed<Option<(Token, &str, &str)>> {
    let text = text.trim_start_matches(|character| is_blank(character) || character == ',');
    let Some(first) = text.bytes().next() else { return Ok(None) };
    let run =
        |text: &str, of: &dyn Fn(u8) -> bool| text.bytes().position(|byte| !of(byte)).unwrap_or(text.len());
    let is_delimiter = |byte: u8| matches!(byte, b'-' | b'/' | b'.');
    let (length, token) = match first {
        b'0'..=b'9' => {
            let digits = run(text, &|byte| byte.is_ascii_digit());
            let mut behind = text[digits..].bytes();
            match (behind.next(), behind.next()) {
                (Some(b':'), _) => {
                    (run(text, &|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.'), Token::Time)
                }
                (Some(b'.'), _) if digits >= 6 => {
                    (run(text, &|byte| byte.is_ascii_digit() || byte == b'.'), Token::Number)
                }
                (Some(b'-' | b'/' | b'.'), Some(next)) if next.is_ascii_alphabetic() => {
                    (run(text, &|byte| byte.is_ascii_alphanumeric() || is_delimiter(byte)), Token::Date)
                }
                (Some(b'-' | b'/' | b'.'), _) => {
                    (run(text, &|byte| byte.is_ascii_digit() || is_delimiter(byte)), Token::Date)
                }
                _ => (digits, Token::Number),
            }
        }
        b'+' | b'-' => {
            let length = 1 + run(&text[1..], &|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.');
            (length, Token::Offset)
        }
        b'a'..=b'z' => {
            let letters = run(text, &|byte| byte.is_ascii_alphabetic());
            match text.as_bytes().get(letters) {
                Some(b'-') if month(&text[..letters]).is_some() => {
                    (run(text, &|byte| byte.is_ascii_alphanumeric() || is_delimiter(byte)), Token::Date)
                }
                // Names of time zones: europe/berlin, etc/gmt+3, est5edt; but not z+... or the T of ISO 8601.
                Some(b'/' | b'_') => {
                    let is_name =
                        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'+');
                    (run(text, &is_name), Token::Word)
                }
                Some(digit) if digit.is_ascii_digit() && letters > 1 => {
                    (run(text, &|byte| byte.is_ascii_alphanumeric()), Token::Word)
                }
                _ => (letters, Token::Word),
            }
        }
        _ => return Err(Problem::Syntax),
    };
    Ok(Some((token, &text[..length], &text[length..])))
}

/// Digits as a number; too many are beyond any field.
fn digits(text: &str) -> Parsed<i64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::Syntax);
    }
    text.parse().ok().filter(|number| *number < i64::from(i32::MAX)).ok_or(Problem::Field)
}

/// `+HH`, `+HHMM`, `+HH:MM`, `+HH:MM:SS` in seconds.
fn offset_seconds(text: &str) -> Parsed<i32> {
    let (sign, unsigned) = text.split_at(1);
    let parts: Vec<&str> = unsigned.split(':').collect();
    let numbers = match parts[..] {
        [only] if only.len() > 2 => (digits(&only[..only.len() - 2])?, digits(&only[only.len() - 2..])?, 0),
        [hours] => (digits(hours)?, 0, 0),
        [hours, minutes] => (digits(hours)?, digits(minutes)?, 0),
        [hours, minutes, seconds] => (digits(hours)?, digits(minutes)?, digits(seconds)?),
        _ => return Err(Problem::Syntax),
    };
    let (hours, minutes, seconds) = numbers;
    if hours > 15 || minutes > 59 || seconds > 59 {
        return Err(Problem::Displacement);
    }
    let total = (hours * 3600 + minutes * 60 + seconds) as i32;
    Ok(if sign == "-" { -total } else { total })
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// A month's name or its first three letters (`sept` too).
fn month(word: &str) -> Option<u8> {
    if word == "sept" {
        return Some(9);
    }
    let found =
        MONTHS.iter().position(|name| *name == word || (word.len() == 3 && name.starts_with(word)))?;
    Some(found as u8 + 1)
}

fn is_weekday(word: &str) -> bool {
    WEEKDAYS
        .iter()
        .any(|name| *name == word || (word.len() >= 3 && word.len() <= 5 && name.starts_with(word)))
}

fn zone(name: &str) -> Option<Zone> {
    let hours = match name {
        "z" | "zulu" | "utc" | "ut" | "gmt" | "uct" | "wet" => 0,
        "bst" | "cet" | "west" | "met" => 1,
        "cest" | "eet" | "mest" | "sast" => 2,
        "eest" | "msk" => 3,
        "jst" | "kst" => 9,
        "aest" => 10,
        "aedt" => 11,
        "ast" | "edt" => -4,
        "est" | "cdt" => -5,
        "cst" | "mdt" => -6,
        "mst" | "pdt" => -7,
        "pst" | "akdt" => -8,
        "akst" => -9,
        "hst" => -10,
        name => return TimeZone::get(name).ok().map(Zone::Named),
    };
    Some(Zone::Fixed(hours * 3600))
}

impl Fields {
    fn set_year(&mut self, text: &str) -> Parsed<()> {
        if self.year.is_some() {
            return Err(Problem::Syntax);
        }
        self.year = Some(digits(text)?);
        self.is_short_year = text.len() <= 2;
        Ok(())
    }

    fn set_month(&mut self, number: i64) -> Parsed<()> {
        if self.month.is_some() {
            return Err(Problem::Syntax);
        }
        self.month = Some(
            u8::try_from(number).ok().filter(|month| (1..=12).contains(month)).ok_or(Problem::MonthDay)?,
        );
        Ok(())
    }

    fn set_day(&mut self, text: &str) -> Parsed<()> {
        if self.day.is_some() {
            return Err(Problem::Syntax);
        }
        let number = u8::try_from(digits(text)?).ok();
        self.day = Some(number.filter(|day| (1..=31).contains(day)).ok_or(Problem::MonthDay)?);
        Ok(())
    }

    /// Three parts: the year first if it has three digits or more, else month, day, year; a month's name in any place.
    fn date(&mut self, text: &str) -> Parsed<()> {
        let delimiter = text.chars().find(|character| matches!(character, '-' | '/' | '.')).unwrap_or('-');
        let parts: Vec<&str> = text.split(delimiter).collect();
        let [a, b, c] = parts[..] else { return Err(Problem::Syntax) };
        if self.time.is_some() {
            return Err(Problem::Syntax);
        }
        if let Some(number) = month(a) {
            self.set_month(i64::from(number))?;
            return if b.len() > 2 {
                self.set_year(b).and(self.set_day(c))
            } else {
                self.set_day(b).and(self.set_year(c))
            };
        }
        if let Some(number) = month(b) {
            self.set_month(i64::from(number))?;
            return if a.len() > 2 {
                self.set_year(a).and(self.set_day(c))
            } else {
                self.set_day(a).and(self.set_year(c))
            };
        }
        if a.len() > 2 {
            self.set_year(a)?;
            self.set_month(digits(b)?)?;
            return self.set_day(c);
        }
        self.set_month(digits(a)?)?;
        self.set_day(b)?;
        self.set_year(c)
    }

    /// `HH:MM[:SS[.f]]`; 24:00:00 is the end of the day, and a 60th second the next minute.
    fn time(&mut self, text: &str) -> Parsed<()> {
        if self.time.is_some() {
            return Err(Problem::Syntax);
        }
        let parts: Vec<&str> = text.split(':').collect();
        let (hour, minute, second) = match parts[..] {
            [hour, minute] => (hour, minute, "0"),
            [hour, minute, second] => (hour, minute, second),
            _ => return Err(Problem::Syntax),
        };
        let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
        self.time = Some(time_of_day(digits(hour)?, digits(minute)?, digits(second)?, fraction)?);
        Ok(())
    }

    /// Digits alone: YYYYMMDD, YYMMDD, HHMMSS behind a date, a day, or a year.
    fn number(&mut self, text: &str) -> Parsed<()> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let has_date = self.year.is_some() && self.month.is_some() && self.day.is_some();
        match whole.len() {
            6 | 4 if has_date && self.time.is_none() => {
                let second = whole.get(4..).filter(|second| !second.is_empty()).unwrap_or("0");
                let time =
                    time_of_day(digits(&whole[..2])?, digits(&whole[2..4])?, digits(second)?, fraction)?;
                self.time = Some(time);
                Ok(())
            }
            _ if !fraction.is_empty() || text.ends_with('.') => Err(Problem::Syntax),
            6.. if self.year.is_none() && self.month.is_none() => {
                let (year, month_day) = whole.split_at(whole.len() - 4);
                self.set_year(year)?;
                self.set_month(digits(&month_day[..2])?)?;
                self.set_day(&month_day[2..])
            }
            1 | 2 if self.day.is_none() => self.set_day(whole),
            _ => self.set_year(whole),
        }
    }

    fn zone(&mut self, zone: Zone) -> Parsed<()> {
        if self.zone.is_some() {
            return Err(Problem::Syntax);
        }
        self.zone = Some(zone);
        Ok(())
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        match word {
            "am" | "pm" => self.is_afternoon = Some(word == "pm"),
            "bc" => self.is_bc = true,
            "ad" => {}
            "t" if self.day.is_some() => {}
            _ if is_weekday(word) => {}
            _ => {
                if let Some(number) = month(word) {
                    return self.set_month(i64::from(number));
                }
                if self.day.is_none() {
                    return Err(Problem::Syntax);
                }
                let zone = zone(word).ok_or_else(|| {
                    if word.contains('/') { Problem::Zone(word.to_owned()) } else { Problem::Syntax }
                })?;
                return self.zone(zone);
            }
        }
        Ok(())
    }

    fn finish(self) -> Parsed<Moment> {
        let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day) else {
            return Err(Problem::Syntax);
        };
        let year = match year {
            0 if !self.is_short_year || self.is_bc => return Err(Problem::Field),
            year if self.is_bc => 1 - year,
            year if self.is_short_year => year + if year < 70 { 2000 } else { 1900 },
            year => year,
        };
        if day > month_days(year, month) {
            return Err(Problem::Field);
        }
        let mut time = self.time.unwrap_or(0);
        if let Some(is_afternoon) = self.is_afternoon {
            let half = 12 * MICROSECONDS_PER_HOUR;
            if time >= half + MICROSECONDS_PER_HOUR {
                return Err(Problem::Field);
            }
            time = time % half + if is_afternoon { half } else { 0 };
        }
        Ok(Moment::Local(days_from_civil(year, month, day), time, self.zone))
    }
}

fn time_of_day(hour: i64, minute: i64, second: i64, fraction: &str) -> Parsed<i64> {
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::Syntax);
    }
    let fraction: f64 = format!("0.{fraction}0").parse().unwrap_or(0.0);
    let microseconds = (fraction * 1e6).round_ties_even() as i64;
    if hour > 24 || minute > 59 || second > 60 {
        return Err(Problem::Field);
    }
    let time = hour * MICROSECONDS_PER_HOUR
        + minute * MICROSECONDS_PER_MINUTE
        + second * MICROSECONDS_PER_SECOND
        + microseconds;
    if time > MICROSECONDS_PER_DAY { Err(Problem::Field) } else { Ok(time) }
}
