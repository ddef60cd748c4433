//! Messages for which there is no memory. They are refused as soon as their length is known, and their bytes
//! are discarded as they arrive.
//!
//! As in PostgreSQL, the error takes the place of the message, and the conversation continues after it.

use hyades::types::memory;

use super::{Connection, Mode};

/// Shorter messages are accepted however little memory there is.
const LARGE_BYTES: usize = 1 << 20;
/// Type byte and length.
const HEADER_BYTES: usize = 5;

/// The number of bytes still to come of a message that begins with `begun`.
fn missing_bytes(begun: &[u8]) -> Option<usize> {
    let header = begun.first_chunk::<HEADER_BYTES>()?;
    let [_, length @ ..] = *header;
    let size = 1 + u32::from_be_bytes(length) as usize;
    if size > LARGE_BYTES { size.checked_sub(begun.len()) } else { None }
}

impl Connection<'_> {
    /// Reports an error in place of a message that has begun and is too large. Returns true if it did.
    pub(super) async fn refuse_oversized(&mut self, begun: &[u8]) -> bool {
        let Some(missing) = missing_bytes(begun) else { return false };
        let Err(error) = memory::check(missing) else { return false };
        self.unwanted_bytes = missing;
        match (self.mode, begun[0]) {
            (Mode::SkipToSync, _) => {}
            (Mode::CopyIn { simple }, _) => {
                self.session.copy_fail(&error.to_string());
                Box::pin(self.fail_copy(&error, simple)).await;
            }
            (Mode::Ready, kind) => {
                let error = self.session.abandon(error);
                Box::pin(self.report_undone(kind, error)).await;
            }
        }
        true
    }

    /// Discards what has arrived of such a message.
    pub(super) fn drop_unwanted(&mut self) {
        let dropped = self.unwanted_bytes.min(self.input.len());
        self.input.drain(..dropped);
        self.unwanted_bytes -= dropped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_by_the_header() {
        let message = |length: u32| [&b"Q"[..], &length.to_be_bytes(), b"select"].concat();
        assert_eq!(missing_bytes(&message(2 << 20)), Some((2 << 20) + 1 - 11));
        assert_eq!(missing_bytes(&message(1000)), None);
        assert_eq!(missing_bytes(b"Q\0"), None);
    }
}
