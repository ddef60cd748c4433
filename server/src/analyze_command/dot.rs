//! The blocks as a graph in Graphviz's language.

use std::fmt::Write as _;

use super::report::Report;

/// An edge has the names of the routines because of which it is.
pub fn shown(report: &Report) -> String {
    let mut out = String::from("digraph blocks {\n  rankdir=LR;\n  node [shape=box];\n");
    for (number, block) in report.blocks.iter().enumerate() {
        let _ = writeln!(out, "  {number} [label={}];", quoted(&block.tables.join("\n")));
    }
    for (number, block) in report.blocks.iter().enumerate() {
        for (before, routines) in &block.after {
            let names = routines.iter().map(String::as_str).collect::<Vec<&str>>().join("\n");
            let _ = writeln!(out, "  {before} -> {number} [label={}];", quoted(&names));
        }
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
