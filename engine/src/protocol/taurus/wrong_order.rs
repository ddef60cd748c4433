//! The paper's order reversed, for a mutant: the place first, then the LV (pitfall 2).

use hyades_types::error::Result;

use super::{Dependencies, Taurus};
use crate::log::Append;
use crate::protocol::{CommitPayload, Reserved};

/// The place is as large as any LV needs, and the rest becomes a filler.
#[cfg(any(test, feature = "mutants"))]
pub(super) fn append<'a>(
    taurus: &Taurus,
    log: usize,
    worker: usize,
    dependencies: &mut Dependencies,
    payload: &CommitPayload<'_>,
) -> Result<Append<Reserved<'a>>> {
    use super::compress;
    use crate::log::record::{CommitHeader, encode_commit, filler_header};
    use crate::lsn::Lsn;

    let logs = &taurus.logs;
    let room = (payload.operations.len() + 32 + 10 * logs.count()).next_multiple_of(8);
    let mut place = match logs.reserve(log, worker, room)? {
        Append::Done(place) => place,
        Append::Wait(ticket) => return Ok(Append::Wait(ticket)),
    };
    taurus.freeze(dependencies, payload.commit.is_barrier);
    let vector = dependencies.vector.entries();
    let commit = CommitHeader { fragment_of: None, commit: payload.commit };
    let anchor = |of| taurus.anchors.published(log, of);
    let mut header = Vec::new();
    let write_field = |header: &mut Vec<u8>| compress(vector, anchor, header);
    let length = encode_commit(&mut header, commit, write_field, payload.operations.len());
    place.write(&header);
    place.write(payload.operations);
    place.write(&[0; 8][..length - header.len() - payload.operations.len()]);
    if room > length {
        place.write(&filler_header((room - length) as u32));
    }
    // The LSN is that of the record, not of the filler after it.
    let end = Lsn(place.start().0 + length as u64);
    place.publish();
    dependencies.vector.raise_entry(log, end);
    Ok(Append::Done(Reserved::without_place()))
}

#[cfg(not(any(test, feature = "mutants")))]
pub(super) fn append<'a>(
    _taurus: &Taurus,
    _log: usize,
    _worker: usize,
    _dependencies: &mut Dependencies,
    _payload: &CommitPayload<'_>,
) -> Result<Append<Reserved<'a>>> {
    use hyades_types::error::{Error, sqlstate};
    Err(Error::input(sqlstate::INTERNAL_ERROR, "this build has no mutants"))
}
