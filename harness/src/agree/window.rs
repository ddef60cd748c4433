//! Random calls of window functions.
//!
//! A function that depends on the order of rows is called over a window that is ordered by every column of
//! its query, so that rows which compare as equal are equal, and it does not matter which comes first. Two
//! such functions could still meet in other combinations, so a query calls only one. Over any other window
//! only functions are called that treat peers alike.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::fragment::Fragment;
use super::query::Generator;
use super::schema::{Column, Family, Type};

/// Functions of any type that depend on the order, with arguments of the type of the result.
const ORDERED: [&str; 8] = [
    "lag({})",
    "lag({}, 2)",
    "lead({})",
    "lead({}, 1, {})",
    "first_value({})",
    "last_value({})",
    "nth_value({}, 2)",
    "lag({}, -1)",
];

/// The beginnings of frames, and their ends.
const STARTS: [&str; 4] = ["unbounded preceding", "{} preceding", "current row", "{} following"];
const ENDS: [&str; 4] = ["{} preceding", "current row", "{} following", "unbounded following"];

const EXCLUSIONS: [&str; 6] = ["", "", "", " exclude current row", " exclude group", " exclude ties"];

/// Functions that treat peers alike, and the type of their arguments.
fn unordered(of: Type) -> &'static [(&'static str, Type)] {
    match of {
        Type::BigInt => &[
            ("rank()", Type::BigInt),
            ("dense_rank()", Type::BigInt),
            ("count(*)", Type::BigInt),
            ("count({})", Type::Text),
            ("sum({})", Type::Integer),
            ("max({})", Type::BigInt),
        ],
        Type::Numeric => &[("sum({})", Type::BigInt), ("avg({})", Type::Integer)],
        Type::Double => &[("percent_rank()", Type::Double), ("cume_dist()", Type::Double)],
        Type::Boolean => &[("bool_and({})", Type::Boolean), ("bool_or({})", Type::Boolean)],
        Type::Integer => &[("min({})", Type::Integer), ("bit_or({})", Type::Integer)],
        Type::Text => &[("max({})", Type::Text), ("min({})", Type::Text)],
        Type::Date => &[("max({})", Type::Date)],
        Type::Timestamp => &[("min({})", Type::Timestamp)],
        Type::SmallInt | Type::VarChar | Type::Char => &[],
    }
}

impl Generator<'_> {
    /// A call of the type over a window.
    pub(super) fn window_call(&mut self, of: Type, depth: u32) -> Fragment {
        let columns = self.own_columns();
        let functions = unordered(of);
        let wants_order = functions.is_empty() || self.random.random_bool(0.5);
        let is_ordered = wants_order && !self.note_ordered();
        if functions.is_empty() && !is_ordered {
            return format!("null::{}", of.name()).into();
        }
        let (template, argument) = match (is_ordered, of) {
            (true, Type::BigInt) if self.random.random_bool(0.3) => ("row_number()", of),
            (true, Type::Integer) if self.random.random_bool(0.3) => ("ntile(3)", of),
            (true, Type::Text) if self.random.random_bool(0.3) => ("string_agg({}, '+')", of),
            (true, _) => (ORDERED.choose(self.random).copied().unwrap_or("lag({})"), of),
            (false, _) => functions.choose(self.random).copied().unwrap_or(("count(*)", of)),
        };
        let around = self.set_windows(false);
        let holes = template.matches("{}").count();
        let arguments = (0..holes).map(|_| self.expression(argument, depth.saturating_sub(1).min(1)));
        let call = Fragment::fill(template, arguments.collect());
        let is_aggregate = ["count", "sum", "avg", "max", "min", "bool", "bit", "string"]
            .iter()
            .any(|name| template.starts_with(name));
        // An aggregate may not stand in FILTER.
        let filter = if is_aggregate && !self.may_aggregate() && self.random.random_bool(0.2) {
            let condition = self.expression(Type::Boolean, 1);
            Fragment::optional(Fragment::fill(" filter (where {})", vec![condition]))
        } else {
            Fragment::default()
        };
        self.set_windows(around);
        let window = self.window(&columns, is_ordered);
        let whole = Fragment::fill("{}{} over ({})", vec![call, filter, window]);
        match of.family() {
            Family::Text => Fragment::fill(&format!("({{}})::{}", of.name()), vec![whole]),
            _ => whole,
        }
    }

    fn window(&mut self, columns: &[Column], is_ordered: bool) -> Fragment {
        let wanted = self.random.random_range(0..=2);
        let partition: Vec<&str> =
            columns.sample(self.random, wanted).map(|column| column.name.as_str()).collect();
        let mut parts = Vec::new();
        if !partition.is_empty() {
            parts.push(Fragment::optional(format!("partition by {} ", partition.join(", ")).into()));
        }
        let wanted = if is_ordered { columns.len() } else { self.random.random_range(0..=2) };
        let keys: Vec<&Column> = columns.sample(self.random, wanted).collect();
        if !keys.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| self.sort_key(key, is_ordered)).collect();
            parts.push(format!("order by {} ", keys.join(", ")).into());
        }
        if self.random.random_bool(0.6) {
            let frame = self.frame(&keys, is_ordered);
            parts.push(Fragment::optional(frame.into()));
        }
        Fragment::join(parts, "")
    }

    fn sort_key(&mut self, key: &Column, is_ordered: bool) -> String {
        let direction = ["", "", " desc", " nulls first", " desc nulls last"];
        let direction = direction.choose(self.random).copied().unwrap_or_default();
        // Numbers may be equal and yet be shown differently.
        match key.of {
            Type::Numeric | Type::Double if is_ordered => {
                format!("{0}{direction}, {0}::text", key.name)
            }
            _ => format!("{}{direction}", key.name),
        }
    }

    fn frame(&mut self, keys: &[&Column], is_ordered: bool) -> String {
        let unit = match self.random.random_range(0..3) {
            0 if is_ordered => "rows",
            1 if !keys.is_empty() => "groups",
            _ => "range",
        };
        let offset = match (unit, keys) {
            ("range", [key]) if !is_ordered || !matches!(key.of, Type::Numeric | Type::Double) => {
                match key.of.family() {
                    Family::Number => Some("2"),
                    Family::Time => Some("'60 days'"),
                    Family::Boolean | Family::Text => None,
                }
            }
            ("range", _) => None,
            _ => Some(["0", "1", "2"].choose(self.random).copied().unwrap_or("1")),
        };
        let (start, end) = loop {
            let (start, end) = (self.random.random_range(0..4), self.random.random_range(0..4));
            let has_offset = STARTS[start].starts_with('{') || ENDS[end].starts_with('{');
            let is_backward = (start == 2 && end == 0) || (start == 3 && end < 2);
            if !is_backward && (offset.is_some() || !has_offset) {
                break (start, end);
            }
        };
        let filled = |bound: &str| bound.replace("{}", offset.unwrap_or_default());
        let exclusion = EXCLUSIONS.choose(self.random).copied().unwrap_or_default();
        format!("{unit} between {} and {}{exclusion}", filled(STARTS[start]), filled(ENDS[end]))
    }
}
