//! A tree built bottom-up against one that grew by inserts, for every key kind, on tiny nodes.

use std::ops::Bound;

use crossbeam_epoch::pin;

use super::SortedRun;
use crate::storage::ordered_index::OrderedIndex;
use crate::storage::ordered_index::key::{ByteString, IndexKey};
use crate::storage::ordered_index::tests::{check_shape, collect, leaves};
use crate::storage::record::OwnedRecord;
use crate::storage::scan_batch::ScanDirection;

const CAPACITY: usize = 4;

type Index<K> = OrderedIndex<K, CAPACITY>;
type Run<K> = SortedRun<K, CAPACITY>;

fn push<K: IndexKey>(run: &mut Run<K>, key: &[u8]) -> bool {
    run.push(K::own(K::probe(key)), OwnedRecord::with_row(key))
}

/// Keys in several runs, which may be empty.
fn runs<K: IndexKey>(keys: &[Vec<u8>], count: usize) -> Vec<Run<K>> {
    let cut = |at: usize| keys.len() * at / count;
    let run = |at: usize| {
        let mut run = Run::<K>::default();
        assert!(keys[cut(at)..cut(at + 1)].iter().all(|key| push(&mut run, key)));
        run
    };
    (0..count).map(run).collect()
}

fn check<K: IndexKey>(width: usize, bytes_of: impl Fn(u16) -> Vec<u8>) {
    let guard = pin();
    for (count, run_count) in [(0, 1), (1, 1), (4, 1), (5, 1), (5, 7), (16, 2), (17, 1), (500, 9), (1025, 3)]
    {
        let mut keys: Vec<Vec<u8>> = (0..count).map(|key| bytes_of(2 * key)).collect();
        keys.sort();
        let index = Index::<K>::new(width);
        assert!(index.adopt(runs(&keys, run_count), &guard), "{count} keys in {run_count} runs");
        check_shape(&index, &guard);
        let root = index.root_place(&guard).expect("nothing is wrong").0.node;
        let fewest = usize::from(count).div_ceil(CAPACITY);
        assert!(leaves(root).len() <= fewest.max(1) + run_count, "{count} keys: {:?}", leaves(root));
        assert_eq!(collect(&index, Bound::Unbounded, ScanDirection::Forward, &guard), keys);
        for key in &keys {
            let row = index.get(K::probe(key), &guard).and_then(|record| record.row(&guard));
            assert_eq!(row, Some(&key[..]));
        }
        // It behaves like any other tree.
        for key in (0..count).map(|key| bytes_of(2 * key + 1)) {
            let (record, is_new) = index.get_or_insert(K::probe(&key), None, &guard);
            assert!(is_new && !record.has_row());
            keys.push(key);
        }
        keys.sort();
        check_shape(&index, &guard);
        let mut backward = collect(&index, Bound::Unbounded, ScanDirection::Backward, &guard);
        backward.reverse();
        assert_eq!(backward, keys);
        for key in &keys {
            let record = index.get(K::probe(key), &guard).expect("nothing is wrong");
            drop(record.try_replace(None, &guard).expect("nothing is wrong"));
            assert!(index.remove(K::probe(key), &guard));
            check_shape(&index, &guard);
        }
        assert!(collect(&index, Bound::Unbounded, ScanDirection::Forward, &guard).is_empty());
    }
}

fn byte_key(key: u16) -> Vec<u8> {
    let mut bytes = vec![b'a' + (key % 3) as u8; usize::from(key % 20)];
    bytes.extend_from_slice(&key.to_be_bytes());
    bytes
}

#[test]
fn a_tree_of_runs_is_like_one_that_grew() {
    check::<u64>(2, |key| key.to_be_bytes().to_vec());
    check::<u128>(12, |key| [&[7; 10][..], &key.to_be_bytes()].concat());
    check::<ByteString>(0, byte_key);
}

#[test]
fn what_is_not_in_order_is_refused() {
    fn check<K: IndexKey>() {
        let guard = pin();
        let mut run = Run::<K>::default();
        assert!(push(&mut run, b"bbbbbbbbbb") && push(&mut run, b"dddddddddd"));
        assert!(!push(&mut run, b"dddddddddd") && !push(&mut run, b"cccccccccc"));
        let mut above = Run::<K>::default();
        assert!(push(&mut above, b"dddddddddd"));
        let index = Index::<K>::new(10);
        assert!(!index.adopt(vec![run, above], &guard), "they share a key");
        assert!(index.get(K::probe(b"bbbbbbbbbb"), &guard).is_none());
    }
    check::<u128>();
    check::<ByteString>();
}

#[test]
fn an_index_with_keys_takes_no_runs_over() {
    let guard = pin();
    let index = Index::<ByteString>::new(0);
    index.get_or_insert(ByteString::probe(b"b"), None, &guard);
    let keys: Vec<Vec<u8>> =
        (0..100).map(byte_key).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    assert!(!index.adopt(runs(&keys, 3), &guard));
    assert_eq!(collect(&index, Bound::Unbounded, ScanDirection::Forward, &guard), [b"b".to_vec()]);
    // An empty run changes nothing.
    assert!(index.adopt(vec![Run::default(), Run::default()], &guard));
}
