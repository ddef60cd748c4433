//! Messages from clients after the startup packet.
//!
//! ```text
//! +------+-------------------+----------------------+
//! | type | length (4, BE)    | body (length - 4)    |
//! +------+-------------------+----------------------+
//! ```
//! [`frame`] cuts one from the front of a buffer, and [`decode`] reads its body. Decoding checks the whole
//! body once, so the iterators that it returns ([`Parameters`], [`Formats`], [`TypeIds`]) cannot fail.

use hyades::{Error, Result, sqlstate};

use super::FrameError;
use super::reader::Reader;

/// Messages that carry no user data are refused above this size, as PostgreSQL does.
pub const SMALL_MESSAGE_LIMIT_BYTES: usize = 10_000;

/// One message cut from the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub kind: u8,
    pub body: &'a [u8],
}

impl Frame<'_> {
    /// The size of the frame in the stream.
    pub fn size_bytes(&self) -> usize {
        self.body.len() + 5
    }
}

/// The first frame of `bytes`, or `None` until more of it has arrived. An invalid length is refused as soon
/// as the header has arrived, before the body is awaited.
pub fn frame(bytes: &[u8], limit_bytes: usize) -> std::result::Result<Option<Frame<'_>>, FrameError> {
    let Some((&kind, after_kind)) = bytes.split_first() else {
        return Ok(None);
    };
    let limit_bytes = match kind {
        b'Q' | b'P' | b'B' | b'F' | b'd' | b'f' | b'p' => limit_bytes,
        b'D' | b'E' | b'S' | b'C' | b'H' | b'c' | b'X' => limit_bytes.min(SMALL_MESSAGE_LIMIT_BYTES),
        _ => {
            return Err(FrameError {
                state: sqlstate::PROTOCOL_VIOLATION,
                message: format!("invalid frontend message type {kind}"),
            });
        }
    };
    let Some((length, after_length)) = after_kind.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    if length < 4 || length > limit_bytes {
        return Err(FrameError {
            state: sqlstate::PROTOCOL_VIOLATION,
            message: format!("invalid message length {length} (the limit is {limit_bytes} bytes)"),
        });
    }
    Ok(after_length.get(..length - 4).map(|body| Frame { kind, body }))
}

/// What a Describe or Close refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Statement,
    Portal,
}

/// A decoded message; borrows from the receive buffer.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    Query(&'a str),
    Parse {
        name: &'a str,
        query: &'a str,
        parameter_types: TypeIds<'a>,
    },
    Bind(Bind<'a>),
    Describe {
        target: Target,
        name: &'a str,
    },
    /// `max_rows <= 0` asks for all rows.
    Execute {
        portal: &'a str,
        max_rows: i32,
    },
    Close {
        target: Target,
        name: &'a str,
    },
    Sync,
    Flush,
    CopyData(&'a [u8]),
    CopyDone,
    CopyFail(&'a str),
    /// The reply to an authentication request.
    Password(&'a [u8]),
    /// The fast-path call of a function, which Hyades does not support.
    FunctionCall,
    Terminate,
}

/// Body of a Bind message.
#[derive(Clone, Debug)]
pub struct Bind<'a> {
    pub portal: &'a str,
    pub statement: &'a str,
    pub parameter_formats: Formats<'a>,
    pub parameters: Parameters<'a>,
    pub result_formats: Formats<'a>,
}

/// Wire format of one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    Binary,
}

impl Format {
    pub fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }
}

/// A list of format codes: none (all text), one for all values, or one for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Formats<'a>(&'a [u8]);

impl<'a> Formats<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Formats<'a>> {
        let count = reader.count()?;
        let bytes = reader.take(count * 2)?;
        for code in bytes.as_chunks::<2>().0 {
            let code = i16::from_be_bytes(*code);
            if !(0..=1).contains(&code) {
                let message = format!("unsupported format code: {code}");
                return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
            }
        }
        Ok(Formats(bytes))
    }

    /// The codes as sent, 0, 1 or one for each value.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Format> + use<'a> {
        self.0.as_chunks::<2>().0.iter().map(|code| match code {
            [0, 0] => Format::Text,
            _ => Format::Binary,
        })
    }

    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The format of the value at `index`, by this rule.
    pub fn of(&self, index: usize) -> Format {
        let position = if self.len() == 1 { 0 } else { index * 2 };
        match self.0.get(position..position + 2) {
            Some([0, 1]) => Format::Binary,
            _ => Format::Text,
        }
    }
}

/// Parameter values of a Bind, checked when it was decoded.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    count: usize,
    values: Reader<'a>,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reader")
    }
}

fn read_value<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>> {
    match reader.i32()? {
        -1 => Ok(None),
        length => match usize::try_from(length) {
            Ok(length) => reader.take(length).map(Some),
            Err(_) => Err(Error::input(sqlstate::PROTOCOL_VIOLATION, "invalid message format")),
        },
    }
}

impl<'a> Parameters<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Parameters<'a>> {
        let count = reader.count()?;
        let values = *reader;
        for _ in 0..count {
            read_value(reader)?;
        }
        Ok(Parameters { count, values })
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The values in order; `None` is NULL.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut values = self.values;
        (0..self.count).map(move |_| read_value(&mut values).unwrap_or_default())
    }
}

/// Object identifiers of parameter types; 0 leaves a type to be inferred.
#[derive(Clone, Copy, Debug, Default)]
pub struct TypeIds<'a>(&'a [u8]);

impl<'a> TypeIds<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<TypeIds<'a>> {
        let count = reader.count()?;
        Ok(TypeIds(reader.take(count * 4)?))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.0.as_chunks::<4>().0.iter().map(|id| u32::from_be_bytes(*id))
    }
}

fn read_target(reader: &mut Reader<'_>, what: &str) -> Result<Target> {
    match reader.u8()? {
        b'S' => Ok(Target::Statement),
        b'P' => Ok(Target::Portal),
        other => {
            Err(Error::input(sqlstate::PROTOCOL_VIOLATION, format!("invalid {what} message subtype {other}")))
        }
    }
}

/// Reads the body of a frame.
pub fn decode<'a>(frame: Frame<'a>) -> Result<Message<'a>> {
    let mut reader = Reader::new(frame.body);
    let message = match frame.kind {
        b'Q' => Message::Query(reader.string()?),
        b'P' => Message::Parse {
            name: reader.string()?,
            query: reader.string()?,
            parameter_types: TypeIds::read(&mut reader)?,
        },
        b'B' => Message::Bind(Bind {
            portal: reader.string()?,
            statement: reader.string()?,
            parameter_formats: Formats::read(&mut reader)?,
            parameters: Parameters::read(&mut reader)?,
            result_formats: Formats::read(&mut reader)?,
        }),
        b'D' => Message::Describe { target: read_target(&mut reader, "DESCRIBE")?, name: reader.string()? },
        b'E' => Message::Execute { portal: reader.string()?, max_rows: reader.i32()? },
        b'C' => Message::Close { target: read_target(&mut reader, "CLOSE")?, name: reader.string()? },
        b'S' => Message::Sync,
        b'H' => Message::Flush,
        b'd' => Message::CopyData(reader.remainder()),
        b'c' => Message::CopyDone,
        b'f' => Message::CopyFail(reader.string()?),
        b'p' => Message::Password(reader.remainder()),
        // Its arguments are ignored.
        b'F' => return Ok(Message::FunctionCall),
        b'X' => return Ok(Message::Terminate),
        other => {
            let message = format!("invalid frontend message type {other}");
            return Err(Error::input(sqlstate::PROTOCOL_VIOLATION, message));
        }
    };
    reader.finish()?;
    Ok(message)
}
