//! The untyped packets with which a connection opens.
//!
//! ```text
//! +----------------+--------------------+---------------------------------------------+
//! | length (4, BE) | code (4, BE)       | parameters: name\0 value\0 ... \0           |
//! +----------------+--------------------+---------------------------------------------+
//! ```
//! The code is a protocol version (major in the upper half) or one of three requests, for which PostgreSQL
//! chose version numbers that will never be used. At most 10,000 bytes, as in PostgreSQL.

use hyades::sqlstate;

use super::FrameError;
use super::reader::Reader;

/// The largest first packet.
pub const LIMIT_BYTES: usize = 10_000;

const SSL_REQUEST: u32 = (1234 << 16) | 5679;
const GSS_ENCRYPTION_REQUEST: u32 = (1234 << 16) | 5680;
const CANCEL_REQUEST: u32 = (1234 << 16) | 5678;
/// Protocol 3.0, the only one supported.
pub const PROTOCOL_VERSION: u32 = 3 << 16;

/// A decoded first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    SslRequest,
    GssEncryptionRequest,
    Cancel { process_id: i32, secret: Vec<u8> },
    Startup(Startup),
}

/// The parameters with which a client opens a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Startup {
    pub minor_version: u16,
    pub user: String,
    /// The user's name unless the client gives one.
    pub database: String,
    /// All other parameters, including those that were packed into `options`.
    pub parameters: Vec<(String, String)>,
    /// Protocol options (`_pq_.*`). None is supported.
    pub protocol_options: Vec<String>,
}

fn violation(message: impl Into<String>) -> FrameError {
    FrameError { state: sqlstate::PROTOCOL_VIOLATION, message: message.into() }
}

/// The first packet of `bytes` and its size, or `None` until it has arrived.
pub fn packet(bytes: &[u8]) -> Result<Option<(Packet, usize)>, FrameError> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    if !(8..=LIMIT_BYTES).contains(&length) {
        return Err(violation("invalid length of startup packet"));
    }
    let Some((code, body)) = rest.get(..length - 4).and_then(|packet| packet.split_first_chunk::<4>()) else {
        return Ok(None);
    };
    let packet = match u32::from_be_bytes(*code) {
        SSL_REQUEST => Packet::SslRequest,
        GSS_ENCRYPTION_REQUEST => Packet::GssEncryptionRequest,
        CANCEL_REQUEST => cancel(body)?,
        version if version >> 16 == PROTOCOL_VERSION >> 16 => Packet::Startup(startup(version, body)?),
        version => {
            let (major, minor) = (version >> 16, version & 0xFFFF);
            return Err(FrameError {
                state: sqlstate::FEATURE_NOT_SUPPORTED,
                message: format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"),
            });
        }
    };
    Ok(Some((packet, length)))
}

fn cancel(body: &[u8]) -> Result<Packet, FrameError> {
    match body.split_first_chunk::<4>() {
        Some((process_id, secret)) if (4..=256).contains(&secret.len()) => {
            Ok(Packet::Cancel { process_id: i32::from_be_bytes(*process_id), secret: secret.to_vec() })
        }
        _ => Err(violation("invalid length of query cancel packet")),
    }
}

fn startup(version: u32, body: &[u8]) -> Result<Startup, FrameError> {
    let mut startup = Startup { minor_version: version as u16, ..Startup::default() };
    let mut reader = Reader::new(body);
    let bad = |_| violation("invalid startup packet layout: expected terminator as last byte");
    loop {
        let name = reader.string().map_err(bad)?;
        if name.is_empty() {
            break;
        }
        let value = reader.string().map_err(bad)?;
        match name {
            "user" => startup.user = value.to_owned(),
            "database" => startup.database = value.to_owned(),
            "replication" => refuse_replication(value)?,
            "options" => unpack_options(value, &mut startup.parameters),
            _ if name.starts_with("_pq_.") => startup.protocol_options.push(name.to_owned()),
            _ => startup.parameters.push((name.to_owned(), value.to_owned())),
        }
    }
    if !reader.is_empty() {
        return Err(violation("invalid startup packet layout: expected terminator as last byte"));
    }
    if startup.user.is_empty() {
        return Err(FrameError {
            state: sqlstate::INVALID_AUTHORIZATION,
            message: "no PostgreSQL user name specified in startup packet".to_owned(),
        });
    }
    if startup.database.is_empty() {
        startup.database.clone_from(&startup.user);
    }
    Ok(startup)
}

/// Refuses replication, which Hyades does not offer. Accepts the words for a boolean and their prefixes, as
/// PostgreSQL does.
fn refuse_replication(value: &str) -> Result<(), FrameError> {
    let value = value.to_ascii_lowercase();
    let is_one_of = |words: &[&str]| !value.is_empty() && words.iter().any(|word| word.starts_with(&value));
    if value != "o" && is_one_of(&["false", "off", "no", "0"]) {
        return Ok(());
    }
    Err(if value != "o" && is_one_of(&["true", "on", "yes", "1", "database"]) {
        FrameError {
            state: sqlstate::FEATURE_NOT_SUPPORTED,
            message: "replication connections are not supported".to_owned(),
        }
    } else {
        FrameError {
            state: sqlstate::INVALID_PARAMETER_VALUE,
            message: format!("invalid value for parameter \"replication\": \"{value}\""),
        }
    })
}

/// Parses `-c name=value`, `-cname=value` and `--name=value`, separated by blanks. A backslash escapes the
/// next character. Anything else is ignored: those are switches of a PostgreSQL server process.
fn unpack_options(options: &str, parameters: &mut Vec<(String, String)>) {
    let mut words = vec![String::new()];
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        match (character, words.last_mut()) {
            ('\\', Some(word)) => word.extend(characters.next()),
            (character, Some(word)) if !character.is_ascii_whitespace() => word.push(character),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let setting = match (word.as_str(), word.strip_prefix("--"), word.strip_prefix("-c")) {
            ("-c", ..) => words.next(),
            (_, Some(setting), _) => Some(setting.to_owned()),
            (_, _, Some(setting)) => Some(setting.to_owned()),
            _ => None,
        };
        if let Some((name, value)) = setting.as_deref().and_then(|setting| setting.split_once('=')) {
            parameters.push((name.replace('-', "_"), value.to_owned()));
        }
    }
}
