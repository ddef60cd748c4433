//! What a session shows of itself to other sessions.

use std::sync::Arc;

use hyades_types::function::now_us;

use super::Session;
use super::activity::{Controller, Doing, Encryption, Shown};
use super::prepared::Prepared;
use super::state::State;

impl Session {
    /// Others see that this statement runs.
    pub(super) fn show_statement(&mut self, statement: &Arc<Prepared>) {
        self.activity.does(Doing::Active);
        // The shown statement is kept alive, so no other statement can get its address.
        let place = Arc::as_ptr(statement) as usize;
        if self.shown_statement != place {
            let shown = Shown::of(statement);
            self.shown_statement = if matches!(shown, Shown::Statement(_)) { place } else { 0 };
            *self.activity.statement.lock() = shown;
        }
    }

    /// Others see that this text is compiled, which may take long. Returns false if they already see that
    /// something runs, of which it is a part.
    pub(super) fn show_preparation(&mut self, text: &str) -> bool {
        if self.activity.is_active() {
            return false;
        }
        self.activity.does(Doing::Active);
        self.activity.begins_statement(now_us());
        self.shown_statement = 0;
        *self.activity.statement.lock() = Shown::beginning(text);
        true
    }

    /// Shows the state of the session when one of its calls returns.
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
        if let Some(name) = self.view.settings.get("application_name") {
            *self.activity.application.lock() = name;
        }
    }

    /// Sets the address of the client, the encryption of its connection, and the handler for requests of
    /// other sessions.
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
            // A session has only one client, so this is set at most once.
            let _ = self.activity.client.set(client);
        }
        let _ = self.activity.controller.set(controller);
    }
}
