//! Prepared statements and portals of a connection. The unnamed statement and portal are kept apart from the
//! named ones: drivers use them for nearly everything, and their buffers are reused.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hyades::session::{Prepared, Response, Session};
use hyades::types::cast::cast;
use hyades::types::memory;
use hyades::types::text::Reading;
use hyades::types::{binary, text};
use hyades::{Error, Result, SqlType, Value, sqlstate};

use crate::codec::frontend::{Bind, Format};

/// A prepared statement of this connection.
pub(super) struct Statement {
    pub(super) prepared: Arc<Prepared>,
    /// The name of the statement that it deallocates.
    pub(super) deallocates: Option<String>,
}

impl Statement {
    pub(super) fn new(prepared: Arc<Prepared>) -> Arc<Statement> {
        let deallocates = deallocated_name(prepared.text());
        Arc::new(Statement { prepared, deallocates })
    }
}

/// The name in `DEALLOCATE [PREPARE] name`. In PostgreSQL the statements of Parse and of PREPARE share their
/// names, and drivers deallocate by SQL what they prepared by Parse.
fn deallocated_name(sql: &str) -> Option<String> {
    let mut words = sql.split_ascii_whitespace();
    words.next().filter(|word| word.eq_ignore_ascii_case("deallocate"))?;
    let mut name = words.next()?;
    if name.eq_ignore_ascii_case("prepare") {
        name = words.next()?;
    }
    let name = name.trim_end_matches(';');
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        _ if words.next().is_some() => None,
        Some(quoted) => Some(quoted.replace("\"\"", "\"")),
        None => Some(name.to_ascii_lowercase()).filter(|name| name != "all"),
    }
}

/// The prepared statements of a connection.
#[derive(Default)]
pub(super) struct Statements {
    pub(super) unnamed: Option<Arc<Statement>>,
    pub(super) named: HashMap<String, Arc<Statement>, RandomState>,
    /// Reused by each Parse.
    pub(super) parameter_types: Vec<Option<SqlType>>,
}

impl Statements {
    pub(super) fn get(&self, name: &str) -> Result<&Arc<Statement>> {
        let found = if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) };
        found.ok_or_else(|| {
            let message = if name.is_empty() {
                "unnamed prepared statement does not exist".to_owned()
            } else {
                format!("prepared statement \"{name}\" does not exist")
            };
            Error::input(sqlstate::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    pub(super) fn insert(&mut self, name: &str, prepared: Arc<Prepared>) {
        let statement = Statement::new(prepared);
        if name.is_empty() {
            self.unnamed = Some(statement);
        } else {
            self.named.insert(name.to_owned(), statement);
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if name.is_empty() {
            self.unnamed = None;
        } else {
            self.named.remove(name);
        }
    }

    /// Removes a statement made by Parse. Returns false if there is none of this name.
    pub(super) fn deallocate(&mut self, name: &str) -> bool {
        self.named.remove(name).is_some()
    }

    pub(super) fn remove_unnamed(&mut self) {
        self.unnamed = None;
    }

    pub(super) fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }
}

/// How far a portal has come.
#[derive(Default)]
pub(super) enum Progress {
    #[default]
    Bound,
    /// Its rows are here, and `position` bytes of them have been sent.
    Suspended {
        rows: Vec<u8>,
        position: usize,
        tag: Cow<'static, str>,
    },
    Done {
        tag: Cow<'static, str>,
    },
}

/// A statement with its parameters.
#[derive(Default)]
pub(super) struct Portal {
    /// `None` when the portal does not exist and only its buffers are kept for the next one.
    pub(super) statement: Option<Arc<Statement>>,
    pub(super) parameters: Vec<Value>,
    pub(super) result_formats: Vec<Format>,
    pub(super) progress: Progress,
}

/// The portals of a connection.
#[derive(Default)]
pub(super) struct Portals {
    pub(super) unnamed: Portal,
    pub(super) named: HashMap<String, Portal, RandomState>,
}

impl Portals {
    pub(super) fn get(&self, name: &str) -> Result<&Portal> {
        let found = if name.is_empty() { Some(&self.unnamed) } else { self.named.get(name) };
        found.filter(|portal| portal.statement.is_some()).ok_or_else(|| no_portal(name))
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.get(name).is_ok()
    }

    /// Takes a portal out while it runs.
    pub(super) fn take(&mut self, name: &str) -> Result<Portal> {
        let portal = if name.is_empty() {
            std::mem::take(&mut self.unnamed)
        } else {
            self.named.get_mut(name).map(std::mem::take).unwrap_or_default()
        };
        if portal.statement.is_some() { Ok(portal) } else { Err(no_portal(name)) }
    }

    /// Puts it back, unless the end of its transaction has closed it meanwhile.
    pub(super) fn put_back(&mut self, name: &str, portal: Portal) {
        if name.is_empty() {
            self.unnamed = portal;
        } else if let Some(place) = self.named.get_mut(name) {
            *place = portal;
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if name.is_empty() {
            self.unnamed.close();
        } else {
            self.named.remove(name);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unnamed.statement.is_none() && self.named.is_empty()
    }

    /// Removes all: portals live no longer than their transaction.
    pub(super) fn clear(&mut self) {
        self.unnamed.close();
        if !self.named.is_empty() {
            self.named.clear();
        }
    }
}

impl Portal {
    /// The text with which its statement was prepared.
    pub(super) fn text(&self) -> &str {
        self.statement.as_ref().map_or("", |statement| statement.prepared.text())
    }

    fn close(&mut self) {
        self.statement = None;
        self.parameters.clear();
        self.progress = Progress::Bound;
    }

    pub(super) fn bind(
        &mut self,
        statement: Arc<Statement>,
        bind: &Bind<'_>,
        session: &mut Session,
    ) -> Result<()> {
        self.close();
        session.show_names(&statement.prepared)?;
        let types = session.parameter_types(&statement.prepared);
        let reading = session.reading_of_parameters();
        let columns = match statement.prepared.response() {
            Response::Rows(columns) => columns.len(),
            _ => 0,
        };
        check_counts(bind, types.len(), columns)?;
        self.result_formats.clear();
        self.result_formats.extend(bind.result_formats.iter());
        for (index, (bytes, sql_type)) in bind.parameters.iter().zip(types.iter()).enumerate() {
            self.parameters.push(match bytes {
                Some(bytes) => {
                    memory::check(bytes.len())?;
                    parameter(bytes, *sql_type, bind.parameter_formats.of(index), reading)?
                }
                None => Value::Null,
            });
        }
        self.statement = Some(statement);
        Ok(())
    }
}

/// The value with the names of the objects whose numbers it has.
fn with_names(value: Value, reading: Reading<'_>) -> Result<Value> {
    match value {
        Value::Reference(reference) => {
            cast(Value::Oid(reference.oid), SqlType::System(reference.system_type), false, reading)
        }
        Value::Array(array) if array.element.sql_type().names_objects() => {
            let mut array = Arc::unwrap_or_clone(array);
            for value in &mut array.values {
                *value = with_names(std::mem::take(value), reading)?;
            }
            Ok(Value::Array(Arc::new(array)))
        }
        value => Ok(value),
    }
}

fn parameter(bytes: &[u8], sql_type: SqlType, format: Format, reading: Reading<'_>) -> Result<Value> {
    match format {
        Format::Binary => with_names(binary::read(bytes, sql_type)?, reading),
        Format::Text => {
            let text = std::str::from_utf8(bytes).map_err(|error| binary::invalid_utf8(bytes, error))?;
            text::parse(text, sql_type, reading)
        }
    }
}

pub(super) fn no_portal(name: &str) -> Error {
    Error::input(sqlstate::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}

fn check_counts(bind: &Bind<'_>, types: usize, columns: usize) -> Result<()> {
    let violation = |message| Err(Error::input(sqlstate::PROTOCOL_VIOLATION, message));
    let (parameters, formats) = (bind.parameters.len(), bind.parameter_formats.len());
    if formats > 1 && formats != parameters {
        return violation(format!(
            "bind message has {formats} parameter formats but {parameters} parameters"
        ));
    }
    if parameters != types {
        let name = bind.statement;
        return violation(format!(
            "bind message supplies {parameters} parameters, but prepared statement \"{name}\" requires {types}"
        ));
    }
    let formats = bind.result_formats.len();
    // Where no rows are returned they do not matter, and drivers send those of another statement.
    if formats > 1 && formats != columns && columns > 0 {
        return violation(format!(
            "bind message has {formats} result formats but query has {columns} columns"
        ));
    }
    Ok(())
}

/// The format of a column, by the codes of a Bind: none, one for all, or one each.
pub(super) fn format_of(formats: &[Format], index: usize) -> Format {
    match formats {
        [all] => *all,
        formats => formats.get(index).copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::deallocated_name;

    #[test]
    fn the_deallocated_name_is_read() {
        for (sql, expected) in [
            ("DEALLOCATE a1", Some("a1")),
            ("deallocate prepare A1;", Some("a1")),
            ("DEALLOCATE \"_pg3_0\"", Some("_pg3_0")),
            ("DEALLOCATE ALL", None),
            ("deallocate", None),
            ("deallocate a b", None),
            ("select 1", None),
        ] {
            assert_eq!(deallocated_name(sql).as_deref(), expected, "{sql}");
        }
    }
}
