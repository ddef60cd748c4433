//! How much deletes elsewhere in a table slow down a scan of rows that they do not touch.
//!
//! `cargo run --release -p hyades-bench --example scan_beside_deletes`
//!
//! Purging a deleted key invalidates the pages that scans have read of this index (`storage::primary_index`),
//! so a scanner may have to fetch its page again for every key that is purged meanwhile. For comparison, the
//! same scan runs alone, and beside inserts that stay. All three take turns. This is an example and not a
//! test, because the result depends on the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use hyades::{Config, Connection, Database, ProtocolKind, Result, Value};

/// The server's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROWS: i64 = 100_000;
/// The number of rows that one statement inserts or deletes beside the scans.
const BATCH: i64 = 100;
const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_millis(800);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Inserts,
    Deletes,
}

/// Inserts rows far away from those that are scanned, and may delete them, until it is told to stop. Returns
/// their number.
fn disturb(database: &Database, beside: Beside, next: &AtomicI64, stop: &AtomicBool) -> Result<u64> {
    let mut connection = database.connect()?;
    let mut changed = 0;
    while !stop.load(Ordering::Relaxed) && beside != Beside::Nothing {
        let from = next.fetch_add(BATCH, Ordering::Relaxed);
        let range = [Value::BigInt(from), Value::BigInt(from + BATCH - 1)];
        connection.execute("call fill($1, $2)", &range)?;
        if beside == Beside::Deletes {
            connection.execute("delete from t where id between $1 and $2", &range)?;
        }
        changed += BATCH as u64;
    }
    Ok(changed)
}

/// Rows scanned per second, and rows changed per second.
fn measure(database: &Arc<Database>, beside: Beside, next: &Arc<AtomicI64>) -> Result<(f64, f64)> {
    let stop = Arc::new(AtomicBool::new(false));
    let other = {
        let (database, next, stop) = (Arc::clone(database), Arc::clone(next), Arc::clone(&stop));
        std::thread::spawn(move || disturb(&database, beside, &next, &stop))
    };
    let mut connection: Connection = database.connect()?;
    let (started, mut scanned) = (Instant::now(), 0);
    while started.elapsed() < TIME {
        let rows = connection.query("select count(v) from t where id between 1 and 100000", &[])?;
        assert!(matches!(rows[0][0], Value::BigInt(ROWS)), "every row is seen once");
        scanned += ROWS;
    }
    let seconds = started.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    let changed = other.join().expect("the other thread works")?;
    Ok((scanned as f64 / seconds, changed as f64 / seconds))
}

fn main() -> Result<()> {
    let mut config = Config::new("unused");
    config.protocol = ProtocolKind::None;
    config.disk = Arc::new(hyades::engine::disk::MemoryDisk::default());
    let database = Arc::new(Database::open(config)?);
    let mut connection = database.connect()?;
    connection.execute("create table t (id bigint primary key, v bigint)", &[])?;
    let fill = "create procedure fill(a bigint, b bigint) language plpgsql as $$
        begin for i in a..b loop insert into t values (i, 1); end loop; end $$";
    connection.execute(fill, &[])?;
    connection.execute("call fill(1, 100000)", &[])?;
    // Separates the gap after the scanned rows from the one that changes.
    connection.execute("insert into t values (500000, 1)", &[])?;
    let next = Arc::new(AtomicI64::new(1_000_000));
    let kinds = [
        ("alone", Beside::Nothing),
        ("beside inserts", Beside::Inserts),
        ("beside deletes", Beside::Deletes),
    ];
    let mut found = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for ((_, beside), found) in kinds.iter().zip(&mut found) {
            found.push(measure(&database, *beside, &next)?);
        }
    }
    for ((name, _), mut found) in kinds.into_iter().zip(found) {
        found.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (low, middle, high) = (found[0].0, found[ROUNDS / 2], found[ROUNDS - 1].0);
        println!(
            "scan {name:14} {:6.2} M rows/s [{:.2} .. {:.2}], {:.0} k rows/s changed",
            middle.0 / 1e6,
            low / 1e6,
            high / 1e6,
            middle.1 / 1e3
        );
    }
    database.shutdown()
}
