//! Sequential behaviour against a `BTreeMap`, for every key kind, on trees of tiny nodes.

use std::collections::BTreeMap;
use std::ops::Bound;

use crossbeam_epoch::{Guard, pin};
use proptest::prelude::*;

use super::key::{ByteString, IndexKey};
use super::node::Node;
use super::{Located, OrderedIndex};
use crate::storage::record::{OwnedRecord, Record};
use crate::storage::scan_batch::{ScanBatch, ScanDirection};

/// Nodes of four entries: a few dozen keys make a tree of several levels.
type SmallIndex<K> = OrderedIndex<K, 4>;

#[derive(Clone, Debug)]
enum Step {
    Insert(u16),
    Remove(u16),
    Get(u16),
    Next(u16),
    /// Between locating the place for a key and filling it, another key comes or goes.
    Race {
        key: u16,
        other: u16,
    },
    Scan {
        from: u16,
        is_included: bool,
        is_forward: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0_u16..60;
    let step = prop_oneof![
        4 => key.clone().prop_map(Step::Insert),
        3 => key.clone().prop_map(Step::Remove),
        1 => key.clone().prop_map(Step::Get),
        1 => key.clone().prop_map(Step::Next),
        4 => (key.clone(), key.clone()).prop_map(|(key, other)| Step::Race { key, other }),
        1 => (key, any::<bool>(), any::<bool>()).prop_map(|(from, is_included, is_forward)| Step::Scan {
            from,
            is_included,
            is_forward
        }),
    ];
    prop::collection::vec(step, 1..300)
}

/// Everything from a bound on, in as many steps as it takes.
pub(super) fn collect<K: IndexKey, const CAPACITY: usize>(
    index: &OrderedIndex<K, CAPACITY>,
    from: Bound<&[u8]>,
    direction: ScanDirection,
    guard: &Guard,
) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let mut batch = ScanBatch::new();
    let mut last: Option<Vec<u8>> = None;
    loop {
        let from = last.as_deref().map_or(from, Bound::Excluded);
        let probe = match direction {
            ScanDirection::Forward => K::lower(from, index.width()),
            ScanDirection::Backward => K::upper(from, index.width()),
        };
        index.scan(probe, direction, usize::MAX, &mut batch, guard);
        keys.extend((0..batch.len()).map(|position| batch.key(position).to_vec()));
        if batch.reaches_end() {
            return keys;
        }
        last = batch.last_key().map(<[u8]>::to_vec);
        assert!(last.is_some(), "only the end of the index yields an empty batch");
    }
}

fn check_scan<K: IndexKey>(
    index: &SmallIndex<K>,
    model: &BTreeMap<Vec<u8>, ()>,
    from: Bound<&[u8]>,
    is_forward: bool,
    guard: &Guard,
) {
    let (found, expected): (_, Vec<Vec<u8>>) = if is_forward {
        let range = model.range::<[u8], _>((from, Bound::Unbounded));
        (collect(index, from, ScanDirection::Forward, guard), range.map(|(key, ())| key.clone()).collect())
    } else {
        let range = model.range::<[u8], _>((Bound::Unbounded, from)).rev();
        (collect(index, from, ScanDirection::Backward, guard), range.map(|(key, ())| key.clone()).collect())
    };
    assert_eq!(found, expected);
}

fn run<K: IndexKey>(width: usize, steps: &[Step], bytes_of: impl Fn(u16) -> Vec<u8>) {
    let index = SmallIndex::<K>::new(width);
    let mut model = BTreeMap::new();
    let guard = pin();
    for step in steps {
        match *step {
            Step::Insert(key) => {
                let key = bytes_of(key);
                let (record, inserted) = index.get_or_insert(K::probe(&key), None, &guard);
                assert_eq!(inserted, model.insert(key.clone(), ()).is_none());
                record.try_replace(Some(&key), &guard).expect("it is in its index");
            }
            Step::Remove(key) => {
                let key = bytes_of(key);
                let exists = model.remove(&key).is_some();
                let record = index.get(K::probe(&key), &guard);
                if let Some(record) = record {
                    assert!(!index.remove(K::probe(&key), &guard), "a record with a row stays");
                    record.try_replace(None, &guard).expect("it is in its index");
                }
                assert_eq!(index.remove(K::probe(&key), &guard), exists);
                assert!(record.is_none_or(Record::is_removed), "a holder of the record must see it");
            }
            Step::Get(key) => {
                let key = bytes_of(key);
                let row = index.get(K::probe(&key), &guard).map(|record| record.row(&guard));
                assert_eq!(row, model.get(&key).map(|()| Some(&key[..])));
            }
            Step::Next(key) => {
                let key = bytes_of(key);
                let after = Bound::Excluded(&key[..]);
                let next = index.first_key(K::lower(after, width), &guard);
                let next = next.map(|next| K::bytes(next, width).to_vec());
                let expected = model.range::<[u8], _>((after, Bound::Unbounded)).next().map(|(key, ())| key);
                assert_eq!(next.as_ref(), expected);
            }
            Step::Race { key, other } => race(&index, &mut model, [bytes_of(key), bytes_of(other)], &guard),
            Step::Scan { from, is_included, is_forward } => {
                let from = bytes_of(from);
                let from = if is_included { Bound::Included(&from[..]) } else { Bound::Excluded(&from[..]) };
                check_scan(&index, &model, from, is_forward, &guard);
            }
        }
        check_shape(&index, &guard);
    }
    check_scan(&index, &model, Bound::Unbounded, true, &guard);
    check_scan(&index, &model, Bound::Unbounded, false, &guard);
}

/// Locates the first key, inserts or removes the other, and fills.
fn race<K: IndexKey>(
    index: &SmallIndex<K>,
    model: &mut BTreeMap<Vec<u8>, ()>,
    [key, other]: [Vec<u8>; 2],
    guard: &Guard,
) {
    let next_in = |model: &BTreeMap<Vec<u8>, ()>| {
        model
            .range::<[u8], _>((Bound::Excluded(&key[..]), Bound::Unbounded))
            .next()
            .map(|(key, ())| key.clone())
    };
    let Located::Absent(vacancy) = index.locate(K::probe(&key), guard) else {
        assert!(model.contains_key(&key));
        return;
    };
    assert!(!model.contains_key(&key));
    let next = vacancy.next().map(|next| K::bytes(next, index.width()).to_vec());
    assert_eq!(next, next_in(model));
    if model.remove(&other).is_some() {
        index
            .get(K::probe(&other), guard)
            .expect("it is there")
            .try_replace(None, guard)
            .expect("it is in its index");
        assert!(index.remove(K::probe(&other), guard));
    } else {
        index
            .get_or_insert(K::probe(&other), None, guard)
            .0
            .try_replace(Some(&other), guard)
            .expect("it is in its index");
        model.insert(other, ());
    }
    let row = OwnedRecord::with_row(&key);
    let is_right = !model.contains_key(&key) && next == next_in(model);
    if let Some((record, _)) = index.fill(&vacancy, K::probe(&key), row, guard) {
        assert!(is_right, "filled although {next:?} is not the next key any more");
        assert_eq!(record.row(guard), Some(&key[..]));
        model.insert(key, ());
    }
}

/// Invariants 1 and 2 of the tree's module head, on a tree at rest.
pub(super) fn check_shape<K: IndexKey, const CAPACITY: usize>(
    index: &OrderedIndex<K, CAPACITY>,
    guard: &Guard,
) {
    let root = index.root_place(guard).expect("nobody writes").0.node;
    let is_empty = collect(index, Bound::Unbounded, ScanDirection::Forward, guard).is_empty();
    assert!(is_empty || leaves(root).iter().all(|&count| count > 0), "an empty leaf is left behind");
}

/// The number of keys in each leaf, left to right.
pub(super) fn leaves<K: IndexKey, const CAPACITY: usize>(node: &Node<K, CAPACITY>) -> Vec<usize> {
    if node.is_leaf {
        return vec![node.count()];
    }
    assert!(node.count() > 0, "an inner node has children");
    let version = node.lock.read().expect("linked");
    (0..node.count())
        .flat_map(|position| {
            // SAFETY: no other thread uses the tree, and the caller is pinned.
            leaves(unsafe { node.child(position, version) }.expect("nobody writes"))
        })
        .collect()
}

/// Byte strings of many lengths, with long common prefixes, in an order of their own.
fn byte_key(key: u16) -> Vec<u8> {
    let mut bytes = vec![b'a' + (key % 3) as u8; usize::from(key % 20)];
    bytes.extend_from_slice(&key.to_be_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packed_narrow_keys_behave_as_a_map(steps in steps()) {
        run::<u64>(2, &steps, |key| key.to_be_bytes().to_vec());
    }

    #[test]
    fn packed_wide_keys_behave_as_a_map(steps in steps()) {
        run::<u128>(12, &steps, |key| {
            let mut bytes = vec![7; 12];
            bytes[6..8].copy_from_slice(&(key / 7).to_be_bytes());
            bytes[10..].copy_from_slice(&(key % 7).to_be_bytes());
            bytes
        });
    }

    #[test]
    fn byte_strings_behave_as_a_map(steps in steps()) {
        run::<ByteString>(0, &steps, byte_key);
    }
}

/// Leaves of four: 10 to 40, and 80 to 95.
pub(super) fn two_leaves<K: for<'a> IndexKey<Probe<'a> = u64>>(guard: &Guard) -> SmallIndex<K> {
    let index = SmallIndex::new(8);
    for key in [10, 20, 30, 40, 80, 90, 95] {
        index.get_or_insert(key, None, guard);
    }
    index
}

#[test]
fn a_vacancy_is_filled_while_nothing_changes_around_it() {
    let guard = pin();
    // In the middle of a leaf, in its gap to the next, after everything. After each of them comes a split.
    for (key, next) in [(35, Some(40)), (50, Some(80)), (85, Some(90)), (97, None)] {
        let index = two_leaves::<u64>(&guard);
        for _ in 0..2 {
            let Located::Absent(vacancy) = index.locate(key, &guard) else { panic!("{key} is there") };
            assert_eq!(vacancy.next(), next);
            let (record, _) =
                index.fill(&vacancy, key, OwnedRecord::empty(), &guard).expect("nothing has changed");
            assert!(
                matches!(index.locate(key, &guard), Located::Present(found) if std::ptr::eq(found, record))
            );
            assert!(index.fill(&vacancy, key, OwnedRecord::empty(), &guard).is_none(), "it is there");
            assert!(index.remove(key, &guard));
            check_shape(&index, &guard);
        }
    }
}

#[test]
fn a_vacancy_is_lost_when_another_key_becomes_the_next() {
    let guard = pin();
    // The second and fourth are inserted into the next leaf, the last into a new one.
    for (key, other) in [(35, 36), (50, 70), (35, 35), (41, 79), (96, 97)] {
        let index = two_leaves::<u64>(&guard);
        let Located::Absent(vacancy) = index.locate(key, &guard) else { panic!("{key} is there") };
        index.get_or_insert(other, None, &guard);
        assert!(index.fill(&vacancy, key, OwnedRecord::empty(), &guard).is_none(), "{other} comes between");
        let Located::Absent(vacancy) = index.locate(key, &guard) else { continue };
        assert_eq!(vacancy.next(), Some(other));
        index.fill(&vacancy, key, OwnedRecord::empty(), &guard).expect("nothing has changed");
    }
    for (key, gone, after) in [(25, 30, 40), (50, 80, 90)] {
        let index = two_leaves::<u64>(&guard);
        let Located::Absent(vacancy) = index.locate(key, &guard) else { panic!("{key} is there") };
        assert_eq!(vacancy.next(), Some(gone));
        assert!(index.remove(gone, &guard));
        assert!(
            index.fill(&vacancy, key, OwnedRecord::empty(), &guard).is_none(),
            "{after} is the next key now"
        );
    }
}

#[test]
fn ascending_inserts_leave_full_leaves() {
    let index = SmallIndex::<u64>::new(8);
    let guard = pin();
    for key in 0_u64..1000 {
        index.get_or_insert(key, None, &guard);
    }
    let counts = leaves(index.root_place(&guard).expect("nobody writes").0.node);
    assert_eq!(counts.len(), 250);
    assert!(counts.iter().all(|&count| count == 4));
}

#[test]
fn ascending_runs_inside_the_tree_leave_full_leaves() {
    let index = OrderedIndex::<u64, 16>::new(8);
    let guard = pin();
    for round in 0..1000 {
        for group in 0_u64..4 {
            index.get_or_insert(group << 32 | round, None, &guard);
        }
    }
    let counts = leaves(index.root_place(&guard).expect("nobody writes").0.node);
    assert!(counts.len() < 4000 / 12, "{} leaves for 4000 keys", counts.len());
}

#[test]
fn a_queue_leaves_nothing_behind() {
    let index = SmallIndex::<ByteString>::new(0);
    let guard = pin();
    for key in 0_u64..2000 {
        index.get_or_insert(ByteString::probe(&key.to_be_bytes()), None, &guard);
        if key >= 10 {
            assert!(index.remove(ByteString::probe(&(key - 10).to_be_bytes()), &guard));
        }
        check_shape(&index, &guard);
    }
    assert!(leaves(index.root_place(&guard).expect("nobody writes").0.node).len() <= 5);
}

fn free_step_by_step<K: IndexKey>(width: usize, bytes_of: impl Fn(u16) -> Vec<u8>) {
    let mut index = SmallIndex::<K>::new(width);
    for round in 0..3_u16 {
        for key in 0..200 * round {
            let key = bytes_of(key);
            index.get_or_insert(K::probe(&key), Some(&key), &pin());
        }
        let mut goes = 1;
        while !index.free_some(3) {
            goes += 1;
        }
        assert!(goes > 15 * usize::from(round), "{goes} goes for {} keys", 200 * round);
        let guard = pin();
        assert!(collect(&index, Bound::Unbounded, ScanDirection::Forward, &guard).is_empty());
        check_shape(&index, &guard);
    }
    // Stopped half-way: the rest goes with the index.
    for key in 0..200 {
        let key = bytes_of(key);
        index.get_or_insert(K::probe(&key), Some(&key), &pin());
    }
    assert!(!index.free_some(10));
}

#[test]
fn an_index_is_freed_a_few_leaves_at_a_time() {
    free_step_by_step::<u64>(8, |key| u64::from(key).to_be_bytes().to_vec());
    free_step_by_step::<ByteString>(0, |key| format!("a key of some length {key:05}").into_bytes());
}
