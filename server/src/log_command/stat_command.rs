//! `hyades log stat`: what the logs of one incarnation contain.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use hyades_engine::inspect::{EntryBody, Inspection, Schema, SegmentFiles, TransactionEntry};
use hyades_engine::log::manifest::Incarnation;
use hyades_engine::log::record::{Control, Operation};
use hyades_engine::log::set::{LogEnd, Tail};
use hyades_engine::lsn::{Lsn, LsnVector};
use hyades_engine::protocol::Cut;
use hyades_types::definition::RoutineId;
use serde_json::json;

use super::common::{Common, Failure, warning};

#[derive(Args)]
pub struct StatArguments {
    #[command(flatten)]
    common: Common,
}

/// Log records of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    count: u64,
    bytes: u64,
    /// How many of the bytes say what a transaction follows: LSN vectors, predecessors or stamps.
    vector_bytes: u64,
}

impl Kind {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }

    fn json(self) -> serde_json::Value {
        json!({ "count": self.count, "bytes": self.bytes, "vector_bytes": self.vector_bytes })
    }

    /// The average bytes of a record, and of its LSN vector.
    fn each(self) -> (f64, f64) {
        let count = self.count.max(1) as f64;
        (self.bytes as f64 / count, self.vector_bytes as f64 / count)
    }
}

/// Everything about one log.
struct LogStat {
    files: SegmentFiles,
    end: Option<LogEnd>,
    /// The position up to which the log counts.
    counts: Lsn,
    data: Kind,
    command: Kind,
    /// Command-logged calls, by routine.
    calls: BTreeMap<RoutineId, Kind>,
    schema: Kind,
    fragment: Kind,
    anchor: Kind,
    milestone: Kind,
    filler: Kind,
    puts: u64,
    patches: u64,
    deletes: u64,
    /// The number of logged operations on sequences.
    sequences: u64,
    vector_bytes: u64,
    /// With a protocol whose records name others: how many are named.
    ids: Option<u64>,
    /// Transactions with at least one entry that their anchor does not cover.
    dependent: u64,
    discarded: u64,
    /// The largest positions that this log's anchors call durable.
    durable: LsnVector,
    /// With a protocol whose records have stamps, the largest of those in its milestones.
    stamp: Option<u64>,
}

impl LogStat {
    fn of(
        inspection: &Inspection,
        incarnation: &Incarnation,
        log: usize,
        cut: &Cut,
    ) -> Result<LogStat, Failure> {
        let mut stat = LogStat {
            files: inspection.segment_files(incarnation, log)?,
            end: None,
            counts: cut.limit.get(log),
            data: Kind::default(),
            command: Kind::default(),
            calls: BTreeMap::new(),
            schema: Kind::default(),
            fragment: Kind::default(),
            anchor: Kind::default(),
            milestone: Kind::default(),
            filler: Kind::default(),
            puts: 0,
            patches: 0,
            deletes: 0,
            sequences: 0,
            vector_bytes: 0,
            ids: inspection.has_ids(incarnation).then_some(0),
            dependent: 0,
            discarded: 0,
            durable: LsnVector::zero(incarnation.logs),
            stamp: inspection.has_stamps(incarnation).then_some(0),
        };
        stat.end = inspection.read(incarnation, log, |entry| {
            let bytes = entry.end.0 - entry.start.0;
            match entry.body {
                EntryBody::Transaction(transaction) => {
                    let is_recovered = transaction.counts(log, entry.end, cut);
                    stat.discarded += u64::from(!is_recovered);
                    stat.add_transaction(&transaction, bytes);
                }
                EntryBody::Fragment { .. } => stat.fragment.add(bytes),
                EntryBody::Control(Control::Anchor(anchor)) => {
                    stat.anchor.add(bytes);
                    stat.durable.raise(anchor.durable.entries());
                }
                EntryBody::Control(Control::Milestone(milestone)) => {
                    stat.milestone.add(bytes);
                    stat.stamp = stat.stamp.max(Some(milestone.stamp));
                }
                EntryBody::Filler => stat.filler.add(bytes),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(stat)
    }

    fn add_transaction(&mut self, transaction: &TransactionEntry<'_>, bytes: u64) {
        self.vector_bytes += transaction.field_bytes as u64;
        self.ids = self.ids.map(|ids| ids + transaction.follows.ids().len() as u64);
        self.dependent += u64::from(transaction.field_bytes > 1);
        let mut kind = &mut self.data;
        for operation in transaction.operations().flatten() {
            match operation {
                Operation::Put { .. } => self.puts += 1,
                Operation::Patch { .. } => self.patches += 1,
                Operation::Delete { .. } => self.deletes += 1,
                Operation::Sequence { .. } => self.sequences += 1,
                Operation::Catalog(_) => kind = &mut self.schema,
                Operation::Command(command) => {
                    let calls = self.calls.entry(command.routine).or_default();
                    calls.add(bytes);
                    calls.vector_bytes += transaction.field_bytes as u64;
                    kind = &mut self.command;
                }
            }
        }
        kind.add(bytes);
        kind.vector_bytes += transaction.field_bytes as u64;
    }

    fn transactions(&self) -> u64 {
        self.data.count + self.command.count + self.schema.count
    }

    fn json(&self, schema: &Schema) -> serde_json::Value {
        let calls = self.calls.iter().map(|(routine, kind)| {
            let mut call = kind.json();
            call["routine"] = json!(schema.routine_name(*routine));
            call["version"] = json!(routine.0);
            call
        });
        json!({
            "segments": self.files.count,
            "segment_bytes": self.files.bytes,
            "record_bytes": self.end.as_ref().map_or(0, |end| end.whole_records.0),
            "counts_to": self.counts.0,
            "tail": self.tail(),
            "transactions": self.transactions(),
            "discarded": self.discarded,
            "data": self.data.json(),
            "command": self.command.json(),
            "calls": calls.collect::<Vec<_>>(),
            "schema": self.schema.json(),
            "fragment": self.fragment.json(),
            "anchor": self.anchor.json(),
            "milestone": self.milestone.json(),
            "filler": self.filler.json(),
            "puts": self.puts,
            "patches": self.patches,
            "deletes": self.deletes,
            "sequences": self.sequences,
            "vector_bytes": self.vector_bytes,
            "named": self.ids,
            "transactions_with_vector": self.dependent,
            "durable_by_anchors": self.durable.entries(),
            "last_milestone": self.stamp,
        })
    }

    fn tail(&self) -> String {
        match self.end.as_ref().map(|end| end.tail) {
            None | Some(Tail::Clean) => "clean".to_owned(),
            Some(Tail::Torn(reason)) => format!("torn: {reason}"),
            Some(Tail::Lost(reason)) => format!("lost: {reason}"),
            Some(Tail::Hole(reason, next)) => {
                format!("hole: {reason}, and the log goes on at position {next}")
            }
        }
    }

    fn print(&self, log: usize, schema: &Schema, out: &mut dyn Write) -> std::io::Result<()> {
        let bytes = self.end.as_ref().map_or(0, |end| end.whole_records.0);
        writeln!(
            out,
            "log {log}: {bytes} bytes of records, counts to {}, end {}; {} segment files{}, {} bytes",
            self.counts,
            self.tail(),
            self.files.count,
            match self.files.directories {
                1 => String::new(),
                directories => format!(" in {directories} directories"),
            },
            self.files.bytes
        )?;
        let kinds = [
            ("data", self.data),
            ("command", self.command),
            ("schema", self.schema),
            ("fragment", self.fragment),
            ("anchor", self.anchor),
            ("milestone", self.milestone),
            ("filler", self.filler),
        ];
        for (name, kind) in kinds.into_iter().filter(|(_, kind)| kind.count > 0) {
            let (each, _) = kind.each();
            writeln!(
                out,
                "  {name:<9} {:>12} records {:>15} bytes {each:>9.1} bytes each",
                kind.count, kind.bytes
            )?;
            if name == "command" {
                self.print_calls(schema, out)?;
            }
        }
        let transactions = self.transactions();
        if transactions > 0 {
            let LogStat { puts, patches, deletes, sequences, .. } = self;
            write!(out, "  {transactions} transactions: {puts} puts, {patches} patches, {deletes} deletes")?;
            writeln!(
                out,
                "{}",
                if *sequences > 0 { format!(", {sequences} sequences") } else { String::new() }
            )?;
            let each = self.vector_bytes as f64 / transactions as f64;
            match self.stamp {
                None if let Some(ids) = self.ids => writeln!(
                    out,
                    "  predecessors: {} bytes, {each:.2} a transaction; {ids} are named",
                    self.vector_bytes
                )?,
                None => writeln!(
                    out,
                    "  LSN vectors: {} bytes, {each:.2} a transaction; {} transactions name more than their anchor",
                    self.vector_bytes, self.dependent
                )?,
                Some(_) => writeln!(out, "  stamps: {} bytes, {each:.2} a transaction", self.vector_bytes)?,
            }
        }
        if self.discarded > 0 {
            writeln!(out, "  {} transactions do not count: what they depend on is missing", self.discarded)?;
        }
        match self.stamp {
            None if self.ids.is_some() => {
                writeln!(out, "  settled by its anchors: {:?}", self.durable.entries())
            }
            None => writeln!(out, "  durable by its anchors: {:?}", self.durable.entries()),
            Some(stamp) => writeln!(out, "  complete up to stamp {stamp} by its milestones"),
        }
    }

    /// Prints the calls of each routine. Versions of a routine are distinguished by their numbers.
    fn print_calls(&self, schema: &Schema, out: &mut dyn Write) -> std::io::Result<()> {
        for (routine, kind) in &self.calls {
            let (each, vector) = kind.each();
            writeln!(
                out,
                "    {:<36} version {:<6} {:>12} calls {each:>9.1} bytes each, {vector:.2} of them for what it follows",
                schema.routine_name(*routine),
                routine.0,
                kind.count
            )?;
        }
        Ok(())
    }
}

pub(super) fn run(arguments: &StatArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let inspection = arguments.common.open()?;
    let manifest = inspection.manifest();
    let incarnation = arguments.common.incarnation(&inspection)?;
    let cut = inspection.cut(incarnation)?;
    let logs = (0..incarnation.logs)
        .map(|log| LogStat::of(&inspection, incarnation, log, &cut))
        .collect::<Result<Vec<LogStat>, Failure>>()?;
    let schema = inspection.schema(incarnation)?;
    let warning = warning(&inspection, incarnation);
    if arguments.common.json {
        let incarnations: Vec<serde_json::Value> = manifest
            .incarnations
            .iter()
            .map(|one| json!({ "number": one.number, "protocol": one.protocol, "logs": one.logs, "end": one.end }))
            .collect();
        let report = json!({
            "database": manifest.database().to_string(),
            "incarnations": incarnations,
            "incarnation": incarnation.number,
            "is_in_use": inspection.is_in_use(),
            "warning": warning,
            "logs": logs.iter().map(|log| log.json(&schema)).collect::<Vec<_>>(),
        });
        writeln!(out, "{report:#}")?;
        return Ok(());
    }
    writeln!(out, "database {}", manifest.database())?;
    for one in &manifest.incarnations {
        let end = match &one.end {
            Some(end) => format!("ended at {end:?}"),
            None => "not ended".to_owned(),
        };
        let mark = if one.number == incarnation.number { "*" } else { " " };
        writeln!(out, "{mark} incarnation {}: {}, {} logs, {end}", one.number, one.protocol, one.logs)?;
    }
    if let Some(warning) = warning {
        writeln!(out, "note: {warning}")?;
    }
    for (log, stat) in logs.iter().enumerate() {
        stat.print(log, &schema, out)?;
    }
    Ok(())
}
