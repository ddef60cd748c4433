//! Encoding and decoding as a pair, and decoding of arbitrary bytes.

use hyades_types::definition::{CatalogChange, SequenceId, SequenceState, TableId};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Change {
    Put(u32, Vec<u8>, Vec<u8>),
    Patch(u32, Vec<u8>, Vec<(usize, Vec<u8>)>, Vec<u8>),
    Delete(u32, Vec<u8>),
    Drop(u32),
    Draw(u32, SequenceState),
}

fn change() -> impl Strategy<Value = Change> {
    let bytes = || vec(any::<u8>(), 0..300);
    prop_oneof![
        (any::<u32>(), bytes(), bytes()).prop_map(|(table, key, row)| Change::Put(table, key, row)),
        (2..=u32::MAX, bytes(), vec((any::<usize>(), bytes()), 0..3))
            .prop_map(|(table, key, pieces)| patch(table, key, pieces)),
        (any::<u32>(), bytes()).prop_map(|(table, key)| Change::Delete(table, key)),
        any::<u32>().prop_map(Change::Drop),
        (1..=u32::MAX, 0..u64::MAX >> 1, any::<i64>(), any::<bool>()).prop_map(
            |(id, epoch, value, is_called)| Change::Draw(id, SequenceState { epoch, value, is_called })
        ),
    ]
}

/// A patch, with its pieces as they are to be written.
fn patch(table: u32, key: Vec<u8>, pieces: Vec<(usize, Vec<u8>)>) -> Change {
    let mut written = Vec::new();
    for (offset, piece) in &pieces {
        write_varint(&mut written, *offset as u64);
        write_varint(&mut written, piece.len() as u64);
        written.extend_from_slice(piece);
    }
    Change::Patch(table, key, pieces, written)
}

fn encode(changes: &[Change]) -> OperationsWriter {
    let mut writer = OperationsWriter::new();
    for change in changes {
        match change {
            Change::Put(table, key, row) => writer.put(TableId(*table), key, row),
            Change::Patch(table, key, pieces, _) => {
                let pieces = pieces.iter().map(|(offset, piece)| (*offset, piece.as_slice()));
                writer.patch(TableId(*table), key, pieces);
            }
            Change::Delete(table, key) => writer.delete(TableId(*table), key),
            Change::Drop(id) => {
                let change = CatalogChange::DropTable { id: TableId(*id) };
                writer.change_catalog(&change).expect("a change is JSON");
            }
            Change::Draw(id, state) => writer.sequence(SequenceId(*id), *state),
        }
    }
    writer
}

fn as_operation(change: &Change) -> Operation<'_> {
    match change {
        Change::Put(table, key, row) => Operation::Put { table: TableId(*table), key, row },
        Change::Patch(table, key, _, pieces) => Operation::Patch { table: TableId(*table), key, pieces },
        Change::Delete(table, key) => Operation::Delete { table: TableId(*table), key },
        Change::Drop(id) => Operation::Catalog(Box::new(CatalogChange::DropTable { id: TableId(*id) })),
        Change::Draw(id, state) => Operation::Sequence { sequence: SequenceId(*id), state: *state },
    }
}

/// A whole committing record.
fn commit_record(commit: CommitHeader, field: &[u8], body: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    let length = encode_commit(&mut record, commit, |header| header.extend_from_slice(field), body.len());
    record.extend_from_slice(body);
    record.resize(length, 0xee);
    record
}

fn positions(logs: usize) -> impl Strategy<Value = Vec<u64>> {
    vec((0_u64..1 << 40).prop_map(|units| units * 8), logs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn operations_come_back_as_they_went(changes in vec(change(), 0..20)) {
        let writer = encode(&changes);
        let decoded: Vec<Operation<'_>> =
            Operations::new(writer.as_bytes()).collect::<Result<_, _>>().expect("well-formed");
        let expected: Vec<Operation<'_>> = changes.iter().map(as_operation).collect();
        prop_assert_eq!(&decoded, &expected);
        for (operation, change) in decoded.iter().zip(&changes) {
            if let (Operation::Patch { pieces, .. }, Change::Patch(_, _, expected, _)) = (operation, change) {
                let pieces: Vec<(usize, &[u8])> = Pieces::new(pieces).collect::<Result<_, _>>().expect("whole");
                let expected: Vec<(usize, &[u8])> =
                    expected.iter().map(|(offset, piece)| (*offset, piece.as_slice())).collect();
                prop_assert_eq!(pieces, expected);
            }
        }
    }

    #[test]
    fn rows_of_one_table_are_passed_up_to_what_is_not_of_it(
        changes in vec((prop_oneof![0_u32..3, any::<u32>()], change()), 0..40),
        cut in 0_usize..4,
    ) {
        let of_few_tables = changes.into_iter().map(|(table, change)| match change {
            Change::Put(_, key, row) => Change::Put(table, key, row),
            Change::Patch(_, key, pieces, _) => patch(table.max(2), key, pieces),
            Change::Delete(_, key) => Change::Delete(table, key),
            other => other,
        });
        let changes: Vec<Change> = of_few_tables.collect();
        let table = |change: &Change| match change {
            Change::Put(table, ..) | Change::Patch(table, ..) | Change::Delete(table, _) => Some(*table),
            _ => None,
        };
        let mut expected: Vec<&Change> = changes.iter().collect();
        expected.dedup_by(|later, before| table(before).is_some() && table(later) == table(before));
        let writer = encode(&changes);
        let seen = |bytes: &[u8]| {
            let (mut seen, mut operations) = (0, Operations::new(bytes));
            while let Some(operation) = operations.next() {
                seen += 1;
                if let Some((table, _)) = operation?.row() {
                    operations.pass_rows_of(table)?;
                }
            }
            Ok::<usize, Malformed>(seen)
        };
        let bytes = writer.as_bytes();
        prop_assert_eq!(seen(bytes).expect("well-formed"), expected.len());
        // Cut input is an error here if it is one to a reader that decodes all of it.
        let short = &bytes[..bytes.len().saturating_sub(cut)];
        prop_assert_eq!(seen(short).is_err(), Operations::new(short).any(|operation| operation.is_err()));
    }

    #[test]
    fn a_commit_comes_back_with_field_and_body(
        field in vec(any::<u8>(), 0..40),
        body in vec(any::<u8>(), 0..200),
        fragment_of in proptest::option::of(any::<u64>()),
        is_barrier: bool,
        is_phase_odd: bool,
        time in proptest::option::of(0_u64..1 << 56),
    ) {
        let says = Commit { is_barrier, time, is_phase_odd };
        let record = commit_record(CommitHeader { fragment_of, commit: says }, &field, &body);
        prop_assert_eq!(record.len() % 8, 0);
        let mut records = Records::new(Lsn(800), &record);
        let decoded = records.next().expect("a record").expect("well-formed");
        prop_assert_eq!((decoded.start, decoded.end), (Lsn(800), Lsn(800 + record.len() as u64)));
        prop_assert!(records.next().is_none());
        let (commit, content) = match decoded.body {
            RecordBody::Transaction { commit, content } if fragment_of.is_none() => (commit, content),
            RecordBody::Fragment { transaction, commit: Some(commit), content } => {
                prop_assert_eq!(Some(transaction), fragment_of);
                (commit, content)
            }
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(content, [field, body].concat());
        prop_assert_eq!(commit, says);
    }

    #[test]
    fn an_anchor_comes_back(
        durable in (1_usize..=MAX_LOGS).prop_flat_map(positions),
        time in proptest::option::of(0_u64..1 << 56),
    ) {
        let mut record = Vec::new();
        encode_anchor(&mut record, &durable, time);
        let decoded = Records::new(Lsn::ZERO, &record).next().expect("a record").expect("well-formed");
        let anchor = Anchor { durable: LsnVector::from_slice(&durable), time };
        prop_assert_eq!(decoded.body, RecordBody::Control(Control::Anchor(anchor)));
    }

    #[test]
    fn a_milestone_comes_back(stamp in any::<u64>(), durable in any::<u64>(), time in 0_u64..1 << 56) {
        let (mut record, milestone) = (Vec::new(), Milestone { stamp, durable, time });
        encode_milestone(&mut record, milestone);
        let decoded = Records::new(Lsn::ZERO, &record).next().expect("a record").expect("well-formed");
        prop_assert_eq!(decoded.body, RecordBody::Control(Control::Milestone(milestone)));
    }

    #[test]
    fn hostile_bytes_never_panic(bytes in vec(any::<u8>(), 0..400), kind in 0_u8..7, flags in 0_u8..20) {
        let _ = Operations::new(&bytes).count();
        let _ = Records::new(Lsn::ZERO, &bytes).count();
        // And with a header that leads the decoder further.
        let mut record = bytes;
        record.resize(record.len().max(8).next_multiple_of(8), 0);
        let length = record.len() as u32;
        record[..4].copy_from_slice(&length.to_le_bytes());
        (record[4], record[5], record[7]) = (kind, flags, 0);
        for decoded in Records::new(Lsn::ZERO, &record).flatten() {
            if let RecordBody::Transaction { content, .. } = decoded.body {
                let _ = Operations::new(content).count();
            }
        }
    }

    #[test]
    fn a_flipped_bit_never_panics(changes in vec(change(), 1..4), bit in any::<proptest::sample::Index>()) {
        let writer = encode(&changes);
        let mut record = commit_record(CommitHeader::default(), &[], writer.as_bytes());
        let bit = bit.index(record.len() * 8);
        record[bit / 8] ^= 1 << (bit % 8);
        for decoded in Records::new(Lsn::ZERO, &record).flatten() {
            if let RecordBody::Transaction { content, .. } = decoded.body {
                let _ = Operations::new(content).count();
            }
        }
    }
}

#[test]
fn a_filler_is_skipped_and_a_cut_record_ends_the_stream() {
    let mut stream = filler_header(24).to_vec();
    stream.resize(24, 0xff);
    stream.extend(commit_record(CommitHeader::default(), &[], b"operations"));
    let mut whole = Records::new(Lsn::ZERO, &stream);
    assert_eq!(whole.next().map(|record| record.map(|record| record.body)), Some(Ok(RecordBody::Filler)));
    assert!(matches!(whole.next(), Some(Ok(Record { start: Lsn(24), .. }))));
    for length in 24..stream.len() {
        let mut cut = Records::new(Lsn::ZERO, &stream[..length]);
        assert_eq!(cut.by_ref().count(), 1, "{length}");
        assert_eq!(cut.reached(), Lsn(24));
    }
}

#[test]
fn zeroes_are_no_record() {
    let decoded = Records::new(Lsn::ZERO, &[0; 64]).next();
    assert!(matches!(decoded, Some(Err(Malformed { offset: 0, .. }))));
}
