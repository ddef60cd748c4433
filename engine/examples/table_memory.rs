//! Measures what a million rows of pgbench_accounts cost: resident bytes per row, and the latency of the
//! index on one thread. Latency is thread CPU time, so that other programs disturb it little. The filler is
//! full here, while pgbench's own is blank and costs nothing.
//!
//! `cargo run --release -p hyades-engine --example table_memory [rows]`. Linux only (reads
//! `/proc/self/statm`).

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::ops::Bound;
use std::process::Command;
use std::time::Duration;

use crossbeam_epoch::pin;
use hyades_engine::storage::scan_batch::{ScanBatch, ScanDirection};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    ColumnDefinition, IndexKind, PrimaryKey, TableDefinition, TableId, TableName,
};
use hyades_types::key::KeyLayout;
use hyades_types::value::{SqlType, Value};

/// aid, bid, abalance and the 84 characters of filler.
const USER_BYTES: usize = 96;

/// Name, index, and whether the keys come in random order.
const CASES: [(&str, IndexKind, bool); 3] = [
    ("ordered, ascending inserts", IndexKind::Ordered, false),
    ("ordered, random inserts", IndexKind::Ordered, true),
    ("hash, random inserts", IndexKind::Hash, true),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().unwrap_or_else(|| "1000000".into());
    let Some(case) = arguments.next() else {
        // One process for each case: memory that one case has freed must not flatter the next.
        for case in 0..CASES.len() {
            Command::new(std::env::current_exe()?).args([&rows, &case.to_string()]).status()?;
        }
        return Ok(());
    };
    let (name, index, is_shuffled) = *CASES.get(case.parse::<usize>()?).ok_or("no such case")?;
    println!("{name}:");
    measure(&accounts(index), &keys(rows.parse()?, is_shuffled))
}

fn measure(table: &Table, keys: &[u32]) -> Result<(), Box<dyn Error>> {
    let before = resident_bytes()?;
    let guard = pin();
    let state = table.state(&guard);
    let (mut row, mut key) = (Vec::new(), Vec::new());

    let start = cpu_time();
    for &number in keys {
        encode(table, number, &mut row);
        state.encode_key(&row, &mut key);
        state.install(&key, Some(&row), &guard)?;
    }
    report("install a row (encoded here)", start, keys.len());
    let per_row = (resident_bytes()? - before) as f64 / keys.len() as f64;
    println!(
        "  {per_row:.0} resident bytes per row, {:.0} beyond the user's {USER_BYTES}; row format {} bytes, estimate beyond it {}",
        per_row - USER_BYTES as f64,
        row.len(),
        state.index().overhead_bytes_per_row(),
    );

    let encoded = encode_keys(&shuffled(keys));
    let start = cpu_time();
    for key in &encoded {
        black_box(state.index().get(key, &guard));
    }
    report("get", start, encoded.len());

    let other = accounts(state.definition().primary_key.as_ref().map_or(IndexKind::Ordered, |key| key.index));
    let other = other.state(&guard);
    let encoded = encode_keys(keys);
    let start = cpu_time();
    for key in &encoded {
        black_box(other.index().get_or_insert(key, None, &guard));
    }
    report("insert a key without a row", start, encoded.len());

    let start = cpu_time();
    let mut batch = ScanBatch::new();
    let mut last: Option<Vec<u8>> = None;
    while !batch.reaches_end() {
        let from = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let page = state.index().scan(from, ScanDirection::Forward, usize::MAX, &mut batch, &guard);
        black_box(page.iter().map(|(_, record)| record.row(&guard).map_or(0, <[u8]>::len)).sum::<usize>());
        last = batch.last_key().map(<[u8]>::to_vec);
    }
    report("scan, reading each row's length", start, keys.len());
    Ok(())
}

fn report(what: &str, start: Duration, operations: usize) {
    println!("  {:.0} ns: {what}", (cpu_time() - start).as_nanos() as f64 / operations as f64);
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn accounts(index: IndexKind) -> Table {
    let column = |name: &str, sql_type| ColumnDefinition {
        is_nullable: name != "aid",
        ..ColumnDefinition::new(name, sql_type)
    };
    let definition = TableDefinition {
        name: TableName { schema: "public".into(), name: "pgbench_accounts".into() },
        columns: vec![
            column("aid", SqlType::Integer),
            column("bid", SqlType::Integer),
            column("abalance", SqlType::Integer),
            column("filler", SqlType::Char(84)),
        ],
        primary_key: Some(PrimaryKey {
            name: "pgbench_accounts_pkey".into(),
            columns: vec![0],
            index,
            parameters: Vec::new(),
        }),
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        view: None,
        materialized: None,
        checks: Vec::new(),
        triggers: Vec::new(),
        dropped: Vec::new(),
        parameters: Vec::new(),
    };
    Table::new(TableId(1), definition)
}

fn encode(table: &Table, number: u32, row: &mut Vec<u8>) {
    let values = [
        Value::Integer(number as i32),
        Value::Integer(1),
        Value::Integer(0),
        Value::Text("x".repeat(84).into()),
    ];
    row.clear();
    table.state(&pin()).layout().encode(&values, row);
}

fn encode_keys(numbers: &[u32]) -> Vec<[u8; 4]> {
    let layout = KeyLayout::new(&[SqlType::Integer]);
    let encode = |number: &u32| {
        let mut key = Vec::new();
        layout.encode(&[Value::Integer(*number as i32)], &mut key);
        key.try_into().unwrap_or_default()
    };
    numbers.iter().map(encode).collect()
}

fn keys(rows: u32, is_shuffled: bool) -> Vec<u32> {
    let keys: Vec<u32> = (1..=rows).collect();
    if is_shuffled { shuffled(&keys) } else { keys }
}

/// The Fisher-Yates shuffle, the same in every run.
fn shuffled(keys: &[u32]) -> Vec<u32> {
    let mut keys = keys.to_vec();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for left in (1..keys.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        keys.swap(left, (state >> 33) as usize % (left + 1));
    }
    keys
}

fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let statistics = fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statistics.split(' ').nth(1).ok_or("statm has a second field")?.parse()?;
    Ok(pages * 4096)
}
