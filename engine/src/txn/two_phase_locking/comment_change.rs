//! Comments that a transaction makes.

use std::sync::Arc;

use hyades_types::definition::{CatalogChange, CommentTarget};

use super::resource::Resource;
use super::{LockingTransaction, NameChange, UndoAction};
use crate::protocol::Protocol;
use crate::storage::catalog::{Comment, Comments, put_comment};
use crate::txn::Flow;
use crate::txn::lock_mode::LockMode;

impl<P: Protocol> LockingTransaction<P> {
    /// Two transactions that comment on one object are ordered, in the log too.
    pub(super) fn comment(
        &mut self,
        on: &CommentTarget,
        text: Option<&str>,
        change: &CatalogChange,
    ) -> Flow<()> {
        self.lock(Resource::comments(on.object), LockMode::Write)?;
        self.note_change(UndoAction::Name, change)?;
        let keeper = self.keeper.as_ref().filter(|_| change.is_temporary());
        self.names.push(NameChange::Comment(on.clone(), text.map(|text| Comment::new(text, keeper))));
        Ok(())
    }

    pub(super) fn visible_comments(&self) -> Arc<Comments> {
        let mut comments = self.shared.catalog.comments();
        for change in &self.names {
            if let NameChange::Comment(on, comment) = change {
                put_comment(Arc::make_mut(&mut comments), on, comment.as_ref());
            }
        }
        comments
    }
}
