//! SCRAM-SHA-256, the server's side.
//!
//! ```text
//! client                                            server
//!   n,,n=,r=<client nonce>                   ->
//!                                            <-       r=<client nonce><server nonce>,s=<salt>,i=<iterations>
//!   c=biws,r=<both nonces>,p=<proof>         ->
//!                                            <-       v=<server signature>
//! ```
//! The server keeps a [`Verifier`], from which the password cannot be read and with which nobody can log in.
//! Here: own code over the RustCrypto primitives, because the exchange is forty lines.
//!
//! Invariants:
//! 1. An unknown user and a wrong password look alike: an unknown user gets a stable invented salt and fails
//!    at the end, after the same computations.
//! 2. Secrets are compared in constant time.
//! 3. No channel binding is offered (there is no TLS), and a client that asks for it is refused.
//!
//! Reference: RFC 5802, RFC 7677; verifier format as PostgreSQL's pg_authid.rolpassword.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use hyades::{Error, Result, sqlstate};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The only mechanism offered.
pub const MECHANISM: &str = "SCRAM-SHA-256";

const ITERATIONS: u32 = 4096;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 18;
/// Client messages above this are refused, as in PostgreSQL.
const MESSAGE_LIMIT_BYTES: usize = 1024;

type Key = [u8; 32];

fn hmac_sha256(key: &[u8], message: &[u8]) -> Key {
    // HMAC takes keys of any length; the fallback is never reached and matches no proof.
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mac) => mac.chain_update(message).finalize().into_bytes().into(),
        Err(_) => rand::random(),
    }
}

/// What the server keeps of a password: `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: Key,
    server_key: Key,
}

impl Verifier {
    /// A verifier with a fresh salt.
    pub fn of_password(password: &str) -> Verifier {
        Verifier::with_salt(password, &rand::random::<[u8; SALT_BYTES]>(), ITERATIONS)
    }

    fn with_salt(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        // As PostgreSQL: a password that SASLprep forbids is used as it is.
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

    /// Belongs to no password; the salt depends on the user and a secret of this server only.
    fn invented(user: &str, secret: &[u8]) -> Verifier {
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

    fn from_str(text: &str) -> std::result::Result<Verifier, InvalidVerifier> {
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

fn malformed(detail: &str) -> Error {
    Error::input(sqlstate::PROTOCOL_VIOLATION, "malformed SCRAM message").with_detail(detail)
}

/// One login.
pub struct Exchange {
    user: String,
    verifier: Verifier,
    known: bool,
    gs2_header: String,
    nonce: String,
    /// Client's and server's first messages, comma between them.
    transcript: String,
}

impl Exchange {
    /// `verifier` is `None` for a user that does not exist; `secret` keeps such a user's salt stable.
    pub fn new(user: &str, verifier: Option<&Verifier>, secret: &[u8]) -> Exchange {
        Exchange {
            user: user.to_owned(),
            known: verifier.is_some(),
            verifier: verifier.cloned().unwrap_or_else(|| Verifier::invented(user, secret)),
            gs2_header: String::new(),
            nonce: String::new(),
            transcript: String::new(),
        }
    }

    /// Takes the client's first message, gives the server's.
    pub fn first(&mut self, message: &[u8]) -> Result<String> {
        let server_nonce = BASE64.encode(rand::random::<[u8; NONCE_BYTES]>());
        self.first_with_nonce(message, &server_nonce)
    }

    fn first_with_nonce(&mut self, message: &[u8], server_nonce: &str) -> Result<String> {
        let message = text(message)?;
        let (header_bytes, binding) = match message.as_bytes().first() {
            Some(b'n' | b'y') => (message.match_indices(',').nth(1).map(|(index, _)| index + 1), false),
            Some(b'p') => (None, true),
            _ => (None, false),
        };
        if binding {
            return Err(Error::input(
                sqlstate::PROTOCOL_VIOLATION,
                "client requires SCRAM channel binding, but it is not supported",
            ));
        }
        let header_bytes = header_bytes.ok_or_else(|| malformed("The channel binding flag is missing."))?;
        let (header, bare) = message.split_at(header_bytes);
        let (_, authorization) = header.split_once(',').unwrap_or_default();
        if authorization != "," {
            let message = "client uses authorization identity, but it is not supported";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if bare.starts_with("m=") {
            let message = "client requires an unsupported SCRAM extension";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        let mut attributes = bare.split(',');
        attributes
            .next()
            .filter(|user| user.starts_with("n="))
            .ok_or_else(|| malformed("Expected attribute \"n\"."))?;
        let client_nonce = attributes
            .next()
            .and_then(|nonce| nonce.strip_prefix("r="))
            .filter(|nonce| !nonce.is_empty() && nonce.bytes().all(|byte| (0x21..=0x7E).contains(&byte)))
            .ok_or_else(|| malformed("Expected attribute \"r\"."))?;
        self.nonce = format!("{client_nonce}{server_nonce}");
        let salt = BASE64.encode(&self.verifier.salt);
        let answer = format!("r={},s={salt},i={}", self.nonce, self.verifier.iterations);
        self.gs2_header = header.to_owned();
        self.transcript = format!("{bare},{answer}");
        Ok(answer)
    }

    /// Takes the client's proof; gives the server's signature when the password is right.
    pub fn finish(self, message: &[u8]) -> Result<String> {
        let message = text(message)?;
        let (without_proof, proof) =
            message.rsplit_once(",p=").ok_or_else(|| malformed("The proof is missing."))?;
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|attribute| attribute.strip_prefix("c="));
        if binding != Some(BASE64.encode(&self.gs2_header).as_str()) {
            let message = "unexpected SCRAM channel-binding attribute in client-final-message";
            return Err(Error::input(sqlstate::PROTOCOL_VIOLATION, message));
        }
        let nonce = attributes.next().and_then(|attribute| attribute.strip_prefix("r="));
        if nonce != Some(self.nonce.as_str()) {
            let message = "invalid SCRAM response";
            return Err(
                Error::input(sqlstate::PROTOCOL_VIOLATION, message).with_detail("Nonce does not match.")
            );
        }
        let proof: Key = BASE64
            .decode(proof)
            .ok()
            .and_then(|proof| proof.try_into().ok())
            .ok_or_else(|| malformed("Malformed proof in client-final-message."))?;
        let signed = format!("{},{without_proof}", self.transcript);
        let signature = hmac_sha256(&self.verifier.stored_key, signed.as_bytes());
        let mut client_key = proof;
        client_key.iter_mut().zip(signature).for_each(|(byte, mask)| *byte ^= mask);
        let stored_key: Key = Sha256::digest(client_key).into();
        let right = bool::from(stored_key.ct_eq(&self.verifier.stored_key));
        let answer = BASE64.encode(hmac_sha256(&self.verifier.server_key, signed.as_bytes()));
        if right && self.known {
            Ok(format!("v={answer}"))
        } else {
            let message = format!("password authentication failed for user \"{}\"", self.user);
            Err(Error::input(sqlstate::INVALID_PASSWORD, message))
        }
    }
}

fn text(message: &[u8]) -> Result<&str> {
    if message.len() > MESSAGE_LIMIT_BYTES {
        return Err(malformed("The message is too long."));
    }
    match std::str::from_utf8(message) {
        Ok(text) if !text.is_empty() => Ok(text),
        Ok(_) => Err(malformed("The message is empty.")),
        Err(_) => Err(malformed("Message is not valid UTF-8.")),
    }
}

#[cfg(test)]
mod tests;
