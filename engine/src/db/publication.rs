//! What a worker adds to the commit of its transaction: what names mean from then on, and how far sequences
//! have come.

use std::sync::atomic::{AtomicU64, Ordering};

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
    /// The mark of a transaction that has changed the catalog.
    pub(super) mark: Box<[AtomicU64]>,
}

impl<P: Protocol, T: ObjectAccess> Publisher<P, T> for Publication<'_, P> {
    #[inline]
    fn note_place(&mut self, dependencies: &P::Dependencies, has_written: bool) {
        self.has_written = has_written;
        if has_written && self.overlay.is_shared() {
            self.names.note(self.protocol.durability(self.watch, dependencies));
        }
        if !self.overlay.is_empty() {
            self.mark = self.protocol.new_mark();
            self.protocol.write_mark(dependencies, &self.mark);
        }
        self.overlay.note_draws_logged();
    }

    #[inline]
    fn publish(&mut self, transaction: &mut T) {
        let copied = |word: &AtomicU64| AtomicU64::new(word.load(Ordering::Relaxed));
        let mark = &self.mark;
        self.overlay.publish(transaction, || mark.iter().map(copied).collect());
    }
}
