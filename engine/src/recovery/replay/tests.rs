//! Changes that are replayed in groups and pieces give the same result as one by one.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam_epoch::pin;
use hyades_types::definition::{CatalogChange, IndexKind, SequenceId, SequenceState, TableId};
use hyades_types::foundations::Foundations;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::super::schedule::{Piece, RecordPlace, Replay};
use super::super::verify::{check_indexes, tables_hash};
use super::{Installer, Scratch, divide};
use crate::config::RecoveryProgress;
use crate::log::record::OperationsWriter;
use crate::storage::bulk_load::tests::indexed;
use crate::storage::databases::Databases;
use crate::storage::row::{RowPatch, pieces};
use crate::storage::table::Table;
use crate::storage::table::tests::{definition, row};
use crate::txn::replay_versions::ReplayVersions;

const TABLES: [u32; 2] = [2, 3];

const PLACE: RecordPlace = RecordPlace { log: 0, end: 8, time: Some(5) };

fn installer() -> Installer {
    installer_with(false)
}

/// `has_times`: whether versions are kept.
fn installer_with(has_times: bool) -> Installer {
    let databases = Arc::new(Databases::new());
    for (id, mut definition) in
        TABLES.into_iter().zip([indexed(IndexKind::Ordered, &[0]), definition(&[0], IndexKind::Hash)])
    {
        definition.name.name = format!("t{id}");
        let create = CatalogChange::CreateTable { id: TableId(id), definition };
        databases.apply(&create, &pin()).expect("nothing is wrong");
    }
    Installer {
        versions: ReplayVersions::new(&databases, has_times),
        databases,
        compiler: None,
        foundations: Foundations::default(),
        replays_images: false,
        slicing: None,
        on_progress: None,
        started: crate::sync::now(),
        before: RecoveryProgress::default(),
        on_demand: None,
        selection: None,
    }
}

#[derive(Clone, Debug)]
struct Change {
    table: TableId,
    key: Vec<u8>,
    row: Option<Vec<u8>>,
}

fn change(table: &Table, number: i32, text: Option<&str>) -> Change {
    let state = table.shared_state();
    let mut key = Vec::new();
    state.encode_key(&row(&state, Some(number), ""), &mut key);
    Change { table: table.id(), key, row: text.map(|text| row(&state, Some(number), text)) }
}

fn encode(changes: &[Change]) -> Vec<u8> {
    let mut writer = OperationsWriter::new();
    for Change { table, key, row } in changes {
        match row {
            Some(row) => writer.put(*table, key, row),
            None => writer.delete(*table, key),
        }
    }
    writer.as_bytes().to_vec()
}

/// The same, with patches of rows that keep their length: of the bytes that differ, or of the column.
/// `rows` are those that are there before, and after.
fn encode_patched(
    installer: &Installer,
    changes: &[Change],
    rows: &mut HashMap<(TableId, Vec<u8>), Vec<u8>>,
    random: &mut StdRng,
) -> Vec<u8> {
    let mut writer = OperationsWriter::new();
    for Change { table, key, row } in changes {
        let place = (*table, key.clone());
        let Some(row) = row else {
            rows.remove(&place);
            writer.delete(*table, key);
            continue;
        };
        let old = rows.insert(place, row.clone()).filter(|old| old.len() == row.len());
        let state = installer.databases.by_id(*table).expect("nothing is wrong").shared_state();
        let (layout, mut patch) = (state.layout(), RowPatch::default());
        match (old, random.random_range(0..3)) {
            (Some(old), 0) => {
                let differ = |at: &usize| old[*at] != row[*at];
                let start = (0..row.len()).find(differ).unwrap_or(0);
                let end = (start..row.len()).rfind(differ).map_or(start, |last| last + 1);
                writer.patch(*table, key, std::iter::once((start, &row[start..end])));
            }
            (Some(old), 1) => {
                assert!(layout.patch(&old, &[(1, layout.value(row, 1))], &mut patch));
                writer.patch(*table, key, pieces(patch.bytes()));
            }
            _ => writer.put(*table, key, row),
        }
    }
    writer.as_bytes().to_vec()
}

fn table(installer: &Installer, id: u32) -> Arc<Table> {
    installer.databases.by_id(TableId(id)).expect("nothing is wrong")
}

/// Texts of a few lengths, so that some rows stay where they are, with their entries or without.
fn random_changes(installer: &Installer, seed: u64, count: usize) -> Vec<Change> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..count)
        .map(|_| {
            let table = table(installer, TABLES[usize::from(random.random_bool(0.3))]);
            let text = ["one", "two", "three", "seven"][random.random_range(0..4)];
            let number = random.random_range(0..200);
            change(&table, number, random.random_bool(0.8).then_some(text))
        })
        .collect()
}

fn hash(installer: &Installer) -> u64 {
    check_indexes(&installer.databases).expect("nothing is wrong");
    tables_hash(&installer.databases.tables()).expect("nothing is wrong")
}

#[test]
fn groups_and_pieces_leave_what_single_rows_do() {
    for seed in 0..40 {
        let [single, grouped, divided, patched, patched_divided] = [(); 5].map(|()| installer());
        let [versions, patched_versions] = [(); 2].map(|()| installer_with(true));
        let with_versions = [&versions, &patched_versions];
        let others = [&grouped, &divided, &patched, &patched_divided, &versions, &patched_versions];
        let (mut rows_there, mut random) = (HashMap::new(), StdRng::seed_from_u64(seed));
        for round in 0..4 {
            let changes = random_changes(&single, seed * 10 + round, 300);
            for Change { table, key, row } in &changes {
                let table = single.databases.by_id(*table).expect("nothing is wrong");
                table.install(key, row.as_deref(), &pin()).expect("nothing is wrong");
            }
            let operations = encode(&changes);
            for one in [&grouped, &versions] {
                one.replay(&mut Scratch::default(), PLACE, &operations).expect("nothing is wrong");
            }
            // In any order.
            let mut pieces: Vec<Piece> = divide(&operations, 400);
            assert!(pieces.len() > 10);
            pieces.shuffle(&mut StdRng::seed_from_u64(seed));
            for piece in &pieces {
                divided
                    .replay_piece(&mut Scratch::default(), PLACE, &operations, piece)
                    .expect("nothing is wrong");
            }
            let operations = encode_patched(&single, &changes, &mut rows_there, &mut random);
            for one in [&patched, &patched_versions] {
                one.replay(&mut Scratch::default(), PLACE, &operations).expect("nothing is wrong");
            }
            let mut pieces: Vec<Piece> = divide(&operations, 400);
            pieces.shuffle(&mut random);
            for piece in &pieces {
                patched_divided
                    .replay_piece(&mut Scratch::default(), PLACE, &operations, piece)
                    .expect("nothing is wrong");
            }
            // At some moment between two changes, or when all have been replayed.
            match random.random_bool(0.5) {
                true => with_versions.iter().for_each(|one| one.versions.finish()),
                false => with_versions
                    .iter()
                    .for_each(|one| TABLES.iter().for_each(|id| one.versions.finish_table(TableId(*id)))),
            }
            let expected = hash(&single);
            for (number, other) in others.into_iter().enumerate() {
                assert_eq!(hash(other), expected, "seed {seed}, round {round}, way {number}");
            }
        }
        let rows = |installer: &Installer| TABLES.map(|id| table(installer, id).row_count());
        for other in others {
            assert_eq!(rows(other), rows(&single));
        }
    }
}

#[test]
fn a_row_that_keeps_its_length_stays_where_it_is() {
    let installer = installer();
    let table = table(&installer, TABLES[0]);
    let replay = |text: &str| {
        let operations = encode(&[change(&table, 1, Some(text))]);
        installer.replay(&mut Scratch::default(), PLACE, &operations).expect("nothing is wrong");
    };
    let (guard, state) = (pin(), table.shared_state());
    let key = change(&table, 1, None).key;
    let place = || {
        state
            .index()
            .get(&key, &guard)
            .expect("nothing is wrong")
            .row(&guard)
            .expect("nothing is wrong")
            .as_ptr()
    };
    replay("one");
    let first = place();
    replay("one");
    assert_eq!(place(), first);
    // Now the row has other index entries.
    replay("two");
    assert_ne!(place(), first);
    check_indexes(&installer.databases).expect("nothing is wrong");
    replay("three");
    assert_eq!(table.row_count(), 1);
    check_indexes(&installer.databases).expect("nothing is wrong");
}

#[test]
fn pieces_of_ascending_keys_follow_each_other_and_others_go_by_key() {
    let installer = installer();
    let [first, second] = TABLES.map(|id| table(&installer, id));
    let ascending: Vec<Change> = (0..100)
        .map(|number| change(&first, number, Some("x")))
        .chain((0..100).map(|number| change(&second, number, None)))
        .collect();
    let operations = encode(&ascending);
    let pieces = divide(&operations, 100);
    assert!(pieces.iter().all(|piece| piece.len() == 1));
    let together: Vec<u8> = pieces.iter().flat_map(|piece| operations[piece[0].clone()].to_vec()).collect();
    assert_eq!(together, operations);
    assert_eq!(divide(&operations, operations.len()).len(), 1);
    // A key that comes twice is in one piece, in its order.
    let twice = encode(&[ascending.clone(), ascending].concat());
    let pieces = divide(&twice, 100);
    assert_eq!(pieces.iter().map(|piece| piece.len()).sum::<usize>(), 400);
    assert!(pieces.iter().all(|piece| piece.is_sorted_by_key(|range| range.start)));
    for piece in &pieces {
        let half = operations.len();
        let of = |range: &std::ops::Range<usize>| twice[range.clone()].to_vec();
        let (early, late): (Vec<_>, Vec<_>) = piece.iter().partition(|range| range.start < half);
        assert_eq!(
            early.into_iter().map(of).collect::<Vec<_>>(),
            late.into_iter().map(of).collect::<Vec<_>>()
        );
    }
}

#[test]
fn what_is_not_only_rows_is_not_divided() {
    let mut writer = OperationsWriter::new();
    (0_u32..100).for_each(|number| writer.put(TableId(TABLES[0]), &number.to_be_bytes(), b"row"));
    assert!(divide(writer.as_bytes(), 50).len() > 5);
    writer.sequence(SequenceId(3), SequenceState { epoch: 0, value: 7, is_called: true });
    assert!(divide(writer.as_bytes(), 50).is_empty());
    assert_eq!(divide(&[], 50).iter().flatten().map(|range| range.len()).sum::<usize>(), 0);
    let operations = encode(&[]);
    installer().replay(&mut Scratch::default(), PLACE, &operations).expect("nothing is wrong");
}

#[test]
fn rows_that_do_not_fit_are_refused_wherever_they_stand() {
    let installer = installer();
    let table = table(&installer, TABLES[0]);
    let mut changes: Vec<Change> = (0..40).map(|number| change(&table, number, Some("x"))).collect();
    changes[21].row = Some(b"no row".to_vec());
    assert!(installer.replay(&mut Scratch::default(), PLACE, &encode(&changes)).is_err());
    changes[21] = Change { table: TableId(77), ..change(&table, 21, Some("x")) };
    let error = installer.replay(&mut Scratch::default(), PLACE, &encode(&changes)).unwrap_err();
    assert!(error.to_string().contains("table 77, which does not exist"));
}

#[test]
fn a_patch_without_its_row_is_refused() {
    let installer = installer();
    let table = table(&installer, TABLES[0]);
    let put = change(&table, 1, Some("one"));
    let replay = |key: &[u8], offset: usize, piece: &[u8]| {
        let mut writer = OperationsWriter::new();
        writer.patch(table.id(), key, std::iter::once((offset, piece)));
        installer.replay(&mut Scratch::default(), PLACE, writer.as_bytes()).map_err(|error| error.to_string())
    };
    let refused = |replayed: Result<(), String>, why: &str| {
        let error = replayed.expect_err("refused");
        assert!(error.contains(why), "{error}");
    };
    refused(replay(&put.key, 0, &[]), "finds no row");
    installer
        .replay(&mut Scratch::default(), PLACE, &encode(std::slice::from_ref(&put)))
        .expect("nothing is wrong");
    let length = put.row.as_ref().expect("a row").len();
    replay(&put.key, length - 3, b"two").expect("it fits");
    refused(replay(&put.key, length - 2, b"two"), "does not fit the row");
    refused(replay(&put.key, usize::MAX, b"two"), "out of range");
    // Bytes that are no text.
    refused(replay(&put.key, length - 1, &[0xff]), "bad text content");
    check_indexes(&installer.databases).expect("nothing is wrong");
}
