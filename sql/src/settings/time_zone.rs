//! Values of the setting TimeZone: a name, POSIX rules, or hours east of Greenwich.

use hyades_types::error::{Error, sqlstate};
use hyades_types::{datetime, text};
use jiff::tz::TimeZone;

/// POSIX rules know no more.
const HOURS_PER_WEEK: f64 = 168.0;

/// Why a value is refused.
pub(super) enum Refusal {
    Unknown,
    /// The number of hours.
    Range,
    LeapSeconds(String),
    Unsupported(Error),
}

impl Refusal {
    /// `unknown`: that the value is none of the setting's.
    pub(super) fn into_error(self, unknown: Error) -> Error {
        match self {
            Refusal::Unknown => unknown,
            Refusal::Range => unknown.with_detail("UTC timezone offset is out of range."),
            Refusal::LeapSeconds(name) => {
                let message = format!("time zone \"{name}\" appears to use leap seconds");
                Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
                    .with_detail("PostgreSQL does not support leap seconds.")
            }
            Refusal::Unsupported(error) => error,
        }
    }
}

/// The zone of a value as it is shown.
pub(super) fn of_shown(name: &str) -> TimeZone {
    // Every value was read before.
    let zone = datetime::named(name).ok().flatten().and_then(|(zone, _)| zone.whole(name).ok());
    zone.unwrap_or(TimeZone::UTC)
}

/// The zone, and how it is shown.
pub(super) fn read(value: &str) -> Result<(TimeZone, String), Refusal> {
    if let Some(hours) = text::c_number(value) {
        return of_hours(value, hours);
    }
    let behind_word =
        value.get(..8).filter(|word| word.eq_ignore_ascii_case("interval")).map(|_| &value[8..]);
    if behind_word.is_some_and(|rest| rest.trim_start().starts_with('\'')) {
        let message = "SET TIME ZONE INTERVAL is not supported yet";
        return Err(Refusal::Unsupported(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)));
    }
    let (zone, shown) = datetime::named(value).map_err(Refusal::Unsupported)?.ok_or(Refusal::Unknown)?;
    // PostgreSQL takes an offset with seconds, when the year 2000 began, for leap seconds.
    if zone.offset_of_instant(0) % 60 != 0 {
        return Err(Refusal::LeapSeconds(value.to_owned()));
    }
    Ok((zone.whole(value).map_err(Refusal::Unsupported)?, shown))
}

fn of_hours(value: &str, hours: f64) -> Result<(TimeZone, String), Refusal> {
    // NaN is in no range either.
    if hours.abs() < HOURS_PER_WEEK {
        // Within the bound above.
        #[allow(clippy::cast_possible_truncation)]
        let seconds = (hours * 3600.0) as i32;
        let zone = datetime::Zone::Fixed(seconds).whole(value).map_err(Refusal::Unsupported)?;
        let size = seconds.abs();
        let mut shown = format!("{:02}", size / 3600);
        if size % 3600 != 0 {
            shown += &format!(":{:02}", size / 60 % 60);
        }
        if size % 60 != 0 {
            shown += &format!(":{:02}", size % 60);
        }
        let (name, rule) = if seconds < 0 { ('-', '+') } else { ('+', '-') };
        return Ok((zone, format!("<{name}{shown}>{rule}{shown}")));
    }
    Err(Refusal::Range)
}
