//! Keys of a table in their order, for an ordered index of any type that takes them over at once
//! (`primary_index::bulk`), or is not in use yet (`early_runs`).

use crossbeam_epoch::Guard;

use super::ordered_index::SortedRun;
use super::ordered_index::key::{ByteString, IndexKey};
use super::record::{OwnedRecord, Record};

/// Keys in their order, with their records.
pub(super) enum KeyRun {
    Narrow(SortedRun<u64>),
    Wide(SortedRun<u128>),
    Bytes(SortedRun<ByteString>),
}

impl KeyRun {
    /// Appends a key that the index accepts. False, and the record is dropped, unless it is above the others.
    pub(super) fn push(&mut self, key: &[u8], record: OwnedRecord) -> bool {
        fn own<K: IndexKey>(key: &[u8]) -> K::Owned {
            K::own(K::probe(key))
        }
        match self {
            KeyRun::Narrow(run) => run.push(own::<u64>(key), record),
            KeyRun::Wide(run) => run.push(own::<u128>(key), record),
            KeyRun::Bytes(run) => run.push(own::<ByteString>(key), record),
        }
    }

    /// The record under a key that the index accepts.
    pub(super) fn find<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g Record> {
        match self {
            KeyRun::Narrow(run) => run.find(u64::probe(key), guard),
            KeyRun::Wide(run) => run.find(u128::probe(key), guard),
            KeyRun::Bytes(run) => run.find(ByteString::probe(key), guard),
        }
    }
}
