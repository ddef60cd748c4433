//! Bytes of a log whose checksum happened to be right: log records, the operations in them, their LSN
//! vectors.
//!
//! Checks, beside no panic and bounded memory: positions only grow, no record reaches behind the bytes, and a
//! vector is never below the anchor it was compressed against.

#![no_main]

use hyades_engine::log::record::{Operations, RecordBody, Records};
use hyades_engine::lsn::{Lsn, LsnVector};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut anchor = LsnVector::zero(2);
    let mut reached = Lsn(0);
    let mut records = Records::new(Lsn(0), bytes);
    while let Some(record) = records.next() {
        let Ok(record) = record else { break };
        assert!(record.start == reached && record.end > record.start);
        assert!(record.end.0 <= bytes.len() as u64);
        reached = record.end;
        let (commit, operations) = match record.body {
            RecordBody::Transaction { commit, operations } => (Some(commit), operations),
            RecordBody::Fragment { commit, operations, .. } => (commit, operations),
            RecordBody::Anchor(vector) => {
                anchor = vector;
                continue;
            }
            RecordBody::Filler => continue,
        };
        for operation in Operations::new(operations) {
            if operation.is_err() {
                break;
            }
        }
        let mut whole = LsnVector::zero(anchor.entries().len());
        if commit.is_some_and(|commit| commit.vector.decompress(anchor.entries(), &mut whole).is_ok()) {
            assert!(whole.entries().iter().zip(anchor.entries()).all(|(entry, floor)| entry >= floor));
        }
    }
    assert_eq!(records.reached(), reached);
});
