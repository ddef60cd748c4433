//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS, the server's side.
//!
//! ```text
//! client                                            server
//!   n,,n=,r=<client nonce>                   ->
//!                                            <-       r=<client nonce><server nonce>,s=<salt>,i=<iterations>
//!   c=biws,r=<both nonces>,p=<proof>         ->
//!                                            <-       v=<server signature>
//! ```
//! The server keeps a [`Verifier`], from which the password cannot be read and which is of no use for logging
//! in. This is own code over the RustCrypto primitives, because the exchange is forty lines.
//!
//! Invariants:
//! 1. An unknown user and a wrong password look alike: an unknown user gets a stable invented salt and fails
//!    at the end, after the same computations.
//! 2. Secrets are compared in constant time.
//! 3. The channel is bound (SCRAM-SHA-256-PLUS) where it is encrypted and the client wants it. The proof then
//!    covers the hash of the certificate that the client has seen, so that a man in the middle cannot pass it
//!    on. A client that was led to believe that the server does not support binding is refused.
//!
//! Reference: RFC 5802, RFC 7677, RFC 5929 (tls-server-end-point); verifier format as PostgreSQL's
//! pg_authid.rolpassword.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
pub use hyades::password::{InvalidVerifier, Verifier};
use hyades::password::{Key, hmac_sha256};
use hyades::{Error, Result, sqlstate};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The mechanism that is always offered.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The same with a proof that is bound to the encrypted channel.
pub const BINDING_MECHANISM: &str = "SCRAM-SHA-256-PLUS";

const BINDING_TYPE: &str = "tls-server-end-point";

/// The mechanisms on offer, the best one first, as in PostgreSQL.
pub fn mechanisms(can_bind: bool) -> &'static [&'static str] {
    if can_bind { &[BINDING_MECHANISM, MECHANISM] } else { &[MECHANISM] }
}

const NONCE_BYTES: usize = 18;
/// Client messages above this are refused, as in PostgreSQL.
const MESSAGE_LIMIT_BYTES: usize = 1024;

fn malformed(detail: &str) -> Error {
    Error::input(sqlstate::PROTOCOL_VIOLATION, "malformed SCRAM message").with_detail(detail)
}

/// One login.
pub struct Exchange {
    user: String,
    verifier: Verifier,
    known: bool,
    /// The data that a channel is bound to, if it can be bound.
    end_point: Option<Vec<u8>>,
    is_bound: bool,
    gs2_header: String,
    nonce: String,
    /// Client's and server's first messages, comma between them.
    transcript: String,
}

impl Exchange {
    /// `verifier` is `None` for a user that does not exist; `secret` keeps such a user's salt stable.
    /// `end_point` is the hash of the certificate that the client was shown.
    pub fn new(
        user: &str,
        verifier: Option<&Verifier>,
        secret: &[u8],
        end_point: Option<Vec<u8>>,
    ) -> Exchange {
        Exchange {
            user: user.to_owned(),
            known: verifier.is_some(),
            verifier: verifier.cloned().unwrap_or_else(|| Verifier::invented(user, secret)),
            end_point,
            is_bound: false,
            gs2_header: String::new(),
            nonce: String::new(),
            transcript: String::new(),
        }
    }

    /// Takes the client's first message, and returns the server's.
    pub fn first(&mut self, mechanism: &str, message: &[u8]) -> Result<String> {
        self.is_bound = mechanism == BINDING_MECHANISM;
        let server_nonce = BASE64.encode(rand::random::<[u8; NONCE_BYTES]>());
        self.first_with_nonce(message, &server_nonce)
    }

    /// Checks what the client says of channel binding against what was agreed.
    fn check_binding(&self, flag: &str) -> Result<()> {
        match (flag, flag.strip_prefix("p="), self.is_bound) {
            (_, Some(BINDING_TYPE), true) => Ok(()),
            (_, Some(other), true) => Err(Error::input(
                sqlstate::PROTOCOL_VIOLATION,
                format!("unsupported SCRAM channel-binding type \"{}\"", sanitized(other)),
            )),
            (_, Some(_), false) => Err(malformed(
                "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes \
                 channel binding data.",
            )),
            ("n" | "y", _, true) => Err(malformed(
                "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel \
                 binding data.",
            )),
            ("y", _, false) if self.end_point.is_some() => Err(Error::input(
                sqlstate::INVALID_AUTHORIZATION,
                "SCRAM channel binding negotiation error",
            )
            .with_detail(
                "The client supports SCRAM channel binding but thinks the server does not.  However, this \
                 server does support channel binding.",
            )),
            ("n" | "y", _, false) => Ok(()),
            _ => Err(malformed("The channel binding flag is missing.")),
        }
    }

    fn first_with_nonce(&mut self, message: &[u8], server_nonce: &str) -> Result<String> {
        let message = text(message)?;
        let header_bytes = message.match_indices(',').nth(1).map(|(index, _)| index + 1);
        let header_bytes = header_bytes.ok_or_else(|| malformed("The channel binding flag is missing."))?;
        let (header, bare) = message.split_at(header_bytes);
        self.check_binding(header.split(',').next().unwrap_or_default())?;
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

    /// Takes the client's proof, and returns the server's signature if the password is right.
    pub fn finish(self, message: &[u8]) -> Result<String> {
        let message = text(message)?;
        let (without_proof, proof) =
            message.rsplit_once(",p=").ok_or_else(|| malformed("The proof is missing."))?;
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|attribute| attribute.strip_prefix("c="));
        let mut expected = self.gs2_header.clone().into_bytes();
        if self.is_bound {
            expected.extend_from_slice(self.end_point.as_deref().unwrap_or_default());
        }
        if binding != Some(BASE64.encode(&expected).as_str()) {
            if self.is_bound {
                let message = "SCRAM channel binding check failed";
                return Err(Error::input(sqlstate::INVALID_AUTHORIZATION, message));
            }
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

/// Text of a client, made printable for a message: PostgreSQL's `sanitize_str`.
fn sanitized(text: &str) -> String {
    let shown = |character: char| if character.is_ascii_graphic() { character } else { '?' };
    text.chars().take(30).map(shown).collect()
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
