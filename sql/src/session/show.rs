//! What a session shows of itself to others.

use std::sync::Arc;

use super::Session;
use super::activity::{Controller, Doing, Encryption, Shown};
use super::prepared::Prepared;
use super::state::State;

impl Session {
    /// Others see that this statement runs.
    pub(super) fn show_statement(&mut self, statement: &Arc<Prepared>) {
        self.activity.does(Doing::Active);
        // What is shown is kept, so no other statement comes to lie in its place.
        let place = Arc::as_ptr(statement) as usize;
        if self.shown_statement != place {
            let shown = Shown::of(statement);
            self.shown_statement = if matches!(shown, Shown::Statement(_)) { place } else { 0 };
            *self.activity.statement.lock() = shown;
        }
    }

    /// Others see what is left when a call of the session returns.
    pub(super) fn show_state(&self, waits: bool) {
        if waits {
            self.activity.counters.waits.count();
        }
        self.activity.does(match self.state {
            _ if waits => Doing::Waiting,
            State::Idle => Doing::Idle,
            State::Implicit => Doing::Active,
            State::Block => Doing::IdleInTransaction,
            State::Failed => Doing::IdleInFailedTransaction,
        });
    }

    pub(super) fn show_application(&self) {
        if let Some(name) = self.settings.get("application_name") {
            *self.activity.application.lock() = name;
        }
    }

    /// Where the client is, how its connection is encrypted, and who carries out what others want of this
    /// session.
    pub fn attach(
        &mut self,
        client: Option<std::net::SocketAddr>,
        encryption: Option<Encryption>,
        controller: Box<dyn Controller>,
    ) {
        if let Some(encryption) = encryption {
            let _ = self.activity.encryption.set(encryption);
        }
        if let Some(client) = client {
            // A session has one client, so the first is the only one.
            let _ = self.activity.client.set(client);
        }
        let _ = self.activity.controller.set(controller);
    }
}
