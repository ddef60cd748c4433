//! What a dropped catalog held, in a program that counts what is allocated.

use std::alloc::System;
use std::sync::Arc;

use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::recovery::recover;
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::free_dropped;
use hyades_sim::disk::SimulatedDisk;
use hyades_sim::hand_written::{Change, HandWritten};
use hyades_types::memory::{Counted, total_bytes};

#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

const ROWS: i64 = 50_000;
/// Fewer than the rows take.
const SPARE_BYTES: usize = 1 << 20;

#[test]
fn rows_of_a_dropped_catalog_are_freed() {
    let disk = SimulatedDisk::new(1);
    let (mut written, _) = HandWritten::open(&disk, ProtocolKind::Taurus, 1).expect("an empty disk");
    let mut last = written.append(0, &[0], &[Change::CreateTable]);
    let puts: Vec<Change> = (0..ROWS).map(|key| Change::Put { key, value: key }).collect();
    for some in puts.chunks(1000) {
        last = written.append(0, &[last], some);
    }
    written.sync_all();
    let config = Config { recovery_workers: 1, ..written.config.clone() };
    let recovered = || {
        let databases = Arc::new(Databases::new());
        recover(&config, None, &databases).expect("a sound log");
        databases
    };
    // What the first recovery leaves for the next ones is not counted.
    drop(recovered());
    free_dropped();
    let before = total_bytes();
    let databases = recovered();
    assert!(total_bytes() > before + 2 * SPARE_BYTES, "{} bytes more", total_bytes() - before);
    drop(databases);
    free_dropped();
    assert!(total_bytes() < before + SPARE_BYTES, "{} bytes more", total_bytes() - before);
}
