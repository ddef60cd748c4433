//! A client at the level of bytes: sends any message, reads whole answers.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::process::Server;

/// A connection that has sent its startup packet and read up to the first ReadyForQuery.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) process_id: i32,
    pub(crate) secret: Vec<u8>,
    /// The answers to the startup packet.
    pub(crate) greeting: Vec<Answer>,
}

/// Type byte and body of a message from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// A field of an ErrorResponse.
    pub(crate) fn field(&self, code: u8) -> Option<String> {
        let fields = self.body.split(|byte| *byte == 0);
        fields.filter(|field| field.first() == Some(&code)).map(|field| text(&field[1..])).next()
    }

    /// The columns of a DataRow as text.
    pub(crate) fn columns(&self) -> Vec<Option<String>> {
        let mut rest = &self.body[2..];
        let mut columns = Vec::new();
        while let Some((length, tail)) = rest.split_first_chunk::<4>() {
            let length = i32::from_be_bytes(*length);
            let (value, tail) = tail.split_at(length.max(0) as usize);
            columns.push((length >= 0).then(|| text(value)));
            rest = tail;
        }
        columns
    }

    /// The tag of a CommandComplete.
    pub(crate) fn tag(&self) -> String {
        text(&self.body[..self.body.len() - 1])
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) fn startup(version: u32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    message(0, &body)[1..].to_vec()
}

pub(crate) fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

pub(crate) fn parse(name: &str, sql: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

/// Text parameters, text results.
pub(crate) fn bind(portal: &str, statement: &str, parameters: &[&str]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0\0\0").into_bytes();
    body.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        body.extend_from_slice(&(parameter.len() as u32).to_be_bytes());
        body.extend_from_slice(parameter.as_bytes());
    }
    body.extend_from_slice(&[0, 0]);
    message(b'B', &body)
}

pub(crate) fn describe(target: char, name: &str) -> Vec<u8> {
    message(b'D', format!("{target}{name}\0").as_bytes())
}

pub(crate) fn close(target: char, name: &str) -> Vec<u8> {
    message(b'C', format!("{target}{name}\0").as_bytes())
}

pub(crate) fn execute(portal: &str, max_rows: i32) -> Vec<u8> {
    let mut body = format!("{portal}\0").into_bytes();
    body.extend_from_slice(&max_rows.to_be_bytes());
    message(b'E', &body)
}

pub(crate) fn sync() -> Vec<u8> {
    message(b'S', b"")
}

pub(crate) fn flush() -> Vec<u8> {
    message(b'H', b"")
}

/// Reads one message; `None` at the end of the stream.
pub(crate) fn read_answer(stream: &mut TcpStream) -> Option<Answer> {
    let mut header = [0; 5];
    stream.read_exact(&mut header).ok()?;
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    let mut body = vec![0; length - 4];
    stream.read_exact(&mut body).ok()?;
    Some(Answer { kind: header[0], body })
}

impl Client {
    pub(crate) fn connect(server: &Server) -> Client {
        Client::connect_as(server, "hyades")
    }

    pub(crate) fn connect_as(server: &Server, user: &str) -> Client {
        let mut stream = server.connect();
        stream.write_all(&startup(196_608, &[("user", user), ("database", "hyades")])).unwrap();
        let mut client = Client { stream, process_id: 0, secret: Vec::new(), greeting: Vec::new() };
        client.greeting = client.until_ready();
        let key = client.greeting.iter().find(|answer| answer.kind == b'K').unwrap();
        client.process_id = i32::from_be_bytes(key.body[..4].try_into().unwrap());
        client.secret = key.body[4..].to_vec();
        client
    }

    pub(crate) fn send(&mut self, messages: &[Vec<u8>]) {
        self.stream.write_all(&messages.concat()).unwrap();
    }

    pub(crate) fn answer(&mut self) -> Answer {
        read_answer(&mut self.stream).expect("an answer")
    }

    /// All answers up to and including ReadyForQuery.
    pub(crate) fn until_ready(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        loop {
            answers.push(self.answer());
            if answers.last().is_some_and(|answer| answer.kind == b'Z') {
                return answers;
            }
        }
    }

    /// Sends messages, and returns the answers up to ReadyForQuery.
    pub(crate) fn ask(&mut self, messages: &[Vec<u8>]) -> Vec<Answer> {
        self.send(messages);
        self.until_ready()
    }

    pub(crate) fn query(&mut self, sql: &str) -> Vec<Answer> {
        self.ask(&[query(sql)])
    }
}

/// The type bytes of answers, as text.
pub(crate) fn kinds(answers: &[Answer]) -> String {
    answers.iter().map(|answer| char::from(answer.kind)).collect()
}

/// The SQLSTATE of the first error.
pub(crate) fn state(answers: &[Answer]) -> String {
    answers.iter().find(|answer| answer.kind == b'E').and_then(|error| error.field(b'C')).unwrap_or_default()
}

/// A request to the server to cancel what this process runs.
pub(crate) fn cancel_request(server: &Server, process_id: i32, secret: &[u8]) {
    let body = [&80_877_102_u32.to_be_bytes(), &process_id.to_be_bytes()[..], secret].concat();
    server.connect().write_all(&message(0, &body)[1..]).unwrap();
}
