//! Settings with which sessions begin: ALTER ROLE ... SET, ALTER DATABASE ... SET.
//!
//! Reference: PostgreSQL's pg_db_role_setting.c and process_settings of postinit.c.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Access, RoleId};
use crate::definition::DatabaseId;

/// The sessions that begin with some settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SettingsOf {
    /// `None`: in every database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseId>,
    /// `None`: those of every role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleId>,
}

/// Names as SHOW prints them, and values as they were written, in the order in which they were set.
pub type StoredSettings = Vec<(String, String)>;

impl Access {
    /// All of them.
    pub fn settings(&self) -> impl Iterator<Item = (SettingsOf, &Arc<StoredSettings>)> {
        self.settings.iter().map(|(of, settings)| (*of, settings))
    }

    pub fn settings_of(&self, of: SettingsOf) -> &[(String, String)] {
        self.settings.get(&of).map_or(&[], |settings| settings.as_slice())
    }

    /// Replaces the settings of these sessions.
    pub fn put_settings(&mut self, of: SettingsOf, settings: Arc<StoredSettings>) {
        match settings.is_empty() {
            true => self.settings.remove(&of),
            false => self.settings.insert(of, settings),
        };
    }

    /// The settings with which a session begins. The last of several for one name counts.
    pub fn settings_for(
        &self,
        database: DatabaseId,
        role: RoleId,
    ) -> impl Iterator<Item = &(String, String)> {
        let (database, role) = (Some(database), Some(role));
        let of = [(None, None), (database, None), (None, role), (database, role)];
        of.into_iter().flat_map(|(database, role)| self.settings_of(SettingsOf { database, role }))
    }
}
