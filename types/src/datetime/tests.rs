//! The calendar and time zones. Text forms are tested by the table taken from PostgreSQL.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{
    CivilDate, DATE_INFINITY, END_TIMESTAMP, FIRST_TIMESTAMP, MICROSECONDS_PER_HOUR, TIMESTAMP_INFINITY,
    add_interval, age, civil_from_days, date_to_timestamp, days_from_civil, difference, local_to_utc,
    month_days, parse_date, parse_interval, parse_timestamp, timestamp_to_date, utc_to_local, write_interval,
    zone,
};
use super::{write_date_in, write_interval_in, write_timestamp_in};
use crate::interval::{Interval, IntervalFields, IntervalModifier};
use crate::text::{DateForm, DateOrder, DateStyles, IntervalForm, Reading};

#[test]
fn known_days() {
    assert_eq!(days_from_civil(2000, 1, 1), 0);
    assert_eq!(days_from_civil(1970, 1, 1), -10_957);
    assert_eq!(civil_from_days(-2_451_545), CivilDate { year: -4713, month: 11, day: 24 });
    assert_eq!(days_from_civil(5_874_897, 12, 31), 2_145_031_948);
    assert_eq!((month_days(1900, 2), month_days(2000, 2), month_days(-4, 2)), (28, 29, 29));
}

#[test]
fn infinities_pass_through() {
    assert_eq!(date_to_timestamp(DATE_INFINITY).unwrap(), TIMESTAMP_INFINITY);
    assert_eq!(timestamp_to_date(TIMESTAMP_INFINITY), DATE_INFINITY);
    assert_eq!(local_to_utc(TIMESTAMP_INFINITY, &TimeZone::UTC).unwrap(), TIMESTAMP_INFINITY);
    assert_eq!(date_to_timestamp(200_000_000).unwrap_err().to_string(), "date out of range for timestamp");
}

/// In spring 02:30 does not exist and counts as 03:30 summer time. In autumn it occurs twice and means the
/// second.
#[test]
fn hours_that_change() {
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    let offset = |local: &str| {
        let local = parse_timestamp(local, (&TimeZone::UTC).into()).unwrap();
        (local - local_to_utc(local, &berlin).unwrap()) / MICROSECONDS_PER_HOUR
    };
    assert_eq!(offset("2024-03-31 01:59"), 1);
    assert_eq!(offset("2024-03-31 02:30"), 1);
    assert_eq!(offset("2024-03-31 03:00"), 2);
    assert_eq!(offset("2024-10-27 02:30"), 1);
    assert_eq!(offset("2024-10-27 01:59"), 2);
    assert_eq!(offset("202024-07-01 00:00"), 2);
}

#[test]
fn zones_by_name() {
    assert!(zone("europe/BERLIN").is_ok());
    assert_eq!(zone("PST").unwrap().offset_of_instant(0), -8 * 3600);
    let error = zone("Mars/Base").unwrap_err();
    let message = "time zone \"Mars/Base\" not recognized".to_owned();
    assert_eq!((error.sqlstate().0, error.to_string()), ("22023", message));
}

proptest! {
    #[test]
    fn days_and_dates_agree(days in -2_451_545_i64..2_145_031_949) {
        let date = civil_from_days(days);
        prop_assert_eq!(days_from_civil(date.year, date.month, date.day), days);
        prop_assert!(date.day >= 1 && date.day <= month_days(date.year, date.month));
    }

    #[test]
    fn instants_survive_their_local_time(
        instant in -211_000_000_000_000_000_i64..9_223_000_000_000_000_000,
        zone in prop::sample::select(vec!["UTC", "Asia/Tokyo", "Europe/Berlin", "America/New_York"]),
    ) {
        let tz = TimeZone::get(zone).unwrap();
        let back = local_to_utc(utc_to_local(instant, &tz).unwrap(), &tz).unwrap();
        // When clocks go back (never by more than hours), a local time stands for two instants.
        prop_assert!((back - instant).abs() <= 2 * MICROSECONDS_PER_HOUR);
    }
}

proptest! {
    #[test]
    fn intervals_come_back_from_their_text(months: i32, days: i32, time in -i64::MAX..i64::MAX) {
        let interval = Interval::new(months, days, time);
        let mut text = Vec::new();
        write_interval(interval, &mut text);
        let text = String::from_utf8(text).unwrap();
        let read = parse_interval(&text, IntervalModifier::NONE, IntervalForm::Postgres).unwrap();
        prop_assert_eq!(read, interval, "{}", text);
    }

    #[test]
    fn intervals_come_back_from_every_form(
        months in -i32::MAX..i32::MAX,
        days in -i32::MAX..i32::MAX,
        time in -i64::MAX..i64::MAX,
    ) {
        let interval = Interval::new(months, days, time);
        for form in [IntervalForm::Verbose, IntervalForm::SqlStandard, IntervalForm::Iso] {
            let mut text = Vec::new();
            write_interval_in(interval, form, &mut text);
            let text = String::from_utf8(text).unwrap();
            let read = parse_interval(&text, IntervalModifier::NONE, form).unwrap();
            prop_assert_eq!(read, interval, "{}", text);
        }
    }

    #[test]
    fn dates_come_back_from_every_form(
        days in -2_451_545_i32..2_145_031_949,
        time in FIRST_TIMESTAMP..END_TIMESTAMP,
    ) {
        let forms = [DateForm::Iso, DateForm::Sql, DateForm::German, DateForm::Postgres];
        let orders = [DateOrder::Mdy, DateOrder::Dmy];
        for (form, order) in forms.into_iter().flat_map(|form| orders.map(|order| (form, order))) {
            // The German form has an order of its own.
            let order = if form == DateForm::German { DateOrder::Dmy } else { order };
            let styles = DateStyles { form, order, ..DateStyles::default() };
            let zone = TimeZone::UTC;
            let reading = Reading { styles, ..(&zone).into() };
            let mut text = Vec::new();
            write_date_in(days, styles, &mut text);
            let text = String::from_utf8(text).unwrap();
            prop_assert_eq!(parse_date(&text, reading).unwrap(), days, "{}", text);
            let mut text = Vec::new();
            write_timestamp_in(time, styles, &mut text);
            let text = String::from_utf8(text).unwrap();
            prop_assert_eq!(parse_timestamp(&text, reading).unwrap(), time, "{}", text);
        }
    }

    #[test]
    fn no_text_of_an_interval_panics(text in "[P@T0-9:. +a-zYMWDHS-]{0,24}", text_of_anything in ".{0,24}") {
        let _ = parse_interval(&text, IntervalModifier::NONE, IntervalForm::SqlStandard);
        let modifier = IntervalModifier { fields: Some(IntervalFields::MinuteToSecond), precision: Some(2) };
        let _ = parse_interval(&text_of_anything, modifier, IntervalForm::Postgres);
    }

    #[test]
    fn a_difference_leads_back(from in FIRST_TIMESTAMP..END_TIMESTAMP, to in FIRST_TIMESTAMP..END_TIMESTAMP) {
        if let Ok(interval) = difference(to, from) {
            prop_assert_eq!(add_interval(from, interval).unwrap(), to);
        }
        if let Ok(age) = age(to, from, to < from) {
            prop_assert!(age.months == 0 || (age.months > 0) == (to > from));
        }
    }
}
