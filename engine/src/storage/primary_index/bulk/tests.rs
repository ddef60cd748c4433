//! Unsorted keys are divided without loss, each piece above the one before.

use std::ops::Bound;

use crossbeam_epoch::pin;
use hyades_types::definition::IndexKind;

use super::{UnsortedKeys, divide};
use crate::storage::primary_index::PrimaryIndex;
use crate::storage::scan_batch::{ScanBatch, ScanDirection};

#[test]
fn pieces_are_one_above_the_other() {
    for (parts, length, pieces) in [(0, 0, 3), (1, 0, 2), (1, 1, 4), (3, 100, 1), (7, 1000, 5), (2, 3, 40)] {
        let part = |at: u64| -> Vec<u64> {
            let mut keys: Vec<u64> = (0..length).map(|key: u64| (key * 7919 + at) % 1009 * 10 + at).collect();
            keys.sort_unstable();
            keys
        };
        let all: Vec<Vec<u64>> = (0..parts).map(part).collect();
        let mut expected: Vec<u64> = all.concat();
        expected.sort_unstable();
        let divided = divide(all, pieces);
        assert!(divided.len() <= pieces, "{parts} parts of {length}: {} pieces", divided.len());
        let sorted = divided.into_iter().map(|piece| {
            let mut keys = piece.concat();
            keys.sort_unstable();
            keys
        });
        assert_eq!(sorted.flatten().collect::<Vec<_>>(), expected);
    }
}

fn check(width: Option<usize>, bytes_of: impl Fn(u32) -> Vec<u8>) {
    let guard = pin();
    let index = PrimaryIndex::new(IndexKind::Ordered, width);
    let mut parts = Vec::new();
    for part in 0..5 {
        let mut keys = index.new_unsorted(0).expect("nothing is wrong");
        (0..300).filter(|key| key % 5 == part).for_each(|key| keys.push(&bytes_of(key * 7919 % 300)));
        keys.sort();
        assert_eq!(keys.len(), 60);
        parts.push(keys);
    }
    let runs = UnsortedKeys::divide(parts, 4).into_iter().map(UnsortedKeys::into_run);
    assert!(index.adopt(runs.collect::<Option<_>>().expect("nothing is wrong"), &guard));
    let mut expected: Vec<Vec<u8>> = (0..300).map(bytes_of).collect();
    expected.sort();
    let mut batch = ScanBatch::new();
    let mut found = Vec::new();
    while !batch.reaches_end() {
        let last: Option<Vec<u8>> = batch.last_key().map(<[u8]>::to_vec);
        let from = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let page = index.scan(from, ScanDirection::Forward, usize::MAX, &mut batch, &guard);
        found.extend(page.iter().map(|(key, record)| {
            assert!(!record.has_row());
            key.to_vec()
        }));
    }
    assert_eq!(found, expected);
}

#[test]
fn keys_of_every_kind_come_into_order() {
    check(Some(8), |key| u64::from(key).to_be_bytes().to_vec());
    check(Some(12), |key| [&[9; 8][..], &key.to_be_bytes()].concat());
    check(None, |key| format!("{:02}{key}", key % 17).into_bytes());
}

#[test]
fn a_key_that_comes_twice_makes_no_run() {
    let index = PrimaryIndex::new(IndexKind::Ordered, None);
    let part = |keys: [&[u8]; 2]| {
        let mut part = index.new_unsorted(2).expect("nothing is wrong");
        keys.iter().for_each(|key| part.push(key));
        part.sort();
        part
    };
    let divided = UnsortedKeys::divide(vec![part([b"a", b"c"]), part([b"b", b"c"])], 1);
    assert!(divided.into_iter().all(|piece| UnsortedKeys::into_run(piece).is_none()));
}

#[test]
fn runs_are_for_ordered_indexes_of_their_kind() {
    let (hash, guard) = (PrimaryIndex::new(IndexKind::Hash, Some(8)), pin());
    assert!(hash.new_run().is_none() && hash.new_unsorted(1).is_none());
    hash.reserve(10_000);
    let record = || crate::storage::record::OwnedRecord::with_row(b"row");
    assert!(hash.insert_hashed(&[1; 8], record(), &guard));
    assert!(!hash.insert_hashed(&[1; 8], record(), &guard), "it has that key");
    let wide = PrimaryIndex::new(IndexKind::Ordered, Some(16));
    let mut run = wide.new_run().expect("nothing is wrong");
    assert!(run.push(&[1; 16], record()));
    assert!(!PrimaryIndex::new(IndexKind::Ordered, Some(8)).adopt(vec![run], &guard));
    assert!(!hash.adopt(Vec::new(), &guard) && wide.adopt(Vec::new(), &guard));
}
