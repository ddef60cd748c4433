//! A client at the level of bytes: one socket, the messages that an attack needs, and answers that are never
//! awaited for ever.
//!
//! The library that the other commands use hides what matters here: unsolicited errors, half a handshake, a
//! message cut in two, a client that does not read.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The startup packet's version, protocol 3.0.
const VERSION: u32 = 196_608;
const CANCEL: u32 = 80_877_102;
/// How long an attack waits for an answer that should arrive at once.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Type byte and body of a message from the server.
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

/// Everything up to ReadyForQuery, or up to the end of the connection.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The SQLSTATE and message of the first error.
    pub(super) error: Option<(String, String)>,
    pub(super) rows: u64,
    /// The first column of the last row.
    pub(super) value: Option<String>,
    /// The connection ended.
    pub(super) closed: bool,
}

impl Answer {
    /// The SQLSTATE, or an empty text.
    pub(super) fn state(&self) -> &str {
        self.error.as_ref().map_or("", |(state, _)| state)
    }
}

pub(super) struct Client {
    pub(super) stream: TcpStream,
    pub(super) process_id: i32,
    pub(super) secret: Vec<u8>,
}

pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub(super) fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = VERSION.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    message(0, &body)[1..].to_vec()
}

pub(super) fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

pub(super) fn parse(name: &str, sql: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

/// A Bind with text results. A parameter is its format and its bytes.
pub(super) fn bind(portal: &str, statement: &str, parameters: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0").into_bytes();
    let count = (parameters.len() as u16).to_be_bytes();
    body.extend_from_slice(&count);
    parameters.iter().for_each(|(format, _)| body.extend_from_slice(&format.to_be_bytes()));
    body.extend_from_slice(&count);
    for (_, bytes) in parameters {
        body.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        body.extend_from_slice(bytes);
    }
    body.extend_from_slice(&[0, 0]);
    message(b'B', &body)
}

pub(super) fn execute(portal: &str, max_rows: u32) -> Vec<u8> {
    let mut body = format!("{portal}\0").into_bytes();
    body.extend_from_slice(&max_rows.to_be_bytes());
    message(b'E', &body)
}

pub(super) fn sync() -> Vec<u8> {
    message(b'S', b"")
}

/// Asks the server at a port to cancel the statement of a connection.
pub(super) fn cancel(port: u16, process_id: i32, secret: &[u8]) -> Result<()> {
    let mut body = CANCEL.to_be_bytes().to_vec();
    body.extend_from_slice(&process_id.to_be_bytes());
    body.extend_from_slice(secret);
    let mut stream = connect(port)?;
    stream.write_all(&message(0, &body)[1..]).context("cannot send a cancel request")?;
    // The server closes the connection once it has obeyed.
    let _ = stream.read(&mut [0]);
    Ok(())
}

/// A socket on which nothing has been sent yet.
pub(super) fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port)).context("cannot connect")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Client {
    pub(super) fn connect(port: u16) -> Result<Client> {
        Client::connect_with(port, &[("user", "hyades"), ("database", "hyades")])
    }

    pub(super) fn connect_with(port: u16, parameters: &[(&str, &str)]) -> Result<Client> {
        let mut client = Client { stream: connect(port)?, process_id: 0, secret: Vec::new() };
        client.send(&startup(parameters))?;
        loop {
            let Some(message) = client.read()? else { bail!("the server closed a connection that began") };
            match message.kind {
                b'K' => {
                    let (process_id, secret) = message.body.split_first_chunk().context("a key too short")?;
                    client.process_id = i32::from_be_bytes(*process_id);
                    client.secret = secret.to_vec();
                }
                b'E' => bail!("refused: {} {}", field(&message.body, b'C'), field(&message.body, b'M')),
                b'Z' => return Ok(client),
                _ => {}
            }
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("cannot send")
    }

    /// Reads one message. `None` when the connection has ended.
    pub(super) fn read(&mut self) -> Result<Option<Message>> {
        let mut header = [0; 5];
        if !read_exactly(&mut self.stream, &mut header)? {
            return Ok(None);
        }
        let [kind, length @ ..] = header;
        let length = u32::from_be_bytes(length) as usize;
        let mut body = vec![0; length.checked_sub(4).context("a message shorter than its length")?];
        if !read_exactly(&mut self.stream, &mut body)? {
            return Ok(None);
        }
        Ok(Some(Message { kind, body }))
    }

    /// Reads everything up to ReadyForQuery or the end.
    pub(super) fn answer(&mut self) -> Result<Answer> {
        let mut answer = Answer::default();
        loop {
            let Some(message) = self.read()? else {
                answer.closed = true;
                return Ok(answer);
            };
            match message.kind {
                b'D' => {
                    answer.rows += 1;
                    answer.value = first_column(&message.body);
                }
                b'E' if answer.error.is_none() => {
                    answer.error = Some((field(&message.body, b'C'), field(&message.body, b'M')));
                }
                b'Z' => return Ok(answer),
                _ => {}
            }
        }
    }

    pub(super) fn query(&mut self, sql: &str) -> Result<Answer> {
        self.send(&query(sql))?;
        self.answer()
    }

    /// Runs a statement that must succeed. Returns the first column of its last row.
    pub(super) fn value(&mut self, sql: &str) -> Result<String> {
        let answer = self.query(sql)?;
        match answer.error {
            Some((state, words)) => bail!("{state} {words} ({})", clip(sql)),
            None => Ok(answer.value.unwrap_or_default()),
        }
    }

    /// Sets how long answers may take from now on.
    pub(super) fn set_patience(&mut self, patience: Duration) -> Result<()> {
        self.stream.set_read_timeout(Some(patience)).context("cannot set a time limit")
    }

    /// Closes the socket silently. What the server still sends is answered with a reset.
    pub(super) fn vanish(self) {
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Returns false at the end of the stream, however it ended.
fn read_exactly(stream: &mut TcpStream, bytes: &mut [u8]) -> Result<bool> {
    let start = Instant::now();
    match stream.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            bail!("no answer within {:.1} s", start.elapsed().as_secs_f64())
        }
        Err(_) => Ok(false),
    }
}

/// A field of an ErrorResponse.
pub(super) fn field(body: &[u8], code: u8) -> String {
    let mut fields = body.split(|byte| *byte == 0);
    let found = fields.find(|field| field.first() == Some(&code));
    found.map(|field| String::from_utf8_lossy(&field[1..]).into_owned()).unwrap_or_default()
}

fn first_column(body: &[u8]) -> Option<String> {
    let (length, rest) = body.get(2..)?.split_first_chunk()?;
    let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
    Some(String::from_utf8_lossy(rest.get(..length)?).into_owned())
}

/// The beginning of a long text.
pub(super) fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(60).collect();
    if clipped.len() < text.len() {
        clipped.push_str("...");
    }
    clipped
}
