//! The report as one page that needs no network.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hyades_bench::report::escape;

use super::report::{BlockReport, Note, Replayed, Report, RoutineReport, SourceLine, Verdict};

const STYLE: &str = include_str!("page.css");
/// The colours of slices, by number, in the style sheet.
const COLOURS: usize = 8;

/// The whole page.
pub fn shown(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n<meta name=viewport content='width=device-width'>\n\
         <title>Hyades: how calls are replayed</title>\n<style>\n{STYLE}</style>\n<main>\n<h1>How calls are replayed</h1>"
    );
    out.push_str(
        "<p class=lead>A logged call runs again at a restart. Of its routine, the grey lines are left out. The others are \
         cut into slices by the tables that they use. Slices of different calls on different blocks, or different rows, need \
         not wait for each other.</p>\n",
    );
    if !report.blocks.is_empty() {
        out.push_str(
            "<h2>Blocks of tables</h2>\n<p>An arrow: what is read in the one is needed in the other.</p>\n",
        );
        graph(&report.blocks, &mut out);
        notes(&report.joins, &mut out);
    }
    for routine in &report.routines {
        show(routine, &mut out);
    }
    out.push_str("</main>\n</html>\n");
    out
}

fn notes(notes: &[Note], out: &mut String) {
    for note in notes {
        let _ = writeln!(
            out,
            "<p class=note>{}. <span class=hint>Hint: {}.</span></p>",
            escape(&note.sentence),
            escape(note.hint)
        );
    }
}

fn show(routine: &RoutineReport, out: &mut String) {
    let _ = writeln!(out, "<section>\n<h2>{} <code>{}</code></h2>", routine.kind, escape(&routine.signature));
    match &routine.verdict {
        Verdict::Data(why) => {
            let _ = writeln!(out, "<p>Logged as the rows that it writes: {}.</p>", escape(why));
        }
        Verdict::ReadsOnly => out.push_str("<p>Writes nothing, so nothing is logged.</p>\n"),
        Verdict::Calls(replayed) => {
            calls(replayed, out);
            source(&routine.source, out);
        }
    }
    out.push_str("</section>\n");
}

/// The mark of a slice.
fn chip(slice: usize) -> String {
    format!("<span class='chip s{}'>{slice}</span>", slice % COLOURS)
}

fn calls(replayed: &Replayed, out: &mut String) {
    let _ = writeln!(
        out,
        "<p>Logged as a call. Its replay has {} instructions, the routine {}.</p>\n<table>\n\
         <tr><th>slice<th>block<th>tables<th>passes on</tr>",
        replayed.kept, replayed.of
    );
    for (number, slice) in replayed.slices.iter().enumerate() {
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>",
            chip(number),
            slice.block,
            escape(&slice.tables.join(", "))
        );
        for passed in replayed.passed.iter().filter(|passed| passed.from == number) {
            let to: String = passed.to.iter().map(|to| chip(*to)).collect();
            let line = passed.line.map(|line| format!(" <small>line {line}</small>")).unwrap_or_default();
            let _ = write!(out, "<div>&rarr; {to} <code>{}</code>{line}</div>", escape(&passed.what));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
    notes(&replayed.merges, out);
}

fn source(lines: &[SourceLine], out: &mut String) {
    out.push_str("<div class=source>\n");
    // A statement may have several lines.
    let (mut is_kept, mut is_open) = (true, false);
    for (line, number) in lines.iter().zip(1..).skip_while(|(line, _)| line.text.trim().is_empty()) {
        if line.has_statement || line.is_kept || !is_open {
            is_kept = line.is_kept || !line.has_statement;
        }
        is_open = !line.text.trim_end().ends_with(';');
        let class = if is_kept { "" } else { " class=dropped" };
        let chips: String = line.slices.iter().map(|slice| chip(*slice)).collect();
        let _ = writeln!(
            out,
            "<div{class}><span class=number>{number}</span><span class=marks>{chips}</span>{}</div>",
            escape(&line.text)
        );
    }
    out.push_str("</div>\n");
}

/// Sizes in the drawing, in pixels.
const WIDTH: usize = 150;
const ROW: usize = 18;
const GAP: usize = 60;
const LINE: usize = 16;

/// The blocks as boxes, each to the right of those before it.
fn graph(blocks: &[BlockReport], out: &mut String) {
    let mut columns: Vec<usize> = Vec::new();
    for block in blocks {
        let column = block.after.keys().filter_map(|before| columns.get(*before)).max();
        columns.push(column.map_or(0, |column| column + 1));
    }
    let height = |block: &BlockReport| LINE * (block.tables.len() + 1);
    let mut used: BTreeMap<usize, usize> = BTreeMap::new();
    let places: Vec<(usize, usize)> = blocks
        .iter()
        .zip(&columns)
        .map(|(block, column)| {
            let top = used.entry(*column).or_insert(ROW);
            let place = (column * (WIDTH + GAP) + 2, *top);
            *top += height(block) + ROW;
            place
        })
        .collect();
    let right = columns.iter().max().map_or(0, |column| (column + 1) * (WIDTH + GAP));
    let bottom = used.values().max().copied().unwrap_or(0);
    let _ = writeln!(
        out,
        "<svg viewBox='0 0 {right} {bottom}' width='{right}' role=img aria-label='The blocks and what leads from one to another'>\n\
         <defs><marker id=head viewBox='0 0 8 8' refX=8 refY=4 markerWidth=7 markerHeight=7 orient=auto>\
         <path d='M0 0L8 4L0 8z'/></marker></defs>"
    );
    for (number, block) in blocks.iter().enumerate() {
        for (before, routines) in &block.after {
            let (from, to) = (places[*before], places[number]);
            let (x1, y1) = (from.0 + WIDTH, from.1 + height(&blocks[*before]) / 2);
            let (x2, y2) = (to.0, to.1 + height(block) / 2);
            let (c1, c2) = (x1 + GAP / 2, x2 - GAP / 2);
            let names = routines.iter().map(String::as_str).collect::<Vec<&str>>().join(", ");
            let _ = writeln!(
                out,
                "<path class=edge d='M{x1} {y1}C{c1} {y1} {c2} {y2} {x2} {y2}' marker-end='url(#head)'>\
                 <title>{}</title></path>",
                escape(&names)
            );
        }
    }
    for ((number, block), (x, y)) in blocks.iter().enumerate().zip(&places) {
        let _ = writeln!(out, "<rect x={x} y={y} width={WIDTH} height={} rx=4 />", height(block));
        for (line, table) in block.tables.iter().enumerate() {
            let label = if line == 0 { format!("{number}  {table}") } else { table.clone() };
            let _ =
                writeln!(out, "<text x={} y={}>{}</text>", x + 8, y + LINE * (line + 1) + 2, escape(&label));
        }
    }
    out.push_str("</svg>\n");
}
