//! Roles and rights that a transaction changes.
//!
//! A transaction that changes roles, or rights on existing objects, locks all of them by `Write` before it
//! looks at them, to the end of the transaction. So nothing is granted to a role that is being dropped, and
//! no two transactions write an access list that each has read. A transaction that makes an object with an
//! owner locks them by `IntentWrite`: the object is not visible to others yet, and its owner stays.

use std::sync::Arc;

use hyades_types::access::{Access, RoleId};
use hyades_types::definition::CatalogChange;
use hyades_types::error::{Abort, Error};

use super::resource::Resource;
use super::{LockingTransaction, NameChange, UndoAction};
use crate::protocol::Protocol;
use crate::storage::catalog::{AccessChange, hand_on_rights};
use crate::txn::Flow;
use crate::txn::lock_mode::LockMode;

impl<P: Protocol> LockingTransaction<P> {
    /// Keeps away all transactions that change roles or rights.
    pub(super) fn lock_access_alone(&mut self) -> Flow<()> {
        self.lock(Resource::access(), LockMode::Write).map(|_| ())
    }

    pub(super) fn change_access(&mut self, change: &CatalogChange) -> Flow<()> {
        self.lock(Resource::access(), LockMode::IntentWrite)?;
        if let CatalogChange::PutRights { rights, .. } = change
            && rights.owner != RoleId::OWNER
            && rights.owner != RoleId::DATABASE_OWNER
            && self.visible_access().role(rights.owner).is_none()
        {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        self.note_change(UndoAction::Name, change)?;
        self.names.extend(AccessChange::of(change).map(NameChange::Access));
        Ok(())
    }

    pub(super) fn visible_access(&self) -> Arc<Access> {
        let mut access = self.shared.catalog.access();
        for change in &self.names {
            match change {
                NameChange::Access(change) => change.put(Arc::make_mut(&mut access)),
                NameChange::CreatedRoutine { routine, replaces: Some(replaced) } => {
                    hand_on_rights(&mut access, replaced.0, routine.id.0);
                }
                _ => {}
            }
        }
        access
    }
}
