//! What is stored of a password: a verifier for SCRAM-SHA-256. The password cannot be read from it, and the
//! verifier cannot be used to log in.
//!
//! Reference: RFC 5802, RFC 7677. The text form is that of PostgreSQL's pg_authid.rolpassword.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

const MECHANISM: &str = "SCRAM-SHA-256";
const ITERATIONS: u32 = 4096;
const SALT_BYTES: usize = 16;

/// A hash, or a key derived by one.
pub type Key = [u8; 32];

/// HMAC with SHA-256.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> Key {
    // HMAC takes keys of any length; the fallback is never reached and matches no proof.
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mac) => mac.chain_update(message).finalize().into_bytes().into(),
        Err(_) => rand::random(),
    }
}

/// What is stored of a password: `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    pub iterations: u32,
    pub salt: Vec<u8>,
    pub stored_key: Key,
    pub server_key: Key,
}

impl Verifier {
    /// A verifier with a fresh salt.
    pub fn of_password(password: &str) -> Verifier {
        Verifier::with_salt(password, &rand::random::<[u8; SALT_BYTES]>(), ITERATIONS)
    }

    /// A verifier with this salt.
    pub fn with_salt(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        // Like PostgreSQL: a password that SASLprep forbids is used as it is.
        let prepared = stringprep::saslprep(password).unwrap_or(password.into());
        let mut salted: Key = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(prepared.as_bytes(), salt, iterations, &mut salted);
        let client_key = hmac_sha256(&salted, b"Client Key");
        Verifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: Sha256::digest(client_key).into(),
            server_key: hmac_sha256(&salted, b"Server Key"),
        }
    }

    /// A verifier that matches no password. The salt depends only on the user and on a secret of this
    /// server.
    pub fn invented(user: &str, secret: &[u8]) -> Verifier {
        let salt = hmac_sha256(secret, user.as_bytes());
        Verifier {
            iterations: ITERATIONS,
            salt: salt[..SALT_BYTES].to_vec(),
            stored_key: rand::random(),
            server_key: rand::random(),
        }
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] =
            [&self.salt[..], &self.stored_key, &self.server_key].map(|bytes| BASE64.encode(bytes));
        write!(f, "{MECHANISM}${}:{salt}${stored}:{server}", self.iterations)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

/// The text is not a SCRAM-SHA-256 verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidVerifier;

impl FromStr for Verifier {
    type Err = InvalidVerifier;

    fn from_str(text: &str) -> Result<Verifier, InvalidVerifier> {
        let parse = || {
            let mut parts = text.split('$');
            let (MECHANISM, Some(salting), Some(keys), None) =
                (parts.next()?, parts.next(), parts.next(), parts.next())
            else {
                return None;
            };
            let (iterations, salt) = salting.split_once(':')?;
            let (stored, server) = keys.split_once(':')?;
            Some(Verifier {
                iterations: iterations.parse().ok().filter(|count| *count > 0)?,
                salt: BASE64.decode(salt).ok().filter(|salt| !salt.is_empty())?,
                stored_key: BASE64.decode(stored).ok()?.try_into().ok()?,
                server_key: BASE64.decode(server).ok()?.try_into().ok()?,
            })
        };
        parse().ok_or(InvalidVerifier)
    }
}
