//! LISTEN and NOTIFY between the sessions of a database.
//!
//! Notifications arrive in the order of the commits that sent them: a transaction with notifications
//! commits under a mutex that is held until they are delivered. They are put into the mailbox of each
//! listening session, together with the condition for sending them to its client: their transaction must be
//! durable.
//!
//! A session inside a transaction block fetches nothing, and it may stay there for ever. Whoever notifies it
//! can do nothing about that. So if the mailboxes together exceed their limit, the sessions with the fullest
//! ones are ended: no sender fails because of a listener, and listeners take a bounded amount of memory.
//!
//! Reference: PostgreSQL's async.c.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use hyades_engine::log::durable::Durability;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest::Stop;
use hyades_types::notifications::Notification;
use parking_lot::{Mutex, MutexGuard};

use super::activity::Activity;

/// The size limit of all mailboxes together.
const MOST_BYTES: usize = 64 << 20;
/// The cost of a notification besides its texts.
const OWN_BYTES: usize = 128;

/// A notification on its way to a client.
#[derive(Clone)]
pub struct Delivered {
    /// The process number of the sending session.
    pub process: i32,
    pub channel: String,
    pub payload: String,
    /// The notification must not be sent to the client before this, its transaction's durability, is
    /// reached.
    pub(super) durability: Durability,
}

/// The notifications that wait for a session.
#[derive(Default)]
pub(super) struct Mailbox {
    waiting: Mutex<(VecDeque<Delivered>, usize)>,
}

impl Mailbox {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.lock().0.is_empty()
    }

    pub(super) fn take(&self) -> VecDeque<Delivered> {
        std::mem::take(&mut *self.waiting.lock()).0
    }

    fn put(&self, notification: Delivered) {
        let mut waiting = self.waiting.lock();
        waiting.1 += bytes(&notification.channel, &notification.payload);
        waiting.0.push_back(notification);
    }

    fn bytes(&self) -> usize {
        self.waiting.lock().1
    }
}

fn bytes(channel: &str, payload: &str) -> usize {
    channel.len() + payload.len() + OWN_BYTES
}

struct Listener {
    channels: BTreeSet<String>,
    mailbox: Arc<Mailbox>,
    activity: Arc<Activity>,
}

/// A change that LISTEN or UNLISTEN makes when the transaction commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListenChange {
    Listen(String),
    Unlisten(String),
    UnlistenAll,
}

/// The channels that each session listens on.
#[derive(Default)]
pub(super) struct Listeners {
    by_session: Mutex<BTreeMap<i32, Listener>>,
    /// Held while a transaction with notifications commits.
    order: Mutex<()>,
}

impl Listeners {
    /// Keeps other transactions with notifications from committing.
    pub(super) fn one_at_a_time(&self) -> MutexGuard<'_, ()> {
        self.order.lock()
    }

    /// Error 54000 for a transaction whose notifications are more than all mailboxes may hold.
    pub(super) fn check(notifications: &[Notification]) -> Result<()> {
        let size: usize = notifications.iter().map(|sent| bytes(&sent.channel, &sent.payload)).sum();
        if size <= MOST_BYTES {
            return Ok(());
        }
        let message = "too many notifications in the NOTIFY queue";
        Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message))
    }

    pub(super) fn change(
        &self,
        session: i32,
        (mailbox, activity): (&Arc<Mailbox>, &Arc<Activity>),
        changes: Vec<ListenChange>,
    ) {
        let mut by_session = self.by_session.lock();
        let listener = by_session.entry(session).or_insert_with(|| Listener {
            channels: BTreeSet::new(),
            mailbox: Arc::clone(mailbox),
            activity: Arc::clone(activity),
        });
        for change in changes {
            match change {
                ListenChange::Listen(channel) => {
                    listener.channels.insert(channel);
                }
                ListenChange::Unlisten(channel) => {
                    listener.channels.remove(&channel);
                }
                ListenChange::UnlistenAll => listener.channels.clear(),
            }
        }
        if listener.channels.is_empty() {
            by_session.remove(&session);
        }
    }

    pub(super) fn channels(&self, session: i32) -> Vec<String> {
        let by_session = self.by_session.lock();
        by_session.get(&session).map(|own| own.channels.iter().cloned().collect()).unwrap_or_default()
    }

    /// Puts these into the mailboxes of the listening sessions, and wakes them. Ends those whose mailboxes
    /// are the fullest if all together hold too much.
    pub(super) fn deliver(&self, process: i32, notifications: &[Notification], durability: &Durability) {
        let mut by_session = self.by_session.lock();
        for listener in by_session.values() {
            let mut is_told = false;
            for sent in notifications.iter().filter(|sent| listener.channels.contains(&sent.channel)) {
                is_told = true;
                listener.mailbox.put(Delivered {
                    process,
                    channel: sent.channel.clone(),
                    payload: sent.payload.clone(),
                    durability: durability.clone(),
                });
            }
            if is_told {
                listener.activity.wake();
            }
        }
        let mut sizes: Vec<(usize, i32)> =
            by_session.iter().map(|(session, listener)| (listener.mailbox.bytes(), *session)).collect();
        let mut total: usize = sizes.iter().map(|(size, _)| size).sum();
        if total <= MOST_BYTES {
            return;
        }
        sizes.sort_unstable();
        while total > MOST_BYTES
            && let Some((size, session)) = sizes.pop()
        {
            total -= size;
            if let Some(listener) = by_session.remove(&session) {
                tracing::warn!(bytes = size, "a session that did not fetch its notifications is ended");
                listener.mailbox.take();
                listener.activity.stop(Stop::End);
            }
        }
    }

    pub(super) fn remove(&self, session: i32) {
        self.by_session.lock().remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use hyades_types::guest::StopRequest;

    use super::*;

    fn sent(channel: &str, bytes: usize) -> [Notification; 1] {
        [Notification { channel: channel.to_owned(), payload: "x".repeat(bytes) }]
    }

    #[test]
    fn no_sender_fails_because_a_listener_does_not_fetch() {
        let listeners = Listeners::default();
        let sessions: Vec<_> = ["busy", "idle", "quiet"]
            .into_iter()
            .enumerate()
            .map(|(number, channel)| {
                let (mailbox, stop) = (Arc::<Mailbox>::default(), Arc::<StopRequest>::default());
                let activity = Arc::new(Activity::new("eve", "hyades", number as i32, Arc::clone(&stop)));
                let changes = vec![ListenChange::Listen(channel.to_owned())];
                listeners.change(number as i32, (&mailbox, &activity), changes);
                (mailbox, stop)
            })
            .collect();
        listeners.deliver(7, &sent("quiet", 1 << 20), &Durability::immediate());
        let mut most: usize = 0;
        for _ in 0..200 {
            for (channel, size) in [("busy", 1 << 20), ("idle", 1 << 10)] {
                Listeners::check(&sent(channel, size)).expect("a transaction that sends little");
                listeners.deliver(7, &sent(channel, size), &Durability::immediate());
            }
            most = most.max(sessions.iter().map(|(mailbox, _)| mailbox.bytes()).sum::<usize>());
        }
        let has_ended: Vec<bool> = sessions.iter().map(|(_, stop)| stop.is_end()).collect();
        assert_eq!(has_ended, [true, false, false]);
        assert!(most <= MOST_BYTES && sessions[0].0.is_empty());
        assert_eq!(sessions[1].0.take().len(), 200);
        assert_eq!(sessions[2].0.take().len(), 1);
        assert!(Listeners::check(&sent("busy", MOST_BYTES)).is_err());
    }
}
