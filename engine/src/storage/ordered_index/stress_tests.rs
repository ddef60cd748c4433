//! Concurrent behaviour, for every key kind, on trees of tiny nodes, where splits and unlinks are the rule.
//!
//! Each writer changes keys of its own and compares every result with its own map, while scanners check the
//! properties that hold regardless of the writers. Rows carry their key, so that reads of freed memory show.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use crossbeam_epoch::{Guard, pin};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::hesitant_key::Hesitant;
use super::key::{ByteString, IndexKey};
use super::tests::{check_shape, collect, two_leaves};
use super::{Located, OrderedIndex};
use crate::storage::record::{OwnedRecord, Record};
use crate::storage::scan_batch::{ScanBatch, ScanDirection};

type SmallIndex<K> = OrderedIndex<K, 4>;

const WRITERS: u32 = 3;
const KEYS: u32 = 240;

/// Writers make at least this many changes, and go on until every scanner has made its rounds.
const STEPS: usize = if cfg!(debug_assertions) { 5_000 } else { 200_000 };
const ROUNDS: usize = if cfg!(debug_assertions) { 120 } else { 4_000 };

/// Keys that are multiples of this are inserted at the start and stay.
const STABLE: u32 = 5;

/// How a key kind spells a number, in the order of the numbers.
trait Spelling: IndexKey {
    const WIDTH: usize;
    fn spell(number: u32) -> Vec<u8>;
}

impl Spelling for u64 {
    const WIDTH: usize = 4;
    fn spell(number: u32) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }
}

impl Spelling for u128 {
    const WIDTH: usize = 12;
    /// The lower half of the number is in the second word of the slot.
    fn spell(number: u32) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes[4..8].copy_from_slice(&(number / 16).to_be_bytes());
        bytes[8..].copy_from_slice(&(number % 16).to_be_bytes());
        bytes
    }
}

impl Spelling for ByteString {
    const WIDTH: usize = 0;
    /// Neighbours share their first eight bytes, so comparisons follow the pointers.
    fn spell(number: u32) -> Vec<u8> {
        let mut bytes = format!("{:08}", number / 50).into_bytes();
        bytes.extend_from_slice(format!("{:04}", number % 50).as_bytes());
        bytes
    }
}

impl Spelling for Hesitant {
    const WIDTH: usize = 4;
    fn spell(number: u32) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }
}

/// Inserts the key with its own bytes as its row.
fn insert<'g, K: IndexKey>(index: &'g SmallIndex<K>, key: &[u8], guard: &'g Guard) -> bool {
    let (record, inserted) = index.get_or_insert(K::probe(key), None, guard);
    record.try_replace(Some(key), guard).expect("it is in its index");
    inserted
}

fn remove<K: IndexKey>(index: &SmallIndex<K>, key: &[u8], guard: &Guard) -> bool {
    if let Some(record) = index.get(K::probe(key), guard)
        && let Some(old) = record.try_replace(None, guard).expect("it is in its index")
    {
        assert_eq!(old.bytes(), key);
        old.retire(guard);
    }
    index.remove(K::probe(key), guard)
}

fn check_row(key: &[u8], record: &Record, guard: &Guard) {
    if let Some(row) = record.row(guard) {
        assert_eq!(row, key, "a record holds the row of another key");
    }
}

/// Changes the keys that are `own` modulo the number of writers, except the stable ones; returns those that
/// remain.
fn write<K: Spelling>(index: &SmallIndex<K>, own: u32, scanners: &AtomicUsize) -> BTreeSet<Vec<u8>> {
    let mut random = SmallRng::seed_from_u64(u64::from(own));
    let mut model = BTreeSet::new();
    let mut steps = 0;
    while steps < STEPS || scanners.load(Ordering::Acquire) > 0 {
        steps += 1;
        let number = random.random_range(0..KEYS / WRITERS) * WRITERS + own;
        if number.is_multiple_of(STABLE) {
            continue;
        }
        let key = K::spell(number);
        let guard = pin();
        match random.random_range(0..5) {
            0 | 1 => assert_eq!(insert(index, &key, &guard), model.insert(key)),
            2 | 3 => assert_eq!(remove(index, &key, &guard), model.remove(&key)),
            _ => {
                let record = index.get(K::probe(&key), &guard);
                assert_eq!(record.is_some(), model.contains(&key));
                record.inspect(|record| check_row(&key, record, &guard));
            }
        }
    }
    model
}

/// Scans the whole index repeatedly.
fn scan<K: Spelling>(index: &SmallIndex<K>, direction: ScanDirection) {
    let stable: Vec<Vec<u8>> = (0..KEYS).step_by(STABLE as usize).map(K::spell).collect();
    for _ in 0..ROUNDS {
        let guard = pin();
        let mut keys = collect(index, Bound::Unbounded, direction, &guard);
        if direction == ScanDirection::Backward {
            keys.reverse();
        }
        assert!(keys.is_sorted_by(|a, b| a < b), "a scan repeats or reorders keys");
        keys.retain(|key| stable.binary_search(key).is_ok());
        assert_eq!(keys, stable, "a scan misses keys that were present throughout");
    }
}

/// Looks up every stable key, and from every key the next one.
fn look<K: Spelling>(index: &SmallIndex<K>) {
    let spelled: Vec<Vec<u8>> = (0..KEYS).map(K::spell).collect();
    for _ in 0..ROUNDS {
        for number in 0..(KEYS - STABLE) as usize {
            let guard = pin();
            let stable = &spelled[(number / STABLE as usize + 1) * STABLE as usize];
            let record = index.get(K::probe(stable), &guard).expect("a stable key stays");
            check_row(stable, record, &guard);
            let after = Bound::Excluded(&spelled[number][..]);
            let next = index.first_key(K::lower(after, K::WIDTH), &guard);
            let next = K::bytes(next.expect("a stable key comes"), K::WIDTH);
            let is_between = spelled[number][..] < *next && *next <= **stable;
            assert!(is_between, "the next key is at most the next stable one");
        }
    }
}

fn run<K: Spelling>() {
    let index = Arc::new(SmallIndex::<K>::new(K::WIDTH));
    let guard = pin();
    for number in (0..KEYS).step_by(STABLE as usize) {
        insert(&index, &K::spell(number), &guard);
    }
    drop(guard);
    let scanners: [fn(&SmallIndex<K>); 3] =
        [|index| scan(index, ScanDirection::Forward), |index| scan(index, ScanDirection::Backward), look];
    let active = Arc::new(AtomicUsize::new(scanners.len()));
    let scanners = scanners.map(|scanner| {
        let (index, active) = (Arc::clone(&index), Countdown(Arc::clone(&active)));
        thread::spawn(move || {
            scanner(&index);
            drop(active);
        })
    });
    let writers: Vec<_> = (0..WRITERS)
        .map(|own| {
            let (index, active) = (Arc::clone(&index), Arc::clone(&active));
            thread::spawn(move || write(&index, own, &active))
        })
        .collect();
    let mut expected: BTreeSet<Vec<u8>> = (0..KEYS).step_by(STABLE as usize).map(K::spell).collect();
    for writer in writers {
        expected.extend(writer.join().expect("a writer failed"));
    }
    scanners.into_iter().for_each(|scanner| scanner.join().expect("a scanner failed"));
    let guard = pin();
    let found = collect(&index, Bound::Unbounded, ScanDirection::Forward, &guard);
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    check_shape(&index, &guard);
}

/// Counts a scanner out, even one that panics, so that the writers end.
struct Countdown(Arc<AtomicUsize>);

impl Drop for Countdown {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

#[test]
fn writers_and_scanners_of_narrow_keys_agree() {
    run::<u64>();
}

#[test]
fn writers_and_scanners_of_wide_keys_agree() {
    run::<u128>();
}

#[test]
fn writers_and_scanners_of_byte_strings_agree() {
    run::<ByteString>();
}

#[test]
fn writers_and_scanners_that_lose_their_core_anywhere_agree() {
    run::<Hesitant>();
}

/// The root splits often only in young trees.
#[test]
fn young_trees_lose_no_key() {
    for _ in 0..ROUNDS {
        let index = Arc::new(SmallIndex::<Hesitant>::new(4));
        let start = Arc::new(Barrier::new(WRITERS as usize));
        let writers: Vec<_> = (0..WRITERS)
            .map(|own| {
                let (index, start) = (Arc::clone(&index), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    for number in (own..KEYS / 4).step_by(WRITERS as usize) {
                        assert!(insert(&index, &Hesitant::spell(number), &pin()));
                        for earlier in (own..=number).step_by(WRITERS as usize) {
                            assert!(index.get(u64::from(earlier) << 32, &pin()).is_some());
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer failed"));
        let keys = collect(&index, Bound::Unbounded, ScanDirection::Forward, &pin());
        assert_eq!(keys, (0..KEYS / 4).map(Hesitant::spell).collect::<Vec<_>>());
    }
}

/// Keys that are inserted while a writer waits between locating and filling invalidate the vacancy, wherever
/// they are inserted.
fn fill_all<K: Spelling>(index: &SmallIndex<K>, own: usize, present: &[AtomicBool]) -> usize {
    let mut random = SmallRng::seed_from_u64(own as u64);
    let mut numbers: Vec<usize> = (own..present.len()).step_by(WRITERS as usize).collect();
    let spelled: Vec<Vec<u8>> = (0..KEYS).map(K::spell).collect();
    let mut late = 0;
    while !numbers.is_empty() {
        let number = numbers.swap_remove(random.random_range(0..numbers.len()));
        let key = &spelled[number];
        loop {
            let guard = pin();
            let Located::Absent(vacancy) = index.locate(K::probe(key), &guard) else {
                panic!("no other writer has this key")
            };
            let next = vacancy.next().map(|next| K::bytes(next, K::WIDTH));
            let next = next.map_or(spelled.len(), |next| spelled.partition_point(|key| key[..] < *next));
            if random.random_range(0..16) == 0 {
                thread::yield_now();
            }
            let is_void = present[number + 1..next].iter().any(|other| other.load(Ordering::Acquire));
            late += usize::from(is_void);
            let row = OwnedRecord::with_row(key);
            if index.fill(&vacancy, K::probe(key), row, &guard).is_some() {
                assert!(!is_void, "another key had become the next");
                break;
            }
        }
        present[number].store(true, Ordering::Release);
    }
    late
}

fn fill_trees<K: Spelling>() {
    let mut late = 0;
    let mut rounds = 0;
    // Until writers have been too late often enough to show that they are refused then.
    while rounds < ROUNDS / 4 || late < ROUNDS / 4 {
        rounds += 1;
        let index = Arc::new(SmallIndex::<K>::new(K::WIDTH));
        let present: Arc<[AtomicBool]> = (0..KEYS).map(|_| AtomicBool::new(false)).collect();
        let writers: Vec<_> = (0..WRITERS as usize)
            .map(|own| {
                let (index, present) = (Arc::clone(&index), Arc::clone(&present));
                thread::spawn(move || fill_all(&index, own, &present))
            })
            .collect();
        late += writers.into_iter().map(|writer| writer.join().expect("a writer failed")).sum::<usize>();
        let keys = collect(&index, Bound::Unbounded, ScanDirection::Forward, &pin());
        assert_eq!(keys, (0..KEYS).map(K::spell).collect::<Vec<_>>());
        check_shape(&index, &pin());
    }
}

#[test]
fn vacancies_of_narrow_keys_are_void_when_another_key_comes_between() {
    fill_trees::<u64>();
}

#[test]
fn vacancies_of_byte_strings_are_void_when_another_key_comes_between() {
    fill_trees::<ByteString>();
}

/// One writer fills a leaf to its end and finds that 90, in the next leaf, comes next. Another inserts 80
/// there. A thread that sees 80 come next must not find later that the first writer came after it and found
/// 90.
#[test]
fn a_reader_of_a_later_key_sees_the_earlier_one() {
    let index = Arc::new(two_leaves::<Hesitant>(&pin()));
    let places = [40, 80];
    places.iter().for_each(|&place| assert!(index.remove(place, &pin())));
    for _ in 0..ROUNDS * 4 {
        let start = Arc::new(Barrier::new(3));
        let spawn = |work: fn(&SmallIndex<Hesitant>) -> bool| {
            let (index, start) = (Arc::clone(&index), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                work(&index)
            })
        };
        let was_told_90 = spawn(|index| {
            let guard = pin();
            loop {
                let Located::Absent(vacancy) = index.locate(40, &guard) else {
                    panic!("no other thread has it")
                };
                if index.fill(&vacancy, 40, OwnedRecord::empty(), &guard).is_some() {
                    return vacancy.next() == Some(90);
                }
            }
        });
        let inserts_80 = spawn(|index| index.get_or_insert(80, None, &pin()).1);
        let saw_80 = spawn(|index| {
            let next = || index.first_key(Bound::Excluded(39), &pin());
            std::iter::repeat_with(next).find(|&next| next != Some(90)) == Some(Some(80))
        });
        let [was_told_90, was_inserted, saw_80] =
            [was_told_90, inserts_80, saw_80].map(|thread| thread.join().expect("a thread failed"));
        assert!(was_inserted && !(was_told_90 && saw_80), "80 was seen before 40 was there");
        places.iter().for_each(|&place| assert!(index.remove(place, &pin())));
    }
}

/// A writer moves one key to and fro between two leaves, inserting before it removes: every consistent view
/// of both leaves contains it.
#[test]
fn a_batch_is_one_picture() {
    let index = Arc::new(SmallIndex::<Hesitant>::new(8));
    let places = [40_u64, 80];
    // Ascending inserts fill the first leaf, 10 to 40, and cut at 80; from then on neither leaf outgrows four
    // keys.
    for key in [10, 20, 30, places[0], places[1], 90, 95] {
        index.get_or_insert(key, None, &pin());
    }
    assert!(index.remove(places[1], &pin()));
    let active = Arc::new(AtomicUsize::new(1));
    let scanner = Countdown(Arc::clone(&active));
    let moves = Arc::new(AtomicUsize::new(0));
    let writer = thread::spawn({
        let (index, moves) = (Arc::clone(&index), Arc::clone(&moves));
        move || {
            while active.load(Ordering::Acquire) > 0 {
                let (guard, number) = (pin(), moves.load(Ordering::Relaxed));
                index.get_or_insert(places[(number + 1) % 2], None, &guard);
                assert!(index.remove(places[number % 2], &guard));
                moves.store(number + 1, Ordering::Relaxed);
            }
        }
    });
    let mut batch = ScanBatch::new();
    let is_place = |key: &[u8]| places.iter().any(|place| place.to_be_bytes() == key);
    let mut rounds = 0;
    // On a busy machine the writer may begin late.
    while !writer.is_finished() && (rounds < ROUNDS * 20 || moves.load(Ordering::Relaxed) < ROUNDS) {
        rounds += 1;
        let guard = pin();
        index.scan(Bound::Included(39), ScanDirection::Forward, usize::MAX, &mut batch, &guard);
        assert!(is_place(batch.key(0)), "forward: {:?}", batch.key(0));
        index.scan(Bound::Included(81), ScanDirection::Backward, usize::MAX, &mut batch, &guard);
        assert!(is_place(batch.key(0)), "backward: {:?}", batch.key(0));
        let next = index.first_key(Bound::Excluded(39), &guard).expect("there are keys above");
        assert!(places.contains(&next), "next: {next}");
    }
    drop(scanner);
    writer.join().expect("the writer failed");
}

/// Batches outlive their guard: those that `is_alive` accepts are still linked, and their rows are whole.
#[test]
fn a_batch_kept_across_pins_is_read_only_while_alive() {
    let index = Arc::new(SmallIndex::<u64>::new(4));
    for number in 0..KEYS {
        insert(&index, &u64::spell(number), &pin());
    }
    let active = Arc::new(AtomicUsize::new(1));
    let scanner = Countdown(Arc::clone(&active));
    let writer = thread::spawn({
        let index = Arc::clone(&index);
        move || {
            let mut random = SmallRng::seed_from_u64(5);
            while active.load(Ordering::Acquire) > 0 {
                let key = u64::spell(random.random_range(0..KEYS));
                let guard = pin();
                if random.random_range(0..64) == 0 {
                    remove(&index, &key, &guard);
                } else {
                    insert(&index, &key, &guard);
                }
                guard.flush();
            }
        }
    });
    let mut batch = ScanBatch::new();
    let (mut resumed, mut refused) = (0, 0);
    // Both cases occur for certain: a scan that is not interrupted is resumed, and one that waits for a
    // removal is not.
    while (resumed < ROUNDS || refused < ROUNDS) && !writer.is_finished() {
        index.scan(Bound::Unbounded, ScanDirection::Forward, usize::MAX, &mut batch, &pin());
        for _ in 0..200 {
            let guard = pin();
            if !batch.is_alive(index.id(), index.removals()) {
                refused += 1;
                break;
            }
            // SAFETY: alive, checked under this guard.
            let page = unsafe { batch.page(&guard) };
            page.iter().for_each(|(key, record)| check_row(key, record, &guard));
            resumed += 1;
        }
    }
    drop(scanner);
    writer.join().expect("the writer failed");
    assert!(resumed >= ROUNDS && refused >= ROUNDS, "{resumed} resumed, {refused} refused");
}
