//! Which users may log in: those in a file of `user:verifier` lines, and one user from the environment.
//!
//! Blank lines and lines that begin with `#` are ignored. A verifier has the format that `hyades password`
//! prints and PostgreSQL keeps in pg_authid ([`crate::scram::Verifier`]). Passwords themselves are never
//! stored.

use std::collections::HashMap;
use std::path::Path;

use crate::scram::Verifier;

/// The environment variable that holds the password of [`DEFAULT_USER`].
pub const PASSWORD_VARIABLE: &str = "HYADES_PASSWORD";
/// The user whose password [`PASSWORD_VARIABLE`] holds.
pub const DEFAULT_USER: &str = "hyades";

/// Users and their verifiers.
#[derive(Clone, Debug, Default)]
pub struct Users {
    verifiers: HashMap<String, Verifier>,
}

impl Users {
    /// Reads a user file; the error is a sentence for the operator.
    pub fn read(path: &Path) -> Result<Users, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("could not read the user file {}: {error}", path.display()))?;
        Users::parse(&text).map_err(|line| {
            format!("line {line} of the user file {} is not of the form user:verifier", path.display())
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
            let (user, verifier) = line.split_once(':').ok_or(index + 1)?;
            users.insert(user, verifier.parse().map_err(|_| index + 1)?);
        }
        Ok(users)
    }

    pub fn insert(&mut self, user: &str, verifier: Verifier) {
        self.verifiers.insert(user.to_owned(), verifier);
    }

    pub fn verifier(&self, user: &str) -> Option<&Verifier> {
        self.verifiers.get(user)
    }

    pub fn is_empty(&self) -> bool {
        self.verifiers.is_empty()
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
    }
}
