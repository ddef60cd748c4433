//! Sorting in memory and by merging runs.

use super::*;

fn key(value: usize, is_descending: bool) -> SortKey {
    SortKey { is_descending, ..SortKey::ascending(value) }
}

/// The third value shows whether equal rows keep their order.
fn rows(count: usize) -> Vec<Row> {
    (0..count)
        .map(|at| {
            let number = i32::try_from(at * 7919 % 1009).unwrap_or(0);
            let last = Value::BigInt(i64::try_from(at).unwrap_or(0));
            vec![Value::Integer(number % 10), Value::Integer(number % 7), last]
        })
        .collect()
}

#[test]
fn long_inputs_are_sorted_as_the_library_does() {
    let keys = [key(0, true), key(1, false)];
    for count in [0, 1, RUN_ROWS, RUN_ROWS + 1, 7 * RUN_ROWS + 3] {
        let mut rows = rows(count);
        let mut expected = rows.clone();
        expected.sort_by(|left, right| compare_rows(left, right, &keys));
        sort(&mut rows, &keys).unwrap();
        assert_eq!(rows, expected, "{count}");
    }
}

/// Runs are merged in several passes when there are more of them than are read at once.
#[test]
fn any_number_of_runs_is_merged_stably() {
    let keys: Arc<[SortKey]> = Arc::from([key(0, true), key(1, false)]);
    let mut expected = rows(3000);
    expected.sort_by(|left, right| compare_rows(left, right, &keys));
    let row_bytes = held_bytes(&rows(1)[0]);
    for rows_in_memory in [2999, 1500, 100, TAPES_AT_ONCE, 2, 1] {
        let work = WorkMemory { bytes: rows_in_memory * row_bytes, ..WorkMemory::default() };
        let mut sorter = Sorter::new(Arc::clone(&keys), (None, false), false, work);
        rows(3000).into_iter().for_each(|row| sorter.push(row).unwrap());
        let sorted = sorter.finish().unwrap();
        assert!(matches!(sorted, Sorted::Spilled(..)));
        assert_eq!(sorted.collect::<Result<Vec<Row>>>().unwrap(), expected, "{rows_in_memory}");
    }
}
