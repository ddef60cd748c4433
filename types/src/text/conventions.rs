//! The influence of a session's settings on text forms, in and out.

use jiff::tz::TimeZone;

use crate::system_catalog::SystemCatalog;

/// The settings for reading texts.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// For times without an offset.
    pub time_zone: &'a TimeZone,
    /// The transaction's time, for `now` and `today`, which are refused without it.
    pub now: Option<i64>,
    /// For names of objects.
    pub catalog: Option<&'a dyn SystemCatalog>,
}

impl<'a> From<&'a TimeZone> for Reading<'a> {
    fn from(time_zone: &'a TimeZone) -> Reading<'a> {
        Reading { time_zone, now: None, catalog: None }
    }
}

/// The settings for writing texts.
#[derive(Clone, Copy, Debug)]
pub struct TextForm<'a> {
    pub time_zone: &'a TimeZone,
    /// `extra_float_digits`: from 1 on floats have the fewest digits that read back as the same number;
    /// otherwise 15 digits (`real`: 6) plus this number, rounded.
    pub float_digits: i8,
}
