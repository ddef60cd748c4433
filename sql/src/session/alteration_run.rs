//! ALTER TABLE in a session: locks the table, and runs the procedures that the actions need over its rows.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt, TableLock, Waiting};
use hyades_engine::procedure::frame::{Message, RowSink};
use hyades_types::definition::CatalogChange;
use hyades_types::error::{Abort, Error, Result};
use hyades_types::value::Value;

use super::run::unattended;
use super::running::AlterationRun;
use super::{Notice, Output, Session};
use crate::compile::action::Plan;
use crate::ddl::alteration::Stepped;

/// What runs over the rows of an altered table returns no rows. Messages of its functions go to the client.
struct Told<'a>(&'a mut dyn Output);

impl RowSink for Told<'_> {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }

    fn message(&mut self, message: Message) {
        self.0.notice(Notice::of(message));
    }
}

impl Session {
    /// The next changes, or `None` if nothing is left to do.
    pub(super) fn alteration_step(
        &mut self,
        run: &mut AlterationRun,
        output: &mut dyn Output,
    ) -> Flow<Option<Vec<CatalogChange>>> {
        let alteration = &mut run.alteration;
        if !run.is_locked {
            let table = &alteration.table;
            self.view.worker.lock_table(table, TableLock::AccessExclusive, Waiting::InQueue)?;
            let is_there = self.view.table_by_id(table.id()).is_some_and(|now| Arc::ptr_eq(&now, table));
            if !is_there || table.definition().name != alteration.name {
                return Err(Interrupt::Failed(Error::Abort(Abort::StalePlan)));
            }
            run.is_locked = true;
        }
        // Every change replaces the table.
        if let Some(now) = self.view.table_by_id(alteration.table.id()) {
            alteration.table = now;
        }
        if let Some(query) = &mut run.query {
            let (worker, environment) = (&mut self.view.worker, &mut self.view.environment);
            worker.run(&mut query.frame, environment, &mut Told(output)).map_err(unattended)?;
            if let Some(done) = run.query.take() {
                self.keep_frame(done.frame);
            }
        }
        if alteration.changes_owner() {
            self.view.worker.lock_access()?;
            self.refresh_identity();
        }
        let procedure = match self.view.alteration_step(alteration, output)? {
            Stepped::Over => return Ok(None),
            Stepped::Changed(changes) => return Ok(Some(changes)),
            Stepped::Runs(procedure) => procedure,
        };
        self.view.worker.show_sequences(&mut self.view.environment);
        let plan = Plan { is_read_only: false, ..Plan::of_run("ALTER TABLE", *procedure) };
        run.query = Some(Box::new(self.start_query(Arc::new(plan), &[])?));
        Ok(Some(Vec::new()))
    }
}
