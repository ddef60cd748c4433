//! LISTEN, UNLISTEN and NOTIFY, and their effects at the end of a transaction.

use hyades_engine::db::Flow;
use hyades_engine::log::durable::Durability;
use hyades_types::function::queue_notification;

use super::listeners::{Delivered, ListenChange, Listeners};
use super::transaction::tag;
use super::{Completion, Session, TransactionStatus};
use crate::statement::ListenStatement;

impl Session {
    pub(super) fn listen_command(&mut self, statement: &ListenStatement) -> Flow<Completion> {
        self.open_transaction()?;
        match statement {
            ListenStatement::Listen(channel) => {
                self.listen_changes.push(ListenChange::Listen(channel.clone()));
                tag("LISTEN")
            }
            ListenStatement::Unlisten(channel) => {
                self.listen_changes.push(match channel {
                    Some(channel) => ListenChange::Unlisten(channel.clone()),
                    None => ListenChange::UnlistenAll,
                });
                tag("UNLISTEN")
            }
            ListenStatement::Notify { channel, payload } => {
                queue_notification(&self.view.environment, channel.clone(), payload.clone())?;
                tag("NOTIFY")
            }
        }
    }

    /// Commits the worker's transaction and delivers its notifications.
    pub(super) fn commit_and_notify(&mut self) -> Flow<Durability> {
        let waits = self.waits && self.view.settings.is_commit_synchronous();
        self.view.worker.promise_to_wait(waits);
        let notifications = self.view.environment.notifications.get_mut();
        if notifications.mark() == 0 && self.listen_changes.is_empty() {
            return self.view.worker.commit();
        }
        Listeners::check(notifications.all())?;
        let neighbours = std::sync::Arc::clone(&self.neighbours);
        let _order = neighbours.listeners.one_at_a_time();
        let durability = self.view.worker.commit()?;
        let changes = std::mem::take(&mut self.listen_changes);
        if !changes.is_empty() {
            neighbours.listeners.change(self.view.number, (&self.mailbox, &self.activity), changes);
        }
        let notifications = self.view.environment.notifications.get_mut().take_all();
        neighbours.listeners.deliver(self.process, notifications, &durability);
        Ok(durability)
    }

    /// The channels that the session listens on.
    pub(super) fn listening_channels(&self) -> Vec<String> {
        self.neighbours.listeners.channels(self.view.number)
    }

    /// DISCARD ALL.
    pub(super) fn unlisten_all(&mut self) {
        self.listen_changes.push(ListenChange::UnlistenAll);
    }

    /// Whether [`Session::take_notifications`] would return anything.
    pub fn has_notifications(&self) -> bool {
        self.transaction_status() == TransactionStatus::Idle && !self.mailbox.is_empty()
    }

    /// The next notifications for this session, none inside a transaction block. Like an answer, they may
    /// be sent when [`Session::pending_durability`] allows. If they are many there are more, which are to be
    /// taken once these have been sent.
    pub fn take_notifications(&mut self) -> Vec<Delivered> {
        if !self.has_notifications() {
            return Vec::new();
        }
        let delivered = self.mailbox.take();
        for notification in &delivered {
            self.durability.merge(notification.durability.clone());
        }
        delivered
    }
}
