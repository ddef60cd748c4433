//! How a transaction gets a lock, with or without waiting, and what becomes of a wait that is over.

use hyades_types::error::{Abort, Error};

use super::resource::Resource;
use super::{AtOnce, Body};
use crate::protocol::Protocol;
use crate::txn::lock_mode::LockMode;
use crate::txn::lock_table::{Acquired, TransactionId};
use crate::txn::{Flow, Interrupt};

impl<P: Protocol> Body<P> {
    /// Locks a resource until the end of the transaction; returns the mode now held.
    pub(super) fn lock(&mut self, resource: Resource, mode: LockMode) -> Flow<LockMode> {
        self.settle_wait(resource);
        let shared = &*self.shared;
        match shared.locks.acquire(shared, &mut self.dependencies, self.id, resource, mode) {
            Acquired::New(mode) => {
                self.held.push(resource);
                self.pending = None;
                Ok(mode)
            }
            Acquired::Held(mode) => {
                self.pending = None;
                Ok(mode)
            }
            Acquired::Wait(ticket) => {
                self.pending = Some(resource);
                self.has_waited = true;
                Err(Interrupt::Wait(ticket))
            }
            Acquired::Deadlock => {
                self.pending = None;
                Err(Interrupt::Failed(Error::Abort(Abort::Deadlock)))
            }
        }
    }

    /// Locks a resource unless that means waiting for others. Returns whether it is held, and whether it was
    /// not held before.
    pub(super) fn lock_at_once(&mut self, resource: Resource, mode: LockMode) -> Flow<AtOnce> {
        self.settle_wait(resource);
        let shared = &*self.shared;
        let (dependencies, id) = (&mut self.dependencies, self.id);
        match shared.locks.acquire_at_once(shared, dependencies, id, resource, mode) {
            Some(Acquired::New(_)) => {
                self.held.push(resource);
                self.pending = None;
                Ok(AtOnce::New)
            }
            Some(Acquired::Held(_)) => {
                self.pending = None;
                Ok(AtOnce::Held)
            }
            Some(Acquired::Wait(ticket)) => {
                self.pending = Some(resource);
                self.has_waited = true;
                Err(Interrupt::Wait(ticket))
            }
            Some(Acquired::Deadlock) | None => Ok(AtOnce::Refused),
        }
    }

    /// Waits until none of these other transactions holds the resource. Meanwhile other requests are granted
    /// as if this one did not exist.
    pub(super) fn outlast(&mut self, resource: Resource, others: &[TransactionId]) -> Flow<()> {
        self.settle_wait(resource);
        match self.shared.locks.outlast(self.id, resource, others) {
            Some(Acquired::Wait(ticket)) => {
                self.pending = Some(resource);
                self.has_waited = true;
                Err(Interrupt::Wait(ticket))
            }
            Some(Acquired::Deadlock) => {
                self.pending = None;
                Err(Interrupt::Failed(Error::Abort(Abort::Deadlock)))
            }
            _ => {
                self.pending = None;
                Ok(())
            }
        }
    }

    /// Settles an earlier wait if something else comes next.
    #[inline(always)]
    pub(super) fn settle_wait(&mut self, next: Resource) {
        if let Some(other) = self.pending.take_if(|pending| *pending != next) {
            self.settle_other_wait(other);
        }
    }

    /// Withdraws a wait, or a grant that followed it, that is no longer wanted.
    pub(super) fn withdraw_wait(&mut self) {
        if let Some(resource) = self.pending.take() {
            self.shared.locks.withdraw(self.id, resource);
        }
    }

    /// The index changed while this transaction waited, and now it needs another lock.
    #[cold]
    #[inline(never)]
    fn settle_other_wait(&mut self, other: Resource) {
        let shared = &*self.shared;
        if shared.locks.claim(shared, &mut self.dependencies, self.id, other) {
            self.held.push(other);
        }
    }
}
