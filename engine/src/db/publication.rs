//! What a worker adds to the commit of its transaction: what names mean from then on, and how far sequences
//! have come.

use std::sync::atomic::AtomicU64;

use super::names::NamesDurability;
use crate::catalog::Overlay;
use crate::local_arc::LocalArc;
use crate::log::durable::DurableWatch;
use crate::protocol::Protocol;
use crate::txn::{ObjectAccess, Publisher};

/// See the module documentation.
pub(super) struct Publication<'a, P: Protocol> {
    pub(super) protocol: &'a P,
    pub(super) watch: &'a LocalArc<DurableWatch>,
    pub(super) names: &'a NamesDurability,
    pub(super) overlay: &'a mut Overlay,
    /// Whether the transaction has written anything.
    pub(super) has_written: bool,
}

impl<P: Protocol, T: ObjectAccess> Publisher<P, T> for Publication<'_, P> {
    #[inline]
    fn note_place(&mut self, token: &P::CommitToken, has_written: bool) {
        self.has_written = has_written;
        if has_written && self.overlay.is_shared() {
            self.names.note(&self.protocol.durability(self.watch, token));
        }
        self.overlay.note_draws_logged();
    }

    #[inline]
    fn publish(&mut self, transaction: &mut T, token: &P::CommitToken) {
        let protocol = self.protocol;
        self.overlay.publish(transaction, || mark_of(protocol, token));
    }
}

/// The mark of a transaction that was appended.
fn mark_of<P: Protocol>(protocol: &P, token: &P::CommitToken) -> Box<[AtomicU64]> {
    let mark = protocol.new_mark();
    if P::LEAVES_MARKS {
        protocol.write_mark(token, &mark);
    }
    mark
}
