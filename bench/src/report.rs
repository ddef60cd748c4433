//! `--report FILE`: one self-contained page, with plots as SVG and every figure that they are made from.
//!
//! Colours follow the reader's light or dark setting. Plots are drawn by hand here: bars and a curve of
//! latencies are all that is needed.

pub mod plot;

use std::fmt::Write;

use crate::compare::Compared;
use crate::instance::Side;
use crate::spread::Spread;

const STYLE: &str = include_str!("report/style.css");

/// The whole page.
pub fn page(conditions: &serde_json::Value, sides: &[Side], compared: Option<&Compared>) -> String {
    let mut body = String::new();
    // Writing into a String cannot fail.
    let title = format!("Hyades: {}", conditions["workload"].as_str().unwrap_or_default());
    let _ = writeln!(body, "<h1>{}</h1>", escape(&title));
    let _ = writeln!(body, "<p class=lead>{}</p>", escape(&crate::instance::headline(conditions)));
    let _ = writeln!(body, "<h2>Durable acknowledgements per second</h2>");
    let bars: Vec<plot::Bar> = sides
        .iter()
        .map(|side| plot::Bar {
            name: side.name.clone(),
            spread: Spread::of(side.figures.iter().map(|round| round.per_second)),
        })
        .collect();
    let _ = writeln!(body, "{}", plot::bars(&bars));
    body.push_str("<p class=note>The bar is the median of the rounds, the line its smallest and largest value. Read-only \
                   transactions are included; the table tells them apart.</p>\n");
    let recoveries: Vec<plot::Bar> = sides
        .iter()
        .filter_map(|side| {
            let recovered = side.recovered.as_ref()?;
            Some(plot::Bar { name: side.name.clone(), spread: Spread::of([recovered.per_second]) })
        })
        .collect();
    if !recoveries.is_empty() {
        let _ = writeln!(body, "<h2>Transactions recovered per second</h2>\n{}", plot::bars(&recoveries));
    }
    let latencies: Vec<(String, [u64; 5])> =
        sides.iter().filter_map(|side| Some((side.name.clone(), side.figures.last()?.latency_us))).collect();
    let _ = writeln!(body, "<h2>Latency of the last round</h2>\n{}", plot::latencies(&latencies));
    if let Some(compared) = compared {
        ratios(&mut body, compared);
    }
    figures(&mut body, sides);
    raw(&mut body, conditions, sides, compared);
    document(&title, &body)
}

/// A page of its own with this title and body.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n<meta name=color-scheme content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

fn ratios(body: &mut String, compared: &Compared) {
    body.push_str("<h2>Ratios</h2>\n<div class=wide><table>\n<tr><th>what<th>median<th>smallest<th>largest<th>paper<th></tr>\n");
    for ratio in &compared.ratios {
        let Spread { median, min, max } = ratio.measured;
        let paper = ratio.paper.map_or_else(String::new, |paper| format!("{paper:.1}"));
        let _ = writeln!(
            body,
            "<tr><td>{}<td class=n>{median:.2}<td class=n>{min:.2}<td class=n>{max:.2}<td class=n>{paper}<td>{}</tr>",
            escape(&ratio.what),
            escape(ratio.paper_says.unwrap_or_default())
        );
    }
    body.push_str("</table></div>\n");
}

fn figures(body: &mut String, sides: &[Side]) {
    body.push_str(
        "<h2>Figures</h2>\n<div class=wide><table>\n<tr><th>variant<th>round<th>durable/s<th>read-only/s<th>p50 us<th>p99 us<th>p99.9 us\
         <th>begun again<th>rolled back<th>bytes/txn<th>syncs/txn</tr>\n",
    );
    for side in sides {
        for (round, one) in side.figures.iter().enumerate() {
            let [p50, _, p99, p999, _] = one.latency_us;
            let _ = writeln!(
                body,
                "<tr><td>{}<td class=n>{}<td class=n>{:.0}<td class=n>{:.0}<td class=n>{p50}<td class=n>{p99}<td class=n>{p999}\
                 <td class=n>{}<td class=n>{}<td class=n>{:.1}<td class=n>{:.5}</tr>",
                escape(&side.name),
                round + 1,
                one.per_second,
                one.read_only_per_second,
                one.retries,
                one.refused,
                one.bytes_per_transaction,
                one.syncs_per_transaction
            );
        }
    }
    body.push_str("</table></div>\n");
    if sides.iter().all(|side| side.recovered.is_none()) {
        return;
    }
    body.push_str(
        "<h2>Recovery</h2>\n<div class=wide><table>\n<tr><th>variant<th>transactions<th>log bytes<th>seconds<th>/s<th>bytes/record\
         <th>of them LSN vector<th>state</tr>\n",
    );
    for (name, one) in sides.iter().filter_map(|side| Some((&side.name, side.recovered.as_ref()?))) {
        let state = if one.state_matches && one.violations.is_empty() { "same" } else { "<b>different</b>" };
        let _ = writeln!(
            body,
            "<tr><td>{}<td class=n>{}<td class=n>{}<td class=n>{:.2}<td class=n>{:.0}<td class=n>{:.1}<td class=n>{:.2}<td>{state}</tr>",
            escape(name),
            one.transactions,
            one.log_bytes,
            one.seconds,
            one.per_second,
            one.records.record_bytes,
            one.records.vector_bytes
        );
    }
    body.push_str("</table></div>\n");
}

fn raw(body: &mut String, conditions: &serde_json::Value, sides: &[Side], compared: Option<&Compared>) {
    let all: Vec<serde_json::Value> = sides
        .iter()
        .map(|side| {
            serde_json::json!({ "variant": side.name, "rounds": side.figures, "recovery": side.recovered })
        })
        .collect();
    let ratios = compared.map(|compared| &compared.ratios);
    let all = serde_json::json!({ "conditions": conditions, "variants": all, "ratios": ratios });
    let _ = writeln!(
        body,
        "<details><summary>Everything as JSON</summary><pre>{}</pre></details>",
        escape(&format!("{all:#}"))
    );
}

/// Escapes text for HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::samples::side;

    #[test]
    fn the_page_stands_alone_and_escapes_names() {
        let conditions = serde_json::json!({ "workload": "ycsb", "parameters": "a < b" });
        let page = page(&conditions, &[side("taurus:<data>", 1000.0), side("none", 2000.0)], None);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(page.contains("taurus:&lt;data&gt;") && !page.contains("<data>"));
        for outside in ["http://", "https://", "src=", "@import", "<script"] {
            let inside = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!inside.contains(outside), "{outside}");
        }
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    }
}
