//! The paper's order reversed, for a mutant: the place first, then the LV (pitfall 2).

use hyades_types::error::Result;

use super::{Dependencies, Taurus};
use crate::log::Append;
use crate::protocol::{AppendProgress, CommitPayload, Reserved};

/// The place is as large as any LV needs, and what is too much becomes a filler before it.
#[cfg(any(test, feature = "mutants"))]
pub(super) fn append<'a>(
    taurus: &'a Taurus,
    log: usize,
    worker: usize,
    dependencies: &mut Dependencies,
    payload: &CommitPayload<'_>,
    progress: &'a mut AppendProgress,
) -> Result<Append<Reserved<'a>>> {
    use crate::log::append::CommitPlace;
    use crate::log::record::{CommitHeader, HEADER_BYTES, encode_commit, filler_header};

    let logs = &taurus.logs;
    let room = (payload.operations.len() + 40 + 10 * logs.count()).next_multiple_of(8);
    let mut place = match logs.reserve(log, worker, room)? {
        Append::Done(place) => place,
        Append::Wait(ticket) => return Ok(Append::Wait(ticket)),
    };
    taurus.freeze(dependencies, payload.commit.is_barrier);
    let commit = CommitHeader { fragment_of: None, commit: payload.commit };
    let write_field = |header: &mut Vec<u8>| _ = taurus.write_field(log, dependencies, header);
    let length = encode_commit(&mut progress.header, commit, write_field, payload.operations.len());
    let unused = room - length;
    if unused > 0 {
        place.write(&filler_header(unused as u32));
        (HEADER_BYTES..unused).for_each(|_| place.write(&[0]));
    }
    dependencies.vector.raise_entry(log, place.end());
    dependencies.above |= 1 << log;
    dependencies.open |= 1 << log;
    Ok(Append::Done(Reserved::new(CommitPlace::new(place, progress, log, 0))))
}

#[cfg(not(any(test, feature = "mutants")))]
pub(super) fn append<'a>(
    _taurus: &'a Taurus,
    _log: usize,
    _worker: usize,
    _dependencies: &mut Dependencies,
    _payload: &CommitPayload<'_>,
    _progress: &'a mut AppendProgress,
) -> Result<Append<Reserved<'a>>> {
    use hyades_types::error::{Error, sqlstate};
    Err(Error::input(sqlstate::INTERNAL_ERROR, "this build has no mutants"))
}
