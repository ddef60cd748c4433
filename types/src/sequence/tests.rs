//! Drawing, limits, epochs, and names in texts.

use super::*;
use crate::value::SqlType;

fn definition(increment: i64, (least, greatest): (i64, i64), cycles: bool) -> SequenceDefinition {
    SequenceDefinition {
        name: TableName { schema: "public".to_owned(), name: "s".to_owned() },
        sql_type: SqlType::BigInt,
        start: if increment > 0 { least } else { greatest },
        increment,
        least,
        greatest,
        cache: 1,
        cycles,
        owner: None,
        version: 0,
    }
}

fn sequence(increment: i64, range: (i64, i64), cycles: bool) -> Sequence {
    Sequence::new(SequenceId(1), definition(increment, range, cycles))
}

fn drawn(sequence: &Sequence, count: usize) -> Vec<i64> {
    (0..count).map(|_| sequence.draw().expect("there are more").value).collect()
}

#[test]
fn numbers_go_up_or_down_to_the_end() {
    let up = sequence(2, (1, 6), false);
    assert_eq!(drawn(&up, 3), [1, 3, 5]);
    assert!(up.draw().is_err_and(|error| error.to_string().contains("reached maximum value")));
    let down = sequence(-2, (-5, -1), false);
    assert_eq!(drawn(&down, 3), [-1, -3, -5]);
    assert!(down.draw().is_err_and(|error| error.to_string().contains("reached minimum value")));
    let top = sequence(1, (i64::MAX - 1, i64::MAX), false);
    assert_eq!(drawn(&top, 2), [i64::MAX - 1, i64::MAX]);
    assert!(top.draw().is_err());
}

#[test]
fn a_cycle_is_a_new_epoch() {
    let sequence = sequence(1, (1, 2), true);
    let states: Vec<SequenceState> = (0..3).map(|_| sequence.draw().expect("it cycles")).collect();
    assert_eq!(states.iter().map(|state| state.value).collect::<Vec<i64>>(), [1, 2, 1]);
    assert!(states.is_sorted_by(|one, other| other.is_after(*one, 1)));
}

#[test]
fn states_may_come_in_any_order() {
    let forward = sequence(1, (1, 100), false);
    let mut states: Vec<SequenceState> = (0..3).map(|_| forward.draw().unwrap()).collect();
    states.push(forward.set(50, false).unwrap());
    states.push(forward.draw().unwrap());
    states.push(forward.set(7, true).unwrap());
    for rotation in 0..states.len() {
        let replayed = sequence(1, (1, 100), false);
        let mut order = states.clone();
        order.rotate_left(rotation);
        order.into_iter().for_each(|state| replayed.raise(state));
        assert_eq!(replayed.state(), forward.state());
        assert_eq!(replayed.unlogged(), None);
        assert_eq!(drawn(&replayed, 1), [8]);
    }
}

#[test]
fn a_private_counter_raises_the_public_one() {
    let public = Arc::new(sequence(1, (1, 100), false));
    assert_eq!(drawn(&public, 2), [1, 2]);
    let restarted = public.altered(public.definition.clone(), Some(public.restarted(1, false)));
    assert!(restarted.is_private());
    assert_eq!((drawn(&restarted, 3), drawn(&public, 1)), (vec![1, 2, 3], vec![3]));
    let published = restarted.published(Box::default());
    assert_eq!(drawn(&published, 1), [4]);
    assert_eq!(drawn(&public, 1), [5], "one counter again");
}

#[test]
fn what_is_set_later_outlives_a_restart() {
    let public = sequence(1, (1, 100), false);
    let restarted = public.altered(public.definition.clone(), Some(public.restarted(1, false)));
    public.set(40, true).unwrap();
    assert_eq!(drawn(&restarted.published(Box::default()), 1), [41]);
}

#[test]
fn every_number_is_drawn_once() {
    let sequence = sequence(1, (1, i64::MAX), false);
    let mut all: Vec<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| drawn(&sequence, 1000))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_unstable();
    assert_eq!(all, (1..=4000).collect::<Vec<i64>>());
}

#[test]
fn a_statement_that_is_begun_again_draws_the_same() {
    let shared = Arc::new(sequence(1, (1, 100), false));
    let own = vec![OwnSequence::Changed(Arc::clone(&shared))];
    let mut session = SessionSequences { own, ..SessionSequences::default() };
    let draw = |session: &mut SessionSequences| session.draw(Arc::clone(&shared)).expect("there are more");
    session.begin_statement(false);
    let first: Vec<i64> = (0..3).map(|_| draw(&mut session)).collect();
    shared.draw().expect("drawn by another session");
    let second = draw(&mut session);
    assert_eq!((first, second), (vec![1, 2, 3], 5));
    session.take_draws();
    assert_eq!(session.last().ok().map(|(_, value)| value), Some(5));
    session.repeat_statement();
    assert!(session.last().is_err() && session.current(&shared).is_err(), "as before");
    assert_eq!((0..2).map(|_| draw(&mut session)).collect::<Vec<i64>>(), [1, 2]);
    session.repeat_statement();
    assert_eq!((0..5).map(|_| draw(&mut session)).collect::<Vec<i64>>(), [1, 2, 3, 5, 6]);
    assert_eq!(session.take_draws()[0].state.value, 6);
    session.begin_statement(false);
    assert_eq!(draw(&mut session), 7);
}

#[test]
fn names_are_read_as_postgresql_reads_them() {
    let parts = |text| name_parts(text).ok().map(|parts| parts.join("|"));
    assert_eq!(parts("S").as_deref(), Some("s"));
    assert_eq!(parts(" public . \"A\"\"b.c\" ").as_deref(), Some("public|A\"b.c"));
    for text in ["", "a b", "a.", ".a", "\"a", "a\"b\" c"] {
        assert_eq!(parts(text), None, "{text}");
    }
}
