//! What a transaction will notify others of when it commits.

use std::collections::HashSet;

/// NOTIFY: to those that listen on the channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    pub channel: String,
    pub payload: String,
}

/// In the order in which they were asked for, each once.
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

    /// How many there are.
    pub fn mark(&self) -> usize {
        self.waiting.len()
    }

    /// Forgets those that came since.
    pub fn go_back(&mut self, mark: usize) {
        for notification in self.waiting.drain(mark.min(self.waiting.len())..) {
            self.known.remove(&notification);
        }
    }

    pub fn all(&self) -> &[Notification] {
        &self.waiting
    }
}
