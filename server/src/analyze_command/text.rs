//! The report as text, for a terminal.

use std::fmt::Write as _;

use super::report::{Note, Replayed, Report, RoutineReport, Verdict};

/// Text that begins with a summary.
pub fn shown(report: &Report) -> String {
    let mut out = String::new();
    let calls = report.routines.iter().filter(|routine| matches!(routine.verdict, Verdict::Calls(_))).count();
    let (routines, blocks) = (report.routines.len(), report.blocks.len());
    let (one, other) = (if routines == 1 { "" } else { "s" }, if blocks == 1 { "" } else { "s" });
    let _ = writeln!(
        out,
        "{routines} routine{one}, {calls} of them logged as calls, on {blocks} block{other} of tables"
    );
    for routine in &report.routines {
        show(routine, &mut out);
    }
    if !report.blocks.is_empty() {
        out.push_str("\nblocks\n");
    }
    for (number, block) in report.blocks.iter().enumerate() {
        let _ = write!(out, "  {number}  {}", block.tables.join(", "));
        for (place, (before, routines)) in block.after.iter().enumerate() {
            let names = routines.iter().map(String::as_str).collect::<Vec<&str>>().join(", ");
            let word = if place == 0 { "; after" } else { "," };
            let _ = write!(out, "{word} {before} ({names})");
        }
        out.push('\n');
    }
    notes(&report.joins, &mut out);
    out
}

fn notes(notes: &[Note], out: &mut String) {
    for note in notes {
        let _ = writeln!(out, "  note: {}\n        hint: {}", note.sentence, note.hint);
    }
}

fn show(routine: &RoutineReport, out: &mut String) {
    let _ = writeln!(out, "\n{} {}", routine.kind, routine.signature);
    match &routine.verdict {
        Verdict::Data(why) => {
            let _ = writeln!(out, "  logged as the rows that it writes: {why}");
        }
        Verdict::ReadsOnly => out.push_str("  writes nothing, so nothing is logged\n"),
        Verdict::Calls(replayed) => {
            calls(replayed, out);
            source(routine, out);
        }
    }
}

fn calls(replayed: &Replayed, out: &mut String) {
    let _ = writeln!(
        out,
        "  logged as a call; its replay has {} instructions, the routine {}",
        replayed.kept, replayed.of
    );
    for (number, slice) in replayed.slices.iter().enumerate() {
        let _ = writeln!(out, "  slice {number} on {} (block {})", slice.tables.join(", "), slice.block);
        for passed in replayed.passed.iter().filter(|passed| passed.from == number) {
            let to = passed.to.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
            let line = passed.line.map(|line| format!(", line {line}")).unwrap_or_default();
            let _ = writeln!(out, "    passes to {to}: {}{line}", passed.what);
        }
    }
    notes(&replayed.merges, out);
}

/// The lines, each with its slices; `.` where only values are computed, nothing where it is left out.
fn source(routine: &RoutineReport, out: &mut String) {
    let width = routine.source.iter().map(|line| marks(line).len()).max().unwrap_or(0);
    let lines = routine.source.iter().zip(1..).skip_while(|(line, _)| line.text.trim().is_empty());
    for (line, number) in lines {
        let shown = format!("  {number:4} {:width$} | {}", marks(line), line.text);
        let _ = writeln!(out, "{}", shown.trim_end());
    }
}

fn marks(line: &super::report::SourceLine) -> String {
    match line.slices.is_empty() {
        true if line.is_kept => ".".to_owned(),
        true => String::new(),
        false => line.slices.iter().map(ToString::to_string).collect::<Vec<String>>().join(","),
    }
}
