//! Decodes the fields of a text into a date, a time of day and a zone.
//!
//! Fields are read from left to right. The meaning of a number depends on what has been found before it (the
//! order is that of `DateStyle`, or ISO 8601's after a year of three digits or more), and nothing may be
//! found twice. The error for a text depends on where a problem is noticed: unreadable fields are of the
//! wrong format; readable fields that are not a day of the calendar are out of range.
//!
//! This is PostgreSQL's algorithm (its documentation, appendix B.1), with its results for odd texts too:
//! `2024-01-01 t abcd-5` is a time.

use smallvec::SmallVec;

use super::fields::{Fields, Look};
use super::keyword::{Keyword, Moment, Unit, keyword};
use super::zone::{self, Zone};
use super::{
    CivilDate, DAYS_JULIAN_TO_2000, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
    MICROSECONDS_PER_SECOND, civil_from_days, civil_from_timestamp, days_from_civil, month_days,
};
use crate::error::Error;
use crate::text::DateOrder;

/// The reason why a text is not a date or time; becomes an error where the whole text is available.
pub(super) enum Problem {
    Syntax,
    /// A field exceeds its limits.
    Field,
    /// The month or day exceeds its limits, perhaps because they are in another order.
    MonthDay,
    /// The offset of a zone exceeds its limits.
    Displacement,
    Other(Error),
}

pub(super) type Decoded<T> = Result<T, Problem>;

/// The meaning of a text.
pub(super) enum Meaning {
    Infinity,
    MinusInfinity,
    Epoch,
    /// Day since 2000-01-01, microseconds of the day (possibly more than a day has), zone.
    Local(i64, i64, Option<Zone>),
    /// Of a time of day: the day that was written with it, if any, microseconds of the day, zone.
    Time(Option<i64>, i64, Option<Zone>),
}

/// Kinds of fields that have been found.
mod found {
    pub(super) const SPECIAL: u32 = 1;
    pub(super) const YEAR: u32 = 1 << 1;
    pub(super) const MONTH: u32 = 1 << 2;
    pub(super) const DAY: u32 = 1 << 3;
    pub(super) const DATE: u32 = YEAR | MONTH | DAY;
    pub(super) const DAY_OF_YEAR: u32 = 1 << 4;
    pub(super) const HOUR: u32 = 1 << 5;
    pub(super) const MINUTE: u32 = 1 << 6;
    pub(super) const WHOLE_SECOND: u32 = 1 << 7;
    pub(super) const FRACTION: u32 = 1 << 8;
    pub(super) const SECONDS: u32 = WHOLE_SECOND | FRACTION;
    pub(super) const TIME: u32 = HOUR | MINUTE | SECONDS;
    pub(super) const ZONE: u32 = 1 << 9;
    /// A zone that implies summer time.
    pub(super) const SUMMER: u32 = 1 << 10;
    /// `dst`.
    pub(super) const SUMMER_WORD: u32 = 1 << 11;
    /// An abbreviation whose offset changed in history.
    pub(super) const CHANGING: u32 = 1 << 12;
    pub(super) const HALF: u32 = 1 << 13;
    pub(super) const ERA: u32 = 1 << 14;
    pub(super) const WEEKDAY: u32 = 1 << 15;
}

/// The state of decoding.
#[derive(Default)]
pub(super) struct Decoder {
    found: u32,
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    microsecond: i64,
    /// The unit of the next number.
    unit: Option<Unit>,
    is_afternoon: Option<bool>,
    has_month_name: bool,
    is_julian: bool,
    /// The year has at most two digits: it is in this century or the last.
    is_short_year: bool,
    is_bc: bool,
    /// Seconds east of Greenwich; `zone` takes precedence.
    offset: i32,
    zone: Option<Zone>,
    special: Option<Moment>,
    order: DateOrder,
    /// Set for a time of day, in which numbers are not dates.
    is_time: bool,
    /// For a time of day: whether its text begins with a date.
    begins_with_date: bool,
}

/// The result of C's `strtol` for the beginning, and the rest; 0 if there is no number. An error if the
/// number is too large.
pub(super) fn leading_long(text: &str) -> Result<(i64, &str), ()> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(unsigned.len());
    if end == 0 {
        return Ok((0, text));
    }
    // The sign is parsed with the number, because there is one more negative number.
    let sign = if text.starts_with('-') { "-" } else { "" };
    let number = format_args!("{sign}{}", &unsigned[..end]).to_string().parse().map_err(|_| ())?;
    Ok((number, &unsigned[end..]))
}

/// The same for a 32-bit number.
pub(super) fn leading_number(text: &str) -> Result<(i64, &str), ()> {
    let (number, rest) = leading_long(text)?;
    i32::try_from(number).map_err(|_| ())?;
    Ok((number, rest))
}

/// The same for digits that were counted: about six at most.
fn small_number(text: &str) -> i64 {
    leading_number(text).map_or(0, |(number, _)| number)
}

/// `.789`; `.` is 0.
pub(super) fn fraction(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('.')?;
    if digits.is_empty() {
        return Some(0.0);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// A fraction of a second in microseconds, to the nearest.
pub(super) fn microseconds(text: &str) -> Decoded<i64> {
    let fraction = fraction(text).ok_or(Problem::Syntax)?;
    Ok((fraction * 1e6).round_ties_even() as i64)
}

/// `+HH`, `+HHMM`, `+HH:MM`, `+HH:MM:SS` in seconds east of Greenwich.
pub(super) fn numeric_offset(text: &str) -> Decoded<i32> {
    const MOST_HOURS: i64 = 15;
    let Some(unsigned) = text.strip_prefix(['+', '-']) else { return Err(Problem::Syntax) };
    let number = |text| leading_number(text).map_err(|()| Problem::Displacement);
    let (mut hours, mut rest) = number(unsigned)?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (minutes, rest) = number(after)?;
        if let Some(after) = rest.strip_prefix(':') {
            (seconds, rest) = number(after)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    if !(0..=MOST_HOURS).contains(&hours) || !(0..60).contains(&minutes) || !(0..60).contains(&seconds) {
        return Err(Problem::Displacement);
    }
    if !rest.is_empty() {
        return Err(Problem::Syntax);
    }
    let total = (hours * 3600 + minutes * 60 + seconds) as i32;
    Ok(if text.starts_with('-') { -total } else { total })
}

/// The local time that words such as `today` refer to, in microseconds, and its offset; or the error if there
/// is none.
pub(super) type Now<'a> = &'a dyn Fn(&str) -> Result<(i64, i32), Error>;

impl Decoder {
    /// A decoder for a date, or a date and a time.
    pub(super) fn of_date(order: DateOrder) -> Decoder {
        Decoder { order, ..Decoder::default() }
    }

    /// A decoder for a time of day.
    pub(super) fn of_time(fields: &Fields, order: DateOrder) -> Decoder {
        let last = fields.len().checked_sub(1).and_then(|last| fields.look(last));
        let begins_with_date =
            fields.len() >= 2 && (last == Some(Look::Date) || fields.look(1) == Some(Look::Time));
        Decoder { order, is_time: true, begins_with_date, ..Decoder::default() }
    }

    /// The fields that numbers may regard as found: in a time of day, the whole date.
    fn known(&self) -> u32 {
        if self.is_time { self.found | found::DATE } else { self.found }
    }

    pub(super) fn decode(self, fields: &Fields, now: Now<'_>) -> Decoded<Meaning> {
        let mut decoder = self;
        for index in 0..fields.len() {
            let text = fields.text(index);
            let found = match fields.look(index) {
                Some(Look::Date) if decoder.is_time => decoder.date_beside_time(text, index)?,
                Some(Look::Date) => decoder.date_like(text)?,
                Some(Look::Time) => {
                    if decoder.unit.take().is_some_and(|unit| unit != Unit::Time) {
                        return Err(Problem::Syntax);
                    }
                    decoder.time(text)?
                }
                Some(Look::Offset) => {
                    decoder.offset = numeric_offset(text)?;
                    found::ZONE
                }
                Some(Look::Number) => match decoder.unit.take() {
                    Some(unit) => decoder.labelled(unit, text)?,
                    None if decoder.is_time => decoder.number_of_time(text, index)?,
                    None => decoder.bare_number(text)?,
                },
                _ => decoder.word(text, fields.look(index + 1), now)?,
            };
            if found & decoder.found != 0 {
                return Err(Problem::Syntax);
            }
            decoder.found |= found;
        }
        decoder.finish()
    }

    fn has(&self, kinds: u32) -> bool {
        self.found & kinds == kinds
    }

    fn set_julian_day(&mut self, number: i64) -> Decoded<()> {
        if number < 0 {
            return Err(Problem::Field);
        }
        self.set_date(civil_from_days(number - DAYS_JULIAN_TO_2000));
        self.is_julian = true;
        Ok(())
    }

    fn set_date(&mut self, date: CivilDate) {
        (self.year, self.month, self.day) = (date.year, i64::from(date.month), i64::from(date.day));
    }

    fn set_time(&mut self, microseconds: i64) {
        let time = civil_from_timestamp(microseconds);
        (self.hour, self.minute, self.second) =
            (i64::from(time.hour), i64::from(time.minute), i64::from(time.second));
        self.microsecond = i64::from(time.microsecond);
    }

    /// A date, or after one a zone's name or a time with an offset (`040506-08`).
    fn date_like(&mut self, text: &str) -> Decoded<u32> {
        if self.unit == Some(Unit::JulianDay) {
            self.unit = None;
            let (number, rest) = leading_number(text).map_err(|()| Problem::Field)?;
            self.set_julian_day(number)?;
            self.offset = numeric_offset(rest)?;
            return Ok(found::DATE | found::TIME | found::ZONE);
        }
        let unit = self.unit.take();
        if unit.is_none() && !self.has(found::MONTH | found::DAY) {
            return self.date(text);
        }
        if unit.is_none() && !text.starts_with(|first: char| first.is_ascii_digit()) {
            return self.zone_name(text);
        }
        if unit.is_some_and(|unit| unit != Unit::Time) || self.has(found::TIME) {
            return Err(Problem::Syntax);
        }
        self.time_with_offset(text)
    }

    fn zone_name(&mut self, text: &str) -> Decoded<u32> {
        let zone = zone::named(text).map_err(Problem::Other)?;
        let (zone, _) = zone.ok_or_else(|| Problem::Other(zone::unknown(text)))?;
        self.zone = Some(zone);
        Ok(found::ZONE)
    }

    /// `040506-08`.
    fn time_with_offset(&mut self, text: &str) -> Decoded<u32> {
        let Some(at) = text.find('-') else { return Err(Problem::Syntax) };
        self.offset = numeric_offset(&text[at..])?;
        Ok(self.run_together(&text[..at], self.known())? | found::ZONE)
    }

    /// Parts between delimiters: first a month's name, then the numbers.
    fn date(&mut self, text: &str) -> Decoded<u32> {
        let parts = parts(text).ok_or(Problem::Syntax)?;
        let is_word = |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic());
        let mut set = 0;
        let mut has_month_name = false;
        for part in parts.iter().filter(|part| is_word(part)) {
            match keyword(part) {
                Some(Keyword::Ignored) => continue,
                Some(Keyword::Month(month)) if (self.found | set) & found::MONTH == 0 => {
                    self.month = i64::from(month);
                }
                _ => return Err(Problem::Syntax),
            }
            has_month_name = true;
            set |= found::MONTH;
        }
        // Parts that were skipped above must be numbers, which is checked here.
        for part in parts.iter().filter(|part| !matches!(keyword(part), Some(Keyword::Month(_)))) {
            let found = self.number(part, has_month_name, self.found | set)?;
            if found & (self.found | set) != 0 {
                return Err(Problem::Syntax);
            }
            set |= found;
        }
        if (self.found | set) & !(found::DAY_OF_YEAR | found::ZONE) != found::DATE {
            return Err(Problem::Syntax);
        }
        Ok(set)
    }

    /// `HH:MM`, `HH:MM:SS`, `MM:SS.f`, `HH:MM:SS.f`. 24:00:00 is the end of the day, and a 60th second the
    /// next minute.
    fn time(&mut self, text: &str) -> Decoded<u32> {
        let number = |text| leading_number(text).map_err(|()| Problem::Field);
        let (first, rest) = leading_long(text).map_err(|()| Problem::Field)?;
        let (second, rest) = number(rest.strip_prefix(':').ok_or(Problem::Syntax)?)?;
        (self.hour, self.minute, self.second, self.microsecond) = (first, second, 0, 0);
        if rest.starts_with('.') {
            self.microsecond = microseconds(rest)?;
            (self.hour, self.minute, self.second) = (0, first, second);
        } else if let Some(after) = rest.strip_prefix(':') {
            let (third, rest) = number(after)?;
            self.second = third;
            if !rest.is_empty() {
                self.microsecond = microseconds(rest)?;
            }
        } else if !rest.is_empty() {
            return Err(Problem::Syntax);
        }
        if self.is_within_day() { Ok(found::TIME) } else { Err(Problem::Field) }
    }

    fn is_within_day(&self) -> bool {
        (0..=24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..=60).contains(&self.second)
            && self.time_of_day() <= MICROSECONDS_PER_DAY
    }

    fn time_of_day(&self) -> i64 {
        self.hour * MICROSECONDS_PER_HOUR
            + self.minute * MICROSECONDS_PER_MINUTE
            + self.second * MICROSECONDS_PER_SECOND
            + self.microsecond
    }

    /// A number after its unit.
    fn labelled(&mut self, unit: Unit, text: &str) -> Decoded<u32> {
        let (number, rest) = leading_number(text).map_err(|()| Problem::Field)?;
        let may_have_fraction = matches!(unit, Unit::JulianDay | Unit::Time | Unit::Second);
        let is_fraction = may_have_fraction && rest.starts_with('.');
        if !(rest.is_empty() || is_fraction) {
            return Err(Problem::Syntax);
        }
        self.special = None;
        match unit {
            Unit::Year => self.year = number,
            Unit::Month if self.has(found::MONTH | found::HOUR) => {
                self.minute = number;
                return Ok(found::MINUTE);
            }
            Unit::Month => self.month = number,
            Unit::Day => self.day = number,
            Unit::Hour => self.hour = number,
            Unit::Minute => self.minute = number,
            Unit::Second => {
                self.second = number;
                if !rest.is_empty() {
                    self.microsecond = microseconds(rest)?;
                    return Ok(found::SECONDS);
                }
            }
            Unit::JulianDay => {
                self.set_julian_day(number)?;
                if rest.is_empty() {
                    return Ok(found::DATE);
                }
                let part = fraction(rest).ok_or(Problem::Syntax)?;
                self.set_time((part * MICROSECONDS_PER_DAY as f64) as i64);
                return Ok(found::DATE | found::TIME);
            }
            Unit::Time => {
                let found = self.run_together(text, self.found | found::DATE)?;
                return if found == found::TIME { Ok(found) } else { Err(Problem::Syntax) };
            }
            Unit::None => return Err(Problem::Syntax),
        }
        Ok(match unit {
            Unit::Year => found::YEAR,
            Unit::Month => found::MONTH,
            Unit::Day => found::DAY,
            Unit::Hour => found::HOUR,
            Unit::Minute => found::MINUTE,
            _ => found::WHOLE_SECOND,
        })
    }

    /// In a time of day: a preceding date, a zone's name or a time with an offset.
    fn date_beside_time(&mut self, text: &str, index: usize) -> Decoded<u32> {
        if self.unit.is_none() && index == 0 && self.begins_with_date {
            return self.date(text);
        }
        let unit = self.unit.take();
        if unit.is_none() && !text.starts_with(|first: char| first.is_ascii_digit()) {
            return self.zone_name(text);
        }
        if unit.is_some_and(|unit| unit != Unit::Time) || self.has(found::TIME) {
            return Err(Problem::Syntax);
        }
        self.time_with_offset(text)
    }

    /// In a time of day: a number without a unit.
    fn number_of_time(&mut self, text: &str, index: usize) -> Decoded<u32> {
        match text.find('.') {
            Some(_) if index == 0 && self.begins_with_date => self.date(text),
            Some(digits) if digits > 2 => self.run_together(text, self.known()),
            Some(_) => Err(Problem::Syntax),
            None if text.len() > 4 => self.run_together(text, self.known()),
            None => self.number(text, false, self.known()),
        }
    }

    /// A number without a unit.
    fn bare_number(&mut self, text: &str) -> Decoded<u32> {
        let has_date = self.found & found::DATE != 0;
        match text.find('.') {
            Some(_) if !has_date => self.date(text),
            Some(digits) if digits > 2 => self.run_together(text, self.found),
            _ if text.len() >= 6 && !(has_date && self.found & found::TIME != 0) => {
                self.run_together(text, self.found)
            }
            _ => self.number(text, self.has_month_name, self.found),
        }
    }

    /// A number of a date, given the fields in `known`.
    fn number(&mut self, text: &str, has_month_name: bool, known: u32) -> Decoded<u32> {
        let (number, rest) = leading_number(text).map_err(|()| Problem::Field)?;
        let digits = text.len() - rest.len();
        if digits == 0 {
            return Err(Problem::Syntax);
        }
        if rest.starts_with('.') {
            if digits > 2 {
                return self.run_together(text, known | found::DATE);
            }
            self.microsecond = microseconds(rest)?;
        } else if !rest.is_empty() {
            return Err(Problem::Syntax);
        }
        let is_long = text.len() >= 3;
        let begins_with_year = is_long || self.order == DateOrder::Ymd;
        if text.len() == 3 && known & found::DATE == found::YEAR && (1..=366).contains(&number) {
            self.day_of_year = number;
            return Ok(found::DAY_OF_YEAR | found::MONTH | found::DAY);
        }
        const YEAR_AND_MONTH: u32 = found::YEAR | found::MONTH;
        const MONTH_AND_DAY: u32 = found::MONTH | found::DAY;
        let found = match known & found::DATE {
            0 if begins_with_year => found::YEAR,
            0 if self.order == DateOrder::Dmy => found::DAY,
            0 => found::MONTH,
            found::YEAR => found::MONTH,
            found::MONTH if has_month_name && begins_with_year => found::YEAR,
            found::MONTH => found::DAY,
            YEAR_AND_MONTH if has_month_name && is_long && self.is_short_year => {
                // The number taken for the year is the day.
                self.day = self.year;
                self.year = number;
                self.is_short_year = false;
                return Ok(found::DAY);
            }
            YEAR_AND_MONTH => found::DAY,
            found::DAY => found::MONTH,
            MONTH_AND_DAY => found::YEAR,
            found::DATE => return self.run_together(text, known),
            _ => return Err(Problem::Syntax),
        };
        match found {
            found::YEAR => {
                self.year = number;
                self.is_short_year = text.len() <= 2;
            }
            found::MONTH => self.month = number,
            _ => self.day = number,
        }
        Ok(found)
    }

    /// `YYYYMMDD`, or after a date `HHMMSS` or `HHMM`.
    fn run_together(&mut self, text: &str, known: u32) -> Decoded<u32> {
        let (digits, has_point) = match text.find('.') {
            Some(at) => {
                // Everything from a second point on is ignored.
                let end = text[at + 1..].find('.').map_or(text.len(), |next| at + 1 + next);
                self.microsecond = microseconds(&text[at..end])?;
                (&text[..at], true)
            }
            None => (text, false),
        };
        let length = digits.len();
        if !has_point && known & found::DATE != found::DATE && length >= 6 {
            let (year, rest) = digits.split_at(length - 4);
            // PostgreSQL's atoi returns an arbitrary number for a year that is too long. Here it is out of
            // range.
            let (year, _) = leading_number(year).map_err(|()| Problem::Field)?;
            (self.year, self.month, self.day) = (year, small_number(&rest[..2]), small_number(&rest[2..]));
            self.is_short_year |= length == 6;
            return Ok(found::DATE);
        }
        if known & found::TIME != found::TIME && matches!(length, 4 | 6) {
            self.hour = small_number(&digits[..2]);
            self.minute = small_number(&digits[2..4]);
            self.second = small_number(&digits[4..]);
            return Ok(found::TIME);
        }
        Err(Problem::Syntax)
    }

    /// A word, perhaps with a sign; `next` is the look of the field after it.
    fn word(&mut self, word: &str, next: Option<Look>, now: Now<'_>) -> Decoded<u32> {
        if let Some((zone, is_summer)) = zone::abbreviated(word) {
            return Ok(match zone {
                Zone::Fixed(seconds) => {
                    self.offset = seconds;
                    found::ZONE | if is_summer { found::SUMMER } else { 0 }
                }
                zone => {
                    self.zone = Some(zone);
                    found::ZONE | found::CHANGING
                }
            });
        }
        match keyword(word) {
            Some(Keyword::Ignored) => Ok(0),
            Some(Keyword::Moment(moment)) => self.moment(moment, word, now),
            Some(Keyword::Month(month)) => {
                let was_day = self.has(found::MONTH)
                    && !self.has_month_name
                    && !self.has(found::DAY)
                    && (1..=31).contains(&self.month);
                if was_day {
                    self.day = self.month;
                }
                self.has_month_name = true;
                self.month = i64::from(month);
                Ok(if was_day { found::DAY } else { found::MONTH })
            }
            Some(Keyword::Summer) => {
                self.offset += 3600;
                Ok(found::SUMMER_WORD | found::SUMMER)
            }
            Some(Keyword::Half(is_afternoon)) => {
                self.is_afternoon = Some(is_afternoon);
                Ok(found::HALF)
            }
            Some(Keyword::Era(is_bc)) => {
                self.is_bc = is_bc;
                Ok(found::ERA)
            }
            Some(Keyword::Weekday) => Ok(found::WEEKDAY),
            Some(Keyword::Unit(Unit::Time))
                if !self.is_time && !self.has(found::DATE)
                    || !matches!(next, Some(Look::Number | Look::Time | Look::Date)) =>
            {
                Err(Problem::Syntax)
            }
            Some(Keyword::Unit(unit)) => {
                self.unit = Some(unit);
                Ok(0)
            }
            None => {
                let (zone, _) = zone::named(word).map_err(Problem::Other)?.ok_or(Problem::Syntax)?;
                self.zone = Some(zone);
                Ok(found::ZONE)
            }
        }
    }

    fn moment(&mut self, moment: Moment, word: &str, now: Now<'_>) -> Decoded<u32> {
        let days_off = match moment {
            Moment::Infinity | Moment::MinusInfinity | Moment::Epoch => {
                self.special = Some(moment);
                return Ok(found::SPECIAL);
            }
            Moment::Midnight => {
                self.special = None;
                (self.hour, self.minute, self.second, self.offset) = (0, 0, 0, 0);
                return Ok(found::TIME | found::ZONE);
            }
            Moment::Yesterday => -1,
            Moment::Now | Moment::Today => 0,
            Moment::Tomorrow => 1,
        };
        self.special = None;
        let (local, offset) = now(word).map_err(Problem::Other)?;
        self.set_date(civil_from_days(local.div_euclid(MICROSECONDS_PER_DAY) + days_off));
        if moment == Moment::Now {
            self.set_time(local);
            self.offset = offset;
            return Ok(found::DATE | found::TIME | found::ZONE);
        }
        Ok(found::DATE)
    }

    /// Computes the year, and checks whether month and day are present.
    fn check_date(&mut self) -> Decoded<()> {
        if self.has(found::YEAR) && !self.is_julian {
            if self.year < 0 || (self.year == 0 && (self.is_bc || !self.is_short_year)) {
                return Err(Problem::Field);
            }
            self.year = match self.year {
                year if self.is_bc => 1 - year,
                year if self.is_short_year && year < 70 => year + 2000,
                year if self.is_short_year && year < 100 => year + 1900,
                year => year,
            };
        }
        if self.has(found::DAY_OF_YEAR) {
            self.set_date(civil_from_days(days_from_civil(self.year, 1, 1) + self.day_of_year - 1));
        }
        let is_wrong_month = self.has(found::MONTH) && !(1..=12).contains(&self.month);
        if is_wrong_month || (self.has(found::DAY) && !(1..=31).contains(&self.day)) {
            return Err(Problem::MonthDay);
        }
        if self.has(found::DATE) && self.day > i64::from(month_days(self.year, self.month as u8)) {
            return Err(Problem::Field);
        }
        Ok(())
    }

    fn finish(mut self) -> Decoded<Meaning> {
        self.check_date()?;
        if let Some(is_afternoon) = self.is_afternoon {
            if self.hour > 12 {
                return Err(Problem::Field);
            }
            self.hour = self.hour % 12 + if is_afternoon { 12 } else { 0 };
        }
        match self.special {
            Some(Moment::Infinity) => return Ok(Meaning::Infinity),
            Some(Moment::MinusInfinity) => return Ok(Meaning::MinusInfinity),
            Some(_) => return Ok(Meaning::Epoch),
            None => {}
        }
        if self.is_time {
            return self.finish_time();
        }
        // `dst` is allowed only with a zone that has one offset.
        let is_summer = self.has(found::SUMMER_WORD);
        if !self.has(found::DATE) || (is_summer && (self.zone.is_some() || !self.has(found::ZONE))) {
            return Err(Problem::Syntax);
        }
        let days = days_from_civil(self.year, self.month as u8, self.day as u8);
        let time = self.time_of_day();
        let zone = self.has(found::ZONE).then(|| self.zone.unwrap_or(Zone::Fixed(self.offset)));
        Ok(Meaning::Local(days, time, zone))
    }
}

impl Decoder {
    /// Finishes a time of day, whose date does not count; a zone whose offset changes needs a date.
    fn finish_time(self) -> Decoded<Meaning> {
        if !self.is_within_day() {
            return Err(Problem::Field);
        }
        let changes = self.zone.as_ref().is_some_and(|zone| matches!(zone, Zone::Named(_)) && zone.changes());
        if !self.has(found::TIME) || (changes && !self.has(found::DATE)) {
            return Err(Problem::Syntax);
        }
        let day = self.has(found::DATE).then(|| days_from_civil(self.year, self.month as u8, self.day as u8));
        let has_offset = self.has(found::ZONE) && self.zone.is_none();
        let needs_day = !has_offset && (changes || !matches!(self.zone, Some(Zone::Named(_))));
        // A part of a date, or `dst` without a zone that has one offset.
        let is_partial = needs_day && day.is_none() && self.found & found::DATE != 0;
        if is_partial || (self.has(found::SUMMER_WORD) && !has_offset) {
            return Err(Problem::Syntax);
        }
        let zone = self.has(found::ZONE).then(|| self.zone.clone().unwrap_or(Zone::Fixed(self.offset)));
        Ok(Meaning::Time(day, self.time_of_day(), zone))
    }
}

/// Splits into runs of digits and runs of letters. The character after each run is skipped, whatever it is,
/// and so are further delimiters, which must be followed by another run.
fn parts(text: &str) -> Option<SmallVec<[&str; 4]>> {
    let mut parts = SmallVec::new();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.trim_start_matches(|character: char| !character.is_ascii_alphanumeric());
        let is_digits = rest.as_bytes().first()?.is_ascii_digit();
        let is_inside =
            |byte: &u8| if is_digits { byte.is_ascii_digit() } else { byte.is_ascii_alphabetic() };
        let end = rest.bytes().position(|byte| !is_inside(&byte)).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Some(parts)
}
