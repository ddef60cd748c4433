//! LISTEN and NOTIFY between the sessions of a database.
//!
//! Notifications arrive in the order of the commits that sent them: a transaction with notifications
//! commits under a mutex that is held until they are delivered. All listening sessions share them: each has
//! a reference in its mailbox, together with the channels that it listens on. A client gets them piece by
//! piece, as it reads them, once their transaction is durable.
//!
//! A session inside a transaction block fetches nothing, and it may stay there for ever. The sessions
//! that notify it can do nothing about that. So if what waits in mailboxes exceeds its limit, the sessions
//! with the fullest ones are ended: no sender fails because of a listener, and listeners take a bounded
//! amount of memory.
//!
//! Reference: PostgreSQL's async.c.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyades_engine::log::durable::Durability;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest::Stop;
use hyades_types::notifications::Notification;
use parking_lot::{Mutex, MutexGuard};

use super::activity::Activity;

/// The size limit of all notifications in mailboxes together.
const MOST_BYTES: usize = 64 << 20;
/// The cost of a notification besides its texts.
const OWN_BYTES: usize = 128;
/// The cost of a batch in one mailbox.
const LETTER_BYTES: usize = 64;
/// How much a session takes from its mailbox at once.
const PORTION_BYTES: usize = 256 << 10;
/// After this many notifications others get the mutex.
const BETWEEN_TURNS: usize = 1024;

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

/// What a transaction has sent to those that listen.
struct Batch {
    process: i32,
    notifications: Vec<Notification>,
    durability: Durability,
    bytes: usize,
    /// The size of all batches and letters that wait in mailboxes.
    waiting_bytes: Arc<AtomicUsize>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.waiting_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What waits of a batch for one session.
struct Letter {
    batch: Arc<Batch>,
    /// Those that the session listened on when the batch was sent.
    channels: Arc<BTreeSet<String>>,
    /// How many notifications of the batch it has seen.
    seen: usize,
}

impl Letter {
    fn new(batch: &Arc<Batch>, channels: &Arc<BTreeSet<String>>) -> Letter {
        batch.waiting_bytes.fetch_add(LETTER_BYTES, Ordering::Relaxed);
        Letter { batch: Arc::clone(batch), channels: Arc::clone(channels), seen: 0 }
    }
}

impl Drop for Letter {
    fn drop(&mut self) {
        self.batch.waiting_bytes.fetch_sub(LETTER_BYTES, Ordering::Relaxed);
    }
}

/// The notifications that wait for a session.
#[derive(Default)]
pub(super) struct Mailbox {
    waiting: Mutex<VecDeque<Letter>>,
}

impl Mailbox {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// The next notifications, about [`PORTION_BYTES`] of them.
    pub(super) fn take(&self) -> Vec<Delivered> {
        let mut waiting = self.waiting.lock();
        let (mut taken, mut size) = (Vec::new(), 0);
        while let Some(letter) = waiting.front_mut() {
            let Some(sent) = letter.batch.notifications.get(letter.seen) else {
                waiting.pop_front();
                continue;
            };
            if size >= PORTION_BYTES {
                break;
            }
            letter.seen += 1;
            if letter.channels.contains(&sent.channel) {
                size += bytes(sent);
                taken.push(Delivered {
                    process: letter.batch.process,
                    channel: sent.channel.clone(),
                    payload: sent.payload.clone(),
                    durability: letter.batch.durability.clone(),
                });
            }
        }
        taken
    }

    fn put(&self, letter: Letter) {
        self.waiting.lock().push_back(letter);
    }

    fn clear(&self) {
        self.waiting.lock().clear();
    }

    fn bytes(&self) -> usize {
        self.waiting.lock().iter().map(|letter| letter.batch.bytes + LETTER_BYTES).sum()
    }
}

fn bytes(sent: &Notification) -> usize {
    sent.channel.len() + sent.payload.len() + OWN_BYTES
}

struct Listener {
    channels: Arc<BTreeSet<String>>,
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

/// The channels that each session listens on, and the sessions that listen on each channel.
#[derive(Default)]
struct Known {
    by_session: BTreeMap<i32, Listener>,
    by_channel: HashMap<String, BTreeSet<i32>>,
}

impl Known {
    fn forget(&mut self, session: i32, channel: &str) {
        if let Some(sessions) = self.by_channel.get_mut(channel) {
            sessions.remove(&session);
            if sessions.is_empty() {
                self.by_channel.remove(channel);
            }
        }
    }

    fn remove(&mut self, session: i32) -> Option<Listener> {
        let removed = self.by_session.remove(&session)?;
        removed.channels.iter().for_each(|channel| self.forget(session, channel));
        Some(removed)
    }

    fn change(&mut self, session: i32, change: ListenChange) {
        let Some(listener) = self.by_session.get_mut(&session) else { return };
        match change {
            ListenChange::Listen(channel) => {
                Arc::make_mut(&mut listener.channels).insert(channel.clone());
                self.by_channel.entry(channel).or_default().insert(session);
            }
            ListenChange::Unlisten(channel) => {
                Arc::make_mut(&mut listener.channels).remove(&channel);
                self.forget(session, &channel);
            }
            ListenChange::UnlistenAll => {
                let channels = std::mem::take(&mut listener.channels);
                channels.iter().for_each(|channel| self.forget(session, channel));
            }
        }
    }
}

/// Who listens on what, and what waits for them.
#[derive(Default)]
pub(super) struct Listeners {
    known: Mutex<Known>,
    waiting_bytes: Arc<AtomicUsize>,
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
        let size: usize = notifications.iter().map(bytes).sum();
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
        let mut known = self.known.lock();
        known.by_session.entry(session).or_insert_with(|| Listener {
            channels: Arc::default(),
            mailbox: Arc::clone(mailbox),
            activity: Arc::clone(activity),
        });
        for change in changes {
            known.change(session, change);
        }
        if known.by_session.get(&session).is_some_and(|listener| listener.channels.is_empty()) {
            known.remove(session);
        }
    }

    pub(super) fn channels(&self, session: i32) -> Vec<String> {
        let known = self.known.lock();
        known.by_session.get(&session).map(|own| own.channels.iter().cloned().collect()).unwrap_or_default()
    }

    /// Puts these into the mailboxes of the listening sessions, and wakes them. Ends those whose mailboxes
    /// are the fullest if all together hold too much.
    pub(super) fn deliver(&self, process: i32, sent: Vec<Notification>, durability: &Durability) {
        let mut known = self.known.lock();
        let mut told = BTreeSet::new();
        let mut heard: HashSet<String> = HashSet::new();
        let mut notifications: Vec<Notification> = Vec::new();
        for (number, sent) in sent.into_iter().enumerate() {
            if number % BETWEEN_TURNS == BETWEEN_TURNS - 1 {
                MutexGuard::bump(&mut known);
            }
            let Some(sessions) = known.by_channel.get(&sent.channel) else { continue };
            if !heard.contains(&sent.channel) {
                told.extend(sessions);
                heard.insert(sent.channel.clone());
            }
            notifications.push(sent);
        }
        let bytes = notifications.iter().map(bytes).sum();
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let (durability, waiting_bytes) = (durability.clone(), Arc::clone(&self.waiting_bytes));
        let batch = Arc::new(Batch { process, notifications, durability, bytes, waiting_bytes });
        for listener in told.iter().filter_map(|session| known.by_session.get(session)) {
            listener.mailbox.put(Letter::new(&batch, &listener.channels));
            listener.activity.wake();
        }
        drop(batch);
        self.end_fullest(&mut known);
    }

    fn end_fullest(&self, known: &mut Known) {
        let is_too_much = || self.waiting_bytes.load(Ordering::Relaxed) > MOST_BYTES;
        if !is_too_much() {
            return;
        }
        let sizes = known.by_session.iter().map(|(session, listener)| (listener.mailbox.bytes(), *session));
        let mut sizes: Vec<(usize, i32)> = sizes.collect();
        sizes.sort_unstable();
        while is_too_much()
            && let Some((size, session)) = sizes.pop()
        {
            if let Some(listener) = known.remove(session) {
                tracing::warn!(bytes = size, "a session that did not fetch its notifications is ended");
                listener.mailbox.clear();
                listener.activity.stop(Stop::End);
            }
        }
    }

    pub(super) fn remove(&self, session: i32) {
        self.known.lock().remove(session);
    }
}

#[cfg(test)]
mod tests {
    use hyades_types::definition::DatabaseId;
    use hyades_types::guest::StopRequest;

    use super::*;

    fn sent(channel: &str, bytes: usize) -> Vec<Notification> {
        vec![Notification { channel: channel.to_owned(), payload: "x".repeat(bytes) }]
    }

    fn listening(listeners: &Listeners, number: i32, channel: &str) -> (Arc<Mailbox>, Arc<StopRequest>) {
        let (mailbox, stop) = (Arc::<Mailbox>::default(), Arc::<StopRequest>::default());
        let activity =
            Arc::new(Activity::new("eve", (DatabaseId::FIRST, "hyades"), number, Arc::clone(&stop)));
        let changes = vec![ListenChange::Listen(channel.to_owned())];
        listeners.change(number, (&mailbox, &activity), changes);
        (mailbox, stop)
    }

    #[test]
    fn what_many_listen_to_is_kept_once() {
        let listeners = Listeners::default();
        let sessions: Vec<_> = (0..100).map(|number| listening(&listeners, number, "all")).collect();
        let waiting = || listeners.waiting_bytes.load(Ordering::Relaxed);
        let batch: Vec<Notification> = (0..50).flat_map(|_| sent("all", 1 << 20)).collect();
        listeners.deliver(7, batch, &Durability::immediate());
        listeners.deliver(7, sent("nobody", 1 << 20), &Durability::immediate());
        assert!(waiting() < 51 << 20, "{}", waiting());
        // They take it piece by piece.
        for (mailbox, stop) in &sessions {
            assert!(!stop.is_end());
            for _ in 0..50 {
                assert_eq!(mailbox.take().len(), 1);
            }
            assert!(mailbox.take().is_empty() && mailbox.is_empty());
        }
        assert_eq!(waiting(), 0);
        listeners.deliver(7, (0..600).flat_map(|_| sent("all", 1 << 10)).collect(), &Durability::immediate());
        let portions: Vec<usize> = std::iter::repeat_with(|| sessions[0].0.take().len()).take(4).collect();
        assert_eq!(portions, [227, 227, 146, 0]);
    }

    #[test]
    fn a_mailbox_holds_what_was_listened_on_when_it_was_sent() {
        let listeners = Listeners::default();
        let (mailbox, stop) = listening(&listeners, 1, "early");
        let (other, _) = listening(&listeners, 2, "late");
        let activity = Arc::new(Activity::new("eve", (DatabaseId::FIRST, "hyades"), 1, stop));
        let batch = || [sent("late", 1), sent("early", 2), sent("late", 3)].concat();
        listeners.deliver(7, batch(), &Durability::immediate());
        let change = |change: ListenChange| listeners.change(1, (&mailbox, &activity), vec![change]);
        change(ListenChange::Listen("late".to_owned()));
        listeners.deliver(7, batch(), &Durability::immediate());
        change(ListenChange::Unlisten("early".to_owned()));
        listeners.deliver(7, batch(), &Durability::immediate());
        change(ListenChange::UnlistenAll);
        listeners.deliver(7, batch(), &Durability::immediate());
        let lengths = |mailbox: &Mailbox| -> Vec<usize> {
            mailbox.take().iter().map(|delivered| delivered.payload.len()).collect()
        };
        assert_eq!(lengths(&mailbox), [2, 1, 2, 3, 1, 3]);
        assert_eq!(lengths(&other), [1, 3, 1, 3, 1, 3, 1, 3]);
        listeners.remove(2);
        assert!(listeners.known.lock().by_channel.is_empty());
    }

    #[test]
    fn no_sender_fails_because_a_listener_does_not_fetch() {
        let listeners = Listeners::default();
        let channels = [(0, "busy"), (1, "idle"), (2, "quiet")];
        let sessions = channels.map(|(number, channel)| listening(&listeners, number, channel));
        listeners.deliver(7, sent("quiet", 1 << 20), &Durability::immediate());
        let mut most: usize = 0;
        for _ in 0..200 {
            for (channel, size) in [("busy", 1 << 20), ("idle", 1 << 10)] {
                Listeners::check(&sent(channel, size)).expect("a transaction that sends little");
                listeners.deliver(7, sent(channel, size), &Durability::immediate());
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
