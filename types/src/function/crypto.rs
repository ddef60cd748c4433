//! Digests, keyed digests, password hashes and random bytes, as the extension pgcrypto has them; UUIDs of
//! uuid-ossp.
//!
//! Reference: PostgreSQL's contrib/pgcrypto and contrib/uuid-ossp.

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use uuid::Uuid;

use super::time::now_us;
use super::{Function, mismatch};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;
use crate::random;
use crate::refusal::{Missing, refused};
use crate::value::Value;

/// Bytes of a message that are hashed in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 4;
/// The most bytes of one call of gen_random_bytes.
const MOST_RANDOM_BYTES: usize = 1024;
/// The logarithms of the rounds of bcrypt that gen_salt takes, and the one that it chooses.
const FEWEST_ROUNDS: u32 = 4;
const USUAL_ROUNDS: u32 = 6;
const MOST_ROUNDS: u32 = 31;
/// More rounds take longer than a second, in which nothing can stop them.
const MOST_UNSTOPPABLE_ROUNDS: u32 = 14;
/// How bcrypt writes its salts.
const BCRYPT_BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::BCRYPT, NO_PAD);
/// From the epoch of Unix to PostgreSQL's.
const MICROSECONDS_UNTIL_2000: i64 = 946_684_800_000_000;
/// What the fewest rounds take, as work of a guest.
const UNITS_OF_FEWEST_ROUNDS: usize = 80_000;

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::Digest, [message, Value::Text(kind)]) => digest(bytes_of(message), kind),
        (Function::Hmac, [message, key, Value::Text(kind)]) => keyed(bytes_of(message), bytes_of(key), kind),
        (Function::Crypt, [Value::Text(password), Value::Text(salt)]) => crypt(password, salt),
        (Function::GenSalt, [Value::Text(kind)]) => gen_salt(kind, USUAL_ROUNDS),
        (Function::GenSalt, [Value::Text(kind), Value::Integer(rounds)]) => {
            // Zero stands for the usual number.
            let rounds = if *rounds == 0 { USUAL_ROUNDS } else { u32::try_from(*rounds).unwrap_or(u32::MAX) };
            gen_salt(kind, rounds)
        }
        (Function::RandomBytes, [Value::Integer(count)]) => match usize::try_from(*count) {
            Ok(count @ 1..=MOST_RANDOM_BYTES) => {
                let bytes: [u8; MOST_RANDOM_BYTES] = random::secret();
                Ok(Value::Bytea(bytes[..count].into()))
            }
            _ => Err(Error::input(sqlstate::EXTERNAL_ROUTINE_INVOCATION, "Length not in range")),
        },
        (Function::UuidOfTime, []) => {
            let mut node: [u8; 6] = random::secret();
            // Of a random node, as RFC 4122 asks (4.5).
            node[0] |= 1;
            let since_1970 = now_us() + MICROSECONDS_UNTIL_2000;
            let seconds = u64::try_from(since_1970.div_euclid(1_000_000)).unwrap_or(0);
            let nanoseconds = u32::try_from(since_1970.rem_euclid(1_000_000)).unwrap_or(0) * 1000;
            let time = uuid::Timestamp::from_unix(
                uuid::ContextV1::new(u16::from_le_bytes(random::secret())),
                seconds,
                nanoseconds,
            );
            Ok(Value::Uuid(Uuid::new_v1(time, &node).into_bytes()))
        }
        (Function::UuidOfName, [Value::Integer(version), Value::Uuid(space), Value::Text(name)]) => {
            let space = Uuid::from_bytes(*space);
            let uuid = match version {
                3 => Uuid::new_v3(&space, name.as_bytes()),
                _ => Uuid::new_v5(&space, name.as_bytes()),
            };
            Ok(Value::Uuid(uuid.into_bytes()))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

fn bytes_of(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        Value::Bytea(bytes) => bytes,
        _ => &[],
    }
}

fn bytea(digest: &[u8]) -> Value {
    Value::Bytea(digest.into())
}

fn no_algorithm(kind: &str) -> Error {
    let message = format!("Cannot use \"{}\": No such hash algorithm", crate::error::quoted(kind));
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn digest(message: &[u8], kind: &str) -> Result<Value> {
    guest::spend_for(message.len() / BYTES_PER_UNIT)?;
    Ok(match kind.to_ascii_lowercase().as_str() {
        "md5" => bytea(&Md5::digest(message)),
        "sha1" => bytea(&Sha1::digest(message)),
        "sha224" => bytea(&Sha224::digest(message)),
        "sha256" => bytea(&Sha256::digest(message)),
        "sha384" => bytea(&Sha384::digest(message)),
        "sha512" => bytea(&Sha512::digest(message)),
        _ => return Err(no_algorithm(kind)),
    })
}

/// The digest of a message under a key (HMAC, RFC 2104).
fn keyed(message: &[u8], key: &[u8], kind: &str) -> Result<Value> {
    guest::spend_for((message.len() + key.len()) / BYTES_PER_UNIT)?;
    macro_rules! of {
        ($digest:ty) => {{
            let Ok(mut mac) = Hmac::<$digest>::new_from_slice(key) else { return Err(no_algorithm(kind)) };
            mac.update(message);
            bytea(&mac.finalize().into_bytes())
        }};
    }
    Ok(match kind.to_ascii_lowercase().as_str() {
        "md5" => of!(Md5),
        "sha1" => of!(Sha1),
        "sha224" => of!(Sha224),
        "sha256" => of!(Sha256),
        "sha384" => of!(Sha384),
        "sha512" => of!(Sha512),
        _ => return Err(no_algorithm(kind)),
    })
}

fn bad_salt() -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, "invalid salt")
}

fn only_blowfish(kind: &str) -> Error {
    let what = format!("password hashes of type \"{}\" are", crate::error::quoted(kind));
    refused(Missing::PasswordHashes, &what)
}

fn check_rounds(rounds: u32) -> Result<()> {
    if !(FEWEST_ROUNDS..=MOST_ROUNDS).contains(&rounds) {
        let message = "gen_salt: Incorrect number of rounds";
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    if rounds > MOST_UNSTOPPABLE_ROUNDS {
        return Err(refused(Missing::Rounds, &format!("more than 2^{MOST_UNSTOPPABLE_ROUNDS} rounds are")));
    }
    Ok(())
}

fn gen_salt(kind: &str, rounds: u32) -> Result<Value> {
    match kind.to_ascii_lowercase().as_str() {
        "bf" => {}
        "des" | "xdes" | "md5" => return Err(only_blowfish(kind)),
        _ => {
            let message = "gen_salt: Unknown salt algorithm";
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
    }
    check_rounds(rounds)?;
    let salt: [u8; 16] = random::secret();
    Ok(Value::text(format!("$2a${rounds:02}${}", BCRYPT_BASE64.encode(salt))))
}

/// The hash of a password, as bcrypt makes it with the salt: that of gen_salt, or a hash that begins with it.
fn crypt(password: &str, salt: &str) -> Result<Value> {
    let mut fields = salt.splitn(4, '$');
    let fields = [(); 4].map(|()| fields.next().unwrap_or_default());
    let ["", version @ ("2a" | "2b" | "2x" | "2y"), rounds, rest] = fields else {
        return Err(if salt.starts_with('$') || salt.len() < 3 { bad_salt() } else { only_blowfish("des") });
    };
    let rounds: u32 = rounds.parse().map_err(|_| bad_salt())?;
    check_rounds(rounds)?;
    let written = rest.get(..22).ok_or_else(bad_salt)?;
    let salt: [u8; 16] =
        BCRYPT_BASE64.decode(written).ok().and_then(|bytes| bytes.try_into().ok()).ok_or_else(bad_salt)?;
    memory::check(0)?;
    guest::spend_for(UNITS_OF_FEWEST_ROUNDS << (rounds - FEWEST_ROUNDS))?;
    // A password ends at its first zero byte.
    let password = password.split('\0').next().unwrap_or_default();
    let hashed = bcrypt::hash_with_salt(password, rounds, salt).map_err(|_| bad_salt())?;
    let version = match version {
        "2a" => bcrypt::Version::TwoA,
        "2x" => bcrypt::Version::TwoX,
        "2y" => bcrypt::Version::TwoY,
        _ => bcrypt::Version::TwoB,
    };
    Ok(Value::text(hashed.format_for_version(version)))
}
