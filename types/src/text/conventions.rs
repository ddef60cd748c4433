//! The influence of a session's settings on text forms, in and out: `TimeZone`, `extra_float_digits`,
//! `DateStyle` and `IntervalStyle`.

use jiff::tz::TimeZone;

use crate::system_catalog::SystemCatalog;

/// The form in which dates and timestamps are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateForm {
    /// `1997-12-17 07:37:16-08`
    #[default]
    Iso,
    /// `12/17/1997 07:37:16.00 PST`
    Sql,
    /// `17.12.1997 07:37:16.00 PST`
    German,
    /// `Wed Dec 17 07:37:16 1997 PST`
    Postgres,
}

/// The order of the numbers of a date, read where the text does not tell, and written where the form leaves
/// it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    Dmy,
    Ymd,
}

/// The form in which intervals are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalForm {
    /// `1 year 2 mons 3 days 04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    Verbose,
    /// `+1-2 +3 +4:05:06`. Read in this form, a sign in front of an interval applies to all of it.
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`
    Iso,
}

/// `DateStyle` and `IntervalStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateStyles {
    pub form: DateForm,
    pub order: DateOrder,
    pub interval: IntervalForm,
}

impl DateStyles {
    /// Every way to read a text: texts that have one meaning under all of these depend on no setting.
    pub const READINGS: [DateStyles; 4] = {
        let mdy = DateStyles { form: DateForm::Iso, order: DateOrder::Mdy, interval: IntervalForm::Postgres };
        [
            mdy,
            DateStyles { order: DateOrder::Dmy, ..mdy },
            DateStyles { order: DateOrder::Ymd, ..mdy },
            DateStyles { interval: IntervalForm::SqlStandard, ..mdy },
        ]
    };
}

/// The settings for reading texts.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// For times without an offset.
    pub time_zone: &'a TimeZone,
    pub styles: DateStyles,
    /// The transaction's time, for `now` and `today`, which are refused without it.
    pub now: Option<i64>,
    /// For names of objects.
    pub catalog: Option<&'a dyn SystemCatalog>,
}

impl<'a> From<&'a TimeZone> for Reading<'a> {
    fn from(time_zone: &'a TimeZone) -> Reading<'a> {
        Reading { time_zone, styles: DateStyles::default(), now: None, catalog: None }
    }
}

/// The settings for writing texts.
#[derive(Clone, Copy, Debug)]
pub struct TextForm<'a> {
    pub time_zone: &'a TimeZone,
    /// `extra_float_digits`: from 1 on floats have the fewest digits that read back as the same number;
    /// otherwise 15 digits (`real`: 6) plus this number, rounded.
    pub float_digits: i8,
    pub styles: DateStyles,
}

impl<'a> From<&'a TimeZone> for TextForm<'a> {
    fn from(time_zone: &'a TimeZone) -> TextForm<'a> {
        TextForm { time_zone, float_digits: 1, styles: DateStyles::default() }
    }
}
