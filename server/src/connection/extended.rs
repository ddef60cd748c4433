//! The extended protocol: prepared statements and portals.
//!
//! Errors found here, before the session sees them, are passed through [`Session::abandon`], because they
//! fail the transaction like any other error. `portals` holds what is kept between messages. SQL cursors can
//! be described and closed as portals, for clients that declare a cursor and fetch from it by SQL.
//!
//! [`Session::abandon`]: hyades::Session::abandon

use std::sync::Arc;

use hyades::session::Response;
use hyades::types::error::SqlState;
use hyades::types::memory;
use hyades::types::refusal::{Missing, refused};
use hyades::{Error, Result, SqlType, sqlstate};

use super::Connection;
use super::portals::{Portal, format_of, no_portal};
use crate::codec::backend;
use crate::codec::frontend::{Bind, Format, Target, TypeIds};
use crate::codec::types::{Declared, declared};

const DUPLICATE_CURSOR: SqlState = SqlState("42P03");

impl Connection<'_> {
    pub(super) async fn parse(&mut self, name: &str, query: &str, types: TypeIds<'_>) -> Result<()> {
        let mut parameter_types = std::mem::take(&mut self.statements.parameter_types);
        let _timer = self.start_timer();
        let prepared = match self.check_parse(name, types, &mut parameter_types) {
            Ok(()) => self.complete(|session| session.prepare(query, &parameter_types)).await,
            Err(error) => Err(self.session.abandon(error)),
        };
        self.statements.parameter_types = parameter_types;
        self.tell_notices();
        let prepared = prepared?;
        if !name.is_empty() {
            // The statement stays in memory.
            memory::check(0).map_err(|error| self.session.abandon(error))?;
        }
        self.statements.insert(name, prepared);
        backend::parse_complete(&mut self.answers.bytes);
        Ok(())
    }

    fn check_parse(
        &mut self,
        name: &str,
        types: TypeIds<'_>,
        parameter_types: &mut Vec<Option<SqlType>>,
    ) -> Result<()> {
        if name.is_empty() {
            self.statements.remove_unnamed();
        } else if self.statements.named.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::input(sqlstate::DUPLICATE_PREPARED_STATEMENT, message));
        }
        parameter_types.clear();
        for object_id in types.iter() {
            parameter_types.push(match declared(object_id) {
                Declared::Inferred => None,
                Declared::Type(sql_type) => Some(sql_type),
                Declared::Unsupported => {
                    if let Some(sql_type) = self.session.user_type(object_id) {
                        parameter_types.push(Some(sql_type));
                        continue;
                    }
                    let what = format!("parameters of the type with OID {object_id} are");
                    return Err(refused(Missing::Types, &what));
                }
            });
        }
        Ok(())
    }

    pub(super) fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        // Parameter values may be long.
        let visit = self.session.enter();
        let bound = self.try_bind(bind);
        self.session.leave(visit);
        match bound {
            Ok(()) => {
                backend::bind_complete(&mut self.answers.bytes);
                Ok(())
            }
            Err(error) => Err(self.session.abandon(error)),
        }
    }

    fn try_bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        let statement = Arc::clone(self.statements.get(bind.statement)?);
        if bind.portal.is_empty() {
            return self.portals.unnamed.bind(statement, bind, &mut self.session);
        }
        if self.portals.named.contains_key(bind.portal) {
            let message = format!("cursor \"{}\" already exists", bind.portal);
            return Err(Error::input(DUPLICATE_CURSOR, message));
        }
        let mut portal = Portal::default();
        portal.bind(statement, bind, &mut self.session)?;
        self.portals.named.insert(bind.portal.to_owned(), portal);
        Ok(())
    }

    pub(super) fn describe(&mut self, target: Target, name: &str) -> Result<()> {
        match self.try_describe(target, name) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.session.abandon(error)),
        }
    }

    fn try_describe(&mut self, target: Target, name: &str) -> Result<()> {
        let out = &mut self.answers.bytes;
        let (statement, formats) = match target {
            Target::Statement => {
                let statement = self.statements.get(name)?;
                backend::parameter_description(out, statement.prepared.parameter_types());
                (statement, &[][..])
            }
            Target::Portal if !self.portals.contains(name) => {
                let (columns, is_binary) =
                    self.session.cursor_columns(name).ok_or_else(|| no_portal(name))?;
                let format = if is_binary { Format::Binary } else { Format::Text };
                backend::row_description(out, &columns, |_| format);
                return Ok(());
            }
            Target::Portal => {
                let portal = self.portals.get(name)?;
                let statement = portal.statement.as_ref().ok_or_else(|| no_portal(name))?;
                (statement, &portal.result_formats[..])
            }
        };
        match statement.prepared.response() {
            Response::Rows(columns) => {
                backend::row_description(out, columns, |index| format_of(formats, index));
            }
            _ => backend::no_data(out),
        }
        Ok(())
    }

    pub(super) fn close(&mut self, target: Target, name: &str) {
        match target {
            Target::Statement => self.statements.remove(name),
            Target::Portal => {
                self.portals.remove(name);
                self.session.drop_cursor(name);
            }
        }
        backend::close_complete(&mut self.answers.bytes);
    }

    /// Ends the implicit transaction and the batch.
    pub(super) async fn sync(&mut self) {
        self.commit_implicit().await;
        self.ready();
    }
}
