//! A record and its row, in one thread and under racing writers.

use std::sync::Arc;
use std::thread;

use crossbeam_epoch::pin;

use super::{OldRow, OwnedRecord, Removed};

#[test]
fn a_row_is_replaced() {
    let record = OwnedRecord::empty();
    let guard = pin();
    assert_eq!(record.row(&guard), None);
    assert!(record.try_replace(Some(b"one"), &guard).expect("it is in its index").is_none());
    let first = record.row(&guard);
    let old = record.try_replace(Some(b"two"), &guard).expect("it is in its index");
    assert_eq!(old.as_ref().map(OldRow::bytes), Some(&b"one"[..]));
    assert_eq!((first, record.row(&guard)), (Some(&b"one"[..]), Some(&b"two"[..])));
}

#[test]
fn an_empty_row_is_a_row() {
    let record = OwnedRecord::empty();
    let guard = pin();
    record.try_replace(Some(b""), &guard).expect("it is in its index");
    assert_eq!(record.row(&guard), Some(&b""[..]));
}

#[test]
fn only_a_record_without_a_row_closes_and_then_takes_none() {
    let record = OwnedRecord::empty();
    let guard = pin();
    record.try_replace(Some(b"row"), &guard).expect("it is in its index");
    assert!(!record.try_close());
    record.try_replace(None, &guard).expect("it is in its index");
    assert!(record.try_close() && record.is_removed());
    assert!(matches!(record.try_replace(Some(b"late"), &guard), Err(Removed)));
    assert_eq!(record.row(&guard), None);
}

#[test]
fn a_reader_keeps_its_row_while_it_is_pinned() {
    let record = OwnedRecord::empty();
    let guard = pin();
    record.try_replace(Some(&[7; 100]), &guard).expect("it is in its index");
    let row = record.row(&guard).expect("there is a row");
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..2000_u32 {
                let guard = pin();
                // Half are retired, half dropped.
                match record.try_replace(Some(&number.to_le_bytes()), &guard).expect("it is in its index") {
                    Some(old) if number % 2 == 0 => old.retire(&guard),
                    old => drop(old),
                }
            }
        });
    });
    assert!(row.iter().all(|&byte| byte == 7));
}

#[test]
fn racing_writers_neither_lose_nor_share_a_row() {
    let record = Arc::new(OwnedRecord::empty());
    let writers: Vec<_> = (0..3_u64)
        .map(|writer| {
            let record = Arc::clone(&record);
            thread::spawn(move || {
                let mut taken = Vec::new();
                for step in 0..3000_u64 {
                    let guard = pin();
                    let row = (writer << 32 | step).to_be_bytes();
                    taken.extend(record.try_replace(Some(&row), &guard).expect("it is in its index"));
                }
                taken.iter().map(|old| old.bytes().to_vec()).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut rows: Vec<Vec<u8>> =
        writers.into_iter().flat_map(|writer| writer.join().expect("a writer failed")).collect();
    rows.extend(record.row(&pin()).map(<[u8]>::to_vec));
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), 9000);
}
