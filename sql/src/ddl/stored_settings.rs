//! Settings with which sessions begin: ALTER ROLE ... SET, ALTER DATABASE ... SET.
//!
//! A value is checked when it is set, and kept as it was written. What a session makes of it when it begins
//! is in `session/login.rs`.
//!
//! Reference: PostgreSQL's AlterRoleSet (user.c), AlterDatabaseSet (dbcommands.c) and AlterSetting
//! (pg_db_role_setting.c).

use hyades_types::access::{DATABASE_OBJECT, SettingsOf, StoredSettings, not_owner};
use hyades_types::definition::{CatalogChange, DatabaseId};
use hyades_types::error::Result;

use super::roles::forbidden;
use crate::settings::{is_for_superusers, not_allowed, shown_name};
use crate::statement::{SettingChange, SettingsTarget};
use crate::viewpoint::Viewpoint;

impl Viewpoint {
    /// The change of the settings with which some sessions begin. Roles and rights are locked.
    pub(super) fn stored_settings(
        &self,
        target: &SettingsTarget,
        change: &SettingChange,
    ) -> Result<Vec<CatalogChange>> {
        let of = self.sessions_meant(target)?;
        let mut settings: StoredSettings = self.access().settings_of(of).to_vec();
        match change {
            SettingChange::Set(name, value) => self.store(name, value, &mut settings)?,
            SettingChange::SetFromCurrent(name) => {
                let (_, value) = self.settings.show(name)?;
                self.store(name, &value, &mut settings)?;
            }
            SettingChange::Reset(name) => {
                self.settings.check_known(name)?;
                self.check_may_store(name)?;
                settings.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            }
            // What only a superuser may set stays, as in PostgreSQL.
            SettingChange::ResetAll => settings
                .retain(|(known, _)| !self.is_superuser() && is_for_superusers(&known.to_ascii_lowercase())),
        }
        Ok(vec![CatalogChange::PutSettings { of, settings }])
    }

    fn store(&self, name: &str, value: &str, settings: &mut StoredSettings) -> Result<()> {
        self.settings.check_stored(name, value)?;
        self.check_may_store(name)?;
        match settings.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, known)) => value.clone_into(known),
            None => settings.push((shown_name(name).to_owned(), value.to_owned())),
        }
        Ok(())
    }

    fn check_may_store(&self, name: &str) -> Result<()> {
        match is_for_superusers(&name.to_ascii_lowercase()) && !self.is_superuser() {
            true => Err(not_allowed(name)),
            false => Ok(()),
        }
    }

    /// The sessions that a command means, if this one may change their settings.
    fn sessions_meant(&self, target: &SettingsTarget) -> Result<SettingsOf> {
        let role = target.role.as_ref().map(|name| self.role_meant(name)).transpose()?;
        let named = target.database.as_deref().map(|name| self.database_named(name)).transpose()?;
        let access = self.access();
        match (role, &named) {
            (Some(role), _) if access.is_superuser(role) && !self.is_superuser() => {
                return forbidden("must be superuser to alter superusers");
            }
            (Some(role), _) if role != self.role() && !self.creates_roles() => {
                return forbidden("permission denied");
            }
            (None, Some(database)) if !database.access.is_owner(self.role(), DATABASE_OBJECT) => {
                return Err(not_owner("database", &database.definition.name));
            }
            (None, None) if !self.is_superuser() => {
                return forbidden("must be superuser to alter settings globally");
            }
            _ => {}
        }
        Ok(SettingsOf { database: named.map(|database| database.id), role })
    }

    /// The changes that forget the settings of sessions in a database that is dropped.
    pub(super) fn forgotten_settings(&self, database: DatabaseId) -> Vec<CatalogChange> {
        let own = self.access().settings().filter(|(of, _)| of.database == Some(database));
        own.map(|(of, _)| CatalogChange::PutSettings { of, settings: Vec::new() }).collect()
    }
}
