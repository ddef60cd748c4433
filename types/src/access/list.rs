//! Access lists: granting, revoking, and their text.

use super::privileges::Letters;
use super::{Access, AccessItem, ObjectKind, Privileges, Rights, RoleId};
use crate::identifier::quoted_identifier;

/// What GRANT gives, or REVOKE takes, from one grantee.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub grantee: RoleId,
    pub grantor: RoleId,
    pub privileges: Privileges,
    /// GRANT: the grantee may pass them on. REVOKE: only that is taken.
    pub option: bool,
}

/// Why an access list stays what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Others have been granted it by who loses it.
    Dependent,
    /// To grant it back to who has granted it would be a circle.
    Circle,
    /// PUBLIC cannot pass anything on.
    PublicOption,
}

impl Access {
    /// The rights of an object with what GRANT gives.
    pub fn granted(&self, rights: &Rights, kind: ObjectKind, grant: Grant) -> Result<Rights, Refused> {
        let mut items = rights.list(kind);
        if grant.option && grant.grantee == RoleId::PUBLIC {
            return Err(Refused::PublicOption);
        }
        if grant.option && is_circular(&items, rights.owner, grant) {
            return Err(Refused::Circle);
        }
        let is_it = |item: &AccessItem| item.grantee == grant.grantee && item.grantor == grant.grantor;
        let grantable = if grant.option { grant.privileges } else { Privileges::NONE };
        match items.iter_mut().find(|item| is_it(item)) {
            Some(item) => {
                item.privileges = item.privileges | grant.privileges;
                item.grantable = item.grantable | grantable;
            }
            None => items.push(AccessItem {
                grantee: grant.grantee,
                grantor: grant.grantor,
                privileges: grant.privileges,
                grantable,
            }),
        }
        Ok(Rights { owner: rights.owner, items: Some(items) })
    }

    /// The rights of an object without what REVOKE takes; what depends on that goes with it, or forbids it.
    pub fn revoked(
        &self,
        rights: &Rights,
        kind: ObjectKind,
        revoke: Grant,
        cascades: bool,
    ) -> Result<Rights, Refused> {
        let mut items = rights.list(kind);
        take(&mut items, rights.owner, revoke, cascades)?;
        Ok(Rights { owner: rights.owner, items: Some(items) })
    }

    /// The rights of an object that has another owner: what the old one has granted and been granted goes
    /// over to the new one.
    pub fn with_owner(&self, rights: &Rights, owner: RoleId) -> Rights {
        let mut items: Vec<AccessItem> = Vec::new();
        let exchanged = |role: RoleId| if role == rights.owner { owner } else { role };
        for item in rights.items.iter().flatten() {
            let item =
                AccessItem { grantee: exchanged(item.grantee), grantor: exchanged(item.grantor), ..*item };
            match items.iter_mut().find(|one| one.grantee == item.grantee && one.grantor == item.grantor) {
                Some(known) => {
                    known.privileges = known.privileges | item.privileges;
                    known.grantable = known.grantable | item.grantable;
                }
                None => items.push(item),
            }
        }
        Rights { owner, items: rights.items.as_ref().map(|_| items) }
    }

    /// An item as `aclitem` shows it; `first` is what the first owner is called.
    pub fn shown_item(&self, item: &AccessItem, first: &str) -> String {
        let name = |id: RoleId| match self.role_name(id, first) {
            Some(name) => quoted_identifier(name).to_string(),
            None if id == RoleId::PUBLIC => String::new(),
            None => id.0.to_string(),
        };
        let letters = Letters(item.privileges, item.grantable);
        format!("{}={letters}/{}", name(item.grantee), name(item.grantor))
    }
}

/// Whether who grants holds what he grants from the grantee only.
fn is_circular(items: &[AccessItem], owner: RoleId, grant: Grant) -> bool {
    if grant.grantor == owner {
        return false;
    }
    // Without what the grantee has, and all that depends on it.
    let mut rest = items.to_vec();
    while let Some(item) =
        rest.iter().find(|item| item.grantee == grant.grantee && !item.grantable.is_empty())
    {
        let taken =
            Grant { grantee: item.grantee, grantor: item.grantor, privileges: item.grantable, option: true };
        if take(&mut rest, owner, taken, true).is_err() {
            return true;
        }
    }
    let own = rest.iter().filter(|item| item.grantee == grant.grantor);
    let left = own.fold(Privileges::NONE, |all, item| all | item.grantable);
    !left.contains(grant.privileges)
}

fn take(items: &mut Vec<AccessItem>, owner: RoleId, revoke: Grant, cascades: bool) -> Result<(), Refused> {
    let Some(at) =
        items.iter().position(|item| item.grantee == revoke.grantee && item.grantor == revoke.grantor)
    else {
        return Ok(());
    };
    let lost = items[at].grantable & revoke.privileges;
    items[at].grantable = items[at].grantable - revoke.privileges;
    if !revoke.option {
        items[at].privileges = items[at].privileges - revoke.privileges;
        if items[at].privileges.is_empty() {
            items.remove(at);
        }
    }
    if lost.is_empty() || revoke.grantee == owner {
        return Ok(());
    }
    // It may still hold them from somebody else.
    let held = items.iter().filter(|item| item.grantee == revoke.grantee);
    let still = held.fold(Privileges::NONE, |all, item| all | item.grantable);
    let lost = lost - still;
    while let Some(item) =
        items.iter().find(|item| item.grantor == revoke.grantee && item.privileges.intersects(lost)).copied()
    {
        if !cascades {
            return Err(Refused::Dependent);
        }
        let next = Grant {
            grantee: item.grantee,
            grantor: item.grantor,
            privileges: item.privileges & lost,
            option: false,
        };
        take(items, owner, next, true)?;
    }
    Ok(())
}
