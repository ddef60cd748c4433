//! Time zones, with all forms of their names.
//!
//! A name is, in this order: an abbreviation ([`super::abbreviations`]) where one is allowed, a name in the
//! IANA database, or rules in POSIX's form of the variable TZ (`CET-1CEST,M3.5.0,M10.5.0/3`, `<+07>-7`,
//! `+03`; the sign is positive to the *west*). The names within such rules are never shown, so they may be
//! anything, and the first may be omitted. Without rules, summer time is that of the United States.
//!
//! An abbreviation whose offset changed has, at an instant, the offset that it had when its zone last used it
//! before that; if it had not yet been used, its first offset; and if the zone's history does not contain it,
//! the zone's offset at that instant.
//!
//! Reference: PostgreSQL documentation, sections 8.5.3, B.4 and B.5.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone, TimeZoneTransition};

use super::abbreviations::{self, Meaning};
use super::{MICROSECONDS_PER_SECOND, local_offset_seconds, offset_seconds, seconds_since_1970};
use crate::error::{Error, Result, sqlstate};
use crate::refusal::{Missing, refusal};

/// PostgreSQL's longest name.
const MAXIMUM_NAME_BYTES: usize = 255;
/// PostgreSQL's limit for offsets in rules.
const MAXIMUM_RULE_HOURS: i32 = 167;
/// The library's limit for offsets in rules with summer time.
const SECONDS_PER_DAY: i32 = 24 * 3600;
/// The period of summer time, if rules do not give it.
const USUAL_SUMMER: &str = "M3.2.0,M11.1.0";
/// No zone's abbreviations change after this (2200-01-01), in seconds since 1970.
const LAST_CHANGE: i64 = 7_258_118_400;
/// The number of transitions searched for the first use of an abbreviation: more than any zone has before its
/// rules repeat.
const MOST_TRANSITIONS: usize = 1000;

/// The zone of a time in a text, or of AT TIME ZONE.
#[derive(Clone, Debug)]
pub enum Zone {
    /// Seconds east of Greenwich.
    Fixed(i32),
    Named(TimeZone),
    /// An abbreviation whose offset changed, and the zone that used it.
    Abbreviation(String, TimeZone),
}

impl Zone {
    /// Seconds east of Greenwich at a local time.
    pub(super) fn offset_of_local(&self, local: i64) -> i32 {
        match self {
            Zone::Fixed(seconds) => *seconds,
            Zone::Named(zone) => local_offset_seconds(local, zone),
            Zone::Abbreviation(abbreviation, zone) => {
                let offset = local_offset_seconds(local, zone);
                let instant = local.saturating_sub(i64::from(offset) * MICROSECONDS_PER_SECOND);
                offset_of_abbreviation(abbreviation, zone, instant).unwrap_or(offset)
            }
        }
    }

    /// Whether its offset has ever changed, or will.
    pub(super) fn changes(&self) -> bool {
        match self {
            Zone::Fixed(_) => false,
            Zone::Named(zone) => zone.preceding(Timestamp::MAX).next().is_some(),
            Zone::Abbreviation(..) => true,
        }
    }

    /// Seconds east of Greenwich at an instant.
    pub fn offset_of_instant(&self, instant: i64) -> i32 {
        match self {
            Zone::Fixed(seconds) => *seconds,
            Zone::Named(zone) => offset_seconds(instant, zone),
            Zone::Abbreviation(abbreviation, zone) => offset_of_abbreviation(abbreviation, zone, instant)
                .unwrap_or_else(|| offset_seconds(instant, zone)),
        }
    }
}

/// The meaning of the abbreviation at an instant; None if the zone never used it.
fn offset_of_abbreviation(abbreviation: &str, zone: &TimeZone, instant: i64) -> Option<i32> {
    let seconds = seconds_since_1970(instant).min(LAST_CHANGE);
    let at = |seconds: i64| Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN);
    let is_used =
        |transition: &TimeZoneTransition<'_>| transition.abbreviation().eq_ignore_ascii_case(abbreviation);
    // A transition at the instant itself counts as before it.
    let last = zone.preceding(at(seconds + 1)).find(is_used).map(|transition| transition.offset());
    let first = || zone.following(at(seconds)).take(MOST_TRANSITIONS).find(is_used);
    last.or_else(|| first().map(|transition| transition.offset())).map(Offset::seconds)
}

/// A zone by its abbreviation, in lower case, and whether that implies summer time.
pub(super) fn abbreviated(abbreviation: &str) -> Option<(Zone, bool)> {
    Some(match abbreviations::meaning(abbreviation)? {
        Meaning::Standard(seconds) => (Zone::Fixed(seconds), false),
        Meaning::Daylight(seconds) => (Zone::Fixed(seconds), true),
        Meaning::Zone(name) => {
            (Zone::Abbreviation(abbreviation.to_owned(), TimeZone::get(name).ok()?), false)
        }
    })
}

/// A zone in the form for AT TIME ZONE.
pub fn zone(name: &str) -> Result<Zone> {
    if let Some((zone, _)) = abbreviated(&name.to_ascii_lowercase()) {
        return Ok(zone);
    }
    match named(name)? {
        Some((zone, _)) => Ok(zone),
        None => Err(unknown(name)),
    }
}

impl Zone {
    /// The library's zone (for an abbreviation whose offset changed, the whole zone); `name` is for the
    /// error.
    pub fn whole(self, name: &str) -> Result<TimeZone> {
        match self {
            Zone::Fixed(seconds) => {
                Offset::from_seconds(seconds).map(TimeZone::fixed).map_err(|_| too_far(name))
            }
            Zone::Named(zone) | Zone::Abbreviation(_, zone) => Ok(zone),
        }
    }
}

pub(super) fn unknown(name: &str) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
}

fn too_far(name: &str) -> Error {
    let message = format!("time zone \"{name}\" is not supported: its offset is more than a day");
    refusal(Missing::TimeZones, message)
}

/// A zone by its name in the database or by its rules, and its shown form; None if it does not exist.
/// Abbreviations are not accepted.
pub fn named(name: &str) -> Result<Option<(Zone, String)>> {
    if name.len() > MAXIMUM_NAME_BYTES {
        return Ok(None);
    }
    let plain = name.strip_prefix(':').unwrap_or(name);
    let (folder, plain) = match plain.get(..6).filter(|start| start.eq_ignore_ascii_case("posix/")) {
        Some(_) => ("posix/", &plain[6..]),
        None => ("", plain),
    };
    // The library's name for an unknown zone.
    if !plain.eq_ignore_ascii_case("Etc/Unknown")
        && let Ok(zone) = TimeZone::get(plain)
    {
        let shown = format!("{folder}{}", zone.iana_name().unwrap_or(plain));
        return Ok(Some((Zone::Named(zone), shown)));
    }
    if name.starts_with(':') {
        return Ok(None);
    }
    let upper = name.to_ascii_uppercase();
    Ok(of_rules(name, &upper)?.map(|zone| (zone, upper)))
}

/// A zone from rules in POSIX's form, in upper case.
fn of_rules(name: &str, upper: &str) -> Result<Option<Zone>> {
    let Some((standard, rest)) = after_name(upper).and_then(|(_, rest)| rule_offset(rest)) else {
        return Ok(None);
    };
    if rest.is_empty() {
        return Ok(Some(Zone::Fixed(-standard)));
    }
    let Some((summer_name, rest)) = after_name(rest) else { return Ok(None) };
    if summer_name.is_empty() {
        return Ok(None);
    }
    let has_offset = !rest.is_empty() && !rest.starts_with([',', ';']);
    let Some((summer, rest)) = (if has_offset { rule_offset(rest) } else { Some((standard - 3600, rest)) })
    else {
        return Ok(None);
    };
    let rules = match rest.strip_prefix([',', ';']) {
        Some(rules) => rules,
        None if rest.is_empty() => USUAL_SUMMER,
        None => return Ok(None),
    };
    if standard.abs() > SECONDS_PER_DAY || summer.abs() > SECONDS_PER_DAY {
        return Err(too_far(name));
    }
    let text = format!("AAA{}BBB{},{rules}", shown_offset(standard), shown_offset(summer));
    Ok(TimeZone::posix(&text).ok().map(Zone::Named))
}

/// A name in rules, which may be empty, and the rest; None if its bracket is never closed.
fn after_name(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>'),
        None => {
            let ends = |character: char| character.is_ascii_digit() || matches!(character, ',' | '-' | '+');
            Some(text.split_at(text.find(ends).unwrap_or(text.len())))
        }
    }
}

/// `[+-]hh[:mm[:ss]]` in seconds, and the rest.
fn rule_offset(text: &str) -> Option<(i32, &str)> {
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = |text: &'_ str, most: i32| {
        let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        let number: i32 = text[..end].parse().ok()?;
        (number <= most).then_some((number, end))
    };
    let (hours, end) = number(unsigned, MAXIMUM_RULE_HOURS)?;
    let mut seconds = hours * 3600;
    let mut rest = &unsigned[end..];
    for (unit, most) in [(60, 59), (1, 60)] {
        let Some(after) = rest.strip_prefix(':') else { break };
        let (count, end) = number(after, most)?;
        seconds += count * unit;
        rest = &after[end..];
    }
    Some((if is_negative { -seconds } else { seconds }, rest))
}

fn shown_offset(seconds: i32) -> String {
    let sign = if seconds < 0 { "-" } else { "+" };
    let size = seconds.abs();
    format!("{sign}{}:{:02}:{:02}", size / 3600, size / 60 % 60, size % 60)
}
