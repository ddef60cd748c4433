//! A relay between psql and the server that records what both send.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// The requests that psql may send before its startup packet, and that the server refuses with one byte: TLS,
/// GSSAPI.
const ENCRYPTION_REQUESTS: [u32; 2] = [80_877_103, 80_877_104];

/// Serves one connection.
pub(super) struct Relay {
    pub(super) port: u16,
    thread: JoinHandle<(Vec<u8>, Vec<u8>)>,
}

impl Relay {
    pub(super) fn start(server: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            let (from_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let answers = std::thread::spawn(move || pass_on(from_server, to_client));
            (pass_on(client, server), answers.join().unwrap())
        });
        Relay { port, thread }
    }

    /// The messages of the client after its startup packet, and those of the server after its greeting.
    pub(super) fn heard(self) -> (Vec<u8>, Vec<u8>) {
        let (client, server) = self.thread.join().unwrap();
        let mut sent = &client[..];
        let mut refusals = 0;
        while ENCRYPTION_REQUESTS.contains(&u32_at(sent, 4)) {
            (sent, refusals) = (&sent[8..], refusals + 1);
        }
        let queries = messages(&sent[u32_at(sent, 0) as usize..]);
        let answers = messages(&server[refusals..]);
        let greeting = answers.iter().position(|message| message[0] == b'Z').unwrap();
        let query = queries.into_iter().find(|message| message[0] == b'Q').expect("psql asks something");
        (query.to_vec(), answers[greeting + 1..].concat())
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) -> Vec<u8> {
    let (mut heard, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        heard.extend_from_slice(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // The other side may have gone already.
    let _ = to.shutdown(std::net::Shutdown::Write);
    heard
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Cuts messages that begin with their type.
pub(super) fn messages(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (message, rest) = bytes.split_at(1 + u32_at(bytes, 1) as usize);
        found.push(message);
        bytes = rest;
    }
    found
}
