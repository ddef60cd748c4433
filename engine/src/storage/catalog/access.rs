//! Roles and rights of the catalog. Rights go with their objects.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyades_types::access::{Access, Rights, Role, RoleId, SettingsOf, StoredSettings};
use hyades_types::definition::CatalogChange;
use hyades_types::error::{Error, Result};

use super::Catalog;

/// A change of roles or rights that is private to a transaction until it commits.
#[derive(Clone)]
pub(crate) enum AccessChange {
    Role(RoleId, Option<Arc<Role>>),
    Settings(SettingsOf, Arc<StoredSettings>),
    Rights(u32, Arc<Rights>),
}

impl AccessChange {
    /// The access change that a change of the catalog makes; `None` if it is about something else.
    pub(crate) fn of(change: &CatalogChange) -> Option<AccessChange> {
        Some(match change {
            CatalogChange::PutRole { id, role } => AccessChange::Role(*id, Some(Arc::new(role.clone()))),
            CatalogChange::DropRole { id } => AccessChange::Role(*id, None),
            CatalogChange::PutSettings { of, settings } => {
                AccessChange::Settings(*of, Arc::new(settings.clone()))
            }
            CatalogChange::PutRights { object, rights } => {
                AccessChange::Rights(*object, Arc::new(rights.clone()))
            }
            _ => return None,
        })
    }

    /// Whether it is the same in all databases.
    pub(crate) fn is_common(&self) -> bool {
        !matches!(self, AccessChange::Rights(..))
    }

    pub(crate) fn put(&self, access: &mut Access) {
        match self {
            AccessChange::Role(id, Some(role)) => access.put_role(*id, Arc::clone(role)),
            AccessChange::Role(id, None) => access.remove_role(*id),
            AccessChange::Settings(of, settings) => access.put_settings(*of, Arc::clone(settings)),
            AccessChange::Rights(object, rights) => access.put_rights(*object, Arc::clone(rights)),
        }
    }
}

/// Another version of the object takes its place.
pub(crate) fn hand_on_rights(access: &mut Arc<Access>, from: u32, to: u32) {
    if access.knows(from) {
        Arc::make_mut(access).hand_on(from, to);
    }
}

impl Catalog {
    /// All committed roles and rights.
    pub fn access(&self) -> Arc<Access> {
        Arc::clone(&self.tables.read().access)
    }

    /// Grows with every committed change of roles and rights.
    pub fn access_version(&self) -> u64 {
        self.access_version.load(Ordering::Acquire)
    }

    pub(crate) fn change_access(&self, change: &AccessChange) {
        let mut snapshot = self.change_names();
        let snapshot = Arc::make_mut(&mut snapshot);
        change.put(Arc::make_mut(&mut snapshot.access));
        if let AccessChange::Role(id, _) = change {
            self.reserve_id(id.0);
        }
        self.access_version.fetch_add(1, Ordering::AcqRel);
    }

    /// Gives a new catalog the roles of the others.
    pub(in crate::storage) fn take_roles(&self, of: &Access) {
        let mut snapshot = self.change_names();
        let snapshot = Arc::make_mut(&mut snapshot);
        Arc::make_mut(&mut snapshot.access).take_roles(of);
        self.access_version.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn apply_access_change(&self, change: &CatalogChange) -> Result<()> {
        if let CatalogChange::DropRole { id } = change
            && self.access().role(*id).is_none()
        {
            return Err(Error::corrupt(format!("the log drops role {}, which does not exist", id.0)));
        }
        if let Some(change) = AccessChange::of(change) {
            self.change_access(&change);
        }
        Ok(())
    }
}

impl super::Snapshot {
    pub(super) fn forget_rights(&mut self, object: u32) {
        if self.access.knows(object) {
            Arc::make_mut(&mut self.access).forget(object);
        }
    }

    pub(super) fn hand_on_rights(&mut self, from: u32, to: u32) {
        hand_on_rights(&mut self.access, from, to);
    }
}
