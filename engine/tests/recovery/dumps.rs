//! What the readers of logs see in directories with every kind of record: records, vectors, and the verdicts
//! of an inspection, of a recovery and of a salvage. It is compared byte for byte with what earlier versions
//! of the program have seen in them.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hyades_engine::config::ProtocolKind;
use hyades_engine::inspect::{Entry, EntryBody, Inspection, TransactionEntry};
use hyades_engine::log::manifest::Incarnation;
use hyades_engine::log::record::Control;
use hyades_engine::lsn::LsnVector;
use hyades_engine::protocol::Cut;
use hyades_engine::recovery::salvage::{Salvage, salvage};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::hand_written::{Change, HandWritten, encode_changes};

use crate::put;

/// Two incarnations with two logs each. The first one ends in a crash and leaves zombies, the second one in
/// another, inside a record.
fn two_logs() -> HandWritten {
    let disk = SimulatedDisk::new(1);
    let (mut written, _) = HandWritten::open(&disk, ProtocolKind::Taurus, 2).expect("an empty disk");
    let table = written.append(0, &[0, 0], &[Change::CreateTable]);
    let first = written.append(1, &[table, 0], &[put(1, 10)]);
    written.sync_all();
    written.append_anchor(0, &[table, first]);
    written.append_anchor(1, &[table, first]);
    written.append(0, &[table, first], &[put(2, 20)]);
    let large = encode_changes(&[put(3, 30), put(4, 40), put(5, 50)]);
    let (one, rest) = large.split_at(9);
    let (two, three) = rest.split_at(20);
    written.append_fragment(0, 7, None, one);
    let between = written.append(0, &[table, 0], &[Change::Delete { key: 1 }]);
    written.append_fragment(0, 7, None, two);
    written.append_filler(0, 24);
    written.append_fragment(0, 7, Some(&[between, first]), three);
    written.append_fragment(1, 7, None, &large);
    written.sync_all();
    let lost = written.append(0, &[table, 0], &[put(6, 60)]);
    written.append(1, &[lost, first], &[put(7, 70)]);
    written.append_fragment(1, 9, Some(&[lost, 0]), &encode_changes(&[put(8, 80)]));
    written.append(1, &[between, first], &[put(9, 90)]);
    written.write(1);
    written.sync(1);
    let disk = written.disk.after(PowerCut::LoseUnsynced);
    let (mut written, _) = HandWritten::open(&disk, ProtocolKind::Taurus, 2).expect("it recovers");
    let mut last = 0;
    for value in 0..4 {
        last = written.append(0, &[last, 0], &[put(10, value)]);
    }
    let before = written.end(1);
    written.append(1, &[last, before], &[put(11, 110)]);
    written.sync_all();
    written.append(1, &[last, before], &[put(12, 120)]);
    written.write_part(1, 16);
    written.sync_all();
    // An anchor may lie inside a record.
    written.append(0, &[last, 0], &[put(13, 130)]);
    written.append_anchor(1, &[last + 8, before]);
    written.append(1, &[last, before], &[put(14, 140)]);
    written.write_part(0, 16);
    written.sync(0);
    written.write(1);
    written.sync(1);
    written.disk = written.disk.after(PowerCut::LoseUnsynced);
    written
}

/// One log in which each record follows all before it. Old ones have anchors.
fn one_log() -> HandWritten {
    let disk = SimulatedDisk::new(2);
    let (mut written, _) = HandWritten::open(&disk, ProtocolKind::Serial, 1).expect("an empty disk");
    let table = written.append(0, &[0], &[Change::CreateTable]);
    written.append(0, &[0], &[put(1, 10)]);
    written.sync_all();
    written.append_anchor(0, &[table]);
    written.append_fragment(0, 3, None, &encode_changes(&[put(2, 20)]));
    written.append(0, &[0], &[put(1, 11), Change::Delete { key: 5 }]);
    written.append_fragment(0, 3, Some(&[0]), &encode_changes(&[put(3, 30)]));
    written.append_filler(0, 8);
    written.append_fragment(0, 4, None, &encode_changes(&[put(9, 90)]));
    written.sync_all();
    written
}

fn shown(entry: &Entry<'_>, cut: &Cut, salvaged: Option<&Salvage>, incarnation: u64) -> String {
    let (log, start, end) = (entry.log, entry.start, entry.end);
    let place = format!("{log} {start:>4}..{end:<4}");
    match &entry.body {
        EntryBody::Transaction(transaction) => {
            let said = said(transaction, &cut.limit);
            let counts = if transaction.counts(log, end, cut) { "counts" } else { "does not count" };
            let of = |salvage: &Salvage| {
                let one = salvage.incarnations.iter().find(|one| one.number == incarnation)?;
                one.verdict(log, (start, end), transaction.follows)
            };
            let verdict = salvaged.map(|salvage| format!(", salvage: {:?}", of(salvage)));
            format!("{place} transaction {said}, {counts}{}", verdict.unwrap_or_default())
        }
        EntryBody::Fragment { transaction, bytes } => {
            format!("{place} fragment of {transaction}: {bytes} bytes")
        }
        EntryBody::Control(Control::Anchor(anchor)) => {
            format!("{place} anchor {:?}", anchor.durable.entries())
        }
        EntryBody::Control(Control::Milestone(milestone)) => format!("{place} milestone {milestone:?}"),
        EntryBody::Filler => format!("{place} filler"),
    }
}

fn said(transaction: &TransactionEntry<'_>, ends: &LsnVector) -> String {
    let bounded = transaction.positions_up_to(ends);
    let vector = transaction.follows.vector().unwrap_or_else(|| bounded.clone()).entries().to_vec();
    let operations = transaction.operations().flatten().count();
    let TransactionEntry { field_bytes, fragments, .. } = transaction;
    format!(
        "after {vector:?}, up to the ends {:?}, field {field_bytes} bytes, {fragments} fragments, {operations} operations",
        bounded.entries()
    )
}

/// The records of one incarnation, log by log.
fn dump(
    inspection: &Inspection,
    incarnation: &Incarnation,
    salvaged: Option<&Salvage>,
    into: &mut String,
) -> hyades_types::Result<()> {
    let cut = inspection.cut(incarnation)?;
    let _ = writeln!(into, "incarnation {}, ends {:?}", incarnation.number, cut.limit.entries());
    for log in 0..incarnation.logs {
        inspection.read(incarnation, log, |entry| {
            let _ = writeln!(into, "{}", shown(&entry, &cut, salvaged, incarnation.number));
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(())
}

fn dump_all(disk: &SimulatedDisk, salvaged: Option<&Salvage>) -> String {
    let inspection = Inspection::open_on(Arc::new(disk.clone()), Path::new("/data")).expect("it is there");
    let mut text = String::new();
    for incarnation in &inspection.manifest().incarnations {
        dump(&inspection, incarnation, salvaged, &mut text).expect("undamaged");
    }
    text
}

fn recovered(disk: &SimulatedDisk) -> String {
    let found = HandWritten::recover(disk).expect("it recovers");
    let report = &found.recovered.report;
    format!(
        "{} transactions, {} discarded, {} bytes, rows {:?}\n",
        report.transactions, report.discarded, report.log_bytes, found.rows
    )
}

/// What a salvage keeps of a directory whose first log is damaged here.
fn salvaged(written: &HandWritten, at: u64) -> String {
    let path = Path::new("/data/logs/log-0/00000001-00000001.segment");
    let disk = written.disk.after(PowerCut::KeepUnsynced);
    disk.flip_bit(path, at, 0).expect("it is there");
    let mut config = written.config.clone();
    config.disk = Arc::new(disk.clone());
    let (_, salvage) = salvage(&config, None).expect("something is kept");
    let mut text = String::new();
    for damage in &salvage.damages {
        let _ = writeln!(text, "{damage}");
    }
    text + &dump_all(&written.disk, Some(&salvage))
}

#[test]
fn each_reader_sees_what_earlier_versions_have_seen() {
    let (two, one) = (two_logs(), one_log());
    let mut text = String::new();
    for written in [&two, &one] {
        text += &dump_all(&written.disk, None);
        text += &recovered(&written.disk);
        text += "\n";
    }
    text += &salvaged(&two, 4096 * 2 + 70);
    text += "\n";
    text += &salvaged(&one, 4096 * 2 + 70);
    let expected = include_str!("dumps.expected");
    assert!(text == expected, "seen:\n{text}END");
}
