//! Numeric settings and their units.
//!
//! Reference: parse_int, parse_real and convert_int_from_base_unit of PostgreSQL's guc.c.

/// The unit of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    None,
    Milliseconds,
    Seconds,
    Bytes,
    Kilobytes,
    /// Blocks of 8 kB.
    Blocks,
}

/// Names of units and their sizes in the smallest one, largest first.
type Units = &'static [(&'static str, f64)];
const TIME_UNITS: Units =
    &[("d", 86_400e6), ("h", 3600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3), ("us", 1.0)];
const MEMORY_UNITS: Units =
    &[("TB", 1_099_511_627_776.0), ("GB", 1_073_741_824.0), ("MB", 1_048_576.0), ("kB", 1024.0), ("B", 1.0)];

/// Why a text is not a valid value.
pub(super) enum Wrong {
    Syntax,
    /// It is refused with this hint.
    Hint(&'static str),
}

impl Unit {
    /// The unit with the name that `pg_settings` shows.
    pub(super) fn named(name: &str) -> Option<Unit> {
        Some(match name {
            "" => Unit::None,
            "ms" => Unit::Milliseconds,
            "s" => Unit::Seconds,
            "B" => Unit::Bytes,
            "kB" => Unit::Kilobytes,
            "8kB" => Unit::Blocks,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::Kilobytes => "kB",
            Unit::Blocks => "8kB",
        }
    }

    /// The size of the unit in the smallest one.
    fn size(self) -> f64 {
        match self {
            Unit::Milliseconds => 1e3,
            Unit::Seconds => 1e6,
            Unit::Kilobytes => 1024.0,
            Unit::Blocks => 8192.0,
            Unit::None | Unit::Bytes => 1.0,
        }
    }

    fn units(self) -> Units {
        match self {
            Unit::None => &[],
            Unit::Milliseconds | Unit::Seconds => TIME_UNITS,
            Unit::Bytes | Unit::Kilobytes | Unit::Blocks => MEMORY_UNITS,
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Unit::Milliseconds | Unit::Seconds => {
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\"."
            }
            _ => "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
        }
    }

    /// A number, with or without one of the units, converted to this unit.
    fn to_base(self, number: f64, name: &str) -> Result<f64, Wrong> {
        if name.is_empty() {
            return Ok(number);
        }
        if self == Unit::None {
            return Err(Wrong::Syntax);
        }
        let units = self.units();
        let Some(at) = units.iter().position(|(known, _)| *known == name) else {
            return Err(Wrong::Hint(self.hint()));
        };
        let value = number * units[at].1;
        // A fraction is rounded to the next smaller unit.
        let value = match units.get(at + 1) {
            Some((_, smaller)) => (value / smaller).round_ties_even() * smaller,
            None => value,
        };
        Ok(value / self.size())
    }
}

/// The number at the beginning, and the rest of the text.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let unsigned = text.trim_start_matches(['+', '-']);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if text.len() - unsigned.len() > 1 {
        return None;
    }
    let radix = |digits: &'static str, radix: u32, rest: &str| -> Option<(f64, usize)> {
        let end = rest.find(|c: char| !digits.contains(c.to_ascii_lowercase())).unwrap_or(rest.len());
        // No setting accepts more than 31 bits.
        #[allow(clippy::cast_precision_loss)]
        i64::from_str_radix(&rest[..end], radix).ok().map(|value| (value as f64, end))
    };
    let lower = unsigned.get(..2).map(str::to_ascii_lowercase);
    if lower.as_deref() == Some("0x")
        && let Some((value, end)) = radix("0123456789abcdef", 16, &unsigned[2..])
    {
        return Some((sign * value, &unsigned[2 + end..]));
    }
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let is_real = matches!(unsigned.as_bytes().get(end), Some(b'.' | b'e' | b'E'));
    if !is_real && end > 1 && unsigned.starts_with('0') {
        let (value, end) = radix("01234567", 8, unsigned)?;
        return Some((sign * value, &unsigned[end..]));
    }
    let end = real_end(unsigned);
    unsigned[..end].parse::<f64>().ok().map(|value| (sign * value, &unsigned[end..]))
}

/// The end of digits, a point, digits and an exponent.
fn real_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes
            .get(from..)
            .unwrap_or_default()
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .map_or(bytes.len(), |length| from + length)
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// A real in the setting's unit.
pub(super) fn parse_real(text: &str, unit: Unit) -> Result<f64, Wrong> {
    let (value, rest) = number(text).ok_or(Wrong::Syntax)?;
    unit.to_base(value, rest.trim())
}

/// An integer in the setting's unit.
pub(super) fn parse_integer(text: &str, unit: Unit) -> Result<i64, Wrong> {
    let value = parse_real(text, unit)?.round_ties_even();
    if value > f64::from(i32::MAX) || value < f64::from(i32::MIN) {
        return Err(Wrong::Hint("Value exceeds integer range."));
    }
    // Within the bounds above.
    #[allow(clippy::cast_possible_truncation)]
    Ok(value as i64)
}

/// An integer as SHOW prints it: in the largest unit that divides it.
pub(super) fn shown_integer(value: i64, unit: Unit) -> String {
    if value <= 0 || unit == Unit::None {
        return value.to_string();
    }
    // It has 31 bits.
    #[allow(clippy::cast_precision_loss)]
    let size = value as f64 * unit.size();
    match unit.units().iter().find(|(_, unit)| size % unit == 0.0) {
        Some((name, unit)) => format!("{}{name}", size / unit),
        None => value.to_string(),
    }
}

/// A real as SHOW prints it.
pub(super) fn shown_real(value: f64, unit: Unit) -> String {
    let scaled = |size: f64| value * unit.size() / size;
    let is_whole =
        |size: f64| scaled(size) > 0.0 && (scaled(size).round() / scaled(size) - 1.0).abs() <= 1e-8;
    match unit.units().iter().find(|(_, size)| is_whole(*size)).or(unit.units().last()) {
        Some((name, size)) if value > 0.0 => format!("{}{name}", general(scaled(*size))),
        _ => general(value),
    }
}

/// Formats like C's `%g`.
pub(super) fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return trimmed(&format!("{value:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}
