//! Names of units of time, as `extract`, `date_trunc` and texts of intervals know them.

/// PostgreSQL compares no more of a name.
const SIGNIFICANT_BYTES: usize = 10;

/// The full name of a unit, from any of its names in lower case; None if there is no such unit.
pub fn unit_named(name: &str) -> Option<&'static str> {
    let significant = name.get(..SIGNIFICANT_BYTES).unwrap_or(name);
    Some(match significant {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => "microseconds",
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => "milliseconds",
        "s" | "sec" | "secs" | "second" | "seconds" => "second",
        "m" | "min" | "mins" | "minute" | "minutes" => "minute",
        "h" | "hr" | "hrs" | "hour" | "hours" => "hour",
        "d" | "day" | "days" => "day",
        "w" | "week" | "weeks" => "week",
        "mon" | "mons" | "month" | "months" => "month",
        "qtr" | "quarter" => "quarter",
        "y" | "yr" | "yrs" | "year" | "years" => "year",
        "dec" | "decs" | "decade" | "decades" => "decade",
        "c" | "cent" | "century" | "centuries" => "century",
        "mil" | "mils" | "millennium" | "millennia" => "millennium",
        "timezone" => "timezone",
        "timezone_h" => "timezone_hour",
        "timezone_m" => "timezone_minute",
        "epoch" => "epoch",
        "dow" => "dow",
        "doy" => "doy",
        "isodow" => "isodow",
        "isoyear" => "isoyear",
        "j" | "jd" | "julian" => "julian",
        _ => return None,
    })
}
