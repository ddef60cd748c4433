//! Values of the setting TimeZone: a name, POSIX rules, or hours or an interval east of Greenwich.

use hyades_types::datetime;
use hyades_types::error::{Error, sqlstate};
use hyades_types::interval::IntervalModifier;
use hyades_types::text::{self, IntervalForm};
use jiff::tz::TimeZone;

/// POSIX rules allow no larger offset.
const HOURS_PER_WEEK: f64 = 168.0;

/// Why a value is refused.
pub(super) enum Refusal {
    Unknown,
    /// The number of hours is out of range.
    Range,
    LeapSeconds(String),
    /// An interval has months or days.
    Field(&'static str),
    Other(Error),
}

impl Refusal {
    /// `unknown` is the error for an invalid value of the setting.
    pub(super) fn into_error(self, unknown: Error) -> Error {
        match self {
            Refusal::Unknown => unknown,
            Refusal::Range => unknown.with_detail("UTC timezone offset is out of range."),
            Refusal::LeapSeconds(name) => {
                let message = format!("time zone \"{name}\" appears to use leap seconds");
                Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
                    .with_detail("PostgreSQL does not support leap seconds.")
            }
            Refusal::Field(fields) => {
                unknown.with_detail(format!("Cannot specify {fields} in time zone interval."))
            }
            Refusal::Other(error) => error,
        }
    }
}

/// The zone of a value in its shown form.
pub(super) fn of_shown(name: &str) -> TimeZone {
    // Every value was accepted before.
    let zone = datetime::named(name).ok().flatten().and_then(|(zone, _)| zone.whole(name).ok());
    zone.unwrap_or(TimeZone::UTC)
}

/// The zone, and its shown form.
pub(super) fn read(value: &str) -> Result<(TimeZone, String), Refusal> {
    if let Some(hours) = text::c_number(value) {
        return of_hours(value, hours);
    }
    let after_word = value.get(..8).filter(|word| word.eq_ignore_ascii_case("interval")).map(|_| &value[8..]);
    if let Some(quoted) = after_word.and_then(|rest| rest.trim_start().strip_prefix('\'')) {
        let text = quoted.strip_suffix('\'').filter(|text| !text.contains('\'')).ok_or(Refusal::Unknown)?;
        return of_interval(value, text);
    }
    let (zone, shown) = datetime::named(value).map_err(Refusal::Other)?.ok_or(Refusal::Unknown)?;
    // PostgreSQL treats an offset that had seconds at the beginning of the year 2000 as leap seconds.
    if zone.offset_of_instant(0) % 60 != 0 {
        return Err(Refusal::LeapSeconds(value.to_owned()));
    }
    Ok((zone.whole(value).map_err(Refusal::Other)?, shown))
}

fn of_hours(value: &str, hours: f64) -> Result<(TimeZone, String), Refusal> {
    // NaN is out of range too.
    if hours.abs() < HOURS_PER_WEEK {
        // Within the bound above.
        #[allow(clippy::cast_possible_truncation)]
        return of_seconds(value, (hours * 3600.0) as i32);
    }
    Err(Refusal::Range)
}

fn of_interval(value: &str, text: &str) -> Result<(TimeZone, String), Refusal> {
    let interval = datetime::parse_interval(text, IntervalModifier::NONE, IntervalForm::default())
        .map_err(Refusal::Other)?;
    if interval.months != 0 {
        return Err(Refusal::Field("months"));
    }
    if interval.days != 0 {
        return Err(Refusal::Field("days"));
    }
    let seconds = interval.microseconds / datetime::MICROSECONDS_PER_SECOND;
    of_seconds(value, i32::try_from(seconds).map_err(|_| Refusal::Range)?)
}

fn of_seconds(value: &str, seconds: i32) -> Result<(TimeZone, String), Refusal> {
    let zone = datetime::Zone::Fixed(seconds).whole(value).map_err(Refusal::Other)?;
    let size = seconds.abs();
    let mut shown = format!("{:02}", size / 3600);
    if size % 3600 != 0 {
        shown += &format!(":{:02}", size / 60 % 60);
    }
    if size % 60 != 0 {
        shown += &format!(":{:02}", size % 60);
    }
    let (name, rule) = if seconds < 0 { ('-', '+') } else { ('+', '-') };
    Ok((zone, format!("<{name}{shown}>{rule}{shown}")))
}
