//! What a round takes of the batches that have been read.

use super::*;
use crate::recovery::schedule::{BatchBytes, BatchEntry};

/// A part of the only log: where it ends, the bound after it, and the numbers of its records.
struct Given {
    end: u64,
    bound: u64,
    numbers: &'static [u64],
}

/// A state in which these parts have been read and routed, one after the other.
fn read(parts: &[Given]) -> State {
    let end = parts.last().map_or(0, |part| part.end);
    let mut state = State::new(std::slice::from_ref(&(0..end)), 4, 2, 0);
    for part in parts {
        read_one(&mut state, (part.end, part.bound), false, part.numbers);
        let log = &state.logs[0];
        assert_eq!(log.pending, log.parts.iter().map(|part| part.bytes).sum::<u64>());
    }
    state
}

/// Reads the only log on, up to a position and with a bound, and routes what was read.
fn read_one(state: &mut State, (end, bound): (u64, u64), is_end: bool, numbers: &[u64]) {
    let Some((Next::Read(Read { log: 0, slot, .. }), _)) = state.next() else {
        panic!("there is more to read")
    };
    let batch = Batch { end, go_on_from: end, ..Batch::default() };
    state.note_read(Read { log: 0, slot, batch }, is_end, Some(bound));
    if let Some(read) = state.read.pop_front() {
        state.note_routed(read, Routed::of_numbers(numbers));
    }
}

/// Bytes that are enough for a round.
const ENOUGH: u64 = 1 << 20;

fn begun(state: &mut State) -> Arc<Round> {
    match state.next() {
        Some((Next::Replay(round, 0), true)) => round,
        _ => panic!("a round begins"),
    }
}

#[test]
fn a_round_takes_no_batch_that_lies_after_it() {
    let mut state = read(&[
        Given { end: 8, bound: 0, numbers: &[1, 3] },
        Given { end: ENOUGH, bound: 5, numbers: &[2, 6] },
        Given { end: ENOUGH + 8, bound: 9, numbers: &[7, 12] },
    ]);
    let round = begun(&mut state);
    assert_eq!((round.after, round.up_to, round.batches.len()), (0, 9, 3));
    // Everything up to 9 has been replayed, and 12 not.
    let partitions = state.partitions;
    state.logs[0].is_read = true;
    (1..partitions).for_each(|partition| {
        assert!(matches!(state.next(), Some((Next::Replay(_, number), _)) if number == partition));
    });
    (0..partitions).for_each(|partition| {
        state.end_partition(&round, partition, 0);
    });
    assert_eq!(state.logs[0].parts.len(), 1);
    assert_eq!(state.logs[0].between(9, 20).count(), 1);
    assert_eq!(state.logs[0].pending, 8);
}

#[test]
fn what_comes_after_a_bound_is_not_looked_at() {
    let mut state = read(&[
        Given { end: 8, bound: 4, numbers: &[1, 3] },
        Given { end: 16, bound: 5, numbers: &[6] },
        Given { end: 24, bound: 6, numbers: &[7] },
    ]);
    let log = &state.logs[0];
    assert_eq!(log.between(0, 4).count(), 1);
    assert_eq!(log.between(0, 6).count(), 2, "the third part may have nothing up to 6");
    assert_eq!(log.between(3, 7).count(), 2);
    assert_eq!((state.complete_bytes(3), state.complete_bytes(6), state.complete_bytes(9)), (8, 16, 24));
}

/// The partition that a worker is told to replay, of which round.
fn partition(state: &mut State) -> (u64, usize) {
    match state.next() {
        Some((Next::Replay(round, partition), _)) => (round.up_to, partition),
        _ => panic!("there is a partition"),
    }
}

/// Reads the only log on, whose first two parts are enough for a round each.
fn read_on(state: &mut State, is_end: bool, numbers: &[u64]) {
    read_one(state, (2 * ENOUGH, 5), is_end, numbers);
}

#[test]
fn a_worker_reads_until_there_is_enough_for_the_next_round() {
    let mut state = read(&[Given { end: ENOUGH, bound: 5, numbers: &[1, 5] }]);
    begun(&mut state);
    read_on(&mut state, false, &[6]);
    assert_eq!(partition(&mut state), (5, 1));
    // Another worker reads already.
    let mut state = read(&[Given { end: ENOUGH, bound: 5, numbers: &[1, 5] }]);
    begun(&mut state);
    state.logs[0].is_read = true;
    assert_eq!(partition(&mut state), (5, 1));
}

#[test]
fn a_round_begins_with_the_partitions_that_the_one_before_has_ended() {
    let mut state = read(&[Given { end: ENOUGH, bound: 5, numbers: &[1, 5] }]);
    let first = begun(&mut state);
    state.logs[0].positions.end = 2 * ENOUGH;
    read_on(&mut state, false, &[6, 8]);
    (1..4).for_each(|number| assert_eq!(partition(&mut state), (5, number)));
    read_on(&mut state, true, &[]);
    assert!(state.next().is_none(), "the first partition has not ended");
    assert!(state.end_partition(&first, 1, 0).is_none());
    assert!(state.next().is_none(), "it is the turn of the first partition");
    assert!(state.end_partition(&first, 0, 2).is_none());
    assert!(matches!(state.next(), Some((Next::Replay(second, 0), true)) if second.after == 5));
    assert_eq!(partition(&mut state), (LAST, 1));
    assert!(state.next().is_none());
    assert_eq!((state.replayed, state.transactions), (0, 0));
    assert!(state.end_partition(&first, 2, 0).is_none());
    assert!(state.end_partition(&first, 3, 0).is_some(), "the first round has ended");
    assert_eq!((state.replayed, state.transactions, state.rounds.len()), (5, 2, 1));
}

#[test]
fn a_batch_that_has_been_routed_keeps_nothing_of_its_log() {
    let mut state = State::new(std::slice::from_ref(&(0..ENOUGH)), 4, 2, 0);
    let Some((Next::Read(Read { log, slot, mut batch }), _)) = state.next() else {
        panic!("there is more to read")
    };
    let (bytes, large) = (Arc::new(vec![0; 8]), Arc::new(vec![0; 8]));
    let operations = BatchBytes::Assembled(Arc::clone(&large));
    let entry = BatchEntry {
        from: 0,
        start: 0,
        end: 8,
        time: Some(1),
        is_barrier: false,
        vector: 0,
        ids: 0..0,
        operations,
    };
    batch.entries.push(entry);
    batch.bytes = Arc::clone(&bytes);
    state.note_read(Read { log, slot, batch }, false, Some(5));
    let read = state.read.pop_front().expect("it has been read");
    state.note_routed(read, Routed::of_numbers(&[1]));
    assert_eq!((Arc::strong_count(&bytes), Arc::strong_count(&large)), (1, 1));
}

/// What has been read of one log is of no use before the other one has come as far.
#[test]
fn the_log_that_is_behind_is_read_first() {
    let mut state = State::new(&[0..4 * ENOUGH, 0..4 * ENOUGH], 4, 2, 0);
    for (log, end, bound) in [(0, ENOUGH, 5), (1, ENOUGH, 5), (0, 3 * ENOUGH, 90)] {
        if end > ENOUGH {
            begun(&mut state);
        }
        let Some((Next::Read(Read { log: number, slot, .. }), _)) = state.next() else {
            panic!("{log} is read")
        };
        assert_eq!(number, log);
        let batch = Batch { end, go_on_from: end, ..Batch::default() };
        state.note_read(Read { log, slot, batch }, false, Some(bound));
        let read = state.read.pop_front().expect("it has been read");
        state.note_routed(read, Routed::of_numbers(&[bound]));
    }
    assert!(matches!(state.next(), Some((Next::Read(Read { log: 1, .. }), _))));
    assert_eq!(partition(&mut state), (5, 1));
}

/// A log is read in parts, the first of which has a record that begins after the second part does: that one
/// may have something that comes before.
#[test]
fn a_watermark_passes_no_part_that_has_not_been_replayed() {
    let mut state = read(&[
        Given { end: 8, bound: 0, numbers: &[1, 600] },
        Given { end: ENOUGH, bound: 5, numbers: &[2, 6] },
    ]);
    assert_eq!(state.raise(5), [(0, 8)]);
}
