//! Comments on objects. They go with their objects. A comment on a constraint or an index that has gone with
//! its table's definition stays, but is not shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyades_types::definition::CommentTarget;

use super::Catalog;

/// The comments by their targets.
pub type Comments = BTreeMap<CommentTarget, Arc<str>>;

/// Replaces a comment; `None` removes it.
pub(crate) fn put_comment(comments: &mut Comments, on: &CommentTarget, text: Option<&Arc<str>>) {
    match text {
        Some(text) => comments.insert(on.clone(), Arc::clone(text)),
        None => comments.remove(on),
    };
}

impl Catalog {
    /// All committed comments.
    pub fn comments(&self) -> Arc<Comments> {
        Arc::clone(&self.tables.read().comments)
    }

    pub fn put_comment(&self, on: &CommentTarget, text: Option<&Arc<str>>) {
        let mut snapshot = self.change_names();
        let snapshot = Arc::make_mut(&mut snapshot);
        put_comment(Arc::make_mut(&mut snapshot.comments), on, text);
    }
}

impl super::Snapshot {
    /// The object is gone.
    pub(super) fn forget_comments(&mut self, object: u32) {
        self.forget_rights(object);
        if self.comments.keys().any(|on| on.object == object) {
            Arc::make_mut(&mut self.comments).retain(|on, _| on.object != object);
        }
    }

    /// Another version of the object takes its place.
    pub(super) fn hand_on_comments(&mut self, from: u32, to: u32) {
        self.hand_on_rights(from, to);
        let own: Vec<(CommentTarget, Arc<str>)> = (self.comments.iter())
            .filter(|(on, _)| on.object == from)
            .map(|(on, text)| (CommentTarget { object: to, ..on.clone() }, Arc::clone(text)))
            .collect();
        if !own.is_empty() {
            Arc::make_mut(&mut self.comments).extend(own);
        }
        self.forget_comments(from);
    }
}
