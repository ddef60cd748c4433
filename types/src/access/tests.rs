//! Memberships, access lists, and their consequences.

use super::*;

const ADA: RoleId = RoleId(20_001);
const BOB: RoleId = RoleId(20_002);
const EVE: RoleId = RoleId(20_003);
const TABLE: u32 = 20_100;

fn access() -> Access {
    let mut access = Access::default();
    for (id, name) in [(ADA, "ada"), (BOB, "bob"), (EVE, "Eve")] {
        access.put_role(id, Arc::new(Role::new(name)));
    }
    access
}

fn join(access: &mut Access, member: RoleId, role: RoleId) {
    let mut changed = Role::clone(access.role(member).unwrap());
    changed.member_of.push(Membership { role, grantor: RoleId::OWNER, is_admin: false });
    access.put_role(member, Arc::new(changed));
}

fn grant(grantor: RoleId, grantee: RoleId, privileges: Privileges, option: bool) -> Grant {
    Grant { grantee, grantor, privileges, option }
}

fn shown(access: &Access, rights: &Rights) -> String {
    let items = rights.list(ObjectKind::Relation);
    items.iter().map(|item| access.shown_item(item, "root")).collect::<Vec<_>>().join(",")
}

#[test]
fn lists_are_shown_as_postgresql_shows_them() {
    let access = access();
    let rights = Rights::of(ADA);
    let grants = [
        grant(ADA, BOB, Privileges::SELECT | Privileges::UPDATE, true),
        grant(ADA, RoleId::PUBLIC, Privileges::SELECT, false),
        grant(BOB, EVE, Privileges::SELECT, false),
    ];
    let rights = grants
        .into_iter()
        .fold(rights, |rights, grant| access.granted(&rights, ObjectKind::Relation, grant).unwrap());
    assert_eq!(shown(&access, &rights), "ada=arwdDxt/ada,bob=r*w*/ada,=r/ada,\"Eve\"=r/bob");
}

#[test]
fn what_was_passed_on_goes_with_the_right_to_do_so() {
    let access = access();
    let kind = ObjectKind::Relation;
    let rights = Rights::of(ADA);
    let rights = access.granted(&rights, kind, grant(ADA, BOB, Privileges::SELECT, true)).unwrap();
    let rights = access.granted(&rights, kind, grant(BOB, EVE, Privileges::SELECT, false)).unwrap();
    let revoke = grant(ADA, BOB, Privileges::SELECT, false);
    assert_eq!(access.revoked(&rights, kind, revoke, false), Err(Refused::Dependent));
    let rights = access.revoked(&rights, kind, revoke, true).unwrap();
    assert_eq!(shown(&access, &rights), "ada=arwdDxt/ada");
    let back = grant(BOB, EVE, Privileges::SELECT, true);
    let rights = Rights::of(ADA);
    let rights = access.granted(&rights, kind, grant(ADA, BOB, Privileges::SELECT, true)).unwrap();
    let rights = access.granted(&rights, kind, back).unwrap();
    let circle = grant(EVE, BOB, Privileges::SELECT, true);
    assert_eq!(access.granted(&rights, kind, circle), Err(Refused::Circle));
    let public = grant(ADA, RoleId::PUBLIC, Privileges::SELECT, true);
    assert_eq!(access.granted(&rights, kind, public), Err(Refused::PublicOption));
}

#[test]
fn members_have_what_their_groups_have_unless_they_do_not_inherit() {
    let mut access = access();
    access.put_rights(TABLE, Arc::new(Rights::of(EVE)));
    assert_eq!(access.privileges(ADA, TABLE, ObjectKind::Relation), Privileges::NONE);
    join(&mut access, BOB, EVE);
    join(&mut access, ADA, BOB);
    assert_eq!(access.privileges(ADA, TABLE, ObjectKind::Relation), ObjectKind::Relation.all());
    assert!(access.is_owner(ADA, TABLE) && access.is_listed_member(ADA, EVE));
    let mut reserved = Role::clone(access.role(ADA).unwrap());
    reserved.inherits = false;
    access.put_role(ADA, Arc::new(reserved));
    assert_eq!(access.privileges(ADA, TABLE, ObjectKind::Relation), Privileges::NONE);
    assert!(!access.is_owner(ADA, TABLE) && access.is_member(ADA, EVE));
    access.remove_role(EVE);
    assert!(!access.is_member(ADA, EVE));
}

#[test]
fn the_usual_rights_are_those_of_the_kind() {
    let access = access();
    let usual = |kind| access.privileges(ADA, TABLE, kind);
    assert_eq!(usual(ObjectKind::Relation), Privileges::NONE);
    assert_eq!(usual(ObjectKind::Routine), Privileges::EXECUTE);
    assert_eq!(access.privileges(ADA, SchemaId::PUBLIC.0, ObjectKind::Schema), Privileges::USAGE);
    let database = access.privileges(ADA, DATABASE_OBJECT, ObjectKind::Database);
    assert_eq!(database, Privileges::TEMPORARY | Privileges::CONNECT);
    assert_eq!(access.privileges(RoleId::OWNER, TABLE, ObjectKind::Relation), ObjectKind::Relation.all());
    // The owner of the database owns the schema public.
    let mut access = access;
    access.put_rights(DATABASE_OBJECT, Arc::new(Rights::of(BOB)));
    assert!(access.is_owner(BOB, SchemaId::PUBLIC.0) && !access.is_owner(ADA, SchemaId::PUBLIC.0));
}

#[test]
fn another_owner_takes_over_what_the_first_has_granted() {
    let access = access();
    let kind = ObjectKind::Relation;
    let rights = Rights::of(ADA);
    assert_eq!(access.with_owner(&rights, BOB), Rights::of(BOB));
    let rights = access.granted(&rights, kind, grant(ADA, BOB, Privileges::SELECT, false)).unwrap();
    let rights = access.granted(&rights, kind, grant(ADA, EVE, Privileges::INSERT, false)).unwrap();
    assert_eq!(shown(&access, &access.with_owner(&rights, BOB)), "bob=arwdDxt/bob,\"Eve\"=a/bob");
}
