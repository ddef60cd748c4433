//! The byte-key interface: bounds of any length, resumption and validation of batches.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::thread;

use crossbeam_epoch::{Guard, pin};
use hyades_types::definition::IndexKind;
use proptest::prelude::*;

use super::{Finger, Located, PrimaryIndex};
use crate::storage::history::Handle;
use crate::storage::scan_batch::{ScanBatch, ScanDirection};

const WIDTHS: [Option<usize>; 5] = [Some(3), Some(8), Some(11), Some(20), None];

fn filled(kind: IndexKind, width: Option<usize>, keys: &BTreeSet<Vec<u8>>, guard: &Guard) -> PrimaryIndex {
    let index = PrimaryIndex::new(kind, width);
    for key in keys {
        let (record, inserted) = index.get_or_insert(key, None, guard);
        assert!(inserted);
        record.try_replace(Some(key), guard).expect("it is in its index");
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

/// What happens to an index that is filled with a finger that outlives every pin.
#[derive(Clone, Debug)]
enum Step {
    /// Keys in ascending order, at this distance.
    Run {
        first: u16,
        count: u16,
        distance: u16,
    },
    Remove(u16),
    /// Another key is inserted without the finger.
    Come(u16),
    /// Another key is inserted between locating and filling the first.
    Race(u16, u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..2000_u16;
    let step = prop_oneof![
        3 => (key.clone(), 0..150_u16, 1..5_u16)
            .prop_map(|(first, count, distance)| Step::Run { first, count, distance }),
        2 => key.clone().prop_map(Step::Remove),
        2 => key.clone().prop_map(Step::Come),
        2 => (key.clone(), 0..4_u16).prop_map(|(key, distance)| Step::Race(key, key + distance)),
    ];
    prop::collection::vec(step, 1..60)
}

/// Inserts a key as a transaction does. `meanwhile` runs after it was located. Returns whether it was
/// inserted.
fn put(
    index: &PrimaryIndex,
    finger: &mut Finger,
    model: &mut BTreeSet<Vec<u8>>,
    key: &[u8],
    meanwhile: impl FnOnce(&mut BTreeSet<Vec<u8>>),
) -> bool {
    let guard = pin();
    let next_in = |model: &BTreeSet<Vec<u8>>| {
        model.range::<[u8], _>((Bound::Excluded(key), Bound::Unbounded)).next().cloned()
    };
    let Located::Absent(vacancy) = index.locate(key, finger, &guard) else {
        assert!(model.contains(key));
        return false;
    };
    let next = index.next_key(&vacancy).map(|next| next.to_vec());
    assert!(!model.contains(key) && next == next_in(model));
    meanwhile(model);
    let is_right = !model.contains(key) && next == next_in(model);
    let is_filled = index.fill(&vacancy, key, (key, Handle::NONE), finger, &guard);
    assert!(is_right || !is_filled, "filled although {next:?} is not the next key any more");
    if is_filled {
        model.insert(key.to_vec());
    }
    is_filled
}

fn insert(index: &PrimaryIndex, model: &mut BTreeSet<Vec<u8>>, key: &[u8]) {
    let guard = pin();
    index.get_or_insert(key, None, &guard).0.try_replace(Some(key), &guard).expect("it is in its index");
    model.insert(key.to_vec());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fingers_are_never_wrong(width in prop::sample::select(vec![3_usize, 8, 11, 16, 20]), steps in steps()) {
        let index = PrimaryIndex::new(IndexKind::Ordered, Some(width));
        let (mut model, mut finger) = (BTreeSet::new(), Finger::default());
        let spell = |number: u16| [&vec![5; width - 2][..], &number.to_be_bytes()].concat();
        for step in steps {
            match step {
                Step::Run { first, count, distance } => {
                    for number in 0..count {
                        let key = spell(first + number * distance);
                        let is_new = !model.contains(&key);
                        prop_assert_eq!(put(&index, &mut finger, &mut model, &key, |_| {}), is_new);
                    }
                }
                Step::Remove(number) => {
                    let guard = pin();
                    let key = spell(number);
                    index.get(&key, &guard).inspect(|record| drop(record.try_replace(None, &guard).expect("it is in its index")));
                    prop_assert_eq!(index.remove(&key, &guard), model.remove(&key));
                    guard.flush();
                }
                Step::Come(number) => insert(&index, &mut model, &spell(number)),
                Step::Race(number, other) => {
                    put(&index, &mut finger, &mut model, &spell(number), |model| insert(&index, model, &spell(other)));
                }
            }
        }
        let found = collect(&index, Bound::Unbounded, ScanDirection::Forward, &pin());
        prop_assert_eq!(found, model.into_iter().collect::<Vec<_>>());
    }
}

/// Writers with fingers of their own insert runs of ascending keys that interleave with each other's, and
/// remove a part of them again, so that leaves split and disappear below the fingers.
#[test]
fn fingers_survive_company() {
    const RUNS: u64 = if cfg!(debug_assertions) { 60 } else { 2_000 };
    const RUN: u64 = 200;
    const WRITERS: u64 = 3;
    let index = Arc::new(PrimaryIndex::new(IndexKind::Ordered, Some(8)));
    let spell = |run: u64, number: u64, writer: u64| {
        ((run % 4) << 32 | (run * RUN + number) << 8 | writer).to_be_bytes()
    };
    let is_kept = |run: u64, number: u64| run.is_multiple_of(10) || number.is_multiple_of(37);
    let writers = (0..WRITERS).map(|writer| {
        let index = Arc::clone(&index);
        thread::spawn(move || {
            let mut finger = Finger::default();
            for run in 0..RUNS {
                for number in 0..RUN {
                    let key = spell(run, number, writer);
                    loop {
                        let guard = pin();
                        let Located::Absent(vacancy) = index.locate(&key, &finger, &guard) else {
                            panic!("no other thread has this key")
                        };
                        assert!(index.next_key(&vacancy).is_none_or(|next| key[..] < *next));
                        if index.fill(&vacancy, &key, (&key, Handle::NONE), &mut finger, &guard) {
                            break;
                        }
                    }
                }
                for number in (0..RUN).filter(|&number| !is_kept(run, number)) {
                    let (guard, key) = (pin(), spell(run, number, writer));
                    let record = index.get(&key, &guard).expect("just put in");
                    assert_eq!(
                        record
                            .try_replace(None, &guard)
                            .expect("it is in its index")
                            .expect("with a row")
                            .bytes(),
                        key
                    );
                    assert!(index.remove(&key, &guard));
                }
                pin().flush();
            }
        })
    });
    writers.collect::<Vec<_>>().into_iter().for_each(|writer| writer.join().expect("a writer failed"));
    let mut expected = Vec::new();
    for run in 0..RUNS {
        for number in (0..RUN).filter(|&number| is_kept(run, number)) {
            expected.extend((0..WRITERS).map(|writer| spell(run, number, writer).to_vec()));
        }
    }
    expected.sort_unstable();
    assert_eq!(collect(&index, Bound::Unbounded, ScanDirection::Forward, &pin()), expected);
}

#[test]
fn every_kind_gives_the_same_results() {
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
                record.try_replace(None, &guard).expect("it is in its index");
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
        index
            .get(&first, &guard)
            .expect("it is there")
            .try_replace(Some(b"another row"), &guard)
            .expect("it is in its index");
        assert!(index.validate(&batch, &guard), "rows do not count");
        assert!(index.resume_record(&batch, 0, &guard).is_some());
        let other = filled(kind, Some(1), &BTreeSet::new(), &guard);
        assert!(!other.validate(&batch, &guard) && other.resume_record(&batch, 0, &guard).is_none());

        // Into the same leaf, or for the hash index into every shard.
        (30..=255_u8).chain(0..10).for_each(|byte| {
            index.get_or_insert(&[byte], None, &guard);
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
    index.get_or_insert(&[62, 1], None, &guard);
    assert!(!index.validate(&batch, &guard), "the new key lies between the bound and the first key");
    let page = index.scan(Bound::Excluded(&[63, 0]), ScanDirection::Backward, usize::MAX, &mut batch, &guard);
    assert_eq!(page.key(0), [62, 1]);
}
