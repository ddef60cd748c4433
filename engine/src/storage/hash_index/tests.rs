//! The hash index against a map, and its iteration under concurrent changes.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossbeam_epoch::{Guard, pin};

use super::{HashIndex, HashKey};
use crate::storage::scan_batch::ScanBatch;

fn collect<K: HashKey>(index: &HashIndex<K>) -> Vec<Vec<u8>> {
    let mut batch = ScanBatch::new();
    let mut keys: Vec<Vec<u8>> = Vec::new();
    loop {
        let last = keys.last().cloned();
        index.scan(last.as_deref().map_or(Bound::Unbounded, Bound::Excluded), &mut batch);
        keys.extend((0..batch.len()).map(|position| batch.key(position).to_vec()));
        if batch.reaches_end() {
            return keys;
        }
    }
}

fn insert<K: HashKey>(index: &HashIndex<K>, key: &[u8], guard: &Guard) -> bool {
    let (record, inserted) = index.get_or_insert(key, None, guard);
    record.try_replace(Some(key), guard).expect("it is in its index");
    inserted
}

fn remove<K: HashKey>(index: &HashIndex<K>, key: &[u8], guard: &Guard) -> bool {
    index.get(key, guard).is_some_and(|record| {
        record.try_replace(None, guard).expect("it is in its index");
        index.remove(key, guard)
    })
}

fn check<K: HashKey>(width: usize, keys: &[Vec<u8>]) {
    let index = HashIndex::<K>::new(width);
    let guard = pin();
    for key in keys {
        assert!(insert(&index, key, &guard));
        assert!(!insert(&index, key, &guard));
        assert!(!index.remove(key, &guard), "a record with a row stays");
    }
    let found = collect(&index);
    assert_eq!(found.len(), keys.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), keys.iter().cloned().collect());
    let (gone, left) = keys.split_at(keys.len() / 2);
    for key in gone {
        assert!(remove(&index, key, &guard) && index.get(key, &guard).is_none());
    }
    for key in left {
        assert_eq!(index.get(key, &guard).and_then(|record| record.row(&guard)), Some(&key[..]));
    }
    assert_eq!(collect(&index).len(), left.len());
}

#[test]
fn every_key_kind_behaves_as_a_map() {
    let numbers = 0..3000_u32;
    check::<u64>(4, &numbers.clone().map(|number| number.to_be_bytes().to_vec()).collect::<Vec<_>>());
    check::<u128>(
        12,
        &numbers
            .clone()
            .map(|number| [[0; 8].as_slice(), &number.to_be_bytes()].concat())
            .collect::<Vec<_>>(),
    );
    check::<Box<[u8]>>(0, &numbers.map(|number| number.to_string().into_bytes()).collect::<Vec<_>>());
}

#[test]
fn iteration_sees_what_stays_exactly_once() {
    let index = Arc::new(HashIndex::<u64>::new(4));
    for number in (0..4000_u32).step_by(2) {
        insert(&index, &number.to_be_bytes(), &pin());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writer = thread::spawn({
        let (index, stop) = (Arc::clone(&index), Arc::clone(&stop));
        move || {
            // Growth of the tables in the middle of the scans, then shrinkage.
            while !stop.load(Ordering::Relaxed) {
                for number in (1..20_000_u32).step_by(2) {
                    insert(&index, &number.to_be_bytes(), &pin());
                }
                for number in (1..20_000_u32).step_by(2) {
                    remove(&index, &number.to_be_bytes(), &pin());
                }
            }
        }
    });
    for _ in 0..5 {
        let mut keys = collect(&index);
        let found = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), found, "a key was seen twice");
        let even = |key: &&Vec<u8>| key[3].is_multiple_of(2);
        assert_eq!(keys.iter().filter(even).count(), 2000);
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().expect("the writer failed");
}
