//! A page for each study: plots, what the paper says beside what was measured, every value, and where it was
//! measured. And an index. `model`: what a page says of a model.

mod model;

use std::fmt::Write;

use hyades_bench::report::plot::{self, Bar, Curve, number};
use hyades_bench::report::{document, escape};
use hyades_bench::spread::Spread;

use crate::events::model::Modelled;
use crate::results::{Outcome, Results};
use crate::study::{Claim, Evidence, Figure, Size, Study};

/// The groups of a study that have been measured, with their places on the axis.
fn outcomes<'r>(study: &Study, size: Size, results: &'r Results) -> Vec<(String, Option<&'r Outcome>)> {
    let groups = (study.groups)(size).into_iter();
    groups.map(|group| (group.at.clone(), results.find(&group.key(size)))).collect()
}

/// A claim as measured: of each round the ratio, or the value.
fn measured(claim: &Claim, size: Size, study: &Study, results: &Results) -> Option<Spread> {
    let all = outcomes(study, size, results);
    let outcome = all.into_iter().find(|(at, _)| at == claim.at)?.1?;
    let values = outcome.values(claim.of, claim.figure)?;
    let Some(over) = claim.over else { return Some(Spread::of(values.iter().copied())) };
    let below = outcome.values(over, claim.figure)?;
    Some(Spread::of(values.iter().zip(below).map(|(above, below)| above / below)))
}

/// The page of a study.
pub(crate) fn study(study: &Study, size: Size, results: &Results, modelled: Option<&Modelled>) -> String {
    let mut body = String::new();
    // Writing into a String cannot fail.
    let _ = writeln!(body, "<p><a href=index.html>All studies</a></p>\n<h1>{}</h1>", escape(study.title));
    let _ = writeln!(
        body,
        "<p class=lead>{}. Evidence: {}.</p>\n<p>{}</p>",
        escape(study.source),
        study.evidence.sentence(),
        escape(study.note)
    );
    let all = outcomes(study, size, results);
    if study.evidence == Evidence::Simulated {
        model::show(&mut body, modelled);
    }
    for figure in study.figures {
        show(&mut body, study, *figure, &all);
    }
    claims(&mut body, study, size, results);
    values(&mut body, study, &all);
    conditions(&mut body, size, &all);
    document(&format!("Hyades: {}", study.title), &body)
}

fn show(body: &mut String, study: &Study, figure: Figure, all: &[(String, Option<&Outcome>)]) {
    let _ = writeln!(body, "<h2>{}</h2>", figure.title());
    let is_curve = all.len() > 1 && all.iter().all(|(at, _)| at.parse::<f64>().is_ok());
    if is_curve {
        let labels: Vec<String> = all.iter().map(|(at, _)| at.clone()).collect();
        let mut curves: Vec<Curve> = Vec::new();
        for (place, outcome) in all.iter().enumerate().filter_map(|(place, (_, one))| Some((place, (*one)?)))
        {
            for (name, values) in &outcome.variants {
                let Some(values) = values.get(&figure) else { continue };
                let point = (place, Spread::of(values.iter().copied()));
                match curves.iter_mut().find(|curve| curve.name == *name) {
                    Some(curve) => curve.points.push(point),
                    None => curves.push(Curve { name: name.clone(), points: vec![point] }),
                }
            }
        }
        let _ = writeln!(body, "{}\n<p class=note>By {}.</p>", plot::curves(&labels, &curves), study.axis);
        return;
    }
    for (at, outcome) in all {
        let Some(outcome) = outcome else { continue };
        let bars = outcome.variants.iter().filter_map(|(name, values)| {
            Some(Bar { name: name.clone(), spread: Spread::of(values.get(&figure)?.iter().copied()) })
        });
        let bars: Vec<Bar> = bars.collect();
        if !bars.is_empty() {
            let _ = writeln!(body, "<p class=note>{}</p>\n{}", escape(at), plot::bars(&bars));
        }
    }
}

fn claims(body: &mut String, study: &Study, size: Size, results: &Results) {
    if study.claims.is_empty() {
        return;
    }
    body.push_str("<h2>Beside the paper</h2>\n<div class=wide><table>\n");
    body.push_str("<tr><th>what<th>paper<th>ours: median<th>smallest<th>largest<th></tr>\n");
    for claim in study.claims {
        let paper = claim.paper.map_or_else(|| "-".to_owned(), number);
        let ours = measured(claim, size, study, results);
        let cells = ours.map_or_else(
            || "-<td class=n>-<td class=n>-".to_owned(),
            |spread| {
                format!(
                    "{}<td class=n>{}<td class=n>{}",
                    number(spread.median),
                    number(spread.min),
                    number(spread.max)
                )
            },
        );
        let _ = writeln!(
            body,
            "<tr><td>{}<td class=n>{paper}<td class=n>{cells}<td>{}</tr>",
            escape(&what(claim)),
            escape(claim.says)
        );
    }
    body.push_str("</table></div>\n");
}

/// A claim in words.
fn what(claim: &Claim) -> String {
    let figure = claim.figure.title().to_lowercase();
    match claim.over {
        Some(over) => format!("{}: {figure}, {} over {over}", claim.at, claim.of),
        None => format!("{}: {figure}, {}", claim.at, claim.of),
    }
}

fn values(body: &mut String, study: &Study, all: &[(String, Option<&Outcome>)]) {
    let _ = write!(body, "<h2>Values</h2>\n<div class=wide><table>\n<tr><th>{}<th>variant", study.axis);
    for figure in study.figures {
        let _ = write!(body, "<th>{}", figure.title());
    }
    body.push_str("</tr>\n");
    for (at, outcome) in all {
        let Some(outcome) = outcome else {
            let _ = writeln!(body, "<tr><td>{}<td>not measured yet</tr>", escape(at));
            continue;
        };
        for (name, values) in &outcome.variants {
            let _ = write!(body, "<tr><td>{}<td>{}", escape(at), escape(name));
            for figure in study.figures {
                let shown = values.get(figure).map_or_else(|| "-".to_owned(), |values| spread(values));
                let _ = write!(body, "<td class=n>{shown}");
            }
            body.push_str("</tr>\n");
        }
    }
    body.push_str("</table></div>\n");
}

/// The median, and the smallest and the largest if there are several.
fn spread(values: &[f64]) -> String {
    let Spread { median, min, max } = Spread::of(values.iter().copied());
    match values.len() {
        0 | 1 => number(median),
        _ => format!("{} [{} .. {}]", number(median), number(min), number(max)),
    }
}

fn conditions(body: &mut String, size: Size, all: &[(String, Option<&Outcome>)]) {
    body.push_str("<details><summary>Where and when</summary><pre>");
    for (at, outcome) in all.iter().filter_map(|(at, outcome)| Some((at, (*outcome)?))) {
        let machine = &outcome.machine;
        let _ = writeln!(
            body,
            "{}: {}, {} processors, load average {} at the start, commit {}, {:.0} s, {} rounds of {} ms\n    {}",
            escape(at),
            escape(&machine.time),
            machine.processors,
            escape(&machine.load),
            escape(machine.commit.as_deref().unwrap_or("unknown")),
            outcome.seconds,
            size.rounds(),
            size.length().as_millis(),
            escape(&outcome.key)
        );
    }
    body.push_str("</pre></details>\n");
}

/// The page that leads to the others.
pub(crate) fn index(studies: &[&'static Study], size: Size, results: &Results) -> String {
    let mut body = String::from("<h1>Studies</h1>\n<div class=wide><table>\n");
    body.push_str("<tr><th>study<th>source<th>evidence<th>measured</tr>\n");
    for study in studies {
        let all = outcomes(study, size, results);
        let there = all.iter().filter(|(_, outcome)| outcome.is_some()).count();
        let _ = writeln!(
            body,
            "<tr><td><a href={0}.html>{0}</a>: {1}<td>{2}<td>{3}<td>{there} of {4}</tr>",
            study.name,
            escape(study.title),
            escape(study.source),
            study.evidence.sentence(),
            all.len()
        );
    }
    body.push_str("</table></div>\n");
    if size == Size::Quick {
        body.push_str("<p class=note>A quick run, for trying out: these are no figures.</p>\n");
    }
    document("Hyades: studies", &body)
}

/// A table of a study in Markdown: a row for each variant of its first group.
pub(crate) fn table(study: &Study, size: Size, results: &Results) -> Option<String> {
    let all = outcomes(study, size, results);
    let (_, outcome) = all.first()?;
    let outcome = (*outcome)?;
    let mut table = String::from("| |");
    for figure in study.figures {
        let _ = write!(table, " {} |", figure.title());
    }
    table.push_str(&format!("\n|---|{}\n", "---|".repeat(study.figures.len())));
    for (name, values) in &outcome.variants {
        let _ = write!(table, "| `{name}` |");
        for figure in study.figures {
            let shown = values.get(figure).map_or_else(|| "-".to_owned(), |values| spread(values));
            let _ = write!(table, " {shown} |");
        }
        table.push('\n');
    }
    Some(table)
}
