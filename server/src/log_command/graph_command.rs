//! `hyades log graph`: work, span and parallelism of the dependency graph in several orders, and a drawing
//! for Graphviz.

use std::io::Write;
use std::ops::ControlFlow;

use clap::{Args, ValueEnum};
use hyades_engine::inspect::graph::{Bounds, Graph, Node, Orders, Weight};
use hyades_engine::inspect::{EntryBody, Inspection, Schema};
use hyades_engine::log::manifest::Incarnation;
use hyades_types::error::{Error, sqlstate};
use serde_json::json;

use super::common::{Common, Failure, warning};

#[derive(Args)]
pub struct GraphArguments {
    #[command(flatten)]
    common: Common,
    /// Only transactions whose record ends after this position, in every log; those before it count as
    /// replayed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The most transactions, shared evenly among the logs [default: 1000000; 200 with --dot].
    #[arg(long)]
    limit: Option<u64>,
    /// The cost of a transaction.
    #[arg(long, value_enum, default_value_t = Cost::Transactions)]
    cost: Cost,
    /// Print the graph in Graphviz's language.
    #[arg(long, conflicts_with = "json")]
    dot: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Cost {
    /// The same for each transaction.
    Transactions,
    /// One for each operation in its record.
    Operations,
    /// The number of bytes of its operations.
    Bytes,
}

impl Cost {
    fn weight(self) -> Weight {
        match self {
            Cost::Transactions => Weight::Transactions,
            Cost::Operations => Weight::Operations,
            Cost::Bytes => Weight::Bytes,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Cost::Transactions => "transactions",
            Cost::Operations => "operations",
            Cost::Bytes => "bytes",
        }
    }
}

pub(super) fn run(arguments: &GraphArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let inspection = arguments.common.open()?;
    let incarnation = arguments.common.incarnation(&inspection)?;
    let range = Range {
        from: arguments.from,
        limit: arguments.limit.unwrap_or(if arguments.dot { 200 } else { 1_000_000 }),
        cost: arguments.cost,
    };
    let (graph, without_keys) = read(&range, &inspection, incarnation)?;
    if graph.is_empty() {
        return Err(Failure::Sentence("there is no transaction in this range of the logs".to_owned()));
    }
    if arguments.dot {
        return draw(&graph, &inspection.schema(incarnation)?, out);
    }
    let orders = graph.orders()?;
    let (serial, conflicts) = (orders.serial, orders.conflicts);
    let mut rows = vec![("serial", serial, "one LSN orders everything")];
    match orders.named {
        None => rows.push(("lv", orders.vectors, "what LSN vectors name, as a replay waits for it")),
        Some(named) => rows.extend([
            ("positions", orders.vectors, "all up to what records name, in each log"),
            ("named", named, "what records name, as a replay waits for it"),
        ]),
    }
    rows.push(("conflict", conflicts, "what wrote the same keys"));
    let warning = warning(&inspection, incarnation);
    if arguments.common.json {
        let order = |bounds: Bounds| json!({ "work": bounds.work, "span": bounds.span, "parallelism": bounds.parallelism() });
        let orders: serde_json::Map<String, serde_json::Value> =
            rows.iter().map(|(name, bounds, _)| ((*name).to_owned(), order(*bounds))).collect();
        let report = json!({
            "incarnation": incarnation.number,
            "protocol": incarnation.protocol,
            "transactions": graph.len(),
            "without_keys": without_keys,
            "unit": arguments.cost.unit(),
            "warning": warning,
            "orders": orders,
        });
        writeln!(out, "{report:#}")?;
        return Ok(());
    }
    if let Some(warning) = warning {
        writeln!(out, "note: {warning}")?;
    }
    writeln!(
        out,
        "{} transactions of incarnation {} ({}, {} logs); work and span in {}",
        graph.len(),
        incarnation.number,
        incarnation.protocol,
        incarnation.logs,
        arguments.cost.unit()
    )?;
    print(&graph, &rows, without_keys, out)
}

/// The orders of the first transactions of an incarnation that count, at most so many.
///
/// # Errors
/// Logs that cannot be read, and those of [`Graph::orders`].
pub(crate) fn orders(
    inspection: &Inspection,
    incarnation: &Incarnation,
    limit: u64,
) -> Result<Orders, Failure> {
    let range = Range { from: 0, limit, cost: Cost::Transactions };
    Ok(read(&range, inspection, incarnation)?.0.orders()?)
}

/// Which transactions are looked at.
struct Range {
    /// Their records end after this position.
    from: u64,
    limit: u64,
    cost: Cost,
}

/// The transactions that count in the chosen range, and how many of them do not name the keys they write.
fn read(range: &Range, inspection: &Inspection, incarnation: &Incarnation) -> Result<(Graph, u64), Failure> {
    if inspection.has_stamps(incarnation) {
        let protocol = &incarnation.protocol;
        let message =
            format!("logs of the protocol {protocol} do not say which transactions a transaction follows");
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).into());
    }
    let cut = inspection.cut(incarnation)?;
    let each = range.limit.div_ceil(incarnation.logs.max(1) as u64);
    let mut graph = Graph::new(incarnation.logs, inspection.is_serial(incarnation));
    let mut without_keys = 0_u64;
    for log in 0..incarnation.logs {
        let mut left = each;
        inspection.read(incarnation, log, |entry| {
            let EntryBody::Transaction(transaction) = &entry.body else {
                return Ok(ControlFlow::Continue(()));
            };
            let is_recovered = transaction.counts(log, entry.end, &cut);
            if entry.end.0 <= range.from || !is_recovered {
                return Ok(ControlFlow::Continue(()));
            }
            if left == 0 {
                return Ok(ControlFlow::Break(()));
            }
            left -= 1;
            let node = Node::new((entry.start, entry.end), transaction, &cut.limit, range.cost.weight());
            without_keys += u64::from(!node.knows_keys);
            graph.push(log, node);
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok((graph, without_keys))
}

fn print(
    graph: &Graph,
    rows: &[(&str, Bounds, &str)],
    without_keys: u64,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(out, "{:<9} {:>12} {:>12} {:>12}", "order", "work", "span", "parallelism")?;
    for (name, bounds, meaning) in rows {
        let parallelism = bounds.parallelism();
        writeln!(out, "{name:<9} {:>12} {:>12} {parallelism:>12.2}  {meaning}", bounds.work, bounds.span)?;
    }
    if graph.is_serial() {
        writeln!(out, "the log is serial: it has no LSN vectors, so the LV order is the serial one")?;
    }
    if without_keys > 0 {
        writeln!(
            out,
            "{without_keys} transactions do not say which keys they write (schema changes, commands): the conflict order puts them \
             where LSN vectors do"
        )?;
    }
    Ok(())
}

fn draw(graph: &Graph, schema: &Schema, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "digraph log {{")?;
    writeln!(out, "  rankdir=LR; node [shape=box, fontname=\"monospace\"];")?;
    for place in graph.order()? {
        let node = graph.node(place);
        let style = if node.is_barrier { ", style=bold" } else { "" };
        let what = match node.routine {
            Some(routine) => schema.routine_name(routine),
            None => format!("{} operations", node.operations),
        };
        // A name may contain quotes.
        let what = what.replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(
            out,
            "  \"{}:{}\" [label=\"{}:{}\\n{what}\"{style}];",
            place.log, node.end, place.log, node.end
        )?;
    }
    for edge in graph.edges()? {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        let style = if edge.is_conflict { " [color=red]" } else { " [style=dashed, color=gray]" };
        writeln!(out, "  \"{}:{}\" -> \"{}:{}\"{style};", edge.from.log, from.end, edge.to.log, to.end)?;
    }
    writeln!(out, "}}")?;
    Ok(())
}
