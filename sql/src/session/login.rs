//! The properties of a role that decide whether a client may log in.
//!
//! The first superuser is the role that there is from the beginning. It has the name [`FIRST_OWNER`], and
//! those that the operator adds ([`Database::name_superusers`]). No role can be given one of these names, so
//! a name that is the superuser's today is not a role's tomorrow, and the other way round.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyades_engine::storage::catalog::Catalog;
use hyades_engine::storage::databases::StoredDatabase;
use hyades_types::access::{Access, DATABASE_OBJECT, ObjectKind, Privileges, RoleId, no_database};
use hyades_types::definition::{DatabaseDefinition, DatabaseId};
use hyades_types::error::{Error, Result, sqlstate};

use super::{Database, Neighbours, Session, SessionOptions, Shared};
use crate::password::Verifier;
use crate::settings::{Settings, is_for_superusers, not_allowed};
use crate::viewpoint::is_first_superuser;

/// A role, from the view of a client that wants to log in under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub role: RoleId,
    pub is_superuser: bool,
    pub can_log_in: bool,
    /// `None` if the role has no password of its own.
    pub verifier: Option<Verifier>,
    /// Whether VALID UNTIL has passed.
    pub is_expired: bool,
}

impl Login {
    /// The first superuser.
    pub fn of_first_superuser() -> Login {
        Login { role: RoleId::OWNER, is_superuser: true, can_log_in: true, verifier: None, is_expired: false }
    }
}

/// Error 55006 for a database that a command needs for itself.
pub(super) fn closed(name: &str) -> Error {
    let message = format!("database \"{name}\" is being changed, copied or dropped");
    Error::input(sqlstate::OBJECT_IN_USE, message)
}

/// The database of a session that begins.
pub(super) struct FoundDatabase {
    pub(super) id: DatabaseId,
    pub(super) definition: Arc<DatabaseDefinition>,
    pub(super) catalog: Arc<Catalog>,
    /// What it shares with the other sessions there.
    pub(super) neighbours: Arc<Neighbours>,
}

impl FoundDatabase {
    /// The role as which a session begins here, and the rights.
    ///
    /// # Errors
    /// 42501 if the role may not connect.
    pub(super) fn let_in(&self, options: &SessionOptions) -> Result<(Arc<Access>, RoleId)> {
        let access = self.catalog.access();
        let role = options.session_role(&access)?;
        let privileges = access.privileges(role, DATABASE_OBJECT, ObjectKind::Database);
        if privileges.contains(Privileges::CONNECT) {
            return Ok((access, role));
        }
        let message = format!("permission denied for database \"{}\"", self.definition.name);
        Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message)
            .with_detail("User does not have CONNECT privilege."))
    }

    /// How many sessions there may be; `None` for any number.
    pub(super) fn connection_limit(&self) -> Option<usize> {
        usize::try_from(self.definition.connection_limit).ok()
    }
}

impl Shared {
    /// Whether this is a name of the first superuser.
    pub(super) fn is_first_superuser(&self, name: &str) -> bool {
        is_first_superuser(&self.superuser_names, name)
    }
}

impl Database {
    /// Gives the first superuser these names, too, for as long as the database is open; only the first call
    /// has an effect. Returns the names that belong to roles: they stay theirs.
    pub fn name_superusers(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let access = self.engine().databases().first().access();
        let (taken, free): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|name| access.role_named(name).is_some());
        // The names that were given first stay.
        let _ = self.shared.superuser_names.set(free.into_iter().collect());
        taken
    }

    /// The role with this name. Whether it may connect to a database is found out when a session begins.
    pub fn login(&self, user: &str) -> Option<Login> {
        let access = self.engine().databases().first().access();
        let Some((id, role)) = access.role_named(user) else {
            return self.shared.is_first_superuser(user).then(Login::of_first_superuser);
        };
        let is_over = |until: i64| until < hyades_types::function::now_us();
        Some(Login {
            role: id,
            is_superuser: access.is_superuser(id),
            can_log_in: role.can_log_in,
            verifier: role.verifier.as_ref().and_then(|verifier| verifier.parse().ok()),
            is_expired: role.valid_until.is_some_and(is_over),
        })
    }

    /// The database that a session wants to begin in.
    ///
    /// # Errors
    /// 3D000 if it does not exist; 55000 if it lets no session in.
    pub(super) fn database_of(&self, options: &SessionOptions) -> Result<FoundDatabase> {
        let name = options.database.as_str();
        let databases = self.engine().databases();
        let found = match name {
            "" => databases.get(DatabaseId::FIRST).map(|stored| (DatabaseId::FIRST, stored)),
            name => databases.named(name),
        };
        let (id, StoredDatabase { definition, catalog }) = found.ok_or_else(|| no_database(name))?;
        if !definition.allows_connections && !options.enters_any_database {
            let message = format!("database \"{name}\" is not currently accepting connections");
            return Err(Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        Ok(FoundDatabase { id, definition, catalog, neighbours: self.neighbours(id) })
    }

    /// Error 3D000 if the database of a session that is already seen by others has been dropped.
    pub(super) fn check_lasts(&self, found: &FoundDatabase, session: i32) -> Result<()> {
        if self.engine().databases().get(found.id).is_some() {
            return Ok(());
        }
        self.shared.activities.remove(session);
        Err(no_database(&found.definition.name))
    }

    /// What the sessions in a database share.
    fn neighbours(&self, database: DatabaseId) -> Arc<Neighbours> {
        let mut all = self.shared.neighbours.lock();
        // Of databases that were dropped, or are empty, nothing is kept.
        all.retain(|_, neighbours| Arc::strong_count(neighbours) > 1);
        Arc::clone(all.entry(database).or_default())
    }

    /// Whether roles were created. Once this has been found so, it stays so for as long as the database is
    /// open, even if they are dropped.
    pub fn has_had_roles(&self) -> bool {
        let has_roles = self.engine().databases().first().access().has_roles();
        self.shared.has_had_roles.fetch_or(has_roles, Ordering::Relaxed) || has_roles
    }
}

fn is_role(name: &str) -> bool {
    name.eq_ignore_ascii_case("role")
}

impl SessionOptions {
    /// The role as which a session begins.
    pub(super) fn session_role(&self, access: &Access) -> Result<RoleId> {
        match self.role {
            Some(role) if !access.exists(role) => {
                let message = format!("role \"{}\" does not exist", self.user);
                Err(Error::input(sqlstate::INVALID_AUTHORIZATION, message))
            }
            Some(role) => Ok(role),
            None => Ok(access.role_named(&self.user).map_or(RoleId::OWNER, |(id, _)| id)),
        }
    }

    /// The settings with which a session begins, except for the role that it takes: what the client asks for
    /// goes before what is stored for its role and database, and that before what the server begins with. A
    /// stored value that is not valid any more is left out, as in PostgreSQL.
    pub(super) fn settings(
        &self,
        stored: &Access,
        (database, role): (DatabaseId, RoleId),
    ) -> Result<Settings> {
        let mut settings = Settings::new(&self.user);
        for (name, value) in &self.defaults {
            settings.set_initial(name, value)?;
        }
        for (name, value) in stored.settings_for(database, role).filter(|(name, _)| !is_role(name)) {
            if let Err(error) = settings.set_initial(name, value) {
                tracing::warn!("the stored setting {name} of \"{}\" is left out: {error}", self.user);
            }
        }
        for (name, value) in self.parameters.iter().filter(|(name, _)| !is_role(name)) {
            settings.set_initial(name, value)?;
        }
        Ok(settings)
    }

    /// Error 42501 for a startup parameter that only superusers may give.
    pub(super) fn check_parameters(&self, is_superuser: bool) -> Result<()> {
        let mut given = self.parameters.iter().map(|(name, _)| name.to_ascii_lowercase());
        match given.find(|name| is_for_superusers(name)) {
            Some(name) if !is_superuser => Err(not_allowed(&name)),
            _ => Ok(()),
        }
    }
}

impl Session {
    /// Takes the role that the client wants from the beginning, if it may; or else the one that is stored for
    /// its role and database.
    pub(super) fn take_initial_role(&mut self, options: &SessionOptions) -> Result<()> {
        if let Some((name, wanted)) = options.parameters.iter().rfind(|(name, _)| is_role(name)) {
            let role = self.chosen_role(wanted)?;
            return self.view.settings.set_initial(name, &role);
        }
        let access = Arc::clone(self.view.access());
        let stored = access.settings_for(self.view.database, self.view.role());
        let Some((name, wanted)) = stored.filter(|(name, _)| is_role(name)).last() else { return Ok(()) };
        match self.chosen_role(wanted) {
            Ok(role) => self.view.settings.set_initial(name, &role),
            Err(error) => {
                tracing::warn!("the stored role of \"{}\" is not taken: {error}", options.user);
                Ok(())
            }
        }
    }
}
