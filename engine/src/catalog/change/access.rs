//! Roles and rights.
//!
//! A transaction that changes roles, or rights on existing objects, locks all of them in `Change` before it
//! looks at them, to its end. So nothing is granted to a role that is being dropped, and no two transactions
//! write an access list that each has read. A transaction that makes an object with an owner locks them in
//! `Extend`: the object is not visible to others yet, and its owner stays.

use hyades_types::access::RoleId;
use hyades_types::definition::{CatalogChange, DatabaseId};

use super::{Applying, stale};
use crate::catalog::effect::Effect;
use crate::storage::catalog::{AccessChange, CatalogView};
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode};

impl<T: ObjectAccess> Applying<'_, T> {
    pub(super) fn change_access(&mut self, change: &CatalogChange, database: DatabaseId) -> Flow<()> {
        self.lock(Object::Access, ObjectMode::Extend)?;
        if let CatalogChange::PutRights { rights, .. } = change
            && rights.owner != RoleId::OWNER
            && rights.owner != RoleId::DATABASE_OWNER
            && self.overlay.access().role(rights.owner).is_none()
        {
            return Err(stale());
        }
        self.note()?;
        if let Some(change) = AccessChange::of(change) {
            self.push(Effect::Access(database, change));
        }
        Ok(())
    }
}
