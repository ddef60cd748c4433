//! Who is connected: the limit on connections, cancel keys, and the bell that ends all connections at
//! shutdown.
//!
//! Each connection shares one [`Control`] with the rest of the server. To ask something of the connection,
//! set a mark and ring its bell ([`Control::wake`]). The connection looks at the marks when it wakes. What
//! concerns statements goes only into the session's request to stop, which a running statement polls.
//!
//! Invariant: marks are set before the bell rings, and the connection looks at them after it has started to
//! listen, so no ring is lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use hyades::types::error::FatalError;
use hyades::types::guest::{Stop, StopRequest};
use hyades::{Error, sqlstate};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

/// The state of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Recovery runs, and no client gets in.
    Starting = 0,
    Serving = 1,
    /// Idle sessions end, open transactions may finish.
    Draining = 2,
    /// All sessions end now.
    Terminating = 3,
    /// The database is poisoned: all sessions report why, and end.
    Failed = 4,
}

/// Why there is no place for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// All are taken.
    Full,
    /// What is left is reserved.
    Reserved,
}

/// One connection as the rest of the server sees it.
pub struct Control {
    pub process_id: i32,
    pub secret: [u8; 4],
    /// The client's end of the socket is closed.
    gone: AtomicBool,
    /// `pg_terminate_backend`.
    terminated: AtomicBool,
    stop: OnceLock<Arc<StopRequest>>,
    pub wake: Notify,
}

impl Control {
    /// The request to stop that a running statement polls.
    pub fn attach(&self, stop: Arc<StopRequest>) {
        // A connection has one session, so the first is the only one.
        let _ = self.stop.set(stop);
    }

    /// Stops the running statement, whether it computes or waits.
    pub fn cancel(&self) {
        if let Some(stop) = self.stop.get() {
            stop.cancel();
        }
        self.wake.notify_one();
    }

    /// As [`Control::cancel`], because the statement's time is up.
    pub fn time_out(&self) {
        if let Some(stop) = self.stop.get() {
            stop.time_out();
        }
        self.wake.notify_one();
    }

    /// What the session was asked to do.
    pub fn stop(&self) -> Option<Stop> {
        self.stop.get().and_then(|stop| stop.get())
    }

    /// Ends the connection, whatever it does.
    pub fn terminate(&self) {
        self.terminated.store(true, Ordering::Release);
        self.end_computing();
        self.wake.notify_one();
    }

    pub fn is_terminated(&self) -> bool {
        self.terminated.load(Ordering::Acquire)
    }

    /// Whether the client has closed its end. It may have sent much before that.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// The statement that is computing is the session's last one.
    pub fn end_computing(&self) {
        if let Some(stop) = self.stop.get() {
            stop.end();
        }
    }

    /// Withdraws a cancel that arrived when nothing ran, or too late.
    pub fn withdraw_cancel(&self) {
        if let Some(stop) = self.stop.get() {
            stop.withdraw();
        }
    }

    /// Withdraws the time-out of a statement that is over.
    pub fn withdraw_time_out(&self) {
        if let Some(stop) = self.stop.get() {
            stop.withdraw_time_out();
        }
    }
}

/// All connections; see the module head.
pub struct Registry {
    connections: Mutex<HashMap<i32, Arc<Control>>>,
    limit: usize,
    /// How many of the `limit` places only superusers get.
    reserved: usize,
    failure: OnceLock<Arc<FatalError>>,
    next_process_id: AtomicI32,
    phase: AtomicU8,
    /// Rings when the last connection has gone.
    empty: Notify,
    /// Lets the victims of deadlocks begin again one at a time.
    turns: Arc<Semaphore>,
}

/// A place in the registry; dropping it gives it back.
pub struct Registration {
    registry: Arc<Registry>,
    control: Arc<Control>,
}

impl Registration {
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut connections = self.registry.connections.lock();
        connections.remove(&self.control.process_id);
        if connections.is_empty() {
            self.registry.empty.notify_one();
        }
    }
}

impl Registry {
    pub fn new(limit: usize, reserved: usize) -> Registry {
        Registry {
            connections: Mutex::default(),
            limit,
            reserved,
            failure: OnceLock::new(),
            next_process_id: AtomicI32::new(1),
            phase: AtomicU8::new(Phase::Starting as u8),
            empty: Notify::new(),
            turns: Arc::new(Semaphore::new(1)),
        }
    }

    /// See `connection::turn`.
    pub fn turns(&self) -> Arc<Semaphore> {
        Arc::clone(&self.turns)
    }

    /// Takes a place for one more connection, unless the limit is reached. The last ones are for superusers,
    /// so that no other role can keep them out.
    pub fn register(self: &Arc<Registry>, is_superuser: bool) -> Result<Registration, NoPlace> {
        let mut connections = self.connections.lock();
        match self.limit.saturating_sub(connections.len()) {
            0 => return Err(NoPlace::Full),
            left if left <= self.reserved && !is_superuser => return Err(NoPlace::Reserved),
            _ => {}
        }
        let process_id = loop {
            let candidate = self.next_process_id.fetch_add(1, Ordering::Relaxed) & i32::MAX;
            if candidate != 0 && !connections.contains_key(&candidate) {
                break candidate;
            }
        };
        let control = Arc::new(Control {
            process_id,
            secret: rand::random(),
            gone: AtomicBool::new(false),
            terminated: AtomicBool::new(false),
            stop: OnceLock::new(),
            wake: Notify::new(),
        });
        connections.insert(process_id, Arc::clone(&control));
        Ok(Registration { registry: Arc::clone(self), control })
    }

    /// Obeys a cancel request with the right key, and ignores any other.
    pub fn cancel(&self, process_id: i32, secret: &[u8]) {
        let control = self.connections.lock().get(&process_id).cloned();
        if let Some(control) = control
            && bool::from(subtle::ConstantTimeEq::ct_eq(&control.secret[..], secret))
        {
            control.cancel();
        }
    }

    /// Notes that a client's end is closed.
    pub fn mark_gone(&self, process_id: i32) {
        if let Some(control) = self.connections.lock().get(&process_id) {
            control.gone.store(true, Ordering::Release);
        }
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Serving,
            2 => Phase::Draining,
            3 => Phase::Terminating,
            _ => Phase::Failed,
        }
    }

    /// Recovery is complete.
    pub fn begin_serving(&self) {
        // The first write may already have poisoned the database.
        let (from, to) = (Phase::Starting as u8, Phase::Serving as u8);
        let _ = self.phase.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The database is poisoned: from now on all clients get the reason.
    pub fn fail(&self, failure: &Arc<FatalError>) {
        // The first reason is kept.
        let _ = self.failure.set(Arc::clone(failure));
        self.set_phase(Phase::Failed);
    }

    /// What clients are told once the database is poisoned.
    pub fn failure(&self) -> Option<Error> {
        self.failure.get().map(|failure| {
            let hint = match failure.state {
                // A restart has found it. The next one refuses it, and says what can be done.
                sqlstate::DATA_CORRUPTED => {
                    "Copy the data directory and the logs before anything else. The next start looks at all of it before it \
                     lets clients in, and says what can be done."
                }
                _ => "Restart the server: it recovers everything that was acknowledged.",
            };
            Error::input(failure.state, failure.message.clone())
                .with_detail("The database takes no more statements, because nothing would be durable.")
                .with_hint(hint)
        })
    }

    /// Why all connections end.
    pub fn ending_error(&self) -> Error {
        self.failure().unwrap_or_else(|| {
            Error::input(sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
        })
    }

    /// Enters the phase and wakes every connection, so that it looks.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
        for control in self.connections.lock().values() {
            if phase >= Phase::Terminating {
                control.end_computing();
            }
            control.wake.notify_one();
        }
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn len(&self) -> usize {
        self.connections.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until no client is connected.
    pub async fn wait_until_empty(&self) {
        while !self.is_empty() {
            self.empty.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_places_return() {
        let registry = Arc::new(Registry::new(2, 0));
        let first = registry.register(false).unwrap();
        let second = registry.register(false).unwrap();
        assert_ne!(first.control().process_id, second.control().process_id);
        assert_eq!(registry.register(true).err(), Some(NoPlace::Full));
        drop(first);
        assert!(registry.register(false).is_ok());
        assert_eq!(registry.len(), 1);
    }

    #[test]
    fn reserved_places_are_for_superusers() {
        let registry = Arc::new(Registry::new(3, 2));
        let _first = registry.register(false).unwrap();
        assert_eq!(registry.register(false).err(), Some(NoPlace::Reserved));
        let _superusers = [registry.register(true).unwrap(), registry.register(true).unwrap()];
        assert_eq!(registry.register(false).err(), Some(NoPlace::Full));
        assert_eq!(registry.register(true).err(), Some(NoPlace::Full));
    }

    #[test]
    fn only_the_right_key_cancels() {
        let registry = Arc::new(Registry::new(2, 0));
        let registration = registry.register(false).unwrap();
        let control = registration.control();
        let stop = Arc::<StopRequest>::default();
        control.attach(Arc::clone(&stop));
        let wrong = control.secret.map(|byte| !byte);
        registry.cancel(control.process_id, &wrong);
        registry.cancel(control.process_id, &control.secret[..3]);
        registry.cancel(control.process_id + 1, &control.secret);
        assert_eq!(control.stop(), None);
        registry.cancel(control.process_id, &control.secret);
        assert_eq!((control.stop(), stop.get()), (Some(Stop::Cancel), Some(Stop::Cancel)));
        control.withdraw_cancel();
        assert_eq!(stop.get(), None);
    }
}
