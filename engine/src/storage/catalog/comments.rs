//! Comments on objects. They go with their objects. A comment on a constraint or an index that has gone with
//! its table's definition stays, but is not shown.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use hyades_types::definition::CommentTarget;
use hyades_types::memory::{Charge, Keeper};

use super::Catalog;

/// The comments by their targets.
pub type Comments = BTreeMap<CommentTarget, Comment>;

/// What a comment takes in addition to its text and the name that it is on.
const COMMENT_BYTES: usize = 200;

/// The text of a comment.
#[derive(Clone, Debug)]
pub struct Comment {
    text: Arc<str>,
    /// The session's, for a comment on an object of its own.
    _charge: Option<Arc<Charge>>,
}

impl Comment {
    /// A comment at the expense of the keeper, if there is one.
    pub(crate) fn new(text: &str, keeper: Option<&Keeper>) -> Comment {
        let charge = |keeper: &Keeper| Charge::for_value(keeper, &text.to_owned(), COMMENT_BYTES);
        Comment { text: text.into(), _charge: keeper.map(|keeper| Arc::new(charge(keeper))) }
    }
}

impl Deref for Comment {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// Replaces a comment; `None` removes it.
pub(crate) fn put_comment(comments: &mut Comments, on: &CommentTarget, comment: Option<&Comment>) {
    match comment {
        Some(comment) => comments.insert(on.clone(), comment.clone()),
        None => comments.remove(on),
    };
}

impl Catalog {
    /// All committed comments.
    pub fn comments(&self) -> Arc<Comments> {
        Arc::clone(&self.tables.read().comments)
    }

    pub fn put_comment(&self, on: &CommentTarget, comment: Option<&Comment>) {
        let mut snapshot = self.change_names();
        let snapshot = Arc::make_mut(&mut snapshot);
        put_comment(Arc::make_mut(&mut snapshot.comments), on, comment);
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
        let own: Vec<(CommentTarget, Comment)> = (self.comments.iter())
            .filter(|(on, _)| on.object == from)
            .map(|(on, comment)| (CommentTarget { object: to, ..on.clone() }, comment.clone()))
            .collect();
        if !own.is_empty() {
            Arc::make_mut(&mut self.comments).extend(own);
        }
        self.forget_comments(from);
    }
}
