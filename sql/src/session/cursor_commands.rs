//! DECLARE, FETCH, MOVE and CLOSE.

use hyades_engine::db::{Flow, Interrupt};
use hyades_types::error::{Error, Result, sqlstate};

use super::cursors::{Cursor, KeptRows};
use super::state::State;
use super::transaction::tag;
use super::{Completion, Output, Session};
use crate::answer::{Response, ResultColumn};
use crate::compile::action::{DeclarePlan, Plan};
use crate::statement::FetchCursor;

impl Session {
    /// Whether a cursor may be declared now.
    pub(super) fn check_declaration(&self, declare: &DeclarePlan) -> Result<()> {
        let cursor = &declare.cursor;
        if cursor.name.is_empty() {
            let message = "invalid cursor name: must not be empty";
            return Err(Error::input(sqlstate::INVALID_CURSOR_NAME, message));
        }
        if !cursor.is_holdable && self.state != State::Block && !self.is_in_list {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(Error::input(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        if self.cursors.lock().contains(&cursor.name) {
            let message = format!("cursor \"{}\" already exists", cursor.name);
            return Err(Error::input(sqlstate::DUPLICATE_CURSOR, message));
        }
        Ok(())
    }

    /// Opens a cursor whose query has run.
    pub(super) fn open_cursor(&mut self, declare: &DeclarePlan, statement: &str, rows: KeptRows) {
        let cursor = &declare.cursor;
        let bytes = rows.bytes();
        let opened = Cursor {
            statement: statement.to_owned(),
            columns: declare.columns.clone(),
            rows: rows.rows,
            position: 0,
            is_binary: cursor.is_binary,
            is_scrollable: declare.is_scrollable,
            is_holdable: cursor.is_holdable,
            is_held: false,
            level: self.savepoints.len(),
            table: declare.table.map(|table| table.0),
            created: self.view.environment.statement_time,
            number: 0,
            _charge: self.view.account.keep(bytes),
        };
        self.cursors.lock().by_name.insert(cursor.name.clone(), opened);
    }

    pub(super) fn fetch(
        &mut self,
        fetch: &FetchCursor,
        plan: &Plan,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        let mut cursors = self.cursors.lock();
        let columns = cursors.columns(&fetch.name)?;
        if let Response::Rows(planned) = &plan.response
            && planned != columns
        {
            let message = "cached plan must not change result type";
            return Err(Interrupt::Failed(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)));
        }
        let (places, is_descending) = cursors.go(&fetch.name, fetch.direction, fetch.is_move)?;
        let count = places.len();
        if fetch.is_move {
            return Ok(Completion::Tag(format!("MOVE {count}").into()));
        }
        let cursor = cursors.get(&fetch.name)?;
        let width = cursor.columns.len();
        let mut show = |place: usize| -> Result<()> {
            let Some(row) = cursor.rows.get(place) else { return Ok(()) };
            let mut values = row.get(..width).unwrap_or_default().to_vec();
            output.row(&mut values)
        };
        if is_descending {
            places.rev().try_for_each(&mut show)?;
        } else {
            places.into_iter().try_for_each(&mut show)?;
        }
        Ok(Completion::Tag(format!("FETCH {count}").into()))
    }

    /// The columns of an open cursor, and whether its rows are fetched in binary form.
    pub fn cursor_columns(&self, name: &str) -> Option<(Vec<ResultColumn>, bool)> {
        let cursors = self.cursors.lock();
        let cursor = cursors.get(name).ok()?;
        Some((cursor.columns.clone(), cursor.is_binary))
    }

    /// Closes a cursor, if it is open.
    pub fn drop_cursor(&mut self, name: &str) {
        self.cursors.lock().by_name.remove(name);
    }

    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Flow<Completion> {
        let Some(name) = name else {
            self.cursors.lock().clear();
            return tag("CLOSE CURSOR ALL");
        };
        self.cursors.lock().close(name)?;
        tag("CLOSE CURSOR")
    }
}
