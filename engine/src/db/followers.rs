//! What a restart that goes on beside transactions tells the logs.

use std::sync::{Arc, Weak};

use crate::log::Logs;
use crate::recovery::Followers;

/// What follows if a restart that has let transactions in cannot be completed.
pub(super) fn followers(logs: Option<&Arc<Logs>>) -> Followers {
    let logs = logs.map(Arc::downgrade);
    let failing = logs.clone();
    let running = move |logs: &Option<Weak<Logs>>| logs.as_ref().and_then(Weak::upgrade);
    Followers {
        on_failure: Arc::new(move |error| {
            if let Some(logs) = running(&failing) {
                logs.fail(error);
            }
        }),
        on_damage: Arc::new(move || {
            if let Some(Err(error)) = running(&logs).map(|logs| logs.suspect_last_checkpoint()) {
                tracing::warn!(%error, "the next start does not know that the checkpoint is damaged");
            }
        }),
    }
}
