//! The one walk through the records of a log. Replay, cut, summaries, salvage, backups and inspections all
//! see a log through it.
//!
//! ```text
//!   chunk --next--> record --+-- control record ---------------> what holds for all records after it
//!                            +-- fragment, not the last -------> gathered until the last one comes
//!                            +-- of what a checkpoint holds ---> passed
//!                            +-- (last) record of another transaction
//!                                   |
//!                                   +--read--> what it follows, as its field says; its operations
//! ```
//!
//! A record without fragments is lent as it lies in the chunk. What becomes of fragments (pitfall 11) is up
//! to the reader ([`Gather`]): replay needs all their bytes, a summary only what they concern. Whether a
//! transaction counts is judged by the reader as well, because each knows something else of the ends of the
//! logs, and a summary learns them later.
//!
//! Invariants:
//! 1. Records are seen in log order, each once, and none is left out, except where damage is skipped.
//! 2. What a record follows is read with the anchors before it, whether or not anything else of those records
//!    was wanted.
//! 3. Nothing is copied except fragments, and nothing is allocated for a record that is not one.

#[cfg(all(test, not(loom)))]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use crate::log::manifest::{Checkpoint, Incarnation};
use crate::log::record::{Anchor, Commit, Control, Malformed, RecordBody, Records};
use crate::log::set::LogSet;
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::protocol::list::recovery;
use crate::protocol::{FieldReader, Follows};

/// Which transactions have been replayed before a log is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReplayedUpTo {
    /// Those with a commit time up to this.
    Time(u64),
    /// Those whose (last) record ends up to here.
    Place(Lsn),
}

/// What is kept of the fragments of a transaction until the last one comes.
pub(crate) trait Gather {
    type Whole;

    /// The first fragment begins here.
    fn begin(start: Lsn) -> Self;

    /// Takes the operations in the next fragment.
    fn take(&mut self, piece: &[u8]);

    /// Takes those in the last one.
    fn finish(self, last: &[u8]) -> Self::Whole;
}

/// For readers that look at no operations.
impl Gather for () {
    type Whole = ();

    fn begin(_start: Lsn) {}

    fn take(&mut self, _piece: &[u8]) {}

    fn finish(self, _last: &[u8]) {}
}

/// The operations of a transaction, put together.
#[derive(Debug)]
pub(crate) struct Assembled {
    /// Where the first record begins.
    pub(crate) start: Lsn,
    pub(crate) operations: Vec<u8>,
    pub(crate) fragments: usize,
}

impl Gather for Assembled {
    type Whole = Assembled;

    fn begin(start: Lsn) -> Assembled {
        Assembled { start, operations: Vec::new(), fragments: 0 }
    }

    fn take(&mut self, piece: &[u8]) {
        self.operations.extend_from_slice(piece);
        self.fragments += 1;
    }

    fn finish(mut self, last: &[u8]) -> Assembled {
        self.take(last);
        self
    }
}

/// Bytes that are no log records, or say what cannot be.
#[derive(Clone, Debug)]
pub(crate) struct Damaged {
    pub(crate) position: Lsn,
    pub(crate) reason: Cow<'static, str>,
}

impl Damaged {
    pub(crate) fn new(position: Lsn, reason: impl Into<Cow<'static, str>>) -> Damaged {
        Damaged { position, reason: reason.into() }
    }

    pub(crate) fn at(start: Lsn, malformed: &Malformed) -> Damaged {
        Damaged::new(Lsn(start.0 + malformed.offset as u64), malformed.reason)
    }

    /// The error, with the place of the log.
    pub(super) fn in_log_of(self, set: &dyn LogSet, log: usize) -> Error {
        let Damaged { position, reason } = self;
        let place = set.place(log);
        Error::corrupt(format!("log {log} in {place} is damaged: {reason} (position {position})"))
    }

    pub(crate) fn in_log(self, log: usize) -> Error {
        let Damaged { position, reason } = self;
        Error::corrupt(format!("log {log} is damaged: {reason} (position {position})"))
    }
}

/// A record.
pub(crate) struct Seen<'c> {
    pub(crate) start: Lsn,
    pub(crate) end: Lsn,
    pub(crate) what: What<'c>,
}

pub(crate) enum What<'c> {
    /// The (last) record of a transaction.
    Transaction(Last<'c>),
    /// The same, but the checkpoint holds the transaction, or it has been replayed: replay skips it.
    Checkpointed,
    /// Any other record of a large transaction, with this many bytes of its operations.
    Fragment {
        transaction: u64,
        bytes: usize,
    },
    Control(Control),
    Filler,
}

/// The (last) record of a transaction.
pub(crate) struct Last<'c> {
    pub(crate) commit: Commit,
    start: Lsn,
    /// The large transaction, if this is its last fragment.
    pub(super) fragment_of: Option<u64>,
    /// The protocol's field, then operations.
    pub(super) content: &'c [u8],
}

/// What the (last) record of a transaction says.
pub(crate) struct Said<'w, 'c, W> {
    /// An error if the field makes no sense. Where it ends is known all the same.
    pub(crate) follows: std::result::Result<Follows<'w>, Malformed>,
    pub(crate) field_bytes: usize,
    pub(crate) body: Body<'c, W>,
}

/// The operations of a transaction.
pub(crate) enum Body<'c, W> {
    /// In the only record of the transaction, as it lies in the chunk.
    InRecord(&'c [u8]),
    Gathered(W),
}

/// Reads the protocol's fields at one place of a log.
pub(super) struct Fields {
    reader: Box<dyn FieldReader>,
    /// The time of the last control record: all transactions after it are later.
    bound: Option<u64>,
    has_skipped: bool,
}

impl Fields {
    /// Another reader at the same place.
    pub(super) fn fork(&self) -> Fields {
        Fields { reader: self.reader.fork(), bound: self.bound, has_skipped: self.has_skipped }
    }

    /// What all transactions follow from here on.
    pub(super) fn take_control(&mut self, control: &Control) {
        self.reader.control(control);
        self.bound = control.time().or(self.bound);
    }

    /// Reads the field at the beginning of a transaction's content, and returns its length, and what is wrong
    /// with it. From then on [`Fields::follows`] is what that transaction follows.
    ///
    /// # Errors
    /// It is not known where the field ends.
    #[inline]
    pub(super) fn read(
        &mut self,
        time: Option<u64>,
        content: &[u8],
    ) -> std::result::Result<(usize, std::result::Result<(), Malformed>), Malformed> {
        let field_bytes = match self.reader.field_bytes(content) {
            Ok(length) => length,
            Err(_) if self.has_skipped => 0,
            Err(malformed) => return Err(malformed),
        };
        let is_late = time.is_some_and(|time| self.bound.is_some_and(|bound| time <= bound));
        let read = match is_late {
            true => {
                let reason = "a transaction is not later than the control record before it";
                Err(Malformed { offset: 0, reason })
            }
            false => self.reader.read(&content[..field_bytes]),
        };
        Ok((field_bytes, if self.has_skipped { Ok(()) } else { read }))
    }

    /// What the transaction follows that was read last; after a control record, what all from there on do.
    #[inline]
    pub(super) fn follows(&self) -> Follows<'_> {
        self.reader.follows()
    }
}

/// See the module head.
pub(crate) struct Walk<G> {
    log: usize,
    fields: Fields,
    /// Where the next record begins. `None`: wherever the next chunk does.
    position: Option<Lsn>,
    /// No record is seen that ends after it.
    limit: Lsn,
    checkpoint: Option<Arc<Checkpoint>>,
    /// These transactions are passed as those of a checkpoint are.
    replayed: Option<ReplayedUpTo>,
    unfinished: HashMap<u64, G>,
    durable: LsnVector,
}

impl<G> Walk<G> {
    /// Begins wherever the first chunk does.
    ///
    /// # Errors
    /// The incarnation's protocol is unknown, or writes no logs.
    pub(crate) fn new(incarnation: &Incarnation, log: usize) -> Result<Walk<G>> {
        Ok(Walk {
            log,
            fields: Fields {
                reader: recovery(&incarnation.protocol, incarnation.logs)?.reader(),
                bound: None,
                has_skipped: false,
            },
            position: None,
            limit: Lsn(u64::MAX),
            checkpoint: None,
            replayed: None,
            unfinished: HashMap::new(),
            durable: LsnVector::zero(incarnation.logs),
        })
    }

    /// Sees nothing before this position, where a record begins.
    #[must_use]
    pub(crate) fn from(self, position: Lsn) -> Walk<G> {
        Walk { position: Some(position), ..self }
    }

    /// Sees no record that ends after this position.
    #[must_use]
    pub(super) fn up_to(self, limit: Lsn) -> Walk<G> {
        Walk { limit, ..self }
    }

    /// Passes the transactions that this checkpoint holds.
    #[must_use]
    pub(super) fn after(self, checkpoint: Option<Arc<Checkpoint>>) -> Walk<G> {
        Walk { checkpoint, ..self }
    }

    /// Passes these transactions, too: they have been replayed in another way.
    #[must_use]
    pub(super) fn after_replayed(self, replayed: Option<ReplayedUpTo>) -> Walk<G> {
        Walk { replayed, ..self }
    }

    /// Where the next record begins, once that is known.
    pub(crate) fn position(&self) -> Lsn {
        self.position.unwrap_or(Lsn::ZERO)
    }

    /// The time of the last control record that has one: all transactions after it are later.
    pub(super) fn bound(&self) -> Option<u64> {
        self.fields.bound
    }

    /// The largest positions up to which the anchors say that the logs were durable.
    pub(super) fn durable(&self) -> &LsnVector {
        &self.durable
    }

    /// The stamp up to which the log is complete where the walk is ([`FieldReader::complete`]).
    pub(crate) fn complete(&self) -> u64 {
        self.fields.reader.complete()
    }

    /// See [`FieldReader::durable_stamp`].
    pub(super) fn durable_stamp(&self) -> u64 {
        self.fields.reader.durable_stamp()
    }

    /// It is known from elsewhere that the logs were durable up to these positions.
    pub(super) fn raise_durable(&mut self, durable: &LsnVector) {
        self.durable.raise(durable.entries());
    }

    pub(super) fn set_limit(&mut self, limit: Lsn) {
        self.limit = limit;
    }

    /// Goes on at a later position.
    pub(crate) fn go_to(&mut self, position: Lsn) {
        self.position = Some(position);
    }

    /// Passes what a later checkpoint holds. Of the transactions that are unfinished, only those remain that
    /// began where the replay after it begins, or later: the others will never be complete.
    pub(super) fn follow(&mut self, checkpoint: &Arc<Checkpoint>, begins: impl Fn(&G) -> Lsn) {
        let from = Lsn(checkpoint.from[self.log]);
        self.position = self.position.max(Some(from));
        self.unfinished.retain(|_, begun| begins(begun) >= from);
        self.checkpoint = Some(Arc::clone(checkpoint));
    }

    /// What is kept of large transactions whose last record has not been seen.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = &G> {
        self.unfinished.values()
    }

    /// Gives up the large transactions whose last record has not been seen. Returns their number.
    pub(super) fn give_up_unfinished(&mut self) -> usize {
        std::mem::take(&mut self.unfinished).len()
    }

    /// The next record does not follow the last one that was seen. From here on, fields and anchors that make
    /// no sense belong to bytes that only look like a record, or follow an anchor that was not seen.
    pub(crate) fn skip_damage(&mut self) {
        self.position = None;
        self.unfinished.clear();
        self.fields.bound = None;
        self.fields.has_skipped = true;
    }

    pub(crate) fn has_skipped(&self) -> bool {
        self.fields.has_skipped
    }

    /// A reader of the fields from here on.
    pub(super) fn fields(&self) -> Fields {
        self.fields.fork()
    }

    /// What the transaction follows that was read last; after a control record, what all from there on do.
    #[inline]
    pub(super) fn follows(&self) -> Follows<'_> {
        self.fields.follows()
    }

    /// The walk has passed what it may see of this chunk.
    ///
    /// # Errors
    /// There is more of it, and the limit is not where a record ends.
    pub(super) fn check_limit(&self, chunk_end: Lsn) -> std::result::Result<(), Damaged> {
        if self.position() >= self.limit.min(chunk_end) {
            return Ok(());
        }
        let reason = "the position up to which the manifest lets it count is inside a log record";
        Err(Damaged::new(self.position(), reason))
    }

    /// Control records hold for all transactions after them.
    fn take_control(&mut self, start: Lsn, control: &Control) -> std::result::Result<(), Damaged> {
        match control {
            Control::Anchor(anchor) if !self.check_anchor(start, anchor)? => {}
            _ => self.fields.take_control(control),
        }
        Ok(())
    }

    /// Whether the anchor makes sense. An error if not, unless damage was skipped before it.
    fn check_anchor(&mut self, start: Lsn, anchor: &Anchor) -> std::result::Result<bool, Damaged> {
        let logs = self.durable.len();
        let names = &anchor.durable;
        let reason = if names.len() != logs {
            format!("an anchor names {} logs, but the manifest says {logs}", names.len())
        } else if names.get(self.log) > start {
            "an anchor calls durable what was appended after it".to_owned()
        } else {
            self.durable.raise(anchor.durable.entries());
            return Ok(true);
        };
        if self.fields.has_skipped { Ok(false) } else { Err(Damaged::new(start, reason)) }
    }

    /// Whether the checkpoint holds the transaction whose (last) record ends here ([`Checkpoint::holds`]).
    #[inline]
    fn is_checkpointed(&self, end: Lsn, commit: Commit) -> bool {
        let holds = |checkpoint: &Arc<Checkpoint>| checkpoint.holds(self.log, end, commit);
        (self.checkpoint.as_ref().is_some_and(holds) && !mutant::is_active(Mutant::CheckpointedReplayed))
            || match self.replayed {
                Some(ReplayedUpTo::Time(replayed)) => commit.time.is_some_and(|time| time <= replayed),
                Some(ReplayedUpTo::Place(replayed)) => end <= replayed,
                None => false,
            }
    }
}

impl<G: Gather> Walk<G> {
    /// Sees the rest of a chunk, for its anchors.
    pub(super) fn pass(&mut self, start: Lsn, bytes: &[u8]) -> std::result::Result<(), Damaged> {
        loop {
            match self.next(start, bytes) {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(damaged) => return Err(damaged),
            }
        }
    }

    /// The next record of a chunk. `None` if the walk has passed the chunk, or may not go further.
    ///
    /// # Errors
    /// Bytes that are not a record, a control record that makes no sense, or a chunk that begins after the
    /// position. The position stays where it was.
    #[inline]
    pub(crate) fn next<'c>(
        &mut self,
        start: Lsn,
        bytes: &'c [u8],
    ) -> std::result::Result<Option<Seen<'c>>, Damaged> {
        let position = *self.position.get_or_insert(start);
        let Some(offset) = position.0.checked_sub(start.0) else {
            return Err(Damaged::new(position, "it begins after the position from which it is needed"));
        };
        if position >= self.limit {
            return Ok(None);
        }
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let record = match Records::new(position, rest).next() {
            Some(Ok(record)) => record,
            Some(Err(malformed)) => return Err(Damaged::at(position, &malformed)),
            None => return Ok(None),
        };
        let (start, end) = (record.start, record.end);
        if end > self.limit {
            return Ok(None);
        }
        let last = |commit, fragment_of, content| Last { commit, start, fragment_of, content };
        let what = match record.body {
            RecordBody::Transaction { commit, .. } if self.is_checkpointed(end, commit) => What::Checkpointed,
            RecordBody::Transaction { commit, content } => What::Transaction(last(commit, None, content)),
            RecordBody::Fragment { transaction, commit: None, content } => {
                self.unfinished.entry(transaction).or_insert_with(|| G::begin(start)).take(content);
                What::Fragment { transaction, bytes: content.len() }
            }
            RecordBody::Fragment { transaction, commit: Some(commit), .. }
                if self.is_checkpointed(end, commit) =>
            {
                self.unfinished.remove(&transaction);
                What::Checkpointed
            }
            RecordBody::Fragment { transaction, commit: Some(commit), content } => {
                What::Transaction(last(commit, Some(transaction), content))
            }
            RecordBody::Control(control) => {
                self.take_control(start, &control)?;
                What::Control(control)
            }
            RecordBody::Filler => What::Filler,
        };
        self.position = Some(end);
        Ok(Some(Seen { start, end, what }))
    }

    /// Cuts the protocol's field off a transaction's (last) record and reads it. Called at most once for a
    /// record, before the next one is seen.
    ///
    /// # Errors
    /// It is not known where the field ends.
    #[inline]
    pub(crate) fn read<'w, 'c>(
        &'w mut self,
        last: &Last<'c>,
    ) -> std::result::Result<Said<'w, 'c, G::Whole>, Damaged> {
        let (field_bytes, read) = self
            .fields
            .read(last.commit.time, last.content)
            .map_err(|malformed| Damaged::at(last.start, &malformed))?;
        let operations = &last.content[field_bytes..];
        let body = match last.fragment_of {
            None => Body::InRecord(operations),
            Some(transaction) => {
                let begun = self.unfinished.remove(&transaction);
                Body::Gathered(begun.unwrap_or_else(|| G::begin(last.start)).finish(operations))
            }
        };
        Ok(Said { follows: read.map(|()| self.fields.follows()), field_bytes, body })
    }
}
