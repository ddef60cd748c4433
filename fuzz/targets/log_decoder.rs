//! Bytes of a log whose checksum happened to be right: log records, the operations in them, their LSN
//! vectors.
//!
//! Checks, beside no panic and bounded memory: positions only grow, no record reaches behind the bytes, and a
//! vector names only logs that there are.

#![no_main]

use hyades_engine::log::record::{Control, Operations, RecordBody, Records};
use hyades_engine::lsn::Lsn;
use hyades_engine::protocol::list::recovery;
use libfuzzer_sys::fuzz_target;

const LOGS: usize = 2;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = recovery("taurus", LOGS).expect("it has logs").reader();
    let mut reached = Lsn(0);
    let mut records = Records::new(Lsn(0), bytes);
    while let Some(record) = records.next() {
        let Ok(record) = record else { break };
        assert!(record.start == reached && record.end > record.start);
        assert!(record.end.0 <= bytes.len() as u64);
        reached = record.end;
        let (field, operations) = match record.body {
            RecordBody::Transaction { content, .. }
            | RecordBody::Fragment { commit: Some(_), content, .. } => {
                let Ok(length) = reader.field_bytes(content) else { continue };
                let (field, operations) = content.split_at(length);
                (Some(field), operations)
            }
            RecordBody::Fragment { content, .. } => (None, content),
            RecordBody::Control(control) => {
                if let Control::Milestone(milestone) = control {
                    assert!(milestone.time >> 56 == 0);
                }
                continue;
            }
            RecordBody::Filler => continue,
        };
        for operation in Operations::new(operations) {
            if operation.is_err() {
                break;
            }
        }
        if field.is_some_and(|field| reader.read(field).is_ok()) {
            let vector = reader.follows().vector().expect("Taurus has one");
            assert!(vector.entries().len() <= LOGS);
        }
    }
    assert_eq!(records.reached(), reached);
});
