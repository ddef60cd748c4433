//! Access lists: granting, revoking, and their text.

use super::privileges::Letters;
use super::{Access, AccessItem, ObjectKind, Privileges, Rights, RoleId};
use crate::identifier::quoted_identifier;

/// What GRANT gives to a grantee, or REVOKE takes away.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub grantee: RoleId,
    pub grantor: RoleId,
    pub privileges: Privileges,
    /// GRANT: the grantee may grant them to others. REVOKE: only the right to do so is taken away.
    pub option: bool,
}

/// The reason why an access list cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The role that loses it has granted it to others.
    Dependent,
    /// Granting it back to its own grantor would be circular.
    Circle,
    /// PUBLIC cannot hold grant options.
    PublicOption,
}

impl Access {
    /// The rights of an object after a GRANT.
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

    /// The rights of an object after a REVOKE. Dependent grants are revoked too, or forbid it.
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

    /// The rights of an object with another owner: the new owner takes the place of the old one as grantor
    /// and grantee.
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

    /// An item as `aclitem` shows it; `first` is the name of the first owner.
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

/// Whether the grantor holds the privileges only through the grantee.
fn is_circular(items: &[AccessItem], owner: RoleId, grant: Grant) -> bool {
    if grant.grantor == owner {
        return false;
    }
    // Without the grants to the grantee, and everything that depends on them.
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
    // It may still hold them from another grantor.
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
