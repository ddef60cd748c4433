//! Keys go into the queue and come out.

use hyades_types::definition::IndexKind;

use super::*;
use crate::storage::table::tests::definition;

/// The keys of every transaction arrive, and the vector of a transaction with many keys is taken over, not
/// moved.
#[test]
fn few_and_many_keys_are_all_taken() {
    let table = Arc::new(Table::new(TableId(1), definition(&[0], IndexKind::Ordered)));
    let keys = |from: usize, count: usize| -> Vec<Purgeable> {
        (from..from + count).map(|key| Purgeable::row(&table, &(key as u64).to_be_bytes())).collect()
    };
    let queue = Queue::default();
    let (few, many) = (FEW_KEYS, 3 * FEW_KEYS + 7);
    let mut own = keys(0, few);
    queue.push_all(&mut own);
    assert!(own.is_empty() && own.capacity() >= few, "its memory is kept for the next transaction");
    let mut own = keys(few, many);
    queue.push_all(&mut own);
    assert_eq!(own.capacity(), 0);
    assert_eq!(queue.len(), few + many);
    let mut seen = Vec::new();
    while queue.len() > 0 {
        let taken = queue.take(100);
        assert!(!taken.is_empty() && taken.len() <= 100);
        seen.extend(taken.iter().map(|key| key.key.clone()));
        queue.put_back(Vec::new());
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), few + many);
}
