//! The user file: passwords of users, and which of them are superusers.
//!
//! ```text
//! # user:verifier[:superuser]
//! ada:SCRAM-SHA-256$4096:...             the password of the role ada, unless the database has another
//! root:SCRAM-SHA-256$4096:...:superuser  root is the first superuser
//! hyades:SCRAM-SHA-256$4096:...          so is hyades, because that is its name
//! ```
//! Blank lines and lines that begin with `#` are ignored. A verifier has the format that `hyades password`
//! prints and PostgreSQL keeps in pg_authid ([`crate::scram::Verifier`]). Passwords themselves are never
//! stored. One more user may come from the environment.
//!
//! Only the word makes a superuser. A line whose name is no role does not: a role that may drop or
//! rename others could otherwise make superusers.

use std::collections::BTreeMap;
use std::path::Path;

use crate::scram::Verifier;

/// The environment variable that holds the password of [`DEFAULT_USER`].
pub const PASSWORD_VARIABLE: &str = "HYADES_PASSWORD";
/// The user whose password [`PASSWORD_VARIABLE`] holds. This is the name of the first superuser.
pub const DEFAULT_USER: &str = "hyades";

/// What follows the verifier of a superuser.
const SUPERUSER: &str = ":superuser";

#[derive(Clone, Debug)]
struct User {
    verifier: Verifier,
    is_superuser: bool,
}

/// Users and their verifiers.
#[derive(Clone, Debug, Default)]
pub struct Users {
    users: BTreeMap<String, User>,
}

/// A line of a user file.
pub fn line(user: &str, verifier: &Verifier, is_superuser: bool) -> String {
    format!("{user}:{verifier}{}", if is_superuser { SUPERUSER } else { "" })
}

impl Users {
    /// Reads a user file; the error is a sentence for the operator.
    pub fn read(path: &Path) -> Result<Users, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("could not read the user file {}: {error}", path.display()))?;
        Users::parse(&text).map_err(|line| {
            format!(
                "line {line} of the user file {} is not of the form user:verifier or user:verifier:superuser",
                path.display()
            )
        })
    }

    /// On an error, returns the number of the first bad line.
    pub fn parse(text: &str) -> Result<Users, usize> {
        let mut users = Users::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (user, rest) = line.split_once(':').ok_or(index + 1)?;
            let (verifier, is_superuser) = match rest.strip_suffix(SUPERUSER) {
                Some(verifier) => (verifier, true),
                None => (rest, false),
            };
            users.insert(user, verifier.parse().map_err(|_| index + 1)?, is_superuser);
        }
        Ok(users)
    }

    pub fn insert(&mut self, user: &str, verifier: Verifier, is_superuser: bool) {
        let is_superuser = is_superuser || user == DEFAULT_USER;
        self.users.insert(user.to_owned(), User { verifier, is_superuser });
    }

    pub fn verifier(&self, user: &str) -> Option<&Verifier> {
        self.users.get(user).map(|user| &user.verifier)
    }

    /// The names of the first superuser, or of all others.
    pub fn names(&self, of_superuser: bool) -> impl Iterator<Item = &str> {
        let meant = self.users.iter().filter(move |(_, user)| user.is_superuser == of_superuser);
        meant.map(|(name, _)| name.as_str())
    }

    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_file_is_read_and_bad_lines_are_named() {
        let verifier = Verifier::of_password("x");
        let users = Users::parse(&format!("# people\n\nada:{verifier}\n")).unwrap();
        assert_eq!(users.verifier("ada"), Some(&verifier));
        assert_eq!(users.verifier("bob"), None);
        assert_eq!(Users::parse(&format!("ada:{verifier}\nbob:secret")).unwrap_err(), 2);
        assert_eq!(Users::parse("bob").unwrap_err(), 1);
        assert_eq!(Users::parse(&format!("ada:{verifier}:super")).unwrap_err(), 1);
        assert_eq!(Users::parse("ada:superuser").unwrap_err(), 1);
    }

    #[test]
    fn a_superuser_is_called_so() {
        let verifier = Verifier::of_password("x");
        let lines = [("ada", false), ("root", true), ("hyades", false)];
        let text = lines.map(|(user, is_superuser)| line(user, &verifier, is_superuser)).join("\n");
        let users = Users::parse(&text).unwrap();
        assert_eq!(users.names(true).collect::<Vec<_>>(), ["hyades", "root"]);
        assert_eq!(users.names(false).collect::<Vec<_>>(), ["ada"]);
        assert_eq!(users.verifier("root"), Some(&verifier));
    }
}
