//! One hand-written history for each anomaly, and valid ones that look suspicious.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::history::{ListOperation, Outcome, append, read};

use Outcome::{Aborted, Committed, Unknown};

fn kinds(history: &History, real_time: bool) -> Vec<AnomalyKind> {
    match check(history, CheckOptions { real_time }) {
        Ok(_) => Vec::new(),
        Err(anomalies) => {
            assert!(!explain(&anomalies).is_empty());
            anomalies.iter().map(|anomaly| anomaly.kind).collect()
        }
    }
}

fn concurrent(transactions: &[&[ListOperation]]) -> History {
    let history = transactions.iter().fold(History::default(), |history, one| history.then(Committed, one));
    history.concurrent()
}

#[test]
fn a_serial_history_is_valid() {
    let history = History::default()
        .then(Committed, &[append(1, 1), read(2, &[])])
        .then(Aborted, &[append(1, 2), read(1, &[1, 2])])
        .then(Committed, &[read(1, &[1]), append(1, 3), read(1, &[1, 3]), append(2, 4)])
        .then(Unknown, &[append(2, 5)])
        .then(Committed, &[read(1, &[1, 3]), read(2, &[4])]);
    let report = check(&history, CheckOptions { real_time: true }).unwrap();
    assert_eq!(report.transactions, 3);
    assert_eq!(report.elements, 3);
    assert!(report.edges >= 3);
}

#[test]
fn an_unknown_transaction_that_was_read_counts() {
    let history = History::default()
        .then(Unknown, &[append(1, 1), append(2, 2)])
        .then(Committed, &[read(1, &[1]), read(2, &[])])
        .concurrent();
    assert_eq!(kinds(&history, false), [AnomalyKind::GSingle]);
    let alone = History::default().then(Unknown, &[append(1, 1)]).then(Committed, &[read(1, &[])]);
    assert_eq!(kinds(&alone, true), []);
}

#[test]
fn g0_two_writers_interleave() {
    let history = concurrent(&[
        &[append(1, 1), append(2, 1)],
        &[append(1, 2), append(2, 2)],
        &[read(1, &[1, 2]), read(2, &[2, 1])],
    ]);
    let anomalies = check(&history, CheckOptions::default()).unwrap_err();
    assert_eq!(anomalies[0].kind, AnomalyKind::G0);
    assert_eq!(anomalies[0].transactions.len(), 2);
    assert!(anomalies[0].explanation.contains("in key 1 T1's 2 stands after T0's 1"), "{}", anomalies[0]);
}

#[test]
fn g1a_reading_what_was_rolled_back() {
    let history = History::default().then(Aborted, &[append(1, 1)]).then(Committed, &[read(1, &[1])]);
    assert_eq!(kinds(&history, false), [AnomalyKind::G1a]);
}

#[test]
fn g1b_reading_half_a_transaction() {
    let history = concurrent(&[&[append(1, 1), append(1, 2)], &[read(1, &[1])], &[read(1, &[1, 2])]]);
    assert!(kinds(&history, false).contains(&AnomalyKind::G1b));
}

#[test]
fn g1c_each_reads_the_other() {
    let history = concurrent(&[&[append(1, 1), read(2, &[2])], &[append(2, 2), read(1, &[1])]]);
    assert_eq!(kinds(&history, false), [AnomalyKind::G1c]);
}

#[test]
fn g_single_read_skew() {
    let history = concurrent(&[&[append(1, 1), append(2, 2)], &[read(1, &[]), read(2, &[2])]]);
    assert_eq!(kinds(&history, false), [AnomalyKind::GSingle]);
}

#[test]
fn g_single_lost_update() {
    let history = concurrent(&[
        &[append(1, 1)],
        &[read(1, &[1]), append(1, 2)],
        &[read(1, &[1]), append(1, 3)],
        &[read(1, &[1, 2, 3])],
    ]);
    assert_eq!(kinds(&history, false), [AnomalyKind::GSingle]);
}

#[test]
fn g2_write_skew() {
    let history = concurrent(&[
        &[read(1, &[]), append(2, 2)],
        &[read(2, &[]), append(1, 1)],
        &[read(1, &[1]), read(2, &[2])],
    ]);
    let anomalies = check(&history, CheckOptions::default()).unwrap_err();
    assert_eq!(anomalies[0].kind, AnomalyKind::G2);
    assert_eq!(anomalies[0].transactions.len(), 2);
}

#[test]
fn g2_even_if_the_appends_are_never_read() {
    let history = concurrent(&[&[read(1, &[]), append(2, 2)], &[read(2, &[]), append(1, 1)]]);
    assert_eq!(kinds(&history, false), [AnomalyKind::G2]);
}

#[test]
fn a_stale_read_is_serializable_but_not_strictly() {
    let history = History::default()
        .then(Committed, &[append(1, 1)])
        .then(Committed, &[append(1, 2)])
        .then(Committed, &[read(1, &[1])]);
    assert_eq!(kinds(&history, false), []);
    assert_eq!(kinds(&history, true), [AnomalyKind::Lost, AnomalyKind::GSingle]);
    let with_both = history.then(Committed, &[read(1, &[1, 2])]);
    assert_eq!(kinds(&with_both, false), []);
    let anomalies = check(&with_both, CheckOptions { real_time: true }).unwrap_err();
    assert!(anomalies[0].is_real_time);
    assert!(anomalies[0].explanation.contains("was answered before"), "{}", anomalies[0]);
}

#[test]
fn an_acknowledged_append_that_no_later_read_shows_is_lost() {
    let history = History::default().then(Committed, &[append(1, 1)]).then(Committed, &[read(1, &[])]);
    assert_eq!(kinds(&history, false), []);
    assert!(kinds(&history, true).contains(&AnomalyKind::Lost));
}

#[test]
fn duplicates_garbage_and_incompatible_orders() {
    let twice = concurrent(&[&[append(1, 1)], &[read(1, &[1, 1])]]);
    assert!(kinds(&twice, false).contains(&AnomalyKind::Duplicate));
    let reused = concurrent(&[&[append(1, 1)], &[append(1, 1)]]);
    assert!(kinds(&reused, false).contains(&AnomalyKind::Duplicate));
    let garbage = concurrent(&[&[read(1, &[9])]]);
    assert_eq!(kinds(&garbage, false), [AnomalyKind::Garbage]);
    let orders = concurrent(&[&[append(1, 1)], &[append(1, 2)], &[read(1, &[1, 2])], &[read(1, &[2])]]);
    assert!(kinds(&orders, false).contains(&AnomalyKind::IncompatibleOrder));
}

#[test]
fn a_transaction_must_see_its_own_appends_and_repeat_its_reads() {
    let blind = concurrent(&[&[append(1, 1), read(1, &[])]]);
    assert!(kinds(&blind, false).contains(&AnomalyKind::Internal));
    let unrepeatable = concurrent(&[&[append(1, 1)], &[read(1, &[]), read(1, &[1])]]);
    assert!(kinds(&unrepeatable, false).contains(&AnomalyKind::Internal));
}

/// Runs transactions of (key, is_append) one after the other, as a serial database would.
fn run_serially(script: &[Vec<(u64, bool)>]) -> History {
    let mut lists: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut element = 0;
    script.iter().fold(History::default(), |history, transaction| {
        let mut operations = Vec::new();
        for (key, is_append) in transaction {
            let list = lists.entry(*key).or_default();
            if *is_append {
                element += 1;
                list.push(element);
                operations.push(append(*key, element));
            } else {
                operations.push(read(*key, list));
            }
        }
        history.then(Committed, &operations)
    })
}

fn script() -> impl Strategy<Value = Vec<Vec<(u64, bool)>>> {
    prop::collection::vec(prop::collection::vec((0..4u64, any::<bool>()), 1..5), 1..40)
}

proptest! {
    #[test]
    fn serial_histories_are_always_valid(script in script()) {
        prop_assert_eq!(kinds(&run_serially(&script), true), []);
    }

    #[test]
    fn a_read_that_misses_the_last_element_is_always_found(script in script()) {
        let mut history = run_serially(&script);
        let last = history.transactions.iter().rev().find_map(|transaction| {
            transaction.operations.iter().rev().find_map(|operation| match operation {
                ListOperation::Append { key, element } => Some((*key, *element)),
                ListOperation::Read { .. } => None,
            })
        });
        let Some((key, element)) = last else { return Ok(()) };
        let list: Vec<u64> = history.transactions.iter().flat_map(|transaction| &transaction.operations)
            .filter_map(|operation| match operation {
                ListOperation::Append { key: to, element: one } if *to == key && *one != element => Some(*one),
                _ => None,
            })
            .collect();
        history = history.then(Committed, &[read(key, &list)]);
        prop_assert!(!kinds(&history, true).is_empty());
    }
}
