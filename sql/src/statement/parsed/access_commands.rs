//! Statements about roles and rights, as written. `A` represents the types of a routine's parameters.

use hyades_types::definition::RoutineKind;

use super::Moved;
use super::qualified_name::QualifiedName;

/// A role, as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoleName {
    Named(String),
    /// CURRENT_USER, CURRENT_ROLE.
    Current,
    /// SESSION_USER.
    Session,
    Public,
}

/// An option of CREATE or ALTER ROLE.
#[derive(Clone, Debug)]
pub(crate) enum RoleOption {
    Superuser(bool),
    CreateDatabases(bool),
    CreateRoles(bool),
    Inherit(bool),
    Login(bool),
    Replication(bool),
    BypassRowSecurity(bool),
    ConnectionLimit(i32),
    /// `None` if it no longer has a password.
    Password(Option<String>),
    ValidUntil(String),
    /// IN ROLE: the role becomes a member of these.
    In(Vec<RoleName>),
    /// ROLE: these become members of the role.
    Members(Vec<RoleName>),
    /// ADMIN: the same, and they may add other members.
    Admins(Vec<RoleName>),
    /// SYSID, which has no effect.
    Number,
}

/// The objects that rights are granted on.
#[derive(Clone, Debug)]
pub(crate) enum GrantedOn<A> {
    /// Tables, views and sequences.
    Tables(Vec<QualifiedName>),
    Sequences(Vec<QualifiedName>),
    /// The kind is `None` for ROUTINE.
    Routines(Option<RoutineKind>, Vec<(QualifiedName, Option<A>)>),
    Schemas(Vec<String>),
    Databases(Vec<String>),
    Types(Vec<QualifiedName>),
    AllTables(Vec<String>),
    AllSequences(Vec<String>),
    AllRoutines(Option<RoutineKind>, Vec<String>),
}

/// GRANT and REVOKE of rights.
#[derive(Clone, Debug)]
pub(crate) struct Granted<A> {
    pub(crate) is_revoke: bool,
    /// `None` means ALL.
    pub(crate) privileges: Option<Vec<String>>,
    pub(crate) on: GrantedOn<A>,
    pub(crate) grantees: Vec<RoleName>,
    /// WITH GRANT OPTION, GRANT OPTION FOR.
    pub(crate) option: bool,
    pub(crate) cascades: bool,
    /// GRANTED BY.
    pub(crate) grantor: Option<RoleName>,
}

/// An object with an owner.
#[derive(Clone, Debug)]
pub(crate) enum Owned<A> {
    Object { moved: Moved<A>, name: QualifiedName, if_exists: bool },
    Schema(String),
    Database(String),
    Type(QualifiedName),
}

/// The sessions whose settings a command changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SettingsTarget {
    /// `None`: the sessions of every role.
    pub(crate) role: Option<RoleName>,
    pub(crate) database: Option<String>,
    /// Whether it was written as ALTER DATABASE.
    pub(crate) is_of_database: bool,
}

/// A change of the settings with which sessions begin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SettingChange {
    Set(String, String),
    /// SET ... FROM CURRENT.
    SetFromCurrent(String),
    Reset(String),
    ResetAll,
}

/// A statement about roles and rights.
#[derive(Clone, Debug)]
pub(crate) enum AccessCommand<A> {
    CreateRole {
        name: String,
        options: Vec<RoleOption>,
    },
    AlterRole {
        name: RoleName,
        options: Vec<RoleOption>,
    },
    /// ALTER ROLE ... SET, ALTER DATABASE ... SET.
    Settings {
        of: SettingsTarget,
        change: SettingChange,
    },
    RenameRole {
        name: RoleName,
        to: String,
    },
    DropRoles {
        names: Vec<RoleName>,
        if_exists: bool,
    },
    /// GRANT and REVOKE of memberships.
    GrantRoles {
        is_revoke: bool,
        roles: Vec<String>,
        members: Vec<RoleName>,
        option: bool,
        /// GRANTED BY.
        grantor: Option<RoleName>,
    },
    Grant(Granted<A>),
    /// ALTER ... OWNER TO.
    Own {
        owned: Owned<A>,
        to: RoleName,
    },
}
