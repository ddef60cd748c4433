//! The byte-key interface: bounds of any length, resumption and validation of batches.

use std::collections::BTreeSet;
use std::ops::Bound;

use crossbeam_epoch::{Guard, pin};
use proptest::prelude::*;

use super::PrimaryIndex;
use crate::catalog::IndexKind;
use crate::storage::scan_batch::{ScanBatch, ScanDirection};

const WIDTHS: [Option<usize>; 5] = [Some(3), Some(8), Some(11), Some(20), None];

fn filled(kind: IndexKind, width: Option<usize>, keys: &BTreeSet<Vec<u8>>, guard: &Guard) -> PrimaryIndex {
    let index = PrimaryIndex::new(kind, width);
    for key in keys {
        let (record, inserted) = index.get_or_insert(key, guard);
        assert!(inserted);
        record.replace(Some(key), guard);
    }
    index
}

fn collect(
    index: &PrimaryIndex,
    from: Bound<&[u8]>,
    direction: ScanDirection,
    guard: &Guard,
) -> Vec<Vec<u8>> {
    let mut batch = ScanBatch::new();
    let mut keys: Vec<Vec<u8>> = Vec::new();
    loop {
        let last = keys.last().cloned();
        let page = index.scan(
            last.as_deref().map_or(from, Bound::Excluded),
            direction,
            usize::MAX,
            &mut batch,
            guard,
        );
        for (key, record) in page.iter() {
            assert_eq!(record.row(guard), Some(key));
            keys.push(key.to_vec());
        }
        if batch.reaches_end() {
            return keys;
        }
    }
}

fn bytes(length: impl Strategy<Value = usize>) -> impl Strategy<Value = Vec<u8>> {
    // Few different bytes, the extremes among them, so that keys and bounds meet.
    let byte = prop_oneof![Just(0_u8), Just(1), Just(128), Just(255)];
    length.prop_flat_map(move |length| prop::collection::vec(byte.clone(), length))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bounds_of_any_length_compare_as_bytes(
        (width, keys) in prop::sample::select(&WIDTHS[..]).prop_flat_map(|width| {
            let lengths = width.map_or(0..=30, |width| width..=width);
            (Just(width), prop::collection::btree_set(bytes(lengths), 0..150))
        }),
        bound in bytes(0..24_usize),
    ) {
        let guard = pin();
        let index = filled(IndexKind::Ordered, width, &keys, &guard);
        for from in [Bound::Included(&bound[..]), Bound::Excluded(&bound[..]), Bound::Unbounded] {
            let expected: Vec<_> = keys.range::<[u8], _>((from, Bound::Unbounded)).cloned().collect();
            prop_assert_eq!(collect(&index, from, ScanDirection::Forward, &guard), expected);
            let expected: Vec<_> = keys.range::<[u8], _>((Bound::Unbounded, from)).rev().cloned().collect();
            prop_assert_eq!(collect(&index, from, ScanDirection::Backward, &guard), expected);
        }
        let expected = keys.range::<[u8], _>((Bound::Excluded(&bound[..]), Bound::Unbounded)).next();
        let next = index.first_key(Bound::Excluded(&bound), &guard).map(|key| key.to_vec());
        prop_assert_eq!(next.as_ref(), expected);
    }
}

#[test]
fn every_kind_answers_alike() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        for width in WIDTHS {
            let length = width.unwrap_or(5);
            let keys: BTreeSet<Vec<u8>> = (0..500_u16)
                .map(|number| [&number.to_be_bytes()[..], &[9; 30][..length - 2]].concat())
                .collect();
            let guard = pin();
            let index = filled(kind, width, &keys, &guard);
            assert_eq!(index.is_ordered(), kind == IndexKind::Ordered);
            let mut found = collect(&index, Bound::Unbounded, ScanDirection::Forward, &guard);
            found.sort_unstable();
            assert_eq!(found, keys.iter().cloned().collect::<Vec<_>>());
            for key in &keys {
                let record = index.get(key, &guard).expect("it is there");
                record.replace(None, &guard);
                assert!(index.remove(key, &guard) && record.is_removed());
                assert!(index.get(key, &guard).is_none() && !index.remove(key, &guard));
            }
            let foreign = vec![0; length + 1];
            assert_eq!(index.accepts_key(&foreign), width.is_none());
            assert!(index.get(&foreign, &guard).is_none() && !index.remove(&foreign, &guard));
        }
    }
}

#[test]
fn a_batch_is_valid_until_its_keys_change() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        let guard = pin();
        let keys = (10..20_u8).map(|byte| vec![byte]).collect();
        let index = filled(kind, Some(1), &keys, &guard);
        let mut batch = ScanBatch::new();
        assert!(!index.validate(&batch, &guard), "a batch never filled covers nothing");
        index.scan(Bound::Unbounded, ScanDirection::Forward, usize::MAX, &mut batch, &guard);
        let first = batch.key(0).to_vec();
        index.get(&first, &guard).expect("it is there").replace(Some(b"another row"), &guard);
        assert!(index.validate(&batch, &guard), "rows do not count");
        assert!(index.resume_record(&batch, 0, &guard).is_some());
        let other = filled(kind, Some(1), &BTreeSet::new(), &guard);
        assert!(!other.validate(&batch, &guard) && other.resume_record(&batch, 0, &guard).is_none());

        // Into the same leaf, or for the hash index into every shard.
        (30..=255_u8).chain(0..10).for_each(|byte| {
            index.get_or_insert(&[byte], &guard);
        });
        assert!(!index.validate(&batch, &guard), "a key came");
        assert!(index.resume_record(&batch, 0, &guard).is_some(), "nothing went");

        index.scan(Bound::Unbounded, ScanDirection::Forward, usize::MAX, &mut batch, &guard);
        assert!(index.remove(&[200], &guard));
        assert!(
            !index.validate(&batch, &guard) && index.resume_record(&batch, 0, &guard).is_none(),
            "a key went"
        );
    }
}

#[test]
fn a_batch_that_passed_a_leaf_rests_on_it() {
    let guard = pin();
    // Ascending inserts fill leaves of 63 keys: 0..=62 and 63 on.
    let keys = (0..100_u8).map(|byte| vec![byte, 0]).collect();
    let index = filled(IndexKind::Ordered, Some(2), &keys, &guard);
    let mut batch = ScanBatch::new();
    let page = index.scan(Bound::Excluded(&[62, 0]), ScanDirection::Forward, usize::MAX, &mut batch, &guard);
    assert_eq!(page.key(0), [63, 0]);
    index.get_or_insert(&[62, 1], &guard);
    assert!(!index.validate(&batch, &guard), "the new key lies between the bound and the first key");
    let page = index.scan(Bound::Excluded(&[63, 0]), ScanDirection::Backward, usize::MAX, &mut batch, &guard);
    assert_eq!(page.key(0), [62, 1]);
}
