//! Which transactions count.

use super::*;

/// What a transaction follows that names these positions of each log, after this anchor.
fn positions(anchor: &[u64], named: &[Option<u64>]) -> Positions {
    let mut positions = Positions::zero(anchor.len());
    positions.rebase(&LsnVector::from_slice(anchor));
    let named = named.iter().enumerate().filter_map(|(log, named)| Some((log, (*named)?)));
    named.for_each(|(log, position)| positions.name(log, Lsn(position)));
    positions
}

fn cut(limit: &[u64], known: &[u64], has_lost: bool) -> Cut {
    let known = LsnVector::from_slice(known);
    Cut { known, has_lost, ..Cut::at(&LsnVector::from_slice(limit), EVERY_STAMP) }
}

const HERE: (usize, Lsn) = (0, Lsn(400));

#[test]
fn each_bound_has_its_verdict() {
    let cut = cut(&[400, 160], &[400, 240], false);
    let counts = |named| Follows::Positions(&positions(&[0, 0], &[None, named])).counts(HERE, &cut);
    assert_eq!(counts(None), Counts::Yes);
    assert_eq!(counts(Some(160)), Counts::Yes);
    assert_eq!(counts(Some(168)), Counts::Unsettled { on_log: 1 });
    assert_eq!(counts(Some(240)), Counts::Unsettled { on_log: 1 });
    assert_eq!(counts(Some(248)), Counts::No);
}

#[test]
fn what_an_anchor_names_is_durable_unless_something_is_lost() {
    let (positions, ends) = (positions(&[8, 200], &[None, None]), [400, 160]);
    let follows = Follows::Positions(&positions);
    assert_eq!(follows.counts(HERE, &Cut::at(&LsnVector::from_slice(&ends), EVERY_STAMP)), Counts::Yes);
    assert_eq!(follows.counts(HERE, &Cut::not_before(LsnVector::from_slice(&ends), 0)), Counts::Yes);
    // All of the log is known: the anchor lies inside a record that never ended.
    assert_eq!(follows.counts(HERE, &cut(&ends, &ends, true)), Counts::Yes);
    let lost = cut(&ends, &[400, u64::MAX], true);
    assert_eq!(follows.counts(HERE, &lost), Counts::Unsettled { on_log: 1 });
}

#[test]
fn positions_are_raised_by_what_is_named_alone_beyond_the_ends() {
    let positions = positions(&[8, 808], &[Some(16), None]);
    let follows = Follows::Positions(&positions);
    let ends = LsnVector::from_slice(&[400, 800]);
    assert_eq!(follows.positions(Lsn(400), &ends).entries(), &[16, 800]);
    assert_eq!(follows.vector(), Some(LsnVector::from_slice(&[16, 808])));
    let kept = follows.keep();
    for (end, counts) in [(16, Counts::Yes), (8, Counts::No)] {
        let cut = Cut::at(&LsnVector::from_slice(&[end, 800]), EVERY_STAMP);
        assert_eq!((follows.counts(HERE, &cut), kept.follows().counts(HERE, &cut)), (counts, counts));
    }
    assert!(follows.check(0, Lsn(16)).is_ok() && follows.check(0, Lsn(8)).is_err());
}

#[test]
fn in_a_total_order_a_record_follows_its_log() {
    let cut = cut(&[400], &[800], false);
    let counts = |start| Follows::AllBefore.counts((0, Lsn(start)), &cut);
    assert_eq!((counts(400), counts(800)), (Counts::Yes, Counts::Unsettled { on_log: 0 }));
    assert_eq!(counts(808), Counts::No);
    assert_eq!(Follows::AllBefore.positions(Lsn(72), &cut.known).entries(), &[72]);
    assert_eq!(Follows::AllBefore.vector(), None);
}

#[test]
fn a_stamp_is_settled_when_all_logs_are_complete_up_to_it() {
    let counts = |stamp, cut: &Cut| {
        let follows = Follows::Stamp(stamp);
        assert_eq!(follows.keep().follows().counts(HERE, cut), follows.counts(HERE, cut));
        follows.counts(HERE, cut)
    };
    let ends = LsnVector::from_slice(&[400, 160]);
    let reading = Cut::not_before(ends.clone(), 7);
    assert_eq!((counts(7, &reading), counts(8, &reading)), (Counts::Yes, Counts::Unsettled { on_log: 0 }));
    let known = Cut::at(&ends, 7);
    assert_eq!((counts(7, &known), counts(8, &known)), (Counts::Yes, Counts::No));
    assert_eq!(counts(u64::MAX, &Cut::at(&ends, EVERY_STAMP)), Counts::Yes);
}
