//! Appending a transaction to a log: in one record, or in fragments if it is large (pitfall 11).
//!
//! A protocol freezes what its record says, then calls [`Logs::reserve_commit`]. The place that this returns
//! is filled, dated and published in further steps. An oversized payload goes through
//! [`Logs::append_fragments`] first: all pieces but the last, which carries the commit flag and the
//! protocol's field. A full buffer refuses before anything is reserved. What has been appended so far is kept
//! in [`AppendProgress`], and the caller tries again later. The progress belongs to one attempt to commit. A
//! caller that gives the attempt up resets it (a COMMIT that was cancelled and rolled back, perhaps to a
//! savepoint, from which the transaction goes on): an abandoned series of fragments never gets a last one,
//! and replay drops it. A series is never continued with other operations, which is asserted.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyades_types::error::Result;
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::buffer::{Refusal, Reservation};
use super::record::{
    Commit, CommitHeader, DATED_HEADER_BYTES, MAX_LOGS, MOST_NAMED, TIME_OFFSET, encode_commit,
    encode_fragment, time_bytes,
};
use super::{Beginning, Logs};
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};
use crate::sync::Ordering;
use crate::ticket::Ticket;

/// What became of an attempt to append a transaction's log record.
pub enum Append<Token> {
    Done(Token),
    /// The log buffer is full: nothing was reserved. Wait, then call again.
    Wait(Ticket),
}

/// The header of the largest record: fixed part, id, and a field with a number for each log, for each of the
/// transactions that it names, and two more.
const MAX_HEADER_BYTES: usize = DATED_HEADER_BYTES + 10 * (3 + MAX_LOGS + MOST_NAMED);

/// How far the append of a large transaction has come, and memory for headers. Belongs to one attempt to
/// commit at a time.
#[derive(Debug, Default)]
pub struct AppendProgress {
    pub(crate) header: Vec<u8>,
    fragmented: Option<Fragmented>,
    /// The log and the end of the last record that was filled, for the last transaction that wrote.
    last: Option<(usize, Lsn)>,
    /// Whether the caller sees to it that the record is written ([`Logs::write_if_alone`]).
    is_quiet: bool,
    /// The log of a record of which its logger has not been told.
    untold: Option<usize>,
    /// Those of the parts of a transaction that goes to several logs.
    parts: Vec<AppendProgress>,
}

#[derive(Debug)]
struct Fragmented {
    log: usize,
    transaction: u64,
    /// Listed until its last piece is in the log, or the attempt is given up.
    _listed: ListedSeries,
    /// Bytes of the operations that are in the log.
    done: usize,
    /// Bytes of all operations.
    length: usize,
    /// The hash of the piece appended last.
    piece: u64,
}

impl Fragmented {
    /// Whether these may be the operations whose first pieces are in the log. Compares only the last of
    /// those pieces, because the whole may be large.
    fn began_with(&self, operations: &[u8], piece_bytes: usize) -> bool {
        let last = self.done.saturating_sub(piece_bytes)..self.done;
        operations.len() == self.length
            && operations.get(last).is_some_and(|last| last.is_empty() || xxh3_64(last) == self.piece)
    }
}

/// Which series of fragments have begun and not ended. A checkpoint that begins now holds none of them, so a
/// reader that starts in the log where the checkpoint begins must know their first pieces.
#[derive(Debug, Default)]
pub(crate) struct SeriesList(Mutex<BTreeMap<u64, (usize, Lsn)>>);

/// Takes a series out of the list when it is dropped.
#[derive(Debug)]
struct ListedSeries {
    list: Arc<SeriesList>,
    transaction: u64,
}

impl SeriesList {
    /// A series begins somewhere after what is `reserved` in its log.
    fn begin(
        list: &Arc<SeriesList>,
        transaction: u64,
        log: usize,
        reserved: impl Fn() -> Lsn,
    ) -> ListedSeries {
        let mut open = list.0.lock();
        open.insert(transaction, (log, reserved()));
        ListedSeries { list: Arc::clone(list), transaction }
    }

    /// What is `reserved` in all logs, and where the series that are open now begin. Later ones begin after
    /// that.
    pub(crate) fn beginning(&self, reserved: impl Fn() -> Vec<u64>) -> Beginning {
        let open = self.0.lock();
        let reserved = reserved();
        let mut from = reserved.clone();
        for (log, start) in open.values() {
            from[*log] = from[*log].min(start.0);
        }
        Beginning { reserved, from }
    }
}

impl Drop for ListedSeries {
    fn drop(&mut self) {
        self.list.0.lock().remove(&self.transaction);
    }
}

impl AppendProgress {
    /// The attempt was given up: the pieces appended so far never get a last one.
    pub fn reset(&mut self) {
        self.fragmented = None;
        self.parts.iter_mut().for_each(AppendProgress::reset);
    }

    /// Whether the first pieces of a large part are in a log.
    pub fn has_begun(&self) -> bool {
        self.parts.iter().any(|part| part.fragmented.is_some())
    }

    /// How far the append of each part of a transaction has come, of so many.
    pub fn of_parts(&mut self, count: usize) -> &mut [AppendProgress] {
        if self.parts.len() < count {
            self.parts.resize_with(count, AppendProgress::default);
        }
        &mut self.parts[..count]
    }

    /// Whether a logger is not to be woken for the record of a committing transaction that comes right after
    /// the one before: the caller asks for [`AppendProgress::take_untold`] soon.
    pub fn be_quiet(&mut self, is_quiet: bool) {
        self.is_quiet = is_quiet;
    }

    /// The log of a record of which its logger has not been told.
    pub fn take_untold(&mut self) -> Option<usize> {
        self.untold.take()
    }

    /// The place of the last transaction that wrote, or of its first part: its log, and the end of its (last)
    /// record.
    pub fn last(&self) -> Option<(usize, Lsn)> {
        self.last.or_else(|| self.parts.first()?.last)
    }

    /// The log for a transaction's record: `preferred`, unless fragments of it are in another one.
    pub fn log(&self, preferred: usize) -> usize {
        self.fragmented.as_ref().map_or(preferred, |fragmented| fragmented.log)
    }
}

/// The reserved place of a committing record. If it is dropped, nothing was appended and the place becomes a
/// filler.
#[must_use]
pub struct CommitPlace<'a> {
    reservation: Reservation<'a>,
    progress: &'a mut AppendProgress,
    log: usize,
    /// Bytes of the operations that are in the log already.
    done: usize,
    /// Where the record begins in the place.
    begin: usize,
}

impl<'a> CommitPlace<'a> {
    /// The header is in `progress`. `done` bytes of the operations are in the log already.
    pub(crate) fn new(
        reservation: Reservation<'a>,
        progress: &'a mut AppendProgress,
        log: usize,
        done: usize,
    ) -> CommitPlace<'a> {
        let begin = reservation.written();
        CommitPlace { reservation, progress, log, done, begin }
    }

    /// The LSN of the record that will be here.
    #[inline]
    pub fn end(&self) -> Lsn {
        self.reservation.end()
    }

    /// Fills the place with the operations that it was reserved for.
    #[inline]
    pub fn write(&mut self, operations: &[u8]) {
        self.reservation.write(&self.progress.header);
        self.reservation.write(&operations[self.done..]);
    }

    /// Writes the time into a record that was reserved with one.
    #[inline]
    pub fn date(&mut self, time: u64) {
        self.reservation.write_at(self.begin + TIME_OFFSET, &time_bytes(time));
    }

    /// Publishes the place, which is filled.
    #[inline]
    pub fn publish(self) -> Lsn {
        self.progress.fragmented = None;
        // Without anything in between, it seems to be alone. Only one log is kept in mind.
        let is_alone = self.progress.last == Some((self.log, self.reservation.start()));
        let is_quiet =
            self.progress.is_quiet && is_alone && self.progress.untold.is_none_or(|log| log == self.log);
        let end = if is_quiet {
            self.progress.untold = Some(self.log);
            self.reservation.publish_quietly()
        } else {
            self.reservation.publish()
        };
        self.progress.last = Some((self.log, end));
        end
    }
}

impl Logs {
    /// Appends all but the last piece of `operations` to `log`. Does nothing for a transaction of usual size.
    #[inline]
    pub fn append_fragments(
        &self,
        log: usize,
        worker: usize,
        progress: &mut AppendProgress,
        operations: &[u8],
    ) -> Result<Append<()>> {
        let piece = self.buffer(log).max_record_bytes() - MAX_HEADER_BYTES;
        if operations.len() <= piece && progress.fragmented.is_none() {
            return Ok(Append::Done(()));
        }
        self.append_pieces(log, worker, progress, operations, piece)
    }

    #[cold]
    fn append_pieces(
        &self,
        log: usize,
        worker: usize,
        progress: &mut AppendProgress,
        operations: &[u8],
        piece: usize,
    ) -> Result<Append<()>> {
        let next = || self.next_fragmented.fetch_add(1, Ordering::Relaxed);
        let length = operations.len();
        let state = progress.fragmented.get_or_insert_with(|| {
            let transaction = next();
            let listed = SeriesList::begin(&self.series, transaction, log, || self.reserved(log));
            Fragmented { log, transaction, _listed: listed, done: 0, length, piece: 0 }
        });
        assert!(
            state.began_with(operations, piece) || mutant::is_active(Mutant::FragmentsOfAnother),
            "a series of fragments goes on with other operations"
        );
        while operations.len() - state.done > piece {
            let body = &operations[state.done..state.done + piece];
            let length = encode_fragment(&mut progress.header, state.transaction, body.len());
            match self.reserve(log, worker, length)? {
                Append::Wait(ticket) => return Ok(Append::Wait(ticket)),
                Append::Done(mut reservation) => {
                    reservation.write(&progress.header);
                    reservation.write(body);
                    reservation.publish();
                    state.done += body.len();
                    state.piece = xxh3_64(body);
                }
            }
        }
        Ok(Append::Done(()))
    }

    /// Reserves a place for the record that commits the transaction, with the operations that
    /// [`Logs::append_fragments`] has left over. `write_field` appends the protocol's field, before the place
    /// is reserved.
    #[inline]
    pub fn reserve_commit<'a>(
        &'a self,
        log: usize,
        worker: usize,
        progress: &'a mut AppendProgress,
        commit: Commit,
        write_field: impl FnOnce(&mut Vec<u8>),
        operations: &[u8],
    ) -> Result<Append<CommitPlace<'a>>> {
        let done = progress.fragmented.as_ref().map_or(0, |fragmented| fragmented.done);
        let fragment_of = progress.fragmented.as_ref().map(|fragmented| fragmented.transaction);
        let header = CommitHeader { fragment_of, commit };
        let length = encode_commit(&mut progress.header, header, write_field, operations.len() - done);
        match self.reserve(log, worker, length)? {
            Append::Wait(ticket) => Ok(Append::Wait(ticket)),
            Append::Done(reservation) => Ok(Append::Done(CommitPlace::new(reservation, progress, log, done))),
        }
    }

    /// Appends a whole record that belongs to no transaction, on behalf of the log's writer, which goes on to
    /// write it. `None` if there is no room for it at the moment.
    pub fn append_control(&self, log: usize, record: &[u8]) -> Option<Lsn> {
        let mut reservation = self.buffer(log).reserve_control(record.len()).ok()?;
        reservation.write(record);
        Some(reservation.publish_quietly())
    }

    /// A place in a log's buffer, or a reason to wait, or an error: the database is poisoned, or the disk is
    /// full.
    #[inline]
    pub(crate) fn reserve(
        &self,
        log: usize,
        worker: usize,
        length: usize,
    ) -> Result<Append<Reservation<'_>>> {
        self.watch.check()?;
        match self.buffer(log).reserve(worker / self.count(), length) {
            Ok(reservation) => Ok(Append::Done(reservation)),
            Err(refusal) => self.wait_for_room(log, length, refusal),
        }
    }

    #[cold]
    fn wait_for_room(&self, log: usize, length: usize, refusal: Refusal) -> Result<Append<Reservation<'_>>> {
        let buffer = self.buffer(log);
        match refusal {
            Refusal::Busy => Ok(Append::Wait(buffer.wait_for_slot())),
            Refusal::RingFull => Ok(Append::Wait(buffer.wait_for_room(length, || false))),
            Refusal::NoDiskSpace => {
                if let Some(failure) = self.set.failure(log) {
                    return Err(failure);
                }
                let has_failed = || self.set.failure(log).is_some();
                Ok(Append::Wait(buffer.wait_for_room(length, has_failed)))
            }
        }
    }
}
