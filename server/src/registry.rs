//! Who is connected: the limit on connections, cancel keys, and the bell that ends everybody at shutdown.
//!
//! Each connection shares one [`Control`] with the rest of the server. Whoever wants something of the connection sets a mark
//! and rings its bell ([`Control::wake`]); the connection looks at the marks when it wakes. A running statement polls the
//! session's request to stop instead.
//!
//! Invariant: marks are set before the bell rings, and the connection looks at them after it started to listen, so no ring is lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use hyades::engine::guest::StopRequest;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Why a running statement was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CancelReason {
    None = 0,
    User = 1,
    StatementTimeout = 2,
}

/// Where the server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Recovery runs; nobody gets in.
    Starting = 0,
    Serving = 1,
    /// Idle sessions end, open transactions may finish.
    Draining = 2,
    /// Everybody ends now.
    Terminating = 3,
}

/// One connection as others see it.
pub struct Control {
    pub process_id: i32,
    pub secret: [u8; 4],
    cancel: AtomicU8,
    stop: OnceLock<Arc<StopRequest>>,
    pub wake: Notify,
}

impl Control {
    /// What a running statement looks at.
    pub fn attach(&self, stop: Arc<StopRequest>) {
        // A connection has one session, so the first is the only one.
        let _ = self.stop.set(stop);
    }

    /// Stops the running statement, be it computing or waiting.
    pub fn cancel(&self, reason: CancelReason) {
        self.cancel.store(reason as u8, Ordering::Release);
        if let Some(stop) = self.stop.get() {
            stop.cancel();
        }
        self.wake.notify_one();
    }

    /// Takes the mark a cancel left.
    pub fn take_cancel(&self) -> CancelReason {
        // The common case must not write to a shared line.
        if self.cancel.load(Ordering::Acquire) == CancelReason::None as u8 {
            return CancelReason::None;
        }
        if let Some(stop) = self.stop.get() {
            stop.withdraw();
        }
        match self.cancel.swap(CancelReason::None as u8, Ordering::AcqRel) {
            1 => CancelReason::User,
            2 => CancelReason::StatementTimeout,
            _ => CancelReason::None,
        }
    }
}

/// All connections; see the module head.
pub struct Registry {
    connections: Mutex<HashMap<i32, Arc<Control>>>,
    limit: usize,
    next_process_id: AtomicI32,
    phase: AtomicU8,
    /// Rings when the last connection has gone.
    empty: Notify,
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
    pub fn new(limit: usize) -> Registry {
        Registry {
            connections: Mutex::default(),
            limit,
            next_process_id: AtomicI32::new(1),
            phase: AtomicU8::new(Phase::Starting as u8),
            empty: Notify::new(),
        }
    }

    /// A place for one more connection, unless the limit is reached.
    pub fn register(self: &Arc<Registry>) -> Option<Registration> {
        let mut connections = self.connections.lock();
        if connections.len() >= self.limit {
            return None;
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
            cancel: AtomicU8::new(CancelReason::None as u8),
            stop: OnceLock::new(),
            wake: Notify::new(),
        });
        connections.insert(process_id, Arc::clone(&control));
        Some(Registration { registry: Arc::clone(self), control })
    }

    /// Obeys a cancel request whose key is right; says nothing otherwise.
    pub fn cancel(&self, process_id: i32, secret: &[u8]) {
        let control = self.connections.lock().get(&process_id).cloned();
        if let Some(control) = control
            && bool::from(subtle::ConstantTimeEq::ct_eq(&control.secret[..], secret))
        {
            control.cancel(CancelReason::User);
        }
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Serving,
            2 => Phase::Draining,
            _ => Phase::Terminating,
        }
    }

    /// Moves on and wakes every connection, so that it looks.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
        for control in self.connections.lock().values() {
            if phase == Phase::Terminating {
                control.cancel(CancelReason::User);
            }
            control.wake.notify_one();
        }
    }

    pub fn len(&self) -> usize {
        self.connections.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until nobody is connected.
    pub async fn wait_until_empty(&self) {
        while !self.is_empty() {
            self.empty.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use hyades::engine::guest::Stop;

    use super::*;

    #[test]
    fn the_limit_holds_and_places_return() {
        let registry = Arc::new(Registry::new(2));
        let first = registry.register().unwrap();
        let second = registry.register().unwrap();
        assert_ne!(first.control().process_id, second.control().process_id);
        assert!(registry.register().is_none());
        drop(first);
        assert!(registry.register().is_some());
        assert_eq!(registry.len(), 1);
    }

    #[test]
    fn only_the_right_key_cancels() {
        let registry = Arc::new(Registry::new(2));
        let registration = registry.register().unwrap();
        let control = registration.control();
        let stop = Arc::<StopRequest>::default();
        control.attach(Arc::clone(&stop));
        let wrong = control.secret.map(|byte| !byte);
        registry.cancel(control.process_id, &wrong);
        registry.cancel(control.process_id, &control.secret[..3]);
        registry.cancel(control.process_id + 1, &control.secret);
        assert_eq!(control.take_cancel(), CancelReason::None);
        registry.cancel(control.process_id, &control.secret);
        assert_eq!(stop.get(), Some(Stop::Cancel));
        assert_eq!(control.take_cancel(), CancelReason::User);
        assert_eq!(stop.get(), None);
        assert_eq!(control.take_cancel(), CancelReason::None);
    }
}
