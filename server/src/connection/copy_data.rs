//! Data of COPY FROM STDIN.
//!
//! Flush and Sync are ignored during a COPY, as in PostgreSQL, for clients that send them right after
//! Execute. Any message other than data, done and fail ends the COPY with an error.

use hyades::session::Completion;
use hyades::{Error, sqlstate};

use super::{Connection, Mode};
use crate::codec::backend;
use crate::codec::frontend::{Frame, Message, decode};

impl Connection<'_> {
    pub(super) async fn handle_in_copy(&mut self, frame: Frame<'_>, simple: bool) {
        let message = match decode(frame) {
            Ok(message) => message,
            Err(error) => {
                self.session.copy_fail(&error.to_string());
                return self.fail_copy(&error, simple).await;
            }
        };
        match message {
            Message::CopyData(bytes) => {
                let fed = self.complete(|session| session.copy_feed(bytes)).await;
                self.tell_notices();
                if let Err(error) = fed {
                    self.fail_copy(&error, simple).await;
                }
            }
            Message::CopyDone => {
                let finished = self.complete(hyades::Session::copy_finish).await;
                self.tell_notices();
                match finished {
                    Ok(completion) => self.end_copy(&completion, simple).await,
                    Err(error) => self.fail_copy(&error, simple).await,
                }
            }
            Message::CopyFail(reason) => {
                let error = self.session.copy_fail(&format!("COPY from stdin failed: {reason}"));
                self.fail_copy(&error, simple).await;
            }
            Message::Sync | Message::Flush => {}
            Message::Terminate => self.closing = true,
            _ => {
                let message = format!("unexpected message type 0x{:02X} during COPY from stdin", frame.kind);
                self.session.copy_fail(&message);
                let error = Error::input(sqlstate::PROTOCOL_VIOLATION, message);
                self.fail_copy(&error, simple).await;
            }
        }
    }

    async fn end_copy(&mut self, completion: &Completion, simple: bool) {
        self.mode = Mode::Ready;
        let tag = match completion {
            Completion::Tag(tag) => tag,
            // A COPY does not begin another.
            Completion::CopyIn => "COPY",
        };
        backend::command_complete(&mut self.answers.bytes, tag);
        if simple {
            self.run_remaining().await;
        }
    }

    pub(super) async fn fail_copy(&mut self, error: &Error, simple: bool) {
        if simple {
            self.mode = Mode::Ready;
            self.end_query(Err(error.clone()), 0).await;
        } else {
            self.skip_after(error);
        }
    }
}
