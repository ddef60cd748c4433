//! Time spans: the type `interval`, its modifiers and its arithmetic.
//!
//! An interval keeps months, days and microseconds apart, because a month has no fixed number of days and a
//! day no fixed number of hours. In comparisons a month has 30 days and a day 24 hours, so `1 month` and `30
//! days` are equal, but not identical.
//!
//! Products and quotients are computed in floating point with PostgreSQL's steps, whose rounding is visible.
//! Only operations that IEEE 754 defines exactly are used, so every machine gives the same result.
//!
//! Reference: `interval_mul`, `interval_div` and `interval_justify_*` of PostgreSQL 15's timestamp.c.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, sqlstate};

pub const MONTHS_PER_YEAR: i32 = 12;
/// Days in a month when months are converted.
pub const DAYS_PER_MONTH: i32 = 30;
const SECONDS_PER_DAY: f64 = 86_400.0;
const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;
/// The most digits after the point that an interval's seconds can have.
pub const MAXIMUM_PRECISION: u8 = 6;

/// A time span. Two are equal (`==`) if they are identical; for SQL's equality see [`Interval::order`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub microseconds: i64,
}

/// Which fields an `interval` keeps, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IntervalFields {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    YearToMonth,
    DayToHour,
    DayToMinute,
    DayToSecond,
    HourToMinute,
    HourToSecond,
    MinuteToSecond,
}

/// The modifiers of `interval`: `interval hour to second(3)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IntervalModifier {
    pub fields: Option<IntervalFields>,
    /// Digits of the second after the point, at most 6.
    pub precision: Option<u8>,
}

/// The error for a result that is not an interval.
pub fn out_of_range() -> Error {
    Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

impl IntervalFields {
    const ALL: [IntervalFields; 13] = [
        IntervalFields::Year,
        IntervalFields::Month,
        IntervalFields::Day,
        IntervalFields::Hour,
        IntervalFields::Minute,
        IntervalFields::Second,
        IntervalFields::YearToMonth,
        IntervalFields::DayToHour,
        IntervalFields::DayToMinute,
        IntervalFields::DayToSecond,
        IntervalFields::HourToMinute,
        IntervalFields::HourToSecond,
        IntervalFields::MinuteToSecond,
    ];

    /// The name as SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            IntervalFields::Year => "year",
            IntervalFields::Month => "month",
            IntervalFields::Day => "day",
            IntervalFields::Hour => "hour",
            IntervalFields::Minute => "minute",
            IntervalFields::Second => "second",
            IntervalFields::YearToMonth => "year to month",
            IntervalFields::DayToHour => "day to hour",
            IntervalFields::DayToMinute => "day to minute",
            IntervalFields::DayToSecond => "day to second",
            IntervalFields::HourToMinute => "hour to minute",
            IntervalFields::HourToSecond => "hour to second",
            IntervalFields::MinuteToSecond => "minute to second",
        }
    }

    /// The fields with this name.
    pub fn named(name: &str) -> Option<IntervalFields> {
        IntervalFields::ALL.into_iter().find(|fields| fields.name() == name)
    }

    /// A bit for each field, as in a type modifier.
    fn mask(self) -> i32 {
        const MONTH: i32 = 1 << 1;
        const YEAR: i32 = 1 << 2;
        const DAY: i32 = 1 << 3;
        const HOUR: i32 = 1 << 10;
        const MINUTE: i32 = 1 << 11;
        const SECOND: i32 = 1 << 12;
        match self {
            IntervalFields::Year => YEAR,
            IntervalFields::Month => MONTH,
            IntervalFields::Day => DAY,
            IntervalFields::Hour => HOUR,
            IntervalFields::Minute => MINUTE,
            IntervalFields::Second => SECOND,
            IntervalFields::YearToMonth => YEAR | MONTH,
            IntervalFields::DayToHour => DAY | HOUR,
            IntervalFields::DayToMinute => DAY | HOUR | MINUTE,
            IntervalFields::DayToSecond => DAY | HOUR | MINUTE | SECOND,
            IntervalFields::HourToMinute => HOUR | MINUTE,
            IntervalFields::HourToSecond => HOUR | MINUTE | SECOND,
            IntervalFields::MinuteToSecond => MINUTE | SECOND,
        }
    }

    fn of_mask(mask: i32) -> Option<IntervalFields> {
        IntervalFields::ALL.into_iter().find(|fields| fields.mask() == mask)
    }

    /// The smallest of the fields.
    pub fn smallest(self) -> IntervalFields {
        use IntervalFields as F;
        match self {
            F::YearToMonth => F::Month,
            F::DayToHour => F::Hour,
            F::DayToMinute | F::HourToMinute => F::Minute,
            F::DayToSecond | F::HourToSecond | F::MinuteToSecond => F::Second,
            one => one,
        }
    }
}

impl IntervalModifier {
    pub const NONE: IntervalModifier = IntervalModifier { fields: None, precision: None };
    const ALL_FIELDS: i32 = 0x7fff;
    const FULL_PRECISION: i32 = 0xffff;

    /// PostgreSQL's encoding, -1 for none.
    pub fn encoded(self) -> i32 {
        if self == IntervalModifier::NONE {
            return -1;
        }
        let fields = self.fields.map_or(IntervalModifier::ALL_FIELDS, IntervalFields::mask);
        (fields << 16) | self.precision.map_or(IntervalModifier::FULL_PRECISION, i32::from)
    }

    /// From PostgreSQL's encoding.
    pub fn decoded(modifier: i32) -> IntervalModifier {
        if modifier < 0 {
            return IntervalModifier::NONE;
        }
        IntervalModifier {
            fields: IntervalFields::of_mask(modifier >> 16 & IntervalModifier::ALL_FIELDS),
            precision: u8::try_from(modifier & 0xffff)
                .ok()
                .filter(|precision| *precision <= MAXIMUM_PRECISION),
        }
    }

    /// The type's name with these modifiers.
    pub fn type_name(self) -> String {
        let mut name = "interval".to_owned();
        if let Some(fields) = self.fields {
            name = format!("{name} {}", fields.name());
        }
        match self.precision {
            Some(precision) => format!("{name}({precision})"),
            None => name,
        }
    }
}

/// Microseconds rounded to this many digits of a second, half away from zero.
pub fn round_microseconds(microseconds: i64, precision: u8) -> i64 {
    let unit = 10_i64.pow(u32::from(MAXIMUM_PRECISION - precision.min(MAXIMUM_PRECISION)));
    let half = if microseconds < 0 { -(unit / 2) } else { unit / 2 };
    microseconds.saturating_add(half) / unit * unit
}

/// Rounds to six digits after the point, as PostgreSQL does between the steps of a product.
fn to_microseconds(seconds: f64) -> f64 {
    (seconds * 1e6).round_ties_even() / 1e6
}

/// The whole part, if it is an `integer`.
fn whole(number: f64) -> Result<i32> {
    let fits = number >= f64::from(i32::MIN) && number <= f64::from(i32::MAX);
    if fits { Ok(number as i32) } else { Err(out_of_range()) }
}

impl Interval {
    pub fn new(months: i32, days: i32, microseconds: i64) -> Interval {
        Interval { months, days, microseconds }
    }

    /// The whole span in microseconds, with months of 30 days of 24 hours, which is what comparisons use.
    pub fn span(self) -> i128 {
        let days = i64::from(self.months) * i64::from(DAYS_PER_MONTH) + i64::from(self.days);
        i128::from(days) * i128::from(MICROSECONDS_PER_DAY) + i128::from(self.microseconds)
    }

    /// SQL's order.
    pub fn order(self, other: Interval) -> Ordering {
        self.span().cmp(&other.span())
    }

    pub fn plus(self, other: Interval) -> Result<Interval> {
        let sum = || {
            Some(Interval {
                months: self.months.checked_add(other.months)?,
                days: self.days.checked_add(other.days)?,
                microseconds: self.microseconds.checked_add(other.microseconds)?,
            })
        };
        sum().ok_or_else(out_of_range)
    }

    pub fn minus(self, other: Interval) -> Result<Interval> {
        let difference = || {
            Some(Interval {
                months: self.months.checked_sub(other.months)?,
                days: self.days.checked_sub(other.days)?,
                microseconds: self.microseconds.checked_sub(other.microseconds)?,
            })
        };
        difference().ok_or_else(out_of_range)
    }

    pub fn negate(self) -> Result<Interval> {
        Interval::default().minus(self)
    }

    pub fn multiply(self, factor: f64) -> Result<Interval> {
        self.scaled(|part| part * factor)
    }

    pub fn divide(self, divisor: f64) -> Result<Interval> {
        if divisor == 0.0 {
            return Err(Error::input(sqlstate::DIVISION_BY_ZERO, "division by zero"));
        }
        self.scaled(|part| part / divisor)
    }

    /// Scales each part by itself; the fraction of a month goes to the days, the fraction of a day to the
    /// time.
    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Interval> {
        let (scaled_months, scaled_days) = (scale(f64::from(self.months)), scale(f64::from(self.days)));
        let months = whole(scaled_months)?;
        let mut days = whole(scaled_days)?;
        let more_days = to_microseconds((scaled_months - f64::from(months)) * f64::from(DAYS_PER_MONTH));
        let whole_more_days = whole(more_days)?;
        let part_of_day = scaled_days - f64::from(days) + more_days - f64::from(whole_more_days);
        let mut seconds = to_microseconds(part_of_day * SECONDS_PER_DAY);
        if seconds.abs() >= SECONDS_PER_DAY {
            let carried = whole(seconds / SECONDS_PER_DAY)?;
            days = days.checked_add(carried).ok_or_else(out_of_range)?;
            seconds -= f64::from(carried) * SECONDS_PER_DAY;
        }
        days = days.checked_add(whole_more_days).ok_or_else(out_of_range)?;
        let time = (scale(self.microseconds as f64) + seconds * 1e6).round_ties_even();
        // NaN is in no range; the upper limit is exclusive because 2^63 - 1 is not a double.
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        if !(-LIMIT..LIMIT).contains(&time) {
            return Err(out_of_range());
        }
        Ok(Interval { months, days, microseconds: time as i64 })
    }

    /// Turns whole days of the time into days.
    pub fn justify_hours(self) -> Result<Interval> {
        let days = self.days.checked_add((self.microseconds / MICROSECONDS_PER_DAY) as i32);
        let days = days.ok_or_else(out_of_range)?;
        let microseconds = self.microseconds % MICROSECONDS_PER_DAY;
        Ok(Interval { days, microseconds, ..self }.with_time_of_one_sign())
    }

    /// Turns every 30 days into a month.
    pub fn justify_days(self) -> Result<Interval> {
        let months = self.months.checked_add(self.days / DAYS_PER_MONTH).ok_or_else(out_of_range)?;
        let days = self.days % DAYS_PER_MONTH;
        let justified = Interval { months, days, ..self };
        Ok(match (months.signum(), days.signum()) {
            (1, -1) => Interval { months: months - 1, days: days + DAYS_PER_MONTH, ..justified },
            (-1, 1) => Interval { months: months + 1, days: days - DAYS_PER_MONTH, ..justified },
            _ => justified,
        })
    }

    /// Both, and gives all parts the same sign.
    pub fn justify_interval(self) -> Result<Interval> {
        let mut result = self;
        let carry_days = |interval: Interval| {
            let months = interval.months.checked_add(interval.days / DAYS_PER_MONTH);
            let months = months.ok_or_else(out_of_range)?;
            Ok(Interval { months, days: interval.days % DAYS_PER_MONTH, ..interval })
        };
        // Done before the time is added to the days, so that they do not overflow.
        if i64::from(result.days.signum()) * result.microseconds.signum() > 0 {
            result = carry_days(result)?;
        }
        result.days += (result.microseconds / MICROSECONDS_PER_DAY) as i32;
        result.microseconds %= MICROSECONDS_PER_DAY;
        result = carry_days(result)?;
        let below = (result.days, result.microseconds).cmp(&(0, 0));
        if result.months > 0 && below.is_lt() {
            (result.months, result.days) = (result.months - 1, result.days + DAYS_PER_MONTH);
        } else if result.months < 0 && below.is_gt() {
            (result.months, result.days) = (result.months + 1, result.days - DAYS_PER_MONTH);
        }
        Ok(result.with_time_of_one_sign())
    }

    /// Gives days and time the same sign, with a time of less than a day.
    fn with_time_of_one_sign(self) -> Interval {
        let Interval { days, microseconds, .. } = self;
        match (days.signum(), microseconds.signum()) {
            (1, -1) => Interval { days: days - 1, microseconds: microseconds + MICROSECONDS_PER_DAY, ..self },
            (-1, 1) => Interval { days: days + 1, microseconds: microseconds - MICROSECONDS_PER_DAY, ..self },
            _ => self,
        }
    }

    /// The interval with only these fields kept.
    pub fn fit(self, modifier: IntervalModifier) -> Interval {
        use IntervalFields as F;
        let mut kept = self;
        let below = |unit: i64| self.microseconds / unit * unit;
        match modifier.fields {
            None => {}
            Some(F::Year) => kept = Interval::new(self.months / MONTHS_PER_YEAR * MONTHS_PER_YEAR, 0, 0),
            Some(F::Month | F::YearToMonth) => kept = Interval::new(self.months, 0, 0),
            Some(F::Day) => kept.microseconds = 0,
            Some(fields) => match fields.smallest() {
                F::Hour => kept.microseconds = below(3_600_000_000),
                F::Minute => kept.microseconds = below(60_000_000),
                _ => {}
            },
        }
        if let Some(precision) = modifier.precision {
            kept.microseconds = round_microseconds(kept.microseconds, precision);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_come_back_as_they_were() {
        for fields in IntervalFields::ALL.into_iter().map(Some).chain([None]) {
            for precision in [None, Some(0), Some(3), Some(6)] {
                let modifier = IntervalModifier { fields, precision };
                assert_eq!(IntervalModifier::decoded(modifier.encoded()), modifier);
            }
        }
        assert_eq!(IntervalFields::named("day to second"), Some(IntervalFields::DayToSecond));
    }

    #[test]
    fn a_month_has_thirty_days_where_intervals_are_compared() {
        assert!(Interval::new(1, 0, 0).order(Interval::new(0, 30, 0)).is_eq());
        assert!(Interval::new(1, 0, 0).order(Interval::new(0, 29, MICROSECONDS_PER_DAY - 1)).is_gt());
        assert!(Interval::new(-1, 30, -1).order(Interval::default()).is_lt());
    }

    #[test]
    fn what_leaves_the_range_is_refused() {
        let most = Interval::new(i32::MAX, i32::MAX, i64::MAX);
        assert!(most.plus(Interval::new(0, 1, 0)).is_err());
        assert!(Interval::new(i32::MIN, 0, 0).negate().is_err());
        assert!(most.multiply(2.0).is_err() && most.multiply(f64::NAN).is_err());
        assert!(most.divide(0.0).is_err() && most.divide(1e-9).is_err());
        assert!(most.justify_hours().is_err() && most.justify_interval().is_err());
    }
}
