//! The notifications that a transaction will send when it commits.

use std::collections::HashSet;

/// NOTIFY, for the sessions that listen on the channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    pub channel: String,
    pub payload: String,
}

/// In the order of the requests, each once.
#[derive(Clone, Debug, Default)]
pub struct Notifications {
    waiting: Vec<Notification>,
    known: HashSet<Notification>,
}

impl Notifications {
    pub fn add(&mut self, channel: String, payload: String) {
        let notification = Notification { channel, payload };
        if self.known.insert(notification.clone()) {
            self.waiting.push(notification);
        }
    }

    /// Their number.
    pub fn mark(&self) -> usize {
        self.waiting.len()
    }

    /// Discards those added since the mark.
    pub fn go_back(&mut self, mark: usize) {
        if self.waiting.len() <= mark {
            return;
        }
        for notification in self.waiting.drain(mark..) {
            self.known.remove(&notification);
        }
    }

    pub fn all(&self) -> &[Notification] {
        &self.waiting
    }

    pub fn take_all(&mut self) -> Vec<Notification> {
        self.known = HashSet::new();
        std::mem::take(&mut self.waiting)
    }
}
