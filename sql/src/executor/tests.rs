//! DISTINCT, ORDER BY, OFFSET and LIMIT, with and without enough memory.

use super::*;

fn key(value: usize, is_descending: bool) -> SortKey {
    SortKey { is_descending, ..SortKey::ascending(value) }
}

/// An environment with this much memory for sorts and groupings.
fn environment(bytes: usize) -> Environment {
    let mut environment = Environment::default();
    environment.work_memory.bytes = bytes;
    environment
}

/// The output, and whether it came from disk.
fn finished(stage: Box<dyn StageRun>) -> (Vec<Row>, bool) {
    match stage.finish().unwrap() {
        StageRows::InMemory(rows) => (rows, false),
        StageRows::Later(rows) => (rows.collect::<Result<Vec<Row>>>().unwrap(), true),
    }
}

fn row(at: i32) -> Row {
    vec![Value::Integer(at * 7919 % 101), Value::Integer(at)]
}

#[test]
fn a_limit_keeps_few_rows_and_the_right_ones() {
    for (limit, offset) in [(0, 0), (1, 0), (3, 5), (300, 700)] {
        let sorting = Arc::new(Sorting {
            sort: vec![key(0, true)],
            limit: Some(0),
            offset: Some(1),
            width: 2,
            ..Sorting::default()
        });
        let registers = [Value::BigInt(limit), Value::BigInt(offset)];
        // Unwanted rows must not fill it.
        let environment = environment(3000 * held_bytes(&row(0)));
        let mut run = SortingRun::begin(sorting, &registers, &environment);
        for at in 0..20_000 {
            run.feed(&mut row(at)).unwrap();
        }
        let mut expected: Vec<Row> = (0..20_000).map(row).collect();
        expected.sort_by(|left, right| right[0].as_i64().cmp(&left[0].as_i64()));
        let expected = expected.into_iter().skip(usize::try_from(offset).unwrap());
        let expected: Vec<Row> = expected.take(usize::try_from(limit).unwrap()).collect();
        assert_eq!(finished(Box::new(run)), (expected, false), "{limit}");
    }
}

/// All combinations of sorting and dropping, in memory and with less and less memory.
#[test]
fn answers_do_not_depend_on_memory() {
    let distincts = [Distinct::No, Distinct::Rows(2), Distinct::On(vec![0]), Distinct::On(vec![1, 0])];
    let sorts = [vec![], vec![key(0, false)], vec![key(0, true), key(1, false)]];
    for distinct in &distincts {
        for sort in &sorts {
            let plain = [Value::Null, Value::BigInt(0), Value::BigInt(7), Value::BigInt(2000)]
                .map(|limit| (limit, false));
            let with_ties = [Value::BigInt(7), Value::BigInt(2000)].map(|limit| (limit, true));
            for (limit, with_ties) in plain.into_iter().chain(with_ties) {
                let sorting = Sorting {
                    distinct: distinct.clone(),
                    chars: Vec::new(),
                    sort: sort.clone(),
                    limit: Some(0),
                    offset: Some(1),
                    with_ties,
                    width: 3,
                };
                let sorting = Arc::new(sorting);
                let answer = |bytes| {
                    let registers = [limit.clone(), Value::BigInt(3)];
                    let stage = Arc::clone(&sorting) as Arc<dyn Stage>;
                    let mut run = stage.start(&registers, &environment(bytes));
                    for at in 0..6000_i32 {
                        let text = Value::text(format!("{at:>9}"));
                        run.feed(&mut [Value::Integer(at % 59), Value::Integer(at % 53), text]).unwrap();
                    }
                    finished(run)
                };
                let (expected, is_spilled) = answer(usize::MAX);
                assert!(!is_spilled);
                for bytes in [300_000, 30_000, 1000] {
                    let (rows, is_spilled) = answer(bytes);
                    assert_eq!(rows, expected, "{sorting:?} {limit:?} in {bytes}");
                    let is_long = !matches!(limit.as_i64(), Some(0 | 7));
                    assert!(is_spilled || bytes > 1000 || !is_long, "{sorting:?} {limit:?} in {bytes}");
                }
            }
        }
    }
}

/// ORDER BY with fewer columns than DISTINCT ON.
#[test]
fn distinct_on_more_than_is_sorted_by_leaves_nothing_twice() {
    let sorting = Sorting {
        distinct: Distinct::On(vec![0, 1]),
        sort: vec![key(0, false)],
        width: 2,
        ..Sorting::default()
    };
    let mut run = SortingRun::begin(Arc::new(sorting), &[], &Environment::default());
    for at in [3, 1, 2, 3, 1] {
        run.feed(&mut [Value::Integer(0), Value::Integer(at)]).unwrap();
    }
    let (rows, _) = finished(Box::new(run));
    assert_eq!(rows.iter().map(|row| row[1].as_i64().unwrap()).collect::<Vec<i64>>(), [1, 2, 3]);
}

/// A sort by all values needs no table of them to drop duplicates.
#[test]
fn neighbours_are_told_apart_as_by_a_table() {
    let chars = ["b", "b ", "a", "a  ", "", " "];
    for kinds in [2, 50, 4000] {
        for limit in [Value::Null, Value::BigInt(0), Value::BigInt(5), Value::BigInt(1500)] {
            let answer = |distinct: Distinct, bytes| {
                let is_char = SortKey { is_char: true, ..key(1, true) };
                let (sort, chars_among) = (vec![is_char, key(0, false)], vec![1]);
                let (limit_at, offset) = (Some(0), Some(1));
                let sorting = Arc::new(Sorting {
                    distinct,
                    chars: chars_among,
                    sort,
                    limit: limit_at,
                    offset,
                    with_ties: false,
                    width: 2,
                });
                let registers = [limit.clone(), Value::BigInt(3)];
                let mut run = (sorting as Arc<dyn Stage>).start(&registers, &environment(bytes));
                for at in 0..9000_i32 {
                    let text = Value::text(chars[at as usize % 6]);
                    let number = if at % 11 == 0 { Value::Null } else { Value::Integer(at * 7 % kinds) };
                    run.feed(&mut [number, text]).unwrap();
                }
                finished(run).0
            };
            let expected = answer(Distinct::Rows(2), usize::MAX);
            for bytes in [usize::MAX, 100_000, 10_000, 1000] {
                assert_eq!(answer(Distinct::Sorted, bytes), expected, "{kinds} {limit:?} in {bytes}");
            }
        }
    }
}

/// However many rows arrive, no more are held than there are distinct ones.
#[test]
fn repeated_rows_are_not_held() {
    let (sort, distinct) = (vec![key(0, false)], Distinct::Sorted);
    let sorting = Arc::new(Sorting { distinct, sort, width: 1, ..Sorting::default() });
    let environment = environment(4000 * held_bytes(&[Value::Integer(0)]));
    let mut run = SortingRun::begin(sorting, &[], &environment);
    for at in 0..100_000 {
        run.feed(&mut [Value::Integer(at % 900)]).unwrap();
    }
    let expected: Vec<Row> = (0..900).map(|number| vec![Value::Integer(number)]).collect();
    assert_eq!(finished(Box::new(run)), (expected, false));
}
