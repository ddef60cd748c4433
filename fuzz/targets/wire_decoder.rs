//! What a client sends: the first packet, then typed messages, cut from one buffer as the connection loop
//! does it.
//!
//! Checks, beside no panic and bounded memory: a frame never reaches behind the bytes, and an error in a body
//! leaves the next frame where it is.

#![no_main]

use hyades_server::codec::frontend::{Message, decode, frame};
use hyades_server::codec::startup::packet;
use libfuzzer_sys::fuzz_target;

const LIMIT_BYTES: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some((_, size_bytes))) = packet(bytes) {
        assert!(size_bytes <= bytes.len());
    }
    let mut rest = bytes;
    while let Ok(Some(message)) = frame(rest, LIMIT_BYTES) {
        let size_bytes = message.size_bytes();
        assert!(size_bytes > 0 && size_bytes <= rest.len());
        if let Ok(Message::Bind(bind)) = decode(message) {
            assert_eq!(bind.parameters.iter().count(), bind.parameters.len());
            let bytes_of_parameters: usize = bind.parameters.iter().flatten().map(<[u8]>::len).sum();
            assert!(bytes_of_parameters <= size_bytes);
        }
        rest = &rest[size_bytes..];
    }
});
