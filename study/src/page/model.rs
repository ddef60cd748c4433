//! What a model says, beside how far it is off where that can be measured.

use std::fmt::Write;

use hyades_bench::report::escape;
use hyades_bench::report::plot::{self, number};
use hyades_bench::spread::Spread;

use crate::crossing::Crossing;
use crate::events::model::{LARGEST_ERROR, Modelled, WORKERS};

/// The model's part of a page.
pub(super) fn show(body: &mut String, modelled: Option<&Modelled>) {
    let Some(modelled) = modelled else {
        body.push_str("<p class=note>Simulated when all groups have been measured.</p>\n");
        return;
    };
    curves(body, modelled);
    errors(body, modelled);
    inputs(body, modelled);
}

/// With the variants that are left out, and why.
fn curves(body: &mut String, modelled: &Modelled) {
    // Writing into a String cannot fail.
    let _ = writeln!(body, "<h2>Simulated: durable acknowledgements per second</h2>");
    let labels = WORKERS.map(|workers| workers.to_string());
    for (what, curves) in &modelled.curves {
        let shown: Vec<plot::Curve> = curves.iter().map(curve).collect();
        let _ = writeln!(body, "<h3>{}</h3>", escape(what));
        if shown.is_empty() {
            body.push_str("<p class=note>No variant.</p>\n");
            continue;
        }
        let _ = writeln!(body, "{}\n<p class=note>By workers.</p>", plot::curves(&labels, &shown));
        body.push_str("<div class=wide><table>\n<tr><th>workers");
        for label in &labels {
            let _ = write!(body, "<th>{label}");
        }
        body.push_str("</tr>\n");
        for curve in curves {
            let _ = write!(body, "<tr><td>{}", escape(&curve.variant));
            for (_, rate) in &curve.rates {
                let _ = write!(body, "<td class=n>{}", number(*rate));
            }
            body.push_str("</tr>\n");
        }
        body.push_str("</table></div>\n");
    }
    for (variant, _) in &modelled.inputs {
        if !modelled.is_good_enough(variant) {
            let _ = writeln!(
                body,
                "<p class=note>{} has no curve: the model is not good enough for it. It is off by {} where it was \
                 measured, more than {:.0} %.</p>",
                escape(variant),
                per_cent(modelled.largest_error(variant)),
                LARGEST_ERROR * 100.0
            );
        }
    }
}

fn curve(curve: &crate::events::model::Curve) -> plot::Curve {
    let point = |(place, (_, rate)): (usize, &(u64, f64))| (place, Spread::of([*rate]));
    plot::Curve { name: curve.variant.clone(), points: curve.rates.iter().enumerate().map(point).collect() }
}

fn per_cent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn errors(body: &mut String, modelled: &Modelled) {
    body.push_str("<h2>Settings that the model has not seen</h2>\n<div class=wide><table>\n");
    body.push_str(
        "<tr><th>setting<th>variant<th>a line, ns<th>measured: median<th>smallest<th>largest<th>modelled<th>off by</tr>\n",
    );
    for one in &modelled.held_out {
        let Spread { median, min, max } = one.measured;
        let _ = writeln!(
            body,
            "<tr><td>{}<td>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}</tr>",
            escape(&one.at),
            escape(&one.variant),
            one.line_ns,
            number(median),
            number(min),
            number(max),
            number(one.modelled),
            per_cent(one.error())
        );
    }
    body.push_str("</table></div>\n");
}

fn inputs(body: &mut String, modelled: &Modelled) {
    let Crossing { line: Spread { median, min, max }, wake_ns, unpark_ns } = modelled.crossing;
    let _ = writeln!(
        body,
        "<h2>What the model is given</h2>\n<p>Counted with one worker whose logs are memory. A line of memory that \
         goes from one processor to another: {median:.0} ns, in groups of 200 from {min:.0} ns to {max:.0} ns \
         (nine tenths of the groups do not exceed it). A thread that is woken runs after {:.1} us, and waking it takes \
         {:.1} us.</p>",
        wake_ns as f64 / 1e3,
        unpark_ns as f64 / 1e3
    );
    body.push_str(
        "<div class=wide><table>\n<tr><th>variant<th>transaction, ns<th>logging one that writes, ns",
    );
    body.push_str("<th>bytes of a record<th>a block, ns<th>a byte of it, ns</tr>\n");
    for (variant, costs) in &modelled.inputs {
        let _ = writeln!(
            body,
            "<tr><td>{}<td class=n>{:.0}<td class=n>{:.0}<td class=n>{}<td class=n>{:.0}<td class=n>{:.2}</tr>",
            escape(variant),
            costs.transaction_ns,
            costs.logged_ns,
            costs.record_bytes,
            costs.block_ns,
            costs.byte_ns
        );
    }
    body.push_str("</table></div>\n");
}
