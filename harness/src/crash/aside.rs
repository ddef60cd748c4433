//! A client with a table of its own, which writes only while a restart on demand goes on.
//!
//! The tables of the other clients all occur at the end of the logs, so they open late. This one opens as
//! soon as its rows are loaded: what is acknowledged here was written in the middle of a restart, into the
//! new incarnation of the logs, before the old ones were replayed.

use std::sync::Arc;

use anyhow::{Result, bail};
use postgres::Client;

use super::end::{End, Stopped, classify};
use super::ledger::{Numbers, Outcome};

pub(super) const CREATE: &str = "create table crash_aside (number bigint not null)";

pub(super) fn read(client: &mut Client) -> std::result::Result<Vec<i64>, postgres::Error> {
    client.query("select number from crash_aside", &[])?.iter().map(|row| row.try_get(0)).collect()
}

pub(super) struct Aside {
    client: Client,
    end: Arc<End>,
    known: Numbers,
}

impl Aside {
    pub(super) fn new(client: Client, end: Arc<End>, known: &Numbers) -> Aside {
        Aside { client, end, known: known.clone() }
    }

    /// Reads all numbers, which decides those that had no answer, and then writes new ones one after the
    /// other.
    pub(super) fn run(mut self) -> Result<Outcome> {
        match read(&mut self.client) {
            Ok(found) => self.known.check(&found)?,
            Err(error) => match classify(&error, &self.client, &self.end)? {
                Stopped::Disconnected => return Ok(Outcome::default()),
                Stopped::Retry => bail!("a single read has met a conflict"),
            },
        }
        loop {
            let number = self.known.next;
            self.known.next += 1;
            match self.client.execute("insert into crash_aside values ($1)", &[&number]) {
                Ok(_) => drop(self.known.acknowledged.insert(number)),
                Err(error) => match classify(&error, &self.client, &self.end)? {
                    Stopped::Disconnected => {
                        self.known.undecided.insert(number);
                        return Ok(Outcome { aside: Some(self.known), ..Outcome::default() });
                    }
                    Stopped::Retry => bail!("a single insert has met a conflict"),
                },
            }
        }
    }
}
