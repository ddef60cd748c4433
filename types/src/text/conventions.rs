//! What the settings of a session make of text forms, in and out.

use jiff::tz::TimeZone;

use crate::system_catalog::SystemCatalog;

/// What texts are read with.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Of times without an offset.
    pub time_zone: &'a TimeZone,
    /// The transaction's time, for `now` and `today`; without it they are refused.
    pub now: Option<i64>,
    /// For names of objects.
    pub catalog: Option<&'a dyn SystemCatalog>,
}

impl<'a> From<&'a TimeZone> for Reading<'a> {
    fn from(time_zone: &'a TimeZone) -> Reading<'a> {
        Reading { time_zone, now: None, catalog: None }
    }
}

/// What the settings of a session make of text forms.
#[derive(Clone, Copy, Debug)]
pub struct TextForm<'a> {
    pub time_zone: &'a TimeZone,
    /// `extra_float_digits`: from 1 on floats have the fewest digits that read back as the same number;
    /// below, so many fewer or more than 15 (`real`: 6), rounded.
    pub float_digits: i8,
}
