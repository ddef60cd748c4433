//! Durable positions and those who wait for them.
use crate::error::Result;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What an answer must wait for. Cheap to clone and to merge; resolves with a fatal error if the database is poisoned first.
#[derive(Clone, Default)]
pub struct Durability {}

impl Durability {
    /// Already durable.
    pub fn immediate() -> Durability {
        Durability {}
    }
    pub fn is_durable(&self) -> bool {
        true
    }
    /// Both must be durable.
    pub fn merge(&mut self, _other: &Durability) {}
    /// Blocks the calling thread.
    pub fn wait(self) -> Result<()> {
        crate::ticket::block_on(self)
    }
}

impl Future for Durability {
    type Output = Result<()>;
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}
