//! Words that have a meaning in dates and times, besides the abbreviations of zones.

/// A named moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Infinity,
    MinusInfinity,
    Epoch,
    Now,
    Yesterday,
    Today,
    Tomorrow,
    /// `allballs`: 00:00:00 UTC.
    Midnight,
}

/// The unit of the number after a letter, as in `y2001m02d04`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    /// Also minutes, after hours.
    Month,
    Day,
    Hour,
    Minute,
    Second,
    JulianDay,
    /// `t` of ISO 8601.
    Time,
    /// Words of `extract`: nothing may follow them.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Moment(Moment),
    Month(u8),
    Weekday,
    /// Whether it is PM.
    Half(bool),
    /// Whether it is BC.
    Era(bool),
    /// `at`, `on`.
    Ignored,
    /// `dst`.
    Summer,
    Unit(Unit),
}

/// Looks up a word in lower case.
pub(super) fn keyword(word: &str) -> Option<Keyword> {
    Some(match word {
        "infinity" => Keyword::Moment(Moment::Infinity),
        "-infinity" => Keyword::Moment(Moment::MinusInfinity),
        "epoch" => Keyword::Moment(Moment::Epoch),
        "now" => Keyword::Moment(Moment::Now),
        "yesterday" => Keyword::Moment(Moment::Yesterday),
        "today" => Keyword::Moment(Moment::Today),
        "tomorrow" => Keyword::Moment(Moment::Tomorrow),
        "allballs" => Keyword::Moment(Moment::Midnight),
        "jan" | "january" => Keyword::Month(1),
        "feb" | "february" => Keyword::Month(2),
        "mar" | "march" => Keyword::Month(3),
        "apr" | "april" => Keyword::Month(4),
        "may" => Keyword::Month(5),
        "jun" | "june" => Keyword::Month(6),
        "jul" | "july" => Keyword::Month(7),
        "aug" | "august" => Keyword::Month(8),
        "sep" | "sept" | "september" => Keyword::Month(9),
        "oct" | "october" => Keyword::Month(10),
        "nov" | "november" => Keyword::Month(11),
        "dec" | "december" => Keyword::Month(12),
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday"
        | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" => Keyword::Weekday,
        "am" => Keyword::Half(false),
        "pm" => Keyword::Half(true),
        "ad" => Keyword::Era(false),
        "bc" => Keyword::Era(true),
        "at" | "on" => Keyword::Ignored,
        "dst" => Keyword::Summer,
        "y" => Keyword::Unit(Unit::Year),
        "m" => Keyword::Unit(Unit::Month),
        "d" => Keyword::Unit(Unit::Day),
        "h" => Keyword::Unit(Unit::Hour),
        "mm" => Keyword::Unit(Unit::Minute),
        "s" => Keyword::Unit(Unit::Second),
        "j" | "jd" | "julian" => Keyword::Unit(Unit::JulianDay),
        "t" => Keyword::Unit(Unit::Time),
        "dow" | "doy" | "isodow" | "isoyear" => Keyword::Unit(Unit::None),
        _ => return None,
    })
}
