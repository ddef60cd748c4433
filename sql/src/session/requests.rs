//! What a procedure asks of its session in the middle of its run: to compile the text of an EXECUTE, to end
//! the transaction and begin the next.

use std::sync::Arc;

use hyades_engine::db::Flow;
use hyades_engine::procedure::frame::{Frame, Request};

use super::Session;
use super::state::State;

impl Session {
    /// Does what the procedure has stopped for, if it has; true if its transaction is another one now.
    /// It is called again after a wait.
    pub(super) fn attend(&mut self, frame: &mut Frame) -> Flow<bool> {
        let Some(request) = frame.request.clone() else { return Ok(false) };
        let has_ended = match request {
            Request::Compile { text, types, rows } => {
                let compiled = self.compile_dynamic(&text, &types, rows.as_ref()).map(Arc::new);
                if let Ok(procedure) = &compiled
                    && procedure.asks_catalog
                {
                    self.show_catalog(procedure);
                }
                frame.compiled = Some(compiled);
                false
            }
            Request::EndTransaction { commits } => {
                if commits {
                    self.commit_transaction()?;
                } else {
                    self.roll_back();
                }
                self.begin();
                self.state = State::Implicit;
                self.implicit_statements = 0;
                self.isolate(false);
                true
            }
        };
        frame.request = None;
        Ok(has_ended)
    }
}
