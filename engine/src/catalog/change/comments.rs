//! Comments on objects. Two transactions that comment on one object are ordered, in the log too.

use hyades_types::definition::CommentTarget;

use super::Applying;
use crate::catalog::effect::Effect;
use crate::storage::catalog::Comment;
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode};

impl<T: ObjectAccess> Applying<'_, T> {
    pub(super) fn comment(&mut self, on: &CommentTarget, text: Option<&str>) -> Flow<()> {
        self.lock(Object::Comments(on.object), ObjectMode::Change)?;
        self.note()?;
        let keeper = self.overlay.keeper.as_ref().filter(|_| self.change.is_temporary());
        let comment = text.map(|text| Comment::new(text, keeper));
        self.push(Effect::Comment(on.clone(), comment));
        Ok(())
    }
}
