//! Bars and curves as SVG. Colours and fonts come from the page's style.

use std::fmt::Write;

use super::escape;
use crate::spread::Spread;

pub(super) struct Bar {
    pub(super) name: String,
    pub(super) spread: Spread,
}

const WIDTH: f64 = 720.0;
const NAME_WIDTH: f64 = 150.0;
const VALUE_WIDTH: f64 = 90.0;
const BAR_HEIGHT: f64 = 22.0;
const BAR_GAP: f64 = 12.0;
/// Colours of the style, used in turn.
const SERIES: usize = 6;

/// Horizontal bars with a line from the smallest to the largest value.
pub(super) fn bars(bars: &[Bar]) -> String {
    let largest = bars.iter().map(|bar| bar.spread.max).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - NAME_WIDTH - VALUE_WIDTH) / largest;
    let height = bars.len() as f64 * (BAR_HEIGHT + BAR_GAP) + BAR_GAP;
    let mut svg = open(height, "bars");
    for (place, bar) in bars.iter().enumerate() {
        let top = BAR_GAP + place as f64 * (BAR_HEIGHT + BAR_GAP);
        let middle = top + BAR_HEIGHT / 2.0;
        let Spread { median, min, max } = bar.spread;
        let end = |value: f64| NAME_WIDTH + value * scale;
        // Writing into a String cannot fail.
        let _ = write!(
            svg,
            "<text x={:.1} y={:.1} text-anchor=end>{}</text>\
             <rect x={NAME_WIDTH} y={top:.1} width={:.1} height={BAR_HEIGHT} rx=3 class=s{} />\
             <path d=\"M{:.1} {middle:.1}H{:.1}\" class=range />\
             <text x={:.1} y={:.1} class=value>{}</text>",
            NAME_WIDTH - 10.0,
            middle + 4.5,
            escape(&bar.name),
            (median * scale).max(1.0),
            place % SERIES,
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
        let class = series % SERIES;
        let legend = TOP + 8.0 + series as f64 * 20.0;
        let _ = write!(
            svg,
            "<polyline points=\"{}\" class=\"line l{class}\" />\
             <rect x={:.1} y={:.1} width=12 height=12 rx=2 class=s{class} /><text x={:.1} y={legend:.1}>{}</text>",
            points.join(" "),
            RIGHT + 24.0,
            legend - 11.0,
            RIGHT + 42.0,
            escape(name)
        );
    }
    svg + "</svg>"
}

fn open(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=img aria-label=\"{title}\">"
    )
}

/// Formats with three digits.
fn number(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e4 => format!("{:.1} k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

fn duration(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.0} s", us / 1e6),
        us if us >= 1e3 => format!("{:.0} ms", us / 1e3),
        us => format!("{us:.0} us"),
    }
}
