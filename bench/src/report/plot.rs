//! Bars and curves as SVG. Colours and fonts come from the page's style. Each protocol has one colour on all
//! pages; how it logs and how transactions read is seen by lines and shades.

use std::fmt::Write;

use super::escape;
use crate::spread::Spread;
use hyades::ProtocolKind;

/// A bar for a variant of this name.
pub struct Bar {
    pub name: String,
    pub spread: Spread,
}

/// A curve for a variant of this name: points with places from left to right.
pub struct Curve {
    pub name: String,
    pub points: Vec<(usize, Spread)>,
}

/// The style's classes for a variant: its colour, and what sets it apart from others of that colour.
fn class(name: &str) -> (usize, String) {
    let mut parts = name.split(':');
    let protocol = parts.next().and_then(ProtocolKind::named);
    let colour = match protocol {
        Some(ProtocolKind::Taurus) => 0,
        Some(ProtocolKind::Serial) => 1,
        Some(ProtocolKind::SiloR) => 2,
        Some(ProtocolKind::TaurusGraph) => 3,
        Some(ProtocolKind::Plover) => 4,
        Some(ProtocolKind::None) | None => 5,
    };
    let kinds = parts.filter(|part| part.chars().all(|letter| letter.is_ascii_alphanumeric()));
    (colour, kinds.collect::<Vec<&str>>().join(" "))
}

const WIDTH: f64 = 720.0;
const NAME_WIDTH: f64 = 150.0;
const VALUE_WIDTH: f64 = 90.0;
const BAR_HEIGHT: f64 = 22.0;
const BAR_GAP: f64 = 12.0;

/// Horizontal bars with a line from the smallest to the largest value.
pub fn bars(bars: &[Bar]) -> String {
    let largest = bars.iter().map(|bar| bar.spread.max).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - NAME_WIDTH - VALUE_WIDTH) / largest;
    let height = bars.len() as f64 * (BAR_HEIGHT + BAR_GAP) + BAR_GAP;
    let mut svg = open(height, "bars");
    for (place, bar) in bars.iter().enumerate() {
        let (colour, kind) = class(&bar.name);
        let top = BAR_GAP + place as f64 * (BAR_HEIGHT + BAR_GAP);
        let middle = top + BAR_HEIGHT / 2.0;
        let Spread { median, min, max } = bar.spread;
        let end = |value: f64| NAME_WIDTH + value * scale;
        // Writing into a String cannot fail.
        let _ = write!(
            svg,
            "<text x={:.1} y={:.1} text-anchor=end>{}</text>\
             <rect x={NAME_WIDTH} y={top:.1} width={:.1} height={BAR_HEIGHT} rx=3 class=\"s{colour} {kind}\" />\
             <path d=\"M{:.1} {middle:.1}H{:.1}\" class=range />\
             <text x={:.1} y={:.1} class=value>{}</text>",
            NAME_WIDTH - 10.0,
            middle + 4.5,
            escape(&bar.name),
            (median * scale).max(1.0),
            end(min),
            end(max),
            end(max) + 8.0,
            middle + 4.5,
            number(median)
        );
    }
    svg + "</svg>"
}

/// One curve for each variant over the percentiles. Both axes are logarithmic, the first one in the remaining
/// share.
pub(super) fn latencies(curves: &[(String, [u64; 5])]) -> String {
    const NAMES: [&str; 5] = ["50 %", "90 %", "99 %", "99.9 %", "longest"];
    const HEIGHT: f64 = 260.0;
    const TOP: f64 = 16.0;
    const BOTTOM: f64 = 210.0;
    const LEFT: f64 = 70.0;
    const RIGHT: f64 = 540.0;
    let all = || curves.iter().flat_map(|(_, values)| values).map(|value| (*value).max(1) as f64);
    let low = 10_f64.powf(all().fold(f64::MAX, f64::min).min(1e9).log10().floor());
    let high = 10_f64.powf(all().fold(1.0, f64::max).log10().ceil()).max(low * 10.0);
    let x = |place: usize| LEFT + place as f64 * (RIGHT - LEFT) / 4.0;
    let y = |value: f64| BOTTOM - (value / low).log10() / (high / low).log10() * (BOTTOM - TOP);
    let mut svg = open(HEIGHT, "latencies in microseconds");
    let mut tick = low;
    while tick <= high * 1.01 {
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {0:.1}H{RIGHT}\" class=grid /><text x={1:.1} y={2:.1} text-anchor=end>{3}</text>",
            y(tick),
            LEFT - 8.0,
            y(tick) + 4.5,
            duration(tick)
        );
        tick *= 10.0;
    }
    for (place, name) in NAMES.iter().enumerate() {
        let _ =
            write!(svg, "<text x={:.1} y={:.1} text-anchor=middle>{name}</text>", x(place), BOTTOM + 24.0);
    }
    for (series, (name, values)) in curves.iter().enumerate() {
        let points: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(place, value)| format!("{:.1},{:.1}", x(place), y((*value).max(1) as f64)))
            .collect();
        svg += &line(name, &points, (RIGHT + 24.0, TOP + 8.0 + series as f64 * 20.0));
    }
    svg + "</svg>"
}

/// Curves over places with these labels. The values go from 0 to the largest.
pub fn curves(labels: &[String], curves: &[Curve]) -> String {
    const TOP: f64 = 16.0;
    const BOTTOM: f64 = 230.0;
    const LEFT: f64 = 70.0;
    const RIGHT: f64 = 520.0;
    const TICKS: usize = 4;
    let height = (BOTTOM + 50.0).max(TOP + 30.0 + curves.len() as f64 * 20.0);
    let all = curves.iter().flat_map(|curve| &curve.points);
    let largest = all.map(|(_, spread)| spread.max).fold(f64::MIN_POSITIVE, f64::max);
    let x = |place: usize| LEFT + place as f64 * (RIGHT - LEFT) / (labels.len().max(2) - 1) as f64;
    let y = |value: f64| BOTTOM - value / largest * (BOTTOM - TOP);
    let mut svg = open(height, "curves");
    for tick in 0..=TICKS {
        let value = largest * tick as f64 / TICKS as f64;
        // Writing into a String cannot fail.
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {0:.1}H{RIGHT}\" class=grid /><text x={1:.1} y={2:.1} text-anchor=end>{3}</text>",
            y(value),
            LEFT - 8.0,
            y(value) + 4.5,
            number(value)
        );
    }
    for (place, label) in labels.iter().enumerate() {
        let (x, y) = (x(place), BOTTOM + 24.0);
        let _ = write!(svg, "<text x={x:.1} y={y:.1} text-anchor=middle>{}</text>", escape(label));
    }
    for (place, curve) in curves.iter().enumerate() {
        let points =
            curve.points.iter().map(|(place, spread)| format!("{:.1},{:.1}", x(*place), y(spread.median)));
        let points: Vec<String> = points.collect();
        svg += &line(&curve.name, &points, (RIGHT + 24.0, TOP + 8.0 + place as f64 * 20.0));
        for (place, spread) in &curve.points {
            let (x, low, high) = (x(*place), y(spread.min), y(spread.max));
            let _ = write!(svg, "<path d=\"M{x:.1} {low:.1}V{high:.1}\" class=range />");
        }
    }
    svg + "</svg>"
}

/// The line of a variant through these points, and its name at this place.
fn line(name: &str, points: &[String], (x, y): (f64, f64)) -> String {
    let (colour, kind) = class(name);
    format!(
        "<polyline points=\"{}\" class=\"line l{colour} {kind}\" />\
         <rect x={x:.1} y={:.1} width=12 height=12 rx=2 class=\"s{colour} {kind}\" /><text x={:.1} y={y:.1}>{}</text>",
        points.join(" "),
        y - 11.0,
        x + 18.0,
        escape(name)
    )
}

fn open(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=img aria-label=\"{title}\">"
    )
}

/// Formats with three digits.
pub fn number(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e4 => format!("{:.1} k", v / 1e3),
        v if v >= 100.0 || v == 0.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn duration(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.0} s", us / 1e6),
        us if us >= 1e3 => format!("{:.0} ms", us / 1e3),
        us => format!("{us:.0} us"),
    }
}
