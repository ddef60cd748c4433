//! The final table: target, measured, spread, verdict.

use anyhow::{Context, Result};
use serde_json::json;

use crate::tools::Spread;

/// The target of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

/// One figure of the report.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: &'static str,
    /// The value that Hyades reached, and its unit.
    pub(super) measured: Spread,
    pub(super) unit: &'static str,
    /// The value to compare it with, and its name.
    pub(super) beside: Option<(String, Spread)>,
    /// The value that the target applies to: a ratio of neighbouring runs, or the figure itself.
    pub(super) judged: Spread,
    pub(super) target: Target,
}

impl Line {
    /// A figure of rounds, in each of which a peer was measured next to Hyades. Their ratio is judged.
    pub(super) fn compared(
        name: &'static str,
        unit: &'static str,
        ours: &[f64],
        (beside, peer): (&str, &[f64]),
        target: Target,
    ) -> Result<Line> {
        let ratios: Vec<f64> = ours.iter().zip(peer).map(|(ours, theirs)| ours / theirs).collect();
        Ok(Line {
            name,
            measured: Spread::of(ours).context("no rounds")?,
            unit,
            beside: Some((beside.to_owned(), Spread::of(peer).context("no rounds")?)),
            judged: Spread::of(&ratios).context("no rounds")?,
            target,
        })
    }

    pub(super) fn is_met(&self) -> bool {
        match self.target {
            Target::AtLeast(limit) => self.judged.median >= limit,
            Target::AtMost(limit) => self.judged.median <= limit,
        }
    }

    fn verdict(&self) -> &'static str {
        if self.is_met() { "met" } else { "below" }
    }

    pub(super) fn to_json(&self) -> serde_json::Value {
        let (direction, limit) = match self.target {
            Target::AtLeast(limit) => ("at least", limit),
            Target::AtMost(limit) => ("at most", limit),
        };
        json!({
            "name": self.name,
            "unit": self.unit,
            "measured": spread_json(&self.measured),
            "beside": self.beside.as_ref().map(|(name, spread)| json!({ "name": name, "measured": spread_json(spread) })),
            "judged": spread_json(&self.judged),
            "target": { "direction": direction, "limit": limit },
            "verdict": self.verdict(),
        })
    }
}

fn spread_json(spread: &Spread) -> serde_json::Value {
    json!({ "median": spread.median, "min": spread.minimum, "max": spread.maximum })
}

/// Renders aligned columns.
pub(super) fn render(lines: &[Line]) -> String {
    let mut rows = vec![["figure", "Hyades", "beside", "judged", "target", "verdict"].map(str::to_owned)];
    for line in lines {
        let target = match line.target {
            Target::AtLeast(limit) => format!(">= {}", number(limit)),
            Target::AtMost(limit) => format!("<= {}", number(limit)),
        };
        let beside = line
            .beside
            .as_ref()
            .map_or_else(String::new, |(name, spread)| format!("{name} {}", cell(spread)));
        rows.push([
            line.name.to_owned(),
            format!("{} {}", cell(&line.measured), line.unit),
            beside,
            cell(&line.judged),
            target,
            line.verdict().to_owned(),
        ]);
    }
    let widths: Vec<usize> =
        (0..6).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect();
    lines.join("\n")
}

fn cell(spread: &Spread) -> String {
    format!("{} [{} .. {}]", number(spread.median), number(spread.minimum), number(spread.maximum))
}

/// Three significant digits, because more would not be credible.
fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{:.2}M", value / 1e6),
        v if v >= 1e4 => format!("{:.1}k", value / 1e3),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(judged: f64, target: Target) -> Line {
        let spread = |value| Spread { median: value, minimum: value, maximum: value };
        Line {
            name: "x",
            measured: spread(12_345.0),
            unit: "/s",
            beside: Some(("peer".to_owned(), spread(1.0))),
            judged: spread(judged),
            target,
        }
    }

    #[test]
    fn verdicts_follow_the_median() {
        assert!(line(1.5, Target::AtLeast(1.5)).is_met());
        assert!(!line(1.4, Target::AtLeast(1.5)).is_met());
        assert!(line(2.0, Target::AtMost(2.0)).is_met());
        assert!(!line(2.1, Target::AtMost(2.0)).is_met());
    }

    #[test]
    fn the_table_has_a_row_for_each_line() {
        let text = render(&[line(1.0, Target::AtLeast(2.0)), line(3.0, Target::AtLeast(2.0))]);
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("12.3k [12.3k .. 12.3k] /s") && text.contains("below") && text.contains("met"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(1_234_567.0), "1.23M");
        assert_eq!(number(74_000.0), "74.0k");
        assert_eq!(number(5432.1), "5432");
        assert_eq!(number(1.5), "1.50");
    }
}
