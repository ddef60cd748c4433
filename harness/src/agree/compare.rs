//! One statement on both systems, and whether they agree.
//!
//! Rows are compared as sorted texts, errors by their SQLSTATE. One difference from docs/sql.md is allowed:
//! only one system computes something that fails on the data (class 22), because neither promises the order
//! in which conditions are evaluated.

use std::time::Duration;

use anyhow::{Context, Result};
use postgres::{Client, SimpleQueryMessage};

use crate::server::Instance;

/// A statement that takes longer on either system is skipped.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);
const QUERY_CANCELED: &str = "57014";
const NOT_SUPPORTED: &str = "0A000";
/// The class of errors in the data: overflow, division by zero, a text that is not a number.
const DATA_EXCEPTION: &str = "22";

/// The result of a statement on one system.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Answer {
    /// The rows, sorted, and how many rows the command tag counts.
    Rows(Vec<String>, u64),
    /// SQLSTATE and message.
    Error(String, String),
}

/// How two results compare.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    Agree,
    /// Hyades reports that it does not support this. The message.
    Refused(String),
    /// Nothing can be concluded.
    Skipped,
    Differ,
}

/// A connection to each of the two systems.
pub(super) struct Pair {
    pub(super) hyades: Client,
    pub(super) postgresql: Client,
}

impl Pair {
    pub(super) fn connect(hyades: &Instance, postgresql: &Instance) -> Result<Pair> {
        let mut pair = Pair { hyades: hyades.connect()?, postgresql: postgresql.connect()? };
        let timeout = format!("set statement_timeout = {}", STATEMENT_TIMEOUT.as_millis());
        for client in [&mut pair.hyades, &mut pair.postgresql] {
            client.batch_execute(&timeout).context("SET statement_timeout")?;
        }
        Ok(pair)
    }

    /// Runs the statement on both, Hyades first.
    pub(super) fn answers(&mut self, statement: &str) -> Result<(Answer, Answer)> {
        Ok((answer_of(&mut self.hyades, statement)?, answer_of(&mut self.postgresql, statement)?))
    }

    /// The same for a query. It runs twice on Hyades, because a text that is repeated is run with parameters
    /// in place of its literals. If one of the results disagrees with PostgreSQL's, it is returned.
    pub(super) fn answers_twice(&mut self, query: &str) -> Result<(Answer, Answer)> {
        let first = answer_of(&mut self.hyades, query)?;
        let (second, theirs) = self.answers(query)?;
        let ours = if judge(&first, &theirs) == Verdict::Agree { second } else { first };
        Ok((ours, theirs))
    }

    /// Runs the statement in a transaction that is rolled back, followed by queries of the tables.
    pub(super) fn tried_change(&mut self, statement: &str, tables: &[&str]) -> Result<Verdict> {
        self.both("begin")?;
        let (hyades, postgresql) = self.answers(statement)?;
        let mut verdict = judge(&hyades, &postgresql);
        if matches!(hyades, Answer::Rows(..)) {
            for table in tables {
                if verdict != Verdict::Agree {
                    break;
                }
                let (hyades, postgresql) = self.answers(&format!("select * from {table}"))?;
                verdict = judge(&hyades, &postgresql);
            }
        }
        self.both("rollback")?;
        Ok(verdict)
    }

    pub(super) fn both(&mut self, statement: &str) -> Result<()> {
        self.hyades.batch_execute(statement).with_context(|| format!("Hyades: {statement}"))?;
        self.postgresql.batch_execute(statement).with_context(|| format!("PostgreSQL: {statement}"))
    }
}

/// An error of the connection itself is returned as an error: a server that ends is the worst difference.
fn answer_of(client: &mut Client, statement: &str) -> Result<Answer> {
    match client.simple_query(statement) {
        Ok(messages) => {
            let mut rows = Vec::new();
            let mut count = 0;
            for message in messages {
                match message {
                    SimpleQueryMessage::Row(row) => {
                        let values: Vec<&str> =
                            (0..row.len()).map(|column| row.get(column).unwrap_or("NULL")).collect();
                        rows.push(values.join("|"));
                    }
                    SimpleQueryMessage::CommandComplete(tagged) => count = tagged,
                    _ => {}
                }
            }
            rows.sort();
            Ok(Answer::Rows(rows, count))
        }
        Err(error) => match error.as_db_error() {
            Some(told) => Ok(Answer::Error(told.code().code().to_owned(), told.message().to_owned())),
            None => Err(error).with_context(|| format!("the connection broke at: {statement}")),
        },
    }
}

pub(super) fn judge(hyades: &Answer, postgresql: &Answer) -> Verdict {
    let code = |answer: &Answer| match answer {
        Answer::Error(code, _) => Some(code.clone()),
        Answer::Rows(..) => None,
    };
    let (ours, theirs) = (code(hyades), code(postgresql));
    let is =
        |code: &Option<String>, wanted: &str| code.as_deref().is_some_and(|code| code.starts_with(wanted));
    if is(&ours, QUERY_CANCELED) || is(&theirs, QUERY_CANCELED) {
        return Verdict::Skipped;
    }
    match (hyades, postgresql) {
        (Answer::Error(code, message), _) if code == NOT_SUPPORTED && !is(&theirs, NOT_SUPPORTED) => {
            Verdict::Refused(message.clone())
        }
        (Answer::Error(..), Answer::Error(..)) if ours == theirs => Verdict::Agree,
        _ if is(&ours, DATA_EXCEPTION) || is(&theirs, DATA_EXCEPTION) => Verdict::Skipped,
        (Answer::Rows(ours, _), Answer::Rows(theirs, _))
            if ours != theirs && trimmed(ours) == trimmed(theirs) =>
        {
            Verdict::Skipped
        }
        _ if hyades == postgresql => Verdict::Agree,
        _ => Verdict::Differ,
    }
}

/// The rows without trailing zeros of a fraction, and without the sign of a zero. Where equal rows become
/// one, neither system promises which of 1 and 1.00, or of 0 and -0, is kept.
fn trimmed(rows: &[String]) -> Vec<String> {
    let trim = |value: &str| match value.parse::<f64>() {
        Ok(0.0) => "0".to_owned(),
        Ok(_) if value.contains('.') => value.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => value.to_owned(),
    };
    let mut rows: Vec<String> =
        rows.iter().map(|row| row.split('|').map(trim).collect::<Vec<_>>().join("|")).collect();
    rows.sort();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgiven_and_what_is_not() {
        let rows = |texts: &[&str]| Answer::Rows(texts.iter().map(|text| (*text).to_owned()).collect(), 1);
        let error = |code: &str| Answer::Error(code.to_owned(), "m".to_owned());
        assert_eq!(judge(&rows(&["1"]), &rows(&["1"])), Verdict::Agree);
        assert_eq!(judge(&rows(&["1"]), &rows(&["2"])), Verdict::Differ);
        assert_eq!(judge(&error("42803"), &rows(&["1"])), Verdict::Differ);
        assert_eq!(judge(&error("42803"), &error("42803")), Verdict::Agree);
        assert_eq!(judge(&error("0A000"), &rows(&["1"])), Verdict::Refused("m".to_owned()));
        assert_eq!(judge(&rows(&["1"]), &error("22012")), Verdict::Skipped);
        assert_eq!(judge(&rows(&["a|1.50"]), &rows(&["a|1.5"])), Verdict::Skipped);
        assert_eq!(judge(&rows(&["a|-0"]), &rows(&["a|0"])), Verdict::Skipped);
        assert_eq!(judge(&error("XX000"), &error("42804")), Verdict::Differ);
    }
}
