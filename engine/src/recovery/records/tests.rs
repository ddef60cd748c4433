//! What a walk sees, lends and refuses.

use super::*;
use crate::config::{Config, ProtocolKind};
use crate::log::manifest::{LogShape, Manifest};
use crate::log::record::{CommitHeader, encode_anchor, encode_commit, encode_fragment, write_position};

fn walk(log: usize) -> Walk<Assembled> {
    let config = Config { protocol: ProtocolKind::Taurus, ..Config::new("data") };
    let incarnation = Manifest::create().plan_incarnation(&config, LogShape { logs: 2, stripes: 1 });
    Walk::new(&incarnation, log).expect("it has logs")
}

/// Records in log order.
#[derive(Default)]
struct Stream(Vec<u8>);

impl Stream {
    fn push(&mut self, record: Vec<u8>, body: &[u8], length: usize) -> &mut Stream {
        let start = self.0.len();
        self.0.extend_from_slice(&record);
        self.0.extend_from_slice(body);
        self.0.resize(start + length, 0);
        self
    }

    /// A transaction that names this position of log 1, if any, or the last fragment of a large one.
    fn commit(&mut self, named: Option<u64>, fragment_of: Option<u64>, body: &[u8]) -> &mut Stream {
        let write_field = |field: &mut Vec<u8>| {
            field.push(if named.is_some() { 0b10 } else { 0 });
            named.into_iter().for_each(|position| write_position(field, position));
        };
        let mut record = Vec::new();
        let says = CommitHeader { fragment_of, commit: Commit::default() };
        let length = encode_commit(&mut record, says, write_field, body.len());
        self.push(record, body, length)
    }

    fn fragment(&mut self, of: u64, body: &[u8]) -> &mut Stream {
        let mut record = Vec::new();
        let length = encode_fragment(&mut record, of, body.len());
        self.push(record, body, length)
    }

    fn anchor(&mut self, durable: &[u64]) -> &mut Stream {
        let mut record = Vec::new();
        encode_anchor(&mut record, durable, None);
        let length = record.len();
        self.push(record, &[], length)
    }
}

/// The operations and the vector of each transaction, and how it is held: lent, or from so many fragments.
fn seen(walk: &mut Walk<Assembled>, bytes: &[u8]) -> Vec<(Vec<u8>, LsnVector, Option<usize>)> {
    let mut found = Vec::new();
    while let Some(seen) = walk.next(Lsn::ZERO, bytes).expect("well-formed") {
        let What::Transaction(last) = seen.what else { continue };
        let said = walk.read(&last).expect("well-formed");
        let vector = said.follows.expect("it makes sense").vector().expect("Taurus has one");
        found.push(match said.body {
            Body::InRecord(lent) => {
                assert!(bytes.as_ptr_range().contains(&lent.as_ptr()), "it lies in the chunk");
                (lent.to_vec(), vector, None)
            }
            Body::Gathered(whole) => (whole.operations, vector, Some(whole.fragments)),
        });
    }
    found
}

#[test]
fn records_are_lent_and_fragments_gathered_with_the_anchors_before_them() {
    let mut stream = Stream::default();
    stream.commit(Some(80), None, b"one").fragment(7, b"lar").anchor(&[0, 160]);
    stream.fragment(8, b"never").commit(None, None, b"two").fragment(7, b"g").commit(
        Some(240),
        Some(7),
        b"e",
    );
    let vector = LsnVector::from_slice;
    let expected = [
        (b"one".to_vec(), vector(&[0, 80]), None),
        (b"two".to_vec(), vector(&[0, 160]), None),
        (b"large".to_vec(), vector(&[0, 240]), Some(3)),
    ];
    let mut walk = walk(0);
    assert_eq!(seen(&mut walk, &stream.0), expected);
    assert_eq!((walk.position().0, walk.durable()), (stream.0.len() as u64, &vector(&[0, 160])));
    assert_eq!(walk.give_up_unfinished(), 1);
}

#[test]
fn nothing_is_seen_before_the_position_or_beyond_the_limit() {
    let mut stream = Stream::default();
    let ends = [b"one", b"two", b"six"].map(|body| Lsn(stream.commit(None, None, body).0.len() as u64));
    // Whatever comes after the limit is not looked at.
    stream.0.extend_from_slice(&[0xff; 16]);
    let mut middle = walk(0).from(ends[0]).up_to(ends[1]);
    let found = seen(&mut middle, &stream.0);
    assert_eq!(found.iter().map(|one| one.0.as_slice()).collect::<Vec<_>>(), [b"two"]);
    assert!(middle.check_limit(Lsn(stream.0.len() as u64)).is_ok());
    let mut inside = walk(0).up_to(Lsn(ends[1].0 + 8));
    assert_eq!(seen(&mut inside, &stream.0).len(), 2);
    let refused = inside.check_limit(ends[2]).expect_err("a record goes on there");
    assert_eq!(refused.position, ends[1]);
    let late = walk(0).from(Lsn(8)).next(Lsn(16), &stream.0[16..]).err();
    assert!(late.is_some_and(|damaged| damaged.reason.contains("begins after the position")));
}

#[test]
fn anchors_that_make_no_sense_are_damage() {
    for (durable, reason) in [(&[0, 8, 8][..], "names 3 logs"), (&[8, 0], "what was appended after it")] {
        let mut stream = Stream::default();
        stream.anchor(durable).commit(None, None, b"one");
        let mut strict = walk(0);
        let damaged = strict.next(Lsn::ZERO, &stream.0).err().expect("it is refused");
        assert!(damaged.reason.contains(reason), "{}", damaged.reason);
        assert_eq!(strict.position(), Lsn::ZERO, "for a reader that looks for records after it");
        // After damage, it is not believed.
        let mut lenient = walk(0);
        lenient.skip_damage();
        let found = seen(&mut lenient, &stream.0);
        assert_eq!(found[0].1, LsnVector::zero(2));
        assert_eq!(lenient.durable(), &LsnVector::zero(2));
    }
}

#[test]
fn fields_that_name_another_log_make_no_sense() {
    let mut stream = Stream::default();
    let mut record = Vec::new();
    let length = encode_commit(&mut record, CommitHeader::default(), |field| field.extend([0b100, 1]), 3);
    stream.push(record, b"one", length);
    let mut walk = walk(0);
    let next = walk.next(Lsn::ZERO, &stream.0).expect("well-formed").expect("it is there");
    let What::Transaction(last) = next.what else { panic!("it is one") };
    let said = walk.read(&last).expect("its end is known");
    assert!(said.follows.is_err() && said.field_bytes == 2);
    assert!(matches!(said.body, Body::InRecord(b"one")));
}
