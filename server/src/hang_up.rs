//! Notices that a client has gone while its statement computes.
//!
//! A connection that waits for its client, or for a lock, reads its socket and sees the end. One that
//! computes does not. Each connection therefore registers its socket with one more epoll instance, which
//! reports nothing but closed ends. A thread sleeps on it and marks the connection ([`Registry::mark_gone`]).
//! Short statements that are still to come are run as if nothing had happened, as in PostgreSQL. A statement
//! that computes for long, or waits, is ended.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};

use rustix::event::epoll;

use crate::registry::Registry;

/// The most events that are taken at once.
const EVENTS: usize = 64;

/// The epoll instance with which sockets are registered.
pub struct HangUpWatch {
    epoll: OwnedFd,
}

impl HangUpWatch {
    /// Starts the thread, which lives as long as the registry.
    pub fn start(registry: &Arc<Registry>) -> io::Result<HangUpWatch> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let own = epoll.try_clone()?;
        let registry = Arc::downgrade(registry);
        std::thread::Builder::new()
            .name("hyades-hang-up".to_owned())
            .spawn(move || watch(&own, &registry))?;
        Ok(HangUpWatch { epoll })
    }

    /// From now on, closing the client's end of this socket marks its connection. Closing the socket itself
    /// removes it.
    pub fn add(&self, socket: impl AsFd, process_id: i32) -> io::Result<()> {
        let data = epoll::EventData::new_u64(u64::from(process_id.cast_unsigned()));
        let flags = epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
        Ok(epoll::add(&self.epoll, socket, data, flags)?)
    }
}

fn watch(epoll: &OwnedFd, registry: &Weak<Registry>) {
    let mut events = Vec::with_capacity(EVENTS);
    loop {
        events.clear();
        match epoll::wait(epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                tracing::error!(%error, "clients that leave will be seen late: epoll failed");
                return;
            }
        }
        let Some(registry) = registry.upgrade() else { return };
        for event in &events {
            if let Ok(process_id) = u32::try_from(event.data.u64()) {
                registry.mark_gone(process_id.cast_signed());
            }
        }
    }
}
