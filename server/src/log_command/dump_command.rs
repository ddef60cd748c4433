//! `hyades log dump`: the records of logs, one by one, for people and as JSON (one object for each line).
//!
//! Rows are shown with the names and types of their table, calls with the name of their routine. The logs
//! themselves contain these, so all logs up to the incarnation are read for them first.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use hyades_engine::inspect::{Entry, EntryBody, Inspection, Schema, TransactionEntry};
use hyades_engine::log::manifest::Incarnation;
use hyades_engine::log::record::{Command, Control, Malformed, Operation, Pieces};
use hyades_engine::protocol::{Cut, Follows};
use hyades_engine::storage::row::RowLayout;
use hyades_types::definition::{TableDefinition, TableId};
use hyades_types::text;
use hyades_types::value::{SqlType, Value};
use jiff::tz::TimeZone;
use serde_json::{Value as Json, json};

use super::common::{Common, Failure, warning};

#[derive(Args)]
pub struct DumpArguments {
    #[command(flatten)]
    common: Common,
    /// Only this log.
    #[arg(long)]
    log: Option<usize>,
    /// Only records that end after this position.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The most records to print of each log.
    #[arg(long, default_value_t = 1000)]
    limit: u64,
}

/// A table whose rows can be decoded.
struct KnownTable {
    name: String,
    columns: Vec<(String, SqlType)>,
    layout: RowLayout,
    has_key: bool,
}

impl KnownTable {
    fn new(definition: &TableDefinition) -> KnownTable {
        let columns: Vec<(String, SqlType)> =
            definition.columns.iter().map(|column| (column.name.clone(), column.sql_type)).collect();
        let types: Vec<SqlType> = columns.iter().map(|(_, sql_type)| *sql_type).collect();
        KnownTable {
            name: format!("{}.{}", definition.name.schema, definition.name.name),
            layout: RowLayout::new(&types),
            columns,
            has_key: definition.primary_key.is_some(),
        }
    }
}

/// One operation as it is shown.
struct Shown {
    /// `put`, `delete`, `schema`, `call`, `damaged`.
    kind: &'static str,
    table: Option<String>,
    /// The hidden key of a table without a primary key, or the key of a deleted row, in hexadecimal.
    key: Option<String>,
    content: Content,
}

enum Content {
    None,
    /// Columns in order, with their values.
    Row(Vec<(String, Json)>),
    Call(Call),
    Other(Json),
}

/// A command-logged transaction as it is shown.
struct Call {
    routine: String,
    version_hash: String,
    arguments: Vec<Json>,
    /// What the call captured: names and values.
    captured: Vec<(String, Json)>,
    row_numbers: Vec<u64>,
    write_set_hash: String,
}

/// Prints records of one incarnation.
pub(crate) struct Printer {
    tables: HashMap<TableId, KnownTable>,
    schema: Schema,
    cut: Cut,
    is_json: bool,
}

pub(super) fn run(arguments: &DumpArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let inspection = arguments.common.open()?;
    let incarnation = arguments.common.incarnation(&inspection)?;
    let logs = match arguments.log {
        None => 0..incarnation.logs,
        Some(log) if log < incarnation.logs => log..log + 1,
        Some(log) => {
            return Err(Failure::Sentence(format!(
                "incarnation {} has no log {log}: its logs are numbered from 0 to {}",
                incarnation.number,
                incarnation.logs.saturating_sub(1)
            )));
        }
    };
    let printer = Printer::new(&inspection, incarnation, arguments.common.json)?;
    if let Some(warning) = warning(&inspection, incarnation).filter(|_| !printer.is_json) {
        writeln!(out, "note: {warning}")?;
    }
    for log in logs {
        let (mut left, mut failed) = (arguments.limit, None);
        inspection.read(incarnation, log, |entry| {
            if entry.end.0 <= arguments.from {
                return Ok(ControlFlow::Continue(()));
            }
            if left == 0 {
                return Ok(ControlFlow::Break(()));
            }
            left -= 1;
            if let Err(error) = printer.print(&entry, out) {
                failed = Some(error);
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(error) = failed {
            return Err(Failure::Output(error));
        }
    }
    Ok(())
}

impl Printer {
    pub(crate) fn new(
        inspection: &Inspection,
        incarnation: &Incarnation,
        is_json: bool,
    ) -> Result<Printer, Failure> {
        let schema = inspection.schema(incarnation)?;
        let tables = schema.tables.iter().map(|(id, definition)| (*id, KnownTable::new(definition)));
        Ok(Printer { tables: tables.collect(), schema, cut: inspection.cut(incarnation)?, is_json })
    }

    /// The operations of a transaction, one on each line.
    pub(crate) fn operations(&self, transaction: &TransactionEntry<'_>) -> String {
        if transaction.is_cut {
            return "    its first fragments are lost, and the others cannot be read without them\n"
                .to_owned();
        }
        transaction
            .operations()
            .fold(String::new(), |text, operation| text + "    " + &self.shown(operation).text() + "\n")
    }

    fn print(&self, entry: &Entry<'_>, out: &mut dyn Write) -> std::io::Result<()> {
        if self.is_json { writeln!(out, "{}", self.json(entry)) } else { write!(out, "{}", self.text(entry)) }
    }

    fn is_recovered(&self, entry: &Entry<'_>, transaction: &TransactionEntry<'_>) -> bool {
        transaction.counts(entry.log, entry.end, &self.cut)
    }

    fn json(&self, entry: &Entry<'_>) -> Json {
        let mut object = json!({ "log": entry.log, "start": entry.start.0, "end": entry.end.0 });
        match &entry.body {
            EntryBody::Transaction(transaction) => {
                object["kind"] = json!("transaction");
                if let Some(vector) = transaction.follows.vector() {
                    object["lv"] = json!(vector.entries());
                }
                match transaction.follows {
                    Follows::Stamp(stamp) => object["stamp"] = json!(stamp),
                    Follows::Predecessors(predecessors) => {
                        let ids = predecessors.ids().iter().map(|id| json!([id.log(), id.end().0]));
                        object["follows"] = ids.collect();
                        let up_to = predecessors.positions().map(|(log, end)| json!([log, end.0]));
                        object["follows_up_to"] = up_to.collect();
                    }
                    Follows::AllBefore | Follows::Positions(_) => {}
                }
                object["lv_bytes"] = json!(transaction.field_bytes);
                if let Some(time) = transaction.time {
                    object["time"] = json!(time);
                }
                object["barrier"] = json!(transaction.is_barrier);
                object["fragments"] = json!(transaction.fragments);
                object["counts"] = json!(self.is_recovered(entry, transaction));
                let operations = transaction.operations().map(|operation| self.shown(operation).json());
                object["operations"] = operations.collect();
            }
            EntryBody::Fragment { transaction, bytes } => {
                object["kind"] = json!("fragment");
                object["transaction"] = json!(transaction);
                object["bytes"] = json!(bytes);
            }
            EntryBody::Control(control) => {
                if let Some(time) = control.time() {
                    object["time"] = json!(time);
                }
                match control {
                    Control::Anchor(anchor) => {
                        object["kind"] = json!("anchor");
                        object["durable"] = json!(anchor.durable.entries());
                    }
                    Control::Milestone(milestone) => {
                        object["kind"] = json!("milestone");
                        object["stamp"] = json!(milestone.stamp);
                    }
                }
            }
            EntryBody::Filler => object["kind"] = json!("filler"),
        }
        object
    }

    fn text(&self, entry: &Entry<'_>) -> String {
        let mut text = format!("{}:{} ", entry.log, entry.end);
        let bytes = entry.end.0 - entry.start.0;
        // Writing into a String cannot fail.
        let _ = match &entry.body {
            EntryBody::Transaction(transaction) => {
                let follows = match (transaction.follows, transaction.follows.vector()) {
                    (Follows::Stamp(stamp), _) => format!(" stamp {stamp}"),
                    (Follows::Predecessors(predecessors), _) => {
                        let ids = predecessors.ids().iter().map(|id| format!(" {id}"));
                        let up_to = predecessors.positions().map(|(log, end)| format!(" up to {log}:{end}"));
                        let all = ids.chain(up_to).collect::<Vec<String>>().concat();
                        if all.is_empty() { all } else { format!(" follows{all}") }
                    }
                    (_, Some(vector)) => format!(" lv {:?}", vector.entries()),
                    (_, None) => String::new(),
                };
                let time = transaction.time.map(|time| format!(" time {time}")).unwrap_or_default();
                let barrier = if transaction.is_barrier { " barrier" } else { "" };
                let lost = if self.is_recovered(entry, transaction) { "" } else { " (does not count)" };
                let fragments = match transaction.fragments {
                    1 => String::new(),
                    fragments => format!(" {fragments} fragments"),
                };
                let operations = self.operations(transaction);
                write!(
                    text,
                    "transaction {bytes} bytes{time}{follows}{barrier}{fragments}{lost}\n{operations}"
                )
            }
            EntryBody::Fragment { transaction, .. } => {
                writeln!(text, "fragment {bytes} bytes of transaction {transaction}")
            }
            EntryBody::Control(control) => {
                let time = control.time().map(|time| format!(" time {time}")).unwrap_or_default();
                match control {
                    Control::Anchor(anchor) => {
                        writeln!(text, "anchor{time} durable {:?}", anchor.durable.entries())
                    }
                    Control::Milestone(milestone) => {
                        writeln!(text, "milestone{time} stamp {}", milestone.stamp)
                    }
                }
            }
            EntryBody::Filler => writeln!(text, "filler {bytes} bytes"),
        };
        text
    }

    /// Decodes an operation for display. Each kind of operation has one arm.
    fn shown(&self, operation: Result<Operation<'_>, Malformed>) -> Shown {
        match operation {
            Ok(Operation::Put { table, key, row }) => {
                let known = self.tables.get(&table);
                let has_key = known.is_some_and(|known| known.has_key);
                Shown {
                    kind: "put",
                    table: Some(table_name(known, table)),
                    key: (!has_key).then(|| hexadecimal(key)),
                    content: shown_row(known, row),
                }
            }
            Ok(Operation::Patch { table, key, pieces }) => Shown {
                kind: "patch",
                table: Some(table_name(self.tables.get(&table), table)),
                key: Some(hexadecimal(key)),
                content: shown_pieces(self.tables.get(&table), pieces),
            },
            Ok(Operation::Delete { table, key }) => Shown {
                kind: "delete",
                table: Some(table_name(self.tables.get(&table), table)),
                key: Some(hexadecimal(key)),
                content: Content::None,
            },
            Ok(Operation::Catalog(change)) => Shown {
                kind: "schema",
                table: None,
                key: None,
                content: serde_json::to_value(&*change).map_or(Content::None, Content::Other),
            },
            Ok(Operation::Sequence { sequence, state }) => Shown {
                kind: "sequence",
                table: Some(self.schema.sequence_name(sequence)),
                key: None,
                content: serde_json::to_value(state).map_or(Content::None, Content::Other),
            },
            Ok(Operation::Command(command)) => match shown_call(&self.schema, &command) {
                Ok(call) => Shown { kind: "call", table: None, key: None, content: Content::Call(call) },
                Err(malformed) => Shown::damaged(&malformed),
            },
            Err(malformed) => Shown::damaged(&malformed),
        }
    }
}

fn shown_call(schema: &Schema, command: &Command<'_>) -> Result<Call, Malformed> {
    let captured = &command.captured;
    let mut seen = Vec::new();
    if let Some(clock) = captured.clock {
        let time = |microseconds| shown_value(&Value::TimestampTz(microseconds));
        seen.push(("transaction_time".to_owned(), time(clock.transaction_time)));
        seen.push(("statement_time".to_owned(), time(clock.statement_time)));
    }
    if let Some(seed) = captured.random_seed {
        seen.push(("random_seed".to_owned(), json!(format!("{seed:016x}"))));
    }
    if let Some(identity) = captured.identity {
        for (name, text) in
            [("user", identity.user), ("database", identity.database), ("time_zone", identity.time_zone)]
        {
            seen.push((name.to_owned(), json!(text)));
        }
    }
    let mut row_numbers = Vec::new();
    command.row_numbers_into(&mut row_numbers)?;
    Ok(Call {
        routine: schema.routine_name(command.routine),
        version_hash: format!("{:08x}", command.version_hash),
        arguments: command.arguments()?.iter().map(shown_value).collect(),
        captured: seen,
        row_numbers,
        write_set_hash: format!("{:016x}", command.write_set_hash.0),
    })
}

/// As SQL prints it; null for NULL.
fn shown_value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        value => json!(text::format(value, &TimeZone::UTC).as_str()),
    }
}

fn table_name(known: Option<&KnownTable>, id: TableId) -> String {
    known.map_or_else(|| format!("table {}", id.0), |known| known.name.clone())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Names and values, or the raw bytes if the row does not fit the table.
fn shown_row(known: Option<&KnownTable>, row: &[u8]) -> Content {
    let Some(known) = known.filter(|known| known.layout.check(row).is_ok()) else {
        return Content::Other(json!(hexadecimal(row)));
    };
    let value = |(index, (name, _)): (usize, &(String, SqlType))| {
        (name.clone(), shown_value(&known.layout.value(row, index as u16)))
    };
    Content::Row(known.columns.iter().enumerate().map(value).collect())
}

/// The new values of columns of fixed width, and other pieces by their places.
fn shown_pieces(known: Option<&KnownTable>, pieces: &[u8]) -> Content {
    let shown = |(offset, bytes): (usize, &[u8])| {
        let column = known.and_then(|known| {
            let (column, value) = known.layout.fixed_value(offset, bytes)?;
            Some((known.columns.get(usize::from(column))?.0.clone(), shown_value(&value)))
        });
        column.unwrap_or_else(|| (format!("bytes from {offset} on"), json!(hexadecimal(bytes))))
    };
    match Pieces::new(pieces).collect::<Result<Vec<_>, _>>() {
        Ok(pieces) => Content::Row(pieces.into_iter().map(shown).collect()),
        Err(malformed) => Content::Other(json!(malformed.to_string())),
    }
}

impl Shown {
    fn damaged(malformed: &Malformed) -> Shown {
        let content = Content::Other(json!(malformed.to_string()));
        Shown { kind: "damaged", table: None, key: None, content }
    }

    fn json(&self) -> Json {
        let mut object = json!({ "operation": self.kind });
        for (name, part) in [("table", &self.table), ("key", &self.key)] {
            if let Some(part) = part {
                object[name] = json!(part);
            }
        }
        match &self.content {
            Content::None => {}
            Content::Row(columns) => object["content"] = Json::Object(columns.iter().cloned().collect()),
            Content::Call(call) => {
                object["routine"] = json!(call.routine);
                object["version_hash"] = json!(call.version_hash);
                object["arguments"] = json!(call.arguments);
                object["captured"] = Json::Object(call.captured.iter().cloned().collect());
                object["row_numbers"] = json!(call.row_numbers);
                object["write_set_hash"] = json!(call.write_set_hash);
            }
            Content::Other(content) => object["content"] = content.clone(),
        }
        object
    }

    fn text(&self) -> String {
        let mut text = self.kind.to_owned();
        for part in [&self.table, &self.key].into_iter().flatten() {
            text = text + " " + part;
        }
        match &self.content {
            Content::Row(columns) => text += &named(columns),
            Content::Call(call) => {
                let arguments: Vec<String> = call.arguments.iter().map(quoted).collect();
                text = text + " " + &call.routine + "(" + &arguments.join(", ") + ")";
                text += &named(&call.captured);
                if !call.row_numbers.is_empty() {
                    text += &format!(" row_numbers={:?}", call.row_numbers);
                }
                text = text + " version=" + &call.version_hash + " wrote=" + &call.write_set_hash;
            }
            Content::Other(Json::String(content)) => text = text + " " + content,
            Content::Other(content) => text = text + " " + &content.to_string(),
            Content::None => {}
        }
        text
    }
}

/// Formats ` name="value"` for each column.
fn named(columns: &[(String, Json)]) -> String {
    columns.iter().map(|(name, value)| format!(" {name}={}", quoted(value))).collect()
}

fn quoted(value: &Json) -> String {
    value.as_str().map_or_else(|| "NULL".to_owned(), |value| format!("{value:?}"))
}
